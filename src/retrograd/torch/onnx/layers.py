"""Products, convolutions, pools, normalizations, attention and recurrent cells in ONNX."""

from __future__ import annotations

from typing import Any

import numpy as np

from .graph import Graph, exports

exports(
    {
        "mm matmul mv dot": lambda g, x, y: g.MatMul(x, y),
        "outer": lambda g, x, y: g.Mul(g.Unsqueeze(x, [1]), y),
    }
)


@exports("linear")
def linear(g: Graph, x: str, weight: str, bias: str | None) -> Any:
    """Export x W^T + b."""
    if g.rank == 2:
        return g.Gemm(x, weight, bias, transB=1)
    found = g.MatMul(x, g.Transpose(weight, perm=[1, 0]))
    return found if bias is None else g.Add(found, bias)


# -- convolutions and pools --------------------------------------------------------------------


def ends(padding: Any) -> list[int]:
    """Widths as ONNX has them: all beginnings, then all ends."""
    return [int(n) for n in np.array(padding).T.reshape(-1)]


@exports("conv")
def conv(
    g: Graph, x: str, weight: str, bias: str | None, *, stride: Any, padding: Any, dilation: Any,
    groups: int,
) -> Any:  # fmt: skip
    """Export a convolution."""
    settings = {"strides": stride, "pads": ends(padding), "dilations": dilation, "group": groups}
    return g.Conv(x, weight, bias, **settings)


def output_padding(call: Any) -> list[int]:
    """The output padding of a transposed convolution."""
    p, kernel = call.params, call.inputs[1].array.shape[2:]
    sizes = zip(p["size"], call.inputs[0].array.shape[2:], kernel, p["stride"], p["padding"],
                p["dilation"], strict=True)  # fmt: skip
    return [
        size - ((n - 1) * stride + (k - 1) * dilation + 1 - sum(pad))
        for size, n, k, stride, pad, dilation in sizes
    ]


@exports("conv_input", sized=True)
def conv_transposed(
    g: Graph, x: str, weight: str, *, stride: Any, padding: Any, dilation: Any, groups: int
) -> Any:
    """Export a transposed convolution."""
    more = output_padding(g.call)
    if output_padding(g.again) != more:
        raise g.sizes_error(*g.both("size"))
    widths = [(begin, max(end, 0)) for begin, end in padding]
    more = [n - min(end, 0) for n, (_, end) in zip(more, padding, strict=True)]
    settings = {"strides": stride, "pads": ends(widths), "dilations": dilation, "group": groups}
    return g.ConvTranspose(x, weight, **settings, output_padding=more)


@exports("max_pool")
def max_pool(
    g: Graph, x: str, *, kernel: Any, stride: Any, padding: Any, dilation: Any, ceil: bool
) -> Any:
    """The largest element of each window; its place is not exported."""
    settings = {"strides": stride, "pads": [*padding, *padding], "dilations": dilation}
    return (g.MaxPool(x, kernel_shape=kernel, **settings, ceil_mode=int(ceil)),)


@exports("avg_pool", sized=True)
def avg_pool(
    g: Graph, x: str, *, stride: Any, padding: Any, ceil: bool, count_pad: bool, divisor: Any
) -> Any:
    """The mean of each window, or of the whole."""
    kernel, again = map(tuple, g.both("kernel"))
    dims = len(kernel)
    sizes = [each.inputs[0].array.shape[-dims:] for each in (g.call, g.again)]
    if sizes == [kernel, again] and not any(padding):
        return g.ReduceMean(x, range(-dims, 0), keepdims=1)
    if again != kernel:
        raise g.sizes_error(kernel, again)
    settings = {"strides": stride, "pads": [*padding, *padding], "ceil_mode": int(ceil)}
    counted = int(count_pad or divisor is not None)
    found = g.AveragePool(x, kernel_shape=kernel, **settings, count_include_pad=counted)
    if divisor is None:
        return found
    if ceil:
        raise g.unsupported("avg_pool with a divisor and ceil_mode")
    return g.Mul(found, float(np.prod(kernel) / divisor))


def along(g: Graph, x: str, matrix: str, dim: int) -> Any:
    """A product with a matrix (inputs, outputs) along a dimension."""
    order = list(range(g.rank))
    order[dim], order[-1] = order[-1], order[dim]
    if dim == g.rank - 1:
        return g.MatMul(x, matrix)
    return g.Transpose(g.MatMul(g.Transpose(x, perm=order), matrix), perm=order)


@exports("adaptive_avg_pool")
def adaptive_avg_pool(g: Graph, x: str, *, size: Any) -> Any:
    """Means of parts, which are products with a matrix along each dimension."""
    for dim, count in enumerate(size, g.rank - len(size)):
        n = g.fixed(0, dim)
        matrix = np.zeros((n, count), g.dtype)
        for place in range(count):
            begin, end = place * n // count, -(-(place + 1) * n // count)
            matrix[begin:end, place] = 1 / (end - begin)
        x = along(g, x, g.constant(matrix), dim)
    return x


