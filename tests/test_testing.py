"""`retrograd.testing`: comparing results, and random tensors."""

from __future__ import annotations

import pytest

import retrograd as rg
from retrograd.testing import assert_allclose, assert_close, make_tensor

NAN = float("nan")


def t(*values):
    return rg.tensor(list(values))


@pytest.mark.parametrize(
    ("actual", "expected", "how"),
    [
        (t(1.0, 2.0), t(1.0, 2.0), {}),
        (t(1.0), t(1.0 + 1e-6), {}),
        (t(1.0), t(1), {"check_dtype": False}),
        (t(NAN), t(NAN), {"equal_nan": True}),
        (t(float("inf")), t(float("inf")), {}),
        (t(1.0), t(1.1), {"rtol": 0.2, "atol": 0.0}),
        (t(1 + 1j), t(1 + 1j), {}),
        (1.0, 1.0 + 1e-9, {}),
        (None, None, {}),
        ([t(1.0), {"a": 2}], [t(1.0), {"a": 2}], {}),
        (t(True), t(True), {}),
        (rg.ones(0), rg.ones(0), {}),
    ],
)
def test_what_is_close_passes(actual, expected, how):
    assert_close(actual, expected, **how)


@pytest.mark.parametrize(
    ("actual", "expected", "how", "text"),
    [
        (t(1.0, 2.0), t(1.0, 3.0), {}, r"Tensor-likes are not close!"),
        (t(1.0, 2.0), t(1.0, 3.0), {}, r"Mismatched elements: 1 / 2 \(50.0%\)"),
        (t(1.0, 2.0), t(1.0, 3.0), {}, r"absolute difference: 1.0 at index \(1,\)"),
        (t(1), t(2), {}, r"Tensor-likes are not equal!"),
        (rg.tensor(1.0), rg.tensor(2.0), {}, r"Scalars are not close!"),
        (t(1.0), t(1.0, 2.0), {}, r"'shape' do not match"),
        (t(1.0), t(1), {}, r"'dtype' do not match"),
        (rg.ones(2, 3).t(), rg.ones(3, 2), {"check_stride": True}, r"'stride\(\)' do not match"),
        (t(NAN), t(NAN), {}, r"not close"),
        (1.0, 1.1, {}, r"Expected 1.1 but got 1.0"),
        (1, 1.0, {}, r"types do not match"),
        (True, False, {}, r"Booleans mismatch"),
        (t(1.0), None, {}, r"None mismatch"),
        ([t(1.0), [t(2.0)]], [t(1.0), [t(3.0)]], {}, r"occurred for item \[1\]\[0\]"),
        ([1], [1, 2], {}, r"length of the sequences mismatch: 1 != 2"),
        ({"a": 1}, {"b": 1}, {}, r"keys of the mappings do not match"),
        (t(1.0), t(2.0), {"msg": "mine"}, r"^mine$"),
        (t(1.0), t(2.0), {"msg": lambda text: text[:6] + "!"}, r"^Tensor!$"),
    ],
)
def test_what_differs_raises(actual, expected, how, text):
    with pytest.raises(AssertionError, match=text):
        assert_close(actual, expected, **how)


@pytest.mark.parametrize(
    ("actual", "expected", "lines"),
    [  # PyTorch 2.13's
        (
            t(1, 2),
            t(1, 3),
            "Tensor-likes are not equal!\n\nMismatched elements: 1 / 2 (50.0%)\nGreatest absolute "
            "difference: 1 at index (1,)\n"
            "Greatest relative difference: 0.3333333432674408 at index (1,)",
        ),
        (
            rg.tensor(1.5),
            rg.tensor(2.0),
            "Scalars are not close!\n\nExpected 2.0 but got 1.5.\nAbsolute difference: 0.5 (up to "
            "1e-05 allowed)\nRelative difference: 0.25 (up to 1.3e-06 allowed)",
        ),
        (
            1,
            2,
            "Scalars are not equal!\n\nExpected 2 but got 1.\nAbsolute difference: 1\nRelative "
            "difference: 0.5",
        ),
        (
            rg.tensor([1, 2], dtype=rg.uint8),
            rg.tensor([2, 1], dtype=rg.uint8),
            "Tensor-likes are not equal!\n\nMismatched elements: 2 / 2 (100.0%)\nGreatest absolute "
            "difference: 1 at index (0,)\nGreatest relative difference: 1.0 at index (1,)",
        ),
    ],
)
def test_the_text_says_what_pytorch_says(actual, expected, lines):
    with pytest.raises(AssertionError) as caught:
        assert_close(actual, expected)
    assert str(caught.value) == lines


