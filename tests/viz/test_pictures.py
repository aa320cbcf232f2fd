"""Memory over time, norms of gradients, complex colours, curves of derivatives."""

from __future__ import annotations

import base64
import math
import re
import struct
import zlib
from xml.etree import ElementTree

import numpy as np
import pytest

import retrograd as rg
from retrograd import nn
from retrograd.viz.axes import logarithms, rounds
from retrograd.viz.color import domain_colors
from retrograd.viz.derivatives import limits, values_of
from retrograd.viz.picture import inlined
from retrograd.viz.timeline import Bar, draw, summary, told

# -- memory ----------------------------------------------------------------------------------------


def test_memory_names_the_peak_and_who_held_it():
    x = rg.ones(1000)
    text = str(rg.viz.memory(lambda: x.exp() + x.sin() * 0))
    first, *held = text.splitlines()
    assert first == "peak 11.7 KB at mul in the forward pass, after 3 of 4 steps"
    assert held == ["     11.7 KB  outside of modules"]


def test_memory_counts_views_once():
    x = rg.ones(1000)
    assert "peak 3.91 KB" in str(rg.viz.memory(lambda: x.exp().view(10, 100).T))


def test_memory_runs_the_backward_pass_of_what_is_returned():
    net = nn.Sequential(nn.Linear(4, 4), nn.Tanh())
    text = str(rg.viz.memory(lambda: net(rg.ones(2, 4)).sum()))
    assert "at AddmmBackward0 in the backward pass" in text
    assert "80 B  Sequential.0" in text


def test_memory_takes_formulas_that_give_numbers():
    x = rg.ones(2, requires_grad=True)
    first = str(rg.viz.memory(lambda: x.sum() * 2)).splitlines()[0]
    assert first == "peak 12 B at SumBackward0 in the backward pass, after 4 of 5 steps"


def test_memory_of_nothing_says_so():
    with pytest.raises(RuntimeError, match="called no op"):
        rg.viz.memory(lambda: None)


# -- time ------------------------------------------------------------------------------------------


def test_timeline_has_a_bar_for_each_op_and_node_in_the_row_of_its_module():
    net = nn.Sequential(nn.Linear(4, 4), nn.Tanh())
    picture = rg.viz.timeline(lambda: net(rg.ones(2, 4)).sum())
    names = re.findall(r"<title>(\S+) [\d.]+ (?:µs|ms)</title>", picture.svg)
    leaf = "torch::autograd::AccumulateGrad"
    assert names == [
        "linear", "AddmmBackward0", leaf, leaf, "tanh", "TanhBackward0", "sum", "SumBackward0",
    ]  # fmt: skip
    assert re.findall(r"\S+$", picture.text, re.MULTILINE)[1:] == [
        "Sequential.0",
        "Sequential.1",
        "modules",
    ]


@pytest.mark.parametrize("picture", [rg.viz.memory, rg.viz.timeline])
def test_a_picture_of_a_function_leaves_gradients_and_later_pictures_alone(picture):
    net = nn.Linear(2, 1)
    x = rg.ones(4, 2)
    plain = str(rg.viz.graph((net(x) * 0).sum(), net))
    net(x).mean().backward()
    weight, values = net.weight.grad, net.weight.grad.tolist()
    net.bias.grad = None
    picture(lambda: net(x).mean())
    assert net.weight.grad is weight
    assert weight.tolist() == values
    assert net.bias.grad is None
    assert str(rg.viz.graph((net(x) * 0).sum(), net)) == plain


def test_a_picture_that_fails_leaves_gradients_alone():
    x = rg.ones(2, requires_grad=True)
    x.grad = before = rg.ones(2)
    y = x.exp()
    z = y.sum()
    y.detach().mul_(2)
    with pytest.raises(rg.errors.VersionError):
        rg.viz.memory(lambda: z * 1)
    assert x.grad is before


def test_timeline_measures_seconds():
    bars = [Bar("exp", "", False, 1.0, 1.5), Bar("ExpBackward0", "", True, 1.75, 2.0)]
    assert summary(bars) == "forward 500 ms in 1 ops, backward 250 ms in 1 nodes"
    assert told(bars).split() == ["750", "ms,", "most", "in", "exp"]
    first, second = re.findall(r'<rect x="([\d.]+)" y="17" width="([\d.]+)"', draw(bars).svg)
    assert float(second[0]) - float(first[0]) == pytest.approx(0.75 * 520)
    assert (float(first[1]), float(second[1])) == (260.0, 130.0)


def test_timeline_of_nothing_says_so():
    with pytest.raises(RuntimeError, match="called no op"):
        rg.viz.timeline(lambda: None)


# -- gradients -------------------------------------------------------------------------------------


