"""`autocast`: what is cast, how often, and where it ends; the dtypes are PyTorch's."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest

import retrograd as rg
from retrograd.nn import functional as F
from retrograd.torch.amp import autocast, autocast_mode, custom_bwd, custom_fwd

from ...data import make_autocast

pytest.importorskip("ml_dtypes")
STORED = json.loads((Path(make_autocast.__file__).with_name("autocast.json")).read_text())
OTHERWISE = {  # see docs/differences.md
    "nn.LSTM(3,3)(x[None].to(torch.float32))": ["bfloat16", "bfloat16", "float16"],
    "torch.corrcoef(w)": ["float32", "bfloat16", "float32"],
    "torch.cov(w)": ["float32", "bfloat16", "float32"],
    "torch.matmul(w,w,out=torch.empty(3,3))": ["float32"] * 3,
}


def test_dtypes_are_pytorchs():
    assert make_autocast.results(rg) == STORED | OTHERWISE


@pytest.fixture
def w():
    return rg.tensor([[1.0, 2.0], [0.3, 1.0]], requires_grad=True)


def test_values_and_gradients_are_those_of_casts_by_hand(w):
    x = rg.tensor([[0.1, 0.2]])
    with autocast("cpu", dtype=rg.float16):
        out = x @ w
        loss = F.mse_loss(out, rg.ones(1, 2))
    loss.backward()
    twin = w.detach().requires_grad_()
    by_hand = x.half() @ twin.half()
    F.mse_loss(by_hand.float(), rg.ones(1, 2)).backward()
    assert rg.equal(out, by_hand)
    assert w.grad.dtype is rg.float32
    assert rg.equal(w.grad, twin.grad)


def test_regions_nest_and_end(w):
    with autocast("cpu", dtype=rg.float16):
        assert (w @ w).dtype is rg.float16
        with autocast("cpu", enabled=False):
            assert (w @ w).dtype is rg.float32
            assert not rg.is_autocast_enabled("cpu")
            with autocast("cpu"):
                assert (w @ w).dtype is rg.float16  # the dtype of the regions around, as PyTorch's
            with autocast("cpu", dtype=rg.bfloat16):
                assert (w @ w).dtype is rg.bfloat16
        assert rg.get_autocast_dtype("cpu") is rg.float16
        with pytest.raises(ZeroDivisionError), autocast("cpu", dtype=rg.bfloat16):
            1 / 0
        assert (w @ w).dtype is rg.float16
    assert (w @ w).dtype is rg.float32
    assert not autocast_mode.state.casts
    assert rg.get_autocast_dtype("cpu") is rg.bfloat16


def test_a_region_decorates_also_functions_that_call_themselves(w):
    @autocast("cpu")
    def product(depth):
        return product(depth - 1) @ w if depth else w @ w

    assert product(2).dtype is rg.bfloat16
    assert (w @ w).dtype is rg.float32


def test_a_weight_is_cast_once_until_it_is_written(w):
    x, casts = rg.ones(1, 2), []

    class Count(rg.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {}))

    def cast_of(w):
        return autocast_mode.state.casts[id(w)][2]

    with autocast("cpu"), Count():
        (x @ w).sum().backward()
        casts.append(cast_of(w))
        (x @ w).sum().backward()  # the graph of the cast lives on
        assert cast_of(w) is casts[0]
        with rg.no_grad():
            w += 1
            x @ w
            assert not cast_of(w).requires_grad
        assert (x @ w).requires_grad
        assert rg.equal(cast_of(w), w.bfloat16())
    assert w.grad.tolist() == [[2.0, 2.0], [2.0, 2.0]]
    with autocast("cpu", cache_enabled=False):
        assert not rg.is_autocast_cache_enabled()
        w @ w
        assert not autocast_mode.state.casts


def test_forms_that_are_turned_off_do_nothing(w):
    with autocast("cuda", enabled=False):
        assert (w @ w).dtype is rg.float32
    with pytest.warns(UserWarning, match="CUDA is not available"), autocast("cuda"):
        assert (w @ w).dtype is rg.float32
    with pytest.warns(UserWarning, match="dtype is not supported"):
        region = autocast("cpu", dtype=rg.float32)
    with region:
        assert (w @ w).dtype is rg.float32
    with pytest.raises(RuntimeError, match="unsupported autocast device_type 'meta'"):
        autocast("meta")
    with pytest.raises(TypeError, match=r"must be a retrograd.dtype, not 'bfloat16'"):
        autocast("cpu", dtype="bfloat16")
    with pytest.raises(ValueError, match="Expected `device_type` of type `str`"):
        autocast(rg.device("cpu"))


def test_threads_have_regions_of_their_own(w):
    found = []
    with autocast("cpu"):
        thread = threading.Thread(target=lambda: found.append((w @ w).dtype))
        thread.start()
        thread.join()
    assert found == [rg.float32]


def test_the_state_can_be_set_by_hand(w):
    rg.set_autocast_enabled("cpu", True)
    rg.set_autocast_dtype("cpu", rg.float16)
    try:
        assert rg.is_autocast_cpu_enabled()
        assert (w @ w).dtype is rg.get_autocast_cpu_dtype() is rg.float16
    finally:
        rg.set_autocast_cpu_enabled(False)
        rg.set_autocast_cpu_dtype(rg.bfloat16)
        rg.clear_autocast_cache()
    assert (w @ w).dtype is rg.float32


def test_custom_functions_run_as_they_say(w):
    seen = []

    class Product(rg.autograd.Function):
        @staticmethod
        @custom_fwd(device_type="cpu", cast_inputs=rg.float32)
        def forward(ctx, x):
            seen.append((x.dtype, (x @ x).dtype))
            return x * 2

        @staticmethod
        @custom_bwd(device_type="cpu")
        def backward(ctx, g):
            seen.append((w @ w).dtype)
            return g * 2

    class Plain(Product):
        @staticmethod
        @custom_fwd(device_type="cpu")
        def forward(ctx, x):
            return x * 2

    with autocast("cpu"):
        Product.apply((w @ w).sum()[None, None]).sum().backward()
        out = Plain.apply(w)
    out.sum().backward()
    assert seen == [(rg.float32, rg.float32), rg.float32, rg.bfloat16]


def test_the_first_argument_of_any_other_function_is_cast_too(w):
    @custom_fwd(device_type="cpu", cast_inputs=rg.float64)
    def dtypes(x, by, *more, key=None):
        return x.dtype, by["x"].dtype, more[0].dtype, key.dtype

    assert dtypes(w, {"x": w}, w, key=w) == (rg.float32,) * 4
    with autocast("cpu"):
        found = dtypes(w, {"x": w.half()}, rg.arange(2), key=w)
    assert found == (rg.float64, rg.float64, rg.int64, rg.float64)


@pytest.mark.parametrize("use_reentrant", [True, False])
def test_a_checkpoint_runs_again_as_it_ran(w, use_reentrant):
    seen, x = [], rg.ones(2, 2, requires_grad=True)

    def function(x):
        out = x @ w
        seen.append(out.dtype)
        return out.exp()

    with autocast("cpu"):
        out = rg.utils.checkpoint.checkpoint(function, x, use_reentrant=use_reentrant)
    out.sum().backward()
    assert seen == [rg.bfloat16] * 2
    assert x.grad.dtype is w.grad.dtype is rg.float32


@pytest.mark.parametrize("groups", [1, 2])
def test_convolutions_of_one_tap_keep_halves(groups):
    x = rg.ones(1, 2, 3, dtype=rg.bfloat16, requires_grad=True)
    out = F.conv1d(x, rg.ones(2, 2 // groups, 1, dtype=rg.bfloat16), groups=groups)
    out.sum().backward()
    assert out.dtype is x.grad.dtype is rg.bfloat16
    assert out.tolist() == x.grad.tolist() == [[[2 / groups] * 3] * 2]


def gru_by_hand(layer, x, h):
    def product(x, name):
        weight, bias = (getattr(layer, f"{kind}_{name}_l0") for kind in ("weight", "bias"))
        return F.linear(x.bfloat16(), weight.bfloat16(), bias.bfloat16()).chunk(3, 1)

    for step in x:
        (r, z, n), (hr, hz, hn) = product(step, "ih"), product(h, "hh")
        n = rg.tanh(n + rg.sigmoid(r + hr) * hn)
        h = n + rg.sigmoid(z + hz) * (h - n)
    return h


@pytest.mark.parametrize("kind", [rg.float32, rg.bfloat16, rg.float16])
def test_the_products_of_a_gru_are_cast_and_its_state_is_not(kind):
    layer, x = rg.nn.GRU(3, 4), rg.randn(5, 2, 3).to(kind)
    with autocast("cpu"):
        out, last = layer(x)
    state = rg.float32 if kind is rg.float16 else kind
    assert out.dtype is last.dtype is state
    assert rg.equal(last[0], gru_by_hand(layer, x, rg.zeros(2, 4, dtype=state)))
    out.float().sum().backward()
    assert {p.grad.dtype for p in layer.parameters()} == {rg.float32}


@pytest.mark.parametrize("cell", [rg.nn.GRUCell, rg.nn.LSTMCell])
def test_the_products_of_a_cell_are_cast_and_its_state_is_not(cell):
    cell, x, h = cell(3, 4), rg.randn(2, 3), rg.randn(2, 4)
    state = h if isinstance(cell, rg.nn.GRUCell) else (h, h)
    with autocast("cpu"):
        out, again = (cell(x.to(kind), state) for kind in (rg.float32, rg.bfloat16))
    for a, b in zip([*out], [*again], strict=True):
        assert a.dtype is b.dtype is rg.float32
        assert rg.equal(a, b)


def test_a_layer_refuses_input_of_another_dtype_where_nothing_casts():
    layer, x = rg.nn.GRU(3, 4), rg.randn(5, 2, 3)
    with pytest.raises(ValueError, match="does not match weight dtype"):
        layer(x.bfloat16())
    with autocast("cpu"), pytest.raises(RuntimeError, match="same dtype"):
        layer(x.double())


def test_recurrent_layers_run_in_the_lower_precision():
    x = rg.randn(5, 2, 3)
    for layer in (rg.nn.RNN(3, 4), rg.nn.LSTM(3, 4)):
        with autocast("cpu"):
            out, _ = layer(x)
        assert out.dtype is rg.bfloat16
        out.float().sum().backward()
        assert {p.grad.dtype for p in layer.parameters()} == {rg.float32}


def test_a_spectral_norm_is_estimated_in_single_precision():
    layer = rg.nn.utils.parametrizations.spectral_norm(rg.nn.Linear(3, 4))
    with autocast("cpu"):
        assert layer.weight.dtype is rg.float32
        assert layer(rg.randn(2, 3)).dtype is rg.bfloat16


SINGLE = {
    "inner of vectors": lambda x: rg.inner(x[0], x[0]),
    "inner with a number": lambda x: rg.inner(x, x[0, 0]),
    "tensordot to a number": lambda x: rg.tensordot(x, x),
    "tensordot of vectors": lambda x: rg.tensordot(x[0], x[0], 1),
    "power 0": lambda x: x.matrix_power(0),
    "power 1": lambda x: rg.linalg.matrix_power(x, 1),
    "power -1": lambda x: x.matrix_power(-1),
    "lu of halves": lambda x: rg.lu(x.bfloat16())[0],
    "grid_sampler of halves": lambda x: rg.grid_sampler(
        x[None, None].bfloat16(), rg.zeros(1, 2, 2, 2), 0, 0, False
    ),
}
LOWER = {
    "inner": lambda x: rg.inner(x, x[0]),
    "tensordot": lambda x: rg.tensordot(x, x, dims=1),
    "power 2": lambda x: x.matrix_power(2),
    "__rmatmul__": lambda x: x.__rmatmul__(x),
    "max_pool3d with indices": lambda x: F.max_pool3d(
        rg.ones(1, 2, 2, 2).bfloat16(), 2, return_indices=True
    )[0],
    "reflections in 3-D": lambda x: F.pad(rg.ones(1, 2, 2, 2).bfloat16(), (1,) * 6, "reflect"),
}


@pytest.mark.parametrize("name", [*SINGLE, *LOWER])
def test_what_is_cast_depends_on_the_call(name):
    with rg.autocast("cpu"):
        found = {**SINGLE, **LOWER}[name](rg.eye(3))
    assert found.dtype is (rg.float32 if name in SINGLE else rg.bfloat16)


def test_a_call_that_is_wrong_says_so_itself():
    with rg.autocast("cpu"), pytest.raises(TypeError, match="inner"):
        rg.inner(rg.ones(2))
