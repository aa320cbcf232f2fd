"""The version of this package, and the name by which programs know it."""

__all__ = ["__version__"]

__version__ = "0.1.0"

called = "retrograd"  # "torch" under the alias: what dtypes, sizes and types of tensors print
