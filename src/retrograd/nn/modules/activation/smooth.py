"""Activations without kinks."""

from __future__ import annotations

from ... import functional as F
from .base import _Activation, _InPlace, _Plain

__all__ = [
    "GELU", "GLU", "LogSigmoid", "Mish", "SiLU", "Sigmoid", "Softplus", "Softsign", "Tanh",
    "Tanhshrink",
]  # fmt: skip


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
        """The setting `approximate`."""
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
