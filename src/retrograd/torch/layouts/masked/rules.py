"""Rules for ops and functions of masked tensors: NOTE [Layouts] in `layouts.layout`.

At least one of the arguments of a rule is masked.
"""

from __future__ import annotations

import inspect
import itertools
import re
from typing import TYPE_CHECKING, Any

import numpy as np

from .... import dtypes
from ....engine.dispatch import check_broadcast
from ....engine.naming import rearranged
from ....engine.overriding import PASSED
from ....engine.tensor import Tensor
from ....ops.core.engine_ops import cast
from ....ops.core.pointwise import zero_where
from ....ops.creation.like import ones_like
from ....ops.tensor.conversion import result_type
from ..sparse.array import Sparse
from ..sparse.rules import sparse_of, stored, stored_at
from . import functions
from .array import (
    MISMATCH,
    Masked,
    construct,
    data_of_masked,
    is_masked,
    mask_of,
    refused,
    same,
    with_mask,
)

if TYPE_CHECKING:
    from ....engine.op import Op

__all__ = ["moved", "pointwise"]

LIKE = ("empty", "full", "ones", "zeros", "rand", "randint", "randn")
NO_INDEX = "{} indices must match. Those of {}() differ: write x.to_dense()"


@Masked.rule("*")
def by_kind(op: Op, *inputs: Any, **params: Any) -> Any:
    """What an op gives without a rule of its own."""
    if op.elementwise or op.keeps:
        return pointwise(op, *inputs, **params)
    if op.view or op.moves:
        return moved(op, *inputs, **params)
    if op.adds or "|" in str(op.linear):
        return added(op, *inputs, **params)
    raise refused(op.name)


def each(found: Any, wrap: Any) -> Any:
    """The result of an op, one tensor or several, each wrapped."""
    return tuple(map(wrap, found)) if isinstance(found, tuple) else wrap(found)


# -- element by element ----------------------------------------------------------------------------


@Masked.rule("zeros_like")
def pointwise(op: Op, *inputs: Any, **params: Any) -> Any:
    """The op of the data, with the mask that all masked operands have."""
    layouts = {t._array.layout for t in inputs if is_masked(t)}
    if layouts != {"strided"}:
        return of_entries(op, inputs, params)
    mask = common_mask(op.name, inputs)
    every, data = bool(mask.all()), []
    for t in inputs:
        x = data_of_masked(t) if is_masked(t) else t
        plain = not is_masked(t) or (whole(t) and not every)
        data.append(beside(x, mask, inputs) if plain else x)
    found = op.call(*data, **params)
    return each(found.clone() if op.view else found, lambda found: with_mask(found, mask))


def common_mask(name: str, inputs: Any) -> Any:
    """The mask of the result; ValueError where those of operands differ.

    An operand all of whose elements count is as a plain one.
    """
    shapes = [t._array.shape for t in inputs if isinstance(t, Tensor)]
    for a, b in itertools.combinations(shapes, 2):
        check_broadcast(a, b, name)
    shape = np.broadcast_shapes(*shapes)
    given = [t for t in inputs if is_masked(t)]
    partly = [t for t in given if not whole(t)]
    first, *others = [np.broadcast_to(t._array.mask, shape) for t in partly or given]
    if not all(same(first, other) for other in others):
        raise ValueError(MISMATCH.format(name))
    return first


def whole(x: Tensor) -> bool:
    """Whether all elements of a masked tensor count."""
    return bool(x._array.mask.all())


def beside(t: Any, mask: Any, inputs: Any) -> Any:
    """A plain operand, whose gradient comes from the elements alone that count."""
    if not isinstance(t, Tensor) or t._node is None:
        return t
    if not t.ndim:  # its dtype counts for less than that of the others
        other = next(x for x in inputs if is_masked(x))
        t = cast(t, dtype=dtypes.to_numpy(result_type(data_of_masked(other), t)))
    return data_of_masked(construct(t.expand(mask.shape), mask))


def of_entries(op: Op, inputs: Any, params: Any) -> Any:
    """The op of the entries of sparse operands, which have the same places."""
    masks = [t._array.mask for t in inputs if is_masked(t)]
    pattern, layout = masks[0].pattern, masks[0].layout
    for mask in masks[1:]:
        same(masks[0], mask)  # raises for other layouts
        if not np.array_equal(mask.pattern.indices, pattern.indices):
            raise ValueError(NO_INDEX.format(layout, op.name))
    entries = [entries_of(t, pattern) for t in inputs]
    return each(op.call(*entries, **params), lambda found: with_entries(found, pattern))


def entries_of(t: Any, pattern: Any) -> Any:
    """The entries of an operand at the places of a pattern."""
    if is_masked(t):
        return with_mask(stored(data_of_masked(t)), t._array.mask.values)
    return stored_at(t, pattern) if isinstance(t, Tensor) and t.ndim else t


