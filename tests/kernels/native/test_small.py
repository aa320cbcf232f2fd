"""Loops for few numbers give what the functions of arrays give that they stand for."""

from __future__ import annotations

import math

import numpy as np
import pytest

from retrograd.engine.namespaces import arrays
from retrograd.engine.registry import OPS
from retrograd.kernels import special
from retrograd.kernels.native import loops
from retrograd.ops.activation import smooth, softmax
from retrograd.ops.core.engine_ops import _expand, _spread, _sum_to
from retrograd.ops.indexing import take_along
from retrograd.ops.linalg import bilinear
from retrograd.ops.loss import cross_entropy as losses
from retrograd.ops.loss import elementwise
from retrograd.ops.nn import normalization_records as records
from retrograd.ops.nn import rnn_cells
from retrograd.ops.random import streams
from retrograd.ops.reduction import scan, sum_prod, variance
from retrograd.ops.shape import join, pad
from retrograd.ops.sorting import sort

pytestmark = pytest.mark.skipif(loops is None, reason="no loops in C")

TOLERANCE = {"f": 1e-5, "d": 1e-13, "F": 1e-5, "D": 1e-13}
LABELS = np.array([1, 0, 4, 4, 2, 3])


def some(dtype, *shape):
    values = np.random.default_rng(0).standard_normal((2, *shape))
    return (values[0] + 1j * values[1] if dtype in "FD" else values[0]).astype(dtype)


def both(function, *args, **params):
    """What a function gives by its loop and without; the loop must have taken the arguments."""
    found = function(*args, **params)
    expected = function.function(*args, **params)
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
    assert found.flags.c_contiguous
    return found, expected


def close(found, expected):
    tolerance = TOLERANCE[found.dtype.char]
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", "fdFD")
@pytest.mark.parametrize("shape", [(1, 1, 1), (1, 5, 1), (3, 1, 7), (16, 32, 64), (5, 64, 10)])
@pytest.mark.parametrize("layout", ["rows", "left columns", "right columns", "part", "turned"])
def test_products_of_matrices(dtype, shape, layout):
    n, k, m = shape
    x, y = some(dtype, n, k), some(dtype, k, m)
    if layout == "left columns":
        x = np.asfortranarray(x)
    if layout == "right columns":
        y = np.asfortranarray(y)
    if layout == "part":
        x, y = some(dtype, n, k + 3)[:, 1 : k + 1], some(dtype, k, m + 2)[:, :m]
    if layout == "turned":
        x, y = x[::-1, ::-1], some(dtype, k, 2 * m)[:, ::2]
    close(*both(bilinear._mm_arrays, x, y))
    close(*both(bilinear._matmul_arrays, x, y))
    close(*both(bilinear._linear_weight_arrays, x.T, y))
    close(*both(bilinear._linear_arrays, x, y.T, None))
    close(*both(bilinear._linear_arrays, x, y.T, some(dtype, m)))


@pytest.mark.parametrize("dtype", "fd")
def test_products_of_rows_in_more_dimensions(dtype):
    x, w = some(dtype, 2, 3, 4), some(dtype, 5, 4)
    close(*both(bilinear._linear_arrays, x, w, some(dtype, 5)))
    close(*both(bilinear._matmul_arrays, x, some(dtype, 4, 5)))


def test_axes_of_one_element_may_have_any_stride():
    x, y = some("D", 3, 5, 2)[:, :1].transpose(1, 0, 2).copy().transpose(1, 0, 2), some("D", 2, 4)
    assert x.flags.c_contiguous
    assert x.strides[1] != 2 * x.itemsize
    close(*both(bilinear._matmul_arrays, x, y))
    close(*both(bilinear._linear_arrays, x, y.T, None))


@pytest.mark.parametrize("function", [bilinear._mm_arrays, bilinear._matmul_arrays])
@pytest.mark.parametrize(("a", "b"), [("f", "d"), ("e", "e"), ("l", "l"), ("?", "?")])
def test_other_dtypes_go_to_the_function(function, a, b):
    x, y = np.ones((2, 3), a), np.ones((3, 2), b)
    if a != b:
        with pytest.raises(RuntimeError, match="dtype"):
            function(x, y)
        return
    np.testing.assert_array_equal(function(x, y), function.function(x, y))


