"""One step of a recurrent layer: the cells of RNN, LSTM and GRU.

The products with the weights are ordinary ops; what a cell then does with its gates is one record
for LSTM and one for GRU, which takes a step from some fifteen nodes to four. All functions in them
are holomorphic, so complex cells need nothing of their own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...engine.registry import declare, example
from ...engine.tensor import Tensor
from ...kernels.native.small import quick
from ..activation.piecewise import relu
from ..core import batching
from ..core.arguments import titled
from ..elementwise.trigonometry import tanh
from ..linalg.matmul import linear

__all__ = ["gru_cell", "lstm_cell", "rnn_relu_cell", "rnn_tanh_cell"]


# -- gates ---------------------------------------------------------------------------------------


def parts(gates: Any, count: int) -> list[Any]:
    """The last dimension cut into `count` parts of one size."""
    width = gates.shape[-1] // count
    return [gates[..., i * width : (i + 1) * width] for i in range(count)]


@quick("lstm")
def lstm_array(gates: Any, c: Any, xp: Any) -> tuple[Any, Any]:
    """The forward of `lstm_gates`."""
    i, f, _, o = parts(xp.sigmoid(gates), 4)  # all at once costs less than three of the four
    after = f * c + i * np.tanh(parts(gates, 4)[2])
    return o * np.tanh(after), after


@quick("lstm_back")
def lstm_back(g_h: Any, g_c: Any, gates: Any, c: Any, after: Any, xp: Any) -> tuple[Any, Any]:
    """The cotangents of the gates and of the cell state, of the cotangents of both results."""
    i, f, _, o = parts(xp.sigmoid(gates), 4)
    new, squashed = xp.tanh(parts(gates, 4)[2]), xp.tanh(after)
    share = g_c + g_h * xp.conj(o * (1 - squashed * squashed))  # the whole one of the new state
    each = (
        share * xp.conj(new * i * (1 - i)),
        share * xp.conj(c * f * (1 - f)),
        share * xp.conj(i * (1 - new * new)),
        g_h * xp.conj(squashed * o * (1 - o)),
    )
    return xp.cat(*each, dim=share.ndim - 1), share * xp.conj(f)


lstm_gates = declare(
    "lstm_gates(gates, c) -> h, after",
    lambda xp, gates, c: lstm_array(gates, c, xp),
    together=lambda xp, g, gates, c, after: lstm_back(*g, gates, c, after, xp),
    batch="leading",
    node_name="MulBackward0",
    examples=["2x8, 2x2", "4, 1", "0x4, 0x1"],
    doc="""The new hidden and cell state, from the four gates before their activation.

    With i, f, g, o the parts of `gates` along the last dimension: c' = sigmoid(f) c +
    sigmoid(i) tanh(g) and h' = sigmoid(o) tanh(c'). Hochreiter and Schmidhuber, 1997.""",
)


def turned(xp: Any, w: Any) -> Any:
    """The transposed matrices."""
    return xp.transpose(w, dim0=w.ndim - 2, dim1=w.ndim - 1)


@quick("lstm_layer")
def layer_array(added: Any, h: Any, c: Any, w: Any, reverse: bool, xp: Any) -> tuple[Any, ...]:
    """The forward of `lstm_layer`."""
    dim, steps = added.ndim - 3, added.shape[-3]
    by, each = turned(xp, w), [()] * steps
    for t in reversed(range(steps)) if reverse else range(steps):
        h, c = each[t] = lstm_array(added[..., t, :, :] + xp.matmul(h, by), c, xp)
    hs, cs = zip(*each, strict=True)
    return xp.stack(*hs, dim=dim), xp.stack(*cs, dim=dim), h, c


@quick("lstm_layer_back")
def layer_back(
    g_out: Any, g_cells: Any, g_h: Any, g_c: Any, added: Any, h: Any, c: Any, w: Any, out: Any,
    cells: Any, reverse: bool, xp: Any,
) -> tuple[Any, ...]:  # fmt: skip
    """The cotangents of all inputs of `lstm_layer`."""
    dim, steps = added.ndim - 3, added.shape[-3]

    def before(first: Any, states: Any) -> Any:
        first = xp.unsqueeze(first, dims=(dim,))
        if reverse:
            return xp.cat(states[..., 1:, :, :], first, dim=dim)
        return xp.cat(first, states[..., :-1, :, :], dim=dim)

    def in_rows(x: Any) -> Any:
        return xp.reshape(x, shape=(*x.shape[:dim], steps * x.shape[-2], x.shape[-1]))

    rows, cs = in_rows(before(h, out)), before(c, cells)
    gates = added + xp.reshape(xp.matmul(rows, turned(xp, w)), shape=added.shape)
    each, by = [None] * steps, xp.conj(w)
    for t in range(steps) if reverse else reversed(range(steps)):
        of_h, of_c = g_out[..., t, :, :] + g_h, g_cells[..., t, :, :] + g_c
        now = gates[..., t, :, :], cs[..., t, :, :], cells[..., t, :, :]
        each[t], g_c = lstm_back(of_h, of_c, *now, xp)
        g_h = xp.matmul(each[t], by)
    g = xp.stack(*each, dim=dim)
    return g, g_h, g_c, xp.matmul(turned(xp, in_rows(g)), xp.conj(rows))


def _by_rows(xp: Any, size: int, inputs: Any, flags: Any, /, *, reverse: bool) -> tuple[Any, ...]:
    """The rule of `lstm_layer`: examples are more rows, or, with weights of their own, stacked."""
    data, w = batching.with_batch(size, inputs[:3], flags[:3]), inputs[3]
    if flags[3]:
        return xp.lstm_layer(*data, w, reverse=reverse)  # type: ignore[no-any-return]

    def joined(x: Any) -> Any:
        last = x.ndim - 2
        x = xp.permute(x, dims=(*range(1, last), 0, last, last + 1))
        return xp.reshape(x, shape=(*x.shape[: last - 1], size * x.shape[-2], x.shape[-1]))

    def parted(x: Any) -> Any:
        last = x.ndim - 2
        x = xp.reshape(x, shape=(*x.shape[:last], size, x.shape[-2] // size, x.shape[-1]))
        return xp.permute(x, dims=(last, *range(last), last + 1, last + 2))

    return tuple(map(parted, xp.lstm_layer(*map(joined, data), w, reverse=reverse)))


lstm_layer = declare(
    "lstm_layer(added, h, c, w, *, reverse) -> out, cells, last_h, last_c",
    lambda xp, added, h, c, w, *, reverse: layer_array(added, h, c, w, reverse, xp),
    together=lambda xp, g, added, h, c, w, out, cells, reverse: layer_back(
        *g, added, h, c, w, out, cells, reverse, xp
    ),
    batch=_by_rows,
    node_name=lambda node: (
        "MkldnnRnnLayerBackward0" if node.layout[0][1] == np.float32 else "LstmLayerBackward0"
    ),
    examples=[
        example("3x2x8, 2x2, 2x2, 8x2", reverse=False),
        example("2x1x4, 1x1, 1x1, 4x1", reverse=True),
        example("2x0x4, 0x1, 0x1, 4x1", reverse=False),
    ],
    flops=lambda results, added, h, c, w, reverse: int(2 * added.size * w.shape[-1]),
    doc="""The hidden and cell states of all steps of a layer, and of the last step.

    `added` is what the input adds to the gates, (T, N, 4 H), `w` (4 H, H); h and c, the states
    before the first step, are (N, H). Each step is `lstm_gates` of what is added and h w^T. With
    `reverse` the last step comes first.""",
)


@quick("gru")
def gru_array(x_gates: Any, h_gates: Any, h: Any, xp: Any) -> Any:
    """The forward of `gru_gates`."""
    (r, z, n), (hr, hz, hn) = parts(x_gates, 3), parts(h_gates, 3)
    n = np.tanh(n + xp.sigmoid(r + hr) * hn)
    return n + xp.sigmoid(z + hz) * (h - n)


@quick("gru_back")
def gru_back(g: Any, x_gates: Any, h_gates: Any, h: Any, xp: Any) -> tuple[Any, ...]:
    """The cotangents of both gates and of the hidden state."""
    (r, z, n), (hr, hz, hn) = parts(x_gates, 3), parts(h_gates, 3)
    r, z = xp.sigmoid(r + hr), xp.sigmoid(z + hz)
    n = xp.tanh(n + r * hn)
    new = g * xp.conj((1 - z) * (1 - n * n))
    reset, update = new * xp.conj(hn * r * (1 - r)), g * xp.conj((h - n) * z * (1 - z))
    x = xp.cat(reset, update, new, dim=g.ndim - 1)
    return x, xp.cat(reset, update, new * xp.conj(r), dim=g.ndim - 1), g * xp.conj(z)


gru_gates = declare(
    "gru_gates(x_gates, h_gates, h)",
    lambda xp, x_gates, h_gates, h: gru_array(x_gates, h_gates, h, xp),
    together=lambda xp, g, x_gates, h_gates, h: gru_back(g, x_gates, h_gates, h, xp),
    batch="leading",
    node_name="AddBackward0",
    examples=["2x6, 2x6, 2x2", "3, 3, 1", "0x3, 0x3, 0x1"],
    doc="""The new hidden state, from what input and hidden state each add to the three gates.

    With r, z, n the parts along the last dimension: r = sigmoid(xr + hr), z = sigmoid(xz + hz),
    n = tanh(xn + r hn), h' = (1 - z) n + z h. Cho et al., 2014.""",
)


