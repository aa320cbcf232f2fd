"""The namespaces that formulas know as `xp`.

NOTE [Namespaces]
`arrays` and `recorded` have every op by its name: the first its forward, the second its caller. So
a formula that calls ops runs on arrays and on tensors alike. `reals` is `arrays` for nodes whose
values are all real: there `conj`, for one, is the identity. They are modules because CPython reads
a module's names fastest. `registry.declare` fills them; what is not there yet, `complete` loads.
"""

from __future__ import annotations

from functools import partial
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from .tensor import Tensor

    class Callers:
        """The namespace of callers, as type checkers see it."""

        def __getattr__(self, name: str) -> Callable[..., Tensor]: ...
        def __setattr__(self, name: str, value: Any) -> None: ...


arrays: Any = ModuleType("arrays")
reals: Any = ModuleType("reals")
recorded: Callers = ModuleType("recorded")  # type: ignore[assignment]


def complete(declare: Callable[[str], None]) -> None:
    """Let `declare` load the op that is asked for by name and is not there yet."""

    def find(namespace: Any, name: str) -> Any:
        declare(name)
        try:
            return vars(namespace)[name]
        except KeyError:
            raise AttributeError(f"there is no op {name!r}") from None

    for namespace in (arrays, reals, recorded):
        vars(namespace)["__getattr__"] = partial(find, namespace)
