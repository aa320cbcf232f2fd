"""Recurrent layers over whole sequences. How they run is in the ops."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

from .... import modes
from ....dtypes import dtype
from ....engine.placement import DeviceLike
from ....engine.registry import name_node
from ....engine.tensor import Tensor
from ....errors import conversion
from ....ops.lazy_loading import load
from ... import init
from ...utils.rnn import PackedSequence
from ..module import Module
from ..utils import empty_parameter

__all__ = ["GRU", "LSTM", "RNN", "RNNBase"]


GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}
EXPECTED = "Expected hidden size {}, got {}"
EXPECTED_EACH = [EXPECTED.replace("hidden", f"hidden[{place}]") for place in range(2)]
FUNCTIONS = {mode: load(mode.lower()) for mode in GATES}  # as users see them, modes may answer


class RNNBase(Module):
    """What the recurrent layers share; `RNN` says the shapes of a call.

    Parameters per layer k and direction (suffix `_reverse` for the second): weight_ih_lk (gates *
    hidden_size, input_size, or what the layer below gives), weight_hh_lk (gates * hidden_size,
    proj_size or hidden_size), bias_ih_lk, bias_hh_lk, and weight_hr_lk (proj_size, hidden_size) if
    there is a projection; all start uniform on +-1/sqrt(hidden_size). Raises ValueError or
    TypeError for settings that do not fit; a call raises ValueError for an input of another dtype
    than the weights or neither 2-D nor 3-D, RuntimeError for sizes that do not fit.

    >>> [name for name, _ in rg.nn.GRU(3, 2).named_parameters()]
    ['weight_ih_l0', 'weight_hh_l0', 'bias_ih_l0', 'bias_hh_l0']
    """

    _shown_settings = (
        "input_size hidden_size proj_size=0 num_layers=1 bias=True batch_first=False dropout=0 "
        "bidirectional=False"
    )

    def __init__(
        self,
        mode: str,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: DeviceLike = None,
        dtype: dtype | None = None,
    ) -> None:
        super().__init__()
        self.mode, self.input_size, self.hidden_size = mode, input_size, hidden_size
        self.num_layers, self.bias, self.batch_first = num_layers, bias, batch_first
        self.dropout, self.bidirectional, self.proj_size = dropout, bidirectional, proj_size
        self._check_settings()
        for layer in range(num_layers):
            for suffix in self._suffixes(layer):
                self._make(layer, suffix, device, dtype)
        self.reset_parameters()

    def _check_settings(self) -> None:
        p, size = self.dropout, self.hidden_size
        if isinstance(p, bool) or not isinstance(p, (int, float)) or not 0 <= p <= 1:
            raise ValueError(
                "dropout should be a number in range [0, 1] representing the probability of an "
                "element being zeroed"
            )
        if p > 0 and self.num_layers == 1:
            warnings.warn(
                "dropout option adds dropout after all but last recurrent layer, so non-zero "
                f"dropout expects num_layers greater than 1, but got dropout={p} and num_layers=1",
                stacklevel=4,
            )
        for name in ("bias", "batch_first"):
            if not isinstance(getattr(self, name), bool):
                found = type(getattr(self, name)).__name__
                raise TypeError(f"{name} should be of type bool, got: {found}")
        for name in ("input_size", "hidden_size", "num_layers"):
            if not isinstance(getattr(self, name), int):
                found = type(getattr(self, name)).__name__
                raise TypeError(f"{name} should be of type int, got: {found}")
            if getattr(self, name) <= 0:
                raise ValueError(f"{name} must be greater than zero")
        if self.proj_size < 0:
            raise ValueError(
                "proj_size should be a positive integer or zero to disable projections"
            )
        if self.proj_size >= size:
            raise ValueError("proj_size has to be smaller than hidden_size")
        if self.mode not in GATES:
            raise ValueError(f"Unrecognized RNN mode: {self.mode}")

    def _suffixes(self, layer: int) -> list[str]:
        return [f"_l{layer}", f"_l{layer}_reverse"][: 1 + bool(self.bidirectional)]

    def _make(self, layer: int, suffix: str, device: DeviceLike, dtype: dtype | None) -> None:
        """The parameters of one layer and direction."""
        rows, width = GATES[self.mode] * self.hidden_size, self.proj_size or self.hidden_size
        columns = self.input_size if layer == 0 else width * (1 + bool(self.bidirectional))
        shapes: dict[str, tuple[int, ...]] = {"weight_ih": (rows, columns)}
        shapes["weight_hh"] = (rows, width)
        if self.bias:
            shapes["bias_ih"] = shapes["bias_hh"] = (rows,)
        if self.proj_size:
            shapes["weight_hr"] = (self.proj_size, self.hidden_size)
        for name, shape in shapes.items():
            setattr(self, name + suffix, empty_parameter(shape, device, dtype))

    def reset_parameters(self) -> None:
        """Draw all parameters anew."""
        for param in self.parameters():
            init.symmetric_(param, 1 / math.sqrt(self.hidden_size))

    def flatten_parameters(self) -> None:
        """Do nothing: it is a matter of GPU memory."""

    @property
    def all_weights(self) -> list[list[Any]]:
        """The parameters, one list per layer and direction."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    @property
    def _all_weights(self) -> list[list[str]]:
        names = ["weight_ih", "weight_hh"] + ["bias_ih", "bias_hh"] * self.bias
        names += ["weight_hr"] * (self.proj_size > 0)
        suffixes = [s for layer in range(self.num_layers) for s in self._suffixes(layer)]
        return [[name + suffix for name in names] for suffix in suffixes]

    @property
    def _flat_weights_names(self) -> list[str]:
        return [name for names in self._all_weights for name in names]

    @property
    def _flat_weights(self) -> list[Any]:
        return [getattr(self, name) for name in self._flat_weights_names]

    @_flat_weights.setter
    def _flat_weights(self, weights: list[Any]) -> None:
        for name, weight in zip(self._flat_weights_names, weights, strict=True):
            if getattr(self, name) is not weight:
                setattr(self, name, weight)

    # -- running -------------------------------------------------------------------------------

    def forward(self, input: Any, hx: Any = None) -> tuple[Any, Any]:
        """(output, last state): see the class."""
        packed = isinstance(input, PackedSequence)
        data, sizes = (input.data, input.batch_sizes) if packed else (input, None)
        single = not packed and self._is_single(data)
        if single:
            data = data.unsqueeze(0 if self.batch_first else 1)
        if hx is None:
            shapes = self._state_sizes(data, sizes)
            zeros = {shape: data.new_zeros(shape) for shape in shapes}  # nobody writes them
            hidden = self._as_given([zeros[shape] for shape in shapes])
        else:
            hidden = self._batched(hx, single)
            hidden = self.permute_hidden(hidden, input.sorted_indices if packed else None)
        self.check_forward_args(data, hidden, sizes)
        turned = self.batch_first and not packed
        out, last = self._layers(data.transpose(0, 1) if turned else data, sizes, hidden)
        if packed:
            return PackedSequence(out, *input[1:]), self.permute_hidden(
                last, input.unsorted_indices
            )
        if single:
            return out.squeeze(1), self._each(last, lambda state: state.squeeze(1))
        if turned:
            name = f"TransposeBackward{int(self.mode != 'LSTM')}"  # PyTorch turns others in place
            out = name_node(out.transpose(0, 1), name)
        return out, last

    def _as_given(self, states: list[Any]) -> Any:
        return tuple(states) if self.mode == "LSTM" else states[0]

    def _each(self, hidden: Any, change: Callable[[Any], Any]) -> Any:
        """A state, or both of an LSTM's, changed."""
        return tuple(map(change, hidden)) if self.mode == "LSTM" else change(hidden)

    def _is_single(self, data: Any) -> bool:
        """Whether it is one sequence, not a batch."""
        if data._array.ndim not in (2, 3):
            name = self.mode.split("_")[0]
            tail = "tensor instead" if name == "RNN" else "instead"
            raise ValueError(
                f"{name}: Expected input to be 2D or 3D, got {data._array.ndim}D {tail}"
            )
        return bool(data._array.ndim == 2)

    def _batched(self, hx: Any, single: bool) -> Any:
        """The state that was given, as that of a batch."""
        if self.mode == "LSTM" and not isinstance(hx, (tuple, list)):
            raise TypeError(f"LSTM: hx must be tuple of Tensors (h, c), not {type(hx).__name__}")
        wanted = 2 if single else 3
        for state in hx if self.mode == "LSTM" else (hx,):
            if state._array.ndim != wanted:
                kind = "unbatched 2-D" if single else "batched 3-D"
                names = "hx and cx" if self.mode == "LSTM" else "hx"
                raise RuntimeError(
                    f"For {kind} input, {names} should also be {wanted}-D but got "
                    f"{state._array.ndim}-D tensor"
                )
        return self._each(hx, lambda state: state.unsqueeze(1)) if single else hx

    def check_input(self, input: Any, batch_sizes: Tensor | None) -> None:
        """Raise for an input, packed if it has `batch_sizes`, of another dtype or size."""
        weight, wanted = self.weight_ih_l0, 3 if batch_sizes is None else 2
        if input._array.dtype != weight._array.dtype and not any(
            hasattr(mode, "casts") for mode in modes.state.function_modes
        ):
            raise ValueError(
                f"RNN input dtype ({input.dtype}) does not match weight dtype ({weight.dtype}). "
                f"{conversion(input.dtype.numpy, weight.dtype.numpy, 'weight')}"
            )
        if input._array.ndim != wanted:
            raise RuntimeError(f"input must have {wanted} dimensions, got {input._array.ndim}")
        if input._array.shape[-1] != self.input_size:
            raise RuntimeError(
                f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got "
                f"{input.shape[-1]}. The input is {list(input.shape)}, and its last size is that "
                f"of one step: make it {type(self).__name__}({input.shape[-1]}, {self.hidden_size})"
            )

    def get_expected_hidden_size(
        self, input: Any, batch_sizes: Tensor | None
    ) -> tuple[int, int, int]:
        """(layers * directions, N, width) of a state, from a batch of sequences or a packed one."""
        batch = input.shape[not self.batch_first] if batch_sizes is None else int(batch_sizes[0])
        count = self.num_layers * (1 + bool(self.bidirectional))
        return count, batch, self.proj_size or self.hidden_size

    def _state_sizes(self, input: Any, batch_sizes: Tensor | None) -> list[tuple[int, int, int]]:
        return [self.get_expected_hidden_size(input, batch_sizes)]

    def check_hidden_size(
        self, hx: Any, expected_hidden_size: tuple[int, int, int], msg: str = EXPECTED
    ) -> None:
        """Raise RuntimeError with `msg` for a state of another size."""
        if hx.shape != expected_hidden_size:
            raise RuntimeError(msg.format(expected_hidden_size, list(hx.shape)))

    def check_forward_args(self, input: Any, hidden: Any, batch_sizes: Tensor | None) -> None:
        """Raise for an input or a state that does not fit: programs' subclasses replace it."""
        self.check_input(input, batch_sizes)
        self.check_hidden_size(hidden, self.get_expected_hidden_size(input, batch_sizes))

    def permute_hidden(self, hx: Any, permutation: Any) -> Any:
        """The state with its batch in another order, as it is without one."""
        if permutation is None:
            return hx
        return self._each(hx, lambda state: state.index_select(1, permutation))

    def _layers(self, data: Any, sizes: Any, hidden: Any) -> tuple[Any, Any]:
        """All layers one after another: the last one's output, and every layer's last state."""
        out, *last = FUNCTIONS[self.mode](
            data, *([] if sizes is None else [sizes]), hidden, self._flat_weights,
            self.bias, self.num_layers, self.dropout, self.training, self.bidirectional,
            *([False] if sizes is None else []),
        )  # fmt: skip
        return out, self._as_given(last)


