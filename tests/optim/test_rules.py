"""Update rules against trajectories of PyTorch: three steps on a real and a complex parameter."""

from __future__ import annotations

import numpy as np
import pytest

import retrograd as rg

W = [[0.5, -1.0, 2.0], [0.25, 1.5, -0.75]]
Z = [1 + 2j, -0.5 + 0.25j]
G = [
    [[0.3, -0.2, 0.1], [1.0, -0.5, 0.25]],
    [[-0.6, 0.4, 0.2], [0.0, 0.5, -1.0]],
    [[0.2, 0.1, -0.3], [0.4, -0.8, 0.6]],
]
H = [[0.5 - 1j, 0.25 + 0.5j], [-1 + 0.5j, 1j], [0.125, -0.75 - 0.5j]]

EXPECTED = {
    "sgd": (
        "SGD",
        {"lr": 0.1},
        [[0.51, -1.03, 2.0], [0.10999999999999999, 1.58, -0.7350000000000001]],
        [(1.0375 + 2.0500000000000003j), (-0.45 + 0.15000000000000002j)],
    ),
    "sgd_weight_decay": (
        "SGD",
        {"lr": 0.1, "weight_decay": 0.2, "maximize": True},
        [
            [0.460608, -0.9111999999999999, 1.8815879999999998],
            [0.37133799999999995, 1.332768, -0.719884],
        ],
        [(0.903712 + 1.835344j), (-0.5215860000000001 + 0.331318j)],
    ),
    "momentum": (
        "SGD",
        {"lr": 0.1, "momentum": 0.9},
        [[0.5127, -1.0318, 1.9649], [-0.06100000000000002, 1.6205, -0.68775]],
        [(1.0419999999999998 + 2.176j), (-0.49274999999999997 - 0.02549999999999998j)],
    ),
    "dampening": (
        "SGD",
        {"lr": 0.1, "momentum": 0.9, "dampening": 0.3, "weight_decay": 0.2},
        [
            [0.43873016000000004, -0.91312416, 1.7809381999999998],
            [-0.06708558000000005, 1.48252392, -0.6562469599999999],
        ],
        [(0.89687628 + 2.01260176j), (-0.46715294 - 0.00325578j)],
    ),
    "nesterov": (
        "SGD",
        {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.1},
        [
            [0.4827797935, -0.980115823, 1.8119428229999999],
            [-0.17944710475, 1.5664812065, -0.62069810325],
        ],
        [(0.997698646 + 2.041763472j), (-0.40136461800000006 - 0.10900180975000004j)],
    ),
    "adam": (
        "Adam",
        {"lr": 0.1},
        [
            [0.4454673672779922, -0.9781754749638348, 1.81014171477095],
            [0.011164311705371938, 1.6399236344290202, -0.7888253917671801],
        ],
        [(0.9576326827003621 + 2.147221632668549j), (-0.6227610752689963 + 0.011472870875577919j)],
    ),
    "adam_all": (
        "Adam",
        {
            "lr": 0.1,
            "betas": (0.8, 0.9),
            "eps": 0.001,
            "weight_decay": 0.1,
            "amsgrad": True,
            "maximize": True,
        },
        [
            [0.5280782362730534, -0.9665488285576869, 1.7742917941761678],
            [0.47431352269888466, 1.3209485936557899, -0.6950992304729415],
        ],
        [(1.0131022481191552 + 1.819018732243165j), (-0.37244598996515427 + 0.47756201189904673j)],
    ),
    "adamw": (
        "AdamW",
        {"lr": 0.1, "weight_decay": 0.3},
        [
            [0.40661555652303555, -0.8956601641219537, 1.6442932600743123],
            [-0.0027472636197537342, 1.5031810292809045, -0.7190986524626699],
        ],
        [(0.875117372014945 + 1.9658586216187763j), (-0.5711774008567276 - 0.0015533332017773765j)],
    ),
    "adamw_amsgrad": (
        "AdamW",
        {"lr": 0.1, "amsgrad": True},
        [
            [0.444132156419397, -0.9753417636022939, 1.8044441309474388],
            [0.010715445058224679, 1.6352334960908075, -0.7864336913738125],
        ],
        [(0.9547989713441234 + 2.1409908004272804j), (-0.6209621911778247 + 0.01102003882294142j)],
    ),
    "rmsprop": (
        "RMSprop",
        {"lr": 0.1},
        [
            [0.108024108085648, -1.1147967397768241, 0.9081827175254594],
            [-1.1246177592989506, 2.542855904756315, -1.2846378960220368],
        ],
        [(0.7835487505829027 + 2.5509866852556495j), (-0.5503710711366879 - 1.2350211993517022j)],
    ),
    "rmsprop_all": (
        "RMSprop",
        {"lr": 0.1, "centered": True, "momentum": 0.5, "weight_decay": 0.1, "alpha": 0.9},
        [
            [0.2257579482072678, -0.7975008551557934, 1.1234808434984533],
            [-0.4579202133636544, 1.8604863814725496, -0.9831865841577806],
        ],
        [(0.7637155707349556 + 2.1833097776571786j), (-0.5701970248164375 - 0.6489367237974764j)],
    ),
    "adagrad": (
        "Adagrad",
        {"lr": 0.1},
        [
            [0.46087129055264464, -1.011264508148829, 1.890735653592307],
            [0.11286093237803789, 1.6042161867908633, -0.8032923669286989],
        ],
        [(0.9783316080018682 + 2.0552786404440044j), (-0.5051316701669486 + 0.10138210997106138j)],
    ),
    "adagrad_all": (
        "Adagrad",
        {"lr": 0.1, "lr_decay": 0.1, "weight_decay": 0.1, "initial_accumulator_value": 0.5},
        [
            [0.486932969153206, -0.9944455908805512, 1.9296180911109622],
            [0.14002294090115272, 1.5310150206498716, -0.7301682434932695],
        ],
        [(0.9846075606008777 + 2.011700151463835j), (-0.45933883452807034 + 0.14998582515990552j)],
    ),
}


