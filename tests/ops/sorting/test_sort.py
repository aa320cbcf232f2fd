"""Sorting, top k, distinct values and bins."""

import numpy as np
import pytest

import retrograd as rg
from retrograd.autograd import grad
from retrograd.kernels.native import loops
from retrograd.ops.nn.embedding import one_hot

NAN = float("nan")


def leaf(data):
    return rg.tensor(data, dtype=rg.float64, requires_grad=True)


def test_sort_is_stable_both_ways():
    x = rg.tensor([2, 1, 2, 1])
    np.testing.assert_array_equal(rg.sort(x).indices._array, [1, 3, 0, 2])
    np.testing.assert_array_equal(rg.sort(x, descending=True).indices._array, [0, 2, 1, 3])
    np.testing.assert_array_equal(rg.argsort(x, descending=True)._array, [0, 2, 1, 3])


def test_nan_sorts_as_the_largest():
    x = rg.tensor([1.0, NAN, 0.0])
    np.testing.assert_array_equal(rg.sort(x).values._array, [0.0, 1.0, NAN])
    np.testing.assert_array_equal(rg.sort(x, descending=True).values._array, [NAN, 1.0, 0.0])
    np.testing.assert_array_equal(rg.topk(x, 2).values._array, [NAN, 1.0])
    np.testing.assert_array_equal(rg.topk(x, 2, largest=False).values._array, [0.0, 1.0])


def test_the_gradient_of_sort_goes_back_where_the_elements_were():
    x = leaf([[3.0, 1.0, 2.0], [4.0, 6.0, 5.0]])
    values = x.sort(1).values
    (g,) = grad(values, x, rg.tensor([[1.0, 2.0, 3.0]] * 2, dtype=rg.float64))
    np.testing.assert_array_equal(g._array, [[3.0, 1.0, 2.0], [1.0, 3.0, 2.0]])


def test_a_second_derivative_passes_through_sort():
    x = leaf([3.0, 1.0, 2.0])
    y = (x.sort().values * rg.tensor([1.0, 2.0, 3.0], dtype=rg.float64)) ** 2
    (first,) = grad(y.sum(), x, create_graph=True)
    np.testing.assert_array_equal(grad(first.sum(), x)[0]._array, [18.0, 2.0, 8.0])


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("k", [0, 1, 3, 5])
def test_topk_is_the_start_of_a_sort(k, largest):
    x = rg.tensor(np.random.default_rng(k).permutation(10).reshape(2, 5) * 1.0)
    for dim, count in ((1, k), (0, min(k, 2))):
        found = rg.topk(x, count, dim, largest)
        order = rg.sort(x, dim, descending=largest)
        part = [slice(None)] * 2
        part[dim] = slice(count)
        np.testing.assert_array_equal(found.values._array, order.values._array[tuple(part)])
        np.testing.assert_array_equal(found.indices._array, order.indices._array[tuple(part)])


@pytest.mark.parametrize("largest", [True, False])
def test_so_it_is_for_large_arrays_of_few_numbers(largest):
    x = rg.tensor(np.random.default_rng(0).integers(0, 9, (40, 200)) * 1.0)
    x[3, 5:9] = NAN
    found, order = rg.topk(x, 20, 1, largest), rg.sort(x, 1, descending=largest)
    np.testing.assert_array_equal(found.values._array, order.values._array[:, :20])
    if loops is not None:  # NumPy chooses any of equal elements
        np.testing.assert_array_equal(found.indices._array, order.indices._array[:, :20])
    at = rg.kthvalue(x, 20, 1).indices._array
    np.testing.assert_array_equal(at, rg.sort(x, 1).indices._array[:, 19])


def test_kthvalue_counts_from_one():
    x = leaf([[3.0, 1.0, 2.0]])
    values, indices = rg.kthvalue(x, 3)
    assert (values.item(), indices.item()) == (3.0, 0)
    assert rg.kthvalue(x, 1, keepdim=True).values.shape == (1, 1)
    np.testing.assert_array_equal(grad(values.sum(), x)[0]._array, [[1.0, 0.0, 0.0]])


