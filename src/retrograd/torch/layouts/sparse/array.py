"""The array of a sparse tensor: entries of a dense array at the places of a pattern.

NOTE [Sparse tensors]
1. A sparse tensor is a tensor whose array is `Sparse`. That holds no history, and is not written:
   in-place forms give the tensor another one. `RULES` says what an op gives for it, by the name of
   the op: each rule computes on entries, by ops, so derivatives of every order follow. What has no
   rule raises: `x.to_dense()`.
2. Four linear records lead in and out (`records`): `from_entries` and `densify` make a sparse or a
   dense array of entries, `entries` and `picked` take those of a sparse or a dense one. Each is the
   adjoint of another, so a cotangent may be sparse, too: that of a sparse tensor, and of an
   embedding's table. It stands for the whole array, in which other places are 0.
3. Cotangents meet by `+`, which is all of NumPy's arithmetic that the array knows itself.
4. Entries at one place add up. Whatever is not linear in them coalesces first, so what it takes
   are the array's values.
"""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import numpy as np

from ....engine.callers import computed
from ....engine.record import finish
from ....engine.tensor import Replaced, Tensor
from ....kernels import sums
from ....kernels.allocation import copied, table, zeros
from .pattern import COO, Form, Pattern

if TYPE_CHECKING:
    from collections.abc import Callable

    from ....engine.op import Op

F = TypeVar("F", bound="Callable[..., Any]")

__all__ = ["RULES", "Sparse", "common", "is_sparse", "refused", "rule"]

NO_RULE = (
    "Could not run '{}' with arguments from the 'SparseCPU' backend: it is not there for {}. Make "
    "them dense: x.to_dense()"
)
NO_ROOM = "a sparse result cannot be written into a dense tensor. Make it dense first: y.to_dense()"
NO_SUM = (
    "add(sparse, dense) is not supported for numbers and other shapes. Use add(dense, sparse) "
    "instead: x.to_dense() + y"
)

# By op: what it gives where an input is sparse. "*": what any other does.
RULES: dict[str, Callable[..., Any]] = {}
AS_THEY_ARE = ("entries", "add")  # ops whose forwards take sparse arrays


def rule(*names: str) -> Callable[[F], F]:
    """Enter a function into `RULES`: it takes an op's inputs, tensors, and its parameters."""

    def enter(function: F) -> F:
        RULES.update(dict.fromkeys(names, function))
        return function

    return enter


def is_sparse(value: Any) -> bool:
    """Whether a tensor is sparse."""
    return isinstance(value, Tensor) and isinstance(value._array, Sparse)


def common(a: Pattern, b: Pattern) -> Form:
    """The form of places that are in one of two patterns, or in both."""
    same = (a.form.block, a.form.batch) == (b.form.block, b.form.batch)
    return a.form if same else COO


def refused(name: str, which: str = "sparse tensors") -> NotImplementedError:
    """The error for what is not there for sparse tensors, or for `which` of them."""
    return NotImplementedError(NO_RULE.format(name, which))


