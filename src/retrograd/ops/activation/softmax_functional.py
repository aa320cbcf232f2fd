"""Softmax and its relatives as torch.nn.functional has them, where `dim` may be left out."""

from __future__ import annotations

import warnings

import numpy as np

from ... import dtypes
from ...engine.tensor import Tensor, constant_like, new_tensor
from ..random.generator import default_generator, in_rows
from ..random.inplace import continuous
from . import softmax as along


def _implicit(name: str, ndim: int, stacklevel: int) -> int:
    warnings.warn(
        f"Implicit dimension choice for {name} has been deprecated. Change the call to include "
        "dim=X as an argument.",
        stacklevel=stacklevel + 1,
    )
    return 0 if ndim in (0, 1, 3) else 1


def softmax(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: dtypes.dtype | None = None
) -> Tensor:
    """exp(input) over its sum along `dim`; `dtype` is taken on first.

    Without `dim` it is guessed, with a warning.

    >>> rg.nn.functional.softmax(rg.tensor([0.0, 0.0]), dim=0)
    tensor([0.5000, 0.5000])
    """
    if dim is None:
        dim = _implicit("softmax", input._array.ndim, _stacklevel)
    return along.softmax(input, dim, dtype)


def softmin(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: dtypes.dtype | None = None
) -> Tensor:
    """`softmax` of -input.

    >>> rg.nn.functional.softmin(rg.tensor([0.0, 1000.0]), dim=0)
    tensor([1., 0.])
    """
    if dim is None:
        dim = _implicit("softmin", input._array.ndim, _stacklevel)
    return along.softmax(-input, dim, dtype)


def log_softmax(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: dtypes.dtype | None = None
) -> Tensor:
    """The logarithm of `softmax`, stable for inputs of any size.

    >>> rg.nn.functional.log_softmax(rg.tensor([0.0, 0.0]), dim=0)
    tensor([-0.6931, -0.6931])
    """
    if dim is None:
        dim = _implicit("log_softmax", input._array.ndim, _stacklevel)
    return along.log_softmax(input, dim, dtype)


def gumbel_softmax(
    logits: Tensor, tau: float | Tensor = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1
) -> Tensor:
    """Samples of the Gumbel-softmax distribution: softmax((logits + noise) / tau) along `dim`.

    With `hard` they are one-hot, and their derivative is that of the soft ones. `eps` has no
    effect. Source: Jang, Gu and Poole, 2017.

    >>> rg.nn.functional.gumbel_softmax(rg.tensor([0.0, 0.0, 0.0]), hard=True).sum()
    tensor(1.)
    """
    if eps != 1e-10:
        warnings.warn("`eps` parameter is deprecated and has no effect.", stacklevel=2)
    dtype = dtypes.real_of(logits._array.dtype)
    if dtype is logits._array.dtype:
        continuous(logits, "Exponential")
    noise = -np.log(
        in_rows(lambda shape: default_generator.exponential(shape, dtype), logits._array)
    )
    soft = along.softmax(
        (logits + constant_like(np.asarray(noise, dtype), logits)) / tau, dim, None
    )
    if not hard:
        return soft
    rank = np.expand_dims(soft._array.argmax(dim), dim)
    chosen = np.zeros_like(soft._array)
    np.put_along_axis(chosen, rank, 1, dim)
    return new_tensor(chosen - soft._array) + soft
