"""Optimizers, line search and schedules against PyTorch's paths; complex parameters; errors."""

from __future__ import annotations

import copy
import gzip
import importlib.util
import io
import json
from pathlib import Path

import numpy as np
import pytest

import retrograd as rg
from retrograd.optim import lr_scheduler, optimizer, swa_utils

DATA = Path(__file__).parents[1] / "data"
spec = importlib.util.spec_from_file_location("optim_cases", DATA / "make_optim.py")
cases = importlib.util.module_from_spec(spec)
spec.loader.exec_module(cases)
RESULTS = json.loads((DATA / "optim.json").read_text())

NEW = ["Adadelta", "Adamax", "NAdam", "RAdam", "Rprop", "ASGD", "Adafactor", "Muon"]


def close(found, expected, rtol, atol=0.0):
    for one, other in zip(found, expected, strict=True):
        if isinstance(other, list):
            close(one, other, rtol, atol)
        else:
            assert one == pytest.approx(other, rel=rtol, abs=atol)


ALL = [
    (group, name)
    for group, names in cases.GROUPS.items()
    for name in names
    if name != "SparseAdam"  # tests/torch/optim
]


def exact(group, name):
    """The relative and the absolute tolerance of a path."""
    if name.startswith("Muon"):  # PyTorch's iteration runs in bfloat16
        return 5e-3, 5e-3
    return (1e-6, 1e-9) if group == "lines" else (1e-10, 1e-10)


@pytest.fixture(scope="module")
def saved():
    """What PyTorch saved of each case."""
    with gzip.open(cases.STATES) as file:
        return rg.load(io.BytesIO(file.read()))


@pytest.mark.parametrize(("group", "name"), ALL)
def test_a_case_follows_the_path_of_pytorch(group, name):
    found, expected = cases.results(rg, group, name), RESULTS[group][name]
    close(found["path"], expected["path"], *exact(group, name))
    assert found["state"] == [key for key in expected["state"] if key != "al"]


@pytest.mark.parametrize(("group", "name"), ALL)
@pytest.mark.parametrize("stop", cases.STOPS)
def test_what_pytorch_saved_goes_on_to_the_same_numbers(group, name, stop, saved):
    run = cases.resumed(rg, group, name, saved[group][name][stop])
    steps = cases.STEPS[group][stop:]
    found = cases.gone_on(group, run, steps)
    assert len(found) == len(steps) > 1
    close(found, RESULTS[group][name]["path"][stop:], *exact(group, name))


@pytest.mark.parametrize(("group", "name"), ALL)
def test_what_is_saved_is_what_pytorch_saves(group, name, saved):
    """So PyTorch goes on from it as from its own, and programs that read it find its kinds."""
    for stop, found in cases.stops(rg, group, name).items():
        alike(found, saved[group][name][stop], exact(group, name))


def alike(found, expected, tolerances):
    """The same containers, names, dtypes and values."""
    if isinstance(expected, dict):
        known = [key for key in expected if key != "al"]  # room for sums, filled before it is read
        assert [*found] == known
        for key in known:
            other = expected[key]
            if key == "t" and isinstance(other, rg.Tensor):  # PyTorch's first step, if below 1
                other = other.item()
            alike(found[key], other, tolerances)
    elif isinstance(expected, (list, tuple)):
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            alike(one, other, tolerances)
    elif isinstance(expected, rg.Tensor):
        assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
        np.testing.assert_allclose(found.numpy(), expected.numpy(), *tolerances)
    elif isinstance(found, (int, float, rg.Tensor)) and not isinstance(found, bool):
        assert float(found) == pytest.approx(float(expected), rel=tolerances[0], abs=tolerances[1])
    else:
        assert type(found) is type(expected)
        assert found == expected


# -- gradients at the ends of a dtype's range ------------------------------------------------------

