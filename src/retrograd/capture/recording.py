"""A recording: what one run of a function does with arrays, noted while it truly runs.

NOTE [Recordings]
1. A recording is a watcher (`engine.transforms.watch`): forwards, formulas and sums of gradients
   run on NumPy's arrays as always, so with eager's bits, and each is noted as one `Call` of the
   function that ran. What else is done with arrays is noted by these (NOTE [TracedArray arrays]).
2. Tensors that were there before the call are roots. While the recording runs their arrays are
   traced, too, so nothing of theirs is read unseen.
3. What does more than give new arrays is noted in order as an `Effect`: a gradient that is added to
   a leaf, a write that a version counts, a call that a replay makes again, such as a step of an
   optimizer or a draw of random numbers. A replay does these by the functions that eager calls.
4. A recording never changes what the run does. Whatever it cannot note ends it: `stop`.
5. Another thread that meets a traced array meanwhile computes on what that holds: not noted.
"""

from __future__ import annotations

import gc
import operator
import sys
import weakref
from functools import partial
from threading import get_ident
from time import perf_counter_ns
from types import CellType, ModuleType
from typing import Any, NamedTuple

import numpy as np

from .. import dtypes, modes, pytree
from ..engine.backward import accumulation
from ..engine.backward.fitting import fit
from ..engine.graph import LEAF, Kind, Node, new_node, tick
from ..engine.namespaces import arrays, reals
from ..engine.record import is_number
from ..engine.saved import OnTensors, PackedValues, raw
from ..engine.tensor import Tensor, new_tensor, wrote
from ..engine.transforms.watch import Watcher
from ..engine.views import live_views
from ..kernels.allocation import StandIn, is_traced
from ..kernels.layout import apply_binary, orders_agree
from ..nn.parameter import Buffer, Parameter
from ..quiet import calm
from .asked import ASKED, Asked, Bail, asked, holds, turn, unasked
from .foreign import is_file
from .steps import Call, Effect, Result, Root, Slot, Step, Truth, places_in
from .traced import TracedArray, held

__all__ = ["Ahead", "Recording"]


# Functions whose results have a shape that depends on values.
BY_VALUES = {
    *("argwhere", "bincount", "compress", "extract", "flatnonzero", "nonzero", "trim_zeros"),
    *("unique", "unique_all", "unique_counts", "unique_inverse", "unique_values", "repeat"),
}

POWERS = (operator.pow, operator.ipow, pow)

# Functions of NumPy's that ask how arrays lie and of what dtype they are, and for no value.
FACTS = {np.may_share_memory, np.shares_memory, np.iscomplexobj, np.isrealobj, np.ndim, np.shape,
         np.size, np.result_type, np.can_cast, np.common_type}  # fmt: skip


READ = Kind("read", Node)  # of nodes that say what made a tensor, and that it has a history
CLASSES = {Tensor, Parameter, Buffer}


class Ahead(BaseException):
    """A pass that runs before its time ends, before it does what it must not."""


class Edge(NamedTuple):
    """Of an edge, what a contribution is fitted to."""

    shape: tuple[int, ...]
    dtype: Any


class Formulas:
    """The formulas of one node as a function of its cotangent and its values."""

    __slots__ = ("edges", "live", "op", "title", "xp")

    def __init__(self, node: Any, live: tuple[bool, ...]) -> None:
        self.op, self.live = node.op, live
        self.title: str = node.name()
        self.edges: tuple[Any, ...] = tuple(
            [None if e is None else Edge(e.shape, e.dtype) for e in node.edges]
        )
        fits = node.fits and node.dtype.kind == "f" and node.dtype.itemsize > 2
        self.xp = reals if fits else arrays

    def name(self) -> str:
        """The name of the node, which is not kept: its graph would be."""
        return self.title

    def __call__(self, g: Any, values: Any) -> tuple[Any, ...]:
        return self.fitted(g, values)

    def alike(self, g: Any, values: Any) -> tuple[Any, ...]:
        """The same where all arrays have one shape, whichever that is, or are a number."""
        return self.fitted(g, values, alike=True)

    def fitted(self, g: Any, values: Any, alike: bool = False) -> tuple[Any, ...]:
        """What the formulas give, fitted to edges."""
        found = self.op.derive(self.xp, g, values, self.live)
        this: Any = self
        return tuple(
            [
                None if c is None or e is None
                else fit(c, e._replace(shape=c.shape) if alike else e, this, arrays)
                for c, e in zip(found, self.edges, strict=True)
            ]
        )  # fmt: skip


