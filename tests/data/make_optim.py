"""Trajectories of optimizers and schedules, and what PyTorch makes of them.

`CASES` and `SCHEDULES` list the settings, `trajectory`, `descent` and `rates` carry one out with
either library. As a script, with PyTorch installed, this writes the results to `optim.json`:

    python make_optim.py
"""

import json
import math
from pathlib import Path

PATH = Path(__file__).with_name("optim.json")

CASES = {
    "Adadelta": ("Adadelta", {"lr": 0.5}),
    "Adadelta all": (
        "Adadelta",
        {"lr": 0.5, "rho": 0.7, "eps": 0.01, "weight_decay": 0.1, "maximize": True},
    ),
    "Adamax": ("Adamax", {"lr": 0.1}),
    "Adamax all": (
        "Adamax",
        {"lr": 0.1, "betas": (0.8, 0.9), "eps": 0.01, "weight_decay": 0.1, "maximize": True},
    ),
    "NAdam": ("NAdam", {"lr": 0.1}),
    "NAdam all": (
        "NAdam",
        {"lr": 0.1, "betas": (0.8, 0.9), "eps": 0.01, "weight_decay": 0.1, "momentum_decay": 0.1,
         "maximize": True},
    ),
    "NAdam decoupled": (
        "NAdam", {"lr": 0.1, "weight_decay": 0.1, "decoupled_weight_decay": True}),
    "RAdam": ("RAdam", {"lr": 0.1}),
    "RAdam all": (
        "RAdam",
        {"lr": 0.1, "betas": (0.8, 0.9), "eps": 0.01, "weight_decay": 0.1, "maximize": True},
    ),
    "RAdam decoupled": (
        "RAdam", {"lr": 0.1, "weight_decay": 0.1, "decoupled_weight_decay": True}),
    "Rprop": ("Rprop", {"lr": 0.1}),
    "Rprop all": (
        "Rprop", {"lr": 0.1, "etas": (0.4, 1.5), "step_sizes": (0.05, 0.2), "maximize": True}),
    "ASGD": ("ASGD", {"lr": 0.1}),
    "ASGD all": (
        "ASGD",
        {"lr": 0.1, "lambd": 0.1, "alpha": 0.5, "t0": 2, "weight_decay": 0.1, "maximize": True},
    ),
    "Adafactor": ("Adafactor", {"lr": 0.1}),
    "Adafactor all": (
        "Adafactor",
        {"lr": 0.3, "beta2_decay": -0.5, "eps": (0.01, 0.1), "d": 1.5, "weight_decay": 0.1,
         "maximize": True},
    ),
    "Muon": ("Muon", {"lr": 0.1}),
    "Muon all": (
        "Muon",
        {"lr": 0.1, "weight_decay": 0.2, "momentum": 0.5, "nesterov": False, "ns_steps": 3,
         "adjust_lr_fn": "match_rms_adamw"},
    ),
}  # fmt: skip

LINES = {
    "plain": {"lr": 0.05, "max_iter": 6},
    "short memory": {"lr": 0.05, "max_iter": 6, "history_size": 2},
    "strong_wolfe": {"line_search_fn": "strong_wolfe", "max_iter": 4},
    "few evaluations": {"line_search_fn": "strong_wolfe", "lr": 40.0, "max_eval": 5},
    "far": {"line_search_fn": "strong_wolfe", "lr": 1e-3, "max_iter": 3, "max_eval": 50},
}

SCHEDULES = {
    "MultiplicativeLR": [("MultiplicativeLR", [lambda epoch: 1 - 0.1 * (epoch % 3)], {})],
    "warm restarts": [("CosineAnnealingWarmRestarts", [3], {"T_mult": 2, "eta_min": 0.1})],
    "warm restarts, even": [("CosineAnnealingWarmRestarts", [4], {})],
    "CyclicLR": [("CyclicLR", [0.1, 0.9], {"step_size_up": 3, "step_size_down": 2})],
    "CyclicLR triangular2": [
        ("CyclicLR", [0.1, 0.9], {"step_size_up": 2, "mode": "triangular2"})],
    "CyclicLR exp_range": [
        ("CyclicLR", [0.1, 0.9],
         {"step_size_up": 2, "mode": "exp_range", "gamma": 0.9, "base_momentum": 0.5})],
    "CyclicLR own scale": [
        ("CyclicLR", [0.1, 0.9], {"step_size_up": 2, "scale_fn": lambda x: 1 / x})],
    "OneCycleLR": [("OneCycleLR", [0.9], {"total_steps": 13})],
    "OneCycleLR linear": [
        ("OneCycleLR", [0.9],
         {"epochs": 13, "steps_per_epoch": 1, "anneal_strategy": "linear", "pct_start": 0.4,
          "div_factor": 5.0, "final_div_factor": 10.0})],
    "OneCycleLR three phases": [
        ("OneCycleLR", [0.9],
         {"total_steps": 13, "three_phase": True, "pct_start": 0.25, "base_momentum": 0.5})],
    "chained": [
        ("ConstantLR", [], {"factor": 0.1, "total_iters": 3}),
        ("ExponentialLR", [0.9], {}),
        ("ChainedScheduler", [], {}),
    ],
    "sequence": [
        ("ConstantLR", [], {"factor": 0.1, "total_iters": 4}),
        ("ExponentialLR", [0.9], {}),
        ("CosineAnnealingLR", [4], {}),
        ("SequentialLR", [], {"milestones": [3, 7]}),
    ],
    "sequence of factors": [
        ("LinearLR", [], {"start_factor": 0.5, "total_iters": 3}),
        ("StepLR", [2], {"gamma": 0.5}),
        ("PolynomialLR", [3], {"power": 2.0}),
        ("MultiStepLR", [[1, 2]], {"gamma": 0.3}),
        ("SequentialLR", [], {"milestones": [3, 6, 9]}),
    ],
    "sequence with restarts": [
        ("LambdaLR", [lambda epoch: (epoch + 1) / 4], {}),
        ("CosineAnnealingWarmRestarts", [3], {}),
        ("SequentialLR", [], {"milestones": [3]}),
    ],
    "SWALR": [("SWALR", [0.05], {"anneal_epochs": 4})],
    "SWALR linear": [("SWALR", [0.05], {"anneal_epochs": 3, "anneal_strategy": "linear"})],
}  # fmt: skip


