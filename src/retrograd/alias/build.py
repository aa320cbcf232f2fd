"""What the package stands on, as text for reports: PyTorch's module `torch.__config__`."""

from __future__ import annotations

import platform
from typing import Any

import numpy as np

from ..engine import native
from ..kernels.native import threads
from ..version import __version__

__all__ = ["parallel_info", "show"]


def show() -> str:
    """The versions of Retrograd, Python and NumPy, NumPy's BLAS, and whether there is C.

    >>> rg.__config__.show().splitlines()[0]
    'Retrograd built with:'
    """
    found: Any = np.show_config(mode="dicts")
    blas = found.get("Build Dependencies", {}).get("blas", {})
    lines = [
        f"Retrograd {__version__}",
        f"Python {platform.python_version()} ({platform.machine()})",
        f"NumPy {np.__version__}, BLAS: {blas.get('name')} {blas.get('version')}",
        f"hot path in C: {'yes' if native.native else 'no'}",
    ]
    return "\n".join(["Retrograd built with:", *[f"  - {line}" for line in lines], ""])


def parallel_info() -> str:
    """How many threads large loops use.

    >>> rg.__config__.parallel_info().startswith("get_num_threads() : ")
    True
    """
    return f"get_num_threads() : {threads.threads()}\n"


def _cxx_flags() -> str:
    """The options of the C++ compiler: there was none."""
    return ""
