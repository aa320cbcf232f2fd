"""Normalization layers: over batches, instances, groups, or the last dimensions.

For complex dtypes weights and running means are complex, running variances real.
"""

from __future__ import annotations

import numbers
import warnings
from collections.abc import Sequence
from typing import Any

from ... import dtypes
from ...dtypes import dtype
from ...engine.placement import DeviceLike
from ...engine.tensor import Tensor
from .. import functional as F
from .. import init
from .module import Module
from .utils import empty, empty_parameter

__all__ = [
    "BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "CrossMapLRN2d", "GroupNorm", "InstanceNorm1d",
    "InstanceNorm2d", "InstanceNorm3d", "LayerNorm", "LocalResponseNorm", "RMSNorm",
]  # fmt: skip


class _Normalization(Module):
    """Weight, bias and running statistics, each of one number per channel."""

    _shown_settings = "num_features eps= momentum= affine= bias= track_running_stats="
    _version = 2  # version 1 of a saved state had no num_batches_tracked
    dims: tuple[int, ...]

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: DeviceLike = None,
        dtype: dtype | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.affine, self.track_running_stats = affine, track_running_stats
        size = (num_features,)
        self.register_parameter("weight", empty_parameter(size, device, dtype) if affine else None)
        self.register_parameter(
            "bias", empty_parameter(size, device, dtype) if affine and bias else None
        )
        mean = var = count = None
        if track_running_stats:
            mean = empty(size, device, dtype)
            var = empty(size, device, dtypes.of_numpy(dtypes.real_of(mean._array.dtype)))
            count = empty((), device, dtypes.int64)
        self.register_buffer("running_mean", mean)
        self.register_buffer("running_var", var)
        self.register_buffer("num_batches_tracked", count)
        self.reset_parameters()

    def reset_running_stats(self) -> None:
        """Set the running mean to 0, the variance to 1, the count to 0."""
        if self.track_running_stats:
            init.zeros_(self.running_mean)
            init.ones_(self.running_var)
            init.zeros_(self.num_batches_tracked)

    def reset_parameters(self) -> None:
        """Set weight to 1, bias to 0, and the running statistics to their start."""
        self.reset_running_stats()
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)

    def _check_input_dim(self, input: Tensor) -> None:
        if input._array.ndim not in self.dims:
            wanted = " or ".join(f"{n}D" for n in self.dims)
            raise ValueError(f"expected {wanted} input (got {input._array.ndim}D input)")

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, local_metadata: Any, *rest: Any
    ) -> None:
        version = local_metadata.get("version")
        key = prefix + "num_batches_tracked"
        if (version is None or version < 2) and self.track_running_stats:
            state_dict.setdefault(key, self.num_batches_tracked)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *rest)


class _BatchNorm(_Normalization):
    """Normalization of each channel over the batch and the positions."""

    def forward(self, input: Tensor) -> Tensor:
        """`input` normalized, by its own statistics while training, else by the running ones."""
        self._check_input_dim(input)
        mean, var = self.running_mean, self.running_var
        share = 0.0 if self.momentum is None else self.momentum
        if self.training and self.track_running_stats:
            if self.num_batches_tracked is not None:
                self.num_batches_tracked.add_(1)
                if self.momentum is None:  # a plain average over all batches so far
                    share = 1.0 / self.num_batches_tracked.item()
        elif self.training:
            mean = var = None
        by_batch = self.training or (mean is None and var is None)
        return self._normalized(input, mean, var, by_batch, share)

    def _normalized(
        self, input: Tensor, mean: Tensor | None, var: Tensor | None, by_batch: bool, share: float
    ) -> Tensor:
        """`input` normalized, by its own statistics or by those given, which follow by `share`."""
        return F.batch_norm(input, mean, var, self.weight, self.bias, by_batch, share, self.eps)


class BatchNorm1d(_BatchNorm):
    """Batch normalization: (N, C) or (N, C, L) to the same shape, C being `num_features`.

    (x - mean) / sqrt(var + eps) * weight + bias per channel, with mean and biased variance of the
    batch while training; `running_mean` and (unbiased) `running_var` follow with `momentum`, or as
    plain averages if that is None, and serve in evaluation mode. Floating or complex, the latter in
    a layer of complex dtype. Raises ValueError for another number of dimensions, or a single value
    per channel while training, RuntimeError for another C. Source: PyTorch's `nn.BatchNorm1d`;
    Ioffe and Szegedy, ICML 2015.

    >>> layer = rg.nn.BatchNorm1d(1)
    >>> layer(rg.tensor([[1.0], [3.0]])).tolist(), layer.running_mean.tolist()
    ([[-0.9999949932098389], [0.9999949932098389]], [0.20000000298023224])
    """

    dims = (2, 3)


