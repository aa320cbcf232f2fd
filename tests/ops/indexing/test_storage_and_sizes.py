"""`set_` on a part of a storage, `resize_` in another order in memory, and errors of indices."""

import warnings

import pytest

import retrograd as rg


def test_a_tensor_is_set_to_a_part_of_a_storage():
    base = rg.arange(10.0)
    x = rg.zeros(0).set_(base.storage(), storage_offset=1, size=(2, 3), stride=(4, 1))
    assert x.tolist() == [[1, 2, 3], [5, 6, 7]]
    x[0, 0] = -1.0
    assert base[1] == -1


def test_a_storage_is_read_in_rows_where_no_stride_is_given():
    base = rg.arange(6)
    assert rg.zeros(0, dtype=rg.int64).set_(base.storage(), 2, (2, 2)).tolist() == [[2, 3], [4, 5]]
    assert rg.zeros(0, dtype=rg.int64).set_(base.untyped_storage()).tolist() == base.tolist()
    assert rg.zeros(0, dtype=rg.int64).set_(base[3:], 1, (2,)).tolist() == [1, 2]


def test_a_part_that_no_storage_has_raises():
    with pytest.raises(RuntimeError, match="out of bounds for storage"):
        rg.zeros(0).set_(rg.ones(3).storage(), 1, (3,))
    with pytest.raises(RuntimeError, match="Expected a Storage of type Float or an Unt"):
        rg.zeros(0).set_(rg.ones(3, dtype=rg.float64).storage())


def test_resizing_lays_elements_in_the_format_asked_for():
    x = rg.arange(24.0).resize_(1, 2, 3, 4, memory_format=rg.channels_last)
    assert x.stride() == (24, 1, 8, 2)
    assert x[0, :, 0, 0].tolist() == [0, 1]
    y = rg.zeros(24).resize_as_(x, memory_format=rg.preserve_format)
    assert y.stride() == x.stride()
    with pytest.raises(RuntimeError, match="Unsupported memory format"):
        rg.zeros(4).resize_(2, 2, memory_format=rg.preserve_format)


def test_sizes_whose_strides_overflow_raise():
    with pytest.raises(RuntimeError, match="Stride calculation overflowed"):
        rg.zeros(()).resize_([0, 4, 2**61])


@pytest.mark.parametrize("dtype", [rg.bool, rg.int32, rg.float32])
def test_take_along_dim_takes_int64_alone(dtype):
    with pytest.raises(RuntimeError, match="dtype of indices should be Long"):
        rg.take_along_dim(rg.ones(2, 2), rg.ones(2, 2).to(dtype), 0)


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (lambda: rg.ones(3)["0":"1"], TypeError, "slice indices must be integers"),
        (lambda: rg.ones(2, 0)[:, [0, 1]], IndexError, "for dimension with size 0"),
        (lambda: rg.ones(()).index_put([], rg.ones(1)), RuntimeError, "at least one index"),
        (
            lambda: rg.unravel_index(rg.tensor([1]), rg.tensor([2])),
            TypeError,
            "expected 'shape' to be int or sequence",
        ),
        (
            lambda: rg.unravel_index(rg.tensor([1]), (1, 2.0)),
            TypeError,
            "expected 'shape' sequence to only contain ints",
        ),
        (lambda: rg.unravel_index(rg.tensor([1]), (2, 0)), RuntimeError, "ZeroDivisionError"),
        (
            lambda: rg.tensor_split(rg.ones(3), rg.tensor(1.5)),
            RuntimeError,
            "to have dtype of long, but got Float",
        ),
        (
            lambda: rg.tensor_split(rg.ones(3), rg.tensor([[1]])),
            RuntimeError,
            "but got a tensor with 2 dims",
        ),
    ],
)
def test_bad_indices_and_sizes_raise_as_in_pytorch(call, kind, text):
    with pytest.raises(kind, match=text):
        call()


def test_values_of_another_shape_and_dtype_are_refused_for_their_shape():
    x = rg.arange(4)
    with pytest.raises(RuntimeError, match="shape mismatch"):
        x[x > -1] = rg.tensor([1.0, 2.0, 3.0])


def test_every_line_that_indexes_with_bytes_is_warned_of():
    x, mask = rg.ones(2), rg.tensor([1, 0], dtype=rg.uint8)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("default")
        x[mask]
        x[mask]
    assert len(found) == 2


def test_a_storage_that_was_looked_at_and_let_go_does_not_keep_a_tensor_from_growing():
    x = rg.ones(2)
    assert x.untyped_storage().size() == 8
    x.resize_(4)
    assert (x[:2].tolist(), x.untyped_storage().size()) == ([1.0, 1.0], 16)
    held = x.untyped_storage()
    with pytest.raises(RuntimeError, match="resize storage that is not resizable"):
        x.resize_(6)
    assert held.size() == 16
