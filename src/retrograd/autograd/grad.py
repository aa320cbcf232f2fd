"""`backward` and `grad`: the two ways to start a backward pass."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, overload

import numpy as np

from .. import dtypes, modes
from ..engine.backward import traversal as engine
from ..engine.backward.search import reachable
from ..engine.graph import FREED, LEAF, Node
from ..engine.namespaces import recorded
from ..engine.tensor import (
    Tensor,
    array_of,
    as_array,
    constant_like,
    method,
    new_tensor,
    node_of,
    tensor_of,
)
from ..engine.transforms.batch import BatchLevel, batched, split
from ..errors import SecondBackwardError, UnbatchableError
from ..kernels.allocation import (
    copied,
    full,
    has_class,
    has_memory,
    has_values,
    is_batched,
    is_numpy,
    zeros,
)
from ..kernels.memory import overlaps, root
from ..ops.tensor.autograd_methods import retain_grad
from .graph import GradientEdge, stand_in

__all__ = ["backward", "grad"]

# The cotangent of a real scalar; shared, since the engine writes no root cotangent.
ONE = {dtype: np.ones((), dtype) for dtype in map(np.dtype, ("float16", "float32", "float64"))}
for _one in ONE.values():
    _one.flags.writeable = False


GRAD_VARIABLES = "`grad_variables` is deprecated. Use `grad_tensors` instead."
ONLY_INPUTS = (
    "only_inputs argument is deprecated and is ignored now (defaults to True). To accumulate "
    "gradient for other parts of the graph, please use retrograd.autograd.backward."
)
CREATES_CYCLE = (
    "Using backward() with create_graph=True will create a reference cycle between the parameter "
    "and its gradient which can cause a memory leak. We recommend using autograd.grad when "
    "creating the graph to avoid this. If you have to use this function, make sure to reset the "
    ".grad fields of your parameters to None after use to break the cycle and avoid the leak."
)
WHOLE_NUMBERS = (
    "it holds {}, and whole numbers have no derivative. Comparisons, argmax() and long() end the "
    "graph: compute the loss from floating-point values"
)
INFERENCE = "it was computed under inference_mode(), which records nothing. Compute it outside"
NOT_RECORDING = (
    "nothing is recorded here, under no_grad(), inference_mode() or set_grad_enabled(False). "
    "Compute the loss, and call backward(), outside"
)
DETACHED = "detach() has cut it off. Call backward() on the tensor before detach()"
NONE_REQUIRES = (
    "none of the tensors that it was computed from requires grad; .data, .item() and .numpy() give "
    "constants. Make one with requires_grad=True, or call module.requires_grad_()"
)
PERHAPS_UNRECORDED = (
    "it was computed under no_grad(), or none of the tensors that it was computed from requires "
    "grad; .data, .item() and .numpy() give constants. Compute it outside no_grad(), from a tensor "
    "with requires_grad=True, or call module.requires_grad_()"
)
LOOP_CARRIED = (
    "The graph looks loop-carried: this pass ran newer operations, which were built on a value "
    "whose graph an earlier pass has freed. Cut it off where it is carried over: "
    "state = state.detach()"
)
SAME_GRAPH = (
    "An earlier pass went through the same graph: compute it anew, or keep it the first time: "
    "y.backward(retain_graph=True)"
)


def _backward(
    self: Tensor,
    gradient: Tensor | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Any = None,
) -> None:
    """Accumulate into `.grad` of every leaf the derivative of this tensor: see `autograd.backward`.

    `gradient` is the cotangent, of this tensor's shape; a scalar needs none.

    >>> x = rg.tensor(3.0, requires_grad=True)
    >>> (x * x).backward()
    >>> x.grad
    tensor(6.)
    """
    if gradient is None and inputs is None and not (create_graph or modes.special):
        node, array = self._node, self._array
        if node is not None and array.ndim == 0 and node.seq:
            one = ONE.get(array.dtype) if array.__class__ is np.ndarray else None
            if one is not None:  # the common case, without ceremony
                try:
                    engine.run_plain(node, one, retain_graph)
                except SecondBackwardError as error:
                    raise told_apart(error, (node,)) from None
                return
    backward(self, gradient, retain_graph, create_graph, inputs=inputs)


method(_backward, "backward")


def backward(
    tensors: Any,
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: Any = None,
    inputs: Any = None,
) -> None:
    """Compute the gradients of `tensors`, weighted by cotangents, and add them to leaves' `.grad`.

    tensors: a tensor or a sequence of them; grad_tensors: a cotangent each, of the same shape (None
    for a real scalar, whose cotangent is 1). The graph is freed unless `retain_graph` (by default
    as `create_graph`, which makes the gradients themselves differentiable). With `inputs`, only
    those tensors receive gradients. For a real loss L and a complex z = x + iy, the gradient is
    ∂L/∂x + i ∂L/∂y = 2 ∂L/∂z*, the direction of steepest ascent.

    Raises RuntimeError for a tensor without history, a non-scalar or complex root without
    cotangent, a cotangent of another shape, a graph that was freed; no `.grad` has then changed.
    Source: PyTorch's `autograd.backward`.

    >>> x = rg.tensor([1.0, 2.0], requires_grad=True)
    >>> rg.autograd.backward([x * x], [rg.tensor([1.0, 10.0])])
    >>> x.grad
    tensor([ 2., 40.])
    """
    if grad_variables is not None:
        warnings.warn(GRAD_VARIABLES, FutureWarning, stacklevel=2)
        if grad_tensors is not None:
            raise RuntimeError(
                "`grad_tensors` and `grad_variables` (deprecated) arguments both passed to "
                "`backward()`. Please only use `grad_tensors`."
            )
        grad_tensors = grad_variables
    if create_graph:
        modes.warn_once(CREATES_CYCLE)
    roots = _roots(_sequence(tensors), grad_tensors, create_graph, "backward")
    captures = None
    if inputs is not None:
        wanted = _sequence(inputs)
        if not wanted:
            raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
        captures = [_node_of(t, index) for index, t in enumerate(wanted)]
        for t in wanted:
            retain_grad(t)
    run_pass(
        roots, create_graph if retain_graph is None else retain_graph, create_graph, captures, True
    )


@overload
def grad(
    outputs: Any, inputs: dict[str, Tensor], *options: Any, **settings: Any
) -> dict[str, Tensor]: ...
@overload
def grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Tensor, ...]: ...
def grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> Any:
    """The derivatives of `outputs` with respect to `inputs`; no `.grad` is changed.

    outputs, grad_outputs, retain_graph, create_graph: as for `backward`. Returns one tensor per
    input, of its shape and dtype (a dict for a dict of inputs); None where it was not used and
    `allow_unused`, zeros where `materialize_grads`. With `is_grads_batched` every cotangent has an
    extra leading dimension, and so has every result but such zeros. Raises RuntimeError as
    `backward` does, and for an unused input unless allowed; ValueError for `allow_unused=False`
    with `materialize_grads`, TypeError for a mapping of inputs that is no dict. Source: PyTorch's
    `autograd.grad`.

    >>> x = rg.tensor(2.0, requires_grad=True)
    >>> (dx,) = rg.autograd.grad(x * x * x, x, create_graph=True)
    >>> rg.autograd.grad(dx, x)
    (tensor(12.),)
    """
    if not only_inputs:
        warnings.warn(ONLY_INPUTS, FutureWarning, stacklevel=2)
    if materialize_grads and allow_unused is False:
        raise ValueError(
            "Expected allow_unused to be True or not passed when materialize_grads=True, but got: "
            "allow_unused=False."
        )
    if isinstance(inputs, Mapping):
        if type(inputs) is not dict:
            raise TypeError(
                f"`inputs` argument to `grad()` must be a dict, not {type(inputs).__name__}. Other "
                "Mapping types are not supported: pass dict(inputs)."
            )
        found = grad(outputs, list(inputs.values()), grad_outputs, retain_graph, create_graph,
                     True, allow_unused, is_grads_batched, materialize_grads)  # fmt: skip
        return dict(zip(inputs, found, strict=True))
    given = [inputs] if isinstance(inputs, (Tensor, GradientEdge)) else list(inputs)
    outs, wanted = _sequence(outputs), _sequence(given)
    if not wanted:
        raise RuntimeError("`inputs` argument to `grad()` cannot be empty.")
    keep = create_graph if retain_graph is None else retain_graph
    if is_grads_batched:
        rows = _batched(
            outs,
            wanted,
            grad_outputs,
            retain_graph=keep,
            create_graph=create_graph,
            allow_unused=allow_unused or materialize_grads,
        )
        return materialized(rows, given, create_graph) if materialize_grads else rows
    captures = [_node_of(t, index) for index, t in enumerate(wanted)]
    roots = _roots(outs, grad_outputs, create_graph, "grad")
    captured = run_pass(roots, keep, create_graph, captures, False)
    results: list[Tensor | None] = []
    for index, node in enumerate(captures):
        g = captured.get(node)
        if g is None and not (allow_unused or materialize_grads):
            raise RuntimeError(
                f"The differentiated Tensor at index {index} appears to not have been used in "
                "the graph. Set allow_unused=True if this is the desired behavior. If not, "
                "compute the outputs from this tensor itself: a copy of it is another tensor"
            )
        results.append(owned(g, results))
    return materialized(results, given, create_graph) if materialize_grads else tuple(results)


def materialized(
    found: Sequence[Tensor | None], inputs: Sequence[Any], create_graph: bool
) -> tuple[Tensor, ...]:
    """The gradients `found`, with zeros of the shape of its input for each that is None."""
    made = []
    for g, t in zip(found, inputs, strict=True):
        if g is not None:
            made.append(g)
            continue
        if isinstance(t, GradientEdge):
            raise RuntimeError(
                "materialize_grads cannot be used when the given input is a GradientEdge"
            )
        made.append(new_tensor(zeros(t._array, t._array.shape)))
        made[-1].requires_grad = bool(create_graph)
    return tuple(made)


def owned(g: Any, others: Sequence[Any]) -> Tensor | None:
    """A captured cotangent as a tensor that shares no memory with `others`."""
    if g is None or isinstance(g, Tensor):
        return g
    g = as_array(g)
    if not has_memory(g):
        return tensor_of(g)
    fresh = g.base is None and g.flags.owndata and (not is_numpy(g) or g.flags.writeable)
    return new_tensor(g if fresh and not _is_shared(g, others) else copied(g))


def run_pass(
    roots: Any,
    retain_graph: bool,
    create_graph: bool,
    captures: Any,
    accumulate: bool,
    within: Callable[[Node], bool] | None = None,
) -> dict[Node, Any]:
    """`engine.backward.run`; where the graph was freed, the error says how that came about."""
    try:
        flags = bool(retain_graph), bool(create_graph)
        return engine.run(roots, *flags, captures, accumulate, within)
    except SecondBackwardError as error:
        raise told_apart(error, [node for node, _ in roots]) from None


def told_apart(error: SecondBackwardError, roots: Sequence[Node]) -> SecondBackwardError:
    """The error for a freed graph, with a sentence on why it was freed.

    Nodes run newest first. So if any newer node has saved values, this pass read them, and only the
    older part of the graph was freed before.
    """
    freed = error.node
    newer = [node for node in reachable(roots) if node.seq > freed.seq]
    carried = any(node.op is not LEAF and node.saved for node in newer)
    made = SecondBackwardError(f"{error} {LOOP_CARRIED if carried else SAME_GRAPH}")
    made.node = freed
    return made


def _is_shared(g: Any, results: Any) -> bool:
    return any(r is not None and r._array is g for r in results) or g is ONE.get(g.dtype)


def batch_size(outs: Sequence[Tensor], cotangents: Sequence[Tensor | None]) -> int:
    """The leading size of all cotangents; raise unless the rest is the shape of their outputs."""
    sizes = set()
    for index, (t, g) in enumerate(zip(outs, cotangents, strict=False)):
        if g is None:
            continue
        if g.ndim == 0 or g.shape[1:] != t.shape:
            raise RuntimeError(
                "If `is_grads_batched=True`, we interpret the first dimension of each grad_output "
                "as the batch dimension. The sizes of the remaining dimensions are expected to "
                "match the shape of corresponding output, but a mismatch was detected: "
                f"grad_output[{index}] has a shape of {g.shape} and output[{index}] has a shape of "
                f"{t.shape}. If you only want some tensors in `grad_output` to be considered "
                "batched, consider using vmap."
            )
        sizes.add(g.shape[0])
    if not sizes:
        raise (RuntimeError if any(t.ndim for t in outs) else ValueError)(
            "grad can be implicitly created only for scalar outputs. Give grad_outputs, with one "
            "leading size for all, or leave is_grads_batched=True out"
        )
    if len(sizes) != 1:
        raise ValueError(
            "is_grads_batched=True needs grad_outputs with one leading size for all, got sizes "
            f"{sorted(sizes)}"
        )
    return int(sizes.pop())


def _batched(outs: Any, wanted: Any, cotangents: Any, **how: Any) -> tuple[Tensor | None, ...]:
    """The gradients for every cotangent along the first dimension, by one batched pass.

    Where a hook or a Function asks for a value, by a pass for each.
    """
    given = [None] * len(outs) if cotangents is None else _sequence(cotangents)
    size = batch_size(outs, given)
    level = BatchLevel(size)
    retain = how.pop("retain_graph")
    try:
        with level:
            rows = [None if g is None else batched(g, level) for g in given]
            found = grad(outs, wanted, rows, retain_graph=True, **how)
        made = apart([None if g is None else split(g, level) for g in found], given)
    except UnbatchableError:
        table = []
        for row in range(size):
            each = [None if g is None else g[row] for g in given]
            table.append(grad(outs, wanted, each, retain_graph=True, **how))
        made = [
            None if column[0] is None else recorded.stack(*column, dim=0)
            for column in zip(*table, strict=True)
        ]
    if not retain:
        for node in reachable([node_of(t) for t in outs if t._node is not None]):
            if node.saved and node.op is not LEAF:
                node.saved = FREED
    return tuple(made)


def apart(found: Sequence[Any], others: Sequence[Any] = ()) -> list[Any]:
    """Derivatives that may be written one by one: copies where memory is another's, or overlaps."""
    taken = {id(root(array)) for array in map(memory_behind, others) if array is not None}
    made = []
    for g in found:
        own, array = g, memory_behind(g)
        if array is not None:
            if id(root(array)) in taken or overlaps(array):
                own = recorded.clone(g)
                array = memory_behind(own)
            taken.add(id(root(array)))
        made.append(own)
    return made


