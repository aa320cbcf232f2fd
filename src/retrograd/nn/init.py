"""Initialization: fill a tensor in place, without recording, and return it.

NOTE [Complex tensors] A rule that states a standard deviation states that of the whole number:
E|z - mean|^2 = std^2, so real and imaginary parts have std / sqrt(2) each. So an orthogonal, Xavier
or Kaiming initialization keeps the size of a signal, whether the layer is real or complex. Only
`uniform_`, whose rule is the range, draws both parts from [a, b] as they stand.

Every function takes a `generator`; without one the default generator is used.
"""

from __future__ import annotations

import functools
import math
import warnings
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from .. import modes
from ..engine.overriding import public
from ..engine.tensor import Tensor, new_tensor, wrote
from ..engine.writable import check_writable
from ..kernels.allocation import is_batched
from ..ops.creation.like import empty_like
from ..ops.random.factories import randperm
from ..ops.random.generator import Generator
from ..ops.random.inplace import mean_of
from ..quiet import quietly

F = TypeVar("F", bound="Callable[..., Tensor]")

__all__ = [
    "calculate_gain", "constant_", "dirac_", "eye_", "kaiming_normal_", "kaiming_uniform_",
    "normal_", "ones_", "orthogonal_", "sparse_", "trunc_normal_", "uniform_", "xavier_normal_",
    "xavier_uniform_", "zeros_",
]  # fmt: skip

LINEAR = {"linear", "sigmoid"} | {
    f"conv{kind}{n}d" for kind in ("", "_transpose") for n in (1, 2, 3)
}


def calculate_gain(nonlinearity: str, param: Any = None) -> float:
    """The factor by which weights before `nonlinearity` are scaled to keep the signal's size.

    `param` is the negative slope of "leaky_relu" (0.01). Raises ValueError for an unknown name.

    >>> from retrograd.nn import init
    >>> init.calculate_gain("leaky_relu", 1.0)
    1.0
    """
    if nonlinearity in LINEAR:
        return 1
    if nonlinearity == "tanh":
        return 5.0 / 3
    if nonlinearity == "relu":
        return math.sqrt(2.0)
    if nonlinearity == "selu":
        return 3.0 / 4
    if nonlinearity == "leaky_relu":
        slope = 0.01 if param is None else param
        if isinstance(slope, bool) or not isinstance(slope, (int, float)):
            raise ValueError(f"negative_slope {param} not a valid number")
        return math.sqrt(2.0 / (1 + slope**2))
    raise ValueError(f"Unsupported nonlinearity {nonlinearity}")


def _parts(tensor: Tensor) -> list[Tensor]:
    """The tensor's memory, as one real tensor or as real and imaginary parts."""
    array = tensor._array
    if array.dtype.kind != "c":
        return [new_tensor(array)]
    return [new_tensor(array.real), new_tensor(array.imag)]


def _whole(tensor: Tensor, size: float) -> float:
    """What each part of a number gets of a standard deviation: NOTE [Complex tensors]."""
    return size / math.sqrt(2) if tensor._array.dtype.kind == "c" else size


