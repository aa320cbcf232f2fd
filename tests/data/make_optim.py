"""Trajectories of optimizers and schedules, and what PyTorch makes of them.

`CASES`, `LINES` and `SCHEDULES` list the settings, `begun` and `gone_on` carry one out with either
library, in parts; `far` carries out a case of `CASES` or `MORE` with gradients that are infinite,
NaN, 0, of the smallest and of the largest numbers. As a script, with PyTorch installed, this writes
the results to `optim.json`, what PyTorch saves after 1, 2 and 5 steps to `optim.pt.gz`, and where
the gradients of `GRADIENTS` lead to `optim_far.pt.gz`:

    python make_optim.py
"""

import copy
import gzip
import json
import math
from pathlib import Path

PATH = Path(__file__).with_name("optim.json")
STATES = Path(__file__).with_name("optim.pt.gz")
FAR = Path(__file__).with_name("optim_far.pt.gz")
STOPS = (1, 2, 5)

CASES = {
    "SGD": ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.1}),
    "Adam": ("Adam", {"lr": 0.1, "amsgrad": True, "weight_decay": 0.1}),
    "AdamW": ("AdamW", {"lr": 0.1, "weight_decay": 0.1}),
    "Adagrad": ("Adagrad", {"lr": 0.5, "lr_decay": 0.1, "initial_accumulator_value": 0.1}),
    "RMSprop": ("RMSprop", {"lr": 0.1, "momentum": 0.9, "centered": True}),
    "SparseAdam": ("SparseAdam", {"lr": 0.1}),
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

MORE = {
    "SGD plain": ("SGD", {"lr": 0.1}),
    "SGD damped": ("SGD", {"lr": 0.1, "momentum": 0.9, "dampening": 0.5, "maximize": True}),
    "Adam plain": ("Adam", {"lr": 0.1}),
    "Adam fast": ("Adam", {"lr": 0.1, "betas": (0.4, 0.5), "maximize": True}),
    "AdamW all": ("AdamW", {"lr": 0.1, "weight_decay": 0.1, "amsgrad": True, "maximize": True}),
    "Adagrad plain": ("Adagrad", {"lr": 0.1, "maximize": True}),
    "Adagrad decay": ("Adagrad", {"lr": 0.1, "weight_decay": 0.1}),
    "RMSprop plain": ("RMSprop", {"lr": 0.1, "maximize": True}),
    "RMSprop centered": ("RMSprop", {"lr": 0.1, "centered": True, "weight_decay": 0.1}),
    "RMSprop momentum": ("RMSprop", {"lr": 0.1, "momentum": 0.9}),
}

# Three gradients of an element, in numbers of a dtype: the largest, one whose square overflows, one
# of which a tenth of the square does not, and the smallest.
GRADIENTS = {
    "infinite": lambda most, big, edge, least: (math.inf, 1, 1),
    "infinite later": lambda most, big, edge, least: (1, -math.inf, 1),
    "infinite always": lambda most, big, edge, least: (math.inf, math.inf, math.inf),
    "infinite in turn": lambda most, big, edge, least: (math.inf, -math.inf, math.inf),
    "nan": lambda most, big, edge, least: (math.nan, 1, 1),
    "nan later": lambda most, big, edge, least: (1, math.nan, -1),
    "zero": lambda most, big, edge, least: (0.0, 0.0, 0.0),
    "negative zero": lambda most, big, edge, least: (-0.0, -0.0, -0.0),
    "zero later": lambda most, big, edge, least: (1, 0.0, -1),
    "big": lambda most, big, edge, least: (big, 1, 1),
    "big later": lambda most, big, edge, least: (1, -big, 1),
    "edge": lambda most, big, edge, least: (edge, 1, edge),
    "edge later": lambda most, big, edge, least: (1, -edge, -1),
    "most": lambda most, big, edge, least: (most, most / 4, most / 4),
    "most in turn": lambda most, big, edge, least: (most, -most / 4, 1),
    "least": lambda most, big, edge, least: (least, least, -least),
    "least, then big": lambda most, big, edge, least: (least, 1, big),
}
SIZES = {
    "float32": (3e38, 1e30, 1.95e19, 1e-40),
    "float64": (1.7e308, 1e200, 1.95e154, 5e-320),
    "complex64": (3e38, 1e30, 1.95e19, 1e-40),
    "float16": (65504.0, 3e4, 300.0, 2e-7),
    "bfloat16": (3e38, 1e30, 1.95e19, 1e-40),
}

