"""SciPy's special functions, for those who have it: imported at the first use (0.3 s).

Nothing here knows of tensors or of mathematics: it is the one place that imports `scipy.special`.
"""

from __future__ import annotations

import importlib
from functools import cache
from typing import Any

import numpy as np

__all__ = ["scipy_special", "widely"]

MISSING = (
    "{name}() needs SciPy, which is not installed here: its kernel is `scipy.special.{name}`. "
    "Install it with: pip install retrograd[fast]"
)


@cache
def _module() -> Any:
    return importlib.import_module("scipy.special")


def scipy_special(name: str) -> Any:
    """The function of `scipy.special` called `name`; ImportError, saying what to do, without it."""
    try:
        return getattr(_module(), name)
    except ImportError as error:
        raise ImportError(MISSING.format(name=name)) from error


def widely(name: str, x: Any, *before: Any) -> Any:
    """`scipy.special.name(*before, x)` computed in double precision, in the dtype of `x`."""
    wide = np.complex128 if x.dtype.kind == "c" else np.float64
    return np.asarray(scipy_special(name)(*before, x.astype(wide)), x.dtype)
