"""`torch._higher_order_ops.associative_scan`: partial results of associative functions."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import retrograd as rg
from retrograd.torch._higher_order_ops import associative_scan


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 8, 13])
def test_products_of_matrices_are_those_of_a_loop(n, reverse):
    matrices = np.random.default_rng(0).normal(size=(2, n, 3, 3))
    found = associative_scan(lambda a, b: a @ b, rg.tensor(matrices), 1, reverse=reverse)
    order = slice(None, None, -1 if reverse else 1)
    for row, given in zip(found, matrices, strict=True):
        parts = given[order]
        expected = [functools.reduce(np.matmul, parts[: k + 1]) for k in range(n)]
        np.testing.assert_allclose(row.numpy(), np.stack(expected)[order], rtol=1e-12)


def test_a_linear_recurrence_of_pairs_has_the_gradient_of_its_loop():
    def loop(a, b):
        out = [b[:, 0]]
        for t in range(1, a.shape[1]):
            out.append(a[:, t] * out[-1] + b[:, t])
        return rg.stack(out, 1)

    def scan(a, b):
        pairs = {"a": a, "b": (b,)}
        both = associative_scan(
            lambda x, y: {"a": x["a"] * y["a"], "b": (x["b"][0] * y["a"] + y["b"][0],)}, pairs, -1
        )
        return both["b"][0]

    a, b = rg.tensor(np.random.default_rng(0).normal(size=(2, 2, 6))).unbind()
    values = [
        (f(x, y), *rg.autograd.grad(f(x, y).square().sum(), (x, y)))
        for f in (loop, scan)
        for x, y in [(a.clone().requires_grad_(), b.clone().requires_grad_())]
    ]
    for one, other in zip(*values, strict=True):
        rg.testing.assert_close(one, other, rtol=1e-12, atol=1e-13)


def test_it_runs_under_vmap():
    x = rg.arange(6.0).reshape(2, 3)
    assert rg.vmap(lambda row: associative_scan(rg.add, row, 0))(x).tolist() == [
        [0, 1, 3],
        [3, 7, 12],
    ]


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda x: associative_scan(3, x, 0), "must be a callable"),
        (lambda x: associative_scan(rg.add, x, 0, combine_mode="mine"), "Combine_mode must"),
        (lambda x: associative_scan(rg.add, x[:0], 0), r"size > 0 .* \[\(0, 3\)\]"),
        (lambda x: associative_scan(rg.add, (x, x.T), 0), r"\[\(2, 3\), \(3, 2\)\]"),
        (lambda x: associative_scan(lambda a, b: a.sum(), x, 0), r"\[\(\)\] for two times"),
    ],
)
def test_what_cannot_be_scanned_raises(call, text):
    with pytest.raises(ValueError, match=text):
        call(rg.ones(2, 3))
