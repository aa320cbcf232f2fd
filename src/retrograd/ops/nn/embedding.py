"""Rows looked up by index: embeddings, their bags, and one-hot vectors."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ... import dtypes, providers
from ...dtypes import half
from ...engine.dispatch import MOST_DIMS, TOO_MANY_DIMS
from ...engine.registry import declare, example, name_node
from ...engine.tensor import Tensor, concrete, constant_like, new_tensor, wrote
from ...engine.writable import check_memory
from ...kernels import sums
from ...kernels.allocation import full, has_class, has_values, is_seen, known_true, table, zeros
from ...kernels.native.places import highest, taken_rows
from ...kernels.search import first_largest
from ...quiet import quietly
from ..core import batching_index
from ..core.dims import integer

TURNED = (
    "Argument order of nn.functional.embedding_bag was changed. Usage `embedding_bag(weight, "
    "input, ...)` is deprecated: write embedding_bag(input, weight, ...)"
)


def _scaled(rows: Any, indices: Any, skip: int | None, by_frequency: bool) -> Any:
    """A row for each index: 0 at `skip`, and over how often the index occurs if `by_frequency`."""
    if by_frequency:
        _, inverse, counts = np.unique(indices, return_inverse=True, return_counts=True)
        share = (1.0 / counts)[inverse.reshape(indices.shape)]
        rows = rows * share.astype(rows.real.dtype)[..., None]
    return rows if skip is None else np.where((indices == skip)[..., None], 0, rows)


def _add_rows(values: Any, indices: Any, *, rows: int, skip: int | None, by_frequency: bool) -> Any:
    values = _scaled(values, indices, skip, by_frequency)
    return sums.scattered_rows(
        values.reshape(indices.size, values.shape[-1]), indices.ravel(), rows
    )


def _weighted_rows(weight: Any, indices: Any, *, skip: int | None, by_frequency: bool) -> Any:
    return _scaled(taken_rows(weight, indices), indices, skip, by_frequency)


_OPTIONS: list[dict[str, Any]] = [
    {"skip": None, "by_frequency": False},
    {"skip": 1, "by_frequency": False},
    {"skip": None, "by_frequency": True},
]

_embedding = declare(
    "embedding(weight, indices, *, skip, by_frequency)",
    lambda weight, indices, *, skip, by_frequency: taken_rows(weight, indices),
    weight=lambda xp, g, indices, weight_shape, skip, by_frequency: xp.add_rows(
        g, indices, rows=weight_shape[0], skip=skip, by_frequency=by_frequency
    ),
    tangent=lambda xp, t, indices: xp.embedding(t, indices, skip=None, by_frequency=False),
    batch=batching_index.embedding("embedding"),
    examples=[
        example("3x2, 4:int<3", skip=None, by_frequency=False),
        example("3x2, 2x2:int<3", skip=None, by_frequency=False),
        example("3x2, :int<3", skip=None, by_frequency=False),
        example("3x2, 0:int<3", skip=None, by_frequency=False),
    ],
    saved={
        "scale_grad_by_freq": "by_frequency",
        "padding_idx": lambda skip: -1 if skip is None else skip,
        "sparse": lambda: False,
        "weight_sym_argsize_0": lambda weight_shape: weight_shape[0],
    },
    doc="""Rows of `weight`. `skip` and `by_frequency` alter the gradient alone, not the tangent, so
    the record is linear only where they are None and False.""",
)

_sum_rows = declare(
    "add_rows(values, indices, *, rows, skip, by_frequency)",
    _add_rows,
    values=lambda xp, g, indices, skip, by_frequency: xp.weighted_rows(
        g, indices, skip=skip, by_frequency=by_frequency
    ),
    linear="values",
    batch=batching_index.add_rows,
    examples=[example("4x2, 4:int<3", rows=3, **options) for options in _OPTIONS]
    + [example("2, :int<3", rows=3, skip=None, by_frequency=False)],
    node_name="EmbeddingDenseBackward0",
    doc="""Zeros with each of `values` added to the row at its index, less those at `skip`, over the
    number of times that the index occurs if `by_frequency`.""",
)

declare(
    "weighted_rows(weight, indices, *, skip, by_frequency)",
    _weighted_rows,
    weight=lambda xp, g, indices, weight_shape, skip, by_frequency: xp.add_rows(
        g, indices, rows=weight_shape[0], skip=skip, by_frequency=by_frequency
    ),
    linear="weight",
    batch=batching_index.embedding("weighted_rows"),
    examples=[example("3x2, 4:int<3", **options) for options in _OPTIONS],
    doc="""The adjoint of `add_rows`.""",
)


def _check_integers(dtype: np.dtype[Any], name: str, argument: str = "indices") -> None:
    if dtype.kind != "i" or dtype.itemsize < 4:
        found = dtypes.type_name(dtype)
        raise RuntimeError(
            f"Expected tensor for argument #1 '{argument}' to have one of the following scalar "
            f"types: Long, Int; but got {found} instead (while checking arguments for {name}). "
            f"Convert: {argument}.long()"
        )


def _check_indices(indices: Any, name: str, rows: int) -> None:
    _check_integers(indices.dtype, name)
    indices = concrete(indices)
    if not (is_seen(indices) and indices.size):
        return
    if indices.dtype == np.int64 and highest(indices) < rows:  # the usual case, at once
        return
    if indices.min() < 0 or indices.max() >= rows:
        run = f"indices run from {indices.min()} to {indices.max()}, and weight has {rows} rows"
        if name == "embedding_bag":
            raise RuntimeError(
                f"embedding_bag: Expected idx >= 0 && idx < num_embeddings, but {run}"
            )
        need = f". Make them num_embeddings={indices.max() + 1}" if indices.min() >= 0 else ""
        raise IndexError(f"index out of range in self: {run}, which count from 0{need}")


def _row_to_skip(padding_idx: int | None, rows: int) -> int | None:
    if padding_idx is None:
        return None
    if not -rows <= padding_idx < rows:
        raise AssertionError(  # PyTorch's type
            f"Padding_idx must be within num_embeddings, but got {padding_idx} for {rows} rows"
        )
    return padding_idx % rows


@quietly
def _renormalize(weight: Tensor, indices: Any, max_norm: float, norm_type: float) -> None:
    """Scale down, in place and outside the graph, the rows in use whose norm exceeds `max_norm`."""
    if not has_values(indices):
        return
    rows = np.unique(indices)
    norms = np.linalg.norm(weight._array[rows], norm_type, axis=1)
    large = norms > max_norm
    if large.any():
        check_memory(weight._array, "embedding(max_norm=)")
        weight._array[rows[large]] *= (max_norm / (norms[large] + 1e-7))[:, None]
        wrote(weight, "embedding(max_norm=)")


def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """The rows of `weight`, (V, D), at the indices `input`, of any shape: (*, D).

    The row `padding_idx` gets no gradient. With `max_norm`, rows in use of a larger norm (the
    `norm_type`-norm) are first scaled down, in place. With `scale_grad_by_freq` a row's gradient
    is divided by how often it was used. If `sparse`, a leaf's gradient is a sparse tensor of the
    rows in use. Raises IndexError for an index that is no row, AssertionError for a `padding_idx`
    that is none, RuntimeError for `scale_grad_by_freq` beside `sparse`.

    >>> rg.nn.functional.embedding(rg.tensor([1, 1]), rg.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor([[3., 4.],
            [3., 4.]])
    """
    if sparse and scale_grad_by_freq:
        raise RuntimeError(
            "embedding_backward: scale_grad_by_freq not supported with sparse gradients. Leave one "
            "of the two out"
        )
    rows = weight._array.shape[0] if weight._array.ndim else 0
    skip = _row_to_skip(padding_idx, rows)
    if weight._array.ndim != 2:
        raise RuntimeError(f"'weight' must be 2-D, but has shape {list(weight.shape)}")
    _check_indices(input._array, "embedding", rows)
    if max_norm is not None:
        _renormalize(weight, input._array, max_norm, norm_type)
    if sparse and weight.is_leaf and weight.requires_grad and is_seen(input._array):
        return providers.service("sparse lookup").lookup(weight, input, skip)  # type: ignore[no-any-return]
    return _embedding(weight, input, skip=skip, by_frequency=scale_grad_by_freq)


def embedding_bag(
    input: Tensor,
    weight: Tensor,
    offsets: Tensor | None = None,
    max_norm: float | None = None,
    norm_type: float = 2,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Tensor:
    """The sum, mean or elementwise maximum of the rows of each bag of indices: (B, D).

    `input` is (B, L), a bag per row, or (N,) with `offsets` (B,), where each bag begins; bags may
    be empty and give zeros. `per_sample_weights`, of the input's shape, multiply the rows (in mode
    "sum"). Indices equal to `padding_idx` do not count. Raises ValueError for other shapes and
    modes, NotImplementedError for `per_sample_weights` in another mode than "sum", RuntimeError for
    those of another dtype, for offsets that do not begin at 0 or leave the input, and for a
    `padding_idx` that is no row.

    >>> table = rg.tensor([[1.0], [3.0], [5.0]])
    >>> rg.nn.functional.embedding_bag(rg.tensor([[0, 1], [2, 2]]), table)
    tensor([[2.],
            [5.]])
    """
    if weight._array.dtype == np.int64 and dtypes.category(input._array.dtype) > 1:
        warnings.warn(TURNED, stacklevel=2)
        input, weight = weight, input
    if mode not in ("sum", "mean", "max"):
        raise ValueError("mode has to be one of sum, mean or max")
    if weight._array.ndim != 2:
        raise ValueError(f"weight has to be a 2D Tensor, but got shape {list(weight.shape)}")
    if per_sample_weights is not None and mode != "sum":
        raise NotImplementedError(
            "embedding_bag: per_sample_weights was not None. per_sample_weights is only supported "
            f"for mode='sum' (got mode='{mode}'). Please open a feature request on GitHub."
        )
    if per_sample_weights is not None:
        if per_sample_weights._array.dtype != weight._array.dtype:
            raise RuntimeError(
                f"Expected per_sample_weights ({per_sample_weights.dtype}) to have the same type "
                f"as weight ({weight.dtype}): per_sample_weights.to(weight.dtype)"
            )
        if per_sample_weights.shape != input.shape:
            raise ValueError(
                f"embedding_bag: If per_sample_weights ({list(per_sample_weights.shape)}) is not "
                f"None, then it must have the same shape as the input ({list(input.shape)})"
            )
    if sparse and mode == "max":
        raise ValueError("max mode does not support sparse weights")
    count = weight._array.shape[0]
    if padding_idx is not None and not -count <= padding_idx < count:
        raise RuntimeError(
            f"padding_idx must be within the number of embeddings, {-count} through {count - 1}, "
            f"but got {padding_idx}"
        )
    starts = _bag_starts(input, offsets, include_last_offset)
    flat = input.reshape(-1)
    if known_true(starts[-1] < flat._array.size):  # what comes after the last bag is in none
        flat = flat[: int(starts[-1])]
        if per_sample_weights is not None:
            per_sample_weights = per_sample_weights[: int(starts[-1])]
    _check_indices(flat._array, "embedding_bag", count)
    rows = embedding(flat, weight, padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse)
    if half(weight._array.dtype):  # counted in float32, rounded once
        rows = rows.float()
    if per_sample_weights is not None:
        rows = rows * per_sample_weights.reshape(-1, 1)
    indices = array_seen(flat)
    counted = full(indices, indices.shape, True, np.bool_)
    if padding_idx is not None:
        counted = indices != padding_idx % count
    return name_node(_pooled(rows, starts, counted, mode).to(weight.dtype), "EmbeddingBagBackward0")


def array_seen(x: Tensor) -> Any:
    """The array of a tensor; of one whose class holds its values, one without."""
    return concrete(x._array) if has_class(x._array) else x._array


def _bag_starts(input: Tensor, offsets: Tensor | None, include_last_offset: bool) -> Any:
    """Where each bag begins in the flat input, and where the last one ends."""
    shape = input._array.shape
    if len(shape) == 2:
        if offsets is not None:
            raise ValueError(
                "if input is 2D, then offsets has to be None, as input is treated is a mini-batch "
                "of fixed length sequences."
            )
        return table(concrete(input._array), np.arange(shape[0] + 1) * shape[1])
    if len(shape) != 1:
        raise ValueError(
            f"input has to be 1D or 2D Tensor, but got Tensor of dimension {len(shape)}"
        )
    if offsets is None:
        raise ValueError("offsets has to be a 1D Tensor but got None")
    if offsets._array.ndim != 1:
        raise ValueError("offsets has to be a 1D Tensor")
    _check_integers(dtypes.common(input._array, offsets._array), "embedding_bag", "offsets")
    starts = array_seen(offsets)
    if include_last_offset and not starts.size:
        raise RuntimeError("include_last_offset: number of offsets should be at least 1")
    if starts.size and known_true(starts[0] != 0):
        raise RuntimeError(
            "offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from "
            f"position 0. However, got {starts[0]}"
        )
    if starts.size and known_true(starts[-1] > shape[0]):
        raise RuntimeError(
            f"offsets[-1] can not be greater than input's length {shape[0]} but got offsets[-1] of "
            f"{starts[-1]}"
        )
    starts = starts if include_last_offset else np.append(starts, shape[0])
    if known_true((np.diff(starts) < 0).any()):
        raise RuntimeError(f"offsets must not decrease, but they are {starts.tolist()}")
    return starts


def _pooled(rows: Tensor, starts: Any, counted: Any, mode: str) -> Tensor:
    """The rows of each bag put together; `starts` has a further entry for the end."""
    bags = len(starts) - 1
    if not has_values(starts) or not has_values(rows._array):  # all modes give one shape
        first = constant_like(np.zeros(len(rows), np.int64), rows)
        return _sum_rows(rows, first, rows=bags, skip=None, by_frequency=False)
    bag = np.repeat(table(starts, np.arange(bags)), np.diff(starts))
    if mode == "max":
        return _largest(rows, bag, counted, bags)
    if mode == "mean":
        sizes = np.bincount(bag[counted], minlength=bags)
        share = 1.0 / np.maximum(sizes, 1)[bag]
        rows = rows * new_tensor(share.astype(dtypes.real_of(rows._array.dtype))[:, None])
    if not known_true(counted.all()):
        rows = rows.where(new_tensor(counted[:, None]), 0.0)
    return _sum_rows(rows, new_tensor(bag), rows=bags, skip=None, by_frequency=False)


def winners(rows: Any, bag: Any, counted: Any, bags: int) -> tuple[Any, Any]:
    """In which row each column of a bag is largest (0 where none counts), and which bags have one.

    `bag` ascends. Of equal values the first wins.
    """
    winner = zeros(rows, (bags, rows.shape[1]), np.int64)
    filled = zeros(rows, (bags, 1), np.bool_)
    own = np.flatnonzero(counted)
    if own.size:
        found, starts = np.unique(bag[own], return_index=True)
        winner[found] = table(rows, own)[first_largest(rows[own], starts)]
        filled[found] = True
    return winner, filled


def _largest(rows: Tensor, bag: Any, counted: Any, bags: int) -> Tensor:
    """The maximum over each bag, column by column; the first of equal values gets the gradient."""
    winner, filled = winners(rows._array, bag, counted, bags)
    found = rows.gather(0, new_tensor(winner)) if rows._array.size else rows.sum(0)
    return found.where(new_tensor(filled), 0.0)


def one_hot(input: Tensor, num_classes: int = -1) -> Tensor:
    """Integers 0 to K-1 as vectors of K zeros and ones, int64: (*) to (*, K).

    `num_classes` K is by default one more than the largest. Raises RuntimeError for values outside
    and for a dtype other than int64.

    >>> rg.nn.functional.one_hot(rg.tensor([1, 0]))
    tensor([[0, 1],
            [1, 0]])
    """
    indices = input._array
    if indices.dtype != np.int64:
        raise RuntimeError(
            "one_hot is only applicable to index tensor of type LongTensor. Convert: x.long()"
        )
    if indices.ndim >= MOST_DIMS:
        raise RuntimeError(TOO_MANY_DIMS.format(name="one_hot"))
    values = concrete(indices)
    if indices.size == 0 and num_classes <= 0:
        raise RuntimeError("Can not infer total number of classes from empty tensor.")
    if values.size and known_true(values.min() < 0):
        raise RuntimeError(f"Class values must be non-negative. Got {values.min()}")
    classes = integer(num_classes, "num_classes")
    if classes == -1:
        classes = int(values.max()) + 1
    if values.size and known_true(values.max() >= classes):
        raise RuntimeError(
            f"Class values must be smaller than num_classes. Got {values.max()} for {classes}"
        )
    return (input.contiguous().unsqueeze(-1) == constant_like(np.arange(classes), input)).long()
