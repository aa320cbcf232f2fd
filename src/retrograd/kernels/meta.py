"""Arrays of the meta device: shape, dtype and strides, and no data.

NOTE [Meta]
1. `Meta` is an array as NOTE [The seam] in `allocation` asks for, so forwards, formulas and views
   run on it as they are. It holds a NumPy array whose elements have no bytes: of that, NumPy itself
   says what views look like, and nothing can be read.
2. What a ufunc, a reduction or a copy gives is known from shapes; dtypes come from the same
   function on one element. Whatever has no rule here runs on zeros that take no memory, and only
   the shape of its result counts: right for all sizes, and as slow as the function itself.
3. Values are nobody's: asking for one raises, as does what has a shape by values (`nonzero`, a
   boolean mask), and what mixes the array with one that has data, but for single numbers.
   Writes do nothing.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from numpy.lib.stride_tricks import as_strided

from .allocation import MIXED_DEVICES, StandIn, is_numpy
from .layout import Flags, row_strides, strides_along

NO_ITEM = "Tensor.item() cannot be called on meta tensors: they have a shape, and no values"
NO_DATA = (
    "Cannot copy out of meta tensor; no data! Make one with data: empty_like(x, device='cpu'), and "
    "for a module to_empty(device='cpu')"
)
BY_VALUES = (
    "{name} of a meta tensor: the shape of the result depends on the values, and there are none. "
    "Use a function of fixed shape, such as where"
)

NOTHING = np.empty((), np.dtype([]))  # one element, of no bytes


def empty(shape: Any, dtype: Any, strides: Any = None) -> Meta:
    """A new array of the meta device, in row-major order unless `strides` says else.

    >>> from retrograd.kernels.meta import empty
    >>> x = empty((1000000, 1000000), np.dtype(np.float32))
    >>> x[1:, ::2].strides, (x @ x.T + 1.0).sum(0).shape
    ((4000000, 8), (1000000,))
    """
    dtype, shape = np.dtype(dtype), tuple(shape)
    steps = row_strides(shape, dtype.itemsize) if strides is None else strides
    held = as_strided(NOTHING, shape, steps)
    return Meta(held, dtype)


def like(x: Any) -> Any:
    """An array of the meta device with shape, dtype and strides of `x`."""
    return x if isinstance(x, Meta) else empty(x.shape, x.dtype, x.strides)


def place(held: Any) -> int:
    """The place of an array's first element."""
    return held.__array_interface__["data"][0]  # type: ignore[no-any-return]


START = place(NOTHING)