INFINITE = {"infinite", "infinite later", "infinite always", "infinite in turn"}
OVERFLOWING = {"big", "big later", "edge", "edge later", "most", "most in turn"}
NANS = {"nan", "nan later"}
APART = {  # docs/differences.md has their rows
    "Adafactor": INFINITE | OVERFLOWING,  # averages that begin at their end
    "Adafactor all": INFINITE | OVERFLOWING | {"least, then big"},
    "Adam fast": INFINITE,
    "Muon all": INFINITE,
    "Muon, float64": OVERFLOWING
    | {"least, then big"},  # beyond bfloat16, in which PyTorch iterates
    "Muon all, float64": OVERFLOWING | {"least, then big"},
    "Muon all, bfloat16": OVERFLOWING | {"least, then big", "nan later", "zero later"},
    "Rprop": NANS,  # the sign of NaN
    "Rprop all": NANS,
    **{  # the average, before a step size shrinks it
        f"RAdam{kind}, float16": {"most", "most in turn"} for kind in ("", " all", " decoupled")
    },
}


@pytest.fixture(scope="module")
def paths():
    with gzip.open(cases.FAR) as file:
        return rg.load(io.BytesIO(file.read()))


def differing(found, expected, name, dtype):
    """The gradients whose path is another: infinite, NaN, of another sign, or farther off."""
    a, b = (t.to(rg.float64).numpy() for t in (found, expected))
    assert a.shape == b.shape
    limits = rg.finfo(getattr(rg, dtype))
    scale = np.maximum.accumulate(
        np.nan_to_num(np.abs(b), posinf=0), 1
    )  # what was there may cancel
    far = 12 * limits.eps * scale + 4 * limits.eps * limits.smallest_normal
    same = (a == b) | np.isnan(b) & (np.isnan(a) | (dtype == "complex64"))
    same |= np.abs(a - b) <= far + 5e-3 * name.startswith("Muon")
    same[:, :, 0] &= (a != 0)[:, :, 0] | (np.signbit(a) == np.signbit(b))[:, :, 0]  # of parameters
    return {g for g, alike in zip(cases.GRADIENTS, same, strict=True) if not alike.all()}


FAR = [name for name in (*cases.CASES, *cases.MORE) if name != "SparseAdam"]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", FAR)
def test_extreme_gradients_lead_where_pytorch_goes(name, paths):
    """But that there infinity times a complex number is NaN."""
    for dtype in cases.SIZES:
        key = f"{name}, {dtype}"
        if key in paths:
            found = differing(cases.far(rg, name, dtype), paths[key], name, dtype)
            apart = APART.get(name, set()) | APART.get(key, set())
            assert found <= apart if dtype == "complex64" else found == apart


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", [n for n in FAR if not n.startswith(("Adafactor", "Muon"))])
def test_extreme_gradients_lead_kernels_blocks_and_recorded_steps_to_the_same(name):
    for dtype in ("float32", "float64", "complex64"):
        few, many = (cases.far(rg, name, dtype, copies).numpy() for copies in (1, 256))
        np.testing.assert_array_equal(np.broadcast_to(few, many.shape), many)
        recorded = cases.far(rg, name, dtype, differentiable=True).detach().numpy()
        np.testing.assert_allclose(recorded, few, 1e-6)


def test_every_case_has_a_result(saved):
    for group, names in cases.GROUPS.items():
        assert list(RESULTS[group]) == list(saved[group]) == list(names)


# -- complex parameters, shapes, states ----------------------------------------------------------


def steps(make, start, count=4):
    p = rg.tensor(start, requires_grad=True)
    made = make([p])
    for step in range(count):
        p.grad = rg.tensor(p._array * (0.5 + 0.1 * step) + 0.3)
        made.step()
    return p._array, made


