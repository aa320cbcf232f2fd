"""How ops run on a whole batch of examples at once: the rules that records name in `batch`.

A rule is a function `(xp, size, inputs, batched, **params)`: `inputs` are tensors with the batch
axis in front where `batched` says so. It returns the outputs with that axis, or None to leave the
call to a loop over the examples. See NOTE [Rules] in `transforms.rules`; no op is declared here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from ...engine.transforms.rules import raised, spread
from ...errors import UnbatchableError

ALL = slice(None)


def with_batch(size: int, inputs: Any, batched: Any) -> list[Any]:
    """All inputs with the batch axis in front, as views where they have none; None stays."""
    pairs = zip(inputs, batched, strict=True)
    return [None if t is None else spread(t, flag, size) for t, flag in pairs]


def example_ndim(inputs: Any, batched: Any) -> int:
    """The largest number of dimensions that an input has for one example."""
    ranks: list[int] = [t._array.ndim - flag for t, flag in zip(inputs, batched, strict=True)]
    return max(ranks)


def with_ndim(ndim: int, inputs: Any, batched: Any) -> list[Any]:
    """The inputs, of which those with the batch axis get `ndim` dimensions behind it."""
    return [raised(t, ndim) if flag else t for t, flag in zip(inputs, batched, strict=True)]


def full_reduction(name: str, *, flat: bool = False) -> Callable[..., Any]:
    """The rule of a reduction over everything: the op `name` over all but the batch axis.

    `flat` says that it takes one dimension at a time.
    """

    def rule(xp: Any, size: int, inputs: Sequence[Any], batched: Sequence[bool], /) -> Any:
        (x,) = inputs
        if flat:
            count = math.prod(x._array.shape[1:])
            x = xp.reshape(x, shape=(size, count))
        return getattr(xp, name)(x, dim=tuple(range(1, x._array.ndim)), keepdim=False)

    return rule


def like_input(name: str) -> Callable[..., Any]:
    """The rule of an elementwise op whose result has the shape of its first input."""

    def rule(xp: Any, size: int, inputs: Any, batched: Any, /, **params: Any) -> Any:
        first = spread(inputs[0], batched[0], size)
        ndim = first._array.ndim - 1
        return getattr(xp, name)(first, *with_ndim(ndim, inputs[1:], batched[1:]), **params)

    return rule


def reshape(xp: Any, size: int, inputs: Any, batched: Any, /, *, shape: Any) -> Any:
    """`reshape` of each example: the new shape comes after the batch axis."""
    return xp.reshape(inputs[0], shape=(size, *shape))


def expanded(name: str) -> Callable[..., Any]:
    """The rule of an op that broadcasts to `shape`."""

    def rule(xp: Any, size: int, inputs: Any, batched: Any, /, *, shape: Any) -> Any:
        return getattr(xp, name)(raised(inputs[0], len(shape)), shape=(size, *shape))

    return rule


def sum_to(xp: Any, size: int, inputs: Any, batched: Any, /, *, shape: Any) -> Any:
    """`sum_to`: leading dimensions of an example that `shape` lacks are summed, the batch axis is
    not."""
    x = inputs[0]
    extra = x._array.ndim - 1 - len(shape)
    found = xp.sum_to(x, shape=(size, *(1,) * extra, *shape))
    return xp.reshape(found, shape=(size, *shape)) if extra else found


def regions(name: str) -> Callable[..., Any]:
    """The rule of an op with a basic `index`: all examples, then the index of each."""

    def rule(xp: Any, size: int, inputs: Any, batched: Any, /, *, index: Any, **params: Any) -> Any:
        if params.get("shape") is not None:
            params["shape"] = (size, *params["shape"])
        return getattr(xp, name)(inputs[0], index=(ALL, *index), **params)

    return rule


def repeat(xp: Any, size: int, inputs: Any, batched: Any, /, *, repeats: Any) -> Any:
    """`repeat` of each example: the batch axis is not repeated."""
    return xp.repeat(raised(inputs[0], len(repeats)), repeats=(1, *repeats))


def pad(xp: Any, size: int, inputs: Any, batched: Any, /, *, widths: Any, value: Any) -> Any:
    """`constant_pad_nd` of each example: the batch axis is not padded."""
    return xp.constant_pad_nd(inputs[0], widths=((0, 0), *widths), value=value)


def permuted(xp: Any, size: int, inputs: Any, batched: Any, /, *, dims: Any) -> Any:
    """`permute` of each example: the batch axis stays in front."""
    return xp.permute(inputs[0], dims=(0, *[d + 1 for d in dims]))


def transposed(xp: Any, size: int, inputs: Any, batched: Any, /) -> Any:
    """`t`: the two dimensions of an example change places, if it has two."""
    x = inputs[0]
    return x if x._array.ndim < 3 else xp.transpose(x, dim0=1, dim1=2)


def matmul(xp: Any, size: int, inputs: Any, batched: Any, /) -> Any:
    """`matmul` of stacks of any rank: the shorter one's ones come after the batch axis."""
    return xp.matmul(*with_ndim(example_ndim(inputs, batched), inputs, batched))


