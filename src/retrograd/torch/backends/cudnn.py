"""Switches of NVIDIA's cuDNN."""

from __future__ import annotations

from .switches import flags_of, is_available

__all__ = ["flags", "is_available", "version"]

enabled = True
benchmark = False
benchmark_limit = 10
deterministic = False
allow_tf32 = True

flags = flags_of(__name__, "enabled", "benchmark", "benchmark_limit", "deterministic", "allow_tf32")


def version() -> int | None:
    """None: there is none."""
    return None
