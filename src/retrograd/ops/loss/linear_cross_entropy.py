"""The last layer of a classifier and its loss in one call."""

from __future__ import annotations

from typing import Any

from ...engine.tensor import Tensor
from ..linalg.matmul import linear
from .classification import cross_entropy


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
