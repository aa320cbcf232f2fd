"""Nested tensors under torch.nested's names (names only; see `layouts.nested`)."""

from ...engine import overriding
from ..layouts.nested.factories import (
    as_nested_tensor,
    masked_select,
    narrow,
    nested_tensor,
    nested_tensor_from_jagged,
)
from ..layouts.nested.functions import to_padded_tensor

__all__ = [
    "as_nested_tensor", "masked_select", "narrow", "nested_tensor", "nested_tensor_from_jagged",
    "to_padded_tensor",
]  # fmt: skip

overriding.publish(globals(), "retrograd.nested", "torch.layouts")
