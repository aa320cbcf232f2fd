"""Factorizations and solvers on stacks of matrices: NumPy's, and those that NumPy lacks.

Nothing here knows of tensors. Arrays are `(..., m, n)`, float32, float64 or their complex kin, and
keep their dtype. Loops run over rows or columns and take all matrices of a stack at once; work is
done in blocks, so that for large matrices most of it is matrix products. Factors and solutions have
their columns contiguous in memory, as LAPACK's and PyTorch's have. A matrix that does not
allow an operation raises nothing here: its `info` (int32, one per matrix) is the 1-based place
where it failed, 0 for success.

Sources: E. Anderson et al., "LAPACK Users' Guide" (1999), whose getrf and sytrf define pivots and
packing; J. R. Bunch and L. Kaufman, "Some stable methods for calculating inertia and solving
symmetric linear systems", Math. Comp. 31 (1977).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..errors import LinAlgError
from .allocation import empty, has_values, is_numpy, table, zeros
from .layout import empty_inside, with_channels_inside
from .native.products import eliminated, factored, interchanged
from .native.triangles import solved

BLOCK = 32  # columns: up to here one by one, beyond by products of blocks

NOT_FINITE = (
    "{name}: The algorithm failed to converge because the input matrix contained non-finite values "
    "or is too ill-conditioned. Check with x.isfinite().all()."
)


def stacked(x: Any) -> Any:
    """A copy as one list of matrices: `(count, m, n)`."""
    return x.copy("K").reshape(math.prod(x.shape[:-2]), *x.shape[-2:])


def by_columns(x: Any) -> Any:
    """A copy of matrices, with their columns contiguous in memory."""
    if x.__class__ is np.ndarray and x.ndim == 2:
        return x.copy("F")
    return with_channels_inside(x, x.ndim - 2)


# -- systems -------------------------------------------------------------------------------------


def transposed(x: Any) -> Any:
    """Matrices with rows and columns exchanged, a view."""
    return x.swapaxes(-1, -2)


def solve(a: Any, b: Any, *, left: bool = True) -> tuple[Any, Any]:
    """`x` with `a @ x = b`, stacks broadcast, and `info`; where a matrix is singular NaN or inf.

    If not `left`, with `x @ a = b`: its rows are contiguous then.
    """
    if not left:
        x, info = solve(transposed(a), transposed(b))
        return transposed(x), info
    try:
        return by_columns(np.linalg.solve(a, b)), zeros(a, a.shape[:-2], np.int32)
    except np.linalg.LinAlgError:
        factors, pivots, info = lu(a, pivot=True)
        order = permutation(pivots, a.shape[-1])[..., None]
        batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
        order, b = (np.broadcast_to(x, batch + x.shape[-2:]) for x in (order, b))
        x = np.take_along_axis(b, order, -2)
        substitute(factors, x, x, False, True)
        substitute(factors, x, x, True, False)
        return by_columns(x), info


def inv(a: Any) -> tuple[Any, Any]:
    """The inverse, NaN or inf where a matrix is singular, and `info`."""
    try:
        return by_columns(np.linalg.inv(a)), zeros(a, a.shape[:-2], np.int32)
    except np.linalg.LinAlgError:
        return solve(a, np.broadcast_to(np.eye(a.shape[-1], dtype=a.dtype), a.shape))


def solve_triangular(a: Any, b: Any, *, upper: bool, left: bool, unit: bool) -> Any:
    """`x` with `a @ x = b`, of which one triangle is read, and no diagonal if `unit`.

    If not `left`, with `x @ a = b`.
    """
    if a.shape[:-2] != b.shape[:-2]:
        batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
        b = np.broadcast_to(b, batch + b.shape[-2:])
    x = empty_inside(b, b.shape, b.ndim - 2)
    if left:
        substitute(a, b, x, upper, unit)
    else:
        substitute(transposed(a), transposed(b), transposed(x), not upper, unit)
    return x


def substitute(a: Any, b: Any, x: Any, upper: bool, unit: bool) -> None:
    """Write to `x`, which may be `b`, the solution: in C, by BLAS or halves at a time.

    The depth of halves is the logarithm of the size.
    """
    if solved(a, b, x, upper, unit):
        return
    if x is not b:
        x[...] = b
    n = a.shape[-1]
    if n > BLOCK:
        low, high = slice(0, n // 2), slice(n // 2, n)
        first, second = (high, low) if upper else (low, high)
        known, rest = x[..., first, :], x[..., second, :]
        substitute(a[..., first, first], known, known, upper, unit)
        rest -= a[..., second, first] @ known
        substitute(a[..., second, second], rest, rest, upper, unit)
        return
    for i in range(n - 1, -1, -1) if upper else range(n):
        done = slice(i + 1, n) if upper else slice(0, i)
        x[..., i : i + 1, :] -= a[..., i : i + 1, done] @ x[..., done, :]
        if not unit:
            x[..., i, :] /= a[..., i, i, None]


# -- LU --------------------------------------------------------------------------------------------


def size_of(x: Any) -> Any:
    """What LAPACK compares to choose a pivot."""
    return np.abs(x.real) + np.abs(x.imag) if x.dtype.kind == "c" else np.abs(x)


def lu(x: Any, *, pivot: bool) -> tuple[Any, Any, Any]:
    """L below the diagonal and U on and above it, the row interchanges from 1, and `info`."""
    batch, k = x.shape[:-2], min(x.shape[-2:])
    found, pivots = by_columns(x), empty(x, (*batch, k), np.int32)
    info = zeros(x, batch, np.int32)
    if pivot and eliminated(found, pivots, info):
        return found, pivots, info
    a = stacked(x)
    every, places, failed = np.arange(len(a)), pivots.reshape(len(a), k), info.reshape(-1)
    places[...] = table(a, np.arange(1, k + 1))
    for start in range(0, k, BLOCK):
        stop = min(start + BLOCK, k)
        for j in range(start, stop):
            if pivot:
                chosen = np.argmax(size_of(a[:, j:, j]), axis=1) + j
                places[:, j] = chosen + 1
                rows = a[every, chosen]
                a[every, chosen] = a[:, j]
                a[:, j] = rows
            head = a[:, j, j]
            np.copyto(failed, j + 1, where=(failed == 0) & (head == 0))
            a[:, j + 1 :, j] /= np.where(head == 0, 1, head)[:, None]
            a[:, j + 1 :, j + 1 : stop] -= a[:, j + 1 :, j, None] * a[:, j, None, j + 1 : stop]
        rows = a[:, start:stop, stop:]
        substitute(a[:, start:stop, start:stop], rows, rows, False, True)
        a[:, stop:, stop:] -= a[:, stop:, start:stop] @ a[:, start:stop, stop:]
    return by_columns(a.reshape(x.shape)), pivots, info


def permutation(pivots: Any, m: int) -> Any:
    """The order `(..., m)` in which row interchanges take the rows of a matrix."""
    count = math.prod(pivots.shape[:-1])
    flat = pivots.reshape(count, pivots.shape[-1])
    order = empty(flat, (count, m), np.int64)
    order[...] = table(flat, np.arange(m))
    if interchanged(order, flat):
        return order.reshape(*pivots.shape[:-1], m)
    every = np.arange(count)
    for i in range(flat.shape[1]):
        other = flat[:, i] - 1
        taken = order[every, other]
        order[every, other] = order[:, i]
        order[:, i] = taken
    return order.reshape(*pivots.shape[:-1], m)


# -- Cholesky and LDL ----------------------------------------------------------------------------


def cholesky(x: Any, *, upper: bool) -> tuple[Any, Any]:
    """A triangular factor of Hermitian matrices, and `info`: a minor that is not positive.

    One triangle is read. Beyond that minor a factor holds what it was computed from.
    """
    found = by_columns(x)
    if factored(found, upper):
        return found, zeros(x, x.shape[:-2], np.int32)
    low, info = lower_cholesky(x.swapaxes(-1, -2).conj() if upper else x)
    return by_columns(low.swapaxes(-1, -2).conj() if upper else low), info


def lower_cholesky(x: Any) -> tuple[Any, Any]:
    """The lower triangular factor, and `info`, by NumPy and column by column where that fails."""
    try:
        return finite_cholesky(x), zeros(x, x.shape[:-2], np.int32)
    except np.linalg.LinAlgError:
        a = np.tril(stacked(x))
        info = zeros(a, len(a), np.int32)
        for index, matrix in enumerate(a):
            try:
                a[index] = finite_cholesky(x.reshape(a.shape)[index])
            except np.linalg.LinAlgError:
                info[index] = cholesky_columns(matrix)
        return a.reshape(x.shape), info.reshape(x.shape[:-2])


def finite_cholesky(x: Any) -> Any:
    """NumPy's factor; some builds of LAPACK let a pivot pass that is NaN, this raises."""
    factor = np.linalg.cholesky(x)
    diagonal = np.diagonal(factor, axis1=-2, axis2=-1)
    if is_numpy(factor) and not np.isfinite(diagonal).all():
        raise np.linalg.LinAlgError
    return factor


