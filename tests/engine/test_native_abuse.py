"""Whatever a program puts where the engine looks, it gets a result or an error, never a crash.

`make sanitize` runs this under AddressSanitizer, which sees what happens to go well by chance.
"""

from __future__ import annotations

import gc
import itertools
import os
import random
import subprocess
import sys
import weakref

import numpy as np
import pytest

import retrograd as rg
from retrograd import autograd, nn
from retrograd.engine import views
from retrograd.engine.backward import accumulation
from retrograd.engine.backward import traversal as backward
from retrograd.engine.graph import Cell, Kind, Leaf, Node
from retrograd.engine.native import native
from retrograd.engine.table import Table
from retrograd.engine.tensor import Tensor, new_tensor
from retrograd.engine.views import View

from .together import eager, in_threads  # noqa: F401 (a fixture)

# How often each thread of the last tests does what it does.
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


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize("cls", SLOTS, ids=lambda cls: cls.__name__)
def test_junk_in_any_slot_is_an_error_or_does_not_matter(graph, cls):
    places = range(len(victims(*build(graph))[cls]))
    for place, name, junk in itertools.product(places, SLOTS[cls], JUNK):
        x, y = build(graph)
        x.sum().backward()  # there is a gradient to add to
        attempt(put, victims(x, y)[cls][place], name, JUNK[junk]())
        for use in USES:
            attempt(use, x, y)


def build(graph):
    """A leaf, and what a graph makes of it."""
    x = rg.tensor([0.5, 1.0, 1.5, 2.0], requires_grad=True)
    y = GRAPHS[graph](x)
    y[:0]  # it has a version cell
    return x, y


def leaf():
    return rg.tensor([1.0, 2.0], requires_grad=True)


def kept():
    """A leaf, and what was computed from it, with a node that saved both."""
    x = leaf()
    return x, x * (x * 1)


def with_(thing, **slots):
    """The thing with something else in its slots."""
    for name, value in slots.items():
        put(thing, name, value)
    return thing


def bare_with_array():
    tensor = object.__new__(Tensor)
    tensor._array = np.ones(2)
    return tensor


NAMED = {
    "a tag for a cell": (lambda: with_(leaf(), _cell="A1").pow(2).sum().backward(), "'last'"),
    "a number for a node": (lambda: with_(leaf(), _node=3) * leaf(), "'int'"),
    "an array for a gradient": (lambda: added_to(np.ones(2)), "'_array'"),
    "a word for a view": (lambda: with_(leaf(), _view_of="front")[:1], "'str'"),
    "junk among the views": (lambda: with_(leaf(), _views=["a"] * 16)[:1], "'?str'?"),
    "a tensor never made": (lambda: object.__new__(Tensor) * 2, "_array"),
    "a tensor half made": (lambda: bare_with_array() * leaf(), "_node"),
    "no array": (lambda: with_(leaf(), _array=DELETED).exp(), "_array"),
    "a list of None for edges": (lambda: with_(kept()[1].grad_fn, edges=3)._node(), None),
    "a lock that is none": (lambda: locked(3), "'int' object has no attribute 'acquire'"),
    "a path that is none": (lambda: pathless(), "NoneType"),
    "a cell that lasts": (lambda: lasting("x"), "'>' not supported"),
    "a write to a broken cell": (lambda: with_(Cell(), version="a").bump("me"), "str"),
}


def added_to(grad):
    x = with_(leaf(), _gradient=grad)
    x.sum().backward()


def locked(lock):
    x = leaf()
    x._node.saved.lock = lock
    x.sum().backward()


def pathless():
    view = leaf()[1:]
    view._view_of.path = None
    return view[:1]


def lasting(last):
    x, y = kept()
    x[:1]
    x._cell.last = last
    y.sum().backward()


@pytest.mark.parametrize("name", NAMED)
def test_the_error_names_what_is_wrong(name):
    program, text = NAMED[name]
    if text is None:
        program()
        return
    with pytest.raises((AttributeError, TypeError), match=text):
        program()


