"""SciPy's functions on tensors, and on callbacks that return tensors: what they give for arrays."""

from __future__ import annotations

import numpy as np
import pytest
import scipy
from scipy import (  # fmt: skip
    fft,
    integrate,
    interpolate,
    linalg,
    ndimage,
    optimize,
    signal,
    sparse,
    spatial,
    special,
    stats,
)
from scipy.cluster import hierarchy
from scipy.sparse import linalg as sparse_linalg

import retrograd as rg

START = [-1.0, 2.0]
M = [[4.0, 1.0, 0.0], [1.0, 3.0, 0.0], [0.0, 0.0, 2.0]]
V = [1.0, 2.0, 3.0]
X = np.linspace(0, 1, 7)
Y = np.exp(-2 * X) + 0.1
WAVE = np.sin(np.arange(30.0))
CORNERS = [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0], [0.4, 0.6]]
A = sparse.csr_array(M)
MATRIX = sparse.csr_matrix(M)


def tensor(values):
    return rg.tensor(np.asarray(values, float))


def valley(x):
    return ((1 - x[:-1]) ** 2 + 10 * (x[1:] - x[:-1] ** 2) ** 2).sum()


def loss(make):
    return lambda x: valley(make(x))


def with_gradient(make):
    """The valley and its gradient, which `backward` finds if `make` gives tensors."""

    def of_arrays(x):
        a = x[1] - x[0] ** 2
        return valley(x), np.array([-2 * (1 - x[0]) - 40 * x[0] * a, 20 * a])

    def of_tensors(x):
        x = tensor(x).requires_grad_()
        found = valley(x)
        found.backward()
        return found.detach(), x.grad

    return of_tensors if make is tensor else of_arrays


def curvature(x):
    return [[120 * x[0] ** 2 - 40 * x[1] + 2, -40 * x[0]], [-40 * x[0], 20.0]]


def circle(make):
    def equations(x):
        x = make(x)
        return make([x[0] ** 2 + x[1] - 3, x[0] - x[1] ** 2 + 1])

    return equations


def decay(make):
    return lambda t, y: -make(y)


def fitted(T, **options):
    model = lambda x, a, b: a * np.exp(-b * T(x))
    return optimize.curve_fit(model, T(X), T(Y), **options)[0]


def square(T):
    return lambda x: T(x) ** 2 - 2


def minimized(method, **more):
    return lambda T: optimize.minimize(loss(T), T(START), method=method, **more).x


def descended(method, of=lambda found: found.x):
    return lambda T: of(optimize.minimize(with_gradient(T), T(START), jac=True, method=method))


def curved(method):
    return lambda T: (
        optimize.minimize(
            lambda x: with_gradient(T)(x)[0],
            T([0.5, 0.5]),
            jac=lambda x: with_gradient(T)(x)[1],
            hess=lambda x: T(curvature(np.asarray(x))),
            method=method,
        ).x
    )


def operated(T):
    return sparse_linalg.LinearOperator((3, 3), lambda x: T(M) @ T(x), dtype=float)


def flow(method):
    return lambda T: integrate.solve_ivp(decay(T), (0, 1), T([1.0, 2.0]), method=method).y


