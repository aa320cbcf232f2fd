"""Factories: values, dtypes, shared memory, `out=`, and what they refuse."""

from __future__ import annotations

import array
import collections
import decimal
import fractions
import functools
import math

import numpy as np
import pytest

import retrograd as rg
from retrograd import modes
from retrograd.errors import OutOfMemoryError

FLOATS = functools.partial(array.array, "d")


@pytest.mark.parametrize(
    ("data", "dtype"),
    [
        (True, rg.bool),
        (1, rg.int64),
        (1.5, rg.float32),
        (1j, rg.complex64),
        ([1, True], rg.int64),
        ([1, 2.5], rg.float32),
        ([1.5, 1j], rg.complex64),
        ([], rg.float32),
        ([[], []], rg.float32),
        (range(3), rg.int64),
        (np.float64(1), rg.float64),
        (np.ones(2, np.float16), rg.float16),
        ([np.int32(1), np.int32(2)], rg.int32),
        ([np.float64(1), 2], rg.float64),
        ([np.ones(2), np.zeros(2)], rg.float64),
        ([rg.tensor(1), 1.5], rg.float32),
        ([rg.tensor(1.5, dtype=rg.float64), 2], rg.float64),
    ],
)
def test_the_dtype_of_data_is_inferred_as_in_pytorch(data, dtype):
    assert rg.tensor(data).dtype is dtype


def test_python_numbers_follow_the_default_dtype():
    rg.set_default_dtype(rg.float64)
    try:
        assert rg.tensor(1.5).dtype is rg.float64
        assert rg.tensor(1j).dtype is rg.complex128
        assert rg.zeros(1).dtype is rg.float64
        assert rg.arange(2.0).dtype is rg.float64
    finally:
        rg.set_default_dtype(rg.float32)


def test_tensor_copies_and_takes_dtype_and_requires_grad():
    source = np.zeros(2)
    x = rg.tensor(source, dtype=rg.float32, requires_grad=True)
    source[0] = 5
    assert x.tolist() == [0.0, 0.0]
    assert x.requires_grad
    assert x.is_leaf
    assert x.dtype is rg.float32


def test_tensor_of_a_tensor_warns_and_copies_without_history():
    x = rg.ones(2, requires_grad=True)
    with pytest.warns(UserWarning, match="To copy construct from a tensor"):
        y = rg.tensor(x)
    assert not y.requires_grad
    assert y.data_ptr() != x.data_ptr()


def test_tensors_in_a_list_are_taken_by_value_with_a_warning_for_those_that_require_grad(
    monkeypatch,
):
    monkeypatch.setattr(modes, "warned", set())
    x = rg.ones(2, requires_grad=True)
    with pytest.warns(UserWarning, match="to a scalar may lead to unexpected behavior") as seen:
        y = rg.tensor([x[0], 2 * x[1]])
    assert [warning.filename for warning in seen] == [__file__]
    assert y.tolist() == [1.0, 2.0]
    assert not y.requires_grad


@pytest.mark.parametrize(
    ("data", "settings", "error", "text"),
    [
        ([[1, 2], [3]], {}, ValueError, "expected sequence of length 2 at dim 1 .got 1."),
        ([[1, 2], 3], {}, TypeError, "not a sequence"),
        ("a", {}, TypeError, "invalid data type 'str'"),
        (["a"], {}, ValueError, "too many dimensions 'str'"),
        (None, {}, RuntimeError, "Could not infer dtype of NoneType"),
        ([None], {}, RuntimeError, "Could not infer dtype of NoneType"),
        ({1: 2}, {}, RuntimeError, "Could not infer dtype of dict"),
        ({1, 2}, {}, RuntimeError, "Could not infer dtype of set"),
        (2**63, {}, ValueError, "Overflow when unpacking long long"),
        ([1.0, 10**400], {}, OverflowError, "int too large to convert to float"),
        ([10**400], {"dtype": rg.float32}, OverflowError, "int too large to convert to float"),
        (300, {"dtype": rg.uint8}, RuntimeError, "uint8 without overflow"),
        (math.nan, {"dtype": rg.int64}, RuntimeError, "int64 without overflow"),
        ([math.inf], {"dtype": rg.int32}, RuntimeError, "int32 without overflow"),
        (1j, {"dtype": rg.float32}, TypeError, "must be real number, not complex"),
        (1.0, {"dtype": "float"}, TypeError, "'dtype' must be retrograd.dtype, not str"),
        ([1], {"requires_grad": True}, RuntimeError, "floating point and complex dtype"),
        ([1.0], {"device": "cuda"}, AssertionError, "CUDA"),
        ([1.0], {"device": "nowhere"}, RuntimeError, "device type at start of device string"),
        (np.array(["a"]), {}, TypeError, "can't convert np.ndarray of type"),
        ([rg.ones(2), rg.ones(2)], {}, ValueError, "only one element tensors"),
    ],
)
def test_tensor_refuses_bad_data(data, settings, error, text):
    with pytest.raises(error, match=text):
        rg.tensor(data, **settings)


