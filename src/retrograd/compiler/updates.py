"""Update rules of optimizers as kernels: one loop over a parameter, its gradient and its state.

A rule is a function that writes its operands; it reads settings of its group, such as `nesterov`. A
kernel is for the settings that the rule read when it was recorded. What else a rule reads would
stay in the kernel as it was then, so a rule that does has none.
"""

from __future__ import annotations

import inspect
import math
import threading
from types import BuiltinFunctionType, CodeType, FunctionType
from typing import TYPE_CHECKING, Any

import numpy as np

from . import door

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["Updates", "natively", "within"]

MISSING = object()
PACKAGE = __name__.partition(".")[0] + "."


class Noting(dict[str, Any]):
    """A group's settings, and in `read` those that were asked for."""

    def __init__(self, group: dict[str, Any]) -> None:
        super().__init__(group)
        self.read: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        self.read[name] = found = super().__getitem__(name)
        return found

    def get(self, name: str, default: Any = None) -> Any:
        """The value of a key, which is noted as read; as a dictionary's `get`."""
        self.read[name] = found = super().get(name, default)
        return found


def reads_apart(rule: Any, seen: tuple[Any, ...] = ()) -> bool:
    """Whether a function may read what is neither an argument nor constant.

    Functions of this package do not; NumPy's, but for random numbers, and `math` are constant.
    """
    if rule in (np, math) or isinstance(rule, (np.ufunc, BuiltinFunctionType)) or rule in seen:
        return False
    if not isinstance(rule, FunctionType):
        return True
    if rule.__module__.startswith(PACKAGE):
        return False
    code, names = rule.__code__, inspect.getclosurevars(rule)
    if "random" in code.co_names or any(isinstance(x, CodeType) for x in code.co_consts):
        return True
    read = [*names.nonlocals.values(), *names.globals.values()]
    read += filter(None, (rule.__defaults__, rule.__kwdefaults__))
    return any(reads_apart(x, (*seen, rule)) for x in read)


class Within(threading.local):
    """Whether this thread is within a compiled step: arrays of all sizes have kernels there."""

    step = False


within = Within()


def natively(step: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """What a step of an optimizer gives, by kernels where its rule has one."""
    within.step = True
    try:
        return step(*args, **options)
    finally:
        within.step = False


class Updates:
    """The kernels of all rules, by the values of the settings that a rule reads."""

    def __init__(self) -> None:
        self.kernels = door.Recent()
        self.last: dict[Any, Any] = {}  # of a rule of this package: settings, their values, kernel
        self.read = door.Recent()  # which settings, of which there are few choices for a rule

    def run(
        self, rule: Callable[..., None], arrays: Sequence[Any], numbers: Sequence[Any],
        group: dict[str, Any],
    ) -> bool:  # fmt: skip
        """Update a parameter and its state in place; False where there is no kernel for them.

        `arrays` are the parameter, the gradient and the state, alike and real.
        """
        if arrays[0].size < door.setting.least and not within.step:
            return False
        kernel = self.kernel(rule, arrays, numbers, group)
        return kernel is not None and kernel((*arrays, *numbers)) is not None

    def by_kernel(self, rule: Any, arrays: Any, numbers: Any, group: dict[str, Any]) -> Any:
        """The rule, by the kernel for arrays of these dtypes if there is one."""
        kind = rule, len(arrays), arrays[0].dtype.num
        names, values, update = self.last.get(kind, ((), None, rule))
        if values == tuple(map(group.get, names)):
            return update
        kernel = self.kernel(rule, arrays, numbers, group)
        if kernel is None:
            return rule

        def by_kernel(x: Any, g: Any, state: Any, numbers: Any, group: Any) -> None:
            if kernel((x, g, *state, *numbers)) is None:
                rule(x, g, state, numbers, group)

        if len(self.read[kind]) == 1 and rule.__module__.startswith(PACKAGE):
            (names,) = self.read[kind]
            self.last[kind] = names, tuple(map(group.get, names)), by_kernel
        return by_kernel

    def kernel(
        self, rule: Callable[..., None], arrays: Sequence[Any], numbers: Sequence[Any],
        group: dict[str, Any],
    ) -> Any:  # fmt: skip
        """The kernel that updates arrays of these dtypes, or None."""
        ours = rule.__module__.startswith(PACKAGE)
        if not door.AVAILABLE or (not ours and reads_apart(getattr(rule, "after", rule))):
            return None
        kind = rule, len(arrays), arrays[0].dtype.num
        for names in self.read.get(kind, ()):
            known = self.kernels.get((kind, names, tuple(map(group.get, names))), MISSING)
            if known is not MISSING:
                return known
        noting = Noting(group)

        def of_operands(x: Any, g: Any, *others: Any) -> None:
            state = list(others[: len(arrays) - 2])
            rule(x, g, state, others[len(state) :], noting)
            for held, given in zip(state, others, strict=False):
                if held is not given:
                    given[...] = held

        kernel = door.new_kernel(of_operands, (), (*arrays, *numbers), True)
        names, choices = tuple(noting.read), self.read.get_or_make(kind, list)
        if names not in choices:
            choices.append(names)
        return self.kernels.get_or_make((kind, names, (*noting.read.values(),)), lambda: kernel)
