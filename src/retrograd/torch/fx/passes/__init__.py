"""What runs over graphs and leaves notes in their nodes."""

from . import shape_prop, split_module