def test_integers_that_no_float_tells_apart_differ():
    with pytest.raises(AssertionError, match="not equal"):
        assert_close(t(2**62), t(2**62 + 1))


def test_tolerances_come_in_pairs():
    with pytest.raises(ValueError, match="either specified or omitted"):
        assert_close(t(1.0), t(1.0), rtol=1.0)


def test_other_things_are_not_compared():
    with pytest.raises(TypeError, match="No comparison pair"):
        assert_close("a", "a")


@pytest.mark.parametrize(
    "dtype", [rg.float16, rg.float32, rg.complex64, rg.int64, rg.uint8, rg.bool], ids=str
)
def test_random_tensors_have_the_dtype_and_range(dtype):
    made = make_tensor((20, 5), dtype=dtype, device="cpu")
    assert made.dtype is dtype
    assert made.shape == (20, 5)
    assert len(set(made.flatten().tolist())) > 1
    if not dtype.is_complex:
        assert -9 <= made.min().item() <= made.max().item() <= 9


def test_random_tensors_keep_to_limits():
    whole = make_tensor(100, dtype=rg.int64, low=2, high=4)
    assert set(whole.tolist()) == {2, 3}
    flags = make_tensor(2, 3, dtype=rg.float32, requires_grad=True, noncontiguous=True)
    assert flags.requires_grad
    assert not flags.is_contiguous()
    assert (make_tensor(50, dtype=rg.int64, low=0, high=2, exclude_zero=True) == 1).all()
    assert make_tensor((), dtype=rg.float64).shape == ()
    assert make_tensor((2, 0), dtype=rg.float64).shape == (2, 0)
    with pytest.raises(ValueError, match="`low` must be less than `high`"):
        make_tensor(1, dtype=rg.float32, low=3, high=1)
    with pytest.raises(ValueError, match="`low` must be less than `high`"):
        make_tensor(1, dtype=rg.int64, low=3, high=3)
    with pytest.warns(FutureWarning, match="`low==high` .* for floating or complex types is dep"):
        assert make_tensor(2, dtype=rg.float32, low=3, high=3).tolist() == [3.0, 3.0]


@pytest.mark.parametrize(
    ("dtype", "low", "high", "least", "most"),
    [
        (rg.uint8, -9, 9, 0, 8),
        (rg.int8, -900, 900, -128, 127),
        (rg.bool, -3, 8, 0, 1),
        (rg.int64, -(2**70), 2**70, -(2**63), 2**63 - 1),
        (rg.int32, -float("inf"), 0, -(2**31), -1),
        (rg.float16, -1e9, 1e9, -65504, 65504),
        (rg.float32, -float("inf"), float("inf"), -3.5e38, 3.5e38),
    ],
    ids=str,
)
def test_limits_beyond_the_dtype_are_as_far_as_it_goes(dtype, low, high, least, most):
    made = make_tensor(500, dtype=dtype, low=low, high=high)
    assert least <= made.min().item() < made.max().item() <= most
    assert made.isfinite().all()


