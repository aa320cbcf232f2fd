"""Pictures are read as tensors."""

from __future__ import annotations

import numpy as np
import pytest

import retrograd as rg
from retrograd.vision.io import ImageReadMode, decode_image, read_image
from retrograd.vision.transforms import InterpolationMode, functional

image = pytest.importorskip("PIL.Image", reason="Pillow reads them")
PIXELS = np.arange(24, dtype=np.uint8).reshape(2, 4, 3)


@pytest.fixture
def path(tmp_path):
    image.fromarray(PIXELS).save(tmp_path / "x.png")
    return tmp_path / "x.png"


def test_a_file_is_read_by_channels(path):
    found = read_image(path)
    np.testing.assert_array_equal(found.numpy(), PIXELS.transpose(2, 0, 1))


@pytest.mark.parametrize(
    ("mode", "channels"),
    [("GRAY", 1), (ImageReadMode.GRAY_ALPHA, 2), ("RGB", 3), (ImageReadMode.RGB_ALPHA, 4)],
)
def test_a_mode_says_which_channels(path, mode, channels):
    assert read_image(path, mode).shape == (channels, 2, 4)


def test_bytes_are_read_as_a_file_is(path):
    found = decode_image(rg.frombuffer(bytearray(path.read_bytes()), dtype=rg.uint8))
    assert found.equal(read_image(path))


def test_what_is_no_picture_is_refused():
    with pytest.raises(RuntimeError, match="no picture that Pillow reads"):
        decode_image(rg.zeros(10, dtype=rg.uint8))


def test_a_picture_of_two_colours_is_of_bytes_0_and_1():
    found = functional.pil_to_tensor(image.new("1", (2, 1), 1))
    assert found.float().tolist() == [[[1.0, 1.0]]]


def test_ways_to_resize_that_tensors_have_not_are_for_pictures():
    picture = functional.resize(image.fromarray(PIXELS), (1, 2), InterpolationMode.BOX)
    np.testing.assert_array_equal(np.asarray(picture)[0, 0], [8, 9, 10])
    with pytest.raises(ValueError, match="unsupported with Tensor input"):
        functional.resize(rg.ones(1, 2, 2), 1, InterpolationMode.LANCZOS)
    exact = functional.resize(rg.arange(4.0).view(1, 1, 4), (1, 2), InterpolationMode.NEAREST_EXACT)
    assert exact.tolist() == [[[1.0, 3.0]]]
