"""Functions of square matrices that NumPy lacks: the adjugate, the exponential, their derivatives.

Nothing here knows of tensors. Arrays are stacks `(..., n, n)`, float32, float64 or their complex
kin, and keep their dtype.

Sources: N. J. Higham, "The scaling and squaring method for the matrix exponential revisited",
SIAM J. Matrix Anal. Appl. 26 (2005), and his "Functions of Matrices" (2008), theorem 3.6, for the
derivative of the exponential; G. W. Stewart, "On the adjugate matrix", Linear Algebra Appl. 283
(1998)."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..quiet import calm, quietly
from .allocation import has_values, known_true, table, zeros
from .lapack import inv

# Of the Padé approximant of degree 13 to exp, and the norm up to which it is exact to 2**-53.
PADE = (64764752532480000, 32382376266240000, 7771770303897600, 1187353796428800, 129060195264000,
        10559470521600, 670442572800, 33522128640, 1323241920, 40840800, 960960, 16380, 182,
        1)  # fmt: skip
RADIUS = 5.371920351148152


def adjoint(x: Any) -> Any:
    """The conjugate transpose."""
    return x.swapaxes(-1, -2).conj()


def matrix_trace(x: Any) -> Any:
    """The trace, kept as `(..., 1, 1)`."""
    return np.trace(x, axis1=-2, axis2=-1)[..., None, None]


# -- adjugate --------------------------------------------------------------------------------------

# Beyond this condition number the inverse loses too many digits, and the singular values are asked.
WELL_CONDITIONED = 1e-3


@quietly
def inverses(x: Any) -> tuple[Any, Any]:
    """(inverse, where it is to be used: well-conditioned matrices, and those with a NaN)."""
    inverse, norm = inv(x)[0], np.abs(x).sum(-1).max(-1, initial=0)
    size = norm * np.abs(inverse).sum(-1).max(-1, initial=0)
    return inverse, (size * np.finfo(x.dtype).eps < WELL_CONDITIONED) | np.isnan(norm)


def adjugate(x: Any) -> Any:
    """The transposed matrix of cofactors: `det(x) * inv(x)`, and as exact where that fails."""
    inverse, good = inverses(x)
    out = np.linalg.det(x)[..., None, None] * inverse
    if not known_true(np.all(good)):
        out[~good] = singular_adjugate(x[~good])
    return out


def factors(x: Any) -> tuple[Any, Any, Any, Any]:
    """U, S, V^H and the determinant d of U and V^H: adj(U S V^H) = d V adj(S) U^H."""
    u, s, vh = np.linalg.svd(x)
    return u, s, vh, (np.linalg.det(u) * np.linalg.det(vh))[..., None, None]


def singular_adjugate(x: Any) -> Any:
    """The adjugate by singular values: each product leaves one of them out, so none is divided."""
    u, s, vh, phase = factors(x)
    return (adjoint(vh) * others(s)[..., None, :]) @ adjoint(u) * phase


def others(s: Any) -> Any:
    """The product of all elements but one, for each one."""
    one = np.ones_like(s[..., :1])
    before = np.cumprod(np.concatenate([one, s[..., :-1]], -1), -1)
    after = np.cumprod(np.concatenate([one, s[..., :0:-1]], -1), -1)[..., ::-1]
    return before * after


def pairs(s: Any) -> Any:
    """The product of all elements but two, `(..., n, n)`; zeros on the diagonal."""
    n = s.shape[-1]
    one = np.ones_like(s[..., :1])
    before = np.cumprod(np.concatenate([one, s[..., :-1]], -1), -1)
    after = np.cumprod(np.concatenate([one, s[..., :0:-1]], -1), -1)[..., ::-1]
    between = np.where(table(s, np.triu(np.ones((n, n), bool), 1)), s[..., None, :], 1)
    between = np.cumprod(between, -1)
    upper = before[..., :, None] * after[..., None, :]
    upper[..., :, 1:] *= between[..., :, :-1]
    upper = np.triu(upper, 1)
    return upper + upper.swapaxes(-1, -2)


def adjugate_derivative(x: Any, move: Any) -> Any:
    """The derivative of the adjugate at `x` along `move`."""
    inverse, good = inverses(x)
    turned = inverse @ move
    out = np.linalg.det(x)[..., None, None] * (matrix_trace(turned) * inverse - turned @ inverse)
    if not known_true(np.all(good)):
        out[~good] = singular_derivative(x[~good], move[~good])
    return out


def singular_derivative(x: Any, move: Any) -> Any:
    """The derivative of the adjugate by singular values, in whose basis `x` is diagonal."""
    u, s, vh, phase = factors(x)
    inside = adjoint(u) @ move @ adjoint(vh)
    n = x.shape[-1]
    but_two = pairs(s)
    middle = -inside * but_two
    diagonal = (but_two @ np.diagonal(inside, axis1=-2, axis2=-1)[..., None])[..., 0]
    middle[..., np.arange(n), np.arange(n)] = diagonal
    return adjoint(vh) @ middle @ adjoint(u) * phase


# -- exponential -----------------------------------------------------------------------------------


def norms(x: Any) -> Any:
    """The largest column sum of each matrix."""
    return np.abs(x).sum(-2).max(-1, initial=0)


def exp(x: Any) -> Any:
    """The exponential, by scaling to `RADIUS`, approximation and squaring."""
    if not has_values(x):
        return x.copy()
    steps = np.ceil(calm(np.log2, norms(x) / RADIUS))
    steps = np.where(np.isfinite(steps), np.maximum(steps, 0), 0).astype(int)
    out = approximant(x * np.ldexp(x.real.dtype.type(1), -steps)[..., None, None])
    for step in range(int(steps.max(initial=0))):
        out = np.where((steps > step)[..., None, None], out @ out, out)
    return out


def approximant(x: Any) -> Any:
    """Padé's approximant to the exponential, from even and odd powers."""
    b = [x.real.dtype.type(c / PADE[0]) for c in PADE]
    one = table(x, np.eye(x.shape[-1], dtype=x.dtype))
    x2 = x @ x
    x4 = x2 @ x2
    x6 = x4 @ x2
    odd = x6 @ (b[13] * x6 + b[11] * x4 + b[9] * x2) + b[7] * x6 + b[5] * x4 + b[3] * x2
    odd = x @ (odd + b[1] * one)
    even = x6 @ (b[12] * x6 + b[10] * x4 + b[8] * x2) + b[6] * x6 + b[4] * x4 + b[2] * x2
    even = even + b[0] * one
    return np.linalg.solve(even - odd, even + odd)


def twice(x: Any, y: Any) -> Any:
    """The blocks `[[x, y], [0, x]]`, a matrix of twice the size."""
    n = x.shape[-1]
    out = zeros(x, (*x.shape[:-2], 2 * n, 2 * n), np.result_type(x, y))
    out[..., :n, :n] = out[..., n:, n:] = x
    out[..., :n, n:] = y
    return out


def exp_derivative(x: Any, move: Any) -> Any:
    """The derivative of the exponential at `x` along `move`: a block of a larger exponential.

    It is linear in `move`, which is scaled to the size of `x`: else a large one would cost digits.
    """
    n = x.shape[-1]
    size = norms(move)
    scale = np.where(size == 0, 1, np.maximum(norms(x), 1) / np.where(size == 0, 1, size))
    scale = scale[..., None, None].astype(x.real.dtype)
    return exp(twice(x, move * scale))[..., :n, n:] / scale
