"""Boxes, regions of maps and bent convolutions have torchvision's values and gradients."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

import retrograd as rg
from retrograd.torch.vision import ops

DATA = Path(__file__).parents[2] / "data"
sys.path.insert(0, str(DATA))

import vision_ops_cases as cases  # noqa: E402 (from the folder of the data)

sys.path.remove(str(DATA))
EXPECTED = json.loads((DATA / "vision_ops.json").read_text())


@pytest.mark.parametrize("name", cases.CASES)
def test_values_and_gradients_are_torchvision_s(name):
    shape, value, gradients = cases.result(rg, rg.vision, name)
    expected_shape, expected, expected_gradients = EXPECTED[name]
    assert shape == expected_shape
    np.testing.assert_allclose(value, expected, rtol=1e-8, atol=1e-8)
    if name == "ps_roi_pool":
        return
    for found, reference in zip(gradients, expected_gradients, strict=True):
        np.testing.assert_allclose(found, reference, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("name", [name for name in cases.CASES if "roi" in name])
def test_regions_have_derivatives_of_two_orders(name):
    function, (maps,), _ = cases.CASES[name](rg, ops)
    maps = maps.clone().requires_grad_()
    assert rg.autograd.gradcheck(function, (maps,))
    assert rg.autograd.gradgradcheck(function, (maps,), fast_mode=True)


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


def test_boxes_of_another_shape_are_an_error():
    with pytest.raises(ValueError, match=r"correct as Tensor\[K, 5\]: got \(2, 4\)"):
        ops.roi_align(rg.ones(1, 2, 4, 4), rg.zeros(2, 4), 2)
    with pytest.raises(ValueError, match=r"correct as List\[Tensor\[L, 4\]\]: got \(2, 5\)"):
        ops.roi_pool(rg.ones(1, 2, 4, 4), [rg.zeros(2, 5)], 2)


def test_a_score_that_is_no_number_comes_first():
    apart = rg.tensor([[0.0, 0, 1, 1], [2, 2, 3, 3], [4, 4, 5, 5]])
    assert ops.nms(apart, rg.tensor([0.2, float("nan"), 0.9]), 0.5).tolist() == [1, 2, 0]
