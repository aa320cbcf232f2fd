"""The operators that the package torchvision has in C++, by their names in `torch.ops`."""

from __future__ import annotations

import numpy as np
import pytest

import retrograd as rg
from retrograd.torch import library
from retrograd.torch.library import ops
from retrograd.torch.vision.ops import rotated

ops.load_library("site-packages/torchvision/_C.so")
own = ops.torchvision

ROIS = rg.tensor([[0.0, 0.5, 1.0, 5.0, 6.0], [1.0, 2.0, 0.0, 7.0, 3.0]])


def maps(channels=4):
    made = rg.arange(2 * channels * 64.0).reshape(2, channels, 8, 8).sin()
    return made.requires_grad_()


def test_a_library_of_another_package_is_not_loaded():
    with pytest.raises(OSError, match=r"Could not load this library: mine/_C\.so"):
        ops.load_library("mine/_C.so")
    assert "site-packages/torchvision/_C.so" in ops.loaded_libraries


def test_operators_have_schemas_and_take_arguments_by_their_names():
    assert str(own.nms.default._schema) == (
        "torchvision::nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"
    )
    dets = rg.tensor([[0.0, 0, 1, 1]])
    assert own.nms(dets=dets, scores=rg.ones(1), iou_threshold=0.5).tolist() == [0]
    names = {"spatial_scale": 0.5, "pooled_height": 2, "pooled_width": 3}
    given = {"rois": ROIS, **names, "sampling_ratio": 2, "aligned": True}
    found = own.roi_align(input=maps(), **given)
    rg.testing.assert_close(found, own.roi_align(maps(), ROIS, 0.5, 2, 3, 2, True))


CASES = {
    "roi_align": (0.5, 2, 3, 2, True),
    "roi_pool": (0.5, 2, 2),
    "ps_roi_align": (0.5, 2, 2, 2),
    "ps_roi_pool": (0.5, 2, 2),
}


@pytest.mark.parametrize("name", CASES)
def test_the_gradient_by_its_own_operator_is_that_of_what_is_recorded(name):
    x, settings = maps(), CASES[name]
    found = getattr(own, name)(x, ROIS, *settings)
    out, *further = found if isinstance(found, tuple) else (found,)
    g = rg.arange(float(out.numel())).reshape(out.shape)
    (expected,) = rg.autograd.grad(out, x, g)
    scale, rows, columns, *rest = settings
    given = (g, ROIS, *further, scale, rows, columns)
    order = (*rest, *x.shape) if name == "ps_roi_align" else (*x.shape, *rest)
    made = getattr(own, f"_{name}_backward")(*given, *order)
    rg.testing.assert_close(made, expected)


def test_maxima_have_places_and_empty_bins_have_none():
    x = rg.arange(16.0).reshape(1, 1, 4, 4)
    values, places = own.roi_pool(x, rg.tensor([[0.0, 0, 0, 1, 1], [0, 9, 9, 9, 9]]), 1.0, 1, 1)
    assert values.flatten().tolist() == [5.0, 0.0]
    assert places.flatten().tolist() == [5, -1]
    assert places.dtype is rg.int32


def test_regions_are_of_the_dtype_of_the_maps():
    with pytest.raises(RuntimeError, match="Expected tensor for input to have the same type"):
        own.roi_align(maps(), ROIS.double(), 1.0, 2, 2, -1, False)
    with pytest.raises(RuntimeError, match=r"rois must have shape as Tensor\[K, 5\]"):
        own.roi_align(maps(), ROIS[:, 1:], 1.0, 2, 2, -1, False)


def test_bent_kernels_that_are_straight_are_a_convolution():
    x, weight = maps(), rg.ones(2, 4, 3, 3, requires_grad=True)
    offset, mask, bias = rg.zeros(2, 18, 6, 6), rg.zeros(2, 1), rg.zeros(2)
    steps = (1, 1, 0, 0, 1, 1, 1, 1, False)
    out = own.deform_conv2d(x, weight, offset, mask, bias, *steps)
    rg.testing.assert_close(out, rg.nn.functional.conv2d(x, weight))
    g = rg.ones_like(out)
    found = own._deform_conv2d_backward(g, x, weight, offset, mask, bias, *steps)
    rg.testing.assert_close(found[1], rg.autograd.grad(out, weight, g)[0])
    assert found[3].tolist() == [[0.0], [0.0]]


def test_integers_stand_for_numbers_by_a_scale_and_a_zero_point():
    x = rg.full((1, 1, 4, 4), 30, dtype=rg.uint8)
    rois = rg.tensor([[0, 0, 0, 30, 30]], dtype=rg.uint8)
    out = own.qroi_align(x, rois, 0.5, 10, 0.1, 0, 1.0, 1, 1, 2, False)
    assert (out.dtype, out.tolist()) == (rg.uint8, [[[[30]]]])
    boxes = rg.tensor([[0, 0, 20, 20], [0, 0, 20, 19]], dtype=rg.uint8)
    assert own.qnms(boxes, rg.tensor([5, 9], dtype=rg.uint8), 0.5).tolist() == [1]


def test_operators_for_which_torchvision_registers_shapes_as_it_is_imported_exist():
    regions = ("roi_align", "ps_roi_align", "roi_pool", "ps_roi_pool", "deform_conv2d")
    names = ("nms", "qnms", "qroi_align", *regions, *(f"_{name}_backward" for name in regions))
    assert [name for name in names if not hasattr(getattr(own, name, None), "default")] == []
    with pytest.raises(RuntimeError, match="operator torchvision::none does not exist"):
        library.register_fake("torchvision::none")


def test_turned_boxes_overlap_by_their_polygons():
    box = rg.tensor([[0.0, 0.0, 2.0, 2.0, 0.0]])
    others = rg.tensor([[0.0, 0, 2, 2, 45], [0, 0, 2, 2, 90], [1, 0, 2, 2, 0], [9, 9, 2, 2, 10],
                        [0, 0, 1, 1, 30], [0, 0, 0, 0, 0]])  # fmt: skip
    octagon = 8 * (np.sqrt(2) - 1)
    expected = [octagon / (8 - octagon), 1, 1 / 3, 0, 1 / 4, 0]
    np.testing.assert_allclose(own.box_iou_rotated(box, others)[0], expected, rtol=1e-6, atol=1e-7)


def test_degrees_turn_against_the_clock_where_y_goes_down():
    first = np.array([[0.0, 0, 4, 1, 45]])
    upper = np.array([[1.0, -1, 1, 1, 0], [1.0, 1, 1, 1, 0]])
    assert (rotated.overlaps(first, upper) > 0.1).tolist() == [[True, False]]


def test_there_is_no_cuda():
    assert own._cuda_version() == -1


def test_autocast_computes_in_single_precision():
    seen = []

    def cast(x, *rest):
        with rg._C._ExcludeDispatchKeyGuard(rg._C.DispatchKeySet(rg._C.DispatchKey.AutocastCPU)):
            seen.append(rg.is_autocast_enabled("cpu"))
            return ops.lent.double(x.float())

    mine = library.Library("lent", "DEF")
    mine.define("double(Tensor x) -> Tensor")
    mine.impl("double", lambda x: x * 2, "CPU")
    mine.impl("double", cast, "AutocastCPU")
    with rg.autocast("cpu"):
        assert ops.lent.double(rg.ones(1).bfloat16()).dtype is rg.float32
    assert seen == [False]
