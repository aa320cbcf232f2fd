"""One step of a recurrent layer: the cells of RNN, LSTM and GRU.

The products with the weights are ordinary ops; what a cell then does with its gates is one record
for LSTM and one for GRU, which takes a step from some fifteen nodes to four. All functions in them
are holomorphic, so complex cells need nothing of their own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...engine.registry import declare
from ...engine.tensor import Tensor
from ...kernels.native.small import quick
from ..activation.piecewise import relu
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
    return xp.cat(*each, dim=gates.ndim - 1), share * xp.conj(f)


lstm_gates = declare(
    "lstm_gates(gates, c) -> h, after",
    lambda xp, gates, c: lstm_array(gates, c, xp),
    gates=lambda xp, g, gates, c, after: lstm_back(*g, gates, c, after, xp)[0],
    c=lambda xp, g, gates, c, after: lstm_back(*g, gates, c, after, xp)[1],
    batch="leading",
    node_name="MulBackward0",
    examples=["2x8, 2x2", "4, 1", "0x4, 0x1"],
    doc="""The new hidden and cell state, from the four gates before their activation.

    With i, f, g, o the parts of `gates` along the last dimension: c' = sigmoid(f) c +
    sigmoid(i) tanh(g) and h' = sigmoid(o) tanh(c'). Hochreiter and Schmidhuber, 1997.""",
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
    x = xp.cat(reset, update, new, dim=h.ndim - 1)
    return x, xp.cat(reset, update, new * xp.conj(r), dim=h.ndim - 1), g * xp.conj(z)


gru_gates = declare(
    "gru_gates(x_gates, h_gates, h)",
    lambda xp, x_gates, h_gates, h: gru_array(x_gates, h_gates, h, xp),
    x_gates=lambda xp, g, x_gates, h_gates, h: gru_back(g, x_gates, h_gates, h, xp)[0],
    h_gates=lambda xp, g, x_gates, h_gates, h: gru_back(g, x_gates, h_gates, h, xp)[1],
    h=lambda xp, g, x_gates, h_gates, h: gru_back(g, x_gates, h_gates, h, xp)[2],
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
