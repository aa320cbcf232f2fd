"""NumPy's functions on tensors: NumPy's values, and gradients that finite differences confirm."""

from __future__ import annotations

import operator as operator_module

import numpy as np
import pytest
import scipy.special
from tests.interop.test_numpy_functions import TABLE

import retrograd as rg
from retrograd.autograd import gradcheck
from retrograd.interop import numpy as interop
from retrograd.interop.numpy_table import ACCUMULATIONS, FUNCTIONS, REDUCTIONS, UFUNCS
from retrograd.interop.scipy_special import SCIPY

X = np.array([[0.3, -1.2, 2.1], [0.7, 1.6, -0.4]])
SQUARE = np.array([[2.0, 0.3, -0.1], [0.2, 1.5, 0.4], [-0.3, 0.1, 1.8]])
SYMMETRIC = SQUARE @ SQUARE.T
VECTOR = np.array([0.5, -1.5, 2.5])
ROW = np.array([[1.0, 2.0, -3.0]])
IMAGE = np.arange(24.0).reshape(2, 3, 4) ** 1.1

# What is called, and on what: every case runs on the array and on a tensor with its values.
CASES = {
    "sum": (lambda x: np.sum(x), X),
    "sum_axis": (lambda x: np.sum(x, 0), X),
    "sum_keepdims": (lambda x: np.sum(x, axis=(0, 1), keepdims=True), X),
    "sum_dtype": (lambda x: np.sum(x, dtype=np.complex128), X),
    "prod": (lambda x: np.prod(x, axis=1), X),
    "mean": (lambda x: np.mean(x, axis=-1), X),
    "var": (lambda x: np.var(x, axis=0, ddof=1), X),
    "std": (lambda x: np.std(x, 1), X),
    "max": (lambda x: np.max(x, axis=1), X),
    "amin": (lambda x: np.amin(x), X),
    "ptp": (lambda x: np.ptp(x, axis=0), X),
    "nansum": (lambda x: np.nansum(x, axis=0), X),
    "nanmean": (lambda x: np.nanmean(x, axis=0, keepdims=True), X),
    "average": (lambda x: np.average(x, axis=1, weights=[1.0, 2.0, 3.0]), X),
    "median_even": (lambda x: np.median(x, axis=0), X),
    "quantile": (lambda x: np.quantile(x, [0.2, 0.7], axis=1), X),
    "quantile_axes": (lambda x: np.quantile(x, 0.3, axis=(0, 2), keepdims=True), IMAGE),
    "percentile": (lambda x: np.percentile(x, 40), X),
    "nanpercentile": (lambda x: np.nanpercentile(x, 40, axis=1), X),
    "cumsum_flat": (lambda x: np.cumsum(x), X),
    "cumprod": (lambda x: np.cumprod(x, axis=1), X),
    "diff": (lambda x: np.diff(x, axis=1, prepend=0.5), X),
    "diff_by_a_list": (lambda x: np.diff(x[0], append=[0.5, 2.0]), X),
    "gradient": (lambda x: np.gradient(x, axis=1), X),
    "gradient_both": (lambda x: np.gradient(x, 0.5)[1], X),
    "trapezoid": (lambda x: np.trapezoid(x, dx=0.5), X),
    "cov": (lambda x: np.cov(x), X),
    "corrcoef": (lambda x: np.corrcoef(x), X),
    "dot": (lambda x: np.dot(x, VECTOR), X),
    "dot_number": (lambda x: np.dot(x, 3.0), X),
    "dot_many": (
        lambda x: np.dot(x, np.ones((4, 2))),
        IMAGE.swapaxes(1, 2)[:, :, :2] @ np.ones((2, 4)),
    ),
    "dot_list": (lambda x: np.dot(x, [1.0, 2.0, 3.0]), X),
    "vdot": (lambda x: np.vdot(x, X * 2), X),
    "inner": (lambda x: np.inner(x, X), X),
    "outer": (lambda x: np.outer(x, VECTOR), X),
    "kron": (lambda x: np.kron(x, ROW), X),
    "cross": (lambda x: np.cross(x, VECTOR), X),
    "tensordot": (lambda x: np.tensordot(x, SQUARE, axes=([1], [0])), X),
    "einsum": (lambda x: np.einsum("ij,jk->ik", x, SQUARE), X),
    "einsum_trace": (lambda x: np.einsum("ii", x), SQUARE),
    "convolve": (lambda x: np.convolve(x, [1.0, 2.0, -1.0, 0.5, 1.0], "same"), VECTOR),
    "convolve_full": (lambda x: np.convolve(x, [1.0, 2.0]), VECTOR),
    "convolve_valid": (lambda x: np.convolve(x, [1.0, 2.0], mode="valid"), VECTOR),
    "trace": (lambda x: np.trace(x, offset=1), SQUARE),
    "polyval": (lambda x: np.polyval(x, ROW), VECTOR),
    "polyval_x": (lambda x: np.polyval([1.0, 2.0, 3.0], x), X),
    "matmul": (lambda x: np.matmul(x, VECTOR), X),
    "reshape": (lambda x: np.reshape(x, (3, -1)), X),
    "ravel": (lambda x: np.ravel(x), X),
    "transpose": (lambda x: np.transpose(x), IMAGE),
    "transpose_axes": (lambda x: np.transpose(x, (1, 0, 2)), IMAGE),
    "moveaxis": (lambda x: np.moveaxis(x, 0, -1), IMAGE),
    "moveaxis_several": (lambda x: np.moveaxis(x, [0, 1], [-1, 0]), IMAGE),
    "swapaxes": (lambda x: np.swapaxes(x, 1, 2), IMAGE),
    "squeeze": (lambda x: np.squeeze(x), ROW),
    "squeeze_axis": (lambda x: np.squeeze(x, axis=0), ROW),
    "expand_dims": (lambda x: np.expand_dims(x, (0, -1)), X),
    "broadcast_to": (lambda x: np.broadcast_to(x, (4, 2, 3)), X),
    "atleast_3d": (lambda x: np.atleast_3d(x), X),
    "flip": (lambda x: np.flip(x, 1), X),
    "fliplr": (lambda x: np.fliplr(x), X),
    "roll": (lambda x: np.roll(x, 2), X),
    "roll_axes": (lambda x: np.roll(x, (1, 2), axis=(0, 1)), X),
    "rot90": (lambda x: np.rot90(x, axes=(1, 0)), X),
    "tile": (lambda x: np.tile(x, (2, 1)), X),
    "repeat": (lambda x: np.repeat(x, [2, 0, 1], axis=1), X),
    "pad": (lambda x: np.pad(x, ((1, 2), (0, 1)), constant_values=3.0), X),
    "pad_number": (lambda x: np.pad(x, 2), X),
    "pad_edge": (lambda x: np.pad(x, 2, mode="edge"), X),
    "pad_reflect": (lambda x: np.pad(x, ((0, 0), (2, 1)), "reflect"), X),
    "pad_symmetric": (lambda x: np.pad(x, ((0, 0), (2, 1)), "symmetric"), X),
    "pad_wrap": (lambda x: np.pad(x, (1, 2), "wrap"), X),
    "concatenate": (lambda x: np.concatenate([x, X, ROW]), X),
    "concatenate_axis": (lambda x: np.concatenate((x, x * 2), 1), X),
    "concatenate_flat": (lambda x: np.concatenate([x, VECTOR], axis=None), X),
    "concatenate_list": (lambda x: np.concatenate([x, [1.0, 2.0]]), VECTOR),
    "stack": (lambda x: np.stack([x, X], axis=-1), X),
    "hstack": (lambda x: np.hstack([x, X]), X),
    "vstack": (lambda x: np.vstack((x, VECTOR)), X),
    "dstack": (lambda x: np.dstack([x, X]), X),
    "column_stack": (lambda x: np.column_stack([x, VECTOR]), VECTOR),
    "append": (lambda x: np.append(x, [[5.0, 6.0, 7.0]], axis=0), X),
    "block": (lambda x: np.block([[x, x], [x * 2, X]]), X),
    "split": (lambda x: np.split(x, 3, axis=1)[1], X),
    "array_split": (lambda x: np.array_split(x, 2, axis=1)[0], X),
    "hsplit": (lambda x: np.hsplit(x, [1])[1], X),
    "meshgrid": (lambda x: np.meshgrid(x, [1.0, 2.0])[0], VECTOR),
    "where": (lambda x: np.where(X > 0, x, 0.0), X),
    "where_list": (lambda x: np.where([True, False, True], x, -x), X),
    "select": (lambda x: np.select([x > 1, x > 0], [x, x * 2], -1.0), X),
    "clip": (lambda x: np.clip(x, -1.0, 1.5), X),
    "clip_one": (lambda x: np.clip(x, None, 1.5), X),
    "take": (lambda x: np.take(x, [4, 0]), X),
    "take_axis": (lambda x: np.take(x, np.array([[2, -1]]), axis=1), X),
    "take_along_axis": (lambda x: np.take_along_axis(x, np.array([[1], [-1]]), axis=1), X),
    "compress": (lambda x: np.compress([True, False, True], x, axis=1), X),
    "extract": (lambda x: np.extract(X > 0, x), X),
    "diagonal": (lambda x: np.diagonal(x, 1), SQUARE),
    "diag": (lambda x: np.diag(x, k=1), VECTOR),
    "tril": (lambda x: np.tril(x, -1), SQUARE),
    "triu": (lambda x: np.triu(x, k=1), SQUARE),
    "sort": (lambda x: np.sort(x), X),
    "sort_flat": (lambda x: np.sort(x, axis=None), X),
    "unique": (lambda x: np.unique(x), X),
    "sinc": (lambda x: np.sinc(x), X),
    "i0": (lambda x: np.i0(x), X),
    "nan_to_num": (lambda x: np.nan_to_num(x, nan=1.0), X),
    "copy": (lambda x: np.copy(x), X),
    "real": (lambda x: np.real(x * 1j), X),
    "cbrt": (lambda x: np.cbrt(x), X),
    "modf": (lambda x: np.modf(x)[0], X),
    "divmod": (lambda x: np.divmod(x, 0.75)[1], X),
    "power": (lambda x: np.power(x, 2), X),
    "rpower": (lambda x: 2.0**x, X),
    "array_left": (lambda x: VECTOR - VECTOR * x, X),
    "array_power": (lambda x: np.array([2.0, 1.0, 3.0]) ** x, X),
    "array_divide": (lambda x: VECTOR / x, X),
    "array_matmul": (lambda x: SQUARE @ x.T, X),
    "number_left": (lambda x: np.float64(2.0) / x, X),
    "maximum": (lambda x: np.maximum(x, 0.1), X),
    "hypot_list": (lambda x: np.hypot(x, [1.0, 2.0, 3.0]), X),
    "arctan2": (lambda x: np.arctan2(x, X[0]), X),
    "logaddexp": (lambda x: np.logaddexp(x, 0.0), X),
    "ufunc_dtype": (lambda x: np.multiply(x, 2.0, dtype=np.complex128), X),
    "add_reduce": (lambda x: np.add.reduce(x), X),
    "multiply_reduce": (lambda x: np.multiply.reduce(x, axis=1, keepdims=True), X),
    "maximum_reduce": (lambda x: np.maximum.reduce(x, axis=None), X),
    "logaddexp_reduce": (lambda x: np.logaddexp.reduce(x, axis=1), X),
    "add_accumulate": (lambda x: np.add.accumulate(x, axis=1), X),
    "maximum_accumulate": (lambda x: np.maximum.accumulate(x, axis=1), X),
    "subtract_outer": (lambda x: np.subtract.outer(x, VECTOR), X),
    "cholesky": (lambda x: np.linalg.cholesky(x @ x.T), SQUARE),
    "det": (lambda x: np.linalg.det(x), SQUARE),
    "slogdet": (lambda x: np.linalg.slogdet(x)[1], SQUARE),
    "inv": (lambda x: np.linalg.inv(x), SQUARE),
    "pinv": (lambda x: np.linalg.pinv(x), X),
    "solve": (lambda x: np.linalg.solve(x, VECTOR), SQUARE),
    "solve_list": (lambda x: np.linalg.solve(x, [1.0, 2.0, 3.0]), SQUARE),
    "solve_right": (lambda x: np.linalg.solve(SQUARE, x.T), X),
    "lstsq": (lambda x: np.linalg.lstsq(x, VECTOR)[0], SQUARE[:, :2]),
    "eigvalsh": (lambda x: np.linalg.eigvalsh(x + x.T), SQUARE),
    "eigh": (lambda x: np.linalg.eigh(x + x.T)[0], SQUARE),
    "svd": (lambda x: np.linalg.svd(x, full_matrices=False)[1], X),
    "norm": (lambda x: np.linalg.norm(x), X),
    "norm_axis": (lambda x: np.linalg.norm(x, 3, axis=1, keepdims=True), X),
    "cond": (lambda x: np.linalg.cond(x), SQUARE),
    "matrix_power": (lambda x: np.linalg.matrix_power(x, 3), SQUARE),
    "multi_dot": (lambda x: np.linalg.multi_dot([x, SQUARE, VECTOR]), X),
    "vector_norm": (lambda x: np.linalg.vector_norm(x, axis=1, ord=1), X),
    "matrix_transpose": (lambda x: np.linalg.matrix_transpose(x), X),
    "fft": (lambda x: np.fft.fft(x, axis=0), X),
    "rfft": (lambda x: np.fft.rfft(x, 4), X),
    "irfft": (lambda x: np.fft.irfft(x, n=5, norm="ortho"), X),
    "fft2": (lambda x: np.fft.fft2(x), IMAGE),
    "fftn": (lambda x: np.fft.fftn(x, axes=(0, 2)), IMAGE),
    "fftshift": (lambda x: np.fft.fftshift(x, axes=1), X),
}


