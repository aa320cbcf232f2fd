"""Multi-head attention as a layer."""

from __future__ import annotations

from ...dtypes import dtype
from ...engine.placement import DeviceLike
from ...engine.tensor import Tensor
from .. import functional as F
from .. import init
from .linear import NonDynamicallyQuantizableLinear
from .module import Module
from .utils import empty_parameter

__all__ = ["MultiheadAttention"]


class MultiheadAttention(Module):
    """Attention by several heads, each on its own projection of queries, keys and values.

    query (L, N, embed_dim), key (S, N, kdim), value (S, N, vdim), or (N, L, embed_dim) and so on if
    `batch_first`, or without N, to (output of the query's shape, weights (N, L, S), or (N, heads,
    L, S) unless `average_attn_weights`, or None unless `need_weights`). What masks mean is said at
    `functional.multi_head_attention_forward`.

    Parameters: in_proj_weight (3 embed_dim, embed_dim), or q_proj_weight, k_proj_weight and
    v_proj_weight where `kdim` or `vdim` differ from embed_dim; in_proj_bias; bias_k and bias_v if
    `add_bias_kv`; out_proj. Weights start Xavier uniform, biases 0. Raises ValueError for sizes
    that are not positive, AssertionError where the heads do not divide embed_dim. Source: PyTorch's
    `nn.MultiheadAttention`; Vaswani et al., 2017.

    >>> layer = rg.nn.MultiheadAttention(8, 2)
    >>> x = rg.ones(5, 3, 8)
    >>> out, weights = layer(x, x, x)
    >>> out.shape, weights.shape
    (retrograd.Size([5, 3, 8]), retrograd.Size([3, 5, 5]))
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        device: DeviceLike = None,
        dtype: dtype | None = None,
    ) -> None:
        super().__init__()
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError(
                f"embed_dim and num_heads must be greater than 0, got embed_dim={embed_dim} and "
                f"num_heads={num_heads} instead"
            )
        if embed_dim % num_heads:
            raise AssertionError("embed_dim must be divisible by num_heads")
        self.embed_dim, self.num_heads, self.dropout = embed_dim, num_heads, dropout
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        self.batch_first, self.add_zero_attn = batch_first, add_zero_attn
        self.head_dim = embed_dim // num_heads
        self._qkv_same_embed_dim = self.kdim == embed_dim == self.vdim
        same, size = self._qkv_same_embed_dim, embed_dim
        shapes: dict[str, tuple[int, ...] | None] = {
            "q_proj_weight": None if same else (size, size),
            "k_proj_weight": None if same else (size, self.kdim),
            "v_proj_weight": None if same else (size, self.vdim),
            "in_proj_weight": (3 * size, size) if same else None,
            "in_proj_bias": (3 * size,) if bias else None,
            "bias_k": (1, 1, size) if add_bias_kv else None,
            "bias_v": (1, 1, size) if add_bias_kv else None,
        }
        for name, shape in shapes.items():
            made = None if shape is None else empty_parameter(shape, device, dtype)
            self.register_parameter(name, made)
        self.out_proj = NonDynamicallyQuantizableLinear(size, size, bias, device, dtype)
        self._reset_parameters()

    def _reset_parameters(self) -> None:
        """Draw the weights anew; `out_proj.weight` is as its layer drew it."""
        for name in ("q_proj_weight", "k_proj_weight", "v_proj_weight", "in_proj_weight"):
            if getattr(self, name) is not None:
                init.xavier_uniform_(getattr(self, name))
        for bias in (self.in_proj_bias, self.out_proj.bias):
            if bias is not None:
                init.zeros_(bias)
        for bias in (self.bias_k, self.bias_v):
            if bias is not None:
                init.xavier_normal_(bias)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """(output, weights or None): see `functional.multi_head_attention_forward`."""
        turned = self.batch_first and query._array.ndim == 3
        if turned:
            query, key, value = (t.transpose(0, 1) for t in (query, key, value))
        out, weights = F.multi_head_attention_forward(
            query, key, value, self.embed_dim, self.num_heads, self.in_proj_weight,
            self.in_proj_bias, self.bias_k, self.bias_v, self.add_zero_attn, self.dropout,
            self.out_proj.weight, self.out_proj.bias, self.training, key_padding_mask, need_weights,
            attn_mask, not self._qkv_same_embed_dim, self.q_proj_weight, self.k_proj_weight,
            self.v_proj_weight, None, None, average_attn_weights, is_causal,
        )  # fmt: skip
        return (out.transpose(0, 1) if turned else out), weights
