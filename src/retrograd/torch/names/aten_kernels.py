"""Kernels under the functions of `nn.functional` that PyTorch has at its top level.

Each hands on to the public function; what that says of shapes, dtypes, errors and derivatives
holds. Arguments that choose among GPU kernels are accepted and make no difference.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...engine.registry import name_node
from ...engine.tensor import Tensor, constant_like, new_tensor
from ...kernels.allocation import full, has_values, known_true, table, zeros
from ...ops.core.arguments import public
from ...ops.nn import conv, normalization
from ...ops.nn import dropout as dropouts
from ...ops.nn import embedding as lookups
from ...ops.nn import grid_sample as grids
from ...ops.reduction.variance import var_mean
from ...ops.reduction.vector_norm import vector_norm

__all__ = [
    "affine_grid_generator", "convolution", "embedding_bag", "embedding_renorm_", "grid_sampler",
    "grid_sampler_2d", "grid_sampler_3d", "native_batch_norm", "native_dropout",
    "native_group_norm", "native_layer_norm", "norm_except_dim",
]  # fmt: skip

BAGS = ("sum", "mean", "max")
CONVOLUTIONS: dict[bool, dict[int, Any]] = {
    False: {3: conv.conv1d, 4: conv.conv2d, 5: conv.conv3d},
    True: {
        3: conv.conv_transpose1d,
        4: conv.conv_transpose2d,
        5: conv.conv_transpose3d,
    },
}


# -- embeddings --------------------------------------------------------------------------------


def embedding_bag(
    weight: Tensor,
    indices: Tensor,
    offsets: Tensor,
    scale_grad_by_freq: bool = False,
    mode: int = 0,
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """`nn.functional.embedding_bag` with the table first: (bags, bag of each index, sizes, maxima).

    `mode` is 0 (sum), 1 (mean) or 2 (max). The maxima are, for mode 2, the indices of the rows that
    gave them, and zeros else. Raises ValueError for another mode. Source: PyTorch's
    `torch.embedding_bag`.

    >>> table, where = rg.tensor([[1.0], [3.0]]), rg.tensor([0, 1, 1])
    >>> rg.embedding_bag(table, where, rg.tensor([0, 1]))[0]
    tensor([[1.],
            [6.]])
    """
    if mode not in (0, 1, 2):
        raise ValueError(f"mode has to be 0 (sum), 1 (mean) or 2 (max), not {mode}")
    bags = lookups.embedding_bag(
        indices, weight, offsets, None, 2, scale_grad_by_freq, BAGS[mode], sparse,
        per_sample_weights, include_last_offset, padding_idx,
    )  # fmt: skip
    flat, starts = indices._array, offsets._array
    if not has_values(flat):
        count = bags._array.shape[:1]
        shapes = (flat.shape, count, bags._array.shape if mode == 2 else count)
        first, second, third = [new_tensor(zeros(flat, shape)) for shape in shapes]
        return bags, first, second, third
    ends = starts if include_last_offset else np.append(starts, flat.size)
    if known_true(ends[-1] < flat.size):  # what comes after the last bag is in none
        flat = flat[: int(ends[-1])]
    bag = np.repeat(table(ends, np.arange(len(ends) - 1)), np.diff(ends))
    counted = full(flat, flat.shape, True, np.bool_)
    if padding_idx is not None:
        counted = flat != padding_idx % weight._array.shape[0]
    sizes = np.bincount(bag[counted], minlength=len(ends) - 1)
    largest = zeros(sizes, bags._array.shape if mode == 2 else sizes.shape, np.int64)
    if mode == 2 and flat.size:
        winner, filled = lookups.winners(weight._array[flat], bag, counted, len(sizes))
        np.copyto(largest, flat[winner], where=filled)
    return bags, new_tensor(bag), new_tensor(sizes), new_tensor(largest)


def embedding_renorm_(
    input: Tensor, indices: Tensor, max_norm: float, norm_type: float = 2.0
) -> Tensor:
    """Scale down, in place, the rows at `indices` whose norm exceeds `max_norm`.

    Source: PyTorch's `embedding_renorm_`, what `embedding(max_norm=)` does first.

    >>> rg.embedding_renorm_(rg.tensor([[3.0, 4.0], [6.0, 8.0]]), rg.tensor([1]), 5.0)
    tensor([[3., 4.],
            [3., 4.]])
    """
    lookups.embedding(indices, input.detach(), None, max_norm, norm_type)
    return input


# -- convolution and sampling ------------------------------------------------------------------


def convolution(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Any,
    padding: Any,
    dilation: Any,
    transposed: bool,
    output_padding: Any,
    groups: int,
) -> Tensor:
    """The convolution for the number of dimensions, transposed or not.

    Raises RuntimeError for a weight of other dimensions. Source: PyTorch's `convolution`.

    >>> x, w = rg.ones(1, 1, 3), rg.ones(1, 1, 2)
    >>> rg.convolution(x, w, None, [1], [0], [1], False, [0], 1)
    tensor([[[2., 2.]]])
    """
    function: Callable[..., Tensor] | None = CONVOLUTIONS[transposed].get(weight._array.ndim)
    if function is None:
        raise RuntimeError(
            "convolution(): expected a weight (O, C, ...) of 3, 4 or 5 dimensions, got shape "
            f"{list(weight.shape)}"
        )
    sizes = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
    if transposed:
        sizes["output_padding"] = output_padding
    single = {k: tuple(v) if isinstance(v, (list, tuple)) else v for k, v in sizes.items()}
    return function(input, weight, bias, **single)


def affine_grid_generator(theta: Tensor, size: Any, align_corners: bool) -> Tensor:
    """`nn.functional.affine_grid`.

    >>> theta = rg.tensor([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]])
    >>> rg.affine_grid_generator(theta, (1, 1, 1, 2), False).shape
    retrograd.Size([1, 1, 2, 2])
    """
    return grids.affine_grid(theta, size, align_corners)


def grid_sampler(
    input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor:
    """`nn.functional.grid_sample` with modes by number.

    0, 1, 2 are bilinear, nearest and bicubic, and zeros, border and reflection. Raises ValueError
    for other numbers.

    >>> rg.grid_sampler(rg.ones(1, 1, 2, 2), rg.zeros(1, 1, 1, 2), 0, 0, True)
    tensor([[[[1.]]]])
    """
    for name, value in (("interpolation", interpolation_mode), ("padding", padding_mode)):
        if value not in (0, 1, 2):
            raise ValueError(f"grid_sampler(): the {name} mode is 0, 1 or 2, not {value}")
    modes, paddings = grids.MODES, grids.PADDINGS
    return grids.grid_sample(
        input, grid, modes[interpolation_mode], paddings[padding_mode], align_corners
    )


grid_sampler_2d = grid_sampler_3d = grid_sampler


# -- normalization and dropout -----------------------------------------------------------------


def moments(input: Tensor, dims: Any, eps: float, keepdim: bool) -> tuple[Tensor, Tensor]:
    """The mean, and one over the root of the variance plus `eps`."""
    var, mean = var_mean(input, dims, correction=0, keepdim=keepdim)
    return mean, (var + eps).rsqrt()


def native_layer_norm(
    input: Tensor, normalized_shape: Any, weight: Tensor | None, bias: Tensor | None, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    """`nn.functional.layer_norm`, with the means and one over the standard deviations.

    >>> rg.native_layer_norm(rg.tensor([1.0, 3.0]), [2], None, None, 0.0)
    (tensor([-1.,  1.]), tensor([2.]), tensor([1.]))
    """
    out = normalization.layer_norm(input, normalized_shape, weight, bias, eps)
    dims = tuple(range(input.ndim - len(normalized_shape), input.ndim))
    return (out, *moments(input.detach(), dims, eps, True))


def native_group_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    N: int,
    C: int,
    HxW: int,
    group: int,
    eps: float,
) -> tuple[Tensor, Tensor, Tensor]:
    """`nn.functional.group_norm`, with the means and one over the standard deviations, (N, group).

    Raises RuntimeError for an input of other than N * C * HxW elements.

    >>> rg.native_group_norm(rg.tensor([[1.0, 3.0]]), None, None, 1, 2, 1, 1, 0.0)
    (tensor([[-1.,  1.]]), tensor([[2.]]), tensor([[1.]]))
    """
    if input.numel() != N * C * HxW:
        raise RuntimeError(
            f"Expected X.numel() == N * C * HxW to be true, but got false: a tensor of shape "
            f"{list(input.shape)} for N={N}, C={C}, HxW={HxW}"
        )
    out = normalization.group_norm(input, group, weight, bias, eps)
    return (out, *moments(input.reshape(N, group, C // group * HxW), 2, eps, False))


def native_batch_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
) -> tuple[Tensor, Tensor, Tensor]:
    """`nn.functional.batch_norm`, with the means and one over the standard deviations.

    These are empty when not `training`.

    >>> x = rg.tensor([[1.0], [3.0]])
    >>> rg.native_batch_norm(x, None, None, None, None, True, 0.1, 0.0)[1:]
    (tensor([2.]), tensor([1.]))
    """
    out = normalization.batch_norm(
        input, running_mean, running_var, weight, bias, training, momentum, eps
    )
    if not training:
        return out, input.new_empty(0), input.new_empty(0)
    dims = tuple(d for d in range(input.ndim) if d != 1)
    return (out, *moments(input.detach(), dims, eps, False))


def native_dropout(input: Tensor, p: float, train: bool | None) -> tuple[Tensor, Tensor]:
    """`nn.functional.dropout`, with the mask of the elements that stay.

    >>> rg.native_dropout(rg.ones(2), 0.5, False)
    (tensor([1., 1.]), tensor([True, True]))
    """
    dropouts.check_probability(p)
    shape = input._array.shape
    if not (train is None or train):
        mask, scale = constant_like(np.ones(shape, np.bool_), input), 1.0
    else:
        mask, scale = dropouts.keep_mask(input, p, channels=False), 1 / (1 - p) if p < 1 else 0.0
    return name_node(
        dropouts.masked_scale(input, mask, scale=scale), "NativeDropoutBackward0"
    ), mask


@public()
def norm_except_dim(v: Tensor, pow: int = 2, dim: int = 0) -> Tensor:
    """The norms over all dimensions but `dim`, which stay with size 1; over all for `dim` -1.

    Source: PyTorch's `norm_except_dim`, for weight normalization.

    >>> rg.norm_except_dim(rg.tensor([[3.0, 4.0], [6.0, 8.0]]))
    tensor([[ 5.],
            [10.]])
    """
    if dim == -1:
        return vector_norm(v, pow)
    return vector_norm(v, pow, tuple(d for d in range(v.ndim) if d != dim % v.ndim), True)
