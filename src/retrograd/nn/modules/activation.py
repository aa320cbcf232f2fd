"""Activations as layers: each holds the settings of one function of `functional`.

What a function does with complex input, and its derivative at kinks, is said there. With `inplace`
a layer writes its result into its input, and returns that.
"""

from __future__ import annotations

import warnings
from typing import Any

from ...engine.tensor import Tensor
from .. import functional as F
from .. import init
from .module import Module
from .utils import empty_parameter

__all__ = [
    "CELU",
    "ELU",
    "GELU",
    "GLU",
    "SELU",
    "Hardshrink",
    "Hardsigmoid",
    "Hardswish",
    "Hardtanh",
    "LeakyReLU",
    "LogSigmoid",
    "LogSoftmax",
    "Mish",
    "PReLU",
    "RReLU",
    "ReLU",
    "ReLU6",
    "SiLU",
    "Sigmoid",
    "Softmax",
    "Softmax2d",
    "Softmin",
    "Softplus",
    "Softshrink",
    "Softsign",
    "Tanh",
    "Tanhshrink",
    "Threshold",
]


class _Activation(Module):
    """A function with `settings`: the names of attributes that it takes by the same keyword."""

    settings: tuple[str, ...] = ()

    @staticmethod
    def function(*args: Any, **kwargs: Any) -> Tensor:
        """The function of `functional`."""
        raise NotImplementedError

    def forward(self, input: Tensor) -> Tensor:
        """The function of `input`, elementwise unless the class says otherwise."""
        return self.function(input, **{name: getattr(self, name) for name in self.settings})

    def extra_repr(self) -> str:
        """The settings; `inplace` only if set."""
        shown = [
            f"{name}={getattr(self, name)}"
            for name in self.settings
            if name != "inplace" or getattr(self, name)
        ]
        return ", ".join(shown)


class _Plain(_Activation):
    """An activation without settings."""

    def forward(self, input: Tensor) -> Tensor:
        """The function of `input`, elementwise."""
        return self.function(input)


class _InPlace(_Activation):
    """An activation whose only setting is whether it writes its input in place."""

    settings: tuple[str, ...] = ("inplace",)

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        """The function of `input`, elementwise."""
        return self.function(input, inplace=True) if self.inplace else self.function(input)


class ReLU(_InPlace):
    """max(x, 0). Source: PyTorch's `nn.ReLU`.

    From any shape (*) to the same; real or complex.

    >>> rg.nn.ReLU()(rg.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """

    function = staticmethod(F.relu)


class ReLU6(_InPlace):
    """min(max(x, 0), 6). Source: PyTorch's `nn.ReLU6`.

    From any shape (*) to the same; real or complex.

    >>> rg.nn.ReLU6()(rg.tensor([-1.0, 2.0, 8.0]))
    tensor([0., 2., 6.])
    """

    function = staticmethod(F.relu6)


class SELU(_InPlace):
    """1.0507 x where positive, else 1.7581 (exp(x) - 1). Source: Klambauer et al., NeurIPS 2017.

    From any shape (*) to the same; floating or complex, else NotImplementedError.

    >>> rg.nn.SELU()(rg.tensor([-1.0, 2.0]))
    tensor([-1.1113,  2.1014])
    """

    function = staticmethod(F.selu)


class SiLU(_InPlace):
    """x * sigmoid(x), also called swish. Source: PyTorch's `nn.SiLU`.

    From any shape (*) to the same; floating or complex, else NotImplementedError.

    >>> rg.nn.SiLU()(rg.tensor([-1.0, 2.0]))
    tensor([-0.2689,  1.7616])
    """

    function = staticmethod(F.silu)


class Mish(_InPlace):
    """x * tanh(softplus(x)). Source: Misra, BMVC 2020.

    From any shape (*) to the same; floating or complex, else NotImplementedError.

    >>> rg.nn.Mish()(rg.tensor([-1.0, 2.0]))
    tensor([-0.3034,  1.9440])
    """

    function = staticmethod(F.mish)


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


class Sigmoid(_Plain):
    """1 / (1 + exp(-x)). Source: PyTorch's `nn.Sigmoid`.

    From any shape (*) to the same; real or complex, integers to the default floating dtype.

    >>> rg.nn.Sigmoid()(rg.tensor([0.0, 2.0]))
    tensor([0.5000, 0.8808])
    """

    function = staticmethod(F.sigmoid)


class LogSigmoid(_Plain):
    """log(sigmoid(x)), without overflow. Source: PyTorch's `nn.LogSigmoid`.

    From any shape (*) to the same; floating or complex, else NotImplementedError.

    >>> rg.nn.LogSigmoid()(rg.tensor([-100.0, 0.0]))
    tensor([-100.0000,   -0.6931])
    """

    function = staticmethod(F.logsigmoid)


class Tanh(_Plain):
    """The hyperbolic tangent. Source: PyTorch's `nn.Tanh`.

    From any shape (*) to the same; real or complex, integers to the default floating dtype.

    >>> rg.nn.Tanh()(rg.tensor([-1.0, 2.0]))
    tensor([-0.7616,  0.9640])
    """

    function = staticmethod(F.tanh)


class Tanhshrink(_Plain):
    """x - tanh(x). Source: PyTorch's `nn.Tanhshrink`.

    From any shape (*) to the same; real or complex, integers to the default floating dtype.

    >>> rg.nn.Tanhshrink()(rg.tensor([-1.0, 2.0]))
    tensor([-0.2384,  1.0360])
    """

    function = staticmethod(F.tanhshrink)


