"""What the families of linear algebra share: checks of matrices, out= for tuples, small records.

NOTE [Undefined or zero]
The derivatives of eigen- and singular vectors divide by differences that may be 0. Where no loss
depends on the vectors their cotangent is 0, and 0 / 0 must be 0; where one does, it must not: the
limit is another number. So `quotient` asks of the cotangent itself whether it is there at all.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import dtypes
from ...engine.registry import declare, example
from ...engine.tensor import Tensor, constant_like
from ...errors import LinAlgError, wrong_type
from ...kernels.allocation import empty, has_memory, has_values, is_batched, known_true
from ..core import batching
from ..core.dims import broadcast_shapes

# -- checks ----------------------------------------------------------------------------------------


def check_matrix(x: Any, name: str, argument: str = "A", halves: bool = False) -> None:
    """Raise unless a tensor holds matrices of a floating or complex dtype, without `halves` of one
    that LAPACK knows.
    """
    if not isinstance(x, Tensor):
        raise wrong_type(name, argument, "Tensor", x)
    if x._array.dtype.char not in "fdFD":
        check_floating(x, name)
        if not halves:
            check_low_precision(x, name)
    check_two_dims(x, name, argument)


def check_two_dims(x: Tensor, name: str, argument: str = "A") -> None:
    """Raise for a tensor that holds no matrices."""
    if x._array.ndim < 2:
        raise RuntimeError(
            f"{name}: The input tensor {argument} must have at least 2 dimensions. Got shape "
            f"{list(x.shape)}; a single column is x.unsqueeze(-1)"
        )


WITHOUT_KERNEL = {  # functions that look at no dtype in PyTorch before they look for a kernel
    "cholesky", "cholesky_inverse", "cholesky_solve", "linalg.eigh", "linalg.solve_triangular",
    "torch.geqrf", "torch.linalg.householder_product", "torch.lu_factor", "torch.ormqr",
}  # fmt: skip


def check_floating(x: Tensor, name: str) -> None:
    """Raise for integer and bool tensors."""
    if not (x.dtype.is_floating_point or x.dtype.is_complex):
        kind = NotImplementedError if name in WITHOUT_KERNEL else RuntimeError
        raise kind(
            f"{name}: Expected a floating point or complex tensor as input. Got "
            f"{dtypes.legacy_name(x.dtype)}. Convert first: x.float()"
        )


REFUSE_HALVES = {  # functions that look at the dtype first in PyTorch, too
    "linalg.inv", "linalg.matrix_norm", "linalg.pinv", "linalg.slogdet", "logdet",
    "torch.linalg.lstsq", "torch.linalg.matrix_rank",
}  # fmt: skip


def check_low_precision(x: Tensor, name: str) -> None:
    """Raise for half floats, for which there are no factorizations.

    NotImplementedError, a RuntimeError, where PyTorch finds no kernel for them.
    """
    if x.dtype.numpy.char not in "fdFD":
        kind = RuntimeError if name in REFUSE_HALVES else NotImplementedError
        raise kind(
            f"{name}: Low precision dtypes not supported. Got {dtypes.legacy_name(x.dtype)}. "
            "Convert first: x.float()"
        )


def check_square(x: Any, name: str, argument: str = "A", halves: bool = False) -> None:
    """Raise unless a tensor holds square matrices."""
    check_matrix(x, name, argument, halves)
    check_sides(x, name, argument)


def check_sides(x: Tensor, name: str, argument: str = "A") -> None:
    """Raise unless matrices have as many rows as columns."""
    m, n = x._array.shape[-2:]
    if m != n:
        raise RuntimeError(
            f"{name}: {argument} must be batches of square matrices, but they are {m} by {n} "
            "matrices"
        )


def check_same_dtype(a: Tensor, b: Tensor, name: str) -> None:
    """Raise unless two tensors have one dtype."""
    if a._array.dtype != b._array.dtype:
        first, second = (dtypes.legacy_name(t.dtype) for t in (a, b))
        raise RuntimeError(
            f"{name}: Expected A and B to have the same dtype, but found A of type {first} and B "
            f"of type {second} instead. Convert one first, such as B.to(A.dtype)"
        )


def check_system(a: Tensor, b: Tensor, name: str, left: bool = True) -> None:
    """Raise unless AX = B (XA = B if not `left`) has shapes that fit, stacks broadcast."""
    first, second = a._array.shape, b._array.shape
    if first[-2] != second[-2 if left else -1]:
        sizes = [f"{shape[-2]}x{shape[-1]}" for shape in (first, second)]
        raise RuntimeError(
            f"{name}: Incompatible shapes of A and B for the equation {'AX' if left else 'XA'} = B "
            f"({sizes[0]} and {sizes[1]})"
        )
    if first[:-2] != second[:-2]:
        broadcast_shapes(first[:-2], second[:-2])


def raise_failed(info: Tensor, text: str) -> None:
    """Raise LinAlgError if `info` says that a matrix failed; `text` may name its place {info}."""
    while is_batched(info._array):
        info = info._array.value
    if not has_memory(info._array) or not has_values(info._array):
        return  # a class's own, which has checked it; one that has not been computed
    if info._array.__class__ is np.ndarray and not np.count_nonzero(info._array):
        return  # the quickest way
    failed = np.flatnonzero(info._array)
    if failed.size:
        where = f"(Batch element {failed[0]}): " if info._array.ndim else ""
        raise LinAlgError(text.format(where=where, info=info._array.flat[failed[0]]))


# -- places ----------------------------------------------------------------------------------------


def row(xp: Any, v: Any) -> Any:
    """Vectors `(..., n)` as rows `(..., 1, n)`."""
    return xp.unsqueeze(v, dims=(v.ndim - 1,))


def column(xp: Any, v: Any) -> Any:
    """Vectors `(..., n)` as columns `(..., n, 1)`."""
    return xp.unsqueeze(v, dims=(v.ndim,))


def diagonal_of(xp: Any, x: Any) -> Any:
    """The diagonals of matrices `(..., n, n)` as vectors `(..., n)`."""
    return xp.diagonal(x, offset=0, dim1=x.ndim - 2, dim2=x.ndim - 1)


def embedded(xp: Any, v: Any) -> Any:
    """Diagonal matrices `(..., n, n)` of vectors `(..., n)`."""
    n = v.ndim
    return xp.undiagonal(v, offset=0, dim1=n - 1, dim2=n, shape=(*v.shape, v.shape[-1]))


def transposed(xp: Any, x: Any) -> Any:
    """Matrices with rows and columns exchanged, nothing conjugated."""
    return xp.transpose(x, dim0=x.ndim - 2, dim1=x.ndim - 1)


def by_columns(xp: Any, g: Any) -> Any:
    """Matrices with their columns contiguous in memory, as LAPACK gives them: for gradients."""
    if g.__class__ is np.ndarray:
        return g.swapaxes(-1, -2).copy().swapaxes(-1, -2)
    return transposed(xp, xp.contiguous(transposed(xp, g)))


def identity(like: Tensor, m: int, n: int | None = None) -> Tensor:
    """Ones on the diagonal, in the dtype of another tensor."""
    return constant_like(np.eye(m, n, dtype=like.dtype.numpy), like)


# -- records for formulas --------------------------------------------------------------------------


def _off_diagonal(x: Any) -> Any:
    out = x.copy()
    places = np.arange(x.shape[-1])
    out[..., places, places] = 0
    return out


declare(
    "off_diagonal(input)",
    _off_diagonal,
    input=lambda xp, g: xp.off_diagonal(g),
    linear="input",
    batch="leading",
    examples=["3x3", "2x2x2", "0x0"],
    doc="""Square matrices with zeros on the diagonal.""",
)


def _gaps(x: Any) -> Any:
    out = x[..., None, :] - x[..., :, None]
    places = np.arange(x.shape[-1])
    out[..., places, places] = 1
    return out


declare(
    "gaps(input)",
    _gaps,
    input=lambda xp, g: (
        xp.sum_dim(xp.off_diagonal(g), dim=(g.ndim - 2,), keepdim=False)
        - xp.sum_dim(xp.off_diagonal(g), dim=(g.ndim - 1,), keepdim=False)
    ),
    batch="leading",
    examples=["3", "2x3", "0"],
    doc="""All differences `x_j - x_i` as a matrix, with ones on its diagonal.""",
)


def _quotient(x: Any, y: Any, source: Any) -> Any:
    present = np.any(source != 0, axis=(-1, -2), keepdims=True)
    shape = np.broadcast_shapes(x.shape, y.shape)
    out = np.divide(x, y, out=empty(x, shape, np.result_type(x, y)))
    np.copyto(out, 0, where=~present)
    return out


declare(
    "quotient(input, other, source)",
    _quotient,
    input=lambda xp, g, other: xp.quotient(g, xp.conj(other), g),
    other=lambda xp, g, other, source, out: -xp.quotient(g * xp.conj(out), xp.conj(other), source),
    linear="input",
    domain=(0.5, 2.0),
    batch=batching.aligned("quotient"),
    examples=["3x3, 3x3, 3x3", "2x2x3, 1x3, 2x1x1", "0x0, 0x0, 0x0"],
    doc="""`input / other`, and 0 for matrices whose `source` is 0: NOTE [Undefined or zero].""",
)

ADVICE = (
    " Use a loss that does not, such as one of abs(V); or, to drop that part of the gradient, "
    "pass gauge='project'."
)
EIGEN = (
    "linalg_{}_backward: The eigenvectors in the complex case are specified up to multiplication "
    "by e^{{i phi}}. The specified loss function depends on this quantity, so it is ill-defined."
)
PHASES = {
    "eigh": EIGEN.format("eigh") + ADVICE,
    "eig": EIGEN.format("eig") + ADVICE,
    "svd": "svd_backward: The singular vectors in the complex case are specified up to "
    "multiplication by e^{i phi}. The specified loss function depends on this phase term, making "
    "it ill-defined." + ADVICE,
}


def _phase_free(x: Any, *, name: str) -> Any:
    turning = np.diagonal(x.imag, axis1=-2, axis2=-1)
    if known_true(np.any(np.abs(turning) > 1e-2)):  # PyTorch's tolerance
        raise RuntimeError(PHASES[name])
    return x


declare(
    "phase_free(input, *, name)",
    _phase_free,
    on_reals=lambda input, *, name: input,
    input=lambda xp, g: g,
    linear="input",
    complex=False,
    batch="leading",
    examples=[example("2x2", name="eigh")],
    doc="""`input`; raises where its diagonal says that a loss depends on the phase of vectors.""",
)


def check_gauge(gauge: str) -> None:
    """Raise unless `gauge` is one of the two ways to treat the phase of vectors."""
    if gauge not in ("raise", "project"):
        raise ValueError(f"gauge must be 'raise' or 'project', but is {gauge!r}")
