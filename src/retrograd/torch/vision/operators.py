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
from ..library.libraries import Library
from .ops import boxes, deform_conv, regions, rotated

if TYPE_CHECKING:
    from ...engine.tensor import Tensor

__all__ = ["LIBRARY"]

LIBRARY = Library("torchvision", "DEF")

# Parts of schemas: the regions and the bins of each, a shape, the steps of a convolution.
BINS = "float spatial_scale, SymInt pooled_height, SymInt pooled_width"
REGIONS = f"Tensor rois, {BINS}"
SHAPE = "SymInt batch_size, SymInt channels, SymInt height, SymInt width"
STEPS = (
    "Tensor input, Tensor weight, Tensor offset, Tensor mask, Tensor bias, SymInt stride_h, SymInt "
    "stride_w, SymInt pad_h, SymInt pad_w, SymInt dilation_h, SymInt dilation_w, SymInt groups, "
    "SymInt offset_groups, bool use_mask"
)


def checked(maps: Tensor, rois: Tensor) -> None:
    """Raise RuntimeError for regions that are not (K, 5), or of another dtype than the maps."""
    if rois.ndim != 2 or rois.shape[1] != 5:
        raise RuntimeError(f"rois must have shape as Tensor[K, 5]: got {tuple(rois.shape)}")
    if maps.dtype != rois.dtype:
        raise RuntimeError(
            "Expected tensor for input to have the same type as tensor for rois; but type "
            f"{maps.dtype} does not equal {rois.dtype}"
        )


def roi_align(
    input: Tensor, rois: Tensor, scale: float, rows: int, columns: int, ratio: int, aligned: bool
) -> Tensor:
    """`vision.ops.roi_align`."""
    checked(input, rois)
    return regions.roi_align(input, rois, (rows, columns), scale, ratio, aligned)


def qroi_align(
    input: Tensor, rois: Tensor, input_scale: float, input_zero_point: int, rois_scale: float,
    rois_zero_point: int, *settings: Any,
) -> Tensor:  # fmt: skip
    """`vision.ops.roi_align` of maps and regions as integers, with scales and zero points."""
    corners = (rois.float() - rois_zero_point) * rois_scale
    found = roi_align(input.float() - input_zero_point, corners, *settings)
    return (found.round() + input_zero_point).to(input.dtype)


def roi_pool(
    input: Tensor, rois: Tensor, scale: float, rows: int, columns: int
) -> tuple[Tensor, Tensor]:
    """`vision.ops.roi_pool`, and where in the maps the maxima are."""
    checked(input, rois)
    return regions.largest(input, rois, (rows, columns), scale)


def roi_pool_backward(
    grad: Tensor, rois: Tensor, argmax: Tensor, scale: float, rows: int, columns: int, *shape: int
) -> Tensor:
    """The gradient of the maps."""
    checked(grad, rois)
    batch, channels, height, width = shape
    picture = rois[:, 0].long()[:, None, None]
    places = argmax.flatten(2).long()
    made = zeros(batch, channels, height * width, dtype=grad.dtype)
    key = (picture, arange(channels)[:, None], places.clamp(min=0))
    values = grad.flatten(2).masked_fill(places < 0, 0)
    return made.index_put(key, values, accumulate=True).reshape(shape)


def with_channels(result: Tensor) -> tuple[Tensor, Tensor]:
    """A result, and the channel, int32, of which each element is a mean: each has its own."""
    shape = result.shape
    places = arange(math.prod(shape[1:])).int().reshape(shape[1:])
    return result, places.expand(shape).contiguous()


def ps_roi_align(
    input: Tensor, rois: Tensor, scale: float, rows: int, columns: int, ratio: int
) -> tuple[Tensor, Tensor]:
    """`vision.ops.ps_roi_align`, and the channels that were read."""
    checked(input, rois)
    return with_channels(regions.ps_roi_align(input, rois, (rows, columns), scale, ratio))


def ps_roi_pool(
    input: Tensor, rois: Tensor, scale: float, rows: int, columns: int
) -> tuple[Tensor, Tensor]:
    """`vision.ops.ps_roi_pool`, and the channels that were read."""
    checked(input, rois)
    return with_channels(regions.ps_roi_pool(input, rois, (rows, columns), scale))


