"""Graphs of calls whose sizes may differ: NOTE [Dynamic sizes] in `dynamic_shapes`."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from ... import pytree
from ...engine.tensor import Tensor
from ...errors import UserError
from ...ops import empty
from .._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from ..fx.graph_module import GraphModule
from ..fx.node import Node, map_arg
from ..library import ops
from ..utils._pytree import tree_flatten
from .dynamic_shapes import UNBOUNDED, Dim, specs_of
from .sizes import check
from .tracing import Traced

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Range", "Symbol", "traced"]

VIOLATED = (
    "Constraints violated ({names})! The module was traced at two sizes, and {why}. Give sizes "
    "that must be equal one Dim; write Dim.STATIC for a size that cannot differ, or Dim.AUTO to "
    "find out"
)
SMALL = (
    "Constraints violated ({name})! A size of {size} is a constant, for it broadcasts. Export with "
    "a larger example"
)


PRIMES = [n for n in range(3, 1000) if all(n % d for d in range(2, int(n**0.5) + 1))]


@dataclass(frozen=True)
class Range:
    """The bounds of a size."""

    lower: int
    upper: int

    def __repr__(self) -> str:
        return f"VR[{self.lower}, {'int_oo' if self.upper >= UNBOUNDED else self.upper}]"


class Symbol:
    """A size that may differ: where it is among the arguments, and its bounds."""

    def __init__(self, spec: Any, size: int, places: list[tuple[int, int]]) -> None:
        self.spec, self.size, self.places = spec, size, places
        named = isinstance(spec, Dim)
        self.name = spec.__name__ if named else "a size"
        low = spec.min if spec.min is not None else 2
        self.range = Range(low, spec.max or UNBOUNDED)

    def other(self, step: int, taken: list[int]) -> int:
        """A size within bounds that is another one, and none of those `taken` if there is one."""
        low, high = max(self.range.lower, 2), self.range.upper
        near = [self.size * PRIMES[step], *PRIMES[step:], self.size + 1, self.size - 1]
        found = [n for n in near if low <= n <= high and n != self.size]
        if not found:
            raise UserError(f"no other size than {self.size} is in the bounds {self.range}")
        return next((n for n in found if n not in taken), found[0])

    def merged(self, others: Iterable[Symbol]) -> Symbol:
        """The one symbol that stands for several equal sizes."""
        places = [*self.places, *(place for each in others for place in each.places)]
        return Symbol(self.spec, self.size, places)

    def __repr__(self) -> str:
        return self.name


def other_sizes(symbols: list[Symbol]) -> list[int]:
    """Sizes other than these: different ones, as far as there are."""
    found: list[int] = []
    for step, symbol in enumerate(symbols):
        found.append(symbol.other(step, found))
    return found


class Fakes:
    """FakeTensors for arguments: with the sizes of the example, or `other` ones."""

    def __init__(self, symbols: list[Symbol], other: bool) -> None:
        self.mode = FakeTensorMode()
        self.mode.dynamic = bool(symbols)
        self.sizes: dict[tuple[int, int], int] = {}
        for symbol, size in zip(symbols, other_sizes(symbols), strict=True) if other else ():
            self.sizes |= dict.fromkeys(symbol.places, size)

    def of(self, value: Any, leaf: int) -> Any:
        """One for an argument by its place, -1 for another tensor; any other value as it is."""
        if not isinstance(value, Tensor):
            return value
        before = value._array.shape
        shape = [self.sizes.get((leaf, dim), n) for dim, n in enumerate(before)]
        if shape == list(before):
            return self.mode.like(value)
        made = empty(*shape, dtype=value.dtype, device="meta")
        return FakeTensor(self.mode, made, value.device)


class Resolver:
    """Finds out which sizes may differ, and gives the graph."""

    def __init__(self, module: Any, args: Any, kwargs: Any) -> None:
        self.module = module
        self.leaves, self.structure = tree_flatten((args, kwargs))

    def symbols(self, dynamic_shapes: Any) -> list[Symbol]:
        """A symbol for each Dim, and for each hint."""
        found: dict[Any, Symbol] = {}
        taken: set[int] = set()  # a tensor may be several arguments
        args, kwargs = self.structure.unflatten(self.leaves)
        for tensor, spec in specs_of(dynamic_shapes, self.module, args, kwargs):
            leaf = next(
                i for i, each in enumerate(self.leaves) if each is tensor and i not in taken
            )
            taken.add(leaf)
            for dim, hint in spec.items():
                size = int(tensor.shape[dim])
                if isinstance(hint, int):
                    if hint != size:
                        raise UserError(f"dynamic_shapes says {hint} of a size that is {size}")
                elif hint is not None and getattr(hint, "kind", "") != "STATIC":
                    key = hint.__name__ if isinstance(hint, Dim) else (leaf, dim)
                    here = Symbol(hint, size, [(leaf, dim)])
                    if size < 2:
                        if getattr(hint, "kind", "") != "AUTO":
                            raise UserError(SMALL.format(name=here.name, size=size))
                        continue
                    if key in found and found[key].size != size:
                        raise UserError(f"{hint!r} is {found[key].size} and {size} in the example")
                    found[key] = found[key].merged([here]) if key in found else here
        return list(found.values())

    def trace(self, symbols: list[Symbol], other: bool = False) -> Traced:
        """The call with sizes of the example, or with `other` ones."""
        fakes = Fakes(symbols, other)
        given = [fakes.of(value, i) for i, value in enumerate(self.leaves)]
        args, kwargs = self.structure.unflatten(given)
        return Traced(self.module, args, kwargs, fakes.mode)

    def trace_twice(self, symbols: list[Symbol]) -> tuple[Traced, Traced]:
        """The call with sizes of the example and with other ones; UserError if they differ."""
        first = self.trace(symbols)
        try:
            second = self.trace(symbols, True)
            why = difference(first.graph_module, second.graph_module)
        except Exception as error:  # whatever the module raises at other sizes
            why = f"the second time it raised {type(error).__name__}: {error}"
        if why:
            raise UserError(VIOLATED.format(names=", ".join(map(str, symbols)), why=why))
        return first, second

    def resolve(self, dynamic_shapes: Any) -> tuple[Traced, list[Symbol]]:
        """The graph, and the sizes that may differ."""
        symbols = self.symbols(dynamic_shapes)
        kept = [symbol for symbol in symbols if isinstance(symbol.spec, Dim)]
        self.trace_twice(kept)
        left = [symbol for symbol in symbols if symbol not in kept]
        for alone in list(left):
            if self.can_differ([*kept, alone]):
                kept.append(alone)
                left.remove(alone)
        while left:
            alike = [symbol for symbol in left if symbol.size == left[0].size]
            left = [symbol for symbol in left if symbol not in alike]
            kept = self.merge_equal(kept, alike)
        first, second = self.trace_twice(kept)
        for i, symbol in enumerate(kept):
            symbol.name = f"s{i}"
        resolve_sizes(first.graph_module, second.graph_module, kept)
        return first, kept

    def merge_equal(self, kept: list[Symbol], alike: list[Symbol]) -> list[Symbol]:
        """Sizes that may differ, with those of `alike` if they are equal to one or together."""
        for each in [each for each in kept if each.size == alike[0].size]:
            joined = [*(s for s in kept if s is not each), each.merged(alike)]
            if self.can_differ(joined):
                return joined
        together = [*kept, alike[0].merged(alike[1:])]
        if self.can_differ(together):
            return together
        if any(symbol.spec.kind == "DYNAMIC" for symbol in alike):
            self.trace_twice(together)  # which raises
        return kept

    def can_differ(self, symbols: list[Symbol]) -> bool:
        """Whether the graph is one for other sizes."""
        try:
            self.trace_twice(symbols)
        except UserError:
            return False
        return True


def traced(module: Any, args: Any, kwargs: Any, dynamic_shapes: Any) -> tuple[Traced, list[Symbol]]:
    """The graph of a module's call, and the sizes that may differ."""
    resolver = Resolver(module, args, kwargs)
    if dynamic_shapes is None:
        return resolver.trace([]), []
    return resolver.resolve(dynamic_shapes)