@pytest.mark.parametrize("name", CASES)
def test_a_function_gives_what_numpy_gives_and_is_recorded(name):
    function, value = CASES[name]
    x = rg.tensor(value, requires_grad=True)
    expected, found = function(value), function(x)
    assert isinstance(found, rg.Tensor)
    assert found.requires_grad
    np.testing.assert_allclose(found.detach().numpy(), expected, rtol=1e-10, atol=1e-12)
    assert found.numpy(force=True).dtype == np.asarray(expected).dtype
    assert gradcheck(function, (x,))


POSITIVE = ("log", "log10", "log1p", "log2", "sqrt", "reciprocal", "power", "float_power")
UNARY = {
    "arccosh": X**2 + 1.5,
    **dict.fromkeys(("arccos", "arcsin", "arctanh"), X / 3),
    **dict.fromkeys(POSITIVE, X**2 + 0.5),
}
INTEGER = {
    np.bitwise_and,
    np.bitwise_or,
    np.bitwise_xor,
    np.gcd,
    np.lcm,
    np.left_shift,
    np.right_shift,
    np.invert,
}
STEPS = {np.floor, np.ceil, np.rint, np.trunc, np.sign, np.floor_divide, np.heaviside, np.nextafter}


@pytest.mark.parametrize("ufunc", UFUNCS, ids=lambda ufunc: ufunc.__name__)
def test_every_ufunc_of_the_table_agrees_with_numpy(ufunc):
    name = ufunc.__name__
    if ufunc in INTEGER:
        arrays = [np.array([5, 12, 7]), np.array([1, 2, 3])]
    else:
        arrays = [UNARY.get(name, X), VECTOR if name in ("vecdot",) else np.abs(X[::-1]) + 0.5]
    if name == "ldexp":
        arrays[1] = np.array([1, 2, 3])
    if name == "matmul":
        arrays[1] = SQUARE
    if name == "vecmat":
        arrays = [VECTOR, SQUARE]
    arrays = arrays[: ufunc.nin]
    tensors = [rg.tensor(arrays[0]), *arrays[1:]]
    for given in (tensors, tensors[::-1] if name in ("add", "multiply", "maximum") else tensors):
        found, expected = ufunc(*given), ufunc(*arrays)
        for part, value in zip(
            found if isinstance(found, tuple) else (found,),
            expected if isinstance(expected, tuple) else (expected,),
            strict=True,
        ):
            assert isinstance(part, rg.Tensor)
            np.testing.assert_allclose(part.numpy(), value, rtol=1e-12)
    if ufunc not in INTEGER | STEPS and found[0].dtype.is_floating_point:
        x = rg.tensor(arrays[0], requires_grad=True)
        assert gradcheck(lambda x: ufunc(x, *arrays[1:]), (x,))


