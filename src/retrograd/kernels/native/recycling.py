"""The memory of large arrays is used again: NOTE [Recycling] in `src/native/recycle.c`.

Blocks of 8 MiB and more that results of ops let go of are kept for the next ones, 256 MiB in all.
`RETROGRAD_RECYCLE=0` in the environment turns it off.
"""

from __future__ import annotations

import os

from ...quiet import CALM
from . import loops

if loops is not None and os.environ.get("RETROGRAD_RECYCLE") != "0":
    CALM.run(loops.recycle)