def test_numbers_that_a_dtype_holds_are_cast():
    assert rg.tensor(-1, dtype=rg.uint8).item() == 255
    assert rg.tensor(1.9, dtype=rg.int64).item() == 1
    assert rg.tensor(3, dtype=rg.bool).item() is True
    assert rg.tensor(2**64 - 1, dtype=rg.uint64).item() == 2**64 - 1
    assert rg.tensor(1e50).item() == math.inf


def test_python_types_name_dtypes():
    assert rg.zeros(1, dtype=float).dtype is rg.float64
    assert rg.zeros(1, dtype=complex).dtype is rg.complex128
    assert rg.zeros(1, dtype=int).dtype is rg.int64
    assert rg.zeros(1, dtype=bool).dtype is rg.bool


def test_arrays_of_another_byte_order_are_converted_by_tensor_and_refused_by_from_numpy():
    swapped = np.array([1.5, 2.5], dtype=np.dtype(np.float32).newbyteorder())
    assert rg.tensor(swapped).tolist() == [1.5, 2.5]
    with pytest.raises(ValueError, match="byte order"):
        rg.from_numpy(swapped)


def test_from_numpy_shares_memory_both_ways():
    a = np.zeros(3)
    x = rg.from_numpy(a)
    a[0] = 1
    x.mul_(2)
    assert x.tolist() == a.tolist() == [2.0, 0.0, 0.0]
    a.resize(3, 1)
    assert x.shape == (3,)


def test_from_numpy_takes_negative_strides_and_refuses_what_is_no_array():
    assert rg.from_numpy(np.arange(3)[::-1]).tolist() == [2, 1, 0]
    with pytest.raises(TypeError, match=r"expected np.ndarray \(got list\)"):
        rg.from_numpy([1])
    with pytest.raises(TypeError, match=r"can't convert np.ndarray"):
        rg.from_numpy(np.array(["a"]))


@pytest.mark.parametrize(
    "made", [rg.tensor, rg.as_tensor, rg.asarray, rg.from_numpy, rg.ones(2).mul]
)
def test_of_numpy_s_own_classes_a_tensor_holds_what_is_in_them(made):
    masked = np.ma.array([1.0, 2.0], mask=[False, True])
    assert made(masked).tolist() == [1.0, 2.0]
    assert type(made(masked)._array) is np.ndarray
    assert type(made(np.ones((1, 2)).view(np.matrix))._array) is np.ndarray


def test_as_tensor_writes_to_the_memory_of_a_masked_array():
    masked = np.ma.array([1.0, 2.0], mask=[False, True])
    rg.as_tensor(masked).fill_(7.0)
    assert masked.data.tolist() == [7.0, 7.0]


def test_a_read_only_array_gives_a_tensor_that_cannot_be_written():
    x = rg.from_numpy(np.broadcast_to(np.float32(1), (2,)))
    with pytest.raises(RuntimeError, match="unsupported operation"):
        x.mul_(2)
    assert (x * 2).tolist() == [2.0, 2.0]


