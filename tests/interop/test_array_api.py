"""The array API standard 2024.12: complete, NumPy's values, the standard's dtypes, and gradients.

Expected values are NumPy's, which follows the standard.
"""

from __future__ import annotations

import doctest
import inspect
import itertools

import numpy as np
import pytest

import retrograd as rg
from retrograd.autograd import gradcheck

xp = rg.ones(1).__array_namespace__()


def words(text):
    """The words of a text."""
    return text.split()


NAMES = words("""
e inf nan newaxis pi arange asarray empty empty_like eye from_dlpack full full_like linspace
meshgrid ones ones_like tril triu zeros zeros_like astype can_cast finfo iinfo isdtype
result_type bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64 complex64
complex128 abs acos acosh add asin asinh atan atan2 atanh bitwise_and bitwise_left_shift
bitwise_invert bitwise_or bitwise_right_shift bitwise_xor ceil clip conj copysign cos cosh
divide equal exp expm1 floor floor_divide greater greater_equal hypot imag isfinite isinf isnan
less less_equal log log1p log2 log10 logaddexp logical_and logical_not logical_or logical_xor
maximum minimum multiply negative nextafter not_equal positive pow real reciprocal remainder
round sign signbit sin sinh square sqrt subtract tan tanh trunc take take_along_axis
__array_namespace_info__ matmul matrix_transpose tensordot vecdot broadcast_arrays broadcast_to
concat expand_dims flip moveaxis permute_dims repeat reshape roll squeeze stack tile unstack
argmax argmin count_nonzero nonzero searchsorted where unique_all unique_counts unique_inverse
unique_values argsort sort cumulative_prod cumulative_sum max mean min prod std sum var all any
diff linalg fft __array_api_version__
""")
LINALG = words("""
cholesky cross det diagonal eigh eigvalsh inv matmul matrix_norm matrix_power matrix_rank
matrix_transpose outer pinv qr slogdet solve svd svdvals tensordot trace vecdot vector_norm
""")
FFT = words("""
fft ifft fftn ifftn rfft irfft rfftn irfftn hfft ihfft fftfreq rfftfreq fftshift ifftshift
""")
ATTRIBUTES = words("""
dtype device mT ndim shape size T __abs__ __add__ __and__ __array_namespace__ __bool__
__complex__ __dlpack__ __dlpack_device__ __eq__ __float__ __floordiv__ __ge__ __getitem__ __gt__
__index__ __int__ __invert__ __le__ __lshift__ __lt__ __matmul__ __mod__ __mul__ __ne__ __neg__
__or__ __pos__ __pow__ __rshift__ __setitem__ __sub__ __truediv__ __xor__ to_device __iadd__
__radd__ __isub__ __rsub__ __imul__ __rmul__ __itruediv__ __rtruediv__ __ifloordiv__
__rfloordiv__ __ipow__ __rpow__ __imod__ __rmod__ __rmatmul__ __iand__ __rand__
__ior__ __ror__ __ixor__ __rxor__ __ilshift__ __rlshift__ __irshift__ __rrshift__
""")

INTEGERS = [xp.int8, xp.int16, xp.int32, xp.int64, xp.uint8, xp.uint16, xp.uint32, xp.uint64]
NUMERIC = [*INTEGERS, xp.float32, xp.float64, xp.complex64, xp.complex128]
M = np.random.default_rng(0).standard_normal((2, 3, 4))


def test_the_namespace_is_complete():
    assert set(xp.__all__) == {*NAMES}
    for place, names in ((xp, NAMES), (xp.linalg, LINALG), (xp.fft, FFT), (rg.Tensor, ATTRIBUTES)):
        assert [name for name in names if not hasattr(place, name)] == []
    assert set(xp.linalg.__all__) == {*LINALG}
    assert set(xp.fft.__all__) == {*FFT}


@pytest.mark.parametrize("space", [xp, xp.linalg, xp.fft], ids=lambda s: s.__name__)
def test_generated_functions_are_documented_and_their_examples_run(space):
    parser = doctest.DocTestParser()
    for name in space.__all__:
        function = getattr(space, name)
        if inspect.isfunction(function):
            assert function.__doc__
            if "array_api" in function.__module__:
                test = parser.get_doctest(function.__doc__, {"rg": rg, "np": np}, name, None, 0)
                failed, tried = doctest.DocTestRunner().run(test)
                assert tried
                assert not failed


