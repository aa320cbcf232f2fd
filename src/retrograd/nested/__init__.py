"""Nested tensors under torch.nested's names (names only; see `ops.nested`)."""

from ..engine import overriding
from ..ops.nested.factories import (
    as_nested_tensor,
    masked_select,
    narrow,
    nested_tensor,
    nested_tensor_from_jagged,
)
from ..ops.nested.functions import to_padded_tensor

__all__ = [
    "as_nested_tensor",
    "masked_select",
    "narrow",
    "nested_tensor",
    "nested_tensor_from_jagged",
    "to_padded_tensor",
]

overriding.publish(globals(), "retrograd.nested")
