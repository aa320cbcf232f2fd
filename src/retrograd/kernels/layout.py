"""Orders in memory: channels innermost, PyTorch's `channels_last`; strides and flags of an order.

The shape stays `(N, C, *spatial)`, with two or three spatial dimensions; `channel` is the place of
C. What has its channels innermost keeps them there: kernels that compute in row-major order give
their result to `channels_like`.

NOTE [Leaders]
What PyTorch computes elementwise lies in memory as its first operand that has an order; NumPy takes
row-major order where operands do not agree. In a formula one operand leads, mostly the cotangent.
Where it is not in row-major order, the formulas run on transposed views of all operands in which it
is: NumPy's result is then in the leader's order, and nothing is copied. On tensors, for
`create_graph`, a formula is ops, each with an order of its own: what they give is copied where it
lies otherwise than the arrays would.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .allocation import empty, inward, is_batched, is_traced

ndarray = np.ndarray


def channels_inside(x: Any, channel: int = 1, least: int = 4) -> bool:
    """Whether the channels of `x` are innermost, by its strides, those of single elements too.

    There may be gaps, as in a slice. False for arrays that are not NumPy's, and for those of fewer
    than `least` dimensions: convolutions alone know such weights, as PyTorch's do.
    """
    if not is_array(x) or not least <= x.ndim <= 5:
        return False
    sizes, strides, reach = x.shape, x.strides, x.itemsize
    if strides[-1] < strides[channel] or 0 in sizes:  # in row-major order, say
        return False
    places = [d for d in range(x.ndim) if d != channel]
    for dim in (channel, *places[:0:-1]):
        if strides[dim] < reach:
            return False
        reach = strides[dim] * sizes[dim]
    return bool(strides[channel] < reach <= strides[places[0]])


def empty_inside(x: Any, shape: Any, channel: int) -> Any:
    """An array like `x` of a shape, unset, with its channels, or any one dimension, innermost."""
    if x.__class__ is ndarray and len(shape) == 2:
        return np.empty(shape, x.dtype, "C" if channel else "F")
    last = len(shape) - 1
    out = empty(x, (*shape[:channel], *shape[channel + 1 :], shape[channel]))
    out = out.transpose(*range(channel), last, *range(channel, last))
    if x.__class__ is ndarray:  # the same, but it owns its memory
        out = ndarray(shape, x.dtype, strides=out.strides)
    return out


def with_channels_inside(x: Any, channel: int = 1) -> Any:
    """A copy of `x` with its channels, or any one dimension, innermost in memory."""
    out = empty_inside(x, x.shape, channel)
    out[...] = x
    return out


def channels_like(x: Any, *outs: Any, channel: int = 1, least: int = 4) -> Any:
    """The arrays `outs`, or the only one, with their channels innermost where those of `x` are."""
    if channels_inside(x, channel, least):
        outs = tuple([with_channels_inside(out, channel) for out in outs])
    return outs if len(outs) > 1 else outs[0]


def is_formatted(x: Any) -> bool:
    """Whether `x` is in row-major order, or has its channels innermost."""
    if x.flags.c_contiguous or channels_inside(x):
        return True
    own = x.__class__ is ndarray and 4 <= x.ndim <= 5  # whose single elements may have any stride
    return own and bool(np.moveaxis(x, 1, -1).flags.c_contiguous)


def formatted(x: Any) -> Any:
    """`x` in row-major order, or with its channels innermost: itself, if it is."""
    return x if is_formatted(x) else x.copy()


def empty_for_result(*arrays: Any, dtype: Any) -> Any:
    """An uninitialised array for what is computed of these, elementwise: in PyTorch's order."""
    shape = np.broadcast(*arrays).shape
    return empty_in_order(shape, order_led(shape, *arrays), dtype)


def empty_in_order(shape: Any, axes: Any, dtype: Any) -> Any:
    """An uninitialised array whose axes lie in that order in memory, the first outermost."""
    steps = row_strides([shape[axis] for axis in axes], np.dtype(dtype).itemsize)
    return ndarray(shape, dtype, strides=[steps[axes.index(axis)] for axis in range(len(shape))])


def orders_agree(x: Any, y: Any) -> bool:
    """Whether NumPy's order of what is computed of both is PyTorch's, by their strides."""
    both = x.__class__ is y.__class__ is ndarray
    if not both or y.ndim < 2 or x.ndim < 2 or x.strides == y.strides:
        return True
    return x.flags.c_contiguous and y.flags.c_contiguous  # type: ignore[no-any-return]


