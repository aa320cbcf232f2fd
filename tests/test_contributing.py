"""The worked examples of CONTRIBUTING.md run, each in one place."""

from __future__ import annotations

import copy
import doctest
import functools
import math
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
from retrograd.nn import init
from retrograd.nn.modules.module import Module
from retrograd.nn.modules.utils import empty_parameter
from retrograd.optim.rules import BLOCK, Rule, settings

TEXT = (Path(__file__).parents[1] / "CONTRIBUTING.md").read_text()
CODE = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
EXAMPLES = {re.match(r"(?:class |def |)(\w+)", code).group(1): code for code in CODE}


def made(name, **names):
    """What an example of that name defines, in a module with these names."""
    space = {"__name__": __name__, "rg": rg, "np": np, **names}
    exec(EXAMPLES[name], space)
    return space[name]


@pytest.fixture
def gaussian():
    """The op of the example, taken out of the registry afterwards."""
    yield made("gaussian", declare=declare, example=example, method=method, in_place=in_place)
    del Tensor.gaussian, Tensor.gaussian_
    forget("gaussian")


def forget(name):
    """Take an op out of the registry and the namespaces."""
    del OPS[name]
    for namespace in (namespaces.arrays, namespaces.reals, namespaces.recorded):
        vars(namespace).pop(name, None)


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


# -- a layer -------------------------------------------------------------------------------------


@pytest.fixture
def scale():
    return made("Scale", Module=Module, init=init, empty_parameter=empty_parameter)


def test_a_layer_has_parameters_values_and_a_gradient(scale):
    layer = scale(2, dtype=rg.float64)
    assert [name for name, _ in layer.named_parameters()] == ["weight"]
    layer(leaf(3.0, 4.0)).sum().backward()
    np.testing.assert_array_equal(layer.weight.grad.numpy(), [3.0, 4.0])


def test_a_layer_s_docstring_runs(scale):
    test = doctest.DocTestParser().get_doctest(
        scale.__doc__, {"rg": rg, "Scale": scale}, "Scale", None, 0
    )
    assert doctest.DocTestRunner().run(test) == (0, 1)


def test_a_layer_is_saved_copied_cast_and_shown(scale):
    layer = scale(2)
    layer.load_state_dict({"weight": rg.tensor([2.0, 3.0])})
    other = copy.deepcopy(rg.nn.Sequential(layer)).double()
    np.testing.assert_array_equal(other.state_dict()["0.weight"].numpy(), [2.0, 3.0])
    assert (other[0].weight.dtype, layer.weight.dtype) == (rg.float64, rg.float32)
    assert repr(layer) == "Scale(features=2)"


def test_a_layer_runs_with_other_parameters_and_in_batches(scale):
    layer = scale(2, dtype=rg.float64)
    weights = {"weight": leaf(2.0, 3.0)}
    of_one = func.vmap(lambda x: func.functional_call(layer, weights, (x,)))
    rows = of_one(rg.ones(3, 2, dtype=rg.float64))
    np.testing.assert_array_equal(rows.detach().numpy(), [[2.0, 3.0]] * 3)


# -- an optimizer --------------------------------------------------------------------------------


@pytest.fixture
def averaged():
    return made("Averaged", Rule=Rule, settings=settings)


def stepped(optimizer, x, *gradients):
    """A parameter's values after steps with these gradients."""
    for gradient in gradients:
        x.grad = rg.as_tensor(gradient, dtype=x.dtype)
        optimizer.step()
    return x.detach().numpy()


def test_an_optimizer_steps_by_its_rule(averaged):
    x = leaf(1.0)
    found = stepped(averaged([x], lr=0.1, beta=0.5), x, [2.0], [5.0])
    np.testing.assert_allclose(found, [1 - 0.1 * 2 - 0.1 * (0.25 * 2 + 0.5 * 5) / 0.75], rtol=1e-15)


def test_an_optimizer_takes_complex_parameters_decay_and_ascent(averaged):
    z = leaf(1 + 2j, dtype=rg.complex128)
    found = stepped(averaged([z], lr=0.5, weight_decay=2.0, maximize=True), z, [1j])
    np.testing.assert_allclose(found, [(1 + 2j) - 0.5 * (-1j + 2 * (1 + 2j))], rtol=1e-15)


