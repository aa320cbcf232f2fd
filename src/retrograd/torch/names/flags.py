"""Switches that PyTorch's programs set: threads, determinism, precision.

The number of threads is that of the loops in C, as `kernels/native/threads.py` says. All others are
kept, only: kernels are deterministic, in full precision.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from typing import Any

from ... import modes
from ...engine.naming import integer_in
from ...errors import wrong_type
from ...kernels.native.threads import set_threads, threads
from ...modes import determinism
from ..tables import older

DEBUG_MODES = ("default", "warn", "error")
PRECISIONS = ("highest", "high", "medium")
PRECISION = (
    "{} is not one of 'highest', 'high', or 'medium'; the current setFloat32MatmulPrecision call "
    "has no effect."
)
KEPT: dict[str, Any] = {  # what was set last, for the functions that ask
    "num_interop_threads": os.cpu_count() or 1,
    "float32_matmul_precision": "highest",
}


def _checked_count(name: str, count: Any) -> int:
    found = integer_in(count)
    if found is None:
        raise RuntimeError(f"{name} expects an int, but got {type(count).__name__}")
    if found <= 0:
        raise RuntimeError(f"{name} expects a positive integer, but got {count}")
    if found >= 2**31:
        raise ValueError(f"{name}: Overflow when unpacking long: {count} has more than 31 bits")
    return found  # type: ignore[no-any-return]


def _keep_interop_threads(count: Any) -> None:
    KEPT["num_interop_threads"] = _checked_count("set_num_interop_threads", count)


def _keep_mode(mode: Any, warn_only: bool) -> None:
    if not isinstance(mode, bool):
        raise wrong_type("use_deterministic_algorithms", "mode", "bool", mode)
    if not isinstance(warn_only, bool):
        raise wrong_type("use_deterministic_algorithms", "warn_only", "bool", warn_only)
    determinism.enabled, determinism.warn_only = mode, warn_only


def _keep_debug_mode(debug_mode: Any) -> None:
    if isinstance(debug_mode, bool) or not isinstance(debug_mode, (int, str)):
        raise TypeError(f"debug_mode must be str or int, but got {type(debug_mode)}")
    known: tuple[Any, ...] = DEBUG_MODES if isinstance(debug_mode, str) else (0, 1, 2)
    if debug_mode not in known:
        raise RuntimeError(
            f"invalid value of debug_mode, expected one of `default`, `warn`, `error`, or 0, 1, 2, "
            f"but got {debug_mode}"
        )
    number = known.index(debug_mode)
    determinism.enabled, determinism.warn_only = number > 0, number == 1


def _keep_precision(precision: str) -> None:
    if precision in PRECISIONS:
        KEPT["float32_matmul_precision"] = precision
    else:
        warnings.warn(PRECISION.format(precision), UserWarning, stacklevel=3)


def _watch(anomaly: Any, check_nan: Any) -> None:
    modes.change(anomaly=bool(anomaly), check_nan=bool(check_nan))


# By name: the function, what it does, and an example with what it shows.
SWITCHES: dict[str, tuple[Callable[..., Any], str, str, str]] = {
    "set_num_threads": (
        lambda num: set_threads(_checked_count("set_num_threads", num)),
        "Set the number of threads for large loops, at most the processors that this process\n"
        "    may use. The environment variable RETROGRAD_NUM_THREADS sets it beforehand.\n\n"
        "    Raises RuntimeError for what is no positive integer.",
        "rg.set_num_threads(1); rg.get_num_threads()", "1",
    ),
    "get_num_threads": (
        lambda: threads(),
        "The number that `set_num_threads` was given last, at first that of the processors.",
        "rg.get_num_threads() > 0", "True",
    ),
    "set_num_interop_threads": (
        lambda num: _keep_interop_threads(num),
        "Keep a number of threads. It changes nothing: ops run one after the other.\n\n"
        "    Raises RuntimeError for what is no positive integer.",
        "rg.set_num_interop_threads(2); rg.get_num_interop_threads()", "2",
    ),
    "get_num_interop_threads": (
        lambda: KEPT["num_interop_threads"],
        "The number that `set_num_interop_threads` was given last.",
        "rg.get_num_interop_threads() > 0", "True",
    ),
    "use_deterministic_algorithms": (
        lambda mode, *, warn_only=False: _keep_mode(mode, warn_only),
        "Keep the switch. All algorithms are deterministic in any case; while it is on, new\n"
        "    memory that nothing was written to (`empty`) is filled: `utils.deterministic`.\n\n"
        "    Raises TypeError for what is no bool.",
        "rg.use_deterministic_algorithms(False); rg.are_deterministic_algorithms_enabled()",
        "False",
    ),
    "are_deterministic_algorithms_enabled": (
        lambda: determinism.enabled,
        "Whether `use_deterministic_algorithms` is on; False at the start.",
        "rg.are_deterministic_algorithms_enabled()", "False",
    ),
    "is_deterministic_algorithms_warn_only_enabled": (
        lambda: determinism.warn_only,
        "Whether the switch was set with `warn_only`.",
        "rg.is_deterministic_algorithms_warn_only_enabled()", "False",
    ),
    "set_deterministic_debug_mode": (
        lambda debug_mode: _keep_debug_mode(debug_mode),
        'Keep the same switch as 0, 1, 2, or "default", "warn", "error".\n\n'
        "    Raises TypeError for what is neither, RuntimeError for other values.",
        'rg.set_deterministic_debug_mode("default"); rg.get_deterministic_debug_mode()', "0",
    ),
    "get_deterministic_debug_mode": (
        lambda: (2 - determinism.warn_only) * determinism.enabled,
        "The switch as a number: 0 (default), 1 (warn) or 2 (error).",
        "rg.get_deterministic_debug_mode()", "0",
    ),
    "set_float32_matmul_precision": (
        lambda precision: _keep_precision(precision),
        'Keep "highest", "high" or "medium", warn of others. It changes nothing: products have '
        "full precision.",
        'rg.set_float32_matmul_precision("highest"); rg.get_float32_matmul_precision()',
        "'highest'",
    ),
    "get_float32_matmul_precision": (
        lambda: KEPT["float32_matmul_precision"],
        'The value of the last `set_float32_matmul_precision`; "highest" at the start.',
        "rg.get_float32_matmul_precision()", "'highest'",
    ),
    "set_flush_denormal": (
        lambda mode: False,
        "Whether tiny numbers can be taken for zero: False, NumPy leaves them as they are.",
        "rg.set_flush_denormal(True)", "False",
    ),
    "set_anomaly_enabled": (
        lambda mode, check_nan=True: _watch(mode, check_nan),
        "Switch anomaly mode on or off for this thread: `autograd.set_detect_anomaly`.",
        "rg.set_anomaly_enabled(False); rg.is_anomaly_enabled()", "False",
    ),
    "compiled_with_cxx11_abi": (
        lambda: False,
        "Whether there is C++ behind it, of the newer kind: there is none.",
        "rg.compiled_with_cxx11_abi()", "False",
    ),
    "is_vulkan_available": (
        lambda: False,
        "Whether Vulkan can run kernels: never.",
        "rg.is_vulkan_available()", "False",
    ),
}  # fmt: skip
FLAGS: dict[str, Any] = {name: older(name, *row, returns="Any") for name, row in SWITCHES.items()}
FLAGS |= {"has_lapack": True, "has_mkl": False, "has_openmp": False, "has_spectral": True}
FLAGS |= dict.fromkeys(["has_cuda", "has_cudnn", "has_mkldnn", "has_mps"], False)
globals().update(FLAGS)
__all__ = list(FLAGS)