@pytest.mark.parametrize("ufunc", REDUCTIONS, ids=lambda ufunc: ufunc.__name__)
def test_every_reduction_of_the_table_agrees_with_numpy(ufunc):
    for options in ({}, {"axis": 1}, {"axis": -1, "keepdims": True}):
        found = ufunc.reduce(rg.tensor(X), **options)
        np.testing.assert_allclose(found.numpy(), ufunc.reduce(X, **options))


@pytest.mark.parametrize("ufunc", ACCUMULATIONS, ids=lambda ufunc: ufunc.__name__)
def test_every_accumulation_of_the_table_agrees_with_numpy(ufunc):
    for options in ({}, {"axis": 1}):
        found = ufunc.accumulate(rg.tensor(X), **options)
        np.testing.assert_allclose(found.numpy(), ufunc.accumulate(X, **options))


@pytest.mark.parametrize("name", SCIPY)
def test_special_functions_of_scipy_are_recorded(name):
    ufunc = getattr(scipy.special, name)
    x = rg.tensor([0.2, 0.6], dtype=rg.float64, requires_grad=True)
    values = (*(2.0, 1.5)[: ufunc.nin - 1], x)
    found = ufunc(*values)
    plain = [v.detach().numpy() if isinstance(v, rg.Tensor) else v for v in values]
    np.testing.assert_allclose(found.detach().numpy(), ufunc(*plain), rtol=1e-10)
    assert found.requires_grad


