"""Update rules of optimizers as kernels: one loop over a parameter, its gradient and its state.

A rule is a function that writes its operands; it reads settings of its group, such as `nesterov`. A
kernel is for the settings that the rule read when it was recorded: constants, so that another one
is seen. What else a rule reads would stay in the kernel as it was then, so a rule that does has
none; nor has one that does more, such as printing.
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
EFFECTS = {"random", "print", "open", "input", "eval", "exec", "globals", "setattr", "vars"}
PACKAGE = __name__.partition(".")[0] + "."


class Noting:
    """A group's settings, and in `read` the names that were asked for; all else raises."""

    def __init__(self, group: dict[str, Any]) -> None:
        self.group = group
        self.read: dict[str, None] = {}

    def __getitem__(self, name: str) -> Any:
        self.read[name] = None
        return constant(self.group[name])

    def __contains__(self, name: str) -> bool:
        self.read[name] = None
        return name in self.group

    def get(self, name: str, default: Any = None) -> Any:
        """The value of a key, which is noted as read; as a dictionary's `get`."""
        self.read[name] = None
        return constant(self.group.get(name, default))


def constant(value: Any) -> Any:
    """A setting that is a number, a text, a truth, or a tuple of these; TypeError for another."""
    for each in value if type(value) is tuple else (value,):
        if type(each) not in (bool, int, float, complex, str, type(None), type(MISSING)):
            raise TypeError(f"a {type(each).__name__} may change")
    return value


def described(group: dict[str, Any], names: tuple[str, ...]) -> str:
    """The text of settings, which is another one for other constants; TypeError as `constant`."""
    return repr([constant(group.get(name, MISSING)) for name in names])


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
    inner = any(isinstance(x, CodeType) for x in code.co_consts)
    if inner or not EFFECTS.isdisjoint({*code.co_names, *names.builtins}):
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
        choices, noting = self.read.get_or_make(kind, list), Noting(group)
        try:
            for names in choices:
                known = self.kernels.get((kind, names, described(group, names)), MISSING)
                if known is not MISSING:
                    return known
        except TypeError:
            return None

        def of_operands(x: Any, g: Any, *others: Any) -> None:
            state = list(others[: len(arrays) - 2])
            rule(x, g, state, others[len(state) :], noting)
            for held, given in zip(state, others, strict=False):
                if held is not given:
                    given[...] = held

        kernel = door.new_kernel(of_operands, (), (*arrays, *numbers), True)
        names = tuple(noting.read)
        if names not in choices:
            choices.append(names)
        try:
            return self.kernels.get_or_make((kind, names, described(group, names)), lambda: kernel)
        except TypeError:
            return None
