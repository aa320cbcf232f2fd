"""SciPy's special functions, for those who have it: imported at the first use (0.3 s).

Nothing here knows of tensors or of mathematics: it is the one place that imports `scipy.special`.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ..locks import load
from .allocation import has_special

if TYPE_CHECKING:
    from collections.abc import Callable

MISSING = (
    "{name}() needs SciPy, which is not installed here: its kernel is `scipy.special.{name}`. "
    "Install it with: pip install retrograd[fast]"
)


@cache
def _module() -> Any:
    return load("scipy.special")


def scipy_special(name: str) -> Any:
    """The function of `scipy.special` called `name`; ImportError, saying what to do, without it."""
    try:
        return getattr(_module(), name)
    except ImportError as error:
        raise ImportError(MISSING.format(name=name)) from error


@cache
def _ufunc(name: str) -> Any:
    """The ufunc of `scipy.special` called `name`, None without SciPy."""
    try:
        return getattr(_module(), name)
    except ImportError:
        return None


def forget() -> None:
    """Look for SciPy anew: for tests that hide it."""
    _module.cache_clear()
    _ufunc.cache_clear()


def by_scipy(name: str, otherwise: Callable[[Any], Any], x: Any, kinds: str = "fdFD") -> Any:
    """`scipy.special.name(x)`, and without SciPy `otherwise(x)`, in the dtype of `x`.

    `kinds` are the dtypes whose loops are exact; others are computed in double precision. An array
    that has the function itself is asked for it: NOTE [The seam] in `allocation`.
    """
    if has_special(x):
        return x.special(name)
    function = _ufunc(name)
    if function is None:
        return otherwise(x)
    if x.dtype.char in kinds:
        return function(x)
    return function(x.astype(np.float64)).astype(x.dtype)


def widely(name: str, x: Any, *before: Any) -> Any:
    """`scipy.special.name(*before, x)` computed in double precision, in the dtype of `x`."""
    wide = np.complex128 if x.dtype.kind == "c" else np.float64
    return scipy_special(name)(*before, x.astype(wide)).astype(x.dtype)
