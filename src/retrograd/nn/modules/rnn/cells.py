"""Recurrent cells: one step in time. What it computes is in the ops."""

from __future__ import annotations

import math
from typing import Any

from ....dtypes import dtype
from ....engine.placement import DeviceLike
from ....engine.tensor import Tensor
from ....ops.lazy_loading import load
from ... import init
from ..module import Module
from ..utils import empty_parameter

__all__ = ["GRUCell", "LSTMCell", "RNNCell", "RNNCellBase"]

gru_cell, lstm_cell = load("gru_cell"), load("lstm_cell")  # as users see them, modes may answer
rnn_relu_cell, rnn_tanh_cell = load("rnn_relu_cell"), load("rnn_tanh_cell")


class RNNCellBase(Module):
    """What the cells share: parameters for `num_chunks` gates, and checks.

    weight_ih: (num_chunks * hidden_size, input_size); weight_hh: (num_chunks * hidden_size,
    hidden_size); bias_ih and bias_hh; all start uniform on +-1/sqrt(hidden_size). The call of a
    cell raises ValueError for input or state neither 1-D nor 2-D, RuntimeError for other sizes.

    >>> [tuple(p.shape) for p in rg.nn.GRUCell(3, 2).parameters()]
    [(6, 3), (6, 2), (6,), (6,)]
    """

    _shown_settings = "input_size hidden_size bias=True"

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool,
        num_chunks: int,
        device: DeviceLike = None,
        dtype: dtype | None = None,
    ) -> None:
        super().__init__()
        self.input_size, self.hidden_size, self.bias = input_size, hidden_size, bias
        rows = num_chunks * hidden_size
        self.weight_ih = empty_parameter((rows, input_size), device, dtype)
        self.weight_hh = empty_parameter((rows, hidden_size), device, dtype)
        for name in ("bias_ih", "bias_hh"):
            self.register_parameter(name, empty_parameter((rows,), device, dtype) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw all parameters anew."""
        for param in self.parameters():
            init.symmetric_(param, 1 / math.sqrt(self.hidden_size) if self.hidden_size else 0)

    def _weights(self) -> tuple[Any, ...]:
        return self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh

    def _state(self, input: Tensor, hx: Tensor | None, number: int = 0) -> Tensor:
        """The hidden state before the step, checked; zeros if there is none."""
        name, ndim = type(self).__name__, input._array.ndim
        if ndim not in (1, 2):
            raise ValueError(f"{name}: Expected input to be 1D or 2D, got {ndim}D instead")
        if input.shape[-1] != self.input_size:
            raise RuntimeError(
                f"input has inconsistent input_size: got {input.shape[-1]} expected "
                f"{self.input_size}"
            )
        if hx is None:
            return input.new_zeros((*input.shape[:-1], self.hidden_size))
        if hx._array.ndim not in (1, 2):
            raise ValueError(
                f"{name}: Expected hidden to be 1D or 2D, got {hx._array.ndim}D instead"
            )
        if hx.shape[-1] != self.hidden_size:
            raise RuntimeError(
                f"hidden{number} has inconsistent hidden_size: got {hx.shape[-1]}, expected "
                f"{self.hidden_size}"
            )
        if hx.shape[:-1] != input.shape[:-1]:
            of_input, of_state = (x.shape[0] if x._array.ndim == 2 else None for x in (input, hx))
            raise RuntimeError(
                f"Input batch size {of_input} doesn't match hidden{number} batch size {of_state}"
            )
        return hx


class RNNCell(RNNCellBase):
    """h' = tanh(W_ih x + b_ih + W_hh h + b_hh), or relu for tanh.

    input: (N, input_size) or (input_size); hx: (N, hidden_size) or (hidden_size), zeros if absent;
    returns h' of the shape of hx. Real or complex. A call raises RuntimeError for another
    `nonlinearity`; other errors are as for `RNNCellBase`. Source: PyTorch's `nn.RNNCell`; Elman,
    1990.

    >>> rg.nn.RNNCell(10, 20)(rg.ones(3, 10)).shape
    retrograd.Size([3, 20])
    """

    _shown_settings = f"{RNNCellBase._shown_settings} nonlinearity='tanh'"

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device: DeviceLike = None,
        dtype: dtype | None = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        """The next hidden state."""
        h = self._state(input, hx)
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        relu = self.nonlinearity == "relu"
        step = rnn_relu_cell if relu else rnn_tanh_cell
        return step(input, h, *self._weights())  # type: ignore[no-any-return]


class _Gated(RNNCellBase):
    """A cell of `_gates`, made by its sizes alone."""

    _gates: int

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: DeviceLike = None,
        dtype: dtype | None = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, self._gates, device, dtype)


class LSTMCell(_Gated):
    """A cell of long short-term memory: one step from (h, c) to (h', c').

    input: (N, input_size) or (input_size); hx: the two states, (N, hidden_size) or (hidden_size)
    each, zeros if absent; returns both of these shapes. Rows of the weights: input, forget, cell,
    output gate. Real or complex. Errors are as for `RNNCellBase`. Source: PyTorch's `nn.LSTMCell`;
    Hochreiter and Schmidhuber, 1997.

    >>> h, c = rg.nn.LSTMCell(10, 20)(rg.ones(3, 10))
    >>> h.shape
    retrograd.Size([3, 20])
    """

    _gates = 4

    def forward(self, input: Tensor, hx: Any = None) -> tuple[Tensor, Tensor]:
        """The next hidden and cell state."""
        states = (None, None) if hx is None else hx
        if isinstance(states, (tuple, list)):  # others are refused by the function
            states = [self._state(input, each, i) for i, each in enumerate(states)]
        return lstm_cell(input, states, *self._weights())  # type: ignore[no-any-return]


class GRUCell(_Gated):
    """A gated recurrent unit, one step at a time.

    input: (N, input_size) or (input_size); hx: (N, hidden_size) or (hidden_size), zeros if absent;
    returns h' of the shape of hx. Rows of the weights: reset, update, new gate. Real or complex.
    Errors are as for `RNNCellBase`. Source: PyTorch's `nn.GRUCell`; Cho et al., 2014.

    >>> rg.nn.GRUCell(10, 20)(rg.ones(3, 10)).shape
    retrograd.Size([3, 20])
    """

    _gates = 3

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        """The next hidden state."""
        return gru_cell(input, self._state(input, hx), *self._weights())  # type: ignore[no-any-return]
