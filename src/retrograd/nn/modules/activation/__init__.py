"""Activations as layers: each holds the settings of one function of `functional`.

What a function does with complex input, and its derivative at kinks, is said there. With `inplace`
a layer writes its result into its input, and returns that.
"""

from .piecewise import (
    CELU,
    ELU,
    Hardshrink,
    Hardsigmoid,
    Hardswish,
    Hardtanh,
    LeakyReLU,
    PReLU,
    RReLU,
    ReLU,
    ReLU6,
    SELU,
    Softshrink,
    Threshold,
)
from .smooth import GELU, GLU, LogSigmoid, Mish, SiLU, Sigmoid, Softplus, Softsign, Tanh, Tanhshrink
from .softmax import LogSoftmax, Softmax, Softmax2d, Softmin

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
