"""Conditions that programs check, and small things that older programs ask for."""

from __future__ import annotations

import pytest

import retrograd as rg


@pytest.mark.parametrize(
    ("check", "error"),
    [
        (rg._check, RuntimeError),
        (rg._check_index, IndexError),
        (rg._check_value, ValueError),
        (rg._check_type, TypeError),
        (rg._check_not_implemented, NotImplementedError),
    ],
)
def test_a_condition_that_does_not_hold_raises(check, error):
    check(True)
    with pytest.raises(error, match="Expected cond to be True"):
        check(False)
    with pytest.raises(error, match="no, 3"):
        check(False, lambda: "no, 3")
    with pytest.raises(TypeError, match="cond must be a bool"):
        check(1)
    with pytest.raises(TypeError, match="message must be a callable"):
        check(False, "text")


def test_all_elements_of_a_tensor_are_checked():
    rg._check_tensor_all(rg.tensor([True, True]))
    with pytest.raises(RuntimeError, match="Expected cond to be True"):
        rg._check_tensor_all(rg.tensor([True, False]))
    with pytest.raises(TypeError, match="must have dtype"):
        rg._check_tensor_all(rg.tensor([1]))
    with pytest.raises(TypeError, match="cond must be a tensor"):
        rg._check_tensor_all(True)
    with pytest.raises(TypeError, match="_check_tensor_all"):
        rg._check(rg.tensor(True))
    with (
        pytest.warns(FutureWarning, match="_check_is_size"),
        pytest.raises(RuntimeError, match="Expected cond to be True"),
    ):
        rg._check_is_size(-1)


def test_a_tensor_that_is_zero_raises():
    rg._assert_async(rg.tensor(0.1))
    with pytest.raises(RuntimeError, match="Expected Tensor with single nonzero value, but got ze"):
        rg._assert_async(rg.tensor(0j))
    with pytest.raises(RuntimeError, match="more than one value is ambiguous"):
        rg._assert_async(rg.ones(2))


def test_a_new_tensor_takes_sizes_storages_and_tensors_by_name():
    x = rg.ones(2)
    assert x.new(size=(3, 4)).shape == (3, 4)
    assert x.new(storage=x.storage()).data_ptr() == x.data_ptr()
    assert x.new(x).data_ptr() == x.data_ptr()
    with pytest.raises(TypeError, match=r"expected Float \(got Long\)"):
        x.new(rg.arange(2))


def test_types_of_tensors_are_no_classes():
    with pytest.raises(TypeError, match="is not an acceptable base type"):

        class Mine(rg.FloatTensor):
            pass

    with pytest.raises(TypeError, match="invalid combination of arguments"):
        rg.LongTensor((6, 0), 1)


def test_tolerances_are_tensors_with_one_element():
    x = rg.tensor([1.0, 2.0])
    assert rg.isclose(x, x + 0.4, rg.tensor(0), rg.tensor(0.5)).all()
    with pytest.raises(TypeError, match=r"argument 'atol' .*must be float, not Tensor"):
        rg.isclose(x, x, 0.0, rg.tensor(1.0, requires_grad=True))


def test_a_count_of_threads_has_31_bits():
    with pytest.raises(ValueError, match="Overflow when unpacking long"):
        rg.set_num_threads(2**65)


def test_dense_tensors_are_laid_end_to_end_and_taken_apart():
    parts = [rg.ones(2, 2), rg.zeros(1)]
    flat = rg._utils._flatten_dense_tensors(parts)
    assert flat.tolist() == [1.0, 1.0, 1.0, 1.0, 0.0]
    made = rg._utils._unflatten_dense_tensors(flat, parts)
    assert [part.shape for part in made] == [(2, 2), (1,)]
    assert made[0]._is_view()
    assert rg._utils._get_device_index("cuda:2") == 2
    assert rg._utils._get_device_index("cpu", allow_cpu=True) == -1
    with pytest.raises(ValueError, match="a device with a number"):
        rg._utils._get_device_index("cuda")


def test_half_precision_exponentials_are_not_zero():
    x = rg.empty(1 << 20, dtype=rg.float16).exponential_(generator=rg.Generator().manual_seed(0))
    assert x.min().item() > 0


def test_bernoulli_writes_into_tensors_of_any_dtype():
    out = rg.full((2,), 7)
    assert rg.bernoulli(rg.tensor([0.0, 1.0]), out=out) is out
    assert out.tolist() == [0, 1]


def test_an_empty_index_of_other_dimensions_scatters_nothing():
    x, nothing = rg.arange(4.0), rg.zeros(0, 4, dtype=rg.int64)
    for made in (
        x.scatter(0, nothing, rg.zeros(0, 4)),
        x.scatter(0, nothing, 1.0),
        x.scatter(0, nothing, rg.zeros(2, 3)),
        x.scatter_add(0, nothing, rg.zeros(0, 4)),
        x.scatter_reduce(0, nothing, rg.zeros(0, 4), "amax"),
    ):
        assert made.tolist() == x.tolist()
    assert rg.tensor(1.0).scatter(0, nothing, 2.0).item() == 1.0


def test_an_output_that_is_resized_warns():
    out = rg.ones(3)
    with pytest.warns(UserWarning, match=r"was resized since it had shape \[3\], .* shape \[2\]"):
        rg.add(rg.ones(2), 1, out=out)
    with pytest.warns(UserWarning, match="An output with one or more elements was resized"):
        rg.normal(rg.zeros(2), 1.0, out=rg.zeros(3))
    assert rg.add(rg.ones(2), 1, out=rg.ones(0)).tolist() == [2.0, 2.0]
    assert rg.ones(2, out=rg.zeros(3)).tolist() == [1.0, 1.0]


@pytest.mark.parametrize(
    "call",
    [
        lambda x, out: rg.add(x, 1, out=out),
        lambda x, out: rg.exp(x, out=out),
        lambda x, out: rg.where(x > 0, x, 2.0, out=out),
        lambda x, out: rg.stack([x, x], out=out),
        lambda x, out: rg.sum(x, 0, out=out),
    ],
)
def test_an_expanded_output_is_refused_before_it_is_resized(call):
    x = rg.ones(2, 3)
    out = x.expand(4, 2, 3)
    with pytest.raises(RuntimeError, match="unsupported operation: more than one element"):
        call(x, out)
    assert x.tolist() == [[1.0] * 3] * 2
    assert (out.shape, x._version) == ((4, 2, 3), 0)
    assert rg.add(x, 1, out=rg.ones(1).expand(4, 0)).tolist() == [[2.0] * 3] * 2


def test_sizes_leave_sums_to_foreign_types():
    class Anything:
        def __radd__(self, other):
            return 42

    assert rg.Size([1]) + Anything() == 42
    with pytest.raises(TypeError, match=r"can only concatenate tuple \(not list\)"):
        rg.Size([1]).__add__([2])
