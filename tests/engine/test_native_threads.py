"""Four threads: every writer against passes of every kind, over the same tensors.

Each call gives a result or an error, and the engine works afterwards. What is counted is how often
each thread does what it does; `make sanitize` with RETROGRAD_ABUSE_ROUNDS lets them meet for long.
"""

from __future__ import annotations

import itertools

import pytest

import retrograd as rg
from retrograd import autograd, func, nn, optim
from retrograd.autograd import forward_ad

from . import test_writers as writers
from .abuse import ROUNDS, attempt, still_right  # noqa: F401 (a fixture)
from .together import eager, in_threads  # noqa: F401 (a fixture)


class Shared:
    """What all threads share: a leaf, what was computed from it, and memory without a history."""

    def __init__(self, source):
        self.plain = source.clone()
        self.leaf = source.clone()
        if source.is_floating_point():
            self.leaf.requires_grad_()
        self.base = self.leaf * 1
        self.views = [self.base[...], self.base[None][0], self.plain[...], self.leaf.detach()]
        self.loss = (self.leaf.sigmoid() * self.base * self.plain).sum()

    def targets(self):
        """What is written, in turn."""
        return [self.plain, self.base, *self.views]


def with_hooks(p):
    y = p.leaf * p.plain
    y.retain_grad()
    handles = [
        y.register_hook(lambda g: g * 2),
        y.grad_fn.register_hook(lambda given, got: None),
        p.leaf.register_hook(lambda g: None),
        p.leaf.register_post_accumulate_grad_hook(lambda leaf: leaf.grad.mul_(0.5)),
    ]
    try:
        y.sum().backward()
    finally:
        for handle in handles:
            handle.remove()


def twice(p):
    (g,) = autograd.grad((p.base * p.base * p.plain).sum(), p.leaf, create_graph=True)
    g.sum().backward()


def forward(p):
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(p.plain, rg.ones_like(p.plain))
        forward_ad.unpack_dual((dual * p.base).sin() + p.views[0])
        p.plain.mul_(1.0)


PASSES = [
    lambda p: (p.leaf * p.plain * p.base).sum().backward(),
    lambda p: p.loss.backward(retain_graph=True),
    lambda p: (p.leaf * p.leaf).sum().backward(create_graph=True),
    lambda p: p.leaf.backward(rg.ones_like(p.leaf)),
    lambda p: autograd.grad((p.base * p.views[1]).sum(), [p.base, p.leaf]),
    twice,
    lambda p: writers.Keep.apply(p.leaf, p.plain).sum().backward(),
    lambda p: p.base.unbind()[-1].max(0)[0].backward(),
    with_hooks,
    forward,
    lambda p: func.jvp(lambda x: x * p.base, (p.plain,), (p.views[2],)),
    lambda p: func.vmap(lambda x, y: (x * y).sum())(p.base, p.plain),
]


