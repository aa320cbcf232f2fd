"""Pictures side by side in one, and as files: values are those of torchvision 0.28."""

from __future__ import annotations

import io

import numpy as np
import pytest

import retrograd as rg
from retrograd.vision.utils import make_grid, save_image


def test_pictures_stand_side_by_side_with_padding_between_and_around():
    pictures = rg.arange(1.0, 13).reshape(3, 1, 2, 2)
    grid = make_grid(pictures, nrow=2, padding=1, pad_value=-1)
    assert grid.shape == (3, 7, 7)
    assert grid[0].int().tolist() == [
        [-1, -1, -1, -1, -1, -1, -1],
        [-1, 1, 2, -1, 5, 6, -1],
        [-1, 3, 4, -1, 7, 8, -1],
        [-1, -1, -1, -1, -1, -1, -1],
        [-1, 9, 10, -1, -1, -1, -1],
        [-1, 11, 12, -1, -1, -1, -1],
        [-1, -1, -1, -1, -1, -1, -1],
    ]
    assert rg.equal(make_grid(list(pictures), nrow=2, padding=1, pad_value=-1), grid)


def test_one_picture_of_any_dimensions_has_three_channels_and_no_padding():
    picture = rg.tensor([[1.0, 2.0]])
    for given in (picture, picture[None], picture[None, None]):
        assert make_grid(given).tolist() == [[[1.0, 2.0]]] * 3


def test_values_are_brought_between_0_and_1():
    pictures = rg.tensor([[0.0, 2.0], [1.0, 5.0]]).reshape(2, 1, 1, 2)
    settings = {"padding": 0, "normalize": True}
    assert make_grid(pictures, **settings)[0].tolist() == [rg.tensor([0, 0.4, 0.2, 1]).tolist()]
    assert make_grid(pictures, **settings, scale_each=True)[0].tolist() == [[0.0, 1.0, 0.0, 1.0]]
    assert make_grid(pictures, **settings, value_range=(1, 2))[0].tolist() == [[0.0, 1.0, 0.0, 1.0]]
    assert pictures.max() == 5


@pytest.mark.parametrize("given", [3, [3]])
def test_what_is_no_tensor_is_refused(given):
    with pytest.raises(TypeError, match="tensor or list of tensors expected"):
        make_grid(given)


def test_a_file_holds_rounded_bytes():
    pillow = pytest.importorskip("PIL.Image")
    file = io.BytesIO()
    save_image(rg.tensor([[-1.0, 0.5, 2.0]]).expand(3, 1, 3), file, "png")
    assert np.asarray(pillow.open(file)).tolist() == [[[0] * 3, [128] * 3, [255] * 3]]


def test_the_grid_of_pictures_with_a_history_has_none():
    grid = make_grid(rg.ones(2, 1, 2, 2, requires_grad=True) * 2)
    assert not grid.requires_grad
