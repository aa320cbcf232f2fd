"""Masks of causal attention between sequences of unlike lengths, for `attn_mask`."""

from __future__ import annotations

import enum
import warnings
from typing import Any

from ....engine.overriding import overrides_nothing
from ....engine.tensor import Tensor
from ....ops.creation.factories import ones

__all__ = ["CausalBias", "CausalVariant", "causal_lower_right", "causal_upper_left"]


class CausalVariant(enum.IntEnum):
    """In which corner of a causal mask its diagonal ends."""

    UPPER_LEFT = 1
    LOWER_RIGHT = 2


class CausalBias(Tensor):
    """A boolean mask (queries, keys) that knows how it was made; results of it are plain tensors.

    Attributes: variant, seq_len_q, seq_len_kv. Warns where a query sees no key: its result is NaN.

    >>> from retrograd.nn.attention.bias import CausalBias, CausalVariant
    >>> CausalBias(CausalVariant.LOWER_RIGHT, 2, 3)
    tensor([[ True,  True, False],
            [ True,  True,  True]])
    """

    __torch_function__ = overrides_nothing

    def __new__(cls, variant: CausalVariant, seq_len_q: int, seq_len_kv: int) -> CausalBias:
        """The mask, as memory."""
        if not isinstance(variant, CausalVariant):
            raise AssertionError(f"variant must be a CausalVariant, got {type(variant).__name__}")
        offset = 0 if variant is CausalVariant.UPPER_LEFT else seq_len_kv - seq_len_q
        made = ones(seq_len_q, seq_len_kv, dtype=bool).tril(offset).as_subclass(cls)
        return made  # type: ignore[return-value]

    def __init__(self, variant: CausalVariant, seq_len_q: int, seq_len_kv: int) -> None:
        self.variant, self.seq_len_q, self.seq_len_kv = variant, seq_len_q, seq_len_kv
        if variant is CausalVariant.LOWER_RIGHT and seq_len_q > seq_len_kv:
            warnings.warn(
                "Lower right causal bias will produce NaNs in the output when seq_len_q > "
                "seq_len_kv!",
                stacklevel=2,
            )

    def _materialize(self, device: Any = None) -> Tensor:
        """The mask as a plain tensor."""
        return self.as_subclass(Tensor)

    def __repr__(self, **settings: Any) -> str:
        return repr(self._materialize())


def causal_upper_left(*size: int) -> CausalBias:
    """A mask (queries, keys) in which the first query sees the first key, the next one key more.

    >>> rg.nn.attention.bias.causal_upper_left(2, 3)
    tensor([[ True, False, False],
            [ True,  True, False]])
    """
    return CausalBias(CausalVariant.UPPER_LEFT, *of_two(size, "causal_upper_left"))


def causal_lower_right(*size: int) -> CausalBias:
    """A mask (queries, keys) in which the last query sees all keys, the one before one key less.

    So new queries see what a cache holds.

    >>> rg.nn.attention.bias.causal_lower_right(2, 3)
    tensor([[ True,  True, False],
            [ True,  True,  True]])
    """
    return CausalBias(CausalVariant.LOWER_RIGHT, *of_two(size, "causal_lower_right"))


def of_two(size: tuple[int, ...], name: str) -> tuple[int, ...]:
    """`size`, if it has two dimensions; else raise AssertionError."""
    if len(size) != 2:
        raise AssertionError(f"{name} only supports 2D tensors: write {name}(queries, keys)")
    return size
