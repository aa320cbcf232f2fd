"""The hot path in C, where it was built: NOTE [Native] in `src/native/module.c`.

The package is whole without it, and computes the same: NumPy is the only hard need. To leave it
out where it was built, set the environment variable `RETROGRAD_NATIVE=0`.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Any

from ..locks import ONE_AT_A_TIME

__all__ = ["native"]

native: Any = None
if ONE_AT_A_TIME and os.environ.get("RETROGRAD_NATIVE") != "0":
    with suppress(ImportError):  # there was no compiler to build it
        from . import _native as native
