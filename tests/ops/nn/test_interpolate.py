"""Interpolation, attention and sampled softmax: what the reference calls do not cover."""

import math

import numpy as np
import pytest

import retrograd as rg
import retrograd.nn.functional as F
from retrograd.autograd import grad, gradgradcheck


def test_shuffles_of_pixels_invert_each_other():
    x = rg.randn(2, 8, 3, 2)
    assert rg.equal(F.pixel_unshuffle(F.pixel_shuffle(x, 2), 2), x)


def test_interpolation_takes_complex_images():
    z = rg.tensor([[[0j, 4 + 4j]]])
    out = F.interpolate(z, scale_factor=2, mode="linear")
    assert out.tolist() == [[[0j, 1 + 1j, 3 + 3j, 4 + 4j]]]


def test_attention_that_sees_one_key_copies_its_value():
    q, k, v = rg.randn(3, 4), rg.randn(3, 4), rg.randn(3, 2)
    out = F.scaled_dot_product_attention(q, k, v, attn_mask=rg.eye(3).bool())
    np.testing.assert_allclose(out.numpy(), v.numpy(), rtol=1e-6)


def test_hard_gumbel_samples_are_one_hot_with_the_soft_gradient():
    logits = rg.zeros(5, 3, requires_grad=True)
    rg.manual_seed(1)
    hard = F.gumbel_softmax(logits, hard=True)
    rg.manual_seed(1)
    soft = F.gumbel_softmax(logits)
    assert (hard.detach().sort(1)[0] - rg.tensor([0.0, 0.0, 1.0])).abs().max().item() < 1e-6
    weights = rg.arange(15.0).reshape(5, 3)
    assert rg.equal(grad(hard, logits, weights)[0], grad(soft, logits, weights)[0])


@pytest.mark.parametrize("function", [F.softmax, F.log_softmax, F.softmin])
def test_softmax_without_a_dim_warns(function):
    with pytest.warns(UserWarning, match="Implicit dimension choice"):
        assert rg.equal(function(rg.eye(2)), function(rg.eye(2), 1))


def image(*shape):
    return rg.ones(*shape)


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (lambda: F.interpolate(image(3, 4), 2), NotImplementedError, "Only 3D, 4D and 5D input"),
        (
            lambda: F.interpolate(image(1, 1, 4), scale_factor=2, mode="bilinear"),
            NotImplementedError,
            "Got 3D input, but bilinear mode needs 4D input",
        ),
        (lambda: F.interpolate(image(1, 1, 4)), ValueError, "either size or scale_factor should"),
        (
            lambda: F.interpolate(image(1, 1, 4), 2, recompute_scale_factor=True),
            ValueError,
            "recompute_scale_factor is not meaningful with an explicit size",
        ),
        (lambda: F.interpolate(image(1, 1, 4), 3, 2), ValueError, "only one of size or scale_fact"),
        (
            lambda: F.interpolate(image(1, 1, 4), 3, align_corners=True),
            ValueError,
            "align_corners option can only be set",
        ),
        (lambda: F.interpolate(image(1, 1, 4), (3, 3)), ValueError, "same number of spatial dim"),
        (lambda: F.pixel_shuffle(image(3, 2, 2), 2), RuntimeError, "divisible by the square of"),
        (lambda: F.pixel_shuffle(image(3, 2), 2), RuntimeError, "at least 3 dimensions"),
        (lambda: F.pixel_unshuffle(image(3, 3, 2), 2), RuntimeError, "height to be divisible"),
        (lambda: F.channel_shuffle(image(1, 3, 2), 2), RuntimeError, "divisible by groups"),
        (
            lambda: F.scaled_dot_product_attention(
                image(2, 2), image(2, 2), image(2, 2), rg.eye(2).bool(), is_causal=True
            ),
            RuntimeError,
            "Explicit attn_mask should not be set when is_causal=True",
        ),
    ],
)
def test_bad_arguments_raise_as_in_pytorch(call, kind, text):
    with pytest.raises(kind, match=text):
        call()


@pytest.mark.parametrize("mode", ["bilinear", "bicubic", "lanczos"])
@pytest.mark.parametrize("value", [math.inf, math.nan])
def test_an_antialiased_image_feels_a_pixel_only_where_it_has_a_weight(mode, value):
    plain = rg.arange(64.0).reshape(1, 1, 8, 8)
    x = plain.clone()
    x[0, 0, 0, 0] = value
    settings = {"size": (4, 4), "mode": mode, "antialias": True}
    found = rg.nn.functional.interpolate(x, **settings)[0, 0]
    expected = rg.nn.functional.interpolate(plain, **settings)[0, 0]
    near = {"bilinear": 1, "bicubic": 2, "lanczos": 3}[
        mode
    ]  # so many outputs of each row and column see the first entry
    assert not found[:near, :near].isfinite().any()
    assert found[near:].equal(expected[near:])
    assert found[:, near:].equal(expected[:, near:])


def test_a_cotangent_reaches_only_the_pixels_that_have_a_weight():
    x = rg.ones(1, 1, 1, 8, requires_grad=True)
    y = rg.nn.functional.interpolate(x, size=(1, 4), mode="bilinear", antialias=True)
    y.backward(rg.tensor([math.inf, 0.0, 0.0, 0.0]).reshape(1, 1, 1, 4))
    assert x.grad.flatten().tolist() == [math.inf] * 3 + [0.0] * 5


