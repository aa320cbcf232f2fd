"""What has its channels innermost in memory keeps them there."""

import numpy as np
import pytest

import retrograd as rg
import retrograd.nn.functional as F
from retrograd import nn
from retrograd.kernels.layout import channels_inside

FORMATS = {2: rg.channels_last, 3: rg.channels_last_3d}


def in_both_orders(dims, channels=4):
    plain = rg.randn(2, channels, *[6] * dims)
    return plain, plain.contiguous(memory_format=FORMATS[dims])


LAYERS = {
    "Conv": lambda dims, kind: kind(4, 6, 3),
    "ConvTranspose": lambda dims, kind: kind(4, 6, 3, groups=2),
    "MaxPool": lambda dims, kind: kind(2),
    "AvgPool": lambda dims, kind: kind(2),
    "AdaptiveMaxPool": lambda dims, kind: kind(4),
    "AdaptiveAvgPool": lambda dims, kind: kind(3),
    "LPPool": lambda dims, kind: kind(2, 2),
    "BatchNorm": lambda dims, kind: kind(4),
    "GroupNorm": lambda dims, _: nn.GroupNorm(2, 4),
    "ConstantPad": lambda dims, kind: kind(1, 2.0),
}


@pytest.mark.parametrize("dims", [2, 3])
@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_keeps_channels_last_in_its_output_and_its_gradient(name, dims):
    layer = LAYERS[name](dims, getattr(nn, f"{name}{dims}d", None))
    plain, inside = in_both_orders(dims)
    out = layer(inside.requires_grad_())
    assert out.is_contiguous(memory_format=FORMATS[dims])
    assert not out.is_contiguous()
    expected = layer(plain.requires_grad_())
    assert expected.is_contiguous()
    np.testing.assert_allclose(out.detach(), expected.detach(), rtol=1e-5, atol=1e-6)
    cotangent = rg.randn_like(out)
    out.backward(cotangent)
    expected.backward(cotangent.contiguous())
    assert inside.grad.is_contiguous(memory_format=FORMATS[dims])
    np.testing.assert_allclose(inside.grad, plain.grad, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("mode", "dims"),
    [
        *[(mode, 2) for mode in ("nearest", "nearest-exact", "bilinear", "bicubic", "area")],
        *[(mode, 3) for mode in ("nearest", "trilinear")],
    ],
)
def test_interpolation_keeps_channels_last(mode, dims):
    _, x = in_both_orders(dims)
    out = F.interpolate(x.requires_grad_(), scale_factor=1.5, mode=mode)
    assert out.is_contiguous(memory_format=FORMATS[dims])
    out.backward(rg.randn_like(out))
    assert x.grad.is_contiguous(memory_format=FORMATS[dims])


def test_indices_of_a_pool_and_unpooling_keep_channels_last():
    _, x = in_both_orders(2)
    out, indices = F.max_pool2d(x, 2, return_indices=True)
    assert indices.is_contiguous(memory_format=rg.channels_last)
    assert F.max_unpool2d(out, indices, 2).is_contiguous(memory_format=rg.channels_last)


def test_a_volume_without_a_batch_keeps_its_channels_innermost_in_a_max_pool():
    plain, inside = (x[0] for x in in_both_orders(3))
    out, indices = F.max_pool3d(inside, 2, return_indices=True)
    expected, places = F.max_pool3d(plain, 2, return_indices=True)
    for found in (out, indices):
        assert found.unsqueeze(0).is_contiguous(memory_format=rg.channels_last_3d)
        assert not found.is_contiguous()
    assert rg.equal(out, expected)
    assert rg.equal(indices, places)


def test_dropout_borders_and_joining_keep_channels_last():
    _, x = in_both_orders(2)
    assert F.dropout(x, 0.5).is_contiguous(memory_format=rg.channels_last)
    assert F.pad(x, (1, 2, 1, 1), mode="reflect").is_contiguous(memory_format=rg.channels_last)
    assert rg.cat([x, x], 1).is_contiguous(memory_format=rg.channels_last)


def test_a_weight_with_channels_last_decides_as_well():
    layer = nn.Conv2d(4, 6, 3).to(memory_format=rg.channels_last)
    plain, _ = in_both_orders(2)
    assert layer(plain).is_contiguous(memory_format=rg.channels_last)


def test_a_module_takes_the_memory_format_for_what_has_its_dimensions():
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.Linear(2, 2))
    model.to(memory_format=rg.channels_last)
    assert model[0].weight.stride() == (27, 1, 9, 3)
    assert model[1].weight.is_contiguous()


