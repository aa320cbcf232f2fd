"""Classes that stand for others: older names, and batch normalization across processes."""

from __future__ import annotations

from typing import Any

from ...engine.tensor import Tensor
from .arrange import Upsample
from .loss import NLLLoss
from .module import Module
from .normalization import _BatchNorm

__all__ = [
    "Container",
    "NLLLoss2d",
    "SyncBatchNorm",
    "UpsamplingBilinear2d",
    "UpsamplingNearest2d",
]


class Container(Module):
    """A module that holds the modules given by name, and has no `forward`.

    >>> [name for name, _ in rg.nn.Container(a=rg.nn.ReLU()).named_children()]
    ['a']
    """

    def __init__(self, **kwargs: Module) -> None:
        super().__init__()
        for name, module in kwargs.items():
            self.add_module(name, module)


class NLLLoss2d(NLLLoss):
    """The same as `NLLLoss`, which takes images, (N, C, H, W) and (N, H, W), too.

    >>> rg.nn.NLLLoss2d()(-rg.ones(1, 3, 2, 2), rg.zeros(1, 2, 2, dtype=rg.int64))
    tensor(1.)
    """


class SyncBatchNorm(_BatchNorm):
    """Batch normalization over all processes of a group; here there is one.

    (N, C, *) to the same shape. Raises ValueError for fewer than two dimensions or no channels;
    everything else is as for `BatchNorm1d`.

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


class _Upsampling(Upsample):
    """`Upsample` whose mode the class says."""

    kind: str
    corners: bool | None = None

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, self.kind, self.corners)


class UpsamplingNearest2d(_Upsampling):
    """`Upsample` of images, (N, C, H, W) to (N, C, *size), with mode "nearest".

    >>> rg.nn.UpsamplingNearest2d(scale_factor=2)(rg.tensor([[[[1.0]]]]))
    tensor([[[[1., 1.],
              [1., 1.]]]])
    """

    kind = "nearest"


class UpsamplingBilinear2d(_Upsampling):
    """`Upsample` of images, (N, C, H, W) to (N, C, *size), bilinear and with `align_corners`.

    >>> rg.nn.UpsamplingBilinear2d(size=(1, 3))(rg.tensor([[[[0.0, 4.0]]]]))
    tensor([[[[0., 2., 4.]]]])
    """

    kind, corners = "bilinear", True
