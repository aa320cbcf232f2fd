"""Writes dispatched.json: the operators that a mode of PyTorch sees, for the calls in `ops.json`.

With PyTorch 2.13 installed: `python make_dispatched.py`. Of each op there is the first call, once
with inputs that require a gradient, as `ops.json` says, and once without; without the overloads
`detach`, which PyTorch calls where it saves a result, and `lift_fresh`, where it reads Python data.
"""

import json
import warnings
from pathlib import Path

import torch
from ops_format import NAMES, read
from torch.utils._python_dispatch import TorchDispatchMode

LEFT_OUT = ("aten.detach.default", "aten.lift_fresh.default")


class Log(TorchDispatchMode):
    """Keeps what it sees."""

    def __init__(self):
        super().__init__()
        self.seen = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if str(func) not in LEFT_OUT:
            self.seen.append(str(func).removeprefix("aten."))
        return func(*args, **(kwargs or {}))


def seen(expression, inputs, recorded):
    """The operators of one call."""
    x = {}
    for place, (name, array, wanted) in enumerate(inputs):
        tensor = torch.tensor(array, dtype=getattr(torch, name))
        x[f"x{place}"] = tensor.requires_grad_(wanted and recorded)
    with warnings.catch_warnings(), Log() as log:
        warnings.simplefilter("ignore")
        eval(expression, {"lib": torch, **NAMES, **x})
    return " ".join(log.seen)


found = {}
for name, calls in read().items():
    expression, inputs, *_ = calls[0]
    found[name] = [seen(expression, inputs, recorded) for recorded in (True, False)]
text = json.dumps(found, indent=0, sort_keys=True)
(Path(__file__).parent / "dispatched.json").write_text(text + "\n")