def test_as_tensor_shares_where_it_can():
    a, x = np.ones(2), rg.ones(2, requires_grad=True)
    assert rg.as_tensor(a).data_ptr() == rg.from_numpy(a).data_ptr()
    assert rg.as_tensor(x) is x
    assert rg.as_tensor(x, dtype=rg.float64).requires_grad
    assert rg.as_tensor([1, 2.5]).dtype is rg.float32
    assert rg.as_tensor(a, dtype=rg.float32).dtype is rg.float32


def test_asarray_shows_bytes_as_they_are():
    data = bytearray(b"ab")
    x = rg.asarray(data)
    x.fill_(65)
    assert (x.dtype, data) == (rg.uint8, bytearray(b"AA"))
    assert rg.asarray(b"abc").tolist() == [97, 98, 99]


def test_asarray_copies_as_asked():
    x = rg.ones(2, requires_grad=True)
    assert rg.asarray(x) is x
    assert rg.asarray(x, copy=True) is not x
    assert not rg.asarray(x, requires_grad=False).requires_grad
    assert rg.asarray([1.0], requires_grad=True).requires_grad
    with pytest.raises(ValueError, match="can't alias"):
        rg.asarray(x, copy=False, dtype=rg.float64)
    with pytest.raises(ValueError, match="can't alias arbitrary sequence"):
        rg.asarray([1], copy=False)


def test_frombuffer_reads_shared_memory():
    memory = bytearray(np.arange(3, dtype=np.float32).tobytes())
    x = rg.frombuffer(memory, dtype=rg.float32)
    x.mul_(2)
    assert np.frombuffer(memory, np.float32).tolist() == [0.0, 2.0, 4.0]
    assert rg.frombuffer(memory, dtype=rg.float32, count=1, offset=8).tolist() == [4.0]


@pytest.mark.parametrize(
    ("size", "settings", "text"),
    [
        (7, {}, "must be a multiple of element size"),
        (0, {}, "must not be 0"),
        (8, {"count": 5}, "must not be greater than actual buffer length"),
        (8, {"offset": 9}, "offset .9 bytes."),
    ],
)
def test_frombuffer_refuses_what_does_not_fit(size, settings, text):
    with pytest.raises(ValueError, match=text):
        rg.frombuffer(bytearray(size), dtype=rg.float32, **settings)


@pytest.mark.parametrize("factory", [rg.zeros, rg.ones, rg.empty, rg.rand, rg.randn])
def test_sizes_come_as_integers_or_as_a_sequence(factory):
    for made in (
        factory(2, 3),
        factory((2, 3)),
        factory([2, 3]),
        factory(size=(2, 3)),
        factory(rg.tensor(2), np.int64(3)),
        factory(rg.ones(2, 3).shape),
    ):
        assert made.shape == (2, 3)
    assert factory(()).shape == ()
    assert factory(0, 3).shape == (0, 3)


@pytest.mark.parametrize("factory", [rg.zeros, rg.ones, rg.empty, rg.rand, rg.randn])
@pytest.mark.parametrize(
    ("sizes", "error", "text"),
    [
        ((-1,), RuntimeError, "negative dimension -1"),
        ((1.5,), TypeError, "must be tuple of ints, not float"),
        (("a",), TypeError, "must be tuple of ints, not str"),
        ((True,), TypeError, "must be tuple of ints, not bool"),
        (((2,), 3), TypeError, "takes 1 positional argument but 2 were given"),
        ((), TypeError, 'missing 1 required positional arguments: "size"'),
    ],
)
def test_bad_sizes_raise(factory, sizes, error, text):
    with pytest.raises(error, match=text):
        factory(*sizes)


