"""The operators of torchvision's `torch.ops.image`, by Pillow."""

from __future__ import annotations

import io

import numpy as np
import pytest

import retrograd as rg
from retrograd.torch.library import ops

image = pytest.importorskip("PIL.Image", reason="Pillow reads them")
ops.load_library("site-packages/torchvision/image.so")
own = ops.image
PIXELS = np.random.default_rng(0).integers(0, 256, (6, 5, 3), np.uint8)


def encoded(pixels, kind, **settings):
    file = io.BytesIO()
    image.fromarray(pixels).save(file, kind, **settings)
    return rg.frombuffer(bytearray(file.getvalue()), dtype=rg.uint8)


def test_what_is_written_as_png_is_read_as_it_was():
    x = rg.from_numpy(PIXELS.transpose(2, 0, 1).copy())
    assert own.decode_png(own.encode_png(x, 6)).equal(x)
    assert own.decode_image(own.encode_png(x[:1], 6)).equal(x[:1])


def test_gray_of_a_png_is_in_whole_numbers_as_libpng_has_it():
    pixels = np.array([[[255, 255, 255], [255, 0, 0], [0, 255, 0], [0, 0, 255], [10, 20, 30]]])
    found = own.decode_png(encoded(pixels.astype(np.uint8), "PNG"), 1)
    assert found.tolist() == [[[255, 76, 149, 29, 18]]]


def test_gray_of_a_jpeg_is_the_lightness_in_the_file():
    data = own.encode_jpeg(rg.from_numpy(PIXELS.transpose(2, 0, 1).copy()), 90)
    file = image.open(io.BytesIO(data.numpy().tobytes()))
    file.draft("L", file.size)
    np.testing.assert_array_equal(own.decode_jpeg(data, 1)[0], np.asarray(file))


def test_png_of_16_bits_stays_so():
    pixels = np.array([[0, 40000]], np.uint16)
    found = own.decode_png(encoded(pixels, "PNG"))
    assert (found.dtype, found.tolist()) == (rg.uint16, [[[0, 40000]]])


def test_frames_of_a_gif_are_a_batch():
    file = io.BytesIO()
    frames = [image.new("RGB", (3, 2), colour) for colour in ("red", "blue")]
    frames[0].save(file, "GIF", save_all=True, append_images=frames[1:])
    data = rg.frombuffer(bytearray(file.getvalue()), dtype=rg.uint8)
    found = own.decode_gif(data)
    assert found.shape == (2, 3, 2, 3)
    assert found[1, :, 0, 0].tolist() == [0, 0, 255]
    assert own.decode_image(data).equal(found)


def test_files_are_bytes(tmp_path):
    own.write_file(str(tmp_path / "x"), rg.tensor([1, 2], dtype=rg.uint8))
    assert own.read_file(str(tmp_path / "x")).tolist() == [1, 2]
    with pytest.raises(RuntimeError, match="No such file or directory"):
        own.read_file(str(tmp_path / "y"))
    with pytest.raises(RuntimeError, match="Input tensor must have uint8 data type"):
        own.write_file(str(tmp_path / "x"), rg.ones(2))


def test_what_cannot_be_read_or_written_says_why():
    data = encoded(PIXELS, "PNG")
    with pytest.raises(RuntimeError, match="damaged"):
        own.decode_png(data[: len(data) // 2])
    with pytest.raises(RuntimeError, match="no picture that Pillow reads"):
        own.decode_jpeg(data)
    with pytest.raises(RuntimeError, match="non empty 1-dimensional"):
        own.decode_png(rg.zeros(2, 2, dtype=rg.uint8))
    with pytest.raises(RuntimeError, match="Compression level should be between 0 and 9"):
        own.encode_png(rg.zeros(1, 2, 2, dtype=rg.uint8), 10)
    with pytest.raises(RuntimeError, match="The number of channels should be 1 or 3, got: 5"):
        own.encode_png(rg.zeros(5, 2, 2, dtype=rg.uint8), 6)
    with pytest.raises(RuntimeError, match="should be a 3-dimensional tensor"):
        own.encode_jpeg(rg.zeros(2, 2, dtype=rg.uint8), 90)
    with pytest.raises(RuntimeError, match="dtype should be uint8"):
        own.encode_jpeg(rg.zeros(1, 2, 2), 90)
