"""Operations on boxes and regions have torchvision's values and gradients."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

import retrograd as rg
from retrograd.vision import ops

DATA = Path(__file__).parents[1] / "data"
sys.path.insert(0, str(DATA))

import vision_ops_cases as cases  # noqa: E402 (from the folder of the data)

sys.path.remove(str(DATA))
EXPECTED = json.loads((DATA / "vision_ops.json").read_text())


@pytest.mark.parametrize("name", cases.CASES)
def test_values_and_gradients_are_torchvision_s(name):
    shape, value, gradients = cases.result(rg, rg.vision, name)
    expected_shape, expected, expected_gradients = EXPECTED[name]
    tolerance = 1e-5 if name == "pyramid" else 1e-8  # its weights are single numbers
    assert shape == expected_shape
    np.testing.assert_allclose(value, expected, rtol=tolerance, atol=tolerance)
    if name == "ps_roi_pool":
        return
    for found, reference in zip(gradients, expected_gradients, strict=True):
        np.testing.assert_allclose(found, reference, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", [name for name in cases.CASES if "roi" in name])
def test_regions_have_derivatives_of_two_orders(name):
    function, (maps,), _ = cases.CASES[name](rg, ops)
    maps = maps.clone().requires_grad_()
    assert rg.autograd.gradcheck(function, (maps,))
    assert rg.autograd.gradgradcheck(function, (maps,))


def test_the_chosen_boxes_are_torchvision_s():
    assert cases.chosen(rg, rg.vision) == EXPECTED["chosen"]


def test_no_boxes_give_no_indices_and_no_regions():
    none = rg.zeros(0, 4)
    assert ops.nms(none, rg.zeros(0), 0.5).shape == (0,)
    assert ops.roi_align(rg.ones(1, 2, 4, 4), [none], 3).shape == (0, 2, 3, 3)
    assert ops.roi_pool(rg.ones(1, 2, 4, 4), [none], 3).shape == (0, 2, 3, 3)


def test_boxes_without_an_area_are_kept():
    assert ops.nms(rg.zeros(2, 4), rg.tensor([0.1, 0.2]), 0.5).tolist() == [1, 0]


def test_nms_asks_for_a_score_for_every_box():
    with pytest.raises(RuntimeError, match=r"should be a 2d tensor .* Got \(3, 4\) and \(2,\)"):
        ops.nms(rg.zeros(3, 4), rg.zeros(2), 0.5)


def test_a_format_of_boxes_that_is_not_known_is_an_error():
    with pytest.raises(ValueError, match="Unsupported Bounding Box format 'xyxyr'"):
        ops.box_convert(rg.zeros(1, 4), "xyxyr", "xyxy")


def test_boxes_of_another_shape_are_an_error():
    with pytest.raises(ValueError, match=r"correct as Tensor\[K, 5\]: got \(2, 4\)"):
        ops.roi_align(rg.ones(1, 2, 4, 4), rg.zeros(2, 4), 2)
    with pytest.raises(ValueError, match=r"correct as List\[Tensor\[L, 4\]\]: got \(2, 5\)"):
        ops.roi_pool(rg.ones(1, 2, 4, 4), [rg.zeros(2, 5)], 2)


def test_small_whole_numbers_do_not_overflow_in_areas():
    assert ops.box_area(rg.tensor([[0, 0, 100, 100]], dtype=rg.uint8)).tolist() == [10000]


def test_a_frozen_norm_reads_the_state_of_a_norm_and_learns_nothing():
    norm = rg.nn.BatchNorm2d(3)
    norm(rg.randn(4, 3, 5, 5))
    frozen = ops.FrozenBatchNorm2d(3)
    frozen.load_state_dict(norm.state_dict())
    x = rg.randn(2, 3, 4, 4)
    rg.testing.assert_close(frozen(x), norm.eval()(x).detach())
    assert not list(frozen.parameters())


def test_layers_of_a_convolution_have_torchvision_s_names():
    layers = ops.Conv2dNormActivation(3, 4, (3, 5), dilation=2, inplace=None)
    assert list(layers.state_dict())[:3] == ["0.weight", "1.weight", "1.bias"]
    assert layers[0].padding == (2, 4)
    mlp = ops.MLP(3, [5, 2], norm_layer=rg.nn.LayerNorm, dropout=0.5)
    assert [type(layer).__name__ for layer in mlp] == [
        *("Linear", "LayerNorm", "ReLU", "Dropout", "Linear", "Dropout")
    ]


def test_a_pyramid_takes_the_last_map_s_every_second_pixel_as_pool():
    last = ops.feature_pyramid_network.LastLevelMaxPool()
    out = ops.FeaturePyramidNetwork([2], 3, last)({"a": rg.ones(1, 2, 5, 5)})
    assert out["pool"].equal(out["a"][..., ::2, ::2])
