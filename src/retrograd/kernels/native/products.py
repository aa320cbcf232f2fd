"""Large products of matrices over one pool of threads: NOTE [One pool], `src/native/loops/gemm.c`.

`product` gives None for whatever goes to NumPy: arrays that are not its own, small ones, and all
where NumPy's BLAS is not the one that it brings along. Half floats are multiplied in single
precision and rounded once.
"""

from __future__ import annotations

import math
import os
from functools import cache
from typing import Any

import numpy as np

from .. import native
from . import loops

LARGE = 1 << 18  # multiplications: below it, BLAS itself takes one thread


@cache
def has_blas() -> bool:
    """Whether the loops have found NumPy's BLAS."""
    home = os.path.dirname(np.__file__)
    folders = [folder for folder in (f"{home}.libs", f"{home}/.dylibs") if os.path.isdir(folder)]
    found = [f"{folder}/{name}" for folder in folders for name in sorted(os.listdir(folder))]
    return any(loops.use_blas(path) for path in found if "openblas" in path)


def product(x: Any, y: Any, bias: Any = None) -> Any:
    """`x @ y + bias` of matrices, or of stacks of them, if they are large."""
    if native.loops is None or x.__class__ is not np.ndarray or y.__class__ is not np.ndarray:
        return None
    dtype = x.dtype
    if dtype.itemsize == 2 and dtype.kind in "fV" and y.dtype == dtype:
        wide = [a if a is None else a.astype(np.float32) for a in (x, y, bias)]
        found = product(*wide)
        return found if found is None else found.astype(dtype)
    if dtype.char not in "fdFD" or y.dtype != dtype or x.shape[-1] != y.shape[-2]:
        return None
    if bias is not None and not (
        bias.__class__ is np.ndarray and bias.dtype == dtype and bias.shape == y.shape[-1:]
        and bias.flags.c_contiguous
    ):  # fmt: skip
        return None
    lead = x.shape[:-2]
    if lead != y.shape[:-2]:
        try:
            lead = np.broadcast_shapes(lead, y.shape[:-2])
        except ValueError:
            return None
        x = x.reshape((1,) * (len(lead) + 2 - x.ndim) + x.shape)
        y = y.reshape((1,) * (len(lead) + 2 - y.ndim) + y.shape)
    shape = (*lead, x.shape[-2], y.shape[-1])
    if math.prod(shape) * x.shape[-1] < LARGE or len(shape) > 16 or not has_blas():
        return None
    out = np.empty(shape, dtype)
    return out if native.loops.gemm(out, x, y, bias) else None


def factored(x: Any, upper: bool) -> bool:
    """Overwrite Hermitian matrices, dense by columns, by Cholesky's factors; whether all have one.

    Where that was not done they hold something else.
    """
    if native.loops is None or x.__class__ is not np.ndarray:
        return False
    return x.dtype.char in "fdFD" and has_blas() and native.loops.potrf(x.swapaxes(-1, -2), upper)


def eliminated(x: Any, pivots: Any, info: Any) -> bool:
    """Overwrite matrices, dense by columns, by L and U, and write what LAPACK's getrf says of them.

    Whether that was done.
    """
    if native.loops is None or x.__class__ is not np.ndarray or x.size == 0:
        return False
    if x.dtype.char not in "fdFD" or not has_blas():
        return False
    return native.loops.getrf(x.swapaxes(-1, -2), pivots, info)  # type: ignore[no-any-return]


def interchanged(orders: Any, pivots: Any) -> bool:
    """Swap the numbers in rows as rows of pivots say; whether that was done."""
    if native.loops is None or orders.__class__ is not np.ndarray or pivots.dtype != np.int32:
        return False
    return native.loops.interchange(orders, np.ascontiguousarray(pivots))  # type: ignore[no-any-return]