def trajectory(make, real, complex_):
    """The parameters and the optimizer after three steps with the gradients above."""
    w = rg.tensor(W, dtype=real, requires_grad=True)
    z = rg.tensor(Z, dtype=complex_, requires_grad=True)
    optimizer = make([w, z])
    for g, h in zip(G, H, strict=True):
        w.grad, z.grad = rg.tensor(g, dtype=real), rg.tensor(h, dtype=complex_)
        optimizer.step()
    return w, z, optimizer


@pytest.mark.parametrize("case", EXPECTED)
def test_a_rule_follows_pytorch(case):
    name, settings, w_end, z_end = EXPECTED[case]
    make = getattr(rg.optim, name)
    w, z, _ = trajectory(lambda params: make(params, **settings), rg.float64, rg.complex128)
    np.testing.assert_allclose(w._array, w_end, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(z._array, z_end, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("case", EXPECTED)
def test_a_rule_keeps_single_precision(case):
    name, settings, w_end, z_end = EXPECTED[case]
    make = getattr(rg.optim, name)
    w, z, optimizer = trajectory(lambda p: make(p, **settings), rg.float32, rg.complex64)
    assert (w.dtype, z.dtype) == (rg.float32, rg.complex64)
    np.testing.assert_allclose(w._array, w_end, rtol=2e-6, atol=1e-6)
    np.testing.assert_allclose(z._array, z_end, rtol=2e-6, atol=1e-6)
    for own, dtype in ((optimizer.state[w], rg.float32), (optimizer.state[z], rg.complex64)):
        assert all(t.dtype is dtype for key, t in own.items() if key != "step")


@pytest.mark.parametrize("case", EXPECTED)
def test_large_and_noncontiguous_parameters_are_updated_like_small_ones(case):
    """Blocks (more than 16384 elements) and strided memory give what the plain case gives."""
    name, settings, _, _ = EXPECTED[case]
    values = np.random.default_rng(1).normal(size=(2, 150, 301))
    results = []
    for layout in ("small", "large", "strided"):
        x = values.copy()
        if layout == "strided":
            x = np.asfortranarray(x)
        parts = [x[:, i] for i in range(150)] if layout == "small" else [x]
        params = [rg.Tensor.detach(rg.zeros(1)) for _ in parts]
        for p, part in zip(params, parts, strict=True):
            p._array = part
            p.requires_grad = True
        optimizer = getattr(rg.optim, name)(params, **settings)
        for step in range(2):
            for p in params:
                p.grad = rg.tensor(np.cos(p._array + step))
            optimizer.step()
        results.append(x)
    np.testing.assert_allclose(results[1], results[0], rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(results[2], results[0], rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize(
    ("name", "expected"),  # of the gradient 6
    [("SGD", 2.4), ("Adam", 2.9), ("AdamW", 2.897), ("RMSprop", 2.0), ("Adagrad", 2.9)],
)
def test_a_scalar_parameter_is_updated(name, expected):
    x = rg.tensor(3.0, requires_grad=True)
    optimizer = getattr(rg.optim, name)([x], lr=0.1)
    (x * x).backward()
    optimizer.step()
    assert x.shape == ()
    assert x.item() == pytest.approx(expected, rel=1e-6)


def test_sgd_with_momentum_updates_a_scalar_parameter():
    x = rg.tensor(1.0, dtype=rg.float64, requires_grad=True)
    optimizer = rg.optim.SGD([x], lr=0.1, momentum=0.5)
    for _ in range(2):
        x.grad = rg.tensor(1.0, dtype=rg.float64)
        optimizer.step()
    assert x.item() == pytest.approx(1.0 - 0.1 - 0.15, rel=1e-15)


def test_state_keys_are_those_of_pytorch():
    _, _, sgd = trajectory(lambda p: rg.optim.SGD(p, momentum=0.9), rg.float64, rg.complex128)
    assert [list(s) for s in sgd.state_dict()["state"].values()] == [["momentum_buffer"]] * 2
    _, _, adam = trajectory(lambda p: rg.optim.Adam(p, amsgrad=True), rg.float64, rg.complex128)
    keys = ["step", "exp_avg", "exp_avg_sq", "max_exp_avg_sq"]
    assert [list(s) for s in adam.state_dict()["state"].values()] == [keys] * 2
    assert adam.state_dict()["state"][0]["step"].item() == 3.0


def test_adam_keeps_a_second_moment_for_each_part_of_a_complex_number():
    z = rg.tensor([1 + 1j], dtype=rg.complex128, requires_grad=True)
    optimizer = rg.optim.Adam([z], lr=0.1)
    z.grad = rg.tensor([3 - 4j], dtype=rg.complex128)
    optimizer.step()
    assert optimizer.state[z]["exp_avg_sq"]._array[0] == pytest.approx(0.009 + 0.016j, rel=1e-12)
    assert z._array[0] == pytest.approx(0.9 + 1.1j, rel=1e-8)


def test_a_step_counts_as_a_write():
    w = rg.ones(2, requires_grad=True)
    loss = (w * w).sum()
    w.grad = rg.ones(2)
    rg.optim.SGD([w], lr=0.1).step()
    with pytest.raises(RuntimeError, match=r"modified by an inplace operation.*SGD.step"):
        loss.backward()


def test_parameters_without_gradient_stay_and_get_no_state():
    w, v = rg.ones(2, requires_grad=True), rg.ones(2, requires_grad=True)
    optimizer = rg.optim.Adam([w, v])
    w.grad = rg.ones(2)
    optimizer.step()
    assert v.tolist() == [1.0, 1.0]
    assert v not in optimizer.state


@pytest.mark.parametrize(
    ("name", "settings", "text"),
    [
        ("SGD", {"lr": -1}, "Invalid learning rate: -1"),
        ("SGD", {"momentum": -1.0}, "Invalid momentum value: -1.0"),
        ("SGD", {"nesterov": True}, "Nesterov momentum requires a momentum and zero dampening"),
        ("Adam", {"betas": (1.0, 0.9)}, "Invalid beta parameter at index 0: 1.0"),
        ("Adam", {"eps": -1.0}, "Invalid epsilon value: -1.0"),
        ("AdamW", {"weight_decay": -1.0}, "Invalid weight_decay value: -1.0"),
        ("RMSprop", {"alpha": -1.0}, "Invalid alpha value: -1.0"),
        ("Adagrad", {"lr_decay": -1.0}, "Invalid lr_decay value: -1.0"),
    ],
)
def test_settings_out_of_range_raise(name, settings, text):
    with pytest.raises(ValueError, match=text):
        getattr(rg.optim, name)([rg.ones(1, requires_grad=True)], **settings)


@pytest.mark.parametrize("closure", [False, True])
@pytest.mark.parametrize("name", ["SGD", "Adam", "RMSprop", "Adagrad", "Rprop"])
def test_a_state_of_another_shape_than_its_parameter_raises(name, closure):
    p = rg.nn.Parameter(rg.ones(3))
    optimizer = getattr(rg.optim, name)([p], 0.1, **({"momentum": 0.9} if name == "SGD" else {}))
    p.grad = rg.ones(3)
    optimizer.step()
    p.data, p.grad = rg.ones(2), rg.ones(2)
    with pytest.raises(RuntimeError, match=r"shape \[2\] .* shape \[3\] of its state"):
        optimizer.step(*[lambda: p.sum()] * closure)


@pytest.mark.parametrize("name", ["Adam", "AdamW", "Adamax", "NAdam", "RAdam"])
@pytest.mark.parametrize("differentiable", [False, True])
def test_adams_family_refuses_a_parameter_that_was_cast_since_its_last_step(name, differentiable):
    p = rg.ones(2)
    optimizer = getattr(rg.optim, name)([p], differentiable=differentiable)
    p.grad = rg.ones(2)
    optimizer.step()
    p.data = p.data.double()
    before = p.tolist()
    p.grad = rg.ones(2, dtype=rg.float64)
    with pytest.raises(RuntimeError, match="expected dtype float32 but got dtype float64"):
        optimizer.step()
    assert p.tolist() == before
    optimizer.load_state_dict(optimizer.state_dict())
    optimizer.step()
    assert optimizer.state[p]["exp_avg"].dtype == rg.float64


def test_lbfgs_tells_the_parameter_that_has_its_state():
    p = rg.nn.Parameter(rg.ones(2))
    optimizer = rg.optim.LBFGS([p], max_iter=2)

    def closure():
        optimizer.zero_grad()
        (loss := (p**2).sum()).backward()
        return loss

    optimizer.step(closure)
    assert optimizer.state[optimizer._params[0]]["n_iter"] == 1
