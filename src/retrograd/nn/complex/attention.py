"""Multi-head attention with complex scores."""

from __future__ import annotations

from ...dtypes import dtype
from ...engine.placement import DeviceLike
from ...engine.tensor import Tensor
from ..modules.module import Module
from . import functional as F
from .layers import Linear

__all__ = ["MultiheadAttention"]


class MultiheadAttention(Module):
    """Attention of complex sequences by several heads, (N, L, embed_dim) to the same.

    query: (N, L, embed_dim), key and value: (N, S, embed_dim), complex. `scores`, "real", "modulus"
    or "phase", and masks are those of `functional.scaled_dot_product_attention`; attn_mask
    broadcasts to (N, num_heads, L, S), key_padding_mask, (N, S), is boolean and True where not to
    look. `rotary` turns queries and keys by their positions, `functional.rotary_embedding`.
    Parameters: the linear layers q_proj, k_proj, v_proj, out_proj. Raises ValueError where the
    heads do not divide embed_dim, for other scores, and for input that is not complex.

    >>> layer = rg.nn.complex.MultiheadAttention(8, 2, rotary=True)
    >>> x = rg.ones(3, 5, 8, dtype=rg.complex64)
    >>> layer(x, x, x, is_causal=True).shape
    retrograd.Size([3, 5, 8])
    """

    _shown_settings = "embed_dim num_heads scores=!r rotary="

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        scores: str = "real",
        rotary: bool = False,
        device: DeviceLike = None,
        dtype: dtype | None = None,
    ) -> None:
        super().__init__()
        if num_heads <= 0 or embed_dim % num_heads:
            raise ValueError(
                f"embed_dim must be divisible by num_heads, got embed_dim={embed_dim} and "
                f"num_heads={num_heads}"
            )
        self.embed_dim, self.num_heads, self.dropout = embed_dim, num_heads, dropout
        self.scores, self.rotary = scores, rotary
        for name in ("q_proj", "k_proj", "v_proj", "out_proj"):
            made = Linear(embed_dim, embed_dim, bias, device=device, dtype=dtype)
            setattr(self, name, made)

    def _heads(self, input: Tensor) -> Tensor:
        """(N, L, E) as (N, heads, L, E / heads)."""
        return input.unflatten(-1, (self.num_heads, -1)).transpose(1, 2)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        attn_mask: Tensor | None = None,
        is_causal: bool = False,
    ) -> Tensor:
        """The values, averaged by how their keys lie to each query."""
        q, k, v = (
            self._heads(project(input))
            for project, input in (
                (self.q_proj, query), (self.k_proj, key), (self.v_proj, value)
            )
        )  # fmt: skip
        if self.rotary:
            q, k = F.rotary_embedding(q), F.rotary_embedding(k)
        if key_padding_mask is not None:
            seen = ~key_padding_mask[:, None, None, :]
            if is_causal:
                ones = seen.new_ones((q.shape[-2], k.shape[-2]), dtype=seen.dtype)
                seen, is_causal = seen & ones.tril(), False
            if attn_mask is not None and attn_mask.dtype.is_floating_point:
                attn_mask = attn_mask.expand(
                    (*q.shape[:-1], k.shape[-2])
                ).masked_fill(~seen, -float("inf"))  # fmt: skip
            else:
                attn_mask = seen if attn_mask is None else seen & attn_mask
        p = self.dropout if self.training else 0.0
        out = F.scaled_dot_product_attention(q, k, v, attn_mask, p, is_causal, scores=self.scores)
        projected: Tensor = self.out_proj(out.transpose(1, 2).flatten(-2))
        return projected