def test_the_namespace_is_found_and_checks_the_version():
    x = rg.ones(2)
    assert x.__array_namespace__() is xp
    assert x.__array_namespace__(api_version="2024.12") is xp
    assert xp.__array_api_version__ == "2024.12"
    with pytest.raises(ValueError, match="not implemented"):
        x.__array_namespace__(api_version="1999.01")


def test_arrays_say_where_they_are():
    x = rg.ones(2)
    info = xp.__array_namespace_info__()
    assert info.devices() == [x.device] == [info.default_device()]
    assert x.to_device(x.device) is x
    assert info.capabilities()["boolean indexing"]
    assert info.default_dtypes(device=x.device) == {
        "real floating": xp.float32,
        "complex floating": xp.complex64,
        "integral": xp.int64,
        "indexing": xp.int64,
    }
    assert list(info.dtypes(kind="real floating")) == ["float32", "float64"]
    assert list(info.dtypes(kind=("bool", "unsigned integer")))[:2] == ["bool", "uint8"]
    assert set(info.dtypes().values()) == {xp.bool, *NUMERIC}
    with pytest.raises(ValueError, match="no kind"):
        info.dtypes(kind="floating")
    with pytest.raises(ValueError, match="no streams"):
        x.to_device("cpu", stream=1)


# -- dtypes --------------------------------------------------------------------------------------

PROMOTED = [
    (a, b)
    for a, b in itertools.product(NUMERIC, NUMERIC)
    if xp.can_cast(a, b)
    or xp.can_cast(b, a)
    or (a in INTEGERS and b in INTEGERS and {a, b} & {xp.uint64} == set())
    or ("complex" in a.name + b.name and not {a, b} & {*INTEGERS})
]


@pytest.mark.parametrize(("a", "b"), PROMOTED, ids=str)
def test_dtypes_promote_as_the_standard_says_whatever_the_dimensions(a, b):
    expected = rg.from_numpy(np.empty(0, np.promote_types(a.numpy, b.numpy))).dtype
    assert xp.result_type(a, b) is expected
    vector, number = xp.ones(2, dtype=a), xp.asarray(1, dtype=b)
    for found in (
        xp.add(vector, number),
        xp.multiply(number, vector),
        xp.where(xp.asarray(True), vector, number),
    ):
        assert found.dtype is expected
    assert xp.concat([vector, xp.ones(1, dtype=b)]).dtype is expected


def test_can_cast_follows_promotion_within_a_kind():
    assert xp.can_cast(xp.int8, xp.int16)
    assert not xp.can_cast(xp.int16, xp.int8)
    assert not xp.can_cast(xp.int8, xp.uint8)
    assert xp.can_cast(xp.uint8, xp.int16)
    assert xp.can_cast(xp.float32, xp.complex64)
    assert not xp.can_cast(xp.int32, xp.float64)
    assert xp.can_cast(rg.ones(2), xp.float64)


def test_result_type_takes_arrays_dtypes_and_scalars():
    assert xp.result_type(rg.ones(2), xp.float64) is xp.float64
    assert xp.result_type(xp.int8, 3) is xp.int8
    assert xp.result_type(xp.float32, 3.0, 1j) is xp.complex64
    with pytest.raises(ValueError, match="at least one array"):
        xp.result_type(1, 2.0)


def test_limits_of_dtypes():
    assert xp.finfo(rg.ones(1)).eps == 2.0**-23
    assert xp.finfo(xp.complex128).dtype is xp.float64
    assert xp.iinfo(xp.uint8).max == 255
    assert xp.iinfo(xp.int16).dtype is xp.int16
    assert xp.isdtype(xp.float32, ("integral", "real floating"))
    assert xp.isdtype(xp.float32, xp.float32)
    assert not xp.isdtype(xp.bool, "numeric")
    with pytest.raises(ValueError, match="no kind"):
        xp.isdtype(xp.bool, "boolean")


def test_astype_copies_and_refuses_to_drop_an_imaginary_part():
    x = rg.ones(2)
    assert xp.astype(x, xp.float32, copy=False) is x
    assert xp.astype(x, xp.float32).data_ptr() != x.data_ptr()
    with pytest.raises(TypeError, match=r"xp.real\(x\)"):
        xp.astype(rg.ones(1, dtype=rg.complex64), xp.float32)


# -- values --------------------------------------------------------------------------------------

