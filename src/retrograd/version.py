"""The version of this package, and the name by which programs know it."""

from typing import Any

from .locks import load

__all__ = ["__version__"]

__version__ = "0.1.0"

called = "retrograd"  # "torch" under the alias: what dtypes, sizes and types of tensors print


def named(text: str) -> str:
    """A text for programs, in which this package has the name that they know it by.

    >>> from retrograd.version import named
    >>> named("expected retrograd.Tensor")
    'expected retrograd.Tensor'
    """
    return text.replace("retrograd.", f"{called}.")


def __getattr__(name: str) -> Any:
    """What `torch.version` says beside that; of names that Python asks for, nothing."""
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return load(f"{__package__}.providers").attribute(__name__, name)
