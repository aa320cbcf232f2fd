"""Functions that make nested tensors: PyTorch's `torch.nested`."""

from __future__ import annotations

from typing import Any

import numpy as np

from .... import modes
from ....engine.registry import name_node
from ....engine.tensor import Tensor, new_tensor
from ....ops.creation.from_data import as_tensor
from ....ops.indexing.index import masked_select as elements
from ....ops.tensor.inspection import jagged, layout, strided
from .array import apart, is_nested, with_pattern
from .pattern import Jagged, Packed, jagged_of, offsets_of

__all__ = [
    "as_nested_tensor", "masked_select", "narrow", "nested_tensor", "nested_tensor_from_jagged",
]  # fmt: skip

NO_LIST = "Only lists (List[Tensor] and List[List...[Scalar]]) are accepted in nested_tensor"
JAGGED, STRIDED = "NestedViewFromJaggedBackward0", "NestedTensorFromTensorListBackward0"
LAYOUT = "Specified layout is unsupported for nested {}: {}. Take strided or jagged"


def nested(parts: list[Tensor], kind: Any, dtype: Any, device: Any) -> Tensor:
    """The nested tensor of a list of components, in a layout."""
    if kind not in (None, strided, jagged):
        raise RuntimeError(LAYOUT.format("tensors", kind))
    check_parts(parts, kind is jagged)
    parts = [part.to(device=device, dtype=dtype or parts[0].dtype) for part in parts]
    if not parts:
        return with_pattern(as_tensor([], dtype=dtype), Packed(()))
    values, pattern = (jagged_of(parts) if kind is jagged else Packed(())).joined(parts)
    return with_pattern(name_node(values, JAGGED if kind is jagged else STRIDED), pattern)


def check_parts(parts: list[Tensor], jagged: bool) -> None:
    """Raise RuntimeError unless components have one number of dimensions."""
    for i, part in enumerate(parts):
        if jagged and (part.ndim != parts[0].ndim or part.dtype != parts[0].dtype):
            which = "dim" if part.ndim != parts[0].ndim else "dtype"
            raise RuntimeError(
                f"When constructing a nested tensor, all tensors in list must have the same {which}"
            )
        if part.ndim != parts[0].ndim:
            raise RuntimeError(
                "All Tensors given to nested_tensor must have the same dimension. Found dimension "
                f"{part.ndim} for Tensor at index {i} and dimension {parts[0].ndim} for Tensor at "
                "index 0."
            )
    if jagged and not (parts and parts[0].ndim):
        what = "a list of zero-dim tensors" if parts else "an empty tensor list"
        raise RuntimeError(f"Cannot construct a nested tensor from {what}")