SPECIAL = np.array([0.0, -0.0, 1, -1, 0.5, -2, np.inf, -np.inf, np.nan, 3, 1e-30])
UNARY = words("""
abs acos acosh asin asinh atan atanh ceil cos cosh exp expm1 floor isfinite isinf isnan log
log1p log2 log10 negative positive reciprocal round sign signbit sin sinh sqrt square tan tanh
trunc
""")
BINARY = words("""
add atan2 copysign divide equal floor_divide greater greater_equal hypot less less_equal
logaddexp maximum minimum multiply nextafter not_equal pow remainder subtract
""")


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", UNARY)
def test_functions_of_one_array_keep_special_values(name):
    expected, found = getattr(np, name)(SPECIAL), getattr(xp, name)(rg.tensor(SPECIAL))
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-14)
    zero = expected == 0
    np.testing.assert_array_equal(np.signbit(found.numpy()[zero]), np.signbit(expected[zero]))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", BINARY)
def test_functions_of_two_arrays_keep_special_values_and_take_scalars(name):
    function, reference = getattr(xp, name), getattr(np, name)
    x = rg.tensor(SPECIAL)
    expected = reference(SPECIAL[:, None], SPECIAL)
    np.testing.assert_allclose(function(x[:, None], x).numpy(), expected, rtol=1e-14)
    for scalar in (2.0, -1):
        np.testing.assert_allclose(function(x, scalar).numpy(), reference(SPECIAL, float(scalar)))
        np.testing.assert_allclose(function(scalar, x).numpy(), reference(float(scalar), SPECIAL))
    assert function(xp.ones(2), 1).dtype is function(xp.ones(2), xp.ones(2)).dtype
    with pytest.raises(TypeError, match="at least one tensor"):
        function(1.0, 2.0)


@pytest.mark.parametrize("name", ["bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_left_shift"])
def test_functions_of_bits(name):
    a, b = np.array([5, 12, 7], np.uint8), np.array([1, 2, 3], np.uint8)
    found = getattr(xp, name)(rg.tensor(a), rg.tensor(b))
    assert found.tolist() == getattr(np, name)(a, b).tolist()
    assert found.dtype is xp.uint8


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("axis", [None, 0, -1, (0, 2), ()], ids=str)
@pytest.mark.parametrize("name", ["sum", "prod", "max", "min", "mean", "std", "var", "all", "any"])
def test_reductions_over_any_axes(name, axis, keepdims):
    options = {"axis": axis, "keepdims": keepdims}
    found = getattr(xp, name)(rg.tensor(M), **options)
    np.testing.assert_allclose(found.numpy(), getattr(np, name)(M, **options), rtol=1e-12)


def test_sums_of_integers_have_64_bits():
    for dtype in INTEGERS:
        wide = xp.uint64 if dtype.name[0] == "u" else xp.int64
        x = xp.ones((2, 2), dtype=dtype)
        found = xp.sum(x), xp.prod(x, axis=0), xp.cumulative_sum(x[0])
        assert [t.dtype for t in found] == [wide] * 3
        assert [t.tolist() for t in found] == [4, [1, 1], [1, 2]]
    assert xp.sum(xp.ones(2, dtype=xp.float32)).dtype is xp.float32
    assert xp.sum(xp.ones(2, dtype=xp.int8), dtype=xp.int8).dtype is xp.int8


def test_var_and_std_take_a_correction():
    x = rg.tensor(M)
    np.testing.assert_allclose(xp.var(x, axis=1, correction=1).numpy(), M.var(1, ddof=1))
    np.testing.assert_allclose(xp.std(x, correction=0.5).numpy(), M.std(ddof=0.5))


def test_running_sums_may_start_from_nothing():
    x = rg.tensor(M)
    found = xp.cumulative_sum(x, axis=1, include_initial=True)
    assert found.shape == (2, 4, 4)
    np.testing.assert_allclose(found[:, 1:].numpy(), M.cumsum(1))
    assert xp.cumulative_prod(xp.asarray([2, 3]), include_initial=True).tolist() == [1, 2, 6]
    with pytest.raises(ValueError, match="axis may be left out only for a 1-D"):
        xp.cumulative_sum(x)


def test_creation():
    assert xp.arange(5, 1, -2).tolist() == [5, 3]
    assert xp.arange(1, 5, -1).shape == (0,)
    assert xp.linspace(0, 1, 0).shape == (0,)
    assert xp.eye(2, k=-1).tolist() == [[0, 0], [1, 0]]
    assert xp.full((2,), True).dtype is xp.bool
    assert xp.zeros((), dtype=xp.int8).shape == ()
    assert [g.shape for g in xp.meshgrid(xp.ones(2), xp.ones(3))] == [(3, 2), (3, 2)]
    assert xp.meshgrid() == []
    array = np.zeros(2)
    assert np.shares_memory(xp.asarray(array).numpy(), array)
    assert not np.shares_memory(xp.asarray(array, copy=True).numpy(), array)
    with pytest.raises(ValueError, match="alias"):
        xp.asarray([1.0], copy=False)


