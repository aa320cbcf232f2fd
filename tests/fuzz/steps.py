"""Random steps of training, eager and compiled beside each other: what differs is printed.

    python -m tests.fuzz.steps [COUNT=100] [SEED=0] [QUICK=]

A step is text, as a user would write it: layers, activations, arithmetic, indices, writes, losses,
hooks, optimizers and transforms in random order. It runs a few times on new arguments; results,
gradients, parameters, buffers, the optimizer's state, versions and random numbers are compared.
With QUICK=1 LLVM optimizes nothing, which takes less than half the time.
"""

from __future__ import annotations

import importlib
import os
import random
import sys
import tempfile
import types
import warnings
from pathlib import Path

import numpy as np

import retrograd as rg
from retrograd import pytree
from retrograd.capture.compiled import setting

CALLS, ROWS, WIDTH = 4, 3, 4  # every value between layers is (ROWS, WIDTH)

LAYERS = (
    "nn.Linear(4, 4)", "nn.LayerNorm(4)", "nn.BatchNorm1d(4)", "nn.GroupNorm(2, 4)",
    "nn.Dropout(0.3)", "nn.PReLU()", "nn.Bilinear(4, 4, 4)", "nn.GRUCell(4, 4)",
    "nn.Embedding(6, 4)",
)  # fmt: skip
STATEMENTS = (
    "x = layer{k}(x)", "x = rg.{unary}(x)", "x = F.{activation}(x)", "x = x {binary} y",
    "x = x {binary} {number}", "x = w @ x", "x = x @ v", "x = x.t().contiguous().t()",
    "x = rg.where(x > y, x, y * {number})", "x = x - x.mean({dim}, keepdim=True)",
    "x = x / (1 + x.abs().sum({dim}, keepdim=True))", "x = x.softmax({dim})",
    "x = x[:, [3, 1, 2, 0]]", "x = x.flip({dim})", "x = x.roll(1, {dim})", "x = x.cumsum({dim})",
    "x = rg.cat([x[:, :2], y[:, 2:]], 1)", "x = x.gather(1, i)", "x = x[i[:, 0] % 3]",
    "x = x.sort({dim})[0]", "x = x.clamp(-1, 1)", "x = x.masked_fill(x > {number}, 0.5)",
    "x = x.clone(); x[0] = y[1]", "x = x.clone(); x[:, 1:3] *= {number}", "x = x * 1; x.add_(y)",
    "x = x * 1; x.t()[1].mul_({number})", "x = x.index_add(0, i[:, 1] % 3, y)",
    "x = x + e[i[:, 0]]", "x = x.reshape(2, 6).reshape(3, 4)", "x = x.view(-1).view(3, 4)",
    "x = rg.einsum('ij,kj->ik', x, x) @ x", "x = x.detach() * y + x",
    "x = x.unsqueeze(0).squeeze(0)",
    "x = x.norm(dim={dim}, keepdim=True) * y", "x = rg.stack([x, y]).max(0)[0]",
    "x = x.logsumexp({dim}, keepdim=True) + y", "x = x * y.detach(); y = x + y",
    "with rg.no_grad():\n        y = y * {number}", "x = (x.to(rg.float64) * 2).to(x.dtype)",
    "x = x + rg.randn(3, 4).to(x.dtype)", "x = x * rg.full((4,), {number}, dtype=x.dtype)",
    "x = rg.func.vmap(lambda r: r * {number} + r.sum())(x)",
    "x = x + rg.func.grad(lambda r: (r.sin() * y).sum())(x)",
    "x.register_hook(lambda g: g * {number})", "c = rg.complex(x, y); x = (c * c.conj()).real",
    "c = rg.complex(x, y); x = (c * c).abs()", "x = rg.fft.fft(x).imag + x",
    "for _ in range(3):\n        x = (x + y).tanh()", "x = x if scale > 1 else -x",
    "x = checkpoint(lambda a: a.sin() * y, x, use_reentrant=False)",
    "x = x if (x > -1e9).all() else y", "x = x * scale", "x = Bent.apply(x, {number})",
    "w.grad = v.grad = None", "x = x + rg.func.jacrev(lambda r: (r * y).sum(1))(x).sum((0, 1))",
    "noted.append(x[0, 1].item())", "x = x if x.sum().item() < 1e9 else y",
    "noted.append(len(f'{{x[1, 1].item() * {number}:.1f}}'))",
    "x = x * levels.kept[0]", "x = x + len(held)", "x = again(x, 2)", "x = x * len(f'{{scale}}')",
    "x = F.conv2d(x.reshape(1, 3, 2, 2).contiguous(memory_format=rg.channels_last), "
    "w[:, :, None, None]).reshape(3, 4)",
)  # fmt: skip
LOSSES = (
    "(x * x).mean()", "F.mse_loss(x, y)", "F.smooth_l1_loss(x, y)",
    "F.cross_entropy(x, i[:, 0] % 4)",
    "F.nll_loss(x.log_softmax(1), i[:, 1] % 4)", "F.huber_loss(x, y.detach())", "x.sin().sum()",
    "F.kl_div(x.log_softmax(1), y.softmax(1), reduction='batchmean')", "x.var()",
    "F.binary_cross_entropy_with_logits(x, y.sigmoid())", "x.logsumexp(1).sum()",
)  # fmt: skip
OPTIMIZERS = (
    "SGD(parameters, lr=0.05)", "SGD(parameters, lr=0.05, momentum=0.9, weight_decay=0.01)",
    "Adam(parameters, lr=0.05)", "AdamW(parameters, lr=0.05)", "RMSprop(parameters, lr=0.01)",
    "Adagrad(parameters, lr=0.05)", "NAdam(parameters, lr=0.05)",
)  # fmt: skip
ENDS = (
    "optimizer.zero_grad()\n    loss.backward()\n    optimizer.step()\n    return loss",
    "optimizer.zero_grad()\n    loss.backward()\n    nn.utils.clip_grad_norm_(parameters, 1.0)\n"
    "    optimizer.step()\n    return loss.detach(), x.detach()",
    "return x * 1, loss",
    "return x, x[1] * loss",
    "return loss, (w * w).exp().sum()",
    "return x.t(), loss",
    "return x.sum(), loss, (x.detach() * v[0].abs().sqrt()).sum() + x.sum()",
    "return {'loss': loss, 'grads': rg.autograd.grad(loss, parameters, allow_unused=True)}",
    "loss.backward()\n    return loss.detach()",
    "optimizer.zero_grad()\n    loss.backward()\n    optimizer.step()\n"
    "    return {'loss': loss.item(), 'half': float(loss.detach()) / 2, 'x': x.detach()}",
    "grads = rg.autograd.grad(loss, [w, v], create_graph=True, allow_unused=True)\n"
    "    loss = loss + sum((g ** 2).sum() for g in grads if g is not None)\n"
    "    optimizer.zero_grad()\n    loss.backward()\n    optimizer.step()\n    return loss",
)
UNARY = ("sin", "exp", "tanh", "sigmoid", "atan", "square", "erf", "abs", "neg", "expm1")
ACTIVATIONS = ("relu", "gelu", "silu", "softplus", "elu", "leaky_relu", "hardswish", "mish", "selu")


