"""Switches that PyTorch's programs set: threads, determinism, precision. Here they are kept, only.

NumPy runs the kernels. They are deterministic, in full precision, and the number of threads in
products of matrices is set before Python starts: `OMP_NUM_THREADS=4 python program.py`.
"""

from __future__ import annotations

import os
import warnings
from typing import Any

from ... import modes

__all__ = [
    "are_deterministic_algorithms_enabled",
    "compiled_with_cxx11_abi",
    "get_deterministic_debug_mode",
    "get_float32_matmul_precision",
    "get_num_interop_threads",
    "get_num_threads",
    "has_lapack",
    "has_mkl",
    "has_openmp",
    "has_spectral",
    "is_deterministic_algorithms_warn_only_enabled",
    "is_vulkan_available",
    "set_anomaly_enabled",
    "set_deterministic_debug_mode",
    "set_float32_matmul_precision",
    "set_flush_denormal",
    "set_num_interop_threads",
    "set_num_threads",
    "use_deterministic_algorithms",
]

has_lapack = has_spectral = True
has_mkl = has_openmp = False

DEBUG_MODES = ("default", "warn", "error")
PRECISIONS = ("highest", "high", "medium")


class Kept:
    """What was set last, for the functions that ask."""

    threads = os.cpu_count() or 1
    interop_threads = os.cpu_count() or 1
    debug_mode = 0
    precision = "highest"


def positive(value: Any, name: str) -> int:
    """`value`, if it is a positive integer."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{name} expects an int, but got {type(value).__name__}")
    if value <= 0:
        raise RuntimeError(f"{name} expects a positive integer, but got {value}")
    return value


def set_num_threads(threads: int) -> None:
    """Keep a number of threads. It changes nothing: see the module.

    Raises RuntimeError for a number that is not positive. Source: PyTorch's `set_num_threads`.

    >>> import retrograd as rg
    >>> rg.set_num_threads(1)
    >>> rg.get_num_threads()
    1
    """
    Kept.threads = positive(threads, "set_num_threads")


def get_num_threads() -> int:
    """The number that `set_num_threads` was given last, at first that of the processors.

    >>> import retrograd as rg
    >>> rg.get_num_threads() > 0
    True
    """
    return Kept.threads


def set_num_interop_threads(threads: int) -> None:
    """Keep a number of threads. It changes nothing: ops run one after the other.

    >>> import retrograd as rg
    >>> rg.set_num_interop_threads(2)
    >>> rg.get_num_interop_threads()
    2
    """
    Kept.interop_threads = positive(threads, "set_num_interop_threads")


def get_num_interop_threads() -> int:
    """The number that `set_num_interop_threads` was given last.

    >>> import retrograd as rg
    >>> rg.get_num_interop_threads() > 0
    True
    """
    return Kept.interop_threads


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Keep the switch. It changes nothing, for all algorithms are deterministic.

    Raises TypeError for what is no bool. Source: PyTorch's `use_deterministic_algorithms`.

    >>> import retrograd as rg
    >>> rg.use_deterministic_algorithms(True)
    >>> rg.are_deterministic_algorithms_enabled()
    True
    >>> rg.use_deterministic_algorithms(False)
    """
    if not isinstance(mode, bool):
        raise TypeError(
            "use_deterministic_algorithms(): argument 'mode' must be bool, not "
            f"{type(mode).__name__}"
        )
    Kept.debug_mode = (1 if warn_only else 2) if mode else 0


def are_deterministic_algorithms_enabled() -> bool:
    """What `use_deterministic_algorithms` was told last; False at first.

    >>> import retrograd as rg
    >>> rg.are_deterministic_algorithms_enabled()
    False
    """
    return Kept.debug_mode > 0


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """Whether the switch was set with `warn_only`.

    >>> import retrograd as rg
    >>> rg.is_deterministic_algorithms_warn_only_enabled()
    False
    """
    return Kept.debug_mode == 1


def set_deterministic_debug_mode(debug_mode: int | str) -> None:
    """Keep the same switch as 0, 1, 2, or "default", "warn", "error".

    Raises RuntimeError for another value, TypeError for another type.

    >>> import retrograd as rg
    >>> rg.set_deterministic_debug_mode("warn")
    >>> rg.get_deterministic_debug_mode()
    1
    >>> rg.set_deterministic_debug_mode(0)
    """
    if isinstance(debug_mode, bool) or not isinstance(debug_mode, (int, str)):
        raise TypeError(f"debug_mode must be str or int, but got {type(debug_mode)}")
    known: tuple[Any, ...] = DEBUG_MODES if isinstance(debug_mode, str) else (0, 1, 2)
    if debug_mode not in known:
        raise RuntimeError(
            f"invalid value of debug_mode, expected one of `default`, `warn`, `error`, or 0, 1, 2, "
            f"but got {debug_mode}"
        )
    Kept.debug_mode = known.index(debug_mode)


def get_deterministic_debug_mode() -> int:
    """The switch as a number: 0 (default), 1 (warn) or 2 (error).

    >>> import retrograd as rg
    >>> rg.get_deterministic_debug_mode()
    0
    """
    return Kept.debug_mode


def set_float32_matmul_precision(precision: str) -> None:
    """Keep "highest", "high" or "medium". It changes nothing: products have full precision.

    >>> import retrograd as rg
    >>> rg.set_float32_matmul_precision("high")
    >>> rg.get_float32_matmul_precision()
    'high'
    >>> rg.set_float32_matmul_precision("highest")
    """
    if precision not in PRECISIONS:
        warnings.warn(
            f"{precision} is not one of 'highest', 'high', or 'medium'; the current setFloat32"
            "MatmulPrecision call has no effect.",
            UserWarning,
            stacklevel=2,
        )
        return
    Kept.precision = precision


def get_float32_matmul_precision() -> str:
    """What `set_float32_matmul_precision` was told last; "highest" at first.

    >>> import retrograd as rg
    >>> rg.get_float32_matmul_precision()
    'highest'
    """
    return Kept.precision


def set_flush_denormal(mode: bool) -> bool:
    """Whether tiny numbers can be taken for zero: False, NumPy leaves them as they are.

    >>> import retrograd as rg
    >>> rg.set_flush_denormal(True)
    False
    """
    return False


def set_anomaly_enabled(mode: bool, check_nan: bool = True) -> None:
    """Switch anomaly mode on or off for this thread: `autograd.set_detect_anomaly`.

    >>> import retrograd as rg
    >>> rg.set_anomaly_enabled(True); rg.is_anomaly_enabled()
    True
    >>> rg.set_anomaly_enabled(False)
    """
    modes.change(anomaly=bool(mode), check_nan=bool(check_nan))


def compiled_with_cxx11_abi() -> bool:
    """Whether there is C++ behind it, of the newer kind: there is none."""
    return False


def is_vulkan_available() -> bool:
    """Whether Vulkan can run kernels: never."""
    return False
