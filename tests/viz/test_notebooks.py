"""What a notebook shows of tensors and modules."""

from __future__ import annotations

from xml.etree import ElementTree

import retrograd as rg
from retrograd import nn


def texts(shown):
    return [part.strip() for part in ElementTree.fromstring(f"<p>{shown}</p>").itertext()]


def test_a_tensor_shows_values_shape_dtype_size_and_history():
    x = rg.tensor([1.0, 2.0], requires_grad=True)
    values, facts = texts((x * 2)._repr_html_())
    assert values == "tensor([2., 4.], grad_fn=<MulBackward0>)"
    assert facts == "shape (2,) · float32 · 8 bytes · MulBackward0"
    assert texts(x._repr_html_())[1].endswith("requires grad")


def test_a_module_shows_its_tree_with_shapes_and_counts():
    net = nn.Sequential(nn.Linear(2, 3), nn.Sequential(nn.BatchNorm1d(3)))
    net[0].requires_grad_(False)
    shown = texts(net._repr_html_())
    assert "15 parameters, 2 frozen" in shown
    assert "weight: 3×2 float32" in shown
    assert "running_mean: 3 float32" in shown


def test_a_lazy_module_and_one_in_eval_mode_are_shown():
    assert "weight: no shape yet" in texts(nn.LazyLinear(2)._repr_html_())
    assert "0 parameters, eval" in texts(nn.ReLU().eval()._repr_html_())


def test_what_a_module_says_of_itself_is_text():
    class Odd(nn.Module):
        def extra_repr(self):
            return "<b>x</b> & y"

    assert "(<b>x</b> & y)" in "".join(texts(Odd()._repr_html_()))
