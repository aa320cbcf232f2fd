"""Weak references by identity: for keys that compare elementwise, as tensors do."""

from __future__ import annotations

import weakref
from collections.abc import Iterator, MutableMapping
from typing import Any

from ...engine.tensor import Tensor
from ...errors import wrong_type

__all__ = ["TensorWeakRef", "WeakIdKeyDictionary", "WeakIdRef", "WeakTensorKeyDictionary"]


class WeakIdRef(weakref.ref):  # type: ignore[type-arg]
    """A weak reference that equals those to the same object, and no other.

    >>> x = rg.ones(2)
    >>> WeakIdRef(x) == WeakIdRef(x), WeakIdRef(x) == WeakIdRef(rg.ones(2))
    (True, False)
    """

    __slots__ = ("_id",)

    _id: int

    def __init__(self, key: Any, callback: Any = None) -> None:
        super().__init__(key, callback)  # type: ignore[call-arg]
        self._id = id(key)

    def __hash__(self) -> int:
        return self._id

    def __eq__(self, other: object) -> bool:
        mine, theirs = self(), other() if isinstance(other, weakref.ref) else None
        return self is other if mine is None or theirs is None else mine is theirs


class WeakIdKeyDictionary(MutableMapping[Any, Any]):
    """A dictionary whose keys count by identity; what nobody else holds leaves it.

    ref_type: the class of the references to the keys. Raises TypeError for keys that cannot be
    referred to weakly, KeyError for those that are not there. Source: PyTorch's `utils.weak`.

    >>> x, names = rg.ones(2), WeakIdKeyDictionary()
    >>> names[x] = "x"
    >>> names[x], rg.ones(2) in names
    ('x', False)
    >>> del x
    >>> len(names)
    0
    """

    def __init__(self, dict: Any = None, ref_type: Any = WeakIdRef) -> None:
        self.data: Any = {}
        self.ref_type = ref_type
        mine = weakref.ref(self)

        def remove(reference: Any) -> None:
            found = mine()
            if found is not None:
                found.data.pop(reference, None)

        self._remove = remove
        self.update(() if dict is None else dict)

    def __getitem__(self, key: Any) -> Any:
        return self.data[self.ref_type(key)]

    def __setitem__(self, key: Any, value: Any) -> None:
        self.data[self.ref_type(key, self._remove)] = value

    def __delitem__(self, key: Any) -> None:
        del self.data[self.ref_type(key)]

    def __contains__(self, key: Any) -> bool:
        try:
            return self.ref_type(key) in self.data
        except TypeError:
            return False

    def __iter__(self) -> Iterator[Any]:
        for reference in list(self.data):
            key = reference()
            if key is not None:
                yield key

    def __len__(self) -> int:
        return len(self.data)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} at {id(self):#x}>"

    def __copy__(self) -> WeakIdKeyDictionary:
        return type(self)(self, self.ref_type)

    copy = __copy__

    def __or__(self, other: Any) -> WeakIdKeyDictionary:
        made = self.copy()
        made.update(other)
        return made

    def __ior__(self, other: Any) -> WeakIdKeyDictionary:
        self.update(other)
        return self

    def keyrefs(self) -> list[Any]:
        """The weak references to the keys."""
        return list(self.data)


WeakTensorKeyDictionary = WeakIdKeyDictionary


class TensorWeakRef:
    """A weak reference to a tensor: called, it gives the tensor, or None once that is gone.

    Raises TypeError for anything else.

    >>> x = rg.ones(2)
    >>> reference = TensorWeakRef(x)
    >>> reference() is x
    True
    """

    def __init__(self, tensor: Tensor) -> None:
        if not isinstance(tensor, Tensor):
            raise wrong_type("TensorWeakRef", "tensor", "Tensor", tensor)
        self.ref = WeakIdRef(tensor)

    def __call__(self) -> Tensor | None:
        """The tensor, or None."""
        found: Tensor | None = self.ref()
        return found
