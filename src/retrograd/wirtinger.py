"""Wirtinger calculus: both derivatives of complex functions, in every form and convention.

NOTE [Conventions] Of a function s = f(z) with df = A dz + B dz*, where A = ∂s/∂z and B = ∂s/∂z*,
and of a loss L, which is real, frameworks call different numbers the gradient by z. With g the
gradient of L by s in the same convention:
1. "torch", the one of this package: for a real loss L and a complex z = x + iy, the gradient is
   ∂L/∂x + i ∂L/∂y = 2 ∂L/∂z*, the direction of steepest ascent. z gets g A* + g* B.
2. "tensorflow": the same.
3. "jax": ∂L/∂x - i ∂L/∂y = 2 ∂L/∂z, the conjugate; its negative conjugate goes downhill. z gets
   g A + g* B*, so that `jax.grad(f, holomorphic=True)` is A, without a factor of 2.
Textbooks call half of 1 the gradient. A z that is real has ∂L/∂x in all of them.

NOTE [Forms] A complex number has two real coordinates, and two others: itself and its conjugate.
1. The pair (A, B) says how (z, z*) changes s.
2. The augmented matrix [[A, B], [B*, A*]] says how (z, z*) changes (s, s*).
3. The real matrix [[∂u/∂x, ∂u/∂y], [∂v/∂x, ∂v/∂y]] for s = u + iv and z = x + iy says the same in
   the other coordinates: A = ((∂u/∂x + ∂v/∂y) + i (∂v/∂x - ∂u/∂y)) / 2 and
   B = ((∂u/∂x - ∂v/∂y) + i (∂v/∂x + ∂u/∂y)) / 2, whose vanishing is what Cauchy and Riemann ask.

The matrices come from `func.jacrev` and `func.hessian`, the pairs from `autograd.functional.pairs`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from . import pytree
from .autograd.functional.pairs import from_tangents, rounding
from .autograd.gradcheck import GradcheckError
from .engine.dispatch import as_tensor
from .engine.namespaces import recorded
from .engine.tensor import Tensor, new_tensor
from .func.forward import linearize
from .func.jacobian import hessian as second_derivatives
from .func.jacobian import jacrev
from .func.reverse import vjp
from .kernels.allocation import has_memory
from .locks import load

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "Holomorphy", "convert", "derivatives", "from_augmented", "from_gradient", "from_real",
    "gradcheck", "gradient", "hessian", "is_holomorphic", "jacobian", "pulled_back", "to_augmented",
    "to_real",
]  # fmt: skip

CONJUGATED = {"torch": False, "tensorflow": False, "jax": True}  # beside ∂L/∂x + i ∂L/∂y
FORMS = ("pair", "augmented", "real")
NAMES = ("∂f/∂z", "∂f/∂z*")


# -- derivatives -----------------------------------------------------------------------------------


def derivatives(f: Callable[[Tensor], Tensor], z: Tensor) -> tuple[Tensor, Tensor]:
    """The pair (∂f/∂z, ∂f/∂z*) of a function of one complex number, at every element of `z`.

    z: a complex tensor of any shape (n...), on whose elements `f` acts one by one, so that it gives
    (n...) too; or a single number, of which `f` may make any shape. Both derivatives have the shape
    of the result and are complex; with ∂/∂z = (∂/∂x - i ∂/∂y) / 2 and ∂/∂z* = (∂/∂x + i ∂/∂y) / 2.
    `f` runs once. Raises ValueError if `z` is not complex, or if an element of the result depends
    on other elements of `z`: `jacobian` has all derivatives then.

    >>> rg.wirtinger.derivatives(lambda z: z * z.conj(), rg.tensor([3 + 4j, 1j]))
    (tensor([3.-4.j, 0.-1.j]), tensor([3.+4.j, 0.+1.j]))
    """
    check_complex(z, "derivatives")
    output, push = linearize(f, z)
    if z.ndim and output.shape != z.shape:
        raise ValueError(not_elementwise(f"it gives shape {list(output.shape)}", z))
    one, imaginary = (push(recorded.zeros_like(z) + unit) for unit in (1, 1j))
    a, b = from_tangents(one, imaginary, z)
    if z.ndim and has_memory(a._array):
        x, y = np.random.default_rng(0).uniform(1, 2, (2, *z.shape))
        along = push(new_tensor((x + 1j * y).astype(z._array.dtype)))._array
        expected = x * one._array + y * imaginary._array
        if (np.abs(along - expected) > 4 * rounding((a, b))).any():
            raise ValueError(not_elementwise("its elements depend on one another's", z))
    return a, b


def not_elementwise(reason: str, z: Tensor) -> str:
    """The text for a function that does not act on each element by itself."""
    return (
        f"derivatives: the function does not act on each element of z, of shape {list(z.shape)}, "
        f"by itself: {reason}. For all derivatives: wirtinger.jacobian(f, z)"
    )


def check_complex(z: Any, caller: str) -> None:
    """Raise ValueError unless `z` is a complex tensor."""
    if not isinstance(z, Tensor) or z._array.dtype.kind != "c":
        kind = z.dtype if isinstance(z, Tensor) else type(z).__name__
        raise ValueError(
            f"{caller}: z must be a complex tensor, got {kind}. A real one has one derivative: "
            "func.jacrev(f)(z)"
        )


def jacobian(f: Callable[[Tensor], Tensor], z: Tensor, form: str = "pair") -> Any:
    """All first derivatives of a complex function of many complex numbers, exact for any function.

    z: complex, of shape (n...) with N elements; f gives a real or complex tensor of shape (m...)
    with M elements. form "pair": (∂f/∂z, ∂f/∂z*), each complex of shape (m..., n...); "augmented":
    one complex matrix (2M, 2N); "real": one real matrix (2M, 2N): NOTE [Forms]. Raises ValueError
    for a `z` that is not complex and for another form.

    >>> z = rg.tensor([1 + 1j, 2 - 1j])
    >>> rg.wirtinger.jacobian(lambda z: z[0] * z[1].conj(), z)
    (tensor([2.+1.j, 0.-0.j]), tensor([0.+0.j, 1.+1.j]))
    >>> rg.wirtinger.jacobian(lambda z: 2j * z.conj(), rg.tensor(1j), form="real")
    tensor([[0., 2.],
            [2., 0.]])
    """
    check_complex(z, "jacobian")
    check_form(form, "jacobian")
    a, b = jacrev(f, wirtinger=True)(z)
    if form == "pair":
        return a, b
    rows = math.prod(a.shape[: a.ndim - z.ndim])
    a, b = (each.reshape((rows, z._array.size)) for each in (a, b))
    return to_augmented(a, b) if form == "augmented" else to_real(a, b)


def hessian(f: Callable[[Tensor], Tensor], z: Tensor, form: str = "pair") -> Any:
    """All second derivatives of a real or complex function of complex numbers.

    z: complex, of shape (n...) with N elements. form "pair": ((f_zz, f_zz*), (f_z*z, f_z*z*)), each
    of shape (m..., n..., n...) for a result of shape (m...), differentiated by the first index and
    then by the second one. For a single number f(z) also "augmented", the complex symmetric matrix
    (2N, 2N) of these four blocks, with d²f = cᵀ H c / 2 for c = (dz, dz*); and "real", the matrix
    (2N, 2N) of blocks [[f_xx, f_xy], [f_yx, f_yy]], of the dtype kind of f, with d²f = rᵀ H r / 2
    for r = (dx, dy). (The Hermitian augmented Hessian of a real f, with d²f = c^H H c / 2, has the
    rows of blocks in the other order.) Raises ValueError for a `z` that is not complex, for another
    form, and for those matrices of several numbers.

    >>> z = rg.tensor(1 + 2j)
    >>> rg.wirtinger.hessian(lambda z: (z * z.conj()).real, z, form="augmented")
    tensor([[0.+0.j, 1.+0.j],
            [1.+0.j, 0.+0.j]])
    >>> rg.wirtinger.hessian(lambda z: (z * z).real, z, form="real")
    tensor([[ 2.,  0.],
            [ 0., -2.]])
    """
    check_complex(z, "hessian")
    check_form(form, "hessian")
    made: list[Tensor] = []

    def seen(z: Tensor) -> Tensor:
        made[:] = [f(z)]
        return made[0]

    found = second_derivatives(seen, wirtinger=True)(z)
    if form == "pair":
        return found
    if made[0]._array.size != 1:
        raise ValueError(
            f"hessian: form={form!r} is a matrix, for a function that gives a single number, but "
            f"this one gives shape {list(made[0].shape)}. Ask for form='pair'"
        )
    size = z._array.size
    (zz, zc), (cz, cc) = [[each.reshape((size, size)) for each in row] for row in found]
    if form == "augmented":
        return blocks([[zz, zc], [cz, cc]])
    real = blocks([[zz + zc + cz + cc, 1j * (zz - zc + cz - cc)],
                   [1j * (zz + zc - cz - cc), zc + cz - zz - cc]])  # fmt: skip
    return real if made[0].is_complex() else real.real


def check_form(form: str, caller: str) -> None:
    """Raise ValueError for a form that there is not."""
    if form not in FORMS:
        raise ValueError(f"{caller}: form must be one of {FORMS}, got {form!r}")


def gradcheck(
    f: Callable[[Tensor], Tensor],
    z: Tensor,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
) -> bool:
    """Compare both derivatives of f at z with central differences in the 2n real variables of z.

    z: complex128, (n...); f gives any shape. An entry agrees when |a - n| <= atol + rtol |n|.
    Returns True, or raises GradcheckError that says which derivative is off, by which result and
    which number (returns False if not `raise_exception`). Raises ValueError if `z` is not complex.
    `autograd.gradcheck` checks several inputs, forward mode and more.

    >>> rg.wirtinger.gradcheck(lambda z: z * z.abs(), rg.tensor([1 + 2j], dtype=rg.complex128))
    True
    """
    check_complex(z, "gradcheck")
    differences = load(".autograd.gradcheck.differences", __package__)
    point = z.detach().clone()
    by_x, by_y = differences.numerical_jacobian(
        f, (point,), point, 0, eps, differences.floating_outputs
    )
    expected = (by_x - 1j * by_y) / 2, (by_x + 1j * by_y) / 2
    for name, found, by_steps in zip(NAMES, jacobian(f, point), expected, strict=True):
        exact = found.detach()._array.reshape(by_steps.T.shape)
        off = np.argwhere(~(np.abs(exact - by_steps.T) <= atol + rtol * np.abs(by_steps.T)))
        if off.size and not raise_exception:
            return False
        if off.size:
            row, column = off[0]
            raise GradcheckError(
                f"gradcheck: {name} of result {row} by number {column} is {exact[row, column]:.6g},"
                f" by differences {by_steps[column, row]:.6g}; {len(off)} of {exact.size} entries "
                "are off"
            )
    return True


class Holomorphy(NamedTuple):
    """What `is_holomorphic` found; true if the function is holomorphic at z.

    residual: |∂f/∂z*|, real, of shape (m..., n...): half of how far Cauchy's and Riemann's
    equations are from holding for each result and each number. fails: where they do not hold.
    """

    residual: Tensor
    fails: Tensor

    def __bool__(self) -> bool:
        return not self.fails._array.any()


def is_holomorphic(
    f: Callable[[Tensor], Tensor], z: Tensor, tol: float | None = None
) -> Holomorphy:
    """Whether ∂f/∂z* is 0 at `z`, and where it is not.

    z: complex, of shape (n...); f gives shape (m...). tol: the largest |∂f/∂z*| that counts as 0,
    by default some rounding errors of the largest derivative. NaN fails. One point says nothing of
    others: |z|⁴ passes at 0. Raises ValueError for a `z` that is not complex.

    >>> bool(rg.wirtinger.is_holomorphic(lambda z: z.exp() / z, rg.tensor([1j, 2 + 1j])))
    True
    >>> rg.wirtinger.is_holomorphic(lambda z: z + z.real[0], rg.tensor([1j, 2 + 1j])).fails
    tensor([[ True, False],
            [ True, False]])
    """
    check_complex(z, "is_holomorphic")
    pair = jacobian(f, z)
    residual = np.abs(pair[1]._array)
    bound = rounding(pair) if tol is None else tol
    return Holomorphy(new_tensor(residual), new_tensor(~(residual <= bound)))


# -- forms -----------------------------------------------------------------------------------------


def blocks(rows: list[list[Tensor]]) -> Tensor:
    """The matrix that consists of these blocks."""
    return recorded.cat(*[recorded.cat(*row, dim=1) for row in rows], dim=0)


def to_augmented(a: Tensor, b: Tensor) -> Tensor:
    """[[A, B], [B*, A*]], (2M, 2N), of two complex matrices (M, N): NOTE [Forms].

    >>> rg.wirtinger.to_augmented(rg.tensor([[1 + 2j]]), rg.tensor([[3j]]))
    tensor([[1.+2.j, 0.+3.j],
            [0.-3.j, 1.-2.j]])
    """
    return blocks([[a, b], [b.conj(), a.conj()]])


def to_real(a: Tensor, b: Tensor) -> Tensor:
    """[[∂u/∂x, ∂u/∂y], [∂v/∂x, ∂v/∂y]], real (2M, 2N), of complex matrices (M, N): NOTE [Forms].

    >>> rg.wirtinger.to_real(rg.tensor([[1 + 2j]]), rg.tensor([[0j]]))
    tensor([[ 1., -2.],
            [ 2.,  1.]])
    """
    by_x, by_y = a + b, a - b  # the second one is -i ∂f/∂y
    return blocks([[by_x.real, -by_y.imag], [by_x.imag, by_y.real]])


def quarters(matrix: Tensor, caller: str) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The four blocks of a matrix with an even number of rows and of columns."""
    if matrix.ndim != 2 or matrix.shape[0] % 2 or matrix.shape[1] % 2:
        raise ValueError(
            f"{caller}: expected a matrix of 2 x 2 blocks, (2M, 2N), got {list(matrix.shape)}"
        )
    m, n = matrix.shape[0] // 2, matrix.shape[1] // 2
    return matrix[:m, :n], matrix[:m, n:], matrix[m:, :n], matrix[m:, n:]


