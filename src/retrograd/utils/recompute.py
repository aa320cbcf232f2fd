"""What a checkpointed call remembers, and how its saved values come back.

NOTE [Checkpoints by saved values]
1. While the function runs, every value that an op saves is replaced by an empty `Holder`. The
   `Frame` knows the holders weakly, by position, and what each stands for: op, shape, dtype.
2. The first holder that a backward pass reads makes the frame run the function again. That time the
   values are kept, in the holders that are still alive, and the run stops once the last is filled.
3. A value leaves its holder when it is read, so nothing outlives the pass, even with
   `retain_graph=True`; another reading runs the function again. Values belong to the thread that
   made them, or to the `GraphExecGroup` it is in: passes in several threads do not meet.
4. The arguments are saved like an op's values. So a write to them is found out, and a checkpoint
   around this one holds them: to run an inner function again, the outer one runs again first.
5. A backward pass inside the function reads holders while the forward has not ended. The run again
   then goes as far as the forward had come. The graph that a run again records keeps its values, so
   that such a pass works in it too.
6. The nodes' values hold the frame, the frame holds the arguments; nobody holds results. So all of
   it is freed with the graph, by reference counts.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from typing import Any, NamedTuple

from .. import dtypes, modes
from ..engine.graph import Kind, Node, new_node
from ..engine.placement import CPU
from ..engine.record import attach
from ..engine.saved import tensors
from ..engine.tensor import Size, Tensor, node_of
from ..engine.transforms.watch import Watcher

__all__ = ["Arguments", "CheckpointError", "CheckpointWatcher", "Frame", "GraphExecGroup"]

TIP = (
    "The function must do the same when it runs again: let it depend on nothing but its arguments "
    "and the random state. Tip: pass debug=True to checkpoint(...), or wrap the code in `with "
    "retrograd.utils.checkpoint.set_checkpoint_debug_enabled(True):`, to see all operations of "
    "both runs."
)
FEWER = (
    "torch.utils.checkpoint: A different number of tensors was saved during the original forward "
    "and recomputation.\n"
    "Number of tensors saved during forward: {forward}\n"
    "Number of tensors saved during recomputation: {again}.\n"
)
MORE = (
    "torch.utils.checkpoint: trying to save more tensors during recomputation than during the "
    "original forward pass.\n"
    "Number of tensors saved during forward: {forward}\n"
)
OTHER = (
    "torch.utils.checkpoint: Recomputed values for the following tensors have different metadata "
    "than during the forward pass.\n"
)
OVERLAP = (
    "torch.utils.checkpoint: Unpack is being triggered for a tensor that was already unpacked "
    "once. Performing two backward calls that overlap (i.e. require the same saved activation in "
    "order to compute gradients) is not allowed while under the "
    "retrograd.utils.checkpoint.GraphExecGroup context. Leave the context before the second call."
)


class CheckpointError(RuntimeError):
    """Raised if the function of a checkpoint did something else when it ran again.

    >>> issubclass(rg.utils.checkpoint.CheckpointError, RuntimeError)
    True
    """


class StopRecomputation(BaseException):
    """Ends a run again; no Exception, so that the function's own handlers let it pass."""

    def __init__(self, run: Any) -> None:
        self.run = run


class Group(threading.local):
    """The `GraphExecGroup` that the calling thread is in."""

    current: Any = None


group = Group()


class GraphExecGroup:
    """Backward passes within this context run each checkpointed function again at most once.

    They must not need the same saved value: that raises CheckpointError. Only checkpoints with
    `use_reentrant=False` take part. Raises RuntimeError inside another such context. Source:
    PyTorch's `GraphExecGroup`.

    >>> x = rg.ones(2, requires_grad=True)
    >>> y = rg.utils.checkpoint.checkpoint(lambda x: x.exp().unbind(), x, use_reentrant=False)
    >>> with rg.utils.checkpoint.GraphExecGroup():
    ...     y[0].backward(retain_graph=True)
    >>> x.grad
    tensor([2.7183, 0.0000])
    """

    def __enter__(self) -> GraphExecGroup:
        if group.current is not None:
            raise RuntimeError(
                "GraphExecGroup contexts cannot be nested. Already inside group "
                f"{group.current}: leave it first."
            )
        group.current = self
        return self

    def __exit__(self, *exc: object) -> None:
        group.current = None


class CheckpointWatcher(Watcher):
    """A watcher of one checkpoint's function, which does not see what runs again meanwhile."""


class Saved(NamedTuple):
    """What was saved at one position: by which op, and of which kind."""

    op: str
    shape: tuple[int, ...]
    dtype: Any

    def __str__(self) -> str:
        kind = {"shape": Size(self.shape), "dtype": dtypes.of_numpy(self.dtype), "device": CPU}
        return f"{ {**kind, 'op': self.op} }"


def described(tensor: Tensor) -> Saved:
    """What a pack hook was given, and by which op."""
    node = modes.state.packing
    op = "register_hooks" if node is None else node.op.name
    return Saved(op, tensor._array.shape, tensor._array.dtype)


class Holder:
    """The place of one saved value; full only between a run again and the reading."""

    __slots__ = ("__weakref__", "values")

    def __init__(self) -> None:
        self.values: dict[Any, Any] = {}  # nodes that saved it


class Inputs(Kind):
    """The kind of node that keeps the arguments of a checkpointed call; it is on no edge."""

    def history(self, node: Any, place: int) -> Node | None:
        """The node that a saved argument had when it was saved."""
        return node.histories[place]  # type: ignore[no-any-return]


INPUTS = Inputs("checkpoint", type("CheckpointInputs", (Node,), {"__slots__": ()}))


