"""The records of the discrete Fourier transforms, and how their arguments are read.

NOTE [Adjoints of transforms]
1. A transform is linear, so its formula is its adjoint, and saves nothing. The adjoint of a complex
   transform is the opposite one with the opposite norm: `DUAL` says which.
2. A real transform keeps half of a spectrum that is symmetric. Its adjoint is the complex-to-real
   transform, where every bin that stands for two (all but the first and, for even n, the last) is
   halved; the adjoint of the complex-to-real transform doubles those bins instead.
3. A size other than the input's crops or pads with zeros at the end.
"""

from __future__ import annotations

from typing import Any

from ... import dtypes
from ...engine.namespaces import recorded
from ...engine.registry import declare, example
from ...engine.tensor import Tensor
from ...errors import wrong_type
from ...kernels import fourier
from ...kernels.allocation import copied
from ..core.dims import integers, place_of
from ..core.engine_ops import cast, in_axes
from ..shape.basic_views import narrow

DUAL = {"backward": "forward", "forward": "backward", "ortho": "ortho"}


def _c2c(input: Any, *, dim: tuple[int, ...], norm: Any, forward: bool) -> Any:
    if not dim:
        return input.astype(dtypes.complex_of(input.dtype))
    return fourier.complex_transform(input, dim, norm, forward)