def from_augmented(matrix: Tensor) -> tuple[Tensor, Tensor]:
    """The pair (A, B) of an augmented matrix (2M, 2N): its first row of blocks.

    >>> rg.wirtinger.from_augmented(rg.tensor([[1 + 2j, 3j], [-3j, 1 - 2j]]))
    (tensor([[1.+2.j]]), tensor([[0.+3.j]]))
    """
    a, b, _, _ = quarters(matrix, "from_augmented")
    return a, b


def from_real(matrix: Tensor) -> tuple[Tensor, Tensor]:
    """The pair (A, B) of a real matrix (2M, 2N): NOTE [Forms], 3.

    >>> rg.wirtinger.from_real(rg.tensor([[0.0, 2.0], [2.0, 0.0]]))
    (tensor([[0.+0.j]]), tensor([[0.+2.j]]))
    """
    ux, uy, vx, vy = quarters(matrix, "from_real")
    a = recorded.complex(ux + vy, vx - uy) * 0.5
    return a, recorded.complex(ux - vy, vx + uy) * 0.5


# -- conventions -----------------------------------------------------------------------------------


def is_conjugated(convention: str) -> bool:
    """Whether a convention's gradient is ∂L/∂x - i ∂L/∂y; ValueError for an unknown one."""
    if convention not in CONJUGATED:
        raise ValueError(f"convention must be one of {tuple(CONJUGATED)}, got {convention!r}")
    return CONJUGATED[convention]