@exports("resample")
def resample(g: Graph, x: str, *, dim: int, taps: Any) -> Any:
    """Weighted sums of elements along a dimension, as interpolation has them."""
    shape = [-1 if each == dim else 1 for each in range(g.rank)]
    found = None
    for index, weights in zip(taps.index, taps.weights, strict=True):
        part = g.Gather(x, index, axis=dim)
        if not np.all(weights == 1):
            part = g.Mul(part, g.constant(np.reshape(weights, shape), g.dtype))
        found = part if found is None else g.Add(found, part)
    return found


# -- normalizations ----------------------------------------------------------------------------


@exports("native_layer_norm", "native_batch_norm")
def normalized(
    g: Graph, x: str, weight: str | None, bias: str | None, *, dim: Any, eps: float
) -> Any:
    """(x - mean) / sqrt(variance + eps), with the mean and the variance."""
    shape = g.call.inputs[0].array.shape
    mean = g.ReduceMean(x, dim, keepdims=1)
    off = g.Sub(x, mean)
    var = g.ReduceMean(g.Mul(off, off), dim, keepdims=1)
    last = tuple(dim) == tuple(range(len(shape) - len(dim), len(shape)))
    if last and weight and g.call.inputs[1].array.shape == tuple(shape[each] for each in dim):
        found = g.LayerNormalization(x, weight, bias, axis=dim[0], epsilon=float(eps))
        return found, mean, var
    found = g.Div(off, g.Sqrt(g.Add(var, eps)))
    found = g.Mul(found, weight) if weight else found
    return g.Add(found, bias) if bias else found, mean, var


@exports("softmax", "log_softmax")
def softmax(g: Graph, x: str, *, dim: Any) -> Any:
    """Exponentials over their sum, along one dimension or several."""
    dims, log = [dim] if isinstance(dim, int) else dim, g.call.op.name == "log_softmax"
    if len(dims) == 1:
        return g.op("LogSoftmax" if log else "Softmax", x, axis=dims[0])
    found = g.Sub(x, g.ReduceLogSumExp(x, dims, keepdims=1))
    return found if log else g.Exp(found)


# -- attention and recurrent layers ------------------------------------------------------------


@exports("attention", sized=True)
def attention(
    g: Graph, packed: str, bias: str | None, states: str | None, *, scale: float, causal: bool
) -> Any:
    """Weighted values: query, key and value lie one after the other."""
    parts = []
    for each in (g.call, g.again):
        rows, length = each.params["rows"], each.inputs[0].array.shape[-2]
        parts.append([rows, (length - rows) // 2, (length - rows) // 2])
    query, key, value = g.Split(packed, g.ints(*parts), outputs=3, axis=-2)
    order = [*range(g.rank - 2), g.rank - 1, g.rank - 2]
    scores = g.Mul(g.MatMul(query, g.Transpose(key, perm=order)), scale)
    scores = g.Add(scores, bias) if bias else scores
    if causal:
        square = g.ints(*[each[:2] for each in parts])
        seen = g.Cast(g.Trilu(g.Expand(1, square), upper=0), to=9)
        scores = g.Where(seen, scores, -np.inf)
    return (g.MatMul(g.Softmax(scores, axis=-1), value),)


def cut(g: Graph, x: str, count: int) -> Any:
    """Equal parts of the last dimension."""
    return g.Split(x, outputs=count, axis=-1, num_outputs=count)


@exports("lstm_gates")
def lstm_gates(g: Graph, gates: str, c: str) -> Any:
    """Export a step of an LSTM: the next hidden and cell state."""
    i, f, new, o = cut(g, gates, 4)
    after = g.Add(g.Mul(g.Sigmoid(f), c), g.Mul(g.Sigmoid(i), g.Tanh(new)))
    return g.Mul(g.Sigmoid(o), g.Tanh(after)), after


@exports("lstm_layer")
def lstm_layer(g: Graph, added: str, h: str, c: str, w: str, *, reverse: bool) -> Any:
    """Export all steps of an LSTM: their hidden and cell states, and those of the last."""
    steps = g.fixed(0, 0)
    every = g.Split(added, outputs=steps, axis=0, num_outputs=steps)
    each, by = [("", "")] * steps, g.Transpose(w, perm=[1, 0])
    for t in reversed(range(steps)) if reverse else range(steps):
        one = g.Squeeze(every if steps == 1 else every[t], [0])
        h, c = each[t] = lstm_gates(g, g.Add(one, g.MatMul(h, by)), c)
    all_states = [
        g.Concat(*[g.Unsqueeze(x, [0]) for x in states], axis=0)
        for states in zip(*each, strict=True)
    ]
    return [*all_states, h, c]


@exports("gru_gates")
def gru_gates(g: Graph, x_gates: str, h_gates: str, h: str) -> Any:
    """Export a step of a GRU: the next hidden state."""
    (r, z, n), (hr, hz, hn) = cut(g, x_gates, 3), cut(g, h_gates, 3)
    n = g.Tanh(g.Add(n, g.Mul(g.Sigmoid(g.Add(r, hr)), hn)))
    return g.Add(n, g.Mul(g.Sigmoid(g.Add(z, hz)), g.Sub(h, n)))