def as_matmul(first: str, second: str) -> Callable[..., Any]:
    """The rule of a product of a "matrix", "row" or "column" with another: one stacked product."""

    def rule(xp: Any, size: int, inputs: Any, batched: Any, /) -> Any:
        x, y = with_batch(size, inputs, batched)
        x = xp.unsqueeze(x, dims=(LIFTED[first],)) if first in LIFTED else x
        y = xp.unsqueeze(y, dims=(LIFTED[second],)) if second in LIFTED else y
        out = xp.matmul(x, y)
        drop = tuple([d for d, kind in ((1, first), (2, second)) if kind == SUMMED[d]])
        return xp.squeeze(out, dims=drop) if drop else out

    return rule


def mv(xp: Any, size: int, inputs: Any, batched: Any, /) -> Any:
    """`mv`: one product for vectors with one matrix, which lies in memory as PyTorch's."""
    matrix, vectors = inputs
    if batched[0]:
        return as_matmul("matrix", "column")(xp, size, inputs, batched)
    return xp.t(xp.mm(matrix, xp.t(vectors)))


LIFTED = {"row": 1, "column": 2}
SUMMED = {1: "row", 2: "column"}


def outer(xp: Any, size: int, inputs: Any, batched: Any, /) -> Any:
    """`outer`: products of each element, which lie in memory as those of `mul`."""
    x, y = inputs
    x, y = xp.unsqueeze(x, dims=(x._array.ndim,)), xp.unsqueeze(y, dims=(int(batched[1]),))
    return xp.mul(x, y)


def linear(xp: Any, size: int, inputs: Any, batched: Any, /) -> Any:
    """`linear`: rows of any leading shape for one weight; a stacked product for several weights."""
    x, weight, bias = inputs
    if not batched[1] and not batched[2]:
        return xp.linear(x, weight, bias)
    x = spread(x, batched[0], size)
    flat = x._array.ndim == 2
    if flat:
        x = xp.unsqueeze(x, dims=(1,))
    weight = spread(weight, batched[1], size)
    weight = xp.transpose(weight, dim0=1, dim1=2)
    ndim = x._array.ndim - 1
    out = xp.matmul(x, raised(weight, ndim))
    if bias is not None:
        bias = raised(bias, ndim) if batched[2] else bias
        out = out + bias
    return xp.squeeze(out, dims=(1,)) if flat else out


def linear_weight(xp: Any, size: int, inputs: Any, batched: Any, /) -> Any:
    """`linear_weight`: the sum over the rows of each example."""
    x, y = [
        xp.reshape(t, shape=(size, math.prod(t._array.shape[1:-1]), t._array.shape[-1]))
        for t in with_batch(size, inputs, batched)
    ]
    return xp.matmul(xp.transpose(x, dim0=1, dim1=2), y)


