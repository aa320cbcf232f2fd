"""Operators that a program defines: NOTE [Custom operators].

NOTE [Custom operators]
1. The function of `custom_op` runs without recording; where an input wants a gradient, the operator
   is one node, whose backward is what `register_autograd` was given, and which raises if it was
   given none. A function of a `Library` is recorded as it runs until a formula is registered; what
   it gives without a history has a node that raises. It may return an input, or a view of one.
2. Modes and classes with a `__torch_dispatch__` see the operator, not what its function calls:
   `library/dispatch.py`.
3. On the meta device the function of `register_fake` runs in its place, to tell shapes; without
   one, an operator that returns something raises there.
4. A write to what `mutates_args` names is counted, whichever way the function writes, and whether
   or not it ends by an error.
5. A function for autocast is called where that is enabled; what it casts, it hands on to the
   operator in a region without.
6. A composite function is recorded as it runs, so it has a derivative of every order; a formula
   that is registered stands before it: then rule 1 holds.
7. A batch of `vmap` goes to the function of `register_vmap`, without defaults at the end; without
   such a function, to the operator once per example.
8. An overload "name.out" is an operator of its own, an attribute of the one called "name".
9. A function for autograd runs in place of all that, recorded as it runs; what it calls within
   `_C._AutoDispatchBelowAutograd` are the other functions.
10. The texts of schemas, and tags, serve PyTorch's compiler: nothing is checked by them.
11. Functions may come before the definition, as they do where a library has them in several files.
    One for the cpu goes before one for all devices, whichever came first.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import threading
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import dtypes, pytree
from ...autograd.function import Function
from ...autograd.grad_mode import is_grad_enabled, set_grad_enabled
from ...autograd.transformed import has_batch
from ...engine.tensor import Tensor, wrote
from ...kernels.memory import root
from ..amp.autocast_mode import autocast, cast, is_autocast_enabled
from ..overrides import handle_torch_function, has_torch_function
from .handlers import dispatch, is_dispatched
from .schemas import Schema, infer_schema

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = ["OPERATORS", "CustomOpDef", "custom_op", "register_autocast", "register_autograd",
           "register_fake", "register_kernel", "register_vmap"]  # fmt: skip

OPERATORS: dict[str, Namespace] = {}
EARLY: dict[str, list[tuple[str, Any]]] = {}  # functions by key, of operators not yet defined
KEYS = {
    "Autograd": "_recorded",
    "AutogradCPU": "_recorded",
    "CPU": "_kernel",
    "CompositeExplicitAutograd": "_anywhere",
    "CompositeImplicitAutograd": "_composite",
    "AutocastCPU": "_autocast",
    "Meta": "_fake",
}  # of `Library.impl`; other keys are those of devices that are not here
below_autograd = threading.local()  # its depth: regions without functions for autograd
NO_FORMULA = (
    "Trying to backward through {name} but no autograd formula was registered. Please use "
    "register_autograd to add one."
)
NO_FAKE = (
    "There was no fake impl registered for {operator!r}: on the meta device nothing tells what it "
    "gives. Write {operator._name}.register_fake(function), or "
    "library.register_fake({operator._qualname!r}, function)"
)
NO_KERNEL = (
    "Could not run '{name}' with arguments from the 'CPU' backend: it is defined, and has no "
    "function. Write library.register_kernel({name!r}, 'cpu', function)"
)
ALIASED = (
    "{name}: The output of this custom operator (1) must not also be an input to this custom "
    "operator and (2) may not alias any inputs. Return x.clone()"
)


class Namespace(SimpleNamespace):
    """The operators of a namespace, as attributes; later ones, too."""

    def __init__(self, name: str) -> None:
        self.__name__ = name

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(
            f"'_OpNamespace' '{self.__name__}' object has no attribute {name!r}: no such operator "
            "is defined"
        )


class CustomOpDef:
    """An operator by the name "namespace::name"; made by `custom_op`.

    >>> from retrograd.library import custom_op
    >>> custom_op("mine::twice", lambda x: x * 2, mutates_args=())(rg.ones(2))
    tensor([2., 2.])
    """

    def __init__(
        self,
        name: str,
        function: Callable[..., Any] | None,
        mutates_args: Iterable[str] = (),
        signature: inspect.Signature | None = None,
        schema: str | None = None,
    ) -> None:
        space, separator, own = name.partition("::")
        base, _, overload = own.partition(".")
        if not (separator and all(map(str.isidentifier, (space, base, overload or base)))):
            raise ValueError(f"the name of a custom op is 'namespace::name', but got {name!r}")
        self._qualname, self.namespace, self._name = name, space, own
        self._overload, self._init_fn, self._text = overload, function, schema
        self._signature = signature or inspect.signature(function)  # type: ignore[arg-type]
        known = {*self._signature.parameters}
        self._mutated = known if mutates_args == "unknown" else {*mutates_args}
        if wrong := self._mutated - known:
            raise ValueError(
                f"{wrong} in mutates_args were not found in the custom op's signature: {name} has "
                f"the arguments {', '.join(self._signature.parameters)}"
            )
        unset: Any = None
        self._kernel, self._fake, self._anywhere = unset, unset, unset
        self._composite, self._autocast, self._vmap, self._recorded = unset, unset, unset, unset
        self._backward: Callable[..., Any] | None = None
        self._setup: Callable[..., Any] | None = None
        self.__name__, self.__doc__ = own, function.__doc__ if function else None
        known_here = OPERATORS.setdefault(space, Namespace(space))
        setattr(known_here, own, self)
        if overload:
            setattr(vars(known_here).setdefault(base, self), overload, self)
        for key, given in EARLY.pop(name, ()):
            give(name, key, given)

    @property
    def default(self) -> CustomOpDef:
        """The operator itself: PyTorch's name for its only overload."""
        return self

    _opoverload = overloadpacket = _overloadpacket = default  # other names of it

    @functools.cached_property
    def _function(self) -> type[Recorded]:
        own = f"{self.namespace}_{self._name.replace('.', '_')}"
        which = "" if self._overload else "_default"
        return type(f"GeneratedBackwardFor_{own}{which}", (Recorded,), {})

    @functools.cached_property
    def _schema(self) -> Schema:
        name, parameters = self._qualname.partition(".")[0], self._signature.parameters.values()
        text = self._text
        if text is None:
            with contextlib.suppress(ValueError):  # not all is annotated
                text = infer_schema(self._init_fn, mutates_args=self._mutated)  # type: ignore[arg-type]
        return Schema(name, self._overload, parameters, self._mutated, text or "")

    def name(self) -> str:
        """The name with its namespace, "namespace::name"."""
        return self._qualname

    def overloads(self) -> list[str]:
        """The names of its overloads, "default" for one without."""
        every = [self, *vars(self).values()]
        return [op._overload or "default" for op in every if isinstance(op, CustomOpDef)]

    def __deepcopy__(self, memo: dict[int, Any]) -> CustomOpDef:
        """The operator itself: there is one."""
        return self

    def __str__(self) -> str:
        return f"{self.namespace}.{self._name}{'' if self._overload else '.default'}"

    def __repr__(self) -> str:
        return f"<CustomOpDef({self._qualname})>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The result of the operator: NOTE [Custom operators]."""
        try:
            bound = self._signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{self._qualname}{self._signature}: {error}") from None
        bound.apply_defaults()
        names, given = list(bound.arguments), list(bound.arguments.values())
        leaves = pytree.flatten(given)
        if has_torch_function(leaves):
            return handle_torch_function(self, leaves, *args, **kwargs)
        if self._autocast is not None and is_autocast_enabled("cpu"):
            return self._autocast(*bound.args, **bound.kwargs)
        if self._recorded is not None and not getattr(below_autograd, "depth", 0):
            return self._recorded(*bound.args, **bound.kwargs)
        if self._composite is not None and self._backward is None:
            return self._composite(*bound.args, **bound.kwargs)
        if self._vmap is not None and has_batch(leaves):
            like = pytree.map_leaves(lambda _: None, given)
            return Batched.apply(self, names, like, *leaves)
        wanted = any(isinstance(leaf, Tensor) and leaf.requires_grad for leaf in leaves)
        if not (wanted and is_grad_enabled()):
            return self._run(given, names)
        if self._is_open():
            found = self._run(given, names)
            return pytree.map_leaves(lambda leaf: with_history(self, leaf, leaves), found)
        return self._function.apply(self, names, pytree.map_leaves(lambda _: None, given), *leaves)

    def _is_open(self) -> bool:
        """Whether the function is recorded as it runs: of a `Library`, without a formula."""
        return self._init_fn is None and self._backward is None

    def _run(self, given: list[Any], names: list[str]) -> Any:
        positional, named = self._split(given, names)
        if is_dispatched(positional, named):
            return dispatch(self, self._shortened(positional), named)
        tensors = [t for t in pytree.flatten(given) if isinstance(t, Tensor)]
        on_meta = any(t.device.type == "meta" for t in tensors)
        function = (self._fake if on_meta else self._kernel) or self._anywhere or self._composite
        if function is None:
            if on_meta and self._signature.return_annotation in (None, "None"):
                return None
            text = NO_FAKE if on_meta else NO_KERNEL
            raise NotImplementedError(text.format(operator=self, name=self._qualname))
        versions = [
            (leaf, leaf._version)
            for name, value in zip(names, given, strict=True)
            for leaf in (pytree.flatten(value) if name in self._mutated else ())
            if isinstance(leaf, Tensor)
        ]
        try:
            with set_grad_enabled(is_grad_enabled() and self._is_open()):
                found = function(*positional, **named)
        finally:
            for leaf, version in versions:
                if self._init_fn is not None or leaf._version == version:
                    wrote(leaf, self._name)
        if self._init_fn is not None and any(
            shares(out, t) for out in pytree.flatten(found) for t in tensors
        ):
            raise RuntimeError(ALIASED.format(name=self._qualname))
        return found

    def _split(self, given: list[Any], names: list[str]) -> tuple[list[Any], dict[str, Any]]:
        """Arguments as the function takes them: by position, and by name only."""
        kinds = [self._signature.parameters[name].kind for name in names]
        pairs = list(zip(names, given, kinds, strict=True))
        only = inspect.Parameter.KEYWORD_ONLY
        return [value for _, value, kind in pairs if kind is not only], {
            name: value for name, value, kind in pairs if kind is only
        }

    def _shortened(self, positional: list[Any]) -> list[Any]:
        """Arguments without the defaults at the end."""
        parameters = list(self._signature.parameters.values())[: len(positional)]
        while positional and positional[-1] is parameters.pop().default:
            positional = positional[:-1]
        return positional

    def register_autograd(
        self, backward: Callable[..., Any], /, *, setup_context: Callable[..., Any] | None = None
    ) -> None:
        """Let `backward(ctx, *grads)` be the gradient: one value per argument, None for none.

        `setup_context(ctx, inputs, output)` keeps what it needs.
        """
        self._backward, self._setup = backward, setup_context

    def register_fake(self, fn: Callable[..., Any], /) -> Callable[..., Any]:
        """Let `fn` tell shapes and dtypes of the outputs on the meta device."""
        self._fake = fn
        return fn

    def register_vmap(self, fn: Callable[..., Any] | None = None, /) -> Any:
        """Let `fn(info, in_dims, *args)` be the operator on batches, also as a decorator.

        It returns the outputs, and their batch dimensions, as `autograd.Function.vmap` does.
        """
        return self._keep("_vmap", fn)

    def register_autocast(self, device_type: str, cast_inputs: dtypes.dtype) -> None:
        """Let the operator run on floating tensors of the dtype `cast_inputs` under autocast.

        Raises ValueError for a device without autocast.
        """
        if device_type not in ("cpu", "cuda"):
            raise ValueError(f"Device type {device_type!r} does not support autocast.")

        def narrowed(*args: Any, **kwargs: Any) -> Any:
            with autocast("cpu", enabled=False):
                return self(*cast(args, cast_inputs), **cast(kwargs, cast_inputs))

        if device_type == "cpu":
            self._autocast = narrowed

    def register_kernel(self, device_types: Any, fn: Any = None, /) -> Any:
        """Let `fn` be the function on the cpu; on devices that are not here it is not needed."""
        kinds = [device_types] if isinstance(device_types, str) else device_types
        return self._keep("_kernel" if kinds is None or "cpu" in kinds else "_elsewhere", fn)

    def _keep(self, what: str, function: Callable[..., Any] | None) -> Any:
        """Keep a function, and give it back; without one, a decorator that does."""
        if function is None:
            return functools.partial(self._keep, what)
        setattr(self, what, function)
        return function