def add_in_order(x: Any, y: Any) -> Any:
    """`x + y`, whoever adds them; of arrays as `apply_binary` has it."""
    if x.__class__ is not ndarray and is_traced(x):
        return x.recording.call(added, (x, y), {})
    return added(x, y)


def added(x: Any, y: Any) -> Any:
    """`add_in_order`, which nobody notes."""
    return x + y if orders_agree(x, y) else apply_binary(np.add, x, y)


def apply_binary(forward: Any, x: Any, y: Any) -> Any:
    """`forward(x, y)`, elementwise: the first that has an order decides on that of the result.

    So it is in PyTorch; NumPy would choose row-major order, where one of them is in it.
    """
    ufunc = getattr(forward, "loops", forward)
    if orders_agree(x, y):
        return forward(x, y)
    if isinstance(ufunc, np.ufunc):
        leads = x.flags.c_contiguous and x.shape == y.shape
        if leads or (descends(x) and descends(y)):
            return ufunc(x, y)
        dtype = ufunc.resolve_dtypes((x.dtype, y.dtype, None))[-1]
        return ufunc(x, y, out=empty_for_result(x, y, dtype=dtype))
    return laid_out(forward(x, y), x, y)


def descends(x: Any) -> bool:
    """Whether `x` lies in row-major order, but for gaps and axes along which it was expanded."""
    steps = [*filter(None, x.strides)]
    return steps == sorted(set(steps), reverse=True)


def is_array(x: Any) -> bool:
    """Whether a value is NumPy's array, or one that a recording traces, and so lies in memory."""
    return x.__class__ is ndarray or is_traced(x)


def laid_out(found: Any, *values: Any) -> Any:
    """What was computed elementwise of these values, in the order in memory that PyTorch gives it;
    by rows where there are none. Itself, or a copy.
    """
    if not is_array(found):
        return found
    given = [x for x in values if is_array(x)]  # others are numbers
    if found.flags.c_contiguous and all(x.flags.c_contiguous for x in given):
        return found
    shape, axes = found.shape, order_led(found.shape, *given)
    steps = row_strides([shape[axis] for axis in axes], found.itemsize)
    if all(found.strides[a] == n or shape[a] == 1 for a, n in zip(axes, steps, strict=True)):
        return found
    traced = is_traced(found)
    return found.recording.call(in_order, (found, axes), {}) if traced else in_order(found, axes)


def in_order(x: Any, axes: Any) -> Any:
    """A copy of `x` whose axes lie in that order in memory, the first outermost."""
    out = empty_in_order(x.shape, axes, x.dtype)
    out[...] = x
    return out


def order_led(shape: Any, *values: Any) -> list[int]:
    """The axes from the outermost in memory to the innermost, of what the first of these leads."""
    given = [strides_over(shape, x) for x in values if is_array(x)]
    return inward(shape, *given)[::-1]


def strides_over(shape: Any, x: Any) -> list[int]:
    """The strides of `x` over a shape that it broadcasts to."""
    lead = len(shape) - x.ndim
    pairs = zip(x.strides, x.shape, shape[lead:], strict=True)
    return [0] * lead + [step if n == m else 0 for step, n, m in pairs]


def is_permuted(x: Any) -> bool:
    """Whether `x` is an array whose dimensions lie in memory in another order than they have."""
    if not is_array(x) or x.flags.c_contiguous:
        return False
    steps = [abs(step) for step, n in zip(x.strides, x.shape, strict=True) if step and n > 1]
    return steps != sorted(steps, reverse=True)


def in_rows(x: Any) -> Any:
    """`x` in row-major order and in full: itself, if it is, or is no array."""
    return x.copy() if is_permuted(x) or (x.__class__ is ndarray and 0 in x.strides) else x


def in_row_major(formula: Any) -> Any:
    """A formula whose results are in row-major order, whatever its operands'."""
    return lambda xp, g, *values: in_rows(formula(xp, g, *values))


def led_by(together: Any, leader: int, flat: Any) -> Any:
    """Formulas as one, led by the cotangent, 0, or a value, from 1 on: NOTE [Leaders].

    `flat` says of each formula whether its result is in row-major order all the same.
    """

    def led(xp: Any, wanted: int, *values: Any) -> tuple[Any, ...]:
        g = values[0]
        given = [with_ndim(x, g.ndim) for x in values]
        axes = order_led(g.shape, values[leader], *values)
        given = [x.transpose(axes) if is_array(x) else x for x in given]
        made = together(xp, wanted, *given)
        back = sorted(range(len(axes)), key=axes.__getitem__)
        made = [g if c is given[0] else c.transpose(back) for c in made]
        if any(flat):
            asked = [own for i, own in enumerate(flat) if wanted >> i & 1]
            made = [in_rows(c) if own else c for c, own in zip(made, asked, strict=True)]
        return tuple(made)

    return led