def test_sizes_that_do_not_fit_raise_as_in_the_function():
    with pytest.raises(RuntimeError, match=r"cannot be multiplied \(2x3 and 2x3\)"):
        bilinear._mm_arrays(np.ones((2, 3)), np.ones((2, 3)))
    with pytest.raises(RuntimeError, match="must match the existing size"):
        bilinear._linear_arrays(np.ones((2, 3)), np.ones((4, 3)), np.ones(5))
    with pytest.raises(TypeError, match="takes 1 positional argument but 2 were given"):
        sum_prod._sum_all(np.ones(3), np.ones(3))
    with pytest.raises(TypeError, match="missing 2 required positional arguments: 'x' and 'y'"):
        bilinear._mm_arrays()


@pytest.mark.parametrize("shape", [(0, 3), (3, 0)])
def test_products_without_terms_are_zero(shape):
    x = np.ones(shape)
    np.testing.assert_array_equal(bilinear._mm_arrays(x, x.T), np.zeros((shape[0], shape[0])))


@pytest.mark.parametrize("dtype", "fd")
@pytest.mark.parametrize("keepdim", [False, True])
@pytest.mark.parametrize(
    ("shape", "dim"),
    [((8, 8), (0,)), ((8, 8), (1,)), ((8, 8), (0, 1)), ((3, 4, 5), (1,)), ((3, 4, 5), (1, 2)),
     ((3, 4, 5), (0, 2)), ((1, 7), (0,)), ((100, 40), (1,)), ((100, 40), (0,)), ((1,), (0,))],
)  # fmt: skip
def test_sums_are_those_of_numpy_to_the_bit(dtype, shape, dim, keepdim):
    found, expected = both(sum_prod.add_up, some(dtype, *shape), dim, keepdim)
    assert found.tobytes() == expected.tobytes()


@pytest.mark.parametrize("dtype", "fd")
@pytest.mark.parametrize("shape", [(), (1,), (8, 8), (3, 4, 5), (4096,)])
def test_sums_of_all_are_those_of_numpy_to_the_bit(dtype, shape):
    found, expected = both(sum_prod._sum_all, some(dtype, *shape))
    assert found.tobytes() == expected.tobytes()


@pytest.mark.parametrize("dtype", "fd")
@pytest.mark.parametrize("shape", [(64,), (2, 3), ()])
def test_sums_to_a_shape(dtype, shape):
    close(*both(_sum_to, some(dtype, 6, *shape), shape=shape))


@pytest.mark.parametrize("dtype", "fd")
def test_adjoints_of_sums_repeat(dtype):
    found, expected = both(_spread, some(dtype), shape=(3, 4))
    np.testing.assert_array_equal(found, expected)
    for shape, dim, keepdim in [((3, 2), (1,), False), ((3, 2, 4), (0, 1), False),
                                ((3, 2, 4), (1,), True)]:  # fmt: skip
        given = [n for i, n in enumerate(shape) if i not in dim]
        given = [1 if i in dim else n for i, n in enumerate(shape)] if keepdim else given
        args = {"dim": dim, "keepdim": keepdim, "shape": shape}
        found, expected = both(sum_prod._unreduce, some(dtype, *given), **args)
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("dtype", "fd")
@pytest.mark.parametrize("labels", [LABELS, LABELS.astype(np.uint8)])
@pytest.mark.parametrize("share", [None, [1.0, 0.0, 0.5, 2.0, 1.0, 0.0]])
def test_losses_and_their_derivatives(dtype, labels, share):
    logits = 5 * some(dtype, 6, 5)
    share = None if share is None else np.array(share, dtype)[:, None]
    args = {"scale": 0.25, "rows": None}
    close(*both(losses._cross_entropy_forward, logits, labels, share, **args))
    g = np.array(3.0, dtype)
    close(*both(losses._cross_entropy_derivative, g, logits, labels, share, **args))