def test_constants_have_their_values():
    assert rg.zeros(2).tolist() == [0.0, 0.0]
    assert rg.ones(2, dtype=rg.complex64).tolist() == [1 + 0j, 1 + 0j]
    assert rg.full((2,), 3).tolist() == [3, 3]
    assert rg.full((2,), 3.7, dtype=rg.int64).tolist() == [3, 3]
    assert rg.full((1,), True).dtype is rg.bool
    assert rg.full((1,), 1j).dtype is rg.complex64
    assert rg.full((1,), rg.tensor(2.5)).tolist() == [2.5]
    assert rg.eye(2, 3, dtype=rg.int32).tolist() == [[1, 0, 0], [0, 1, 0]]
    assert rg.scalar_tensor(3).dtype is rg.float32


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: rg.full(2, 3), TypeError, "must be tuple of ints, not int"),
        (lambda: rg.full((2,), "a"), TypeError, "must be Number, not str"),
        (lambda: rg.full((2,), rg.ones(2)), TypeError, "must be Number, not Tensor"),
        (lambda: rg.full((2,), 300, dtype=rg.uint8), RuntimeError, "without overflow"),
        (lambda: rg.full((2,), 1j, dtype=rg.float32), RuntimeError, "without overflow"),
        (lambda: rg.full_like(rg.ones(1), 1j), RuntimeError, "without overflow"),
        (lambda: rg.scalar_tensor(1j), RuntimeError, "without overflow"),
        (lambda: rg.eye(-1), RuntimeError, "n must be greater or equal to 0, got -1"),
        (lambda: rg.eye(2, -1), RuntimeError, "m must be greater or equal to 0, got -1"),
        (lambda: rg.eye(2.5), TypeError, "'n' must be int, not float"),
        (lambda: rg.zeros_like([1]), TypeError, "must be Tensor, not list"),
        (lambda: rg.zeros(2, dtype="float"), TypeError, "'dtype' must be retrograd.dtype"),
        (lambda: rg.ones(2, dtype=rg.int64, requires_grad=True), RuntimeError, "floating point"),
        (lambda: rg.empty(10**18), OutOfMemoryError, "you tried to allocate 4000000000000000000"),
    ],
)
def test_factories_refuse_bad_arguments(call, error, text):
    with pytest.raises(error, match=text):
        call()


@pytest.mark.parametrize(
    ("arguments", "dtype", "values"),
    [
        ((5,), rg.int64, [0, 1, 2, 3, 4]),
        ((1, 5, 2), rg.int64, [1, 3]),
        ((5, 1, -2), rg.int64, [5, 3]),
        ((3.0,), rg.float32, [0.0, 1.0, 2.0]),
        ((1, 5.5, 2), rg.float32, [1.0, 3.0, 5.0]),
        ((True,), rg.int64, [0]),
        ((rg.tensor(3),), rg.int64, [0, 1, 2]),
        ((0,), rg.int64, []),
    ],
)
def test_arange_counts_as_in_pytorch(arguments, dtype, values):
    made = rg.arange(*arguments)
    assert made.dtype is dtype
    assert made.tolist() == values


def test_arange_takes_its_bounds_by_name():
    assert rg.arange(end=3).tolist() == [0, 1, 2]
    assert rg.arange(1, end=3).tolist() == [1, 2]
    assert rg.arange(start=1, end=5, step=2).tolist() == [1, 3]
    assert len(rg.arange(0, 1, 0.1)) == 10


@pytest.mark.parametrize(
    ("arguments", "settings", "error", "text"),
    [
        ((0, 1, 0), {}, RuntimeError, "step must be nonzero"),
        ((5, 1), {}, RuntimeError, "upper bound and lower bound inconsistent with step sign"),
        ((math.inf,), {}, RuntimeError, "unsupported range"),
        ((1, 2.5, 0.5), {"dtype": rg.int64}, ValueError, "step must be nonzero"),
        ((3,), {"dtype": rg.bool}, NotImplementedError, "not implemented for 'Bool'"),
        ((3,), {"dtype": rg.complex64}, NotImplementedError, "not implemented for 'ComplexFloat'"),
        ((1j,), {}, RuntimeError, "without overflow"),
        ((), {}, TypeError, "invalid combination of arguments"),
        ((1, 2, 3, 4), {}, TypeError, "invalid combination of arguments"),
        (("a",), {}, TypeError, "must be Number, not str"),
        ((3,), {"requires_grad": True}, RuntimeError, "floating point"),
    ],
)
def test_arange_refuses_bad_ranges(arguments, settings, error, text):
    with pytest.raises(error, match=text):
        rg.arange(*arguments, **settings)