class Meta(StandIn, NDArrayOperatorsMixin):
    """An array without data: NOTE [Meta]."""

    __slots__ = ("__weakref__", "_held", "_memory", "dtype")

    has_values = False
    base = None

    def __init__(self, held: Any, dtype: Any, memory: Meta | None = None) -> None:
        self._held, self.dtype, self._memory = held, dtype, memory

    def __reduce__(self) -> Any:
        return empty, (self.shape, self.dtype, self.strides)

    # -- what it says --------------------------------------------------------------------------

    shape = property(lambda self: self._held.shape)
    strides = property(lambda self: self._held.strides)
    ndim = property(lambda self: self._held.ndim)
    size = property(lambda self: self._held.size)
    itemsize = property(lambda self: self.dtype.itemsize)
    nbytes = property(lambda self: self._held.size * self.dtype.itemsize)
    flags = property(Flags)
    whole = property(lambda self: self if self._memory is None else self._memory)  # of all views
    offset = property(lambda self: place(self._held) - START)  # in bytes

    def __len__(self) -> int:
        return len(self._held)

    # -- views and copies ----------------------------------------------------------------------

    def seen(self, held: Any, dtype: Any = None) -> Meta:
        """The view that `held` shows of this memory."""
        return Meta(held, dtype or self.dtype, self.whole)

    def view(self, dtype: Any = None) -> Meta:
        """The same memory, perhaps of another dtype: the last dimension is divided anew."""
        kind = self.dtype if dtype is None else np.dtype(dtype)
        if kind.itemsize == self.itemsize:
            return self.seen(self._held, kind)
        if not self.ndim:
            return self.seen(self._held[None]).view(kind)
        width = self.shape[-1] * self.itemsize
        if width % kind.itemsize or (self.shape[-1] > 1 and self.strides[-1] != self.itemsize):
            raise ValueError(f"To view an array of {self.dtype} as {kind} its last axis must fit")
        shape = (*self.shape[:-1], width // kind.itemsize)
        return self.seen(as_strided(self._held, shape, (*self.strides[:-1], kind.itemsize)), kind)

    def strided(self, shape: Any, strides: Any, offset: int, dtype: Any = None) -> Meta:
        """A view of this memory, `offset` bytes from the first element on, wherever it reaches."""
        first = as_strided(NOTHING, (2,), (self.offset + offset,))[1:]
        return self.seen(as_strided(first, shape, strides), dtype)

    def transpose(self, *axes: Any) -> Meta:
        """A view of another order of dimensions."""
        return self.seen(self._held.transpose(*axes))

    def special(self, name: str, *inputs: Any) -> Any:
        """A function of SciPy's that NumPy lacks: elementwise, of the dtype of what comes last."""
        return elementwise_result(lambda *values: values[-1], *(inputs or (self,)))

    def reshape(self, *shape: Any, order: str = "C", copy: Any = None) -> Meta:
        """A view where NumPy has one, else a new array."""
        try:
            return self.seen(self._held.reshape(*shape, order=order, copy=False))
        except ValueError:
            whole = as_strided(NOTHING, self.shape, row_strides(self.shape, 1))
            return empty(whole.reshape(*shape, copy=False).shape, self.dtype)

    def ravel(self, order: str = "C") -> Meta:
        """All elements in a row."""
        return self.reshape(-1, order=order)

    def part(self, start: int) -> Meta:
        """The real or the imaginary part of a complex array, a view."""
        half = np.dtype(f"f{self.itemsize // 2}")
        both = as_strided(self._held, (2, *self.shape), (half.itemsize, *self.strides))
        return self.seen(both[start, ...], half)

    @property
    def real(self) -> Meta:
        """The real part."""
        return self if self.dtype.kind != "c" else self.part(0)

    @property
    def imag(self) -> Meta:
        """The imaginary part; of real numbers zeros."""
        return empty(self.shape, self.dtype) if self.dtype.kind != "c" else self.part(1)

    T = property(lambda self: self.seen(self._held.T))
    mT = property(lambda self: self.seen(self._held.mT))  # noqa: N815 (NumPy's name)

    def astype(self, dtype: Any, order: str = "K", *_: Any, copy: bool = True, **__: Any) -> Meta:
        """A copy of another dtype; itself if it has it and none is asked for."""
        dtype = np.dtype(dtype)
        if not copy and dtype == self.dtype:
            return self
        return empty(self.shape, dtype, strides_along(self, order, dtype.itemsize))

    def copy(self, order: str = "C") -> Meta:
        """A copy."""
        return self.astype(self.dtype, order)

    def fill(self, value: Any) -> None:
        """Do nothing, since there is no data: NOTE [Meta], 3."""

    def __getitem__(self, key: Any) -> Meta:
        found = self._held[with_zeros(key)]
        arrays = key if isinstance(key, tuple) else (key,)
        if any(hasattr(each, "shape") or isinstance(each, list) for each in arrays):
            return empty(found.shape, self.dtype)
        return self.seen(found if isinstance(found, np.ndarray) else self._held[(*arrays, ...)])

    def __setitem__(self, key: Any, value: Any) -> None:
        shape = self._held[with_zeros(key)].shape
        given = np.shape(value) if not hasattr(value, "shape") else value.shape
        while len(given) > len(shape) and given[0] == 1:
            given = given[1:]
        np.broadcast_to(as_strided(NOTHING, given, (0,) * len(given)), shape)

    # -- functions -----------------------------------------------------------------------------

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        out = options.pop("out", None)
        check_alone(inputs)
        if method == "at":
            return None
        found = ufunc_result(ufunc, method, inputs, options)
        if out is None:
            return found
        return out[0] if len(out) == 1 else out

    def __array_function__(self, function: Any, types: Any, args: Any, options: Any) -> Any:
        if function in RULES:
            return RULES[function](*args, **options)
        check_alone(args)
        if function in BY_VALUE:
            raise NotImplementedError(BY_VALUES.format(name=f"np.{function.__name__}"))
        if function in VIEWS:
            return view_results(function, args, options)
        if function in REDUCTIONS:
            return reduction_result(function, *args, **options)
        if function in SAME:
            return same_shape_result(function, *args, **options)
        return on_zeros(function, args, options)

    def __getattr__(self, name: str) -> Any:
        """A method of NumPy's arrays: by the function of that name, or on zeros."""
        if name.startswith("__") or not hasattr(np.ndarray, name):
            raise AttributeError(f"a meta array has no {name!r}")
        return functools.partial(method_result, self, name)


def method_result(x: Meta, name: str, *args: Any, **options: Any) -> Any:
    """The result of a method of NumPy's arrays."""
    function = getattr(np, name, None)
    if isinstance(function, np.ufunc):
        return function(x, *args, **options)
    if function in KNOWN:
        return x.__array_function__(function, (), (x, *args), options)
    return on_zeros(lambda x, *rest, **more: getattr(x, name)(*rest, **more), (x, *args), options)


def raising(error: type[Exception], text: str) -> Any:
    """A method that raises the error for an array without data."""

    def refuse(self: Meta, *args: Any, **options: Any) -> Any:
        raise error(text)

    return refuse


for _name in ("item", "__bool__", "__float__", "__int__", "__complex__", "__index__"):
    setattr(Meta, _name, raising(RuntimeError, NO_ITEM))
for _name in ("tolist", "tobytes", "__array__"):
    setattr(Meta, _name, raising(NotImplementedError, NO_DATA))


# -- rules ---------------------------------------------------------------------------------------


def check_alone(value: Any) -> None:
    """Raise RuntimeError for an array that has data, but for single numbers."""
    if isinstance(value, np.ndarray) and value.ndim:
        raise RuntimeError(MIXED_DEVICES)
    if type(value) in (list, tuple):
        for each in value:
            check_alone(each)


def replaced(value: Any, change: Any) -> Any:
    """`value` with `change` of the meta arrays in it."""
    if isinstance(value, Meta):
        return change(value)
    if type(value) in (list, tuple):
        return type(value)([replaced(each, change) for each in value])
    return value


def with_zeros(key: Any) -> Any:
    """An index with zeros in place of meta arrays; so masks, which only kernels use, pick nothing.

    Those of programs come as the places that they hold, which nobody knows: `nonzero`.
    """
    return replaced(key, zeros_of)


def zeros_of(x: Meta) -> Any:
    """Zeros in place of a meta array, which take no memory."""
    return np.broadcast_to(np.zeros((), x.dtype), x.shape)


def one_element(x: Any) -> Any:
    """An array of one element that stands for a meta array, to find dtypes."""
    return np.ones((1,) * x.ndim, x.dtype)


def as_meta(value: Any) -> Any:
    """Arrays, also those in tuples and lists, without their data."""
    if is_numpy(value):
        value = np.asarray(value)
        kept = value.size and 0 not in value.strides
        return empty(value.shape, value.dtype, value.strides if kept else None)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*map(as_meta, value))
    return type(value)(map(as_meta, value)) if type(value) in (list, tuple) else value


