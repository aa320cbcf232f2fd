"""Nested containers of tensors: taken apart into a list of leaves, and put together again.

Lists, tuples, named tuples and dictionaries are containers; everything else is a leaf.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["alike", "broadcast", "flatten", "map_leaves", "unflatten"]


CONTAINERS = (list, tuple, dict)


def flatten(tree: Any) -> list[Any]:
    """The leaves of a nested container, in order; dictionaries in the order of their keys.

    >>> flatten([1, (2, {"a": 3})])
    [1, 2, 3]
    """
    if not isinstance(tree, CONTAINERS):
        return [tree]
    leaves: list[Any] = []
    for part in tree.values() if isinstance(tree, dict) else tree:
        if isinstance(part, CONTAINERS):
            leaves += flatten(part)
        else:
            leaves.append(part)
    return leaves


def unflatten(like: Any, leaves: Any) -> Any:
    """A container built like `like`, with other leaves.

    >>> unflatten([1, (2, 3)], [10, 20, 30])
    [10, (20, 30)]
    """
    return _build(like, iter(leaves))


def _build(like: Any, leaves: Iterator[Any]) -> Any:
    if not isinstance(like, CONTAINERS):
        return next(leaves)
    if isinstance(like, dict):
        built = copy.copy(like)  # of its class, whatever that is made from
        built.update((key, _build(part, leaves)) for key, part in like.items())
        return built
    parts = [_build(part, leaves) for part in like]
    return type(like)(*parts) if hasattr(like, "_fields") else type(like)(parts)


def alike(tree: Any, like: Any) -> bool:
    """Whether two containers are built alike: of the same kinds, with the same keys.

    >>> alike((1, [2]), (3, [4])), alike((1, 2), [1, 2])
    (True, False)
    """
    if isinstance(like, (list, tuple)):
        if type(tree) is not type(like) or len(tree) != len(like):
            return False
        return all(alike(a, b) for a, b in zip(tree, like, strict=True))
    if isinstance(like, dict):
        if not isinstance(tree, dict) or list(tree) != list(like):
            return False
        return all(alike(tree[key], like[key]) for key in like)
    return not isinstance(tree, CONTAINERS)


def map_leaves(function: Callable[[Any], Any], tree: Any) -> Any:
    """`tree` with each leaf replaced by what `function` makes of it.

    >>> map_leaves(lambda x: -x, {"a": 1, "b": (2,)})
    {'a': -1, 'b': (-2,)}
    """
    return unflatten(tree, [function(leaf) for leaf in flatten(tree)])


def broadcast(prefix: Any, tree: Any) -> list[Any]:
    """A leaf for each leaf of `tree`: those of `prefix`, one of which may stand for a whole part.

    Raises ValueError where `prefix` is not built like the beginning of `tree`.

    >>> broadcast((0, None), ([1, 2], 3))
    [0, 0, None]
    """
    if not isinstance(prefix, CONTAINERS):
        return [prefix] * len(flatten(tree))
    alike = isinstance(tree, type(prefix)) and len(prefix) == len(tree)
    if not alike or (isinstance(prefix, dict) and prefix.keys() != tree.keys()):
        raise ValueError(
            f"{prefix!r} is not built like {type(tree).__name__} of {len(flatten(tree))}"
        )
    pairs = (
        [(prefix[key], tree[key]) for key in tree]
        if isinstance(prefix, dict)
        else zip(prefix, tree, strict=True)
    )
    return [leaf for part, subtree in pairs for leaf in broadcast(part, subtree)]
