"""The transformer of Vaswani et al., 2017: its layers, stacks of them, and the whole.

Sequences are (L, N, E), or (N, L, E) if `batch_first`, or (L, E) for one. Masks are as for
`functional.multi_head_attention_forward`. The hints `is_causal` say what a mask already does, so
one without a mask raises RuntimeError.
"""

from __future__ import annotations

import copy
import math
import warnings
from collections.abc import Sequence
from typing import Any

from ...dtypes import dtype
from ...engine.placement import DeviceLike
from ...engine.tensor import Tensor
from ...ops import full
from .. import functional as F
from .. import init
from .activation import GELU, ReLU
from .attention import MultiheadAttention
from .container import ModuleList
from .dropout import Dropout
from .linear import Linear
from .module import Module
from .normalization import LayerNorm

__all__ = [
    "Transformer", "TransformerDecoder", "TransformerDecoderLayer", "TransformerEncoder",
    "TransformerEncoderLayer",
]  # fmt: skip

NOT_NESTED = "enable_nested_tensor is True, but self.use_nested_tensor is False because {}"
ACTIVATIONS = {"relu": F.relu, "gelu": F.gelu}


def _activation(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    if value not in ACTIVATIONS:
        raise RuntimeError(f"activation should be relu/gelu, not {value}")
    return ACTIVATIONS[value]


class _Layer(Module):
    """What both layers have: the feedforward part, and the order of sums and normalizations.

    The parts have PyTorch's names, and end with their dropout: programs' subclasses replace them,
    mostly `_sa_block`, to keep the weights of attention.
    """

    _attentions: tuple[str, ...] = ("self_attn",)

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Any = F.relu,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: DeviceLike = None,
        dtype: dtype | None = None,
    ) -> None:
        super().__init__()
        made: dict[str, Any] = {"batch_first": batch_first, "device": device, "dtype": dtype}
        for name in self._attentions:
            setattr(self, name, MultiheadAttention(d_model, nhead, dropout, bias, **made))
        self.linear1 = Linear(d_model, dim_feedforward, bias, device, dtype)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias, device, dtype)
        self.norm_first = norm_first
        numbers = range(1, len(self._attentions) + 2)
        for number in numbers:
            norm = LayerNorm(d_model, layer_norm_eps, True, bias, device, dtype)
            setattr(self, f"norm{number}", norm)
        for number in numbers:
            setattr(self, f"dropout{number}", Dropout(dropout))
        self.activation = _activation(activation)

    @property
    def activation_relu_or_gelu(self) -> int:
        """1 if the activation is `relu`, 2 if it is `gelu`, 0 for any other."""
        kinds = ((F.relu, ReLU), (F.gelu, GELU))
        found = [self.activation is f or isinstance(self.activation, kind) for f, kind in kinds]
        return found.index(True) + 1 if any(found) else 0

    def _fed(self, x: Tensor) -> Any:
        return self.linear2(self.dropout(self.activation(self.linear1(x))))

    def _attended(
        self,
        layer: Any,
        x: Tensor,
        memory: Tensor,
        mask: Any,
        padding: int | Sequence[int],
        is_causal: bool,
    ) -> Any:
        return layer(  # by name, as in PyTorch: programs put other values into these
            x,
            memory,
            memory,
            attn_mask=mask,
            key_padding_mask=padding,
            need_weights=False,
            is_causal=is_causal,
        )[0]

    def _sa_block(
        self, x: Tensor, attn_mask: Any, key_padding_mask: Any, is_causal: bool = False
    ) -> Any:
        found = self._attended(self.self_attn, x, x, attn_mask, key_padding_mask, is_causal)
        return self.dropout1(found)

    def _added(self, x: Any, part: Any, norm: Any) -> Any:
        """x and the `part` of x, normalized before the part or after the sum."""
        if self.norm_first:
            return x + part(norm(x))
        return norm(x + part(x))


class TransformerEncoderLayer(_Layer):
    """Self-attention and a feedforward network, each added to its input and normalized.

    (L, N, d_model), or (N, L, d_model) if `batch_first`, or (L, d_model), to the same shape;
    floating or complex. dim_feedforward: the size of the network's inner layer; activation: "relu",
    "gelu" or a function, else RuntimeError; norm_first: normalize before each part rather than
    after. Raises AssertionError unless `nhead` divides d_model. Source: PyTorch's
    `nn.TransformerEncoderLayer`.

    >>> layer = rg.nn.TransformerEncoderLayer(d_model=8, nhead=2, dim_feedforward=16)
    >>> layer(rg.ones(5, 3, 8)).shape
    retrograd.Size([5, 3, 8])
    """

    def forward(
        self,
        src: Tensor,
        src_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool = False,
    ) -> Tensor:
        """The sequence after attention and network."""
        masks = (src_mask, src_key_padding_mask)
        x = self._added(src, lambda x: self._sa_block(x, *masks, is_causal=is_causal), self.norm1)
        return self._added(x, self._ff_block, self.norm2)  # type: ignore[no-any-return]

    def _ff_block(self, x: Tensor) -> Any:
        return self.dropout2(self._fed(x))


