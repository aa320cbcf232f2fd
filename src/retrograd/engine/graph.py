"""The graph: nodes, leaf accumulators, version cells.

A node stands for one recorded operation. Its edges are the nodes of its differentiable inputs (None
for an input that needs no gradient); its saved values are what the derivative formulas name.

NOTE [One clock]
1. Nodes and in-place writes draw their numbers from one counter, `tick`. A node's number `seq` is
   drawn when it is recorded, so every edge leads to a smaller number: sorting by `seq`, newest
   first, is a topological order, and it is the promised order of the backward pass.
2. A cell keeps the number of the last write to a piece of memory. A saved value is intact exactly
   when that number is below the `seq` of the node that saved it: saving records no version.
3. Cells are made on demand: a tensor that was never viewed, detached or written has none. When a
   tensor gets its cell, its node is told, because the node may have saved that tensor as its own
   output, and an output is saved as a bare array (saving the tensor would close a cycle). Where a
   node shows such an output first (`_saved_result`), the tensor takes the cell made then. Outputs
   that a node with several of them saves get theirs at once.

NOTE [No cycles]
1. A tensor holds its node; a node holds older nodes, and input tensors that its formulas name.
2. A leaf holds its accumulator; the accumulator holds the leaf weakly.
3. A node never holds its own output tensor: only the array, and weak references for `retain_grad`.
So dropping the last tensor of a graph frees it, newest node first, by reference counts alone;
CPython unwinds such chains without recursion (its "trashcan"), however long they are.

This module knows no tensor class and no operation by name.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from .. import modes
from ..locks import LEAVES, ONE_AT_A_TIME, counter, structure
from .table import Table
from .trace import located

tick: Callable[[], int] = counter(1)

KEPT = 7  # earlier writes that a cell remembers beside the last

MANY = sys.maxsize  # outputs: as many as a call gives


PLAIN, JOINED, VARIADIC, CALLED = 1, 2, 3, 4  # `Kind.ordinary`
NOTHING = Table()


class _Freed:
    """The mark in `Node.saved` after a backward pass has freed the values."""

    def __repr__(self) -> str:
        return "<freed>"


FREED = _Freed()


class Cell:
    """The version of one piece of memory, shared by a base, its views and detached aliases.

    `version` counts writes, `last` is the number of the newest (NOTE [One clock]), and `writes`
    keeps (number, writer) of the last few, so that an error can name the op that wrote.
    """

    __slots__ = ("last", "version", "writes")

    def __init__(self) -> None:
        self.version = 0
        self.last = 0
        self.writes: tuple[tuple[int, str], ...] = ()

    def bump(self, writer: str) -> None:
        """Count one write by the op or method called `writer`."""
        if modes.special:
            writer = located(writer)
        number = tick()
        if ONE_AT_A_TIME:  # no call comes between the next lines, so no other thread does
            self.version += 1
            if number > self.last:  # noqa: PLR1730 (max would be a call)
                self.last = number
            self.writes = (*self.writes[-KEPT:], (number, writer))
        else:
            with structure:
                self.version += 1
                self.last = max(self.last, number)
                self.writes = (*self.writes[-KEPT:], (number, writer))

    def note(self, writer: str) -> None:
        """Count no write, but let backward passes refuse values that were saved before."""
        number = tick()
        with structure:
            self.last = max(self.last, number)
            self.writes = (*self.writes[-KEPT:], (number, writer))

    def state(self) -> tuple[Any, ...]:
        """What `restore` takes to make the writes from now on unseen."""
        return self.version, self.last, self.writes

    def restore(self, state: tuple[Any, ...]) -> None:
        """Go back to an earlier state, as if nothing had been written since."""
        self.version, self.last, self.writes = state

    def writes_after(self, seq: int) -> list[tuple[int, str]]:
        """The remembered writes that came after the node numbered `seq`, oldest first."""
        return sorted([write for write in self.writes if write[0] > seq])


class Moved(Cell):
    """The cell of a tensor that shows other memory than those with which it shared a cell.

    Writes to either are none to the other, so saved values are intact. Their number is one for
    both, as in PyTorch: that which the former cell counts.
    """

    __slots__ = ("former",)

    def __init__(self, former: Cell) -> None:
        self.former: Cell = former.former if isinstance(former, Moved) else former
        self.last, self.writes = former.last, former.writes

    @property
    def version(self) -> int:
        """The number of writes to this memory and to the former one."""
        return self.former.version

    @version.setter
    def version(self, value: int) -> None:
        self.former.version = value

    def bump(self, writer: str) -> None:
        """Count one write by the op or method called `writer`."""
        self.note(located(writer) if modes.special else writer)
        with structure:
            self.former.version += 1


class Kind:
    """What all nodes of one operation share; an op record is one, and so is `LEAF`.

    `grad_outputs` is the number of differentiable outputs, MANY where it varies from call to call.
    `ordinary` marks the traversal's fast cases: for each edge there is a function in `formulas`,
    and a row in `table` of what it reads. PLAIN is a kind with one output, JOINED one with several,
    VARIADIC one whose only formula gives the contributions to all edges. Any other kind says in
    `vjp` what its nodes contribute: CALLED is one that takes and gives arrays of its own there, and
    0 whatever else. `joint`, if there is one, gives what several of the formulas do at once:
    `joint(xp, wanted, g, *values)`, of those whose bits are set in `wanted`.
    """

    __slots__ = ("__dict__", "formulas", "grad_outputs", "joint", "name", "ordinary", "table")

    node_type: type[Node]
    variadic = False
    takes_undefined = False
    piecewise = False  # whether second derivatives are zeros: `record.tied`
    shows: Callable[[Any], Any] | None = None  # of a node, the edges that users see; None: all
    stale = False  # whether its nodes are no history, but say that one is to be derived: by `now`
    now: Callable[[Any], Node | None]  # the history of a tensor whose node is stale

    def __init__(self, name: str, node_type: type[Node] | None, grad_outputs: int = 1) -> None:
        self.name = name
        if node_type is not None:
            self.node_type = node_type
        self.grad_outputs = grad_outputs
        self.ordinary = 0
        self.formulas: tuple[Any, ...] = ()
        self.joint: Callable[..., Any] | None = None
        self.table = NOTHING

    def type_of(self, node: Node) -> type[Node]:
        """The class of a node that users see."""
        return self.node_type

    def vjp(self, node: Node, g: Any, create_graph: bool, needed: Any) -> Any:
        """The contributions of `node` to its edges, for a kind that has no formulas."""
        raise NotImplementedError(self.name)

    def read_order(self, held: Sequence[Any]) -> Sequence[int]:
        """The places of saved values in the order in which hooks on them are called."""
        return range(len(held))

    def materialize(self, node: Node, g: Any, create_graph: bool) -> Any:
        """The cotangents of a node with several outputs, with zeros where nothing arrived."""
        raise NotImplementedError(self.name)


class Node:
    """One recorded operation; `tensor.grad_fn` shows it.

    NOTE [One class until shown] CPython reads a slot four times faster where all objects that pass
    have one class, and the backward pass reads little else. So every node is born a plain `Node`
    that says in `op` what it is, and takes its own class, such as `MulBackward0`, when a user first
    sees it (`public_node`). The subclasses add properties and no slots.
    """

    __slots__ = (
        "__dict__",
        "__weakref__",
        "_cell",
        "dtype",
        "edges",
        "fits",
        "hooks",
        "op",
        "params",
        "saved",
        "seq",
        "shape",
    )

    op: Any
    seq: int
    edges: tuple[Node | None, ...]
    saved: Any
    params: tuple[Any, ...]
    shape: tuple[int, ...]
    dtype: Any
    hooks: Any
    _cell: Cell | None
    fits: bool  # whether contributions have the edges' shapes and dtypes: one dtype throughout

    # Rare state lives in the instance dictionary; these are its defaults.
    inherited: bool = False  # of a leaf: whether it is a view, and requires grad as its base does
    cells: dict[int, Cell] | None = None  # by place in `saved`, where the node has several outputs
    layout: Any = None  # (shape, dtype) of each output, where there are several
    trace: str | None = None  # where the forward ran, in anomaly mode
    level: Any = None  # the batched call that recorded the node: `transforms.batch`
    transform: Any = None  # of a variable of a reverse-mode transform: which, `func.reverse`
    tapes: tuple[Any, ...] = ()  # that were open in the thread that recorded it
    lent: int = 0  # of a leaf: the tapes that lend it to a tensor which requires no grad: `tape`
    _tangents: dict[int, Any] | None = None  # of saved outputs, by place: `transforms.forward`

    if TYPE_CHECKING:  # `node_method` attaches them
        register_hook: Callable[[Callable[..., Any]], Any]
        register_prehook: Callable[[Callable[..., Any]], Any]

    full_name = ""  # of a node's class, where that is not its own
    requires_grad = True  # as every node of PyTorch says

    def name(self) -> str:
        """The node's type name, as `MulBackward0`."""
        kind = self.op.type_of(self)
        return kind.full_name or kind.__name__  # type: ignore[no-any-return]

    @property
    def metadata(self) -> dict[Any, Any]:
        """A dictionary for the user's own notes; it lives as long as the node."""
        return self.__dict__.setdefault("_metadata", {})  # type: ignore[no-any-return]

    @property
    def next_functions(self) -> tuple[tuple[Shown | None, int], ...]:
        """The edges as (node, output number); (None, 0) where no gradient is needed."""
        return tuple((None, 0) if edge is None else target(edge) for edge in seen(self, self.edges))

    def _sequence_nr(self) -> int:
        return self.seq

    def _face(self) -> Any:
        """The object that users see for this node: itself, or a custom Function's context."""
        return self

    def _node(self) -> Node | None:
        """The node behind a face: itself, or that of a custom Function's context."""
        return self

    def __repr__(self) -> str:
        return f"<{self.op.type_of(self).__name__} object at {id(self):#x}>"