def gradient(
    f: Callable[..., Tensor], z: Any, convention: str = "torch", cotangent: Tensor | None = None
) -> Any:
    """The gradient of `f` at `z` as "torch", "tensorflow" or "jax" define it: NOTE [Conventions].

    z: a tensor, complex or real, or a container of them; f gives a tensor of any shape; cotangent:
    of its shape, in the same convention, by default ones. The gradient has the shapes and dtypes of
    `z`. For a real loss it is 2 ∂L/∂z* ("torch", "tensorflow") or 2 ∂L/∂z ("jax"); with the
    cotangent 1 the conjugate of the derivative of a holomorphic f, or ("jax") that derivative. So
    torch_vjp(v) = conj(jax_vjp(conj(v))). Raises ValueError for another convention.

    >>> z = rg.tensor(1 + 2j)
    >>> rg.wirtinger.gradient(lambda z: z.abs() ** 2, z)
    tensor(2.+4.j)
    >>> rg.wirtinger.gradient(lambda z: z.abs() ** 2, z, convention="jax")
    tensor(2.-4.j)
    >>> rg.wirtinger.gradient(lambda z: z**2, z, convention="jax")
    tensor(2.+4.j)
    """
    conjugated = is_conjugated(convention)
    output, pull = vjp(f, z)
    g = recorded.zeros_like(output) + 1 if cotangent is None else cotangent
    (found,) = pull(g.conj() if conjugated else g)
    return pytree.map_leaves(lambda each: each.conj(), found) if conjugated else found


