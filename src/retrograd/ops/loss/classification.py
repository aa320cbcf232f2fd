"""Losses of classes: cross-entropy, negative log-likelihood, margins.

NOTE [Class targets]
1. A target is a class index per sample, int64 or uint8, or for `cross_entropy` a probability per
   class, floating. The class dimension of the input is 1, or 0 where there is no batch.
2. Every sample has a share in the loss: its class's weight, and 0 where its target is
   `ignore_index`. "mean" divides by the sum of the shares.
3. Weights are constants; the input, and target probabilities, are differentiable.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ... import dtypes
from ...engine.registry import name_node
from ...engine.tensor import Tensor, new_tensor
from ...kernels.allocation import (
    check_together,
    has_memory,
    is_numpy,
    is_seen,
    known_true,
    table,
    zeros,
)
from ...kernels.native.places import highest
from ..activation.piecewise import logsigmoid
from ..core.engine_ops import piecewise
from ..core.pointwise import check_constant, check_floating
from ..linalg.matmul import linear
from .cross_entropy import fused_cross_entropy, nll
from .elementwise import check_real, check_tensors, reduced, reduction_of

# -- targets ------------------------------------------------------------------------------------


def _check_indices(target: Tensor) -> None:
    if target._array.dtype not in (np.int64, np.uint8):
        raise RuntimeError(
            "expected target dtype to be Long or Byte, but got "
            f"{dtypes.legacy_name(target.dtype)}. Convert the class indices: target.long()"
        )


def _check_weight(weight: Tensor | None, classes: int, input: Tensor) -> None:
    if weight is None:
        return
    check_together(input._array, weight._array)
    if weight._array.shape != (classes,):
        raise RuntimeError(
            f"weight tensor should be defined either for all {classes} classes or no classes but "
            f"got weight tensor of shape: {list(weight.shape)}"
        )
    if weight._array.dtype != input._array.dtype:
        names = [dtypes.legacy_name(t.dtype) for t in (input, weight)]
        raise RuntimeError(f"expected scalar type {names[0]} but found {names[1]}")


def _check_sizes(input: Tensor, target: Tensor) -> None:
    """Raise unless the target has one index for each sample, (N,) or (N, d1, ...)."""
    check_together(input._array, target._array)
    shape, found = input._array.shape, target._array.shape
    if not shape:
        raise ValueError("Expected 1 or more dimensions (got 0)")
    if len(shape) == 1:
        if target._array.size != 1 or len(found) > 1:
            raise ValueError(
                f"For 1D input, 1D target must have size 1, but got target size: {list(found)}"
            )
        return
    if found[:1] != shape[:1]:
        raise ValueError(
            f"Expected input batch_size ({shape[0]}) to match target batch_size "
            f"({found[0] if found else 0}). The input is {list(shape)} and the target "
            f"{list(found)}: it has one class for each row"
        )
    wanted = (shape[0], *shape[2:])
    if found != wanted:
        if len(shape) == 2:
            do = "target.squeeze(1)" if found[1:] == (1,) else "target.argmax(1), if it is one-hot"
            raise RuntimeError(
                "0D or 1D target tensor expected, multi-target not supported: the target is "
                f"{list(found)}, and has one class for each row. Write {do}"
            )
        raise RuntimeError(f"Expected target size {list(wanted)}, got {list(found)}")


def shares(
    target: Any, classes: int, ignore_index: int, weight: Any, dtype: Any
) -> tuple[Any, Any, Any]:
    """The indices with ignored ones as 0, the share of each (None: all 1), and the shares' sum.

    The sum is a number, or a tensor where `target` is traced or not NumPy's. Raises IndexError for
    an index that is no class.
    """
    unsigned = target.view(np.uint64 if target.itemsize == 8 else np.uint8)
    count = not 0 <= ignore_index < classes  # and then a negative index is among the highest
    if count and known_true(unsigned.max(initial=0) < classes):
        if weight is None:
            return target, None, float(target.size)
        indices, share = target, weight[target]
    else:
        valid = target != ignore_index
        wrong = valid & ((target < 0) | (target >= classes))
        if known_true(wrong.any()):
            raise IndexError(
                f"Target {target[wrong][0]} is out of bounds. Classes count from 0 to "
                f"{classes - 1}, for the input has {classes} scores: give it more, or number the "
                "classes anew"
            )
        indices = np.where(valid, target, 0)
        share = valid.astype(dtype) if weight is None else np.where(valid, weight[indices], 0)
    total = share.sum()
    return indices, share, float(total) if is_numpy(total) else new_tensor(total)


def is_usual(input: Any, target: Any, ignore_index: int) -> bool:
    """Whether a loss is that of rows and a class of each, checked in the fewest steps: it is timed.

    All classes are within bounds then, and count.
    """
    return (
        isinstance(input, Tensor)
        and isinstance(target, Tensor)
        and input._array.__class__ is target._array.__class__ is np.ndarray
        and input._array.ndim == 2
        and input._array.dtype.kind == "f"
        and target._array.dtype == np.int64
        and target._array.shape == input._array.shape[:1]
        and target._array.size > 0
        and ignore_index < 0
        and bool(highest(target._array) < input._array.shape[1])
    )


def _unbatched(input: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """The input and the target of one sample as a batch of one; a number goes to any device."""
    return input.reshape(1, -1), target.to(input.device).reshape(1)


def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """-input[target], for `input` log-probabilities: (C,), (N, C) or (N, C, d1, ...); reduced.

    `target` holds class indices, (N,) or (N, d1, ...); those equal to `ignore_index` do not count.
    `weight`, (C,), is the share of each class; "mean" divides by the shares' sum. Raises IndexError
    for an index that is no class, ValueError for another batch size, RuntimeError for a weight that
    requires grad.

    >>> rg.nn.functional.nll_loss(rg.tensor([[-1.0, -2.0], [-3.0, -4.0]]), rg.tensor([1, 0]))
    tensor(2.5000)
    """
    if (
        weight is None
        and reduction == "mean"
        and size_average is reduce is None
        and is_usual(input, target, ignore_index)
    ):
        return nll(input, target, total=float(target._array.size))
    reduction = reduction_of(reduction, size_average, reduce)
    check_tensors("nll_loss", input=input, target=target)
    check_floating("nll_loss", input)
    check_constant("nll_loss", weight=weight)
    _check_sizes(input, target)
    _check_indices(target)
    if not has_memory(target._array):
        return _unseen_losses(input, target, weight, ignore_index, reduction)
    if input._array.ndim == 1:
        loss = nll_loss(*_unbatched(input, target), weight, None, ignore_index, None, reduction)
        return loss if reduction != "none" else name_node(loss.reshape(()), "NllLossBackward0")
    classes = input._array.shape[1]
    _check_weight(weight, classes, input)
    indices, share, total = shares(
        target._array,
        classes,
        ignore_index,
        None if weight is None else weight._array,
        input._array.dtype,
    )
    index = target if indices is target._array else new_tensor(indices)  # writes to it are noticed
    if classes == 0:  # all samples are ignored
        loss = input.sum(1)
    else:
        loss = -piecewise(input).gather(1, index.long().unsqueeze(1)).squeeze(1)
    if share is not None:
        loss = (loss * new_tensor(share)).where(new_tensor(share != 0), 0.0)
    name = "NllLossBackward0" if input._array.ndim == 2 else "NllLoss2DBackward0"
    if reduction == "mean":
        return name_node(loss.sum() / total, name)
    viewed = reduction == "none" and input._array.ndim not in (2, 4)
    return reduced(loss, reduction, "ViewBackward0" if viewed else name)


def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """The cross-entropy of softmax(input), logits of shape (C,), (N, C) or (N, C, d1, ...).

    `target` holds class indices as for `nll_loss`, or, in the input's shape, probabilities. A part
    `label_smoothing` of each target is spread evenly over the classes. Stable for logits of any
    size. Of complex logits the moduli count. Raises IndexError for an index that is no class,
    ValueError for another batch size, RuntimeError for a `label_smoothing` outside [0, 1].

    >>> logits = rg.tensor([[0.0, 0.0]], requires_grad=True)
    >>> loss = rg.nn.functional.cross_entropy(logits, rg.tensor([1])); loss
    tensor(0.6931, grad_fn=<NllLossBackward0>)
    >>> loss.backward(); logits.grad
    tensor([[ 0.5000, -0.5000]])
    """
    if (
        weight is None
        and reduction == "mean"
        and not label_smoothing
        and size_average is reduce is None
        and is_usual(input, target, ignore_index)
    ):
        scale = 1.0 / len(target._array)
        return fused_cross_entropy(input, target, None, scale=scale, rows=[])
    reduction = reduction_of(reduction, size_average, reduce)
    check_tensors("cross_entropy_loss", input=input, target=target)
    if input._array.dtype.kind == "c":
        input = input.abs()
    check_floating("cross_entropy", input)
    if not 0.0 <= label_smoothing <= 1.0:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing}")
    unseen = not has_memory(target._array)
    if target._array.dtype.kind in "fV" if unseen else target._array.shape == input._array.shape:
        return _soft_targets(input, target, weight, ignore_index, reduction, label_smoothing)
    check_constant("cross_entropy", weight=weight)
    _check_sizes(input, target)
    _check_indices(target)
    if unseen:
        log_p = input.log_softmax(min(1, input._array.ndim - 1))
        return _unseen_losses(log_p, target, weight, ignore_index, reduction, label_smoothing)
    if input._array.ndim == 1:
        one = _unbatched(input, target)
        loss = cross_entropy(*one, weight, None, ignore_index, None, reduction, label_smoothing)
        return loss if reduction != "none" else name_node(loss.reshape(()), "NllLossBackward0")
    fused = input._array.ndim == 2 and input._array.dtype.kind == "f" and is_seen(target._array)
    if fused and input._array.shape[1] and reduction != "none" and label_smoothing == 0:
        _check_weight(weight, input._array.shape[1], input)
        indices, share, total = shares(
            target._array,
            input._array.shape[1],
            ignore_index,
            None if weight is None else weight._array,
            input._array.dtype,
        )
        scale = 1.0 if reduction == "sum" else 1.0 / total if total else math.nan
        scale = scale._array if isinstance(scale, Tensor) else scale
        found = target if indices is target._array else new_tensor(indices)
        return fused_cross_entropy(
            input,
            found,
            None if share is None else new_tensor(share[:, None]),
            scale=scale,
            rows=[] if is_seen(input._array) else None,
        )
    log_p = input.log_softmax(1)
    loss = nll_loss(log_p, target, weight, None, ignore_index, None, reduction)
    if label_smoothing == 0:
        return loss
    spread = _smooth_part(log_p, target, weight, ignore_index, reduction)
    part = label_smoothing / input.shape[1]
    return loss * (1.0 - label_smoothing) + spread * part


def _unseen_losses(
    log_p: Tensor,
    target: Tensor,
    weight: Tensor | None,
    ignore_index: int,
    reduction: str,
    label_smoothing: float = 0.0,
) -> Tensor:
    """The loss for targets whose values cannot be looked at: they are a batch."""
    dim, trailing = min(1, log_p._array.ndim - 1), max(0, log_p._array.ndim - 2)
    _check_weight(weight, log_p._array.shape[dim], log_p)
    counts = target != ignore_index
    index = target.where(counts, 0).long()
    share = counts if weight is None else weight[index].where(counts, 0.0)
    loss = -piecewise(log_p).gather(dim, index.unsqueeze(dim)).squeeze(dim)
    loss = loss if weight is None else loss * share
    if label_smoothing:
        each = log_p if weight is None else log_p * weight.reshape(-1, *(1,) * trailing)
        spread = each.sum(dim) * (label_smoothing / log_p._array.shape[dim])
        loss = loss * (1.0 - label_smoothing) - spread
    loss = loss.where(counts, 0.0)
    return loss.sum() / share.sum() if reduction == "mean" else reduced(loss, reduction)


def _smooth_part(
    log_p: Tensor, target: Tensor, weight: Tensor | None, ignore_index: int, reduction: str
) -> Tensor:
    """The loss for targets spread over all classes, each with its weight; reduced."""
    ndim, classes = log_p._array.ndim, log_p._array.shape[1]
    weights = None if weight is None else weight._array
    _, share, total = shares(target._array, classes, ignore_index, weights, log_p._array.dtype)
    if weight is not None:
        log_p = log_p * weight.reshape(-1, *(1,) * (ndim - 2))
    loss = -log_p.sum(1)
    if share is not None:
        loss = loss.where(new_tensor(target._array != ignore_index), 0.0)
    return loss.sum() / total if reduction == "mean" else reduced(loss, reduction)


def _soft_targets(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None,
    ignore_index: int,
    reduction: str,
    label_smoothing: float,
) -> Tensor:
    """Cross-entropy where the target has a probability for each class."""
    dim = 1 if input._array.ndim > 1 else 0
    if target._array.dtype.kind not in "fV":
        raise RuntimeError(
            "Expected floating point type for target with class probabilities, got "
            f"{dtypes.legacy_name(target.dtype)}. Give class numbers, as target.argmax({dim}) of "
            "one-hot targets, or probabilities: target.float()"
        )
    if ignore_index >= 0:
        raise RuntimeError("ignore_index is not supported for floating point target")
    classes = input._array.shape[dim]
    _check_weight(weight, classes, input)
    if label_smoothing:
        target = target * (1.0 - label_smoothing) + label_smoothing / classes
    product = input.log_softmax(dim) * target
    if weight is not None:
        product = product * weight.reshape(-1, *(1,) * max(0, input._array.ndim - 2))
    if reduction == "none":
        return -product.sum(dim)
    loss = -product.sum()
    if reduction == "sum":
        return loss
    samples: int = input._array.size // max(1, classes)
    return name_node(loss / samples, "DivBackward1")


# -- margins ------------------------------------------------------------------------------------


def _check_margins(name: str, input: Tensor, target: Tensor) -> None:
    """Raise unless `input` is real and floating, of samples with classes, and `target` int64."""
    if input._array.ndim > 2 or 0 in input._array.shape[-1:]:
        raise RuntimeError(
            f"{name}: Expected non-empty vector or matrix with optional 0-dim batch size, but got: "
            f"{list(input.shape)}"
        )
    check_real(name, input)
    check_floating(name, input)
    if target._array.dtype != np.int64:
        raise RuntimeError(
            f"expected scalar type Long but found {dtypes.legacy_name(target.dtype)}. Convert the "
            "class indices: target.long()"
        )


def multi_margin_loss(
    input: Tensor,
    target: Tensor,
    p: int = 1,
    margin: float = 1.0,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The mean over the wrong classes of max(0, margin - input[target] + input[class])^p; reduced.

    `input` is (N, C) or (C,), `target` (N,) or 0-d, `weight` (C,). Raises RuntimeError for an index
    that is no class or not int64, ValueError unless p is 1 or 2.

    >>> rg.nn.functional.multi_margin_loss(rg.tensor([[0.0, 0.5]]), rg.tensor([0]))
    tensor(0.7500)
    """
    reduction = reduction_of(reduction, size_average, reduce)
    if p not in (1, 2):
        raise ValueError("only p == 1 and p == 2 supported")
    _check_margins("multi_margin_loss", input, target)
    check_constant("multi_margin_loss", weight=weight)
    samples = input._array.shape[0] if input._array.ndim > 1 else 1
    if target._array.shape != (samples,) and not (samples == 1 and target._array.shape == ()):
        raise RuntimeError(
            "multi_margin_loss: target tensor should be 1-D with size equal to the number of input "
            f"samples. Expected target of shape [{samples}], but got {list(target.shape)}"
        )
    if input._array.ndim < 2:
        one = _unbatched(input, target)
        loss = multi_margin_loss(*one, p, margin, weight, reduction=reduction)
        return loss.reshape(target.shape) if reduction == "none" else loss
    classes, indices = input._array.shape[1], target._array.reshape(samples)
    if weight is not None and weight._array.shape != (classes,):
        kind = RuntimeError if weight._array.ndim == 1 else ValueError
        raise kind(
            "weight must be one-dimensional, and of one number for each class: inconsistent weight "
            f"size, expected {classes} but got {list(weight.shape)}"
        )
    if known_true(((indices < 0) | (indices >= classes)).any()):
        raise RuntimeError("target out of range")
    right = table(indices, np.arange(classes)) == indices[:, None]
    input = piecewise(input).contiguous()
    gap = (margin - input.gather(1, target.unsqueeze(1)) + input).relu()
    gap = gap.where(new_tensor(~right), 0.0)
    loss = gap if p == 1 else gap * gap
    if weight is not None:
        loss = loss * new_tensor(weight._array[indices][:, None])
    return reduced(loss.sum(1) / classes, reduction, "MultiMarginLossBackward0")