def with_ndim(x: Any, ndim: int) -> Any:
    """`x` with as many dimensions as that, if it is an array."""
    return x.reshape((1,) * (ndim - x.ndim) + x.shape) if is_array(x) else x


def choose(condition: Any, x: Any, y: Any) -> Any:
    """`np.where`, whose result lies as the first of the three that has an order."""
    if condition.__class__ is not ndarray or condition.ndim < 2 or condition.flags.c_contiguous:
        return np.where(condition, x, y)
    out = empty_for_result(condition, x, y, dtype=np.result_type(x, y))
    out[...] = y
    np.copyto(out, x, where=condition)
    return out


def as_it_lies(function: Any, x: Any, **params: Any) -> Any:
    """What a function gives in row-major order, in the order of `x`, which it is given turned.

    It may take a `dim`, and give several arrays.
    """
    axes = inward(x.shape, x.strides)[::-1]
    back = np.argsort(axes).tolist()
    if "dim" in params:
        params["dim"] = axes.index(params["dim"])
    turned = x.transpose(axes)
    found = function(np.ascontiguousarray(turned), **params)
    if isinstance(found, tuple):
        return tuple([each.transpose(back) for each in found])
    return found.transpose(back)


def row_strides(shape: Any, itemsize: int) -> tuple[int, ...]:
    """The strides of elements in row-major order."""
    sizes = [itemsize, *(max(n, 1) for n in reversed(shape[1:]))]
    return tuple(np.multiply.accumulate(sizes, dtype=object))[: len(shape)][::-1]


def strides_along(x: Any, order: str, itemsize: int) -> tuple[int, ...]:
    """The strides of new elements for the shape of `x`, in `order`, which may be that of `x`."""
    if order == "C":
        return row_strides(x.shape, itemsize)
    axes = list(range(x.ndim))
    if order != "F":
        axes = inward(x.shape, x.strides)
    strides = row_strides([x.shape[axis] for axis in axes[::-1]], itemsize)[::-1]
    return tuple(strides[axes.index(axis)] for axis in range(x.ndim))


class Turned(tuple[int, ...]):
    """The shape of an array that is not in row-major order.

    A cotangent for it is repeated, not filled in, so that other operands decide on the order.
    `columns` says whether it is a matrix that lies column by column, or a stack that is one when it
    is flattened; `inside`, whether the channels of images or sequences are innermost.
    """

    columns = inside = False


def kept_shape(x: Any) -> tuple[int, ...]:
    """The shape of an array, or of one example of many, as a node keeps it."""
    x = x.example if is_batched(x) else x
    if is_traced(x):
        x = x.array
    if x.__class__ is not ndarray or x.flags.c_contiguous:
        return x.shape  # type: ignore[no-any-return]
    shape = Turned(x.shape)
    if x.ndim == 2:
        shape.columns = x.flags.f_contiguous
    elif x.ndim > 2:
        shape.columns = x.transpose(-1, *range(x.ndim - 1)).flags.c_contiguous
        shape.inside = x.ndim < 5 and channels_inside(x, least=3)
    return shape


def channels_like_shape(shape: Any, x: Any) -> Any:
    """`x` with its channels innermost where those of the array of that shape were, or by rows."""
    if shape.__class__ is Turned and shape.inside and x.__class__ is ndarray:
        return x if channels_inside(x, least=3) else with_channels_inside(x)
    return in_rows(x)


class Flags:
    """The answers of NumPy's `flags`, computed from shape and strides."""

    __slots__ = ("c_contiguous", "f_contiguous", "writeable")

    c_contiguous: bool
    f_contiguous: bool
    aligned = owndata = True

    def __init__(self, x: Any) -> None:
        self.writeable = True
        wide = [axis for axis, n in enumerate(x.shape) if n > 1]
        for order in "CF":
            strides = strides_along(x, order, x.itemsize)
            alike = not x.size or all(x.strides[axis] == strides[axis] for axis in wide)
            setattr(self, f"{order.lower()}_contiguous", alike)

    @property
    def forc(self) -> bool:
        """Whether the elements lie in row-major or in column-major order."""
        return self.c_contiguous or self.f_contiguous

    carray = contiguous = property(lambda self: self.c_contiguous)