@pytest.mark.parametrize("args", [(3, 0.5), (0, 0.0), (0, 1, -1.0), (0.0,)])
def test_an_empty_range_has_the_dtype_of_its_numbers(args):
    assert xp.arange(*args).dtype is rg.float32
    assert xp.arange(*args).shape == (0,)


def test_vecdot_refuses_vectors_of_different_lengths():
    assert xp.vecdot(xp.ones((2, 3)), xp.ones(3)).tolist() == [3.0, 3.0]
    with pytest.raises(ValueError, match=r"different lengths.*\[3\] and \[1\]"):
        xp.vecdot(xp.ones(3), xp.ones(1))


def test_to_device_has_the_signature_of_the_standard():
    self, device, stream = inspect.signature(rg.Tensor.to_device).parameters.values()
    assert (self.kind, device.kind) == (device.POSITIONAL_ONLY, device.POSITIONAL_ONLY)
    assert (stream.name, stream.kind, stream.default) == ("stream", stream.KEYWORD_ONLY, None)


def test_asarray_takes_whatever_exports_dlpack():
    class Foreign:
        def __init__(self):
            self._array = np.arange(3)
            self.__dlpack_device__ = self._array.__dlpack_device__

        def __dlpack__(self, **wishes):
            return self._array.__dlpack__(**wishes)

    assert xp.asarray(Foreign()).tolist() == [0, 1, 2]


def test_shapes():
    x = rg.tensor(M)
    assert xp.expand_dims(x, axis=-1).shape == (2, 3, 4, 1)
    assert xp.squeeze(x[:, :1], 1).shape == (2, 4)
    with pytest.raises(ValueError, match="not 1"):
        xp.squeeze(x, axis=0)
    assert xp.concat([x, x], axis=None).shape == (48,)
    assert xp.stack([x, x], axis=-1).shape == (2, 3, 4, 2)
    assert [y.shape for y in xp.unstack(x, axis=2)] == [(2, 3)] * 4
    np.testing.assert_array_equal(xp.flip(x).numpy(), np.flip(M))
    np.testing.assert_array_equal(
        xp.roll(x, (1, -1), axis=(0, 2)).numpy(), np.roll(M, (1, -1), (0, 2))
    )
    np.testing.assert_array_equal(xp.roll(x, 1, axis=(0, 2)).numpy(), np.roll(M, 1, (0, 2)))
    np.testing.assert_array_equal(xp.repeat(x, 2).numpy(), np.repeat(M, 2))
    np.testing.assert_array_equal(xp.tile(x, (2, 1, 1, 2)).numpy(), np.tile(M, (2, 1, 1, 2)))
    np.testing.assert_array_equal(xp.permute_dims(x, (2, 0, 1)).numpy(), M.transpose(2, 0, 1))
    assert xp.reshape(x, (4, -1), copy=True).data_ptr() != x.data_ptr()
    assert xp.reshape(x, (4, -1), copy=False).data_ptr() == x.data_ptr()
    with pytest.raises(ValueError, match="copy=False"):
        xp.reshape(x.mT, (-1,), copy=False)


def test_sorting_and_searching():
    x = xp.asarray([3.0, 1.0, 2.0, 1.0])
    assert xp.sort(x, descending=True).tolist() == [3, 2, 1, 1]
    assert xp.argsort(x).tolist() == [1, 3, 2, 0]
    assert xp.argsort(x, descending=True).tolist() == [0, 2, 1, 3]
    assert xp.argmax(rg.tensor(M), keepdims=True).shape == (1, 1, 1)
    assert xp.searchsorted(x, x, sorter=xp.argsort(x)).tolist() == [3, 0, 2, 0]
    assert xp.searchsorted(xp.sort(x), x, side="right").tolist() == [4, 2, 3, 2]
    assert xp.count_nonzero(xp.asarray([[0, 1], [2, 3]]), axis=0, keepdims=True).tolist() == [
        [1, 2]
    ]
    assert xp.where(x > 1.5, x, 0).tolist() == [3, 0, 2, 0]
    with pytest.raises(ValueError, match="0-d"):
        xp.nonzero(xp.asarray(1))


