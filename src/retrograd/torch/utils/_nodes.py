"""The kinds of containers of `utils._pytree`: how each is taken apart, and keys of parts.

`SUPPORTED_NODES` says what a container is: lists, tuples, named tuples, dictionaries, deques and
objects of registered classes, each exactly of its class.
"""

from __future__ import annotations

import dataclasses
from collections import OrderedDict, defaultdict, deque, namedtuple
from typing import TYPE_CHECKING, Any, NamedTuple

from ... import pytree
from ...engine.tensor import Size
from ...ops.core.return_types import Named

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = [
    "SUPPORTED_NODES", "Context", "GetAttrKey", "MappingKey", "NodeDef", "SequenceKey",
    "is_namedtuple_instance", "is_structseq_instance", "register_dataclass", "register_pytree_node",
]  # fmt: skip

Context = Any  # what a class of containers keeps beside its parts


class Key:
    """A place of a part in a container: how it reads, and the part there."""

    __slots__ = ()

    def __str__(self) -> str:
        return f"[{self[0]!r}]"  # type: ignore[index]  # of a tuple with one item

    def get(self, container: Any) -> Any:
        """The part of a container in this place."""
        return container[self[0]]  # type: ignore[index]


class SequenceKey(Key, namedtuple("SequenceKey", "idx")):
    """The place of a part in a sequence.

    >>> str(SequenceKey(2)), SequenceKey(0).get("ab")
    ('[2]', 'a')
    """


class MappingKey(Key, namedtuple("MappingKey", "key")):
    """The place of a part in a dictionary.

    >>> str(MappingKey("weight"))
    "['weight']"
    """


class GetAttrKey(Key, namedtuple("GetAttrKey", "name")):
    """The place of a part that is an attribute.

    >>> str(GetAttrKey("real")), GetAttrKey("real").get(3)
    ('.real', 3)
    """

    def __str__(self) -> str:
        return f".{self.name}"

    def get(self, container: Any) -> Any:
        """The attribute of this name."""
        return getattr(container, self.name)


class NodeDef(NamedTuple):
    """How containers of a class are taken apart, with the keys of the parts, and built."""

    type: Any
    flatten_fn: Callable[[Any], tuple[list[Any], Context]]
    unflatten_fn: Callable[[Iterable[Any], Context], Any]
    flatten_with_keys_fn: Callable[[Any], tuple[list[Any], Context]] | None = None


def _node(
    kind: Any,
    unflatten: Callable[[Any, Any], Any],
    key: Any = SequenceKey,
    names: Callable[[Any], Any] = lambda parts: range(len(parts)),
    parts_of: Callable[[Any], Any] = list,
    context: Callable[[Any], Context] = lambda parts: getattr(parts, "maxlen", None),
) -> NodeDef:
    """How a kind of container is taken apart: by default a sequence, with the room of a deque."""

    def flatten(tree: Any) -> tuple[list[Any], Context]:
        return list(parts_of(tree)), context(tree)

    def flatten_with_keys(tree: Any) -> tuple[list[Any], Context]:
        return list(zip(map(key, names(tree)), parts_of(tree), strict=True)), context(tree)

    return NodeDef(kind, flatten, unflatten, flatten_with_keys)


def _dict(values: Iterable[Any], keys: Context) -> dict[Any, Any]:
    return dict(zip(keys, values, strict=True))


_OF_DICT = (MappingKey, list, dict.values)
# The containers by `_get_node_type`, for programs that walk through them by themselves.
SUPPORTED_NODES: dict[Any, NodeDef] = {
    node.type: node
    for node in (
        _node(tuple, lambda parts, _: tuple(parts)),
        _node(Size, lambda parts, _: tuple(parts)),
        _node(list, lambda parts, _: list(parts)),
        _node(deque, deque),
        _node(dict, _dict, *_OF_DICT, list),
        _node(OrderedDict, lambda *given: OrderedDict(_dict(*given)), *_OF_DICT, list),
        _node(
            defaultdict,
            lambda parts, context: defaultdict(context[0], _dict(parts, context[1])),
            *_OF_DICT,
            lambda tree: [tree.default_factory, list(tree)],
        ),
        _node(
            namedtuple,
            lambda parts, kind: kind(*parts),
            GetAttrKey,
            lambda tree: tree._fields,
            list,
            type,
        ),
    )
}