def test_a_scalar_sorts_to_itself():
    x = rg.tensor(1.0)
    assert rg.sort(x).values.item() == rg.topk(x, 1).values.item() == rg.msort(x).item() == 1.0
    assert rg.argsort(x).shape == ()


def test_counts_out_of_range_raise():
    x = rg.ones(2, 3)
    with pytest.raises(RuntimeError, match="selected index k out of range"):
        rg.topk(x, 4)
    with pytest.raises(RuntimeError, match="selected number k out of range for dimension 1"):
        rg.kthvalue(x, 0)
    with pytest.raises(IndexError, match="Expected reduction dim 0 to have non-zero size"):
        rg.kthvalue(rg.tensor(np.zeros(0)), 1)


@pytest.mark.parametrize("function", [rg.sort, rg.argsort, rg.unique, lambda x: rg.topk(x, 1)])
def test_complex_numbers_have_no_order(function):
    with pytest.raises(RuntimeError, match="no order"):
        function(rg.tensor([1j, 2.0]))


def test_nonzero_gives_rows_or_a_tuple():
    x = rg.tensor([[1, 0], [1, 1]])
    np.testing.assert_array_equal(rg.nonzero(x)._array, [[0, 0], [1, 0], [1, 1]])
    rows, columns = x.nonzero(as_tuple=True)
    np.testing.assert_array_equal(rows._array, [0, 1, 1])
    np.testing.assert_array_equal(columns._array, [0, 0, 1])
    assert rg.nonzero(rg.tensor(1.0)).shape == (1, 0)
    assert rg.nonzero(rg.tensor(0.0)).shape == (0, 0)
    np.testing.assert_array_equal(rg.nonzero(rg.tensor(1.0), as_tuple=True)[0]._array, [0])


def test_unique_sorts_and_counts():
    values, inverse, counts = rg.unique(
        rg.tensor([[3, 1], [1, 1]]), return_inverse=True, return_counts=True
    )
    np.testing.assert_array_equal(values._array, [1, 3])
    np.testing.assert_array_equal(inverse._array, [[1, 0], [0, 0]])
    np.testing.assert_array_equal(counts._array, [3, 1])
    assert rg.unique(rg.tensor([NAN, NAN, 1.0])).shape == (3,)


@pytest.mark.parametrize("function", [rg.unique, rg.unique_consecutive])
def test_a_derivative_of_distinct_elements_is_refused(function):
    x = leaf([1.0, 1.0, 2.0])
    values, inverse, counts = function(x, return_inverse=True, return_counts=True)
    assert values.requires_grad
    assert (inverse.requires_grad, counts.requires_grad) == (False, False)
    assert not function(x.detach()).requires_grad
    with pytest.raises(NotImplementedError, match=r"derivative for 'unique\w*' is not implemented"):
        values.sum().backward()
    with pytest.raises(NotImplementedError, match=r"derivative for 'unique\w*' is not implemented"):
        rg.func.jvp(function, (x,), (x,))


def test_distinct_elements_of_many_rows_are_found_row_by_row():
    rows = rg.tensor([[1.0, 1.0, 3.0], [1.0, 2.0, 2.0]])
    with pytest.warns(UserWarning, match="number of distinct elements differs between examples"):
        sums = rg.vmap(lambda row: row.unique().sum())(rows)
    assert sums.tolist() == [4.0, 3.0]


def test_unique_rows():
    rows, inverse = rg.unique(rg.tensor([[3, 1], [1, 1], [3, 1]]), dim=0, return_inverse=True)
    np.testing.assert_array_equal(rows._array, [[1, 1], [3, 1]])
    np.testing.assert_array_equal(inverse._array, [1, 0, 1])


def test_unique_consecutive_drops_repeats_only():
    values, inverse, counts = rg.unique_consecutive(
        rg.tensor([1, 1, 2, 2, 1]), return_inverse=True, return_counts=True
    )
    np.testing.assert_array_equal(values._array, [1, 2, 1])
    np.testing.assert_array_equal(inverse._array, [0, 0, 1, 1, 2])
    np.testing.assert_array_equal(counts._array, [2, 2, 1])
    rows = rg.unique_consecutive(rg.tensor([[1, 1], [1, 1], [2, 2]]), dim=0)
    np.testing.assert_array_equal(rows._array, [[1, 1], [2, 2]])
    assert rg.unique_consecutive(rg.tensor(np.zeros(0))).shape == (0,)