def test_random_tensors_like_another_lie_as_it_does():
    _, x = in_both_orders(2)
    for made in (rg.rand_like(x), rg.randn_like(x), rg.randint_like(x, 3)):
        assert made.stride() == x.stride()
    assert rg.rand_like(rg.ones(1).expand(2, 3)).stride() == (3, 1)


def test_a_slice_of_channels_last_still_counts_and_a_new_axis_does_not():
    _, x = in_both_orders(2, channels=3)
    assert channels_inside(x[:, :, 1:-1, ::2]._array)
    assert F.max_pool2d(x[:, :, 1:-1, 1:-1], 2).is_contiguous(memory_format=rg.channels_last)
    assert F.max_pool2d(x[0][None], 2).is_contiguous()


def test_gradients_that_are_asked_for_keep_the_order_of_their_cotangent():
    _, x = in_both_orders(2)
    out = F.max_pool2d(x.requires_grad_(), 2)
    (g,) = rg.autograd.grad(out, x, rg.ones_like(out))
    assert g.is_contiguous(memory_format=rg.channels_last)


@pytest.mark.parametrize("name", ["AvgPool", "AdaptiveAvgPool", "BatchNorm"])
def test_gradients_of_means_keep_the_order_of_the_input(name):
    _, x = in_both_orders(2)
    out = LAYERS[name](2, getattr(nn, f"{name}2d"))(x.requires_grad_())
    (g,) = rg.autograd.grad(out, x, rg.ones(out.shape))
    assert g.is_contiguous(memory_format=rg.channels_last)


@pytest.mark.parametrize(
    "arguments", [("cpu", True), (None, True), ("cpu", rg.float32, True, True), ([],)]
)
def test_a_module_refuses_other_arguments_of_to(arguments):
    text = r"to\(\) received an invalid combination|device must be a string or a device, not list"
    with pytest.raises(TypeError, match=text):
        nn.Linear(1, 1).to(*arguments)


def test_a_module_is_not_copied_by_to():
    with pytest.raises(RuntimeError, match="does not accept copy argument"):
        nn.Linear(1, 1).to("cpu", copy=True)


@pytest.mark.parametrize("shape", [(2, 3, 1, 1), (2, 1, 4, 5), (1, 3, 4, 5)])
def test_sizes_of_one_have_the_strides_of_the_order_that_was_asked_for(shape):
    _, c, h, w = shape
    wanted = (c * h * w, 1, c * w, c)
    images = rg.ones(shape).to(memory_format=rg.channels_last)
    assert images.stride() == wanted
    assert images.to(memory_format=rg.channels_last) is images
    assert rg.empty(shape, memory_format=rg.channels_last).stride() == wanted


def test_contiguous_leaves_what_lies_in_both_orders():
    x = rg.ones(2, 1, 4, 5)
    assert x.contiguous(memory_format=rg.channels_last) is x


def test_contiguous_asks_for_a_format():
    with pytest.raises(TypeError, match=r"'memory_format' must be retrograd\.memory_format"):
        rg.ones(2).contiguous(memory_format="channels_last")


def test_no_format_asks_for_row_major_order():
    x = rg.ones(2, 3)
    assert x.is_contiguous(memory_format=rg.preserve_format)
    assert not x.t().is_contiguous(memory_format=rg.preserve_format)


def test_only_channels_before_width_before_height_is_channels_last():
    for spatial in (2, 3):
        _, x = in_both_orders(spatial)
        assert channels_inside(x._array)
        last = list(range(2, 2 + spatial))
        turned = x._array.transpose(0, 1, *last[::-1])  # the last dimension is no longer next
        assert not channels_inside(turned)
        assert not channels_inside(x._array.transpose(1, 0, *last))


@pytest.mark.parametrize("transposed", [False, True])
def test_sequences_that_were_turned_give_contiguous_convolutions(transposed):
    x = rg.arange(24.0).reshape(2, 4, 3).requires_grad_()
    w = rg.ones(3, 2, 1) if transposed else rg.ones(2, 3, 1)
    out = (F.conv_transpose1d if transposed else F.conv1d)(x.transpose(1, 2), w)
    assert out.stride() == (8, 4, 1)
    row = [3.0, 12.0, 21.0, 30.0]
    assert out.view(2, -1).tolist() == [row * 2, [n + 36 for n in row] * 2]
    (g,) = rg.autograd.grad(out, x, rg.ones(2, 4, 2).transpose(1, 2))
    assert rg.equal(g, rg.full((2, 4, 3), 2.0))
    assert g.stride() == (12, 1, 4)