def initialiser(function: F) -> F:
    """A function that writes a tensor: one that may be written, silently, and the write counts."""
    fill = quietly(function)

    @functools.wraps(function)
    def call(tensor: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        if is_batched(tensor._array):  # which has no memory
            value = new_tensor(np.empty(tensor._array.shape, tensor._array.dtype))
            with modes.Changed(grad=False):
                return tensor.copy_(fill(value, *args, **kwargs))
        check_writable(tensor, function.__name__, uniform=function.__name__ == "constant_")
        fill(tensor, *args, **kwargs)
        wrote(tensor, f"init.{function.__name__}")
        return tensor

    return public(call)  # type: ignore[no-any-return]


@initialiser
def uniform_(
    tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Generator | None = None
) -> Tensor:
    """Fill with uniform numbers from [a, b); of a complex tensor, both parts.

    >>> w = rg.nn.init.uniform_(rg.zeros(100), -1.0, 1.0)
    >>> bool(w.abs().max() <= 1.0)
    True
    """
    new_tensor(tensor._array).uniform_(a, b, generator=generator)
    return tensor


def symmetric_(tensor: Tensor, bound: float, generator: Generator | None = None) -> Tensor:
    """Uniform with variance bound^2 / 3: on [-bound, bound] if real, else by the NOTE above."""
    bound = _whole(tensor, bound)
    return uniform_(tensor, -bound, bound, generator)


@initialiser
def normal_(
    tensor: Tensor, mean: complex = 0.0, std: float = 1.0, generator: Generator | None = None
) -> Tensor:
    """Fill with normal numbers of this mean, which may be complex, and standard deviation."""
    middle = mean_of(mean, tensor, "normal_")
    new_tensor(tensor._array).normal_(middle, std, generator=generator)
    return tensor


@initialiser
def trunc_normal_(
    tensor: Tensor,
    mean: float = 0.0,
    std: float = 1.0,
    a: float = -2.0,
    b: float = 2.0,
    generator: Generator | None = None,
) -> Tensor:
    """Fill with normal numbers within [a, b]; of a complex tensor, each part, with std / sqrt(2).

    By rejection: of normal numbers while most lie in [a, b], else of uniform ones; each round draws
    for all elements, so that a seed gives PyTorch's numbers.
    """
    size = _whole(tensor, std)
    if mean < a - 2 * std or mean > b + 2 * std:
        warnings.warn(
            "mean is more than 2 std from [a, b] in nn.init.trunc_normal_. The distribution of "
            "values may be incorrect.",
            stacklevel=2,
        )
    low, high = (math.erf((end - mean) / size / math.sqrt(2)) for end in (a, b))
    draw = _from_normal if (high - low) / 2 > MOSTLY else _from_uniform
    for part in _parts(tensor):
        again = np.ones(part.shape, bool)
        while again.any():
            drawn, wrong = draw(part, mean, size, a, b, generator)
            part._array[again] = drawn[again]
            again &= wrong
    return tensor


MOSTLY = 0.3  # the share of normal numbers in bounds, above which few have to be drawn again


def _from_normal(
    like: Tensor, mean: float, std: float, a: float, b: float, generator: Generator | None
) -> tuple[Any, Any]:
    """Candidates, and which of them lie out of bounds."""
    drawn = empty_like(like).normal_(mean, std, generator=generator)._array
    return drawn, (drawn < drawn.dtype.type(a)) | (drawn > drawn.dtype.type(b))


def _from_uniform(
    like: Tensor, mean: float, std: float, a: float, b: float, generator: Generator | None
) -> tuple[Any, Any]:
    """Candidates, and which of them are not accepted with the density's ratio to its peak."""
    drawn = empty_like(like).uniform_(a, b, generator=generator)._array
    peak = (max(a, min(mean, b)) - mean) / std
    chance = np.log(empty_like(like).uniform_(generator=generator)._array)
    return drawn, chance > ((drawn - mean) / std) ** 2 * -0.5 + 0.5 * peak**2


@initialiser
def constant_(tensor: Tensor, val: float) -> Tensor:
    """Fill the tensor with `val`."""
    new_tensor(tensor._array).fill_(val.detach() if isinstance(val, Tensor) else val)
    return tensor


def ones_(tensor: Tensor) -> Tensor:
    """Fill the tensor with ones."""
    return constant_(tensor, 1)


def zeros_(tensor: Tensor) -> Tensor:
    """Fill the tensor with zeros."""
    return constant_(tensor, 0)


@initialiser
def eye_(tensor: Tensor) -> Tensor:
    """Fill with the identity matrix, which passes on as many inputs as there are outputs.

    Raises ValueError unless the tensor has two dimensions.
    """
    if tensor._array.ndim != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    tensor._array[...] = np.eye(*tensor._array.shape)
    return tensor


@initialiser
def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """Fill a convolution weight (out, in / groups, *kernel) that passes each channel on unchanged.

    Raises ValueError unless it has 3 to 5 dimensions and `groups` divides the first.
    """
    array = tensor._array
    if array.ndim not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    if array.shape[0] % groups:
        raise ValueError("dim 0 must be divisible by groups")
    array[...] = 0
    outputs = array.shape[0] // groups
    middle = tuple(n // 2 for n in array.shape[2:])
    for group in range(groups):
        for channel in range(min(outputs, array.shape[1])):
            array[(group * outputs + channel, channel, *middle)] = 1
    return tensor


def fans(tensor: Tensor) -> tuple[int, int]:
    """How many inputs an output depends on, and how many outputs an input reaches.

    The weight is (out, in, *kernel). Raises ValueError for fewer than two dimensions.
    """
    shape = tensor.shape
    if len(shape) < 2:
        raise ValueError(
            "Fan in and fan out can not be computed for tensor with fewer than 2 dimensions"
        )
    field = math.prod(shape[2:])
    return shape[1] * field, shape[0] * field


_calculate_fan_in_and_fan_out = fans  # by which programs on PyTorch know it


def _fan(tensor: Tensor, mode: str) -> int:
    if mode.lower() not in ("fan_in", "fan_out"):
        raise ValueError(
            f"Mode {mode.lower()} not supported, please use one of ['fan_in', 'fan_out']"
        )
    return fans(tensor)[mode.lower() == "fan_out"]


_calculate_correct_fan = _fan  # by which programs on PyTorch know it


def xavier_uniform_(
    tensor: Tensor, gain: float = 1.0, generator: Generator | None = None
) -> Tensor:
    """Fill with uniform numbers of deviation gain * sqrt(2 / (fan_in + fan_out)).

    Source: Glorot and Bengio, AISTATS 2010. Raises ValueError for fewer than two dimensions.
    """
    std = gain * math.sqrt(2.0 / sum(fans(tensor)))
    return symmetric_(tensor, math.sqrt(3.0) * std, generator)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Fill with normal numbers of deviation gain * sqrt(2 / (fan_in + fan_out)).

    Source: Glorot and Bengio, AISTATS 2010. Raises ValueError for fewer than two dimensions.
    """
    return normal_(tensor, 0.0, gain * math.sqrt(2.0 / sum(fans(tensor))), generator)


def kaiming_uniform_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Generator | None = None,
) -> Tensor:
    """Fill with uniform numbers of deviation gain / sqrt(fan), `a` the slope of a leaky ReLU.

    Source: He et al., ICCV 2015. Raises ValueError for fewer than two dimensions.

    >>> w = rg.nn.init.kaiming_uniform_(rg.empty(64, 600), nonlinearity="relu")
    >>> bool(w.abs().max() <= 0.1)
    True
    """
    if _is_empty(tensor):
        return tensor
    std = calculate_gain(nonlinearity, a) / math.sqrt(_fan(tensor, mode))
    return symmetric_(tensor, math.sqrt(3.0) * std, generator)


def kaiming_normal_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Generator | None = None,
) -> Tensor:
    """Fill with normal numbers of deviation gain / sqrt(fan), `a` the slope of a leaky ReLU.

    Source: He et al., ICCV 2015. Raises ValueError for fewer than two dimensions.
    """
    if _is_empty(tensor):
        return tensor
    std = calculate_gain(nonlinearity, a) / math.sqrt(_fan(tensor, mode))
    return normal_(tensor, 0.0, std, generator)


def _is_empty(tensor: Tensor) -> bool:
    empty = 0 in tensor.shape
    if empty:
        warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=3)
    return empty


@initialiser
def orthogonal_(tensor: Tensor, gain: float = 1, generator: Generator | None = None) -> Tensor:
    """Fill with a random matrix of orthonormal rows or columns (unitary if complex), times `gain`.

    Dimensions after the first are flattened. Drawn evenly from all such matrices: Q of a normal
    matrix's QR factors, with the phases of R's diagonal. Raises ValueError for fewer than two
    dimensions. Source: Saxe et al., ICLR 2014; Mezzadri, Notices of the AMS 54 (2007).

    >>> w = rg.nn.init.orthogonal_(rg.empty(2, 3))
    >>> (w @ w.mT).round(decimals=5).abs()
    tensor([[1., 0.],
            [0., 1.]])
    """
    shape = tensor._array.shape
    if len(shape) < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    if tensor._array.size == 0:
        return tensor
    rows, columns = shape[0], math.prod(shape[1:])
    start = new_tensor(np.empty((rows, columns), tensor._array.dtype))
    drawn = normal_(start, generator=generator)._array
    wide = drawn.astype("D" if drawn.dtype.kind == "c" else "d")
    q, r = np.linalg.qr(wide.T if rows < columns else wide)
    diagonal = np.diagonal(r)
    size = np.abs(diagonal)
    q = q * np.where(size == 0, 1, diagonal / np.where(size == 0, 1, size))
    tensor._array[...] = (gain * (q.T if rows < columns else q)).reshape(shape)
    return tensor


@initialiser
def sparse_(
    tensor: Tensor, sparsity: float, std: float = 0.01, generator: Generator | None = None
) -> Tensor:
    """Fill with normal numbers, with the share `sparsity` of each column set to 0.

    Raises ValueError unless the tensor has two dimensions. Source: Martens, ICML 2010.
    """
    if tensor._array.ndim != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    rows, columns = tensor._array.shape
    count = math.ceil(sparsity * rows)
    normal_(tensor, 0.0, std, generator)
    for column in range(columns):
        zeroed = randperm(rows, generator=generator)._array[:count]
        tensor._array[zeroed, column] = 0
    return tensor


# -- older names, and private ones of PyTorch's ----------------------------------------------------

_no_grad_uniform_, _no_grad_normal_, _no_grad_trunc_normal_ = uniform_, normal_, trunc_normal_
_no_grad_fill_, _no_grad_zero_ = constant_, zeros_


def _older(function: Any) -> Any:
    """`function` by its older name, without the underscore; warns."""
    name = function.__name__

    def call(*args: Any, **kwargs: Any) -> Tensor:
        warnings.warn(
            f"`nn.init.{name[:-1]}` is now deprecated in favor of `nn.init.{name}`.",
            FutureWarning,
            stacklevel=2,
        )
        return function(*args, **kwargs)  # type: ignore[no-any-return]

    call.__name__ = call.__qualname__ = name[:-1]
    call.__doc__ = f"`{name}` by its older name; warns."
    return call


uniform, normal, constant, eye, dirac = map(_older, (uniform_, normal_, constant_, eye_, dirac_))
xavier_uniform, xavier_normal = map(_older, (xavier_uniform_, xavier_normal_))
kaiming_uniform, kaiming_normal = map(_older, (kaiming_uniform_, kaiming_normal_))
orthogonal, sparse = map(_older, (orthogonal_, sparse_))
