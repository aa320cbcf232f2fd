"""First uses that an interrupt, or an error, strikes: `python -m tests.laws.first_uses STRIKES`.

This process has loaded no more than `import retrograd` does. Each first use runs in a child of its
own: whole, which gives its value and the number of lines that it runs in the package; and struck at
a line, after which the same use has to give that value. Of each use, STRIKES lines are struck, as
far apart as they can be; 0 strikes every line. Prints, as JSON, how many were struck, and what
failed.
"""

from __future__ import annotations

import importlib
import json
import os
import pickle
import sys
import traceback
import warnings
import zlib
from pathlib import Path

import numpy as np

import retrograd as rg
from retrograd.engine.registry import OPS
from retrograd.ops import lazy_loading, lazy_names

from . import samples

PACKAGE = str(Path(rg.__file__).parent)
KINDS = (KeyboardInterrupt, MemoryError, RecursionError)
PRELOADED = ("scipy.special", "scipy.linalg", "scipy.sparse", "llvmlite.binding", "llvmlite.ir")


def plain(value):
    """What a use gives, as what can be compared and sent."""
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    if isinstance(value, rg.Tensor):
        return [str(value.dtype), list(value.shape), repr(value.detach().numpy().tolist())]
    return repr(value)


def use_of_a_family(family):
    """Its names and methods are asked for, and each of its ops runs, forward and backward."""

    def use():
        found = []
        for name in lazy_names.METHODS.get(family, "").split():
            found.append([name, callable(getattr(rg.Tensor, name))])
        for name in lazy_names.NAMES.get(family, "").split():
            value = getattr(rg, name)
            found.append([name, value is getattr(rg.ops, name), getattr(value, "__name__", "")])
        for name in lazy_names.OPS.get(family, "").split():
            call = getattr(lazy_loading.load_module("retrograd.engine.namespaces").recorded, name)
            for example in OPS[name].examples[:1]:
                sample = samples.sample(OPS[name], example, False)
                inputs = sample.tensors()
                rg.manual_seed(0)
                try:
                    outputs = call(*inputs, **sample.params)
                except TypeError as error:  # an example that only complex numbers fit
                    found.append([name, repr(error)])
                    continue
                outputs = list(outputs) if isinstance(outputs, tuple) else [outputs]
                if outputs[0].requires_grad:
                    outputs[0].abs().sum().backward()
                grads = [None if t is None else t._gradient for t in inputs]
                found.append([name, plain([outputs, grads])])
        return found

    return use


def leaf(*shape):
    count = int(np.prod(shape))
    return (rg.arange(count, dtype=rg.float32) / count + 0.1).reshape(shape).requires_grad_()


def written():
    x = rg.zeros(3)
    x[0] = 1
    return x


def trained(make, shape, rule="SGD"):
    def use():
        rg.manual_seed(0)
        layer = make()
        optimizer = getattr(rg.optim, rule)(layer.parameters(), lr=0.1)
        for _ in range(2):
            optimizer.zero_grad()
            out = layer(leaf(*shape))
            (out[0] if isinstance(out, tuple) else out).pow(2).sum().backward()
            optimizer.step()
        return [*layer.parameters()]

    return use


def large():
    x = leaf(40000)
    y = (x.exp() * x).sum()
    y.backward()
    return [y, x.grad]


def kept():
    path = Path(os.environ["PLACE"]) / "kept"
    rg.save({"a": rg.ones(2), "b": [1, 2]}, path)
    return rg.load(path)["a"]


def of_a_tape():
    x = rg.ones(2)
    with rg.GradientTape() as tape:
        tape.watch(x)
        y = (x * x).sum()
    return tape.gradient(y, x)


def of_distributions():
    d = rg.distributions
    p, q = d.Normal(0.0, leaf(2)), d.Normal(1.0, rg.ones(2))
    return [p.log_prob(rg.ones(2)), d.kl_divergence(p, q), d.Gamma(leaf(2), 1.0).mean]


def batches():
    data = rg.utils.data.TensorDataset(rg.arange(4))
    return [batch for (batch,) in rg.utils.data.DataLoader(data, batch_size=2)]


def checkpointed():
    x = leaf(3)
    rg.utils.checkpoint.checkpoint(lambda x: x.sin(), x, use_reentrant=False).sum().backward()
    return x.grad