def test_linspace_counts_from_bounds_of_its_dtype():
    """What PyTorch gives: -1.2190476... is rounded before the steps are added."""
    x = rg.linspace(-1.2 - 2.4 / 126, 1.2 + 2.4 / 126, 128)
    assert x[:2].tolist() == [-1.2190476655960083, -1.199850082397461]
    assert rg.linspace(0.9, -3.9, 7, dtype=rg.int64).tolist() == [0, 0, -1, -1, -2, -2, -3]
    assert rg.logspace(0.1, 2, 5, dtype=rg.int64).tolist() == [1, 3, 10, 31, 100]
    assert rg.logspace(0.5, 2, 1, dtype=rg.int64).tolist() == [3]


def test_linspace_is_symmetric_and_ends_where_asked():
    made = rg.linspace(-1, 1, 7, dtype=rg.float64).numpy()
    np.testing.assert_array_equal(made, -made[::-1])
    np.testing.assert_allclose(made, np.linspace(-1, 1, 7), rtol=0, atol=1e-15)
    assert rg.linspace(0, 10, 4, dtype=rg.int64).tolist() == [0, 3, 6, 10]
    assert rg.linspace(0, 1, 1).tolist() == [0.0]
    assert rg.linspace(0, 1, 0).shape == (0,)
    assert rg.linspace(0, 1j, 3).tolist() == [0j, 0.5j, 1j]


def test_logspace_raises_the_base_to_even_exponents():
    assert rg.logspace(0, 2, 3).tolist() == [1.0, 10.0, 100.0]
    assert rg.logspace(0, 2, 3, base=2, dtype=rg.int64).tolist() == [1, 2, 4]


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: rg.linspace(0, 1, -1), RuntimeError, "number of steps must be non-negative"),
        (lambda: rg.linspace(0, 1, 2.5), TypeError, "invalid combination of arguments"),
        (lambda: rg.linspace(rg.ones(2), 1, 3), RuntimeError, "0-dimensional start and end"),
        (lambda: rg.linspace(0, 1j, 3, dtype=rg.float32), RuntimeError, "can't be safely cast"),
        (lambda: rg.logspace(0, 1, -3), RuntimeError, "number of steps must be non-negative"),
    ],
)
def test_spaced_ranges_refuse_bad_arguments(call, error, text):
    with pytest.raises(error, match=text):
        call()


def test_out_receives_the_values_and_is_returned():
    for factory, arguments, values in (
        (rg.zeros, (2,), [0, 0]),
        (rg.ones, (3,), [1, 1, 1]),
        (rg.full, ((2,), 7), [7, 7]),
        (rg.arange, (2,), [0, 1]),
        (rg.linspace, (0, 4, 3), [0, 2, 4]),
    ):
        out = rg.full((2,), 5)
        assert factory(*arguments, out=out) is out
        assert out.tolist() == values
        assert out.dtype is rg.int64
    with pytest.raises(RuntimeError, match="dtype Float does not match dtype of out parameter"):
        rg.zeros(2, out=rg.arange(2), dtype=rg.float32)
    with pytest.raises(RuntimeError, match="don't support automatic differentiation"):
        rg.zeros(2, out=rg.ones(2, requires_grad=True))


def test_like_factories_follow_their_input():
    x = rg.ones(2, 3, dtype=rg.complex64, requires_grad=True)
    for made in (rg.zeros_like(x), rg.ones_like(x), rg.empty_like(x), rg.full_like(x, 2)):
        assert (made.shape, made.dtype, made.requires_grad) == (x.shape, x.dtype, False)
    assert rg.zeros_like(x, dtype=rg.float32, requires_grad=True).requires_grad
    assert rg.full_like(rg.arange(2), 2.7).tolist() == [2, 2]


@pytest.mark.parametrize("make", [rg.Tensor, type("Derived", (rg.Tensor,), {})])
def test_older_constructors_stand_on_the_memory_of_an_array_of_their_dtype(make):
    array = np.zeros((2, 3), np.float32).T
    x = make(array)
    x[0, 1] = 5.0
    assert (array[0, 1], type(x), x.stride()) == (5.0, make, (1, 3))
    other = np.zeros(2)  # of another dtype
    make(other)[0] = 1.0
    assert other.tolist() == [0, 0]