def memory_behind(t: Tensor | None) -> Any:
    """The array of a tensor, or of all examples of the batch that it is; None without memory."""
    array: Any = None if t is None else t._array
    while is_batched(array):
        array = array.value._array
    return array if has_memory(array) else None


def _sequence(value: Any) -> list[Any]:
    values = [value] if isinstance(value, (Tensor, GradientEdge)) else list(value)
    return [stand_in(each) if isinstance(each, GradientEdge) else each for each in values]


def _node_of(t: Any, index: int) -> Node:
    if not isinstance(t, Tensor):
        raise RuntimeError(
            f"all inputs have to be Tensors or GradientEdges, but got {type(t).__name__} for "
            f"inputs[{index}]"
        )
    if t._node is None:
        raise RuntimeError(
            "One of the differentiated Tensors does not require grad. Give it "
            "requires_grad=True before the forward pass."
        )
    return node_of(t)  # type: ignore[no-any-return]


def _roots(
    tensors: Sequence[Any], cotangents: Any, create_graph: bool, caller: str
) -> list[tuple[Node, Any]]:
    """The (node, cotangent) pairs to start from, all checked."""
    given = [None] * len(tensors) if cotangents is None else _sequence(cotangents)
    for g in given:
        if g is not None and not isinstance(g, Tensor):
            raise TypeError(f"gradients can be either Tensors or None, but got {type(g).__name__}")
    if len(given) != len(tensors):
        raise RuntimeError(
            f"got {len(tensors)} tensors and {len(given)} gradients: {caller}() needs one gradient "
            "for each tensor"
        )
    roots = []
    for index, (t, g) in enumerate(zip(tensors, given, strict=True)):
        if not isinstance(t, Tensor):
            raise TypeError(f"element {index} of tensors must be a Tensor, not {type(t).__name__}")
        if t._node is None:
            raise RuntimeError(
                f"element {index} of tensors does not require grad and does not have a grad_fn: "
                f"{why_constant(t)}"
            )
        roots.append((node_of(t), cotangent_of(t, g, index, create_graph)))
    return roots


