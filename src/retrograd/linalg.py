"""Linear algebra under torch.linalg's names (names only; see `ops`)."""

from .engine import overriding
from .errors import LinAlgError
from .ops.linalg.cholesky import cholesky, cholesky_ex, ldl_factor, ldl_factor_ex, ldl_solve
from .ops.linalg.determinant import det, slogdet
from .ops.linalg.eigen import eig, eigh, eigvals, eigvalsh
from .ops.linalg.lstsq import lstsq, matrix_rank, pinv
from .ops.linalg.lu import lu, lu_factor, lu_factor_ex, lu_solve
from .ops.linalg.matmul import matmul
from .ops.linalg.matrix_functions import cross, diagonal, matrix_exp, multi_dot, vander, vecdot
from .ops.linalg.matrix_norms import cond, matrix_norm, norm
from .ops.linalg.matrix_products import matrix_power
from .ops.linalg.qr import householder_product, qr
from .ops.linalg.solve import (
    inv,
    inv_ex,
    solve,
    solve_ex,
    solve_triangular,
    tensorinv,
    tensorsolve,
)
from .ops.linalg.svd import svd, svdvals
from .ops.reduction.vector_norm import vector_norm

__all__ = [
    "LinAlgError", "cholesky", "cholesky_ex", "cond", "cross", "det", "diagonal", "eig", "eigh",
    "eigvals", "eigvalsh", "householder_product", "inv", "inv_ex", "ldl_factor", "ldl_factor_ex",
    "ldl_solve", "lstsq", "lu", "lu_factor", "lu_factor_ex", "lu_solve", "matmul", "matrix_exp",
    "matrix_norm", "matrix_power", "matrix_rank", "multi_dot", "norm", "pinv", "qr", "slogdet",
    "solve", "solve_ex", "solve_triangular", "svd", "svdvals", "tensorinv", "tensorsolve", "vander",
    "vecdot", "vector_norm",
]  # fmt: skip

overriding.publish(globals(), "retrograd.linalg")
