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
    "broadcast", "flatten", "is_container", "is_leaf", "map_leaves", "register", "same_structure",
    "unflatten",
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
    return isinstance(tree, CONTAINERS) or type(tree) in REGISTERED


def is_leaf(tree: Any) -> bool:
    """Whether `tree` is no container."""
    return not isinstance(tree, CONTAINERS) and type(tree) not in REGISTERED


def parts_of(tree: Any) -> Any:
    """The children of a container, in order."""
    if type(tree) in REGISTERED:
        return REGISTERED[type(tree)][0](tree)[0]
    return tree.values() if isinstance(tree, dict) else tree


def flatten(tree: Any, leaf: Test = is_leaf) -> list[Any]:
    """The leaves of a nested container, in order; dictionaries in the order of their keys.

    `leaf` says what counts as one, here and below.

    >>> flatten([1, (2, {"a": 3})])
    [1, 2, 3]
    """
    if leaf(tree):
        return [tree]
    leaves: list[Any] = []
    for part in parts_of(tree):
        if leaf(part):
            leaves.append(part)
        else:
            leaves += flatten(part, leaf)
    return leaves


def unflatten(like: Any, leaves: Any, leaf: Test = is_leaf) -> Any:
    """A container built like `like`, with other leaves.

    >>> unflatten([1, (2, 3)], [10, 20, 30])
    [10, (20, 30)]
    """
    return _build(like, iter(leaves), leaf)


def _build(like: Any, leaves: Iterator[Any], leaf: Test) -> Any:
    if leaf(like):
        return next(leaves)
    if type(like) in REGISTERED:
        apart, together = REGISTERED[type(like)]
        found, context = apart(like)
        return together([_build(part, leaves, leaf) for part in found], context)
    if isinstance(like, dict):
        built = copy.copy(like)  # of its class, whatever that is made from
        built.update((key, _build(part, leaves, leaf)) for key, part in like.items())
        return built
    parts = [_build(part, leaves, leaf) for part in like]
    return type(like)(*parts) if hasattr(like, "_fields") else type(like)(parts)


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


def broadcast(prefix: Any, tree: Any, leaf: Test = is_leaf) -> list[Any]:
    """A leaf for each leaf of `tree`: those of `prefix`, one of which may stand for a whole part.

    Raises ValueError where `prefix` is not built like the beginning of `tree`.

    >>> broadcast((0, None), ([1, 2], 3))
    [0, 0, None]
    """
    if not is_container(prefix):
        return [prefix] * len(flatten(tree, leaf))
    alike = isinstance(tree, type(prefix)) and len(parts_of(prefix)) == len(parts_of(tree))
    if not alike or (isinstance(prefix, dict) and prefix.keys() != tree.keys()):
        raise ValueError(
            f"{prefix!r} is not built like {type(tree).__name__} of {len(flatten(tree, leaf))}"
        )
    pairs = (
        [(prefix[key], tree[key]) for key in tree]
        if isinstance(prefix, dict)
        else zip(parts_of(prefix), parts_of(tree), strict=True)
    )
    return [each for part, subtree in pairs for each in broadcast(part, subtree, leaf)]
