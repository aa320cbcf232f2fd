"""What `compile(function, backend=yours)` hands to a backend: a graph, and tensors that fit it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ... import pytree
from ...autograd import grad
from ...capture.program import Unclear
from ...engine.tensor import Tensor
from ...ops import allclose, arange, cos
from ..fx.experimental.proxy_tensor import make_fx
from .exc import BackendCompilerFailed

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["by_backend"]


def by_backend(
    backend: Any, function: Any, args: Any, kwargs: Any, given_before: Any
) -> tuple[Callable[[tuple[Any, ...], dict[str, Any]], Any], str]:
    """What calls a backend's form of `function` for arguments like these; the code of the graph.

    The graph takes the tensors among the arguments one by one, and gives a tuple of the tensors in
    the result; parameters are its attributes. Raises Unclear where there is no graph, or one with
    other gradients than the function's result has, `given_before`; and BackendCompilerFailed where
    the backend raises.
    """
    given, result = pytree.flatten((args, kwargs)), None

    def flat(*tensors: Tensor) -> tuple[Tensor, ...]:
        nonlocal result
        rest = iter(tensors)
        leaves = [next(rest) if isinstance(leaf, Tensor) else leaf for leaf in given]
        called, options = pytree.unflatten((args, kwargs), leaves)
        result = function(*called, **options)
        return tensors_in(result)

    tensors = tensors_in((args, kwargs))
    try:
        graph = make_fx(flat)(*tensors)
    except Exception as error:
        raise Unclear(f"no graph was made: {error}") from error
    if not same_gradients(graph, tensors, tensors_in(given_before)):
        raise Unclear(OTHER_GRADIENTS)
    like = pytree.map_leaves(lambda leaf: TENSOR if isinstance(leaf, Tensor) else leaf, result)
    try:
        run = backend(graph, [*tensors])
    except Exception as error:
        named = getattr(backend, "__name__", type(backend).__name__)
        text = f"backend={named!r} raised: {type(error).__name__}: {error}"
        raise BackendCompilerFailed(text) from error

    def replay(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        found = iter(run(*tensors_in((args, kwargs))))
        leaves = [next(found) if leaf is TENSOR else leaf for leaf in pytree.flatten(like)]
        return pytree.unflatten(like, leaves)

    return replay, graph.code.strip()


TENSOR = object()  # where a result has a tensor
OTHER_GRADIENTS = (
    "a backend of your own gets graphs of operators, which say nothing of detach(), grad modes and "
    "custom Functions: the graph has other gradients"
)


def same_gradients(graph: Any, inputs: tuple[Tensor, ...], wanted: tuple[Tensor, ...]) -> bool:
    """Whether what a graph gives has the gradients of the tensors that are `wanted`."""
    attributes = [getattr(graph, n.target) for n in graph.graph.nodes if n.op == "get_attr"]
    sources = [t for t in (*inputs, *attributes) if t.requires_grad]
    found: list[Any] = []
    for results in (graph(*inputs), wanted):
        moving = [t for t in results if t.requires_grad]
        weights = [cos(arange(t.numel())).to(t.dtype).reshape(t.shape) for t in moving]
        gradients = grad(moving, sources, weights, True, allow_unused=True) if moving else []
        found.append(([t.requires_grad for t in results], gradients))
    (flags, ours), (expected, theirs) = found
    return flags == expected and all(
        a is b if a is None or b is None else allclose(a, b, 1e-3, 1e-5, equal_nan=True)
        for a, b in zip(ours, theirs, strict=True)
    )


def tensors_in(tree: Any) -> tuple[Tensor, ...]:
    """The tensors among the leaves of a container."""
    return tuple([leaf for leaf in pytree.flatten(tree) if isinstance(leaf, Tensor)])