@pytest.mark.parametrize("name", ["Adafactor", "Muon"])
@pytest.mark.parametrize("shape", [(2, 3), (3, 2)])
def test_a_common_phase_turns_the_whole_path_of_a_complex_parameter(name, shape):
    make = getattr(rg.optim, name)
    start = np.linspace(-1, 1, 6).reshape(shape) + 0.5j
    turn = np.exp(0.7j)
    p, q = (rg.tensor(start * by, requires_grad=True) for by in (1, turn))
    one, other = make([p], lr=0.1), make([q], lr=0.1)
    for step in range(4):
        g = p._array * 0.5 + 0.1 * step
        p.grad, q.grad = rg.tensor(g), rg.tensor(g * turn)
        one.step()
        other.step()
    np.testing.assert_allclose(q._array, p._array * turn, rtol=1e-12)
    assert not np.allclose(p._array, start)


def test_a_complex_parameter_of_no_imaginary_part_goes_the_real_way_in_adafactor():
    real, _ = steps(lambda p: rg.optim.Adafactor(p, lr=0.1), np.ones((2, 2)), 1)
    pair, _ = steps(lambda p: rg.optim.Adafactor(p, lr=0.1), np.ones((2, 2), complex), 1)
    np.testing.assert_allclose(pair, real, rtol=1e-14)


def test_muon_makes_a_complex_step_nearly_unitary():
    rng = np.random.default_rng(0)
    p = rg.tensor(np.zeros((3, 5), complex), requires_grad=True)
    p.grad = rg.tensor(rng.normal(size=(3, 5)) + 1j * rng.normal(size=(3, 5)))
    rg.optim.Muon([p], lr=1.0).step()
    values = np.linalg.svd(p._array, compute_uv=False)
    assert values.min() > 0.6
    assert values.max() < 1.3


@pytest.mark.parametrize("name", [n for n in NEW if n != "Muon"])
@pytest.mark.parametrize("shape", [(), (0,), (0, 3), (1,)])
def test_scalars_and_empty_parameters_are_updated(name, shape):
    p = rg.ones(shape, dtype=rg.float64, requires_grad=True)
    made = getattr(rg.optim, name)([p], lr=0.1)
    for _ in range(2):
        p.grad = rg.ones(shape, dtype=rg.float64)
        made.step()
    assert p.shape == rg.Size(shape)
    assert bool((p < 1).all())


@pytest.mark.parametrize("name", [n for n in NEW if n != "Muon"])
def test_a_parameter_that_is_not_contiguous_goes_the_same_way(name):
    whole = np.linspace(-1, 1, 6).reshape(2, 3) + 0.5j
    made = []
    for array in (whole.copy(), np.asfortranarray(whole)):
        p = rg.from_numpy(array).requires_grad_()
        optimizer_ = getattr(rg.optim, name)([p], lr=0.1)
        for step in range(3):
            p.grad = rg.tensor(np.ascontiguousarray(p._array) * 0.5 + 0.1 * step)
            optimizer_.step()
        made.append(p._array)
    np.testing.assert_allclose(made[1], made[0], rtol=1e-14)


@pytest.mark.parametrize("name", [*NEW, "LBFGS"])
def test_a_saved_state_continues_the_path(name):
    def pull(p, made):
        def closure():
            made.zero_grad()
            loss = ((p - 0.3) ** 2).abs().sum() ** 2 + p.abs().sum()
            loss.backward()
            return loss

        for _ in range(2):
            made.step(closure)

    kind = getattr(rg.optim, name)
    settings = {"lr": 0.05, **({"max_iter": 3} if name == "LBFGS" else {})}
    start = np.array([[0.5 - 1j, 2.0], [1j, -0.25]])
    p = rg.tensor(start, requires_grad=True)
    first = kind([p], **settings)
    pull(p, first)
    q = rg.tensor(p._array, requires_grad=True)
    second = kind([q], **settings)
    second.load_state_dict(copy.deepcopy(first.state_dict()))
    pull(p, first)
    pull(q, second)
    np.testing.assert_array_equal(p._array, q._array)