@pytest.mark.parametrize("dtype", "fd")
def test_the_likelihood_of_classes_is_that_of_numpy_to_the_bit(dtype):
    classes = np.random.default_rng(1).integers(0, 7, 300)
    found, expected = both(losses._nll_forward, some(dtype, 300, 7), classes, total=300.0)
    assert found.tobytes() == expected.tobytes()


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_losses_of_nan_and_infinities(value):
    logits = some("f", 3, 5)
    logits[1, 2] = value
    logits[2] = -np.inf
    args = {"scale": 1.0, "rows": None}
    share = np.array([[1.0], [1.0], [0.0]], "f")
    with np.errstate(all="ignore"):
        for labels in ([1, 2, 0], [1, 0, 0]):
            pair = logits, np.array(labels)
            close(*both(losses._cross_entropy_forward, *pair, share, **args))
            g = np.array(1.0, "f")
            close(*both(losses._cross_entropy_derivative, g, *pair, share, **args))


def test_classes_that_are_none_go_to_the_function():
    with pytest.raises(IndexError, match="index 7 is out of bounds for axis 0 with size 3"):
        losses._cross_entropy_forward(
            np.ones((1, 3)), np.array([7]), None, scale=1.0, rows=None
        )  # fmt: skip


def test_few_loops_may_be_left_out():
    x = np.full((2, 2), 0.1)
    loops.leave_small_out(True)
    try:
        assert bilinear._mm_arrays(x, x).tobytes() == x.dot(x).tobytes()
    finally:
        loops.leave_small_out(False)


def test_an_unknown_loop_is_refused():
    with pytest.raises(ValueError, match="no loop for few numbers called 'nothing'"):
        loops.Small(len, "nothing")


@pytest.mark.parametrize("dtype", "fd")
@pytest.mark.parametrize(
    ("shape", "dim"), [((4, 5), 1), ((4, 5), 0), ((2, 33, 3), 1), ((7,), 0), ((3, 200), 1)]
)
def test_softmax_is_that_of_numpy_to_the_bit(dtype, shape, dim):
    for function in (softmax._softmax, softmax._log_softmax):
        for x in (some(dtype, *shape), 0 * some(dtype, *shape)):
            found, expected = both(function, x, dim=(dim,))
            assert found.tobytes() == expected.tobytes()


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_softmax_of_nan_and_infinities(value):
    x = some("f", 3, 5)
    x[1, 2] = value
    x[2] = -np.inf
    with np.errstate(all="ignore"):
        for function in (softmax._softmax, softmax._log_softmax):
            np.testing.assert_array_equal(*both(function, x, dim=(1,)))


@pytest.mark.parametrize("dtype", "fd")
@pytest.mark.parametrize("affine", [False, True])
@pytest.mark.parametrize(
    ("shape", "dim"), [((4, 5), (1,)), ((2, 3, 40), (2,)), ((2, 3, 4), (1, 2)), ((300,), (0,))]
)
def test_layer_normalisation_is_that_of_numpy_to_the_bit(dtype, affine, shape, dim):
    inside = [shape[d] for d in dim]
    parameters = [some(dtype, *inside), some(dtype, *inside)[::-1].copy()] if affine else [None] * 2
    same_bits(records._layer_forward, some(dtype, *shape), *parameters, dim=dim, eps=1e-5)


@pytest.mark.parametrize("dtype", "fd")
@pytest.mark.parametrize("affine", [False, True])
@pytest.mark.parametrize("shape", [(4, 5), (7, 3, 1), (2, 3, 40), (3, 2, 4, 4), (1, 2, 5, 5)])
def test_batch_normalisation_is_that_of_numpy_to_the_bit(dtype, affine, shape):
    inside = (1, shape[1], *(1 for _ in shape[2:]))
    parameters = [some(dtype, *inside), some(dtype, *inside) ** 2] if affine else [None] * 2
    dim = (0, *range(2, len(shape)))
    same_bits(records._batch_forward, some(dtype, *shape), *parameters, dim=dim, eps=1e-5)


AXES = [((8, 8), (0,)), ((3, 40), (1,)), ((3, 4, 5), (1,)), ((3, 4, 5), (1, 2)), ((4096,), (0,))]


@pytest.mark.parametrize("dtype", "fd")
@pytest.mark.parametrize("keepdim", [False, True])
@pytest.mark.parametrize(("shape", "dim"), AXES)
def test_means_and_variances_are_those_of_numpy_to_the_bit(dtype, keepdim, shape, dim):
    x = some(dtype, *shape)
    pairs = [both(sum_prod.average, x, dim, keepdim), both(sum_prod.average, x, None)]
    for correction in (0, 1, 0.5):
        args = {"dim": dim, "correction": correction, "keepdim": keepdim}
        pairs.append(both(variance._var, x, **args))
    for found, expected in pairs:
        assert found.tobytes() == expected.tobytes()


