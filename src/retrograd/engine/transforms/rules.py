"""The rules by which an op that is given batches runs on all examples at once.

NOTE [Rules] Every rule gets inputs with the batch axis in front, or none, and parameters:
- "elementwise" (of elementwise ops): shapes are filled up with ones after the batch axis;
- "leading": the op takes any number of leading dimensions, so all inputs get the axis (if they
  differ in their number of dimensions, the loop is taken);
- "dims" (of ops that name dimensions in parameters): all inputs get the axis, dimensions count one
  up, and sizes in `shape` have the axis's before them;
- a function `(xp, size, inputs, batched, **params)` of the record's own, which may return None
  to leave it to the loop.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import dtypes
from ...errors import UnbatchableError
from ..namespaces import recorded
from ..tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..op import Op

LOOPED = (
    "There is a performance drop because no batching rule covers this call of {name}: it runs once "
    "per example. This is said once per op."
)
_looped: set[str] = set()


def with_axis(t: Tensor, size: int) -> Tensor:
    """`t` repeated along a new first axis, as a view."""
    return recorded.expand(t, shape=(size, *t._array.shape))


def on_examples(
    op: Op, size: int, inputs: list[Any], flags: Sequence[bool], params: Mapping[str, Any]
) -> tuple[Tensor, ...]:
    """The outputs of `op` for all examples, each with the batch axis in front if an input has it.

    `flags` says which inputs have it.
    """
    rule: Any = op.batch if any(flags) else "shared"
    if rule == "shared":
        result = op.call(*inputs, **params)
    elif rule == "elementwise":
        result = elementwise(op, inputs, flags, params)
    elif rule == "leading":
        result = stacked(op, inputs, flags, size, params)
    elif rule == "dims":
        result = shifted(op, inputs, flags, size, params)
    else:
        result = rule and rule(recorded, size, inputs, flags, **params)
    if result is None:
        return one_by_one(op, size, inputs, flags, params)
    return result if isinstance(result, tuple) else (result,)


def everywhere(inputs: Sequence[Any], flags: Sequence[bool], size: int) -> list[Any]:
    """The inputs, all with the batch axis."""
    return [
        None if t is None else spread(t, flag, size) for t, flag in zip(inputs, flags, strict=True)
    ]


def spread(t: Any, flag: bool, size: int) -> Any:
    """`t` with the batch axis, as a view if it has none."""
    return t if flag else with_axis(t, size)


def elementwise(op: Op, inputs: list[Any], flags: Sequence[bool], params: Mapping[str, Any]) -> Any:
    """Run an elementwise op: examples broadcast from their last dimension, the batch axis first."""
    ranks = [
        t._array.ndim - flag for t, flag in zip(inputs, flags, strict=True) if isinstance(t, Tensor)
    ]
    ndim = max(ranks)
    if op.is_binary and len(ranks) == 2:
        inputs = promoted(op, inputs, ranks)
    if min(ranks) < ndim:
        inputs = [raised(t, ndim) if flag else t for t, flag in zip(inputs, flags, strict=True)]
    result = op.call(*inputs, **params)
    first = result[0] if isinstance(result, tuple) else result
    if first._array.ndim <= ndim:  # it has the shape of an input that is not batched
        return None
    return result


def raised(t: Tensor, ndim: int) -> Tensor:
    """A batched tensor whose examples have `ndim` dimensions: ones come after the batch axis."""
    size, *shape = t._array.shape
    if len(shape) >= ndim:
        return t
    return recorded.reshape(t, shape=(size, *(1,) * (ndim - len(shape)), *shape))


def promoted(op: Op, inputs: list[Any], ranks: Sequence[int]) -> list[Any]:
    """The inputs in the dtype of one example: the batch axis must not make a 0-d tensor count."""
    if inputs[0]._array.dtype is inputs[1]._array.dtype:
        return inputs
    x, y = op.promote(
        *[np.empty((1,) * n, t._array.dtype) for t, n in zip(inputs, ranks, strict=True)]
    )
    if inputs[1]._array.ndim > y.ndim:  # a batch of 0-d factors has a dimension
        y = dtypes.converted(y, x.dtype)
    return [
        t if t._array.dtype == a.dtype else recorded.cast(t, dtype=a.dtype)
        for t, a in zip(inputs, (x, y), strict=True)
    ]


def rank_of(inputs: Sequence[Any], flags: Sequence[bool]) -> int | None:
    """The number of dimensions that all inputs of one example have, or None if they differ."""
    ranks = {t._array.ndim - flag for t, flag in zip(inputs, flags, strict=True) if t is not None}
    return ranks.pop() if len(ranks) == 1 else None


def stacked(
    op: Op, inputs: Sequence[Any], flags: Sequence[bool], size: int, params: Mapping[str, Any]
) -> Any:
    """Run an op that takes any number of leading dimensions."""
    if rank_of(inputs, flags) is None:
        return None
    return op.call(*everywhere(inputs, flags, size), **params)


def shifted(
    op: Op, inputs: Sequence[Any], flags: Sequence[bool], size: int, params: Mapping[str, Any]
) -> Any:
    """Run an op that names dimensions: they count one up, past the batch axis."""
    rank = rank_of(inputs, flags)
    named = [params[key] for key in DIMS if key in params]
    if rank is None or None in named or (rank and params.get("shape") == ()):
        return None  # the last: of a number, which counts as a line of one
    if not rank and not all(isinstance(d, tuple) and d for d in named):  # but for `unsqueeze`
        return numbers(op, everywhere(inputs, flags, size), size, params)
    moved = {key: SHIFTS[key](value, size) if key in SHIFTS else value
             for key, value in params.items()}  # fmt: skip
    return op.call(*everywhere(inputs, flags, size), **moved)


def numbers(op: Op, inputs: Sequence[Any], size: int, params: Mapping[str, Any]) -> Any:
    """Run an op that names dimensions on examples that have none: each becomes a line of one."""
    if not {"shape", "size"}.isdisjoint(params):
        return None
    columns = [t if t is None else recorded.reshape(t, shape=(size, 1)) for t in inputs]
    moved = {
        key: ((1,) if isinstance(value, tuple) else 1) if key in DIMS else value
        for key, value in params.items()
    }
    result = op.call(*columns, **moved)
    results = result if isinstance(result, tuple) else (result,)
    return tuple([recorded.reshape(r, shape=(size,)) for r in results])


def _up(dim: Any, size: int) -> Any:
    if isinstance(dim, tuple):
        return tuple([_up(d, size) for d in dim])
    return dim + 1 if dim >= 0 else dim


def _before(shape: Any, size: int) -> Any:
    return None if shape is None else (size, *shape)


DIMS = ("dim", "dims", "dim0", "dim1", "dim2")
SHIFTS = {**dict.fromkeys(DIMS, _up), "shape": _before}


def one_by_one(
    op: Op, size: int, inputs: Sequence[Any], flags: Sequence[bool], params: Mapping[str, Any]
) -> tuple[Tensor, ...]:
    """The outputs of `op`, computed example by example and stacked."""
    if op.name not in _looped:
        _looped.add(op.name)
        warnings.warn(LOOPED.format(name=op.name), UserWarning, stacklevel=2)
    if not size:
        raise UnbatchableError("there is no example to run")
    rows = []
    for k in range(size):
        row = op.call(
            *[
                recorded.select(t, index=(k,)) if flag else t
                for t, flag in zip(inputs, flags, strict=True)
            ],
            **params,
        )
        rows.append(row if isinstance(row, tuple) else (row,))
    return tuple([recorded.stack(*column, dim=0) for column in zip(*rows, strict=True)])
