"""Functions that take a function and give its derivative, with HIPS autograd's names and meanings.

They know `tracing` alone; NumPy computes what is computed here, on arrays and boxes alike.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from . import core
from .boxes import getval
from .extend import defjvp_argnums, defvjp_argnum, primitive
from .tracing import Recording, finished, forward
from .vectors import vspace

__all__ = [
    "checkpoint", "deriv", "egrad", "elementwise_grad", "grad", "grad_and_aux", "grad_named",
    "hessian", "hessian_tensor_product", "hessian_vector_product", "holomorphic_grad", "hvp",
    "jacobian", "make_ggnvp", "make_hvp", "make_jvp", "make_jvp_reversemode", "make_vjp",
    "multigrad_dict", "tensor_jacobian_product", "unary_to_nary", "value_and_grad",
    "vector_jacobian_product",
]  # fmt: skip

NOT_SCALAR = (
    "{name} only applies to real scalar-output functions, but the function gave {what}. Return one "
    "real number, or use jacobian, elementwise_grad or holomorphic_grad."
)
COMPLEX = (
    "elementwise_grad only applies to real-output functions, but the function gave {dtype}. Take "
    "np.real of what it returns, or use holomorphic_grad."
)


def unary_to_nary(operator: Callable[..., Any]) -> Callable[..., Any]:
    """An operator on functions of one argument as one on functions of many: `argnum` says which.

    A tuple or list of numbers makes a tuple of those arguments the one that the operator sees.
    """

    @wraps(operator)
    def nary_operator(fun: Callable[..., Any], argnum: Any = 0, *rest: Any, **more: Any) -> Any:
        numbers = (argnum,) if isinstance(argnum, int) else tuple(argnum)
        name = getattr(fun, "__name__", "[unknown name]")

        def nary(*args: Any, **options: Any) -> Any:
            def unary(x: Any) -> Any:
                given = list(args)
                for number, value in zip(
                    numbers, (x,) if isinstance(argnum, int) else x, strict=True
                ):
                    given[number] = value
                return fun(*given, **options)

            unary.__name__ = name
            x = args[argnum] if isinstance(argnum, int) else tuple(args[n] for n in numbers)
            return operator(unary, x, *rest, **more)

        nary.__name__ = f"{operator.__name__}_of_{name}_wrt_argnum_{argnum}"
        nary.__doc__ = (
            f"    {operator.__name__} of function {name} with respect to argument {argnum}."
        )
        return nary

    return nary_operator


make_vjp, make_jvp = unary_to_nary(core.make_vjp), unary_to_nary(core.make_jvp)


@unary_to_nary
def grad(fun: Callable[[Any], Any], x: Any) -> Any:
    """Returns a function of the same arguments that gives the gradient of `fun`.

    It is with respect to argument `argnum` (0), and built like that: an array, a float, or a list,
    tuple or dictionary of them. `fun` gives one real number, in an array of any shape; TypeError
    otherwise. Of a complex argument it is df/da - i df/db: NOTE [HIPS's conventions].

    >>> from retrograd.interop.autograd import grad
    >>> grad(lambda x, y: np.sum(x**2 * y))(np.array([1.0, 2.0]), 3.0)
    array([ 6., 12.])
    """
    record = Recording(fun, x)
    return record.vjp(one(record, "grad"))


def one(record: Recording, name: str) -> Any:
    """The cotangent of a real scalar; TypeError for any other result."""
    space = vspace(getval(record.answer))
    if space.size != 1:
        what = f"{type(record.answer).__name__} of {space.size} real numbers"
        raise TypeError(NOT_SCALAR.format(name=name, what=what))
    return space.ones()


@unary_to_nary
def value_and_grad(fun: Callable[[Any], Any], x: Any) -> tuple[Any, Any]:
    """Returns a function of the same arguments that gives (value, gradient), as SciPy's want it.

    >>> from retrograd.interop.autograd import value_and_grad
    >>> value, slope = value_and_grad(lambda x: x**3)(2.0)
    >>> float(value), float(slope)
    (8.0, 12.0)
    """
    record = Recording(fun, x)
    return finished(record.answer), record.vjp(one(record, "value_and_grad"))


@unary_to_nary
def elementwise_grad(fun: Callable[[Any], Any], x: Any) -> Any:
    """Returns a function that gives the gradient of the sum of what `fun` gives, which is real.

    For a function that works elementwise: its derivative in each element. TypeError if complex.

    >>> from retrograd.interop.autograd import elementwise_grad
    >>> elementwise_grad(np.square)(np.array([1.0, 2.0]))
    array([2., 4.])
    """
    record = Recording(fun, x)
    space = vspace(getval(record.answer))
    if space.iscomplex:
        raise TypeError(COMPLEX.format(dtype="complex numbers"))
    return record.vjp(space.ones())


egrad = elementwise_grad


@unary_to_nary
def deriv(fun: Callable[[Any], Any], x: Any) -> Any:
    """Returns a function that gives the derivative along ones, in forward mode.

    >>> from retrograd.interop.autograd import deriv
    >>> float(deriv(np.square)(3.0))
    6.0
    """
    return forward(fun, x, vspace(getval(x)).ones())[1]


@unary_to_nary
def holomorphic_grad(fun: Callable[[Any], Any], x: Any) -> Any:
    """Returns a function that gives the complex derivative of a holomorphic function.

    >>> from retrograd.interop.autograd import holomorphic_grad
    >>> complex(holomorphic_grad(np.square)(1.0 + 2.0j))
    (2+4j)
    """
    if not vspace(getval(x)).iscomplex:
        warnings.warn("Input to holomorphic_grad is not complex", stacklevel=3)
    return grad(lambda x: np.real(fun(x)))(x)


@unary_to_nary
def jacobian(fun: Callable[[Any], Any], x: Any) -> Any:
    """Returns a function that gives the Jacobian, of shape (*shape of the value, *shape of x).

    >>> from retrograd.interop.autograd import jacobian
    >>> jacobian(lambda x: x[::-1] ** 2)(np.array([1.0, 2.0]))
    array([[0., 4.],
           [2., 0.]])
    """
    record = Recording(fun, x)
    shape = np.shape(getval(record.answer))
    rows = [record.vjp(g) for g in vspace(getval(record.answer)).standard_basis()]
    return np.reshape(np.stack(rows), (*shape, *np.shape(getval(x))))


@unary_to_nary
def hessian(fun: Callable[[Any], Any], x: Any) -> Any:
    """Returns a function that gives all second derivatives, of shape (*shape of x, *shape of x).

    >>> from retrograd.interop.autograd import hessian
    >>> hessian(lambda x: x[0] * x[1] ** 2)(np.array([1.0, 2.0]))
    array([[0., 4.],
           [4., 2.]])
    """
    return jacobian(jacobian(fun))(x)


@unary_to_nary
def make_hvp(fun: Callable[[Any], Any], x: Any) -> tuple[Callable[[Any], Any], Any]:
    """Returns a function of `fun`'s arguments that gives (hvp, gradient); hvp(v) is Hessian @ v.

    >>> from retrograd.interop.autograd import make_hvp
    >>> hvp, slope = make_hvp(lambda x: np.sum(x**3))(np.array([1.0, 2.0]))
    >>> hvp(np.array([1.0, 1.0]))
    array([ 6., 12.])
    """
    return make_vjp(grad(fun))(x)


def hessian_tensor_product(fun: Callable[..., Any], argnum: int = 0) -> Callable[..., Any]:
    """Returns a function of (*arguments, v) that gives the Hessian times v, of the shape of x.

    >>> from retrograd.interop.autograd import hvp
    >>> hvp(lambda x: np.sum(x**3))(np.array([1.0, 2.0]), np.array([1.0, 1.0]))
    array([ 6., 12.])
    """

    def along(*args: Any, **options: Any) -> Any:
        *args, v = args  # type: ignore[assignment]
        return np.tensordot(grad(fun, argnum)(*args, **options), v, np.ndim(v))

    return grad(along, argnum)


hvp = hessian_vector_product = hessian_tensor_product


def tensor_jacobian_product(fun: Callable[..., Any], argnum: int = 0) -> Callable[..., Any]:
    """Returns a function of (*arguments, v) that gives v times the Jacobian.

    >>> from retrograd.interop.autograd import tensor_jacobian_product
    >>> tensor_jacobian_product(np.square)(np.array([1.0, 2.0]), np.array([1.0, 10.0]))
    array([ 2., 40.])
    """

    def across(*args: Any, **options: Any) -> Any:
        *args, v = args  # type: ignore[assignment]
        return np.tensordot(v, fun(*args, **options), np.ndim(v))

    return jacobian(across, argnum)


vector_jacobian_product = tensor_jacobian_product


@unary_to_nary
def make_jvp_reversemode(fun: Callable[[Any], Any], x: Any) -> Callable[[Any], Any]:
    """`make_jvp` by two passes backward, and without the value: for rules that have no jvp.

    >>> from retrograd.interop.autograd.operators import make_jvp_reversemode
    >>> make_jvp_reversemode(np.square)(np.array([1.0, 2.0]))(np.array([1.0, 0.5]))
    array([2., 2.])
    """
    record = Recording(fun, x)
    zeros = vspace(getval(record.answer)).zeros()
    return Recording(record.vjp, zeros).vjp


def half_square(x: Any) -> Any:
    """Half the sum of squares, the loss of `make_ggnvp` by default."""
    return 0.5 * np.sum(x**2, axis=-1)


def make_ggnvp(
    f: Callable[..., Any], g: Callable[[Any], Any] = half_square, f_argnum: int = 0
) -> Callable[..., Any]:
    """Returns a function of `f`'s arguments that gives the Gauss-Newton product of g(f(x)).

    >>> from retrograd.interop.autograd import make_ggnvp
    >>> make_ggnvp(np.square)(np.array([1.0, 2.0]))(np.array([1.0, 1.0]))
    array([ 4., 16.])
    """

    @unary_to_nary
    def make(f: Callable[[Any], Any], x: Any) -> Callable[[Any], Any]:
        record = Recording(f, x)
        outer = Recording(grad(g), finished(record.answer))
        along = make_jvp_reversemode(f)(x)
        return lambda v: record.vjp(outer.vjp(along(v)))

    return make(f, f_argnum)


@unary_to_nary
def grad_and_aux(fun: Callable[[Any], Any], x: Any) -> tuple[Any, Any]:
    """Returns a function that gives the gradient of the first of two results, and the second.

    >>> from retrograd.interop.autograd import grad_and_aux
    >>> slope, aux = grad_and_aux(lambda x: (x**2, "kept"))(3.0)
    >>> float(slope), aux
    (6.0, 'kept')
    """
    kept: list[Any] = []

    def first(x: Any) -> Any:
        answer, aux = fun(x)
        kept.append(aux)
        return answer

    found = grad(first)(x)
    return found, finished(kept[0])


def grad_named(fun: Callable[..., Any], argname: str) -> Callable[..., Any]:
    """The gradient with respect to the argument of a name.

    >>> from retrograd.interop.autograd import grad_named
    >>> float(grad_named(lambda x, y: x * y, "y")(2.0, 3.0))
    2.0
    """
    return grad(fun, list(inspect.signature(fun).parameters).index(argname))


def multigrad_dict(fun: Callable[..., Any]) -> Callable[..., dict[str, Any]]:
    """Returns a function of the same arguments that gives all gradients, by name of argument.

    >>> from retrograd.interop.autograd import multigrad_dict
    >>> {name: float(g) for name, g in multigrad_dict(lambda x, y=4.0: x * y)(2.0).items()}
    {'x': 4.0, 'y': 2.0}
    """
    signature = inspect.signature(fun)

    def gradients(*args: Any, **options: Any) -> dict[str, Any]:
        bound = signature.bind(*args, **options)
        bound.apply_defaults()

        def run(named: dict[str, Any]) -> Any:
            call = inspect.BoundArguments(signature, named)
            return fun(*call.args, **call.kwargs)

        return grad(run)(dict(bound.arguments))

    return gradients


def checkpoint(fun: Callable[..., Any]) -> Callable[..., Any]:
    """`fun`, but what it computes on the way is not kept and computed again going backward.

    >>> from retrograd.interop.autograd import checkpoint, grad
    >>> float(grad(checkpoint(lambda x: np.exp(x) * x))(0.0))
    1.0
    """
    wrapped = primitive(fun)
    defvjp_argnum(
        wrapped, lambda argnum, ans, args, options: make_vjp(fun, argnum)(*args, **options)[0]
    )

    def along(argnums: Any, gs: Any, ans: Any, args: Any, options: Any) -> Any:
        return make_jvp(fun, tuple(argnums))(*args, **options)(tuple(gs))[1]

    defjvp_argnums(wrapped, along)
    return wrapped
