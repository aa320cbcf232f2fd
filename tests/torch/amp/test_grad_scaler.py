"""Loss scaling, and `autocast` turned off; the values are PyTorch's."""

from __future__ import annotations

import math

import pytest

import retrograd as rg
from retrograd.torch.amp import GradScaler, autocast


def made(**settings):
    """A parameter of ones, its optimizer, and a scaler that grows after two steps."""
    w = rg.nn.Parameter(rg.ones(2))
    settings = {"init_scale": 8.0, "growth_interval": 2, **settings}
    return w, rg.optim.SGD([w], 0.1), GradScaler("cpu", **settings)


def iterate(w, optimizer, scaler):
    optimizer.zero_grad()
    scaler.scale((w * w).sum()).backward()
    scaler.step(optimizer)
    scaler.update()


def test_a_step_takes_the_scale_out_of_the_gradients():
    w, optimizer, scaler = made()
    scaler.scale((w * w).sum()).backward()
    assert w.grad.tolist() == [16.0, 16.0]
    scaler.step(optimizer)
    assert w.grad.tolist() == [2.0, 2.0]
    assert w.tolist() == pytest.approx([0.8, 0.8])


def test_outputs_in_containers_are_scaled():
    _, _, scaler = made()
    one, (two,) = scaler.scale([rg.tensor(1.0), (rg.tensor(2.0),)])
    assert (one.item(), two.item()) == (8.0, 16.0)
    with pytest.raises(ValueError, match="outputs must be a Tensor or an iterable of Tensors"):
        scaler.scale(3)


def test_the_scale_grows_after_an_interval_of_steps():
    w, optimizer, scaler = made()
    scales = []
    for _ in range(4):
        iterate(w, optimizer, scaler)
        scales.append(scaler.get_scale())
    assert scales == [8.0, 16.0, 16.0, 32.0]


def test_a_step_with_an_infinite_gradient_is_skipped_and_the_scale_shrinks():
    w, optimizer, scaler = made()
    iterate(w, optimizer, scaler)
    before = w.tolist()
    scaler.scale(w.sum())
    w.grad = rg.tensor([math.inf, 1.0])
    assert scaler.step(optimizer) is None
    scaler.update()
    assert w.tolist() == before
    assert w.grad.tolist() == [math.inf, 0.125]
    assert scaler.get_scale() == 4.0
    assert scaler.state_dict()["_growth_tracker"] == 0


def test_gradients_may_be_unscaled_before_the_step():
    w, optimizer, scaler = made()
    scaler.scale((w * w).sum()).backward()
    scaler.unscale_(optimizer)
    rg.nn.utils.clip_grad_value_([w], 1.0)
    with pytest.raises(RuntimeError, match="has already been called on this optimizer"):
        scaler.unscale_(optimizer)
    scaler.step(optimizer)
    assert w.tolist() == pytest.approx([0.9, 0.9])
    with pytest.raises(RuntimeError, match="is being called after step"):
        scaler.unscale_(optimizer)
    with pytest.raises(RuntimeError, match="has already been called since the last"):
        scaler.step(optimizer)


def test_unscaling_counts_as_a_write():
    w, optimizer, scaler = made()
    scaler.scale((w * w).sum()).backward()
    z = (w * w.grad).sum()
    scaler.unscale_(optimizer)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.backward()


def test_what_was_not_begun_cannot_go_on():
    w, optimizer, scaler = made()
    for call in (scaler.update, lambda: scaler.step(optimizer)):
        with pytest.raises(AssertionError, match="_scale is None"):
            call()
    scaler.scale(w.sum())
    with pytest.raises(AssertionError, match="No inf checks were recorded for this optimizer"):
        scaler.step(optimizer)
    with pytest.raises(AssertionError, match="No inf checks were recorded prior to update"):
        scaler.update()
    with pytest.raises(RuntimeError, match="Closure use is not currently supported"):
        scaler.step(optimizer, closure=lambda: 0)
    scaler.update(3)
    assert scaler.get_scale() == 3.0


def test_half_precision_gradients_are_refused():
    w = rg.nn.Parameter(rg.ones(2, dtype=rg.float16))
    scaler = GradScaler("cpu")
    scaler.scale(w.sum()).backward()
    with pytest.raises(ValueError, match="Attempting to unscale FP16 gradients"):
        scaler.unscale_(rg.optim.SGD([w], 0.1))


def test_a_scaler_that_is_off_hands_everything_on():
    w, optimizer, scaler = made(enabled=False)
    assert scaler.scale(3) == 3
    (w * w).sum().backward()
    scaler.unscale_(optimizer)
    assert scaler.step(optimizer, lambda: rg.tensor(5.0)).item() == 5.0
    scaler.update()
    assert scaler.get_scale() == 1.0
    assert scaler.state_dict() == {}
    assert w.tolist() == pytest.approx([0.8, 0.8])


def test_a_scaler_for_a_gpu_warns_and_is_off():
    with pytest.warns(UserWarning, match="CUDA is not available"):
        scaler = GradScaler()
    assert not scaler.is_enabled()


def test_factors_must_grow_and_shrink_the_scale():
    with pytest.raises(AssertionError, match="growth factor must be >"):
        GradScaler("cpu", growth_factor=1.0)
    with pytest.raises(AssertionError, match="backoff factor must be <"):
        GradScaler("cpu", backoff_factor=1.0)


