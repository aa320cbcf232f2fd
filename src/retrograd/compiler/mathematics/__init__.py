"""NumPy's and SciPy's elementary functions as code of kernels.

`EMIT` has, by a ufunc's name (`ufunc.__name__`: SciPy's are known here without importing it), the
function that emits it: of `Value`s or `Complex`es that have the dtypes of one of the ufunc's loops,
all of one dtype; it gives the result, or a tuple where the ufunc has several. `DTYPES` has the
characters of the loops' dtypes that it takes: whatever is not in there stays a call of NumPy's.
"""

from __future__ import annotations

from . import (
    arithmetic,
    comparison,
    complexes,
    error,
    exponential,
    gamma,
    logarithm,
    powers,
    trigonometry,
)
from .table import DTYPES, EMIT

__all__ = ["DTYPES", "EMIT"]