def test_one_hot_marks_each_class():
    np.testing.assert_array_equal(one_hot(rg.tensor([0, 2]))._array, [[1, 0, 0], [0, 0, 1]])
    assert one_hot(rg.tensor(1), 3).shape == (3,)


@pytest.mark.parametrize(
    ("classes", "count", "message"),
    [
        ([1.0], -1, "only applicable to index tensor of type LongTensor"),
        ([-1], -1, "Class values must be non-negative"),
        ([3], 3, "Class values must be smaller than num_classes"),
        (np.zeros(0, np.int64), -1, "Can not infer total number of classes from empty tensor"),
    ],
)
def test_one_hot_refuses_bad_classes(classes, count, message):
    with pytest.raises(RuntimeError, match=message):
        one_hot(rg.tensor(classes), count)


def test_searchsorted_goes_row_by_row():
    rows = rg.tensor([[1.0, 2.0, 3.0], [0.0, 1.0, 2.0]])
    found = rg.searchsorted(rows, rg.tensor([[2.0], [2.0]]))
    np.testing.assert_array_equal(found._array, [[1], [2]])
    right = rg.searchsorted(rows[0], rg.tensor([2.0, NAN]), right=True)
    np.testing.assert_array_equal(right._array, [2, 3])
    assert rg.searchsorted(rows[0], 2.5, out_int32=True).dtype == rg.int32
    unsorted, order = rg.tensor([3.0, 1.0, 2.0]), rg.tensor([1, 2, 0])
    assert rg.searchsorted(unsorted, 2.0, sorter=order).item() == 1


def test_searchsorted_refuses_what_does_not_fit():
    rows = rg.ones(2, 3)
    with pytest.raises(RuntimeError, match="side and right can't be set to opposites"):
        rg.searchsorted(rows[0], 1.0, right=True, side="left")
    with pytest.raises(RuntimeError, match="the first N-1 dimensions of boundaries tensor"):
        rg.searchsorted(rows, rg.ones(1))
    with pytest.raises(RuntimeError, match="boundaries tensor must be 1 dimension"):
        rg.bucketize(1.0, rows)


def test_histc_counts_between_the_ends():
    x = rg.tensor([1.0, 2.0, 1.0])
    np.testing.assert_array_equal(rg.histc(x, 4, 0, 3)._array, [0, 2, 1, 0])
    np.testing.assert_array_equal(rg.histc(x, 4)._array, [2, 0, 0, 1])
    np.testing.assert_array_equal(rg.histc(rg.tensor([1.0, NAN]), 3, 0, 2)._array, [0, 1, 0])
    with pytest.raises(RuntimeError, match="max must be larger than min"):
        rg.histc(x, 3, 2, 1)
    with pytest.raises(RuntimeError, match="is not finite"):
        rg.histc(rg.tensor([1.0, NAN]), 3)


def test_bincount_counts_or_adds_weights():
    x = rg.tensor([0, 2, 2])
    np.testing.assert_array_equal(rg.bincount(x, minlength=5)._array, [1, 0, 2, 0, 0])
    sums = rg.bincount(x, rg.tensor([0.5, 1.0, 2.0]))
    assert sums.dtype == rg.float32
    np.testing.assert_array_equal(sums._array, [0.5, 0.0, 3.0])
    with pytest.raises(RuntimeError, match="1-d non-negative integral inputs"):
        rg.bincount(rg.tensor([-1]))
    with pytest.raises(RuntimeError, match="minlength should be >= 0, got -1"):
        rg.bincount(x, minlength=-1)


def test_indices_of_nonzero_elements_are_contiguous_for_each_dimension():
    rows, columns = rg.tensor([[0, 1], [2, 0]]).nonzero(as_tuple=True)
    assert (rows.tolist(), columns.tolist()) == ([0, 1], [1, 0])
    assert rows.stride() == columns.stride() == (1,)