def on_zeros(function: Any, args: Any, options: Any) -> Any:
    """The result of a function without a rule, run on zeros: NOTE [Meta], 2."""
    out = options.get("out")
    options = {name: replaced(v, zeros_of) for name, v in options.items() if name != "out"}
    try:
        found = as_meta(function(*replaced(args, zeros_of), **options))
    except np.linalg.LinAlgError as error:
        raise NotImplementedError(BY_VALUES.format(name=f"{error}: a function")) from None
    return found if out is None else out


def ufunc_result(ufunc: Any, method: str, inputs: Any, options: Any) -> Any:
    """The result of a ufunc, or of one of its methods, from shapes and dtypes."""
    if method == "reduce":
        return reduction_result(ufunc.reduce, *inputs, **{"axis": 0, **options})
    if method == "accumulate":
        return same_shape_result(ufunc.accumulate, *inputs, **options)
    if method != "__call__" or (ufunc.signature is not None and ufunc is not np.matmul):
        return on_zeros(getattr(ufunc, method), inputs, options)
    options.pop("where", None)
    if ufunc is np.matmul:
        return matmul_result(*inputs, **options)
    return elementwise_result(ufunc, *inputs, **options)


def elementwise_result(function: Any, *inputs: Any, **options: Any) -> Any:
    """The result of an elementwise function of arrays that broadcast."""
    shape = np.broadcast_shapes(*map(np.shape, inputs))
    found = function(*replaced(inputs, one_element), **options)
    whole = [x for x in inputs if isinstance(x, Meta) and x.shape == shape]

    def of(dtype: Any) -> Meta:
        orders = {strides_along(x, "K", dtype.itemsize) for x in whole}
        return empty(shape, dtype, orders.pop() if len(orders) == 1 else None)  # rows, if several

    return tuple([of(x.dtype) for x in found]) if isinstance(found, tuple) else of(found.dtype)