def difference(first: GraphModule, second: GraphModule) -> str:
    """In what two graphs differ, "" if in nothing."""
    pairs = list(zip(first.graph.nodes, second.graph.nodes, strict=False))
    place = {id(node): i for nodes in zip(*pairs, strict=True) for i, node in enumerate(nodes)}

    def known(value: Any) -> Any:
        return pytree.map_leaves(lambda each: ("node", place.get(id(each), each)), value)

    for a, b in pairs:
        calls = [(n.op, n.target, known(list(n.args)), known(dict(n.kwargs))) for n in (a, b)]
        if calls[0] != calls[1]:
            names = [n.target if hasattr(n.target, "overloadpacket") else n.name for n in (a, b)]
            texts = [f"{name}{n.args}" for name, n in zip(names, (a, b), strict=True)]
            return f"the program calls {texts[0]}, then {texts[1]}"
        if a.op == "get_attr":
            parts = [getattr(m, str(a.target)) for m in (first, second)]
            if isinstance(parts[0], GraphModule) and (found := difference(*parts)):
                return found
    if len(first.graph.nodes) != len(second.graph.nodes):
        return "the program calls more operators once than the other time"
    return ""


def constant_or_node(constants: dict[Node, Any], node: Node) -> Any:
    """The constant that a node is, or the node."""
    return constants.get(node, node)


