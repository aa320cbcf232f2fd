"""From complex to real numbers, at the end of a network; and pooling of frequencies."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ...engine.tensor import Tensor
from ...ops.fft.fft import fftn, fftshift, ifftn, ifftshift
from ...ops.nn.normalization import squared_modulus
from ...ops.shape.join import cat
from ..modules.module import Module
from .functional import check_complex

__all__ = ["Imaginary", "Magnitude", "Phase", "Real", "RealImaginary", "SpectralPool"]


class Magnitude(Module):
    """|z|, real, of any shape (*); derivative 0 at 0. `squared`: |z|^2, smooth at 0.

    >>> rg.nn.complex.Magnitude()(rg.tensor([3 + 4j]))
    tensor([5.])
    """

    def __init__(self, squared: bool = False) -> None:
        super().__init__()
        self.squared = squared

    def forward(self, input: Tensor) -> Tensor:
        """The modulus."""
        return squared_modulus(input) if self.squared else input.abs()


class Phase(Module):
    """The angle in radians, from -pi to pi, of any shape (*); derivative 0 at 0.

    >>> rg.nn.complex.Phase()(rg.tensor([1j]))
    tensor([1.5708])
    """

    def forward(self, input: Tensor) -> Tensor:
        """The angle."""
        return input.angle()


class Real(Module):
    """The real part, of any shape (*).

    >>> rg.nn.complex.Real()(rg.tensor([3 + 4j]))
    tensor([3.])
    """

    def forward(self, input: Tensor) -> Tensor:
        """The real part."""
        return input.real


class Imaginary(Module):
    """The imaginary part, of any complex shape (*).

    >>> rg.nn.complex.Imaginary()(rg.tensor([3 + 4j]))
    tensor([4.])
    """

    def forward(self, input: Tensor) -> Tensor:
        """The imaginary part."""
        return input.imag


class RealImaginary(Module):
    """Real parts and then imaginary parts along `dim`, twice as long: complex (N, C, *) to real.

    >>> rg.nn.complex.RealImaginary()(rg.tensor([[3 + 4j, 1j]]))
    tensor([[3., 0., 4., 1.]])
    """

    def __init__(self, dim: int = 1) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        """Both parts, one after the other."""
        return cat([input.real, input.imag], self.dim)


class SpectralPool(Module):
    """The lowest frequencies alone: complex (N, C, *spatial) to (N, C, *output_size).

    The last dimensions, as many as `output_size` has, are transformed, cut to frequencies
    -n//2 ... (n-1)//2 and transformed back, scaled so that a constant stays. Raises ValueError for
    input that is not complex and for an output larger than the input. Source: Rippel, Snoek and
    Adams, "Spectral representations for convolutional neural networks", NeurIPS 2015.

    >>> rg.nn.complex.SpectralPool((2,))(rg.tensor([[[1j, 1j, 1j, 1j]]]))
    tensor([[[0.+1.j, 0.+1.j]]])
    """

    _shown_settings = "output_size="

    def __init__(self, output_size: Sequence[int]) -> None:
        super().__init__()
        self.output_size = tuple(output_size)

    def forward(self, input: Tensor) -> Tensor:
        """The input with low frequencies alone, on the coarser grid."""
        check_complex("SpectralPool", input)
        dims = tuple(range(-len(self.output_size), 0))
        sizes = [input.shape[dim] for dim in dims]
        if any(out > size for out, size in zip(self.output_size, sizes, strict=True)):
            raise ValueError(
                f"SpectralPool: output_size {self.output_size} is larger than the input's {sizes}"
            )
        found = fftshift(fftn(input, dim=dims), dims)
        for dim, out, size in zip(dims, self.output_size, sizes, strict=True):
            found = found.narrow(dim, size // 2 - out // 2, out)
        scale = math.prod(self.output_size) / math.prod(sizes)
        pooled: Tensor = ifftn(ifftshift(found, dims), dim=dims) * scale
        return pooled
