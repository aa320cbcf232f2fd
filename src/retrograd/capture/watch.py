"""The watch: what a rewritten function reads, calls and changes beside tensors.

It turns what is read into guards, tells tensors from outside to the recording, decides of each
call whether it is arithmetic, a function of the user's to be rewritten, or one that a replay makes
again, and ends the recording at whatever it does not know.
"""

from __future__ import annotations

import builtins
import collections
import contextlib
import inspect
import operator
import sys
import threading
import types
import warnings
from functools import partial
from typing import Any

import numpy as np

from .. import modes
from ..autograd.function import Function, FunctionCtx, once_differentiable
from ..engine.tensor import Tensor
from ..kernels.native import loops as in_c
from ..nn.hooks import of_all_modules
from ..nn.modules.module import Module
from ..ops.random.generator import Generator
from ..optim.lr_scheduler import LRScheduler
from ..optim.optimizer import Optimizer, after_any, before_any
from . import kinds
from .asked import KINDS, Asked, asked, holds, mentions, unasked
from .foreign import ARRAYS, FILES, LOGGERS, METHODS, is_file, is_told, way_of
from .guards import MISSING, PARTS, Guards
from .recording import Recording, beside, same_shape
from .rewriting import Unclear, rewritten

__all__ = ["Watch"]

CALL = Module.__call__.__code__
ONCE = once_differentiable(lambda: None).__code__  # of all functions that it gives


