"""PyTorch's `torch.compiler`: what steers its compiler.

`compile` records calls (`capture`), and needs no steering: nothing here changes what it gives.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from ..capture import compile

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "allow_in_graph",
    "assume_constant_result",
    "compile",
    "cudagraph_mark_step_begin",
    "disable",
    "get_default_backend",
    "is_compiling",
    "is_dynamo_compiling",
    "is_exporting",
    "list_backends",
    "load_cache_artifacts",
    "nested_compile_region",
    "reset",
    "save_cache_artifacts",
    "set_default_backend",
    "set_stance",
    "substitute_in_graph",
    "wrap_numpy",
]

F = TypeVar("F")

STANCES = (
    *("default", "force_eager", "eager_on_recompile", "fail_on_recompile"),
    *("eager_then_compile", "aot_eager_then_compile"),
)

NO_BACKEND = "eager"
default: Any = NO_BACKEND


def itself(fn: F) -> F:
    """The function that a decorator is put on: it runs as it is.

    >>> import numpy as np
    >>> from retrograd.torch import compiler
    >>> x = rg.ones(2, requires_grad=True)
    >>> compiler.wrap_numpy(lambda a: np.sum(a * a))(x).backward(); x.grad
    tensor([2., 2.])
    """
    return fn


allow_in_graph = assume_constant_result = wrap_numpy = itself


def disable(fn: Any = None, recursive: bool = True, *, reason: str | None = None) -> Any:
    """Decorate a function that is not to be compiled, with or without arguments: nothing.

    >>> from retrograd.torch import compiler
    >>> compiler.disable(abs)(-1), compiler.disable(recursive=False)(abs)(-1)
    (1, 1)
    """
    return itself if fn is None else fn


_disable_dynamo = disable


def nested_compile_region(fn: Any = None, **settings: Any) -> Any:
    """The function, of which PyTorch compiles the calls once; without one, a decorator."""
    return itself if fn is None else fn


def substitute_in_graph(
    original_fn: Any, *, can_constant_fold_through: bool = False, skip_signature_check: bool = False
) -> Callable[[F], F]:
    """Decorate what stands for another function while that is compiled: nothing."""
    return itself


def is_compiling() -> bool:
    """Whether the caller is being compiled, or exported: never."""
    return False


is_dynamo_compiling = is_exporting = is_compiling


def reset(serialized_artifacts: bytes = b"") -> None:
    """Nothing: no function has been compiled, none is kept or loaded, and no steps are counted."""


cudagraph_mark_step_begin = load_cache_artifacts = save_cache_artifacts = reset


def list_backends(exclude_tags: Any = ("debug", "experimental")) -> list[str]:
    """The names of compilers: none.

    >>> from retrograd.torch import compiler
    >>> compiler.list_backends()
    []
    """
    return []


def set_default_backend(backend: str | Callable[..., Any] | None) -> None:
    """Choose what `compile` uses: it is kept, and changes nothing."""
    global default
    default = backend or NO_BACKEND


def get_default_backend() -> Any:
    """The backend that was set last; "eager" at first.

    >>> from retrograd.torch import compiler
    >>> compiler.get_default_backend()
    'eager'
    """
    return default


class set_stance:  # noqa: N801 (PyTorch's name)
    """Set how PyTorch's compiler behaves, by a call, a context or a decorator: nothing changes.

    Raises RuntimeError for a stance that PyTorch does not know.

    >>> from retrograd.torch import compiler
    >>> with compiler.set_stance("force_eager"):
    ...     compiler.is_compiling()
    False
    """

    def __init__(
        self,
        stance: str = "default",
        *,
        skip_guard_eval_unsafe: bool = False,
        force_backend: Any = None,
    ) -> None:
        if stance not in STANCES:
            raise RuntimeError(f"invalid torch.compile stance {stance!r}: one of {STANCES}")

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        pass

    def __call__(self, fn: F) -> F:
        """The function itself."""
        return fn
