"""Products, convolutions, pools, normalizations, attention and recurrent cells in ONNX."""

from __future__ import annotations

from typing import Any

import numpy as np

from .elementwise import dtype_of, number
from .graph import Graph, exports
from .shapes import rank
from .tracing import Call

Names = tuple[str, ...]


# -- products ----------------------------------------------------------------------------------


@exports("mm", "matmul", "mv", "dot")
def product(g: Graph, call: Call, x: str, y: str) -> Any:
    """A product of matrices or vectors."""
    return g.op("MatMul", x, y)


@exports("outer")
def outer(g: Graph, call: Call, x: str, y: str) -> Any:
    """All products of elements."""
    column = g.op("Unsqueeze", x, g.constant([1], np.int64))
    return g.op("Mul", column, y)


@exports("linear")
def linear(g: Graph, call: Call, x: str, weight: str, bias: str | None) -> Any:
    """x W^T + b."""
    if rank(call) == 2:
        return g.op("Gemm", x, weight, bias, transB=1)
    found = g.op("MatMul", x, g.op("Transpose", weight, perm=[1, 0]))
    return found if bias is None else g.op("Add", found, bias)


# -- convolutions and pools --------------------------------------------------------------------


def ends(padding: Any) -> list[int]:
    """Widths as ONNX has them: all beginnings, then all ends."""
    return [int(n) for n in np.array(padding).T.reshape(-1)]


@exports("conv")
def conv(g: Graph, call: Call, x: str, weight: str, bias: str | None) -> Any:
    """A convolution."""
    p = call.params
    return g.op("Conv", x, weight, bias, strides=p["stride"], pads=ends(p["padding"]),
                dilations=p["dilation"], group=p["groups"])  # fmt: skip


def output_padding(call: Call) -> list[int]:
    """The output padding of a transposed convolution."""
    p, kernel = call.params, call.inputs[1].array.shape[2:]
    sizes = zip(p["size"], call.inputs[0].array.shape[2:], kernel, p["stride"], p["padding"],
                p["dilation"], strict=True)  # fmt: skip
    return [
        size - ((n - 1) * stride + (k - 1) * dilation + 1 - sum(pad))
        for size, n, k, stride, pad, dilation in sizes
    ]


@exports("conv_input", sized=True)
def conv_transposed(g: Graph, call: Call, x: str, weight: str) -> Any:
    """A transposed convolution."""
    p, more = call.params, output_padding(call)
    if output_padding(g.again) != more:
        raise g.sizes_error(p["size"], g.again.params["size"])
    padding = [(begin, max(end, 0)) for begin, end in p["padding"]]
    more = [n - min(end, 0) for n, (_, end) in zip(more, p["padding"], strict=True)]
    return g.op("ConvTranspose", x, weight, strides=p["stride"], pads=ends(padding),
                dilations=p["dilation"], group=p["groups"], output_padding=more)  # fmt: skip


@exports("max_pool")
def max_pool(g: Graph, call: Call, x: str) -> Any:
    """The largest element of each window; its place is not exported."""
    p = call.params
    found = g.op("MaxPool", x, kernel_shape=p["kernel"], strides=p["stride"],
                 pads=[*p["padding"], *p["padding"]], dilations=p["dilation"],
                 ceil_mode=int(p["ceil"]))  # fmt: skip
    return (found,)


@exports("avg_pool", sized=True)
def avg_pool(g: Graph, call: Call, x: str) -> Any:
    """The mean of each window, or of the whole."""
    p, kernel = call.params, tuple(call.params["kernel"])
    dims = len(kernel)
    sizes = [each.inputs[0].array.shape[-dims:] for each in (call, g.again)]
    if sizes == [kernel, tuple(g.again.params["kernel"])] and not any(p["padding"]):
        return g.op("ReduceMean", x, g.constant(range(-dims, 0), np.int64), keepdims=1)
    if tuple(g.again.params["kernel"]) != kernel:
        raise g.sizes_error(kernel, g.again.params["kernel"])
    found = g.op("AveragePool", x, kernel_shape=kernel, strides=p["stride"],
                 pads=[*p["padding"], *p["padding"]], ceil_mode=int(p["ceil"]),
                 count_include_pad=int(p["count_pad"] or p["divisor"] is not None))  # fmt: skip
    if p["divisor"] is None:
        return found
    if p["ceil"]:
        raise g.unsupported("avg_pool with a divisor and ceil_mode")
    return g.op("Mul", found, number(g, call, np.prod(kernel) / p["divisor"]))


def along(g: Graph, x: str, matrix: str, dim: int, dims: int) -> Any:
    """A product with a matrix (inputs, outputs) along a dimension."""
    order = list(range(dims))
    order[dim], order[-1] = order[-1], order[dim]
    turned = x if dim == dims - 1 else g.op("Transpose", x, perm=order)
    found = g.op("MatMul", turned, matrix)
    return found if dim == dims - 1 else g.op("Transpose", found, perm=order)


@exports("adaptive_avg_pool")
def adaptive_avg_pool(g: Graph, call: Call, x: str) -> Any:
    """Means of parts, which are products with a matrix along each dimension."""
    dims, sizes = rank(call), call.params["size"]
    for dim, size in enumerate(sizes, dims - len(sizes)):
        n = g.fixed(0, dim)
        matrix = np.zeros((n, size), dtype_of(call))
        for place in range(size):
            begin, end = place * n // size, -(-(place + 1) * n // size)
            matrix[begin:end, place] = 1 / (end - begin)
        x = along(g, x, g.constant(matrix), dim, dims)
    return x