def test_a_real_state_of_a_complex_parameter_stays_real_when_loaded():
    _, made = steps(lambda p: rg.optim.Adafactor(p), np.ones((2, 2), complex), 1)
    made.load_state_dict(made.state_dict())
    (own,) = made.state.values()
    assert own["row_var"].dtype is rg.float64


def test_a_step_counts_as_a_write_for_lbfgs():
    w = rg.ones(2, requires_grad=True)
    kept = (w * w).sum()
    made = rg.optim.LBFGS([w], max_iter=1)

    def closure():
        made.zero_grad()
        loss = (w**3).sum()
        loss.backward()
        return loss

    made.step(closure)
    with pytest.raises(RuntimeError, match=r"modified by an inplace operation.*LBFGS.step"):
        kept.backward()


def test_lbfgs_needs_a_closure_and_one_group():
    w, v = rg.ones(2, requires_grad=True), rg.ones(2, requires_grad=True)
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'closure'"):
        rg.optim.LBFGS([w]).step()
    with pytest.raises(ValueError, match="doesn't support per-parameter options"):
        rg.optim.LBFGS([{"params": [w]}, {"params": [v]}])
    made = rg.optim.LBFGS([w], line_search_fn="armijo")
    with pytest.raises(RuntimeError, match="only 'strong_wolfe' is supported"):
        made.step(lambda: (w.sum().backward(), w.sum())[1])


def test_lbfgs_stays_where_the_gradient_is_zero():
    w = rg.zeros(2, requires_grad=True)
    made = rg.optim.LBFGS([w])

    def closure():
        made.zero_grad()
        loss = (w * w).sum()
        loss.backward()
        return loss

    assert made.step(closure).item() == 0.0
    assert w.tolist() == [0.0, 0.0]
    assert made.state[w]["func_evals"] == 1


@pytest.mark.parametrize(
    ("name", "settings", "text"),
    [
        ("Adadelta", {"rho": 1.5}, "Invalid rho value: 1.5"),
        ("Adadelta", {"lr": -1}, "Invalid learning rate: -1"),
        ("Adamax", {"betas": (0.5, 1.0)}, "Invalid beta parameter at index 1: 1.0"),
        ("NAdam", {"momentum_decay": -1.0}, "Invalid momentum_decay value: -1.0"),
        ("RAdam", {"eps": -1.0}, "Invalid epsilon value: -1.0"),
        ("Rprop", {"etas": (0.5, 0.9)}, "Invalid eta values: 0.5, 0.9"),
        ("ASGD", {"weight_decay": -1.0}, "Invalid weight_decay value: -1.0"),
        ("Adafactor", {"lr": -1.0}, "Learning rate should be >= 0 but is: -1.0"),
        ("Adafactor", {"d": 0.5}, "Clipping threshold d should be >= 1 but is: 0.5"),
        ("Adafactor", {"beta2_decay": 0.5}, "beta2_decay should be <= 0 but is: 0.5"),
        ("Adafactor", {"eps": (-1.0, 0.1)}, "epsilon1 should be >= 0 but is: -1.0"),
        ("Muon", {"adjust_lr_fn": "none"}, "Adjust learning rate function none is not supported"),
        ("Muon", {"ns_steps": 100}, "Number of steps must be less than 100"),
        ("Muon", {}, r"only supports 2D parameters .* size: \[1\]"),
    ],
)
def test_settings_out_of_range_raise(name, settings, text):
    with pytest.raises(ValueError, match=text):
        getattr(rg.optim, name)([rg.ones(1, requires_grad=True)], **settings)


# -- hooks ---------------------------------------------------------------------------------------


def descent(lr=0.5):
    return rg.optim.SGD([rg.ones(1, requires_grad=True)], lr=lr)


