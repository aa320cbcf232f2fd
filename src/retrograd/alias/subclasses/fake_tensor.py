"""`torch._subclasses.fake_tensor` under the alias: shapes without data are on the device "meta"."""

from __future__ import annotations

__all__ = ["is_fake"]


def is_fake(x: object) -> bool:
    """Whether a value is a FakeTensor, by which PyTorch's compiler learns shapes: none is one.

    >>> from retrograd.alias.subclasses.fake_tensor import is_fake
    >>> is_fake(rg.ones(2, device="meta"))
    False
    """
    return False
