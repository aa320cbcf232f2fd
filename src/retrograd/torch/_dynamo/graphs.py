"""What `compile(function, backend=yours)` hands to a backend: a graph, and tensors that fit it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ... import pytree
from ...capture.program import Unclear
from ...engine.tensor import Tensor
from ..fx.experimental.proxy_tensor import make_fx
from .exc import BackendCompilerFailed

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["by_backend"]


def by_backend(
    backend: Any, function: Any, args: Any, kwargs: Any
) -> tuple[Callable[[tuple[Any, ...], dict[str, Any]], Any], str]:
    """What calls a backend's form of `function` for arguments like these; the code of the graph.

    The graph takes the tensors among the arguments one by one, and gives a tuple of the tensors in
    the result; parameters are its attributes. Raises Unclear where there is no graph, and
    BackendCompilerFailed where the backend raises.
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


def tensors_in(tree: Any) -> tuple[Tensor, ...]:
    """The tensors among the leaves of a container."""
    return tuple([leaf for leaf in pytree.flatten(tree) if isinstance(leaf, Tensor)])
