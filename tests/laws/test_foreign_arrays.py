"""Tensors around arrays that are not NumPy's: no public function makes one of NumPy's beside them.

Each runs the calls that `tests/data/ops.json` stores; a small network is trained. NOTE [The seam]
in `kernels.allocation` says what such an array has to have.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import retrograd as rg
from retrograd import optim
from retrograd.autograd import grad
from retrograd.engine.tensor import new_tensor
from retrograd.optim import SGD

from .recorder import Recorder, plain
from .samples import at_least, draw, ops_format, stored

F = rg.nn.functional


class Counted(np.ndarray):
    """A NumPy array that counts those made from it."""

    __array_priority__ = 1.0
    made = 0

    def __array_wrap__(self, array, context=None, return_scalar=False):
        return array.view(Counted)  # no scalar, of no dimensions either

    def __array_function__(self, function, types, args, kwargs):
        found = super().__array_function__(function, types, args, kwargs)
        return found.view(Counted) if type(found) is np.ndarray else found  # as from `where`

    def __array_finalize__(self, source):
        Counted.made += 1


def recorder(values):
    return Recorder(np.array(values))


def counted(values):
    return np.array(values).view(Counted)


def numpys(values):
    return np.array(values)


KINDS = [(recorder, Recorder), (counted, Counted)]
every_kind = pytest.mark.parametrize(("make", "kind"), KINDS, ids=["recorder", "counted"])


def values(array):
    """As NumPy's own array."""
    return np.asarray(plain(array)).view(np.ndarray)


def trained(make, optimizer, steps=3):
    """The parameters of a small network, their gradients and its losses after some steps."""
    rng = np.random.default_rng(0)
    x, y = (new_tensor(make(rng.standard_normal(shape))) for shape in ((8, 3), (8, 2)))
    parameters = [new_tensor(make(rng.standard_normal(shape))) for shape in ((3, 5), (5,), (5, 2))]
    for p in parameters:
        p.requires_grad = True
    w, b, v = parameters
    step = optimizer(parameters)
    losses = []
    for _ in range(steps):
        step.zero_grad()
        hidden = F.relu(x @ w + b)
        loss = ((F.gelu(hidden) @ v - y) ** 2).mean() + 0.1 * (w * w).sum()
        loss.backward()
        step.step()
        losses.append(loss)
    return parameters, [p.grad for p in parameters], losses, step


def momentum(parameters):
    return SGD(parameters, lr=0.1, momentum=0.9)


def plain_sgd(parameters):
    return SGD(parameters, lr=0.1)


@every_kind
def test_a_tensor_stands_on_the_memory_of_such_an_array(make, kind):
    array = make([1.0, 2.0])
    for x in (rg.as_tensor(array), rg.asarray(array, copy=False)):
        assert type(x._array) is kind
        x.mul_(2.0)
    np.testing.assert_array_equal(values(array), [4.0, 8.0])


@every_kind
@pytest.mark.parametrize("optimizer", [plain_sgd, momentum, optim.Adam])
def test_training_gives_the_same_numbers_in_arrays_of_the_same_kind(make, kind, optimizer):
    expected, found = trained(numpys, optimizer), trained(make, optimizer)
    for a, b in zip(expected[:3], found[:3], strict=True):
        for x, y in zip(a, b, strict=True):
            assert type(y._array) is kind
            np.testing.assert_allclose(values(y._array), x._array, rtol=1e-13)
    for p in found[0]:
        for name, state in found[3].state[p].items():
            assert name == "step" or type(state._array) is kind


RULES = ["Adadelta", "Adafactor", "Adagrad", "Adam", "Adamax", "AdamW", "ASGD", "Muon", "NAdam",
         "RAdam", "RMSprop", "Rprop", "SGD"]  # fmt: skip
MORE = {"AdamW": {"amsgrad": True}, "RMSprop": {"centered": True, "momentum": 0.9}}


@pytest.mark.parametrize("dtype", [np.float32, np.complex128])
@pytest.mark.parametrize("name", RULES)
def test_every_rule_runs_on_recorders(name, dtype):
    results = []
    for make in (numpys, recorder):
        rng = np.random.default_rng(0)
        values = rng.standard_normal((4, 3)) + (1j if dtype is np.complex128 else 0)
        w = new_tensor(make(values.astype(dtype)))
        w.requires_grad = True
        optimizer = getattr(optim, name)([w], lr=0.1, **MORE.get(name, {}))
        for _ in range(3):
            optimizer.zero_grad()
            (w.abs() ** 2).sum().backward()
            optimizer.step()
        results.append(w._array)
    assert type(results[1]) is Recorder
    np.testing.assert_array_equal(plain(results[1]), results[0])