@pytest.mark.parametrize("dtype", "fd")
@pytest.mark.parametrize("keepdim", [False, True])
@pytest.mark.parametrize(("shape", "dim"), [(s, d) for s, d in AXES if len(d) == 1])
def test_extremes_along_a_dimension_are_those_of_numpy(dtype, keepdim, shape, dim):
    for x in (some(dtype, *shape), ties(dtype, *shape)):
        for forward in (OPS["max_dim"].forward, OPS["min_dim"].forward):
            same_bits(forward, x, dim=dim, keepdim=keepdim)


@pytest.mark.parametrize("dtype", "fd")
def test_elementwise_functions_are_those_of_numpy_to_the_bit(dtype):
    for x in (10 * some(dtype, 7, 5), ties(dtype, 7, 5)):
        with np.errstate(all="ignore"):
            found = [both(smooth._sigmoid, x)]
            found.append(both(elementwise._bce_logits_forward, x, some(dtype, 7, 5)))
        for one, other in found:
            np.testing.assert_array_equal(one, other)
    assert found[0][0].tobytes() == found[0][1].tobytes()


def ties(dtype, *shape):
    """Few different numbers, with NaN, infinities and both zeros among them."""
    values = np.array([0.0, -0.0, 1.0, -2.0, np.nan, np.inf, -np.inf, 3.0], dtype)
    return values[np.random.default_rng(2).integers(0, len(values), shape)]


@pytest.mark.parametrize("dtype", "fd")
@pytest.mark.parametrize("shape", [(1,), (7,), (3, 5), (2, 3, 64)])
@pytest.mark.parametrize("descending", [False, True])
def test_sorting_is_that_of_numpy_ties_included(dtype, shape, descending):
    for x in (some(dtype, *shape), ties(dtype, *shape)):
        same_bits(sort._sort, x, dim=len(shape) - 1, descending=descending)


@pytest.mark.parametrize("dtype", "fd")
@pytest.mark.parametrize("k", [1, 3, 5])
@pytest.mark.parametrize("largest", [False, True])
def test_the_first_in_order_are_those_of_a_sort(dtype, k, largest):
    how = {"k": k, "dim": 1, "largest": largest, "sorted": True}
    same_bits(sort._topk, some(dtype, 6, 5), **how)
    x = ties(dtype, 6, 5)
    expected = sort._sort(x, dim=1, descending=largest)
    for found, full in zip(sort._topk(x, **how), expected, strict=True):
        np.testing.assert_array_equal(found, full[:, :k])


@pytest.mark.parametrize("dtype", "fd")
@pytest.mark.parametrize(("shape", "dim"), [((5,), 0), ((3, 4), 0), ((3, 4), 1), ((2, 9, 3), 1)])
@pytest.mark.parametrize("reverse", [False, True])
def test_cumulative_sums_are_those_of_numpy_to_the_bit(dtype, shape, dim, reverse):
    for x in (some(dtype, *shape), -0.0 * np.ones(shape, dtype)):
        found, expected = both(scan._cumsum, x, dim=dim, reverse=reverse)
        assert found.tobytes() == expected.tobytes()


@pytest.mark.parametrize("dtype", ["f", "d", "D", "?", "b", "q"])
def test_entries_at_indices_are_gathered(dtype):
    x = (10 * some("d", 3, 4, 5)).astype(dtype)
    for dim, shape in [(0, (2, 4, 5)), (1, (3, 7, 2)), (2, (3, 4, 5)), (2, (1, 1, 1))]:
        index = np.random.default_rng(1).integers(0, x.shape[dim], shape)
        for of in (x, x[::-1], np.asfortranarray(x)):
            np.testing.assert_array_equal(*both(take_along.taken_along, of, index, dim=dim))


def test_indices_out_of_bounds_go_to_the_function():
    with pytest.raises(IndexError, match="index 3 is out of bounds for axis 1 with size 3"):
        take_along.taken_along(np.ones((2, 3)), np.array([[3], [0]]), dim=1)