def shares(out: Any, tensor: Tensor) -> bool:
    """Whether a result is an input, or in its memory."""
    if not isinstance(out, Tensor):
        return False
    x, y = out._array, tensor._array
    return out is tensor or (x.__class__ is y.__class__ is np.ndarray and root(x) is root(y))


class OwnContext:
    """The context of a call as the operator's functions see it: of its own arguments alone."""

    def __init__(self, ctx: Any) -> None:
        object.__setattr__(self, "_ctx", ctx)

    @property
    def needs_input_grad(self) -> tuple[Any, ...]:
        """For each argument whether a gradient is wanted; for one that holds several, of each."""
        ctx = self._ctx
        wanted = ctx.needs_input_grad[3:]
        return tuple(pytree.unflatten(ctx.like, wanted[: len(wanted) - ctx.rest]))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._ctx, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._ctx, name, value)


class Recorded(Function):
    """A call of an operator of which a gradient is wanted."""

    @staticmethod
    def forward(operator: CustomOpDef, names: list[str], like: list[Any], *leaves: Any) -> Any:
        """The result of the operator's function for arguments of the structure `like`."""
        return operator._run(pytree.unflatten(like, leaves), names)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        """Save what the operator's backward needs."""
        operator, names, like, *leaves = inputs
        positional, only = operator._split(pytree.unflatten(like, leaves), names)
        count = len(positional)
        ctx.operator, ctx.like, ctx.rest = operator, like[:count], len(pytree.flatten(like[count:]))
        if operator._setup is not None:
            named = {"keyword_only_inputs": only} if only else {}
            operator._setup(ctx=OwnContext(ctx), inputs=tuple(positional), output=output, **named)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        """The gradients that the operator's backward gives, none for what this one adds."""
        operator = ctx.operator
        if operator._backward is None:
            raise RuntimeError(NO_FORMULA.format(name=operator))
        found = operator._backward(OwnContext(ctx), *grads)
        found = found if isinstance(found, tuple) else (found,)
        if len(found) != len(ctx.like):
            raise RuntimeError(
                f"the backward of {operator._qualname} returned {len(found)} gradients, but the "
                f"operator has {len(ctx.like)} arguments. Return one for each, None for none"
            )
        pairs = zip(found, ctx.like, strict=True)
        flat = [grad for part, like in pairs for grad in pytree.broadcast(part, like)]
        return (None, None, None, *flat, *[None] * ctx.rest)


