"""How the components of a nested tensor lie in its values: NOTE [Nested tensors] in `array`.

A pattern says which shape values have together, takes them apart and puts components together. It
is never changed.
"""

from __future__ import annotations

import functools
import itertools
import math
import weakref
from typing import Any

import numpy as np

from ....engine.tensor import Size, Tensor, new_tensor
from ....ops.shape.join import cat
from ....ops.shape.split import split_with_sizes
from ...types import SymInt

__all__ = ["Jagged", "Packed", "Ragged", "jagged_of"]

numbers = itertools.count(1)
known: weakref.WeakValueDictionary[Any, Ragged] = weakref.WeakValueDictionary()


class Ragged(SymInt):
    """A size that differs from component to component, `coefficient` times those in `source`.

    It equals itself and no number. Source: PyTorch's nested integers, shown as j1, j2, ...
    """

    __slots__ = ("__weakref__", "coefficient", "number", "source")

    def __init__(self, source: Any, number: int, coefficient: int = 1) -> None:
        self.source, self.number, self.coefficient = source, number, coefficient

    def __mul__(self, other: int) -> Ragged:
        return Ragged(self.source, self.number, self.coefficient * other)

    __rmul__ = __mul__

    def __eq__(self, other: object) -> bool:
        same = isinstance(other, Ragged) and self.source is other.source
        return same and self.coefficient == other.coefficient  # type: ignore[attr-defined]

    def _is_beyond(self, other: Any) -> bool:  # 0 and 1 are no sizes that differ, as in PyTorch
        return True if isinstance(other, int) and other < 2 else self._is_no_number()

    def _is_within(self, other: Any) -> bool:
        return not self._is_beyond(other)

    __ge__ = __gt__ = _is_beyond
    __le__ = __lt__ = _is_within

    def __hash__(self) -> int:
        return hash((id(self.source), self.coefficient))

    def _is_no_number(self, *args: Any) -> Any:
        raise NotImplementedError(
            f"{self} is a size that differs from component to component, and no number. Ask the "
            "components: [t.shape for t in nt.unbind()]"
        )

    __index__ = __int__ = __float__ = __add__ = __radd__ = __sub__ = __rsub__ = _is_no_number
    __mod__ = __floordiv__ = __rfloordiv__ = __truediv__ = __rtruediv__ = __neg__ = _is_no_number

    def __repr__(self) -> str:
        return f"j{self.number}" if self.coefficient == 1 else f"{self.coefficient}*j{self.number}"


def ragged_size(source: Any) -> Ragged:
    """The size that stands for those in a tensor of offsets or lengths: one for each tensor.

    Or for those in a tuple of sizes, one for all that are equal, which nobody sees.
    """
    unseen = isinstance(source, tuple)
    key = source if unseen else id(source)
    found = known.get(key)
    if found is None:
        found = known[key] = Ragged(source, 0 if unseen else next(numbers))
    return found


