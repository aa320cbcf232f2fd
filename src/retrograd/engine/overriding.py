"""Calls that an argument, or a mode, takes over: PyTorch's `__torch_function__` protocol.

NOTE [Who is asked]
1. Every public function and method has a form that users see: an op's caller itself, or what
   `public` makes of a function in Python. It looks at the types of its arguments, and of what the
   lists and tuples among them hold, before it runs. Tensors, numbers and None are told by their
   type alone, so plain calls pay for a few comparisons of pointers
   (`src/native/engine/overriding.c`), and where there is no C for looking types up in a set,
   `UNASKED`.
2. A type is asked if it has a `__torch_function__` other than `overrides_nothing`. `Tensor` itself
   is not: its own one serves its subclasses.
3. Modes are asked first, the innermost one, which is out of force meanwhile. Then the arguments
   from left to right, each type once and a subclass before its bases, until one returns something
   other than NotImplemented.
4. What runs below the function that was taken over is not seen: whoever calls it does so with
   subclasses disabled, or from a mode.
5. Properties and the methods in the body of `Tensor` get such forms when the first class or mode
   that may ask for them appears (`engine.subclasses`); nobody pays for it before.
6. Factories make plain tensors: those `named_in` `FACTORIES` ask only arguments that are no
   tensors, such as sizes of graphs that are traced, and those in `CONVERTERS` none. Modes see all
   of them; nobody sees those in `IGNORED`.
7. Where a call has several spellings, arguments see one: `SPELLINGS`.

This module knows no tensor and no op.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterable, Iterator
from types import FunctionType
from typing import Any, TypeVar

from .. import modes, version
from ..locks import structure
from . import native
from .naming import LOOKED_AT, NOWHERE, annotate, is_optional, look_at, looked_at, rearranged

F = TypeVar("F")

PASSED: Any = object()  # what `intercept` returns where nobody takes the call over

ENABLED, NO_SUBCLASSES, OFF = range(3)  # `modes.State.overriding`

DATA = 64  # a list that holds more is no shape
NUMBERS = (int, float, bool, complex)
NEVER: set[type] = {*NUMBERS, str, slice, type(None), type(...)}  # types that are never asked
UNASKED: set[type] = set(NEVER)  # the same, but empty while a thread is in a mode

# Names of functions, which their declarations enter: NOTE [Who is asked], rules 6 and 7.
FACTORIES: set[str] = set()
CONVERTERS: set[str] = set()
IGNORED: set[str] = {
    *("_make_subclass", "_make_wrapper_subclass", "__torch_dispatch__"),
    *("__array_function__", "__array_namespace__", "__array_ufunc__", "__hash__", "__iter__"),
}
SPELLINGS: dict[str, Callable[[Any], Any]] = {}  # what makes the arguments of a call those of one

TENSOR = "retrograd.Tensor."
DISPATCH = "__torch_dispatch__"

NOBODY = (
    "Multiple dispatch failed for '{name}'; all __torch_function__ handlers returned "
    "NotImplemented: no implementation found for '{name}' on types that implement "
    "__torch_function__: {types}{mode}"
)
ASKS_AGAIN = (
    "the __torch_function__ of {0} calls '{1}' with the same arguments, which asks it again. If it "
    "is a tensor of another library, convert it: as_tensor(other.numpy())"
)

forms: dict[Any, Any] = {}  # the form that users see, by function
names: dict[Any, str] = {}  # what errors call a function
shown_as: dict[Any, Any] = {}  # operators, and getters of properties: what they are to be called
operators: set[Any] = set()  # these return NotImplemented where nobody knows an operand


def named_in(names: set[str]) -> Callable[[F], F]:
    """A decorator that enters the name of a function into one of these sets."""

    def enter(function: F) -> F:
        names.add(function.__name__)  # type: ignore[attr-defined]
        return function

    return enter


def overrides_nothing(func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """The `__torch_function__` of a tensor class whose results are plain tensors: none."""
    with modes.Changed(overriding=NO_SUBCLASSES):
        return func(*args, **(kwargs or {}))


def stands_below(func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """The `__torch_function__` of a class that sees calls by its `__torch_dispatch__`."""
    return overrides_nothing(func, types, args, kwargs)


def is_asked(kind: type) -> bool:
    """Whether arguments of a type are asked: NOTE [Who is asked], rule 2."""
    if kind in NEVER:
        return False
    found = getattr(kind, "__torch_function__", None)
    return found is not None and found is not overrides_nothing and found is not stands_below


def overloaded_args(values: Iterable[Any]) -> tuple[Any, ...]:
    """Those of the arguments that are asked, one of each type, in the order of rule 3."""
    return tuple(one_of_each(value for value in spread(values) if is_asked(type(value))))


def one_of_each(values: Iterable[Any]) -> list[Any]:
    """The first value of each type, those of a subclass before those of its bases."""
    found: list[Any] = []
    for value in values:
        kind = type(value)
        if not any(kind is type(other) for other in found):
            bases = [i for i, other in enumerate(found) if issubclass(kind, type(other))]
            found.insert(bases[0] if bases else len(found), value)
    return found


def spread(values: Iterable[Any]) -> Iterator[Any]:
    """Values, and what lists and tuples among them hold; of data, up to its first number."""
    for value in values:
        yield value
        if isinstance(value, (list, tuple)):
            data = isinstance(value, list) and len(value) > DATA
            for item in value:
                yield item
                if data and type(item) in NUMBERS:
                    break


def intercept(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What a mode or an argument makes of a call, or PASSED where nobody wants it."""
    state = modes.state
    if state.overriding == OFF:
        return dispatched(function, args, kwargs)
    name = getattr(function, "__name__", "")
    asked: tuple[Any, ...] = ()
    if state.overriding == ENABLED and name not in CONVERTERS:
        asked = overloaded_args([*args, *kwargs.values()])
        if name in FACTORIES:
            asked = tuple([value for value in asked if not hasattr(type(value), "_array")])
    if not asked and not state.function_modes:
        return dispatched(function, args, kwargs)
    shown = shown_as.get(function, function)
    if asked and name in SPELLINGS:
        args = SPELLINGS[name](args)
    try:
        answer = ask(shown, asked, args, kwargs)
    except TypeError:  # of the function itself, which an operator is to hide
        kind = type(args[1]) if function in operators else int
        if kind in NUMBERS or hasattr(kind, "_array") or is_asked(kind):
            raise
        return NotImplemented
    if answer is NotImplemented and function not in operators:
        raise unanswered(shown, asked)
    return answer