@pytest.mark.parametrize(
    ("slot", "junk"),
    [("saved", None), ("saved", DELETED), ("op", None), ("seq", "a"), ("edges", 3)],
)
def test_an_error_of_a_broken_node_is_ordinary(slot, junk):
    _, y = kept()
    loss = y.sum()
    put(y._node, slot, junk)
    with pytest.raises((AttributeError, TypeError, IndexError)):
        loss.backward()


def test_edges_that_are_a_list_are_followed():
    x, y = kept()
    y.grad_fn.edges = list(y.grad_fn.edges)
    y.sum().backward()
    assert x.grad.tolist() == [2.0, 4.0]
    _, y = kept()
    y.grad_fn.edges = [None, None]
    y.sum().backward()


ARGUMENTS = [*JUNK.values(), dict, set, list, lambda: [(1, 2)], lambda: [3], leaf, lambda: Cell()]


@pytest.mark.parametrize("name", ["start", "advance", "add_to_leaf", "enlist"])
@pytest.mark.filterwarnings("ignore")
def test_private_functions_refuse_what_they_do_not_take(name):
    (function,) = [vars(m)[name] for m in (accumulation, backward, views) if name in vars(m)]
    for count in range(7):
        for shift in range(len(ARGUMENTS)):
            made = [ARGUMENTS[(i * shift + i) % len(ARGUMENTS)]() for i in range(count)]
            attempt(function, *made)
    heaps = [[3], [(1,)], [("a", Node())], [(-1, "node")], [(-1, Node()), 5], [(10**30, Node())]]
    for heap in heaps:
        attempt(backward.advance, {}, set(), heap, [], False)


def test_counting_a_write_takes_a_cell():
    with pytest.raises((TypeError, AttributeError)):
        Cell.bump(3, "me")
    with pytest.raises(TypeError):
        Cell.bump()
    cell = object.__new__(Cell)
    with pytest.raises(AttributeError):
        cell.bump("me")


@pytest.mark.skipif(native is None, reason="the hot path in C is not built")
def test_a_caller_refuses_places_that_there_are_not():
    op = (rg.ones(1) * 1)._node or rg.mul.op
    good = {"python": len, "op": op, "forward": np.add, "inputs": 2, "view": False, "maybe": False}
    good |= {"several": False, "joined": False, "variadic": False, "takes_scalar": True}
    good |= {"loops": np.add, "otherwise": len}
    table = {"edges": (0, 1), "reads": ((0,), (1,)), "saved": (0, 1)}
    native.Caller(**good, table=Table(**table))
    for wrong in ({"inputs": -1}, {"inputs": 10**6}, {"inputs": "2"}, {"variadic": True}):
        with pytest.raises((TypeError, ValueError, OverflowError)):
            native.Caller(**good | wrong, table=Table(**table))
    for wrong in (
        {"edges": (0, 7)},
        {"edges": ("a", "b")},
        {"edges": (0, 1, 0)},
        {"saved": (5, 0)},
        {"saved": (-100, 0)},
        {"saved": (0, 1) * 4},
        {"reads": ((0,),)},
        {"facts": (9,)},
        {"facts": (None,)},
        {"fits": "never"},
    ):
        with pytest.raises((TypeError, ValueError, OverflowError)):
            native.Caller(**good, table=Table(**table | wrong))
    for slot, junk in itertools.product(Table.__slots__, JUNK):
        if junk != "()" or slot != "facts":
            broken = Table(**table)
            attempt(put, broken, slot, JUNK[junk]())
            attempt(lambda broken=broken: native.Caller(**good, table=broken))
    for junk in JUNK.values():
        with pytest.raises(TypeError):
            native.Caller(**good, table=junk())
    good["table"] = Table(**table)
    for broken in ({"python": 3}, {"forward": None}, {"op": None}, {"python": leaf()}):
        call = native.Caller(**good | broken)
        for inputs in ((leaf(), leaf()), (leaf(), 2), (1, 2), (), (object.__new__(Tensor), 1)):
            attempt(call, *inputs)
            attempt(repr, call)


