"""`backward` and `grad`: the two ways to start a backward pass."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..engine import backward as engine
from ..engine.graph import LEAF, Node
from ..engine.op import recorded
from ..engine.tensor import Tensor, method, new_tensor
from .graph import GradientEdge, stand_in

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["backward", "grad"]

# The cotangent of a real scalar; shared, since the engine writes no root cotangent.
ONE = {dtype: np.ones((), dtype) for dtype in map(np.dtype, ("float16", "float32", "float64"))}
for _one in ONE.values():
    _one.flags.writeable = False


def backward_of(
    self: Tensor,
    gradient: Tensor | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Any = None,
) -> None:
    """Accumulate into `.grad` of every leaf the derivative of this tensor: see `autograd.backward`.

    `gradient` is the cotangent, of this tensor's shape; a scalar needs none.

    >>> import retrograd as rg
    >>> x = rg.tensor(3.0, requires_grad=True)
    >>> (x * x).backward()
    >>> x.grad
    tensor(6.)
    """
    if gradient is None and inputs is None and not create_graph:
        node, array = self.node, self.array
        if node is not None and array.ndim == 0:
            one = ONE.get(array.dtype)
            if one is not None:  # the common case, without ceremony
                engine.run(((node, one),), retain_graph, False)
                return
    backward(self, gradient, retain_graph, create_graph, inputs=inputs)


method(backward_of, "backward")


def backward(
    tensors: Any,
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: Any = None,
    inputs: Any = None,
) -> None:
    """Add to each leaf's `.grad` the derivative of `tensors`, weighted by the cotangents.

    tensors: a tensor or a sequence of them; grad_tensors: a cotangent each, of the same shape (None
    for a real scalar, whose cotangent is 1). The graph is freed unless `retain_graph` (by default
    as `create_graph`, which makes the gradients themselves differentiable). With `inputs`, only
    those tensors receive gradients. For complex tensors the gradient is ∂L/∂z*.

    Raises RuntimeError for a tensor without history, a non-scalar or complex root without
    cotangent, a cotangent of another shape, a graph that was freed; no `.grad` has then changed.
    Source: PyTorch's `autograd.backward`.

    >>> import retrograd as rg
    >>> x = rg.tensor([1.0, 2.0], requires_grad=True)
    >>> rg.autograd.backward([x * x], [rg.tensor([1.0, 10.0])])
    >>> x.grad
    tensor([ 2., 40.])
    """
    roots = _roots(_sequence(tensors), grad_tensors, create_graph, "backward")
    captures = None
    if inputs is not None:
        wanted = _sequence(inputs)
        if not wanted:
            raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
        captures = [_node_of(t, index) for index, t in enumerate(wanted)]
    captured = engine.run(
        roots,
        retain_graph=create_graph if retain_graph is None else retain_graph,
        create_graph=create_graph,
        captures=captures,
    )
    if inputs is not None:
        for t in wanted:
            g = captured.get(t.node)
            if g is not None:
                _accumulate(t, g, create_graph)


def grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Tensor | None, ...]:
    """The derivatives of `outputs` with respect to `inputs`, without touching any `.grad`.

    outputs, grad_outputs, retain_graph, create_graph: as for `backward`. Returns one tensor per
    input, of its shape and dtype; None where it was not used and `allow_unused`, zeros where
    `materialize_grads`. With `is_grads_batched` every cotangent has an extra leading dimension, and
    so has every result. Raises RuntimeError as `backward` does, and for an unused input unless
    allowed. Source: PyTorch's `autograd.grad`.

    >>> import retrograd as rg
    >>> x = rg.tensor(2.0, requires_grad=True)
    >>> (dx,) = rg.autograd.grad(x * x * x, x, create_graph=True)
    >>> rg.autograd.grad(dx, x)
    (tensor(12.),)
    """
    if materialize_grads and allow_unused is False:
        raise ValueError(
            "Expected allow_unused to be True or not passed when materialize_grads=True, but got: "
            "allow_unused=False."
        )
    outs, wanted = _sequence(outputs), _sequence(inputs)
    keep = create_graph if retain_graph is None else retain_graph
    if is_grads_batched:
        return _batched(outs, wanted, grad_outputs, keep, create_graph, allow_unused,
                        materialize_grads)  # fmt: skip
    captures = [_node_of(t, index) for index, t in enumerate(wanted)]
    captured = engine.run(
        _roots(outs, grad_outputs, create_graph, "grad"),
        retain_graph=keep,
        create_graph=create_graph,
        captures=captures,
        accumulate=False,
    )
    results: list[Tensor | None] = []
    for t, node in zip(wanted, captures, strict=True):
        g = captured.get(node)
        if g is None:
            if materialize_grads:
                g = np.zeros(t.array.shape, t.array.dtype)
            elif not allow_unused:
                raise RuntimeError(
                    "One of the differentiated Tensors appears to not have been used in the graph. "
                    "Set allow_unused=True if this is the desired behavior."
                )
        if g is not None and not isinstance(g, Tensor):
            g = np.asarray(g)
            fresh = g.base is None and g.flags.writeable and g.flags.owndata
            g = new_tensor(g if fresh and not _is_shared(g, results, outs) else g.copy())
        results.append(g)
    return tuple(results)


def _is_shared(g: Any, results: Any, outs: Any) -> bool:
    return any(r is not None and r.array is g for r in results) or g is ONE.get(g.dtype)


def _batched(
    outs: Any,
    wanted: Any,
    grad_outputs: Any,
    retain_graph: bool,
    create_graph: bool,
    allow_unused: bool | None,
    materialize: bool,
) -> tuple[Tensor | None, ...]:
    cotangents = [None if g is None else g for g in _sequence(grad_outputs)]
    size = next(g.shape[0] for g in cotangents if g is not None)
    rows = [
        grad(
            outs,
            wanted,
            [None if g is None else g[row] for g in cotangents],
            retain_graph or row < size - 1,
            create_graph,
            allow_unused,
            materialize_grads=materialize,
        )
        for row in range(size)
    ]
    return tuple(
        None if column[0] is None else recorded.stack(*column, dim=0)
        for column in zip(*rows, strict=True)
    )


def _sequence(value: Any) -> list[Any]:
    values = [value] if isinstance(value, (Tensor, GradientEdge)) else list(value)
    return [stand_in(each) if isinstance(each, GradientEdge) else each for each in values]


def _node_of(t: Any, index: int) -> Node:
    if not isinstance(t, Tensor):
        raise TypeError(f"inputs[{index}] must be a Tensor, not {type(t).__name__}")
    if t.node is None:
        raise RuntimeError(
            "One of the differentiated Tensors does not require grad. Give it "
            "requires_grad=True before the forward pass."
        )
    return t.node


def _roots(
    tensors: Sequence[Any], cotangents: Any, create_graph: bool, caller: str
) -> list[tuple[Node, Any]]:
    """The (node, cotangent) pairs to start from, all checked."""
    given = [None] * len(tensors) if cotangents is None else _sequence(cotangents)
    if len(given) != len(tensors):
        raise RuntimeError(
            f"got {len(tensors)} tensors and {len(given)} gradients: {caller}() needs one gradient "
            "for each tensor"
        )
    roots = []
    for index, (t, g) in enumerate(zip(tensors, given, strict=True)):
        if not isinstance(t, Tensor):
            raise TypeError(f"element {index} of tensors must be a Tensor, not {type(t).__name__}")
        if t.node is None:
            raise RuntimeError(
                f"element {index} of tensors does not require grad and does not have a grad_fn"
            )
        roots.append((t.node, _cotangent(t, g, index, create_graph)))
    return roots


def _cotangent(t: Tensor, g: Any, index: int, create_graph: bool) -> Any:
    if g is None:
        if t.array.size != 1:
            raise RuntimeError(
                "grad can be implicitly created only for scalar outputs, but the tensor has shape "
                f"{list(t.shape)}. Reduce it first (y.sum().backward()), or give the cotangent: "
                "y.backward(gradient)"
            )
        if t.array.dtype.kind == "c":
            raise RuntimeError(
                "grad can be implicitly created only for real scalar outputs but got "
                f"{t.dtype}. Give the cotangent, or take y.abs() or y.real first."
            )
        one = np.ones(t.array.shape, t.array.dtype)
        return new_tensor(one) if create_graph else one
    if not isinstance(g, Tensor):
        raise TypeError(f"gradients can be either Tensors or None, but got {type(g).__name__}")
    if g.array.shape != t.array.shape:
        raise RuntimeError(
            f"Mismatch in shape: grad_output[{index}] has a shape of {g.shape} and "
            f"output[{index}] has a shape of {t.shape}."
        )
    if (g.array.dtype.kind == "c") != (t.array.dtype.kind == "c"):
        raise RuntimeError(
            "For complex Tensors, both grad_output and output are required to have the same dtype. "
            f"Mismatch in dtype: grad_output[{index}] has a dtype of {g.dtype} and "
            f"output[{index}] has a dtype of {t.dtype}."
        )
    if create_graph:
        return g
    return g.array.astype(t.array.dtype, copy=False)


def _accumulate(t: Tensor, g: Any, create_graph: bool) -> None:
    """Add a captured cotangent to the `.grad` of a non-leaf named in `inputs`."""
    if t.node is not None and t.node.op is LEAF:
        return
    before: Any = t._grad
    made = g if create_graph else new_tensor(g.copy())
    t._grad = made if before is None else before + made
