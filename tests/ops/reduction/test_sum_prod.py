"""Sums, means, products, any and all: values, dtypes, errors, derivatives at zeros."""

import numpy as np
import pytest

import retrograd as rg
from retrograd.autograd import grad

NAN = float("nan")
X = rg.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])


def leaf(data, dtype=rg.float64):
    return rg.tensor(data, dtype=dtype, requires_grad=True)


def second(function, x, weights):
    """The gradient of `weights` times the gradient of `function` at `x`."""
    (first,) = grad(function(x), x, create_graph=True)
    return grad(first, x, rg.tensor(weights, dtype=x.dtype))[0]


def test_sum_over_everything_records_its_own_node():
    x = leaf([1.0, 2.0])
    assert x.sum().grad_fn.name() == "SumBackward0"
    assert x.sum(0).grad_fn.name() == "SumBackward1"
    assert x.float().sum(dtype=rg.float64).grad_fn.name() == "SumBackward0"
    assert x.mean(dtype=rg.float32).grad_fn.name() == "MeanBackward0"


def test_mean_and_prod_over_everything_record_their_own_nodes():
    x = leaf([1.0, 2.0])
    assert (x.mean().grad_fn.name(), x.mean(0).grad_fn.name()) == ("MeanBackward0", "MeanBackward1")
    assert (x.prod().grad_fn.name(), x.prod(0).grad_fn.name()) == ("ProdBackward0", "ProdBackward1")


@pytest.mark.parametrize("dim", [None, (), [], (0, 1), (-1, 0)])
def test_no_dims_and_all_dims_reduce_everything(dim):
    assert X.sum(dim).shape == ()
    assert X.sum(dim).item() == 21.0
    assert X.sum(dim, keepdim=True).shape == (1, 1)
    assert X.mean(dim).item() == 3.5


def test_sum_along_a_negative_dim():
    np.testing.assert_array_equal(X.sum(-1)._array, [6.0, 15.0])
    np.testing.assert_array_equal(X.sum(-2, keepdim=True)._array, [[5.0, 7.0, 9.0]])


@pytest.mark.parametrize("dtype", [rg.bool, rg.uint8, rg.int8, rg.int32, rg.int64])
def test_integers_and_booleans_sum_and_multiply_as_int64(dtype):
    x = rg.tensor([1, 1, 0], dtype=dtype)
    for result in (x.sum(), x.sum(0), x.prod(), x.prod(0), x.cumsum(0), x.cumprod(0)):
        assert result.dtype == rg.int64
    assert x.sum().item() == 2


def test_dtype_converts_before_the_sum():
    x = rg.tensor([200, 100], dtype=rg.uint8)
    assert x.sum(dtype=rg.float64).dtype == rg.float64
    assert x.sum(dtype=rg.int32).dtype == rg.int32
    assert x.mean(dtype=rg.float32).item() == 150.0


def test_half_precision_is_accumulated_in_single():
    x = rg.tensor(np.full(4096, 1.0, np.float16))
    assert x.sum().dtype == rg.float16
    assert x.sum(0).item() == 4096.0
    assert rg.tensor(np.full(4, 60000.0, np.float16)).mean().item() == 60000.0


def test_sum_of_nothing_is_zero_and_its_mean_nan():
    empty = rg.tensor(np.zeros((0, 3)))
    assert empty.sum().item() == 0.0
    np.testing.assert_array_equal(empty.sum(0)._array, [0.0, 0.0, 0.0])
    assert np.isnan(empty.mean().item())
    assert empty.prod().item() == 1.0


def test_mean_of_integers_raises():
    with pytest.raises(RuntimeError, match=r"could not infer output dtype.*Got: Long"):
        rg.tensor([1, 2]).mean()
    with pytest.raises(RuntimeError, match="floating point or complex dtype but got Long"):
        rg.nanmean(rg.tensor([1, 2]))


def test_a_dim_out_of_range_raises():
    with pytest.raises(IndexError, match=r"Dimension out of range \(expected to be in range of"):
        X.sum(2)
    with pytest.raises(IndexError, match="but got -3"):
        X.mean(-3)


def test_a_dim_given_twice_raises():
    with pytest.raises(RuntimeError, match="dim 1 appears multiple times in the list of dims"):
        X.sum((1, -1))


def test_what_is_no_tensor_raises():
    with pytest.raises(TypeError, match="must be Tensor, not list"):
        rg.sum([1.0])
    with pytest.raises(TypeError, match="must be Tensor, not list"):
        rg.sum([1.0], 0)


def test_out_receives_the_result():
    out = rg.tensor([0.0, 0.0])
    assert rg.sum(X, 1, out=out) is out
    np.testing.assert_array_equal(out._array, [6.0, 15.0])