def test_what_is_written_to_the_flattened_turn_of_a_convolution_leaves_it():
    x = rg.ones(2, 5, 3)
    y = F.conv1d(x.transpose(1, 2), rg.ones(4, 3, 2)).transpose(1, 2)
    y.flatten().zero_()
    assert y.tolist() == [[[6.0] * 4] * 4] * 2


@pytest.mark.parametrize("dims", [1, 2])
@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("input_last", [False, True])
@pytest.mark.parametrize("weight_last", [False, True])
def test_a_convolution_and_its_gradients_lie_alike(dims, transposed, input_last, weight_last):
    """As PyTorch's: the weight decides and, of images, the input; the cotangent never."""

    def made(*shape, last):
        values = rg.arange(float(np.prod(shape))).reshape(shape)
        last_first = values.movedim(1, -1).contiguous().movedim(-1, 1)
        return (last_first if last else values).requires_grad_()

    convolve = getattr(F, f"conv{'_transpose' * transposed}{dims}d")
    x = made(2, 4, *[5] * dims, last=input_last)
    w = made(4, 4, *[2] * dims, last=weight_last)
    inside = weight_last or (dims > 1 and input_last)
    out = convolve(x, w)
    for last in (False, True):
        cotangent = made(*out.shape, last=last).detach()
        for found in (out, *rg.autograd.grad(out, [x, w], cotangent, retain_graph=True)):
            assert found.is_contiguous() == (not inside)
            assert found.movedim(1, -1).is_contiguous() == inside


@pytest.mark.parametrize(
    ("layer", "channels"),
    [
        (lambda: nn.Conv2d(2, 4, (2, 3), groups=2), 2),
        (lambda: nn.Conv2d(1, 3, 3), 1),
        (lambda: nn.Conv2d(2, 4, 1), 2),
    ],
)
def test_weights_with_single_sizes_have_their_channels_innermost_too(layer, channels):
    x = rg.randn(2, channels, 5, 6)
    plain = layer()
    expected = plain(x)
    out = plain.to(memory_format=rg.channels_last)(x)
    assert plain.weight.stride()[1] == 1
    assert out.movedim(1, -1).is_contiguous()
    np.testing.assert_allclose(out.detach(), expected.detach(), rtol=1e-5, atol=1e-6)


def test_rolls_borders_and_shuffles_keep_channels_last():
    x = rg.arange(48.0).reshape(2, 3, 2, 4)
    wide = rg.arange(64.0).reshape(2, 4, 2, 4)
    for call, given, strides in (
        (lambda x: x.roll(1, 2), x, (24, 1, 12, 3)),
        (lambda x: F.pad(x, (1, 1, 1, 1), "replicate"), x, (72, 1, 18, 3)),
        (lambda x: F.channel_shuffle(x, 2), wide, (32, 1, 16, 4)),
        (lambda x: F.pixel_unshuffle(x, 2), x, (24, 1, 24, 12)),
    ):
        found = call(given.to(memory_format=rg.channels_last))
        assert found.stride() == strides
        assert rg.equal(found, call(given))
    shuffled = F.pixel_shuffle(rg.ones(2, 8, 2, 2).to(memory_format=rg.channels_last), 2)
    assert shuffled.stride() == (32, 1, 8, 2)


@pytest.mark.parametrize("training", [False, True])
def test_batch_norm_keeps_channels_innermost_beside_single_sizes(training):
    x = rg.arange(6.0).reshape(1, 3, 2, 1).permute(0, 2, 1, 3)
    out = rg.nn.BatchNorm2d(2).train(training)(x)
    assert out.is_contiguous(memory_format=rg.channels_last)
    expected = rg.nn.BatchNorm2d(2).train(training)(x.contiguous())
    assert expected.is_contiguous()
    assert rg.equal(out, expected)


@pytest.mark.parametrize("shape", [(4, 4), (4, 1), (1, 4)])
@pytest.mark.parametrize("name", ["add", "mul", "div"])
def test_an_operand_of_fewer_dimensions_does_not_decide_on_the_order(name, shape):
    turned = rg.ones(4, 4, 1).expand(4, 4, 4).permute(1, 2, 0)
    assert turned.stride() == (1, 0, 4)
    assert getattr(rg, name)(rg.ones(shape), turned).stride() == (1, 4, 16)