# -- cells ---------------------------------------------------------------------------------------


def simple_step(activation: Callable[..., Tensor], x: Any, h: Any, w: Any, b: Any) -> Tensor:
    """The next hidden state, `x` being what the input adds."""
    return activation(x + linear(h, w, b))


def lstm_step(x: Any, state: Any, w: Any, b: Any, projection: Any = None) -> tuple[Any, Any]:
    """The next hidden and cell state, `x` being what the input adds to the gates."""
    h, c = lstm_gates(x + linear(state[0], w, b), state[1])
    return (h if projection is None else linear(h, projection)), c


def gru_step(x: Any, h: Any, w: Any, b: Any) -> Any:
    """The next hidden state, `x` being what the input adds to the gates."""
    return gru_gates(x, linear(h, w, b), h)


def pair(name: str, hx: Any) -> Any:
    """The two states (h, c) that were given; raises for anything else."""
    if not isinstance(hx, (tuple, list)):
        raise TypeError(
            f"{name}(): argument 'hx' (position 2) must be tuple of Tensors, not "
            f"{type(hx).__name__}. Give both states: (h, c)"
        )
    if len(hx) != 2:
        raise RuntimeError(f"{name} expects two hidden states, but got {len(hx)}: give (h, c)")
    return hx


def _simple_cell(activation: Any, name: str, doc: str) -> Callable[..., Tensor]:
    def cell(
        input: Tensor,
        hx: Tensor,
        w_ih: Tensor,
        w_hh: Tensor,
        b_ih: Tensor | None = None,
        b_hh: Tensor | None = None,
    ) -> Tensor:
        return simple_step(activation, linear(input, w_ih, b_ih), hx, w_hh, b_hh)

    return titled(cell, name, doc)