def test_gradients_flow_through_a_program_of_numpy():
    def program(x):
        y = np.array([0.1, 0.2, 0.3]) + np.tanh(np.matmul(x, SQUARE))
        z = np.concatenate([y, np.cos(x)], axis=0)
        return np.sum(np.where(z > 0, z, 0.5 * z) ** 2) / np.size(z)

    x = rg.tensor(X, requires_grad=True)
    program(x).backward()
    step = 1e-6
    for place in np.ndindex(X.shape):
        ahead, behind = X.copy(), X.copy()
        ahead[place] += step
        behind[place] -= step
        derivative = (program(ahead) - program(behind)) / (2 * step)
        assert abs(x.grad[place].item() - derivative) < 1e-7


def test_second_derivatives_are_recorded_too():
    x = rg.tensor(2.0, requires_grad=True)
    (derivative,) = rg.autograd.grad(np.power(x, 3), x, create_graph=True)
    (curvature,) = rg.autograd.grad(derivative, x)
    assert (derivative.item(), curvature.item()) == (12.0, 12.0)


def test_a_power_at_zero_has_a_finite_gradient():
    x = rg.tensor([0.0, 2.0], requires_grad=True)
    np.power(x, 2).sum().backward()
    assert x.grad.tolist() == [0.0, 4.0]