def cholesky_columns(a: Any) -> int:
    """Factor one matrix in place until a minor is not positive; its order."""
    for j in range(len(a)):
        row = a[j, :j]
        pivot = a[j, j].real - np.vdot(row, row).real
        if not pivot > 0:
            a[j, j] = pivot
            return j + 1
        a[j, j] = math.sqrt(pivot)
        column = a[j + 1 :, j] - a[j + 1 :, :j] @ row.conj()
        a[j + 1 :, j] = np.where(pivot < math.inf, column / a[j, j], np.nan)
    return 0


def ldl(x: Any, *, hermitian: bool) -> tuple[Any, Any, Any]:
    """Bunch and Kaufman's `L D L^T` of the lower triangles (`L D L^H` if `hermitian`), and `info`.

    Packed as LAPACK does: D on the diagonal and, for its 2 by 2 blocks, below it; the pivots from
    1, both of a block negative. The upper triangle is 0.
    """
    hermitian = hermitian and x.dtype.kind == "c"
    a = np.tril(stacked(x))
    pivots = zeros(a, a.shape[:2], np.int32)
    info = zeros(a, len(a), np.int32)
    for index, matrix in enumerate(a if has_values(a) else ()):
        info[index] = ldl_columns(matrix, pivots[index], hermitian)
    batch = x.shape[:-2]
    places = pivots.reshape(*batch, x.shape[-1])
    return by_columns(a.reshape(x.shape)), places, info.reshape(batch)