def test_weights_of_counts_have_gradients():
    weights = rg.tensor([1.0, 2.0, 3.0], requires_grad=True)
    factors = rg.tensor([10.0, 20.0, 30.0, 40.0])
    counts = rg.bincount(rg.tensor([3, 0, 3]), weights, 4)
    assert counts.tolist() == [2.0, 0.0, 0.0, 4.0]
    assert rg.autograd.grad(counts @ factors, weights)[0].tolist() == [40.0, 10.0, 40.0]
    hist = rg.histogram(rg.tensor([0.0, 1.0, 1.0]), 2, weight=weights).hist
    assert rg.autograd.grad(hist @ factors[:2], weights)[0].tolist() == [10.0, 20.0, 20.0]
    assert rg.autograd.gradcheck(
        lambda w: (
            rg.histogram(
                rg.tensor([0.0, 1.0, 1.0], dtype=rg.float64), 2, weight=w, density=True
            ).hist
        ),
        weights.double().detach().requires_grad_(),
    )


def test_a_histogram_of_bfloat16_counts_in_bfloat16():
    found = rg.histc(rg.tensor([1.0, 2.0, 3.0, 3.0], dtype=rg.bfloat16), 3)
    assert (found.dtype, found.tolist()) == (rg.bfloat16, [1.0, 1.0, 2.0])


@pytest.mark.parametrize("k", [0, 1])
def test_topk_of_a_number_is_the_number(k):
    values, indices = rg.topk(rg.tensor(3.0), k)
    assert (values.shape, values.item(), indices.item()) == ((), 3.0, 0)


@pytest.mark.parametrize("name", ["sort", "median", "cummax", "gather"])
@pytest.mark.parametrize("place", [3, -1])
def test_an_index_that_was_moved_out_of_bounds_unseen_is_refused_as_by_scatter(name, place):
    x = leaf([[1, 3, 2], [1, 3, 2]])
    indices = rg.tensor([[0, 1], [1, 2]])
    if name == "gather":
        values = x.gather(1, indices)
    else:
        values, indices = getattr(x, name)(1)
    indices.data.fill_(place)
    message = f"index {place} is out of bounds for dimension 1 with size 3"
    with pytest.raises(RuntimeError, match=message):
        values.sum().backward()


def test_bins_end_where_pytorchs_do():
    for dtype in (rg.float32, rg.float64):
        assert rg.histc(rg.linspace(0, 1, 11, dtype=dtype), 10).tolist() == [1] * 9 + [2]
    assert rg.histc(rg.arange(-8, 9).half() / 10, 7, -0.8, 0.8).tolist() == [3, 2, 2, 3, 2, 2, 3]
    edges = rg.histogram(rg.linspace(-0.7, 1.9, 101), 26).bin_edges
    assert edges.tolist() == rg.linspace(-0.7, 1.9, 27).tolist()


def test_histc_of_ranges_that_the_dtype_cannot_divide():
    assert rg.histc(rg.tensor([1e8, 1e8]), 4).tolist() == [0, 0, 2, 0]
    assert rg.histc(rg.tensor([3e38, 3e38]), 5).tolist() == [0, 0, 2, 0, 0]
    assert rg.histc(rg.tensor([1e8, 1e8 + 8]), 10).tolist() == [1, *[0] * 8, 1]
    for dtype in (rg.float32, rg.float64, rg.float16):
        most = rg.finfo(dtype).max
        x = rg.tensor([-most, -most / 4, most / 4, most], dtype=dtype)
        assert rg.histc(x, 4, -most, most).tolist() == [1, 1, 1, 1]


def test_edges_that_make_no_bin_and_a_range_beside_edges_are_refused():
    for edges in (rg.ones(1), rg.ones(0)):
        with pytest.raises(RuntimeError, match="bins must be > 0, but got"):
            rg.histogram(rg.ones(2), edges)
    with pytest.raises(TypeError, match="bins are edges, which say the range"):
        rg.histogram(rg.ones(2), rg.tensor([0.0, 2.0]), range=(0.0, 1.0))


def test_counts_that_no_memory_holds_are_an_error_of_memory():
    with pytest.raises(RuntimeError, match="Storage size calculation overflowed"):
        rg.bincount(rg.tensor([2**62]))
    with pytest.raises(rg.OutOfMemoryError, match="you tried to allocate"):
        rg.bincount(rg.tensor([2**55]))
