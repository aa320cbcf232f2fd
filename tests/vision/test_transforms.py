"""Transforms give torchvision's pictures, and draw its random numbers."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

import retrograd as rg
from retrograd.vision import transforms
from retrograd.vision.transforms import functional as F

DATA = Path(__file__).parents[1] / "data"
sys.path.insert(0, str(DATA))

import vision_cases as cases  # noqa: E402 (from the folder of the data)

sys.path.remove(str(DATA))
EXPECTED = json.loads((DATA / "vision.json").read_text())


@pytest.mark.parametrize("name", EXPECTED["transforms"])
def test_a_transform_gives_torchvision_s_picture(name):
    image = pytest.importorskip("PIL.Image")
    what, _, kind = name.rpartition(" of ")
    found = cases.transformed(rg, rg.vision, image, what, kind)
    # what lies half way between two bytes may be rounded to the other one
    halves = what.startswith("RandomResizedCrop")
    tolerance = {"bytes": 1.0, "picture": 1.01 / 255}.get(kind, 2e-5) if halves else 2e-5
    for (shape, elements), (wanted, values) in zip(
        found, EXPECTED["transforms"][name], strict=True
    ):
        assert shape == wanted
        np.testing.assert_allclose(elements, values, rtol=0, atol=tolerance)


@pytest.mark.parametrize(
    ("mode", "value"), [("1", 1.0), ("L", 0.2), ("P", 0.0), ("RGBA", 0.2), ("I", 51), ("F", 51.0)]
)
def test_a_picture_of_each_kind_becomes_a_tensor(mode, value):
    image = pytest.importorskip("PIL.Image")
    picture = image.new("L", (1, 1), 255 if mode == "1" else 51)
    if mode == "P":
        picture = image.new("P", (1, 1), 0)
    found = transforms.ToTensor()(picture.convert(mode))
    assert found.shape == ((4 if mode == "RGBA" else 1), 1, 1)
    assert found[0].item() == pytest.approx(value)


def test_only_bytes_are_scaled():
    assert transforms.ToTensor()(np.full((1, 1), 255)).item() == 255
    assert transforms.ToTensor()(np.full((1, 1), 255, np.uint8)).item() == 1


def test_normalizing_leaves_the_input_as_it_is_unless_in_place():
    x = rg.ones(2, 1, 1)
    assert transforms.Normalize([1, 0], [1, 2])(x).flatten().tolist() == [0, 0.5]
    assert x.flatten().tolist() == [1, 1]
    transforms.Normalize([1, 0], [1, 2], inplace=True)(x)
    assert x.flatten().tolist() == [0, 0.5]


def test_gradients_go_through_transforms_of_tensors():
    x = rg.ones(3, 4, 4, requires_grad=True)
    both = transforms.Compose([transforms.CenterCrop(2), transforms.Normalize([0.5], [0.25])])
    both(x).sum().backward()
    assert x.grad[0].tolist() == [[0, 0, 0, 0], [0, 4, 4, 0], [0, 4, 4, 0], [0, 0, 0, 0]]


def test_transforms_print_their_settings():
    shown = repr(transforms.Compose([transforms.ToTensor(), transforms.CenterCrop(2)]))
    assert shown == "Compose(\n    ToTensor()\n    CenterCrop(size=(2, 2))\n)"


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: F.to_tensor(rg.ones(1)), TypeError, "pic should be PIL Image or ndarray"),
        (lambda: F.to_tensor(np.ones(2)), ValueError, "pic should be 2/3 dimensional"),
        (lambda: F.normalize(rg.ones(1, 1, 1).byte(), [0], [1]), TypeError, "a float tensor"),
        (lambda: F.normalize(rg.ones(2), [0], [1]), ValueError, "a tensor image of size"),
        (lambda: F.normalize(rg.ones(1, 1, 1), [0], [0]), ValueError, "std evaluated to zero"),
        (lambda: F.resize(np.ones((2, 2)), 1), TypeError, "a picture of Pillow's or a Tensor"),
        (lambda: F.resize(rg.ones(2, 2), (1, 1, 1)), ValueError, "size should be an int"),
        (lambda: F.resize(rg.ones(2, 2), 4, max_size=3), ValueError, "strictly greater"),
        (lambda: F.pad(rg.ones(2, 2), (1, 1, 1)), ValueError, "1, 2, or 4 element tuple"),
        (lambda: F.pad(rg.ones(2, 2), 1, padding_mode="wrap"), ValueError, "Padding mode should"),
        (lambda: transforms.RandomCrop(3)(rg.ones(2, 2)), ValueError, "Required crop size"),
        (lambda: transforms.CenterCrop((1, 1, 1)), ValueError, "only two dimensions"),
        (lambda: transforms.Lambda(1), TypeError, "should be callable"),
    ],
)
def test_what_cannot_be_transformed_is_an_error(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_a_resized_crop_shows_what_it_chooses_among():
    assert repr(transforms.RandomResizedCrop(4)) == (
        "RandomResizedCrop(size=(4, 4), scale=(0.08, 1.0), ratio=(0.75, 1.3333), "
        "interpolation=bilinear, antialias=True)"
    )
