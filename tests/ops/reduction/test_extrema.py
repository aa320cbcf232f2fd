"""Extrema, medians and modes: ties, NaN, indices, named tuples, errors."""

import pickle

import numpy as np
import pytest

import retrograd as rg
from retrograd.autograd import grad

NAN = float("nan")


def leaf(data):
    return rg.tensor(data, dtype=rg.float64, requires_grad=True)


@pytest.mark.parametrize(
    "function", [lambda x: x.max(), lambda x: x.amax(), lambda x: x.amax(0), lambda x: x.median()]
)
def test_ties_share_evenly_over_everything(function):
    x = leaf([2.0, 2.0, 2.0, 2.0])
    np.testing.assert_array_equal(grad(function(x), x)[0]._array, [0.25] * 4)


def test_ties_share_evenly_in_each_line_of_amin():
    x = leaf([[1.0, 1.0, 3.0], [5.0, 4.0, 6.0]])
    y = x.amin(1)
    (g,) = grad(y, x, rg.tensor([2.0, 3.0], dtype=rg.float64))
    np.testing.assert_array_equal(g._array, [[1.0, 1.0, 0.0], [0.0, 3.0, 0.0]])


def test_along_a_dim_the_first_of_equals_is_named_and_takes_all():
    x = leaf([[1.0, 3.0, 3.0], [2.0, 2.0, 0.0]])
    values, indices = x.max(1)
    np.testing.assert_array_equal(indices._array, [1, 0])
    (g,) = grad(values.sum(), x)
    np.testing.assert_array_equal(g._array, [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]])
    assert not indices.requires_grad


def test_keepdim_keeps_the_dim_in_values_and_indices():
    x = rg.tensor([[1.0, 5.0, 2.0], [4.0, 3.0, 0.0]])
    values, indices = x.max(-1, keepdim=True)
    assert (values.tolist(), indices.tolist()) == ([[5.0], [4.0]], [[1], [0]])
    assert x.argmax(keepdim=True).tolist() == [[1]]
    assert x.amax(keepdim=True).tolist() == [[5.0]]


def test_results_are_named_tuples_that_print_and_pickle():
    found = rg.max(rg.tensor([1, 5]), 0)
    assert repr(found) == "retrograd.return_types.max(\nvalues=tensor(5),\nindices=tensor(1))"
    assert found.values is found[0]
    low, high = rg.aminmax(rg.tensor([3.0, 1.0]))
    assert (low.item(), high.item()) == (1.0, 3.0)
    numbers = type(found)(1, 2)
    assert pickle.loads(pickle.dumps(numbers)) == numbers


def test_max_of_two_tensors_is_elementwise():
    x, y = leaf([1.0, 5.0, 2.0]), leaf([3.0, 4.0, 2.0])
    out = rg.max(x, y)
    np.testing.assert_array_equal(out._array, [3.0, 5.0, 2.0])
    np.testing.assert_array_equal(rg.min(x, other=y)._array, [1.0, 4.0, 2.0])
    (g,) = grad(out.sum(), x)
    np.testing.assert_array_equal(g._array, [0.0, 1.0, 0.5])


def test_nan_is_the_result_and_takes_the_cotangent():
    x = leaf([1.0, NAN, 3.0])
    for function in (rg.max, rg.min, rg.amax, rg.amin, rg.median):
        out = function(x)
        assert np.isnan(out.item())
        np.testing.assert_array_equal(grad(out, x)[0]._array, [0.0, 1.0, 0.0])
    assert rg.max(x, 0).indices.item() == rg.argmin(x).item() == 1


def test_the_median_is_the_lower_one():
    x = leaf([4.0, 1.0, 3.0, 2.0])
    assert x.median().item() == 2.0
    values, indices = x.median(0)
    assert (values.item(), indices.item()) == (2.0, 3)
    np.testing.assert_array_equal(grad(values, x)[0]._array, [0.0, 0.0, 0.0, 1.0])


def test_nanmedian_leaves_nan_out():
    x = leaf([[1.0, NAN, 3.0], [NAN, NAN, NAN]])
    assert rg.nanmedian(x).item() == 1.0
    np.testing.assert_array_equal(rg.nanmedian(x, 1).values._array, [1.0, NAN])
    np.testing.assert_array_equal(grad(rg.nanmedian(x), x)[0]._array[0], [1.0, 0.0, 0.0])


