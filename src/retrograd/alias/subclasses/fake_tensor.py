"""`torch._subclasses.fake_tensor` under the alias: shapes without data are on the device "meta"."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["is_fake", "unset_fake_temporarily"]


@contextmanager
def unset_fake_temporarily() -> Iterator[None]:
    """A context without the mode that makes FakeTensors, which it gives: None, as there is none.

    >>> from retrograd.alias.subclasses.fake_tensor import unset_fake_temporarily
    >>> with unset_fake_temporarily() as mode:
    ...     mode is None
    True
    """
    yield None


def is_fake(x: object) -> bool:
    """Whether a value is a FakeTensor, by which PyTorch's compiler learns shapes: none is one.

    >>> from retrograd.alias.subclasses.fake_tensor import is_fake
    >>> is_fake(rg.ones(2, device="meta"))
    False
    """
    return False
