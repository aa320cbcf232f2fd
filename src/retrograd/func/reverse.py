"""Reverse-mode transforms: gradients and vector-Jacobian products of whole functions.

NOTE [Fresh variables] A transform gives the function new tensors in place of its arguments: on the
same memory, with a node of their own through which the history of the arguments goes on. Cotangents
are taken at those nodes, so the argument and the same tensor reached from elsewhere are different
variables, and nested derivatives are not confused.

NOTE [Written arguments] The function may write to its arguments, as any function may.
1. A variable that was written has another node. So the transform keeps each one as it was given.
2. The caller's tensor shares the memory, and in the end its history too, if somebody can use that
   (`write_back`). A leaf that requires grad refuses the write, as it does everywhere.
3. Other tensors that were written, also those that the function found elsewhere, have a history
   only if somebody can use it (`recording`). Those that it returns are replaced by aliases.

NOTE [When a gradient is recorded] It costs time and memory, so only where somebody can
differentiate it: within another reverse-mode transform, or where the outputs depend on a tensor
that requires grad (through a batch, too).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import modes, pytree
from ..autograd.grad import apart, fitted
from ..engine.backward.search import reachable
from ..engine.backward.traversal import run
from ..engine.graph import LEAF, new_node
from ..engine.inplace import rebase
from ..engine.namespaces import recorded
from ..engine.record import walk
from ..engine.registry import OPS
from ..engine.tensor import Tensor, alias, as_array, constant_like, node_of, tensor_of
from ..engine.transforms.batch import give_back, variable
from ..engine.views import Link, View, base_of, live_views
from ..kernels.allocation import is_batched

__all__ = ["grad", "grad_and_value", "vjp"]


class Transform:
    """A reverse-mode transform in progress, by which its variables are told from others."""

    __slots__ = ("number",)

    def __init__(self, number: int) -> None:
        self.number = number


class recording(modes.Changed):  # noqa: N801 (it reads as a function)
    """A context in which the function of a reverse-mode transform runs, given these arguments.

    It is recorded in inference mode, too: a derivative is what was asked for. When the context is
    left, tensors that were written have a history only if someone may use that:
    NOTE [Written arguments], 3. What the function returns is to go through `returned`.
    """

    __slots__ = ("histories",)

    def __init__(self, leaves: Sequence[Any]) -> None:
        nested = (*modes.state.nested, Transform(modes.next_number()))
        super().__init__(grad=True, inference=False, below=False, nested=nested, given=[])
        tensors = [leaf for leaf in leaves if isinstance(leaf, Tensor)]
        bases = {id(base): base for base in map(base_of, tensors)}.values()
        self.histories = [(t, t._node) for base in bases for t in (base, *live_views(base))]

    def __enter__(self) -> recording:
        super().__enter__()
        return self

    def __exit__(self, *exc: object) -> None:
        super().__exit__(*exc)
        for ref in self.fields["given"]:
            base = ref()
            if base is not None:
                self.histories += [(t, None) for t in (base, *live_views(base))]
                if modes.state.nested:
                    modes.state.given.append(ref)
        for tensor, before in self.histories:
            node = tensor._node
            if node is not before and node is not None and not is_wanted([node], ()):
                tensor._node = before

    def returned(self, result: Any) -> Any:
        """The result with the histories that its tensors have now, whatever becomes of them."""
        written = {id(ref()) for ref in self.fields["given"]}
        return (
            pytree.map_leaves(lambda t: alias_if_written(t, written), result) if written else result
        )


def alias_if_written(value: Any, written: set[int]) -> Any:
    """`value`, or another tensor like it if its base is one of those `written`."""
    if not isinstance(value, Tensor) or id(base_of(value)) not in written:
        return value
    other = alias(value, node_of(value))
    other._tangents = value._tangents
    return other


def fresh_variable(x: Tensor) -> Tensor:
    """`x` as another variable: NOTE [Fresh variables]."""
    fresh = variable(x)
    fresh._inference = False  # the derivative may need its values
    before = node_of(x) if fresh._array is x._array else None  # else the history goes on outside
    fresh._node = node = new_node(OPS["clone"], (before,))
    node.shape, node.dtype = x._array.shape, x._array.dtype
    node.transform = modes.state.nested[-1]
    base = base_of(x)
    if base._node is not None and base._node.op is LEAF:
        fresh._view_of = View(base, (), "plain")  # so it refuses to be written
    return fresh


def fresh_variables(leaves: Sequence[Any], caller: str) -> tuple[list[Tensor], list[Tensor]]:
    """Fresh variables in place of tensors, and the same as they are now.

    The function may write to them: NOTE [Written arguments].
    """
    for leaf in leaves:
        if not isinstance(leaf, Tensor):
            raise ValueError(
                f"{caller}: Thing passed to transform API must be Tensor, got {type(leaf)}. Name "
                "the arguments to differentiate with argnums."
            )
        if leaf._array.dtype.kind not in "fcV":
            raise RuntimeError(
                f"{caller}: only Tensors of floating point and complex dtype can be "
                f"differentiated, got {leaf.dtype}. Convert it first: x.float()"
            )
    fresh = [fresh_variable(leaf) for leaf in leaves]
    given = [alias(x, x._node) for x in fresh]
    for leaf, own, before in zip(leaves, fresh, given, strict=True):
        before._alias_of = Link(leaf, (), own)
    return fresh, given


def write_back(
    leaves: Sequence[Tensor], variables: Sequence[Tensor], given: Sequence[Tensor]
) -> None:
    """Let the caller's tensors be what the function made of them: NOTE [Written arguments], 2."""
    for x, own, before in zip(leaves, variables, given, strict=True):
        if own._node is before._node and own._array is before._array:
            continue
        link: Any = before._alias_of
        x = walk(x, link.steps(own))  # noqa: PLW2901 (in the shape that the variable has now)
        takes = give_back(own, x)
        result = value_of(own, own._node is not None and is_wanted([own._node], ()))
        for level in own._array.level.inner if is_batched(own._array) else modes.state.levels:
            level.rewrite(x, result)
        if takes and result._node is not None:
            rebase(x, result._node)