def keeping(given: list[Tensor | None]) -> Any:
    """A node that saved these; `tensors(node)` reads them, raising for what was written since."""
    node: Any = new_node(INPUTS, ())
    node.histories = [None if t is None else node_of(t) for t in given]
    node.saved = tuple(given)
    return node


class Arguments:
    """The arguments of a call, the tensors among them as saved values."""

    node: Any

    def __init__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.values = [None if isinstance(v, Tensor) else v for v in (*args, *kwargs.values())]
        self.names = tuple(kwargs)
        given = [v if isinstance(v, Tensor) else None for v in (*args, *kwargs.values())]
        self.node = keeping(given)
        if modes.special:
            attach(self.node)

    def read(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The positional and the named arguments; raises VersionError if one was written."""
        values = [
            value if tensor is None else tensor
            for value, tensor in zip(self.values, tensors(self.node), strict=True)
        ]
        count = len(values) - len(self.names)
        return tuple(values[:count]), dict(zip(self.names, values[count:], strict=True))


class Frame:
    """One checkpointed call: NOTE [Checkpoints by saved values].

    `run(args, kwargs)` runs the function again; `check` says whether shapes, dtypes and ops must be
    those of the forward; `report`, if given, replaces a CheckpointError by a longer one.
    """

    def __init__(
        self,
        run: Callable[[Any, Any], None],
        arguments: Arguments,
        early_stop: bool,
        check: bool,
        report: Callable[[CheckpointError], CheckpointError] | None,
    ) -> None:
        self.run, self.arguments = run, arguments
        self.early_stop, self.check, self.report = early_stop, check, report
        self.holders: list[weakref.ref[Holder]] = []
        self.saved: list[Saved] = []
        self.complete = False
        self.groups: weakref.WeakSet[GraphExecGroup] = weakref.WeakSet()

    def pack(self, tensor: Tensor) -> Holder:
        """An empty holder in place of a value."""
        holder = Holder()
        self.holders.append(weakref.ref(holder))
        self.saved.append(described(tensor))
        return holder

    def unpack(self, holder: Holder) -> Tensor:
        """The value that `holder` stands for, recomputed if it is not there."""
        key = group.current or threading.get_ident()
        if key not in holder.values:
            if key in self.groups:
                raise CheckpointError(OVERLAP)
            try:
                Recomputation(self, key).run()
            except CheckpointError as error:
                if self.report is None:
                    raise
                raise self.report(error) from error
            if group.current is not None:
                self.groups.add(group.current)
        (tensor,) = tensors(holder.values.pop(key))
        return tensor  # type: ignore[no-any-return]


class Recomputation:
    """One run again of a frame's function, filling the holders under `key`."""

    def __init__(self, frame: Frame, key: Any) -> None:
        self.frame, self.key = frame, key
        self.saved: list[Saved] = []
        self.beyond = False

    def run(self) -> None:
        """Run, stop as soon as all is there, and compare with the forward."""
        args, kwargs = self.frame.arguments.read()
        others = [w for w in modes.state.watchers if not isinstance(w, CheckpointWatcher)]
        before = modes.change(
            grad=True,
            inference=False,
            saved_hooks=((self.pack, unpack_as_is),),
            watchers=tuple(others),
        )
        try:
            self.frame.run(args, kwargs)
        except StopRecomputation as stop:
            if stop.run is not self:
                raise
        finally:
            modes.restore(before)
        if not self.beyond:
            self.compare()

    def pack(self, tensor: Tensor) -> Tensor:
        """Fill the next holder; the recomputed graph keeps the value too."""
        frame, position = self.frame, len(self.saved)
        self.saved.append(described(tensor))
        if position >= len(frame.holders):
            if frame.complete:
                raise CheckpointError(
                    MORE.format(forward=len(frame.holders)) + self.first_difference() + TIP
                )
            self.beyond = True  # a backward pass inside the function, which has not ended
            return tensor
        holder = frame.holders[position]()
        if holder is not None:
            holder.values[self.key] = keeping([tensor])
        if frame.early_stop and len(self.saved) == len(frame.holders):
            raise StopRecomputation(self)
        return tensor

    def compare(self) -> None:
        """Raise CheckpointError unless this run saved what the forward did."""
        frame = self.frame
        if len(self.saved) != len(frame.saved):
            text = FEWER.format(forward=len(frame.saved), again=len(self.saved))
            raise CheckpointError(text + self.first_difference() + TIP)
        if not frame.check:
            return
        wrong = [
            f"tensor at position {position}:\nsaved metadata: {then}\nrecomputed metadata: {now}\n"
            for position, (then, now) in enumerate(zip(frame.saved, self.saved, strict=True))
            if then != now and frame.holders[position]() is not None
        ]
        if wrong:
            raise CheckpointError(OTHER + "".join(wrong) + self.first_difference() + TIP)

    def first_difference(self) -> str:
        """Which op is the first to differ, as far as saved values tell."""
        then, now = self.frame.saved, self.saved
        both = list(zip(then, now, strict=False))
        place = next((i for i, (a, b) in enumerate(both) if a != b), len(both))
        names = [
            f"`{run[place].op}` with shape {list(run[place].shape)}" if place < len(run) else "none"
            for run in (then, now)
        ]
        return (
            f"The first operation that differs is the one that saved the tensor at position {place}"
            f": {names[0]} in the forward pass, {names[1]} in the recomputation.\n"
        )


def unpack_as_is(tensor: Tensor) -> Tensor:
    """The unpack hook of a recomputed graph: the tensor, as it was packed."""
    return tensor
