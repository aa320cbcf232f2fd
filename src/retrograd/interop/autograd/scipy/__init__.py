"""SciPy for programs that are differentiated: `special` and `stats`."""

from . import special, stats

__all__ = ["special", "stats"]