def dispatched(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What the `__torch_dispatch__` of a mode or an argument's class makes of a function's call.

    PASSED where there is none, or where it is to see what the function consists of.
    """
    takers: list[Any] = list(modes.state.dispatchers[-1:])
    if not takers:
        values = spread([*args, *kwargs.values()])
        ours = [v for v in values if hasattr(type(v), DISPATCH) and hasattr(v, "_array")]
        takers = [value._array for value in ours]
    for taker in takers:
        if hasattr(type(taker), "called"):
            found = taker.called(function, args, kwargs)
            if found is not PASSED:
                return found
    return PASSED


def ask(function: Any, asked: tuple[Any, ...], args: Any, kwargs: dict[str, Any]) -> Any:
    """The first answer to a call, NotImplemented where there is none."""
    types = tuple([type(value) for value in asked])
    stack = modes.state.function_modes
    if stack:
        with modes.Changed(function_modes=stack[:-1]):
            answer = stack[-1].__torch_function__(function, types, args, kwargs)
        if answer is not NotImplemented:
            return answer
    for value in asked:
        try:
            answer = value.__torch_function__(function, types, args, kwargs)
        except RecursionError as error:
            if hasattr(type(value), "_array"):  # a class of ours, in its own error
                raise
            raise TypeError(ASKS_AGAIN.format(type(value), name_of(function))) from error
        if answer is not NotImplemented:
            return answer
    return NotImplemented


def unanswered(function: Any, asked: tuple[Any, ...]) -> TypeError:
    """The error for a call that all who were asked have refused."""
    stack, name = modes.state.function_modes, name_of(function)
    mode = f", nor in the mode {stack[-1]!r}" if stack else ""
    return TypeError(NOBODY.format(name=name, types=[type(t) for t in asked], mode=mode))


def public(function: Any, *served: Any) -> Any:
    """The form of a function that users see: NOTE [Who is asked], rule 1. `served`: see `form`."""
    if not isinstance(function, FunctionType) or hasattr(function, "op"):
        return function  # no function, or the caller of an op
    if function.__name__ in IGNORED or function in _forms:
        return function
    found = forms.get(function)
    if found is None:
        found = forms[function] = form(function, *served)
    return found


def form(function: Any, *served: Any) -> Any:
    """A form of a function that asks its arguments, apart from all others.

    `served` may be a callable and a frozenset of keywords: it takes the calls with one of them, and
    has the signature that is shown.
    """
    annotate(function)
    seen = [looked_at(function, kind) for kind in LOOKED_AT]
    if native.native is None:
        made: Any = _in_python(function, any(seen), *served)
    else:
        open_to = [
            {name: place for name, place in found.items() if is_optional(function, name, kind)}
            for kind, found in zip(LOOKED_AT, seen, strict=True)
        ]
        pairs = zip(seen, open_to, strict=True)
        looked = tuple([(*packed(found), *packed(optional)) for found, optional in pairs])
        made = native.native.public(function, looked, *served)
    _forms.add(made)
    return made


def packed(found: dict[str, int]) -> tuple[frozenset[str], int]:
    """The names of arguments, and a bit for each of their places."""
    return frozenset(found), sum([1 << place for place in found.values() if place < NOWHERE])


_forms: set[Any] = set()


def _in_python(
    function: Any,
    looks: bool,
    served: Any = None,
    keywords: frozenset[str] = frozenset(),
) -> Callable[..., Any]:
    plain = UNASKED

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        told = plain and plain.issuperset(map(type, args))
        if not told or (kwargs and not plain.issuperset(map(type, kwargs.values()))):
            found = intercept(call, args, kwargs)
            if found is not PASSED:
                return found
        read = look_at(function, args, kwargs) if looks else None
        if read is not None:
            args, kwargs = read
        called = served if kwargs and not keywords.isdisjoint(kwargs) else function
        try:
            return called(*args, **kwargs)
        except (TypeError, ValueError, AttributeError, RuntimeError) as error:
            again = rearranged(called, args, kwargs, error)
            if again is None:
                raise
        return call(*again[0], **again[1])

    if served is not None:
        call.__signature__ = served.__signature__  # type: ignore[attr-defined]
    return call


def publish(namespace: dict[str, Any], prefix: str, home: str = "ops") -> None:
    """Put the forms that users see into a public module, and where the functions are defined.

    `prefix` is what errors call the module. Functions of `ops`, and of `home`, have such forms.
    """
    root = __package__.rpartition(".")[0]
    own = (f"{root}.ops.", f"{root}.{home}.")
    for name, given in list(namespace.items()):
        known = type(given) is FunctionType and forms.get(given)
        namespace[name] = value = known or given  # known: whatever its module is called by now
        module = getattr(value, "__module__", None) or ""
        if name.startswith("_") or isinstance(value, type) or not f"{module}.".startswith(own):
            continue
        namespace[name] = seen = public(value)
        told = seen in _forms or hasattr(seen, "op")
        defined, its = vars(sys.modules[module]), getattr(value, "__name__", "")
        path, called = f"{prefix}.{name}", names.get(seen, TENSOR)
        if told and name not in IGNORED and remote(path, its) < remote(called, its):
            names[seen] = path
        if defined.get(its) is value:
            defined[its] = seen


def remote(path: str, own: str) -> tuple[bool, int, bool]:
    """The sort key of a path that names a function: short ones, no methods, first.

    Which of them is told may not depend on what was imported, or asked for, first.
    """
    return path.startswith(TENSOR), path.count("."), not path.endswith(f".{own}")


def put(cls: type, name: str, seen: Any) -> None:
    """Make a function a method of a class; or leave it where `ops.lazy_loading` waits for it."""
    waiting: Any = vars(cls).get(name)
    if hasattr(waiting, "seen"):
        waiting.seen = seen
    else:
        setattr(cls, name, seen)


def is_function(value: Any) -> bool:
    """Whether a value is one of the functions that users call, and no method of tensors."""
    kind: Any = type(value)
    by_identity = kind.__hash__ is object.__hash__  # else hashing may run anybody's code
    return by_identity and not names.get(value, TENSOR).startswith(TENSOR)


def never(*kinds: type) -> None:
    """Enter types that are never asked."""
    with structure:
        NEVER.update(kinds)
        if not _modes:
            UNASKED.update(kinds)


def count_mode(count: int) -> None:
    """Count a mode that has been entered (1) or left (-1): rule 1."""
    global _modes
    with structure:
        _modes += count
        if _modes:
            UNASKED.clear()
        else:
            UNASKED.update(NEVER)
        if native.native is not None:
            native.native.watch(bool(_modes))


_modes = 0


def name_of(function: Any) -> str:
    """What errors call a function."""
    name = str(names.get(function) or getattr(function, "__qualname__", repr(function)))
    return name.replace("retrograd.", f"{version.called}.", 1)