def multilabel_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Sum over right and wrong classes of max(0, 1 - (input[right] - input[wrong])), over C.

    Each row of `target` lists the right classes up to its first -1. Raises RuntimeError where the
    shapes differ or `target` is not int64.

    >>> x, y = rg.tensor([[0.1, 0.2, 0.4, 0.8]]), rg.tensor([[3, 0, -1, 1]])
    >>> rg.nn.functional.multilabel_margin_loss(x, y)
    tensor(0.8500)
    """
    reduction = reduction_of(reduction, size_average, reduce)
    _check_margins("multilabel_margin_loss", input, target)
    if input._array.shape != target._array.shape:
        raise RuntimeError(
            f"inconsistent target size: {list(target.shape)} for input of size: {list(input.shape)}"
        )
    if input._array.ndim < 2:
        one = input.reshape(1, -1), target.reshape(1, -1)
        loss = multilabel_margin_loss(*one, reduction=reduction)
        return (
            loss
            if reduction != "none"
            else name_node(loss.reshape(()), "MultilabelMarginLossBackward0")
        )
    classes, input = input._array.shape[1], piecewise(input)
    if known_true(((target._array < -1) | (target._array >= classes)).any()):
        raise RuntimeError(
            f"argument #2 'target' is out of range: it holds classes from 0 to {classes - 1}, and "
            "-1 after the last"
        )
    listed = np.cumsum(target._array < 0, 1) == 0
    if is_seen(listed):  # no pairs for what no row lists
        listed = listed[:, : np.max(listed.sum(1), initial=0)]
    indices = np.where(listed, target._array[:, : listed.shape[1]], 0)
    right = zeros(listed, input._array.shape)
    rows = np.nonzero(listed)[0]
    right[rows, indices[listed]] = True
    gaps = input.unsqueeze(1) - input.gather(1, new_tensor(indices)).unsqueeze(2) + 1.0
    counted = new_tensor(listed[:, :, None] & ~right[:, None, :])
    loss = gaps.relu().where(counted, 0.0).sum((1, 2)) / classes
    return reduced(loss, reduction, "MultilabelMarginLossBackward0")


def multilabel_soft_margin_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The mean over the last dimension of the binary cross-entropies of sigmoid(input); reduced.

    >>> rg.nn.functional.multilabel_soft_margin_loss(rg.zeros(1, 2), rg.tensor([[1.0, 0.0]]))
    tensor(0.6931)
    """
    reduction = reduction_of(reduction, size_average, reduce)
    loss = -(target * logsigmoid(input) + (1 - target) * logsigmoid(-input))
    loss = (loss if weight is None else loss * weight).sum(-1) / input.shape[-1]
    return reduced(loss, reduction)


