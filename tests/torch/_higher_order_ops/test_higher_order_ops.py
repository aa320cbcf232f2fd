"""Branches, loops and scans that take functions: PyTorch's values, and derivatives."""

from __future__ import annotations

import pytest

import retrograd as rg
from retrograd.torch._higher_order_ops import associative_scan, map, scan, while_loop
from retrograd.torch.alias.finder import home_of

X = rg.arange(6.0).reshape(3, 2)


def test_cond_runs_one_branch_and_has_its_gradient():
    w = rg.ones(2, requires_grad=True)
    rg.cond(w.sum() > 1, lambda x: x * 3, lambda x: 1 / 0, (w,)).sum().backward()
    assert w.grad.tolist() == [3.0, 3.0]


@pytest.mark.parametrize("pred", ["a", rg.tensor([True, False])])
def test_cond_refuses_what_is_not_one_truth(pred):
    with pytest.raises(RuntimeError, match="Expected pred to be bool or"):
        rg.cond(pred, lambda: 1, lambda: 2)


def test_while_loop_carries_what_the_body_returns():
    i, x = while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x + i), (rg.tensor(0), X))
    assert (i.item(), x[0].tolist()) == (3, [3.0, 4.0])


@pytest.mark.parametrize("reverse", [False, True])
def test_scan_puts_outputs_where_their_items_stand(reverse):
    total, outs = scan(lambda c, x: (c + x, c * x), rg.zeros(2), X, reverse=reverse)
    assert total.tolist() == [6.0, 9.0]
    expected = [[0.0, 8.0], [8.0, 15.0], [0.0, 0.0]] if reverse else [[0, 0], [0, 3], [8, 20]]
    assert outs.tolist() == expected


def test_scan_along_another_dimension_stacks_along_it():
    total, outs = scan(lambda c, x: (c + x.sum(), c + x), rg.tensor(0.0), X, dim=1)
    assert (total.item(), outs.tolist()) == (15.0, [[0.0, 7.0], [2.0, 9.0], [4.0, 11.0]])


@pytest.mark.parametrize("count", range(1, 10))
def test_an_associative_scan_by_addition_is_a_running_sum(count):
    x = rg.arange(2.0 * count).reshape(2, count)
    for reverse in (False, True):
        found = associative_scan(lambda a, b: a + b, x, 1, reverse, combine_mode="generic")
        expected = x.flip(1).cumsum(1).flip(1) if reverse else x.cumsum(1)
        assert found.tolist() == expected.tolist()


def test_an_associative_scan_of_pairs_solves_a_recurrence():
    def combine(a, b):
        return a[0] * b[0], b[0] * a[1] + b[1]

    factors, found = associative_scan(combine, (X, X + 1), 0, combine_mode="generic")
    assert factors.tolist() == [[0.0, 1.0], [0.0, 3.0], [0.0, 15.0]]
    assert found.tolist() == [[1.0, 2.0], [5.0, 10.0], [25.0, 56.0]]


def test_scans_are_differentiated():
    w = rg.ones(2, dtype=rg.float64, requires_grad=True)
    x = X.double() + 1

    def run(w):
        one = associative_scan(lambda a, b: a * b, x * w, 0, combine_mode="generic")
        return one.sum() + scan(lambda c, each: (c * each, c + each), w, x)[1].sum()

    assert rg.autograd.gradcheck(run, w)


def test_map_stacks_what_a_function_gives_for_each_item():
    found, sums = map(lambda x, y: (x + y, x.sum()), X, rg.ones(2))
    assert found.tolist() == (X + 1).tolist()
    assert sums.tolist() == [1.0, 5.0, 9.0]


@pytest.mark.parametrize("call", [
    lambda: map(lambda x: x, X[:0]),
    lambda: map(lambda x: x, 3),
    lambda: scan(lambda c, x: (c, x), X, X[:0]),
    lambda: associative_scan(lambda a, b: a, X[:0], 0, combine_mode="generic"),
])  # fmt: skip
def test_what_has_no_items_is_refused(call):
    with pytest.raises((RuntimeError, ValueError), match=r"xs|size > 0"):
        call()


def test_modules_have_pytorchs_names():
    for name in ("associative_scan", "cond", "map", "scan", "while_loop"):
        home = f"retrograd.torch._higher_order_ops.{name}"
        assert home_of(f"torch._higher_order_ops.{name}") == home