def nested_tensor(
    tensor_list: Any,
    *,
    dtype: Any = None,
    layout: layout | None = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """A leaf with copies of components of different sizes: tensors, or (nested lists of) numbers.

    layout: `jagged`, for components that differ in one dimension, which becomes a symbol, or
    `strided`, the default, for any. dtype: by default that of the first component. Raises TypeError
    for what is no list, RuntimeError for components of different numbers of dimensions.

    >>> rg.nested.nested_tensor([rg.ones(1, 2), rg.zeros(2, 2)], layout=rg.jagged).unbind()
    (tensor([[1., 1.]]), tensor([[0., 0.],
            [0., 0.]]))
    >>> rg.nested.nested_tensor([[1, 2], [3]])
    nested_tensor([
      tensor([1, 2]),
      tensor([3])
    ])
    """
    if not isinstance(tensor_list, (list, tuple)) and layout is not jagged:
        raise TypeError(NO_LIST)
    with modes.Changed(grad=False):
        parts = [t if isinstance(t, Tensor) else as_tensor(t) for t in tensor_list]
        made = nested(parts, layout, dtype, device)
    return made.requires_grad_(requires_grad)


def as_nested_tensor(
    ts: Any, dtype: Any = None, device: Any = None, layout: layout | None = None
) -> Tensor:
    """A nested tensor of components, through which gradients flow to them.

    ts: tensors, or one of shape (B, ...), whose rows are the components; a nested one comes back
    itself. layout: as for `nested_tensor`. Raises RuntimeError for a nested tensor of another
    layout, TypeError for what is no tensor.

    >>> a, b = rg.ones(2, requires_grad=True), rg.ones(3, requires_grad=True)
    >>> rg.nested.as_nested_tensor([a, b], layout=rg.jagged).sum(1)
    tensor([2., 3.], grad_fn=<SumBackwardAutogradNestedTensor1>)
    """
    if isinstance(ts, Tensor):
        if ts.ndim < 2:
            raise RuntimeError(
                "as_nested_tensor(): Expected tensor argument to have dim() > 1, got "
                f"{ts.ndim}. Give a list of components"
            )
        if is_nested(ts) and (layout or strided) is not ts.layout:
            raise RuntimeError(
                "as_nested_tensor(): Converting between nested tensor layouts is not supported. "
                "Make it of components: nested.as_nested_tensor(nt.unbind(), layout=...)"
            )
        if is_nested(ts):
            return ts.to(device=device, dtype=dtype or ts.dtype)
        ts = ts.unbind()
    if not isinstance(ts, (list, tuple)) or not all(isinstance(t, Tensor) for t in ts):
        raise TypeError(
            "as_nested_tensor(): Expected first argument to be a tensor or a list / tuple of "
            f"tensors, got {type(ts).__name__}"
        )
    return nested(list(ts), layout, dtype, device)


def nested_tensor_from_jagged(
    values: Tensor,
    offsets: Tensor | None = None,
    lengths: Tensor | None = None,
    jagged_dim: int | None = None,
    min_seqlen: int | None = None,
    max_seqlen: int | None = None,
) -> Tensor:
    """A nested tensor of the jagged layout of its values, on their memory unless recorded.

    values: components side by side. offsets: (B + 1,), where each begins, and the last ends.
    lengths: (B,), where they end before the next one begins; without offsets, of components
    without gaps. jagged_dim: the dimension of the result in which components differ, by default 1.
    The least and the greatest length need not be given. Raises RuntimeError without offsets and
    lengths, and for components beyond the values, ValueError for dimension 0.

    >>> nt = rg.nested.nested_tensor_from_jagged(rg.arange(5), rg.tensor([0, 2, 5]))
    >>> nt.unbind()
    (tensor([0, 1]), tensor([2, 3, 4]))
    """
    if jagged_dim is not None and jagged_dim < 1:
        raise ValueError(f"Expected jagged_dim >=1, but got {jagged_dim}.")
    if offsets is None:
        if lengths is None:
            raise RuntimeError(
                "nested_tensor_from_jagged(): At least one of offsets or lengths is required."
            )
        offsets, lengths = offsets_of(lengths.tolist()), None
    pattern = Jagged(offsets, lengths, jagged_dim or 1)
    room = values.shape[pattern.ragged - 1]
    ends = [0, *[start + length for start, length in pattern.bounds]]
    outside = any(start < 0 or length < 0 for start, length in pattern.bounds) or max(ends) > room
    if outside or (lengths is None and (ends[-1], pattern.bounds[0][0]) != (room, 0)):
        raise RuntimeError(
            f"nested_tensor_from_jagged(): components (start, length) of {pattern.bounds} are not "
            f"what values of shape {list(values.shape)} consist of. Let offsets run from 0 to "
            f"{room}, or give lengths, too"
        )
    return with_pattern(apart(values, JAGGED), pattern)


def narrow(tensor: Tensor, dim: int, start: Any, length: Any, layout: Any = strided) -> Tensor:
    """A nested tensor of a piece of each row of a tensor (B, N, ...).

    start, length: numbers, or integer tensors (B,), one for each row. In the jagged layout the
    pieces stay where they lie in the memory of the tensor, unless a gradient is recorded. Raises
    RuntimeError for another dimension than 1 there; the strided layout narrows the batch alone.

    >>> x = rg.arange(6).reshape(2, 3)
    >>> rg.nested.narrow(x, 1, rg.tensor([0, 1]), rg.tensor([1, 2]), layout=rg.jagged).unbind()
    (tensor([0]), tensor([4, 5]))
    """
    for name, value in (("start", start), ("length", length)):
        if not isinstance(value, (int, Tensor)):
            raise RuntimeError(f"{name} must be an integer or a tensor")
    if layout is strided:
        if isinstance(start, Tensor) or isinstance(length, Tensor):
            raise RuntimeError(
                "start and length must be integers for the strided layout NT impl. Tensors are for "
                "layout=jagged"
            )
        if dim:
            raise RuntimeError(f"narrow(): only dim=0 supported for nested tensors, but got: {dim}")
        return as_nested_tensor(tensor.narrow(0, start, length))
    if layout is not jagged:
        raise RuntimeError(LAYOUT.format("narrow", layout))
    if dim != 1:
        raise RuntimeError(f"jagged layout only supports dim=1, got {dim}")
    rows, size = tensor.shape[:2]
    starts, lengths = (np.broadcast_to(np.asarray(n), rows) for n in (start, length))
    begins = starts + np.arange(rows) * size
    offsets = new_tensor(np.append(begins, begins[-1:] + lengths[-1:]))
    values = tensor.contiguous().flatten(0, 1)
    return nested_tensor_from_jagged(values, offsets, new_tensor(lengths.astype(np.int64)))


def masked_select(tensor: Tensor, mask: Tensor) -> Tensor:
    """The elements of each row at which a mask is true, as a nested tensor of the jagged layout.

    >>> x = rg.tensor([[1, 2], [3, 4]])
    >>> rg.nested.masked_select(x, x != 2).unbind()
    (tensor([1]), tensor([3, 4]))
    """
    chosen = elements(tensor, mask)
    lengths = mask.expand(tensor.shape).sum(-1).reshape(-1)
    return with_pattern(name_node(chosen, JAGGED), Jagged(offsets_of(lengths.tolist())))