def resolve_sizes(first: GraphModule, second: GraphModule, symbols: list[Symbol]) -> None:
    """Make constants of the sizes that are known, and name those that may differ: rule 2."""
    for a, b in zip(list(first.graph.nodes), list(second.graph.nodes), strict=True):
        values = [pytree.flatten(node.meta.get("val")) for node in (a, b)]
        for x, y in zip(*values, strict=True):
            inputs = a.all_input_nodes
            fixed = a.target is ops.aten.sym_size.int and inputs[0].op == "placeholder"
            if isinstance(x, (int, float)) and x == y and (fixed or not inputs):
                for user in list(a.users):
                    user.args = map_arg(user.args, partial(constant_or_node, {a: x}))
            elif isinstance(x, FakeTensor) and x.shape != y.shape:
                pairs = zip(x._array.shape, y._array.shape, strict=True)
                x.symbolic = tuple([named(*pair, symbols) for pair in pairs])
            elif isinstance(x, int) and x != y:
                a.meta["symbolic"] = named(x, y, symbols)
    for node in list(first.graph.nodes):
        if node.target is check and not depends(node.args[0]):
            first.graph.erase_node(node)
    first.graph.eliminate_dead_code()
    first.recompile()


def depends(found: Any) -> bool:
    """Whether a comparison, or the opposite of one, is of a size that may differ."""
    inputs = found.all_input_nodes
    return depends(inputs[0]) if found.target is operator.not_ else bool(inputs)


def named(size: int, other: int, symbols: list[Symbol]) -> str:
    """The text for a size that is `size` in one graph and `other` in the second."""
    if size == other:
        return str(size)
    pairs = zip(symbols, other_sizes(symbols), strict=True)
    sizes = [(symbol.name, symbol.size, n) for symbol, n in pairs]
    sizes += [(f"{a}*{b}", m * x, n * y) for a, m, n in sizes for b, x, y in sizes if a <= b]
    found = []
    for name, m, n in sizes:
        factor, rest = divmod(other - size, n - m)
        if not rest:
            start = size - factor * m
            text = name if factor == 1 else f"{factor}*{name}"
            found.append((abs(start), text if not start else f"{text} + {start}"))
    return min(found)[1] if found else "?"
