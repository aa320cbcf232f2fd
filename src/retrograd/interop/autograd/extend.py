"""Functions with derivatives of the user's own: `primitive`, `defvjp` and `defjvp`.

NOTE [Primitives]
1. A primitive gets plain arrays, and what it does with them is not recorded.
2. Its rules get arrays, too, or boxes where what they do is to be differentiated again.
3. A derivative that is asked for but was not given raises NotImplementedError.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from ... import pytree
from ...autograd import Function
from ...engine.tensor import Tensor
from ...ops import conj
from .boxes import ArrayBox, boxed, getval, tensor_of
from .tracing import differentiable, fitted
from .vectors import VSpace, vspace

__all__ = [
    "Box", "VSpace", "def_linear", "defjvp", "defjvp_argnum", "defjvp_argnums", "defvjp",
    "defvjp_argnum", "defvjp_argnums", "notrace_primitive", "primitive", "vspace",
]  # fmt: skip

Box = ArrayBox

NO_RULE = (
    "{mode} of {name} wrt argnum {argnum} not defined. Give it as {define}({name}, ...), with "
    "a rule for this argument."
)


def primitive(fun: Callable[..., Any]) -> Callable[..., Any]:
    """`fun` as a step of its own, whose derivatives `defvjp` and `defjvp` give: NOTE [Primitives].

    >>> from retrograd.interop.autograd import grad
    >>> from retrograd.interop.autograd.extend import defvjp, primitive
    >>> @primitive
    ... def cube(x):
    ...     return x**3
    >>> defvjp(cube, lambda ans, x: lambda g: g * 3 * x**2)
    >>> float(grad(cube)(2.0)), float(grad(grad(cube))(2.0))
    (12.0, 12.0)
    """

    @wraps(fun, updated=())
    def wrapped(*args: Any, **options: Any) -> Any:
        leaves = pytree.flatten(args)
        places = [place for place, leaf in enumerate(leaves) if isinstance(leaf, ArrayBox)]
        answer = fun(*getval(args), **getval(options))
        answers = pytree.flatten(answer)
        if not places or not all(map(differentiable, answers)):
            return answer
        call = Call(wrapped, args, options, places, answer)
        outs = Step.apply(call, *(leaves[place]._tensor for place in places))
        return pytree.unflatten(answer, [boxed(out) for out in outs])

    wrapped.fun = fun  # type: ignore[attr-defined]
    wrapped.backward_rule = wrapped.forward_rule = None  # type: ignore[attr-defined]
    return wrapped


def notrace_primitive(fun: Callable[..., Any]) -> Callable[..., Any]:
    """`fun` on plain arrays, without a gradient: for questions about values."""

    @wraps(fun, updated=())
    def wrapped(*args: Any, **options: Any) -> Any:
        return fun(*getval(args), **getval(options))

    return wrapped


class Call:
    """A call of a primitive: the arguments, which leaves of them are boxes, and the answer."""

    def __init__(self, fun: Any, args: Any, options: Any, places: list[int], answer: Any) -> None:
        self.fun, self.options, self.places, self.answer = fun, getval(options), places, answer
        self.args = getval(args)  # the boxes' tensors are saved by the engine
        ends = np.cumsum([len(pytree.flatten(arg)) for arg in args])
        owners = [int(np.searchsorted(ends, place, "right")) for place in places]
        self.argnums = sorted(set(owners))

    def given(self, tensors: tuple[Tensor, ...]) -> tuple[Any, tuple[Any, ...]]:
        """The answer and the arguments, with saved tensors in the boxes' places."""
        leaves = pytree.flatten(self.args)
        count = len(self.places)
        for place, tensor in zip(self.places, tensors[:count], strict=True):
            leaves[place] = boxed(tensor)
        answer = pytree.unflatten(self.answer, [boxed(out) for out in tensors[count:]])
        return answer, pytree.unflatten(self.args, leaves)

    def spread(self, parts: Any) -> list[Any]:
        """One value for each box, of what a rule gives for the arguments that hold them."""
        blank: list[Any] = [None] * len(pytree.flatten(self.args))
        starts = np.cumsum([0, *(len(pytree.flatten(arg)) for arg in self.args)])
        for argnum, part in zip(self.argnums, parts, strict=True):
            leaves = pytree.flatten(part)
            blank[starts[argnum] : starts[argnum + 1]] = (
                leaves if part is not None else [None] * (starts[argnum + 1] - starts[argnum])
            )
        return [blank[place] for place in self.places]