class TransformerDecoderLayer(_Layer):
    """Self-attention, attention to a memory, and a feedforward network, each added and normalized.

    tgt (L, N, d_model) and memory (S, N, d_model) to the shape of tgt; N is first if `batch_first`,
    and may be absent. The settings and errors are those of `TransformerEncoderLayer`. Source:
    PyTorch's `nn.TransformerDecoderLayer`.

    >>> layer = rg.nn.TransformerDecoderLayer(d_model=8, nhead=2, dim_feedforward=16)
    >>> layer(rg.ones(4, 3, 8), rg.ones(5, 3, 8)).shape
    retrograd.Size([4, 3, 8])
    """

    _attentions = ("self_attn", "multihead_attn")

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """The sequence after both attentions and the network."""
        own, theirs = (tgt_mask, tgt_key_padding_mask), (memory_mask, memory_key_padding_mask)
        x = self._added(tgt, lambda x: self._sa_block(x, *own, is_causal=tgt_is_causal), self.norm1)
        x = self._added(
            x, lambda x: self._mha_block(x, memory, *theirs, is_causal=memory_is_causal), self.norm2
        )
        return self._added(x, self._ff_block, self.norm3)  # type: ignore[no-any-return]

    def _mha_block(
        self, x: Tensor, mem: Tensor, attn_mask: Any, key_padding_mask: Any, is_causal: bool = False
    ) -> Any:
        found = self._attended(self.multihead_attn, x, mem, attn_mask, key_padding_mask, is_causal)
        return self.dropout2(found)

    def _ff_block(self, x: Tensor) -> Any:
        return self.dropout3(self._fed(x))


def _not_nested(layer: Any) -> str | None:
    """Why PyTorch makes no nested tensors for such a layer; None if it does."""
    if not isinstance(layer, TransformerEncoderLayer):
        return "encoder_layer was not TransformerEncoderLayer"
    attention = layer.self_attn
    reasons = {
        "norm_first was True": layer.norm_first,
        "self_attn.batch_first was not True": not attention.batch_first,
        "self_attn was passed bias=False": attention.in_proj_bias is None,
        "self_attn._qkv_same_embed_dim was not True": not attention._qkv_same_embed_dim,
        "activation_relu_or_gelu was not True": not layer.activation_relu_or_gelu,
        "norm1.eps was not equal to encoder_layer.norm2.eps": layer.norm1.eps != layer.norm2.eps,
        "self_attn.num_heads is odd": attention.num_heads % 2,
    }
    found = next((reason for reason, holds in reasons.items() if holds), None)
    return found and f"encoder_layer.{found}"


class TransformerEncoder(Module):
    """Copies of an encoder layer, one after another, and a normalization at the end.

    (L, N, d_model) to the same shape, as the layer takes it. `enable_nested_tensor` and
    `mask_check` are accepted as in PyTorch; they make no difference, and the first warns where it
    would make none there, either: for layers without `batch_first` and others.

    >>> layer = rg.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    >>> rg.nn.TransformerEncoder(layer, num_layers=2)(rg.ones(3, 5, 8)).shape
    retrograd.Size([3, 5, 8])
    """

    def __init__(
        self,
        encoder_layer: Module,
        num_layers: int,
        norm: Module | None = None,
        enable_nested_tensor: bool = True,
        mask_check: bool = True,
    ) -> None:
        super().__init__()
        self.layers = _get_clones(encoder_layer, num_layers)
        self.num_layers, self.norm = num_layers, norm
        self.enable_nested_tensor, self.mask_check = enable_nested_tensor, mask_check
        why = _not_nested(encoder_layer) if enable_nested_tensor else None
        self.use_nested_tensor = enable_nested_tensor and why is None
        if why is not None:
            warnings.warn(NOT_NESTED.format(why), stacklevel=2)

    def forward(
        self,
        src: Tensor,
        mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool | None = None,
    ) -> Tensor:
        """The sequence after all layers."""
        for layer in self.layers:
            src = layer(
                src,
                src_mask=mask,
                src_key_padding_mask=src_key_padding_mask,
                is_causal=bool(is_causal),
            )
        return src if self.norm is None else self.norm(src)


