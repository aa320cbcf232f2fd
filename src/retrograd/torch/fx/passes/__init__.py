"""Passes over graphs: shapes of values, and parts as modules."""

from . import shape_prop, split_module
