"""The context of functions that tell shapes on the meta device: sizes that depend on values."""

from __future__ import annotations

from typing import NoReturn

__all__ = ["FakeContext", "get_ctx"]

BY_VALUES = (
    "a size depends on the values of a tensor, and on the meta device there are none. Call the "
    "operator on the cpu"
)


class SizeByValuesError(RuntimeError):
    """A size that the meta device cannot tell."""


class FakeContext:
    """The result of `get_ctx`; a size that depends on values raises."""

    def new_dynamic_size(self, *, min: int = 0, max: int | None = None) -> NoReturn:
        """Raise a RuntimeError: there are no symbols for sizes."""
        raise SizeByValuesError(BY_VALUES)

    create_unbacked_symint = new_dynamic_size  # its older name


def get_ctx() -> FakeContext:
    """The context of the function of `register_fake` that runs.

    >>> rg.library.get_ctx().new_dynamic_size()
    Traceback (most recent call last):
    ...
    retrograd.torch.library.context.SizeByValuesError: a size depends on the values of a tensor...
    """
    return FakeContext()
