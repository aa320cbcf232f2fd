"""Nested containers under PyTorch's names, as its programs import them: `utils._pytree`.

`SUPPORTED_NODES` says what a container is, in `_nodes`. Everything else is a leaf, and so is what
the argument `is_leaf` of a function names one.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque, namedtuple
from typing import TYPE_CHECKING, Any

from ._nodes import (
    SUPPORTED_NODES,
    Context,
    GetAttrKey,
    MappingKey,
    NodeDef,
    SequenceKey,
    _get_node_type,
    is_namedtuple_instance,
    is_structseq_instance,
    register_dataclass,
    register_pytree_node,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    Test = Callable[[Any], bool] | None

__all__ = [
    "SUPPORTED_NODES", "Context", "GetAttrKey", "LeafSpec", "MappingKey", "NodeDef", "PyTree",
    "SequenceKey", "TreeSpec", "is_namedtuple_instance", "is_structseq_instance", "key_get",
    "keystr", "register_dataclass", "register_pytree_node", "tree_all", "tree_all_only", "tree_any",
    "tree_any_only", "tree_flatten", "tree_flatten_with_path", "tree_is_leaf", "tree_iter",
    "tree_leaves", "tree_leaves_with_path", "tree_map", "tree_map_", "tree_map_only",
    "tree_map_only_", "tree_map_with_path", "tree_structure", "tree_unflatten",
]  # fmt: skip

PyTree = Any  # a container or a leaf
DICTIONARIES = (dict, OrderedDict, defaultdict)

for _kind in (tuple, list, deque, namedtuple, *DICTIONARIES):  # PyTorch's private names
    for _part in ("flatten", "unflatten", "flatten_with_keys"):
        _function = getattr(SUPPORTED_NODES[_kind], f"{_part}_fn")
        globals()[f"_{_kind.__name__.lower()}_{_part}"] = _function


def tree_is_leaf(tree: Any, is_leaf: Test = None) -> bool:
    """Whether `tree` is no container, or `is_leaf` says so of it.

    >>> tree_is_leaf(1), tree_is_leaf([1]), tree_is_leaf([1], lambda each: len(each) == 1)
    (True, False, True)
    """
    if is_leaf is not None and is_leaf(tree):
        return True
    return _get_node_type(tree) not in SUPPORTED_NODES


class TreeSpec:
    """The structure of a container, without its leaves.

    type, context: its key in `SUPPORTED_NODES`, and what that keeps beside its parts;
    children_specs: how the parts are built. `tree_structure` finds all this.

    >>> spec = tree_structure((1, [2, 3]))
    >>> spec.num_leaves, spec == tree_structure((4, [5, 6])), spec == tree_structure([4, 5, 6])
    (3, True, False)
    >>> TreeSpec(tuple, None, [LeafSpec(), TreeSpec(list, None, [LeafSpec(), LeafSpec()])]) == spec
    True
    """

    def __init__(self, type: Any, context: Context, children_specs: Iterable[TreeSpec]) -> None:
        self.type, self.context, self.children_specs = type, context, list(children_specs)
        self.num_children = len(self.children_specs)
        self.num_nodes: int = 1 + sum(child.num_nodes for child in self.children_specs)
        leaves = sum(child.num_leaves for child in self.children_specs)
        self.num_leaves: int = 1 if self.is_leaf() else leaves

    def is_leaf(self) -> bool:
        """Whether what it describes is no container.

        >>> tree_structure(1).is_leaf(), tree_structure([1]).is_leaf()
        (True, False)
        """
        return self.type is None

    def children(self) -> list[TreeSpec]:
        """The structures of the parts."""
        return list(self.children_specs)

    def child(self, index: int) -> TreeSpec:
        """The structure of one part."""
        return self.children_specs[index]

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
        return self._built(iter(given))

    def _built(self, leaves: Iterator[Any]) -> Any:
        if self.is_leaf():
            return next(leaves)
        parts = [child._built(leaves) for child in self.children_specs]
        return SUPPORTED_NODES[self.type].unflatten_fn(parts, self.context)

    def flatten_up_to(self, tree: Any) -> list[Any]:
        """The parts of `tree` where this has leaves. Raises ValueError for another structure.

        >>> tree_structure((0, [0])).flatten_up_to(("a", [["b", "c"]]))
        ['a', ['b', 'c']]
        """
        if self.is_leaf():
            return [tree]
        pairs = zip(self.children_specs, self._parts_of(tree), strict=True)
        return [leaf for child, part in pairs for leaf in child.flatten_up_to(part)]

    def _parts_of(self, tree: Any) -> list[Any]:
        """The parts of `tree`, those of a dictionary in the order of the keys here."""
        kind = _get_node_type(tree)
        if kind is not self.type and not (kind in DICTIONARIES and self.type in DICTIONARIES):
            raise ValueError(f"Node type mismatch; expected {self.type!r}, but got {kind!r}.")
        if kind in DICTIONARIES:
            keys = self.context[1] if self.type is defaultdict else self.context
            if tree.keys() != set(keys):
                raise ValueError(
                    f"Node keys mismatch; missing key(s): {set(keys) - tree.keys()}; "
                    f"extra key(s): {tree.keys() - set(keys)}."
                )
            return [tree[key] for key in keys]
        parts, context = SUPPORTED_NODES[kind].flatten_fn(tree)
        if len(parts) != self.num_children:
            raise ValueError(
                f"Node arity mismatch; expected {self.num_children}, but got {len(parts)}."
            )
        if kind is not deque and context != self.context:
            raise ValueError(
                f"Node context mismatch for node type {kind!r}; expected {self.context!r}, "
                f"but got {context!r}."
            )
        return parts

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TreeSpec):
            return NotImplemented
        return (
            self.type is other.type
            and bool(self.context == other.context)
            and self.children_specs == other.children_specs
        )

    def __hash__(self) -> int:
        return hash((self.type, self.num_leaves, self.num_nodes))

    def __repr__(self, indent: int = 0) -> str:
        if self.is_leaf():
            return "*"
        shown = [child.__repr__(indent + 2) for child in self.children_specs]
        parts = f",\n{' ' * (indent + 2)}".join(shown)
        return f"TreeSpec({self.type.__name__}, {self.context!r}, [{parts}])"


class LeafSpec(TreeSpec):
    """The structure of a leaf."""

    def __init__(self) -> None:
        super().__init__(None, None, [])


def _walk(tree: Any, is_leaf: Test, leaves: list[Any]) -> TreeSpec:
    """The structure of `tree`; its leaves go into a list."""
    if tree_is_leaf(tree, is_leaf):
        leaves.append(tree)
        return LeafSpec()
    kind = _get_node_type(tree)
    parts, context = SUPPORTED_NODES[kind].flatten_fn(tree)
    return TreeSpec(kind, context, [_walk(part, is_leaf, leaves) for part in parts])


def tree_flatten(tree: Any, is_leaf: Test = None) -> tuple[list[Any], TreeSpec]:
    """The leaves of `tree`, and how it is built.

    >>> tree_flatten((1, [2]), is_leaf=lambda each: isinstance(each, list))
    ([1, [2]], TreeSpec(tuple, None, [*,
      *]))
    """
    leaves: list[Any] = []
    spec = _walk(tree, is_leaf, leaves)
    return leaves, spec


def tree_structure(tree: Any, is_leaf: Test = None) -> TreeSpec:
    """The structure of `tree`.

    >>> tree_structure({"a": 1, "b": (2, 3)})
    TreeSpec(dict, ['a', 'b'], [*,
      TreeSpec(tuple, None, [*,
        *])])
    """
    return tree_flatten(tree, is_leaf)[1]


def tree_leaves(tree: Any, is_leaf: Test = None) -> list[Any]:
    """The leaves of `tree`, in order.

    >>> tree_leaves((1, [2, {"a": 3}]))
    [1, 2, 3]
    """
    return tree_flatten(tree, is_leaf)[0]


def tree_iter(tree: Any, is_leaf: Test = None) -> Iterator[Any]:
    """The leaves of `tree`, one after the other."""
    return iter(tree_leaves(tree, is_leaf))


def tree_unflatten(leaves: Iterable[Any], treespec: TreeSpec) -> Any:
    """A container built as `treespec` says. Raises ValueError for another number of leaves.

    >>> leaves, spec = tree_flatten({"a": 1, "b": [2]})
    >>> tree_unflatten([10 * leaf for leaf in leaves], spec)
    {'a': 10, 'b': [20]}
    """
    return treespec.unflatten(leaves)


def tree_map(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: Test = None) -> Any:
    """`tree` with `func` of its leaves, and of what is in the same places, or by keys, of `rests`.

    Raises ValueError for containers built in another way.

    >>> tree_map(lambda a, b: a + b, (1, [2]), (10, [20]))
    (11, [22])
    """
    leaves, spec = tree_flatten(tree, is_leaf)
    others = [spec.flatten_up_to(rest) for rest in rests]
    return spec.unflatten([func(*each) for each in zip(leaves, *others, strict=True)])


def tree_map_(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: Test = None) -> Any:
    """`tree` itself, after `func` has been called as by `tree_map`."""
    tree_map(func, tree, *rests, is_leaf=is_leaf)
    return tree


def _chosen(kind: Any) -> Callable[[Any], Any]:
    """Whether a leaf is of a type, or of one in a tuple; or what a function says of it."""
    if isinstance(kind, type) or not callable(kind):
        return lambda leaf: isinstance(leaf, kind)
    return lambda leaf: kind(leaf)


def tree_map_only(kind: Any, func: Callable[[Any], Any], tree: Any, is_leaf: Test = None) -> Any:
    """`tree` with `func` of its leaves of a type, of a tuple of types, or that a function chooses.

    >>> tree_map_only(int, lambda n: -n, (1, "a", [2]))
    (-1, 'a', [-2])
    """
    chosen = _chosen(kind)
    return tree_map(lambda leaf: func(leaf) if chosen(leaf) else leaf, tree, is_leaf=is_leaf)


def tree_map_only_(kind: Any, func: Callable[[Any], Any], tree: Any, is_leaf: Test = None) -> Any:
    """`tree` itself, after `func` has been called as by `tree_map_only`."""
    tree_map_only(kind, func, tree, is_leaf)
    return tree


def tree_all(pred: Callable[[Any], Any], tree: Any, is_leaf: Test = None) -> bool:
    """Whether `pred` holds for all leaves.

    >>> tree_all(bool, (1, [0]))
    False
    """
    return all(map(pred, tree_leaves(tree, is_leaf)))


def tree_any(pred: Callable[[Any], Any], tree: Any, is_leaf: Test = None) -> bool:
    """Whether `pred` holds for one leaf or more.

    >>> tree_any(bool, (1, [0]))
    True
    """
    return any(map(pred, tree_leaves(tree, is_leaf)))


def tree_all_only(kind: Any, pred: Callable[[Any], Any], tree: Any, is_leaf: Test = None) -> bool:
    """Whether `pred` holds for all leaves of a type: see `tree_map_only`."""
    return all(map(pred, filter(_chosen(kind), tree_leaves(tree, is_leaf))))


def tree_any_only(kind: Any, pred: Callable[[Any], Any], tree: Any, is_leaf: Test = None) -> bool:
    """Whether `pred` holds for one leaf of a type or more: see `tree_map_only`."""
    return any(map(pred, filter(_chosen(kind), tree_leaves(tree, is_leaf))))


def _with_paths(tree: Any, is_leaf: Test, path: tuple[Any, ...] = ()) -> Iterator[Any]:
    if tree_is_leaf(tree, is_leaf):
        yield path, tree
        return
    node = SUPPORTED_NODES[_get_node_type(tree)]
    if node.flatten_with_keys_fn is None:
        raise ValueError(
            f"Did not find a flatten_with_keys_fn for type: {node.type}. Please pass a "
            "flatten_with_keys_fn argument to register_pytree_node."
        )
    for key, part in node.flatten_with_keys_fn(tree)[0]:
        yield from _with_paths(part, is_leaf, (*path, key))


def tree_leaves_with_path(tree: Any, is_leaf: Test = None) -> list[tuple[Any, Any]]:
    """Pairs of the keys that lead to a leaf, and the leaf.

    >>> [(keystr(path), leaf) for path, leaf in tree_leaves_with_path({"a": (1, 2)})]
    [("['a'][0]", 1), ("['a'][1]", 2)]
    """
    return list(_with_paths(tree, is_leaf))


def tree_flatten_with_path(
    tree: Any, is_leaf: Test = None
) -> tuple[list[tuple[Any, Any]], TreeSpec]:
    """Pairs of the keys that lead to a leaf, and the leaf; and how `tree` is built."""
    return tree_leaves_with_path(tree, is_leaf), tree_structure(tree, is_leaf)


def tree_map_with_path(
    func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: Test = None
) -> Any:
    """`tree_map` of a function that takes the keys which lead to a leaf first.

    >>> tree_map_with_path(lambda path, n: f"{keystr(path)} is {n}", {"a": [1]})
    {'a': ["['a'][0] is 1"]}
    """
    pairs, spec = tree_flatten_with_path(tree, is_leaf)
    others = [spec.flatten_up_to(rest) for rest in rests]
    columns = zip(pairs, *others, strict=True)
    return spec.unflatten([func(*pair, *each) for pair, *each in columns])


def keystr(kp: Iterable[Any]) -> str:
    """The keys that lead to a leaf, as a program writes them.

    >>> keystr((MappingKey("a"), SequenceKey(0), GetAttrKey("x")))
    "['a'][0].x"
    """
    return "".join(map(str, kp))


def key_get(obj: Any, kp: Iterable[Any]) -> Any:
    """The part of an object that keys lead to.

    >>> key_get({"a": [1, 2]}, (MappingKey("a"), SequenceKey(1)))
    2
    """
    for key in kp:
        obj = key.get(obj)
    return obj


def _broadcast_to_and_flatten(tree: Any, treespec: TreeSpec, is_leaf: Test = None) -> Any:
    """A leaf of `tree` for each leaf of a spec, one for a whole part where `tree` ends before.

    None where `tree` is not built like the beginning of it.

    >>> _broadcast_to_and_flatten((0, None), tree_structure(([1, 2], 3)))
    [0, 0, None]
    """
    if tree_is_leaf(tree, is_leaf):
        return [tree] * treespec.num_leaves
    if treespec.type is not _get_node_type(tree):
        return None
    parts, context = SUPPORTED_NODES[treespec.type].flatten_fn(tree)
    if len(parts) != treespec.num_children or context != treespec.context:
        return None
    pairs = zip(parts, treespec.children_specs, strict=True)
    found = [_broadcast_to_and_flatten(part, child, is_leaf) for part, child in pairs]
    return None if None in found else [leaf for part in found for leaf in part]