def test_sets_keep_every_nan():
    x = xp.asarray([[np.nan, 1.0], [1.0, np.nan]])
    found = xp.unique_all(x)
    assert found._fields == ("values", "indices", "inverse_indices", "counts")
    assert found.values.shape == (3,)
    assert found.counts.tolist() == [2, 1, 1]
    assert found.inverse_indices.shape == (2, 2)
    assert xp.unique_inverse(xp.asarray([3, 1, 3])).inverse_indices.tolist() == [1, 0, 1]


def test_indexing_functions_count_from_the_end_too():
    x = rg.tensor(M)
    np.testing.assert_array_equal(xp.take(x, xp.asarray([-1, 0]), axis=1).numpy(), M[:, [-1, 0]])
    places = np.array([[[-1], [0], [1]]])
    found = xp.take_along_axis(x, rg.tensor(places), axis=2)
    np.testing.assert_array_equal(found.numpy(), np.take_along_axis(M, places, 2))
    with pytest.raises(ValueError, match="1-D"):
        xp.take(x, xp.asarray([0]))
    with pytest.raises(IndexError, match="axis 3 of an array with 3 dimensions"):
        xp.take(x, xp.asarray([0]), axis=3)


def test_linear_algebra_agrees_with_numpy():
    a = M[:, :, :3] @ M[:, :, :3].mT
    x = rg.tensor(a)
    for name in ("cholesky", "det", "inv", "eigvalsh", "pinv", "trace", "matrix_rank"):
        found = getattr(xp.linalg, name)(x).numpy()
        np.testing.assert_allclose(found, getattr(np.linalg, name)(a), rtol=1e-8)
    b = rg.tensor(M[0])
    np.testing.assert_allclose(xp.linalg.solve(x, b).numpy(), np.linalg.solve(a, M[0]), rtol=1e-7)
    np.testing.assert_allclose(
        xp.linalg.solve(x, b[:, 0]).numpy(), np.linalg.solve(a, M[0][:, 0]), rtol=1e-7
    )
    assert xp.linalg.solve(x[0], b).shape == (3, 4)
    assert xp.linalg.svd(b, full_matrices=False)._fields == ("U", "S", "Vh")
    assert xp.linalg.eigh(x)._fields == ("eigenvalues", "eigenvectors")
    assert xp.linalg.slogdet(x)._fields == ("sign", "logabsdet")
    assert xp.linalg.qr(b)._fields == ("Q", "R")
    with pytest.raises(ValueError, match="mode must be"):
        xp.linalg.qr(b, mode="raw")
    z = M[0] + 1j * M[1]
    np.testing.assert_allclose(
        xp.vecdot(rg.tensor(z), rg.tensor(M[0]), axis=0).numpy(), np.vecdot(z.T, M[0].T)
    )
    np.testing.assert_allclose(
        xp.linalg.vector_norm(rg.tensor(M), axis=(0, 2), ord=3).numpy(),
        (np.abs(M) ** 3).sum((0, 2)) ** (1 / 3),
    )
    assert xp.linalg.vector_norm(rg.tensor(M), keepdims=True).shape == (1, 1, 1)


@pytest.mark.parametrize("name", FFT[:10])
def test_fourier_transforms_agree_with_numpy(name):
    options = [{}, {"norm": "ortho"}]
    options += [{"axes": (0, 1)}] if name.endswith("n") else [{"axis": 1, "n": 5}]
    for given in options:
        found = getattr(xp.fft, name)(rg.tensor(M), **given).numpy()
        np.testing.assert_allclose(found, getattr(np.fft, name)(M, **given), atol=1e-12)


def test_complex_and_empty_arrays_pass():
    z = M[0] + 1j * M[1]
    x = rg.tensor(z)
    np.testing.assert_array_equal(xp.round(x).numpy(), np.round(z))
    np.testing.assert_allclose(xp.sign(x).numpy(), np.sign(z))
    np.testing.assert_allclose(xp.var(x, axis=0).numpy(), z.var(0))
    empty = xp.zeros((0, 3))
    assert xp.sum(empty).item() == 0
    assert xp.prod(empty, axis=0).tolist() == [1, 1, 1]
    assert xp.unique_values(empty).shape == (0,)
    assert xp.concat([empty, empty]).shape == (0, 3)


# -- gradients -----------------------------------------------------------------------------------