def pulled_back(function: Any, grad: Tensor, shape: tuple[int, ...], *settings: Any) -> Tensor:
    """The gradient of maps of a shape, in which a function is linear."""
    with enable_grad():
        maps = zeros(shape, dtype=grad.dtype, requires_grad=True)
        out = function(maps, *settings)
    return gradients(out[0] if isinstance(out, tuple) else out, maps, grad)[0]


def deform_conv2d(
    input: Tensor, weight: Tensor, offset: Tensor, mask: Tensor, bias: Tensor, *steps: Any
) -> Tensor:
    """`vision.ops.deform_conv2d`."""
    pairs = steps[:2], steps[2:4], steps[4:6]
    given = mask if steps[-1] else None
    return deform_conv.deform_conv2d(input, offset, weight, bias, *pairs, given)


def deform_conv2d_backward(grad: Tensor, *args: Any) -> tuple[Tensor, ...]:
    """The gradients of the tensors."""
    with enable_grad():
        given = [each.detach().requires_grad_() for each in args[:5]]
        out = deform_conv2d(*given, *args[5:])
    return gradients(out, given, grad, allow_unused=True, materialize_grads=True)


def box_iou_rotated(boxes1: Tensor, boxes2: Tensor) -> Tensor:
    """Intersection over union (N, M) of boxes (N, 5) and (M, 5): centre, sides, degrees."""
    return from_numpy(rotated.overlaps(boxes1.detach().numpy(), boxes2.detach().numpy()))


# By schemas; the derivative of each is that of what it calls.
OPERATORS: dict[str, Any] = {
    "_cuda_version() -> int": lambda: -1,
    "nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor": boxes.nms,
    "qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor": (
        lambda dets, scores, limit: boxes.nms(dets.double(), scores.double(), limit)
    ),
    f"roi_align(Tensor input, {REGIONS}, int sampling_ratio, bool aligned) -> Tensor": roi_align,
    f"_roi_align_backward(Tensor grad, {REGIONS}, {SHAPE}, int sampling_ratio, bool aligned) -> "
    "Tensor": lambda grad, rois, scale, p, q, n, c, h, w, ratio, aligned: pulled_back(
        roi_align, grad, (n, c, h, w), rois, scale, p, q, ratio, aligned
    ),
    "qroi_align(Tensor input, Tensor rois, float input_scale, int input_zero_point, float "
    f"rois_scale, int rois_zero_point, {BINS}, int sampling_ratio, bool aligned) -> Tensor": (
        qroi_align
    ),
    f"roi_pool(Tensor input, {REGIONS}) -> (Tensor, Tensor)": roi_pool,
    f"_roi_pool_backward(Tensor grad, Tensor rois, Tensor argmax, {BINS}, {SHAPE}) -> Tensor": (
        roi_pool_backward
    ),
    f"ps_roi_align(Tensor input, {REGIONS}, int sampling_ratio) -> (Tensor, Tensor)": ps_roi_align,
    f"_ps_roi_align_backward(Tensor grad, Tensor rois, Tensor channel_mapping, {BINS}, int "
    f"sampling_ratio, {SHAPE}) -> Tensor": (
        lambda grad, rois, channels, scale, p, q, ratio, *shape: pulled_back(
            ps_roi_align, grad, shape, rois, scale, p, q, ratio
        )
    ),
    f"ps_roi_pool(Tensor input, {REGIONS}) -> (Tensor, Tensor)": ps_roi_pool,
    f"_ps_roi_pool_backward(Tensor grad, Tensor rois, Tensor channel_mapping, {BINS}, {SHAPE}) -> "
    "Tensor": lambda grad, rois, channels, scale, p, q, *shape: pulled_back(
        ps_roi_pool, grad, shape, rois, scale, p, q
    ),
    f"deform_conv2d({STEPS}) -> Tensor": deform_conv2d,
    f"_deform_conv2d_backward(Tensor grad, {STEPS}) -> (Tensor, Tensor, Tensor, Tensor, Tensor)": (
        deform_conv2d_backward
    ),
    "box_iou_rotated(Tensor boxes1, Tensor boxes2) -> Tensor": box_iou_rotated,
}
for schema, function in OPERATORS.items():
    LIBRARY.impl(LIBRARY.define(schema), function, "CompositeImplicitAutograd")
