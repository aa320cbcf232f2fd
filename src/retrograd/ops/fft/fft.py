"""Discrete Fourier transforms: torch.fft's functions, over the records in `records`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ... import dtypes
from ...engine.registry import name_node
from ...engine.tensor import Tensor, has_history
from ...errors import wrong_type
from ...quiet import quietly
from ..core.arguments import public, titled
from ..core.dims import place_of
from ..creation.from_data import check_device, finish
from .records import complex_transform, from_half, to_half

__all__ = [
    "fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft", "hfft2", "hfftn", "ifft", "ifft2",
    "ifftn", "ifftshift", "ihfft", "ihfft2", "ihfftn", "irfft", "irfft2", "irfftn", "rfft", "rfft2",
    "rfftfreq", "rfftn",
]  # fmt: skip


# The kinds of transform, each along one dimension, over two, or over several.
KINDS: dict[str, Callable[..., Tensor]] = {
    "fft": complex_transform,
    "ifft": complex_transform,
    "rfft": to_half,
    "irfft": from_half,
    "hfft": from_half,
    "ihfft": to_half,
}


REAL = {"fft": "FftR2CBackward0", "ifft": "ConjBackward0"}  # the last step, of real input


def sizes(n: int | None) -> tuple[int] | None:
    """The size of a one-dimensional transform, where -1 means nothing."""
    if n is not None and n < 1:
        raise RuntimeError(f"Invalid number of data points ({n}) specified")
    return None if n is None else (n,)


def _along_one(name: str, transform: Callable[..., Tensor]) -> Any:
    def call(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
        made = transform(name, input, sizes(n), (dim,), norm)
        return made if input.dtype.is_complex or name not in REAL else name_node(made, REAL[name])

    return call


def _over(name: str, transform: Callable[..., Tensor], dims: Any) -> Any:
    def call(input: Tensor, s: Any = None, dim: Any = dims, norm: str | None = None) -> Tensor:
        return transform(name, input, s, dim, norm)

    return call


def _transforms(suffix: str, make: Callable[..., Any], *docs: str) -> list[Any]:
    """The six kinds, made by `make(name, transform)`, with these docstrings."""
    return [
        public(out=True)(titled(make(kind + suffix, transform), kind + suffix, doc))
        for (kind, transform), doc in zip(KINDS.items(), docs, strict=True)
    ]


fft, ifft, rfft, irfft, hfft, ihfft = _transforms(
    "",
    _along_one,
    """The discrete Fourier transform along `dim`: complex, with that dimension of size n.

    `input` is complex or real, and cropped or padded with zeros to n points. `norm` "backward"
    (default) scales nothing, "forward" by 1/n, "ortho" by 1/sqrt(n). Raises RuntimeError for no
    points, another norm, or half floats.

    >>> rg.fft.fft(rg.tensor([1.0, 0.0, 0.0])).real
    tensor([1., 1., 1.])
    """,
    """The inverse of `fft`; `norm` "backward" (default) scales by 1/n, "forward" nothing.

    >>> rg.fft.ifft(rg.fft.fft(rg.tensor([1.0, 3.0]))).real
    tensor([1., 3.])
    """,
    """The first n//2 + 1 bins of the transform of a real input; the others are their conjugates.

    Raises RuntimeError for a complex input.

    >>> rg.fft.rfft(rg.tensor([1.0, 0.0, 0.0, 0.0])).shape
    retrograd.Size([3])
    """,
    """The inverse of `rfft`: n real points (by default 2 * (bins - 1)) from half a spectrum.

    The imaginary parts of the first bin and, for even n, of the last do not count, and get gradient
    zero.

    >>> rg.fft.irfft(rg.fft.rfft(rg.tensor([1.0, 2.0, 4.0])), n=3)
    tensor([1., 2., 4.])
    """,
    """The real transform of a signal with conjugate symmetry, given by its first half.

    >>> rg.fft.hfft(rg.tensor([1.0, 0.0, 0.0]))
    tensor([1., 1., 1., 1.])
    """,
    """The inverse of `hfft`: half of the signal whose transform is the real input.

    >>> rg.fft.ihfft(rg.tensor([1.0, 1.0, 1.0, 1.0])).real
    tensor([1., 0., 0.])
    """,
)

fft2, ifft2, rfft2, irfft2, hfft2, ihfft2 = _transforms(
    "2",
    partial(_over, dims=(-2, -1)),
    """The two-dimensional `fft`, over the last two dimensions unless `dim` names others.

    `s` gives the sizes.

    >>> rg.fft.fft2(rg.ones(2, 2)).real
    tensor([[4., 0.],
            [0., 0.]])
    """,
    """The inverse of `fft2`.

    >>> rg.fft.ifft2(rg.fft.fft2(rg.ones(1, 2))).real
    tensor([[1., 1.]])
    """,
    """The two-dimensional `rfft`: half a spectrum in the last of `dim`.

    >>> rg.fft.rfft2(rg.ones(4, 4)).shape
    retrograd.Size([4, 3])
    """,
    """The inverse of `rfft2`.

    >>> rg.fft.irfft2(rg.fft.rfft2(rg.ones(1, 2)))
    tensor([[1., 1.]])
    """,
    """The two-dimensional `hfft`.

    >>> rg.fft.hfft2(rg.ones(1, 3)).shape
    retrograd.Size([1, 4])
    """,
    """The inverse of `hfft2`.

    >>> rg.fft.ihfft2(rg.ones(1, 4)).real
    tensor([[1., 0., 0.]])
    """,
)

fftn, ifftn, rfftn, irfftn, hfftn, ihfftn = _transforms(
    "n",
    partial(_over, dims=None),
    """The `fft` over several dimensions: `dim`, or the last `len(s)`, or all.

    `s` gives the sizes, with -1 for the input's own. Raises RuntimeError for a dim named twice and
    for `s` and `dim` of different lengths.

    >>> rg.fft.fftn(rg.ones(2, 3), s=(4,)).shape
    retrograd.Size([2, 4])
    """,
    """The inverse of `fftn`.

    >>> rg.fft.ifftn(rg.fft.fftn(rg.ones(1, 2))).real
    tensor([[1., 1.]])
    """,
    """The `rfft` over several dimensions, with half a spectrum in the last.

    >>> rg.fft.rfftn(rg.ones(2, 3, 4)).shape
    retrograd.Size([2, 3, 3])
    """,
    """The inverse of `rfftn`.

    >>> rg.fft.irfftn(rg.fft.rfftn(rg.ones(1, 2)))
    tensor([[1., 1.]])
    """,
    """The `hfft` over several dimensions, with half a signal in the last.

    >>> rg.fft.hfftn(rg.ones(1, 3)).shape
    retrograd.Size([1, 4])
    """,
    """The inverse of `hfftn`.

    >>> rg.fft.ihfftn(rg.ones(1, 4)).real
    tensor([[1., 0., 0.]])
    """,
)


# -- frequencies -------------------------------------------------------------------------------


@public(out=True)
def fftfreq(
    n: int, d: float = 1.0, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """The frequencies of the n bins of `fft`, in cycles per unit of the sample spacing `d`.

    >>> rg.fft.fftfreq(4)
    tensor([ 0.0000,  0.2500, -0.5000, -0.2500])
    """
    n, d = _points(n, "fftfreq"), _spacing(d, "fftfreq")
    steps = np.arange(n)
    steps -= n * (steps >= (n + 1) // 2)
    return _frequencies(steps, n * d, dtype, (device, requires_grad))


@public(out=True)
def rfftfreq(
    n: int, d: float = 1.0, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """The frequencies of the n//2 + 1 bins of `rfft`, in cycles per unit of the spacing `d`.

    >>> rg.fft.rfftfreq(4)
    tensor([0.0000, 0.2500, 0.5000])
    """
    n, d = _points(n, "rfftfreq"), _spacing(d, "rfftfreq")
    return _frequencies(np.arange(n // 2 + 1), n * d, dtype, (device, requires_grad))


def _spacing(d: Any, name: str) -> float:
    """The distance of samples as a number; a 0-d tensor without history is one, too."""
    if isinstance(d, Tensor) and not d._array.ndim and not has_history(d):
        d = d.item()
    if not isinstance(d, (int, float)):
        raise wrong_type(f"fft_{name}", "d", "float", d)
    return float(d)


def _points(n: Any, name: str) -> int:
    if isinstance(n, bool) or not hasattr(n, "__index__"):
        raise wrong_type(f"fft_{name}", "n", "int", n, 1)
    count: int = n.__index__()
    if count < 0:
        raise RuntimeError(f"Trying to create tensor with negative dimension {count}: [{count}]")
    return count


@quietly  # a spacing of 0 gives infinite frequencies
def _frequencies(steps: Any, span: float, dtype: Any, made: tuple[Any, bool]) -> Tensor:
    device, requires_grad = made
    check_device(device)
    wanted = dtypes.default_numpy() if dtype is None else dtypes.to_numpy(dtype)
    array = (steps * (1.0 / np.float64(span) if steps.size else 1.0)).astype(wanted)
    return finish(array, requires_grad)


@public()
def fftshift(input: Tensor, dim: Any = None) -> Tensor:
    """The bins in the order of their frequencies, zero in the middle, along `dim` (default: all).

    >>> rg.fft.fftshift(rg.fft.fftfreq(4))
    tensor([-0.5000, -0.2500,  0.0000,  0.2500])
    """
    dims, sizes = _shifted(input, dim)
    return input.roll([n // 2 for n in sizes], dims) if dims else input.clone()


@public()
def ifftshift(input: Tensor, dim: Any = None) -> Tensor:
    """The inverse of `fftshift`.

    >>> rg.fft.ifftshift(rg.fft.fftshift(rg.tensor([1, 2, 3])))
    tensor([1, 2, 3])
    """
    dims, sizes = _shifted(input, dim)
    return input.roll([(n + 1) // 2 for n in sizes], dims) if dims else input.clone()


def _shifted(input: Tensor, dim: Any) -> tuple[list[int], list[int]]:
    shape = input._array.shape
    given = range(len(shape)) if dim is None else dim if isinstance(dim, (tuple, list)) else (dim,)
    dims = [place_of(d, len(shape)) for d in given]
    return dims, [shape[d] for d in dims]