@pytest.mark.parametrize(
    "table",
    [*JUNK, "a place that there is not", "a word for a place", "a word for places"],
)
def test_a_table_of_junk_is_an_error(table):
    tables = {
        "a place that there is not": lambda: Table(reads=[(3,)]),
        "a word for a place": lambda: with_(Table(), reads=(("a",),)),
        "a word for places": lambda: with_(Table(), reads=("a",)),
    }
    kind = Kind("junk", Node, 1)
    kind.ordinary, kind.formulas = 1, (lambda xp, g, *values: g,)
    put(kind, "table", (JUNK | tables)[table]())
    x = leaf()
    y = (x * x).sum()
    y._node.op = kind
    with pytest.raises((AttributeError, IndexError, TypeError)):
        y.backward()


ALONE = """
import importlib.util, sys
spec = importlib.util.spec_from_file_location("retrograd.engine._native", sys.argv[1])
native = importlib.util.module_from_spec(spec)
spec.loader.exec_module(native)

def refused(function, *args, **kwargs):
    try:
        function(*args, **kwargs)
    except Exception as error:
        assert not isinstance(error, SystemError), error
    else:
        raise SystemExit(f"{function} took {args} {kwargs}")

for args in ((), (1,), (1, 2), ({}, set(), [], [], False), (object(), 1, True)):
    for function in (native.start, native.advance, native.add_to_leaf, native.enlist):
        refused(function, *args)
refused(native.Caller, python=len, op=1, forward=len, inputs=1, table=(), several=0, joined=0,
        view=0, maybe=0, variadic=0, takes_scalar=0, loops=len, otherwise=len)
refused(native.setup)
names = "tensor node kind cell leaf view table constants modes state numbers as_array scalar_array"
names += " wrote noted calm fit freed refused output_kind arrays reals add"
for junk in (None, 3, int, {}, [], iter([])):
    refused(native.setup, **dict.fromkeys(names.split(), junk))

class Slots:
    __slots__ = ("_array", "_cell", "_node", "op", "seq", "edges", "saved", "params", "shape",
                 "dtype", "hooks", "fits", "formulas", "table", "ordinary", "last", "version",
                 "writes", "tensor", "lock", "base", "path", "origin", "trace", "roots", "reads",
                 "facts", "needs")

parts = dict.fromkeys(names.split(), len)
parts |= dict.fromkeys(["tensor", "node", "kind", "cell", "leaf", "view", "table"], Slots)
import contextvars
parts |= dict(constants={}, modes={}, numbers=iter([]), calm=contextvars.Context())
refused(native.setup, **parts)  # no bump, and no constants

import retrograd as rg
import retrograd.engine.native as loaded
assert loaded.native is not None
refused(loaded.native.setup, **parts)  # once is enough
x = rg.tensor([1.0, 2.0], requires_grad=True)
(x * x).sum().backward()
assert x.grad.tolist() == [2.0, 4.0]
"""


@pytest.mark.skipif(native is None, reason="the hot path in C is not built")
def test_the_extension_before_it_is_set_up_refuses_everything_and_can_be_set_up_afterwards():
    subprocess.run([sys.executable, "-c", ALONE, native.__file__], check=True)


# -- while the engine runs -----------------------------------------------------------------------


@pytest.fixture
def collecting():
    """Let the garbage collector, which may call code of the user's, run at every chance."""
    before = gc.get_threshold()
    gc.set_threshold(1, 1, 1)
    yield
    gc.set_threshold(*before)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("graph", GRAPHS)
def test_slots_that_change_while_the_engine_runs(graph, collecting):
    """Callbacks of the collector run wherever something is allocated, in the middle of C too."""
    chance = random.Random(graph)

    def disturb(phase, info):
        if phase == "start" and chance.random() < 0.2:
            cls = chance.choice(list(SLOTS))
            thing, name = chance.choice(targets[cls] or [None]), chance.choice(SLOTS[cls])
            if thing is not None:
                attempt(put, thing, name, JUNK[chance.choice(list(JUNK))]())

    for _ in range(ROUNDS):
        x, y = build(graph)
        targets = victims(x, y)
        gc.callbacks.append(disturb)
        try:
            for use in USES:
                attempt(use, x, y)
        finally:
            gc.callbacks.remove(disturb)