def with_entries(found: Tensor, pattern: Any) -> Any:
    """The sparse masked tensor of these entries."""
    return with_mask(sparse_of(data_of_masked(found), pattern), Sparse(found._array.mask, pattern))


# -- from place to place ---------------------------------------------------------------------------


def moved(op: Op, *inputs: Any, **params: Any) -> Any:
    """The op of the data and of the mask; plain operands count as a whole."""
    masks = [mask_of(t) if is_masked(t) else t for t in inputs]
    for place in [i for i, t in enumerate(inputs) if isinstance(t, Tensor) and not is_masked(t)]:
        if op.variadic or op.inputs[place] in str(op.linear).split(", "):
            masks[place] = ones_like(inputs[place]).bool()
    data = op.call(*[data_of_masked(t) if is_masked(t) else t for t in inputs], **params)
    mask = op.call(*masks, **params)
    if isinstance(data, tuple):
        return tuple([apart(*both) for both in zip(data, mask, strict=True)])
    return apart(data, mask)


def apart(data: Tensor, mask: Tensor) -> Any:
    """A masked tensor on memory of its own: no masked tensor is a view."""
    return with_mask(data.clone(), mask._array)


def added(op: Op, *inputs: Any, **params: Any) -> Any:
    """A sum, or sum of products, in which what is masked out is 0; it counts if any term does."""
    terms, counts = list(inputs), list(inputs)
    for place in [i for i, name in enumerate(op.inputs) if name in re.split(r", | \| ", op.linear)]:
        x = dense(inputs[place]) if is_masked(inputs[place]) else inputs[place]
        terms[place] = zero_where(data_of_masked(x), ~mask_of(x)) if is_masked(x) else x
        counts[place] = mask_of(x).double() if is_masked(x) else ones_like(x, dtype=dtypes.float64)
    return with_mask(op.call(*terms, **params), op.call(*counts, **params)._array != 0)


@Masked.rule("where")
def where(op: Op, condition: Any, input: Any, other: Any) -> Any:
    """`where` of masked tensors: the choice of data, and of masks."""
    operands = [dense(t) if is_masked(t) else t for t in (condition, input, other)]
    masks = [t._array.mask if is_masked(t) else np.True_ for t in operands]
    chosen, *data = [data_of_masked(t) if is_masked(t) else t for t in operands]
    found = op.call(chosen, *data)
    mask = np.where(chosen._array, masks[1], masks[2]) & masks[0]
    return with_mask(found, np.broadcast_to(mask, found.shape))


@Masked.rule("linear")
def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Any:
    """`input @ weight.T + bias`."""
    found = input @ weight.transpose(-1, 0)
    return found if bias is None else found + bias


@Masked.rule("entries", "picked")
def at_places(input: Tensor, *, pattern: Any) -> Any:
    """The elements at the places of a pattern."""
    return with_mask(
        stored_at(data_of_masked(input), pattern), stored_at(mask_of(input), pattern)._array
    )


@Masked.rule("from_entries")
def from_entries(values: Tensor, *, pattern: Any) -> Any:
    """The sparse masked tensor of these entries."""
    return with_entries(values, pattern)


# -- functions -------------------------------------------------------------------------------------


def arguments(function: Any, args: Any, kwargs: Any) -> dict[str, Any]:
    """The arguments of a call by name, without those that are None."""
    try:
        bound = inspect.signature(function).bind(*args, **kwargs).arguments
    except TypeError as error:
        again = rearranged(function, args, kwargs, error)
        if again is None:
            raise
        bound = inspect.signature(function).bind(*again[0], **again[1]).arguments
    bound.update(bound.pop("kwargs", {}))
    return {k: v for k, v in bound.items() if v is not None and k != "_stacklevel"}


def parted(args: Any, kwargs: Any) -> tuple[Any, Any, Any]:
    """The first argument of a call, and the others."""
    if args:
        return args[0], args[1:], kwargs
    name = next(iter(kwargs))
    return kwargs[name], (), {k: v for k, v in kwargs.items() if k != name}


@Masked.function("amax", "amin", "argmax", "argmin", "logsumexp", "mean", "median", "norm")
@Masked.function("prod", "std", "sum", "var", "vector_norm")
def reduced(function: Any, *args: Any, **kwargs: Any) -> Any:
    """A reduction by the function of `masked` of its name; masked out where nothing counts."""
    given = arguments(function, args, kwargs)
    (x, *_), dim = given.values(), given.get("dim", ())
    given = {"ord" if k == "p" else k: v for k, v in list(given.items())[1:] if k != "dim"}
    x, name = dense(x), function.__name__.removeprefix("vector_")
    dims, mask = None if isinstance(dim, tuple) and not dim else dim, mask_of(x)
    found = vars(functions)[name](data_of_masked(x), dim=dims, mask=mask, **given)
    return with_mask(found, mask.any(dims, given.get("keepdim", False))._array)


