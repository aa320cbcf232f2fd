"""Scaled dot-product attention."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ... import dtypes
from ...dtypes import half
from ...engine.namespaces import recorded
from ...engine.tensor import Tensor, constant_like, new_tensor, wrap
from ...kernels.allocation import has_memory, known_true
from ...kernels.native.attention import ROWS, takes
from ..core.arguments import number_in, public
from ..core.engine_ops import laid_grad
from ..random.generator import default_generator
from .attention_records import attention
from .dropout import dropout

MANY = 1 << 14  # scores, for fewer of which their matrix costs less than the generator's states


@public()
def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """softmax(query @ key^T * scale + mask) @ value: the values, averaged by likeness of the keys.

    query: (..., L, E); key: (..., S, E); value: (..., S, V); returns (..., L, V). `scale` is by
    default 1/sqrt(E). `attn_mask` broadcasts to (..., L, S): boolean, False where not to look, or
    added to the scores. `is_causal` lets position i see keys 0 to i. With `enable_gqa` the heads of
    key and value, dimension -3, are repeated to the query's. A row that sees nothing gives 0.
    Complex inputs: the key is not conjugated. With the loops in C memory grows with L and S, not
    with their product, and a mask's gradient takes no more than the mask. Raises RuntimeError for a
    mask beside `is_causal`. Where query is `x.transpose(1, 2)` of four dimensions, so the result
    lies in memory: `y.transpose(1, 2).view(B, L, H * V)` copies nothing. Source: Vaswani et
    al., 2017.

    >>> q = rg.zeros(1, 2)
    >>> k, v = rg.zeros(2, 2), rg.tensor([[1.0], [3.0]])
    >>> rg.nn.functional.scaled_dot_product_attention(q, k, v)
    tensor([[2.]])
    """
    if attn_mask is not None and is_causal:
        raise RuntimeError(
            "_scaled_dot_product_attention: Explicit attn_mask should not be set when "
            "is_causal=True"
        )
    if min(query._array.ndim, key._array.ndim, value._array.ndim) < 2:
        raise RuntimeError(
            "Expected query, key, and value to all be at least 2 dimensional, but got query.dim: "
            f"{query._array.ndim} key.dim: {key._array.ndim} and value.dim: {value._array.ndim}. "
            "A single position is x.unsqueeze(0)"
        )
    if query.dtype.category < 2:
        raise RuntimeError(
            "Expected query, key, and value to have the same floating dtype, but got query.dtype: "
            f"{query.dtype} key.dtype: {key.dtype} and value.dtype: {value.dtype}"
        )
    if not 0.0 <= dropout_p <= 1.0:
        raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {dropout_p}")
    if attn_mask is not None:
        check_mask(attn_mask, query, key)
    rows, columns = query._array.shape[-2], key._array.shape[-2]
    if scale is None:
        scale = 1.0 / math.sqrt(query._array.shape[-1] or 1)
    scale = number_in(scale, "scaled_dot_product_attention", "scale")
    if enable_gqa:
        key, value = repeated(key, query), repeated(value, query)
    kind = query.dtype
    if half(kind.numpy) and kind is key.dtype is value.dtype:  # counted in float32, rounded once
        query, key, value = query.float(), key.float(), value.float()
        attn_mask = attn_mask if attn_mask is None else _as_bias(attn_mask, np.dtype(np.float32))
    fused = not dropout_p or (
        dropout_p < 1
        and math.prod(query._array.shape[:-1]) * columns >= MANY
        and takes(query._array, key._array)
    )
    if fused and are_alike(query, key, value):
        bias = None if attn_mask is None else whole_bias(attn_mask, query, columns)
        if attn_mask is None or bias is not None:
            states = drawn_states(query, columns) if dropout_p else None
            by_rows = query._array.ndim == 4 and lie_by_rows(query, key, value)
            if not by_rows and key.requires_grad:  # PyTorch has no record for these
                *lead, last, first = range(query._array.ndim)
                key = laid_grad(key, axes=(*lead, first, last))
            packed = recorded.cat(query, key, value, dim=query._array.ndim - 2)
            found = attention(
                packed, bias, states, rows=rows, scale=scale, causal=is_causal,
                keep=1.0 - dropout_p, swapped=lies_swapped(query), swapped_grad=by_rows,
            )[0]  # fmt: skip
            return found if found.dtype is kind else found.to(kind)
    found = by_matrices(query, key, value, attn_mask, dropout_p, is_causal, scale).to(kind)
    return found.transpose(1, 2).contiguous().transpose(1, 2) if lies_swapped(query) else found


def lies_swapped(query: Tensor) -> bool:
    """Whether (batch, heads, L, E) lies in memory as (batch, L, heads, E): so will the result."""
    steps: Any = getattr(query._array, "strides", ())  # arrays on other devices may have none
    return len(steps) == 4 and 0 < steps[3] <= steps[1] < steps[2] <= steps[0]


def lie_by_rows(*tensors: Tensor) -> bool:
    """Whether the last dimension of NumPy's arrays is contiguous."""
    for t in tensors:
        array = t._array
        if array.__class__ is np.ndarray and array.strides[-1] != array.itemsize:
            return False
    return True


