"""Padding: with a constant, or by reflecting, repeating or continuing the edge.

Constant padding is one record; the other modes join slices of the tensor, so they need no
derivative of their own.
"""

from __future__ import annotations

from typing import Any

from ...engine.registry import declare, example, name_node
from ...engine.tensor import Tensor
from ...errors import wrong_type
from ...kernels.allocation import copied, full
from ...kernels.layout import channels_inside, channels_like
from ...kernels.native.small import quick
from ..core import batching
from ..core.dims import sequence
from ..core.engine_ops import grad_in_format, piecewise
from ..creation.from_data import fill_value
from ..creation.memory_format import (
    channels_last,
    channels_last_3d,
    contiguous_format,
    in_format,
    in_order_of,
)
from .basic_views import narrow
from .join import cat
from .rearrange import flip
from .reshape import in_own_memory

__all__ = ["constant_pad_nd"]


def _pad(input: Any, *, widths: tuple[tuple[int, int], ...], value: Any) -> Any:
    if max(map(max, widths), default=0) > 0:
        return _around(input, widths=widths, value=value)
    inner = zip(input.shape, widths, strict=True)
    return copied(input[tuple([slice(-low, n + high) for n, (low, high) in inner])])


@quick("pad")
def _around(input: Any, *, widths: tuple[tuple[int, int], ...], value: Any) -> Any:
    shape = tuple([n + low + high for n, (low, high) in zip(input.shape, widths, strict=True)])
    out = full(input, shape, fill_value(value, input.dtype))
    to, of = [], []
    for n, (low, high) in zip(input.shape, widths, strict=True):
        to.append(slice(max(low, 0), max(n + low + min(high, 0), low, 0)))
        of.append(slice(max(-low, 0), max(n - max(-high, 0), -low, 0)))
    out[tuple(to)] = input[tuple(of)]
    return channels_like(input, out)


def _listed(widths: Any) -> tuple[int, ...]:
    """The widths as PyTorch's `pad` takes them: last dimension first, none that is 0 throughout."""
    first = next((dim for dim, pair in enumerate(widths) if pair != (0, 0)), len(widths))
    return tuple([width for pair in reversed(widths[first:]) for width in pair])


_pad_op = declare(
    "constant_pad_nd(input, *, widths, value)",
    _pad,
    input=lambda xp, g, widths: xp.constant_pad_nd(
        g, widths=tuple([(-low, -high) for low, high in widths]), value=0
    ),
    batch=batching.pad,
    examples=[
        example("2x3", widths=((0, 0), (1, 2)), value=0),
        example("2x3", widths=((1, 0), (-1, 1)), value=1.5),
        example("3x2", widths=((-1, -1), (0, 0)), value=0),
        example("0x2", widths=((1, 0), (0, 0)), value=0),
    ],
    saved={"pad": _listed},
    doc="""The tensor with `value` around it; negative widths cut.""",
)


def read_widths(ndim: int, pad: Any) -> tuple[tuple[int, int], ...]:
    """PyTorch's flat list, last dimension first, as (before, after) for every dimension."""
    flat = sequence(pad, "pad", "pad")
    if len(flat) % 2:
        raise RuntimeError(f"Padding length must be divisible by 2, got {list(flat)}")
    if len(flat) > 2 * ndim:
        raise RuntimeError(
            f"Padding length should be less than or equal to two times the input dimension but got "
            f"padding length {len(flat)} and input of dimension {ndim}"
        )
    pairs = list(zip(flat[::2], flat[1::2], strict=True))
    return (*[(0, 0)] * (ndim - len(pairs)), *reversed(pairs))


def constant_pad_nd(input: Tensor, pad: Any, value: float = 0) -> Tensor:
    """The tensor with `value` around it: `pad` is (before, after) of the last dimension, and so on.

    Negative widths cut. Raises RuntimeError where a dimension would become negative.

    >>> rg.constant_pad_nd(rg.tensor([1, 2]), (1, 2))
    tensor([0, 1, 2, 0, 0])
    """
    shape = input._array.shape
    widths = read_widths(len(shape), pad)
    for dim, (n, (low, high)) in enumerate(zip(shape, widths, strict=True)):
        if n + low + high < 0:
            raise RuntimeError(
                f"The input size {n}, plus negative padding {low} and {high} resulted in a "
                f"negative output size, which is invalid. Check dimension {dim} of your input."
            )
    return _pad_op(input, widths=widths, value=value)


