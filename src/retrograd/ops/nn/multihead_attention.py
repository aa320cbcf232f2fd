"""Multi-head attention: projections, scaled dot-product attention per head, and a projection back.

NOTE [Layouts] Sequences come first: queries are (L, N, E), keys (S, N, E), values (S, N, E), with
batch size N. Heads are cut from the last dimension and count as batch: (N * heads, L, E / heads).
Masks are kept as what to add to the scores: 0 or -inf, or any bias.
"""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from ... import dtypes
from ...engine.registry import name_node
from ...engine.tensor import Tensor
from ...engine.trace import users_level
from ..linalg.matmul import linear
from ..shape.join import cat
from ..shape.pad import pad
from .attention import scaled_dot_product_attention
from .dropout import dropout

MISMATCHED = (
    "Support for mismatched key_padding_mask and attn_mask is deprecated. Use same type for both "
    "instead: two masks of booleans, or two that are added to the scores"
)
CAUSAL = (
    "Need attn_mask if specifying the is_causal hint. You may use the Transformer module method "
    "`generate_square_subsequent_mask` to create this mask."
)


def multi_head_attention_forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None,
    bias_k: Tensor | None,
    bias_v: Tensor | None,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Tensor,
    out_proj_bias: Tensor | None,
    training: bool = True,
    key_padding_mask: Tensor | None = None,
    need_weights: bool = True,
    attn_mask: Tensor | None = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Tensor | None = None,
    k_proj_weight: Tensor | None = None,
    v_proj_weight: Tensor | None = None,
    static_k: Tensor | None = None,
    static_v: Tensor | None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """Multi-head attention with the weights given; `nn.MultiheadAttention` holds them.

    query: (L, N, E); key: (S, N, K); value: (S, N, V); all three without N for one sequence.
    in_proj_weight: (3 E, E), queries, keys, values in this order; or, if
    `use_separate_proj_weight`, q_proj_weight (E, E), k_proj_weight (E, K), v_proj_weight (E, V).
    in_proj_bias: (3 E). bias_k, bias_v: (1, 1, E), one more key and value for all. add_zero_attn:
    one more, of zeros. out_proj_weight: (E, E). key_padding_mask: (N, S), True for keys that nobody
    sees; attn_mask: (L, S) or (N heads, L, S), True where not to look; or floating, added to the
    scores. static_k, static_v: (N heads, S, E / heads), instead of the projected ones. is_causal
    says that attn_mask is the causal one.

    Returns (output (L, N, E), weights or None unless `need_weights`): (N, L, S) averaged over the
    heads, or (N, heads, L, S). A row that sees nothing gives NaN. Complex inputs are as for
    `scaled_dot_product_attention`. Raises RuntimeError for masks that do not fit, AssertionError
    for other sizes that do not, as PyTorch. Source: Vaswani et al., 2017.

    >>> x, w = rg.ones(2, 1, 4), rg.ones(12, 4) / 4
    >>> out, weights = rg.nn.functional.multi_head_attention_forward(
    ...     x, x, x, 4, 2, w, None, None, None, False, 0.0, rg.eye(4), None
    ... )
    >>> weights
    tensor([[[0.5000, 0.5000],
             [0.5000, 0.5000]]])
    """
    batched = _check_ranks(query, key, value, key_padding_mask, attn_mask, num_heads)
    if not batched:
        query, key, value = (t.unsqueeze(1) for t in (query, key, value))
        key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
    if is_causal and attn_mask is None:
        raise RuntimeError(CAUSAL)
    if key_padding_mask is not None and key_padding_mask.shape != (key.shape[1], key.shape[0]):
        raise AssertionError(
            f"Expected key_padding_mask of shape {(key.shape[1], key.shape[0])}, a row per example "
            f"and a column per key, but got {tuple(key_padding_mask.shape)}"
        )
    masks = [m.dtype for m in (key_padding_mask, attn_mask) if m is not None]
    if len({*masks}) > 1:
        warnings.warn(MISMATCHED, stacklevel=users_level())
    _check_sizes(query, key, value, embed_dim_to_check, num_heads, use_separate_proj_weight)
    if use_separate_proj_weight:
        weights = (q_proj_weight, k_proj_weight, v_proj_weight)
        _check_weights(weights, embed_dim_to_check, key, value)
        q, k, v = _in_projection(query, key, value, *weights, *_thirds(in_proj_bias))
    else:
        q, k, v = _in_projection_packed(query, key, value, in_proj_weight, in_proj_bias)
    rows, batch, width = q.shape
    bias = _bias(attn_mask, "attn_mask", q)
    _check_mask(bias, rows, k.shape[0], batch * num_heads)
    padding = _bias(key_padding_mask, "key_padding_mask", q)
    if bias_k is not None or bias_v is not None:
        k, v = _with_bias(k, v, bias_k, bias_v, static_k, static_v)
    q = _heads(q, num_heads)
    k = _heads(k, num_heads) if static_k is None else _static(static_k, q)
    v = _heads(v, num_heads) if static_v is None else _static(static_v, q)
    if add_zero_attn:
        zeros = k.new_zeros((k.shape[0], 1, k.shape[2]))
        k, v = cat([k, zeros], 1), cat([v, zeros], 1)
    bias = _merged(bias, padding, num_heads, k.shape[1])
    p = dropout_p if training else 0.0
    out, seen = _attend(q, k, v, bias, p, need_weights)
    out = linear(out.transpose(0, 1).reshape(rows, batch, width), out_proj_weight, out_proj_bias)
    out = name_node(out, "ViewBackward0")
    if seen is not None:
        seen = seen.reshape(batch, num_heads, rows, k.shape[1])
        seen = seen.mean(1) if average_attn_weights else seen
    if not batched:
        return out.squeeze(1), None if seen is None else seen.squeeze(0)
    return out, seen