class Step(Function):
    """What the graph records of a primitive."""

    @staticmethod
    def forward(call: Call, *tensors: Tensor) -> tuple[Tensor, ...]:
        return tuple(map(tensor_of, pytree.flatten(call.answer)))

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.call = inputs[0]
        ctx.save_for_backward(*inputs[1:], *output)
        ctx.save_for_forward(*inputs[1:], *output)

    @staticmethod
    def backward(ctx: Any, *gs: Tensor) -> tuple[Any, ...]:
        call, saved = ctx.call, ctx.saved_tensors
        if call.fun.backward_rule is None:
            raise missing("VJP", call, call.argnums[0], "defvjp")
        answer, args = call.given(saved)
        g = pytree.unflatten(call.answer, [boxed(conj(part)) for part in gs])
        found = call.fun.backward_rule(call.argnums, answer, args, call.options)(g)
        return None, *(
            None if part is None else fitted(conj(tensor_of(part)), tensor)
            for part, tensor in zip(call.spread(found), saved, strict=False)
        )

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Any:
        call, saved = ctx.call, ctx.saved_tensors
        if call.fun.forward_rule is None:
            raise missing("JVP", call, call.argnums[0], "defjvp")
        answer, args = call.given(saved)
        along = pytree.flatten(pytree.map_leaves(np.zeros_like, call.args))
        for place, tangent in zip(call.places, tangents[1:], strict=True):
            if tangent is not None:
                along[place] = boxed(tangent)
        gs = pytree.unflatten(call.args, along)
        found = call.fun.forward_rule(
            call.argnums, [gs[argnum] for argnum in call.argnums], answer, args, call.options
        )
        outs = saved[len(call.places) :]
        return tuple(
            fitted(tensor_of(part), out)
            for part, out in zip(pytree.flatten(found), outs, strict=True)
        )


def missing(mode: str, call: Call, argnum: int, define: str) -> NotImplementedError:
    """The error for a derivative that was asked for and not given."""
    name = getattr(call.fun, "__name__", "the primitive")
    return NotImplementedError(NO_RULE.format(mode=mode, name=name, argnum=argnum, define=define))


def defvjp_argnums(fun: Any, maker: Callable[..., Any]) -> None:
    """Give all gradients of a primitive: maker(argnums, ans, args, kwargs)(g) is their tuple."""
    fun.backward_rule = maker


def defvjp_argnum(fun: Any, maker: Callable[..., Any]) -> None:
    """Give gradients one by one: maker(argnum, ans, args, kwargs)(g) is that of one argument."""

    def rule(argnums: Any, *rest: Any) -> Callable[[Any], Any]:
        vjps = [maker(argnum, *rest) for argnum in argnums]
        return lambda g: tuple(vjp(g) for vjp in vjps)

    fun.backward_rule = rule


def defvjp(fun: Any, *makers: Any, argnums: Any = None) -> None:
    """Give the gradients of a primitive, a maker for each argument, or for those in `argnums`.

    maker(ans, *args, **kwargs)(g) is the gradient; None in place of a maker says that it is zero.
    """
    named = dict(zip(range(len(makers)) if argnums is None else argnums, makers, strict=False))

    def maker(argnum: int, ans: Any, args: Any, options: Any) -> Callable[[Any], Any]:
        if argnum not in named:
            raise NotImplementedError(
                NO_RULE.format(mode="VJP", name=fun.__name__, argnum=argnum, define="defvjp")
            )
        if named[argnum] is None:
            return lambda g: vspace(args[argnum]).zeros()
        return named[argnum](ans, *args, **options)

    defvjp_argnum(fun, maker)


def defjvp_argnums(fun: Any, rule: Callable[..., Any]) -> None:
    """Give the derivative forward, of all tangents: rule(argnums, gs, ans, args, kwargs)."""
    fun.forward_rule = rule


def defjvp_argnum(fun: Any, rule: Callable[..., Any]) -> None:
    """Give it one by one: rule(argnum, g, ans, args, kwargs); the parts are added."""

    def total(argnums: Any, gs: Any, ans: Any, args: Any, options: Any) -> Any:
        space = vspace(ans)
        found = space.zeros()
        for argnum, g in zip(argnums, gs, strict=True):
            found = space.add(found, rule(argnum, g, ans, args, options))
        return found

    fun.forward_rule = total


def defjvp(fun: Any, *rules: Any, argnums: Any = None) -> None:
    """Give the derivative of a primitive forward, a rule for each argument, or those in `argnums`.

    rule(g, ans, *args, **kwargs) is the tangent; "same" says that the function is linear in the
    argument, None that its derivative is zero.
    """
    named = dict(zip(range(len(rules)) if argnums is None else argnums, rules, strict=False))

    def rule(argnum: int, g: Any, ans: Any, args: Any, options: Any) -> Any:
        if argnum not in named:
            raise NotImplementedError(
                NO_RULE.format(mode="JVP", name=fun.__name__, argnum=argnum, define="defjvp")
            )
        if named[argnum] is None:
            return vspace(ans).zeros()
        if named[argnum] == "same":
            return fun(*args[:argnum], g, *args[argnum + 1 :], **options)
        return named[argnum](g, ans, *args, **options)

    defjvp_argnum(fun, rule)


def def_linear(fun: Any) -> None:
    """Say that a primitive is linear in each of its arguments: its derivative forward is itself."""
    defjvp_argnum(
        fun,
        lambda argnum, g, ans, args, options: fun(
            *args[:argnum], g, *args[argnum + 1 :], **options
        ),
    )
