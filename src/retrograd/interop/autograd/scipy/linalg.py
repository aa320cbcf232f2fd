"""SciPy's linear algebra for programs that are differentiated.

NumPy's names, with the meaning of `numpy.linalg`, and those below; the others are SciPy's, which
take no boxes. Source of the formulas: N. Higham, Functions of Matrices (2008), section 6.1.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg

from .... import linalg
from ..boxes import boxed, tensor_of
from ..extend import defjvp, defvjp, primitive
from ..numpy.linalg import eigh, eigvalsh
from .rules import instead_of

__all__ = ["eigh", "eigvalsh", "solve_sylvester", "solve_triangular", "sqrtm"]

NUMPYS = ("cholesky", "det", "inv", "lstsq", "norm", "pinv", "solve", "svd")

# x with a x + x b = q. What goes back to q is again the solution of such an equation.
solve_sylvester = primitive(scipy.linalg.solve_sylvester)


def sylvester_back(argnum: int) -> Any:
    """The rule of one argument of `solve_sylvester`, backward."""

    def rule(x: Any, a: Any, b: Any, q: Any) -> Any:
        def vjp(g: Any) -> Any:
            back = solve_sylvester(np.transpose(a), np.transpose(b), g)
            return (-back @ np.transpose(x), -np.transpose(x) @ back, back)[argnum]

        return vjp

    return rule


defvjp(solve_sylvester, *map(sylvester_back, range(3)))
defjvp(
    solve_sylvester,
    lambda g, x, a, b, q: solve_sylvester(a, b, -g @ x),
    lambda g, x, a, b, q: solve_sylvester(a, b, -x @ g),
    lambda g, x, a, b, q: solve_sylvester(a, b, g),
)

# The root r, of which r dr + dr r = da.
sqrtm = primitive(scipy.linalg.sqrtm)
defvjp(
    sqrtm,
    lambda root, a, *rest, **more: (
        lambda g: solve_sylvester(np.transpose(root), np.transpose(root), g)
    ),
)
defjvp(sqrtm, lambda g, root, a, *rest, **more: solve_sylvester(root, root, g))


@instead_of(scipy.linalg.solve_triangular)
def solve_triangular(
    a: Any, b: Any, trans: Any = 0, lower: bool = False, unit_diagonal: bool = False, **options: Any
) -> Any:
    """SciPy's `solve_triangular`: x (N,) or (N, K) with op(a) x = b, of one triangle of a (N, N).

    `trans` is 0 or "N" for a itself, 1 or "T" transposed, 2 or "C" conjugated too. `options` of
    SciPy's that say how it computes are dropped.

    >>> from retrograd.interop.autograd import grad
    >>> from retrograd.interop.autograd.scipy.linalg import solve_triangular
    >>> a = np.array([[2.0, 1.0], [0.0, 4.0]])
    >>> grad(lambda b: solve_triangular(a, b)[0])(np.array([1.0, 4.0]))
    array([ 0.5  , -0.125])
    """
    if trans not in (0, "N"):
        a, lower = np.transpose(a), not lower
        a = np.conj(a) if trans in (2, "C") else a
    right = b if np.ndim(b) == 2 else np.reshape(b, (-1, 1))
    found = linalg.solve_triangular(
        tensor_of(a), tensor_of(right), upper=not lower, unitriangular=unit_diagonal
    )
    return np.reshape(boxed(found), np.shape(b))


def __getattr__(name: str) -> Any:
    return getattr(np.linalg if name in NUMPYS else scipy.linalg, name)
