"""The names of `numpy.linalg`, whose functions take boxes as they are.

Of a matrix's two triangles NumPy's `eigh` and `eigvalsh` read one, and so the gradient is that of
the entries there, the others having none; a tensor's is shared between both.
"""

from typing import Any

import numpy as np

from ..boxes import isbox

__all__ = ["eigh", "eigvalsh"]


def mirrored(a: Any, UPLO: str) -> Any:
    """The Hermitian matrices (..., N, N) that one triangle of `a` says."""
    if not isbox(a):
        return a
    below = np.tril(a, -1) if UPLO.upper() == "L" else np.conj(np.swapaxes(np.triu(a, 1), -1, -2))
    return below + np.conj(np.swapaxes(below, -1, -2)) + np.real(a * np.eye(a.shape[-1]))


def eigh(a: Any, UPLO: Any = "L") -> Any:
    """NumPy's `eigh`: eigenvalues (..., N) and vectors (..., N, N) of a Hermitian matrix.

    >>> import retrograd.interop.autograd.numpy as anp
    >>> from retrograd.interop.autograd import grad
    >>> grad(lambda a: anp.linalg.eigh(a)[0][0])(np.array([[0.0, 1.0], [1.0, 0.0]]))
    array([[ 0.5,  0. ],
           [-1. ,  0.5]])
    """
    return np.linalg.eigh(mirrored(a, UPLO), UPLO)


def eigvalsh(a: Any, UPLO: Any = "L") -> Any:
    """NumPy's `eigvalsh`: the eigenvalues (..., N), with the gradient of `eigh`."""
    return np.linalg.eigvalsh(mirrored(a, UPLO), UPLO)


def __getattr__(name: str) -> Any:
    return getattr(np.linalg, name)


def __dir__() -> list[str]:
    return dir(np.linalg)