class Sparse(Replaced):
    """An array of which only entries are there: `values` (n, ...), at the places of `pattern`."""

    __slots__ = ("dtype", "ndim", "pattern", "shape", "values")

    device, offset = "cpu", 0

    def __init__(self, values: Any, pattern: Pattern) -> None:
        self.values, self.pattern = values, pattern
        self.shape, self.dtype, self.ndim = pattern.shape, values.dtype, len(pattern.shape)

    @property
    def layout(self) -> str:
        """The name of the layout."""
        return self.pattern.form.layout

    @property
    def size(self) -> int:
        """The number of elements, stored or not."""
        return math.prod(self.shape)

    @property
    def strides(self) -> tuple[int, ...]:
        """Zeros, as in PyTorch: elements have no place in memory of their own."""
        return (0,) * self.ndim

    @property
    def flags(self) -> Any:
        """That elements are in no order in memory."""
        if self.layout != "sparse_coo":
            kind = self.layout.removeprefix("sparse_").upper()
            raise RuntimeError(f"Sparse {kind} tensors do not have is_contiguous")
        return SimpleNamespace(c_contiguous=False)

    def astype(self, dtype: Any, *args: Any, **kwargs: Any) -> Sparse:
        """The same in another dtype."""
        return Sparse(self.values.astype(dtype), self.pattern)

    def merged(self) -> Sparse:
        """The same, coalesced."""
        if self.pattern.coalesced:
            return self
        pattern, inverse = self.pattern.merged
        flat = self.values.reshape(len(inverse), math.prod(self.values.shape[1:]))
        found = sums.scattered_rows(flat, table(flat, inverse), pattern.count).astype(
            self.dtype, copy=False
        )
        return Sparse(found.reshape(pattern.count, *self.values.shape[1:]), pattern)

    def dense(self) -> Any:
        """The dense array."""
        return self.added_to(zeros(self.values, self.shape))

    def added_to(self, array: Any) -> Any:
        """`array`, which is written, with the entries added."""
        own = self.merged()
        places = own.pattern.places(array)
        array[places] = array[places] + own.values
        return array

    def item(self) -> Any:
        """The number that the one element is."""
        return self.dense().item()

    def __bool__(self) -> bool:
        return bool(self.item())

    def __float__(self) -> float:
        return float(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def taken(self, pattern: Pattern) -> Any:
        """The values at the places of a pattern, zeros where there is no entry."""
        own = self.merged()
        if own.pattern is pattern:
            return own.values
        if own.pattern.dims != pattern.dims:
            dense = self.dense()
            return dense[pattern.places(dense)]
        if not own.pattern.count:
            return zeros(self.values, (pattern.count, *self.values.shape[1:]))
        at, there = own.pattern.find(pattern)
        there = there.reshape(-1, *[1] * (self.values.ndim - 1))
        none = zeros(self.values, (), self.dtype)
        return np.where(table(own.values, there), own.values[table(own.values, at)], none)

    # -- sums of cotangents --------------------------------------------------------------------

    def __array_ufunc__(
        self, ufunc: Any, how: str, x: Any, y: Any = None, out: Any = None, **options: Any
    ) -> Any:
        if ufunc is not np.add or how != "__call__" or options:
            raise refused(ufunc.__name__)
        if x.shape != y.shape:
            raise RuntimeError(NO_SUM)
        if isinstance(x, Sparse) and isinstance(y, Sparse) and out is None:
            return x.joined(y)
        mine, dense = (x, y) if isinstance(x, Sparse) else (y, x)
        if out is None:
            return mine.added_to(copied(dense))
        if out[0] is not dense:
            raise ValueError(NO_ROOM)
        return mine.added_to(dense)

    def joined(self, other: Sparse) -> Any:
        """The sum of two sparse arrays, dense where other dimensions of theirs are sparse."""
        a, b = self.pattern, other.pattern
        if a is b or np.array_equal(a.indices, b.indices):
            return Sparse(self.values + other.values, a)
        if a.dims != b.dims:
            return other.added_to(self.dense())
        values = np.concatenate([self.values, other.values])
        indices = np.concatenate([a.indices, b.indices], 1)
        found = Sparse(values, Pattern(indices, a.shape, False, common(a, b)))
        return found.merged() if a.coalesced and b.coalesced else found

    def __add__(self, other: Any) -> Any:
        return np.add(self, other)

    __radd__ = __add__

    # -- what the engine asks of what stands for an array ----------------------------------------

    def interpret(self, op: Op, inputs: tuple[Any, ...], params: dict[str, Any]) -> Any:
        """What the op's rule gives."""
        if op.name in AS_THEY_ARE and all(isinstance(t, Tensor) for t in inputs):
            return finish(op, inputs, computed(op, inputs, params), params)
        found = RULES.get(op.name)
        return found(*inputs, **params) if found is not None else RULES["*"](op, inputs, params)

    def check_room(self, target: Tensor) -> None:
        """Raise unless `target` is sparse, too: writes replace its array."""
        if not is_sparse(target):
            raise RuntimeError(NO_ROOM)

    def alike(self, made: Tensor) -> NoReturn:
        """Raise: other than zeros, what would be like it is dense."""
        raise refused("full_like")

    def zeroed(self, dtype: Any) -> Sparse:
        """Zeros of this form: no entries."""
        pattern = self.pattern.at(self.pattern.indices[:, :0], True)
        return Sparse(zeros(self.values, (0, *self.values.shape[1:]), dtype), pattern)

    def __reduce__(self) -> Any:
        return Sparse, (self.values, self.pattern)

    def refused(self, name: str) -> Exception:
        """The error for what is not there for sparse tensors."""
        return refused(name)
