"""NumPy's functions that mean something else than PyTorch's, or that it lacks: one law for all.

Each has NumPy's value and dtype, and first and second derivatives that finite differences confirm.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.special

import retrograd as rg
from retrograd.autograd import gradcheck, gradgradcheck

X = np.array([[0.3, -1.2, 2.1], [0.7, 1.6, -0.4]])
Z = X + 1j * X[::-1]
V = np.array([0.5, -1.5, 2.5])
SQUARE = np.array([[2.0, 0.3, -0.1], [0.2, 1.5, 0.4], [-0.3, 0.1, 1.8]])
IMAGE = np.arange(24.0).reshape(2, 3, 4) ** 1.1
HOLES = np.where(X == -1.2, np.nan, X)
PHASES = np.array([[0.1, 3.0, 6.5, 0.2, 4.0], [4.0, 0.2, 6.5, 3.0, 0.1]])
KNOTS = np.array([0.0, 1.1, 2.0])
POINTS = np.array([1.0, 2.0, 4.0, 3.5])
TIMES = np.array([0.0, 1.0, 2.0, 3.0])
SOME = np.array([0.3, 0.55, 0.8])
WIDTHS = ((1, 2), (2, 4))
PATH = ["einsum_path", (0, 1), (0, 1)]
MIXED = np.array([[1j, 2.0], [0.5, 1 - 1j], [3.0, 2j]])

BOTH = (X, Z)
# By name: what is called, and on what. On several samples, one after the other.
TABLE = {
    # taking apart, putting together
    "split": (lambda x: np.split(x, 3, axis=1)[1], *BOTH),
    "array_split": (lambda x: np.array_split(x, 2, axis=1)[0], *BOTH),
    "hsplit": (lambda x: np.hsplit(x, 3)[1], X[0], *BOTH),
    "vsplit": (lambda x: np.vsplit(x, 2)[1], *BOTH),
    "dsplit": (lambda x: np.dsplit(x, 2)[1], IMAGE),
    "rollaxis": (lambda x: np.rollaxis(x, 2), IMAGE),
    "rollaxis_back": (lambda x: np.rollaxis(x, 0, 3), IMAGE),
    "rollaxis_negative": (lambda x: np.rollaxis(x, -1, -2), IMAGE),
    "partition": (lambda x: np.partition(x, 1, axis=0), *BOTH),
    "partition_flat": (lambda x: np.partition(x, 3, None), *BOTH),
    "full_like": (lambda x: np.full_like(x, x[0, 1]), *BOTH),
    "full_like_rows": (lambda x: np.full_like(x, x[0] * 2, shape=(4, 3)), *BOTH),
    "insert": (lambda x: np.insert(x, 1, 5.0, axis=1), *BOTH),
    "insert_many": (lambda x: np.insert(x, [1, 3], x[:, :2] ** 2, axis=1), *BOTH),
    "insert_row": (lambda x: np.insert(x, -1, x[0] * x[1], axis=0), *BOTH),
    "insert_flat": (lambda x: np.insert(x, slice(0, 4, 2), [5.0, 6.0]), *BOTH),
    "delete": (lambda x: np.delete(x, -1, axis=1), *BOTH),
    "delete_flat": (lambda x: np.delete(x, [0, 2]), *BOTH),
    "delete_slice": (lambda x: np.delete(x, slice(0, 2), axis=1), *BOTH),
    "delete_mask": (lambda x: np.delete(x, np.array([True, False, True]), 1), *BOTH),
    "resize": (lambda x: np.resize(x, (3, 4)), *BOTH),
    "choose": (lambda x: np.choose([0, 1, 0], x), *BOTH),
    "choose_list": (lambda x: np.choose([[0], [1]], [x[0], x[1] ** 2]), *BOTH),
    "ediff1d": (lambda x: np.ediff1d(x, to_end=[1.0, 2.0], to_begin=x[0, 0]), *BOTH),
    "trim_zeros": (lambda x: np.trim_zeros(np.append([0.0, 0.0], x)), X[0]),
    "trim_zeros_back": (lambda x: np.trim_zeros(np.append(x, [0.0]), "b"), X[0]),
    "apply_along_axis": (lambda x: np.apply_along_axis(lambda r: r * r[0], 0, x), IMAGE, *BOTH),
    "apply_along_axis_outer": (
        lambda x: np.apply_along_axis(lambda r, k: np.outer(r, r) * k, 1, x, 2.0), IMAGE
    ),
    "apply_along_axis_number": (lambda x: np.apply_along_axis(np.sum, -1, x), IMAGE, *BOTH),
    "apply_over_axes": (lambda x: np.apply_over_axes(np.sum, x, [0, 2]), IMAGE),
    "piecewise": (lambda x: np.piecewise(x, [X < 0, X > 1], [np.square, 3.0, np.sin]), *BOTH),
    "unique_rows": (lambda x: np.unique(x, axis=0), *BOTH),
    "unique_nan": (lambda x: np.unique(x, equal_nan=False)[:5], HOLES),
    "piecewise_else": (lambda x: np.piecewise(x, V < 0, [np.square, np.sin]), V, Z[0]),
    "piecewise_number": (lambda x: np.piecewise(x, [x < 0, x > 0], [-1.0, np.exp]), V[1]),
    "concatenate_numbers": (lambda x: np.concatenate([[x[0], x[1] ** 2], x]), V, Z[0]),
    "imag_of_real": (lambda x: np.imag(x) + x, X),
    "real_if_close": (lambda x: np.real_if_close(x), *BOTH),
    "real_if_close_complex": (lambda x: np.real_if_close(x + 1e-20j), X),
    "real_if_not_close": (lambda x: np.real_if_close(x + 1e-3j), X),
    # padding
    **{
        f"pad_{mode}": (lambda x, mode=mode: np.pad(x, WIDTHS, mode), *BOTH)
        for mode in (
            *("constant", "edge", "linear_ramp", "maximum", "mean", "minimum"),
            *("reflect", "symmetric", "wrap"),
        )
    },
    "pad_median": (lambda x: np.pad(x, WIDTHS, "median"), X),
    "pad_reflect_odd": (lambda x: np.pad(x, WIDTHS, "reflect", reflect_type="odd"), *BOTH),
    "pad_reflect_odd_one": (
        lambda x: np.pad(x, ((2, 3), (0, 1)), "reflect", reflect_type="odd"), X[:1]
    ),
    "pad_symmetric_odd": (lambda x: np.pad(x, WIDTHS, "symmetric", reflect_type="odd"), *BOTH),
    "pad_empty": (lambda x: np.pad(x, WIDTHS, "empty")[1:3, 2:5], *BOTH),
    "pad_values": (lambda x: np.pad(x, WIDTHS, constant_values=((1, 2), (3, 4))), *BOTH),
    "pad_value_of_each": (lambda x: np.pad(x, 1, constant_values=(5, 6)), *BOTH),
    "pad_ends": (lambda x: np.pad(x, WIDTHS, "linear_ramp", end_values=((1, 2), (3, 4))), *BOTH),
    "pad_part": (lambda x: np.pad(x, WIDTHS, "mean", stat_length=2), *BOTH),
    "pad_parts": (lambda x: np.pad(x, WIDTHS, "maximum", stat_length=((1, 2), (2, 1))), *BOTH),
    "pad_axis": (lambda x: np.pad(x, {-1: (1, 2)}), *BOTH),
    # what is no NaN
    **{
        f"{name}{axis}": (lambda x, name=name, axis=axis: getattr(np, name)(x, axis), X, HOLES)
        for axis in (None, 1)
        for name in (
            *("nanmax", "nanmin", "nansum", "nanprod", "nancumsum", "nancumprod", "nanmean"),
            *("nanvar", "nanstd"),
        )
    },
    **{
        f"{name}_complex": (lambda x, name=name: getattr(np, name)(x, 1), Z)
        for name in ("nanmax", "nansum", "nanprod", "nancumsum", "nanmean", "nanvar", "nanstd")
    },
    "nanstd_ddof": (lambda x: np.nanstd(x, 0, ddof=1, keepdims=True), X),
    "nanvar_axes": (lambda x: np.nanvar(x, (0, 1), ddof=2), HOLES),
    # grids, interpolation, polynomials, convolution
    "linspace": (lambda x: np.linspace(x[0, 0], x[1, 1], 5), *BOTH),
    "linspace_axis": (lambda x: np.linspace(x[0], x[1], 5, axis=1), *BOTH),
    "linspace_from_number": (lambda x: np.linspace(-1, x, 4), *BOTH),
    "linspace_open": (lambda x: np.linspace(x[0], 2.0, 5, endpoint=False), *BOTH),
    "linspace_step": (lambda x: np.linspace(x[0], x[1], 5, retstep=True)[1], *BOTH),
    "linspace_one": (lambda x: np.linspace(x[0], x[1], 1), *BOTH),
    "logspace": (lambda x: np.logspace(x[0], x[1], 5), *BOTH),
    "logspace_base": (lambda x: np.logspace(0, 2, 4, base=x), SOME),
    "geomspace": (lambda x: np.geomspace(x[0], x[1], 4), np.abs(X), -np.abs(X), Z),
    "interp_at": (lambda x: np.interp(x, KNOTS, [1.0, 3.0, 0.0]), POINTS - 2.2, X),
    "interp_of": (lambda x: np.interp([[0.5, 1.2], [-3, 9]], KNOTS, x), V, V * (1 + 2j)),
    "interp_places": (lambda x: np.interp([0.5, 1.2, 7.0], x, [1.0, 3.0, 0.0]), KNOTS),
    "interp_ends": (lambda x: np.interp([-0.5, 1.2, 5], KNOTS, x, left=-7, right=7), V),
    "interp_period": (lambda x: np.interp([-0.5, 1.2, 5], KNOTS, x, period=2.5), V),
    "interp_period_at": (lambda x: np.interp(x, KNOTS, V, period=2.5), POINTS - 1.3),
    "interp_one": (lambda x: np.interp([0.5, 3.0], [1.0], x), V[:1]),
    "unwrap": (lambda x: np.unwrap(x) ** 2, PHASES),
    "unwrap_axis": (lambda x: np.unwrap(x, axis=0, discont=4) ** 2, PHASES),
    "unwrap_period": (lambda x: np.unwrap(x, period=2.0), PHASES),
    "vander": (lambda x: np.vander(x), V, Z[0]),
    "vander_rising": (lambda x: np.vander(x, 4, increasing=True), V, Z[0]),
    "polyval": (lambda x: np.polyval(x[0], x[1]), *BOTH),
    "polyval_list": (lambda x: np.polyval([1.0, 0.2, 3.0], x), *BOTH),
    "polyfit": (lambda x: np.polyfit(TIMES, x, 1), POINTS, X.repeat(2, 0)),
    "polyfit_places": (lambda x: np.polyfit(x, POINTS, 2), TIMES),
    "polyfit_weights": (lambda x: np.polyfit(TIMES, x, 1, w=[1.0, 2.0, 3.0, 1.0]), POINTS),
    "polyfit_cov": (lambda x: np.polyfit(TIMES, x, 1, cov=True)[1], POINTS, X.repeat(2, 0)),
    "polyfit_unscaled": (lambda x: np.polyfit(x, POINTS, 1, cov="unscaled")[1], TIMES),
    "polyfit_rest": (lambda x: np.polyfit(TIMES, x, 1, full=True)[1], POINTS),
    **{
        f"{name}_{mode}": (
            lambda x, name=name, mode=mode: np.concatenate(
                [
                    getattr(np, name)(x[0], x[1, :n] * 2, mode=mode) for n in (1, 2, 3)
                ] + [getattr(np, name)(x[0, :n], x[1], mode=mode) for n in (1, 2)]
            ),
            *BOTH,
        )
        for name in ("convolve", "correlate")
        for mode in ("full", "same", "valid")
    },
    "gradient_places": (lambda x: np.gradient(x, [0.0, 1.1, 3.0], axis=1), *BOTH),
    # sums with weights
    "average_sum": (
        lambda x: sum(np.average(x, 1, weights=[1.0, 2.0, 3.0], returned=True)), *BOTH
    ),
    "bincount": (lambda x: np.bincount([0, 3, 3], weights=x, minlength=6), V),
    "histogram": (lambda x: np.histogram([1.0, 2.0, 3.0], 4, weights=x)[0], V),
    "histogram_density": (
        lambda x: np.histogram([1.0, 2.0, 5.0], [0, 1, 4, 5], weights=x, density=True)[0], V
    ),
    "cov_columns": (lambda x: np.cov(x, rowvar=False), *BOTH),
    "cov_two": (lambda x: np.cov(x[0], x[1] ** 2), *BOTH),
    "cov_other": (lambda x: np.cov(X, x, bias=True), *BOTH),
    "cov_weights": (
        lambda x: np.cov(x, fweights=[1, 2, 1], aweights=[0.5, 1, 2.0], ddof=0), *BOTH
    ),
    "corrcoef_two": (lambda x: np.corrcoef(x[0], X[1]), *BOTH),
    "corrcoef_columns": (lambda x: np.corrcoef(x, rowvar=False)[0], X.T @ X),
    # products and decompositions
    "matvec": (lambda x: np.matvec(x, x[0]), *BOTH),
    "vecmat": (lambda x: np.vecmat(x[:, 0], x), *BOTH),
    "cross_axes": (lambda x: np.cross(x, X, axisa=1, axisc=0), *BOTH),
    "cross_axis": (lambda x: np.cross(x, X.T, axis=0), X.T, Z.T),
    "einsum_order": (lambda x: np.einsum("ij,kj->ik", x, x, optimize=True), *BOTH),
    "einsum_path": (
        lambda x: np.einsum("ij,jk,kl->il", x, SQUARE, x.T, optimize=PATH),
        *BOTH,
    ),
    "einsum_dtypes": (lambda x: np.einsum("ij,jk->ik", x, MIXED), *BOTH),
    "einsum_lists": (lambda x: np.einsum(x, [0, 1], x, [2, 1], [0, 2]), *BOTH),
    "einsum_lists_of_all": (lambda x: np.einsum(x, (..., 0), [1.0, 0.2, 3.0], (0,), (...,)), *BOTH),
    "einsum_implicit": (lambda x: np.einsum("ij,kj", x, x), *BOTH),
    "einsum_ellipsis": (lambda x: np.einsum("...j,j->...", x, [1.0, 0.2, 3.0]), *BOTH),
    "svd_values": (lambda x: np.linalg.svd(x, compute_uv=False), *BOTH),
    "qr_r": (lambda x: np.linalg.qr(x, "r"), SQUARE),
    "lstsq_rest": (lambda x: np.linalg.lstsq(x, V, rcond=None)[1], SQUARE[:, :2]),
    "lstsq_values": (lambda x: np.linalg.lstsq(x, V, rcond=None)[3], SQUARE[:, :2]),
    "pinv_rcond": (lambda x: np.linalg.pinv(x, rcond=1e-9), X),
    "pinv_hermitian": (lambda x: np.linalg.pinv(x + x.T, hermitian=True), SQUARE),
    # SciPy's special functions
    "gamma": (scipy.special.gamma, SOME - 1.0, POINTS, Z),
    "rgamma": (scipy.special.rgamma, np.array([0.0, -1.0, -2.5, 0.49, 0.51, 3.0]), Z),
    "beta": (lambda x: scipy.special.beta(x, POINTS), POINTS + 0.5),
    "beta_second": (lambda x: scipy.special.beta(0.5, x), POINTS),
    "betaln": (lambda x: scipy.special.betaln(x, x + 1.0), POINTS),
    "betainc": (lambda x: scipy.special.betainc(0.5, [[1.5], [3.0]], x), SOME),
    "erfcinv": (scipy.special.erfcinv, SOME * 2),
    **{
        name: (lambda x, name=name: getattr(scipy.special, name)(order, x), SOME * 3)
        for name, order in (("jn", 2), ("yn", 2), ("kn", 0))
    },
    **{
        f"{name}_{order}": (
            lambda x, name=name, order=order: getattr(scipy.special, name)(order, x),
            SOME * 3,
            *([] if name == "ive" else [SOME + 0.5j]),
        )
        for name in ("jv", "yv", "iv", "kv", "kve", "ive")
        for order in (0, 1, 1.5, -0.5, -2)
    },
    "jv_orders": (lambda x: scipy.special.jv([[0.0], [1.0], [2.5]], x), SOME),
}  # fmt: skip


@pytest.mark.parametrize("name", TABLE)
def test_a_function_has_numpys_value_and_derivatives(name):
    function, *samples = TABLE[name]
    for sample in samples:
        x = rg.tensor(sample, requires_grad=True)
        found, expected = function(x), np.asarray(function(sample))
        assert found.detach().numpy().dtype == expected.dtype
        np.testing.assert_allclose(found.detach().numpy(), expected, rtol=2e-13, atol=1e-14)
        assert gradcheck(function, (x,), atol=1e-6 * max(1.0, abs(found).max().item()))
        assert gradgradcheck(function, (x,), fast_mode=True)


def test_erfcinv_keeps_its_digits_next_to_zero():
    small = np.array([1e-300, 1e-20, 1e-3])
    found = scipy.special.erfcinv(rg.tensor(small)).numpy()
    np.testing.assert_allclose(found, scipy.special.erfcinv(small), rtol=1e-14)


def test_a_bessel_function_of_an_order_that_is_no_number_is_none():
    found = scipy.special.jv(rg.tensor([1.0, math.nan]), 2.0)
    np.testing.assert_allclose(found, [scipy.special.jv(1, 2.0), math.nan], rtol=1e-6)


def test_beta_functions_of_integers_are_no_integers():
    two, three = rg.tensor(2), rg.tensor(3)
    assert scipy.special.beta(two, three).item() == pytest.approx(1 / 12)
    assert scipy.special.betaln(two, three).item() == pytest.approx(-math.log(12))


def test_the_derivative_in_the_order_of_a_bessel_function_raises():
    order = rg.tensor(1.5, requires_grad=True)
    with pytest.raises(
        NotImplementedError, match=r"bessel_j: order.*pass that argument as v.detach"
    ):
        scipy.special.jv(order, rg.ones(2))


def test_the_derivative_in_the_shape_of_a_beta_distribution_raises():
    shape = rg.tensor(1.5, requires_grad=True)
    with pytest.raises(NotImplementedError, match=r"betainc: a.*pass that argument as x.detach"):
        scipy.special.betainc(shape, 2.0, rg.tensor(0.5)).backward()


def test_weights_of_counts_keep_their_gradient():
    weights = rg.tensor([1.0, 2.0, 4.0], requires_grad=True)
    counts, ends = np.histogram(np.array([0.0, 1.0, 2.0]), bins=2, weights=weights)
    assert ends.tolist() == [0.0, 1.0, 2.0]
    (g,) = rg.autograd.grad(counts @ rg.tensor([1.0, 10.0]), weights)
    assert (counts.tolist(), g.tolist()) == ([1.0, 6.0], [1.0, 10.0, 10.0])


def test_histogram_takes_ends_of_bins_of_another_dtype():
    counts, ends = np.histogram(rg.tensor([1.0, 2.0, 2.5]), np.arange(1, 4))
    assert counts.tolist() == [1.0, 2.0]
    assert ends.tolist() == [1.0, 2.0, 3.0]


def test_a_list_of_numbers_is_what_it_is_to_numpy():
    x = rg.ones(2, dtype=rg.float64)
    assert np.dot([0.1, 0.2], x).item() == 0.1 + 0.2
    assert np.hypot([0.1, 0.0], x * 0).tolist() == [0.1, 0.0]


def test_functions_of_vectors_take_more_arguments():
    found = np.apply_along_axis(lambda row, a, b: row * a + b, 1, rg.ones(2, 3), 2.0, b=1.0)
    assert found.tolist() == [[3.0] * 3] * 2


def test_functions_of_vectors_may_give_integers():
    assert np.apply_along_axis(np.argmax, 1, rg.tensor(X)).tolist() == [2, 1]
    assert np.apply_along_axis(np.argmax, 1, rg.tensor(X)).dtype is rg.int64


def test_as_many_functions_as_conditions_are_asked_for():
    with pytest.raises(ValueError, match=r"with 1 condition.*either 1 or 2 functions are expected"):
        np.piecewise(rg.ones(2), [rg.ones(2) > 0], [1.0, 2.0, 3.0])


def test_functions_run_under_vmap():
    batch = rg.tensor(X)
    for function in (
        lambda row: np.unwrap(row),
        lambda row: np.pad(row, 2, "linear_ramp"),
        lambda row: np.insert(row, 1, 5.0),
        lambda row: np.nanvar(row),
        lambda row: np.linspace(row[0], row[1], 3),
        lambda row: scipy.special.gamma(row),
    ):
        found = rg.func.vmap(function)(batch).numpy()
        np.testing.assert_allclose(found, [function(row) for row in X], rtol=1e-14)


def test_a_mode_of_padding_that_is_not_there_raises():
    with pytest.raises(ValueError, match="mode 'round' is not supported"):
        np.pad(rg.ones(2), 1, "round")


@pytest.mark.parametrize("function", [np.split, np.array_split, np.hsplit])
def test_parts_are_a_list(function):
    parts = function(rg.ones(4), 2)
    assert type(parts) is list
    assert [part.tolist() for part in parts] == [[1.0, 1.0], [1.0, 1.0]]


@pytest.mark.parametrize("options", [{}, {"axis": 1}, {"equal_nan": False}])
def test_unique_says_where_each_is_and_how_often(options):
    array = np.array([[2.0, np.nan, 2.0], [1.0, np.nan, 1.0]])
    asked = {"return_index": True, "return_inverse": True, "return_counts": True, **options}
    found = np.unique(rg.tensor(array, requires_grad=True), **asked)
    for part, value in zip(found, np.unique(array, **asked), strict=True):
        np.testing.assert_array_equal(part.detach().numpy(), value)


def test_splitting_along_an_axis_that_is_not_there_raises():
    with pytest.raises(ValueError, match="vsplit only works on arrays of 2"):
        np.vsplit(rg.ones(4), 2)
    with pytest.raises(ValueError, match="hsplit only works on arrays of 1"):
        np.hsplit(rg.tensor(1.0), 2)
    with pytest.raises(ValueError, match="dsplit only works on arrays of 3"):
        np.dsplit(rg.ones(4, 2), 2)


INTEGERS = np.array([[3, -2, 0], [5, 1, -4]])


@pytest.mark.parametrize(
    "call",
    [
        lambda x: np.clip(x, -1.5, 2.5),
        lambda x: np.clip(x, [0, 1, 2], None),
        lambda x: np.clip(x, -(2**70), 2**70),
        lambda x: np.clip(x.astype(np.uint8) if isinstance(x, np.ndarray) else x.byte(), -1, 3),
        lambda x: np.histogram(x, bins=[-1.5, 0.5, 3])[0],
        lambda x: np.histogram(x * 0.3, bins=[-1, 0, 1])[0],
        lambda x: np.histogram(x * 0.3, bins=[-1, 0, 1], density=True)[0],
        lambda x: np.pad(x, 3, mode="linear_ramp", end_values=5),
        lambda x: np.pad(x * 0.1, 3, mode="linear_ramp", end_values=2),
        lambda x: np.angle(x * (1 + 1j), deg=True),
    ],
)
def test_integers_beside_other_numbers_count_as_in_numpy(call):
    found = call(rg.tensor(INTEGERS))
    np.testing.assert_allclose(np.asarray(found), call(INTEGERS), rtol=1e-6)


@pytest.mark.parametrize("compare", [np.less, np.less_equal, np.greater, np.equal, np.not_equal])
@pytest.mark.parametrize("number", [-1, 300, 2**70])
def test_integers_that_a_dtype_does_not_hold_are_compared_as_numbers(compare, number):
    small = np.array([0, 255], np.uint8)
    assert compare(rg.tensor(small), number).tolist() == compare(small, number).tolist()
    assert compare(number, rg.tensor(small)).tolist() == compare(number, small).tolist()
    space = rg.interop.array_api
    of_space = getattr(space, compare.__name__)
    assert of_space(rg.tensor(small), number).tolist() == compare(small, number).tolist()


def test_integers_that_a_dtype_does_not_hold_are_no_operands():
    with pytest.raises(OverflowError, match="Python integer -1 out of bounds for uint8"):
        np.add(rg.tensor([1], dtype=rg.uint8), -1)
