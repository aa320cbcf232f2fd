"""Functions of older programs: `range` with its end, `vander`, norms by the name of the norm."""

from __future__ import annotations

import builtins
import warnings
from typing import Any, NoReturn

import numpy as np

from ... import dtypes, version
from ...engine.tensor import Tensor, method
from ...engine.trace import users_level
from ...ops.core.arguments import public, titled
from ...ops.creation.factories import factory, number, progression
from ...ops.linalg.matrix_functions import vander as powers
from ...ops.linalg.matrix_norms import matrix_norm
from ...ops.reduction.vector_norm import vector_norm
from ...ops.shape.rearrange import flip

__all__ = [
    "eig", "frobenius_norm", "lstsq", "matrix_rank", "nuclear_norm", "range", "solve", "symeig",
    "vander",
]  # fmt: skip

RANGE = (
    "retrograd.range is deprecated and will be removed in a future release because its behavior "
    "is inconsistent with Python's range builtin. Instead, use retrograd.arange, which produces "
    "values in [start, end)."
)


@factory(dtypes.default_numpy, fills=True)
def range(start: Any = 0, end: Any = None, step: Any = 1, *, target: Any) -> Any:
    """The numbers from `start` to `end`, included, by `step`, of the default dtype; it warns.

    `arange` leaves the end out, as Python does. Raises TypeError without `end`; other errors are as
    there. Source: PyTorch's `range`.

    >>> import warnings
    >>> with warnings.catch_warnings(action="ignore"):
    ...     rg.range(1, 3)
    tensor([1., 2., 3.])
    """
    warnings.warn(version.named(RANGE), UserWarning, stacklevel=users_level())
    if end is None:
        raise TypeError("range() missing 1 required positional argument: 'end'")
    first, last, by = (number(value, "range", "start") for value in (start, end, step))
    progression(first, last, by, target)  # for its checks
    count = int((last - first) / by) + 1
    return (first + by * np.arange(count, dtype=np.float64)).astype(target)


def vander(x: Tensor, N: int | None = None, increasing: bool = False) -> Tensor:
    """The powers of the elements of a vector, from N - 1 down to 0, or up: (n, N).

    N is n by default. `linalg.vander` is the increasing one, of any number of vectors. Raises
    RuntimeError for what is no vector and for negative N. Source: PyTorch's `vander`.

    >>> rg.vander(rg.tensor([2, 3]), 3)
    tensor([[4, 2, 1],
            [9, 3, 1]])
    """
    if x._array.ndim != 1:
        raise RuntimeError(
            f"x must be a one-dimensional tensor, this one has shape {list(x.shape)}"
        )
    columns = x._array.shape[0] if N is None else N
    if columns < 0:
        raise RuntimeError(f"N must be non-negative, but got {columns}")
    if x._array.dtype.kind in "biu":
        x = x.long()
    found = powers(x, max(columns, 2))[:, :columns]
    return found if increasing else flip(found, (1,))


@public(out=True)
def nuclear_norm(input: Tensor, dim: Any = None, keepdim: bool = False) -> Tensor:
    """The sum of the singular values: `linalg.matrix_norm` of order "nuc".

    >>> rg.nuclear_norm(rg.tensor([[3.0, 0.0], [0.0, 4.0]]))
    tensor(7.)
    """
    if isinstance(dim, builtins.bool):  # nuclear_norm(input, keepdim)
        dim, keepdim = None, dim
    return matrix_norm(input, "nuc", (-2, -1) if dim is None else dim, keepdim)


@public(out=True)
def frobenius_norm(input: Tensor, dim: Any = (), keepdim: bool = False) -> Tensor:
    """The root of the sum of the squared moduli over `dim`, by default over all.

    >>> rg.frobenius_norm(rg.tensor([[3.0, 0.0], [0.0, 4.0]]))
    tensor(5.)
    """
    everything = isinstance(dim, (tuple, list)) and not dim
    return vector_norm(input, 2, None if everything else dim, keepdim)


# -- what PyTorch has removed --------------------------------------------------------------------

GONE = (
    "This function was deprecated since version 1.9 and is now removed. Use retrograd.linalg.{new}"
)


def removed(name: str, new: str) -> Any:
    """The function `name`, which raises and says what took its place."""

    def gone(*args: Any, **kwargs: Any) -> NoReturn:
        raise RuntimeError(f"{name}(): {GONE.format(new=new)}")

    return titled(gone, name, f"Raises RuntimeError, as in PyTorch: write `linalg.{new}`.")


eig = removed("eig", "eig(A), whose results are complex")
lstsq = removed("lstsq", "lstsq(A, B): the matrix comes first")
matrix_rank = removed("matrix_rank", "matrix_rank(A, hermitian=...)")
solve = removed("solve", "solve(A, B): the matrix comes first")
symeig = removed("symeig", "eigh(A, UPLO=...), or eigvalsh(A)")

for function in (eig, lstsq, solve, symeig):
    method(function)