class Recording(Watcher):
    """What a run has done so far: instructions in order, on numbered slots."""

    def __init__(self) -> None:
        self.stopped: str | None = None
        self.steps: list[Any] = []
        self.arrays: list[Any] = []  # by slot; they live as long as the recording
        self.by_id: dict[int, TracedArray] = {}
        self.constants: dict[int, Any] = {}  # by slot
        self.roots: list[Tensor] = []
        self.root_slots: list[int] = []
        self.versions: list[int] = []  # of roots, as far as steps count writes
        self.facts: list[Any] = []  # of roots: node, and how they lie
        self.numbers: dict[int, int] = {}  # of roots, by id
        self.origins: list[Any] = []  # how a replay finds each root
        self.nodes: list[weakref.ref[Any]] = []
        self.tensors: list[weakref.ref[Tensor]] = []
        self.gradients: dict[int, Any] = {}  # by the id of a leaf: its gradient, noted
        # Results of effects: which step, which place, and the slot of the array that it gave them.
        self.objects: dict[int, tuple[int, int, int]] = {}
        self.results: dict[int, Any] = {}  # of effects, by their place among the steps
        self.spent: dict[Step, int] = {}  # nanoseconds of what is not done twice
        self.scalars: set[int] = set()  # slots of what NumPy gave as a scalar
        self.written: set[int] = set()  # numbers of roots whose versions count a write
        self.overwritten: set[int] = set()  # slots of roots
        self.lasting: set[int] = set()  # the steps that must not be done twice
        self.writes: list[tuple[int, Any]] = []  # which step writes, and what
        self.early: set[int] = set()  # steps that give the same where all of their kind come first
        self.values: list[Asked] = []  # all that were asked for
        self.kept: list[Any] = []  # lists and dictionaries that users hold
        self.shown: list[tuple[int, Any]] = []  # memory that users see from a step on
        self.views: set[Step] = set()  # those that read nothing, but give views
        self.elementwise: set[Step] = set()  # those that are forwards of such ops
        self.in_rows: set[Step] = set()  # and of ops that have sums and maxima along dimensions
        self.suspended = False
        self.ahead = False  # whether a pass runs of which eager has not even begun
        self.earlier = 0  # how many arrays there were before
        self.start = tick()
        self.thread = get_ident()

    # -- the end ---------------------------------------------------------------------------------

    def stop(self, reason: str) -> None:
        """End the recording: the run goes on as an eager one."""
        if self.stopped is not None or get_ident() != self.thread:
            return
        self.stopped = f"{reason}, at {self.line()}"
        self.settle()
        if self.ahead:
            raise Ahead

    def line(self) -> str:
        """The line of the user's program that runs; whoever knows it puts another function here."""
        return "the call"

    def run(self, function: Any, *args: Any, **options: Any) -> Any:
        """What a function gives; whoever sees code that runs puts another function here."""
        return function(*args, **options)

    def settle(self) -> None:
        """Put NumPy's arrays in the place of traced ones, wherever tensors and nodes hold them."""
        for ref in self.nodes:
            node: Any = ref()
            saved = None if node is None else node.saved
            if isinstance(saved, tuple) and any(v.__class__ is TracedArray for v in saved):
                node.saved = type(saved)(held(list(saved)))
        known = [*self.roots, *self.gradients.values(), *[ref() for ref in self.tensors]]
        for tensor in known:
            if tensor is not None:
                tensor._array = held(tensor._array)
        for generation in range(3):
            counts = [*map(sys.getrefcount, self.by_id.values())]  # 2: nobody else holds it
            left = [t for t, count in zip(self.by_id.values(), counts, strict=True) if count > 2]
            if not left:
                break  # most holders are young, and a search among all objects is slow
            holders = gc.get_objects(generation) if generation < 2 else gc.get_referrers(*left)
            for holder in holders:
                if issubclass(type(holder), Tensor) and is_traced(getattr(holder, "_array", None)):
                    holder._array = held(holder._array)  # one that a thread is making has none yet
            del holders, left

    def release(self) -> None:
        """Put Python's own values in the place of those that were asked for, and that users hold.

        A tuple or a running function that holds one cannot be changed.
        """
        counts = [*map(sys.getrefcount, self.values)]  # 2: nobody else holds it
        left = [v for v, count in zip(self.values, counts, strict=True) if count > 2]
        for holder in gc.get_referrers(*left) if left else ():  # which is slow
            if type(holder) is CellType:
                holder.cell_contents = unasked(holder.cell_contents)
            elif type(holder) is set:
                plain = {unasked(v) for v in holder}
                holder.clear()
                holder.update(plain)
            elif type(holder) in (list, dict) and holder is not left and holder is not self.values:
                unasked(holder, in_place=True)
        self.values.clear()

    def forget(self) -> None:
        """Let go of all arrays and tensors, for there are cycles here; nobody listens any more."""
        self.stopped = self.stopped or "the call has ended"
        for kept in (self.arrays, self.by_id, self.roots, self.writes, self.kept, self.shown):
            kept.clear()

    def check_roots(self) -> None:
        """End the recording if a root has changed in a way that no step notes."""
        for number, root in enumerate(self.roots):
            if root._node is not self.facts[number][0]:
                self.stop("a tensor from outside gets another history")
            elif root._array is not self.arrays[self.root_slots[number]]:
                self.stop("a tensor from outside gets other memory")
        self.check_versions()
        held = [self.arrays[slot] for slot in self.root_slots]
        for step, shown in self.shown:
            written = [target for n, target in self.writes if n >= step]
            if any(np.may_share_memory(shown, root) for root in held):
                continue
            if any(np.may_share_memory(shown, target) for target in written):
                self.stop("what numpy() gave is written")

    def check_versions(self) -> None:
        """End the recording if a root was written and no step counts it."""
        if [root._version for root in self.roots] != self.versions:
            self.stop("a write to a tensor from outside is not seen")

    # -- arrays ----------------------------------------------------------------------------------

    def is_new(self, node: Any) -> bool:
        """Whether a node was recorded since the recording began."""
        return bool(node.seq > self.start)

    def slot(self, array: Any) -> TracedArray:
        """The traced array for one of NumPy's."""
        known = self.by_id.get(id(array))
        if known is None:
            known = self.by_id[id(array)] = TracedArray(array, len(self.arrays), self)
            self.arrays.append(array)
        return known

    def constant(self, array: Any) -> TracedArray:
        """The traced array for one that every replay has: it must not be written."""
        new = id(array) not in self.by_id
        made = self.slot(array)
        if new:
            self.constants[made.slot] = array
        return made

    def table(self, values: Any) -> Any:
        """A table of NumPy's beside traced arrays."""
        if isinstance(values, TracedArray):
            return values
        array = np.asarray(values)
        return array if self.stopped is not None else self.constant(array)

    def given(self, value: Any) -> Any:
        """An argument as a program keeps it: a slot in place of an array."""
        kind = value.__class__
        if kind is TracedArray:
            return Slot(value.slot)
        if kind is list or kind is tuple:
            return kind([self.given(v) for v in value])
        if kind is dict:
            return {key: self.given(v) for key, v in value.items()}
        if kind is slice:
            if any(isinstance(v, StandIn) for v in (value.start, value.stop, value.step)):
                self.stop("a value of a tensor is an index")
            return value
        if isinstance(value, np.ndarray):
            if value.ndim and id(value) not in self.by_id:
                self.stop("an array of unknown origin is computed with")
            return Slot(self.constant(value).slot)
        if isinstance(value, (Tensor, StandIn)):
            self.stop(f"a {kind.__name__} is computed with")
        return value

    def result(self, value: Any) -> tuple[Any, Any]:
        """What a call gives, as the engine goes on with it, and as the program keeps it."""
        kind = value.__class__
        if isinstance(value, np.generic):
            value = np.asarray(value)
            self.scalars.add(len(self.arrays))
        if value.__class__ is np.ndarray:
            made = self.slot(value)
            return made, made.slot
        if isinstance(value, tuple):
            parts = [self.result(v) for v in value]
            shown = [part[0] for part in parts]
            made = kind(*shown) if hasattr(kind, "_fields") else kind(shown)
            return made, tuple([part[1] for part in parts])
        if kind is list:
            parts = [self.result(v) for v in value]
            return [part[0] for part in parts], tuple([part[1] for part in parts])
        if value is not None and value is not NotImplemented:
            self.stop(f"a function of arrays gives a {kind.__name__}")
        return value, None

    def call(self, function: Any, args: Any, options: Any) -> Any:
        """What a function gives for arrays, noted."""
        plain, named = held(tuple(args)), held(dict(options))
        if self.stopped is not None or function in FACTS or get_ident() != self.thread:
            return calm(function, *plain, **named)
        if getattr(function, "__name__", "") in BY_VALUES and not hasattr(function, "kernels"):
            self.stop(f"the shape of what {function.__name__} gives depends on values")
            return calm(function, *plain, **named)
        before = tuple([self.given(v) for v in args]), self.given(dict(options))
        self.check_target(function, plain, named)
        outer, self.suspended = self.suspended, True  # what a forward does itself, a replay's does
        try:
            found = calm(self.run, function, *plain, **named)
        finally:
            self.suspended = outer
        if self.stopped is not None:
            return found
        made, slots = self.result(found)
        if self.stopped is not None:
            return found
        step = Call(function, *before, slots)
        if isinstance(slots, int) and self.constants.keys() >= {*step.reads}:  # and of numbers
            parts = [v for v in plain if isinstance(v, np.ndarray)]
            is_view = any(np.may_share_memory(made.array, v) for v in parts)
            if is_view or made.array.dtype == np.bool_:
                self.constants[slots] = made.array
                return made
        self.steps.append(step)
        return made

    def check_target(self, function: Any, args: Any, options: Any) -> None:
        """Stop where a constant is written."""
        out = options.get("out")
        targets = list(out) if isinstance(out, tuple) else [out]
        if getattr(function, "__name__", "") in ("copyto", "setitem", "at", "put_along_axis"):
            targets.append(args[0])
        for target in targets:
            if target is not None:
                self.writes.append((len(self.steps), target))
            while target is not None and target.__class__ is np.ndarray:
                known = self.by_id.get(id(target))
                if known is not None and known.slot in self.constants:
                    self.stop("a constant is written")
                if known is not None and known.slot in self.root_slots:
                    self.lasts()
                    self.overwritten.add(known.slot)
                target = target.base  # noqa: PLW2901

    def lasts(self) -> None:
        """Note that what comes next must not be done twice."""
        if self.ahead:
            self.stop("the backward pass of what is returned changes something")
        self.lasting.add(len(self.steps))

    def truth(self, array: TracedArray) -> bool:
        """The truth of an array, which a replay has to find again."""
        value = bool(array.array)
        known = array.slot in self.constants
        if not known and self.stopped is None and get_ident() == self.thread:
            self.steps.append(Truth(Slot(array.slot), value))
        return value

    def value(self, array: TracedArray, name: str) -> Any:
        """An attribute of an array that shows its values."""
        self.stop(f"a value of a tensor is asked for ({name})")
        return getattr(array.array, name)

    # -- values of Python's: NOTE [Asked values] ---------------------------------------------------

    def of_tensor(self, function: Any, tensor: Tensor) -> Any:
        """A number, list or array that `function` gives of an array; a replay asks for it, too."""
        array: Any = tensor._array
        if array.slot in self.constants and function is np.ndarray.view:
            self.stop("an array of a constant is given")
        found = function(array.array)
        if self.stopped is not None:
            return found
        self.steps.append(Effect(function, (Slot(array.slot),), {}, ()))
        if function is np.ndarray.view:
            self.shown.append((len(self.steps), array.array))
        else:
            self.early.add(len(self.steps) - 1)
        return asked(found, len(self.steps) - 1, self)

    def derived(self, function: Any, args: Any, options: Any, lasting: bool = False,
                run: Any = None) -> Any:  # fmt: skip
        """What a function gives for values that were asked for, and for tensors that it reads."""
        found = self.again(function, args, options, lasting, True, run)
        kind = type(found)
        if self.stopped is not None or found is None:
            return found
        step, number = self.steps[-1], len(self.steps) - 1
        values = [value.step for value in places_in([step.args, step.options], Result)]
        pure = isinstance(getattr(function, "__self__", ""), (str, ModuleType))
        known = self.early.issuperset(values) and not holds((args, options), Tensor)
        if pure and known and function.__class__ is not partial:
            self.early.add(number)
        if kind is bool or kind is np.bool_:
            return kind(self.agreed(Result(number), bool(found)))
        if kind not in ASKED:
            self.stop(f"a value of a tensor becomes a {kind.__name__}")
            return found
        made = asked(found, number, self)
        if any(function is each for each in POWERS) and type(args[-1]) is not int:
            self.derived(isinstance, (made, complex), {})  # which that of another number may be
        return made

    def append(self, owner: Any, value: Any) -> None:
        """Append a value, which is plain in the end; a replay appends one like it."""
        if self.stopped is None:
            self.lasts()
            self.steps.append(Effect(owner.append, (self.handed(value),), {}, ()))
            self.spent[self.steps[-1]] = 1  # next to nothing
        self.kept.append(value)
        owner.append(unasked(value) if isinstance(value, (Asked, tuple)) else value)

    def agreed(self, value: Any, truth: bool) -> bool:
        """The truth of a value, which a replay has to find again."""
        if self.lasting and value.step not in self.early:
            self.stop("a branch on a value follows what cannot be undone")
        if self.stopped is None:
            self.steps.append(Effect(turn, (value, truth), {}, ()))
        return truth

    # -- tensors that were there -----------------------------------------------------------------

    def root(self, tensor: Tensor, origin: Any) -> None:
        """Let a tensor be a root; `origin` says how a replay finds it."""
        if self.stopped is not None or id(tensor) in self.numbers:
            return
        if not (is_plain(tensor) or (origin[0] == "argument" and is_known(tensor))):
            self.stop(f"a tensor is more than plain data: {origin}")
            return
        self.numbers[id(tensor)] = len(self.roots)
        self.roots.append(tensor)
        self.origins.append(origin)
        array = tensor._array
        self.facts.append((tensor._node, array.shape, array.strides, array.dtype, array.flags.num))
        traced = self.slot(array)
        self.root_slots.append(traced.slot)
        self.versions.append(tensor._version)
        tensor._array = traced

    def origin(self, tensor: Tensor) -> Any:
        """How a replay finds a root, or None."""
        number = self.numbers.get(id(tensor))
        return None if number is None else self.origins[number]

    # -- what the engine shows -------------------------------------------------------------------

    def compute(self, op: Any, arrays: Any, params: Any, proceed: Any) -> Any:
        """The forward of an op, noted as one call."""
        if self.stopped is not None or self.suspended:
            return proceed(arrays, params)
        function = op.forward
        if op.is_binary and not orders_agree(*map(held, arrays)):
            function = partial(apply_binary, function)
        empty = [name for name, value in params.items() if value.__class__ is list and not value]
        before = len(self.steps)
        if empty:
            others = {name: value for name, value in params.items() if name != empty[0]}
            found, *filled = self.call(partial(with_filled, function, empty[0]), arrays, others)
            params[empty[0]].extend(filled)
        else:
            found = self.call(function, arrays, params)
        if self.stopped is None and len(self.steps) > before:
            for kind, known in (
                (op.view, self.views), (by_elements(op), self.elementwise), (op.rows, self.in_rows)
            ):  # fmt: skip
                if kind:
                    known.add(self.steps[-1])
        return found

    def made(self, op: Any, inputs: Any, params: Any, outputs: Any) -> None:
        """See that an op has read nothing that nobody knows."""
        if self.stopped is not None or self.suspended:
            return
        for t in inputs:
            if t is not None and t._array.__class__ is np.ndarray and not is_number(t):
                self.stop(f"{op.name} reads a tensor of unknown origin")
                return
        self.tensors += map(weakref.ref, outputs)
        node = outputs[0]._node if outputs else None
        if node is not None:
            self.nodes.append(weakref.ref(node))
            if node.op.grad_outputs != 1 and node.edges:
                self.nodes += [weakref.ref(edge) for edge in node.edges if edge is not None]

    def differentiate(self, node: Any, g: Any, proceed: Any) -> Any:
        """The formulas of a node, noted as one call; or the sum in a leaf."""
        if self.stopped is not None or self.suspended:
            return on_arrays(node, g, proceed)
        task = getattr(getattr(proceed, "func", None), "__self__", None)
        if self.ahead and task is not None and not task.retain_graph:
            self.stop("a custom Function goes through a graph that it has kept")
        if node.op is LEAF:
            return self.accumulate(node, g, proceed)
        if not self.is_new(node):
            self.stop("a graph from before the call is gone through")
            return on_arrays(node, g, proceed)
        if task is None or task.create_graph or not node.op.formulas or g is None:
            return proceed()
        if isinstance(node.saved, (PackedValues, OnTensors)):
            self.stop("a hook on a saved tensor")
            return proceed()
        live = tuple([e is not None and (not task.needed or e in task.needed) for e in node.edges])
        if node.op.grad_outputs != 1:
            if all(part is None for part in g):
                return proceed()
            g = calm(node.op.materialize, node, g, False)
        return self.call(Formulas(node, live), (g, raw(node)), {})

    def accumulate(self, node: Any, g: Any, proceed: Any) -> Any:
        """Add a cotangent to a leaf, on NumPy's arrays, and note that."""
        leaf = node.saved.tensor()
        if leaf is None:
            return None
        if leaf._array.__class__ is TracedArray and id(leaf) not in self.numbers:  # one made here
            return proceed()
        if not isinstance(g, TracedArray) or id(leaf) not in self.numbers:
            self.stop("a gradient of a tensor of unknown origin")
            return proceed()
        self.lasts()
        traced, leaf._array = leaf._array, held(leaf._array)
        before = leaf._gradient
        if before is not None:
            before._array = held(before._array)
        try:
            accumulation.add_to_leaf(node, g.array, True)
        finally:
            leaf._array = traced
        gradient = leaf._gradient
        number = Root(self.numbers[id(leaf)])
        made = self.slot(gradient._array)
        self.gradients[id(leaf)] = gradient
        gradient._array = made
        self.steps.append(Effect(add_gradient, (number, Slot(g.slot)), {}, (made.slot,)))
        return None

    def before_write(self, target: Tensor) -> None:
        """See a write to memory of a root; or, in a pass ahead of time, of what it reads."""
        if self.stopped is not None or self.suspended:
            return
        if self.ahead and any(
            np.may_share_memory(held(target._array), other) for other in self.arrays[: self.earlier]
        ):
            self.stop("the backward pass of what is returned writes to what it reads")
        if id(target) in self.numbers:
            self.count(self.numbers[id(target)])
        elif target._array.__class__ is not TracedArray:
            self.stop("a tensor of unknown origin is written")
        elif target._view_of is not None and id(target._view_of.base) in self.numbers:
            self.stop("a view of an argument is written")
        elif any(target is gradient for gradient in self.gradients.values()):
            self.stop("a gradient is written")
        elif target._cell is not None:
            for number, root in enumerate(self.roots):
                if root._cell is target._cell:  # written through `detach()`
                    self.count(number)

    def count(self, number: int) -> None:
        """Note that a write to a root is counted: once, however often it is announced."""
        root = self.roots[number]
        self.written.add(number)
        if root._node is not None and root._node.op is not LEAF:
            self.stop("an argument with a history is written")
        elif root._view_of is not None or live_views(root):
            self.stop("a tensor that is a view, or has views, is written")
        elif self.versions[number] == root._version:
            self.lasts()
            self.versions[number] += 1
            self.steps.append(Effect(count_write, (Root(number),), {}, ()))

    # -- calls that a replay makes again ---------------------------------------------------------

    def again(self, function: Any, args: Any, options: Any, lasting: bool = True,
              reads: bool = False, run: Any = None) -> Any:  # fmt: skip
        """Call a function outside of the recording, and note that a replay calls it, too.

        It may only read tensors that were computed, if it `reads` any. Code of the user's that it
        runs is seen if it is called by `run`.
        """
        if self.stopped is not None:
            return function(*unasked(args), **unasked(options))
        self.check_versions()  # for the call may write, too
        kept = tuple([self.handed(v, reads) for v in args])
        named = {key: self.handed(v, reads) for key, v in options.items()}
        if self.stopped is not None:
            return function(*unasked(args), **unasked(options))
        if lasting:
            self.lasts()
        read = [t for t in pytree.flatten((args, options)) if isinstance(t, Tensor)]
        swapped = [(t, t._array) for t in (*self.roots, *self.gradients.values(), *read)]
        for tensor, array in swapped:
            tensor._array = held(array)
        self.suspended = run is None
        before = modes.change(watchers=(), before_write=None)
        start = perf_counter_ns()
        given = unasked(args), unasked(options)
        try:
            found = (partial(run, function) if run else function)(*given[0], **given[1])
        finally:
            spent = perf_counter_ns() - start
            modes.restore(before)
            self.suspended = False
            moved = any(tensor._array is not held(array) for tensor, array in swapped)
            for tensor, array in swapped:
                if not moved and self.stopped is None:
                    tensor._array = array
        if moved or self.stopped is not None:
            self.stop("a tensor gets other memory")
            return found
        for root, slot, version in zip(self.roots, self.root_slots, self.versions, strict=True):
            if root._version != version:
                self.writes.append((len(self.steps), self.arrays[slot]))
        self.versions = [root._version for root in self.roots]
        slots = []
        for place, value in enumerate(found if type(found) in (tuple, list) else (found,)):
            if not isinstance(value, Tensor):
                continue
            if not is_plain(value) or id(value) in self.numbers:
                self.stop("a call gives a tensor that is more than plain data")
                return found
            value._array = self.slot(value._array)
            self.objects[id(value)] = len(self.steps), place, value._array.slot
            slots.append(value._array.slot)
        self.results[len(self.steps)] = found
        self.steps.append(Effect(function, kept, named, tuple(slots)))
        self.spent[self.steps[-1]] = spent
        return found

    def draw(self, proceed: Any) -> Any:
        """Random numbers, which a replay draws anew, in the same order."""
        if self.stopped is not None or self.suspended:
            return proceed()
        self.lasts()
        start = perf_counter_ns()
        made = self.slot(np.asarray(proceed()))
        self.steps.append(Call(proceed, (), {}, made.slot))
        self.spent[self.steps[-1]] = perf_counter_ns() - start
        return made

    def handed(self, value: Any, reads: bool = False) -> Any:
        """An argument of a call that is made again, which may only read it."""
        if isinstance(value, Tensor):
            if id(value) in self.numbers:
                return Root(self.numbers[id(value)])
            if reads:
                return self.alike(value)
            self.stop("a computed tensor is given to a call that is made again")
            return value
        if isinstance(value, Asked):
            return Result(value.step, value.place)
        if type(value) in (list, tuple):
            return type(value)([self.handed(v, reads) for v in value])
        if type(value) is dict:
            return {key: self.handed(v, reads) for key, v in value.items()}
        # a replay would find it at its end
        if hasattr(type(value), "__next__") and not is_file(value):
            self.stop(f"a {type(value).__name__} is given to a call that is made again")
        return value

    def alike(self, tensor: Tensor) -> Any:
        """What a replay makes for a computed tensor that is read, with a node of the same kind."""
        array, node = tensor._array, tensor._node
        more = tensor._tangents or tensor._inference or modes.state.nested
        plain = array.__class__ is TracedArray and tensor.__class__ is Tensor and not more
        if not plain or (node is not None and node.op.stale):
            self.stop("a tensor that is more than plain data is printed")
            return tensor
        if node is not None:
            leaf, name = node.op is LEAF, type(tensor.grad_fn).__name__
            node = new_node(LEAF if leaf else READ, ())
            node.__class__ = Node if leaf else type(name, (Node,), {"__slots__": ()})
        self.steps.append(Effect(shown, (Slot(array.slot), node), {}, ()))
        return Result(len(self.steps) - 1)