@exports("resample")
def resample(g: Graph, call: Call, x: str) -> Any:
    """Weighted sums of elements along a dimension, as interpolation has them."""
    dim, taps = call.params["dim"], call.params["taps"]
    shape = [-1 if each == dim else 1 for each in range(rank(call))]
    found = None
    for index, weights in zip(taps.index, taps.weights, strict=True):
        part = g.op("Gather", x, g.constant(index, np.int64), axis=dim)
        if not np.all(weights == 1):
            part = g.op("Mul", part, g.constant(np.reshape(weights, shape), dtype_of(call)))
        found = part if found is None else g.op("Add", found, part)
    return found


# -- normalizations ----------------------------------------------------------------------------


@exports("native_layer_norm", "native_batch_norm")
def normalized(g: Graph, call: Call, x: str, weight: str | None, bias: str | None) -> Any:
    """(x - mean) / sqrt(variance + eps), with the mean and the variance."""
    dims, shape = call.params["dim"], call.inputs[0].array.shape
    axes = g.constant(dims, np.int64)
    mean = g.op("ReduceMean", x, axes, keepdims=1)
    off = g.op("Sub", x, mean)
    var = g.op("ReduceMean", g.op("Mul", off, off), axes, keepdims=1)
    last = tuple(dims) == tuple(range(len(shape) - len(dims), len(shape)))
    if last and weight and call.inputs[1].array.shape == tuple(shape[dim] for dim in dims):
        eps = float(call.params["eps"])
        found = g.op("LayerNormalization", x, weight, bias, axis=dims[0], epsilon=eps)
        return found, mean, var
    found = g.op("Div", off, g.op("Sqrt", g.op("Add", var, number(g, call, call.params["eps"]))))
    found = g.op("Mul", found, weight) if weight else found
    return g.op("Add", found, bias) if bias else found, mean, var


@exports("softmax", "log_softmax")
def softmax(g: Graph, call: Call, x: str) -> Any:
    """Exponentials over their sum, along one dimension or several."""
    dims, log = call.params["dim"], call.op.name == "log_softmax"
    if isinstance(dims, int) or len(dims) == 1:
        axis = dims if isinstance(dims, int) else dims[0]
        return g.op("LogSoftmax" if log else "Softmax", x, axis=axis)
    axes = g.constant(dims, np.int64)
    found = g.op("Sub", x, g.op("ReduceLogSumExp", x, axes, keepdims=1))
    return found if log else g.op("Exp", found)


# -- attention and recurrent layers ------------------------------------------------------------


@exports("attention", sized=True)
def attention(g: Graph, call: Call, packed: str, bias: str | None, states: str | None) -> Any:
    """Weighted values: query, key and value lie one after the other."""
    p, parts = call.params, []
    for each in (call, g.again):
        rows, length = each.params["rows"], each.inputs[0].array.shape[-2]
        parts.append([rows, (length - rows) // 2, (length - rows) // 2])
    query, key, value = g.op("Split", packed, g.ints(*parts), outputs=3, axis=-2)
    order = [*range(rank(call) - 2), rank(call) - 1, rank(call) - 2]
    scores = g.op("MatMul", query, g.op("Transpose", key, perm=order))
    scores = g.op("Mul", scores, number(g, call, p["scale"]))
    scores = g.op("Add", scores, bias) if bias else scores
    if p["causal"]:
        square = g.ints(*[each[:2] for each in parts])
        seen = g.op("Trilu", g.op("Expand", number(g, call, 1), square), upper=0)
        seen = g.op("Cast", seen, to=9)
        scores = g.op("Where", seen, scores, number(g, call, -np.inf))
    return (g.op("MatMul", g.op("Softmax", scores, axis=-1), value),)


def cut(g: Graph, x: str, count: int, activation: str = "") -> Any:
    """Equal parts of the last dimension."""
    return g.op("Split", g.op(activation, x) if activation else x, outputs=count, axis=-1,
                num_outputs=count)  # fmt: skip


@exports("lstm_gates")
def lstm_gates(g: Graph, call: Call, gates: str, c: str) -> Any:
    """The next hidden and cell state."""
    i, f, new, o = cut(g, gates, 4)
    i, f, o = (g.op("Sigmoid", each) for each in (i, f, o))
    after = g.op("Add", g.op("Mul", f, c), g.op("Mul", i, g.op("Tanh", new)))
    return g.op("Mul", o, g.op("Tanh", after)), after


@exports("gru_gates")
def gru_gates(g: Graph, call: Call, x_gates: str, h_gates: str, h: str) -> Any:
    """The next hidden state."""
    (r, z, n), (hr, hz, hn) = cut(g, x_gates, 3), cut(g, h_gates, 3)
    r, z = (g.op("Sigmoid", g.op("Add", a, b)) for a, b in ((r, hr), (z, hz)))
    n = g.op("Tanh", g.op("Add", n, g.op("Mul", r, hn)))
    return g.op("Add", n, g.op("Mul", z, g.op("Sub", h, n)))
