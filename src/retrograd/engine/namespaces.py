"""The namespaces that formulas know as `xp`.

NOTE [Namespaces]
`arrays` and `recorded` have every op by its name: the first its forward, the second its caller. So
a formula that calls ops runs on arrays and on tensors alike. `reals` is `arrays` for nodes whose
values are all real: there `conj`, for one, is the identity. They are modules because CPython reads
a module's names fastest. An op that is asked for enters them from the registry, once the family
that declares it has loaded as a whole: half of one leaves no trace here. `xp.mul(a, b)` lies in
memory as a result of `mul` does, `a * b` on arrays as NumPy has it: NOTE [Leaders] in `layout`.
"""

from __future__ import annotations

from functools import partial
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ..kernels.layout import apply_binary

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


def complete(ops: dict[str, Any], load: Callable[[str], None] | None = None) -> None:
    """Let the namespaces find what is in `ops`; `load` loads the family of an op."""

    def find(namespace: Any, which: str, name: str) -> Any:
        if load is not None:
            load(name)
        try:
            found = getattr(ops[name], which)
        except KeyError:
            raise AttributeError(f"there is no op {name!r}") from None
        if namespace is not recorded and ops[name].is_binary:
            found = partial(apply_binary, found)
        setattr(namespace, name, found)
        return found

    for namespace, which in ((arrays, "forward"), (reals, "on_reals"), (recorded, "call")):
        vars(namespace)["__getattr__"] = partial(find, namespace, which)