# Public functions that cannot run on such arrays, and why.
NUMBER = "it gives a Python number, or takes one from a tensor"
BY_STRIDES = "the protocols know no strides of one's own choosing"
LOOKS = "how many steps to take, or which, depends on the values"
PRODUCTS = "CuPy multiplies at no places, nor in runs"
NUMPYS = {
    **dict.fromkeys(["allclose", "histc", "item", "linspace", "logspace"], NUMBER),
    **dict.fromkeys(["narrow", "tensor_split", "nn.functional.one_hot"], NUMBER),
    **dict.fromkeys(["as_strided", "as_strided_copy", "as_strided_scatter"], BY_STRIDES),
    "new_empty_strided": BY_STRIDES,
    **dict.fromkeys(["linalg.ldl_factor", "linalg.ldl_factor_ex", "linalg.ldl_solve"], LOOKS),
    **dict.fromkeys(["index_reduce", "scatter_reduce"], PRODUCTS),
    "matrix_exp": LOOKS,
    "nn.functional.rrelu": LOOKS,  # as many numbers are drawn as there are elements below 0
    **dict.fromkeys([f"special.{shifted}chebyshev_polynomial_{kind}"
                     for shifted in ("", "shifted_") for kind in "tuvw"], LOOKS),
    **dict.fromkeys(["special.hermite_polynomial_h", "special.hermite_polynomial_he",
                     "special.laguerre_polynomial_l", "special.legendre_polynomial_p"], LOOKS),
}  # fmt: skip
# Calls that are not stored: an expression, and a spec of each input.
MORE = {
    "gumbel_softmax": ("lib.nn.functional.gumbel_softmax(x0)", "3x4"),
    "linalg.qr": ("lib.linalg.qr(x0, 'r')", "3x3"),
    "lu_unpack": ("lib.lu_unpack(*lib.linalg.lu_factor(x0), False)", "3x3"),
    "func.grad": ("lib.func.grad(lambda x: (x * x).sum())(x0)", "3"),
    "scatter_reduce": ("[x0.scatter_reduce(1, x1, x0, each) for each in ('sum', 'mean', 'amin')]",
                       "3x4", "3x4:int<4"),
    "index_reduce": ("x0.index_reduce(0, x1, x0, 'amax', include_self=False)", "3x4", "3:int<3"),
    "writes": ("x0.clone().clamp_(min=0.5).index_fill(0, lib.tensor([1]), 2.0)", "3"),
    "cross_entropy of weights": (
        "lib.nn.functional.cross_entropy(x0, x1, x2, label_smoothing=0.1)", "5x3", "5:int<3", "3"),
    "advanced index": ("x0[lib.tensor([0, 2]), [1, 0]]", "3x4"),
    "get_total_norm": ("lib.nn.utils.get_total_norm([x0, x0])", "3"),
}  # fmt: skip


STORED = {
    name: [call for call in calls if call[1] and all(spec[0] != "bfloat16" for spec in call[1])]
    for name, calls in stored().items()
    if name not in NUMPYS
}


def results_of(make, expression, inputs, derivatives):
    """The arrays that a stored call gives, and its gradients, for cotangents of the same kind."""
    rg.manual_seed(0)
    given = [new_tensor(make(array.copy())) for _, array, _ in inputs]
    for t, (_, _, wanted) in zip(given, inputs, strict=True):
        t.requires_grad = wanted
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        value, _ = ops_format.run(rg, expression, given, False)
    found = ops_format.tensors(value)
    outs, leaves = ([t for t in some if t.requires_grad] for some in (found, given))
    if derivatives and outs and leaves:
        seeds = [make(ops_format.cotangent(rg, t, i)._array) for i, t in enumerate(outs)]
        seeds = [new_tensor(seed) for seed in seeds]
        found += [g for g in grad(outs, leaves, seeds, allow_unused=True) if g is not None]
    return [t._array for t in found]


@pytest.mark.parametrize("name", at_least(560, STORED, inner=520))
def test_a_public_function_stays_where_its_inputs_live(name):
    for expression, inputs, _, gradients in STORED[name]:
        expected = results_of(numpys, expression, inputs, gradients is not None)
        found = results_of(recorder, expression, inputs, gradients is not None)
        largest = max(
            [np.max(np.abs(b), initial=1, where=np.isfinite(b)) for b in expected], default=1
        )
        for a, b in zip(found, expected, strict=True):
            assert type(a) is Recorder, expression
            assert (a.dtype, a.shape) == (b.dtype, b.shape)
            if "empty" not in name:
                exact = 8 * np.finfo(b.dtype).eps if b.dtype.kind in "fc" else 0
                np.testing.assert_allclose(
                    plain(a), b, rtol=exact, atol=exact * largest, err_msg=expression
                )