def _check_no_projection(proj_size: int) -> None:
    """Raise ValueError for a projection, which LSTM alone has."""
    if proj_size:
        raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")


class RNN(RNNBase):
    """Layers of h_t = tanh(W_ih x_t + b_ih + W_hh h_(t-1) + b_hh), or relu for tanh.

    input: (T, N, input_size), (N, T, input_size) if `batch_first`, (T, input_size) for one
    sequence, or a `PackedSequence`; hx: (layers * directions, N, hidden_size), without N for one
    sequence, zeros if absent. Returns (output (T, N, directions * hidden_size), hx after the last
    step), with the dimensions of the input. `dropout` acts on what all layers but the last give.
    Real or complex. Raises ValueError for another `nonlinearity`; other errors are as for
    `RNNBase`. Source: PyTorch's `nn.RNN`; Elman, 1990.

    >>> out, h = rg.nn.RNN(10, 20, 2)(rg.ones(5, 3, 10))
    >>> out.shape, h.shape
    (retrograd.Size([5, 3, 20]), retrograd.Size([2, 3, 20]))
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        nonlinearity: str = "tanh",
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        device: DeviceLike = None,
        dtype: dtype | None = None,
        *,
        proj_size: int = 0,
    ) -> None:
        _check_no_projection(proj_size)
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(
                f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'."
            )
        mode = f"RNN_{nonlinearity.upper()}"
        super().__init__(
            mode, input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional,
            0, device, dtype,
        )  # fmt: skip
        self.nonlinearity = nonlinearity


class LSTM(RNNBase):
    """Layers of long short-term memory.

    As `RNN`, with the state a pair (h (layers * directions, N, proj_size or hidden_size), c (layers
    * directions, N, hidden_size)). With `proj_size`, h is a linear projection to that size, and the
    output (T, N, directions * proj_size). Source: PyTorch's `nn.LSTM`; Hochreiter and Schmidhuber,
    1997; Sak et al., 2014 (projection).

    >>> out, (h, c) = rg.nn.LSTM(10, 20, bidirectional=True)(rg.ones(5, 3, 10))
    >>> out.shape, c.shape
    (retrograd.Size([5, 3, 40]), retrograd.Size([2, 3, 20]))
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: DeviceLike = None,
        dtype: dtype | None = None,
    ) -> None:
        super().__init__(
            "LSTM", input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional,
            proj_size, device, dtype,
        )  # fmt: skip

    def get_expected_cell_size(
        self, input: Any, batch_sizes: Tensor | None
    ) -> tuple[int, int, int]:
        """(layers * directions, N, hidden_size), the shape of the second state."""
        return (*self.get_expected_hidden_size(input, batch_sizes)[:2], self.hidden_size)

    def _state_sizes(self, input: Any, batch_sizes: Tensor | None) -> list[tuple[int, int, int]]:
        hidden = self.get_expected_hidden_size(input, batch_sizes)
        return [hidden, self.get_expected_cell_size(input, batch_sizes)]

    def check_forward_args(self, input: Any, hidden: Any, batch_sizes: Tensor | None) -> None:
        """Raise for an input or one of both states that does not fit."""
        self.check_input(input, batch_sizes)
        for state, size, text in zip(
            hidden, self._state_sizes(input, batch_sizes), EXPECTED_EACH, strict=False
        ):
            self.check_hidden_size(state, size, text)


class GRU(RNNBase):
    """Layers of gated recurrent units; everything else is as for `RNN`.

    input (T, N, input_size) to (output (T, N, directions * hidden_size), hx (layers * directions,
    N, hidden_size)). Source: PyTorch's `nn.GRU`; Cho et al., 2014.

    >>> out, h = rg.nn.GRU(10, 20, batch_first=True)(rg.ones(3, 5, 10))
    >>> out.shape, h.shape
    (retrograd.Size([3, 5, 20]), retrograd.Size([1, 3, 20]))
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        device: DeviceLike = None,
        dtype: dtype | None = None,
        *,
        proj_size: int = 0,
    ) -> None:
        _check_no_projection(proj_size)
        super().__init__(
            "GRU", input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional,
            0, device, dtype,
        )  # fmt: skip
