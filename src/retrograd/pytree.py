"""Nested containers of tensors: taken apart into a list of leaves, and put together again.

Lists, tuples, named tuples, dictionaries and objects of registered classes are containers;
everything else is a leaf.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Test = Callable[[Any], bool]

__all__ = [
    "broadcast", "flatten", "is_container", "map_leaves", "register", "same_structure", "unflatten",
]  # fmt: skip


CONTAINERS = (list, tuple, dict)
REGISTERED: dict[type, tuple[Callable[[Any], Any], Callable[[Any, Any], Any]]] = {}


def register(kind: type, apart: Callable[[Any], Any], together: Callable[[Any, Any], Any]) -> None:
    """Let objects of exactly the class `kind` be containers.

    `apart(object)` gives its parts and a context that compares by ==, `together(parts, context)`
    such an object. Raises ValueError for a class that is registered.
    """
    if kind in REGISTERED or kind in CONTAINERS:
        raise ValueError(f"{kind} is already registered as pytree node.")
    REGISTERED[kind] = apart, together


def is_container(tree: Any) -> bool:
    """Whether `tree` is no leaf."""
    kind = type(tree)
    return issubclass(kind, CONTAINERS) or kind in REGISTERED


def parts_of(tree: Any) -> Any:
    """The children of a container, in order."""
    if type(tree) in REGISTERED:
        return REGISTERED[type(tree)][0](tree)[0]
    return tree.values() if isinstance(tree, dict) else tree


def flatten(tree: Any, whole: Test | None = None) -> list[Any]:
    """The leaves of a nested container, in order; dictionaries in the order of their keys.

    A container that is `whole` counts as a leaf, here and below.

    >>> flatten([1, (2, {"a": 3})])
    [1, 2, 3]
    """
    if not is_container(tree) or (whole is not None and whole(tree)):
        return [tree]
    leaves: list[Any] = []
    for part in parts_of(tree):
        kind = type(part)
        if issubclass(kind, CONTAINERS) or kind in REGISTERED:  # `is_container`, without a call
            leaves += flatten(part, whole)
        else:
            leaves.append(part)
    return leaves


def unflatten(like: Any, leaves: Any, whole: Test | None = None) -> Any:
    """A container built like `like`, with other leaves.

    >>> unflatten([1, (2, 3)], [10, 20, 30])
    [10, (20, 30)]
    """
    return _build(like, iter(leaves), whole)


def _build(like: Any, leaves: Iterator[Any], whole: Test | None) -> Any:
    kind = type(like)
    if not (issubclass(kind, CONTAINERS) or kind in REGISTERED):
        return next(leaves)
    if whole is not None and whole(like):
        return next(leaves)
    if kind in REGISTERED:
        apart, together = REGISTERED[kind]
        found, context = apart(like)
        return together([_build(part, leaves, whole) for part in found], context)
    if issubclass(kind, dict):
        built = copy.copy(like)  # of its class, whatever that is made from
        built.update({key: _build(part, leaves, whole) for key, part in like.items()})
        return built
    parts = [_build(part, leaves, whole) for part in like]
    return kind(*parts) if hasattr(kind, "_fields") else kind(parts)


def same_structure(tree: Any, like: Any) -> bool:
    """Whether two containers are built alike: of the same kinds, with the same keys.

    >>> same_structure((1, [2]), (3, [4])), same_structure((1, 2), [1, 2])
    (True, False)
    """
    if type(like) in REGISTERED:
        if type(tree) is not type(like):
            return False
        (a, context), (b, expected) = (REGISTERED[type(like)][0](each) for each in (tree, like))
        return context == expected and same_structure(list(a), list(b))
    if isinstance(like, (list, tuple)):
        if type(tree) is not type(like) or len(tree) != len(like):
            return False
        return all(same_structure(a, b) for a, b in zip(tree, like, strict=True))
    if isinstance(like, dict):
        if not isinstance(tree, dict) or list(tree) != list(like):
            return False
        return all(same_structure(tree[key], like[key]) for key in like)
    return not is_container(tree)


def map_leaves(function: Callable[[Any], Any], tree: Any) -> Any:
    """`tree` with each leaf replaced by what `function` makes of it.

    >>> map_leaves(lambda x: -x, {"a": 1, "b": (2,)})
    {'a': -1, 'b': (-2,)}
    """
    return unflatten(tree, [function(leaf) for leaf in flatten(tree)])


def broadcast(prefix: Any, tree: Any, whole: Test | None = None) -> list[Any]:
    """A leaf for each leaf of `tree`: those of `prefix`, one of which may stand for a whole part.

    Raises ValueError where `prefix` is not built like the beginning of `tree`.

    >>> broadcast((0, None), ([1, 2], 3))
    [0, 0, None]
    """
    if not is_container(prefix):
        return [prefix] * len(flatten(tree, whole))
    alike = isinstance(tree, type(prefix)) and len(parts_of(prefix)) == len(parts_of(tree))
    if not alike or (isinstance(prefix, dict) and prefix.keys() != tree.keys()):
        raise ValueError(
            f"{prefix!r} is not built like {type(tree).__name__} of {len(flatten(tree, whole))}"
        )
    pairs = (
        [(prefix[key], tree[key]) for key in tree]
        if isinstance(prefix, dict)
        else zip(parts_of(prefix), parts_of(tree), strict=True)
    )
    return [each for part, subtree in pairs for each in broadcast(part, subtree, whole)]
