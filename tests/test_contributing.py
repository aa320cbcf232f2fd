"""The worked example of CONTRIBUTING.md: one declaration gives all that an op has."""

from __future__ import annotations

import doctest
import re
import warnings
from pathlib import Path

import numpy as np
import pytest

import retrograd as rg
from retrograd import func
from retrograd.autograd import gradcheck, gradgradcheck
from retrograd.engine import namespaces
from retrograd.engine.inplace import in_place
from retrograd.engine.registry import OPS, declare, example
from retrograd.engine.tensor import Tensor, method

TEXT = (Path(__file__).parents[1] / "CONTRIBUTING.md").read_text()
(SOURCE,) = re.findall(r"```python\n(gaussian = .*?)```", TEXT, re.DOTALL)


@pytest.fixture
def gaussian():
    """The op of the example, taken out of the registry afterwards."""
    names = {"np": np, "declare": declare, "example": example, "method": method}
    exec(SOURCE, {**names, "in_place": in_place}, names)
    yield names["gaussian"]
    del OPS["gaussian"], Tensor.gaussian, Tensor.gaussian_
    for namespace in (namespaces.arrays, namespaces.reals, namespaces.recorded):
        del namespace.gaussian


def leaf(*values, dtype=None):
    return rg.tensor(values, dtype=dtype or rg.float64, requires_grad=True)


def test_it_has_values_a_method_and_a_node(gaussian):
    x = leaf(0.5, -1.0)
    y = x.gaussian()
    np.testing.assert_allclose(y.detach().numpy(), np.exp([-0.25, -1.0]))
    assert y.grad_fn.name() == "GaussianBackward0"
    assert y.grad_fn._saved_self is x
    assert gaussian(x).dtype == rg.float64


@pytest.mark.parametrize("values", [(0.5, -1.0), (0.5 + 1j, -1.0 + 0.25j)])
def test_it_has_derivatives_to_second_order_real_and_complex(gaussian, values):
    dtype = rg.complex128 if isinstance(values[0], complex) else rg.float64
    assert gradcheck(gaussian, leaf(*values, dtype=dtype), check_forward_ad=True)
    assert gradgradcheck(gaussian, leaf(*values, dtype=dtype))


def test_it_runs_in_forward_mode_and_in_batches_without_a_warning(gaussian):
    x = leaf(0.5, -1.0)
    value, tangent = func.jvp(gaussian, (x,), (rg.ones_like(x),))
    np.testing.assert_allclose(
        tangent.detach().numpy(), -2 * x.detach().numpy() * value.detach().numpy()
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(
            func.vmap(func.grad(gaussian))(x).detach().numpy(), tangent.detach().numpy()
        )


def test_it_writes_in_place_into_a_view(gaussian):
    x = leaf(0.5, -1.0)
    base = x.clone()
    base[1:].gaussian_()
    (grad,) = rg.autograd.grad(base.sum(), x)
    np.testing.assert_allclose(grad.numpy(), [1.0, 2.0 * np.exp(-1.0)])


def test_its_docstring_runs(gaussian):
    namespace = {"rg": type("rg", (), {"gaussian": gaussian, "tensor": rg.tensor})}
    test = doctest.DocTestParser().get_doctest(gaussian.__doc__, namespace, "gaussian", None, 0)
    assert doctest.DocTestRunner().run(test) == (0, 1)
