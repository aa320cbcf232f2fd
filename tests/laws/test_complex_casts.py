"""A law of complex numbers: whatever stores them as real ones says so once, at the user's line.

The engine, which takes the real part of a real tensor's gradient, says nothing; what cannot say it
refuses. The values are the real parts.
"""

from __future__ import annotations

import copy
import warnings

import numpy as np
import pytest

import retrograd as rg
from retrograd import nn
from retrograd.errors import ComplexWarning

REALS = [rg.float32, rg.float64, rg.float16, rg.bfloat16, rg.int64, rg.int32, rg.uint8, rg.int8]
Z = [1 + 2j, 3 - 1j, 0 + 1j]
SHORT = ["float", "double", "half", "bfloat16", "long", "int", "short", "char", "byte"]
WHOLE = [True, True, True]
PLACES = rg.tensor([0, 1, 2])

CONVERTERS = {
    "to": lambda z, d: z.to(d),
    "to a copy": lambda z, d: z.to("cpu", d, copy=True),
    "to another": lambda z, d: z.to(rg.zeros(1, dtype=d)),
    "type": lambda z, d: z.type(d),
    "type_as": lambda z, d: z.type_as(rg.zeros(1, dtype=d)),
    "as_tensor": lambda z, d: rg.as_tensor(z, dtype=d),
    "as_tensor of an array": lambda z, d: rg.as_tensor(z.detach().numpy(), dtype=d),
    "asarray": lambda z, d: rg.asarray(z, dtype=d),
    "tensor of an array": lambda z, d: rg.tensor(z.detach().numpy(), dtype=d),
    "tensor of scalars": lambda z, d: rg.tensor(list(z.detach().numpy()), dtype=d),
    "new_tensor": lambda z, d: rg.zeros(1, dtype=d).new_tensor(z.detach().numpy()),
    "copy_": lambda z, d: rg.zeros(z.shape, dtype=d).copy_(z),
    "index": lambda z, d: written(rg.zeros(z.shape, dtype=d), slice(None), z),
    "index of an element": lambda z, d: rg.stack(
        [written(rg.zeros(2, dtype=d), 1, z[0])[1], *rg.zeros(len(z) - 1, dtype=d)]
    ),
    "cumsum": lambda z, d: rg.cat([x.reshape(1).cumsum(0, dtype=d) for x in z[:1]]),
    "sum": lambda z, d: z.sum(0, keepdim=True, dtype=d),
    "prod": lambda z, d: z[:1].prod(0, keepdim=True, dtype=d),
    "vmap": lambda z, d: rg.vmap(lambda x: x.to(d))(z),
    "a parameter": lambda z, d: converted(z, d).weight.detach(),
    "a state": lambda z, d: loaded(z, d),
}
WRITERS = {  # of one dtype
    "fill_": lambda z: rg.zeros(3).fill_(z[0]),
    "fill": lambda z: rg.fill(rg.zeros(3), z[0]),
    "copy_ into a view": lambda z: rg.zeros(2, 3)[1].copy_(z),
    "copy_ with a history": lambda z: (rg.zeros(3, requires_grad=True) * 1).copy_(z),
    "select_scatter": lambda z: rg.select_scatter(rg.zeros(2, 3), z, 0, 1),
    "slice_scatter": lambda z: rg.slice_scatter(rg.zeros(3), z),
    "diagonal_scatter": lambda z: rg.diagonal_scatter(rg.zeros(3, 3), z),
    "softmax": lambda z: z.softmax(0, dtype=rg.float32),
    "np.asarray": lambda z: np.asarray(z, np.float64),
    "np.array": lambda z: np.array(z, dtype=np.int64),
    "an array's elements": lambda z: written(np.zeros(3), slice(None), z),
    "a state of an optimizer": lambda z: momentum(z),
    **{name: lambda z, name=name: getattr(z, name)() for name in SHORT},
}
REFUSED = {
    "a number": lambda z: written(rg.zeros(3), 0, 1 + 2j),
    "fill_ of a number": lambda z: rg.zeros(3).fill_(1 + 2j),
    "full": lambda z: rg.full((2,), 1 + 2j, dtype=rg.float32),
    "tensor": lambda z: rg.tensor([1 + 2j], dtype=rg.float32),
    "indices": lambda z: written(rg.zeros(3), PLACES, z),
    "a mask": lambda z: written(rg.zeros(3), rg.tensor(WHOLE), z),
    "index_put_": lambda z: rg.zeros(3).index_put_((PLACES,), z),
    "index_copy_": lambda z: rg.zeros(3).index_copy_(0, PLACES, z),
    "index_add_": lambda z: rg.zeros(3).index_add_(0, PLACES, z),
    "index_fill_": lambda z: rg.zeros(3).index_fill_(0, PLACES, z[0]),
    "masked_fill_": lambda z: rg.zeros(3).masked_fill_(rg.tensor(WHOLE), z[0]),
    "masked_scatter_": lambda z: rg.zeros(3).masked_scatter_(rg.tensor(WHOLE), z),
    "scatter_": lambda z: rg.zeros(3).scatter_(0, PLACES, z),
    "scatter_ of a number": lambda z: rg.zeros(3).scatter_(0, PLACES, 1 + 2j),
    "put_": lambda z: rg.zeros(3).put_(PLACES, z),
    "add_": lambda z: rg.zeros(3).add_(z),
    "mul_ of a number": lambda z: rg.zeros(3).mul_(1j),
    "out=": lambda z: rg.exp(z, out=rg.zeros(3)),
    "out= of two": lambda z: rg.mul(z, z, out=rg.zeros(3)),
    "normal_": lambda z: rg.zeros(3).normal_(1j),
    "cauchy_": lambda z: rg.zeros(3).cauchy_(1j),
    "log_normal_": lambda z: rg.zeros(3).log_normal_(1j),
    "float": lambda z: float(z[0]),
}


