"""The switch of the package opt_einsum, which is not used: `einsum` orders products itself."""

from __future__ import annotations

from .switches import flags_of, is_available

__all__ = ["flags", "get_opt_einsum", "is_available"]

enabled = False
strategy = None

flags = flags_of(__name__, "enabled", "strategy")


def get_opt_einsum() -> None:
    """The package: None."""