@pytest.mark.parametrize("make", [rg.Tensor, type("Derived", (rg.Tensor,), {})])
def test_older_constructors_take_a_device_that_is_the_cpu(make):
    assert make(2, 3, device="cpu").shape == (2, 3)
    assert make([1, 2], device=rg.device("cpu")).tolist() == [1, 2]
    assert type(make(device="cpu")) is make
    for other in ("meta", "cuda"):
        with pytest.raises(
            RuntimeError, match=f"expects device type: cpu but device type: {other}"
        ):
            make(2, device=other)
    with pytest.raises(RuntimeError, match="Legacy tensor constructor of the form"):
        make(rg.ones(2), device="cpu")


@pytest.mark.parametrize("dtype", [None, rg.float32])
def test_a_copy_of_an_expanded_array_lies_by_rows(dtype):
    array = np.broadcast_to(np.ones((2, 3)), (4, 2, 3))
    assert rg.tensor(array, dtype=dtype).stride() == (6, 3, 1)
    assert rg.ones(1).new_tensor(array).stride() == (6, 3, 1)


def test_new_factories_take_the_dtype_of_their_tensor():
    x = rg.arange(2)
    assert x.new_zeros(2, 3).dtype is rg.int64
    assert x.new_ones((2,), dtype=rg.float32, requires_grad=True).requires_grad
    assert x.new_full((2,), 1.5).tolist() == [1, 1]
    assert x.new_empty(2).shape == (2,)
    assert rg.ones(1).new_tensor([1, 2]).dtype is rg.float32
    with pytest.warns(UserWarning, match="To copy construct"):
        x.new_tensor(x)


def test_the_only_device_is_the_cpu():
    rg.set_default_device("cpu")
    assert rg.get_default_device() == rg.device("cpu") == rg.ones(1, device="cpu").device
    with pytest.raises(AssertionError, match="CUDA"):
        rg.set_default_device("cuda")


def test_from_numpy_takes_what_numpy_s_functions_give_for_tensors():
    x = rg.tensor([3, 1, 2])
    assert rg.from_numpy(np.sort(x)).tolist() == [1, 2, 3]
    assert rg.from_numpy(x) is x


@pytest.mark.parametrize(
    "copy",
    [rg.clone, rg.empty_like, rg.rand_like, lambda x: x.double(), lambda x: x.to("meta").clone()],
)
@pytest.mark.parametrize(
    ("view", "strides"),
    [
        (lambda x: x.expand(2, 3, 4), (12, 1, 3)),
        (lambda x: x.unsqueeze(1).expand(3, 5, 4), (1, 3, 15)),
        (lambda x: x.unsqueeze(2).expand(3, 4, 2), (2, 6, 1)),
        (lambda x: x.t()[:, :1].expand(4, 3), (3, 1)),
    ],
)
def test_copies_of_expanded_tensors_keep_the_order_of_the_other_dimensions(view, strides, copy):
    """Source: PyTorch 2.13."""
    x = view(rg.arange(12.0).reshape(4, 3).t())
    made = copy(x)
    assert made.stride() == strides
    if copy is rg.clone:
        assert rg.equal(made, x)


def test_a_copy_of_a_transposed_tensor_with_a_new_dimension_stays_transposed():
    x = rg.arange(6.0).reshape(2, 3).t().unsqueeze(0).clone()
    flat = x.reshape(-1)
    x.mul_(2)
    assert flat.tolist() == [0, 3, 1, 4, 2, 5]
    assert x.stride()[1:] == (1, 3)


@pytest.mark.parametrize("make", [rg.tensor, rg.as_tensor, rg.Tensor])
@pytest.mark.parametrize("kind", [collections.deque, collections.UserList, FLOATS], ids=str)
def test_sequences_that_are_no_lists_may_stand_in_lists(make, kind):
    assert make([kind([1.0, 2.0]), kind([3.0, 4.0])]).tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert make([kind([])]).shape == (1, 0)


