"""The hot path in C, where it was built: NOTE [Native] in `src/native/engine/module.c`.

How extensions are found, and when they are left out, is in `kernels/native/`. `setup` takes the
engine's parts, slots and numbers by name, all of them and no others, so that nothing is counted in
both languages. Where that fails, the package goes on without it, with a warning, and `native` is
None.

NOTE [Twins]
`in_c` gives a function of the engine its twin in C, under the same name. The twin keeps the
function, and calls it for whatever is not plain; before `bind`, or where that failed, for
everything. So no module is changed after its import.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..kernels.native import leave_out, load

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    F = TypeVar("F", bound="Callable[..., Any]")


NAME, PART = f"{__package__}._native", "hot path"

native: Any = load(NAME, PART)


def bind(**parts: Any) -> None:
    """Let the extension find the parts of the engine, if there is one that fits."""
    try:
        if native is not None:
            native.setup(**parts)
    except Exception as error:
        give_up(error)


def in_c(function: F) -> F:
    """The twin of `function` in C, where that was built: NOTE [Twins]."""
    try:
        return function if native is None else native.twin(function)
    except Exception as error:
        give_up(error)
        return function


def factory(made: F, function: Callable[..., Any], kind: Callable[[], Any], sized: bool) -> F:
    """The twin in C of `made`, which `ops.creation.factories.factory` makes of the others."""
    return made if native is None else native.factory(made, function, kind, sized)


def give_up(error: Exception) -> None:
    """Do without the C extension, and warn why."""
    global native
    native = None
    leave_out(NAME, PART, error)


if native is not None and native.is_set_up():
    give_up(ImportError(f"another copy of {__package__}, taken out of sys.modules, is using it"))
