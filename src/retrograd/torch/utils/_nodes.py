"""What the containers of `utils._pytree` are: keys of parts, and how each kind is taken apart.

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
    "SUPPORTED_NODES",
    "Context",
    "GetAttrKey",
    "MappingKey",
    "NodeDef",
    "SequenceKey",
    "is_namedtuple_instance",
    "is_structseq_instance",
    "register_dataclass",
    "register_pytree_node",
]

Context = Any  # what a class of containers keeps beside its parts


class SequenceKey(NamedTuple):
    """The place of a part in a sequence.

    >>> str(SequenceKey(2)), SequenceKey(0).get("ab")
    ('[2]', 'a')
    """

    idx: int

    def __str__(self) -> str:
        return f"[{self.idx!r}]"

    def get(self, sequence: Any) -> Any:
        """The part of a sequence in this place."""
        return sequence[self.idx]


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


class GetAttrKey(NamedTuple):
    """The place of a part that is an attribute.

    >>> str(GetAttrKey("real")), GetAttrKey("real").get(3)
    ('.real', 3)
    """

    name: str

    def __str__(self) -> str:
        return f".{self.name}"

    def get(self, owner: Any) -> Any:
        """The attribute of this name."""
        return getattr(owner, self.name)


class NodeDef(NamedTuple):
    """How containers of a class are taken apart, with the keys of the parts, and built."""

    type: Any
    flatten_fn: Callable[[Any], tuple[list[Any], Context]]
    unflatten_fn: Callable[[Iterable[Any], Context], Any]
    flatten_with_keys_fn: Callable[[Any], tuple[list[Any], Context]] | None = None


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


def _namedtuple_flatten_with_keys(d: Any) -> tuple[list[Any], Context]:
    return [(GetAttrKey(name), getattr(d, name)) for name in d._fields], type(d)


def _sequence(kind: Any, together: Callable[[Any, Any], Any]) -> NodeDef:
    """Sequences of a class, whose context is what they keep besides: the room of a deque."""

    def apart(parts: Any) -> tuple[list[Any], Context]:
        return list(parts), getattr(parts, "maxlen", None)

    def with_keys(parts: Any) -> tuple[list[Any], Context]:
        return [(SequenceKey(k), part) for k, part in enumerate(parts)], apart(parts)[1]

    return NodeDef(kind, apart, together, with_keys)


def _default_dict_flatten(d: Any) -> tuple[list[Any], Context]:
    return list(d.values()), [d.default_factory, list(d)]


def _default_dict_unflatten(values: Iterable[Any], context: Context) -> Any:
    factory, keys = context
    return defaultdict(factory, _dict_unflatten(values, keys))


def _default_dict_flatten_with_keys(d: Any) -> tuple[list[Any], Context]:
    return _dict_flatten_with_keys(d)[0], [d.default_factory, list(d)]


# The containers by `_get_node_type`, for programs that walk through them by themselves.
SUPPORTED_NODES: dict[Any, NodeDef] = {
    node.type: node
    for node in (
        _sequence(tuple, lambda parts, _: tuple(parts)),
        _sequence(Size, lambda parts, _: tuple(parts)),
        _sequence(list, lambda parts, _: list(parts)),
        _sequence(deque, deque),
        NodeDef(dict, _dict_flatten, _dict_unflatten, _dict_flatten_with_keys),
        NodeDef(
            OrderedDict,
            _dict_flatten,
            lambda *of: OrderedDict(_dict_unflatten(*of)),
            _dict_flatten_with_keys,
        ),
        NodeDef(
            defaultdict,
            _default_dict_flatten,
            _default_dict_unflatten,
            _default_dict_flatten_with_keys,
        ),
        NodeDef(
            namedtuple, _namedtuple_flatten, _namedtuple_unflatten, _namedtuple_flatten_with_keys
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
