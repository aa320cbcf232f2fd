"""The operators of torchvision's `torch.ops.torchvision`, which the package itself has in C++.

`torch.ops.load_library` loads this module in place of torchvision's own file; arguments and results
are those of its operators, which `vision.ops` computes. All are here, also those that nothing here
calls: importing torchvision registers a function of shapes for each, and raises where one lacks.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ...autograd import enable_grad
from ...autograd import grad as gradients
from ...ops.creation.factories import arange, zeros
from ...ops.creation.from_data import from_numpy
from ..library.custom import CustomOpDef
from ..library.libraries import Library
from .ops import boxes, deform_conv, regions, rotated

if TYPE_CHECKING:
    from ...engine.tensor import Tensor

__all__ = ["LIBRARY"]

LIBRARY = Library("torchvision", "DEF")


def operator(function: Any) -> Any:
    """Define a function as the operator of its name; its derivative is that of what it calls."""
    LIBRARY.impl(
        CustomOpDef(f"torchvision::{function.__name__}", function),
        function,
        "CompositeImplicitAutograd",
    )
    return function


def checked(maps: Tensor, rois: Tensor) -> None:
    """Raise RuntimeError for regions that are not (K, 5), or of another dtype than the maps."""
    if rois.ndim != 2 or rois.shape[1] != 5:
        raise RuntimeError(f"rois must have shape as Tensor[K, 5]: got {tuple(rois.shape)}")
    if maps.dtype != rois.dtype:
        raise RuntimeError(
            "Expected tensor for input to have the same type as tensor for rois; but type "
            f"{maps.dtype} does not equal {rois.dtype}"
        )


@operator
def _cuda_version() -> int:
    """The version of CUDA: none."""
    return -1


@operator
def nms(dets: Tensor, scores: Tensor, iou_threshold: float) -> Tensor:
    """`vision.ops.nms`."""
    return boxes.nms(dets, scores, iou_threshold)


@operator
def qnms(dets: Tensor, scores: Tensor, iou_threshold: float) -> Tensor:
    """`vision.ops.nms` of boxes and scores as integers, whose scale makes no difference."""
    return boxes.nms(dets.double(), scores.double(), iou_threshold)


@operator
def roi_align(
    input: Tensor, rois: Tensor, spatial_scale: float, pooled_height: int, pooled_width: int,
    sampling_ratio: int, aligned: bool,
) -> Tensor:  # fmt: skip
    """`vision.ops.roi_align`."""
    checked(input, rois)
    size = (pooled_height, pooled_width)
    return regions.roi_align(input, rois, size, spatial_scale, sampling_ratio, aligned)


@operator
def _roi_align_backward(
    grad: Tensor, rois: Tensor, spatial_scale: float, pooled_height: int, pooled_width: int,
    batch_size: int, channels: int, height: int, width: int, sampling_ratio: int, aligned: bool,
) -> Tensor:  # fmt: skip
    """The gradient of the maps."""
    checked(grad, rois)
    shape, bins = (batch_size, channels, height, width), (pooled_height, pooled_width)
    settings = (spatial_scale, sampling_ratio, aligned, grad.dtype.numpy)
    found = regions.aligned_regions(shape, rois, bins, *settings)
    return regions.Scattered.apply(grad, shape, found, bins, False)


@operator
def qroi_align(
    input: Tensor, rois: Tensor, input_scale: float, input_zero_point: int, rois_scale: float,
    rois_zero_point: int, spatial_scale: float, pooled_height: int, pooled_width: int,
    sampling_ratio: int, aligned: bool,
) -> Tensor:  # fmt: skip
    """`vision.ops.roi_align` of maps and regions as integers, with scales and zero points."""
    corners = (rois.float() - rois_zero_point) * rois_scale
    size = (pooled_height, pooled_width)
    maps = input.float() - input_zero_point
    found = regions.roi_align(maps, corners, size, spatial_scale, sampling_ratio, aligned)
    return (found.round() + input_zero_point).to(input.dtype)


@operator
def roi_pool(
    input: Tensor, rois: Tensor, spatial_scale: float, pooled_height: int, pooled_width: int
) -> tuple[Tensor, Tensor]:
    """`vision.ops.roi_pool`, and where in the maps the maxima are."""
    checked(input, rois)
    return regions.largest(input, rois, (pooled_height, pooled_width), spatial_scale)


@operator
def _roi_pool_backward(
    grad: Tensor, rois: Tensor, argmax: Tensor, spatial_scale: float, pooled_height: int,
    pooled_width: int, batch_size: int, channels: int, height: int, width: int,
) -> Tensor:  # fmt: skip
    """The gradient of the maps."""
    checked(grad, rois)
    picture = rois[:, 0].long()[:, None, None]
    places = argmax.flatten(2).long()
    made = zeros(batch_size, channels, height * width, dtype=grad.dtype)
    key = (picture, arange(channels)[:, None], places.clamp(min=0))
    values = grad.flatten(2).masked_fill(places < 0, 0)
    return made.index_put(key, values, accumulate=True).reshape((*made.shape[:2], height, width))


def channels_of(result: Tensor) -> Tensor:
    """The channel, int32, of which each element of a result by `ps_roi_align` is a mean."""
    shape = result.shape
    return arange(math.prod(shape[1:])).int().reshape(shape[1:]).expand(shape).contiguous()


@operator
def ps_roi_align(
    input: Tensor, rois: Tensor, spatial_scale: float, pooled_height: int, pooled_width: int,
    sampling_ratio: int,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """`vision.ops.ps_roi_align`, and the channels that were read."""
    checked(input, rois)
    size = (pooled_height, pooled_width)
    found = regions.ps_roi_align(input, rois, size, spatial_scale, sampling_ratio)
    return found, channels_of(found)


@operator
def _ps_roi_align_backward(
    grad: Tensor, rois: Tensor, channel_mapping: Tensor, spatial_scale: float, pooled_height: int,
    pooled_width: int, sampling_ratio: int, batch_size: int, channels: int, height: int, width: int,
) -> Tensor:  # fmt: skip
    """The gradient of the maps."""
    checked(grad, rois)
    shape, bins = (batch_size, channels, height, width), (pooled_height, pooled_width)
    settings = (spatial_scale, sampling_ratio, True, grad.dtype.numpy)
    found = regions.aligned_regions(shape, rois, bins, *settings)
    return regions.Scattered.apply(grad, shape, found, bins, True)


@operator
def ps_roi_pool(
    input: Tensor, rois: Tensor, spatial_scale: float, pooled_height: int, pooled_width: int
) -> tuple[Tensor, Tensor]:
    """`vision.ops.ps_roi_pool`, and the channels that were read."""
    checked(input, rois)
    found = regions.ps_roi_pool(input, rois, (pooled_height, pooled_width), spatial_scale)
    return found, channels_of(found)


@operator
def _ps_roi_pool_backward(
    grad: Tensor, rois: Tensor, channel_mapping: Tensor, spatial_scale: float, pooled_height: int,
    pooled_width: int, batch_size: int, channels: int, height: int, width: int,
) -> Tensor:  # fmt: skip
    """The gradient of the maps."""
    checked(grad, rois)
    shape, bins = (batch_size, channels, height, width), (pooled_height, pooled_width)
    found = regions.pooled_regions(shape, rois, bins, spatial_scale, grad.dtype.numpy)
    return regions.Scattered.apply(grad, shape, found, bins, True)


@operator
def deform_conv2d(
    input: Tensor, weight: Tensor, offset: Tensor, mask: Tensor, bias: Tensor, stride_h: int,
    stride_w: int, pad_h: int, pad_w: int, dilation_h: int, dilation_w: int, groups: int,
    offset_groups: int, use_mask: bool,
) -> Tensor:  # fmt: skip
    """`vision.ops.deform_conv2d`."""
    steps = (stride_h, stride_w), (pad_h, pad_w), (dilation_h, dilation_w)
    return deform_conv.deform_conv2d(
        input, offset, weight, bias, *steps, mask if use_mask else None
    )


@operator
def _deform_conv2d_backward(
    grad: Tensor, input: Tensor, weight: Tensor, offset: Tensor, mask: Tensor, bias: Tensor,
    stride_h: int, stride_w: int, pad_h: int, pad_w: int, dilation_h: int, dilation_w: int,
    groups: int, offset_groups: int, use_mask: bool,
) -> tuple[Tensor, ...]:  # fmt: skip
    """The gradients of the tensors."""
    steps = stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w
    with enable_grad():
        given = [each.detach().requires_grad_() for each in (input, weight, offset, mask, bias)]
        out = deform_conv2d(*given, *steps, groups, offset_groups, use_mask)
    return gradients(out, given, grad, allow_unused=True, materialize_grads=True)


@operator
def box_iou_rotated(boxes1: Tensor, boxes2: Tensor) -> Tensor:
    """Intersection over union (N, M) of boxes (N, 5) and (M, 5): centre, sides, degrees."""
    return from_numpy(rotated.overlaps(boxes1.detach().numpy(), boxes2.detach().numpy()))