class Softsign(_Plain):
    """x / (1 + |x|). Source: PyTorch's `nn.Softsign`.

    From any shape (*) to the same; real or complex, integers to the default floating dtype.

    >>> rg.nn.Softsign()(rg.tensor([-1.0, 3.0]))
    tensor([-0.5000,  0.7500])
    """

    function = staticmethod(F.softsign)


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

    def __init__(
        self, num_parameters: int = 1, init: float = 0.25, device: Any = None, dtype: Any = None
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

    def extra_repr(self) -> str:
        """The number of slopes."""
        return f"num_parameters={self.num_parameters}"


class ELU(_Activation):
    """x where positive, else alpha * (exp(x) - 1). Source: Clevert et al., ICLR 2016.

    From any shape (*) to the same; floating or complex, else NotImplementedError.

    >>> rg.nn.ELU()(rg.tensor([-1.0, 2.0]))
    tensor([-0.6321,  2.0000])
    """

    settings = ("alpha", "inplace")
    function = staticmethod(F.elu)

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        self.alpha, self.inplace = alpha, inplace


class CELU(ELU):
    """x where positive, else alpha * (exp(x / alpha) - 1). Source: Barron, 2017.

    From any shape (*) to the same; floating or complex, else NotImplementedError. Raises
    RuntimeError for `alpha` 0.

    >>> rg.nn.CELU(2.0)(rg.tensor([-1.0, 2.0]))
    tensor([-0.7869,  2.0000])
    """

    function = staticmethod(F.celu)


class GELU(_Activation):
    """x * Phi(x), Phi the normal distribution function; approximate="tanh" for the faster form.

    From any shape (*) to the same; floating or complex, else NotImplementedError. Raises
    RuntimeError for another form. Source: Hendrycks and Gimpel, 2016.

    >>> rg.nn.GELU()(rg.tensor([-1.0, 2.0]))
    tensor([-0.1587,  1.9545])
    """

    settings = ("approximate",)
    function = staticmethod(F.gelu)

    def __init__(self, approximate: str = "none") -> None:
        super().__init__()
        self.approximate = approximate

    def extra_repr(self) -> str:
        """The form."""
        return f"approximate={self.approximate!r}"


class Softplus(_Activation):
    """log(1 + exp(beta * x)) / beta, and x itself where beta * x exceeds `threshold`.

    From any shape (*) to the same; floating or complex, else NotImplementedError.

    >>> rg.nn.Softplus()(rg.tensor([0.0, 30.0]))
    tensor([ 0.6931, 30.0000])
    """

    settings = ("beta", "threshold")
    function = staticmethod(F.softplus)

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        super().__init__()
        self.beta, self.threshold = beta, threshold


class Softshrink(_Activation):
    """x moved towards zero by `lambd`, zero within. Source: PyTorch's `nn.Softshrink`.

    From any shape (*) to the same; floating or complex, else NotImplementedError. Raises
    RuntimeError for a negative `lambd`.

    >>> rg.nn.Softshrink()(rg.tensor([-2.0, 0.25, 1.0]))
    tensor([-1.5000,  0.0000,  0.5000])
    """

    settings = ("lambd",)
    function = staticmethod(F.softshrink)

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def extra_repr(self) -> str:
        """The width."""
        return str(self.lambd)


class Hardshrink(Softshrink):
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


class GLU(_Activation):
    """a * sigmoid(b), where a and b are the halves of the input along `dim`.

    From (*1, 2n, *2) to (*1, n, *2); floating or complex, else NotImplementedError. Raises
    RuntimeError for an odd size. Source: Dauphin et al., ICML 2017.

    >>> rg.nn.GLU()(rg.tensor([1.0, 2.0, 0.0, 0.0]))
    tensor([0.5000, 1.0000])
    """

    settings = ("dim",)
    function = staticmethod(F.glu)

    def __init__(self, dim: int = -1) -> None:
        super().__init__()
        self.dim = dim


class Softmax(_Activation):
    """exp(x) / sum(exp(x)) along `dim`. Source: PyTorch's `nn.Softmax`.

    From any shape (*) to the same; floating or complex, else NotImplementedError. Without `dim`, it
    warns and takes 0 for 0, 1 or 3 dimensions, else 1.

    >>> rg.nn.Softmax(dim=-1)(rg.zeros(4))
    tensor([0.2500, 0.2500, 0.2500, 0.2500])
    """

    settings = ("dim",)
    function = staticmethod(F.softmax)

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim


class LogSoftmax(Softmax):
    """log(softmax(x)) along `dim`, without overflow. Source: PyTorch's `nn.LogSoftmax`.

    From any shape (*) to the same; floating or complex, else NotImplementedError.

    >>> rg.nn.LogSoftmax(dim=0)(rg.tensor([1000.0, 1000.0]))
    tensor([-0.6931, -0.6931])
    """

    function = staticmethod(F.log_softmax)


class Softmin(Softmax):
    """softmax(-x) along `dim`. Source: PyTorch's `nn.Softmin`.

    From any shape (*) to the same; floating or complex, else NotImplementedError.

    >>> rg.nn.Softmin(dim=0)(rg.tensor([0.0, 1.0]))
    tensor([0.7311, 0.2689])
    """

    function = staticmethod(F.softmin)


class Softmax2d(Module):
    """Softmax over the channels: (N, C, H, W) to the same shape, N optional.

    Floating or complex, else NotImplementedError. Raises ValueError for another number of
    dimensions.

    >>> rg.nn.Softmax2d()(rg.zeros(1, 4, 1, 2))[0, 0]
    tensor([[0.2500, 0.2500]])
    """

    def forward(self, input: Tensor) -> Tensor:
        """The softmax along dimension -3."""
        if input._array.ndim not in (3, 4):
            raise ValueError(f"Softmax2d: expected input to be 3D or 4D, got {input.ndim}D instead")
        return F.softmax(input, -3)
