"""Activations of `nn.complex.functional` as layers; what each does at 0 is said there."""

from __future__ import annotations

import math
from collections.abc import Callable

from ...dtypes import dtype
from ...engine.namespaces import recorded
from ...engine.placement import DeviceLike
from ...engine.tensor import Tensor
from .. import init
from ..modules.activation.base import _Activation
from ..modules.module import Module
from ..modules.utils import empty_parameter
from . import functional as F
from .layers import complex_dtype

__all__ = [
    "CReLU", "Cardioid", "GTReLU", "GeorgiouKoutsougeras", "ModReLU", "PolarTanh", "Siglog",
    "Split", "SplitPolar", "ZReLU",
]  # fmt: skip


class Split(Module):
    """f(x) + i f(y), of any complex shape (*): a real function on each part.

    `function` is a function of a tensor or a layer. Raises ValueError for input that is not
    complex. Source: `functional.split`.

    >>> rg.nn.complex.Split(rg.nn.GELU())(rg.tensor([1 - 1j]))
    tensor([0.8413-0.1587j])
    """

    def __init__(self, function: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.function = function

    def forward(self, input: Tensor) -> Tensor:
        """The function on each part."""
        return F.split(self.function, input)

    def extra_repr(self) -> str:
        """The name of a plain function."""
        return "" if isinstance(self.function, Module) else self.function.__name__


class CReLU(Split):
    """relu(x) + i relu(y), of any complex shape (*); derivative 0 at 0. Source: Trabelsi, 2018.

    Raises ValueError for input that is not complex.

    >>> rg.nn.complex.CReLU()(rg.tensor([1 - 1j]))
    tensor([1.+0.j])
    """

    def __init__(self) -> None:
        super().__init__(recorded.relu)

    def extra_repr(self) -> str:
        """Nothing, since it has no settings."""
        return ""


class SplitPolar(Module):
    """f(|z|) z / |z|, of any complex shape (*); with `phase`, f(|z|) e^{i phase(angle z)}.

    Raises ValueError for input that is not complex. Source: `functional.split_polar`.

    >>> rg.nn.complex.SplitPolar(rg.sqrt)(rg.tensor([4j]))
    tensor([0.+2.j])
    """

    def __init__(
        self,
        function: Callable[[Tensor], Tensor],
        phase: Callable[[Tensor], Tensor] | None = None,
    ) -> None:
        super().__init__()
        self.function, self.phase = function, phase

    def forward(self, input: Tensor) -> Tensor:
        """The function of the modulus, and that of the phase."""
        return F.split_polar(self.function, input, self.phase)


class PolarTanh(_Activation):
    """tanh(|z|) z / |z|, of any complex shape (*). Source: Hirose, 1992.

    Raises ValueError for input that is not complex.

    >>> rg.nn.complex.PolarTanh()(rg.tensor([100j]))
    tensor([0.+1.j])
    """

    function = staticmethod(F.polar_tanh)


class ZReLU(_Activation):
    """z where both parts are positive, else 0, of any complex shape (*). Source: Guberman, 2016.

    Raises ValueError for input that is not complex.

    >>> rg.nn.complex.ZReLU()(rg.tensor([1 + 2j, 1 - 2j]))
    tensor([1.+2.j, 0.+0.j])
    """

    function = staticmethod(F.zrelu)


class Cardioid(_Activation):
    """(1 + cos(angle z)) z / 2, of any complex shape (*). Source: Virtue et al., ICIP 2017.

    Raises ValueError for input that is not complex.

    >>> rg.nn.complex.Cardioid()(rg.tensor([2 + 0j, 2j]))
    tensor([2.+0.j, 0.+1.j])
    """

    function = staticmethod(F.cardioid)


class Siglog(_Activation):
    """z / (1 + |z|), of any complex shape (*). Source: Tygert et al., 2016.

    Raises ValueError for input that is not complex.

    >>> rg.nn.complex.Siglog()(rg.tensor([1j]))
    tensor([0.+0.5000j])
    """

    function = staticmethod(F.siglog)


class GeorgiouKoutsougeras(_Activation):
    """z / (c + |z| / r), of any complex shape (*). Source: Georgiou and Koutsougeras, 1992.

    Raises ValueError for input that is not complex.

    >>> rg.nn.complex.GeorgiouKoutsougeras(r=2.0)(rg.tensor([2j]))
    tensor([0.+1.j])
    """

    settings = ("c", "r")
    function = staticmethod(F.georgiou_koutsougeras)

    def __init__(self, c: float = 1.0, r: float = 1.0) -> None:
        super().__init__()
        self.c, self.r = c, r


class ModReLU(Module):
    """relu(|z| + bias) z / |z| with a learnable real bias per channel; 0 at first.

    (N, num_features, *) to the same shape, complex, else ValueError; with the default
    `num_features=1` one bias for all, and any shape (*). Source: Arjovsky, Shah and Bengio, 2016.

    >>> rg.nn.complex.ModReLU(3)(rg.ones(2, 3, 4, dtype=rg.complex64)).shape
    retrograd.Size([2, 3, 4])
    """

    _shown_settings = "num_features="

    def __init__(
        self, num_features: int = 1, device: DeviceLike = None, dtype: dtype | None = None
    ) -> None:
        super().__init__()
        self.num_features = num_features
        self.bias = empty_parameter((num_features,), device, dtype)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set the bias to 0."""
        init.zeros_(self.bias)

    def forward(self, input: Tensor) -> Tensor:
        """The modulus after bias and ReLU, with the phase of the input."""
        return F.modrelu(input, per_channel(self.bias.real, input))


class GTReLU(Module):
    """`weight` times z, its phase held within an arc; a learnable complex weight per channel.

    (N, num_features, *) to the same shape, complex, else ValueError; with the default
    `num_features=1` one weight for all, and any shape (*). The weight starts at 1, the arc is 0 to
    pi/2. Source: Singhal, Xing and Yu, CVPR 2022: `functional.gtrelu`.

    >>> rg.nn.complex.GTReLU()(rg.tensor([1 + 1j, -2j])).detach()
    tensor([1.+1.j, 2.+0.j])
    """

    def __init__(
        self,
        num_features: int = 1,
        low: float = 0.0,
        high: float = math.pi / 2,
        device: DeviceLike = None,
        dtype: dtype | None = None,
    ) -> None:
        super().__init__()
        self.num_features, self.low, self.high = num_features, low, high
        self.weight = empty_parameter((num_features,), device, complex_dtype(dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set the weight to 1."""
        init.ones_(self.weight)

    def forward(self, input: Tensor) -> Tensor:
        """The scaled input, its phase within the arc."""
        return F.gtrelu(input, per_channel(self.weight, input), self.low, self.high)

    def extra_repr(self) -> str:
        """The settings."""
        return f"num_features={self.num_features}, low={self.low:.4g}, high={self.high:.4g}"


def per_channel(param: Tensor, input: Tensor) -> Tensor:
    """A parameter of one number per channel, to broadcast against (N, C, *)."""
    if param.shape[0] == 1:
        return param
    return param.reshape((-1,) + (1,) * (input.ndim - 2))