@pytest.mark.parametrize("shape", [(2, 3, 4), (3, 4), (5, 2, 3, 4)])
def test_expanded_views_are_those_of_numpy(shape):
    for x in (some("f", 3, 1), some("f", 3, 4)[:, ::-2][:, :1], np.array(2.0), some("f", 3, 4)):
        found, expected = _expand(x, shape=shape), _expand.function(x, shape=shape)
        assert (found.shape, found.strides) == (expected.shape, expected.strides)
        assert found.flags.writeable == expected.flags.writeable
        assert found.ctypes.data == expected.ctypes.data
        assert np.shares_memory(found, x)


def test_expanded_views_of_what_nobody_may_write_are_read_only():
    x = some("f", 1)
    x.flags.writeable = False
    assert not _expand(x, shape=(3,)).flags.writeable
    with pytest.raises(ValueError, match="broadcast"):
        _expand(some("f", 2), shape=(3,))


@pytest.mark.parametrize("dtype", "fd")
@pytest.mark.parametrize("affine", [False, True])
def test_group_normalisation_is_that_of_numpy_to_the_bit(dtype, affine):
    x = some(dtype, 2, 3, 4, 5)
    parameters = [some(dtype, 1, 3, 4, 1), some(dtype, 1, 3, 4, 1) ** 2] if affine else [None] * 2
    same_bits(records._layer_forward, x, *parameters, dim=(2, 3), eps=1e-5)
    same_bits(records._batch_forward, x, None, None, dim=(2, 3), eps=1e-5)


@pytest.mark.parametrize("dtype", "fd")
@pytest.mark.parametrize(
    ("shape", "to"),
    [((6, 5), (6, 1)), ((6, 5), (1, 5)), ((3, 4, 2, 5), (1, 4, 1, 1)), ((2, 3, 4), (1, 1, 1)),
     ((2, 3, 4), (2, 3, 1)), ((2, 3, 4, 5), (2, 3, 1, 1)), ((1, 7), (1, 7)), ((6, 1), (6, 1))],
)  # fmt: skip
def test_sums_of_products_are_those_of_numpy_to_the_bit(dtype, shape, to):
    x, y = some(dtype, *shape), some(dtype, *shape)[::-1].copy()
    found, expected = both(records._dot_to, x, y, shape=to)
    assert found.tobytes() == expected.tobytes()
    close(*both(records._real_dot_to, x, y, shape=to[1:]))


@pytest.mark.parametrize("dtype", "fd")
def test_blends_are_those_of_numpy_to_the_bit(dtype):
    for shape, shapes in [((4, 5), [(1, 5), (4, 1), (4, 5)]), ((2, 3, 4), [(1, 3, 1), (4,), ()])]:
        given = [np.asarray(some(dtype, *each)) for each in (shape, shape, *shapes)]
        found, expected = both(records._blend, *given)
        assert found.tobytes() == expected.tobytes()


@pytest.mark.parametrize("dtype", ["f", "D", "?", "b", "q"])
def test_few_arrays_are_joined(dtype):
    x, y = (10 * some("d", 2, 3, 4)).astype(dtype), (5 * some("d", 2, 1, 4)).astype(dtype)
    np.testing.assert_array_equal(*both(join._cat, x, y, x, dim=1))
    np.testing.assert_array_equal(*both(join._cat, x, x[:1].copy(), dim=0))
    for dim in range(4):
        np.testing.assert_array_equal(*both(join._stack, x, x, dim=dim))
    np.testing.assert_array_equal(
        *both(join._stack, np.array(x[0, 0, 0]), x[1, 1, 1:2].reshape(()), dim=0)
    )
    np.testing.assert_array_equal(*both(join._cat, x, y.astype("D"), dim=1))


@pytest.mark.parametrize("dtype", "fd")
@pytest.mark.parametrize("value", [0, 0.1, -7, float("inf")])
def test_few_numbers_are_padded(dtype, value):
    for shape, widths in [
        ((5,), ((1, 2),)),
        ((2, 3), ((0, 0), (2, 0))),
        ((2, 3, 4), ((1, 0), (0, 2), (1, 1))),
        ((2, 3), ((0, -1), (1, 1))),
    ]:
        np.testing.assert_array_equal(
            *both(pad._around, some(dtype, *shape), widths=widths, value=value)
        )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("count", [16, 160, 4096, 8192])