def text(seed):
    """The module of a program: `make()` gives the step, the parameters and the optimizer."""
    source = random.Random(seed)
    dtype = source.choice(["float32", "float64"])
    layers = [source.choice(LAYERS) for _ in range(2)]
    body = []
    for _ in range(source.randint(1, 7)):
        line = source.choice(STATEMENTS).format(
            k=source.randrange(2), unary=source.choice(UNARY), dim=source.randrange(2),
            activation=source.choice(ACTIVATIONS), binary=source.choice("+-*"),
            number=source.choice([0.5, 1.5, -2, 3]),
        )  # fmt: skip
        for k, layer in enumerate(layers):
            if "Bilinear" in layer or "GRUCell" in layer:
                line = line.replace(f"layer{k}(x)", f"layer{k}(x, y)")
            if "Embedding" in layer:
                line = line.replace(f"layer{k}(x)", f"x + layer{k}(i[:, 0])")
        body.append(line)
    lines = "\n    ".join(body)
    return f"""import collections
import retrograd as rg
from retrograd.utils.checkpoint import checkpoint
nn, F = rg.nn, rg.nn.functional
rg.manual_seed({seed})
dtype = rg.{dtype}

class Bent(rg.autograd.Function):
    @staticmethod
    def forward(ctx, x, k):
        ctx.save_for_backward(x)
        ctx.k = k
        return (x * k).sin()

    @staticmethod
    def backward(ctx, g):
        return g * (ctx.saved_tensors[0] * ctx.k).cos() * ctx.k, None

def again(x, n):
    return x if n == 0 else again((x + n).sin(), n - 1)

levels, held = collections.namedtuple("Levels", "kept")([1.0]), collections.deque([1])
noted = []
layer0, layer1 = {layers[0]}.to(dtype), {layers[1]}.to(dtype)
w, v = rg.randn(3, 3, dtype=dtype).requires_grad_(), rg.randn(4, 4, dtype=dtype).requires_grad_()
e = rg.randn(6, 4, dtype=dtype).requires_grad_()
parameters = [*layer0.parameters(), *layer1.parameters(), w, v, e]
buffers = [*layer0.buffers(), *layer1.buffers()]
optimizer = rg.optim.{source.choice(OPTIMIZERS)}
scale = 2.0

def step(x, y, i):
    x = w @ x @ v
    {lines}
    loss = {source.choice(LOSSES)}
    {source.choice(ENDS)}
"""


def loaded(code):
    """A module of its own."""
    module = types.ModuleType("program")
    exec(code, vars(module))
    return module


def seen(tree):
    """The tensors in a tree, as arrays with what else counts."""
    found = []
    for t in pytree.flatten(tree):
        if isinstance(t, rg.Tensor):
            found.append((t.detach().numpy().copy(), t.requires_grad, t._version, t.stride()))
        else:
            found.append((np.asarray(0.0 if t is None else t, dtype=float), t is None, 0, 0))
    return found