class Jagged:
    """Components side by side along one dimension of the values, the one in which they differ.

    offsets: int tensor (B + 1,), where they begin. lengths: int tensor (B,) if they end before the
    next begins, else None. ragged: that dimension among those of the nested tensor, at least 1.
    """

    layout = "jagged"

    def __init__(self, offsets: Tensor, lengths: Tensor | None = None, ragged: int = 1) -> None:
        self.offsets, self.lengths, self.ragged = offsets, lengths, ragged
        self.size = ragged_size(offsets if lengths is None else lengths)

    @functools.cached_property
    def bounds(self) -> list[tuple[int, int]]:
        """Where each component begins, and its length."""
        offsets = self.offsets._array
        counts = np.diff(offsets) if self.lengths is None else self.lengths._array
        return list(zip(offsets.tolist(), counts.tolist(), strict=False))

    @property
    def count(self) -> int:
        """The number of components."""
        return len(self.bounds)

    def shape(self, inner: Any) -> tuple[Any, ...]:
        """The shape of the nested tensor whose values have shape `inner`."""
        before, after = inner[: self.ragged - 1], inner[self.ragged :]
        return Size((self.count, *before, self.size, *after))

    def numel(self, values: Any) -> int:
        """The number of elements of components."""
        if self.lengths is None:
            return int(values.size)
        places = values.shape[self.ragged - 1]
        found: int = sum(n for _, n in self.bounds) * int(values.size) // max(places, 1)
        return found

    def at(self, ragged: int) -> Jagged:
        """This pattern for values whose ragged dimension is another one."""
        return self if ragged == self.ragged else Jagged(self.offsets, self.lengths, ragged)

    def parts(self, values: Tensor) -> list[Tensor]:
        """The components, views of the values."""
        sizes, end = [], 0
        for start, length in self.bounds:
            sizes += [start - end, length]
            end = start + length
        dim = self.ragged - 1
        return list(split_with_sizes(values, [*sizes, values.shape[dim] - end], dim)[1:-1:2])

    def joined(self, parts: list[Tensor]) -> tuple[Tensor, Jagged]:
        """Values of these components, and their pattern: this one if their lengths fit it."""
        dim = self.ragged - 1
        lengths = [part.shape[dim] for part in parts]
        same = self.lengths is None and lengths == [length for _, length in self.bounds]
        found = self if same else Jagged(offsets_of(lengths), None, self.ragged)
        if not dim:
            return cat(parts), found
        return cat([part.movedim(dim, 0) for part in parts]).movedim(0, dim), found

    def owners(self, room: int) -> Tensor:
        """Which component each of `room` places along the ragged dimension belongs to."""
        begins = self.offsets._array[1 : self.count]
        return new_tensor(np.searchsorted(begins, np.arange(room), "right"))

    @property
    def longest(self) -> int:
        """The length of the longest component."""
        return max((length for _, length in self.bounds), default=0)

    def places(self, room: int) -> Tensor:
        """Where each of `room` places lies in components that are padded to the longest.

        Those of gaps lie anywhere in them.
        """
        owners = self.owners(room)._array
        within = np.arange(room) - self.offsets._array[owners]
        return new_tensor(owners * self.longest + np.minimum(within, self.longest - 1))

    def __eq__(self, other: object) -> bool:
        same = isinstance(other, Jagged) and self.ragged == other.ragged
        return same and self.size == other.size  # type: ignore[attr-defined]

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> Any:
        return Jagged, (self.offsets, self.lengths, self.ragged)


class Packed:
    """Components of any sizes, of one number of dimensions, one after the other in a vector."""

    layout = "strided"

    def __init__(self, sizes: tuple[tuple[int, ...], ...]) -> None:
        self.sizes = sizes

    @property
    def count(self) -> int:
        """The number of components."""
        return len(self.sizes)

    @functools.cached_property
    def sizes_by_dim(self) -> tuple[Any, ...]:
        """The number of components, and their sizes, a symbol where they differ."""
        each = zip(*self.sizes, strict=True)
        sizes = [n[0] if len({*n}) == 1 else ragged_size((d, n)) for d, n in enumerate(each)]
        return Size((self.count, *sizes))

    def shape(self, inner: Any) -> tuple[Any, ...]:
        """The shape, as the engine sees it."""
        return self.sizes_by_dim

    def numel(self, values: Any) -> int:
        """The number of elements."""
        return int(values.size)

    def parts(self, values: Tensor) -> list[Tensor]:
        """The components, views of the values."""
        if not self.sizes:
            return []
        parts = split_with_sizes(values, [math.prod(size) for size in self.sizes])
        return [part.view(size) for part, size in zip(parts, self.sizes, strict=True)]

    def joined(self, parts: list[Tensor]) -> tuple[Tensor, Packed]:
        """Values of these components, and their pattern."""
        found = Packed(tuple([tuple(part.shape) for part in parts]))
        return cat([part.reshape(-1) for part in parts]), self if found == self else found

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Packed) and self.sizes == other.sizes

    __hash__ = None  # type: ignore[assignment]


def offsets_of(lengths: list[int]) -> Tensor:
    """Where components of these lengths begin, one after the other, and where the last ends."""
    return new_tensor(np.cumsum([0, *lengths], dtype=np.int64))


def jagged_of(parts: list[Tensor]) -> Jagged:
    """The pattern of components that differ in one dimension, the first if in none.

    Raises RuntimeError where they differ in several.
    """
    sizes = Packed(tuple([tuple(part.shape) for part in parts])).sizes_by_dim
    places = [i for i, n in enumerate(sizes) if isinstance(n, Ragged)] or [1]
    if len(places) > 1:
        raise RuntimeError(
            "Cannot represent given tensor list as a nested tensor with the jagged layout. Note "
            "that the jagged layout only allows for a single ragged dimension. For example: "
            "(B, *, D_0, D_1, ..., D_N), with ragged * dim."
        )
    return Jagged(offsets_of([part.shape[places[0] - 1] for part in parts]), None, places[0])