def _attend(
    q: Any, k: Any, v: Any, bias: Tensor | None, p: float, need_weights: bool
) -> tuple[Any, Any]:
    """The attention of every head, and its weights where they are wanted."""
    if not need_weights:
        return scaled_dot_product_attention(q, k, v, bias, p), None
    scores = (q * math.sqrt(1.0 / q.shape[-1])) @ k.transpose(-2, -1)
    weights = dropout((scores if bias is None else scores + bias).softmax(-1), p)
    return weights @ v, weights


def _in_projection(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    w_q: Any,
    w_k: Any,
    w_v: Any,
    b_q: Tensor | None = None,
    b_k: Tensor | None = None,
    b_v: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Queries, keys and values (..., E) by weights (E, E) and biases (E) of their own."""
    return linear(q, w_q, b_q), linear(k, w_k, b_k), linear(v, w_v, b_v)


def _in_projection_packed(
    q: Tensor, k: Tensor, v: Tensor, w: Any, b: Tensor | None = None
) -> list[Tensor]:
    """`_in_projection` by a weight (3 E, E) and a bias (3 E): queries, keys, values in this
    order."""
    return list(_in_projection(q, k, v, *_thirds(w), *_thirds(b)))


def _thirds(packed: Any) -> tuple[Any, Any, Any]:
    """What queries, keys and values have of a packed weight or bias."""
    return (None, None, None) if packed is None else tuple(packed.chunk(3))


def _heads(x: Any, heads: int) -> Any:
    """(S, N, E) as (N * heads, S, E / heads)."""
    length, batch, width = x.shape
    return x.reshape(length, batch * heads, width // heads).transpose(0, 1)


def _static(given: Tensor, q: Any) -> Tensor:
    for dim, wanted in ((0, q.shape[0]), (2, q.shape[2])):
        if given.shape[dim] != wanted:
            raise AssertionError(
                f"expecting static_k.size({dim}) of {wanted}, but got {given.shape[dim]}"
            )
    return given


def _with_bias(
    k: Any, v: Any, bias_k: Any, bias_v: Any, static_k: Any, static_v: Any
) -> tuple[Any, Any]:
    """Keys and values with one more, the same for all sequences."""
    if bias_k is None or bias_v is None:
        raise AssertionError("bias_k and bias_v must both be given, or neither")
    if static_k is not None or static_v is not None:
        raise AssertionError("bias cannot be added to static key or value.")
    batch = k.shape[1]
    return cat([k, bias_k.expand(1, batch, -1)]), cat([v, bias_v.expand(1, batch, -1)])


# -- masks -------------------------------------------------------------------------------------


def _bias(mask: Tensor | None, name: str, like: Any) -> Tensor | None:
    """A mask as what to add to the scores: -inf where a boolean one is True."""
    if mask is None or mask._array.dtype.kind in "fcV":
        return mask
    if mask._array.dtype != np.bool_:
        raise AssertionError(f"only bool and floating types of {name} are supported")
    kind = dtypes.of_numpy(dtypes.real_of(like._array.dtype))
    return mask.new_zeros(mask.shape, dtype=kind).masked_fill(mask, -math.inf)


def _check_mask(bias: Tensor | None, rows: int, columns: int, count: int) -> None:
    """Raise unless an attn_mask has the shape of the scores, or of those of one head."""
    if bias is None:
        return
    wanted = {2: (rows, columns), 3: (count, rows, columns)}[bias._array.ndim]
    if tuple(bias.shape) != wanted:
        raise RuntimeError(
            f"The shape of the {bias._array.ndim}D attn_mask is {tuple(bias.shape)}, but should be "
            f"{wanted}."
        )


def _merged(bias: Tensor | None, padding: Tensor | None, heads: int, columns: int) -> Tensor | None:
    """Both masks as one that broadcasts to (N * heads, L, S); added keys are seen by all."""
    bias = None if bias is None else _widened(bias, columns)
    if padding is None:
        return bias
    if padding.shape[-1] > columns:
        raise AssertionError(f"expecting key_padding_mask.shape[1] of {columns}")
    padding = _widened(padding, columns).repeat_interleave(heads, 0).unsqueeze(1)
    return padding if bias is None else bias + padding


def _widened(bias: Tensor, columns: int) -> Any:
    missing = columns - bias.shape[-1]
    return pad(bias, (0, missing)) if missing else bias


# -- checks ------------------------------------------------------------------------------------


def _check_ranks(
    query: Tensor, key: Tensor, value: Tensor, padding: Any, mask: Any, heads: int
) -> bool:
    """Whether there is a batch dimension; raises AssertionError where ranks do not fit."""
    ndim = query._array.ndim
    if ndim not in (2, 3):
        raise AssertionError(
            f"query should be unbatched 2D or batched 3D tensor but received {ndim}-D query tensor"
        )
    kind = "batched (3-D)" if ndim == 3 else "unbatched (2-D)"
    if key._array.ndim != ndim or value._array.ndim != ndim:
        raise AssertionError(
            f"For {kind} `query`, expected `key` and `value` to be {ndim}-D but found "
            f"{key._array.ndim}-D and {value._array.ndim}-D tensors respectively"
        )
    if padding is not None and padding._array.ndim != ndim - 1:
        raise AssertionError(
            f"For {kind} `query`, expected `key_padding_mask` to be `None` or {ndim - 1}-D but "
            f"found {padding._array.ndim}-D tensor instead"
        )
    if mask is not None and mask._array.ndim not in (2, 3):
        raise AssertionError(
            f"For {kind} `query`, expected `attn_mask` to be `None`, 2-D or 3-D but found "
            f"{mask._array.ndim}-D tensor instead"
        )
    if ndim == 2 and mask is not None and mask._array.ndim == 3:
        wanted = (heads, query.shape[0], key.shape[0])
        if tuple(mask.shape) != wanted:
            raise AssertionError(
                f"Expected `attn_mask` shape to be {wanted} but got {tuple(mask.shape)}"
            )
    return bool(ndim == 3)


def _check_weights(weights: Any, width: int, key: Tensor, value: Tensor) -> None:
    """Raise AssertionError where separate projections do not take the sequences."""
    names, widths = ("query", "key", "value"), (width, key.shape[-1], value.shape[-1])
    for name, weight, taken in zip(names, weights, widths, strict=True):
        if weight.shape != (width, taken):
            raise AssertionError(
                f"expecting {name} weights shape of {(width, taken)}, but got {weight.shape}. Give "
                f"a {name} of width {weight.shape[-1]}"
            )


def _check_sizes(
    query: Tensor, key: Tensor, value: Tensor, width: int, heads: int, separate: bool
) -> None:
    """Raise AssertionError where the sizes of the sequences do not fit."""
    if query.shape[-1] != width:
        raise AssertionError(
            f"was expecting embedding dimension of {width}, but got {query.shape[-1]}"
        )
    if width % heads:
        raise AssertionError(f"embed_dim {width} not divisible by num_heads {heads}")
    if separate and key.shape[:2] != value.shape[:2]:
        raise AssertionError(
            f"key's sequence and batch dims {key.shape[:2]} do not match value's {value.shape[:2]}"
        )
    if not separate and key.shape != value.shape:
        raise AssertionError(f"key shape {key.shape} does not match value shape {value.shape}")
