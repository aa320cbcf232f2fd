"""Recurrent layers over whole sequences: `rnn_tanh`, `rnn_relu`, `lstm`, `gru`.

NOTE [How a layer runs]
1. What the input adds to the gates is one product for all steps; each step adds the hidden state's.
   So are both biases, as far as they are but added; in half precision each product is rounded with
   its own, as in PyTorch.
2. Padded and packed input take one path: a step reads as many rows as there are sequences that
   long, so a finished sequence leaves the batch, or, backwards in time, joins it.
3. States are tuples: (h,) for RNN and GRU, (h, c) for LSTM.
4. A layer of an LSTM whose sequences are of one length is one record, `lstm_layer`, which saves its
   result; as in PyTorch, users see that in single precision alone, and write to a copy otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, NamedTuple

from ... import dtypes
from ...engine.namespaces import recorded
from ...engine.registry import renamed
from ...engine.tensor import Tensor
from ..activation.piecewise import relu
from ..elementwise.trigonometry import tanh
from ..linalg.matmul import linear
from ..shape.join import cat, stack
from . import rnn_cells
from .dropout import dropout as dropped

__all__ = ["gru", "lstm", "rnn_relu", "rnn_tanh"]


class Layers(NamedTuple):
    """What a stack of layers is: its kind, and how it goes through the data."""

    mode: str  # LSTM, GRU, RNN_TANH or RNN_RELU
    bias: bool
    dropout: float
    training: bool
    bidirectional: bool


def run_layers(
    layers: Layers, data: Tensor, sizes: list[int], states: Any, weights: Iterable[list[Tensor]]
) -> tuple[Tensor, list[Tensor]]:
    """All layers one after another: the last one's output, and every layer's last state.

    data: time first, (T, N, features); or (rows, features) with `sizes`, the rows of each step.
    states: each (layers * directions, N, width); weights: a list per layer and direction.
    """
    if not data._array.shape[0]:
        raise RuntimeError(
            "Expected sequence length to be larger than 0 in RNN, but got input of size "
            f"{list(data.shape)}, time first"
        )
    last = []
    each = iter(weights)
    starts = list(zip(*[state.unbind(0) for state in states], strict=True))
    directions = 1 + layers.bidirectional
    for number in range(0, len(starts), directions):
        if number and layers.dropout:
            data = dropped(data, layers.dropout, layers.training)
        outputs = []
        for backwards in range(directions):
            start = starts[number + backwards]
            out, end = _direction(layers, data, sizes, start, next(each), bool(backwards))
            outputs.append(out)
            last.append(end)
        data = cat(outputs, -1) if layers.bidirectional else outputs[0]
    return data, [stack(list(column), 0) for column in zip(*last, strict=True)]


def _fit(added: Any, start: Any, w: Any) -> bool:
    """Whether nothing is to be broadcast or cast, or is wrong, in the steps of an LSTM."""
    h, c = start
    if not (h.dtype is c.dtype is added.dtype is w.dtype and h.ndim == 2 and h.shape == c.shape):
        return False
    rows, width = h.shape
    return bool(w.shape == (4 * width, width) and added.shape[1:] == (rows, 4 * width))


_stacked = renamed(recorded.clone, "StackBackward0")


def _direction(
    layers: Layers, data: Any, sizes: list[int], start: Any, weights: list[Any], backwards: bool
) -> tuple[Tensor, Any]:
    """The outputs and last states of one layer in one direction."""
    b_ih, b_hh = weights[2:4] if layers.bias else (None, None)
    halves = weights[0]._array.dtype.itemsize == 2
    if layers.bias and layers.mode != "GRU" and not halves:  # GRU multiplies what the state adds
        b_ih, b_hh = weights[2] + weights[3], None
    projected = len(weights) > (4 if layers.bias else 2)
    added: Any = linear(data, weights[0], b_ih)
    alone = layers.mode == "LSTM" and not (sizes or projected or halves)
    if alone and _fit(added, start, weights[1]):
        out, _, *end = rnn_cells.lstm_layer(added, *start, weights[1], reverse=backwards)
        return (out if out.dtype is dtypes.float32 else _stacked(out)), end
    steps = added.split(sizes, 0) if sizes else added.unbind(0)
    step = _step(layers.mode, weights[1], b_hh, weights[-1] if projected else None)
    run = _run_back if backwards else _run
    outputs, end = run(step, steps, start)
    if not outputs:
        return data.new_zeros((*added.shape[:-1], start[0].shape[-1])), end
    return (cat(outputs, 0) if sizes else stack(outputs, 0)), end


def _step(mode: str, w_hh: Any, b_hh: Any, w_hr: Any) -> Callable[[Any, Any], Any]:
    """The function (what the input adds, state) -> next state."""
    if mode == "LSTM":
        return lambda x, state: rnn_cells.lstm_step(x, state, w_hh, b_hh, w_hr)
    step: Any = rnn_cells.gru_step
    if mode != "GRU":
        step = partial(rnn_cells.simple_step, tanh if mode == "RNN_TANH" else relu)
    return lambda x, state: (step(x, state[0], w_hh, b_hh),)


def _run(step: Any, steps: Any, state: Any) -> tuple[list[Any], Any]:
    """All steps forwards in time; sequences that have ended leave the batch."""
    outputs: list[Any] = []
    ended: list[Any] = []
    for x in steps:
        rows, before = x._array.shape[0], state[0]._array.shape[0]
        if rows < before:
            ended.append([s[rows:] for s in state])
            state = [s[:rows] for s in state]
        state = step(x, state)
        outputs.append(state[0])
    if ended:
        state = [cat(list(parts), 0) for parts in zip(state, *reversed(ended), strict=True)]
    return outputs, state


def _run_back(step: Any, steps: Any, start: Any) -> tuple[list[Any], Any]:
    """All steps backwards in time; sequences join the batch where they end."""
    outputs: list[Any] = []
    state = [s[:0] for s in start] if len(steps) else start
    for x in reversed(steps):
        rows, before = x._array.shape[0], state[0]._array.shape[0]
        if not before:
            state = start if rows == start[0].shape[0] else [s[:rows] for s in start]
        elif rows > before:
            state = [cat([s, s0[before:rows]], 0) for s, s0 in zip(state, start, strict=True)]
        state = step(x, state)
        outputs.append(state[0])
    return outputs[::-1], state


# -- with PyTorch's arguments --------------------------------------------------------------------


def _run_flat(mode: str, input: Any, given: tuple[Any, ...], settings: dict[str, Any]) -> Any:
    """A layer whose weights come in one sequence; (output, states).

    `given` is (hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first), or
    for packed data (batch_sizes, hx, params, ...) without `batch_first`.
    """
    sizes: list[int] = []
    if (len(given) > 1 and isinstance(given[1], Tensor)) or (mode == "LSTM" and _is_sizes(given)):
        sizes, given = given[0].tolist(), given[1:]
    names = ["hx", "params", "has_biases", "num_layers", "dropout", "train", "bidirectional"]
    names += [] if sizes else ["batch_first"]
    if len(given) > len(names):
        raise TypeError(f"{mode.lower()}() takes at most {len(names) + 1} arguments")
    said = {**dict(zip(names, given, strict=False)), **settings}
    missing = [name for name in names if name not in said]
    if missing or len(said) > len(names):
        raise TypeError(f"{mode.lower()}() missing required arguments, or unknown ones: {missing}")
    first = said.get("batch_first", False)
    data = input.transpose(0, 1) if first else input
    params, bias = list(said["params"]), said["has_biases"]
    directions = 1 + said["bidirectional"]
    count, least = said["num_layers"] * directions, 4 if bias else 2
    each = len(params) // count
    if len(params) != each * count or each not in (least, least + (mode == "LSTM")):
        raise RuntimeError(
            f"{mode.lower()}() expects {least} weights for each layer and direction, of which "
            f"there are {count}, but got {len(params)}"
        )
    weights = [params[k : k + each] for k in range(0, len(params), each)]
    layers = Layers(mode, bias, said["dropout"], said["train"], said["bidirectional"])
    states = rnn_cells.pair("lstm", said["hx"]) if mode == "LSTM" else [said["hx"]]
    out, last = run_layers(layers, data, sizes, states, weights)
    return (out.transpose(0, 1) if first else out), *last


def _is_sizes(given: tuple[Any, ...]) -> bool:
    """Whether an LSTM's arguments begin with the sizes of packed data, not with two states."""
    return bool(given) and isinstance(given[0], Tensor)


