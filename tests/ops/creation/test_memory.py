"""What `asarray` shares with its argument, and how ranges are written into `out`."""

from __future__ import annotations

import array

import numpy as np
import pytest

import retrograd as rg


class Exporter:
    """An array that only DLPack's protocol gives away."""

    def __init__(self, held):
        self.held = held

    def __dlpack__(self, **how):
        return self.held.__dlpack__(**how)

    def __dlpack_device__(self):
        return self.held.__dlpack_device__()


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda out: rg.arange(4, out=out), [[0, 0, 1], [0, 2, 3]]),
        (lambda out: rg.linspace(0, 3, 4, out=out), [[0, 0, 1], [0, 2, 3]]),
        (lambda out: rg.logspace(0, 3, 4, base=2.0, out=out), [[0, 1, 2], [0, 4, 8]]),
    ],
)
def test_a_range_fills_an_out_of_as_many_elements_row_by_row(make, expected):
    x = rg.zeros(2, 3)
    make(x.narrow(1, 1, 2))
    np.testing.assert_array_equal(x._array, expected)


@pytest.mark.parametrize("size", [(2, 2), (), (1,)])
def test_arange_of_another_number_of_elements_resizes_its_out_and_says_so(size):
    out = rg.zeros(size)
    with pytest.warns(UserWarning, match=r"number of elements in the out tensor of shape \[.* 3"):
        assert rg.arange(3, out=out) is out
    np.testing.assert_array_equal(out._array, [0, 1, 2])


@pytest.mark.parametrize("out", [rg.zeros(0), rg.zeros(2, 0), rg.zeros(3, 1)], ids=repr)
def test_arange_fills_an_out_that_is_empty_or_has_as_many_elements_without_a_word(out):
    assert rg.arange(3, out=out).flatten().tolist() == [0, 1, 2]


def test_another_range_resizes_its_out_without_a_word():
    assert rg.linspace(0, 2, 3, out=rg.zeros(7)).tolist() == [0, 1, 2]


def test_constants_give_an_out_their_own_shape():
    assert rg.zeros(4, out=rg.ones(2, 2)).shape == (4,)


def test_asarray_takes_a_capsule_as_from_dlpack_does():
    held = np.arange(4.0)
    x = rg.asarray(held.__dlpack__(), dtype=rg.float64, copy=False)
    x[0] = 9.0
    assert held[0] == 9


@pytest.mark.parametrize("format_of", [memoryview, Exporter, lambda a: array.array("d", a)])
def test_asarray_stands_on_exported_memory(format_of):
    held = format_of(np.arange(4.0))
    x, again = rg.asarray(held), rg.asarray(held, copy=False)
    x[0] = 9.0
    assert x.dtype == rg.float64
    np.testing.assert_array_equal(again._array, [9, 1, 2, 3])


def test_asarray_of_exported_memory_copies_on_demand_and_keeps_the_shape():
    held = np.arange(4.0).reshape(2, 2)
    x = rg.asarray(memoryview(held), copy=True)
    x.zero_()
    np.testing.assert_array_equal(held, [[0, 1], [2, 3]])
    assert x.shape == (2, 2)
    assert rg.asarray(memoryview(held), dtype=rg.float32).dtype == rg.float32


def test_asarray_reads_bytes_as_the_dtype_given():
    held = bytearray(b"\x01\x00\x02\x00")
    x = rg.asarray(held, dtype=rg.int16)
    np.testing.assert_array_equal(x._array, [1, 2])
    x[0] = 3
    assert held[0] == 3


def test_a_numpy_scalar_has_no_memory_to_share():
    with pytest.raises(RuntimeError, match="can't alias NumPy scalars"):
        rg.asarray(np.float64(0.5), copy=False)
    assert rg.asarray(np.float64(0.5)).item() == 0.5


def test_complex_numbers_are_true_unless_both_parts_are_zero():
    x = rg.tensor([0j, 1e-323j, 1 + 2j, 0.0], dtype=rg.bool)
    np.testing.assert_array_equal(x._array, [False, True, True, False])
