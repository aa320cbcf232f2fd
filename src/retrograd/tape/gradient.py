"""`GradientTape`: TensorFlow's way to say what is recorded, and to ask for gradients."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeVar, overload

import numpy as np

from .. import modes, pytree
from ..autograd.functional.jacobians import unit_vectors
from ..autograd.grad import cotangent_of, owned, run_pass
from ..engine.backward.search import needed_for
from ..engine.graph import OUTPUT
from ..engine.namespaces import recorded
from ..engine.tensor import Tensor, new_tensor, node_of
from ..func.batching import vmap
from ..kernels.allocation import has_memory, table
from .recording import Recording, UnconnectedGradients, differentiable, give_back, lend

if TYPE_CHECKING:
    from ..engine.graph import Node

    K = TypeVar("K")
    Zero = Literal["zero", UnconnectedGradients.ZERO]

__all__ = ["GradientTape"]

STILL_RECORDING = (
    "Tape is still recording. This can happen if you try to re-enter an already-active tape. Make "
    "another one: with GradientTape() as inner: ..."
)
NOT_RECORDING = (
    "Tape is not recording, so it cannot {what}. Do it inside the tape's context: "
    "with GradientTape() as tape: ..."
)
ONCE = (
    "A non-persistent GradientTape can only be used to compute one set of gradients (or "
    "jacobians), and only after something was recorded. Make a persistent one: "
    "GradientTape(persistent=True), or ask for all gradients at once: "
    "tape.gradient(target, [x, y])"
)
NO_TARGET = (
    "Argument `target` should be a tensor or a nested structure of tensors to be differentiated, "
    "but received None."
)
NOT_WATCHED = "Passed in object {value!r} of type {kind!r}, not a Tensor: tape.watch takes tensors"


class GradientTape:
    """A context that records operations, so that `gradient` and `jacobian` can differentiate them.

    persistent: whether gradients can be asked for more than once. watch_accessed_variables: whether
    variables, which are the leaves that require grad (`nn.Parameter` among them), are watched as
    soon as they are used; every other tensor is watched if `watch` is told so, whether or not it
    requires grad. What is recorded: the operations of the thread and of the context, on watched
    tensors and on what was computed from them; also under `no_grad` or `inference_mode` around the
    tape. Within it a watched tensor says that it requires grad; afterwards `requires_grad`, `.grad`
    and the version are as they were.

    The tape is released by its first gradient unless it is persistent, and what it recorded is
    freed then, as by a backward pass, unless another tape recorded it too. For a real loss L
    and a complex z = x + iy, the gradient is ∂L/∂x + i ∂L/∂y = 2 ∂L/∂z*, the direction of steepest
    ascent. Raises ValueError where it is entered twice. Source: the documented behaviour of
    TensorFlow's class.

    >>> x = rg.tensor(3.0)
    >>> with rg.GradientTape() as tape:
    ...     tape.watch(x)
    ...     y = x * x
    >>> tape.gradient(y, x)
    tensor(6.)
    >>> with rg.GradientTape() as outer:
    ...     outer.watch(x)
    ...     with rg.GradientTape() as inner:
    ...         inner.watch(x)
    ...         y = x**3
    ...     derivative = inner.gradient(y, x)
    >>> outer.gradient(derivative, x)
    tensor(18.)
    """

    # what a compiled step does with the methods, where others end its recording: `capture.watch`
    _in_compiled_steps: ClassVar = dict.fromkeys(["__enter__", "watch", "gradient"])

    def __init__(self, persistent: bool = False, watch_accessed_variables: bool = True) -> None:
        self._persistent = persistent
        self._accessed = watch_accessed_variables
        self._recording: Recording | None = None
        self._watched: dict[int, tuple[Tensor, Node]] = {}
        self._before: Any = None  # the modes to give back while it records
        self._variables: tuple[Tensor, ...] = ()  # those that were watched, once it is released

    # -- recording -----------------------------------------------------------------------------

    def __enter__(self) -> GradientTape:
        self._start()
        return self

    def __exit__(self, *exc: object) -> None:
        if self._before is not None:
            self._stop()

    def _start(self) -> None:
        if self._before is not None:
            raise ValueError(STILL_RECORDING)
        if self._recording is None:
            self._recording = Recording()
        tapes = (*modes.state.tapes, self._recording)
        self._before = modes.change(grad=True, inference=False, tapes=tapes)
        for tensor, _ in self._watched.values():
            lend(tensor)

    def _stop(self) -> None:
        before, self._before = self._before, None
        others = [tape for tape in modes.state.tapes if tape is not self._recording]
        try:
            modes.restore({**before, "tapes": tuple(others)})
        finally:
            for tensor, node in self._watched.values():
                give_back(tensor, node)

    def _release(self) -> None:
        self._variables = self.watched_variables()
        self._recording = None
        self._watched = {}

    def _check_recording(self, what: str) -> None:
        if self._before is None:
            raise ValueError(NOT_RECORDING.format(what=what))

    def watch(self, tensor: Any) -> None:
        """Record what is computed from a tensor, or from those of a nested structure, from now on.

        Warns for one that is neither real nor complex, and does not watch it. Raises ValueError
        for what is no tensor, or outside of the tape's context.

        >>> x = rg.tensor([1.0, 2.0])
        >>> with rg.GradientTape() as tape:
        ...     tape.watch({"x": x})
        ...     y = (x * x).sum()
        >>> tape.gradient(y, x)
        tensor([2., 4.])
        """
        self._check_recording("watch anything")
        assert self._recording is not None
        for leaf in pytree.flatten(tensor):
            if not isinstance(leaf, Tensor):
                raise ValueError(NOT_WATCHED.format(value=leaf, kind=type(leaf).__name__))
        for leaf in differentiable(tensor, "watched", "it is not watched"):
            if leaf is not None and id(leaf) not in self._watched:
                node = lend(leaf)
                self._watched[id(leaf)] = leaf, node
                if leaf.is_leaf:
                    self._recording.leaves[node] = None

    def watched_variables(self) -> tuple[Tensor, ...]:
        """The variables that are watched, in the order in which they were first used.

        >>> w = rg.tensor(2.0, requires_grad=True)
        >>> with rg.GradientTape() as tape:
        ...     y = w * rg.tensor(5.0)
        >>> tape.gradient(y, tape.watched_variables())
        (tensor(5.),)
        """
        if self._recording is None:
            return self._variables
        found = self._recording.variables()
        return tuple([x for x in found if self._accessed or id(x) in self._watched])

    @contextlib.contextmanager
    def stop_recording(self) -> Iterator[None]:
        """A context in which this tape records nothing; other tapes go on.

        Raises ValueError if the tape does not record.

        >>> x = rg.tensor(2.0, requires_grad=True)
        >>> with rg.GradientTape() as tape:
        ...     y = x * x
        ...     with tape.stop_recording():
        ...         y = y + 10 * x
        >>> print(tape.gradient(y, x))
        None
        """
        self._check_recording("stop")
        self._stop()
        try:
            yield
        finally:
            self._start()

    def reset(self) -> None:
        """Delete the recording and the list of watched tensors, and start again.

        Raises ValueError if the tape does not record.

        >>> x = rg.tensor(2.0, requires_grad=True)
        >>> with rg.GradientTape() as tape:
        ...     y = x * x
        ...     tape.reset()
        ...     z = 3 * x
        >>> tape.gradient([y, z], x)
        tensor(3.)
        """
        self._check_recording("be reset")
        self._stop()
        self._release()
        self._variables = ()
        self._start()

    # -- derivatives ---------------------------------------------------------------------------

    @overload
    def gradient(
        self,
        target: Any,
        sources: Tensor,
        output_gradients: Any = ...,
        *,
        unconnected_gradients: Zero,
    ) -> Tensor: ...

    @overload
    def gradient(
        self,
        target: Any,
        sources: Tensor,
        output_gradients: Any = ...,
        unconnected_gradients: UnconnectedGradients | str = ...,
    ) -> Tensor | None: ...

    @overload
    def gradient(
        self,
        target: Any,
        sources: list[Tensor],
        output_gradients: Any = ...,
        unconnected_gradients: UnconnectedGradients | str = ...,
    ) -> list[Tensor | None]: ...

    @overload
    def gradient(
        self,
        target: Any,
        sources: dict[K, Tensor],
        output_gradients: Any = ...,
        unconnected_gradients: UnconnectedGradients | str = ...,
    ) -> dict[K, Tensor | None]: ...

    @overload
    def gradient(
        self,
        target: Any,
        sources: Any,
        output_gradients: Any = ...,
        unconnected_gradients: UnconnectedGradients | str = ...,
    ) -> Any: ...

    def gradient(
        self,
        target: Any,
        sources: Any,
        output_gradients: Any = None,
        unconnected_gradients: UnconnectedGradients | str = UnconnectedGradients.NONE,
    ) -> Any:
        """The derivative of the sum of all elements of `target`, in a structure like `sources`.

        target: a tensor or a nested structure; it need not be a single number, nor real: the
        cotangents are ones unless `output_gradients`, as many as targets and shaped like them, are
        given (None among them: ones). sources: tensors that were watched, or computed from such, in
        any nested structure. Each gradient has the shape and the dtype of its source; where the
        target does not depend on it, see `UnconnectedGradients`. Integer and boolean targets and
        sources warn, and count as unconnected.

        Recorded by the tapes that are open in the calling thread, so that it can be differentiated.
        Raises RuntimeError if the tape was used before and is not persistent, TypeError for a
        target or a source that is no tensor, ValueError for `output_gradients` of another number,
        and whatever a backward pass raises. Source: TensorFlow's `GradientTape.gradient`.

        >>> z = rg.tensor([1 + 2j, 3 - 1j])
        >>> with rg.GradientTape() as tape:
        ...     tape.watch(z)
        ...     s = {"conj": z.conj(), "square": z**2}
        >>> tape.gradient(s, [z])
        [tensor([3.-4.j, 7.+2.j])]
        """
        unconnected = UnconnectedGradients(unconnected_gradients)
        self._check_use(target)
        targets = differentiable(target, "target", "it adds nothing to the gradient")
        wanted = differentiable(sources, "source", "its gradient is None")
        given: list[Any] = [None] * len(targets)
        if output_gradients is not None:
            given = pytree.flatten(output_gradients)
            if len(given) != len(targets):
                raise ValueError(
                    f"output_gradients has {len(given)} tensors and target {len(targets)}: it "
                    "needs one, or None, for each"
                )
        pairs = [(t, g) for t, g in zip(targets, given, strict=True) if t is not None]
        found = self._pull([t for t, _ in pairs], [g for _, g in pairs], wanted)
        return self._built(found, wanted, sources, unconnected, ())

    @overload
    def jacobian(
        self,
        target: Tensor,
        sources: Tensor,
        unconnected_gradients: UnconnectedGradients | str = ...,
        parallel_iterations: int | None = ...,
        experimental_use_pfor: bool = ...,
    ) -> Tensor | None: ...

    @overload
    def jacobian(
        self,
        target: Tensor,
        sources: Any,
        unconnected_gradients: UnconnectedGradients | str = ...,
        parallel_iterations: int | None = ...,
        experimental_use_pfor: bool = ...,
    ) -> Any: ...

    def jacobian(
        self,
        target: Tensor,
        sources: Any,
        unconnected_gradients: UnconnectedGradients | str = UnconnectedGradients.NONE,
        parallel_iterations: int | None = None,
        experimental_use_pfor: bool = True,
    ) -> Any:
        """All derivatives of `target`, of shape target.shape + source.shape for each source.

        Entry [i, j] is the derivative of element i of `target` by element j; for complex tensors,
        row i is the gradient for the cotangent 1 at element i (`retrograd.wirtinger.jacobian` has
        the whole derivative). All rows come from one batched pass, or from one pass each if not
        `experimental_use_pfor`; `parallel_iterations` is then how many at a time. The rest is as
        for `gradient`. Source: TensorFlow's `GradientTape.jacobian`.

        >>> x = rg.tensor([1.0, 2.0])
        >>> with rg.GradientTape() as tape:
        ...     tape.watch(x)
        ...     y = x * x.sum()
        >>> tape.jacobian(y, x)
        tensor([[4., 1.],
                [2., 5.]])
        """
        unconnected = UnconnectedGradients(unconnected_gradients)
        self._check_use(target)
        check_tensor(target, "jacobian", "target")
        (output,) = differentiable(target, "target", "its jacobian is None")
        wanted = differentiable(sources, "source", "its jacobian is None")
        rows: list[Any] = [None] * len(wanted)
        if output is not None:
            at_once = None if experimental_use_pfor else parallel_iterations or 1
            rows = self._rows(output, unit_vectors(output, 1.0), wanted, at_once)
        shape = target.shape
        found = [None if r is None else r.reshape((*shape, *r.shape[1:])) for r in rows]
        return self._built(found, wanted, sources, unconnected, shape)

    def batch_jacobian(
        self,
        target: Tensor,
        source: Tensor,
        unconnected_gradients: UnconnectedGradients | str = UnconnectedGradients.NONE,
        parallel_iterations: int | None = None,
        experimental_use_pfor: bool = True,
    ) -> Tensor | None:
        """The Jacobian of each example: (N, m...) by (N, n...) gives (N, m..., n...).

        `target[i]` must depend on `source[i]` alone; that is not checked. It takes as many passes
        as one example of the target has elements. Raises ValueError where the first dimensions
        differ. The rest is as for `jacobian`. Source: TensorFlow's `GradientTape.batch_jacobian`.

        >>> x = rg.tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> with rg.GradientTape() as tape:
        ...     tape.watch(x)
        ...     y = x**2
        >>> tape.batch_jacobian(y, x)
        tensor([[[2., 0.],
                 [0., 4.]],
        <BLANKLINE>
                [[6., 0.],
                 [0., 8.]]])
        """
        unconnected = UnconnectedGradients(unconnected_gradients)
        self._check_use(target)
        check_tensor(target, "batch_jacobian", "target")
        check_tensor(source, "batch_jacobian", "source")
        (output,) = differentiable(target, "target", "its jacobian is None")
        wanted = differentiable(source, "source", "its jacobian is None")
        shape, other = tuple(target.shape), tuple(source.shape)
        if not shape or shape[:1] != other[:1]:
            raise ValueError(
                f"Need first dimension of target shape {list(shape)} and source shape "
                f"{list(other)} to match: it counts the examples"
            )
        found = None
        if output is not None and wanted[0] is not None:
            one = new_tensor(np.empty(shape[1:], output._array.dtype))
            units = unit_vectors(one, 1.0).unsqueeze(1).expand((-1, *shape))
            at_once = None if experimental_use_pfor else parallel_iterations or 1
            (found,) = self._rows(output, units, wanted, at_once)
        if found is not None:
            found = found.movedim(0, 1).reshape((*shape, *other[1:]))
        built: Tensor | None = self._built([found], [source], source, unconnected, shape, other[1:])
        return built

    def _check_use(self, target: Any) -> None:
        """Raise if the tape can give no gradient; a tape that is not persistent stops recording."""
        if self._recording is None:
            raise RuntimeError(ONCE)
        if self._before is not None and not self._persistent:
            self._stop()
        if target is None:
            raise TypeError(NO_TARGET)

    def _built(
        self,
        found: Sequence[Any],
        wanted: Sequence[Any],
        sources: Any,
        unconnected: UnconnectedGradients,
        before: Sequence[int],
        after: Sequence[int] | None = None,
    ) -> Any:
        """Derivatives as they are returned; a tape that is not persistent is released."""
        if not self._persistent:
            self._release()
        filled = [
            None
            if x is None
            else unconnected.fill(each, x, (*before, *(x.shape if after is None else after)))
            for each, x in zip(found, wanted, strict=True)
        ]
        return pytree.unflatten(sources, filled)

    def _rows(
        self, target: Tensor, units: Tensor, wanted: Sequence[Any], at_once: int | None
    ) -> list[Any]:
        """The gradients for all cotangents along the first dimension of `units`, or None."""
        connected: list[bool] = []

        def row(g: Tensor) -> tuple[Any, ...]:
            found = self._pull([target], [g], wanted, retain=True)
            connected[:] = [each is not None for each in found]
            return tuple(
                [
                    recorded.zeros_like(target if x is None else x) if each is None else each
                    for each, x in zip(found, wanted, strict=True)
                ]
            )

        columns = vmap(row, randomness="same", chunk_size=at_once)(units)
        return [c if there else None for c, there in zip(columns, connected, strict=True)]

    def _pull(
        self,
        targets: Sequence[Tensor],
        cotangents: Sequence[Any],
        sources: Sequence[Any],
        retain: bool = False,
    ) -> list[Any]:
        """The gradients of the sources; None for those that nothing on the tape leads to."""
        state = modes.state
        record = state.records and bool(state.tapes or state.nested)
        with modes.Changed(tapes=(*state.tapes, self._recording)):  # views may derive histories
            nodes = [node_of(t) or self._end(t) for t in targets]
            ends = [self._end(x) for x in sources]
        roots = [
            (node, cotangent_of(t, ones(t) if g is None else g, index, record))
            for index, (node, t, g) in enumerate(zip(nodes, targets, cotangents, strict=True))
            if node is not None
        ]
        tracked = needed_for(self._starts(), [node for node, _ in roots], self._holds)
        captures = {node for node in ends if node in tracked}
        if not roots or not captures:
            return [None] * len(sources)
        shared = any(len(node.tapes) > 1 for node in tracked)
        retain = retain or record or shared or self._persistent
        captured = run_pass(roots, retain, record, captures, False, self._holds)
        found: list[Any] = []
        for node in ends:
            found.append(None if node is None else owned(captured.get(node), found))
        return found

    def _starts(self) -> set[Node]:
        """The nodes of the watched values."""
        assert self._recording is not None
        watched = {node for _, node in self._watched.values()}
        return watched | set(self._recording.leaves) if self._accessed else watched

    def _end(self, source: Any) -> Node | None:
        """The node at which the cotangent of a source arrives."""
        if source is None:
            return None
        watched = self._watched.get(id(source))
        return node_of(source) if watched is None else watched[1]

    def _holds(self, node: Any) -> bool:
        """Whether a node is on the tape: NOTE [Marks] of `recording`."""
        return self._recording in (node.edges[0] if node.op is OUTPUT else node).tapes


def check_tensor(value: Any, method: str, role: str) -> None:
    """Raise unless a method that takes one tensor got one."""
    if not isinstance(value, Tensor):
        raise TypeError(
            f"{method}: the {role} must be a tensor, got {type(value).__name__}. Call it for each "
            "tensor, with a persistent tape"
        )


def ones(like: Tensor) -> Tensor:
    """The cotangent that stands for none."""
    array = like._array
    made = np.ones(array.shape, array.dtype)
    return new_tensor(table(array, made) if has_memory(array) else made)