def test_functions_run_under_transforms():
    batch = rg.tensor(X)
    found = rg.func.vmap(lambda row: np.sum(np.sin(row)))(batch)
    np.testing.assert_allclose(found.numpy(), np.sin(X).sum(1))
    _, tangent = rg.func.jvp(np.exp, (batch,), (rg.ones_like(batch),))
    np.testing.assert_allclose(tangent.numpy(), np.exp(X))


def test_complex_tensors_give_numpys_values():
    z = X + 1j * X[::-1]
    x = rg.tensor(z, requires_grad=True)
    for function in (np.exp, np.abs, np.conjugate, np.real, np.angle, np.sign, np.linalg.norm):
        np.testing.assert_allclose(function(x).detach().numpy(), function(z), rtol=1e-12)
    assert gradcheck(lambda x: np.vdot(x, z * x), (x,))


def test_zero_dimensional_and_empty_tensors_pass():
    assert np.add(rg.tensor(1.5), 1).item() == 2.5
    assert np.sum(rg.zeros(0, 3), axis=0).tolist() == [0.0, 0.0, 0.0]
    assert np.concatenate([rg.zeros(0), np.ones(2, np.float32)]).tolist() == [1.0, 1.0]


def test_numpy_numbers_are_weak_beside_a_tensor():
    x = rg.ones(2)
    assert (np.float64(2.0) * x).dtype is rg.float32
    assert np.add(x, 2.5).dtype is rg.float32
    assert (np.ones(2) * x).dtype is rg.float64