def test_the_mode_is_the_smallest_of_the_commonest_and_its_last_place():
    values, indices = rg.mode(rg.tensor([[2, 1, 2, 1, 3], [5, 2, 2, 2, 5]]))
    np.testing.assert_array_equal(values._array, [1, 2])
    np.testing.assert_array_equal(indices._array, [3, 3])


def test_extrema_of_integers_and_booleans_keep_the_dtype():
    largest, least = rg.tensor([1, 2], dtype=rg.int8).max(), rg.tensor([True, False]).amin()
    assert (largest.dtype, largest.item()) == (rg.int8, 2)
    assert (least.dtype, least.item()) == (rg.bool, False)


def test_a_scalar_is_its_own_extremum():
    x = leaf(2.0)
    values, indices = x.max(0)
    assert (values.shape, values.item(), indices.item()) == ((), 2.0, 0)
    assert grad(values, x)[0].item() == 1.0
    assert rg.argmax(x, -1).item() == 0


@pytest.mark.parametrize("function", [rg.max, rg.min, rg.amax, rg.amin])
def test_an_extremum_of_nothing_raises(function):
    with pytest.raises(RuntimeError, match="Specify the reduction dim with the 'dim' argument"):
        function(rg.tensor(np.zeros(0)))
    with pytest.raises(IndexError, match="Expected reduction dim 0 to have non-zero size"):
        function(rg.tensor(np.zeros((0, 3))), 0)
    found = function(rg.tensor(np.zeros((0, 3))), 1)
    assert (found[0] if isinstance(found, tuple) else found).shape == (0,)


def test_argmax_and_aminmax_of_nothing_raise():
    empty = rg.tensor(np.zeros(0))
    with pytest.raises(IndexError, match="Expected reduction dim to be specified"):
        rg.argmax(empty)
    with pytest.raises(RuntimeError, match="cannot compute aminmax over an empty dimension"):
        rg.aminmax(empty)
    with pytest.raises(IndexError, match="Expected reduction dim 1 to have non-zero size"):
        rg.aminmax(rg.zeros(2, 0), dim=-1)
    assert np.isnan(rg.median(empty).item())


@pytest.mark.parametrize(
    "function",
    [rg.mode, rg.unique, rg.histc, lambda x: rg.searchsorted(x, x)],
)
def test_complex_numbers_have_no_order(function):
    with pytest.raises(RuntimeError, match=r"no order. Compare x.abs\(\) or x.real$"):
        function(rg.tensor([1j, 2.0]))


def test_histograms_have_finite_ranges():
    with pytest.raises(RuntimeError, match=r"torch.histc: range of \[1, inf\] is not finite"):
        rg.histc(rg.ones(2), min=1, max=float("inf"))
    for dtype, bound in ((rg.float32, 1e39), (rg.float16, 1e5)):
        with pytest.raises(RuntimeError, match=r"type .* without overflow"):
            rg.histc(rg.ones(2, dtype=dtype), min=0, max=bound)


def test_a_histogram_has_as_many_dimensions_as_a_point():
    points = rg.tensor([[[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]] * 2)
    assert rg.histogramdd(points, 2).hist.tolist() == [[0.0, 2.0], [2.0, 2.0]]


def test_a_pair_is_written_to_out():
    x = rg.tensor([[1.0, 5.0], [3.0, 2.0]])
    out = (rg.zeros(2), rg.zeros(2, dtype=rg.int64))
    found = rg.max(x, 1, out=out)
    assert found.values is out[0]
    np.testing.assert_array_equal(out[1]._array, [1, 0])


@pytest.mark.parametrize("function", [rg.max, rg.median, rg.mode, rg.cummax, rg.sort, rg.topk])
def test_out_of_a_pair_is_a_pair_of_tensors(function):
    x = rg.ones(2, 3)
    given = (1, 0) if function is rg.topk else (0,)
    for out in (rg.empty(2, 3), (rg.empty(3), None)):
        with pytest.raises(TypeError, match="argument 'out' must be tuple of Tensors"):
            function(x, *given, out=out)
    with pytest.raises(TypeError, match="an out= argument of length 2, got 3"):
        function(x, *given, out=(rg.empty(3), rg.empty(3, dtype=rg.int64), rg.empty(3)))


def test_return_types_take_one_sequence():
    found = rg.return_types.max((1, 2))
    assert found.values == 1
    assert found.indices == 2
    with pytest.raises(TypeError, match="max takes 2 values, got 1"):
        rg.return_types.max([1])