def pull_back(
    outputs: Sequence[Tensor], cotangents: Sequence[Any], inputs: Sequence[Tensor], retain: bool
) -> list[Tensor]:
    """The cotangents of `inputs` for those of `outputs`; zeros where nothing arrives."""
    roots = [
        (node_of(t), g) for t, g in zip(outputs, cotangents, strict=True) if t._node is not None
    ]
    record = is_wanted([node for node, _ in roots], cotangents)
    nodes: list[Any] = [node_of(x) for x in inputs]
    found = run(roots, retain or record, record, nodes, accumulate=False) if roots else {}
    made = [_tensor(found.get(node), x) for node, x in zip(nodes, inputs, strict=True)]
    made = apart(made, cotangents) if modes.state.batches else made
    return [value_of(g, g._node is not None and is_wanted([g._node], ())) for g in made]


def is_wanted(nodes: Sequence[Any], cotangents: Sequence[Any]) -> bool:
    """Whether the gradient must be recorded: NOTE [When a gradient is recorded]."""
    state = modes.state
    if not state.records:
        return False
    return bool(
        state.nested
        or [level for level in state.batches if level.recorded]
        or [g for g in cotangents if g._node is not None]
        or LEAF in [node.op for node in reachable(nodes)]
    )


def _tensor(g: Any, like: Tensor) -> Tensor:
    if g is None:
        return recorded.zeros_like(like)
    return g if isinstance(g, Tensor) else tensor_of(as_array(g))


def value_of(out: Tensor, keep: bool) -> Tensor:
    """An output as the transform returns it: with history only if someone may use that."""
    if keep or out._node is None:
        return out
    bare = alias(out, None)
    if out._tangents:
        bare._tangents = {
            level: value_of(t, t._node is not None and is_wanted([t._node], ()))
            for level, t in out._tangents.items()
        }
    return bare


def values_given(output: Any, outs: Sequence[Tensor]) -> Any:
    """What a function gave, with a history only if it leads to tensors from outside."""
    keep = is_wanted([node_of(out) for out in outs if out._node is not None], ())
    return pytree.unflatten(output, [value_of(out, keep) for out in outs])