def test_comparisons_with_an_array_are_elementwise_on_both_sides():
    x = rg.tensor([1.0, 2.0])
    array = np.array([1.0, 3.0])
    for found, expected in (
        (array == x, [True, False]),
        (x == array, [True, False]),
        (array > x, [False, True]),
        (x < array, [False, True]),
    ):
        assert type(found) is rg.Tensor
        assert found.tolist() == expected


# -- questions, places, out= ---------------------------------------------------------------------


def test_questions_have_plain_answers():
    x = rg.tensor(X, requires_grad=True)
    assert np.shape(x) == (2, 3)
    assert np.ndim(x) == 2
    assert np.size(x, 1) == 3
    assert np.allclose(x, X)
    assert np.array_equal(x, X)
    assert not np.iscomplexobj(x)
    assert np.isclose(x, X).all()
    assert np.argmax(x).item() == X.argmax()
    assert np.count_nonzero(x > 0, axis=0).tolist() == np.count_nonzero(X > 0, axis=0).tolist()
    assert [p.tolist() for p in np.nonzero(x > 1)] == [p.tolist() for p in np.nonzero(X > 1)]
    assert np.argsort(x, axis=None).tolist() == np.argsort(X, axis=None).tolist()
    assert np.searchsorted(rg.tensor([1.0, 2.0, 3.0]), [1.5, 3.5]).tolist() == [1, 3]
    assert np.isin(rg.tensor([1, 2]), [2, 3]).tolist() == [False, True]
    assert np.bincount(rg.tensor([0, 1, 1])).tolist() == [1, 2]
    assert np.histogram(rg.tensor([0.0, 1.0, 1.0]), 2)[0].tolist() == [1.0, 2.0]
    values, counts = np.unique(rg.tensor([3, 1, 3]), return_counts=True)
    assert (values.tolist(), counts.tolist()) == ([1, 3], [1, 2])
    assert np.array_repr(rg.tensor([1])) == "tensor([1])"


def test_an_array_takes_the_result_of_an_in_place_operator():
    array = np.ones(2)
    array += rg.tensor([1.0, 2.0])
    assert array.tolist() == [2.0, 3.0]


def test_an_array_refuses_a_result_with_a_gradient():
    array = np.ones(2)
    with pytest.raises(RuntimeError, match="cannot hold the gradient"):
        array += rg.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="cannot hold the gradient"):
        np.sum(rg.ones(2, requires_grad=True), out=np.zeros(()))


def test_a_tensor_may_be_out():
    out = rg.zeros(2)
    assert np.add(np.ones(2, np.float32), rg.ones(2), out=out) is out
    assert out.tolist() == [2.0, 2.0]
    with pytest.raises(RuntimeError, match="don't support automatic differentiation"):
        np.exp(rg.ones(2, requires_grad=True), out=out)


# -- what has no counterpart ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("function", "name"),
    [
        (lambda x: np.roots(x), r"np.roots\(\)"),
        (lambda x: np.spacing(x), r"np.spacing\(\)"),
        (lambda x: np.add.reduceat(x, [0, 1]), r"np.add.reduceat\(\)"),
        (lambda x: np.subtract.reduce(x), r"np.subtract.reduce\(\)"),
        (lambda x: scipy.special.struve(0.5, x), r"^struve\(\)"),
    ],
)
def test_a_function_without_counterpart_raises_at_once_and_names_itself(function, name):
    with pytest.raises(TypeError, match=name + " has no counterpart.*x.detach"):
        function(rg.ones(2, requires_grad=True))