def lstm(input: Tensor, *given: Any, **settings: Any) -> tuple[Tensor, Tensor, Tensor]:
    """Layers of long short-term memory, as `nn.LSTM` runs them: (output, h, c).

    `lstm(input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first)`,
    with hx the pair (h, c) and params all weights in the order of `nn.LSTM`; or, for packed data,
    `lstm(data, batch_sizes, hx, ...)` without `batch_first`. Raises TypeError for missing
    arguments, RuntimeError for another number of states or weights.

    >>> layer = rg.nn.LSTM(2, 3)
    >>> x, zeros, weights = rg.ones(4, 1, 2), rg.zeros(1, 1, 3), list(layer.parameters())
    >>> out, h, c = rg.lstm(x, (zeros, zeros), weights, True, 1, 0.0, False, False, False)
    >>> out.shape, bool((out == layer(x)[0]).all())
    (retrograd.Size([4, 1, 3]), True)
    """
    return _run_flat("LSTM", input, given, settings)  # type: ignore[no-any-return]


def gru(input: Tensor, *given: Any, **settings: Any) -> tuple[Tensor, Tensor]:
    """Layers of gated recurrent units, as `nn.GRU` runs them: (output, h).

    Arguments as for `lstm`, with hx one tensor.

    >>> weights = list(rg.nn.GRU(2, 3).parameters())
    >>> x, h = rg.ones(4, 1, 2), rg.zeros(1, 1, 3)
    >>> rg.gru(x, h, weights, True, 1, 0.0, False, False, False)[0].shape
    retrograd.Size([4, 1, 3])
    """
    return _run_flat("GRU", input, given, settings)  # type: ignore[no-any-return]


def rnn_tanh(input: Tensor, *given: Any, **settings: Any) -> tuple[Tensor, Tensor]:
    """Recurrent layers with tanh, as `nn.RNN` runs them: (output, h); arguments as for `gru`.

    >>> weights = list(rg.nn.RNN(2, 3).parameters())
    >>> x, h = rg.ones(4, 1, 2), rg.zeros(1, 1, 3)
    >>> rg.rnn_tanh(x, h, weights, True, 1, 0.0, False, False, False)[0].shape
    retrograd.Size([4, 1, 3])
    """
    return _run_flat("RNN_TANH", input, given, settings)  # type: ignore[no-any-return]


def rnn_relu(input: Tensor, *given: Any, **settings: Any) -> tuple[Tensor, Tensor]:
    """Recurrent layers with relu, as `nn.RNN` runs them: (output, h); arguments as for `gru`.

    >>> weights = list(rg.nn.RNN(2, 3, nonlinearity="relu").parameters())
    >>> x, h = rg.ones(4, 1, 2), rg.zeros(1, 1, 3)
    >>> rg.rnn_relu(x, h, weights, True, 1, 0.0, False, False, False)[0].shape
    retrograd.Size([4, 1, 3])
    """
    return _run_flat("RNN_RELU", input, given, settings)  # type: ignore[no-any-return]