CALLS = {
    **{
        f"minimize {name}": minimized(name, options={"maxiter": 20})
        for name in ["Nelder-Mead", "Powell", "CG", "BFGS", "L-BFGS-B", "TNC", "COBYLA", "SLSQP"]
    },
    "minimize trust-constr": minimized("trust-constr", options={"maxiter": 5}),
    "minimize by bounds": minimized(None, bounds=[(0, 0.8)] * 2),
    **{
        f"descend {name}": descended(name)
        for name in ["CG", "BFGS", "L-BFGS-B", "TNC", "SLSQP", "Newton-CG"]
    },
    "the gradient at the end": descended("BFGS", lambda found: found.jac),
    "the gradient at the end of L-BFGS-B": descended("L-BFGS-B", lambda found: found.jac),
    **{
        f"curvature {name}": curved(name)
        for name in ["Newton-CG", "trust-ncg", "trust-krylov", "trust-exact", "dogleg"]
    },
    "fmin_l_bfgs_b": lambda T: optimize.fmin_l_bfgs_b(with_gradient(T), T(START))[0],
    "fmin_cg": lambda T: optimize.fmin_cg(
        loss(T), T(START), lambda x: with_gradient(T)(x)[1], disp=False
    ),
    "approx_fprime": lambda T: optimize.approx_fprime(T(START), loss(T)),
    "check_grad": lambda T: np.asarray(
        optimize.check_grad(loss(T), lambda x: with_gradient(T)(x)[1], np.array(START)) < 1e-5
    ),
    **{
        f"root {name}": lambda T, name=name: optimize.root(circle(T), T([1.0, 1.0]), method=name).x
        for name in ["hybr", "lm", "krylov", "df-sane"]
    },
    **{
        f"least_squares {name}": lambda T, name=name: (
            optimize.least_squares(circle(T), T([1.0, 1.0]), method=name).x
        )
        for name in ["trf", "dogbox", "lm"]
    },
    "fsolve": lambda T: optimize.fsolve(circle(T), T([1.0, 1.0])),
    "leastsq": lambda T: optimize.leastsq(circle(T), T([1.0, 1.0]))[0],
    "curve_fit": fitted,
    "curve_fit by bounds": lambda T: fitted(T, bounds=(0, 10)),
    **{
        name: lambda T, name=name: np.asarray(getattr(optimize, name)(square(T), 0, 2))
        for name in ["brentq", "brenth", "bisect", "ridder"]
    },
    "root_scalar": lambda T: np.asarray(optimize.root_scalar(square(T), bracket=(0, 2)).root),
    "fixed_point": lambda T: optimize.fixed_point(lambda x: np.cos(T(x)), T([0.5])),
    "linprog": lambda T: (
        optimize.linprog(
            T([-1.0, 4.0]), T([[-3.0, 1.0], [1.0, 2.0]]), T([6.0, 4.0]), bounds=[(-9, 9), (-3, 9)]
        ).x
    ),
    "nnls": lambda T: optimize.nnls(T(M), T(V))[0],
    "lsq_linear": lambda T: optimize.lsq_linear(T(M), T(V)).x,
    "quad": lambda T: np.asarray(integrate.quad(lambda x: np.exp(-T(x)), 0, 1)[0]),
    **{f"solve_ivp {m}": flow(m) for m in ["RK23", "RK45", "DOP853", "Radau", "BDF", "LSODA"]},
    "odeint": lambda T: integrate.odeint(lambda y, t: -T(y), T([1.0, 2.0]), T([0.0, 0.5, 1.0])),
    "simpson": lambda T: np.asarray(integrate.simpson(T(Y), T(X))),
    "cumulative_trapezoid": lambda T: integrate.cumulative_trapezoid(T(Y), T(X)),
    "CubicSpline": lambda T: interpolate.CubicSpline(T(X), T(Y))(T([0.3])),
    "interp1d": lambda T: interpolate.interp1d(T(X), T(Y))(T([0.3])),
    "splev": lambda T: interpolate.splev(T([0.3]), interpolate.splrep(T(X), T(Y))),
    "griddata": lambda T: interpolate.griddata(T(CORNERS), T(Y[:5]), T([[0.5, 0.4]])),
    "csr.dot": lambda T: MATRIX.dot(T(V)),
    "csr.dot of a matrix": lambda T: A.dot(T(M)),
    "csr @": lambda T: MATRIX @ T(V),
    "csr * a vector": lambda T: MATRIX * T(V),
    "csr.multiply": lambda T: A.multiply(T(M)).toarray(),
    "csr of": lambda T: sparse.csr_array(T(M)).toarray(),
    "spsolve": lambda T: sparse_linalg.spsolve(A, T(V)),
    "cg": lambda T: sparse_linalg.cg(A, T(V))[0],
    "gmres by an operator": lambda T: sparse_linalg.gmres(operated(T), np.array(V))[0],
    "an operator": lambda T: operated(T) @ np.array(V),
    "lsqr": lambda T: sparse_linalg.lsqr(A, T(V))[0],
    "lsmr": lambda T: sparse_linalg.lsmr(A, T(V))[0],
    **{
        f"linalg.{name}": lambda T, name=name: np.asarray(getattr(linalg, name)(T(M)))
        for name in ["inv", "det", "expm", "sqrtm", "pinv", "norm", "eigvalsh", "cholesky"]
    },
    "linalg.solve": lambda T: linalg.solve(T(M), T(V)),
    "cho_solve": lambda T: linalg.cho_solve(linalg.cho_factor(T(M)), T(V)),
    "toeplitz": lambda T: linalg.toeplitz(T(V)),
    **{
        f"signal.{name}": lambda T, name=name: getattr(signal, name)(T(WAVE), T(V))
        for name in ["convolve", "fftconvolve", "correlate", "oaconvolve"]
    },
    "lfilter": lambda T: signal.lfilter(T(V), T([1.0, 0.5]), T(WAVE)),
    "sosfiltfilt": lambda T: signal.sosfiltfilt(signal.butter(2, 0.3, output="sos"), T(WAVE)),
    "savgol_filter": lambda T: signal.savgol_filter(T(WAVE), 5, 2),
    "resample": lambda T: signal.resample(T(WAVE), 10),
    "find_peaks": lambda T: signal.find_peaks(T(WAVE))[0],
    "welch": lambda T: signal.welch(T(WAVE), nperseg=16)[1],
    "norm.pdf": lambda T: stats.norm.pdf(T(Y)),
    "norm.rvs": lambda T: stats.norm.rvs(T(Y), random_state=0),
    "gaussian_kde": lambda T: stats.gaussian_kde(T(Y))(T(X)),
    "multivariate_normal": lambda T: np.asarray(stats.multivariate_normal.pdf(T(V), T(V), T(M))),
    "pearsonr": lambda T: np.asarray(stats.pearsonr(T(X), T(Y))[0]),
    "zscore": lambda T: stats.zscore(T(Y)),
    "rankdata": lambda T: stats.rankdata(T(Y)),
    **{
        f"ndimage.{name}": lambda T, name=name: getattr(ndimage, name)(T(M))
        for name in ["sobel", "laplace", "distance_transform_edt"]
    },
    "gaussian_filter": lambda T: ndimage.gaussian_filter(T(M), 1),
    "map_coordinates": lambda T: ndimage.map_coordinates(T(M), T([[0.5], [0.5]]), order=1),
    **{
        f"fft.{name}": lambda T, name=name: getattr(fft, name)(T(M))
        for name in ["fft", "rfft", "dct", "fft2", "fftshift"]
    },
    "cdist": lambda T: spatial.distance.cdist(T(M), T(M)),
    "cosine": lambda T: np.asarray(spatial.distance.cosine(T(V), T([2.0, 1.0, 1.0]))),
    "KDTree": lambda T: np.asarray(spatial.KDTree(T(M)).query(T(V))[0]),
    "Rotation": lambda T: spatial.transform.Rotation.from_rotvec(T(V)).as_matrix(),
    "Delaunay": lambda T: spatial.Delaunay(T(CORNERS)).simplices,
    "logsumexp": lambda T: np.asarray(special.logsumexp(T(Y))),
    "softmax": lambda T: special.softmax(T(M), axis=1),
    "comb": lambda T: special.comb(T([5, 6]), 2),
    "linkage": lambda T: hierarchy.linkage(T(CORNERS)),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.filterwarnings("ignore")
def test_a_function_of_scipy_gives_for_tensors_the_arrays_it_gives_for_arrays(name):
    found, expected = CALLS[name](tensor), CALLS[name](np.asarray)
    assert isinstance(found, np.ndarray)
    assert found.dtype == expected.dtype
    gradual = name.startswith(("descend", "curvature", "minimize", "the gradient", "fmin"))
    np.testing.assert_allclose(found, expected, *((1e-4, 1e-4) if gradual else (1e-9, 1e-12)))


def test_the_jacobian_may_be_a_tensor():
    jacobian = lambda x: rg.func.jacrev(circle_of_tensors)(tensor(x))
    for function in (optimize.fsolve, lambda f, x, fprime: optimize.least_squares(f, x, fprime).x):
        found = function(circle_of_tensors, np.array([1.0, 1.0]), fprime=jacobian)
        np.testing.assert_allclose(found, [1.22778, 1.49260], 1e-4)


def circle_of_tensors(x):
    x = rg.as_tensor(x)
    return rg.stack([x[0] ** 2 + x[1] - 3, x[0] - x[1] ** 2 + 1])


ARRAYS = {
    "append": lambda x: np.append(x, 1.0),
    "atleast_1d": np.atleast_1d,
    "atleast_2d": np.atleast_2d,
    "concatenate": lambda x: np.concatenate([x, x]),
    "copy": np.copy,
    "diag": np.diag,
    "dot": lambda x: np.dot(np.eye(3), x),
    "hstack": lambda x: np.hstack([x, x]),
    "isclose": lambda x: np.isclose(x, 2.0),
    "ones_like": np.ones_like,
    "outer": lambda x: np.outer(x, x),
    "pad": lambda x: np.pad(x, 1),
    "ravel": np.ravel,
    "sort": np.sort,
    "stack": lambda x: np.stack([x, x]),
    "unique": np.unique,
    "where": lambda x: np.where(x > 1, x, 0.0),
    "fft.rfft": np.fft.rfft,
}
TENSORS = {
    "add": lambda x: np.add(x, 1.0),
    "array * tensor": lambda x: np.arange(3.0) * x,
    "exp": np.exp,
    "greater": lambda x: np.greater(x, 1.0),
    "mean": np.mean,
    "reshape": lambda x: np.reshape(x, (3, 1)),
    "sum": np.sum,
    "transpose": np.transpose,
    "linalg.inv": lambda x: np.linalg.inv(np.diag(np.arange(1.0, 4.0)) * x),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_numpys_functions_give_arrays_for_tensors_without_a_gradient(name):
    x = tensor(V)
    found = ARRAYS[name](x)
    assert type(found) is np.ndarray
    np.testing.assert_array_equal(found, ARRAYS[name](np.array(V)))
    if name not in ("isclose", "ones_like"):  # of what needs one they are recorded
        assert ARRAYS[name](x.clone().requires_grad_()).requires_grad


@pytest.mark.parametrize("name", TENSORS)
def test_ufuncs_and_what_is_a_method_give_tensors(name):
    found = TENSORS[name](tensor(V))
    assert isinstance(found, rg.Tensor)
    np.testing.assert_allclose(found.numpy(), TENSORS[name](np.array(V)), 1e-12)


def test_functions_that_give_arrays_compute_in_numpys_dtypes_on_the_tensors_memory():
    x = rg.ones(2)
    assert np.append(x, [1, 2]).dtype == np.float64
    np.atleast_1d(x)[0] = 5.0
    assert x.tolist() == [5.0, 1.0]
    with rg.no_grad():  # where nothing is recorded
        assert type(np.append(rg.ones(2, requires_grad=True), 1.0)) is np.ndarray


def test_ufuncs_without_a_gradient_take_where():
    out, some = np.zeros(3), np.array([True, False, True])
    assert np.add(tensor(V), 1.0, where=some, out=out) is out
    assert out.tolist() == [2.0, 0.0, 4.0]
    with pytest.raises(TypeError, match="does not take where="):
        np.add(tensor(V).requires_grad_(), 1.0, where=some)


def test_tensors_under_a_transform_stay_tensors():
    found = rg.vmap(lambda row: np.append(row, row))(tensor(M))
    assert found.shape == (3, 6)
    _, tangent = rg.func.jvp(lambda x: np.concatenate([x, x]), (tensor(V),), (tensor(V),))
    assert tangent.tolist() == V * 2


CONSTANT = ", or, for a constant, pass x.detach()"
ASKED = {
    "scipy.fft.fft(x)": f"scipy.fft.fft() asked for the values. Use retrograd.fft.fft{CONSTANT}",
    "scipy.signal.fftconvolve(x, x)": "Use np.convolve(x, y), which takes tensors" + CONSTANT,
    "scipy.linalg.expm(x[None] * x)": "Use retrograd.linalg.matrix_exp" + CONSTANT,
    "scipy.special.softmax(x)": "Use retrograd.special.softmax" + CONSTANT,
    "scipy.spatial.distance.cdist(x[None], x[None])": "Use retrograd.cdist" + CONSTANT,
    "scipy.ndimage.gaussian_filter(x, 1)": "scipy.ndimage.gaussian_filter() asked for the values. "
    f"Use functions of retrograd, such as retrograd.stack([x, y]) for np.array([x, y]){CONSTANT}",
    "scipy.optimize.minimize(lambda p: x.sum(), [0.0])": "scipy.optimize.minimize() asked for the "
    "values. Give it numbers: return loss.item() and x.grad.numpy()",
    "np.array([x, x])": "A function of NumPy asked for the values. Use functions of retrograd, "
    f"such as retrograd.stack([x, y]) for np.array([x, y]){CONSTANT}",
}


@pytest.mark.parametrize("call", ASKED)
def test_what_asks_for_the_values_of_a_tensor_with_a_gradient_is_named_with_its_counterpart(call):
    x = rg.ones(3, dtype=rg.float64, requires_grad=True)
    with pytest.raises(RuntimeError) as caught:
        exec(call, {"scipy": scipy, "np": np, "x": x})
    assert str(caught.value).startswith("Can't call numpy() on Tensor that requires grad. ")
    assert str(caught.value).endswith(ASKED[call])


@pytest.mark.parametrize("kind", ["float", "complex"])
def test_an_element_stored_in_an_array_warns_at_the_line_that_stores_it(kind):
    held = np.zeros(1, kind)
    x = rg.ones(1, dtype=rg.complex128 if kind == "complex" else rg.float64, requires_grad=True)
    rg.set_warn_always(True)
    try:
        with pytest.warns(UserWarning, match="to a scalar may lead to unexpected behavior") as seen:
            held[0] = x[0]
    finally:
        rg.set_warn_always(False)
    assert seen[0].filename == __file__
    assert "detach the tensor first: x.detach()" in str(seen[0].message)
    assert "retrograd.stack([x, y]) joins them" in str(seen[0].message)