def ldl_columns(a: Any, pivots: Any, hermitian: bool) -> int:
    """Factor the lower triangle of one matrix in place; the first exactly zero pivot, from 1."""
    alpha = (1 + math.sqrt(17)) / 8
    n, k, info = len(a), 0, 0
    flip: Any = np.conj if hermitian else (lambda value: value)
    while k < n:
        if hermitian:
            a[k, k] = a[k, k].real
        head = size_of(a[k, k])
        below = size_of(a[k + 1 :, k])
        r = k + 1 + int(np.argmax(below)) if below.size else k
        largest = below.max(initial=0)
        step, chosen = 1, k
        if max(head, largest) == 0:
            info = info or k + 1
            pivots[k] = k + 1
            k += 1
            continue
        if head < alpha * largest:
            beside = max(size_of(a[r, k:r]).max(), size_of(a[r + 1 :, r]).max(initial=0))
            if head < alpha * largest * (largest / beside):
                chosen = r
                step = 1 if size_of(a[r, r]) >= alpha * beside else 2
        last = k + step - 1
        if chosen != last:
            interchange(a, k, last, chosen, flip)
        eliminate(a, k, step, flip)
        pivots[k : k + step] = chosen + 1 if step == 1 else -(chosen + 1)
        k += step
    return info


def interchange(a: Any, k: int, i: int, j: int, flip: Any) -> None:
    """Swap rows and columns i < j of the trailing matrix from k, kept as its lower half."""
    a[j + 1 :, [i, j]] = a[j + 1 :, [j, i]]
    middle = a[i + 1 : j, i].copy()
    a[i + 1 : j, i] = flip(a[j, i + 1 : j])
    a[j, i + 1 : j] = flip(middle)
    a[i, i], a[j, j] = a[j, j], a[i, i]
    a[j, i] = flip(a[j, i])
    a[[i, j], k:i] = a[[j, i], k:i]


def eliminate(a: Any, k: int, step: int, flip: Any) -> None:
    """Divide the columns of one pivot block by it, and take their product from the rest."""
    end = k + step
    block = a[k:end, k:end].copy()
    if step == 2:
        block[0, 1] = flip(block[1, 0])
        block[[0, 1], [0, 1]] = block.diagonal().real if flip is np.conj else block.diagonal()
    columns = a[end:, k:end].copy()
    factors = columns / block[0, 0] if step == 1 else np.linalg.solve(block.T, columns.T).T
    a[end:, end:] -= np.tril(factors @ flip(columns).T)
    a[end:, k:end] = factors


