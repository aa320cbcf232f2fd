"""Losses of complex numbers: real, of estimates and targets of one shape.

`nn.MSELoss`, `nn.L1Loss` and `nn.HuberLoss` take the modulus of the difference of complex numbers,
`nn.CrossEntropyLoss` the moduli of logits. What is here looks at modulus and phase apart.
"""

from __future__ import annotations

from collections.abc import Callable

from ...engine.tensor import Tensor
from ...ops.loss.elementwise import reduced, reduction_of
from ...ops.nn.normalization import squared_modulus
from ...ops.nn.pool import avg_pool2d
from ...ops.shape.join import stack
from ..modules.module import Module
from .functional import check_complex

__all__ = [
    "LogMagnitudeLoss", "PhaseLoss", "PolarLoss", "SISDRLoss", "SSIMLoss", "SplitLoss",
]  # fmt: skip


class _Reduced(Module):
    """A loss with a reduction: "mean", "sum" or "none"."""

    def __init__(self, reduction: str = "mean") -> None:
        super().__init__()
        self.reduction = reduction_of(reduction)

    def each(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss of each element, or example."""
        raise NotImplementedError

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss of `input` against `target`, reduced."""
        return reduced(self.each(input, target), self.reduction)


class SplitLoss(Module):
    """The mean of a real loss of the real parts and of one of the imaginary parts.

    `loss` is a function of estimate and target or a layer, and decides about the reduction; input
    and target: complex, of the shapes that it takes. Raises ValueError for input or target that is
    not complex. Source: the "split" or type A family, Kuroe et al., 2003.

    >>> rg.nn.complex.SplitLoss(rg.nn.L1Loss())(rg.tensor([1 + 3j]), rg.tensor([0j]))
    tensor(2.)
    """

    def __init__(self, loss: Callable[[Tensor, Tensor], Tensor]) -> None:
        super().__init__()
        self.loss = loss

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss of `input` against `target`."""
        for given in (input, target):
            check_complex("SplitLoss", given)
        return (self.loss(input.real, target.real) + self.loss(input.imag, target.imag)) / 2


class LogMagnitudeLoss(_Reduced):
    """(log(|z|^2 + eps) - log(|t|^2 + eps))^2 / 4: the squared ratio of moduli, in nepers.

    input and target: complex or real, (*). Returns a real scalar, or (*) if the reduction is
    "none". Raises ValueError for another reduction. Source: the log-spectral distance, Gray and
    Markel, 1976.

    >>> rg.nn.complex.LogMagnitudeLoss(0.0)(rg.tensor([1j * np.e]), rg.tensor([1 + 0j]))
    tensor(1.)
    """

    def __init__(self, eps: float = 1e-8, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.eps = eps

    def each(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss of each element: see the class."""
        x, t = squared_modulus(input), squared_modulus(target)
        apart = (x + self.eps).log() - (t + self.eps).log()
        return apart * apart * 0.25


class PhaseLoss(_Reduced):
    """1 - cos(angle z - angle t), times |t| if `weighted`: 0 where the phases agree, at most 2.

    input and target: complex, (*). Where one is 0, the loss is 1, of derivative 0. Returns a real
    scalar, or (*) if the reduction is "none". Raises ValueError for another reduction. Source:
    Choi et al., "Phase-aware speech enhancement", ICLR 2019.

    >>> rg.nn.complex.PhaseLoss()(rg.tensor([2j, 2 + 0j]), rg.tensor([1j, -1 + 0j]))
    tensor(1.)
    """

    def __init__(self, weighted: bool = False, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.weighted = weighted

    def each(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss of each element: see the class."""
        loss = 1 - (input.sgn() * target.sgn().conj()).real
        return loss * target.abs() if self.weighted else loss


class PolarLoss(_Reduced):
    """(|z| - |t|)^2 + weight (1 - cos(angle z - angle t)) |z t|: modulus and phase, told apart.

    input and target: complex, (*). With `weight` 2 it is |z - t|^2, smaller ones forgive the phase.
    Returns a real scalar, or (*) if the reduction is "none". Raises ValueError for another
    reduction. Source: the law of cosines.

    >>> z, t = rg.tensor([2j]), rg.tensor([1 + 0j])
    >>> rg.nn.complex.PolarLoss(2.0)(z, t), rg.nn.complex.PolarLoss(0.0)(z, t)
    (tensor(5.), tensor(1.))
    """

    def __init__(self, weight: float = 1.0, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.weight = weight

    def each(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss of each element: see the class."""
        sizes, apart = input.abs() * target.abs(), input.abs() - target.abs()
        return apart * apart + self.weight * (sizes - (input * target.conj()).real)


class SISDRLoss(_Reduced):
    """-10 log10(|a t|^2 / |z - a t|^2) in decibels, with the complex a that fits best.

    input and target: complex or real, (*, T), summed over T; returns a scalar, or (*) if the
    reduction is "none". Of complex signals neither the scale nor the phase of the whole counts.
    `eps` is added to both energies. Raises ValueError for another reduction. Source: Le Roux et
    al., "SDR: half-baked or well done?", ICASSP 2019.

    >>> t = rg.tensor([1j, 1 + 0j])
    >>> rg.nn.complex.SISDRLoss()(2j * t + rg.tensor([1j, -1 + 0j]), t)
    tensor(-6.0206)
    """

    def __init__(self, eps: float = 1e-8, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.eps = eps

    def each(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss of each signal: see the class."""
        along = (input * target.conj()).sum(-1, keepdim=True)
        wanted = target * (along / (squared_modulus(target).sum(-1, keepdim=True) + self.eps))
        signal, rest = squared_modulus(wanted).sum(-1), squared_modulus(input - wanted).sum(-1)
        return 10 * ((rest + self.eps).log10() - (signal + self.eps).log10())


class SSIMLoss(_Reduced):
    """1 - SSIM of the moduli of images, (N, C, H, W), complex or real, over square windows.

    window: side of the windows, all weighted alike; data_range: the largest modulus there can be.
    Returns a scalar, or (N, C, H', W') if the reduction is "none". Raises ValueError for another
    reduction, RuntimeError for images smaller than a window. Source: Wang et al., IEEE Trans. Image
    Processing 13 (2004), with k1 = 0.01 and k2 = 0.03.

    >>> z = rg.randn(1, 1, 8, 8, dtype=rg.complex64)
    >>> abs(rg.nn.complex.SSIMLoss()(z, 1j * z).item()) < 1e-5
    True
    """

    def __init__(self, window: int = 7, data_range: float = 1.0, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.window, self.data_range = window, data_range

    def each(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss of each image: see the class."""
        x, y = input.abs(), target.abs()
        means = stack([x, y, x * x, y * y, x * y])
        mx, my, xx, yy, xy = avg_pool2d(means.flatten(0, 1), self.window, 1).unflatten(
            0, (5, -1)
        ).unbind(0)  # fmt: skip
        low, high = (0.01 * self.data_range) ** 2, (0.03 * self.data_range) ** 2
        alike = (2 * mx * my + low) * (2 * (xy - mx * my) + high)
        loss: Tensor = 1 - alike / (
            (mx * mx + my * my + low) * (xx + yy - mx * mx - my * my + high)
        )
        return loss
