"""Activations of several pieces, with kinks between them."""

from __future__ import annotations

import warnings

from ....dtypes import dtype
from ....engine.placement import DeviceLike
from ....engine.tensor import Tensor
from ... import functional as F
from ... import init
from ..module import Module
from ..utils import empty_parameter
from .base import _Activation, _InPlace

__all__ = [
    "CELU", "ELU", "SELU", "Hardshrink", "Hardsigmoid", "Hardswish", "Hardtanh", "LeakyReLU",
    "PReLU", "RReLU", "ReLU", "ReLU6", "Softshrink", "Threshold",
]  # fmt: skip


class ReLU(_InPlace):
    """max(x, 0). Source: PyTorch's `nn.ReLU`.

    From any shape (*) to the same; real or complex.

    >>> rg.nn.ReLU()(rg.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """

    function = staticmethod(F.relu)


class SELU(_InPlace):
    """1.0507 x where positive, else 1.7581 (exp(x) - 1). Source: Klambauer et al., NeurIPS 2017.

    From any shape (*) to the same; floating or complex, else NotImplementedError.

    >>> rg.nn.SELU()(rg.tensor([-1.0, 2.0]))
    tensor([-1.1113,  2.1014])
    """

    function = staticmethod(F.selu)


class Hardsigmoid(_InPlace):
    """x / 6 + 1/2, cut to [0, 1]. Source: PyTorch's `nn.Hardsigmoid`.

    From any shape (*) to the same; floating or complex, else NotImplementedError.

    >>> rg.nn.Hardsigmoid()(rg.tensor([-4.0, 0.0, 1.5]))
    tensor([0.0000, 0.5000, 0.7500])
    """

    settings = ()  # PyTorch does not show `inplace` here
    function = staticmethod(F.hardsigmoid)


class Hardswish(_InPlace):
    """x * hardsigmoid(x). Source: Howard et al., ICCV 2019.

    From any shape (*) to the same; floating or complex, else NotImplementedError.

    >>> rg.nn.Hardswish()(rg.tensor([-1.0, 1.0, 4.0]))
    tensor([-0.3333,  0.6667,  4.0000])
    """

    settings = ()  # PyTorch does not show `inplace` here
    function = staticmethod(F.hardswish)


class LeakyReLU(_Activation):
    """x where positive, else negative_slope * x. Source: PyTorch's `nn.LeakyReLU`.

    From any shape (*) to the same; floating or complex, else NotImplementedError.

    >>> rg.nn.LeakyReLU(0.1)(rg.tensor([-1.0, 2.0]))
    tensor([-0.1000,  2.0000])
    """

    settings = ("negative_slope", "inplace")
    function = staticmethod(F.leaky_relu)

    def __init__(self, negative_slope: float = 0.01, inplace: bool = False) -> None:
        super().__init__()
        self.negative_slope, self.inplace = negative_slope, inplace


class RReLU(_Activation):
    """A leaky ReLU with a random slope from [lower, upper] while training, their mean afterwards.

    From any shape (*) to the same; floating or complex, else NotImplementedError. Source: Xu et
    al., 2015.

    >>> rg.nn.RReLU(0.1, 0.3).eval()(rg.tensor([-1.0, 2.0]))
    tensor([-0.2000,  2.0000])
    """

    settings = ("lower", "upper", "inplace")
    function = staticmethod(F.rrelu)

    def __init__(
        self, lower: float = 1.0 / 8, upper: float = 1.0 / 3, inplace: bool = False
    ) -> None:
        super().__init__()
        self.lower, self.upper, self.inplace = lower, upper, inplace

    def forward(self, input: Tensor) -> Tensor:
        """The function of `input`, elementwise."""
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)