def parameters(lib, name):
    """The starting points, matrix to complex vector, as far as the rule takes them."""
    real, pair = {"dtype": lib.float64}, {"dtype": lib.complex128}
    found = [lib.tensor([[0.5, -1.0, 2.0], [0.25, 1.5, -0.75]], **real)]
    if name != "Muon":
        found += [lib.tensor([0.5, -2.0], **real), lib.tensor(0.75, **real)]
        if name != "Adafactor":
            found.append(lib.tensor([1 + 2j, -0.5 + 0.25j], **pair))
    return [p.requires_grad_() for p in found]


def numbers(t):
    """The elements, real and imaginary parts apart, to 12 digits."""
    values = t.detach().reshape(-1).tolist()
    parts = [p for v in values for p in ((v.real, v.imag) if isinstance(v, complex) else (v,))]
    return [float(f"{p:.12g}") for p in parts]


def trajectory(lib, case):
    """The parameters after each of eight steps, and the names in the state."""
    name, settings = case
    params = parameters(lib, name)
    optimizer = getattr(lib.optim, name)(params, **settings)
    found = []
    for step in range(8):
        for k, p in enumerate(params):
            pull = math.sin(2.3 * step + k) + (0.5j if p.is_complex() else 0.0)
            p.grad = (p.detach() * (0.5 + 0.2 * k) + pull).detach()
        optimizer.step()
        found.append([numbers(p) for p in params])
    return {"path": found, "state": sorted(optimizer.state[params[0]])}


def descent(lib, settings):
    """Three calls of L-BFGS on a curved valley: losses, parameters, evaluations."""
    x = lib.tensor([-1.2, 1.0], dtype=lib.float64, requires_grad=True)
    z = lib.tensor([0.5 - 0.75j], dtype=lib.complex128, requires_grad=True)
    optimizer = lib.optim.LBFGS([x, z], **settings)

    def closure():
        optimizer.zero_grad()
        valley = 10 * (x[1] - x[0] ** 2) ** 2 + (1 - x[0]) ** 2
        loss = valley + ((z * z - (0.25 + 1j)).abs() ** 2).sum()
        loss.backward()
        return loss

    found = [[float(f"{optimizer.step(closure).item():.10g}"), numbers(x), numbers(z)]
             for _ in range(3)]  # fmt: skip
    return {"path": found, "evaluations": optimizer.state[x]["func_evals"]}


def rates(lib, schedule):
    """The rates of the first 13 epochs, for two groups, and the momentum."""
    params = [lib.zeros(1, requires_grad=True) for _ in range(2)]
    groups = [{"params": params[:1]}, {"params": params[1:], "lr": 0.4}]
    optimizer = lib.optim.SGD(groups, lr=0.8, momentum=0.9)
    made = []
    for name, args, keywords in schedule:
        where = lib.optim.swa_utils if name == "SWALR" else lib.optim.lr_scheduler
        kind = getattr(where, name)
        if name == "ChainedScheduler":
            made = [kind(made, optimizer)]
        elif name == "SequentialLR":
            made = [kind(optimizer, made, **keywords)]
        else:
            made.append(kind(optimizer, *args, **keywords))
    found = []
    for epoch in range(13):
        if epoch:
            optimizer.step()
            made[0].step()
        found.append([*made[0].get_last_lr(), optimizer.param_groups[0]["momentum"]])
    return [[float(f"{v:.12g}") for v in row] for row in found]


if __name__ == "__main__":
    import warnings

    import torch

    warnings.simplefilter("ignore")
    groups = {
        "rules": {name: trajectory(torch, case) for name, case in CASES.items()},
        "lines": {name: descent(torch, settings) for name, settings in LINES.items()},
        "schedules": {name: rates(torch, schedule) for name, schedule in SCHEDULES.items()},
    }
    lines = [
        f"{json.dumps(group)}: {{\n"
        + ",\n".join(f"{json.dumps(n)}: {json.dumps(r)}" for n, r in found.items())
        + "\n}"
        for group, found in groups.items()
    ]
    PATH.write_text("{\n" + ",\n".join(lines) + "\n}\n")