def why_constant(t: Tensor) -> str:
    """Why a tensor has no history, as far as it and the thread's modes tell, and what to do."""
    if not dtypes.is_differentiable(t._array.dtype):
        return WHOLE_NUMBERS.format(t.dtype)
    if t._inference:
        return INFERENCE
    if not modes.state.records:
        return NOT_RECORDING
    if t._cell is not None and not (t._cell.version or t._view_of or t._views):
        return DETACHED
    return PERHAPS_UNRECORDED if "member" in modes.state.__dict__ else NONE_REQUIRES


def cotangent_of(t: Tensor, g: Any, index: int, create_graph: bool) -> Any:
    """The cotangent given for the output at `index`, 1 if that is a real scalar; checked."""
    if g is None:
        if t._array.size != 1:
            raise RuntimeError(
                "grad can be implicitly created only for scalar outputs, but the tensor has shape "
                f"{list(t.shape)}. Reduce it first (y.sum().backward()), or give the cotangent: "
                "y.backward(gradient)"
            )
        if t._array.dtype.kind == "c":
            raise RuntimeError(
                "grad can be implicitly created only for real scalar outputs but got "
                f"{t.dtype}. Give the cotangent, or take y.abs() or y.real first."
            )
        if has_class(t._array):
            ones = t._array.ones()
            return ones if create_graph or modes.transforming() else ones._array
        if is_batched(t._array):  # whose examples may be of a class
            one = constant_like(np.ones(t._array.shape, t._array.dtype), t)._array
        else:
            one = full(t._array, t._array.shape, 1)
        return new_tensor(one) if create_graph else one
    g = fitted(g, t, index)
    return g if create_graph or modes.transforming() else array_of(g)


def fitted(g: Tensor, t: Tensor, index: int) -> Tensor:
    """A cotangent in the dtype of the output `t`.

    Raises RuntimeError unless `g` has the shape of `t`, and is complex where that is.
    """
    if g._array.shape != t._array.shape:
        raise RuntimeError(
            f"Mismatch in shape: grad_output[{index}] has a shape of {g.shape} and "
            f"output[{index}] has a shape of {t.shape}. Give one of that shape, as "
            "ones_like(output)"
        )
    if has_values(g._array) is not has_values(t._array):
        if not t._array.ndim:  # a number goes to any device
            return fitted(g.to(t.device), t, index)
        raise RuntimeError(
            f"invalid gradient at index {index} - expected device {t.device} but got {g.device}"
        )
    if (g._array.dtype.kind == "c") != (t._array.dtype.kind == "c"):
        raise RuntimeError(
            "For complex Tensors, both grad_output and output are required to have the same dtype. "
            f"Mismatch in dtype: grad_output[{index}] has a dtype of {g.dtype} and "
            f"output[{index}] has a dtype of {t.dtype}."
        )
    same = g._array.dtype == t._array.dtype
    return g if same else recorded.cast(g, dtype=t._array.dtype)