def written(target, key, value):
    target[key] = value
    return target


def converted(z, dtype):
    module = nn.Module()
    module.weight = nn.Parameter(z.detach(), requires_grad=False)
    return module.type(dtype)


def loaded(z, dtype):
    module = nn.Module()
    module.register_buffer("state", rg.zeros(z.shape, dtype=dtype))
    module.load_state_dict({"state": z})
    return module.state


def momentum(z):
    p = nn.Parameter(rg.zeros(3))
    optimizer = rg.optim.SGD([p], lr=0.1, momentum=0.9)
    p.grad = rg.zeros(3)
    optimizer.step()
    state = optimizer.state_dict()
    state["state"][0]["momentum_buffer"] = z.detach()
    optimizer.load_state_dict(state)
    return optimizer.state[p]["momentum_buffer"]


def values(z, function, *args):
    """What a function gives, and the warnings on the way."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        found = function(z, *args)
    return np.array(found.detach().to(rg.float64) if isinstance(found, rg.Tensor) else found), seen


def check_said(seen, file=__file__):
    assert [w.category for w in seen] == [ComplexWarning]
    for w in seen:
        assert "Casting complex values to real discards the imaginary part" in str(w.message)
        assert w.filename == file


@pytest.mark.parametrize("dtype", REALS, ids=str)
@pytest.mark.parametrize("name", CONVERTERS)
@pytest.mark.parametrize("count", [3, 20_001])  # within a caller, and for compiled kernels
def test_a_conversion_to_a_real_dtype_warns_once(name, dtype, count):
    if count > 3 and name in ("index of an element", "tensor of scalars"):
        count = 4
    z = rg.tensor([Z[k % 3] for k in range(count)])
    found, seen = values(z, CONVERTERS[name], dtype)
    check_said(seen)
    real = rg.tensor([x.real for x in z.tolist()], dtype=rg.float64)
    wanted = {
        "sum": real.sum(0, keepdim=True).to(dtype).to(rg.float64),
        "prod": real[:1],
        "cumsum": real[:1],
        "index of an element": rg.cat([real[:1], rg.zeros(count - 1)]),
    }.get(name, real)
    rtol = 0.001 if name == "sum" else 0
    np.testing.assert_allclose(found, wanted.numpy(), rtol)


@pytest.mark.parametrize("needs", [False, True])
@pytest.mark.parametrize("name", ["to", "copy_", "index", "sum", "type_as"])
def test_the_gradient_of_a_conversion_warns_of_nothing_more(name, needs):
    z = rg.tensor(Z, requires_grad=needs)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        found = CONVERTERS[name](z, rg.float32)
        if needs:
            found.sum().backward()
            np.testing.assert_array_equal(z.grad.numpy(), [1, 1, 1])
    check_said(seen)


@pytest.mark.parametrize("name", WRITERS)
def test_a_writer_into_real_memory_warns_once(name):
    found, seen = values(rg.tensor(Z), WRITERS[name])
    check_said(seen)
    assert np.iscomplexobj(found) is False


@pytest.mark.parametrize("name", REFUSED)
def test_what_does_not_warn_refuses(name):
    with pytest.raises((RuntimeError, TypeError), match=r"[Cc]omplex|\(1\+2j\)"):
        REFUSED[name](rg.tensor(Z))


@pytest.mark.parametrize("name", [*CONVERTERS])
@pytest.mark.parametrize("dtype", [rg.complex64, rg.complex128, rg.float64, rg.bool])
def test_nothing_is_said_where_nothing_is_lost(name, dtype):
    start = rg.tensor(Z) if dtype.is_complex or dtype is rg.bool else rg.tensor([1.0, 3.0, 0.0])
    if name == "cumsum" and dtype is rg.bool:  # of numbers alone
        return
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        assert CONVERTERS[name](start, dtype).dtype is dtype
    assert seen == []


def test_the_engine_takes_real_parts_of_gradients_without_a_word():
    x = rg.tensor([1.0, 2.0, 3.0], requires_grad=True)
    z = rg.tensor(Z)
    y = x * z
    y = y + x.to(rg.complex64).exp()
    (g,) = rg.autograd.grad(y.abs().sum(), x, create_graph=True)
    g.sum().backward()
    assert x.grad.dtype is rg.float32
    _, tangent = rg.func.jvp(lambda x: (x * z).abs(), (x.detach(),), (rg.ones(3),))
    assert tangent.dtype is rg.float32


def test_either_library_s_type_of_warning_silences_it():
    for category in (UserWarning, np.exceptions.ComplexWarning):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", category)
            assert rg.tensor(Z).float().tolist() == [1.0, 3.0, 0.0]


LAYERS = {
    "Linear": lambda: nn.Linear(2, 2),
    "Bilinear": lambda: nn.Bilinear(2, 2, 2),
    "Conv1d": lambda: nn.Conv1d(2, 2, 1),
    "ConvTranspose2d": lambda: nn.ConvTranspose2d(2, 2, 1),
    "BatchNorm1d": lambda: nn.BatchNorm1d(2),
    "RNN": lambda: nn.RNN(2, 2),
    "LSTM": lambda: nn.LSTM(2, 2),
    "GRUCell": lambda: nn.GRUCell(2, 2),
    "MultiheadAttention": lambda: nn.MultiheadAttention(2, 1),
}


@pytest.mark.parametrize("name", LAYERS)
def test_a_real_layer_says_what_to_do_with_a_complex_input(name):
    layer = LAYERS[name]()
    shape = (1, 2, 2, 2) if name.endswith("2d") else (2, 2)
    z = rg.randn(*shape, dtype=rg.complex64)
    inputs = [z] * {"Bilinear": 2, "MultiheadAttention": 3}.get(name, 1)
    with pytest.raises((RuntimeError, ValueError)) as caught:
        layer(*inputs)
    for offered in (
        "layer.to(retrograd.complex64)",
        "x.real drops the imaginary part",
        "x.abs() drops the phase",
    ):
        assert offered in str(caught.value)
    layer(*[x.real for x in inputs]), layer(*[x.abs() for x in inputs])
    found = copy.deepcopy(layer).to(rg.complex64)(*inputs)
    assert (found[0] if isinstance(found, tuple) else found).is_complex()