class BatchNorm2d(_BatchNorm):
    """Batch normalization of images: (N, C, H, W) to the same shape.

    Everything else is as for `BatchNorm1d`.

    >>> layer = rg.nn.BatchNorm2d(3)
    >>> layer(rg.ones(2, 3, 4, 4)).shape, layer.num_batches_tracked
    (retrograd.Size([2, 3, 4, 4]), tensor(1))
    """

    dims = (4,)


class BatchNorm3d(_BatchNorm):
    """Batch normalization of volumes: (N, C, D, H, W) to the same shape.

    Everything else is as for `BatchNorm1d`.

    >>> x = rg.tensor([1.0, 3.0]).reshape(2, 1, 1, 1, 1)
    >>> rg.nn.BatchNorm3d(1)(x).detach().flatten()
    tensor([-1.0000,  1.0000])
    """

    dims = (5,)


class _InstanceNorm(_Normalization):
    """Normalization of each channel of each sample over the positions."""

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device: DeviceLike = None,
        dtype: dtype | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(
            num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias
        )

    def forward(self, input: Tensor) -> Tensor:
        """`input` normalized; a sample without the batch dimension is taken too."""
        self._check_input_dim(input)
        channels = input._array.shape[-self.dims[0]]
        if channels != self.num_features:
            dim = input._array.ndim - self.dims[0]
            if self.affine:
                raise ValueError(
                    f"expected input's size at dim={dim} to match num_features "
                    f"({self.num_features}), but got: {channels}."
                )
            warnings.warn(
                f"input's size at dim={dim} does not match num_features, which is not used "
                f"because affine=False: {channels} for {self.num_features}",
                stacklevel=2,
            )
        single = input._array.ndim == self.dims[0]
        out = F.instance_norm(
            input.unsqueeze(0) if single else input,
            self.running_mean,
            self.running_var,
            self.weight,
            self.bias,
            self.training or not self.track_running_stats,
            0.0 if self.momentum is None else self.momentum,
            self.eps,
        )
        return out.squeeze(0) if single else out


class InstanceNorm1d(_InstanceNorm):
    """Instance normalization: (N, C, L) to the same shape, N optional; each channel of each sample.

    Running statistics and weights only if asked for. Floating or complex. Raises ValueError for
    another number of dimensions, or a C other than `num_features` if there are weights. Source:
    PyTorch's `nn.InstanceNorm1d`; Ulyanov et al., 2016.

    >>> rg.nn.InstanceNorm1d(2)(rg.tensor([[[1.0, 3.0], [10.0, 30.0]]]))
    tensor([[[-1.0000,  1.0000],
             [-1.0000,  1.0000]]])
    """

    dims = (2, 3)


class InstanceNorm2d(_InstanceNorm):
    """Instance normalization of images: (N, C, H, W) to the same shape, N optional.

    Everything else is as for `InstanceNorm1d`.

    >>> rg.nn.InstanceNorm2d(2)(rg.ones(1, 2, 2, 2)).abs().max()
    tensor(0.)
    """

    dims = (3, 4)


class InstanceNorm3d(_InstanceNorm):
    """Instance normalization of volumes: (N, C, D, H, W) to the same shape, N optional.

    Everything else is as for `InstanceNorm1d`.

    >>> rg.nn.InstanceNorm3d(1)(rg.tensor([[[[1.0, 3.0]]]]))
    tensor([[[[-1.0000,  1.0000]]]])
    """

    dims = (4, 5)


class LayerNorm(Module):
    """Normalization over the last dimensions, which have the sizes `normalized_shape`.

    (*, *normalized_shape) to the same shape; floating or complex. It has a weight and a bias of
    those sizes if `elementwise_affine`. Raises RuntimeError for other sizes. Source: PyTorch's
    `nn.LayerNorm`; Ba et al., 2016.

    >>> rg.nn.LayerNorm(2, eps=0.0)(rg.tensor([[1.0, 3.0]])).tolist()
    [[-1.0, 1.0]]
    """

    _shown_settings = "normalized_shape eps= elementwise_affine= bias="

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: DeviceLike = None,
        dtype: dtype | None = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = _shape(normalized_shape)
        self.eps, self.elementwise_affine = eps, elementwise_affine
        for name, wanted in (("weight", True), ("bias", bias)):
            made = None
            if elementwise_affine and wanted:
                made = empty_parameter(self.normalized_shape, device, dtype)
            self.register_parameter(name, made)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set weight to 1 and bias to 0."""
        _reset(self)

    def forward(self, input: Tensor) -> Tensor:
        """`input` normalized over its last dimensions."""
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)


class GroupNorm(Module):
    """Normalization over groups of channels of (N, C, *), with a weight and bias per channel.

    The output has the same shape; floating or complex. Raises ValueError unless `num_groups`
    divides `num_channels`, RuntimeError for an input with another C. Source: PyTorch's
    `nn.GroupNorm`; Wu and He, ECCV 2018.

    >>> rg.nn.GroupNorm(2, 4)(rg.ones(1, 4, 3)).abs().max().item()
    0.0
    """

    _shown_settings = "num_groups num_channels eps= affine= bias="

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        device: DeviceLike = None,
        dtype: dtype | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        if num_channels % num_groups:
            raise ValueError(
                f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})"
            )
        self.num_groups, self.num_channels = num_groups, num_channels
        self.eps, self.affine = eps, affine
        for name, wanted in (("weight", affine), ("bias", affine and bias)):
            made = empty_parameter((num_channels,), device, dtype) if wanted else None
            self.register_parameter(name, made)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set weight to 1 and bias to 0."""
        _reset(self)

    def forward(self, input: Tensor) -> Tensor:
        """`input` normalized by groups."""
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)