def test_flow_notes_a_norm_for_each_parameter_and_step():
    net = nn.Linear(2, 1, bias=False)
    seen = rg.viz.Flow(net)
    for scale in (3.0, 4.0):
        net.zero_grad()
        net(rg.tensor([[scale, 0.0]])).sum().backward()
        seen.keep()
    assert seen.norms == {"weight": [3.0, 4.0]}
    svg = seen.picture().svg
    assert "over 2 steps, from 3 (dark) to 4 (bright)" in svg
    numbers = re.findall(r'text-anchor="middle">([\d.]+)<', svg)
    assert numbers == ["3", "3.2", "3.5", "3.7", "4"]  # 3 * (4 / 3) ** (n / 4), under their colours


def test_flow_trains_with_an_optimizer():
    net = nn.Linear(1, 1)
    sgd = rg.optim.SGD(net.parameters(), lr=0.1)
    rg.viz.flow(net, lambda: (net(rg.ones(1, 1)) - 5).square().sum(), sgd, steps=40)
    assert net(rg.ones(1, 1)).item() == pytest.approx(5.0, abs=1e-3)


def test_a_parameter_without_gradient_is_not_a_number():
    net = nn.ModuleList([nn.Linear(1, 1), nn.Linear(1, 1)])
    seen = rg.viz.Flow(net)
    net[0](rg.ones(1, 1)).sum().backward()
    seen.keep()
    assert math.isnan(seen.norms["1.weight"][0])
    with pytest.raises(RuntimeError, match="no parameter has a gradient"):
        rg.viz.Flow(nn.Linear(1, 1)).keep()


# -- complex numbers -------------------------------------------------------------------------------


def test_phases_are_hues_and_moduli_are_lightness():
    z = np.array([[1, 1j, -1, 0, np.inf, np.nan]])
    red, green, cyan, black, white, grey = domain_colors(z)[0].tolist()
    assert red == [255, 0, 0]
    assert green == [128, 255, 0]
    assert cyan == [0, 255, 255]
    assert black == [0, 0, 0]
    assert white == [255, 255, 255]
    assert grey == [128, 128, 128]


def test_the_wheel_of_phases_says_where_one_and_i_are():
    svg = rg.viz.colored(rg.tensor([[1j, 2j]])).svg
    labels = re.findall(r'<text x="(\S+)"[^>]* y="(\S+)"[^>]*>(−?[1i])<', svg)
    (x_i, y_i), (x_below, y_below), (x_1, y_1), (x_left, y_left) = [
        (float(x), float(y)) for x, y, _ in labels
    ]
    assert [text for _, _, text in labels] == ["i", "−i", "1", "−1"]
    assert x_left < x_i == x_below < x_1
    assert y_i < y_1 == y_left < y_below
    assert "full colour at modulus 1.5 (the ring)" in svg


def test_a_picture_of_bytes_is_a_png():
    colors = np.arange(18, dtype=np.uint8).reshape(2, 3, 3)
    png = base64.b64decode(inlined(colors).partition(",")[2])
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    assert struct.unpack(">II", png[16:24]) == (3, 2)
    (length,) = struct.unpack(">I", png[33:37])
    rows = zlib.decompress(png[41 : 41 + length])
    assert rows == b"\0" + bytes(range(9)) + b"\0" + bytes(range(9, 18))


def test_a_tensor_of_three_dimensions_is_refused():
    with pytest.raises(ValueError, match=r"not one of shape \(1, 2, 3\)"):
        rg.viz.colored(rg.zeros(1, 2, 3))


def test_an_image_is_shown_as_it_is_and_another_is_stretched():
    def first_pixel(x):
        address = re.search(r'href="(data:[^"]*)"', rg.viz.image(x).svg)[1]
        png = base64.b64decode(address.partition(",")[2])
        (length,) = struct.unpack(">I", png[33:37])
        return list(zlib.decompress(png[41 : 41 + length])[1:4])

    assert first_pixel(rg.tensor([[0.5, 1.0]])) == [128, 128, 128]
    assert first_pixel(rg.tensor([[-1.0, 3.0]])) == [0, 0, 0]
    assert first_pixel(rg.tensor([[[10]], [[20]], [[30]]])) == [10, 20, 30]


@pytest.mark.parametrize("shape", [(2,), (2, 3, 4), (0, 3), (1, 1, 3, 3)])
def test_what_is_no_image_is_refused(shape):
    with pytest.raises(ValueError, match="takes a real tensor of shape"):
        rg.viz.image(rg.zeros(shape))


def test_arrays_and_lists_are_shown_as_tensors_are():
    z = rg.polar(rg.ones(2, 3), rg.arange(6.0).reshape(2, 3))
    assert rg.viz.colored(z.numpy()).svg == rg.viz.colored(z).svg
    assert rg.viz.image([[0.0, 1.0]]).svg == rg.viz.image(rg.tensor([[0.0, 1.0]])).svg
    with pytest.raises(ValueError, match=r"rg\.viz\.curves.* shows one dimension"):
        rg.viz.image([0.0, 1.0])
    with pytest.raises(ValueError, match=r"for example rg\.viz\.colored\(z\)"):
        rg.viz.image(z)


# -- curves ----------------------------------------------------------------------------------------


