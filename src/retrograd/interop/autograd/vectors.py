"""The real vector space that a value lies in: an array, a number, or nested containers of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ... import pytree
from .boxes import ArrayBox

__all__ = ["VSpace", "vspace"]


class VSpace:
    """What vectors like `value` have in common, and what can be done with them.

    `shape` and `dtype` are the array's, or containers of their leaves'; `size` counts real numbers.

    >>> from retrograd.interop.autograd.extend import vspace
    >>> space = vspace([1.0, np.zeros(2)])
    >>> space.size, space.iscomplex
    (3, False)
    >>> float(space.inner_prod([1.0, np.ones(2)], space.ones()))
    3.0
    """

    def __init__(self, value: Any) -> None:
        self.like = pytree.map_leaves(
            lambda x: np.broadcast_to(np.zeros((), np.result_type(x)), np.shape(x)), value
        )
        leaves = pytree.flatten(self.like)
        self.iscomplex = any(np.iscomplexobj(x) for x in leaves)
        self.size = sum(x.size * (2 if np.iscomplexobj(x) else 1) for x in leaves)
        self.shape = pytree.map_leaves(lambda x: x.shape, self.like)
        self.dtype = pytree.map_leaves(lambda x: x.dtype, self.like)

    def _made(self, make: Callable[[Any], Any]) -> Any:
        return pytree.map_leaves(lambda x: np.asarray(make(x), x.dtype)[()], self.like)

    def zeros(self) -> Any:
        """The vector of zeros."""
        return self._made(lambda x: np.zeros(x.shape))

    def ones(self) -> Any:
        """The vector of ones; 1 + 1j where complex."""
        return self._made(
            lambda x: np.full(x.shape, 1.0 + 1.0j if np.iscomplexobj(x) else 1.0, x.dtype)
        )

    def randn(self) -> Any:
        """A vector of standard normal numbers, drawn by NumPy's global generator."""
        return self._made(
            lambda x: (
                np.random.randn(*x.shape)
                + (1j * np.random.randn(*x.shape) if np.iscomplexobj(x) else 0)
            )
        )

    def standard_basis(self) -> Iterator[Any]:
        """The vectors that are one in one place; complex ones are followed by 1j there."""
        leaves = pytree.flatten(self.like)
        for number, leaf in enumerate(leaves):
            for place in np.ndindex(leaf.shape):
                for unit in (1.0, 1.0j) if np.iscomplexobj(leaf) else (1.0,):
                    parts = [np.zeros(x.shape, x.dtype) for x in leaves]
                    parts[number][place] = unit
                    yield pytree.unflatten(self.like, [part[()] for part in parts])

    def add(self, x: Any, y: Any) -> Any:
        """The sum of two vectors."""
        pairs = zip(pytree.flatten(x), pytree.flatten(y), strict=True)
        return pytree.unflatten(self.like, [a + b for a, b in pairs])

    def scalar_mul(self, x: Any, a: Any) -> Any:
        """A vector times a real number."""
        return pytree.unflatten(self.like, [part * a for part in pytree.flatten(x)])

    def inner_prod(self, x: Any, y: Any) -> Any:
        """The real inner product of two vectors."""
        pairs = zip(pytree.flatten(x), pytree.flatten(y), strict=True)
        return sum(np.sum(np.real(np.conj(a) * b)) for a, b in pairs)

    def covector(self, x: Any) -> Any:
        """The vector that stands for `x` among gradients: its conjugate."""
        return pytree.unflatten(self.like, [np.conj(part) for part in pytree.flatten(x)])

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, VSpace)
            and pytree.same_structure(self.like, other.like)
            and all(
                a.shape == b.shape and a.dtype == b.dtype
                for a, b in zip(pytree.flatten(self.like), pytree.flatten(other.like), strict=True)
            )
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"VSpace(shape={self.shape}, dtype={self.dtype})"


def vspace(value: Any) -> VSpace:
    """The space of a value; what is being differentiated counts as its value."""
    return VSpace(pytree.map_leaves(lambda x: x._value if isinstance(x, ArrayBox) else x, value))