@Masked.function("all", "any")
def truth(function: Any, *args: Any, **kwargs: Any) -> Any:
    """Whether all, or any, of the elements that count are true."""
    x, more, named = parted(args, kwargs)
    x, neutral = dense(x), function.__name__ == "all"
    mask = mask_of(x)
    found = function(data_of_masked(x).bool().masked_fill(~mask, neutral), *more, **named)
    return with_mask(found, mask.any(*more, **named)._array)


@Masked.function("cumprod", "cumsum", "log_softmax", "softmax", "softmin")
def along(function: Any, *args: Any, **kwargs: Any) -> Any:
    """A function along a dimension, by that of `masked` of its name."""
    given = arguments(function, args, kwargs)
    x = dense(given.pop(next(iter(given))))
    found = vars(functions)[function.__name__](data_of_masked(x), mask=mask_of(x), **given)
    return with_mask(found, x._array.mask)


@Masked.function(*[f"{name}_like" for name in LIKE])
@Masked.function(*[f"new_{name}" for name in (*LIKE[:4], "tensor")])
def like(function: Any, *args: Any, **kwargs: Any) -> Any:
    """A new tensor in the shape of data, with their mask; or a plain one of their dtype."""
    x, more, named = parted(args, kwargs)
    found = function(data_of_masked(x.detach()), *more, **named)
    return found if function.__name__.startswith("new_") else with_mask(found, x._array.mask)


@Masked.function(*[f"masked.{name}" for name in functions.__all__])
def unwrapped(function: Any, *args: Any, **kwargs: Any) -> Any:
    """A function of `masked`, of data and the mask that they have, besides one that is given."""
    given = arguments(function, args, kwargs)
    for name in ("input", "other"):
        x, place = given.get(name), f"{name}_mask" if "other" in given else "mask"
        if is_masked(x):
            x = dense(x)
            own, also = mask_of(x), given.get(place)
            given |= {name: data_of_masked(x), place: own if also is None else own & also}
    return function(**given)


def dense(x: Any) -> Any:
    """A masked tensor in the strided layout; TypeError for a plain one."""
    if not is_masked(x):
        raise TypeError(
            f"expected a MaskedTensor first, got {type(x).__name__}. Write x.get_data()"
        )
    if x._array.layout == "strided":
        return x
    return with_mask(data_of_masked(x).to_dense(), x._array.mask.dense())


@Masked.function("contiguous", "is_contiguous")
def in_memory(x: Any, *args: Any, **kwargs: Any) -> Any:
    """Raise ValueError for a question about memory to a sparse tensor."""
    if x._array.layout != "strided":
        raise ValueError(
            "MaskedTensors with sparse data do not have is_contiguous. Write x.to_dense()"
        )
    return PASSED


@Masked.function("numpy", "tolist", "__array__")
def no_numbers(function: Any, *args: Any, **kwargs: Any) -> Any:
    """Raise RuntimeError: what is masked out has no number."""
    raise RuntimeError(str(refused(function.__name__)))


@Masked.function("to_dense")
def to_dense(x: Any, *args: Any, **kwargs: Any) -> Any:
    """With zeros in the data where there was no entry."""
    return dense(x)


@Masked.function("to_sparse", "to_sparse_coo", "to_sparse_csr")
def to_sparse(function: Any, x: Any, *args: Any, **kwargs: Any) -> Any:
    """With the elements that count for entries."""
    convert = "to_sparse_csr" if function.__name__ == "to_sparse_csr" else "to_sparse_coo"
    if convert == "to_sparse_csr" and x.ndim != 2:
        raise ValueError(
            "Only 2D tensors can be converted to the SparseCsr layout but got shape: "
            f"{list(x.shape)}. Write x.to_sparse()"
        )
    if x._array.layout == convert[3:]:
        return x
    x = dense(x)
    mask = getattr(mask_of(x), convert)()
    return with_mask(data_of_masked(x).sparse_mask(mask), mask._array)


@Masked.function("__setitem__")
def setitem(self: Any, key: Any, value: Any) -> None:
    """Data at an index replaced, of a masked tensor, whose mask stays, or by its data."""
    data = data_of_masked(self).clone() if is_masked(self) else self
    data[key] = data_of_masked(dense(value)) if is_masked(value) else value
    if is_masked(self):
        self.copy_(with_mask(data, self._array.mask))


@Masked.function("copy_")
def copy(self: Any, other: Any, *args: Any, **kwargs: Any) -> Any:
    """A copy of data into a plain tensor; one into a masked tensor is an op."""
    return PASSED if is_masked(self) else self.copy_(data_of_masked(dense(other)))