class RMSNorm(Module):
    """Division by the root mean square over the last dimensions, `normalized_shape`, times weight.

    (*, *normalized_shape) to the same shape; floating or complex. `eps` is the dtype's if None.
    Raises RuntimeError for other sizes. Source: PyTorch's `nn.RMSNorm`; Zhang and Sennrich, NeurIPS
    2019.

    >>> rg.nn.RMSNorm(2)(rg.tensor([[3.0, 3.0]])).tolist()
    [[1.0, 1.0]]
    """

    _shown_settings = "normalized_shape eps= elementwise_affine="

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float | None = None,
        elementwise_affine: bool = True,
        device: DeviceLike = None,
        dtype: dtype | None = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = _shape(normalized_shape)
        self.eps, self.elementwise_affine = eps, elementwise_affine
        made = None
        if elementwise_affine:
            made = empty_parameter(self.normalized_shape, device, dtype)
        self.register_parameter("weight", made)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set weight to 1."""
        _reset(self)

    def forward(self, x: Tensor) -> Tensor:
        """`x` divided by its root mean square."""
        return F.rms_norm(x, self.normalized_shape, self.weight, self.eps)


class LocalResponseNorm(Module):
    """x / (k + alpha * mean of x^2 over `size` neighbouring channels)^beta.

    (N, C, *) to the same shape, of at least three dimensions, else ValueError; real or complex.
    Source: PyTorch's `nn.LocalResponseNorm`; Krizhevsky et al., NeurIPS 2012.

    >>> x = rg.tensor([[[1.0], [2.0]]])
    >>> rg.nn.LocalResponseNorm(2, alpha=2.0, beta=1.0)(x)
    tensor([[[0.5000],
             [0.3333]]])
    """

    _shown_settings = "size alpha= beta= k="

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> None:
        super().__init__()
        self.size, self.alpha, self.beta, self.k = size, alpha, beta, k

    def forward(self, input: Tensor) -> Tensor:
        """`input` (N, C, *) normalized across channels."""
        return F.local_response_norm(input, self.size, self.alpha, self.beta, self.k)


def _shape(sizes: Any) -> tuple[int, ...]:
    return (int(sizes),) if isinstance(sizes, numbers.Integral) else tuple(sizes)


def _reset(module: Any) -> None:
    if module.weight is not None:
        init.ones_(module.weight)
    if module._parameters.get("bias") is not None:
        init.zeros_(module.bias)


class CrossMapLRN2d(Module):
    """Divide by (k + alpha / size * sum of |x|^2 over `size` neighbouring channels)^beta.

    (N, C, H, W) to the same shape, else ValueError; real or complex. For an even `size` the window
    is one channel narrower, to be symmetric. (PyTorch's class leaves the first channel in the
    windows of later ones, and its gradient is another function's.) Source: Krizhevsky et al., 2012.

    >>> rg.nn.CrossMapLRN2d(1, alpha=1.0, beta=1.0)(rg.ones(1, 1, 1, 2))
    tensor([[[[0.5000, 0.5000]]]])
    """

    _shown_settings = "size alpha= beta= k="

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1) -> None:
        super().__init__()
        self.size, self.alpha, self.beta, self.k = size, alpha, beta, k

    def forward(self, input: Tensor) -> Tensor:
        """The normalized input."""
        if input._array.ndim != 4:
            raise ValueError(
                f"CrossMapLRN2d: Expected input to be 4D, got {input._array.ndim}D instead."
            )
        window = 2 * ((self.size - 1) // 2) + 1
        alpha = self.alpha * window / self.size
        return F.local_response_norm(input, window, alpha, self.beta, self.k)