LINES = {
    "plain": {"lr": 0.05, "max_iter": 6},
    "short memory": {"lr": 0.05, "max_iter": 6, "history_size": 2},
    "strong_wolfe": {"line_search_fn": "strong_wolfe", "max_iter": 4},
    "few evaluations": {"line_search_fn": "strong_wolfe", "lr": 40.0, "max_eval": 5},
    "far": {"line_search_fn": "strong_wolfe", "lr": 1e-3, "max_iter": 3, "max_eval": 50},
}

SCHEDULES = {
    "StepLR": [("StepLR", [3], {"gamma": 0.5})],
    "MultiStepLR": [("MultiStepLR", [[2, 6, 6]], {"gamma": 0.3})],
    "LambdaLR": [("LambdaLR", [lambda epoch: (epoch + 1) / 4], {})],
    "CosineAnnealingLR": [("CosineAnnealingLR", [5], {"eta_min": 0.01})],
    "ReduceLROnPlateau": [("ReduceLROnPlateau", [], {"patience": 1, "cooldown": 1})],
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
        if name not in ("Adafactor", "SparseAdam"):
            found.append(lib.tensor([1 + 2j, -0.5 + 0.25j], **pair))
    return [p.requires_grad_() for p in found[: 2 if name == "SparseAdam" else None]]


def numbers(t):
    """The elements, real and imaginary parts apart, to 12 digits."""
    values = t.detach().reshape(-1).tolist()
    parts = [p for v in values for p in ((v.real, v.imag) if isinstance(v, complex) else (v,))]
    return [float(f"{p:.12g}") for p in parts]


def begun(lib, group, name):
    """The parameters, the optimizer and the schedules of a case, before the first step."""
    if group == "rules":
        kind, settings = CASES[name]
        params = parameters(lib, kind)
        return params, getattr(lib.optim, kind)(params, **settings), []
    if group == "lines":
        params = [
            lib.tensor([-1.2, 1.0], dtype=lib.float64, requires_grad=True),
            lib.tensor([0.5 - 0.75j], dtype=lib.complex128, requires_grad=True),
        ]
        return params, lib.optim.LBFGS(params, **LINES[name]), []
    params = [lib.zeros(1, requires_grad=True) for _ in range(2)]
    groups = [{"params": params[:1]}, {"params": params[1:], "lr": 0.4}]
    optimizer = lib.optim.SGD(groups, lr=0.8, momentum=0.9)
    made = []
    for kind, args, keywords in SCHEDULES[name]:
        where = lib.optim.swa_utils if kind == "SWALR" else lib.optim.lr_scheduler
        schedule = getattr(where, kind)
        if kind == "ChainedScheduler":
            made = [schedule(made, optimizer)]
        elif kind == "SequentialLR":
            made = [schedule(optimizer, made, **keywords)]
        else:
            made.append(schedule(optimizer, *args, **keywords))
    return params, optimizer, made


def gone_on(group, run, steps):
    """What a run gives at each of the steps: parameters; losses beside them; or rates, momentum."""
    params, optimizer, schedules = run
    found = []
    for step in steps:
        if group == "rules":
            for k, p in enumerate(params):
                pull = math.sin(2.3 * step + k) + (0.5j if p.is_complex() else 0.0)
                g = (p.detach() * (0.5 + 0.2 * k) + pull).detach()
                p.grad = g.to_sparse() if type(optimizer).__name__ == "SparseAdam" else g
            optimizer.step()
            found.append([numbers(p) for p in params])
        elif group == "lines":
            loss = optimizer.step(lambda: valley(optimizer, *params))
            found.append([float(f"{loss.item():.10g}"), *map(numbers, params)])
        else:
            if step:
                optimizer.step()
                watches = type(schedules[0]).__name__ == "ReduceLROnPlateau"
                schedules[0].step(*[math.cos(step)] * watches)
            rates = [*schedules[0].get_last_lr(), optimizer.param_groups[0]["momentum"]]
            found.append([float(f"{v:.12g}") for v in rates])
    return found


def valley(optimizer, x, z):
    """A curved valley, and its gradient."""
    optimizer.zero_grad()
    loss = 10 * (x[1] - x[0] ** 2) ** 2 + (1 - x[0]) ** 2
    loss = loss + ((z * z - (0.25 + 1j)).abs() ** 2).sum()
    loss.backward()
    return loss


def state(run):
    """What a program saves of a run."""
    params, optimizer, schedules = run
    schedule = schedules[0].state_dict() if schedules else None
    return [[p.detach().clone() for p in params], optimizer.state_dict(), schedule]


def resumed(lib, group, name, saved):
    """A new run of a case that goes on where `saved` was."""
    run = params, optimizer, schedules = begun(lib, group, name)
    for p, value in zip(params, saved[0], strict=True):
        p.data.copy_(value)
    optimizer.load_state_dict(saved[1])
    if schedules:
        schedules[0].load_state_dict(saved[2])
    return run


STEPS = {"rules": range(8), "lines": range(7), "schedules": range(13)}
GROUPS = {"rules": CASES, "lines": LINES, "schedules": SCHEDULES}


def results(lib, group, name):
    """All steps of a case, and the names in the first parameter's state at the end."""
    run = begun(lib, group, name)
    path = gone_on(group, run, STEPS[group])
    return {"path": path, "state": sorted(run[1].state[run[0][0]])}


def stops(lib, group, name):
    """What a program saves of a case after each number of `STOPS` of steps."""
    run, found, done = begun(lib, group, name), {}, 0
    for stop in STOPS:
        gone_on(group, run, range(done, stop))
        found[stop], done = copy.deepcopy(state(run)), stop
    return found


def far(lib, name, dtype, copies=1, **more):
    """Copies of an element for each of `GRADIENTS`, and their state, after each of three steps.

    As real numbers, in the order (gradient, step, parameter or state, part, copy).
    """
    kind, settings = {**CASES, **MORE}[name]
    dtype, whole = getattr(lib, dtype), kind in ("Adafactor", "Muon")
    pulls = [pull(*SIZES[str(dtype).split(".")[1]]) for pull in GRADIENTS.values()]

    def tensors(numbers):
        if dtype.is_complex:
            numbers = [complex(n, 0.5) for n in numbers]
        rows = lib.tensor(numbers, dtype=dtype).reshape(-1, 1).repeat(1, copies)
        return [row.clone() for row in rows.split(1)] if whole else [rows.reshape(-1)]

    params = leaves = [p.requires_grad_() for p in tensors([-1.5, 0.5] * 8 + [0.75])]
    if more.get("differentiable"):
        params = [p.clone() for p in leaves]
    optimizer, found = getattr(lib.optim, kind)(params, **settings, **more), []
    for row in zip(*pulls, strict=True):
        for p, g in zip(params, tensors(row), strict=True):
            p.grad = g
        optimizer.step()
        found.append([numbers_of(lib, p, optimizer.state.get(p, {}), copies) for p in params])
    return lib.cat([lib.stack(steps, 1) for steps in zip(*found, strict=True)])


def numbers_of(lib, p, own, copies):
    """A parameter and what is elementwise in its state, as real numbers."""
    held = [p, *[t for t in own.values() if getattr(t, "shape", None) == p.shape]]
    made = [lib.view_as_real(t.detach()) if t.is_complex() else t.detach()[..., None] for t in held]
    return lib.stack([t.reshape(-1, copies, t.shape[-1]).mT for t in made], 1)


if __name__ == "__main__":
    import warnings

    import torch

    warnings.simplefilter("ignore")
    lines = [
        f"{json.dumps(group)}: {{\n"
        + ",\n".join(f"{json.dumps(n)}: {json.dumps(results(torch, group, n))}" for n in names)
        + "\n}"
        for group, names in GROUPS.items()
    ]
    PATH.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    saved = {g: {n: stops(torch, g, n) for n in names} for g, names in GROUPS.items()}
    with gzip.GzipFile(STATES, "wb", mtime=0) as file:
        torch.save(saved, file, _use_new_zipfile_serialization=False)
    paths = {}
    for name, (kind, _) in {**CASES, **MORE}.items():
        for dtype in SIZES:
            refused = dtype == "complex64" and kind in ("Adafactor", "Muon")
            if not refused and kind != "SparseAdam":
                paths[f"{name}, {dtype}"] = far(torch, name, dtype)
    with gzip.GzipFile(FAR, "wb", mtime=0) as file:
        torch.save(paths, file, _use_new_zipfile_serialization=False)