def test_random_tensors_lie_in_memory_as_asked():
    made = make_tensor((2, 3, 4, 5), dtype=rg.int8, memory_format=rg.channels_last)
    assert made.stride() == (60, 1, 15, 3)
    with pytest.raises(ValueError, match="`noncontiguous` and `memory_format` are mutually exclus"):
        make_tensor(2, 3, dtype=rg.int8, noncontiguous=True, memory_format=rg.contiguous_format)


def test_tensors_without_values_are_compared_by_shape_and_dtype():
    empty = rg.ones(2, device="meta")
    assert_close(empty, empty.clone())
    with pytest.raises(AssertionError, match="attribute 'dtype' do not match"):
        assert_close(empty, empty.double())
    with pytest.raises(AssertionError, match="attribute 'device' do not match: meta != cpu"):
        assert_close(empty, rg.ones(2))


def test_a_range_of_which_the_dtype_holds_nothing_is_refused():
    with pytest.raises(ValueError, match=r"\[300, 900\), but .*uint8 only supports \[0, 255\]"):
        make_tensor(3, dtype=rg.uint8, low=300, high=900)
    for low, high in ((10**39, 10**40), (-(10**40), -(10**39)), (2**1024, 2**1025)):
        with pytest.raises(ValueError, match=r"float32 only supports \[-3.4"):
            make_tensor(3, dtype=rg.float32, low=low, high=high)
    with pytest.raises(ValueError, match="cannot be NaN, but got low=nan and high=1"):
        make_tensor(3, dtype=rg.float32, low=NAN, high=1)


def test_random_integers_that_require_grad_are_refused():
    for dtype in (rg.int64, rg.bool):
        with pytest.raises(ValueError, match="not supported for boolean and integral dtypes"):
            make_tensor(3, dtype=dtype, requires_grad=True)


def test_a_storage_is_the_memory_behind_a_tensor():
    x = rg.arange(6.0).reshape(2, 3)
    whole = x[1].storage()
    assert rg.is_storage(whole)
    assert not rg.is_storage(x)
    assert (len(whole), whole.size(), whole.nbytes(), whole.element_size()) == (6, 6, 24, 4)
    assert whole.tolist() == [0, 1, 2, 3, 4, 5]
    assert whole[4] == 4
    assert x.t().untyped_storage().size() == 24
    assert x.t().storage().data_ptr() == x.data_ptr() == x.untyped_storage().data_ptr()


def test_allclose_of_older_programs_ignores_dtypes_and_takes_nan_for_nan():
    with pytest.warns(FutureWarning, match="assert_close"):
        assert_allclose([1.00005, NAN], rg.tensor([1.0, NAN], dtype=rg.float64))


@pytest.mark.parametrize(
    ("actual", "how"), [(1.001, {}), (1.0001, {"rtol": 1e-5, "atol": 0.0}), (NAN, {})]
)
def test_allclose_of_older_programs_raises_beyond_its_tolerances(actual, how):
    with (
        pytest.warns(FutureWarning, match="assert_close"),
        pytest.raises(AssertionError, match="not close"),
    ):
        assert_allclose(rg.tensor(actual), 1.0, **how)


@pytest.mark.parametrize(
    ("dtype", "first", "gaps"),
    [  # PyTorch 2.13's, after seed 0
        (rg.float32, -0.007486820220947266, 0.5364435911178589),
        (rg.float64, 0.9401060036131061, 0.4156397287995759),
        (rg.complex64, -0.007486820220947266 + 0.5364435911178589j, None),
        (rg.complex128, 0.9401060036131061 + 0.4156397287995759j, None),
    ],
)
def test_made_tensors_have_pytorchs_numbers(dtype, first, gaps):
    rg.manual_seed(0)
    assert make_tensor((2, 3), dtype=dtype, low=-1, high=1)[0, 0].item() == first
    rg.manual_seed(0)
    strided = make_tensor((2, 3), dtype=dtype, low=-1, high=1, noncontiguous=True)
    assert gaps is None or strided[0, 0].item() == gaps
    assert strided.stride() == (6, 2)