@pytest.mark.parametrize("call", MORE.values(), ids=MORE)
def test_so_do_calls_that_are_not_stored(call):
    expression, *specs = call
    rng = np.random.default_rng(0)
    arrays = [draw(spec, (0.1, 2.0), False, rng) for spec in specs]
    inputs = [(a.dtype.name, a, False) for a in arrays]
    expected = results_of(numpys, expression, inputs, False)
    found = results_of(recorder, expression, inputs, False)
    assert [type(a) for a in found] == [Recorder] * len(expected) != []
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(plain(a), b, rtol=1e-14)


LARGE = {
    "sum": lambda x: x.sum(0),
    "var": lambda x: x.var(0),
    "norm": lambda x: x.norm(3, 0),
    "softmax": lambda x: x.softmax(0) * x,
    "logsumexp": lambda x: x.logsumexp(0),
    "cumsum": lambda x: x.cumsum(0),
    "sort": lambda x: x.sort(0).values,
    "batch_norm": lambda x: F.batch_norm(x, None, None, training=True) * x,
    "layer_norm": lambda x: F.layer_norm(x, (70,)) * x,
    "cdist": lambda x: rg.cdist(x, x[:300]),
    "conv2d": lambda x: F.conv2d(x.reshape(3, 7, 50, 200), x[:9].reshape(-1, 7, 3, 3)),
    "max_pool2d": lambda x: F.max_pool2d(x.reshape(3, 7, 50, 200), 3),
    "index_select": lambda x: x.index_select(0, (x[:2000, 0] > 0).long()),
}


@pytest.mark.parametrize("function", LARGE.values(), ids=LARGE)
def test_large_arrays_which_take_other_ways_stay_in_their_kind(function):
    values, results = np.random.default_rng(0).standard_normal((3000, 70), np.float32), []
    for make in (numpys, recorder):
        x = new_tensor(make(values))
        x.requires_grad = True
        y = function(x)
        y.sum().backward()
        results.append((y._array, x.grad._array))
    for expected, found in zip(*results, strict=True):
        assert type(found) is Recorder
        least = 1e-6 * np.abs(expected).max()  # what C adds up, NumPy adds in another order
        np.testing.assert_allclose(plain(found), expected, rtol=0, atol=least)


def test_the_arrays_that_a_step_makes_can_be_counted():
    Counted.made = 0
    trained(counted, plain_sgd, steps=1)
    first = Counted.made
    trained(counted, plain_sgd, steps=2)
    assert 20 < first < Counted.made - first < 2 * first


@every_kind
def test_in_place_ops_and_views_write_the_memory_that_is_there(make, kind):
    x = new_tensor(make([1.0, 2.0, 3.0]))
    x.requires_grad = True
    y = x * 2.0
    memory = y._array
    y[1:].mul_(x[1:])
    y.add_(1.0)
    y.sum().backward()
    assert y._array is memory
    np.testing.assert_array_equal(values(memory), [3.0, 9.0, 19.0])
    assert type(x.grad._array) is kind
    np.testing.assert_array_equal(values(x.grad._array), [2.0, 8.0, 12.0])


@every_kind
def test_gradients_add_up_where_an_output_is_used_twice(make, kind):
    x = new_tensor(make([1.0, 2.0]))
    x.requires_grad = True
    for _ in range(2):
        y = x * x
        (y + y.exp()).sum().backward()
    assert type(x.grad._array) is kind
    x0 = np.array([1.0, 2.0])
    np.testing.assert_allclose(values(x.grad._array), 4 * x0 * (1 + np.exp(x0**2)), rtol=1e-14)


@every_kind
def test_second_derivatives_and_outputs_without_gradient(make, kind):
    x = new_tensor(make([[1.0, 3.0], [2.0, 0.5]]))
    x.requires_grad = True
    top, low = x.max(1).values, x.split(1)[1]
    (first,) = grad((top**3).sum() + low.sum(), x, create_graph=True)
    (second,) = grad(first.sum(), x)
    assert type(first._array) is type(second._array) is kind
    np.testing.assert_array_equal(values(first._array), [[0.0, 27.0], [13.0, 1.0]])
    np.testing.assert_array_equal(values(second._array), [[0.0, 18.0], [12.0, 0.0]])


@every_kind
def test_hooks_see_such_arrays(make, kind):
    seen = []
    x = new_tensor(make([1.0, 2.0]))
    x.requires_grad = True
    x.register_hook(lambda g: seen.append(type(g._array)))
    (x * 3.0).sum().backward()
    assert seen == [kind]


def test_training_on_a_gpu():
    cupy = pytest.importorskip("cupy", reason="CuPy is not installed")
    try:
        cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        pytest.skip(f"no GPU: {error}")
    expected, found = trained(numpys, plain_sgd), trained(cupy.asarray, plain_sgd)
    for x, y in zip(expected[0] + expected[1], found[0] + found[1], strict=True):
        assert isinstance(y._array, cupy.ndarray)
        np.testing.assert_allclose(cupy.asnumpy(y._array), x._array, rtol=1e-10)
