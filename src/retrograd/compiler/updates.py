"""Update rules of optimizers as kernels: one loop over a parameter, its gradient and its state.

A rule is a function that writes its operands; it reads settings of its group, such as `nesterov`. A
kernel is for the settings that the rule read when it was recorded. What else a rule reads would
stay in the kernel as it was then, so a rule that does has none.
"""

from __future__ import annotations

import inspect
import math
from types import BuiltinFunctionType, CodeType, FunctionType
from typing import TYPE_CHECKING, Any

import numpy as np

from . import door

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["Updates"]


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
    if rule.__module__.startswith(__name__.partition(".")[0] + "."):
        return False
    code, names = rule.__code__, inspect.getclosurevars(rule)
    if "random" in code.co_names or any(isinstance(x, CodeType) for x in code.co_consts):
        return True
    read = [*names.nonlocals.values(), *names.globals.values()]
    read += filter(None, (rule.__defaults__, rule.__kwdefaults__))
    return any(reads_apart(x, (*seen, rule)) for x in read)


class Updates:
    """The kernels of all rules, by the values of the settings that a rule reads."""

    def __init__(self) -> None:
        self.kernels = door.Recent()
        self.read = door.Recent()  # which settings, of which there are few choices for a rule

    def run(
        self, rule: Callable[..., None], arrays: Sequence[Any], numbers: Sequence[Any],
        group: dict[str, Any], variant: Any,
    ) -> bool:  # fmt: skip
        """Update a parameter and its state in place; False where there is no kernel for them.

        `arrays` are the parameter, the gradient and the state, alike and real. `variant` tells one
        rule from another: the optimizer's own first.
        """
        if not door.AVAILABLE or arrays[0].size < door.setting.least or reads_apart(variant[0]):
            return False
        operands = (*arrays, *numbers)
        kind = variant, len(arrays), arrays[0].dtype.num
        choices = self.read.get_or_make(kind, list)
        for names in choices:
            key = kind, names, tuple(map(group.get, names))
            if key in self.kernels:
                kernel = self.kernels.get_or_make(key, dict)
                return kernel is not None and kernel(operands) is not None
        noting = Noting(group)

        def of_operands(x: Any, g: Any, *others: Any) -> None:
            state = list(others[: len(arrays) - 2])
            rule(x, g, state, others[len(state) :], noting)
            for held, given in zip(state, others, strict=False):
                if held is not given:
                    given[...] = held

        kernel = door.new_kernel(of_operands, (), operands, True)
        names = tuple(noting.read)
        if names not in choices:
            choices.append(names)
        self.kernels.get_or_make((kind, names, (*noting.read.values(),)), lambda: kernel)
        return kernel is not None and kernel(operands) is not None
