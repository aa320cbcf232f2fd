"""NVIDIA's cuSPARSELt, which is not used."""

from __future__ import annotations

from .switches import is_available

__all__ = ["get_max_alg_id", "is_available", "version"]


def version() -> None:
    """The version of the library: None."""


def get_max_alg_id() -> None:
    """The number of its last algorithm: None."""