rnn_tanh_cell = _simple_cell(
    tanh,
    "rnn_tanh_cell",
    """tanh(input @ w_ih.T + b_ih + hx @ w_hh.T + b_hh): one step of a recurrent network.

    input: (N, I) or (I); hx: (N, H) or (H); w_ih: (H, I); w_hh: (H, H); floating or complex.
    Source: Elman, 1990.

    >>> rg.rnn_tanh_cell(rg.ones(1), rg.zeros(1), rg.ones(1, 1), rg.ones(1, 1))
    tensor([0.7616])
    """,
)
rnn_relu_cell = _simple_cell(
    relu,
    "rnn_relu_cell",
    """`rnn_tanh_cell` with relu for tanh.

    >>> rg.rnn_relu_cell(rg.ones(1), rg.ones(1), rg.ones(1, 1), rg.ones(1, 1))
    tensor([2.])
    """,
)


def lstm_cell(
    input: Tensor,
    hx: Any,
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """One step of an LSTM: the next (hidden state, cell state), each (N, H).

    input: (N, I); hx: the two states before; w_ih: (4 H, I); w_hh: (4 H, H), with the rows of the
    input, forget, cell and output gate in this order; floating or complex. Source: Hochreiter and
    Schmidhuber, 1997. Raises TypeError for states that are not in a tuple, RuntimeError for another
    number of them.

    >>> state = (rg.zeros(1), rg.ones(1))
    >>> rg.lstm_cell(rg.ones(1), state, rg.zeros(4, 1), rg.zeros(4, 1))
    (tensor([0.2311]), tensor([0.5000]))
    """
    return lstm_step(linear(input, w_ih, b_ih), pair("lstm_cell", hx), w_hh, b_hh)


def gru_cell(
    input: Tensor,
    hx: Tensor,
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
) -> Tensor:
    """One step of a gated recurrent unit: the next hidden state, (N, H).

    input: (N, I); hx: (N, H); w_ih: (3 H, I); w_hh: (3 H, H), with the rows of the reset, update
    and new gate in this order; floating or complex. Source: Cho et al., 2014.

    >>> rg.gru_cell(rg.ones(1), rg.ones(1), rg.zeros(3, 1), rg.zeros(3, 1))
    tensor([0.5000])
    """
    return gru_step(linear(input, w_ih, b_ih), hx, w_hh, b_hh)  # type: ignore[no-any-return]
