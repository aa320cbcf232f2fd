"""Whatever a program puts where the engine looks, it gets a result or an error, never a crash."""

from __future__ import annotations

import itertools
import subprocess
import sys

import numpy as np
import pytest

import retrograd as rg
from retrograd.engine import views
from retrograd.engine.backward import accumulation
from retrograd.engine.backward import traversal as backward
from retrograd.engine.graph import Cell, Kind, Node
from retrograd.engine.native import native
from retrograd.engine.table import Table
from retrograd.engine.tensor import Tensor, new_tensor

from .abuse import (
    DELETED,
    GRAPHS,
    JUNK,
    SLOTS,
    USES,
    attempt,
    build,
    leaf,
    put,
    still_right,  # noqa: F401 (a fixture)
    victims,
    with_,
)


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


def kept():
    """A leaf, and what was computed from it, with a node that saved both."""
    x = leaf()
    return x, x * (x * 1)


def bare_with_array():
    tensor = object.__new__(Tensor)
    tensor._array = np.ones(2)
    return tensor


NAMED = {
    "a tag for a cell": (lambda: with_(leaf(), _cell="A1").pow(2).sum().backward(), "'last'"),
    "a number for a node": (lambda: with_(leaf(), _node=3) * leaf(), "'int'"),
    "an array for a gradient": (lambda: added_to(np.ones(2)), "'_array'"),
    "what has an array for a gradient": (lambda: added_to(Holder()), "'_inference'"),
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


class Holder:
    """Not a tensor, though it has what is added to."""

    def __init__(self):
        self._array = np.ones(2, np.float32)


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
    ("slot", "junk", "text"),
    [
        ("saved", None, "subscriptable|index out of range"),
        ("saved", DELETED, "no attribute 'saved'"),
        ("op", None, "'NoneType' object has no attribute"),
        ("seq", "a", "`seq`|bad operand type for unary -: 'str'"),
        ("edges", 3, "'int' object is not iterable"),
    ],
)
def test_an_error_of_a_broken_node_is_ordinary(slot, junk, text):
    _, y = kept()
    loss = y.sum()
    put(y._node, slot, junk)
    with pytest.raises((AttributeError, TypeError, IndexError), match=text):
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
    for count in range(9):
        for shift in range(len(ARGUMENTS)):
            made = [ARGUMENTS[(i * shift + i) % len(ARGUMENTS)]() for i in range(count)]
            attempt(function, *made)
    heaps = [[3], [(1,)], [("a", Node())], [(-1, "node")], [(-1, Node()), 5], [(10**30, Node())]]
    for heap in heaps:
        attempt(backward.advance, {}, set(), heap, [], False, None, ())
        attempt(backward.advance, {}, set(), heap, [], False, {object()}, {object()})


def test_a_cotangent_that_arrives_beside_those_of_outputs_is_an_error():
    first, second = (leaf() * 1).unbind()
    direct = first.exp()
    direct._node.edges = first._node.edges  # the node behind both outputs
    with pytest.raises((TypeError, AttributeError)):  # of C and of Python
        (direct + second).backward()


def test_a_version_as_large_as_an_integer_of_the_machine_goes_on_growing():
    x = rg.ones(2)
    x[:1]
    x._cell.version = 2**63 - 1
    x.add_(1)
    assert x._version == 2**63


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
    good |= {"loops": np.add, "run": len}
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
        with pytest.raises(ValueError, match="no such inputs or table of a native caller"):
            native.Caller(**good, table=Table(**table | wrong))
    for slot, junk in itertools.product(Table.__slots__, JUNK):
        if junk != "()" or slot != "facts":
            broken = Table(**table)
            attempt(put, broken, slot, JUNK[junk]())
            attempt(lambda broken=broken: native.Caller(**good, table=broken))
    for junk in JUNK.values():
        with pytest.raises(TypeError, match="argument 5 must be Table, not"):
            native.Caller(**good, table=junk())
    good["table"] = Table(**table)
    for broken in ({"python": 3}, {"forward": None}, {"op": None}, {"python": leaf()}):
        call = native.Caller(**good | broken)
        for inputs in ((leaf(), leaf()), (leaf(), 2), (1, 2), (), (object.__new__(Tensor), 1)):
            attempt(call, *inputs)
            attempt(repr, call)


@pytest.mark.skipif(native is None, reason="the hot path in C is not built")
def test_a_caller_takes_no_more_outputs_than_there_are():
    table = Table(edges=(0,), reads=((0,),), saved=(0, -3))  # output 2, which no formula reads
    call = native.Caller(
        python=len, op=rg.exp.op, forward=lambda x: (x,), inputs=1, table=table, several=True,
        joined=False, view=False, maybe=False, variadic=False, takes_scalar=False, loops=len,
        run=len,
    )  # fmt: skip
    (y,) = call(leaf())
    assert y.tolist() == [1.0, 2.0]
    assert y._node.cells == {}


@pytest.mark.skipif(native is None, reason="the hot path in C is not built")
def test_a_caller_of_any_number_of_inputs_runs_no_loop_of_a_ufunc_of_one():
    call = native.Caller(
        python=len, op=rg.exp.op, forward=lambda *arrays: arrays[0], inputs=1,
        table=Table(edges=(0,), reads=((),), saved=()), several=False, joined=False, view=False,
        maybe=False, variadic=True, takes_scalar=False, loops=np.exp, run=len,
    )  # fmt: skip
    assert call(*[rg.ones(2)] * 32).tolist() == [1.0, 1.0]


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

for args in ((), (1,), (1, 2), ({}, set(), [], [], False), ({}, set(), [], [], False, 1, ()),
             (object(), 1, True)):
    for function in (native.start, native.advance, native.add_to_leaf, native.enlist):
        refused(function, *args)
refused(native.Caller, python=len, op=1, forward=len, inputs=1, table=(), several=0, joined=0,
        view=0, maybe=0, variadic=0, takes_scalar=0, loops=len, run=len)
refused(native.setup)
refused(native.public, len)
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
