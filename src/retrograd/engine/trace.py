"""Where in the user's program something was recorded or written: for anomaly mode.

This module knows nothing of tensors or graphs.
"""

from __future__ import annotations

import os
import sys

from .. import modes
from ..locks import load

PACKAGE = os.path.dirname(os.path.dirname(__file__)) + os.sep
HOMES = "stdlib", "purelib", "scripts"  # of Python, of installed packages, of their commands
AT = " at\n"  # between the name of an op and its line
FRAME = "  File "  # with which each place of a trace begins


def where(last: int = 0) -> str:
    """The lines that led here, up to the last one outside this package; only the `last` of them.

    They begin in the user's program: what started that, as a notebook's server, is left out.
    """
    traceback = load("traceback")  # slow to load, and rarely needed
    frames = traceback.extract_stack()
    while frames and frames[-1].filename.startswith(PACKAGE):
        frames.pop()
    places = load("sysconfig").get_paths()
    others = ("<frozen ", PACKAGE, *(places[kind] + os.sep for kind in HOMES))
    start = next((i for i, f in enumerate(frames) if not f.filename.startswith(others)), 0)
    return "".join(traceback.format_list(frames[start:][-last:]))


def innermost(trace: str) -> str:
    """The last place of those that a trace has."""
    return trace[trace.rfind(FRAME) :]


def users_level() -> int:
    """The `stacklevel` with which the caller's warning names the line of the user's program."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(PACKAGE):
        level, frame = level + 1, frame.f_back
    return level


def located(name: str) -> str:
    """The name of an op and, in anomaly mode, the line of the user's program that called it."""
    if not modes.state.anomaly:
        return name
    return f"{name}{AT}{where(1)}"
