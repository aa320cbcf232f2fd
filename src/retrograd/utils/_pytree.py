"""Nested containers under PyTorch's names, as its programs import them: `utils._pytree`.

Lists, tuples, named tuples, dictionaries and objects of registered classes are containers;
everything else is a leaf.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict, namedtuple
from typing import TYPE_CHECKING, Any, NamedTuple

from .. import pytree

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = [
    "SUPPORTED_NODES",
    "Context",
    "LeafSpec",
    "MappingKey",
    "NodeDef",
    "PyTree",
    "TreeSpec",
    "register_pytree_node",
    "tree_all",
    "tree_any",
    "tree_flatten",
    "tree_leaves",
    "tree_map",
    "tree_map_only",
    "tree_structure",
    "tree_unflatten",
]

Context = Any  # what a registered class keeps beside its parts
PyTree = Any  # a container or a leaf


class MappingKey(NamedTuple):
    """The place of a part in a dictionary.

    >>> str(MappingKey("weight"))
    "['weight']"
    """

    key: Any

    def __str__(self) -> str:
        return f"[{self.key!r}]"

    def get(self, mapping: Any) -> Any:
        """The part of a dictionary in this place."""
        return mapping[self.key]


def _dict_flatten(d: dict[Any, Any]) -> tuple[list[Any], Context]:
    return list(d.values()), list(d)


def _dict_unflatten(values: Iterable[Any], context: Context) -> dict[Any, Any]:
    return dict(zip(context, values, strict=True))


def _dict_flatten_with_keys(d: dict[Any, Any]) -> tuple[list[Any], Context]:
    return [(MappingKey(key), part) for key, part in d.items()], list(d)


def _namedtuple_flatten(d: Any) -> tuple[list[Any], Context]:
    return list(d), type(d)


def _namedtuple_unflatten(values: Iterable[Any], context: Context) -> Any:
    return context(*values)


class NodeDef(NamedTuple):
    """How containers of a class are taken apart, and built."""

    type: Any
    flatten_fn: Callable[[Any], tuple[list[Any], Context]]
    unflatten_fn: Callable[[Iterable[Any], Context], Any]


def _default_dict_unflatten(values: Iterable[Any], context: Context) -> Any:
    factory, keys = context
    return defaultdict(factory, _dict_unflatten(values, keys))


# The containers by `_get_node_type`, for programs that walk through them by themselves.
SUPPORTED_NODES: dict[Any, NodeDef] = {
    kind: NodeDef(kind, apart, together)
    for kind, apart, together in (
        (tuple, lambda t: (list(t), None), lambda parts, _: tuple(parts)),
        (list, lambda t: (t, None), lambda parts, _: list(parts)),
        (dict, _dict_flatten, _dict_unflatten),
        (namedtuple, _namedtuple_flatten, _namedtuple_unflatten),
        (OrderedDict, _dict_flatten, lambda *of: OrderedDict(_dict_unflatten(*of))),
        (
            defaultdict,
            lambda t: (list(t.values()), [t.default_factory, list(t)]),
            _default_dict_unflatten,
        ),
    )
}


def _get_node_type(tree: Any) -> Any:
    """The key of a container in `SUPPORTED_NODES`, if it is one: its class, or `namedtuple`.

    >>> _get_node_type([1]), _get_node_type(MappingKey("weight")).__name__
    (<class 'list'>, 'namedtuple')
    """
    return namedtuple if isinstance(tree, tuple) and hasattr(tree, "_fields") else type(tree)


def register_pytree_node(
    cls: type,
    flatten_fn: Callable[[Any], tuple[list[Any], Context]],
    unflatten_fn: Callable[[Iterable[Any], Context], Any],
    *,
    serialized_type_name: str | None = None,
    to_dumpable_context: Callable[[Context], Any] | None = None,
    from_dumpable_context: Callable[[Any], Context] | None = None,
    flatten_with_keys_fn: Callable[[Any], Any] | None = None,
) -> None:
    """Let objects of the class `cls`, not of those derived from it, be containers.

    `flatten_fn(object)` gives the parts and a context, `unflatten_fn(parts, context)` such an
    object. What else PyTorch takes describes how its exported programs are written to files: here
    nothing is exported. Raises ValueError for a class that is a container already.

    >>> class Pair:
    ...     def __init__(self, a, b):
    ...         self.a, self.b = a, b
    >>> register_pytree_node(Pair, lambda p: ([p.a, p.b], None), lambda parts, _: Pair(*parts))
    >>> tree_leaves([Pair(1, 2), 3]), tree_map(lambda n: 10 * n, Pair(1, 2)).b
    ([1, 2, 3], 20)
    """
    pytree.register(cls, flatten_fn, unflatten_fn)
    SUPPORTED_NODES[cls] = NodeDef(cls, flatten_fn, unflatten_fn)


class TreeSpec:
    """How a container is built, without its leaves.

    type, context: its key in `SUPPORTED_NODES`, and what that keeps beside its parts;
    children_specs: how the parts are built. `tree_structure` finds all this.

    >>> spec = tree_structure((1, [2, 3]))
    >>> spec.num_leaves, spec == tree_structure((4, [5, 6])), spec == tree_structure([4, 5, 6])
    (3, True, False)
    >>> TreeSpec(tuple, None, [LeafSpec(), TreeSpec(list, None, [LeafSpec(), LeafSpec()])]) == spec
    True
    """

    _like: Any

    def __init__(self, type: Any, context: Context, children_specs: Iterable[TreeSpec]) -> None:
        parts = [child._like for child in children_specs]
        self._like = SUPPORTED_NODES[type].unflatten_fn(parts, context)

    @property
    def num_leaves(self) -> int:
        """How many leaves it has."""
        return len(pytree.flatten(self._like))

    def is_leaf(self) -> bool:
        """Whether what it describes is no container.

        >>> tree_structure(1).is_leaf(), tree_structure([1]).is_leaf()
        (True, False)
        """
        return not pytree.is_container(self._like)

    def unflatten(self, leaves: Iterable[Any]) -> Any:
        """A container built so, with these leaves. Raises ValueError for another number of them.

        >>> tree_structure((0, [0])).unflatten("ab")
        ('a', ['b'])
        """
        given = list(leaves)
        if len(given) != self.num_leaves:
            raise ValueError(
                f"treespec.unflatten(leaves): `leaves` has length {len(given)} but the spec refers "
                f"to a pytree that holds {self.num_leaves} items ({self})."
            )
        return pytree.unflatten(self._like, given)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TreeSpec):
            return NotImplemented
        return pytree.alike(self._like, other._like)

    def __hash__(self) -> int:
        return hash((self.num_leaves, type(self._like)))

    def __repr__(self) -> str:
        return f"TreeSpec({self._like!r})".replace("'*'", "*")


class LeafSpec(TreeSpec):
    """What stands for a leaf."""

    def __init__(self) -> None:
        self._like = "*"


def tree_structure(tree: Any) -> TreeSpec:
    """How `tree` is built.

    >>> tree_structure({"a": 1, "b": (2, 3)})
    TreeSpec({'a': *, 'b': (*, *)})
    """
    if not pytree.is_container(tree):
        return LeafSpec()
    spec = TreeSpec.__new__(TreeSpec)
    spec._like = pytree.map_leaves(lambda _: "*", tree)
    return spec


def tree_leaves(tree: Any) -> list[Any]:
    """The leaves of `tree`, in order.

    >>> tree_leaves((1, [2, {"a": 3}]))
    [1, 2, 3]
    """
    return pytree.flatten(tree)


def tree_flatten(tree: Any) -> tuple[list[Any], TreeSpec]:
    """The leaves of `tree`, and how it is built.

    >>> tree_flatten((1, [2]))
    ([1, 2], TreeSpec((*, [*])))
    """
    return pytree.flatten(tree), tree_structure(tree)


def tree_unflatten(leaves: Iterable[Any], treespec: TreeSpec) -> Any:
    """A container built as `treespec` says. Raises ValueError for another number of leaves.

    >>> leaves, spec = tree_flatten({"a": 1, "b": [2]})
    >>> tree_unflatten([10 * leaf for leaf in leaves], spec)
    {'a': 10, 'b': [20]}
    """
    return treespec.unflatten(leaves)


def tree_map(func: Callable[..., Any], tree: Any, *rests: Any) -> Any:
    """`tree` with `func` of its leaves, and of those in the same places, or by keys, of `rests`.

    Raises ValueError for containers built in another way.

    >>> tree_map(lambda a, b: a + b, (1, [2]), (10, [20]))
    (11, [22])
    """
    others = [_in_order(rest, tree) for rest in rests]
    for rest in others:
        if not pytree.alike(rest, tree):
            raise ValueError(
                f"tree_map: Node type mismatch; expected {tree_structure(tree)}, but got "
                f"{tree_structure(rest)}"
            )
    columns = zip(pytree.flatten(tree), *map(pytree.flatten, others), strict=True)
    return pytree.unflatten(tree, [func(*leaves) for leaves in columns])


def _in_order(tree: Any, like: Any) -> Any:
    """`tree` with the keys of its dictionaries in the order of those of `like`, which has them."""
    if isinstance(like, dict) and isinstance(tree, dict) and tree.keys() == like.keys():
        return {key: _in_order(tree[key], like[key]) for key in like}
    if isinstance(like, (list, tuple)) and type(tree) is type(like) and len(tree) == len(like):
        parts = [_in_order(a, b) for a, b in zip(tree, like, strict=True)]
        return type(tree)(*parts) if hasattr(tree, "_fields") else type(tree)(parts)
    return tree


def tree_map_only(kind: Any, func: Callable[[Any], Any], tree: Any) -> Any:
    """`tree` with `func` of its leaves of type `kind` (a type, or a tuple of types).

    >>> tree_map_only(int, lambda n: -n, (1, "a", [2]))
    (-1, 'a', [-2])
    """
    return pytree.map_leaves(lambda leaf: func(leaf) if isinstance(leaf, kind) else leaf, tree)


def tree_all(pred: Callable[[Any], Any], tree: Any) -> bool:
    """Whether `pred` holds for all leaves.

    >>> tree_all(bool, (1, [0]))
    False
    """
    return all(map(pred, pytree.flatten(tree)))


def tree_any(pred: Callable[[Any], Any], tree: Any) -> bool:
    """Whether `pred` holds for one leaf or more.

    >>> tree_any(bool, (1, [0]))
    True
    """
    return any(map(pred, pytree.flatten(tree)))
