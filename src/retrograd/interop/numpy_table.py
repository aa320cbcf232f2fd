"""Which function stands for which of NumPy's.

Where NumPy's meaning is the array API standard's, or PyTorch's, it is that function; the rest is in
the modules beside this one, which define it under NumPy's names. Names that are equal on both sides
are listed once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import fft, linalg, ops
from . import array_api as api
from . import numpy_curves as curves
from . import numpy_layout as layout
from . import numpy_math as math
from . import numpy_pad, numpy_reductions

__all__ = ["ACCUMULATIONS", "FUNCTIONS", "PAIRS", "QUESTIONS", "REDUCTIONS", "TENSORS", "UFUNCS"]

Table = dict[Any, "Callable[..., Any]"]


def same_names(numpy: Any, ours: Any, names: str) -> Table:
    """The table of functions that NumPy and we have under the same names."""
    return {getattr(numpy, name): getattr(ours, name) for name in names.split() if name}


def defined(module: Any) -> Table:
    """The functions that a module defines under names of NumPy's."""
    return {
        getattr(np, name): ours
        for name, ours in vars(module).items()
        if getattr(ours, "__module__", None) == module.__name__
        and not isinstance(getattr(np, name, type), type)
    }


OWN = defined(numpy_reductions) | defined(curves) | defined(math) | defined(layout)

UFUNCS: Table = {
    **{theirs: ours for theirs, ours in OWN.items() if isinstance(theirs, np.ufunc)},
    **same_names(
        np,
        api,
        """add bitwise_and bitwise_or bitwise_xor copysign divide equal floor_divide greater
        greater_equal hypot less less_equal logaddexp logical_and logical_not logical_or logical_xor
        matmul maximum minimum multiply nextafter not_equal remainder sign subtract vecdot""",
    ),
    **same_names(
        np,
        ops,
        """absolute arccos arccosh arcsin arcsinh arctan arctanh ceil cos cosh deg2rad exp exp2
        expm1 float_power floor fmod frexp gcd heaviside isfinite isinf isnan lcm ldexp
        log log10 log1p log2 logaddexp2 negative positive rad2deg reciprocal signbit sin sinh sqrt
        square tan tanh trunc""",
    ),
    np.arctan2: api.atan2,
    np.conjugate: ops.conj,
    np.degrees: ops.rad2deg,
    np.fabs: ops.abs,
    np.invert: api.bitwise_invert,
    np.left_shift: api.bitwise_left_shift,
    np.power: api.pow,
    np.radians: ops.deg2rad,
    np.right_shift: api.bitwise_right_shift,
    np.rint: api.round,
}

REDUCTIONS: Table = {
    np.add: api.sum,
    np.multiply: api.prod,
    np.maximum: api.max,
    np.minimum: api.min,
    np.logical_and: api.all,
    np.logical_or: api.any,
    np.logaddexp: ops.logsumexp,
}

ACCUMULATIONS: Table = {
    np.add: api.cumulative_sum,
    np.multiply: api.cumulative_prod,
    np.maximum: numpy_reductions.cummax,
    np.minimum: numpy_reductions.cummin,
    np.logaddexp: ops.logcumsumexp,
}

FUNCTIONS: Table = {
    **same_names(
        np,
        api,
        """sum prod max min all any argmax argmin count_nonzero tensordot matrix_transpose moveaxis
        expand_dims broadcast_to flip roll tile repeat reshape stack tril triu searchsorted
        nonzero zeros_like ones_like empty_like""",
    ),
    **same_names(
        np,
        ops,
        """ravel atleast_1d atleast_2d atleast_3d fliplr
        flipud rot90 diag diagflat argwhere isin round sinc i0 real nan_to_num""",
    ),
    **{theirs: ours for theirs, ours in OWN.items() if theirs not in UFUNCS},
    **defined(numpy_pad),
    np.amax: api.max,
    np.amin: api.min,
    np.around: ops.round,
    np.broadcast_arrays: ops.broadcast_tensors,
    np.copy: ops.clone,
    np.fix: ops.trunc,
    np.iscomplexobj: ops.is_complex,
    np.array_repr: layout.text,
    np.array_str: layout.text,
    np.array2string: layout.text,
    **same_names(np.linalg, api.linalg, "cholesky det inv matrix_rank slogdet solve"),
    **same_names(
        np.linalg,
        linalg,
        "cond eig eigh eigvals eigvalsh matrix_power multi_dot norm pinv tensorinv",
    ),
    **same_names(np.linalg, math, "lstsq qr svd tensorsolve"),
    **same_names(
        np.linalg,
        api.linalg,
        """cross diagonal matmul matrix_norm matrix_transpose outer svdvals tensordot trace vecdot
        vector_norm""",
    ),
    **same_names(np.fft, api.fft, "fft fftn fftshift hfft ifft ifftn ifftshift ihfft irfft irfftn"),
    **same_names(np.fft, api.fft, "rfft rfftn"),
    **same_names(np.fft, fft, "fft2 ifft2 irfft2 rfft2"),
}
# Added to NumPy after 2.0.
for name in ("cumulative_sum", "cumulative_prod", "unstack", "astype"):
    if hasattr(np, name):
        FUNCTIONS[getattr(np, name)] = getattr(api, name)

# Those whose first two arguments are both arrays, so that lists of numbers may be given.
PAIRS = {
    *(np.trapezoid, np.bincount, np.dot, np.vdot, np.inner, np.outer, np.kron, np.cross),
    *(np.tensordot, np.convolve, np.correlate, np.append, np.where, np.take_along_axis, np.extract),
    *(np.searchsorted, np.isin, np.isclose, np.allclose, np.linalg.lstsq, np.linalg.solve),
    *(np.linalg.tensorsolve, np.linalg.cross, np.linalg.matmul, np.linalg.outer),
    *(np.linalg.tensordot, np.linalg.vecdot),
}

# What NumPy does by a method of its argument, or gives as it gave it: it is a tensor for a tensor.
TENSORS = {
    *same_names(
        np,
        np,
        """sum prod max min amax amin all any mean var std ptp argmax argmin argsort searchsorted
        cumsum cumprod clip round around fix real imag nonzero argwhere compress choose repeat
        reshape squeeze swapaxes transpose moveaxis rollaxis flip take take_along_axis delete insert
        trim_zeros diagflat block split array_split hsplit vsplit dsplit apply_along_axis linspace
        logspace percentile nanpercentile array_repr array_str array2string""",
    ),
    *same_names(
        np.linalg,
        np.linalg,
        "cholesky inv pinv solve qr eig eigh svd lstsq tensorsolve matmul vecdot",
    ),
}

# Questions, whose answers have no gradient whatever the tensors have: NumPy answers them.
QUESTIONS = {
    *(np.array_equal, np.array_equiv, np.shares_memory, np.may_share_memory, np.digitize),
    *(
        np.lexsort,
        np.argpartition,
        np.nanargmax,
        np.nanargmin,
        np.can_cast,
        np.iscomplex,
        np.isreal,
        np.einsum_path,
        np.diag_indices_from,
        np.tril_indices_from,
        np.triu_indices_from,
    ),
}
