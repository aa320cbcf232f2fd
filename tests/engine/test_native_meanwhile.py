"""Code of the user's that runs in the middle of the engine, in C, too: callbacks, comparisons.

Whatever it changes there, the program gets a result or an error, never a crash.
"""

from __future__ import annotations

import gc
import itertools
import random
import weakref

import numpy as np
import pytest

import retrograd as rg
from retrograd.engine.backward import traversal as backward

from .abuse import (
    GRAPHS,
    JUNK,
    ROUNDS,
    SLOTS,
    USES,
    attempt,
    build,
    leaf,
    put,
    still_right,  # noqa: F401 (a fixture)
    victims,
)


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
            attempt(backward.advance, grads, borrowed, *lists, False, None, ())
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


class Key:
    """What has the hash of a name, and runs code where it is compared with that."""

    def __init__(self, name, code):
        self.hash, self.code = hash(name), code

    def __hash__(self):
        return self.hash

    def __eq__(self, other):
        self.code()
        return self is other


NAMES = ("_view_of", "_views", "_outdated", "_tangents", "_gradient", "_inference")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize("name", NAMES)
def test_a_tensor_that_is_taken_apart_where_one_of_its_attributes_is_looked_up(graph, name):
    for use in USES:
        x, y = build(graph)

        def apart(x=x, y=y):
            for tensor in (x, y):
                tensor._array = tensor._node = tensor._cell = None

        for tensor in (x, y):
            tensor.__dict__[Key(name, apart)] = None
        attempt(use, x, y)


@pytest.mark.filterwarnings("ignore:non-string key")  # since Python 3.13
def test_arguments_that_are_let_go_of_where_their_type_is_looked_at():
    def forget():
        items.clear()

    Strange = type("Strange", (), {Key("__torch_function__", forget): None})
    for _ in range(ROUNDS):
        items = [Strange(), Strange()]
        with pytest.raises((RuntimeError, TypeError)):
            rg.stack(items)


@pytest.mark.parametrize("length", range(6))
def test_writes_that_a_cell_forgets_while_one_is_counted(length, collecting):
    def forget(phase, info):
        if not next(turns):
            cell.writes = ()

    x = rg.ones(2)
    x[:1]
    cell = x._cell
    for turn in range(8):
        cell.writes = tuple([(i, "write") for i in range(length)])
        # Nothing is left of what the interpreter keeps for tuples, so that all of them are made.
        taken = [tuple([None] * n) for n in (2, *range(length, length + 2)) for _ in range(2100)]
        turns, version = itertools.count(-turn), cell.version
        gc.callbacks.append(forget)
        try:
            x.add_(1)
        finally:
            gc.callbacks.remove(forget)
        assert cell.version == version + 1
        del taken
