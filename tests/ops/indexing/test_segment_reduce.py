"""Reductions of segments: values, gradients, complex, empty, initial values, errors."""

from __future__ import annotations

import math

import numpy as np
import pytest

import retrograd as rg
from retrograd.autograd import gradcheck, gradgradcheck


def leaf(*shape, kind="float64"):
    values = np.random.normal(size=shape)
    if kind == "complex128":
        values = values + 1j * np.random.normal(size=shape)
    return rg.tensor(values, requires_grad=True)


REDUCTIONS = {
    "sum": lambda rows: rows.sum(0),
    "mean": lambda rows: rows.mean(0),
    "prod": lambda rows: rows.prod(0),
    "max": lambda rows: rows.amax(0),
    "min": lambda rows: rows.amin(0),
}


@pytest.mark.parametrize("reduce", REDUCTIONS)
def test_segments_are_reduced_each_by_itself(reduce):
    x, lengths = leaf(5, 2), rg.tensor([2, 1, 2])
    expected = rg.stack([REDUCTIONS[reduce](x[a:b]) for a, b in ((0, 2), (2, 3), (3, 5))])
    for given in ({"lengths": lengths}, {"offsets": rg.tensor([0, 2, 3, 5])}):
        found = rg.segment_reduce(x, reduce, **given)
        assert found.allclose(expected, rtol=1e-12)
    assert gradcheck(lambda t: rg.segment_reduce(t, reduce, lengths=lengths), x)
    assert gradgradcheck(lambda t: rg.segment_reduce(t, reduce, lengths=lengths) ** 2, x)


@pytest.mark.parametrize("reduce", ["sum", "mean", "prod"])
def test_segments_of_complex_numbers(reduce):
    z, lengths = leaf(4, kind="complex128"), rg.tensor([3, 1])
    found = rg.segment_reduce(z, reduce, lengths=lengths)
    assert found[0].allclose(REDUCTIONS[reduce](z[:3]))
    assert gradcheck(lambda t: rg.segment_reduce(t, reduce, lengths=lengths), z)


def test_segments_along_another_axis():
    x = rg.tensor([[1.0, 2.0, 3.0], [4.0, 6.0, 5.0]])
    found = rg.segment_reduce(x, "max", lengths=rg.tensor([[1, 2], [3, 0]]), axis=1)
    assert found.tolist() == [[1.0, 3.0], [6.0, -math.inf]]


def test_empty_segments_and_initial_values_are_those_of_pytorch():
    x, lengths = rg.ones(3), rg.tensor([1, 2, 0])
    for reduce, empty in (("sum", 0), ("prod", 1), ("max", -math.inf), ("min", math.inf)):
        assert rg.segment_reduce(x, reduce, lengths=lengths)[2] == empty
    assert rg.segment_reduce(x, "mean", lengths=lengths)[2].isnan()
    for reduce, expected in (
        ("sum", [4, 5, 3]), ("mean", [4, 2.5, 3]), ("prod", [3, 3, 3]), ("max", [3, 3, 3]),
    ):  # fmt: skip
        found = rg.segment_reduce(x, reduce, lengths=lengths, initial=3)
        assert found.tolist() == expected


def test_equal_extrema_of_a_segment_share_the_cotangent():
    x = rg.tensor([1.0, 3.0, 3.0, 2.0], requires_grad=True)
    rg.segment_reduce(x, "max", lengths=rg.tensor([3, 1])).sum().backward()
    assert x.grad.tolist() == [0, 0.5, 0.5, 1]


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (lambda x: rg.segment_reduce(x, "sum"), RuntimeError, "Either lengths or offsets must"),
        (
            lambda x: rg.segment_reduce(x, "sum", lengths=rg.tensor([1, 1])),
            RuntimeError,
            "Expected all rows of lengths along axis to sum",
        ),
        (
            lambda x: rg.segment_reduce(x, "sum", lengths=rg.tensor([4, -1])),
            RuntimeError,
            "lengths contains negative value",
        ),
        (
            lambda x: rg.segment_reduce(x, "any", lengths=rg.tensor([3])),
            RuntimeError,
            "reduce argument must be either sum",
        ),
        (
            lambda x: rg.segment_reduce(x.long(), "sum", lengths=rg.tensor([3])),
            NotImplementedError,
            "convert first",
        ),
        (
            lambda x: rg.segment_reduce(x, "sum", indices=x),
            RuntimeError,
            "indices based reduction is not supported",
        ),
    ],
)
def test_segments_that_do_not_fit_raise(call, kind, text):
    with pytest.raises(kind, match=text):
        call(rg.ones(3))
    assert rg.segment_reduce(rg.ones(3), "sum", lengths=rg.tensor([2]), unsafe=True).item() == 2


@pytest.mark.parametrize(("reduce", "sign"), [("max", 1), ("min", -1)])
def test_an_initial_value_takes_no_share_of_the_cotangent_of_an_extremum(reduce, sign):
    for values, initial, expected in (
        ([3.0, 1.0], 3.0, [1, 0]),
        ([3.0, 3.0], 3.0, [0.5, 0.5]),
        ([2.0, 1.0], 3.0, [0, 0]),
        ([4.0, 4.0], 3.0, [0.5, 0.5]),
        ([-math.inf, -math.inf], None, [0.5, 0.5]),
        ([math.nan, 1.0], math.nan, [1, 0]),
        ([3.0, 1.0], math.nan, [0, 0]),
    ):
        x = (rg.tensor(values) * sign).requires_grad_()
        start = None if initial is None else initial * sign
        found = rg.segment_reduce(x, reduce, lengths=rg.tensor([2]), initial=start)
        largest = max(values) if initial is None else rg.tensor([*values, initial]).amax().item()
        assert found.item() * sign == pytest.approx(largest, nan_ok=True)
        (g,) = rg.autograd.grad(found.sum(), x)
        assert g.tolist() == expected
