"""`torch.nn.modules.batchnorm`: layers of two families here, and the one over processes."""

from __future__ import annotations

from typing import Any

from ....engine.tensor import Tensor
from ....locks import load
from ....nn.modules.lazy import LazyBatchNorm1d, LazyBatchNorm2d, LazyBatchNorm3d
from ....nn.modules.normalization import BatchNorm1d, BatchNorm2d, BatchNorm3d, _BatchNorm
from ....nn.modules.normalization import _Normalization as _NormBase
from ....ops.nn.normalization import _check_width, _per_channel, _track
from ....ops.shape.join import cat, stack

__all__ = [
    "BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "LazyBatchNorm1d", "LazyBatchNorm2d",
    "LazyBatchNorm3d", "SyncBatchNorm", "_BatchNorm", "_NormBase",
]  # fmt: skip


class SyncBatchNorm(_BatchNorm):
    """Batch normalization by mean and variance over the batches of all processes of a group.

    (N, C, *) to the same shape, floating or complex; N may differ between ranks, and be 0.
    process_group: the ranks, all of them by default. In training all of them call the layer, and
    run the backward pass where the input has a gradient. Without a group of more than one process,
    and in evaluation mode, it is `BatchNorm1d` for any number of dimensions. Raises ValueError for
    fewer than two dimensions or no channels, RuntimeError where ranks do not take part; everything
    else is as for `BatchNorm1d`. Source: PyTorch's `nn.SyncBatchNorm`, which takes no CPU tensors.

    >>> rg.nn.SyncBatchNorm(3)(rg.ones(2, 3, 4, 4)).shape
    retrograd.Size([2, 3, 4, 4])
    """

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        process_group: Any = None,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(
            num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias
        )
        self.process_group = process_group

    def _check_input_dim(self, input: Tensor) -> None:
        if input._array.ndim < 2:
            raise ValueError(f"expected at least 2D input (got {input._array.ndim}D input)")
        if input.shape[1] == 0:
            raise ValueError("SyncBatchNorm number of input channels should be non-zero")

    def _normalized(
        self, input: Tensor, mean: Tensor | None, var: Tensor | None, by_batch: bool, share: float
    ) -> Tensor:
        """`input` normalized, by the statistics of all ranks or by those given."""
        dist, group = load("retrograd.torch.distributed") if by_batch else None, self.process_group
        if dist is None or not dist.is_initialized() or dist.get_world_size(group) == 1:
            return super()._normalized(input, mean, var, by_batch, share)
        _check_width(input, self.weight, self.bias, mean, var)
        x = input.float() if input.dtype.itemsize == 2 else input
        ndim = x.ndim
        count, centre, variance = _over_ranks(x, group)
        if mean is not None and count:
            _track(mean, centre, 1.0, share, "batch_norm")
            _track(var, variance, count / max(count - 1, 1), share, "batch_norm")
        scale = (variance + self.eps).rsqrt()
        if self.weight is not None:
            scale = scale * self.weight
        out: Tensor = (x - _per_channel(centre, ndim)) * _per_channel(scale, ndim)
        if self.bias is not None:
            out = out + _per_channel(self.bias, ndim)
        return out.to(input.dtype)

    @classmethod
    def convert_sync_batchnorm(cls, module: Any, process_group: Any = None) -> Any:
        """`module` with every batch normalization in it, itself included, as this class."""
        if isinstance(module, _BatchNorm):
            made = cls(
                module.num_features, module.eps, module.momentum, module.affine,
                module.track_running_stats, process_group,
            )  # fmt: skip
            made._parameters, made._buffers = module._parameters, module._buffers
            made.training = module.training
            return made
        for name, child in module.named_children():
            module.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return module


def _over_ranks(x: Tensor, group: Any) -> tuple[float, Tensor, Tensor]:
    """(elements of a channel, mean, biased variance) over all ranks, with their derivatives.

    One message: every rank's mean, squared distances from it, and number of elements, of which
    the whole is made as by Chan, Golub and LeVeque, 1979, so that no large squares cancel.
    """
    dim = (0, *range(2, x.ndim))
    channels, here = x.shape[1], x.numel() // x.shape[1]
    mean = x.sum(dim) / max(here, 1)
    away = x - _per_channel(mean, x.ndim)
    squares = (away * away.conj()).real.sum(dim)
    sent = cat([mean, squares.to(x.dtype), x.new_full((1,), here)])
    ranks = stack(load("retrograd.torch.distributed.nn").all_gather(sent, group))
    means, squares, counts = ranks.split([channels, channels, 1], dim=1)
    squares, counts = squares.real, counts.real.detach()
    count = float(counts.sum())
    centre = (counts * means).sum(0) / count
    away = means - centre
    variance = (squares + counts * (away * away.conj()).real).sum(0) / count
    return count, centre, variance