class TransformerDecoder(Module):
    """Copies of a decoder layer, one after another, and a normalization at the end.

    tgt (L, N, d_model) and memory (S, N, d_model) to the shape of tgt, as the layer takes them.

    >>> decoder = rg.nn.TransformerDecoder(rg.nn.TransformerDecoderLayer(8, 2, 16), num_layers=2)
    >>> decoder(rg.ones(4, 3, 8), rg.ones(5, 3, 8)).shape
    retrograd.Size([4, 3, 8])
    """

    def __init__(self, decoder_layer: Module, num_layers: int, norm: Module | None = None) -> None:
        super().__init__()
        self.layers = _get_clones(decoder_layer, num_layers)
        self.num_layers, self.norm = num_layers, norm

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """The sequence after all layers."""
        for layer in self.layers:
            tgt = layer(
                tgt,
                memory,
                tgt_mask=tgt_mask,
                memory_mask=memory_mask,
                tgt_key_padding_mask=tgt_key_padding_mask,
                memory_key_padding_mask=memory_key_padding_mask,
                tgt_is_causal=bool(tgt_is_causal),
                memory_is_causal=memory_is_causal,
            )
        return tgt if self.norm is None else self.norm(tgt)


class Transformer(Module):
    """An encoder of the source sequence, and a decoder that attends to what it gives.

    src (S, N, d_model) and tgt (L, N, d_model) to the shape of tgt; N is first if `batch_first`,
    and may be absent. `custom_encoder` and `custom_decoder` replace the stacks; weights start
    Xavier uniform. Raises RuntimeError where batch sizes differ or features are not d_model.
    Source: PyTorch's `nn.Transformer`.

    >>> model = rg.nn.Transformer(8, 2, 1, 1, 16, batch_first=True)
    >>> model(rg.ones(3, 5, 8), rg.ones(3, 4, 8)).shape
    retrograd.Size([3, 4, 8])
    """

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Any = F.relu,
        custom_encoder: Any = None,
        custom_decoder: Any = None,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: DeviceLike = None,
        dtype: dtype | None = None,
    ) -> None:
        super().__init__()
        settings = (
            d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first,
            norm_first, bias, device, dtype,
        )  # fmt: skip

        def norm() -> LayerNorm:
            return LayerNorm(d_model, layer_norm_eps, True, bias, device, dtype)

        self.encoder = custom_encoder
        if custom_encoder is None:
            encoder_layer = TransformerEncoderLayer(*settings)
            self.encoder = TransformerEncoder(encoder_layer, num_encoder_layers, norm())
        self.decoder = custom_decoder
        if custom_decoder is None:
            decoder_layer = TransformerDecoderLayer(*settings)
            self.decoder = TransformerDecoder(decoder_layer, num_decoder_layers, norm())
        self._reset_parameters()
        self.d_model, self.nhead, self.batch_first = d_model, nhead, batch_first

    def _reset_parameters(self) -> None:
        """Draw all matrices anew."""
        for param in self.parameters():
            if param._array.ndim > 1:
                init.xavier_uniform_(param)

    def forward(
        self,
        src: Tensor,
        tgt: Tensor,
        src_mask: Tensor | None = None,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        src_is_causal: bool | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """The target sequence decoded from the source sequence."""
        if src._array.ndim == 3:
            batch = 0 if self.batch_first else 1
            if src.shape[batch] != tgt.shape[batch]:
                raise RuntimeError("the batch number of src and tgt must be equal")
        if src.shape[-1] != self.d_model or tgt.shape[-1] != self.d_model:
            raise RuntimeError("the feature number of src and tgt must be equal to d_model")
        memory = self.encoder(src, src_mask, src_key_padding_mask, src_is_causal)
        masks = (tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask)
        return self.decoder(tgt, memory, *masks, tgt_is_causal, memory_is_causal)  # type: ignore[no-any-return]

    @staticmethod
    def generate_square_subsequent_mask(
        sz: int, device: DeviceLike = None, dtype: dtype | None = None
    ) -> Tensor:
        """(sz, sz), -inf above the diagonal and 0 elsewhere: position i sees positions 0 to i."""
        return full((sz, sz), -math.inf, dtype=dtype, device=device).triu(1)


def _get_clones(module: Module, N: int) -> ModuleList:
    """A list of `N` copies of a module, which share nothing.

    >>> rg.nn.modules.transformer._get_clones(rg.nn.Linear(2, 3), 2)
    ModuleList(
      (0-1): 2 x Linear(in_features=2, out_features=3, bias=True)
    )
    """
    return ModuleList([copy.deepcopy(module) for _ in range(N)])
