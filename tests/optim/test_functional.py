"""PyTorch's functions of lists: one step of each rule, as its class makes it."""

from __future__ import annotations

import importlib
import inspect

import pytest

import retrograd as rg

STEPS = {"state_steps": "step"}
MOMENTS = {"exp_avgs": "exp_avg", "exp_avg_sqs": "exp_avg_sq", **STEPS}
BETAS = {"beta1": 0.9, "beta2": 0.999}

# By function: the class, its settings, the lists of its state, the settings of the function.
CASES = {
    "adadelta": (
        "Adadelta", {"rho": 0.8}, {"square_avgs": "square_avg", "acc_deltas": "acc_delta", **STEPS},
        {"rho": 0.8, "eps": 1e-6, "weight_decay": 0, "maximize": False},
    ),
    "adagrad": (
        "Adagrad", {"lr_decay": 0.1}, {"state_sums": "sum", **STEPS},
        {"lr_decay": 0.1, "eps": 1e-10, "weight_decay": 0, "maximize": False},
    ),
    "adam": (
        "Adam", {"amsgrad": True, "weight_decay": 0.1},
        {**MOMENTS, "max_exp_avg_sqs": "max_exp_avg_sq"},
        {**BETAS, "amsgrad": True, "weight_decay": 0.1, "eps": 1e-8, "maximize": False},
    ),
    "adamw": (
        "AdamW", {"weight_decay": 0.1}, {**MOMENTS, "max_exp_avg_sqs": None},
        {**BETAS, "amsgrad": False, "weight_decay": 0.1, "eps": 1e-8, "maximize": False},
    ),
    "adamax": (
        "Adamax", {}, {"exp_avgs": "exp_avg", "exp_infs": "exp_inf", **STEPS},
        {**BETAS, "weight_decay": 0, "eps": 1e-8},
    ),
    "asgd": (
        "ASGD", {"t0": 1}, {"axs": "ax", "mus": "mu", "etas": "eta", **STEPS},
        {"lambd": 1e-4, "alpha": 0.75, "t0": 1, "weight_decay": 0},
    ),
    "nadam": (
        "NAdam", {}, {**MOMENTS, "mu_products": "mu_product"},
        {**BETAS, "momentum_decay": 4e-3, "weight_decay": 0, "eps": 1e-8},
    ),
    "radam": ("RAdam", {}, MOMENTS, {**BETAS, "weight_decay": 0, "eps": 1e-8}),
    "rmsprop": (
        "RMSprop", {"centered": True, "momentum": 0.9},
        {
            "square_avgs": "square_avg", "grad_avgs": "grad_avg",
            "momentum_buffer_list": "momentum_buffer", **STEPS,
        },
        {"alpha": 0.99, "centered": True, "momentum": 0.9, "weight_decay": 0, "eps": 1e-8},
    ),
    "rprop": (
        "Rprop", {}, {"prevs": "prev", "step_sizes": "step_size", **STEPS},
        {"step_size_min": 1e-6, "step_size_max": 50, "etaminus": 0.5, "etaplus": 1.2},
    ),
    "sgd": (
        "SGD", {"momentum": 0.9, "nesterov": True}, {"momentum_buffer_list": "momentum_buffer"},
        {
            "momentum": 0.9, "nesterov": True, "dampening": 0, "weight_decay": 0,
            "maximize": False,
        },
    ),
}  # fmt: skip


def function(name):
    return getattr(importlib.import_module(f"retrograd.optim.{name}"), name)


def parameters():
    made = [rg.tensor([1.0, -2.0, 3.0]), rg.tensor([[0.5]])]
    for p in made:
        p.grad = p * p - 0.5
    return made


@pytest.mark.parametrize("name", CASES)
def test_two_steps_on_lists_are_those_of_the_class(name):
    kind, settings, lists, given = CASES[name]
    ours, theirs = parameters(), parameters()
    optimizer = getattr(rg.optim, kind)(theirs, lr=0.1, **settings)
    optimizer.step()
    for p, q in zip(ours, theirs, strict=True):
        p.copy_(q)
    state = {
        many: [optimizer.state[p][one].clone() for p in theirs] if one else []
        for many, one in lists.items()
    }
    optimizer.step()
    lr = {} if name == "rprop" else {"lr": 0.1}
    function(name)(ours, [p.grad for p in ours], **state, **lr, **given)
    for p, q in zip(ours, theirs, strict=True):
        assert p.tolist() == q.tolist()
    for many, one in lists.items():
        kept = [t.tolist() for t in state[many]]
        assert kept == ([optimizer.state[p][one].tolist() for p in theirs] if one else [])