def test_nan_is_left_out_of_nansum_and_nanmean():
    x = leaf([1.0, NAN, 3.0])
    assert rg.nansum(x).item() == 4.0
    assert rg.nanmean(x).item() == 2.0
    np.testing.assert_array_equal(grad(rg.nansum(x), x)[0]._array, [1.0, 0.0, 1.0])
    np.testing.assert_array_equal(grad(rg.nanmean(x), x)[0]._array, [0.5, 0.0, 0.5])


@pytest.mark.parametrize(
    ("x", "first", "mixed"),
    [
        ([2.0, 3.0, 4.0], [12.0, 8.0, 6.0], [7.0, 6.0, 5.0]),
        ([0.0, 2.0, 3.0], [6.0, 0.0, 0.0], [5.0, 3.0, 2.0]),
        ([0.0, 0.0, 3.0], [0.0, 0.0, 0.0], [3.0, 3.0, 0.0]),
        ([0.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]),
    ],
)
@pytest.mark.parametrize("dtype", [rg.float64, rg.complex128])
def test_prod_has_first_and_second_derivatives_at_zeros(x, first, mixed, dtype):
    for function in (rg.prod, lambda t: rg.prod(t, 0), lambda t: rg.cumprod(t, 0)[-1]):
        t = leaf(x, dtype)
        one = rg.tensor(1.0, dtype=dtype)
        (found,) = grad(function(t), t, one, create_graph=True)
        np.testing.assert_array_equal(found._array, first)
        (again,) = grad(found, t, rg.tensor([1.0, 1.0, 1.0], dtype=dtype))
        np.testing.assert_array_equal(again._array, mixed)


def test_third_derivative_of_prod_at_zero():
    x = leaf([0.0, 0.0, 0.0])
    (first,) = grad(x.prod(), x, create_graph=True)
    (mixed,) = grad(first[0], x, create_graph=True)
    (third,) = grad(mixed[1], x)
    np.testing.assert_array_equal(third._array, [0.0, 0.0, 1.0])


def test_any_and_all_follow_pytorch():
    x = rg.tensor([[0.0, NAN], [0.0, 0.0]])
    np.testing.assert_array_equal(x.any(1)._array, [True, False])
    np.testing.assert_array_equal(x.all(1)._array, [False, False])
    assert rg.tensor([1, 2], dtype=rg.uint8).any().dtype == rg.uint8
    assert rg.tensor([1 + 0j]).any().dtype == rg.bool
    assert not rg.tensor(np.zeros(0)).any().item()
    assert rg.tensor(np.zeros(0)).all().item()
    assert x.any(()).shape == (2, 2)  # an empty tuple reduces nothing here


def test_count_nonzero_counts():
    x = rg.tensor([[0, 1], [2, 3]])
    assert rg.count_nonzero(x).item() == 3
    np.testing.assert_array_equal(rg.count_nonzero(x, 0)._array, [1, 2])
    assert rg.count_nonzero(rg.tensor(5.0)).item() == 1


def test_the_gradient_of_a_reduction_has_the_shape_of_its_input():
    x = leaf(np.ones((2, 3, 4)))
    for keepdim in (False, True):
        y = x.sum((0, 2), keepdim)
        (g,) = grad(y, x, rg.ones_like(y))
        np.testing.assert_array_equal(g._array, np.ones((2, 3, 4)))


@pytest.mark.parametrize("name", ["all", "any"])
def test_truth_can_be_written_as_booleans_and_bytes_alone(name):
    function, ones = getattr(rg, name), rg.ones(2, 2, dtype=rg.uint8)
    out = rg.empty(2, dtype=rg.bool)
    assert function(ones, 1, out=out) is out
    assert out.tolist() == [True, True]
    assert function(ones.bool(), out=rg.empty((), dtype=rg.uint8)).item() == 1
    with pytest.raises(RuntimeError, match=f"{name} only supports bool tensor .*, got: Float"):
        function(ones, out=rg.empty(()))


def test_counts_of_nothing_are_integers_whatever_the_weights():
    found = rg.bincount(rg.empty(0, dtype=rg.int64), rg.empty(0), minlength=2)
    assert (found.dtype, found.tolist()) == (rg.int64, [0, 0])


@pytest.mark.parametrize("dtype", [rg.float16, rg.int64, rg.complex64], ids=str)
def test_results_of_expanded_tensors_lie_in_rows(dtype):
    x = rg.arange(12).reshape(4, 3).to(dtype)
    for expanded in (x.expand(2, 4, 3), x[:, None].expand(4, 2, 3)):
        reduced = [expanded.count_nonzero(dim) for dim in range(3)]
        if dtype is not rg.complex64:
            reduced += [expanded.logsumexp(dim) for dim in range(3)]
            assert expanded.sigmoid().is_contiguous()
        if dtype is rg.float16:
            reduced += [
                f(dim) for f in (expanded.mean, expanded.var, expanded.std) for dim in range(3)
            ]
            reduced += [expanded.norm(dim=dim) for dim in range(3)]
            assert expanded.round().is_contiguous()
        assert all(each.is_contiguous() for each in reduced)
