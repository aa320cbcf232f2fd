"""Ordinary layers whose parameters are complex unless a dtype says otherwise; widely-linear ones.

NOTE [Complex layers] The layers of `nn` take complex data as they are. Those here are the same
classes with two other defaults:
1. `dtype` is the complex dtype of the default floating one.
2. Where `nn` draws a weight uniformly, for PyTorch's sake, it is a circular normal number of
   variance E|w|^2 = 2 / (fan_in + fan_out): of Rayleigh's modulus and a uniform phase.
   This is the initialization of Trabelsi et al., ICLR 2018; one that a framework for real numbers
   puts into both parts would have twice that variance. Biases are 0. The matrix from state to state
   of a recurrent layer is unitary, gate by gate, so that it neither swells nor shrinks the state.
Parameters that are real, as the bias of a modReLU, become complex with `module.to(rg.complex128)`,
like all others; their layers then read the real part.
"""

from __future__ import annotations

from typing import Any

from ... import dtypes
from ...dtypes import dtype
from ...engine.placement import DeviceLike
from ...engine.tensor import Tensor
from ...ops.nn.normalization import squared_modulus
from .. import functional as F
from .. import init
from ..modules import conv, linear, normalization, rnn, sparse, transformer
from ..modules.module import Module
from ..modules.utils import empty_parameter

__all__ = [
    "GRU", "LSTM", "RNN", "Bilinear", "Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d",
    "ConvTranspose2d", "ConvTranspose3d", "Embedding", "GRUCell", "GroupNorm", "InstanceNorm1d",
    "InstanceNorm2d", "InstanceNorm3d", "LSTMCell", "LayerNorm", "Linear", "NaiveBatchNorm1d",
    "NaiveBatchNorm2d", "NaiveBatchNorm3d", "RMSNorm", "RNNCell", "TransformerDecoderLayer",
    "TransformerEncoderLayer", "WidelyLinear",
]  # fmt: skip


def complex_dtype(dtype: dtype | None) -> Any:
    """`dtype`, by default the complex one of the default floating dtype."""
    return dtypes.of_numpy(dtypes.complex_of(dtypes.default_numpy())) if dtype is None else dtype


class _Complex(Module):
    """A layer whose dtype is complex by default."""

    def __init__(self, *args: Any, dtype: dtype | None = None, **kwargs: Any) -> None:
        super().__init__(*args, dtype=complex_dtype(dtype), **kwargs)


class _Drawn(_Complex):
    """A base of layers whose weight is drawn by NOTE [Complex layers], 2."""

    def reset_parameters(self) -> None:
        """Draw the weight anew, and set the bias to 0."""
        if self.weight._array.size:
            init.xavier_normal_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)


class Linear(_Drawn, linear.Linear):
    """`nn.Linear` of complex numbers, from (*, in_features) to (*, out_features).

    NOTE [Complex layers] says how it starts. Raises RuntimeError for another last size or dtype.

    >>> layer = rg.nn.complex.Linear(3, 2)
    >>> layer(rg.ones(4, 3, dtype=rg.complex64)).shape, layer.weight.dtype
    (retrograd.Size([4, 2]), retrograd.complex64)
    """


class Bilinear(_Drawn, linear.Bilinear):
    """`nn.Bilinear` of complex numbers, from (*, in1) and (*, in2) to (*, out); no conjugates.

    Raises ValueError unless in1_features is positive, RuntimeError for shapes that do not fit.

    >>> x = rg.ones(4, 3, dtype=rg.complex64)
    >>> rg.nn.complex.Bilinear(3, 3, 2)(x, x.conj()).shape
    retrograd.Size([4, 2])
    """


