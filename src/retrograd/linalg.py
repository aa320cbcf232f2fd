"""Linear algebra under torch.linalg's names (names only; see `ops`)."""

from .ops.linalg import matmul
from .ops.matrices import matrix_power
from .ops.statistics import vector_norm

__all__ = ["matmul", "matrix_power", "vector_norm"]