class Hidden(Function):
    """What a function gave without a history: a backward pass through it raises."""

    @staticmethod
    def forward(ctx: Any, operator: CustomOpDef, found: list[Tensor], *leaves: Any) -> Tensor:
        """What was found."""
        ctx.operator = operator
        return found[0]

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        """Raises RuntimeError."""
        raise RuntimeError(NO_FORMULA.format(name=ctx.operator))


def with_history(operator: CustomOpDef, leaf: Any, inputs: list[Any]) -> Any:
    """A result that says in a backward pass if its function hid from what it was computed."""
    if not isinstance(leaf, Tensor) or leaf.requires_grad:
        return leaf
    if not (leaf.is_floating_point() or leaf.is_complex()):
        return leaf
    return Hidden.apply(operator, [leaf], *inputs)


class Batched(Recorded):
    """A call of an operator on a batch, for which a function is registered."""

    @staticmethod
    def vmap(info: Any, in_dims: Any, *inputs: Any) -> Any:
        """The result of the operator's function for batches."""
        operator, names, like, *leaves = inputs
        positional, only = operator._split(pytree.unflatten(like, leaves), names)
        positional = operator._shortened(positional)
        dims, _ = operator._split(pytree.unflatten(like, in_dims[3:]), names)
        return operator._vmap(info, tuple(dims[: len(positional)]), *positional, **only)


