"""The switch of the package opt_einsum, which is not used: `einsum` orders products itself."""

from __future__ import annotations

from .switches import flags_of

__all__ = ["flags", "get_opt_einsum", "is_available"]

enabled = False
strategy = None

flags = flags_of(__name__, "enabled", "strategy")


def is_available() -> bool:
    """False: `einsum` orders products itself."""
    return False


def get_opt_einsum() -> None:
    """The package: None."""
