"""SciPy for programs that are differentiated: a module for each of its modules."""

from . import integrate, linalg, signal, special, stats

__all__ = ["integrate", "linalg", "signal", "special", "stats"]