def test_the_state_is_saved_and_loaded():
    w, optimizer, scaler = made()
    iterate(w, optimizer, scaler)
    other = GradScaler("cpu")
    other.load_state_dict(scaler.state_dict())
    assert other.state_dict() == {
        "scale": 8.0, "growth_factor": 2.0, "backoff_factor": 0.5, "growth_interval": 2,
        "_growth_tracker": 1,
    }  # fmt: skip
    with pytest.raises(RuntimeError, match="The source state dict is empty"):
        other.load_state_dict({})


def test_scale_and_count_are_tensors_once_a_loss_is_scaled():
    w, optimizer, scaler = made()
    assert (scaler._scale, scaler._growth_tracker) == (None, None)
    with pytest.raises(AssertionError, match="Attempted unscale_ but _scale is None"):
        scaler._check_scale_growth_tracker("unscale_")
    found = []
    for _ in range(3):
        iterate(w, optimizer, scaler)
        found.append((scaler._scale.item(), scaler._growth_tracker.item()))
    assert found == [(8.0, 1), (16.0, 0), (16.0, 1)]
    assert (scaler._scale.dtype, scaler._growth_tracker.dtype) == (rg.float32, rg.int32)
    scaler.load_state_dict({**scaler.state_dict(), "scale": 4.0, "_growth_tracker": 5})
    assert (scaler._scale.item(), scaler._growth_tracker.item()) == (4.0, 5)
    other = GradScaler("cpu")
    other.load_state_dict(scaler.state_dict())
    assert other._scale is None
    assert (other.get_scale(), other._get_growth_tracker()) == (4.0, 5)


def test_autocast_is_a_context_and_a_decorator_that_change_nothing():
    off = autocast("cpu", enabled=False)
    with off:
        assert (rg.ones(2, 2) @ rg.ones(2, 2)).dtype is rg.float32
    assert off(abs)(-1) == 1
    assert rg.autocast is autocast


def test_gradients_are_unscaled_all_at_once():
    grads = [rg.full((2, 3), 4.0)[:, :2], rg.full((2,), 4.0, dtype=rg.float16)]
    found_inf = rg.zeros(1)
    rg._amp_foreach_non_finite_check_and_unscale_(grads, found_inf, rg.tensor(0.25))
    assert [grad.unique().tolist() for grad in grads] == [[1.0], [1.0]]
    assert found_inf.item() == 0.0
    assert [grad._version for grad in grads] == [1, 1]
    rg._amp_foreach_non_finite_check_and_unscale_([rg.tensor([rg.nan])], found_inf, rg.tensor(1.0))
    assert found_inf.item() == 1.0


def test_a_scale_of_tensors_grows_and_shrinks():
    scale, steps, found_inf = rg.tensor([4.0]), rg.tensor([0], dtype=rg.int32), rg.zeros(1)
    for expected in ((4.0, 1), (8.0, 0)):
        rg._amp_update_scale_(scale, steps, found_inf, 2.0, 0.25, 2)
        assert (scale.item(), steps.item()) == expected
    rg._amp_update_scale_(scale, steps, rg.ones(1), 2.0, 0.25, 2)
    assert (scale.item(), steps.item()) == (2.0, 0)


def test_a_scale_that_would_be_infinite_does_not_grow():
    scale, steps = rg.tensor([3e38]), rg.tensor([0])
    rg._amp_update_scale_(scale, steps, rg.zeros(1), 2.0, 0.5, 1)
    assert scale.item() == pytest.approx(3e38)


def test_a_program_asks_a_scaler_what_it_found():
    w = rg.nn.Parameter(rg.ones(2))
    optimizer, scaler = rg.optim.SGD([w], lr=1.0), rg.amp.GradScaler("cpu", init_scale=4.0)
    scaler.scale(w.sum() * rg.inf).backward()
    assert [each.item() for each in scaler._check_inf_per_device(optimizer).values()] == [1.0]
    w.grad = rg.ones(2)
    scaler.unscale_(optimizer)
    (found,) = scaler._found_inf_per_device(optimizer).values()
    assert (found.item(), found.shape, w.grad.tolist()) == (0.0, (), [0.25, 0.25])
    assert scaler._per_optimizer_states[id(optimizer)]["stage"].name == "UNSCALED"
    scaler.step(optimizer)
    scaler.update()
    assert (w.tolist(), len(scaler._per_optimizer_states)) == ([0.75, 0.75], 0)


def test_a_scaler_of_a_program_decides_whether_to_step():
    class Counting(rg.amp.GradScaler):
        def _maybe_opt_step(self, optimizer, optimizer_state, *args, **kwargs):
            self.calls = sorted(optimizer_state)
            return super()._maybe_opt_step(optimizer, optimizer_state, *args, **kwargs)

    w = rg.nn.Parameter(rg.ones(()))
    optimizer, scaler = rg.optim.SGD([w], lr=0.5), Counting("cpu")
    scaler.scale(w).backward()
    scaler.step(optimizer)
    assert (w.item(), scaler.calls) == (0.5, ["found_inf_per_device", "stage"])


def test_a_loaded_scaler_has_to_be_used_before_it_steps():
    first = GradScaler("cpu", init_scale=4.0)
    first.scale(rg.ones(1))
    second = GradScaler("cpu")
    second.load_state_dict(first.state_dict())
    assert second.get_scale() == 4.0
    w = rg.ones(1, requires_grad=True)
    w.grad = rg.ones(1)
    with pytest.raises(AssertionError, match="step"):
        second.step(rg.optim.SGD([w], lr=1.0))
    assert w.tolist() == [1.0]
    assert second.scale(rg.ones(1)).tolist() == [4.0]
    second.step(rg.optim.SGD([w], lr=1.0))
    assert w.tolist() == [0.75]