RECORDED = {
    "binary": lambda x: xp.divide(2.0, xp.hypot(x, 1.0)),
    "mixed": lambda x: xp.multiply(x, xp.asarray(2.0, dtype=xp.float32)),
    "clip": lambda x: xp.clip(x, -0.5, xp.asarray(0.8)),
    "sum": lambda x: xp.sum(x, axis=(0, 2), keepdims=True),
    "sum of nothing": lambda x: xp.sum(x, axis=()),
    "prod": lambda x: xp.prod(x, axis=(0, 1)),
    "max": lambda x: xp.max(x, axis=(1, 2)),
    "var": lambda x: xp.var(x, axis=0, correction=0.5),
    "cumulative_prod": lambda x: xp.cumulative_prod(x, axis=1, include_initial=True),
    "diff": lambda x: xp.diff(x, axis=0, append=x),
    "sort": lambda x: xp.sort(x, descending=True),
    "unique_values": lambda x: xp.unique_values(x),
    "take": lambda x: xp.take(x, xp.asarray([2, -1, 2]), axis=1),
    "take_along_axis": lambda x: xp.take_along_axis(x, xp.asarray([[[-1]], [[0]]]), axis=2),
    "where": lambda x: xp.where(x > 0, x, -1),
    "repeat": lambda x: xp.repeat(x, xp.asarray([1, 0, 2]), axis=1),
    "tile": lambda x: xp.tile(x, (2, 1, 1)),
    "concat": lambda x: xp.concat([x, xp.ones(2)], axis=None),
    "tensordot": lambda x: xp.tensordot(x, x, axes=((1, 2), (1, 2))),
    "vecdot": lambda x: xp.vecdot(x, 2 * x, axis=1),
    "cross": lambda x: xp.linalg.cross(x, rg.tensor(M[0]), axis=-2),
    "trace": lambda x: xp.linalg.trace(x, offset=1),
    "solve": lambda x: xp.linalg.solve(x @ x.mT, x),
    "vector_norm": lambda x: xp.linalg.vector_norm(x, axis=(0, 1)),
    "matrix_norm": lambda x: xp.linalg.matrix_norm(x, ord="nuc"),
    "pinv": lambda x: xp.linalg.pinv(x),
    "fftn": lambda x: xp.fft.fftn(x, axes=(0, 2)),
    "irfft": lambda x: xp.fft.irfft(x, axis=0, n=4),
    "astype": lambda x: xp.astype(x, xp.complex128) * 1j,
}


@pytest.mark.parametrize("name", RECORDED)
def test_functions_are_recorded(name):
    x = rg.tensor(M, requires_grad=True)
    assert gradcheck(RECORDED[name], (x,))


def test_one_body_runs_in_every_namespace():
    def softmax(x):
        space = x.__array_namespace__()
        shifted = space.exp(x - space.max(x, axis=-1, keepdims=True))
        return shifted / space.sum(shifted, axis=-1, keepdims=True)

    x = rg.tensor(M, requires_grad=True)
    np.testing.assert_allclose(softmax(x).detach().numpy(), softmax(M))
    assert gradcheck(softmax, (x,))


@pytest.mark.parametrize(("axis", "error"), [((0, 0), RuntimeError), ((0, 5), IndexError)])
def test_axes_of_a_product_are_there_and_different(axis, error):
    with pytest.raises(error, match=r"[dD]im"):
        xp.prod(xp.ones((2, 3)), axis=axis)


def test_a_new_axis_has_one_place():
    with pytest.raises(RuntimeError, match="dim 0 appears multiple times"):
        xp.expand_dims(xp.ones(3), axis=(0, -3))


def test_running_sums_of_a_0d_array_are_those_of_one_element():
    assert xp.cumulative_sum(xp.asarray(3), include_initial=True).tolist() == [0, 3]
    assert xp.cumulative_prod(xp.asarray(3), axis=-1).tolist() == [3]


@pytest.mark.parametrize(
    ("shift", "axis"), [(1, None), ((1, 2), None), ((1, 2), 1), (2, (0, 1)), ((1, 1), (0, 0))]
)
def test_shifts_and_axes_go_in_pairs(shift, axis):
    np.testing.assert_array_equal(xp.roll(rg.tensor(M), shift, axis=axis), np.roll(M, shift, axis))


def test_complex_numbers_are_clipped_in_numpys_order():
    z = np.array([1 + 2j, -1 - 3j, 0.2 + 0.1j, 0.5 + 9j])
    for bounds in ((-0.5, 0.5), (None, 0.3j), (0.2, None)):
        np.testing.assert_array_equal(np.clip(rg.tensor(z), *bounds), np.clip(z, *bounds))