def outcome(module, step, number):
    """What one call gives and leaves."""
    rg.manual_seed(1000 + number)
    dtype = module.dtype
    x, y = rg.randn(ROWS, WIDTH, dtype=dtype), rg.randn(ROWS, WIDTH, dtype=dtype)
    i = rg.randint(0, 4, (ROWS, WIDTH))
    module.scale = 2.0 if number < 3 else 0.5
    module.levels.kept[0] = 1.0 if number < 3 else 0.5
    if number == 2:
        module.held.append(number)
    try:
        result = step(x, y, i)
        one = result[-1 - number % 2] if isinstance(result, tuple) else x
        if one.requires_grad and module.w.grad is None:
            one.sum().backward()
            for p in module.parameters:
                p.grad = None if p.grad is None else p.grad * 1
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    states = [v for s in module.optimizer.state.values() for v in s.values()]
    grads = [p.grad for p in module.parameters]
    state = [module.parameters, grads, module.buffers, states, module.noted]
    return seen([result, state, [x, y, rg.rand(1)]])


def differs(a, b, bound):
    """What differs between two outcomes, or None: values by so much, all else at all."""
    if isinstance(a, str) or isinstance(b, str):
        return None if a == b else (a, b)
    for place, (p, q) in enumerate(zip(a, b, strict=True)):
        alike = p[0].shape == q[0].shape and p[0].dtype == q[0].dtype and p[1:] == q[1:]
        if not alike or not close(p[0], q[0], bound):
            return f"tensor {place}", p, q
    return None


def close(x, y, bound):
    """Whether numbers are the same, or differ by little."""
    same = (x == y) | np.isnan(x) & np.isnan(y)
    with np.errstate(all="ignore"):
        return bool(same.all() or (same | (abs(x - y) <= bound * (1 + abs(y)))).all())


def differences(seed):
    """For calls and for native code: what differs between the eager and the compiled step of a
    seed, or None; and the step.

    Programs of calls have eager's bits, but where that has loops of its own; native ones differ by
    rounding. Nothing is said where the eager step itself differs further if its parameters are one
    rounding away.
    """
    found = []
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path, source = Path(folder, f"program{seed}.py"), text(seed)
        path.write_text(source)
        code = compile(source, path, "exec")
        eager, near = loaded(code), loaded(code)
        double = eager.dtype is rg.float64
        for p in near.parameters:
            p.data.mul_(1 + (1e-15 if double else 3e-7))
        expected = [outcome(eager, eager.step, number) for number in range(CALLS)]
        beside = [outcome(near, near.step, number) for number in range(CALLS)]
        for native in (False, True):
            setting.native, other = native, loaded(code)
            step = rg.compile(other.step)
            bound = (1e-9 if double else 1e-3) if native else 1e-12 if double else 1e-5
            found.append((difference(other, step, expected, beside, bound, native), step))
    return found


def difference(module, step, expected, beside, bound, native):
    """What differs from the expected outcomes; None after one that says nothing."""
    for number, (a, c) in enumerate(zip(expected, beside, strict=True)):
        found = differs(a, outcome(module, step, number), bound)
        if differs(a, c, bound / 100 if native else bound):
            return None
        if found:
            return f"call {number}, {'native' if native else 'calls'}: {found!s:.900}"
    return None


def unoptimized(code, unrolled):
    """The object of a module, as soon as it can be had: in place of `machine.built`."""
    machine = importlib.import_module("retrograd.compiler.machine")
    target = machine.llvm.Target.from_triple(machine.TRIPLE)
    host = target.create_target_machine(cpu=machine.CPU, features=machine.FEATURES, opt=0, jit=True)
    with machine.LOCK:
        return host.emit_object(machine.llvm.parse_assembly(code))


def main(count, seed):
    """Try `count` programs."""
    captured, reasons = 0, {}
    for number in range(seed, seed + count):
        pairs = differences(number)
        found = [different for different, _ in pairs if different]
        step = pairs[-1][1]
        captured += bool(step.compiled.variants)
        for reason in step.compiled.reasons[:1]:
            reasons.setdefault(reason.partition(", at ")[0], []).append(number)
        if found:
            print(f"seed {number}\n{text(number)}\n{found[-1]}\n", flush=True)
    print(f"{count} programs, {captured} captured")
    for reason, seeds in sorted(reasons.items(), key=lambda item: -len(item[1])):
        print(len(seeds), reason, seeds[:3])


if __name__ == "__main__":
    settings = dict(argument.split("=") for argument in sys.argv[1:])
    with tempfile.TemporaryDirectory() as cache:
        if settings.get("QUICK"):
            os.environ["RETROGRAD_CACHE"] = cache
            importlib.import_module("retrograd.compiler.machine").built = unoptimized
        main(int(settings.get("COUNT", 100)), int(settings.get("SEED", 0)))