def test_a_function_without_counterpart_runs_where_no_gradient_is_lost():
    values = [0.0, 2.0]
    assert np.roots(rg.tensor([1.0, -2.0])).tolist() == [2.0]
    spaces = np.spacing(rg.tensor(values))
    assert isinstance(spaces, rg.Tensor)
    assert spaces.tolist() == np.spacing(np.array(values, np.float32)).tolist()
    target = np.zeros(2)
    np.add.at(target, [0, 1], rg.tensor(values))
    assert target.tolist() == values


def test_a_tangent_is_not_lost_either():
    with pytest.raises(TypeError, match="gradient would be lost"):
        rg.func.jvp(np.spacing, (rg.ones(2),), (rg.ones(2),))


@pytest.mark.parametrize(
    "call",
    [
        lambda x: np.sum(x, where=[True, False]),
        lambda x: np.sum(x, initial=1.0),
        lambda x: np.add(x, x, where=np.array([True, False])),
        lambda x: np.reshape(x, (2, 1), order="F"),
    ],
)
def test_an_argument_without_counterpart_raises_and_names_itself(call):
    with pytest.raises(TypeError, match=r"does not take (where|initial|order)="):
        call(rg.ones(2, requires_grad=True))


def test_arguments_that_say_what_happens_anyway_are_taken():
    x = rg.tensor(X)
    np.testing.assert_allclose(np.sum(x, axis=None, out=None, dtype=None).numpy(), X.sum())
    np.testing.assert_allclose(np.add(x, 1, where=True, casting="same_kind").numpy(), X + 1)


def test_foreign_operands_are_left_to_themselves():
    class Foreign:
        __array_ufunc__ = None

        def __rmul__(self, other):
            return "foreign"

    with pytest.raises(TypeError, match="all returned NotImplemented from __array_ufunc__"):
        np.multiply(rg.ones(2), object())
    assert np.ones(2) * Foreign() == "foreign"


def test_array_conversion_refuses_a_gradient():
    x = rg.ones(2, requires_grad=True)
    for convert in (np.array, np.asarray):
        with pytest.raises(RuntimeError, match=r"Use tensor.detach\(\).numpy\(\) instead"):
            convert(x)
    assert np.asarray(x.detach()).tolist() == [1.0, 1.0]


def test_array_conversion_shares_memory_unless_told_otherwise():
    x = rg.zeros(2)
    shared, copied = np.asarray(x), np.array(x)
    x[0] = 1.0
    assert shared.tolist() == [1.0, 0.0]
    assert copied.tolist() == [0.0, 0.0]
    assert np.asarray(x, np.float64).dtype == np.float64
    assert not np.shares_memory(np.array(x, copy=True), x.numpy())
    assert np.shares_memory(np.array(x, copy=False), x.numpy())
    with pytest.raises(ValueError, match="copy"):
        np.array(x, np.float64, copy=False)


def test_memory_is_shared_between_tensors_and_arrays_as_in_pytorch():
    array = np.zeros(2, np.float32)
    for make in (rg.from_numpy, rg.as_tensor, rg.asarray):
        assert np.shares_memory(make(array).numpy(), array)
    assert not np.shares_memory(rg.tensor(array).numpy(), array)
    assert not np.shares_memory(rg.as_tensor(array, dtype=rg.float64).numpy(), array)
    x = rg.zeros(2, requires_grad=True)
    assert np.shares_memory(x.numpy(force=True), x.detach().numpy())
    with pytest.raises(RuntimeError, match="requires grad"):
        x.numpy()


# The counterparts that no case above calls, nor the table of `test_numpy_functions.py`.
BY_NAME = ["min", "all", "any", "argmin", "matrix_transpose", "zeros_like", "ones_like",
           "atleast_1d", "atleast_2d", "flipud", "diagflat", "argwhere", "round", "nanmedian",
           "flatnonzero", "isrealobj", "amax", "around", "fix", "cumulative_sum",
           "cumulative_prod", "unstack", "argmax", "argsort", "nonzero", "count_nonzero", "angle",
           "iscomplexobj", "ndim", "size", "shape"]  # fmt: skip