class Watch:
    """What rewritten functions tell: NOTE [Rewriting] in `rewriting`."""

    def __init__(self, recording: Recording, guards: Guards) -> None:
        self.recording, self.guards = recording, guards
        self.outer: dict[int, Any] = {}  # objects that were there before, by id
        self.scheduled: set[int] = set()  # ids of groups of settings that a step changes
        self.changed: set[int] = set()  # and of their optimizers
        self.codes: set[types.CodeType] = set()  # of what has been rewritten
        self.known: dict[int, types.CodeType] = {}  # code that may run, by id
        self.remade: dict[Any, Any] = {}  # by what it was
        self.reads: dict[tuple[int, str], tuple[Any, Any]] = {}  # from dictionaries; what was there
        self.grad = modes.state.grad  # the mode of the call
        self.way = ""  # in which what is read is used, where no element of it is
        self.tries = 0
        self.run = in_c.watched  # whatever is not the watch's own
        methods = [name for name, f in vars(Watch).items() if isinstance(f, types.FunctionType)]
        told: Any = {name: partial(in_c.unwatched, getattr(self, name)) for name in methods}
        self.told = types.SimpleNamespace(**told, slice=slice)  # what rewritten code calls
        recording.line = self.line  # type: ignore[method-assign]
        recording.run = self.run  # type: ignore[method-assign]
        recording.call = partial(in_c.unwatched, recording.call)  # type: ignore[method-assign]

    @property
    def stopped(self) -> bool:
        """Whether nobody listens any more; a recording of now does not know this function then."""
        if self.recording.stopped is None:
            return False
        for other in modes.state.watchers:
            if isinstance(other, Recording):
                other.stop("a function that an earlier recording has rewritten runs")
        return True

    def stop(self, reason: str) -> None:
        """End the recording."""
        self.recording.stop(reason)

    def line(self) -> str:
        """The line of the user's program that runs."""
        frame = next(iter(self.frames()), None)
        return "the call" if frame is None else f"{frame.f_code.co_filename}:{frame.f_lineno}"

    # -- reads -----------------------------------------------------------------------------------

    def held(self, owner: Any, space: Any, name: str, about: str) -> Any:
        """What the dictionary `space` of an object has by a name, and will have again."""
        value = space.get(name, MISSING)
        self.seen(f"{self.guards.name(space)}.get({name!r}, MISSING)", value, about)
        if type(value) not in (*kinds.MUTABLE, tuple, collections.deque) and not (
            self.scheduled or isinstance(value, FILES)
        ):
            self.reads[id(owner), name] = space, value
        return value

    def seen(self, read: str, value: Any, about: str) -> Any:
        """`value`, which was there before the call: `read` has to give it again."""
        if self.stopped:
            return value
        way, self.way = self.way, ""
        adds = way == "append" and type(value) in (list, collections.deque)
        if adds or (way and isinstance(value, FILES)):  # its elements are not read
            self.guards.add(f"({read}) is {self.guards.name(value)}", about)
            if id(value) not in self.outer:
                self.guards.changed.add(id(value))
                self.outer[id(value)] = value
            return value
        why = self.guards.same(read, value, about)
        if why:
            self.stop(f"{why} is read")
        else:
            self.enter(read, value)
        return value

    def enter(self, read: str, value: Any) -> None:
        """Know an object from outside, and all in it."""
        if isinstance(value, Tensor):
            if self.guards.argument is not None:
                return
            self.recording.root(value, ("object", value))
            origin = self.recording.origin(value)
            if origin is not None and origin[0] == "argument":  # it is that one here
                self.guards.add(f"{origin[1]} is {self.guards.name(value)}", origin[1])
            self.guards.same(read, value, "a tensor")
        if type(value) in kinds.PLAIN or id(value) in self.outer:
            return
        self.outer[id(value)] = value
        if id(value) in self.scheduled:
            self.stop("settings that a step has changed are read")
        if type(value) in (list, tuple):
            for i, part in enumerate(value):
                self.enter(f"({read})[{i}]", part)
        elif type(value) is dict:
            for key, part in value.items():
                self.enter(f"({read})[{key!r}]", part)
        elif type(value) is partial:
            for name in PARTS:
                self.enter(f"({read}).{name}", getattr(value, name))

    def outside(self, name: str, value: Any, way: str = "") -> Any:
        """A global or a builtin that is read, maybe to be written to in a `way`."""
        if self.stopped:
            return value
        self.way = way
        spaces = sys._getframe(1).f_globals
        if self.reads.get((id(spaces), name), (None, MISSING))[1] is value:
            return value
        if getattr(builtins, name, MISSING) is value and name not in spaces:
            known = self.guards.name(value)
            self.guards.add(
                f"{name!r} not in {self.guards.name(spaces)} and {name} is {known}", name
            )
            return value
        return self.held(spaces, spaces, name, name)

    def variable(self, name: str, value: Any, cell: Any, way: str = "") -> Any:
        """A variable of an enclosing function that is read."""
        if self.stopped:
            return value
        self.way, cell = way, cell.__closure__[0]
        return self.seen(f"{self.guards.name(cell)}.cell_contents", value, name)

    def attribute(self, owner: Any, name: str, way: str = "") -> Any:
        """An attribute that is read."""
        if self.stopped:
            return getattr(unasked(owner) if isinstance(owner, Asked) else owner, name)
        kind, self.way = type(owner), way
        if isinstance(owner, Tensor):
            return self.of_tensor(owner, name)
        if isinstance(owner, Asked):  # a method of it is met where it is called
            plain = unasked(owner)
            if name == "__class__" or callable(getattr(plain, name)):
                return type(plain) if name == "__class__" else getattr(owner, name)
            return self.recording.derived(getattr, (owner, name), {})
        space, value = self.reads.get((id(owner), name), ({}, None))
        if space.get(name, MISSING) is value:
            return value
        if isinstance(owner, super):
            return self.of_super(owner, name)
        if isinstance(owner, FunctionCtx):
            once = owner._forward_cls.clear_saved_tensors_on_access
            if once and name == "saved_tensors" and self.recording.ahead:
                self.stop("saved tensors are given once")
            kept = getattr(owner, name)
            if type(kept) in kinds.MUTABLE and id(kept) in self.outer:
                return self.seen(self.guards.name(kept), kept, name)
            if self.recording.ahead:  # the pass that comes later has to find it as it is
                self.outer.update({id(part): part for part in kinds.changeable(kept)})
            return kept
        if isinstance(owner, type) and issubclass(owner, Function) and name == "apply":
            own = self.guards.name(Function.__dict__["apply"].__func__)
            self.guards.add(f"{self.guards.name(owner)}.apply.__func__ is {own}", "apply")
            if owner.apply.__func__ is not Function.apply.__func__:  # type: ignore[attr-defined]
                self.stop(f"{owner.__name__} has an apply of its own")
            return owner.apply
        outer = id(owner) in self.outer
        built_in = kind in kinds.BUILT_IN or (kind.__module__ == "builtins" and not outer)
        named = hasattr(kind, "_fields") and kinds.is_ours(kind)
        if (built_in or named) and not isinstance(owner, kinds.WITH_ATTRIBUTES):
            return getattr(owner, name)
        if kinds.is_ours(owner) and isinstance(owner, (types.ModuleType, type)):
            found, known = getattr(owner, name), (*kinds.WITH_ATTRIBUTES, types.BuiltinFunctionType)
            if (
                kinds.is_ours(found)
                or isinstance(found, known)
                or kinds.is_in_ours(sys._getframe(1))
            ):
                return found
            read = f"getattr({self.guards.name(owner)}, {name!r}, MISSING)"
            return self.seen(read, found, f"{owner.__name__}.{name}")
        if not outer and not isinstance(owner, types.ModuleType):
            if hasattr(owner, "_fields") or kinds.is_ours(owner):
                found = self.run(getattr, owner, name)
                if isinstance(found, types.MethodType) and found.__self__ is owner:
                    self.guards.same(f"{self.guards.name(kind)}.{name}", found.__func__, name)
                return found
            self.stop(f"an attribute of a {kind.__name__} that was made here is read")
            return getattr(owner, name)
        return self.of_object(owner, name)

    def of_tensor(self, owner: Tensor, name: str) -> Any:
        """An attribute of a tensor."""
        if name == "grad":
            known = self.recording.gradients.get(id(owner))
            if known is None or owner._gradient is not known:
                self.stop("a gradient from before the call is read")
        elif name in kinds.OF_HISTORY or name in kinds.OF_MEMORY or not hasattr(Tensor, name):
            self.stop(f"the attribute {name} of a tensor is read")
        kind = type(owner)
        plain = inspect.getattr_static(kind, name, MISSING)
        if plain is not MISSING and not hasattr(type(plain), "__get__"):  # a constant of the user's
            read = f"getattr({self.guards.name(kind)}, {name!r}, MISSING)"
            return self.seen(read, getattr(owner, name), f"{kind.__name__}.{name}")
        return self.run(self.placed(getattr, 1), owner, name)

    def of_super(self, owner: Any, name: str) -> Any:
        """A method of a class above, by `super()`."""
        within, mro = owner.__self__, type(owner.__self__).__mro__
        for kind in mro[mro.index(owner.__thisclass__) + 1 :]:
            held = f"vars({self.guards.name(kind)}).get({name!r}, MISSING)"
            value = vars(kind).get(name, MISSING)
            self.guards.add(f"{held} is {self.guards.name(value)}", f"super().{name}")
            if value is not MISSING:
                if id(within) not in self.outer or not isinstance(value, types.FunctionType):
                    self.stop(f"super().{name}, which is no method, is read")
                break
        return getattr(owner, name)

    def of_object(self, owner: Any, name: str) -> Any:
        """An attribute of an object that was there before."""
        kind = type(owner)
        if isinstance(owner, threading.local):
            self.stop(f"a {kind.__name__}, which each thread has of its own, is read")
            return getattr(owner, name)
        space: Any = self.run(getattr, owner, "__dict__", None)
        about = f"{kind.__name__}.{name}"
        if (
            self.changed
            and (isinstance(owner, LRScheduler) or id(owner) in self.changed)
            and name in space
        ):
            self.stop(f"{about} is read after a step that changes it")
        known = self.guards.name(kind)
        self.guards.add(f"{self.guards.name(owner)}.__class__ is {known}", f"the class of {about}")
        way = kind.__getattribute__
        self.guards.add(f"{known}.__getattribute__ is {self.guards.name(way)}", about)
        if isinstance(owner, types.ModuleType):
            return self.seen(f"{self.guards.name(space)}.get({name!r}, MISSING)",
                             getattr(owner, name), about)  # fmt: skip
        of_class = next((c.__dict__[name] for c in kind.__mro__ if name in c.__dict__), MISSING)
        if isinstance(of_class, property) and not kinds.answers(kind):
            self.guards.add(f"{known}.{name} is {self.guards.name(of_class)}", about)
            return self.call(of_class.fget, owner)
        if space is not None and name in space:
            if hasattr(type(of_class), "__set__"):
                self.stop(f"the descriptor {about} is read")
                return getattr(owner, name)
            if not isinstance(owner, type):
                seen = f"getattr({known}, {name!r}, MISSING)"
                self.guards.add(
                    f"{seen} is {self.guards.name(getattr(kind, name, MISSING))}", about
                )
            held = space[name]
            if isinstance(owner, type) and getattr(owner, name) is not held:
                read = f"{self.guards.name(space)}.get({name!r}, MISSING)"
                self.guards.add(f"{read} is {self.guards.name(held)}", about)
                if not isinstance(held, (classmethod, staticmethod)):
                    self.stop(f"the descriptor {owner.__name__}.{name} is read")
                return getattr(owner, name)
            return self.held(owner, space, name, about)
        if isinstance(owner, Module) and space is not None:
            for table in ("_parameters", "_buffers", "_modules"):
                if name in space.get(table, ()):
                    inner = space[table]
                    self.guards.add(f"{self.guards.name(space)}.get({table!r}) is "
                                    f"{self.guards.name(inner)}", about)  # fmt: skip
                    return self.held(owner, inner, name, about)
        if of_class is MISSING:
            self.stop(f"{about} is read, which a function gives")
            return getattr(owner, name)
        if space is not None:
            self.guards.add(f"{name!r} not in {self.guards.name(space)}", about)
        found = self.run(getattr, owner, name)
        if isinstance(found, types.MethodType) and found.__self__ is owner:
            held = f"{self.guards.name(kind)}.{name}"
            if isinstance(found.__func__, types.FunctionType):
                self.guards.same(held, found.__func__, about)
                self.reads[id(owner), name] = {name: found}, found
            return found
        if isinstance(owner, (FILES, *METHODS)):
            if way_of(found):
                known = f"getattr({self.guards.name(kind)}, {name!r}, MISSING)"
                self.guards.add(f"{known} is {self.guards.name(getattr(kind, name))}", about)
                return found
            self.stop(f"{about} is read, which calls may change")
        return self.seen(f"{self.guards.name(owner)}.{name}", found, about)

    def item(self, owner: Any, key: Any) -> Any:
        """An element that is read."""
        kind, key = type(owner), self.index(key)
        if isinstance(owner, Asked) and not self.stopped:
            return self.recording.derived(operator.getitem, (owner, key), {})
        if self.stopped or isinstance(owner, Tensor) or kind in kinds.BUILT_IN:
            return self.run(operator.getitem, owner, key)
        own = self.special(owner, "__getitem__")
        if own is not None:
            return self.call(own, key)
        if not hasattr(owner, "_fields"):
            self.stop(f"an element of a {kind.__name__} is read")
        return owner[key]

    def through(self, owner: Any) -> Any:
        """What a loop goes through."""
        if self.stopped or isinstance(owner, kinds.ITERABLE):
            return owner
        own = None if isinstance(owner, Asked) else self.special(owner, "__iter__")
        found = owner if own is None else self.call(own)
        if not isinstance(found, kinds.ITERABLE) and type(owner).__module__ != "itertools":
            self.stop(f"a loop goes through a {type(owner).__name__}")
        return owner if own is None else kinds.Given(found)

    def special(self, owner: Any, name: str) -> Any:
        """A method that Python looks up in the class of an object; None if it is Python's own."""
        kind = type(owner)
        own = getattr(kind, name, None)
        if not isinstance(own, types.FunctionType):
            return None
        if id(owner) in self.outer:
            held = f"{self.guards.name(owner)}.__class__"
            self.guards.same(held, kind, f"the class of a {kind.__name__}")
        self.guards.same(f"{self.guards.name(kind)}.{name}", own, f"{kind.__name__}.{name}")
        return types.MethodType(own, owner)

    # -- changes ---------------------------------------------------------------------------------

    def setting(self, owner: Any) -> Any:
        """An object of which an attribute is about to be set."""
        if isinstance(owner, FunctionCtx) and not (self.recording.ahead and owner._node()):
            return owner
        self.stop(f"an attribute of a {type(owner).__name__} is set")
        return unasked(owner) if isinstance(owner, Asked) else owner

    def clear(self, owner: Any) -> None:
        """Set the attribute `grad` to None: a tensor's in a replay, too."""
        if isinstance(owner, Tensor):
            self.recording.again(setattr, (owner, "grad", None), {}, self.recording.ahead)
        else:
            self.setting(owner).grad = None

    def index(self, key: Any) -> Any:
        """The place of an element."""
        if not mentions(key):
            return key
        self.stop("a value of a tensor is an index")
        return unasked(key)

    def store(self, value: Any, owner: Any, key: Any) -> None:
        """Set an element: what is made here may hold values that were asked for."""
        if self.stopped or type(owner) not in kinds.MUTABLE or id(owner) in self.outer:
            value = self.plain(value)
        self.run(operator.setitem, self.changing(owner), self.index(key), value)

    def changing(self, owner: Any) -> Any:
        """An object of which an element is about to be set."""
        kind = type(owner)
        if kind in kinds.MUTABLE and id(owner) not in self.outer:
            return owner
        if not isinstance(owner, Tensor) and (kind not in kinds.BUILT_IN or kind in kinds.MUTABLE):
            self.stop(f"a {kind.__name__} from outside is changed")
        return unasked(owner) if isinstance(owner, Asked) else owner

    def append(self, owner: Any, value: Any) -> Any:
        """Append a value to a list.

        A replay appends to one from outside, too, if the step reads nothing of it.
        """
        if id(owner) in self.guards.changed and kinds.is_simple(value):
            every = [*kinds.changeable(value)]
            parts = {id(part): part for part in every}
            if len(parts) == len(every) and not parts.keys() & self.outer:
                self.outer |= parts  # which nobody may change any more
                return self.recording.append(owner, value)
        return self.call(self.attribute(owner, "append"), value)

    def within(self, context: Any) -> Any:
        """A context that is entered."""
        if not kinds.is_context(type(context)):
            self.stop(f"the context {type(context).__name__} is entered")
        elif id(context) in self.outer and hasattr(context, "__dict__"):
            self.guards.parts(context, vars(context), f"a {type(context).__name__}")
        return context

    def trying(self, by: int) -> None:
        """A `try` begins or ends: what cannot be undone would raise beyond it in a replay."""
        self.tries += by
        if by > 0 and self.recording.lasting:
            self.stop("a try follows what cannot be undone")

    def caught(self) -> None:
        """An exception that is caught: a replay would not raise it."""
        self.stop("an exception is caught")

    # -- values of Python's: NOTE [Asked values] ---------------------------------------------------

    def binary(self, name: str, a: Any, b: Any) -> Any:
        """What an operator of two operands gives."""
        if name in kinds.IN_PLACE:
            if isinstance(a, Asked) and not isinstance(a, np.ndarray):  # a number or a text
                name = name[1:] + "_" * (name in ("iand", "ior"))
            else:
                self.changing(a)
        function = getattr(operator, name)
        if isinstance(a, str) and not kinds.is_simple(b):
            self.shown(b)
        if name in ("add", "iadd") and type(a) is type(b) is list and not self.stopped:
            return self.run(function, a, b)  # which reads none of their elements
        if name in kinds.WARNING and any(isinstance(v, (np.generic, np.ndarray)) for v in (a, b)):
            function = self.placed(function)
        if mentions((a, b)):
            if type(a) is not list and all(map(kinds.is_simple, (a, b))) and not self.stopped:
                return self.recording.derived(function, (a, b), {})
            if name in kinds.BESIDE:
                a, b = self.operand(a, b), self.operand(b, a)
            a, b = self.plain(a), self.plain(b)
        elif isinstance(a, str) and name == "mod" and kinds.is_read(b):
            return self.recording.derived(function, (a, b), {})
        for value in (a, b):
            if id(value) in self.outer:
                self.operated(value, f"__{name}__")
        return self.run(function, a, b)

    def operated(self, value: Any, name: str) -> None:
        """See that an operator of an object from outside gives the same again."""
        kind = type(value)
        if isinstance(value, (Tensor, *kinds.BUILT_IN, *kinds.WITH_ATTRIBUTES)) or kinds.is_ours(
            kind
        ):
            return
        own = getattr(kind, name, None)
        if own is getattr(object, name, None):  # and its class may get one
            read = f"getattr({self.guards.name(value)}.__class__, {name!r}, None)"
            self.guards.add(f"{read} is {self.guards.name(own)}", f"{kind.__name__}.{name}")
        elif not isinstance(own, types.FunctionType) and hasattr(value, "__dict__"):
            self.stop(f"{kind.__name__}.{name} is called")

    def operand(self, value: Any, other: Any) -> Any:
        """A value that was asked for as an operand beside a tensor, whose dtype it leaves alone."""
        if isinstance(value, (int, float, complex)) and isinstance(value, Asked):
            like = other._array.dtype if isinstance(other, Tensor) else None
            wanted = "c" if isinstance(value, complex) else "fc"
            if like is not None and like.kind in wanted and like.itemsize > 2:
                return self.recording.again(beside, (value, like), {}, lasting=False)
        if isinstance(value, np.ndarray) and isinstance(other, Tensor):
            return self.of_array(value)
        return value

    def of_array(self, value: Any) -> Any:
        """An array that was asked for as a tensor on the same memory: its shape has to be this."""
        if self.recording.lasting:
            self.stop("an array that follows what cannot be undone is computed with")
        array = unasked(value)
        like = array.shape, array.strides, array.dtype
        return self.recording.again(same_shape, (value, *like), {}, lasting=False)

    def unary(self, name: str, a: Any) -> Any:
        """What an operator of one operand gives."""
        function = getattr(operator, name)
        if isinstance(a, Asked) and not self.stopped:
            return self.recording.derived(function, (a,), {})
        return self.run(function, a)

    def plain(self, value: Any) -> Any:
        """A value where nobody would see that it was asked of a tensor: that ends the recording."""
        if not mentions(value):
            return value
        self.stop("a value of a tensor, such as item() gives, is used")
        return unasked(value, in_place=True)

    def text(self, *parts: Any) -> Any:
        """A text with values in it, each with its conversion and its format."""
        for part in parts:
            if type(part) is tuple:
                self.shown(part[0])
        read = kinds.is_read([part[0] for part in parts if type(part) is tuple])
        if (mentions(parts) or read) and kinds.is_simple(parts, Tensor) and not self.stopped:
            return self.recording.derived(kinds.joined, parts, {})
        return self.run(kinds.joined, *self.plain(parts))

    def shown(self, value: Any) -> None:
        """Something of which the text is asked for."""
        if type(value) is tuple and id(value) not in self.outer:
            for part in value:
                self.shown(part)
        elif id(value) in self.outer and not isinstance(value, (*kinds.PLAIN, Tensor)):
            self.stop(f"the text of a {type(value).__name__} is asked for")

    def of_value(self, owner: Any, name: str, args: Any, options: Any) -> Any:
        """What a method of a value gives that was asked for."""
        known = name in ARRAYS or not isinstance(owner, np.ndarray)
        if not known or holds(args, np.ndarray) or "out" in options:
            self.stop(f"the method {name} of a value of a tensor is called")
        elif not kinds.is_simple((args, options)):
            self.stop(f"the method {name} of a value of a tensor is given more than plain values")
        if self.stopped:
            return self.run(getattr(unasked(owner), name), *self.plain(args), **self.plain(options))
        return self.recording.derived(getattr(KINDS[type(owner)], name), (owner, *args), options)

    def with_values(self, function: Any, args: Any, options: Any) -> Any:
        """What a call gives for values that were asked of tensors, among others."""
        owner = getattr(function, "__self__", None)
        made_here = type(owner) in kinds.MUTABLE and id(owner) not in self.outer
        kept = kinds.is_one(function, kinds.HOLDING) and not any(isinstance(v, Asked) for v in args)
        if function is isinstance and isinstance(args[0], Asked):
            return self.recording.derived(function, args, options)
        kept = kept or function is isinstance or kinds.is_named(function)
        if kept or (made_here and function.__name__ in kinds.ADDING):
            return self.run(function, *args, **options)
        simple, name = kinds.is_simple((args, options)), kinds.name_of(function)
        if (
            name in ("as_tensor", "from_numpy", "tensor")
            and kinds.is_ours(function)
            and isinstance(args[0], np.ndarray)
            and len(args) + len(options) == 1
        ):
            made = self.of_array(args[0])
            return made.clone() if name == "tensor" else made
        if simple and isinstance(owner, LRScheduler):
            return self.of_optimizer(function, owner, args, options)
        if simple and (
            kinds.is_one(function, kinds.OF_NUMBERS)
            or kinds.is_of_module(function, kinds.MATHEMATICS)
            or type(owner) is str
        ):
            return self.recording.derived(function, args, options)
        return self.call(function, *self.plain(args), **self.plain(options))

    # -- calls -----------------------------------------------------------------------------------

    def call(self, function: Any, /, *args: Any, **options: Any) -> Any:
        """What a call gives."""
        if kinds.answers(type(function)) and not isinstance(function, Module):
            self.stop(f"a {type(function).__name__} is called")
            return self.run(function, *self.plain(args), **self.plain(options))
        if function is warnings.warn or self.stopped:
            function = self.placed(function)
        if self.stopped:
            return self.run(function, *self.plain(args), **self.plain(options))
        owner = getattr(function, "__self__", MISSING)
        found = self.at_its_place(function, owner, args, options)
        if found is not MISSING:
            return found
        kind = type(function)
        if kind is partial:
            options = {**function.keywords, **options}
            return self.call(function.func, *function.args, *args, **options)
        if (
            kinds.is_one(function, kinds.EAGER)
            or kinds.is_of_module(function, kinds.MATHEMATICS)
            or type(owner) is str
        ):
            args = tuple([self.run(list, v) if isinstance(v, kinds.LAZY) else v for v in args])
        is_users = kind in (types.FunctionType, types.MethodType) and not kinds.is_ours(function)
        if not is_users and mentions((args, options)):
            return self.with_values(function, args, options)
        compiled = getattr(function, "compiled", None)
        if compiled is not None and kinds.is_compiled(function, compiled):
            own = (function.__self__,) if kind is types.MethodType else ()
            if isinstance(function, Module):  # `modules.OptimizedModule`
                if id(function) not in self.outer or function._hooks is not None:
                    self.stop("a compiled module was made here, or has hooks")
                self.guards.add(f"{self.guards.name(function)}._hooks is None", "hooks of a module")
                self.outer[id(compiled.function)] = compiled.function
            return self.call(compiled.function, *own, *args, **options)
        if getattr(function, "_not_compiled", False):
            self.stop(f"{kinds.name_of(function)} is not to be compiled")
            return self.run(function, *args, **options)
        if isinstance(function, Module):
            return self.module(function, args, options)
        try:
            if function in kinds.PURE:
                return self.pure(function, args, options)
        except TypeError:  # it cannot be hashed
            pass
        if function is getattr:
            return self.attribute_or(*args)
        if function is hasattr:
            return self.attribute_or(*args, MISSING) is not MISSING
        if isinstance(owner, FunctionCtx):
            return self.run(function, *args, **options)
        if (
            isinstance(owner, type)
            and issubclass(owner, Function)
            and kinds.name_of(function) == "apply"
        ):
            return self.run(self.custom(owner).apply, *args, **options)
        if kinds.is_ours(function) or isinstance(owner, Tensor):
            if kind is types.MethodType and isinstance(owner, Module):
                if kinds.name_of(function) in kinds.TREE:
                    return self.of_tree(function, args, options)
                if kinds.name_of(function) != "zero_grad":
                    return self.enter_function(function, args, options)
            if kind is types.FunctionType and kinds.is_layers(function):
                return self.enter_function(function, args, options)
            return self.ours(function, owner, args, options)
        of_named = isinstance(owner, tuple) and kinds.is_of_module(function, {"collections"})
        if kinds.is_of_module(function, kinds.PURE_MODULES) or kinds.is_named(function) or of_named:
            return self.run(function, *args, **options)
        if kind is types.MethodType or kind is types.FunctionType:
            return self.enter_function(function, args, options)
        if isinstance(function, type) and issubclass(
            function, (BaseException, contextlib.nullcontext)
        ):
            return self.run(function, *args, **options)
        if type(owner) in kinds.BUILT_IN or type(owner) is bytearray:
            outer = type(owner) in kinds.MUTABLE and id(owner) in self.outer
            if outer and function.__name__ not in kinds.READING:
                self.stop(f"a {type(owner).__name__} from outside is changed")
            return self.run(function, *args, **options)
        self.stop(f"{getattr(function, '__qualname__', kind.__name__)} is called")
        return self.run(function, *args, **options)

    def at_its_place(self, function: Any, owner: Any, args: Any, options: Any) -> Any:
        """What a function gives that asks values or is given them; MISSING for any other."""
        if isinstance(owner, Asked):
            return self.of_value(owner, function.__name__, args, options)
        told = is_told(function)
        effect = "do" if told else way_of(function, args, options)
        given = args, {key: v for key, v in options.items() if key != "file" or not is_file(v)}
        simple = kinds.is_simple(given, Tensor if told else ())
        if told and function is not print:  # a handler may keep what it is given
            kept = any(True for v in (*args, *options.values()) for _ in kinds.changeable(v))
            simple = simple and not kept and type(owner) in LOGGERS
        if effect and simple:
            return self.effect(function, args, options, effect == "do")
        if told:
            self.stop(f"{kinds.name_of(function)} is given something else, or is the user's own")
            return self.call(function, *args, **options)
        takes = kinds.is_one(function, kinds.GIVEN) or kinds.is_of_module(function, {"itertools"})
        takes = takes or (type(owner) is list and kinds.name_of(function) == "sort")
        texts = any(kinds.is_one(v, kinds.TEXTS) for v in args)
        texts = texts and not kinds.is_simple([v for v in args if not callable(v)])
        if (
            takes
            and not (function is iter and len(args) == 1)
            and (texts or not all(map(kinds.is_watched, (*args, *options.values()))))
        ):
            self.stop(f"a function that may do more is given to {kinds.name_of(function)}")
            return self.call(function, *args, **options)
        if (kinds.is_one(function, kinds.TEXTS) or type(owner) is str) and kinds.is_read(
            (args, options)
        ):
            return self.recording.derived(function, args, options)
        for value in (*args, *options.values()) if type(owner) is str else ():
            if not kinds.is_simple(value):
                self.shown(value)
        return MISSING

    def effect(self, function: Any, args: Any, options: Any, lasting: bool) -> Any:
        """What a function gives that a replay calls at its place, as from this line."""
        if self.tries and lasting:
            self.stop(f"{kinds.name_of(function)} is called within a try")
        frames = self.frames()
        if options.get("stacklevel", 1) > len(frames):
            self.stop(f"{kinds.name_of(function)} asks for the caller of the step")
        run = None if is_told(function) else self.run
        function = self.placed(function)
        if modes.state.grad is not self.grad:  # which a file of the user's may ask for
            function = partial(kinds.in_mode, modes.state.grad, function)
        return self.recording.derived(function, args, options, lasting, run)

    def placed(self, function: Any, most: int | None = None) -> Any:
        """A function that is called as from the lines of the program that run, the last or all."""
        name = kinds.name_of(function)
        for as_from in map(kinds.at, self.frames()[:most]):
            self.known[id(as_from.__code__)] = as_from.__code__
            function = partial(as_from, function)
            function.__name__ = name
        return function

    def frames(self) -> list[Any]:
        """The frames of rewritten code, the innermost first."""
        frame, found = sys._getframe(1), []
        while frame is not None:
            found += [frame] * (frame.f_code in self.codes)
            frame = frame.f_back  # type: ignore[assignment]
        return found

    def custom(self, function: type[Function]) -> Any:
        """A class of the user's for `autograd.Function`, whose methods are rewritten."""
        if function in self.remade:
            return self.remade[function]
        methods: dict[str, Any] = {}
        for name in ("forward", "setup_context", "backward", "vjp"):
            held = inspect.getattr_static(function, name)
            plain = getattr(held, "__func__", held)
            if kinds.is_ours(plain) and plain.__qualname__.startswith("Function."):
                continue
            read = f"getattr({self.guards.name(function)}, {name!r})"
            self.guards.same(read, plain, f"{function.__name__}.{name}")
            if not isinstance(held, staticmethod) or type(plain) is not types.FunctionType:
                self.stop(f"{function.__name__}.{name} is no static method")
                return function
            once = plain.__code__ is ONCE
            try:
                method = self.rewritten(inspect.unwrap(plain) if once else plain)
            except Unclear as error:
                self.stop(f"{function.__name__}.{name} is {error}")
                return function
            methods[name] = staticmethod(once_differentiable(method) if once else method)
        made: Any = type(function)(function.__name__, (function,), methods)  # type: ignore[misc]
        self.remade[function] = made
        return made

    def of_tree(self, function: Any, args: Any, options: Any) -> Any:
        """What is in a module, as an iterator: a replay asks whether it is the same."""
        found = list(self.run(function, *args, **options))
        if args or options or id(function.__self__) not in self.outer:
            self.stop(f"{function.__qualname__} is called with arguments")
            return iter(found)
        read = f"[*{self.guards.name(function.__self__)}.{function.__name__}()]"
        self.seen(read, found, function.__qualname__)
        return iter(found)

    def pure(self, function: Any, args: Any, options: Any) -> Any:
        """What a function of Python's gives, which reads nothing from outside."""
        others = [
            v for v in args if not isinstance(v, kinds.ITERABLE) and hasattr(type(v), "__iter__")
        ]
        if others and kinds.is_one(function, kinds.BY_METHODS):
            self.stop(f"{kinds.name_of(function)} of a {type(others[0]).__name__}")
        elif kinds.is_one(function, kinds.THROUGH) and (
            len(args) == 1 or function not in (max, min)
        ):
            args = [self.through(v) if any(v is each for each in others) else v for v in args]
        if function in (float, int, complex) and len(args) == 1 and kinds.is_number(args[0]):
            number = self.recording.of_tensor(np.ndarray.item, args[0])
            return self.recording.derived(function, (number,), options)
        if function is str:
            for value in args[:1]:
                self.shown(value)
        if function is len and not isinstance(args[0], Tensor):
            own = self.special(args[0], "__len__")
            if own is not None:
                return self.call(own)
        found = self.run(function, *args, **options)
        if kinds.is_one(function, kinds.OF_CLASSES) and id(args[0]) in self.outer:
            called = ", ".join(map(self.guards.name, args))
            self.guards.add(
                f"{kinds.name_of(function)}({called}) is {self.guards.name(found)}",
                f"the class of a {type(args[0]).__name__}",
            )
        return found

    def attribute_or(self, owner: Any, name: str, *default: Any) -> Any:
        """`getattr`."""
        static = inspect.getattr_static(owner, name, MISSING)
        if kinds.answers(type(owner)) and (static is MISSING or isinstance(static, property)):
            self.stop(f"{name} is read, which a function may give")
            return getattr(owner, name, *default)
        if static is not MISSING or not default or self.run(hasattr, owner, name):
            try:
                return self.attribute(owner, name)
            except AttributeError:
                if not default:
                    raise
                self.stop(f"{name} is read, which a function does not give")
                return default[0]
        if id(owner) in self.outer:
            self.guards.add(f"not hasattr({self.guards.name(owner)}, {name!r})", name)
        return default[0]

    def enter_function(self, function: Any, args: Any, options: Any) -> Any:
        """What a function gives that is rewritten itself."""
        plain = function
        if type(function) is types.MethodType:
            plain, args = function.__func__, (function.__self__, *args)
        if type(plain) is not types.FunctionType:
            self.stop(f"{getattr(function, '__qualname__', function)} is called")
            return self.run(plain, *args, **options)
        return self.run(self.made_anew(plain), *args, **options)

    def made_anew(self, function: Any) -> Any:
        """A function rewritten, once; itself where that cannot be, which ends the recording."""
        if function not in self.remade and function.__code__ not in self.codes:
            try:
                self.remade[function] = self.rewritten(function)
            except Unclear as error:
                self.stop(f"{function.__qualname__} is {error}")
            if not kinds.is_ours(function) and (
                why := self.guards.function(function, function.__qualname__)
            ):
                self.stop(f"{why} is read")
        return self.remade.get(function, function)

    def rewritten(self, function: Any) -> Any:
        """A function rewritten for this watch."""
        made = rewritten(function, self.told)
        waiting = [made.__code__]
        while waiting:
            code = waiting.pop()
            if code in self.codes:
                continue
            self.codes.add(code)
            waiting += [c for c in code.co_consts if isinstance(c, types.CodeType)]
        for part in ("__defaults__", "__kwdefaults__"):
            if getattr(function, part):
                self.enter(f"{self.guards.name(function)}.{part}", getattr(function, part))
        return made

    def module(self, module: Any, args: Any, options: Any) -> Any:
        """What a module gives."""
        if id(module) not in self.outer:
            self.stop("a module that was made here is called")
            return module(*args, **options)
        name, kind = self.guards.name(module), type(module)
        plain = kind.__call__ is Module.__call__
        self.guards.add(
            f"{name}.__class__ is {self.guards.name(kind)}", f"the class of a {kind.__name__}"
        )
        call = self.guards.name(Module.__call__)
        self.guards.add(f"{self.guards.name(kind)}.__call__ is {call}", "calls of modules")
        own = [] if module._hooks is None else [module._hooks, of_all_modules]
        if not plain or any(hooks.some() for hooks in own):
            self.stop(f"{kind.__name__} has hooks, or a call of its own")
            return module(*args, **options)
        none = f"not ({name}._hooks.some() or {self.guards.name(of_all_modules)}.some())"
        self.guards.add(none if own else f"{name}._hooks is None", f"hooks of {kind.__name__}")
        return self.call(self.attribute(module, "forward"), *args, **options)

    def ours(self, function: Any, owner: Any, args: Any, options: Any) -> Any:
        """What a function of this package gives."""
        if isinstance(function, type) and kinds.is_context(function):
            read = getattr(function, "_in_compiled_steps", {}).get("__enter__")
            if read is not None and id(read) not in self.outer:  # before any is entered
                self.outer[id(read)] = read
                self.guards.same(f"{self.guards.name(read)}()", read(), read.__name__)
            return self.run(function, *args, **options)
        name = getattr(function, "__name__", "")
        if name == "item" and kinds.is_number(owner):
            return self.recording.of_tensor(np.ndarray.item, owner)
        if "empty" in name:  # which may fill what nobody has written
            self.guards.parts(modes.determinism, ("enabled", "fill_uninitialized_memory"), name)
        if name in kinds.LISTS:
            if isinstance(owner, Tensor) and kinds.is_asked(owner, name, options):
                return self.recording.of_tensor(kinds.LISTS[name], owner)
            self.stop(f"{name}() of a tensor is called")
        ways = getattr(type(owner), "_in_compiled_steps", {})
        way = ways.get(name)
        if way == "rewritten":
            return self.enter_function(function, args, options)
        if way == "asked":
            return self.recording.derived(function, args, options)
        if name in ways and way is None:
            return self.run(function, *args, **options)
        if way or isinstance(owner, (Optimizer, LRScheduler)):
            lasting = way != "repeated" and name != "zero_grad"
            return self.of_optimizer(function, owner, args, options, lasting)
        args = [list(v) if type(v) is type(iter([])) else v for v in args]
        if name in ("clip_grad_norm_", "clip_grad_value_"):
            args = [self.run(list, v) if isinstance(v, kinds.LAZY) else v for v in args]
            return self.recording.again(function, args, options)
        if name == "zero_grad":
            return self.recording.again(function, args, options, self.recording.ahead)
        if type(function) is types.FunctionType and function.__closure__:
            function = self.opened(function)
        args = [self.handed(v) for v in args]
        options = {key: self.handed(v) for key, v in options.items()}
        if isinstance(function, type) and holds((args, options), Tensor):
            self.stop(f"a {function.__name__} is made")
        bound = owner is not MISSING and owner is not None
        if (
            bound
            and not isinstance(owner, (Tensor, types.ModuleType, type))
            and (id(owner) not in self.outer or not isinstance(owner, Generator))
        ):
            self.stop(f"a method of a {type(owner).__name__} is called")
        if self.stopped or isinstance(owner, Tensor) or holds((args, options), Tensor):
            return self.run(self.placed(function, 1), *args, **options)
        if not isinstance(function, type) or issubclass(function, Tensor):
            lasting = self.recording.lasting.copy()
            found = self.recording.again(function, args, options, lasting=name not in kinds.FIXED)
            if found is not None and type(found) in kinds.PLAIN and not self.stopped:
                self.recording.steps.pop()
                self.recording.lasting = lasting
                self.asked(function, args, options, found)
            if not isinstance(found, Tensor) and not (
                type(found) in kinds.PLAIN or callable(found) or holds(found, Tensor)
            ):
                self.stop(f"{name} gives a {type(found).__name__}")
            return found
        self.stop(f"a {function.__name__} is made")
        return self.run(function, *args, **options)

    def of_optimizer(
        self, function: Any, owner: Any, args: Any, options: Any, lasting: bool = True
    ) -> Any:
        """What a method of an optimizer, a schedule or the like gives, which a replay calls again.

        Guards look before the call, so settings that a step has changed are not read after.
        """
        name = kinds.name_of(function)
        stepping = [v for v in (owner, *args) if isinstance(v, Optimizer) and name == "step"]
        for each in stepping:
            self.without_hooks(each)
        found = self.recording.again(function, args, options, lasting)
        self.reads.clear()
        if type(found) is list and kinds.is_simple(found) and not self.stopped:  # learning rates
            found = asked(found, len(self.recording.steps) - 1, self.recording)
        elif found is not None and not isinstance(found, Tensor):
            self.stop(f"{name} gives a {type(found).__name__}")
        changed = [
            each for each in stepping if not kinds.is_ours(type(each))
        ]  # by code of the user's
        if isinstance(owner, LRScheduler):
            changed.append(owner.optimizer)
        self.scheduled.update([id(group) for each in changed for group in each.param_groups])
        if not self.scheduled.isdisjoint(self.outer):
            self.stop("settings that a step changes are read")
        self.changed.update(map(id, changed))
        return found

    def without_hooks(self, optimizer: Optimizer) -> None:
        """See that an optimizer has no hooks around its steps: they may change what is read."""
        own, name = self.guards.name(optimizer), self.guards.name
        some = f"any({own}._hooks.values()) or {name(before_any)} or {name(after_any)}"
        self.guards.add(f"not ({some})", f"hooks of {type(optimizer).__name__}")
        if any(optimizer._hooks.values()) or before_any or after_any:
            self.stop(f"{type(optimizer).__name__} has hooks")

    def asked(self, function: Any, args: Any, options: Any, found: Any) -> None:
        """See that a function of this package gives the same number, text or truth again."""
        if kinds.name_of(function) == "seed":
            self.stop("a seed is drawn")
        elif kinds.name_of(function) not in kinds.OF_MODES:
            names = self.guards.name
            read = f"{names(function)}(*{names(args)}, **{names(options)})"
            self.guards.same(read, found, kinds.name_of(function))

    def handed(self, value: Any) -> Any:
        """An argument for a function of this package: a function of the user's is rewritten."""
        if type(value) is partial:
            return partial(self.handed(value.func), *value.args, **value.keywords)
        users = type(value) is types.FunctionType and not kinds.is_ours(value)
        return self.made_anew(value) if users else value

    def opened(self, function: Any) -> Any:
        """A function of this package, such as `vmap` gives; the user's that it holds is rewritten.

        What it holds was there before, or was made here of what is rewritten.
        """
        cells = []
        for name, cell in zip(function.__code__.co_freevars, function.__closure__, strict=True):
            held = cell.cell_contents
            if type(held) is types.FunctionType and held.__code__ not in self.codes:
                if not kinds.is_ours(held):
                    read = f"{self.guards.name(cell)}.cell_contents"
                    held = self.handed(self.seen(read, held, name))
                elif held.__closure__ and held is not function:
                    held = self.opened(held)
            cells.append(types.CellType(held))
        made = types.FunctionType(
            function.__code__, function.__globals__, function.__name__, function.__defaults__,
            tuple(cells),
        )  # fmt: skip
        made.__kwdefaults__ = function.__kwdefaults__
        return made

    # -- what nobody rewrote ---------------------------------------------------------------------

    def begins(self, frame: Any, warn: Any) -> None:
        """End the recording where code of the user's runs that nobody rewrote, or at a warning."""
        if warn is not None:
            self.stop("a warning is given")
        if self.stopped:
            return
        code, home = frame.f_code, str(frame.f_globals.get("__name__"))
        method = code.co_name.startswith("__")
        owner = next(iter(frame.f_locals.values()), None) if method else None
        if isinstance(owner, Module) and frame.f_back.f_code in self.codes:  # Python calls it
            if code.co_name == "__len__":
                read = f"len({self.guards.name(owner)})"
                self.seen(read, len(owner), f"len() of a {type(owner).__name__}")
            else:
                self.stop(f"{code.co_qualname} is called")
        elif isinstance(owner, Module) and code is CALL and not self.recording.suspended:
            self.layer(owner)
        top = home.partition(".")[0]
        if code in self.codes or kinds.is_trusted(top):
            if code in self.codes or not (method and top in sys.stdlib_module_names):
                if not isinstance(owner, Module):
                    self.known[id(code)] = code
            elif id(owner) in self.outer and not (
                isinstance(owner, kinds.CONSTANT) or kinds.is_context(type(owner))
            ):
                self.stop(f"{code.co_qualname} is called")  # it may read what nobody sees
            return
        if self.recording.suspended or self.importing(frame):
            return
        self.recording.stop(
            f"{code.co_qualname} runs within, at {code.co_filename}:{code.co_firstlineno}"
        )

    def layer(self, module: Module) -> None:
        """See that a module that a function of this package calls is as it was.

        Its tensors may be others, which `functional_call` has put there.
        """
        kind, name, space = type(module), self.guards.name(module), vars(module)
        about = f"the attributes of a {kind.__name__}"
        if not kinds.is_ours(kind):
            self.stop(f"a {kind.__name__} is called within")
        self.guards.add(f"vars({name}).keys() == {set(space)!r}", about)
        self.guards.add(f"not ({name}._hooks and {name}._hooks.some())", about)
        self.guards.add(f"not {self.guards.name(of_all_modules)}.some()", about)
        for key, value in {"__class__": kind, **space}.items():
            if key in ("_parameters", "_buffers"):
                none = [each for each in value if value[each] is None]
                found = f"[n for n, t in {name}.{key}.items() if t is None] == {none!r}"
                self.guards.add(f"list({name}.{key}) == {list(value)!r} and {found}", about)
            elif key != "_hooks" and (
                why := self.guards.same(f"getattr({name}, {key!r})", value, about)
            ):
                self.stop(f"{why} is read")

    def importing(self, frame: Any) -> bool:
        """Whether a frame runs for an import in the step."""
        while frame is not None and frame.f_code not in self.codes:
            if frame.f_globals.get("__name__") == "importlib._bootstrap":
                return True
            frame = frame.f_back
        return False
