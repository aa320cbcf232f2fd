"""Switches of Intel's oneDNN."""

from __future__ import annotations

from .switches import flags_of, is_available

__all__ = ["flags", "is_available"]

enabled = True
deterministic = False
allow_tf32 = True

flags = flags_of(__name__, "enabled", "deterministic", "allow_tf32")
