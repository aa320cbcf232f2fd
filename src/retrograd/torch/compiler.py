"""PyTorch's `torch.compiler`: what steers compiled functions."""

from __future__ import annotations

import contextlib
import functools
from functools import partial
from threading import get_ident
from typing import TYPE_CHECKING, Any, TypeVar

from ..capture import compile
from ..capture.api import EAGER
from ..capture.compiled import every, setting

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "allow_in_graph", "assume_constant_result", "compile", "cudagraph_mark_step_begin", "disable",
    "get_default_backend", "is_compiling", "is_dynamo_compiling", "is_exporting", "list_backends",
    "load_cache_artifacts", "nested_compile_region", "reset", "save_cache_artifacts",
    "set_default_backend", "set_stance", "substitute_in_graph", "wrap_numpy",
]  # fmt: skip

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
    """Decorate a function that is not to be compiled, with or without arguments.

    A compiled function that calls it runs as it is. What takes no attribute is given back unmarked.

    >>> from retrograd.torch import compiler
    >>> @compiler.disable
    ... def plain(x):
    ...     return 2 * x
    >>> rg.compile(plain) is plain
    True
    """
    if fn is None:
        return partial(disable, recursive=recursive, reason=reason)
    with contextlib.suppress(AttributeError, TypeError):
        fn._not_compiled = reason or True
    return fn


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
    """Whether the call of a compiled function is being recorded, by this thread.

    >>> from retrograd.torch import compiler
    >>> compiler.is_compiling()
    False
    """
    return get_ident() in setting.recording


is_dynamo_compiling = is_compiling


def is_exporting() -> bool:
    """Whether the caller is being exported: nobody tells it."""
    return False


def reset() -> None:
    """Let all compiled functions forget what was recorded."""
    for compiled in list(every):
        compiled.reset()


def cudagraph_mark_step_begin(serialized_artifacts: bytes = b"") -> None:
    """Nothing: no memory is used again by another step, and no artifacts are kept or loaded."""


load_cache_artifacts = save_cache_artifacts = cudagraph_mark_step_begin


def list_backends(exclude_tags: Any = ("debug", "experimental")) -> list[str]:
    """The names of compilers; with no tags excluded also those that capture nothing.

    >>> from retrograd.torch import compiler
    >>> compiler.list_backends()
    ['inductor']
    """
    return sorted(["inductor", *(() if "debug" in (exclude_tags or ()) else EAGER)])


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
    """Set how compiled functions behave, by a call, a context or a decorator.

    "force_eager" runs functions as they are; "eager_on_recompile" does where none of the recordings
    fits, and "fail_on_recompile" raises RuntimeError there; "eager_then_compile" records second
    calls. Raises RuntimeError for a stance that PyTorch does not know.

    >>> from retrograd.torch import compiler
    >>> with compiler.set_stance("force_eager"):
    ...     rg.compile(lambda x: compiler.is_compiling())(1)
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
        self.stance, self.before = stance, setting.stance
        setting.stance = stance

    def __enter__(self) -> None:
        setting.stance = self.stance

    def __exit__(self, *exc: object) -> None:
        setting.stance = self.before

    def __call__(self, fn: F) -> F:
        """The function, which sets the stance while it runs."""
        setting.stance = self.before

        @functools.wraps(fn)  # type: ignore[arg-type]
        def within(*args: Any, **kwargs: Any) -> Any:
            with set_stance(self.stance):
                return fn(*args, **kwargs)  # type: ignore[operator]

        return within  # type: ignore[return-value]