def test_hooks_around_saving_and_loading_see_and_replace_the_state():
    made, seen = descent(), []
    made.register_state_dict_pre_hook(lambda o: seen.append("save"))
    made.register_state_dict_post_hook(lambda o, state: {**state, "more": 1})
    assert made.state_dict()["more"] == 1

    def halve(o, state):
        groups = [{**g, "lr": g["lr"] / 2} for g in state["param_groups"]]
        return {**state, "param_groups": groups}

    made.register_load_state_dict_pre_hook(halve)
    made.register_load_state_dict_post_hook(lambda o: seen.append(o.param_groups[0]["lr"]))
    made.load_state_dict(made.state_dict())
    assert seen == ["save", "save", 0.25]


def test_a_prepended_hook_comes_first():
    made, seen = descent(), []
    made.register_state_dict_pre_hook(lambda o: seen.append(1))
    handle = made.register_state_dict_pre_hook(lambda o: seen.append(2), prepend=True)
    made.state_dict()
    handle.remove()
    made.state_dict()
    assert seen == [2, 1, 1]


def test_hooks_for_all_optimizers_go_around_an_optimizers_own():
    made, seen = descent(), []
    handles = [
        optimizer.register_optimizer_step_pre_hook(lambda o, a, k: seen.append("first")),
        optimizer.register_optimizer_step_post_hook(lambda o, a, k: seen.append("last")),
    ]
    made.register_step_pre_hook(lambda o, a, k: seen.append("own"))
    made.step()
    for handle in handles:
        handle.remove()
    made.step()
    assert seen == ["first", "own", "last", "own"]


# -- schedules -----------------------------------------------------------------------------------


def test_a_schedule_of_parts_continues_from_its_state():
    def make():
        made = descent()
        parts = [lr_scheduler.ConstantLR(made, 0.5, 3), lr_scheduler.ExponentialLR(made, 0.5)]
        return lr_scheduler.SequentialLR(made, parts, [2])

    first, second = make(), make()
    for _ in range(3):
        first.optimizer.step()
        first.step()
    second.load_state_dict(copy.deepcopy(first.state_dict()))
    second.optimizer.load_state_dict(first.optimizer.state_dict())
    for schedule in (first, second):
        schedule.optimizer.step()
        schedule.step()
    assert first.get_last_lr() == second.get_last_lr() == [0.125]
    assert "optimizer" not in first.state_dict()


def test_warm_restarts_go_to_a_part_of_an_epoch():
    schedule = lr_scheduler.CosineAnnealingWarmRestarts(descent(1.0), 2, T_mult=2)
    found = []
    for epoch in (0.5, 2, 3.0, 6, 13.9):
        schedule.step(epoch)
        found += schedule.get_last_lr()
    angles = np.array([0.25, 0, 0.25, 0, 7.9 / 8])
    assert found == pytest.approx((1 + np.cos(np.pi * angles)) / 2, rel=1e-12)
    with pytest.raises(ValueError, match="Expected non-negative epoch"):
        schedule.step(-1)


def test_a_deprecated_epoch_goes_there_and_warns():
    schedule = lr_scheduler.StepLR(descent(1.0), 2, 0.5)
    schedule.optimizer.step()
    with pytest.warns(UserWarning, match="epoch parameter in `scheduler.step"):
        schedule.step(5)
    assert schedule.get_last_lr() == [0.25]