def conv(name: str, first: str, second: str) -> Callable[..., Any]:
    """The rule of a convolution or its transposes: every example is a group of channels.

    `first` and `second` say what the two inputs are: "data" has its channels in dimension 1,
    "kernel" in dimension 0. Where only the data is batched, the batch joins its first dimension.
    """

    def rule(
        xp: Any, size: int, inputs: Any, batched: Any, /, *, groups: int, **params: Any
    ) -> Any:
        op = getattr(xp, name)
        x, y, *rest = inputs
        bias = rest[0] if rest else None
        if second == "kernel" and batched[0] and not any(batched[1:]):
            shape = x._array.shape
            folded = xp.reshape(x, shape=(shape[0] * shape[1], *shape[2:]))
            out = op(folded, y, *rest, groups=groups, **params)
            return xp.reshape(out, shape=(shape[0], shape[1], *out._array.shape[1:]))
        x, y = spread(x, batched[0], size), spread(y, batched[1], size)
        x, y = [_grouped(xp, t, kind) for t, kind in ((x, first), (y, second))]
        out = op(x, y, *[None for _ in rest], groups=groups * size, **params)
        made = out._array.shape
        if second == "data":  # what comes out is a kernel, channels first
            return xp.reshape(out, shape=(size, made[0] // size, *made[1:]))
        out = xp.reshape(out, shape=(made[0], size, made[1] // size, *made[2:]))
        out = xp.permute(out, dims=(1, 0, *range(2, out._array.ndim)))
        if bias is None:
            return out
        channels = bias._array.shape[-1]
        lead = size if batched[2] else 1
        return out + xp.reshape(bias, shape=(lead, 1, channels, *(1,) * (out._array.ndim - 3)))

    return rule


def _grouped(xp: Any, t: Any, kind: str) -> Any:
    """A batch of data or kernels as one, with the channels of all examples side by side."""
    size, first, second, *rest = t._array.shape
    if kind == "kernel":
        return xp.reshape(t, shape=(size * first, second, *rest))
    turned = xp.permute(t, dims=(1, 0, *range(2, t._array.ndim)))
    return xp.reshape(turned, shape=(first, size * second, *rest))


def mse_loss(xp: Any, size: int, inputs: Any, batched: Any, /, *, reduction: str) -> Any:
    """`mse_loss`: the loss of each element, reduced within each example."""
    ndim = example_ndim(inputs, batched)
    each = xp.mse_loss(*with_ndim(ndim, inputs, batched), reduction="none")
    if reduction == "none":
        return each
    reduce = xp.mean_dim if reduction == "mean" else xp.sum_dim
    return reduce(each, dim=tuple(range(1, ndim + 1)), keepdim=False)


def _classes(xp: Any, size: int, inputs: Any, batched: Any, /) -> Any:
    x, target, share = with_batch(size, inputs, batched)
    return x, xp.unsqueeze(target, dims=(2,)), share


def cross_entropy(
    xp: Any, size: int, inputs: Any, batched: Any, /, *, scale: float, rows: Any
) -> Any:
    """The fused cross-entropy, composed: the sum over the rows of each example."""
    x, target, share = _classes(xp, size, inputs, batched)
    picked = xp.squeeze(xp.take_along(x, target, dim=2), dims=(2,))
    loss = xp.logsumexp(x, dim=(2,), keepdim=False) - picked
    if share is not None:
        each = xp.squeeze(share, dims=(2,))
        loss = xp.where(each != 0, loss * each, xp.zeros_like(loss))
    return xp.sum_dim(loss, dim=(1,), keepdim=False) * scale


def nll(xp: Any, size: int, inputs: Any, batched: Any, /, *, total: float) -> Any:
    """`nll`: the mean of what the targets pick, for each example."""
    x, target, _ = _classes(xp, size, (*inputs, None), (*batched, False))
    picked = xp.squeeze(xp.take_along(x, target, dim=2), dims=(2,))
    return -xp.sum_dim(picked, dim=(1,), keepdim=False) / total


def cross_entropy_derivative(
    xp: Any, size: int, inputs: Any, batched: Any, /, *, scale: float, rows: Any
) -> Any:
    """The gradient of each example: probabilities less the one-hot targets."""
    cotangent = spread(inputs[0], batched[0], size)
    x, target, share = _classes(xp, size, inputs[1:], batched[1:])
    p = xp.softmax(x, dim=(2,))
    hot = xp.put_along(xp.zeros_like(target) + x.new_ones(()), target, dim=2, shape=p._array.shape)
    out = (p - hot) * (xp.reshape(cotangent, shape=(size, 1, 1)) * scale)
    return out if share is None else xp.where(share != 0, out * share, xp.zeros_like(out))


def aligned(name: str, *less: int) -> Callable[..., Any]:
    """The rule of an op whose inputs broadcast in leading dimensions, those of the first included.

    `less` says how many dimensions fewer than the first one an input has when it has all of them.
    """

    def rule(xp: Any, size: int, inputs: Any, batched: Any, /, **params: Any) -> Any:
        short = [*less, *[0] * (len(inputs) - len(less))]
        ndim = max(
            t._array.ndim - flag + fewer
            for t, flag, fewer in zip(inputs, batched, short, strict=True)
            if t is not None
        )
        made = [
            t if t is None else raised(spread(t, flag, size), ndim - fewer)
            for t, flag, fewer in zip(inputs, batched, short, strict=True)
        ]
        return getattr(xp, name)(*made, **params)

    return rule


def solve_ex(xp: Any, size: int, inputs: Any, batched: Any, /, **params: Any) -> Any:
    """`solve_ex`: the right sides may have dimensions that the matrices, and so `info`, lack."""
    x = inputs[0]
    out, info = aligned("solve_ex")(xp, size, inputs, batched, **params)
    return out, xp.reshape(info, shape=(size, *x._array.shape[batched[0] : -2]))


def dot_to(name: str) -> Callable[..., Any]:
    """The rule of a product that is summed to `shape`; see `sum_to`."""

    def rule(xp: Any, size: int, inputs: Any, batched: Any, /, *, shape: Any) -> Any:
        ndim = example_ndim(inputs, batched)
        x, y = [raised(t, ndim) for t in with_batch(size, inputs, batched)]
        extra = ndim - len(shape)
        found = getattr(xp, name)(x, y, shape=(size, *(1,) * extra, *shape))
        return xp.reshape(found, shape=(size, *shape)) if extra else found

    return rule


def standardized(name: str) -> Callable[..., Any]:
    """The rule of a normalisation over `dim`, whose weight and bias broadcast to its input."""

    def rule(xp: Any, size: int, inputs: Any, batched: Any, /, *, dim: Any, **params: Any) -> Any:
        x = spread(inputs[0], batched[0], size)
        others = with_ndim(x._array.ndim - 1, inputs[1:], batched[1:])
        return getattr(xp, name)(x, *others, dim=tuple([d + 1 for d in dim]), **params)

    return rule


def tie_share(xp: Any, size: int, inputs: Any, batched: Any, /, *, dim: Any, keepdim: bool) -> Any:
    """`tie_share`: the extremum is one of each example."""
    x, out = with_batch(size, inputs, batched)
    ndim = x._array.ndim
    if dim is None:
        dim, keepdim = tuple(range(1, ndim)), False
    else:
        dim = tuple([d % (ndim - 1) + 1 for d in dim])
    return xp.tie_share(x, out, dim=dim, keepdim=keepdim)


def folded(name: str) -> Callable[..., Any]:
    """The rule of an op that takes any number of independent samples `(N, ...)`."""

    def rule(xp: Any, size: int, inputs: Any, batched: Any, /, **params: Any) -> Any:
        (x,) = inputs
        _, count, *rest = x._array.shape
        out = getattr(xp, name)(xp.reshape(x, shape=(size * count, *rest)), **params)
        return xp.reshape(out, shape=(size, count, *out._array.shape[1:]))

    return rule


def stack(xp: Any, size: int, inputs: Any, batched: Any, /, *, dim: int) -> Any:
    """`stack` of each example: the new dimension comes after the batch axis."""
    made = with_batch(size, inputs, batched)
    return xp.stack(*made, dim=dim + 1 if dim >= 0 else dim)


def alone(what: str) -> Callable[..., Any]:
    """The rule of an op whose outputs differ in shape: the function runs once per example."""

    def rule(xp: Any, size: int, inputs: Any, batched: Any, /, **params: Any) -> Any:
        raise UnbatchableError(f"{what} differs between examples")

    return rule


def along_dim(name: str) -> Callable[..., Any]:
    """The rule of an op along `dim`, where None means the flattened input."""

    def rule(xp: Any, size: int, inputs: Any, batched: Any, /, *, dim: Any, **params: Any) -> Any:
        op = getattr(xp, name)
        made = with_batch(size, inputs, batched)
        shape = made[0]._array.shape
        if dim is None or len(shape) == 1:
            flat = [xp.reshape(t, shape=(size, math.prod(shape[1:]))) for t in made]
            return xp.reshape(op(*flat, dim=1, **params), shape=shape)
        return op(*made, dim=dim + 1 if dim >= 0 else dim, **params)

    return rule


def position(name: str) -> Callable[..., Any]:
    """The rule of `argmax` and `argmin`, which without `dim` number an example's elements."""

    def rule(
        xp: Any, size: int, inputs: Any, batched: Any, /, *, dim: int | None, keepdim: bool
    ) -> Any:
        (x,) = inputs
        shape = x._array.shape
        op = getattr(xp, name)
        if dim is not None and len(shape) > 1:
            return op(x, dim=dim + 1 if dim >= 0 else dim, keepdim=keepdim)
        out = op(xp.reshape(x, shape=(size, math.prod(shape[1:]))), dim=1, keepdim=False)
        return xp.reshape(out, shape=(size, *(1,) * (len(shape) - 1))) if keepdim else out

    return rule
