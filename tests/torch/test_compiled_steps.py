"""Steps of programs that import `torch` are compiled as those that import this package."""

from __future__ import annotations

import contextlib
import subprocess
import sys

import numpy as np
import pytest

import retrograd as rg
from retrograd.capture.program import NATIVE

pytestmark = pytest.mark.skipif(not NATIVE, reason="needs llvmlite and the parts in C")


AS_TORCH = """
import retrograd.as_torch
import torch

model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Dropout(0.2), torch.nn.Linear(4, 2))
optimizer = torch.optim.Adam(model.parameters())

@torch.compile
def step(x, y):
    optimizer.zero_grad()
    with torch.no_grad():
        most = x.max(0).values
    loss = torch.nn.functional.cross_entropy(model(x - most), y) + torch.zeros(())
    loss.backward()
    optimizer.step()
    return loss

for _ in range(2):
    step(torch.randn(5, 3), torch.randint(0, 2, (5,)))
assert step.compiled.variants and not step.compiled.reasons, step.compiled.reasons
"""


def test_steps_are_captured_under_the_name_torch(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(AS_TORCH)
    subprocess.run([sys.executable, str(program)], check=True)


def test_settings_are_read_in_each_call():
    threaded = rg.compile(lambda x: x * rg.get_num_threads())
    before = rg.get_num_threads()
    try:
        for number in (1, 1, 2):
            rg.set_num_threads(number)
            assert threaded(rg.ones(1)).item() == number
    finally:
        rg.set_num_threads(before)


def scaled_training(unscale, clip):
    """A step of training with a scaler, and what it changes."""
    rg.manual_seed(5)
    model = rg.nn.Sequential(rg.nn.Linear(4, 8), rg.nn.Tanh(), rg.nn.Linear(8, 3))
    optimizer = rg.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    scaler = rg.amp.GradScaler("cpu", 8.0, growth_interval=2)
    scales = []

    def step(x, y):
        optimizer.zero_grad()
        loss = rg.nn.functional.cross_entropy(model(x), y)
        scaler.scale(loss).backward()
        if unscale:
            scaler.unscale_(optimizer)
        if clip:
            rg.nn.utils.clip_grad_norm_(model.parameters(), 0.1)
        scaler.step(optimizer)
        scaler.update()
        scales.append(scaler.get_scale())
        return loss

    def state():
        grads = [p.grad for p in model.parameters()]
        moments = [s["momentum_buffer"] for s in optimizer.state.values()]
        found = [(t.tolist(), t._version) for t in (*model.parameters(), *grads, *moments)]
        return found, scaler.state_dict(), scales

    return step, state


@pytest.mark.parametrize("bad", [(), (0,), (2, 3), (5,)])
@pytest.mark.parametrize(("unscale", "clip"), [(False, False), (True, False), (True, True)])
def test_scaled_gradients_are_captured_and_skipped_where_they_are_not_finite(unscale, clip, bad):
    (eager, expected), (step, found) = (scaled_training(unscale, clip) for _ in range(2))
    step = rg.compile(step, fullgraph=True)
    for number in range(7):
        x, y = rg.randn(5, 4), rg.randint(0, 3, (5,))
        if number in bad:
            x[1, 2] = rg.inf
        a, b = step(x, y), eager(x, y)
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a.item(), b.item(), rtol=1e-5)
        (mine, *rest), (theirs, *others) = found(), expected()
        assert rest == others
        for (values, version), (wanted, counted) in zip(mine, theirs, strict=True):
            assert version == counted
            np.testing.assert_allclose(values, wanted, rtol=2e-4, atol=1e-6)
    assert len(step.compiled.variants) == 1
    assert len(set(rest[1])) > 1  # of scales


def test_a_scaler_scales_each_kind_of_output_in_a_compiled_step():
    w = rg.ones(3, dtype=rg.float64, requires_grad=True)
    scaler, third = rg.amp.GradScaler("cpu", 1 / 3), float(np.float32(1 / 3))

    @rg.compile(fullgraph=True)
    def step(x):
        a, (b, c) = scaler.scale((w * x, [x.half(), x.sum()]))
        return a.sum(), b, c, scaler.get_scale()

    for _ in range(2):
        a, b, c, scale = step(rg.ones(3))
        assert (a.dtype, b.dtype, c.dtype) == (rg.float64, rg.float16, rg.float32)
        assert (a.item(), scale) == (3 * third, third)
        assert b.tolist() == rg.full((3,), 1 / 3).half().tolist()
    assert len(step.compiled.variants) == 1