# -- with the last layer -----------------------------------------------------------------------


def linear_cross_entropy(
    input: Tensor,
    linear_weight: Tensor,
    target: Tensor,
    *,
    linear_bias: Tensor | None = None,
    weight: Tensor | None = None,
    reduction: str = "mean",
    ignore_index: int | None = None,
    label_smoothing: float = 0.0,
    options: Any = None,
) -> Tensor:
    """`cross_entropy(linear(input, linear_weight, linear_bias), target, ...)`.

    input: (K) or (N, K); linear_weight: (C, K) or (C, d1, ..., K), which gives logits (N, C, d1,
    ...); linear_bias: the weight's shape without K; target and the other arguments are as for
    `cross_entropy`, `ignore_index` being -100 where it is not given. `options`, how PyTorch divides
    the work to save memory, is accepted and makes no difference. Raises RuntimeError for shapes
    that do not fit and for an `ignore_index` beside probabilities.

    >>> x, w = rg.ones(2, 3), rg.zeros(4, 3)
    >>> rg.nn.functional.linear_cross_entropy(x, w, rg.tensor([0, 3]))
    tensor(1.3863)
    """
    _check_shapes(input, linear_weight, linear_bias)
    classes, *outer, features = linear_weight.shape
    shape = (*input.shape[:-1], classes, *outer)
    if tuple(target.shape) == shape and ignore_index is not None:
        raise RuntimeError("ignore_index cannot be specified when target contains probabilities")
    bias = linear_bias if linear_bias is None or not outer else linear_bias.flatten()
    rows = linear_weight if not outer else linear_weight.reshape(-1, features)
    logits = linear(input, rows, bias)
    return cross_entropy(
        logits.reshape(shape) if outer else logits,
        target,
        weight,
        reduction=reduction,
        ignore_index=-100 if ignore_index is None else ignore_index,
        label_smoothing=label_smoothing,
    )


def _check_shapes(input: Tensor, weight: Tensor, bias: Tensor | None) -> None:
    if input._array.ndim not in (1, 2):
        raise RuntimeError(f"expected input with dimensionality 1 or 2, got {input._array.ndim}")
    if weight._array.ndim < 2:
        raise RuntimeError(
            f"expected linear_weight with dimensionality at least 2, got {weight._array.ndim}"
        )
    if input.shape[-1] != weight.shape[-1]:
        raise RuntimeError(
            "expected equal input and linear_weight last dimensions (in_features), got "
            f"{input.shape[-1]} and {weight.shape[-1]}, respectively"
        )
    if bias is not None and bias.shape != weight.shape[:-1]:
        raise RuntimeError(
            f"expected linear_bias shape {tuple(weight.shape[:-1])}, got {tuple(bias.shape)}"
        )
    if weight._array.ndim > 2 and input._array.ndim == 1:
        raise RuntimeError(
            f"K-dimensional loss defined by linear_weight shape {tuple(weight.shape)} requires "
            f"batched input, (N, {input.shape[-1]}), got unbatched input with shape "
            f"{tuple(input.shape)}"
        )
