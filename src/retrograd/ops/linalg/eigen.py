"""Eigenvalues and eigenvectors, of general and of Hermitian matrices.

NOTE [Gauge]
Eigenvectors are given up to a factor e^(i phi) each, singular vectors up to one for each pair. A
loss that depends on it has no gradient, and that is raised when the cotangent of complex vectors
arrives; `gauge="project"` says that the part of it along that freedom is to be dropped instead: the
gradient is then that for vectors which move without turning (V^H dV has a real diagonal of zeros).
For a loss that does not depend on the phase both are the same. Within an eigenspace of several
dimensions there is no gradient either; there, entries are infinite or NaN.
"""

from __future__ import annotations

from typing import Any

from ...engine.registry import declare, example
from ...engine.tensor import Tensor
from ...kernels import lapack
from ..core import return_types
from ..core.arguments import public
from .checks import check_gauge, check_square, column, diagonal_of, row
from .cholesky import mirror

# -- Hermitian -------------------------------------------------------------------------------------


def eigh_input(xp: Any, g: Any, values: Any, vectors: Any, gauge: str) -> Any:
    """V (diag(g) + the Hermitian part of V^H gV over differences of eigenvalues) V^H, of A."""
    turned = xp.adjoint(vectors)
    inside = turned @ g[1]
    if gauge == "raise":
        inside = xp.phase_free(inside, name="eigh")
    inside = xp.quotient(xp.off_diagonal(inside), xp.gaps(values), g[1])
    inside = (inside + xp.adjoint(inside)) * 0.5
    return vectors @ inside @ turned + (vectors * row(xp, g[0])) @ turned


_eigh = declare(
    "eigh(input, *, gauge) -> values, vectors",
    lambda input, *, gauge: lapack.eigh(input),
    input=eigh_input,
    complex=False,  # vectors of a complex matrix have a gauge: `eigvalsh` runs their formula
    batch="leading",
    examples=[
        example("3x3", gauge="raise"),
        example("2x2x2", gauge="project"),
        example("0x0", gauge="raise"),
    ],
    node_name="LinalgEighBackward0",
    saved={"eigenvalues": "values", "eigenvectors": "vectors"},
)


def eigvalsh_input(xp: Any, g: Any, input: Any) -> Any:
    """The cotangent of A, V diag(g) V^H, with vectors computed when they are needed."""
    vectors = xp.eigh(input, gauge="raise")[1]
    return (vectors * row(xp, g)) @ xp.adjoint(vectors)


_eigvalsh = declare(
    "eigvalsh(input)",
    lapack.eigvalsh,
    input=eigvalsh_input,
    batch="leading",
    examples=["3x3", "2x2x2", "0x0", "0x2x2"],
    node_name="LinalgEighBackward0",
)


def check_triangle(UPLO: str) -> bool:
    """Whether the upper triangle is meant; raises for another letter."""
    if not isinstance(UPLO, str) or UPLO.upper() not in ("L", "U"):
        raise RuntimeError(f"Expected UPLO argument to be 'L' or 'U', but got {UPLO}")
    return UPLO.upper() == "U"


@public(out=True)
def eigh(A: Tensor, UPLO: str = "L", *, gauge: str = "raise") -> Any:
    """(eigenvalues, eigenvectors) of Hermitian matrices `(..., n, n)`; the values real, ascending.

    Of A the lower triangle is read, for UPLO="U" the upper; its gradient is Hermitian. A loss of
    complex vectors that depends on their phase raises in the backward pass; `gauge="project"`
    drops that part of its gradient instead. Gradients of vectors are not finite where eigenvalues
    coincide. Raises LinAlgError for NaN and infinities, RuntimeError for other shapes and dtypes.

    >>> rg.linalg.eigh(rg.tensor([[2.0, 1.0], [1.0, 2.0]])).eigenvalues
    tensor([1., 3.])
    """
    check_square(A, "linalg.eigh")
    check_gauge(gauge)
    found = _eigh(mirror(A, upper=check_triangle(UPLO)), gauge=gauge)
    return return_types.linalg_eigh(*found)


@public(out=True)
def eigvalsh(A: Tensor, UPLO: str = "L") -> Tensor:
    """The eigenvalues of Hermitian matrices, real and ascending; arguments as for `eigh`.

    >>> rg.linalg.eigvalsh(rg.tensor([[2.0, 1.0], [1.0, 2.0]]))
    tensor([1., 3.])
    """
    check_square(A, "linalg.eigh")
    return _eigvalsh(mirror(A, upper=check_triangle(UPLO)))


# -- general ---------------------------------------------------------------------------------------


def eig_input(xp: Any, g: Any, values: Any, vectors: Any, gauge: str) -> Any:
    """V^-H (diag(g) + V^H gV, less what would change norms, over differences) V^H, of A."""
    turned = xp.adjoint(vectors)
    inside = turned @ g[1]
    if gauge == "raise":
        inside = xp.phase_free(inside, name="eig")
    along = row(xp, xp.real(diagonal_of(xp, inside)))
    inside = xp.off_diagonal(inside - (turned @ vectors) * along)
    inside = xp.quotient(inside, xp.conj(xp.gaps(values)), g[1])
    inside = inside @ turned + column(xp, g[0]) * turned
    return xp.solve_ex(turned, inside, left=True)[0]


_eig = declare(
    "eig(input, *, gauge) -> values, vectors",
    lambda input, *, gauge: lapack.eig(input),
    input=eig_input,
    batch="leading",
    examples=[  # the vectors of larger matrices have a gauge: `eigvals` runs their formula
        example("1x1", gauge="project"),
        example("2x1x1", gauge="project"),
        example("0x0", gauge="raise"),
    ],
    node_name="LinalgEigBackward0",
)


def eigvals_input(xp: Any, g: Any, input: Any) -> Any:
    """The cotangent of A, V^-H diag(g) V^H, with vectors computed when they are needed."""
    turned = xp.adjoint(xp.eig(input, gauge="raise")[1])
    return xp.solve_ex(turned, column(xp, g) * turned, left=True)[0]


_eigvals = declare(
    "eigvals(input)",
    lapack.eigvals,
    input=eigvals_input,
    batch="leading",
    examples=["3x3", "2x2x2", "0x0", "0x2x2"],
    node_name="LinalgEigBackward0",
)


@public(out=True)
def eig(A: Tensor, *, gauge: str = "raise") -> Any:
    """(eigenvalues, eigenvectors) of square matrices `(..., n, n)`; complex, in no order.

    The vectors are columns of norm 1. A loss that depends on their phase raises in the backward
    pass; `gauge="project"` drops that part of its gradient instead. Gradients are not finite where
    the matrix has not n independent vectors, nor those of vectors where eigenvalues coincide.
    Raises LinAlgError for NaN and infinities, RuntimeError for other shapes and dtypes.

    >>> rg.linalg.eig(rg.tensor([[0.0, 1.0], [-1.0, 0.0]])).eigenvalues.imag
    tensor([ 1., -1.])
    """
    check_square(A, "linalg.eig")
    check_gauge(gauge)
    return return_types.linalg_eig(*_eig(A, gauge=gauge))


@public(out=True)
def eigvals(A: Tensor) -> Tensor:
    """The eigenvalues of square matrices, complex, in no order; see `eig`.

    >>> rg.linalg.eigvals(rg.tensor([[2.0, 1.0], [0.0, 3.0]]))
    tensor([2.+0.j, 3.+0.j])
    """
    check_square(A, "linalg.eigvals")
    return _eigvals(A)