if TYPE_CHECKING:

    class Shown(Node):
        """A node of its own class, which has what its op saved, as `_saved_result`."""

        def __getattr__(self, name: str) -> Any: ...


def node_method(function: Callable[..., Any]) -> Callable[..., Any]:
    """Attach `function`, whose first argument is the node, to `Node` under its own name.

    The only way in which nodes get methods outside this module.
    """
    setattr(Node, function.__name__, function)
    return function


def new_node(kind: Kind, edges: tuple[Node | None, ...]) -> Node:
    """A node of `kind` with the next number, which saves nothing yet."""
    node = Node()
    node.op = kind
    node.seq = tick()
    node.edges = edges
    node.saved = node.params = ()
    node.hooks = node._cell = None
    node.fits = False
    if modes.special and modes.state.tapes:
        node.tapes = modes.state.tapes
        for tape in node.tapes:
            tape.see(node)
    return node


class AccumulateGrad(Node):
    """The node of a leaf: adds what arrives to the leaf's `.grad`."""

    __slots__ = ()

    full_name = "torch::autograd::AccumulateGrad"  # by which programs know it

    @property
    def variable(self) -> Any:
        """The leaf tensor, or None once it is gone."""
        return self.saved.tensor()


class Leaf:
    """What a leaf's node saves: the leaf, weakly, and the lock under which `.grad` is added to.

    Several leaves share a lock: a fork takes them all, so they are to be few. `former` are the
    nodes that it had with other shapes and dtypes, as long as graphs end there; None if it never
    had any.
    """

    __slots__ = ("former", "lock", "tensor")

    def __init__(self, tensor: Any) -> None:
        self.tensor = weakref.ref(tensor)
        self.former: Any = None
        self.lock = LEAVES[id(self) // 64 % len(LEAVES)]


LEAF = Kind("leaf", AccumulateGrad)
OUTPUT = Kind("output", Node)


def leaf_node(tensor: Any, shape: tuple[int, ...], dtype: Any) -> Node:
    """The node that accumulates into the `.grad` of `tensor`; number 0, older than any op."""
    node = new_node(LEAF, ())
    node.seq = 0
    node.saved = Leaf(tensor)
    node.shape, node.dtype = shape, dtype
    return node


def renewed(node: Node, shape: tuple[int, ...], dtype: Any) -> Node:
    """The node of a leaf that has got another shape or dtype since its node was made.

    Graphs from before end at the former one, `node`. Its cotangents go to the same `.grad`, in its
    own dtype; that of another shape leads to the new one, and a pass that gets so far raises. A
    leaf that has the shape and dtype of a former node again has that node again.
    """
    leaf = node.saved
    if leaf.former is None:
        leaf.former = weakref.WeakValueDictionary()
    leaf.former[node.shape, node.dtype] = node
    made = leaf.former.get((shape, dtype)) or new_node(LEAF, ())
    made.seq, made.saved, made.shape, made.dtype = 0, leaf, shape, dtype
    made.hooks, made.edges = node.hooks, ()
    made.__dict__.update(node.__dict__)
    if node.shape != shape:
        node.hooks, node.edges = None, (made,)
    return made


def output_node(source: Node, index: int, shape: tuple[int, ...], dtype: Any) -> Node:
    """The node that stands for output `index` of a node with several.

    It passes its cotangent to that place of its source, so that all edges are plain nodes. Users
    see the source (`target`). It is the same one as long as anybody holds it, in all threads: a
    cotangent that arrived by two of them would be taken for one.
    """
    places = source.__dict__.setdefault("_outputs", {})
    made = new_node(OUTPUT, (source,))
    made.params = (index,)
    made.shape, made.dtype = shape, dtype
    ref = weakref.ref(made)
    with structure:
        node: Node | None = places.setdefault(index, ref)()
        if node is None:
            places[index], node = ref, made
    return node


def seen(node: Node, values: tuple[Any, ...]) -> tuple[Any, ...]:
    """The values that belong to the edges that users see, of one value for each edge of a node."""
    shows = node.op.shows
    return values if shows is None else tuple([values[place] for place in shows(node)])


def public_node(node: Node) -> Shown:
    """The node as users see it, in the class of its operation: NOTE [One class until shown]."""
    if node.__class__ is Node:
        node.__class__ = node.op.type_of(node)
    return node._face()  # type: ignore[no-any-return]


def target(node: Node) -> tuple[Shown, int]:
    """(node, output number) of the value whose cotangent `node` receives."""
    if node.op is OUTPUT:
        source = node.edges[0]
        assert source is not None
        return public_node(source), node.params[0]
    return public_node(node), 0