def _scale_paired(input: Any, *, dim: int, n: int, factor: float) -> Any:
    out = copied(input)
    inner = [slice(None)] * input.ndim
    inner[dim] = slice(1, (n + 1) // 2)
    out[tuple(inner)] *= factor
    return out


declare(
    "scale_paired(input, *, dim, n, factor)",
    _scale_paired,
    input=lambda xp, g, dim, n, factor: xp.scale_paired(g, dim=dim, n=n, factor=factor),
    linear="input",
    examples=[example("3", dim=0, n=4, factor=0.5), example("3x2", dim=0, n=5, factor=2.0)],
    doc="""Multiply the bins that stand for two in a half spectrum of n points: rule 2.""",
)

fft_c2c = declare(
    "fft_c2c(input, *, dim, norm, forward)",
    _c2c,
    input=lambda xp, g, dim, norm, forward: xp.fft_c2c(
        g, dim=dim, norm=DUAL[norm], forward=not forward
    ),
    linear="input",
    examples=[
        example("5", dim=(0,), norm="backward", forward=True),
        example("2x4", dim=(1,), norm="ortho", forward=False),
        example("2x3x2", dim=(0, 2), norm="forward", forward=True),
        example("2x3", dim=(1, 0), norm="backward", forward=False),
        example("3", dim=(), norm="backward", forward=True),
        example("", dim=(), norm="ortho", forward=False),
    ],
    node_name="FftC2CBackward0",
    doc="""The complex transform along `dim`, forward or inverse; real inputs count as complex.""",
)


def to_half_input(xp: Any, g: Any, dim: Any, norm: Any, input_shape: Any) -> Any:
    """Rule 2; of one or two points no bin stands for two."""
    n = input_shape[dim[-1]]
    if n > 2:  # PyTorch fills up what lacks, in row-major order
        g = xp.scale_paired(xp.laid_out(g), dim=dim[-1], n=n, factor=0.5)
    found = xp.fft_c2r(g, dim=dim, norm=DUAL[norm], n=n)
    if n <= 2 or len(dim) < 2:
        return found
    return in_axes(xp, found, (*fourier.other_dims(len(input_shape), dim), *sorted(dim)))


fft_r2c = declare(
    "fft_r2c(input, *, dim, norm)",
    lambda input, *, dim, norm: fourier.to_half(input, dim, norm),
    input=to_half_input,
    linear="input",
    complex=False,
    examples=[
        example("5", dim=(0,), norm="backward"),
        example("2x4", dim=(1,), norm="ortho"),
        example("2x3x2", dim=(2, 1), norm="forward"),
        example("1x1", dim=(0, 1), norm="backward"),
    ],
    node_name="FftR2CBackward0",
    doc="""The transform of a real input along `dim`, of which the last gives half a spectrum.""",
)

fft_c2r = declare(
    "fft_c2r(input, *, dim, norm, n)",
    lambda input, *, dim, norm, n: fourier.from_half(input, dim, norm, n),
    input=lambda xp, g, dim, norm, n: xp.scale_paired(
        xp.fft_r2c(g, dim=dim, norm=DUAL[norm]), dim=dim[-1], n=n, factor=2.0
    ),
    linear="input",
    examples=[
        example("3", dim=(0,), norm="backward", n=5),
        example("2x3", dim=(1,), norm="ortho", n=4),
        example("2x3x2", dim=(1, 2), norm="forward", n=3),
        example("1x1", dim=(0, 1), norm="backward", n=1),
    ],
    node_name="FftC2RBackward0",
    doc="""The inverse of `fft_r2c`, n real points in the last of `dim`, from half a spectrum.""",
)


# -- arguments ------------------------------------------------------------------------------------


def _floating(input: Any, name: str, real: bool = False) -> Tensor:
    """The input as a floating tensor, real if the transform wants that."""
    if not isinstance(input, Tensor):
        raise wrong_type(f"fft_{name}", "input", "Tensor", input, 1)
    dtype = input._array.dtype
    if dtypes.half(dtype):
        raise RuntimeError(
            f"Unsupported dtype {dtypes.legacy_name(dtype)}. Transform x.float() instead."
        )
    if real and dtype.kind == "c":
        kind = "real" if name in ("rfft", "ihfft") else "real-valued"
        raise RuntimeError(
            f"{name} expects a {kind} input tensor, but got {dtypes.legacy_name(dtype)}. Use the "
            "complex transform, fft, or take x.real"
        )
    if dtype.kind in "biu":
        return cast(input, dtype=dtypes.default_numpy())
    return input


def _complex(input: Tensor) -> Tensor:
    """The input as a complex tensor."""
    dtype = input._array.dtype
    return input if dtype.kind == "c" else cast(input, dtype=dtypes.complex_of(dtype))


def _norm(norm: str | None) -> str:
    if norm is None:
        return "backward"
    if norm not in DUAL:
        raise RuntimeError(
            f'Invalid normalization mode: "{norm}". Use "forward", "backward" or "ortho".'
        )
    return norm


def _sized(input: Tensor, dims: tuple[int, ...], sizes: tuple[int, ...]) -> Tensor:
    """The input with `sizes` along `dims`."""
    for n in sizes:
        if n < 1:
            raise RuntimeError(
                f"Invalid number of data points ({n}) specified. The shape is "
                f"{list(input.shape)}; a transform needs at least one point in each dimension."
            )
    widths = [(0, 0)] * input._array.ndim
    for d, n in zip(dims, sizes, strict=True):
        more = n - input._array.shape[d]
        if more < 0:
            input = narrow(input, d, 0, n)
        elif more:
            widths[d] = 0, more
    if not any(map(sum, widths)):
        return input
    return recorded.constant_pad_nd(input, widths=tuple(widths), value=0)


def _dims_and_sizes(
    name: str, input: Tensor, s: Any, dim: Any
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The dims of an n-dimensional transform, and the size asked for each (-1: the input's)."""
    ndim = input._array.ndim
    s = None if s is None else integers((s,), f"fft_{name}", "s")
    if dim is None:
        count = ndim if s is None else len(s)
        if count > ndim:
            raise RuntimeError(
                f"Got shape with {count} values but input tensor only has {ndim} dimensions."
            )
        dims = tuple(range(ndim - count, ndim))
    else:
        given = integers((dim,), f"fft_{name}", "dim")
        dims = tuple([place_of(d, ndim) for d in given])
        if len(set(dims)) != len(dims):
            raise RuntimeError(f"FFT dims must be unique, but got {dims}")
        if s is not None and len(s) != len(dims):
            raise RuntimeError("When given, dim and shape arguments must have the same length")
    return dims, (-1,) * len(dims) if s is None else s


def _given(input: Tensor, dims: tuple[int, ...], asked: tuple[int, ...]) -> tuple[int, ...]:
    shape = input._array.shape
    return tuple([shape[d] if n == -1 else n for d, n in zip(dims, asked, strict=True)])


def complex_transform(name: str, input: Tensor, s: Any, dim: Any, norm: str | None) -> Tensor:
    """An n-dimensional complex transform; names that begin with "i" are inverse."""
    input = _floating(input, name)
    if name not in ("fft", "ifft"):
        input = _complex(input)
    dims, asked = _dims_and_sizes(name, input, s, dim)
    input = _sized(input, dims, _given(input, dims, asked))
    return fft_c2c(input, dim=dims, norm=_norm(norm), forward=name[0] != "i")


def to_half(name: str, input: Tensor, s: Any, dim: Any, norm: str | None) -> Tensor:
    """An n-dimensional transform from real to half a spectrum; "ihfft..." has the other sign."""
    input = _floating(input, name, real=True)
    dims, asked = _dims_and_sizes(name, input, s, dim)
    if not dims:
        raise RuntimeError(f"{name} must transform at least one axis")
    input = _sized(input, dims, _given(input, dims, asked))
    if name[0] == "i":
        half = fft_r2c(input, dim=dims[-1:], norm=DUAL[_norm(norm)]).conj()
        if len(dims) == 1:
            return half
        return fft_c2c(half, dim=dims[:-1], norm=_norm(norm), forward=False)
    return fft_r2c(input, dim=dims, norm=_norm(norm))


def from_half(name: str, input: Tensor, s: Any, dim: Any, norm: str | None) -> Tensor:
    """An n-dimensional transform from half a spectrum to real; "hfft..." has the other sign."""
    input = _complex(_floating(input, name))
    dims, asked = _dims_and_sizes(name, input, s, dim)
    if not dims:
        raise RuntimeError(f"{name} must transform at least one axis")
    last = 2 * (input._array.shape[dims[-1]] - 1) if asked[-1] == -1 else asked[-1]
    if last < 1:
        raise RuntimeError(f"Invalid number of data points ({last}) specified")
    input = _sized(input, dims, (*_given(input, dims, asked)[:-1], last // 2 + 1))
    if name[0] == "h":
        if len(dims) > 1:
            input = fft_c2c(input, dim=dims[:-1], norm=_norm(norm), forward=True)
        return fft_c2r(input.conj(), dim=dims[-1:], norm=DUAL[_norm(norm)], n=last)
    return fft_c2r(input, dim=dims, norm=_norm(norm), n=last)