def test_normal_numbers_by_runs_are_those_of_numpy_to_the_bit(count, dtype):
    uniform = np.random.default_rng(1).random(count, dtype)
    found, expected = uniform.copy(), uniform.copy()
    assert streams.by_run(found) is found
    streams.by_run.function(expected)
    assert found.tobytes() == expected.tobytes()


def same_bits(function, *args, **params):
    """A function gives the same bits by its loop and without."""
    found, expected = function(*args, **params), function.function(*args, **params)
    for one, other in zip(found, expected, strict=True):
        assert (one.shape, one.dtype, one.tobytes()) == (other.shape, other.dtype, other.tobytes())


@pytest.mark.parametrize("dtype", "fd")
@pytest.mark.parametrize("shape", [(3,), (1, 1), (4, 5), (2, 3, 16), (2, 1024)])
@pytest.mark.parametrize("name", ["lstm_array", "lstm_back", "gru_array", "gru_back"])
def test_gates_of_recurrent_cells_agree(name, shape, dtype):
    times = {
        "lstm_array": (4, 1),
        "lstm_back": (1, 1, 4, 1, 1),
        "gru_array": (3, 3, 1),
        "gru_back": (1, 3, 3, 1),
    }[name]
    function = getattr(rnn_cells, name)
    given = [2 * some(dtype, *shape[:-1], n * shape[-1]) for n in times]
    found, expected = function(*given, arrays), function.function(*given, arrays)
    several = isinstance(expected, tuple)
    for one, other in zip(*((x if several else (x,)) for x in (found, expected)), strict=True):
        assert (one.shape, one.dtype) == (other.shape, dtype)
        close(one, other)


@pytest.mark.parametrize("dtype", "fd")
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("shape", [(1, 1, 1), (1, 2, 3), (5, 3, 4), (3, 40, 70)])
def test_layers_of_an_lstm_agree(shape, reverse, dtype):
    steps, rows, width = shape
    given = [
        some(dtype, steps, rows, 4 * width),
        some(dtype, rows, width),
        some(dtype, rows, width),
        some(dtype, 4 * width, width),
    ]
    results = all_close(rnn_cells.layer_array, *given, reverse, arrays)
    cotangents = [np.broadcast_to(some(dtype, width), s) for s in (shape, shape, shape[1:])]
    cotangents.append(some(dtype, *shape[1:]))
    all_close(rnn_cells.layer_back, *cotangents, *given, *results[:2], reverse, arrays)


def all_close(function, *given):
    """What the loop gives, which is asserted to be what the function gives."""
    found, expected = function(*given), function.function(*given)
    for one, other in zip(found, expected, strict=True):
        assert (one.shape, one.dtype) == (other.shape, other.dtype)
        close(one, other)
    return found


def test_layers_that_do_not_fit_are_left_to_the_formula():
    given = [some("f", 2, 3, 8), some("f", 3, 2), some("f", 3, 2), some("f", 8, 2)]
    for place in range(4):
        turned = np.asfortranarray(given[place])  # not plain, if it has two long sides
        all_close(rnn_cells.layer_array, *given[:place], turned, *given[place + 1 :], False, arrays)
    with pytest.raises(RuntimeError, match="cannot be multiplied"):
        rnn_cells.layer_array(*given[:3], some("f", 8, 3), False, arrays)


def test_gates_that_do_not_fit_are_left_to_the_formula():
    gates, c = some("f", 2, 8), some("f", 2, 2)
    for wrong in (c.astype("d"), c[:1], some("f", 4, 2)[::2]):
        function = rnn_cells.lstm_array
        for one, other in zip(
            function(gates, wrong, arrays), function.function(gates, wrong, arrays), strict=True
        ):
            assert one.tobytes() == other.tobytes()
    with pytest.raises(ValueError, match="broadcast"):
        rnn_cells.lstm_array(gates, some("f", 3, 2), arrays)


@pytest.mark.parametrize("name", ["erf", "erfc"])
def test_error_functions_of_few_numbers_are_those_of_the_c_library(name):
    x = np.random.uniform(-6, 9, (30, 40))  # 10 and more are subnormal in single precision
    expected = np.vectorize(getattr(math, name))
    np.testing.assert_array_equal(getattr(special, name)(x), expected(x))
    found = getattr(special, name)(x.astype("f"))
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected(x.astype("f").astype("d")), rtol=6e-8)