def pad(input: Tensor, pad: Any, mode: str = "constant", value: float | None = None) -> Tensor:
    """The tensor with a border: `pad` is (before, after) of the last dimension, and so on.

    `mode` says what the border holds: "constant" `value` (0), "reflect" the tensor mirrored at its
    first and last entry, "replicate" these entries, "circular" the tensor continued from its other
    end. All but "constant" pad the last 1 to 3 dimensions and leave one or two in front. Raises
    RuntimeError for widths that do not fit and for a `value` in another mode than "constant",
    NotImplementedError for an unknown mode and other numbers of dimensions.

    >>> rg.nn.functional.pad(rg.tensor([[1.0, 2.0, 3.0]]), (2, 1), mode="reflect")
    tensor([[3., 2., 1., 2., 3., 2.]])
    """
    if mode == "constant":
        return constant_pad_nd(input, pad, 0 if value is None else value)
    if not isinstance(mode, str):
        raise wrong_type("pad", "mode", "str", mode, 3)
    if mode not in BORDERS:
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    if value is not None and value != 0:
        raise RuntimeError(f'Padding mode "{mode}" doesn\'t take in value argument')
    ndim = input._array.ndim
    flat = sequence(pad, "pad", "pad")
    if len(flat) % 2 or not len(flat) // 2 < ndim <= len(flat) // 2 + 2:
        raise NotImplementedError(
            "Only 2D, 3D, 4D, 5D padding with non-constant padding are supported for now: padding "
            f"the last n dimensions needs 2n widths and n + 1 or n + 2 dimensions, got {list(flat)}"
            f" for shape {list(input.shape)}"
        )
    padded = grad_in_format(input)
    for dim, (low, high) in enumerate(read_widths(ndim, flat)):
        if low or high:
            padded = bordered(padded, dim, low, high, mode)
    inside = channels_inside(input._array) and len(flat) == 2 * ndim - 4
    format = (channels_last_3d if ndim == 5 else channels_last) if inside else contiguous_format
    padded = in_own_memory(in_format(padded, format, "pad"), input)
    return name_node(padded, WHOLE[mode].format(len(flat) // 2))


def bordered(x: Tensor, dim: int, low: int, high: int, mode: str) -> Tensor:
    """`x` with a border of `mode` before and after it along `dim`; negative widths cut."""
    size = x._array.shape[dim]
    if mode == "reflect" and max(low, high) >= max(size, 1):
        raise RuntimeError(
            f"Argument #{2 + 2 * (x._array.ndim - dim)}: Padding size should be less than the "
            f"corresponding input dimension, but got: padding ({low}, {high}) at dimension {dim} "
            f"of input {list(x.shape)}"
        )
    if mode == "circular" and max(low, high) > size:
        raise RuntimeError(
            f"Padding value causes wrapping around more than once: padding ({low}, {high}) at "
            f"dimension {dim} of input {list(x.shape)}"
        )
    if mode == "replicate" and size == 0:
        raise RuntimeError(f"Expected a non-empty dimension {dim} to replicate, got size 0")
    if mode == "circular" and min(low, high) < 0:  # what is cut is not continued either
        x = narrow(x, dim, max(-low, 0), size - max(-low, 0) - max(-high, 0))
        low, high, size = max(low, 0), max(high, 0), x._array.shape[dim]
    x = x if mode == "circular" else piecewise(x)  # as in PyTorch
    pieces = [x]
    if low > 0:
        pieces.insert(0, BORDERS[mode](x, dim, low, size, True))
    if high > 0:
        pieces.append(BORDERS[mode](x, dim, high, size, False))
    cut = max(-low, 0), max(-high, 0)
    if any(cut):
        joined = cat(pieces, dim) if len(pieces) > 1 else x
        return narrow(joined, dim, cut[0], joined._array.shape[dim] - sum(cut))
    return cat(pieces, dim)


def _reflect(x: Tensor, dim: int, width: int, size: int, before: bool) -> Tensor:
    return flip(narrow(x, dim, 1 if before else size - 1 - width, width), dim)


def _replicate(x: Tensor, dim: int, width: int, size: int, before: bool) -> Tensor:
    sizes = list(x._array.shape)
    sizes[dim] = width
    return in_order_of(x, narrow(x, dim, 0 if before else size - 1, 1).expand(sizes))


def _circular(x: Tensor, dim: int, width: int, size: int, before: bool) -> Tensor:
    return narrow(x, dim, size - width if before else 0, width)


BORDERS = {"reflect": _reflect, "replicate": _replicate, "circular": _circular}
WHOLE = {
    "reflect": "ReflectionPad{}DBackward0",
    "replicate": "ReplicationPad{}DBackward0",
    "circular": "torch::autograd::CopySlices",
}