OF_MATRICES = ["matrix_rank", "eig", "eigvals", "matrix_norm", "diagonal", "svdvals", "trace"]
OF_WAVES = ["hfft", "ifft", "ifftn", "ifftshift", "ihfft", "irfftn", "rfftn", "ifft2", "irfft2",
            "rfft2"]  # fmt: skip
STEADY = {"cumulative_sum", "cumulative_prod"}  # of one dimension where no axis is given
OTHERS = {
    **{name: (getattr(np, name), VECTOR if name in STEADY else X) for name in BY_NAME},
    **{f"linalg.{name}": (getattr(np.linalg, name), SQUARE) for name in OF_MATRICES},
    **{
        f"fft.{name}": (getattr(np.fft, name), VECTOR if name == "ihfft" else X)
        for name in OF_WAVES
    },
    "empty_like": (lambda x: np.empty_like(x).shape, X),
    "isclose": (lambda x: np.isclose(x, X[0]), X),
    "allclose": (lambda x: np.allclose(x, X), X),
    "isin": (lambda x: np.isin(x, [0.7, 2.1]), X),
    "searchsorted": (lambda x: np.searchsorted(np.sort(x), [0.6, 2.5]), VECTOR),
    "nanquantile": (lambda x: np.nanquantile(x, 0.3, axis=1), X),
    "broadcast_arrays": (lambda x: np.broadcast_arrays(x, ROW), X),
    "astype": (lambda x: np.astype(x, np.complex64), X),
    "tensorinv": (lambda x: np.linalg.tensorinv(x, ind=1), SQUARE),
    "tensorsolve": (lambda x: np.linalg.tensorsolve(x, VECTOR), SQUARE),
    "linalg.cross": (lambda x: np.linalg.cross(x, VECTOR), X),
    "linalg.matmul": (lambda x: np.linalg.matmul(x, SQUARE), X),
    "linalg.outer": (lambda x: np.linalg.outer(x, VECTOR), VECTOR),
    "linalg.tensordot": (lambda x: np.linalg.tensordot(x, SQUARE, axes=1), X),
    "linalg.vecdot": (lambda x: np.linalg.vecdot(x, VECTOR), X),
}


def parts(found):
    """What a function gave, as arrays."""
    several = found if isinstance(found, (tuple, list)) else [found]
    return [np.asarray(t.detach() if isinstance(t, rg.Tensor) else t) for t in several]


@pytest.mark.parametrize("name", OTHERS)
def test_other_counterparts_give_what_numpy_gives(name):
    function, value = OTHERS[name]
    found = parts(function(rg.tensor(value, requires_grad=True)))
    for mine, expected in zip(found, parts(function(value)), strict=True):
        np.testing.assert_allclose(mine, expected, rtol=1e-10, atol=1e-12)


def test_every_counterpart_is_called(monkeypatch):
    asked = {np.array_repr, np.array_str, np.array2string}  # texts, which are a tensor's own

    class Asked(dict):
        def get(self, function):
            asked.add(function)
            return super().get(function)

    monkeypatch.setattr(interop, "FUNCTIONS", Asked(FUNCTIONS))
    for function, value, *_ in (*CASES.values(), *OTHERS.values(), *TABLE.values()):
        function(rg.tensor(value, requires_grad=True))
    assert sorted(f.__name__ for f in FUNCTIONS.keys() - asked) == []


def test_texts_are_those_of_the_tensor():
    x = rg.tensor([1.0, 2.0])
    assert np.array_str(x) == np.array2string(x) == str(x)


@pytest.mark.parametrize("operator", ["add", "sub", "mul", "truediv", "pow", "matmul"])
def test_an_array_on_the_right_counts_as_a_tensor(operator):
    x = rg.tensor([[1.0, 2.0], [3.0, 4.0]], dtype=rg.float64, requires_grad=True)
    array = np.array([[0.5, 1.5], [2.5, 3.5]])
    function = getattr(operator_module, operator)
    found, expected = function(x, array), function(x, rg.tensor(array))
    assert found.tolist() == expected.tolist()
    (g,) = rg.autograd.grad(found.sum(), x)
    assert g.tolist() == rg.autograd.grad(expected.sum(), x)[0].tolist()
