"""What processes that a launcher starts say when they fail."""

from . import errors

__all__ = ["errors"]