def test_an_infinite_part_of_a_complex_image_leaves_the_other_part_alone():
    x = rg.ones(1, 1, 1, 8, dtype=rg.complex64)
    x.real[..., 0] = math.inf
    y = rg.nn.functional.interpolate(x, size=(1, 4), mode="bilinear", antialias=True)
    assert y.imag.tolist() == [[[[0.0] * 4]]]
    assert y.real.flatten().tolist() == [math.inf, 1.0, 1.0, 1.0]


BYTES = rg.tensor([[[[0, 255, 17, 90], [33, 201, 4, 128], [250, 66, 142, 7]]]], dtype=rg.uint8)


@pytest.mark.parametrize(  # reference values of PyTorch 2.13
    ("settings", "expected"),
    [
        ({"mode": "bilinear"}, [[47, 128, 85], [180, 104, 49]]),
        ({"mode": "bilinear", "antialias": True}, [[79, 124, 77], [153, 104, 64]]),
        ({"mode": "bicubic"}, [[40, 143, 85], [186, 99, 47]]),
        ({"mode": "bicubic", "antialias": True}, [[76, 129, 69], [160, 101, 60]]),
        ({"mode": "nearest-exact"}, [[0, 17, 90], [250, 142, 7]]),
    ],
)
def test_images_of_bytes_are_computed_in_fixed_point(settings, expected):
    out = F.interpolate(BYTES, size=(2, 3), **settings)
    assert out.dtype == rg.uint8
    assert out[0, 0].tolist() == expected


@pytest.mark.parametrize("dtype", [rg.int8, rg.int32, rg.int64, rg.bool])
@pytest.mark.parametrize("mode", ["nearest", "bilinear"])
def test_integers_other_than_bytes_are_not_interpolated(mode, dtype):
    with pytest.raises(NotImplementedError, match="not implemented for"):
        F.interpolate(rg.ones(1, 1, 4, 4).to(dtype), size=(2, 2), mode=mode)


def test_the_nearest_entry_is_found_in_float32():
    out = F.interpolate(rg.arange(14.0).reshape(1, 1, 14), size=46)[0, 0]
    assert out[23] == 6  # 23 * 14 / 46 is 7, but not in float32


def test_a_size_that_no_memory_holds_raises():
    with pytest.raises(RuntimeError, match="Storage size calculation overflowed"):
        F.interpolate(rg.ones(1, 1, 2, 2), scale_factor=1e20, mode="bilinear")


def test_gradients_of_gradients_may_start_at_tensors_with_history():
    x = rg.ones(1, 2, 2, 1, dtype=rg.float64, requires_grad=True) * 1
    assert gradgradcheck(lambda x: F.interpolate(x, size=(4, 2)), [x], check_fwd_over_rev=True)


@pytest.mark.parametrize("mode", ["nearest", "bilinear"])
def test_a_size_that_a_scale_leaves_as_it_is_changes_nothing(mode):
    x = rg.arange(12.0).reshape(1, 1, 3, 4)  # 3 * 1.26 is 3 rounded down
    rows = F.interpolate(x[:, :, 1:2], scale_factor=1.26, mode=mode)
    assert rows.shape == (1, 1, 1, 5)
    assert rg.equal(F.interpolate(x, scale_factor=1.26, mode=mode)[:, :, 1:2], rows)


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
def test_so_does_an_antialiased_one(mode):
    x = rg.arange(12.0).reshape(1, 1, 3, 4)
    y = F.interpolate(x, scale_factor=(1.26, 1), mode=mode, antialias=True)
    assert rg.equal(x, y)


def test_others_follow_the_scale_all_the_same():
    x = rg.arange(3.0).reshape(1, 1, 3, 1)
    exact = F.interpolate(x, scale_factor=(1.26, 1), mode="nearest-exact")
    assert exact.flatten().tolist() == [0.0, 1.0, 1.0]
    line = F.interpolate(rg.arange(4.0).reshape(1, 1, 4), scale_factor=1.1)
    assert line.flatten().tolist() == [0.0, 0.0, 1.0, 2.0]
    cubic = F.interpolate(x, scale_factor=(1.26, 1), mode="bicubic")
    assert cubic.flatten().tolist() == pytest.approx([-0.0622373, 0.6001540, 1.5787733], rel=1e-5)


@pytest.mark.parametrize("mode", ["nearest", "bilinear", "area"])
def test_sizes_may_be_whole_numbers_of_any_kind(mode):
    x = rg.arange(16.0).reshape(1, 1, 4, 4)
    expected = rg.nn.functional.interpolate(x, size=[3, 2], mode=mode).tolist()
    for size in ([rg.tensor([3]), rg.tensor(2, dtype=rg.int32)], [np.int64(3), 2]):
        assert rg.nn.functional.interpolate(x, size=size, mode=mode).tolist() == expected
    for size in (2.5, [2.5, 3], [True, 2], rg.tensor(3.0)):
        with pytest.raises(TypeError, match="argument 'size' must be tuple of ints"):
            rg.nn.functional.interpolate(x, size=size, mode=mode)


def test_a_resized_image_of_channels_last_is_no_view():
    x = rg.rand(1, 2, 2, 2).contiguous(memory_format=rg.channels_last)
    for mode in ("nearest", "bilinear", "bicubic"):
        found = F.interpolate(x, scale_factor=2, mode=mode)
        assert not found._is_view()
        assert found.stride() == (32, 1, 8, 2)
    kept = F.interpolate(x.requires_grad_(), scale_factor=2)
    kept.mul_(3)
    assert grad(kept.sum(), x)[0].equal(rg.full((1, 2, 2, 2), 12.0))