def ldl_solve(ld: Any, pivots: Any, b: Any, *, hermitian: bool) -> Any:
    """`x` with `a @ x = b`, from the packed factors of `ldl`; stacks broadcast."""
    batch = np.broadcast_shapes(ld.shape[:-2], b.shape[:-2])
    x = stacked(np.broadcast_to(b, batch + b.shape[-2:]))
    factors = np.broadcast_to(ld, batch + ld.shape[-2:]).reshape(len(x), *ld.shape[-2:])
    chosen = np.broadcast_to(pivots, batch + pivots.shape[-1:]).reshape(len(x), pivots.shape[-1])
    flip: Any = np.conj if hermitian and ld.dtype.kind == "c" else (lambda value: value)
    for matrix, places, columns in zip(factors, chosen, x, strict=True):
        ldl_substitute(matrix, places, columns, flip)
    return by_columns(x.reshape(batch + b.shape[-2:]))


def ldl_substitute(a: Any, pivots: Any, x: Any, flip: Any) -> None:
    """Overwrite the columns `x` by the solution for one matrix."""
    blocks, k = [], 0
    while k < len(a):
        blocks.append((k, k + (1 if pivots[k] > 0 else 2)))
        k = blocks[-1][1]
    for start, end in blocks:
        swap = [end - 1, abs(pivots[start]) - 1]
        x[swap] = x[swap[::-1]]
        x[end:] -= a[end:, start:end] @ x[start:end]
        block = np.tril(a[start:end, start:end])
        block = block + flip(np.tril(block, -1)).T
        x[start:end] = np.linalg.solve(block, x[start:end]) if end > start + 1 else x[start] / block
    for start, end in reversed(blocks):
        x[start:end] -= flip(a[end:, start:end]).T @ x[end:]
        swap = [end - 1, abs(pivots[start]) - 1]
        x[swap] = x[swap[::-1]]


# -- orthogonal and spectral -----------------------------------------------------------------------


def qr(x: Any, *, mode: Any) -> tuple[Any, Any]:
    """Q and R, `mode` being "reduced" or "complete"."""
    q, r = np.linalg.qr(x, mode)
    return by_columns(q), by_columns(r)


def reflectors(x: Any) -> tuple[Any, Any]:
    """LAPACK's geqrf: R, with the Householder vectors below it, and their factors `tau`."""
    packed, tau = np.linalg.qr(x, "raw")
    return by_columns(packed.swapaxes(-1, -2)), tau


def hermitian_mean(x: Any) -> Any:
    """The Hermitian matrix nearest to `x`; a Hermitian `x` comes back exactly."""
    return (x + x.swapaxes(-1, -2).conj()) * x.dtype.type(0.5)


def guarded(function: Any, name: str, x: Any, **params: Any) -> Any:
    """Call one of NumPy's; raise LinAlgError with this project's text where it fails."""
    try:
        return function(x, **params)
    except np.linalg.LinAlgError as error:
        raise LinAlgError(NOT_FINITE.format(name=name)) from error


def eigh(x: Any) -> tuple[Any, Any]:
    """Eigenvalues, ascending, and eigenvectors of Hermitian matrices."""
    values, vectors = guarded(np.linalg.eigh, "linalg.eigh", hermitian_mean(x))
    return values, by_columns(vectors)


def eigvalsh(x: Any) -> Any:
    """Eigenvalues of Hermitian matrices, ascending."""
    return guarded(np.linalg.eigvalsh, "linalg.eigh", hermitian_mean(x))


def complex_of(x: Any) -> Any:
    """An array as complex, of the same precision."""
    return x.astype(np.result_type(x.dtype, np.complex64), copy=False)


def eig(x: Any) -> tuple[Any, Any]:
    """Eigenvalues and eigenvectors of norm 1, always complex."""
    values, vectors = guarded(np.linalg.eig, "linalg.eig", x)
    return complex_of(values), by_columns(complex_of(vectors))


def eigvals(x: Any) -> Any:
    """Eigenvalues, always complex."""
    return complex_of(guarded(np.linalg.eigvals, "linalg.eig", x))


def svd(x: Any, *, full: bool) -> tuple[Any, Any, Any]:
    """U, the singular values descending, and V^H; square factors if `full`."""
    u, s, vh = guarded(np.linalg.svd, "linalg.svd", x, full_matrices=full)
    return by_columns(u), s, by_columns(vh)


def svdvals(x: Any) -> Any:
    """The singular values, descending."""
    return guarded(np.linalg.svd, "linalg.svd", x, compute_uv=False)
