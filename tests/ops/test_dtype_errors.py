"""Ops that refuse dtypes, in PyTorch's words."""

from __future__ import annotations

import pytest

import retrograd as rg


def test_a_power_in_double_precision_is_written_into_double_precision():
    x = rg.tensor([2.0], dtype=rg.float64)
    assert x.float_power_(3).tolist() == [8.0]
    for dtype, exponent, wanted in ((rg.float32, 2, "Double"), (rg.float64, 2j, "ComplexDouble")):
        with pytest.raises(RuntimeError, match=f"operation's result requires dtype {wanted}"):
            rg.ones(1, dtype=dtype).float_power_(exponent)


def test_unsigned_integers_have_no_negative_powers():
    with pytest.raises(RuntimeError, match="Integers to negative integer powers are not allowed"):
        rg.ones(1, dtype=rg.uint8) ** -2
    assert (rg.tensor([2], dtype=rg.uint8) ** -1.0).tolist() == [0.5]


def test_integers_are_not_divided_by_addcdiv():
    x = rg.ones(1, dtype=rg.int64)
    with pytest.raises(RuntimeError, match=r"^Integer division with addcdiv is no longer"):
        rg.addcdiv(x, x, x)


@pytest.mark.parametrize("name", ["sum", "prod"])
def test_an_out_of_another_dtype_than_the_one_asked_for_is_refused(name):
    function, x = getattr(rg, name), rg.ones(2, 3)
    with pytest.raises(RuntimeError, match="Expected out tensor to have dtype double, but got flo"):
        function(x, 0, dtype=rg.float64, out=rg.ones(3))
    assert function(x, 0, dtype=rg.float64, out=rg.ones(3, dtype=rg.float64)).dtype is rg.float64


def test_counts_and_histograms_name_the_dtypes_they_refuse():
    with pytest.raises(NotImplementedError, match="\"bincount_cpu\" not implemented for 'Float'"):
        rg.bincount(rg.tensor([1.0]))
    with pytest.raises(RuntimeError, match="input tensor and bins tensors should have the same dt"):
        rg.histogram(rg.ones(1), rg.ones((), dtype=rg.float64))