def test_curves_show_lines_of_different_lengths():
    picture = rg.viz.curves({"a": [0.0, 1.0, 4.0], "b": [2.0, math.nan]}, y="loss")
    assert picture.title == "loss by step"
    assert picture.text.splitlines()[1:] == [
        "a          0         0         4         4",
        "b          2         2         2       nan",
    ]
    assert 'd="M64.0,286.0L304.0,221.0L544.0,26.0"' in picture.svg
    assert 'd="M64.0,156.0"' in picture.svg


def test_a_curve_may_have_no_name_and_is_real():
    losses = [4.0, 1.0]
    assert rg.viz.curves(losses).svg == rg.viz.curves({"value": losses}).svg
    with pytest.raises(TypeError, match=r"give \.abs\(\) or \.real of complex ones"):
        rg.viz.curves({"z": [1j]})


def test_logarithmic_curves_leave_out_what_is_not_above_0():
    svg = rg.viz.curves({"a": [1.0, 0.0, 100.0]}, log=True).svg
    assert 'd="M64.0,286.0M544.0,26.0"' in svg
    numbers = re.findall(r'text-anchor="end">([\d.]+)<', svg)
    assert numbers == ["1", "2", "5", "10", "20", "50", "100"]
    with pytest.raises(ValueError, match="needs a number to show"):
        rg.viz.curves({"a": [0.0]}, log=True)


def test_curves_are_the_derivatives():
    x = np.linspace(-1, 1, 5)
    f, first, second = values_of(lambda t: t**3, x, 2)
    np.testing.assert_allclose(f, x**3, rtol=1e-14)
    np.testing.assert_allclose(first, 3 * x**2, rtol=1e-14)
    np.testing.assert_allclose(second, 6 * x, rtol=1e-14)


@pytest.mark.parametrize(
    ("function", "derivative"),
    [
        (lambda z: z * z, lambda z: 2 * z),
        (lambda z: z.exp(), np.exp),
        (lambda z: z.conj() * z, lambda z: z.conj()),  # by z, with its conjugate held fixed
        (lambda z: z.conj(), lambda z: 0 * z),
        (lambda z: z.abs() ** 2, lambda z: z.conj()),
    ],
)
def test_over_a_region_the_derivative_is_that_by_z(function, derivative):
    z = np.array([[1 + 2j, -0.5j, 3 - 1j]])
    _, found = values_of(function, z, 1)
    np.testing.assert_allclose(found, derivative(z), rtol=1e-12, atol=1e-14)


def test_a_constant_has_derivative_zero():
    _, found = values_of(lambda x: x.detach() * 0 + 1, np.ones(3), 1)
    assert found.tolist() == [0.0, 0.0, 0.0]


def test_a_function_that_is_not_elementwise_is_refused():
    with pytest.raises(ValueError, match=r"the function gave shape \(\) for \(401,\) numbers"):
        rg.viz.derivatives(lambda x: x.sum())


@pytest.mark.parametrize(
    "picture",
    [
        lambda: rg.viz.derivatives(lambda x: 1 / x, order=3),
        lambda: rg.viz.derivatives(lambda x: x * 0 + float("nan")),
        lambda: rg.viz.derivatives(lambda z: z.sin(), -2 - 2j, 2 + 2j),
        lambda: rg.viz.colored(rg.randn(3, 3, dtype=rg.complex64)),
        lambda: rg.viz.curves({"a": [1.0, math.nan, math.inf, 2.0], "b": [-1.0]}, log=True),
        lambda: rg.viz.memory(lambda: rg.ones(3).exp()),
        lambda: rg.viz.timeline(lambda: rg.ones(3).exp()),
        lambda: rg.viz.graph(rg.ones(3, requires_grad=True).exp()),
    ],
)
def test_every_picture_is_svg_without_what_is_not_a_number(picture):
    svg = picture().svg
    ElementTree.fromstring(svg)
    assert not re.search(r'[" ,](nan|inf|-inf)[" ,]', svg)


def test_poles_do_not_count_for_the_range_of_curves():
    values = np.concatenate([np.linspace(-1, 1, 100), [1e6, -1e6]])
    low, high = limits(values)
    assert -5 < low < -1
    assert 1 < high < 5
    assert limits(np.array([0.0, 2.0, 1.0])) == (0.0, 2.0)
    assert limits(np.empty(0)) == (-1.0, 1.0)


def test_logarithmic_ticks_are_powers_of_ten():
    assert logarithms(-4.0, 0.0) == [-4.0, -3.0, -2.0, -1.0, 0.0]
    assert logarithms(-20.0, 0.0) == [-20.0, -17.0, -14.0, -11.0, -8.0, -5.0, -2.0]
    assert logarithms(0.1, 0.5) == [math.log10(2)]
    assert logarithms(0.32, 0.36) == rounds(0.32, 0.36)


def test_ticks_are_round_numbers_within_the_range():
    assert rounds(-3.0, 3.0) == [-3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0]
    assert rounds(0.0, 0.07) == [0.0, 0.02, 0.04, 0.06]
