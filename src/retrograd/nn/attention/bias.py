"""Masks of causal attention between sequences of unlike lengths, for `attn_mask`."""

from __future__ import annotations

from ...engine.tensor import Tensor
from ...ops.creation.factories import ones

__all__ = ["causal_lower_right", "causal_upper_left"]


def causal_upper_left(*size: int) -> Tensor:
    """A mask (queries, keys) in which the first query sees the first key, the next one key more.

    Boolean, for `scaled_dot_product_attention`; PyTorch's is of a class of its own.

    >>> rg.nn.attention.bias.causal_upper_left(2, 3)
    tensor([[ True, False, False],
            [ True,  True, False]])
    """
    queries, keys = size
    return ones(queries, keys, dtype=bool).tril()


def causal_lower_right(*size: int) -> Tensor:
    """A mask (queries, keys) in which the last query sees all keys, the one before one key less.

    Boolean, for `scaled_dot_product_attention`: so new queries see what a cache holds. A query that
    sees no key, where there are more queries than keys, gets NaN.

    >>> rg.nn.attention.bias.causal_lower_right(2, 3)
    tensor([[ True,  True, False],
            [ True,  True,  True]])
    """
    queries, keys = size
    return ones(queries, keys, dtype=bool).tril(keys - queries)
