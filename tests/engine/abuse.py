"""What tests put where the engine looks, and programs to run on what is left.

`make sanitize` runs the tests under AddressSanitizer, which sees what goes well by chance.
"""

from __future__ import annotations

import os

import numpy as np
import pytest

import retrograd as rg
from retrograd import autograd, nn
from retrograd.engine.graph import Cell, Kind, Leaf, Node
from retrograd.engine.tensor import Tensor
from retrograd.engine.views import View

# How often each thread of a test does what it does.
ROUNDS = int(os.environ.get("RETROGRAD_ABUSE_ROUNDS", "30"))

DELETED = object()
JUNK = {
    "deleted": lambda: DELETED,
    "None": lambda: None,
    "-1": lambda: -1,
    "10**30": lambda: 10**30,
    "text": lambda: "A1",
    "()": lambda: (),
    "(None,)": lambda: (None,),
    "('a', 'b', 'c')": lambda: ("a", "b", "c"),
    "[None]": lambda: [None],
    "{}": lambda: {},
    "array": lambda: np.ones(2),
    "ints": lambda: np.arange(3),
    "tensor": lambda: rg.ones(3),
    "bare": lambda: object.__new__(Tensor),
    "cell": lambda: object.__new__(Cell),
    "node": lambda: Node(),
    "view": lambda: object.__new__(View),
    "kind": lambda: Kind("junk", None),
    "type": lambda: int,
}
# What the engine keeps, in slots and elsewhere.
SLOTS = {
    Tensor: ("_array", "_node", "_cell", "_view_of", "_views", "_gradient", "_inference"),
    Node: ("op", "seq", "edges", "saved", "params", "shape", "dtype", "hooks", "_cell", "fits"),
    Cell: ("last", "version", "writes"),
    View: ("base", "path", "origin", "trace", "roots"),
    Leaf: ("tensor", "lock"),
}
SLOTS[Node] += ("cells", "layout", "_outputs")


class Twice(autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * 2


GRAPHS = {
    "mul": lambda x: x * x,
    "sigmoid": lambda x: (x * 1).sigmoid(),
    "view": lambda x: (x * 1).view(2, 2)[0],
    "view of a leaf": lambda x: x.view(2, 2),
    "max": lambda x: (x * x).view(2, 2).max(0)[0],
    "split": lambda x: (x * 1).view(2, 2).unbind()[1],
    "cat": lambda x: rg.cat([x * 1, x]),
    "linear": lambda x: nn.functional.linear(x, rg.ones(3, 4), x.sum() * rg.ones(3)),
    "written": lambda x: (x * 1).mul_(x),
    "Function": lambda x: Twice.apply(x * 1),
}
USES = [
    lambda x, y: y * y,
    lambda x, y: y * 2.5,
    lambda x, y: y.exp(),
    lambda x, y: y[:1],
    lambda x, y: y.view(-1),
    lambda x, y: rg.cat([y, y]).unbind(),
    lambda x, y: x.add_(1),
    lambda x, y: y.mul_(2),
    lambda x, y: y.sum().backward(retain_graph=True),
    lambda x, y: autograd.grad(y.sum(), x, create_graph=True),
    lambda x, y: y.sum().backward(),
    lambda x, y: y.sum().backward(),
    lambda x, y: x.grad.add_(1),
    lambda x, y: repr(y),
]


def put(thing, name, junk):
    """Set or delete what is kept under a name."""
    if junk is DELETED:
        delattr(thing, name)
    else:
        setattr(thing, name, junk)


def attempt(function, *args):
    """What a call gives, or its error, which must be an ordinary one."""
    try:
        return function(*args)
    except SystemError:  # C returned nonsense
        raise
    except Exception as error:
        return error


def victims(x, y):
    """What a graph consists of, by class."""
    nodes = [y._node, x._node, *[edge for edge in y._node.edges if edge is not None]]
    tensors = [x, y, *[t for t in y._node.saved if isinstance(t, Tensor)]]
    cells = [t._cell for t in tensors if t._cell is not None]
    made = {Tensor: tensors, Node: nodes, Cell: cells, Leaf: [x._node.saved]}
    return made | {View: [y._view_of] if y._view_of is not None else []}


@pytest.fixture(autouse=True)
def still_right():
    """After every test, the engine works."""
    yield
    x = rg.tensor([1.0, 2.0], requires_grad=True)
    (x * x).view(-1).sum().backward()
    assert x.grad.tolist() == [2.0, 4.0]


def build(graph):
    """A leaf, and what a graph makes of it."""
    x = rg.tensor([0.5, 1.0, 1.5, 2.0], requires_grad=True)
    y = GRAPHS[graph](x)
    y[:0]  # it has a version cell
    return x, y


def leaf():
    return rg.tensor([1.0, 2.0], requires_grad=True)


def with_(thing, **slots):
    """The thing with something else in its slots."""
    for name, value in slots.items():
        put(thing, name, value)
    return thing