def vjp(func: Callable[..., Any], *primals: Any, has_aux: bool = False) -> tuple[Any, ...]:
    """The output of `func(*primals)`, and a function from its cotangents to the gradients.

    Primals are tensors or containers of them; the returned function takes what is built like the
    output, and gives a tuple with one entry per primal (for complex z the product is conj(g)·∂f/∂z*
    + g·conj(∂f/∂z)). With `has_aux`, `func` returns (output, extra) and the extra comes third.
    `func` may write to the primals in place, as in `grad`. Raises RuntimeError for an output that
    is no floating or complex tensor; the returned function raises RuntimeError for cotangents not
    built or shaped like the output, TypeError for one that is no tensor. Source: PyTorch's
    `func.vjp`.

    >>> out, pull = rg.func.vjp(rg.sin, rg.tensor([0.0, 1.0]))
    >>> pull(rg.ones(2))
    (tensor([1.0000, 0.5403]),)
    """
    leaves = pytree.flatten(primals)
    with recording(leaves) as call:
        variables, fresh = fresh_variables(leaves, "vjp")
        result = call.returned(func(*pytree.unflatten(primals, variables)))
    write_back(leaves, variables, fresh)
    output, extra = unpacked(result, has_aux, "vjp(f, *primals)")
    aux = values_of(extra) if has_aux else None
    outs = outputs(output, "vjp(f, *primals)")
    for out in outs:
        if out._array.dtype.kind not in "fcV":
            raise RuntimeError(
                "vjp(f, *primals): All outputs of f must be floating-point or complex Tensors, got "
                f"Tensor with dtype {out.dtype}. Return it beside the output: has_aux=True"
            )

    def pull(cotangents: Any, retain_graph: bool = True, create_graph: bool | None = None) -> Any:
        given = pytree.flatten(cotangents)
        if not pytree.same_structure(cotangents, output):
            raise RuntimeError(
                "Expected pytree structure of cotangents to be the same as pytree structure of "
                f"outputs to the function: {len(outs)} tensors in {type(output).__name__}, got "
                f"{len(given)} in {type(cotangents).__name__}"
            )
        for place, (g, out) in enumerate(zip(given, outs, strict=True)):
            if not isinstance(g, Tensor):
                raise TypeError(f"vjp: expected cotangents to be Tensors, got {type(g).__name__}")
            given[place] = fitted(g, out, place)
        record = modes.state.grad if create_graph is None else create_graph
        before = modes.change(grad=record, inference=False)
        try:
            found = pull_back(outs, given, fresh, retain_graph)
        finally:
            modes.restore(before)
        return pytree.unflatten(primals, found)

    values = values_given(output, outs)
    return (values, pull, aux) if has_aux else (values, pull)


def outputs(output: Any, caller: str) -> list[Tensor]:
    """The tensors that a function gave. Raise where there are none, or something else."""
    leaves = pytree.flatten(output)
    if output is None or not leaves:
        raise RuntimeError(
            f"{caller}: Expected f to be a function that has non-empty output (got output = "
            f"{output!r})"
        )
    for leaf in leaves:
        if not isinstance(leaf, Tensor):
            raise RuntimeError(
                f"{caller}: expected f(*primals) to return only tensors, got unsupported type "
                f"{type(leaf)}"
            )
    return leaves


def unpacked(result: Any, has_aux: bool, caller: str) -> tuple[Any, Any]:
    """Output and extra of a function that was called by a transform."""
    if not has_aux:
        return result, None
    if not (isinstance(result, tuple) and len(result) == 2):
        raise RuntimeError(
            f"{caller}: output of function f should be a tuple: (output, aux) if has_aux is True"
        )
    return result


def values_of(extra: Any) -> Any:
    """What a function gave beside its output, as `value_of` gives that."""
    leaves = [leaf for leaf in pytree.flatten(extra) if isinstance(leaf, Tensor)]
    some = is_wanted([leaf._node for leaf in leaves if leaf._node is not None], ())

    def value(leaf: Any) -> Any:
        if not isinstance(leaf, Tensor):
            return leaf
        return value_of(leaf, some and leaf._node is not None and is_wanted([leaf._node], ()))

    return pytree.map_leaves(value, extra)