def test_a_scaler_that_is_turned_off_is_captured_as_no_scaler():
    w = rg.ones(3, requires_grad=True)
    optimizer, scaler = rg.optim.SGD([w], lr=1.0), rg.amp.GradScaler("cpu", enabled=False)

    @rg.compile(fullgraph=True)
    def step(x):
        optimizer.zero_grad()
        loss = (w * x).sum()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        return loss

    assert [step(rg.ones(3)).item() for _ in range(3)] == [3.0, 0.0, -3.0]
    assert len(step.compiled.variants) == 1


def test_a_second_step_before_update_is_an_error_in_a_compiled_step_too():
    w = rg.ones(3, requires_grad=True)
    optimizer, scaler = rg.optim.SGD([w], lr=1.0), rg.amp.GradScaler("cpu", 2.0)

    @rg.compile
    def step(x):
        scaler.scale((w * x).sum()).backward()
        scaler.step(optimizer)

    step(rg.ones(3))
    with pytest.raises(RuntimeError, match="since the last update"):
        step(rg.ones(3))
    scaler.update()
    step(rg.ones(3))


def cast_training(cast):
    """A step of training in which `cast(model)` gives what is computed in mixed precision."""
    rg.manual_seed(0)
    model = rg.nn.Sequential(rg.nn.Linear(4, 8), rg.nn.Tanh(), rg.nn.Linear(8, 3))
    optimizer = rg.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    scaler = rg.amp.GradScaler("cpu", 8.0)

    def step(x, y):
        optimizer.zero_grad()
        loss = rg.nn.functional.cross_entropy(cast(model, x), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        return loss

    return model, step


REGION = rg.amp.autocast("cpu")


def in_a_region(model, x):
    with rg.amp.autocast("cpu", dtype=rg.bfloat16):
        return model(x)


def in_regions_within_each_other(model, x):
    with rg.autocast("cpu", dtype=rg.float16), contextlib.nullcontext():
        first = model(x)
        with rg.autocast("cpu", enabled=False):
            assert not rg.is_autocast_enabled("cpu")
            return first + model(x)


def in_a_region_from_outside(model, x):
    with REGION:
        return model(x) + model(2 * x)  # whose weights are cast once


@rg.autocast("cpu")
def in_a_function(model, x):
    return model(x)


@pytest.mark.parametrize("cast", [in_a_region, in_regions_within_each_other,
                                  in_a_region_from_outside, in_a_function])  # fmt: skip
def test_mixed_precision_within_a_step_is_captured(cast):
    (one, eager), (other, step) = (cast_training(cast) for _ in range(2))
    step = rg.compile(step, fullgraph=True)
    for _ in range(4):
        x, y = rg.randn(5, 4), rg.randint(0, 3, (5,))
        found, expected = step(x, y), eager(x, y)
        assert found.dtype == expected.dtype
        rg.testing.assert_close(found, expected, rtol=1e-5, atol=1e-6)
        for p, q in zip(other.parameters(), one.parameters(), strict=True):
            rg.testing.assert_close(p, q, rtol=1e-5, atol=1e-6)
            assert p._version == q._version
    assert len(step.compiled.variants) == 1


def test_the_dtype_that_a_region_takes_from_the_thread_is_read_in_each_call():
    @rg.compile
    def product(x):
        with rg.amp.autocast("cpu"):
            return (x @ x) * 1, (x * 2).exp()

    try:
        for dtype in (rg.bfloat16, rg.bfloat16, rg.float16, rg.bfloat16):
            rg.set_autocast_dtype("cpu", dtype)
            assert [t.dtype for t in product(rg.ones(2, 2))] == [dtype, rg.float32]
        with rg.amp.autocast("cpu", dtype=rg.float16):  # around it, nothing is captured
            assert product(rg.ones(2, 2))[0].dtype == rg.float16
    finally:
        rg.set_autocast_dtype("cpu", rg.bfloat16)
    assert len(product.compiled.variants) == 2


def test_a_region_from_outside_that_changes_is_read_anew():
    region = rg.amp.autocast("cpu")

    @rg.compile
    def product(x):
        with region:
            return (x @ x) * 1, x.exp()

    for dtype in (rg.bfloat16, rg.float16):
        region.fast_dtype = dtype
        for _ in range(2):
            assert product(rg.ones(2, 2))[0].dtype == dtype
