"""Lists and dicts that do not change: a node's arguments are changed through the node alone."""

from __future__ import annotations

from typing import Any, NoReturn

__all__ = ["immutable_dict", "immutable_list"]

FIXED = (
    "{kind!r} object does not support mutation. If you are attempting to modify the kwargs or args "
    "of a Node object, set a changed copy: node.args = (*node.args[:-1], new)"
)


def refuse(self: Any, *args: Any, **kwargs: Any) -> NoReturn:
    """Raise TypeError in place of a method that would change a collection."""
    raise TypeError(FIXED.format(kind=type(self).__name__))


class immutable_list(list[Any]):  # noqa: N801
    """A list that refuses to be changed, and hashes by what it holds.

    >>> rg.fx.immutable_collections.immutable_list([1, 2])
    [1, 2]
    """

    append = extend = insert = pop = remove = clear = sort = reverse = refuse
    __setitem__ = __delitem__ = __iadd__ = __imul__ = refuse

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(tuple(self))

    def __reduce__(self) -> Any:
        return type(self), (tuple(self),)


class immutable_dict(dict[Any, Any]):  # noqa: N801
    """A dict that refuses to be changed, and hashes by what it holds.

    >>> rg.fx.immutable_collections.immutable_dict(a=1)
    {'a': 1}
    """

    clear = pop = popitem = setdefault = update = refuse
    __setitem__ = __delitem__ = __ior__ = refuse

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))

    def __reduce__(self) -> Any:
        return type(self), (tuple(self.items()),)