def meet(shared, write, rounds=ROUNDS):
    """Two threads write, two run passes, so many rounds in all."""

    def work(number):
        for turn in range(rounds):
            if number % 2:
                attempt(write)
            else:  # the other one begins half-way
                attempt(PASSES[(turn + number * len(PASSES) // 4) % len(PASSES)], shared)

    in_threads(4, work)
    shared.leaf.grad = None  # which may be part of a cycle


# Writers by kind, and by name: (a tensor like those that are shared, a function that writes one).
def methods():
    for name in [*writers.METHODS, *writers.NO_WRITERS]:
        if name in writers.NO_WRITERS:
            source, args = writers.square(), ()
        else:
            source, args = writers.attempt(name)
        yield name, source, lambda t, name=name, args=args: getattr(t, name)(*args)


def functions():
    for space, name in writers.WITH_OUT:
        write, outs = writers.attempt_out(space, name)
        yield name, outs[0], lambda t, write=write, rest=outs[1:]: write(t, *rest)


def others():
    for name, write in writers.WRITERS.items():
        args = writers.ARGUMENTS.get(name, ())
        yield name, writers.square(), lambda t, write=write, args=args: write(t, *args)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", [methods, functions, others], ids=lambda kind: kind.__name__)
def test_every_writer_of_tensors_against_passes_over_them(kind):
    for _, source, write in kind():
        shared = Shared(source)
        targets = itertools.cycle(shared.targets())
        meet(shared, lambda targets=targets, write=write: write(next(targets)), ROUNDS // 3)


def put(name, value):
    """What assigns to an attribute of the leaf."""
    return lambda p: setattr(p.leaf, name, value(p.leaf))


def unrecorded(write):
    """`write` of the leaf under no_grad."""

    def inside(p):
        with rg.no_grad():
            write(p.leaf)

    return inside


def load(p):
    module = nn.Module()
    module.register_parameter("p", nn.Parameter(p.plain))
    module.p.data = p.leaf
    module.load_state_dict({"p": p.plain})


def converted(p):
    module = nn.Module()
    module.p = nn.Parameter(p.plain)
    module.p.data = p.leaf.data
    module.double().float()


def exchanged(p):
    rg.utils.swap_tensors(p.plain, rg.ones(500))


# What else changes a leaf of 500 elements, its gradient, and what was computed from it.
LEAF_WRITERS = {
    "grad.set_": lambda p: p.leaf.grad.set_(rg.ones(500)),
    "grad.resize_": lambda p: p.leaf.grad.resize_(500),
    "grad.resize_ to less": lambda p: p.leaf.grad.resize_(3),
    "grad.mul_": lambda p: p.leaf.grad.mul_(0.5),
    "grad.copy_": lambda p: p.leaf.grad.copy_(p.plain),
    "grad.detach_": lambda p: p.leaf.grad.detach_(),
    "views of grad": lambda p: [p.leaf.grad[i:].mul_(1.0) for i in range(3)],
    "out=grad": lambda p: rg.mul(p.plain, 2.0, out=p.leaf.grad),
    "out=, turned": lambda p: rg.add(
        rg.ones(20, 25).t(), rg.ones(20, 25).t(), out=p.plain.view(25, 20)
    ),
    "data of grad": lambda p: setattr(p.leaf.grad, "data", rg.ones(500)),
    "grad = None": put("grad", lambda leaf: None),
    "grad": put("grad", rg.ones_like),
    "grad, shared": put("grad", lambda leaf: leaf.grad),
    "data": put("data", lambda leaf: leaf.data.clone()),
    "data of another size": put("data", lambda leaf: rg.ones(501 - leaf.numel() % 2)),
    "data of the base": lambda p: setattr(p.base, "data", rg.ones(500)),
    "set_": unrecorded(lambda leaf: leaf.set_(rg.ones(500))),
    "copy_": unrecorded(lambda leaf: leaf.copy_(rg.ones(500))),
    "unsqueeze_": unrecorded(lambda leaf: leaf.unsqueeze_(0).squeeze_(0)),
    "views of the leaf": lambda p: [p.leaf[i:] * 2 for i in range(20)],
    "views that are written": lambda p: [p.base[i:].view(-1)[1:].mul_(1.0) for i in range(5)],
    "stale views": lambda p: (p.base.mul_(1.0), p.views[0].exp(), p.views[1].add_(1)),
    "requires_grad": lambda p: (p.leaf.requires_grad_(False), p.leaf.requires_grad_(True)),
    "detach_": lambda p: (p.base.detach_(), p.base.requires_grad_()),
    "load_state_dict": load,
    "conversions": converted,
    "swap_tensors": exchanged,
    "numpy": lambda p: p.plain.numpy().fill(2.0),
    "no attributes": lambda p: p.base.__dict__.clear(),
}


class Stepping:
    """A step of an optimizer with a state that all threads share, and what goes with it."""

    def __init__(self, make, shared):
        self.shared, self.optimizer = shared, make([shared.leaf, shared.plain.view(20, 25)])

    def __call__(self):
        leaf = self.shared.leaf
        leaf.grad = rg.ones_like(leaf)
        nn.utils.clip_grad_norm_([leaf], 1.0)
        nn.utils.clip_grad_value_([leaf], 0.5)
        self.optimizer.step(lambda: (leaf * leaf).sum())
        self.optimizer.load_state_dict(self.optimizer.state_dict())
        self.optimizer.zero_grad(set_to_none=False)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", LEAF_WRITERS)
def test_every_writer_of_a_leaf_against_passes_to_it(name):
    shared = Shared(rg.ones(500))
    meet(shared, lambda: LEAF_WRITERS[name](shared))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", writers.OPTIMIZERS.split())
def test_every_optimizer_against_passes_to_its_parameters(name):
    shared = Shared(rg.ones(500))
    meet(shared, Stepping(getattr(optim, name), shared))


@pytest.mark.filterwarnings("ignore:Using backward")
def test_no_write_is_lost_between_passes_that_create_a_graph_and_others():
    x = rg.zeros(400_000, requires_grad=True)
    g = rg.ones(400_000)

    def work(number):
        for _ in range(ROUNDS):
            x.backward(g, create_graph=bool(number))

    in_threads(2, work)
    assert (x.grad._array == 2 * ROUNDS).all()
    x.grad = None
