"""Base of the arrays of sparse, nested and masked tensors: a table of rules for ops.

NOTE [Layouts]
1. An array of a layout holds data and says how they lie. Linear records lead in and out: each is
   the adjoint of another. All else is computed on the data, which are plain tensors, so derivatives
   of every order follow.
2. `rules` says what an op gives, by the name of its record, and under "*" what any other gives. A
   rule takes the op's inputs and parameters; before them the op, if it calls its first argument so.
3. `functions` says so of public functions that ask for sizes, or are not the sum of their ops. A
   rule there takes their arguments; before them the `function`, likewise.
4. What has no rule raises `refused`.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np

from ...engine.dispatch import computed, is_plain
from ...engine.overriding import PASSED
from ...engine.record import finish
from ...engine.tensor import Tensor, cell_of, new_tensor
from ...engine.transforms.interpreted import Interpreted
from ...kernels.allocation import has_values

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...engine.op import Op

F = TypeVar("F", bound="Callable[..., Any]")

__all__ = ["Layout", "sharing"]


class Layout(Interpreted):
    """An array of a layout, made of data and of what says how they lie: NOTE [Layouts]."""

    __slots__ = ()

    parts: ClassVar[tuple[str, str]]  # the names of the attributes that hold these two
    cls: ClassVar[Any] = Tensor  # the class of tensors that show it
    own: ClassVar[tuple[str, ...]]  # the ops whose forwards take it as it is
    error: ClassVar[type[Exception]] = NotImplementedError
    no_rule: ClassVar[str]  # with places for a name, and for what it is not there for
    rules: ClassVar[dict[str, Any]]
    functions: ClassVar[dict[str, Any]]

    def __init_subclass__(cls) -> None:
        cls.rules, cls.functions = {}, {}

    @classmethod
    def rule(cls, *names: str) -> Callable[[F], F]:
        """Enter a function as the rule of ops."""
        return functools.partial(entered, cls.rules, names, "op")

    @classmethod
    def function(cls, *names: str) -> Callable[[F], F]:
        """Enter a function as the rule of public functions."""
        return functools.partial(entered, cls.functions, names, "function")

    @classmethod
    def refused(cls, name: str, which: str = "") -> Exception:
        """The error for what is not there for tensors of this layout, or for `which` of them."""
        return cls.error(cls.no_rule.format(name, which or f"{cls.__name__.lower()} tensors"))

    @classmethod
    def called(cls, function: Any, args: Any, kwargs: Any) -> Any:
        """The result of a public function by its rule; PASSED where the rules of its ops apply."""
        run = cls.functions.get(cls.name_of(function))
        if run is not None:
            return run(function, *args, **kwargs)
        op = getattr(function, "op", None)
        if op is None or not is_plain(op, args, kwargs):
            return PASSED
        return next(filter(cls.holds, args))._array.interpret(op, args, kwargs)

    @staticmethod
    def name_of(function: Any) -> str:
        """The name under which `functions` has a function."""
        return function.__name__  # type: ignore[no-any-return]

    @classmethod
    def holds(cls, value: Any) -> bool:
        """Whether a value is a tensor of this layout."""
        return isinstance(value, Tensor) and isinstance(value._array, cls)

    def interpret(self, op: Op, inputs: tuple[Any, ...], params: dict[str, Any]) -> Any:
        """The result of an op by its rule."""
        if op.name in self.own and all(isinstance(t, Tensor) for t in inputs):
            return finish(op, inputs, computed(op, inputs, params), params)
        return self.rules.get(op.name, self.rules["*"])(op, *inputs, **params)

    @property
    def has_values(self) -> bool:
        """Whether its data have values, and are not on the meta device."""
        return has_values(getattr(self, self.parts[0]))

    def tensor(self) -> Tensor:
        """A tensor with this array."""
        return new_tensor(self, self.cls)

    def of(self, change: Callable[[Any], Any]) -> Any:
        """An array of this layout with `change(data)` for data."""
        kind, (data, how) = self.__reduce__()
        return kind(change(data), how)

    def ones(self) -> Tensor:
        """A tensor of ones in the same layout and pattern."""
        return new_tensor(self.of(np.ones_like), self.cls)

    def astype(self, dtype: Any, *args: Any, **options: Any) -> Any:
        """This array in another dtype."""
        return self.of(lambda data: data.astype(dtype, *args, **options))

    def __reduce__(self) -> Any:
        return type(self), tuple([getattr(self, name) for name in self.parts])


def entered(table: dict[str, Any], names: Any, asked: str, given: F) -> F:
    """Enter a function into a table, where what it is asked for comes before its arguments."""

    def run(_: Any, /, *args: Any, **named: Any) -> Any:
        return given(*args, **named)

    takes_it = given.__code__.co_varnames[:1] == (asked,)
    table.update(dict.fromkeys(names, given if takes_it else run))
    return given


def sharing(found: Tensor, source: Tensor) -> Tensor:
    """`found`, on the memory of `source`: writes to one count as writes to the other."""
    if not found._inference:
        found._cell = cell_of(source)
    return found