def pulled_back(
    a: Tensor, b: Tensor, cotangent: Tensor | complex, convention: str = "torch"
) -> Tensor:
    """The gradient by z from the derivatives A and B at z and the gradient g by s, elementwise.

    g A* + g* B, or for "jax" g A + g* B*: NOTE [Conventions]. All broadcast.

    >>> z = rg.tensor(1 + 2j)
    >>> a, b = rg.wirtinger.derivatives(lambda z: z.abs() ** 2, z)
    >>> rg.wirtinger.pulled_back(a, b, 1.0)
    tensor(2.+4.j)
    """
    g = as_tensor(cotangent, a._array.dtype)
    if is_conjugated(convention):
        a, b = a.conj(), b.conj()
    found: Tensor = g * a.conj() + g.conj() * b
    return found


def convert(gradient: Tensor, source: str, target: str) -> Tensor:
    """A gradient in another convention: its conjugate, or the tensor itself.

    gradient: of a real loss, or of the cotangent v of a complex function, which is then converted,
    too. Raises ValueError for an unknown convention.

    >>> rg.wirtinger.convert(rg.tensor(2 - 4j), "jax", "torch")
    tensor(2.+4.j)
    """
    same = is_conjugated(source) is is_conjugated(target)
    return gradient if same else gradient.conj()


def from_gradient(gradient: Tensor, convention: str = "torch") -> tuple[Tensor, Tensor]:
    """The pair (∂L/∂z, ∂L/∂z*) of a real loss from its gradient by a complex z: half of it.

    >>> rg.wirtinger.from_gradient(rg.tensor(2 + 4j))
    (tensor(1.-2.j), tensor(1.+2.j))
    """
    b = convert(gradient, convention, "torch") * 0.5
    return b.conj(), b