def test_objects_that_stand_for_numbers_are_taken_where_a_dtype_is_given():
    class Place:
        def __index__(self):
            return 3

    class Fraction:
        def __float__(self):
            return 2.5

    for kind, expected in ((rg.int64, [3, 1]), (rg.float32, [3.0, 1.0]), (rg.bool, [True, True])):
        assert rg.tensor([Place(), 1], dtype=kind).tolist() == expected
        assert rg.tensor(Place(), dtype=kind).tolist() == expected[0]
    assert rg.tensor([Fraction(), Place()], dtype=rg.float64).tolist() == [2.5, 3.0]
    for data in (Place(), [Place()], [Fraction()]):
        with pytest.raises(RuntimeError, match="Could not infer dtype of"):
            rg.tensor(data)


def test_what_the_elements_of_a_sequence_raise_comes_out():
    class Broken(list):
        def __iter__(self):
            raise LookupError("no elements")

    class Odd:
        def __len__(self):
            return 2

        def __getitem__(self, place):
            raise LookupError("no elements")

    for data in (Broken([1]), [Broken([1])], Odd(), [1, Odd()], [Odd(), Odd()]):
        for kind in (None, rg.int64):
            with pytest.raises(LookupError, match="no elements"):
                rg.tensor(data, dtype=kind)


def test_sequences_of_one_element_tensors_are_numbers_to_the_older_constructor_too():
    assert rg.Tensor([rg.ones(1), rg.ones(1, 1)]).shape == (2,)
    with pytest.raises(ValueError, match="only one element tensors"):
        rg.Tensor([rg.ones(2), rg.ones(2)])
    with pytest.raises(RuntimeError, match="Could not infer dtype of NoneType"):
        rg.Tensor([None])


def test_fractions_and_decimals_are_numbers_where_the_dtype_is_given():
    half = [fractions.Fraction(1, 2), decimal.Decimal("0.5")]
    assert rg.tensor(half, dtype=rg.float32).tolist() == [0.5, 0.5]
    assert rg.tensor(half[1], dtype=rg.float64).item() == 0.5
    with pytest.raises(RuntimeError, match="Could not infer dtype of Fraction"):
        rg.tensor(half)


@pytest.mark.filterwarnings("ignore:the matrix subclass")
def test_a_matrix_gives_a_tensor_with_the_rules_of_arrays():
    x = rg.as_tensor(np.asmatrix([[1, 2], [3, 4]]))
    assert (x * x).tolist() == [[1, 4], [9, 16]]
    assert x.flatten().shape == (4,)


@pytest.mark.parametrize("make", [rg.Tensor])
def test_types_take_sizes_that_stand_for_integers_and_sequences_alone(make):
    assert make(np.int64(2)).shape == make(np.array(2)).shape == (2,)
    assert make(1, True).shape == (1, 1)
    assert make(np.array([2.0])).tolist() == make([2]).tolist() == [2.0]
    for wrong in (None, True, np.float32(2), {}, {1}, 1j):
        with pytest.raises(TypeError, match="data must be a sequence"):
            make(wrong)
    for several in ((2.5, 3), ([1], [2]), (rg.Size([2]), 2)):
        with pytest.raises(TypeError, match="invalid combination of arguments"):
            make(*several)


def test_real_bounds_may_be_written_as_complex_numbers():
    found = rg.arange(3 + 0j)
    assert (found.dtype, found.tolist()) == (rg.float32, [0.0, 1.0, 2.0])


@pytest.mark.parametrize("bound", [rg.tensor([3]), rg.ones(2)])
def test_the_bounds_of_a_range_are_numbers(bound):
    for make in (rg.arange, lambda end: rg.arange(0, end)):
        with pytest.raises(TypeError, match="must be Number, not Tensor"):
            make(bound)
    for make in (rg.linspace, rg.logspace):
        with pytest.raises(RuntimeError, match="only supports 0-dimensional start and end tensors"):
            make(0, bound, 3)