def matmul_result(a: Any, b: Any, function: Any = np.matmul, **options: Any) -> Meta:
    """The result of a product of matrices; `function` knows its dtype."""
    if not (a.ndim and b.ndim) or a.shape[-1] != b.shape[-2 if b.ndim > 1 else -1]:
        raise ValueError(f"matmul: {a.shape} and {b.shape} have no product")
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    ends = (*a.shape[-2:-1], *(b.shape[-1:] if b.ndim > 1 else ()))
    found = function(*replaced((a, b), one_element), **options)
    return empty((*batch, *ends), found.dtype)


def reduction_result(
    function: Any, x: Any, axis: Any = None, *rest: Any, keepdims: bool = False, **options: Any
) -> Any:
    """The result of a reduction over `axis`; its further arguments may say the dtype."""
    out = options.pop("out", None)
    options.pop("where", None)
    options.pop("initial", None)
    axes = range(x.ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    gone = {a.__index__() % x.ndim if -x.ndim <= a < x.ndim else refuse_axis(a, x) for a in axes}
    if len(gone) != len(axes):
        raise ValueError("duplicate value in 'axis'")
    dtype = np.asarray(function(one_element(x), axis, *rest, **options)).dtype
    sizes = [1 if a in gone else n for a, n in enumerate(x.shape) if keepdims or a not in gone]
    return empty(sizes, dtype) if out is None else out


def refuse_axis(axis: int, x: Meta) -> int:
    """Raise for an axis that is not there."""
    raise np.exceptions.AxisError(axis, x.ndim)


def same_shape_result(function: Any, x: Any, *rest: Any, **options: Any) -> Any:
    """The result of a function that keeps the shape of its first argument."""
    out = options.pop("out", None)
    if options.get("axis", 0) is None or (rest and rest[0] is None):
        return on_zeros(function, (x, *rest), options)
    dtype = np.asarray(function(one_element(x), *replaced(rest, one_element), **options)).dtype
    return empty(x.shape, dtype, strides_along(x, "K", dtype.itemsize)) if out is None else out


def view_results(function: Any, args: Any, options: Any) -> Any:
    """The views of its first argument that a function gives."""
    x = args[0]
    found = function(x._held, *args[1:], **options)
    return [x.seen(v) for v in found] if isinstance(found, list) else x.seen(found)


def concatenated(arrays: Any, axis: Any = 0, out: Any = None, **options: Any) -> Any:
    """The result of `np.concatenate`."""
    check_alone(arrays)
    if axis is None:
        return concatenated([x.ravel() for x in arrays], 0, out, **options)
    found = np.concatenate([one_element(x) for x in arrays], axis=axis, **options)
    shape = list(arrays[0].shape)
    for x in arrays[1:]:
        if [n for a, n in enumerate(x.shape) if a != axis % x.ndim] != [
            n for a, n in enumerate(shape) if a != axis % x.ndim
        ]:
            raise ValueError(f"concatenate: {x.shape} does not fit to {tuple(shape)}")
    shape[axis] = sum(x.shape[axis] for x in arrays)
    return empty(shape, found.dtype) if out is None else out


def new_like(
    prototype: Any, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None,
    **_: Any,
) -> Meta:  # fmt: skip
    """A new array like another one."""
    dtype = np.dtype(prototype.dtype if dtype is None else dtype)
    if shape is not None:
        return empty(np.broadcast_shapes(shape), dtype)
    return empty(prototype.shape, dtype, strides_along(prototype, order, dtype.itemsize))


def new_filled(x: Any, value: Any, dtype: Any = None, *rest: Any, **options: Any) -> Meta:
    """A new array like another one, of a value that is not kept."""
    return new_like(x, dtype, *rest, **options)


def without_data(values: Any, dtype: Any = None) -> Meta:
    """A meta array of the shape and dtype of an array or of numbers."""
    if isinstance(values, Meta):
        return values if dtype is None else values.astype(dtype)
    values = np.asarray(values, dtype)
    return empty(values.shape, values.dtype)


def chosen(condition: Any, *others: Any) -> Meta:
    """The result of `np.where`."""
    check_alone((condition, *others))
    if not others:
        raise NotImplementedError(BY_VALUES.format(name="np.where"))
    return elementwise_result(np.where, condition, *others)  # type: ignore[no-any-return]


def write_into(target: Any, source: Any, **options: Any) -> None:
    """A write, which does nothing; NotImplementedError into memory that is there."""
    if not isinstance(target, Meta):
        raise NotImplementedError(NO_DATA)
    target[...] = source


def bincount_result(x: Any, weights: Any = None, minlength: int = 0) -> Meta:
    """The result of `np.bincount`, whose length `minlength` has to say."""
    if not minlength:
        raise NotImplementedError(BY_VALUES.format(name="bincount"))
    return empty((minlength,), np.intp if weights is None else np.float64)


def solve_result(a: Any, b: Any) -> Meta:
    """The result of `np.linalg.solve`."""
    if b.ndim == 1:
        return solve_result(a, b[:, None])[..., 0]
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    dtype = np.linalg.solve(*replaced((a, b), one_element)).dtype
    return empty((*batch, *b.shape[-2:]), dtype)


def dot_result(a: Any, b: Any, out: Any = None) -> Any:
    """The result of `np.dot`, of matrices and vectors the product."""
    check_alone((a, b))
    if max(a.ndim, b.ndim) > 2 or not (a.ndim and b.ndim):
        return on_zeros(np.dot, (a, b), {"out": out} if out is not None else {})
    return matmul_result(a, b, np.dot) if out is None else out


def shares_memory(a: Any, b: Any, max_work: Any = None) -> bool:
    """Whether two arrays are views of one."""
    return isinstance(a, Meta) and isinstance(b, Meta) and a.whole is b.whole


RULES: dict[Any, Any] = {
    np.dot: dot_result,
    np.may_share_memory: shares_memory,
    np.shares_memory: shares_memory,
    np.partition: lambda x, *_, **__: x.copy(),
    np.argpartition: lambda x, *_, **__: empty(x.shape, np.intp),
    np.bincount: bincount_result,
    np.linalg.solve: solve_result,
    np.concatenate: concatenated,
    np.empty_like: new_like,
    np.zeros_like: new_like,
    np.ones_like: new_like,
    np.full_like: new_filled,
    np.asarray: without_data,
    np.copyto: write_into,
    np.where: chosen,
    **{getattr(np, n): lambda x, n=n: getattr(x, n) for n in ("shape", "ndim", "real", "imag")},
    np.reshape: lambda x, shape, order="C", **options: x.reshape(shape, order=order, **options),
    np.ravel: lambda x, order="C": x.ravel(order),
    np.copy: lambda x, order="K", **_: x.copy(order),
}
VIEWS = {
    *(np.transpose, np.swapaxes, np.moveaxis, np.expand_dims, np.squeeze, np.broadcast_to, np.flip),
    *(np.diagonal, np.split, np.array_split, np.rot90, np.lib.stride_tricks.sliding_window_view),
    *(np.matrix_transpose, np.rollaxis),
}
REDUCTIONS = {
    *(np.sum, np.prod, np.max, np.min, np.any, np.all, np.mean, np.var, np.std, np.argmax),
    *(np.argmin, np.count_nonzero, np.nansum, np.nanmax, np.nanmin, np.median),
}
SAME = {
    *(np.sort, np.argsort, np.cumsum, np.cumprod, np.tril, np.triu),
    *(np.nan_to_num, np.round, np.roll, np.angle, np.linalg.inv, np.linalg.cholesky),
}
BY_VALUE = {
    *(np.nonzero, np.argwhere, np.flatnonzero, np.compress, np.extract, np.unique),
    *(np.unique_values, np.unique_all, np.unique_counts, np.unique_inverse, np.trim_zeros),
}
KNOWN = {*RULES, *VIEWS, *REDUCTIONS, *SAME, *BY_VALUE}