def test_a_heap_and_leaves_that_shrink_while_a_pass_runs(collecting):
    x = leaf()
    loss = ((x * x).exp() * x.sin()).sum()
    lists = [[], []]

    def empty(phase, info):
        for each in lists:
            each.clear()

    for _ in range(ROUNDS):
        grads, borrowed = {loss._node: np.ones((), np.float32)}, set()
        lists[:] = [[(-loss._node.seq, loss._node)], []]
        gc.callbacks.append(empty)
        try:
            attempt(backward.advance, grads, borrowed, *lists, False)
        finally:
            gc.callbacks.remove(empty)


def test_views_that_die_while_their_list_is_swept():
    x = rg.zeros(64) * 1
    kept = [x[i:] for i in range(15)]

    class Ref(weakref.ref):
        def __call__(self):
            x._views.clear()
            return super().__call__()

    x._views[:] = [Ref(view) for view in kept] + [weakref.ref(kept[0])]
    x[1:]
    assert 1 <= len(x._views) <= 17


def test_a_number_that_takes_the_tensor_apart():
    class Number(float):
        def __float__(self):
            apart()
            return 2.0

        def __array__(self, *args, **kwargs):
            apart()
            return np.array(2.0)

    def apart():
        x._array = x._node = x._cell = None

    x = leaf()
    attempt(lambda: x * Number(2.0))


# -- threads -------------------------------------------------------------------------------------


def emptied(x):
    x.grad = None


def zeroed(x):
    rg.optim.SGD([x], 0.1).zero_grad(set_to_none=False)


def replaced(x):
    x.data = x.data.clone()


WRITERS = {
    "backward": lambda x: (x * x).sum().backward(),
    "backward with a graph": lambda x: (x * x).sum().backward(create_graph=True),
    "set_": lambda x: x.grad.set_(rg.ones(500)),
    "resize_": lambda x: x.grad.resize_(500),
    "None": emptied,
    "zero_grad": zeroed,
    "in place": lambda x: x.grad.mul_(0.5),
    "out=": lambda x: rg.mul(x.detach(), 2.0, out=x.grad),
    "data": replaced,
    "data of the gradient": lambda x: setattr(x.grad, "data", rg.ones(500)),
    "views": lambda x: [x.grad[i:].mul_(1.0) for i in range(3)],
    "views of the leaf": lambda x: [x[i:] * 2 for i in range(20)],
    "clip": lambda x: nn.utils.clip_grad_norm_([x], 1.0),
    "requires_grad": lambda x: (x.requires_grad_(False), x.requires_grad_(True)),
    "detach": lambda x: x.grad.detach_(),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", WRITERS)
def test_every_writer_against_backward_in_four_threads(name):
    x = rg.ones(500, requires_grad=True)
    g = rg.ones(500)

    def work(number):
        for _ in range(ROUNDS):
            if number % 2:
                attempt(WRITERS[name], x)
            else:
                attempt((x * x).backward, g)
                attempt(x.backward, g)

    in_threads(4, work)
    x.grad = None


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


def test_accumulation_is_a_write():
    x, w = leaf(), leaf()
    x.sum().backward()
    z = (w * x.grad).sum()
    assert x.grad._version == 0
    x.sum().backward()
    assert x.grad._version == 1
    with pytest.raises(RuntimeError, match=r"modified by an inplace operation.*by backward\(\)"):
        z.backward()


def test_a_gradient_made_in_inference_mode_is_an_inference_tensor():
    x = leaf()
    y = x.sum()
    with rg.inference_mode():
        y.backward()
    assert x.grad.is_inference()
    assert x.grad.tolist() == [1.0, 1.0]


def test_accumulation_into_a_gradient_of_inference_mode_counts_nothing():
    x = leaf()
    y = x.sum()
    with rg.inference_mode():
        x.grad = rg.ones(2)
        y.backward()
    assert x.grad.tolist() == [2.0, 2.0]
    assert x.grad.is_inference()


def test_a_gradient_of_no_dimensions_that_cannot_be_written_is_replaced():
    x = rg.tensor(1.0, requires_grad=True)
    fixed = np.ones((), np.float32)
    fixed.flags.writeable = False
    x.grad = new_tensor(fixed)
    (x * 2).backward()
    assert x.grad.item() == 3.0
    assert (x.grad * x).item() == 3.0
