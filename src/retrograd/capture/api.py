"""`compile` and `explain`: what programs call."""

from __future__ import annotations

import os
from functools import partial, wraps
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any, overload

from ..errors import InvalidBackend
from ..kernels.native import loops as in_c
from ..modes import warn_once
from ..nn.modules.module import Module
from .compiled import Compiled
from .explaining import picture
from .modules import OptimizedModule
from .program import NATIVE

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypedDict, TypeVar, Unpack

    from ..viz.picture import Picture

    F = TypeVar("F", bound=Callable[..., Any])

    class Options(TypedDict, total=False):
        """What `compile` takes beside the function."""

        fullgraph: bool
        dynamic: bool | None
        backend: str | Callable[..., Any] | None
        mode: str | None
        options: dict[str, Any] | None
        name: str | None
        disable: bool
        recompile_limit: int | None
        isolate_recompiles: bool
        shapes_spec: Any


__all__ = ["compile", "explain"]

MODES = ("default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs")
EAGER = ("eager", "aot_eager")
UNCOMPILED = (
    "compile() compiles nothing here, and functions run as without it: {why}. `retrograd doctor` "
    "says what is active"
)
NO_LLVM = "llvmlite is not installed. Install it: pip install retrograd[fast]"
NO_C = "the parts in C are not built. Install a C compiler, then Retrograd again"
OFF = any(os.environ.get(f"RETROGRAD_{part}") == "0" for part in ("COMPILE", "NATIVE"))


@overload
def compile(model: F, **options: Unpack[Options]) -> F: ...
@overload
def compile(model: None = None, **options: Unpack[Options]) -> Callable[[F], F]: ...
def compile(
    model: Any = None,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: str | Callable[..., Any] | None = None,
    mode: str | None = None,
    options: dict[str, Any] | None = None,
    name: str | None = None,
    disable: bool = False,
    recompile_limit: int | None = None,
    isolate_recompiles: bool = False,
    shapes_spec: Any = None,
) -> Any:
    """A faster form of `model`: its first call is recorded, later calls run as native code.

    A step of training, with `zero_grad`, `backward` and an optimizer's `step`, becomes one native
    function and what it calls. It is recorded anew for other shapes, dtypes, strides, modes,
    globals and attributes that it reads, `recompile_limit` times at most; if that is None, 8 times,
    and for up to 64 sizes, those beyond the eighth once they are met often. What cannot be recorded
    runs as it is: the results are those of the function, within rounding, and `capture.explain`
    says why. With `fullgraph` that raises RuntimeError, after the call was made.
    Needs `llvmlite` and the parts in C, without which the function runs as it is: a warning says so
    once, unless the environment has switched them off. A module becomes one that shows its
    attributes, whose only child it is, `_orig_mod`. Whatever else is no Python function is given
    back. Without `model` it is a decorator.

    `backend` is None or "inductor", which PyTorch's programs name; "eager" captures nothing. A
    function is called with the `fx` graph of a recorded call and the tensors that it takes, and
    what it gives is called in place of the function, where that changes nothing, draws no random
    numbers and asks for no values. Raises RuntimeError for other names, for a `mode` that PyTorch
    does not have, and for `mode` together with `options`. Source: PyTorch's `torch.compile`.

    >>> @rg.compile
    ... def double(x):
    ...     return 2 * x
    >>> double(rg.ones(2)), double(rg.ones(2)), rg.compile(abs) is abs
    (tensor([2., 2.]), tensor([2., 2.]), True)
    """
    if mode is not None and options is not None:
        raise RuntimeError(
            "Either mode or options can be specified, but both can't be specified at the same time."
        )
    if mode is not None and mode not in MODES:
        raise RuntimeError(f"Unrecognized mode={mode!r}, should be one of: {', '.join(MODES)}")
    if isinstance(backend, str) and backend not in (*EAGER, "inductor"):
        raise InvalidBackend(f"Invalid backend: {backend!r}. One of: inductor, {', '.join(EAGER)}")
    if model is None:
        return partial(
            compile, fullgraph=fullgraph, backend=backend, mode=mode, options=options,
            disable=disable, recompile_limit=recompile_limit,
        )  # fmt: skip
    if disable or hasattr(model, "_not_compiled"):
        return model
    eager, own = backend in EAGER, backend if callable(backend) else None
    if not (NATIVE or OFF or eager):
        warn_once(UNCOMPILED.format(why=NO_C if in_c is None else NO_LLVM))
    if isinstance(model, Module):
        return OptimizedModule(model, fullgraph, 0 if eager else recompile_limit, own)
    if eager or not isinstance(model, (FunctionType, MethodType)):
        return model
    compiled = Compiled(model, fullgraph, recompile_limit, own)

    @wraps(model)
    def replayed(*args: Any, **kwargs: Any) -> Any:
        return compiled(*args, **kwargs)

    replayed.compiled = compiled  # type: ignore[attr-defined]
    return replayed


def explain(function: Any, *args: Any, **kwargs: Any) -> Picture:
    """What a compiled function does in place of what it did, or why it is not compiled.

    Any other function is compiled and called first, with `args` and `kwargs`; so is a compiled one
    if they are given. That call is recorded, even if it could be replayed, and then each part of it
    runs some more times on copies of its arrays, so its time is known. The picture has, for each
    recording, the calls of NumPy that were recorded, beside what runs for them: native loops,
    kernels and calls, with the bytes that these read and write, and the time of those of this call.
    Its text has also what must be as it was for a replay, and the program. A notebook shows the
    picture, and `.save("step.html")` saves it. Raises what the function raises, and TypeError for
    what `compile` gives back as it is.

    >>> @rg.compile
    ... def look(x):
    ...     return x.item()
    >>> print(rg.capture.explain(look, rg.ones(())))  # doctest: +ELLIPSIS
    look: 0 recordings
    not recorded: ...
    """
    if called := not is_compiled(function):
        function = compile(function)
    if not is_compiled(function):
        raise TypeError("explain() takes a Python function or module, or what compile() made of it")
    if called or args or kwargs:
        function.compiled.timed(partial(function, *args, **kwargs))
    compiled = function.compiled
    recordings = [
        (", ".join(dict.fromkeys(v.guards.conditions.values())), v.listing)
        for v in compiled.variants
    ]
    return picture(compiled.name(), compiled.reasons, recordings)


def is_compiled(function: Any) -> bool:
    """Whether `compile` made a function or module."""
    return isinstance(getattr(function, "compiled", None), Compiled)