def shown(array: Any, node: Any) -> Tensor:
    """A tensor to be read, with a node that says what made it."""
    made = new_tensor(array)
    made._node = node
    return made


def by_elements(op: Any) -> bool:
    """Whether an op works element by element."""
    return bool(op.elementwise or op.batch == "elementwise")


def on_arrays(node: Any, g: Any, proceed: Any) -> Any:
    """What a node contributes, given NumPy's arrays: a compiled function's takes no others."""
    return proceed() if node.op is LEAF else proceed.func(node, held(g), *proceed.args[2:])


def is_bare(tensor: Tensor) -> bool:
    """Whether a tensor lies in NumPy's memory, with nothing beside but a history."""
    return (
        tensor.__class__ in CLASSES
        and tensor._array.__class__ is np.ndarray
        and not tensor._inference
        and tensor._tangents is None
        and tensor._lent is None
    )


def is_plain(tensor: Tensor) -> bool:
    """Whether a tensor is a leaf or constant in NumPy's memory, without anything beside."""
    node = tensor._node
    leaf = node is None or (node.op is LEAF and node.hooks is None and not node.inherited)
    view = tensor._view_of is not None and tensor._view_of.base._node is not None
    return leaf and not view and is_bare(tensor)


def is_known(tensor: Tensor) -> bool:
    """Whether a tensor is plain, but for a history."""
    node = tensor._node
    past = node is not None and node.op is not LEAF and not node.op.stale
    return is_bare(tensor) if past else is_plain(tensor)


def with_filled(function: Any, name: str, *arrays: Any, **params: Any) -> tuple[Any, ...]:
    """What a forward gives, and what it puts into an empty list `name`, for the formulas."""
    filled: list[Any] = []
    return function(*arrays, **params, **{name: filled}), *filled


def add_gradient(leaf: Tensor, g: Any) -> Tensor:
    """Add an array to the gradient of a leaf: what a backward pass does in the end."""
    accumulation.add_to_leaf(leaf._node, g, True)
    return leaf._gradient  # type: ignore[return-value]


def beside(value: Any, like: Any) -> Tensor:
    """A number as the tensor that arithmetic makes of it, in memory that no other number has."""
    return new_tensor(dtypes.operand_array(value, like).copy())


def same_shape(value: Any, shape: Any, strides: Any, dtype: Any) -> Tensor:
    """An array as a tensor on the same memory; raises Bail if it is not as in the recording."""
    if (value.shape, value.strides, value.dtype) != (shape, strides, dtype):
        raise Bail
    return new_tensor(value)


def count_write(tensor: Tensor) -> None:
    """Count a write to a tensor."""
    wrote(tensor, "a compiled step")