def custom_op(
    name: str, fn: Callable[..., Any] | None = None, /, *, mutates_args: Any,
    device_types: Any = None, schema: str | None = None, tags: Any = None,
) -> Any:  # fmt: skip
    """An operator "namespace::name" from a function of tensors and numbers; also as a decorator.

    `mutates_args` names the arguments that it writes, or is "unknown". A function for
    `device_types` without the cpu runs nowhere. Raises ValueError for a name without namespace, and
    for arguments that it has not.

    >>> import retrograd.library as library
    >>> @library.custom_op("mine::cube", mutates_args=())
    ... def cube(x: rg.Tensor) -> rg.Tensor:
    ...     return x**3
    >>> cube.register_autograd(
    ...     lambda ctx, g: 3 * g * ctx.saved_tensors[0] ** 2,
    ...     setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs),
    ... )
    >>> x = rg.tensor(2.0, requires_grad=True)
    >>> cube(x).backward()
    >>> x.grad
    tensor(12.)
    """

    def define(function: Callable[..., Any]) -> CustomOpDef:
        operator = CustomOpDef(name, function, mutates_args, schema=schema)
        operator.register_kernel(device_types, function)
        return operator

    return define if fn is None else define(fn)


def defined(qualname: str) -> CustomOpDef | None:
    """The operator of a name, None for one that is not defined."""
    space, _, own = qualname.partition("::")
    return vars(OPERATORS.get(space, SimpleNamespace())).get(own)