def by_matrices(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None, dropout_p: float,
    is_causal: bool, scale: Any,
) -> Tensor:  # fmt: skip
    """Attention of operands that one record does not take."""
    scores = (query * scale) @ key.transpose(-2, -1)
    if is_causal:
        attn_mask = constant_like(np.tri(*scores._array.shape[-2:], dtype=np.bool_), query)
    if attn_mask is None:
        return dropout(scores.softmax(-1), dropout_p) @ value
    bias = _as_bias(attn_mask, scores._array.dtype)
    blind = (bias == -math.inf).all(-1, keepdim=True)
    if has_memory(blind._array) and known_true(~blind._array.any()):
        return dropout((scores + bias).softmax(-1), dropout_p) @ value
    weights = (scores + bias).masked_fill(blind, 0.0).softmax(-1).masked_fill(blind, 0.0)
    return dropout(weights, dropout_p) @ value


def check_mask(mask: Tensor, query: Tensor, key: Tensor) -> None:
    """Raise RuntimeError for a mask of other sizes than the scores, or of another dtype: 0 and 1
    would be added to the scores."""
    sizes = (query._array.shape[-2], key._array.shape[-2])
    for own, size in zip(mask._array.shape[::-1], sizes[::-1], strict=False):
        if own not in (1, size):
            raise RuntimeError(
                f"The size of tensor a ({size}) must match the size of tensor b ({own}): attn_mask "
                f"has shape {list(mask.shape)}, and the scores of queries by keys are of {sizes}"
            )
    if mask._array.dtype not in (np.dtype(np.bool_), np.dtype(np.float32), query._array.dtype):
        raise RuntimeError(
            "Expected attn_mask dtype to be bool or float or to match query dtype, but got "
            f"attn_mask.dtype: {mask.dtype} and query.dtype: {query.dtype} instead. Where 1 means "
            "that a position is seen, give mask.bool()"
        )


def repeated(t: Tensor, query: Tensor) -> Tensor:
    """Key or value with as many heads as the query; RuntimeError where that is no multiple."""
    heads, own = query._array.shape[-3], t._array.shape[-3]
    if not own or heads % own:
        raise RuntimeError(
            f"Number of heads in key and value must divide the number of heads in query, {heads}, "
            f"but got {own}"
        )
    return t.repeat_interleave(heads // own, -3)


def are_alike(query: Tensor, key: Tensor, value: Tensor) -> bool:
    """Whether operands may lie in one array: real, and alike in all but their lengths."""
    q, k, v = query._array, key._array, value._array
    rows, columns = q.shape, k.shape
    return bool(
        q.dtype == k.dtype == v.dtype
        and q.dtype.char in "fd"
        and columns == v.shape
        and rows[-1] == columns[-1]
        and rows[:-2] == columns[:-2]
        and rows[-1]
        and columns[-2]
    )


def whole_bias(mask: Tensor, query: Tensor, columns: int) -> Tensor | None:
    """What a mask adds to the scores, with as many dimensions and columns; None where a row sees
    nothing, or the mask has more dimensions."""
    missing = query._array.ndim - mask._array.ndim
    if not has_memory(mask._array) or missing < 0:
        return None
    bias = _as_bias(mask, query._array.dtype).to(query.dtype)
    bias = recorded.reshape(bias, shape=(1,) * missing + bias._array.shape)
    if bias._array.shape[-1] != columns:
        bias = recorded.expand(bias, shape=(*bias._array.shape[:-1], columns))
    seen = ~(bias._array == -math.inf).all(-1).any()
    return bias if known_true(seen) else None


def drawn_states(query: Tensor, columns: int) -> Tensor:
    """The generator's states from which the mask of weights is drawn: NOTE [Packed], 5."""
    *lead, rows, _ = query._array.shape
    blocks = [min(ROWS, rows - row) * columns for row in range(0, rows, ROWS)]
    counts = 2 * np.tile(np.array(blocks, np.int64), math.prod(lead))
    states = default_generator.draw("passed", counts)
    return new_tensor(states.reshape(*lead, len(blocks), states.shape[-1]))


def _as_bias(mask: Tensor, dtype: Any) -> Tensor:
    """A mask as what to add to the scores: of a boolean one 0 where True, -inf where False."""
    if mask._array.dtype != np.bool_:
        real = dtypes.real_of(dtype)
        return mask if mask._array.dtype in (dtype, real) else mask.to(dtypes.of_numpy(real))
    if not has_memory(mask._array):
        hidden = recorded.zeros_like(mask).to(dtypes.of_numpy(dtypes.real_of(dtype)))
        return recorded.where(mask, hidden, hidden - math.inf)
    return wrap(np.where(mask._array, 0.0, -math.inf).astype(dtypes.real_of(dtype)))