def is_namedtuple_instance(obj: Any) -> bool:
    """Whether an object is a named tuple of Python.

    >>> is_namedtuple_instance(MappingKey("weight")), is_namedtuple_instance((1, 2))
    (True, False)
    """
    return isinstance(obj, tuple) and hasattr(obj, "_fields") and not is_structseq_instance(obj)


def is_structseq_instance(obj: Any) -> bool:
    """Whether an object is a result of several parts, of those in `return_types`.

    >>> is_structseq_instance(rg.ones(1).max(0))
    True
    """
    return isinstance(obj, Named)


def _get_node_type(tree: Any) -> Any:
    """The key of a container in `SUPPORTED_NODES`, if it is one: its class, or `namedtuple`.

    >>> _get_node_type([1]), _get_node_type(MappingKey("weight")).__name__
    (<class 'list'>, 'namedtuple')
    """
    kind = type(tree)
    named = kind not in SUPPORTED_NODES and isinstance(tree, tuple) and hasattr(tree, "_fields")
    return namedtuple if named else kind


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
    object, `flatten_with_keys_fn(object)` pairs of keys and parts, and the context. What else
    PyTorch takes describes how its exported programs are written to files: here nothing is
    exported. Raises ValueError for a class that is a container already.

    >>> class Pair:
    ...     def __init__(self, a, b):
    ...         self.a, self.b = a, b
    >>> register_pytree_node(Pair, lambda p: ([p.a, p.b], None), lambda parts, _: Pair(*parts))
    >>> rg.utils._pytree.tree_map(lambda n: 10 * n, Pair(1, 2)).b
    20
    """
    pytree.register(cls, flatten_fn, unflatten_fn)
    SUPPORTED_NODES[cls] = NodeDef(cls, flatten_fn, unflatten_fn, flatten_with_keys_fn)


def _fields(cls: Any, given: list[str] | None, dropped: set[str]) -> list[str]:
    """The names of the parts of a dataclass, in its order; ValueError for others than it has."""
    if not dataclasses.is_dataclass(cls):
        if given is None:
            raise ValueError(
                "field_names must be specified with a list of all fields used to initialize "
                f"{cls}, as it is not a dataclass."
            )
        return given
    called = getattr(cls, "__name__", cls)
    known = [field.name for field in dataclasses.fields(cls) if field.init]
    names = {*known} - dropped if given is None else {*given}
    for which, wrong in (("Missing", {*known} - names - dropped), ("Unexpected", names - {*known})):
        if wrong:
            raise ValueError(
                "field_names does not include all dataclass fields.\n"
                f"{which} fields in `field_names`: {wrong}: {called} has {known}. Name each "
                "of these there, or in `drop_field_names`"
            )
    return [name for name in known if name in names]


def register_dataclass(
    cls: Any,
    *,
    field_names: list[str] | None = None,
    drop_field_names: list[str] | None = None,
    serialized_type_name: str | None = None,
) -> None:
    """Make objects of a dataclass containers, whose parts are their fields that are not None.

    `field_names` says which fields, by default all that its constructor takes; those in
    `drop_field_names` get their default. Of a class that is none, `field_names` are all that its
    constructor takes. Raises ValueError for other names.

    >>> @dataclasses.dataclass
    ... class Batch:
    ...     x: rg.Tensor
    ...     label: rg.Tensor | None = None
    >>> register_dataclass(Batch)
    >>> rg.func.vmap(lambda batch: Batch(batch.x * 2))(Batch(rg.ones(2)))
    Batch(x=tensor([2., 2.]), label=None)
    """
    names = _fields(cls, field_names, set(drop_field_names or ()))

    def apart(owner: Any) -> tuple[list[tuple[GetAttrKey, Any]], Context]:
        parts = {name: getattr(owner, name) for name in names}
        there = [name for name in names if parts[name] is not None]
        empty = [name for name in names if parts[name] is None]
        return [(GetAttrKey(name), parts[name]) for name in there], [there, empty]

    def flat(owner: Any) -> tuple[list[Any], Context]:
        keyed, context = apart(owner)
        return [part for _, part in keyed], context

    def together(parts: Iterable[Any], context: Context) -> Any:
        there, empty = context
        return cls(**dict(zip(there, parts, strict=True)), **dict.fromkeys(empty))

    register_pytree_node(cls, flat, together, flatten_with_keys_fn=apart)