def give(qualname: str, key: str, function: Callable[..., Any]) -> None:
    """Let a function be what an operator runs by a key of `Library.impl`; NOTE, rule 11."""
    if (operator := defined(qualname)) is None:
        EARLY.setdefault(qualname, []).append((key, function))
    elif key in KEYS:
        setattr(operator, KEYS[key], function)


def operator_named(op: str | CustomOpDef) -> CustomOpDef:
    """The operator of a name; RuntimeError for one that is not defined."""
    if isinstance(op, CustomOpDef):
        return op
    if (operator := defined(op)) is None:
        raise RuntimeError(
            f"operator {op} does not exist. Define it by library.custom_op({op!r}, ...)"
        )
    return operator


def register_fake(op: Any, func: Any = None, /, **settings: Any) -> Any:
    """`CustomOpDef.register_fake` of an operator, or of a name; also as a decorator.

    >>> from retrograd.library import custom_op, register_fake
    >>> twice = custom_op("mine::twice", lambda x: x * 2, mutates_args=())
    >>> _ = register_fake("mine::twice", rg.empty_like)
    >>> twice(rg.ones(2, device="meta")).device
    device(type='meta')
    """
    operator = operator_named(op)
    return operator.register_fake if func is None else operator.register_fake(func)


def register_kernel(op: Any, device_types: Any, func: Any = None, /, **settings: Any) -> Any:
    """`CustomOpDef.register_kernel` of an operator, or of a name; also as a decorator.

    >>> from retrograd.library import custom_op, register_kernel
    >>> twice = custom_op("mine::twice", lambda x: x * 2, mutates_args=())
    >>> _ = register_kernel(twice, "cpu", lambda x: x + x)
    >>> twice(rg.ones(2))
    tensor([2., 2.])
    """
    return operator_named(op).register_kernel(device_types, func)


def register_autograd(
    op: Any, backward: Callable[..., Any], /, *, setup_context: Any = None, **settings: Any
) -> None:
    """`CustomOpDef.register_autograd` of an operator, or of a name.

    >>> from retrograd.library import custom_op, register_autograd
    >>> twice = custom_op("mine::twice", lambda x: x * 2, mutates_args=())
    >>> register_autograd(twice, lambda ctx, g: g * 2)
    >>> x = rg.ones(1, requires_grad=True)
    >>> rg.autograd.grad(twice(x), x)
    (tensor([2.]),)
    """
    operator_named(op).register_autograd(backward, setup_context=setup_context)


def register_vmap(op: Any, func: Any = None, /, **settings: Any) -> Any:
    """`CustomOpDef.register_vmap` of an operator, or of a name; also as a decorator.

    >>> from retrograd.library import custom_op, register_vmap
    >>> total = custom_op("mine::total", lambda x: x.sum(), mutates_args=())
    >>> _ = register_vmap(total, lambda info, in_dims, x: (x.movedim(in_dims[0], 0).sum(1), 0))
    >>> rg.vmap(total)(rg.ones(2, 3))
    tensor([3., 3.])
    """
    return operator_named(op).register_vmap(func)


def register_autocast(
    op: Any, device_type: str, cast_inputs: dtypes.dtype, /, **settings: Any
) -> None:
    """`CustomOpDef.register_autocast` of an operator, or of a name.

    >>> from retrograd.library import custom_op, register_autocast
    >>> twice = custom_op("mine::twice", lambda x: x * 2, mutates_args=())
    >>> register_autocast(twice, "cpu", rg.float16)
    >>> with rg.autocast("cpu"):
    ...     twice(rg.ones(2)).dtype
    retrograd.float16
    """
    operator_named(op).register_autocast(device_type, cast_inputs)