class PReLU(Module):
    """x where positive, else weight * x, with one learned slope or one per channel.

    From any shape (*) to the same. `num_parameters` is 1 or the size of dimension 1, else
    RuntimeError; the slopes, real, start at `init`. Source: He et al., ICCV 2015.

    >>> rg.nn.PReLU()(rg.tensor([-2.0, 2.0])).tolist()
    [-0.5, 2.0]
    """

    _shown_settings = "num_parameters="

    def __init__(
        self,
        num_parameters: int = 1,
        init: float = 0.25,
        device: DeviceLike = None,
        dtype: dtype | None = None,
    ) -> None:
        super().__init__()
        self.num_parameters, self.init = num_parameters, init
        self.weight = empty_parameter((num_parameters,), device, dtype)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set every slope to `init`."""
        init.constant_(self.weight, self.init)

    def forward(self, input: Tensor) -> Tensor:
        """The function of `input`, elementwise."""
        return F.prelu(input, self.weight)


class _Exponential(_Activation):
    """An activation of the exponential, by `alpha`."""

    settings = ("alpha", "inplace")

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        self.alpha, self.inplace = alpha, inplace


class ELU(_Exponential):
    """x where positive, else alpha * (exp(x) - 1). Source: Clevert et al., ICLR 2016.

    From any shape (*) to the same; floating or complex, else NotImplementedError.

    >>> rg.nn.ELU()(rg.tensor([-1.0, 2.0]))
    tensor([-0.6321,  2.0000])
    """

    function = staticmethod(F.elu)


class CELU(_Exponential):
    """x where positive, else alpha * (exp(x / alpha) - 1). Source: Barron, 2017.

    From any shape (*) to the same; floating or complex, else NotImplementedError. Raises
    RuntimeError for `alpha` 0.

    >>> rg.nn.CELU(2.0)(rg.tensor([-1.0, 2.0]))
    tensor([-0.7869,  2.0000])
    """

    function = staticmethod(F.celu)


class _Shrink(_Activation):
    """An activation that is zero within a width, `lambd`."""

    settings = ("lambd",)

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def extra_repr(self) -> str:
        """The setting `lambd`."""
        return str(self.lambd)


class Softshrink(_Shrink):
    """x moved towards zero by `lambd`, zero within. Source: PyTorch's `nn.Softshrink`.

    From any shape (*) to the same; floating or complex, else NotImplementedError. Raises
    RuntimeError for a negative `lambd`.

    >>> rg.nn.Softshrink()(rg.tensor([-2.0, 0.25, 1.0]))
    tensor([-1.5000,  0.0000,  0.5000])
    """

    function = staticmethod(F.softshrink)


class Hardshrink(_Shrink):
    """x where |x| exceeds `lambd`, else zero. Source: PyTorch's `nn.Hardshrink`.

    From any shape (*) to the same; floating or complex, else NotImplementedError.

    >>> rg.nn.Hardshrink()(rg.tensor([-2.0, 0.25, 1.0]))
    tensor([-2.,  0.,  1.])
    """

    function = staticmethod(F.hardshrink)


class Hardtanh(_Activation):
    """x cut to [min_val, max_val]. Source: PyTorch's `nn.Hardtanh`.

    From any shape (*) to the same; real or complex. Raises AssertionError unless max_val exceeds
    min_val.

    >>> rg.nn.Hardtanh()(rg.tensor([-2.0, 0.25, 3.0]))
    tensor([-1.0000,  0.2500,  1.0000])
    """

    settings = ("min_val", "max_val", "inplace")
    function = staticmethod(F.hardtanh)

    def __init__(
        self,
        min_val: float = -1.0,
        max_val: float = 1.0,
        inplace: bool = False,
        min_value: float | None = None,
        max_value: float | None = None,
    ) -> None:
        super().__init__()
        for old, value in (("min_value", min_value), ("max_value", max_value)):
            if value is not None:
                text = f"keyword argument `{old}` is deprecated and rename to `{old[:-2]}`"
                warnings.warn(text, FutureWarning, stacklevel=2)
        min_val = min_val if min_value is None else min_value
        max_val = max_val if max_value is None else max_value
        if max_val <= min_val:
            raise AssertionError("max_val must be larger than min_val")
        self.min_val, self.max_val, self.inplace = min_val, max_val, inplace


class ReLU6(Hardtanh):
    """min(max(x, 0), 6). Source: PyTorch's `nn.ReLU6`.

    From any shape (*) to the same; real or complex.

    >>> rg.nn.ReLU6()(rg.tensor([-1.0, 2.0, 8.0]))
    tensor([0., 2., 6.])
    """

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(0.0, 6.0, inplace)

    def extra_repr(self) -> str:
        """Whether it writes its input in place."""
        return "inplace=True" if self.inplace else ""


class Threshold(_Activation):
    """x where it exceeds `threshold`, else `value`. Source: PyTorch's `nn.Threshold`.

    From any shape (*) to the same; real or complex.

    >>> rg.nn.Threshold(1.0, 9.0)(rg.tensor([0.5, 1.0, 2.0]))
    tensor([9., 9., 2.])
    """

    settings = ("threshold", "value", "inplace")
    function = staticmethod(F.threshold)

    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None:
        super().__init__()
        self.threshold, self.value, self.inplace = threshold, value, inplace