def test_an_optimizer_gives_a_large_parameter_what_it_gives_each_part(averaged):
    values, gradients = np.random.rand(2, 3 * BLOCK)
    whole, part = (rg.tensor(v, requires_grad=True) for v in (values, values[-5:]))
    found = stepped(averaged([whole]), whole, gradients, gradients)
    np.testing.assert_array_equal(
        found[-5:], stepped(averaged([part]), part, gradients[-5:], gradients[-5:])
    )


def test_an_optimizer_s_step_can_be_differentiated(averaged):
    lr, x = leaf(0.1).sum(), leaf(1.0)
    y = x.clone()
    y.grad = rg.tensor([2.0], dtype=rg.float64)
    averaged([y], lr=lr, differentiable=True).step()
    (derivative,) = rg.autograd.grad(y.sum(), lr)
    np.testing.assert_allclose(derivative.item(), -2.0)


def test_an_optimizer_goes_on_from_its_state(averaged):
    x, y = leaf(1.0), leaf(1.0)
    first, second = averaged([x]), averaged([y])
    np.testing.assert_array_equal(stepped(first, x, [2.0]), stepped(second, y, [2.0]))
    again = averaged([y])
    again.load_state_dict(second.state_dict())
    np.testing.assert_array_equal(stepped(first, x, [5.0]), stepped(again, y, [5.0]))


# -- a kernel ------------------------------------------------------------------------------------


@pytest.fixture
def log1mexp():
    return made("log1mexp", math=math)


def test_a_kernel_is_exact_at_both_ends_and_keeps_the_dtype(log1mexp):
    x = np.array([-1e-10, -1.0, -50.0])
    expected = [-23.02585092999046, -0.4586751453870819, -1.9287498479639178e-22]
    np.testing.assert_allclose(log1mexp(x), expected, rtol=1e-15)
    with np.errstate(all="ignore"):
        assert log1mexp(x.astype(np.float32)).dtype == np.float32


def test_a_kernel_is_the_forward_of_a_record(log1mexp):
    op = declare(
        "log1mexp(input)",
        log1mexp,
        derivative=lambda xp, input, out: -xp.exp(input - out),
        elementwise=True,
        examples=[example("3")],
        domain=(-3.0, -0.1),
        complex=False,
        doc="""log(1 - exp(input)).""",
    )
    try:
        assert gradgradcheck(op, leaf(-0.5, -2.0))
    finally:
        forget("log1mexp")


# -- a backend -----------------------------------------------------------------------------------


@pytest.fixture
def backend():
    return made("Counted", functools=functools)


def trained(kind):
    """The parameters of a small network, their gradients and its loss after some steps."""
    np.random.seed(0)
    shapes = ((8, 3), (8, 2), (3, 2), (2,))
    x, y, *parameters = (rg.as_tensor(kind(np.random.standard_normal(s))) for s in shapes)
    w, b = (p.requires_grad_() for p in parameters)
    optimizer = rg.optim.Adam([w, b], lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        loss = ((rg.nn.functional.gelu(x @ w + b) - y) ** 2).mean()
        loss.backward()
        optimizer.step()
    return [t._array for t in (w, b, w.grad, b.grad, loss)]


def test_a_backend_trains_to_the_same_numbers_in_arrays_of_its_kind(backend):
    expected, found = trained(np.array), trained(backend)
    assert {type(array) for array in found} == {backend}
    for a, b in zip(expected, found, strict=True):
        np.testing.assert_allclose(b.held, a, rtol=1e-14)


def test_a_backend_counts_the_arrays_that_are_made(backend):
    x = rg.as_tensor(backend(np.ones(3)))
    before = backend.made
    x * x
    assert backend.made == before + 1


def test_a_backend_runs_in_transforms(backend):
    x = rg.as_tensor(backend(np.array([[0.5, 1.0], [2.0, 3.0]])))
    found = func.vmap(func.grad(lambda row: (row.sin() * row).sum()))(x)
    expected = np.sin(x._array.held) + x._array.held * np.cos(x._array.held)
    assert type(found._array) is backend
    np.testing.assert_allclose(found._array.held, expected, rtol=1e-14)


def test_a_backend_s_docstring_runs(backend):
    names = {"rg": rg, "np": np, "Counted": backend}
    test = doctest.DocTestParser().get_doctest(backend.__doc__, names, "Counted", None, 0)
    assert doctest.DocTestRunner().run(test) == (0, 2)
