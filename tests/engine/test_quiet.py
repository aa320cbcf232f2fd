"""NumPy's floating-point errors: silent where the package computes, the user's own elsewhere."""

from __future__ import annotations

import os
import subprocess
import sys
import traceback
import warnings
from pathlib import Path

import numpy as np
import pytest

import retrograd as rg
from retrograd import autograd, nn
from retrograd.autograd.graph import saved_tensors_hooks
from retrograd.engine.registry import OPS
from retrograd.quiet import calm, quietly

USER = {"divide": "raise", "over": "raise", "under": "raise", "invalid": "raise"}


@pytest.fixture(params=["raise", "warn"])
def strict(request):
    """What a careful user asks of NumPy: errors, or warnings that are errors."""
    before = np.seterr(all=request.param)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield request.param
    now = np.seterr(**before)
    assert set(now.values()) == {request.param}


def large(value):
    return rg.full((5000,), value)


CALLS = {
    "mul": (lambda x: x * x, 1e38, np.inf),
    "mul by a number": (lambda x: x * 1e38, 1e38, np.inf),
    "add": (lambda x: x + x, 3e38, np.inf),
    "neg of an integer": (lambda x: -x.long(), 2.0, -2.0),
    "div": (lambda x: x / 0, 1.0, np.inf),
    "floor_div": (lambda x: x // 0, 1.0, np.inf),
    "sigmoid": (lambda x: x.sigmoid(), -1000.0, 0.0),
    "exp": (lambda x: x.exp(), 1000.0, np.inf),
    "underflow": (lambda x: x * 1e-30, 1e-30, 0.0),
    "log": (lambda x: x.log(), 0.0, -np.inf),
    "invalid": (lambda x: x - x, np.inf, np.nan),
    "clamp": (lambda x: x.clamp(0, 1), np.nan, np.nan),
    "softplus": (lambda x: nn.functional.softplus(x), -1000.0, 0.0),
    "in place": (lambda x: x.mul_(x), 1e38, np.inf),
    "dtypes": (lambda x: x * rg.tensor(1e300, dtype=rg.float64), 1e38, np.inf),
    "cast": (lambda x: (x.double() * 1e30).float(), 1e38, np.inf),
    "cast to int": (lambda x: x.int() * 0, 1e38, 0),
    "sum": (lambda x: rg.stack([x, x]).sum(0), 3e38, np.inf),
    "prod": (lambda x: rg.stack([x, x]).prod(0), 3e38, np.inf),
    "addcmul": (lambda x: rg.addcmul(x, x, x), 1e38, np.inf),
    "linear": (lambda x: (x.reshape(-1, 1) @ rg.full((1, 1), 1e38)).reshape(x.shape), 1e38, np.inf),
    "out=": (lambda x: rg.mul(x, x, out=rg.empty(0)), 1e38, np.inf),
    "strided": (lambda x: rg.stack([x, x], -1)[..., 0] * x, 1e38, np.inf),
    "no_grad": (lambda x: rg.no_grad()(lambda: x * x)(), 1e38, np.inf),
    "vmap": (lambda x: rg.func.vmap(lambda v: v * v)(x.reshape(-1)).reshape(x.shape), 1e38, np.inf),
    "jvp": (lambda x: rg.func.jvp(lambda v: v * v, (x,), (x,))[1], 1e38, np.inf),
    "grad": (lambda x: rg.func.grad(lambda v: (v.exp() * 1).sum())(x), 1000.0, np.inf),
}


SIZES = {"none": rg.tensor, "few": lambda v: rg.full((3,), v), "many": large}


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", CALLS)
def test_ops_say_nothing(name, size, strict):
    call, value, expected = CALLS[name]
    with rg.enable_grad():
        found = call(SIZES[size](value))
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(found._array, np.full(found.shape, expected))


def test_formulas_and_sums_of_contributions_say_nothing(strict):
    x = rg.tensor([1000.0], requires_grad=True)
    (x.exp() * 1e38 + x.exp() * 1e38).sum().backward()
    (x.exp() * 1e38).sum().backward()
    assert x.grad.tolist() == [np.inf]
    y = rg.tensor([0.0], requires_grad=True)
    (dy,) = autograd.grad(y.sqrt().sum(), y, create_graph=True)
    assert dy.tolist() == [np.inf]


@pytest.mark.parametrize(
    "kind", ["SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "Adadelta", "NAdam"]
)
def test_optimizers_say_nothing(kind, strict):
    x = rg.tensor([1e-38, 3e38, 0.0], requires_grad=True)
    optimizer = getattr(rg.optim, kind)([x], lr=1e-3, weight_decay=1e-3)
    for _ in range(2):
        x.grad = rg.tensor([3e38, np.inf, 1e-45])
        optimizer.step()
    assert x.shape == (3,)


@pytest.mark.parametrize(
    "make",
    [
        lambda: rg.tensor(1e300),
        lambda: rg.tensor([1e300, 1.0]),
        lambda: rg.tensor(np.array([1e300]), dtype=rg.float32),
        lambda: rg.ones(2).copy_(rg.full((2,), 1e300, dtype=rg.float64)),
        lambda: rg.full((2,), 1e300, dtype=rg.float64).float(),
        lambda: rg.arange(0, 1e39, 3e38),
        lambda: nn.utils.clip_grad_norm_([with_grad(3e38)], 1.0),
        lambda: nn.utils.clip_grad_value_([with_grad(np.nan)], 1.0),
        lambda: repr(rg.tensor([1e-45, 3e38, np.inf, np.nan])),
        lambda: rg.allclose(rg.tensor([np.inf, np.nan]), rg.tensor([np.inf, 1.0])),
        lambda: rg.tensor([1e300 + 1j], dtype=rg.complex128).to(rg.complex64),
        lambda: rg.randn(3).mul_(1e-45),
    ],
)
def test_whatever_else_computes_says_nothing(make, strict):
    make()


def with_grad(value):
    x = rg.ones(2, requires_grad=True)
    x.grad = rg.full((2,), value)
    return x


# -- the user's code runs in the user's state ------------------------------------------------------


def state_seen(program):
    """What `np.geterr` says inside the callback that `program` is given."""
    seen = []
    with np.errstate(**USER):
        program(lambda *args: seen.append(np.geterr()))
        assert np.geterr() == USER
    assert seen
    return seen


def leaf():
    return rg.tensor([1.0, 2.0], requires_grad=True)


def hooks_on(callback):
    x = leaf()
    y = x.exp() * 2
    y.register_hook(callback)
    y.grad_fn.register_hook(callback)
    y.grad_fn.register_prehook(callback)
    x.register_hook(callback)
    x.register_post_accumulate_grad_hook(callback)
    (y * 1).sum().backward()


def functions(callback):
    class Seen(autograd.Function):
        @staticmethod
        def forward(ctx, x):
            callback()
            return x * 1

        @staticmethod
        def backward(ctx, g):
            callback()
            return g

    (Seen.apply(leaf() * 1) * 2).sum().backward()


def packing(callback):
    with saved_tensors_hooks(lambda t: (callback(), t)[1], lambda t: (callback(), t)[1]):
        x = leaf()
        y = x * x
    y.sum().backward()
    z = x * x
    z.grad_fn._raw_saved_self.register_hooks(lambda t: t, lambda t: (callback(), t)[1])
    z.sum().backward()


def closures(callback):
    x = leaf()
    x.grad = rg.ones(2)
    rg.optim.LBFGS([x], max_iter=2).step(lambda: (callback(), (x * x).sum())[1])
    rg.optim.SGD([x], 0.1).step(callback)


def transforms(callback):
    def function(v):
        callback()
        return (v * v).sum()

    rg.func.grad(function)(rg.ones(2))
    rg.func.jvp(function, (rg.ones(2),), (rg.ones(2),))
    rg.func.vmap(function)(rg.ones(2, 2))
    rg.utils.checkpoint.checkpoint(function, leaf(), use_reentrant=False).backward()


def queued(callback):
    x = leaf()
    y = x * 1
    y.register_hook(lambda g: autograd.Variable._execution_engine.queue_callback(callback))
    y.sum().backward()


@pytest.mark.parametrize("program", [hooks_on, functions, packing, closures, transforms, queued])
def test_callbacks_see_the_state_of_the_user(program):
    for seen in state_seen(program):
        assert seen == USER


def test_an_error_leaves_the_state_of_the_user():
    x = leaf()
    with np.errstate(**USER):
        for program, text in (
            (
                lambda: rg.mul(rg.ones(2), rg.ones(3)),
                r"mul\(\) was called with shapes \[2\] and \[3\]",
            ),
            (lambda: rg.exp("text"), "must be Tensor, not str"),
            (lambda: (x * 1).no_such_method, "has no attribute 'no_such_method'"),
            (lambda: (x * x).backward(rg.ones(3)), r"Mismatch in shape: grad_output\[0\]"),
        ):
            with pytest.raises((RuntimeError, TypeError, AttributeError), match=text):
                program()
            assert np.geterr() == USER


# -- the tools -------------------------------------------------------------------------------------


def test_quietly_and_calm_leave_the_state_as_it_is_after_errors():
    @quietly
    def fails():
        assert set(np.geterr().values()) == {"ignore"}
        np.float32(1) / np.float32(0)
        raise KeyError

    with np.errstate(**USER):
        for function in (fails, lambda: calm(fails), lambda: calm(calm, fails)):
            with pytest.raises(KeyError):
                function()
            assert np.geterr() == USER


def in_line():
    x = rg.tensor([1.0, 2.0], requires_grad=True)
    (x.exp() * x + x.double()).sum().backward()
    return x.grad


def recorded():
    x = rg.tensor([1.0, 2.0], requires_grad=True)
    y = (x * x).sum()
    y.register_hook(lambda g: g * 2)
    (g,) = autograd.grad(y, x, create_graph=True)
    (g * g).sum().backward()
    return x.grad


def stepped():
    x = leaf()
    x.grad = rg.ones(2)
    rg.optim.Adam([x], 0.5).step()
    return x.detach()


def searched():
    x = leaf()
    optimizer = rg.optim.LBFGS([x], max_iter=2, line_search_fn="strong_wolfe")

    def closure():
        optimizer.zero_grad()
        loss = (x * x).sum()
        loss.backward()
        return loss

    optimizer.step(closure)
    return x.detach()


def made():
    x = rg.fft.fftfreq(4, d=0.5) + rg.randn(4, generator=rg.manual_seed(0))
    x[rg.tensor([0, 1])] = rg.ones(2)
    x[0] = 3
    return x


STRUCK = {program.__name__: program for program in (in_line, recorded, stepped, searched, made)}


@pytest.mark.parametrize("program", STRUCK.values(), ids=STRUCK)
def test_an_interrupt_before_any_bytecode_leaves_the_state_of_the_user(program):
    child = os.fork()  # for a strike between a lock and what gives it back leaves the lock taken
    if not child:
        status = 1
        try:
            strike(program)
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def strike(program):
    """Interrupt a program before one bytecode after the other."""
    expected, package = program(), str(Path(rg.__file__).parent)
    left = strike_at = 0

    def trace(frame, event, arg):
        nonlocal left
        if not frame.f_code.co_filename.startswith(package):
            return trace
        frame.f_trace_opcodes = True
        if event == "opcode":
            left -= 1
            if left == 0:
                raise KeyboardInterrupt
        return trace

    before, total = sys.gettrace(), 0
    with np.errstate(**USER):
        while True:
            strike_at += 1 + strike_at // 500  # each of the first 500, then ever fewer
            left = strike_at
            sys.settrace(trace)
            try:
                program()
            except KeyboardInterrupt:
                total += 1
            finally:
                sys.settrace(before)
            assert np.geterr() == USER
            if left > 0:
                break
    assert total > 200
    assert program().tolist() == expected.tolist()


def fresh(code, *options):
    """What a fresh interpreter prints."""
    done = subprocess.run(
        [sys.executable, *options, "-c", code], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def test_importing_leaves_filters_of_warnings_and_the_collector_alone():
    code = (
        "import warnings, gc, numpy; gc.freeze()\n"
        "before = list(warnings.filters), gc.get_freeze_count() > 0, gc.isenabled(), np_state()\n"
        "import retrograd, retrograd.ops.lazy_families, retrograd.nn, retrograd.func\n"
        "import retrograd.optim\n"
        "after = list(warnings.filters), gc.get_freeze_count() > 0, gc.isenabled(), np_state()\n"
        "print(before == after)"
    )
    code = "import numpy\ndef np_state(): return numpy.geterr()\n" + code
    assert fresh(code) == "True"


@pytest.mark.parametrize("count", [1, 2, 3, 4, 7, 8, 15, 31, 33, 64, 1023, 1024, 1025])
@pytest.mark.parametrize("name", ["mul", "add", "sub", "floor_div", "neg", "ne", "isnan"])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.complex64, np.complex128])
def test_loops_called_at_once_give_the_bits_that_numpy_gives(name, count, dtype):
    op = OPS[name]
    if name == "floor_div" and np.dtype(dtype).kind == "c":
        return
    random = np.random.default_rng(count)
    x, y = (random.standard_normal((2, count)) * 1e3).astype(dtype)
    x[0] = np.nan
    few = (x,) if len(op.inputs) == 1 else (x, y)
    for arrays in (few, [a[::-1] for a in few], [a[0] for a in few], [few[0], *few[1:]][:1] * 1):
        inputs = [rg.tensor(np.ascontiguousarray(a)) for a in arrays]
        if len(inputs) < len(op.inputs):
            inputs.append(rg.tensor(y[0]))
        with np.errstate(all="ignore"):
            expected = np.asarray(op.forward(*[t._array for t in inputs]))
        found = op.call(*inputs)._array
        assert found.dtype == expected.dtype
        assert found.tobytes() == expected.tobytes()


def test_warnings_that_are_errors_make_no_difference():
    assert fresh("import retrograd as rg; print(rg.tensor([1e38]) * 1e38)", "-W", "error") == (
        "tensor([inf])"
    )


def test_numbers_drawn_with_probabilities_and_counts_that_are_none_are_silent(strict):
    count = rg.tensor([np.inf, np.nan, 3.0], dtype=rg.float64)
    drawn = rg.binomial(count[1:], rg.tensor([0.5, np.nan], dtype=rg.float64))
    assert drawn.isnan().all()
    rg.binomial(rg.tensor([1e38]), rg.tensor([0.0]))


def test_frequencies_of_no_spacing_and_lost_degrees_of_freedom_are_silent(strict):
    assert rg.fft.rfftfreq(4, d=0.0)[1:].isinf().all()
    with pytest.warns(UserWarning, match="degrees of freedom"):
        assert rg.ones(1).var().isnan()


def test_an_error_between_numpys_own_changes_of_its_state_leaves_nothing_of_them(monkeypatch):
    """As an interrupt may strike `np.errstate`, which `np.linalg` enters, before it is left."""

    def struck(x):
        np.seterr(all="raise")
        raise KeyboardInterrupt

    x = rg.full((3, 3), 1e38)
    monkeypatch.setattr(np.linalg, "det", struck)
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            rg.det(x)
        assert (x * x).tolist() == [[np.inf] * 3] * 3
        y = x.clone().requires_grad_()
        (y * y * y).sum().backward()
        assert y.grad.tolist() == [[np.inf] * 3] * 3