def test_a_momentum_that_is_none_is_made_and_put_into_its_list():
    p, buffers = rg.tensor([1.0]), [None]
    settings = {"lr": 0.5, "momentum": 0.9, "dampening": 0, "weight_decay": 0}
    function("sgd")([p], [rg.tensor([2.0])], buffers, nesterov=False, maximize=False, **settings)
    assert p.item() == 0.0
    assert buffers[0].item() == 2.0


def test_gradients_of_the_parameters_themselves_are_left_alone():
    p = rg.ones(2, requires_grad=True)
    p.grad = kept = rg.full((2,), 5.0)
    settings = {"lr": 0.5, "momentum": 0, "dampening": 0, "weight_decay": 0}
    with rg.no_grad():
        function("sgd")([p], [rg.ones(2)], [], nesterov=False, maximize=False, **settings)
    assert p.grad is kept
    assert p.tolist() == [0.5, 0.5]


def test_counts_that_are_no_tensors_are_refused():
    p = rg.ones(2)
    given = {**CASES["radam"][3], "lr": 0.1}
    with pytest.raises(RuntimeError, match="must contain a list of singleton tensors"):
        function("radam")([p], [p], [p.clone()], [p.clone()], [1], **given)


def test_lists_of_other_lengths_are_refused():
    p, settings = rg.ones(1), {"lr": 0.5, "momentum": 0.9, "dampening": 0, "weight_decay": 0}
    with pytest.raises(RuntimeError, match="there are 2 parameters, but 1 gradients"):
        function("sgd")([p, p + 1], [p], [None] * 2, nesterov=False, maximize=False, **settings)


def test_the_arguments_are_pytorchs():
    names = list(inspect.signature(function("asgd")).parameters)
    assert names == [
        "params",
        "grads",
        "axs",
        "mus",
        "etas",
        "state_steps",
        "foreach",
        "maximize",
        "differentiable",
        "capturable",
        "has_complex",
        "lambd",
        "lr",
        "t0",
        "alpha",
        "weight_decay",
    ]


def test_keys_of_states_stand_in_pytorchs_order():
    found = {}
    for name, settings in (("NAdam", {}), ("ASGD", {}), ("RMSprop", {"centered": True})):
        p = rg.ones(2, requires_grad=True)
        p.grad = rg.ones(2)
        more = {"momentum": 0.5} if name == "RMSprop" else {}
        optimizer = getattr(rg.optim, name)([p], **settings, **more)
        optimizer.step()
        found[name] = list(optimizer.state[p])
    assert found == {
        "NAdam": ["step", "mu_product", "exp_avg", "exp_avg_sq"],
        "ASGD": ["step", "eta", "mu", "ax"],
        "RMSprop": ["step", "square_avg", "momentum_buffer", "grad_avg"],
    }


OTHERS = {
    "beta1": ("betas", 0),
    "beta2": ("betas", 1),
    "etaminus": ("etas", 0),
    "etaplus": ("etas", 1),
    "step_size_min": ("step_sizes", 0),
    "step_size_max": ("step_sizes", 1),
}


@pytest.mark.parametrize("name", [*CASES, "adamw"])
def test_a_program_makes_a_step_of_the_lists_that_an_optimizer_fills(name):
    module = importlib.import_module(f"retrograd.optim.{name}")
    kind, function = [getattr(module, each) for each in module.__all__]
    p, q, idle = [rg.tensor([0.5, -1.0], requires_grad=True) for _ in range(3)]
    settings = {"momentum": 0.9, "dampening": 0.5} if name == "sgd" else {}
    one, other = kind([p, idle], **settings), kind([q, idle], **settings)
    p.grad, q.grad = rg.tensor([1.0, 2.0]), rg.tensor([1.0, 2.0])
    (group,) = one.param_groups
    params, grads, *state = lists = [[] for _ in range(2 + len(one.lists))]
    one._init_group(group, *lists)
    assert ([*map(id, params)], grads) == ([id(p)], [p.grad])
    given = {own: group[key][i] for own, (key, i) in OTHERS.items() if key in group}
    given |= {key: group[key] for key in group.keys() - {"params", "step_sizes"}}
    given |= dict(
        zip([own.replace("sizes", "step_sizes") for _, own in one.lists], state, strict=True)
    )
    taken = inspect.signature(function).parameters
    with rg.no_grad():
        function(params, grads, **{key: given[key] for key in given.keys() & taken})
    other.step()
    assert p.tolist() == q.tolist()