def test_cycles_set_the_first_beta_of_adam():
    made = rg.optim.Adam([rg.ones(1, requires_grad=True)], lr=1.0)
    lr_scheduler.OneCycleLR(made, 1.0, total_steps=10)
    assert made.param_groups[0]["betas"] == (0.95, 0.999)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda o: lr_scheduler.SequentialLR(o, [], []), "expects at least one scheduler"),
        (
            lambda o: lr_scheduler.SequentialLR(o, [lr_scheduler.StepLR(o, 1)], [1]),
            "one more than the number of milestone points",
        ),
        (
            lambda o: lr_scheduler.ChainedScheduler([lr_scheduler.ReduceLROnPlateau(o)]),
            "does not support `ReduceLROnPlateau`",
        ),
        (
            lambda o: lr_scheduler.ChainedScheduler([lr_scheduler.StepLR(descent(), 1)], o),
            "belong to the same optimizer",
        ),
        (lambda o: lr_scheduler.CyclicLR(o, 0.1, 1.0, mode="square"), "mode is invalid"),
        (lambda o: lr_scheduler.OneCycleLR(o, 1.0), "You must define either total_steps"),
        (lambda o: lr_scheduler.OneCycleLR(o, 1.0, 5, pct_start=2.0), "between 0 and 1 pct_start"),
        (lambda o: lr_scheduler.OneCycleLR(o, [1.0, 2.0], 5), "must have the same length"),
        (lambda o: lr_scheduler.CosineAnnealingWarmRestarts(o, 0), "positive integer T_0"),
        (
            lambda o: lr_scheduler.OneCycleLR(rg.optim.Rprop([rg.ones(1)]), 1.0, 5),
            "must support momentum or beta1",
        ),
        (lambda o: swa_utils.SWALR(o, 0.1, anneal_strategy="steps"), "one of 'cos' or 'linear'"),
    ],
)
def test_schedules_that_cannot_be_raise(make, text):
    with pytest.raises(ValueError, match=text):
        make(descent())


def test_one_cycle_ends():
    schedule = lr_scheduler.OneCycleLR(descent(), 1.0, total_steps=2, cycle_momentum=False)
    schedule.optimizer.step()
    schedule.step()
    schedule.step()
    with pytest.raises(ValueError, match="Tried to step 3 times"):
        schedule.step()


# -- averages of models --------------------------------------------------------------------------


def models(count):
    for k in range(count):
        model = rg.nn.Sequential(rg.nn.Linear(1, 1), rg.nn.BatchNorm1d(1))
        for p in model.parameters():
            rg.nn.init.constant_(p, float(k * k))
        model[1].running_mean.fill_(k)
        yield model


@pytest.mark.parametrize("use_buffers", [False, True])
def test_an_averaged_model_has_the_mean_of_the_parameters(use_buffers):
    first, *rest = models(4)
    average = swa_utils.AveragedModel(first, use_buffers=use_buffers)
    for model in (first, *rest):
        average.update_parameters(model)
    assert average.n_averaged == 4
    assert {p.item() for p in average.module.parameters()} == {14 / 4}
    assert average.module[1].running_mean.item() == (1.5 if use_buffers else 3.0)
    assert "n_averaged" in average.state_dict()


@pytest.mark.parametrize("key", ["avg_fn", "multi_avg_fn"])
def test_an_exponential_average_forgets(key):
    first, second = models(2)
    make = swa_utils.get_ema_avg_fn if key == "avg_fn" else swa_utils.get_ema_multi_avg_fn
    average = swa_utils.AveragedModel(first, **{key: make(0.75)})
    average.update_parameters(first)
    average.update_parameters(second)
    assert average.module[0].weight.item() == 0.25


def test_two_functions_for_one_average_raise():
    (model,) = models(1)
    one, other = swa_utils.get_swa_avg_fn(), swa_utils.get_swa_multi_avg_fn()
    with pytest.raises(AssertionError, match="Only one of avg_fn and multi_avg_fn"):
        swa_utils.AveragedModel(model, avg_fn=one, multi_avg_fn=other)
    with pytest.raises(ValueError, match="Invalid decay value 2"):
        swa_utils.get_ema_avg_fn(2)


def test_update_bn_takes_the_mean_over_all_batches_and_leaves_the_mode():
    model = rg.nn.BatchNorm1d(1).eval()
    batches = [(rg.tensor([[1.0], [3.0]]), "label"), (rg.tensor([[5.0], [9.0]]), "label")]
    swa_utils.update_bn(batches, model)
    assert model.running_mean.item() == 4.5
    assert model.running_var.item() == pytest.approx((2 + 8) / 2)
    assert (model.training, model.momentum) == (False, 0.1)
