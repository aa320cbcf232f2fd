"""What takes values out of tensors within a transform: nothing loses a derivative silently."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import retrograd as rg
from retrograd.autograd import forward_ad, functional
from retrograd.func import grad, jacfwd, jvp, vmap

X = rg.tensor([1.0, 2.0])
ONE = rg.ones(2)

CONVERSIONS = {
    "numpy": lambda x: rg.from_numpy(x.numpy()),
    "asarray": lambda x: rg.from_numpy(np.asarray(x)),
    "array of a list": lambda x: rg.tensor(np.array([x[0], x[1]])),
    "r_": lambda x: rg.tensor(np.r_[x, x]),
    "a function that converts": lambda x: rg.tensor(np.poly(x)),
    "deepcopy": copy.deepcopy,
    "pickle": lambda x: pickle.loads(pickle.dumps(x)),
    "dlpack": rg.from_dlpack,
}


@pytest.mark.parametrize("convert", CONVERSIONS.values(), ids=CONVERSIONS)
def test_a_tensor_with_a_tangent_is_not_converted(convert):
    lost = (RuntimeError, TypeError, BufferError)
    for whole in (lambda x: convert(x * 2), convert):
        with pytest.raises(lost, match=r"tangent|would be lost"):
            jvp(whole, (X,), (ONE,))
        with forward_ad.dual_level(), pytest.raises(lost, match=r"tangent|would be lost"):
            whole(forward_ad.make_dual(X, ONE))


NUMBERS = {
    "full": lambda v: rg.full((2,), v),
    "fftfreq": lambda v: rg.fft.fftfreq(4, v),
    "apply_": lambda v: (v * 1).apply_(abs),
    "map_": lambda v: rg.ones(()).map_(v, max),
    "alpha": lambda v: rg.add(X, X, alpha=v),
    "scale": lambda v: rg.nn.functional.scaled_dot_product_attention(*[ONE[None]] * 3, scale=v),
}


@pytest.mark.parametrize("function", NUMBERS.values(), ids=NUMBERS)
def test_a_number_that_has_no_derivative_may_not_ask_for_one(function):
    v = rg.tensor(2.0)
    function(v.clone())
    for derive in (grad(lambda v: function(v).sum()), jacfwd(function)):
        with pytest.raises((TypeError, RuntimeError), match=r"Number|float|requires grad"):
            derive(v)


def test_a_constant_is_converted_within_a_forward_derivative():
    found = jvp(lambda x: x * rg.from_numpy(x.detach().numpy() ** 2), (X,), (ONE,))
    assert found[1].tolist() == [1.0, 4.0]
    found = jvp(lambda x: x * rg.from_numpy(x.numpy(force=True) ** 2), (X,), (ONE,))
    assert found[1].tolist() == [1.0, 4.0]
    assert jvp(lambda x: x * rg.from_numpy(X.numpy() ** 2), (X,), (ONE,))[1].tolist() == [1.0, 4.0]


def test_a_tangent_of_a_derivative_that_is_over_is_no_hindrance():
    buffer = rg.zeros(2)
    jvp(lambda x: buffer.copy_(x).sum(), (X,), (ONE,))
    for convert in CONVERSIONS.values():
        convert(buffer)
    with forward_ad.dual_level():
        x = forward_ad.make_dual(X, ONE)
    assert x.numpy().tolist() == [1.0, 2.0]


def test_single_values_may_be_asked_for_as_in_reverse():
    weights = lambda x: x * x[0].item() * float(x[1]) + x.tolist()[1]
    assert jvp(weights, (X,), (ONE,))[1].tolist() == [2.0, 2.0]
    assert grad(lambda x: weights(x).sum())(X).tolist() == [2.0, 2.0]
    assert jvp(lambda x: x * 3 if x[0] > 0 else x, (X,), (ONE,))[1].tolist() == [3.0, 3.0]


def test_a_function_with_a_jvp_of_its_own_may_use_numpy():
    class Cube(rg.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_forward(x)
            return rg.from_numpy(x.numpy() ** 3)

        @staticmethod
        def jvp(ctx, t):
            (x,) = ctx.saved_tensors
            return 3 * x**2 * t

    assert jvp(Cube.apply, (X,), (ONE,))[1].tolist() == [3.0, 12.0]


@pytest.mark.filterwarnings("ignore:vmap")
def test_a_batch_is_converted_example_by_example():
    rows = rg.tensor([[1.0, 2.0], [3.0, 4.0]])
    for name in ("numpy", "asarray", "array of a list", "deepcopy", "pickle", "dlpack"):
        assert vmap(CONVERSIONS[name])(rows).tolist() == rows.tolist()
    with pytest.raises(RuntimeError, match="would be lost"):
        jacfwd(CONVERSIONS["asarray"])(X)


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (lambda x: x if x.sum() > 0 else -x, "attempting to use a Tensor in some data-dependent"),
        (lambda x: x * x[0].item(), "you're calling .item.. on a Tensor"),
    ],
)
def test_what_vmap_cannot_run_at_once_is_said_in_pytorchs_words(function, text):
    rows = rg.tensor([[1.0, 2.0], [3.0, 4.0]])
    with pytest.warns(UserWarning, match=text):
        assert vmap(function)(rows).shape == (2, 2)


def test_a_forward_jacobian_by_one_batched_call_runs_what_asks_for_values():
    how = {"vectorize": True, "strategy": "forward-mode"}
    for function in (lambda x: x * 2 if x[0] > 0 else x, lambda x: x + x[0].item()):
        found = functional.jacobian(function, X, **how)
        assert found.tolist() == jacfwd(function)(X).tolist()
