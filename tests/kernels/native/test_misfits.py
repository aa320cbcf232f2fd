"""The loops in C check what they are given: arguments that do not fit are an error, never a crash.

A call that is right has one or two of its arguments, or parts of them, replaced by others.
"""

from __future__ import annotations

import os
import random

import numpy as np
import pytest

from retrograd.kernels.native import loops, products

pytestmark = pytest.mark.skipif(loops is None, reason="the loops in C are not built")

ROUNDS = 10 * int(os.environ.get("RETROGRAD_ABUSE_ROUNDS", "30"))


def ones(*shape, dtype="f"):
    return np.ones(shape, dtype)


def fixed(array):
    array.flags.writeable = False
    return array


CALLS = {
    "conv": lambda which: (
        which, ones(2, 4, 9, 7), ones(2, 6, 5, 6), ones(6, 2, 3, 2), None, (2, 1), (1, 0), (1, 1), 2
    ),
    "windows": lambda which: (
        which, ones(3, 9, 7), ones(3, 5, 7), np.zeros((3, 5, 7), np.int64) if which == 0 else None,
        (3, 3), (2, 1), (1, 1), (1, 1), 0, True
    ),
    "gemm": lambda which: (ones(2, 3, 4), ones(2, 3, 5), ones(1, 5, 4), [None, ones(4)][which > 0]),
    "trsm": lambda which: (ones(2, 3, 3), ones(2, 3, 1), which > 0, which > 1),
    "solve_triangles": lambda which: (
        ones(2, 3, 3), ones(1, 3, 5), ones(2, 3, 5), which > 0, which > 1
    ),
    "triangle": lambda which: (ones(2, 3, 4), ones(2, 3, 4), which - 1, which > 0),
    "potrf": lambda which: (ones(2, 3, 3) + np.eye(3, dtype="fd"[which > 1]), which > 0),
    "getrf": lambda which: (
        ones(2, 3, 4 - which, dtype="fd"[which > 1]) + np.arange(4 - which),
        ones(2, 3 - which // 2, dtype=np.int32), ones(2, dtype=np.int32),
    ),
    "interchange": lambda which: (
        ones(2, 4, dtype=np.int64), ones(2, 3, dtype=np.int32) + np.int32(which)
    ),
    "take": lambda which: (ones(2, 3, 4), ones(2, 5, 4), np.arange(3)),
    "gather": lambda which: (ones(2, 3), ones(2, 5), np.ones((2, 3), np.int64)),
    "scatter_add": lambda which: (ones(2, 5), ones(2, 3), np.ones((2, 3), np.int64)),
    "add_rows": lambda which: (ones(5, 4), ones(3, 4), np.arange(3)),
    "sum_rows": lambda which: (ones(5, 4), ones(3, 4), np.arange(3)),
    "attention": lambda which: (
        3, 0.5, which > 0, 0.5, ones(2, 11, 4), ones(2, 1, 4), ones(2, 1, 625, dtype=np.uint32),
        ones(2, 3, 4), ones(2, 3, 2),
        *([None] * 2 if which < 2 else [ones(2, 3, 4), ones(2, 11, 4)]),
    ),
    "attention_bias": lambda which: (
        3, 0.5, False, 0.5, ones(2, 11, 4), ones(2, 1, 4), ones(2, 1, 625, dtype=np.uint32),
        ones(2, 3, 4), ones(2, 3, 2), ones(2, 3, 4), ones(1 + (which > 0), 1 + 2 * (which > 1), 4),
    ),
    "draw_words": lambda which: (
        ones(625, dtype=np.uint32), ones(5, dtype=[np.uint32, np.float32, np.bool_][which]), 2**52
    ),
    "draw_normal": lambda which: (
        ones(625, dtype=np.uint32), np.array([0.5, which > 0]), ones(5, dtype="d")
    ),
    "draw_rejected": lambda which: (
        ones(625, dtype=np.uint32), np.array([0.5, which > 0]),
        ["log_gamma", "poisson", "binomial"][which], *[ones(5, dtype="d") for _ in range(3)],
    ),
    "draw_order": lambda which: (ones(625, dtype=np.uint32), np.arange(3 * which)),
    "pass_words": lambda which: (ones(4, 625, dtype=np.uint32), np.arange(3)),
    "rank": lambda which: (np.zeros((3, 4), np.int64), ones(3, 4), which > 0),
    "select": lambda which: (np.zeros((3, 2), np.int64), ones(3, 4), 2, which > 0),
    "is_finite": lambda which: (ones(3, 4),),
}  # fmt: skip
NUMBERS = [0, 1, 2, 3, 7, -1, -(2**31), 2**31, 2**40, 2**62, 2**63 - 1, -(2**63), 2**70]
OTHERS = [None, "a", 0.5, (), (1,), (1, None), [1, 2], {}, object(), np.float32(1), True]


def other(value, chance):
    """Something else in the place of an argument."""
    kind = chance.randrange(8)
    if isinstance(value, tuple) and value and kind < 7:
        changed = list(value)
        changed[chance.randrange(len(changed))] = chance.choice(NUMBERS)
        return tuple(changed)
    if isinstance(value, int) and kind < 7:
        return chance.choice(NUMBERS)
    if not isinstance(value, np.ndarray) or kind == 7:
        return chance.choice(OTHERS)
    shape = tuple(chance.choice([0, 1, n, n + 1]) for n in value.shape)
    return [
        lambda: np.ones(shape, value.dtype),
        lambda: value[..., ::2],
        lambda: value.T,
        lambda: value.astype(chance.choice("dfeilqb?")),
        lambda: value.astype(value.dtype.newbyteorder()),
        lambda: fixed(value),
        lambda: np.broadcast_to(value[..., :1], value.shape),
        lambda: np.ndarray(value.shape, value.dtype, np.zeros(value.nbytes + 1, np.int8), 1),
    ][chance.randrange(8)]()


@pytest.mark.parametrize("name", CALLS)
def test_arguments_that_do_not_fit_are_an_error_or_do_not_matter(name):
    chance = random.Random(name)
    products.has_blas()  # without it, there are no products
    for _ in range(ROUNDS):
        args = list(CALLS[name](chance.randrange(3)))
        for place in chance.choices(range(len(args)), k=chance.choice([1, 1, 2])):
            args[place] = other(args[place], chance)
        try:
            getattr(loops, name)(*args)
        except SystemError:  # C returned nonsense
            raise
        except Exception:
            pass


@pytest.mark.parametrize("name", CALLS)
def test_the_calls_that_are_changed_are_right(name):
    if name in ("gemm", "trsm", "potrf", "getrf") and not products.has_blas():
        pytest.skip("NumPy brought along no BLAS")
    for which in range(3):
        assert getattr(loops, name)(*CALLS[name](which)) in (None, True, False)