class WidelyLinear(Module):
    """`W1 z + W2 z* + b`, from (*, in_features) to (*, out_features): every real-linear map.

    Of complex data whose pseudo-covariance E[z z^T] is not 0 it is the best estimate, where a
    linear layer is not. Parameters `weight`, `conj_weight` (out_features, in_features) and `bias`;
    the weights start with half of a linear layer's variance each. Raises RuntimeError for another
    last size or dtype. Source: Picinbono and Chevalier, IEEE Trans. Signal Processing 43 (1995).

    >>> layer = rg.nn.complex.WidelyLinear(3, 2)
    >>> layer(rg.ones(4, 3, dtype=rg.complex64)).shape, layer
    (retrograd.Size([4, 2]), WidelyLinear(in_features=3, out_features=2, bias=True))
    """

    _shown_settings = linear.Linear._shown_settings

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        device: DeviceLike = None,
        dtype: dtype | None = None,
    ) -> None:
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        dtype = complex_dtype(dtype)
        self.weight = empty_parameter((out_features, in_features), device, dtype)
        self.conj_weight = empty_parameter((out_features, in_features), device, dtype)
        self.register_parameter(
            "bias", empty_parameter((out_features,), device, dtype) if bias else None
        )
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw both weights anew, and set the bias to 0."""
        for weight in (self.weight, self.conj_weight):
            init.xavier_normal_(weight, gain=0.5**0.5)
        if self.bias is not None:
            init.zeros_(self.bias)

    def forward(self, input: Tensor) -> Tensor:
        """`input @ weight.T + input.conj() @ conj_weight.T + bias`."""
        straight = F.linear(input, self.weight, self.bias)
        return straight + F.linear(input.conj(), self.conj_weight)


class Conv1d(_Drawn, conv.Conv1d):
    """`nn.Conv1d` of complex signals, (N, C, L) or (C, L).

    NOTE [Complex layers] says how it starts; what it takes and raises is as in `nn.Conv1d`.

    >>> rg.nn.complex.Conv1d(2, 3, 3)(rg.ones(1, 2, 5, dtype=rg.complex64)).shape
    retrograd.Size([1, 3, 3])
    """


class Conv2d(_Drawn, conv.Conv2d):
    """`nn.Conv2d` of complex images, (N, C, H, W) or (C, H, W).

    NOTE [Complex layers] says how it starts; what it takes and raises is as in `nn.Conv2d`.

    >>> rg.nn.complex.Conv2d(2, 3, 3)(rg.ones(1, 2, 5, 5, dtype=rg.complex64)).shape
    retrograd.Size([1, 3, 3, 3])
    """


class Conv3d(_Drawn, conv.Conv3d):
    """`nn.Conv3d` of complex volumes, (N, C, D, H, W) or (C, D, H, W).

    NOTE [Complex layers] says how it starts; what it takes and raises is as in `nn.Conv3d`.

    >>> rg.nn.complex.Conv3d(1, 2, 2)(rg.ones(1, 2, 2, 2, dtype=rg.complex64)).shape
    retrograd.Size([2, 1, 1, 1])
    """


class ConvTranspose1d(_Drawn, conv.ConvTranspose1d):
    """`nn.ConvTranspose1d` of complex signals, (N, C, L) or (C, L).

    NOTE [Complex layers] says how it starts; the rest is as in `nn.ConvTranspose1d`.

    >>> rg.nn.complex.ConvTranspose1d(2, 3, 3)(rg.ones(1, 2, 5, dtype=rg.complex64)).shape
    retrograd.Size([1, 3, 7])
    """


class ConvTranspose2d(_Drawn, conv.ConvTranspose2d):
    """`nn.ConvTranspose2d` of complex images, (N, C, H, W) or (C, H, W).

    NOTE [Complex layers] says how it starts; the rest is as in `nn.ConvTranspose2d`.

    >>> rg.nn.complex.ConvTranspose2d(2, 3, 3)(rg.ones(1, 2, 5, 5, dtype=rg.complex64)).shape
    retrograd.Size([1, 3, 7, 7])
    """


class ConvTranspose3d(_Drawn, conv.ConvTranspose3d):
    """`nn.ConvTranspose3d` of complex volumes, (N, C, D, H, W) or (C, D, H, W).

    NOTE [Complex layers] says how it starts; the rest is as in `nn.ConvTranspose3d`.

    >>> rg.nn.complex.ConvTranspose3d(1, 2, 2)(rg.ones(1, 2, 2, 2, dtype=rg.complex64)).shape
    retrograd.Size([2, 3, 3, 3])
    """


class Embedding(_Complex, sparse.Embedding):
    """`nn.Embedding` into complex vectors of mean 0 and E|w|^2 = 1, from (*) to (*, embedding_dim).

    >>> rg.nn.complex.Embedding(10, 4)(rg.tensor([1, 2])).shape
    retrograd.Size([2, 4])
    """


class _Recurrent(_Complex):
    """A recurrent layer or cell that starts by NOTE [Complex layers], 2."""

    def reset_parameters(self) -> None:
        """Draw the weights anew, and set the biases to 0."""
        for name, param in self.named_parameters():
            if param._array.ndim == 1:
                init.zeros_(param)
                continue
            for gate in param.detach().split(min(param.shape[0], self.hidden_size)):
                (init.orthogonal_ if name.startswith("weight_hh") else init.xavier_normal_)(gate)


class RNN(_Recurrent, rnn.RNN):
    """`nn.RNN` of complex sequences, (L, N, input_size); shapes and errors as in `nn.RNN`.

    >>> rg.nn.complex.RNN(3, 2)(rg.ones(5, 1, 3, dtype=rg.complex64))[0].shape
    retrograd.Size([5, 1, 2])
    """


class GRU(_Recurrent, rnn.GRU):
    """`nn.GRU` of complex sequences, (L, N, input_size); shapes and errors as in `nn.GRU`.

    The gates are the holomorphic sigmoid of complex numbers.

    >>> rg.nn.complex.GRU(3, 2)(rg.ones(5, 1, 3, dtype=rg.complex64))[0].shape
    retrograd.Size([5, 1, 2])
    """


class LSTM(_Recurrent, rnn.LSTM):
    """`nn.LSTM` of complex sequences, (L, N, input_size); shapes and errors as in `nn.LSTM`.

    The gates are the holomorphic sigmoid of complex numbers.

    >>> rg.nn.complex.LSTM(3, 2)(rg.ones(5, 1, 3, dtype=rg.complex64))[0].shape
    retrograd.Size([5, 1, 2])
    """


class RNNCell(_Recurrent, rnn.RNNCell):
    """`nn.RNNCell` of complex numbers, from (N, input_size) to (N, hidden_size).

    >>> rg.nn.complex.RNNCell(3, 2)(rg.ones(1, 3, dtype=rg.complex64)).shape
    retrograd.Size([1, 2])
    """


class GRUCell(_Recurrent, rnn.GRUCell):
    """`nn.GRUCell` of complex numbers, from (N, input_size) to (N, hidden_size).

    >>> rg.nn.complex.GRUCell(3, 2)(rg.ones(1, 3, dtype=rg.complex64)).shape
    retrograd.Size([1, 2])
    """


class LSTMCell(_Recurrent, rnn.LSTMCell):
    """`nn.LSTMCell` of complex numbers, from (N, input_size) to two of (N, hidden_size).

    >>> rg.nn.complex.LSTMCell(3, 2)(rg.ones(1, 3, dtype=rg.complex64))[0].shape
    retrograd.Size([1, 2])
    """


class LayerNorm(_Complex, normalization.LayerNorm):
    """`nn.LayerNorm` by complex means and E|z - mean|^2, (*, normalized_shape) to the same.

    >>> rg.nn.complex.LayerNorm(2, eps=0.0)(rg.tensor([[1 + 1j, 1 - 1j]])).detach()
    tensor([[0.+1.j, 0.-1.j]])
    """


class GroupNorm(_Complex, normalization.GroupNorm):
    """`nn.GroupNorm` by complex means and E|z - mean|^2, (N, C, *) to the same.

    >>> rg.nn.complex.GroupNorm(1, 2)(rg.ones(3, 2, dtype=rg.complex64)).abs().max().item()
    0.0
    """


class RMSNorm(_Complex, normalization.RMSNorm):
    """Division by the root of the mean of |z|^2, (*, normalized_shape) to the same.

    `nn.RMSNorm` takes the mean of z^2, as PyTorch does. Raises RuntimeError for other sizes.

    >>> rg.nn.complex.RMSNorm(2)(rg.tensor([[3j, -3]])).detach()
    tensor([[ 0.+1.j, -1.+0.j]])
    """

    def forward(self, x: Tensor) -> Tensor:
        """`x` divided by the root mean square of its moduli."""
        size, shape = len(self.normalized_shape), list(x.shape)
        if shape[x.ndim - size :] != list(self.normalized_shape):
            raise RuntimeError(
                f"RMSNorm: expected input of shape [*, {str(list(self.normalized_shape))[1:]}, got "
                f"{shape}"
            )
        eps = self.eps if self.eps is not None else dtypes.finfo(x.dtype).eps
        mean = squared_modulus(x).mean(tuple(range(-size, 0)), keepdim=True)
        out = x * (mean + eps).rsqrt()
        return out if self.weight is None else out * self.weight


class InstanceNorm1d(_Complex, normalization.InstanceNorm1d):
    """`nn.InstanceNorm1d` by complex means and E|z - mean|^2, (N, C, L) to the same.

    >>> rg.nn.complex.InstanceNorm1d(2)(rg.ones(1, 2, 3, dtype=rg.complex64)).abs().max().item()
    0.0
    """


class InstanceNorm2d(_Complex, normalization.InstanceNorm2d):
    """`nn.InstanceNorm2d` by complex means and E|z - mean|^2, (N, C, H, W) to the same.

    >>> rg.nn.complex.InstanceNorm2d(2)(rg.ones(1, 2, 3, 3, dtype=rg.complex64)).abs().max().item()
    0.0
    """


class InstanceNorm3d(_Complex, normalization.InstanceNorm3d):
    """`nn.InstanceNorm3d` by complex means and E|z - mean|^2, (N, C, D, H, W) to the same.

    >>> x = rg.ones(1, 2, 3, 3, 3, dtype=rg.complex64)
    >>> rg.nn.complex.InstanceNorm3d(2)(x).abs().max().item()
    0.0
    """


class NaiveBatchNorm1d(_Complex, normalization.BatchNorm1d):
    """`nn.BatchNorm1d` by complex means and E|z - mean|^2: (N, C) or (N, C, L) to the same.

    It scales; `BatchNorm1d` whitens.

    >>> rg.nn.complex.NaiveBatchNorm1d(2)(rg.ones(3, 2, dtype=rg.complex64)).abs().max().item()
    0.0
    """


class NaiveBatchNorm2d(_Complex, normalization.BatchNorm2d):
    """`nn.BatchNorm2d` by complex means and E|z - mean|^2: (N, C, H, W) to the same.

    >>> x = rg.ones(3, 2, 2, 2, dtype=rg.complex64)
    >>> rg.nn.complex.NaiveBatchNorm2d(2)(x).abs().max().item()
    0.0
    """


class NaiveBatchNorm3d(_Complex, normalization.BatchNorm3d):
    """`nn.BatchNorm3d` by complex means and E|z - mean|^2: (N, C, D, H, W) to the same.

    >>> x = rg.ones(3, 2, 2, 2, 2, dtype=rg.complex64)
    >>> rg.nn.complex.NaiveBatchNorm3d(2)(x).abs().max().item()
    0.0
    """


class TransformerEncoderLayer(_Complex, transformer.TransformerEncoderLayer):
    """`nn.TransformerEncoderLayer` of complex sequences, (L, N, d_model) to the same.

    Its attention's scores are the holomorphic softmax's, without conjugates; `MultiheadAttention`
    here has others. Errors as in `nn.TransformerEncoderLayer`.

    >>> layer = rg.nn.complex.TransformerEncoderLayer(4, 2, 8, dropout=0.0)
    >>> layer(rg.ones(3, 1, 4, dtype=rg.complex64)).shape
    retrograd.Size([3, 1, 4])
    """


class TransformerDecoderLayer(_Complex, transformer.TransformerDecoderLayer):
    """`nn.TransformerDecoderLayer` of complex sequences, (L, N, d_model) to the same.

    >>> layer = rg.nn.complex.TransformerDecoderLayer(4, 2, 8, dropout=0.0)
    >>> x = rg.ones(3, 1, 4, dtype=rg.complex64)
    >>> layer(x, x).shape
    retrograd.Size([3, 1, 4])
    """
