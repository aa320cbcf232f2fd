"""What programs need around a model: data sets and loaders."""

from . import data

__all__ = ["data"]