USES = {
    "x[0] = 1": written,
    "print": lambda: [repr(rg.ones(2)), str(leaf(2))],
    "Linear and Adam": trained(lambda: rg.nn.Linear(2, 2), (3, 2), "Adam"),
    "Conv2d": trained(lambda: rg.nn.Conv2d(1, 2, 2), (1, 1, 4, 4)),
    "LSTM": trained(lambda: rg.nn.LSTM(2, 3), (4, 1, 2)),
    "attention": trained(lambda: rg.nn.TransformerEncoderLayer(4, 2, 8, 0.0), (3, 1, 4)),
    "norms": trained(lambda: rg.nn.Sequential(rg.nn.LayerNorm(4), rg.nn.BatchNorm1d(4)), (3, 4)),
    "cross entropy": lambda: rg.nn.functional.cross_entropy(leaf(2, 3), rg.tensor([0, 2])),
    "a kernel": large,
    "save": kept,
    "a tape": of_a_tape,
    "distributions": of_distributions,
    "data": batches,
    "checkpoint": checkpointed,
    "fft": lambda: rg.fft.ifft(rg.fft.fft(leaf(4))).real,
    "linalg": lambda: [rg.linalg.inv(leaf(2, 2)), rg.linalg.norm(leaf(3))],
    "special": lambda: [rg.special.erfcx(leaf(3)), rg.special.i1(leaf(3))],
    "func": lambda: rg.func.hessian(lambda x: (x.sin() * x).sum())(leaf(2).detach()),
    "jvp": lambda: rg.func.jvp(lambda x: x.exp(), (rg.ones(2),), (rg.ones(2),)),
    "gradcheck": lambda: rg.autograd.gradcheck(lambda x: x.sin(), leaf(2).double()),
    "random": lambda: [rg.manual_seed(0).initial_seed(), rg.randn(3), rg.randperm(4)],
    "testing": lambda: rg.testing.assert_close(rg.ones(2), rg.ones(2)),
    "tensors on numpy": lambda: np.sin(rg.ones(2)),
} | {family: use_of_a_family(family) for family in sorted(
    {*lazy_names.METHODS, *lazy_names.OPS, *lazy_names.NAMES}
)}  # fmt: skip


class Strike:
    """Counts the lines that run in the package, and raises an error at one of them."""

    def __init__(self, at, error):
        self.at, self.error, self.seen = at, error, 0

    def __call__(self, frame, event, arg):
        if not frame.f_code.co_filename.startswith(PACKAGE):
            return None
        if event == "line":
            self.seen += 1
            if self.seen == self.at:
                self.where = f"{frame.f_code.co_filename[len(PACKAGE) + 1 :]}:{frame.f_lineno}"
                raise self.error("struck")
        return self


def in_a_child(function):
    """What a function gives that runs in a child of its own, or the text of what it raised."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reader)
        try:
            found = function()
        except BaseException:
            found = traceback.format_exc()
        with open(writer, "wb") as file:
            pickle.dump(found, file)
        os._exit(0)
    os.close(writer)
    with open(reader, "rb") as file:
        found = file.read()
    os.waitpid(pid, 0)
    return pickle.loads(found) if found else "the child has died"


def whole(use):
    strike = Strike(0, None)
    sys.settrace(strike)
    found = use()
    sys.settrace(None)
    return plain(found), strike.seen


def struck(use, at, error, expected):
    """None, or what is wrong with a use after its first one was struck."""
    strike = Strike(at, error)
    sys.settrace(strike)
    try:
        use()
    except BaseException:
        pass
    finally:
        sys.settrace(None)
    try:
        found = plain(use())
    except BaseException:
        return f"{strike.where}: {traceback.format_exc(limit=-30)}"
    return None if found == expected else f"{strike.where}: {found} is not {expected}"[:2000]


def strike_all(uses, strikes):
    total, failed = 0, []
    for name, use in uses.items():
        value = in_a_child(lambda use=use: whole(use))
        if isinstance(value, str):
            failed.append([name, value])
            continue
        expected, lines = value
        stride = max(1, lines // strikes if strikes else 1)
        first = 1 + zlib.crc32(name.encode()) % stride
        for number, at in enumerate(range(first, lines + 1, stride)):
            error = KINDS[(number + first) % len(KINDS)]
            total += 1
            wrong = in_a_child(lambda: struck(use, at, error, expected))
            if wrong:
                failed.append([name, error.__name__, at, wrong])
    return {"struck": total, "failed": failed}


def main(uses):
    """Strike the first uses of the names on the command line, or all."""
    warnings.simplefilter("ignore")
    for module in PRELOADED:
        try:
            importlib.import_module(module)
        except ImportError:
            continue
    strikes, *names = sys.argv[1:]
    chosen = {name: uses[name] for name in names or uses}
    sys.stdout.write(json.dumps(strike_all(chosen, int(strikes))))


if __name__ == "__main__":
    main(USES)