def grad_and_value(
    func: Callable[..., Any], argnums: int | tuple[int, ...] = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """A function that gives (gradient, value) of a real scalar `func`; see `grad`.

    >>> rg.func.grad_and_value(lambda x: (x**2).sum())(rg.tensor([1.0, 3.0]))
    (tensor([2., 6.]), tensor(10.))
    """

    @functools.wraps(func)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        return differentiated(func, argnums, has_aux, args, kwargs, "grad_and_value")

    return wrapped


def differentiated(
    func: Callable[..., Any],
    argnums: int | tuple[int, ...],
    has_aux: bool,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    name: str,
) -> tuple[Any, Any]:
    """The gradient and the value of a call; the transform that errors speak of is `name`."""
    chosen = select(args, argnums, name)
    leaves = pytree.flatten(chosen)
    with recording(pytree.flatten((args, kwargs))) as call:
        variables, fresh = fresh_variables(leaves, name)
        given = pytree.unflatten(chosen, variables)
        result = call.returned(func(*replaced(args, argnums, given), **kwargs))
    write_back(leaves, variables, fresh)
    output, extra = unpacked(result, has_aux, f"{name}(f)(*args)")
    check_scalar(output, name)
    aux = values_of(extra) if has_aux else None
    one = constant_like(np.ones((), output._array.dtype), output)
    keep = is_wanted([] if output._node is None else [node_of(output)], ())
    beside = any(isinstance(t, Tensor) and t._node is not None for t in pytree.flatten(aux))
    found = pytree.unflatten(chosen, pull_back([output], [one], fresh, retain=keep or beside))
    value = value_of(output, keep)
    grads = found if isinstance(argnums, tuple) else found[0]
    return (grads, (value, aux)) if has_aux else (grads, value)


def check_scalar(output: Any, name: str) -> None:
    """Raise unless a function that the transform `name` differentiates gave one real number."""
    if not isinstance(output, Tensor):
        raise RuntimeError(
            f"{name}(f)(*args): Expected f(*args) to return a Tensor, got {type(output)}. "
            "Return the tensor itself: .item(), float() and .numpy() end the graph"
        )
    if output._array.ndim:
        raise RuntimeError(
            f"{name}(f)(*args): Expected f(*args) to return a scalar Tensor, got tensor "
            f"with {output._array.ndim} dims. Did you mean f(*args).sum()? Maybe you wanted to use "
            "the vjp or jacrev APIs instead?"
        )
    if output._array.dtype.kind not in "fV":
        raise RuntimeError(
            f"{name}(f)(*args): Expected f(*args) to be real and floating, got "
            f"{output.dtype}. Take .abs() or .real of it, or all derivatives: jacrev(f)"
        )


def grad(
    func: Callable[..., Any], argnums: int | tuple[int, ...] = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """A function that gives the gradient of `func`, which returns one real number.

    argnums: the positional argument to differentiate (a tensor or a container), or a tuple of
    several. With `has_aux`, `func` returns (value, extra), and (gradient, extra) comes out. For a
    real loss L and a complex z = x + iy, the gradient is ∂L/∂x + i ∂L/∂y = 2 ∂L/∂z*, the direction
    of steepest ascent. `func` may write to its arguments in place, which the caller sees, and the
    gradient is that of what it computes (PyTorch refuses). Raises RuntimeError for an output that
    is not a real scalar, and where `func` writes to a leaf that requires grad. Source: PyTorch's
    `func.grad`.

    >>> rg.func.grad(rg.func.grad(rg.sin))(rg.tensor(1.0))
    tensor(-0.8415)
    """

    @functools.wraps(func)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        found, value = differentiated(func, argnums, has_aux, args, kwargs, "grad")
        return (found, value[1]) if has_aux else found

    return wrapped


def select(args: tuple[Any, ...], argnums: int | tuple[int, ...], caller: str) -> tuple[Any, ...]:
    """The arguments that `argnums` names."""
    numbers = argnums if isinstance(argnums, tuple) else (argnums,)
    if not numbers:
        raise RuntimeError("argnums must be non-empty")
    for number in numbers:
        if not isinstance(number, int):
            raise RuntimeError(f"argnums must be int or Tuple[int, ...], got: {type(number)}")
        if not -len(args) <= number < len(args):
            raise RuntimeError(
                f"{caller}: Got argnum={number}, but only {len(args)} positional inputs"
            )
    if len({number % len(args) for number in numbers}) != len(numbers):
        raise RuntimeError(f"argnums elements must be unique, got {argnums}")
    return tuple([args[number] for number in numbers])


def replaced(args: tuple[Any, ...], argnums: int | tuple[int, ...], chosen: Any) -> list[Any]:
    """The arguments with those that `argnums` names replaced."""
    numbers = argnums if isinstance(argnums, tuple) else (argnums,)
    given = list(args)
    for number, value in zip(numbers, chosen, strict=True):
        given[number] = value
    return given
