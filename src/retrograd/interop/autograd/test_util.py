"""Derivatives checked against differences, as HIPS autograd's programs check them."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

from .operators import make_jvp, make_vjp, unary_to_nary
from .vectors import vspace

__all__ = [
    "check_equivalent", "check_grads", "check_jvp", "check_vjp", "combo_check", "scalar_close",
]  # fmt: skip

TOLERANCE = 1e-6
STEP = 1e-6
DIFFERS = (
    "Derivative ({mode}) check of {name} failed at {x!r}: it gives {exact}, but differences give "
    "{numeric}. Check the rules of the primitives that it uses, and that it is smooth there."
)


def scalar_close(a: Any, b: Any) -> bool:
    """Whether two numbers agree to a millionth, absolutely or relatively.

    >>> from retrograd.interop.autograd.test_util import scalar_close
    >>> scalar_close(1.0, 1.0 + 1e-9), scalar_close(1.0, 1.1)
    (True, False)
    """
    return bool(abs(a - b) < TOLERANCE or abs(a - b) < TOLERANCE * abs(a + b))


def difference(f: Callable[[Any], Any], x: Any, v: Any) -> Any:
    """The central difference of `f` at `x` along `v`."""
    space = vspace(x)
    above = f(space.add(x, space.scalar_mul(v, STEP / 2)))
    below = f(space.add(x, space.scalar_mul(v, -STEP / 2)))
    results = vspace(above)
    return results.scalar_mul(results.add(above, results.scalar_mul(below, -1.0)), 1.0 / STEP)


def require(close: bool, mode: str, f: Any, x: Any, exact: Any, numeric: Any) -> None:
    """Raise AssertionError unless a derivative is close to the difference."""
    if not close:
        name = getattr(f, "__name__", "the function")
        raise AssertionError(
            DIFFERS.format(mode=mode, name=name, x=x, exact=exact, numeric=numeric)
        )


def check_vjp(f: Callable[[Any], Any], x: Any) -> None:
    """Raise AssertionError unless the gradient of a function of one argument is right."""
    vjp, y = make_vjp(f)(x)
    inputs, results = vspace(x), vspace(y)
    v, g = inputs.randn(), results.randn()
    found = inputs.covector(vjp(results.covector(g)))
    require(vspace(found) == inputs, "space of the VJP", f, x, vspace(found), inputs)
    exact, numeric = inputs.inner_prod(v, found), results.inner_prod(g, difference(f, x, v))
    require(scalar_close(exact, numeric), "VJP", f, x, exact, numeric)


def check_jvp(f: Callable[[Any], Any], x: Any) -> None:
    """Raise AssertionError unless the derivative forward of a function is right."""
    v = vspace(x).randn()
    check_equivalent(make_jvp(f)(x)(v)[1], difference(f, x, v))


def check_equivalent(x: Any, y: Any) -> None:
    """Raise AssertionError unless two values lie in one space and agree along a random direction.

    >>> from retrograd.interop.autograd.test_util import check_equivalent
    >>> check_equivalent([1.0, np.ones(2)], [1.0, np.ones(2)])
    """
    space = vspace(x)
    require(space == vspace(y), "space", None, x, space, vspace(y))
    v = space.randn()
    a, b = space.inner_prod(x, v), space.inner_prod(y, v)
    require(scalar_close(a, b), "value", None, x, a, b)


@unary_to_nary
def check_grads(
    f: Callable[[Any], Any], x: Any, modes: Any = ("fwd", "rev"), order: int = 2
) -> None:
    """Returns a function of `f`'s arguments that raises AssertionError where derivatives are wrong.

    Of all orders up to `order`, forward ("fwd") and backward ("rev").

    >>> from retrograd.interop.autograd.test_util import check_grads
    >>> check_grads(lambda x: np.sin(x) * x, order=3)(np.array([0.5, 1.0]))
    """
    modes = modes or ("fwd", "rev")
    for mode in modes:
        check = {"fwd": check_jvp, "rev": check_vjp}[mode]
        check(f, x)
        if order == 1:
            continue
        if mode == "fwd":
            derivative, v = (lambda x, v: make_jvp(f)(x)(v)[1]), vspace(x).randn()
        else:
            derivative, v = (lambda x, v: make_vjp(f)(x)[0](v)), vspace(f(x)).randn()
        derivative.__name__ = f"{'jvp' if mode == 'fwd' else 'vjp'}_{getattr(f, '__name__', 'f')}"
        check_grads(derivative, (0, 1), modes, order=order - 1)(x, v)


def combo_check(fun: Callable[..., Any], *check: Any, **options: Any) -> Callable[..., None]:
    """Returns a function that takes a list for each argument and checks all combinations.

    >>> from retrograd.interop.autograd.test_util import combo_check
    >>> combo_check(np.sum, 0)([np.ones(2), np.ones((2, 2))], axis=[None, 0])
    """

    def run(*args: Any, **named: Any) -> None:
        for given in product(*args):
            for values in product(*named.values()):
                keywords = dict(zip(named, values, strict=True))
                check_grads(fun, *check, **options)(*given, **keywords)

    return run
