"""Indexing, assignment, gathering, scattering, masks: PyTorch's results, errors, corner cases."""

from __future__ import annotations

import importlib.util
from array import array
from collections import deque
from pathlib import Path

import numpy as np
import pytest

import retrograd as rg
from retrograd.errors import VersionError

spec = importlib.util.spec_from_file_location(
    "index_cases", Path(__file__).parents[2] / "data" / "make_shape_index.py"
)
cases = importlib.util.module_from_spec(spec)
spec.loader.exec_module(cases)


@pytest.mark.parametrize(("case", "want"), cases.references("index"), ids=lambda v: str(v)[:40])
def test_call_gives_pytorchs_values_gradients_and_errors(case, want):
    cases.check(rg, case, want)


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (lambda x: x[3], IndexError, "index 3 is out of bounds for dimension 0 with size 3"),
        (lambda x: x[[5]], IndexError, "index 5 is out of bounds for dimension 0 with size 3"),
        (lambda x: x[0, 0, 0], IndexError, "too many indices for tensor of dimension 2"),
        (lambda x: x[0, 0][0], IndexError, "invalid index of a 0-dim tensor"),
        (lambda x: x[::-1], ValueError, "step must be greater than zero"),
        (lambda x: x[1.5], IndexError, "only integers, slices"),
        (lambda x: x[rg.tensor([0.5])], IndexError, "must be long, int, byte or bool tensors"),
        (lambda x: x[rg.tensor([True])], IndexError,
         r"The shape of the mask \[1\] at index 0 does not match"),
        (lambda x: x[[0, 1], [0, 1, 2]], IndexError,
         r"could not be broadcast together with shapes \[2\], \[3\]"),
        (lambda x: x.gather(1, rg.tensor([[4]])), RuntimeError,
         "index 4 is out of bounds for dimension 1 with size 4"),
        (lambda x: x.gather(1, rg.tensor([0])), RuntimeError,
         "Index tensor must have the same number of dimensions"),
        (lambda x: x.index_select(0, rg.tensor([7])), IndexError, "index out of range in self"),
        (lambda x: x.take(rg.tensor([12])), IndexError, "tried to access index 12"),
        (lambda x: x.masked_fill(x, 0.0), RuntimeError, "only supports boolean masks"),
        (lambda x: x.masked_scatter(x == 0, rg.zeros(1)), RuntimeError,
         "Number of elements of source < number of ones in mask"),
        (lambda x: x.index_put((rg.tensor([0]),), rg.zeros(3)), RuntimeError,
         r"shape mismatch: value tensor of shape \[3\] cannot be broadcast"),
        (lambda x: x.__setitem__(0, rg.zeros(3)), RuntimeError,
         r"The expanded size of the tensor \(4\) must match the existing size \(3\)"),
        (lambda x: x.__setitem__(0, "a"), TypeError, "can't assign a str"),
        (lambda x: x.copy_(rg.zeros(3)), RuntimeError, "must match the size of tensor b"),
    ],
)  # fmt: skip
def test_errors_have_pytorchs_key_phrases(call, kind, text):
    with pytest.raises(kind, match=text):
        call(rg.zeros(3, 4))


def test_a_basic_index_is_one_view_and_an_advanced_one_a_copy():
    x = rg.zeros(2, 3, 4)
    assert x[1, :, None, 1:3]._base is x
    assert not x[[0]]._is_view()
    y = rg.zeros(2, 3, 4, requires_grad=True)
    assert y[1, :, 1:3].grad_fn.next_functions[0][0].variable is y


@pytest.mark.parametrize("index", [np.array([2, 0]), [2, 0], range(2, -1, -2), (np.int64(2),)])
def test_arrays_lists_and_numpy_integers_are_indices(index):
    x = rg.arange(3)
    expected = [2] if isinstance(index, tuple) else [2, 0]
    assert np.atleast_1d(x[index].numpy()).tolist() == expected


def test_any_sequence_of_places_is_an_index():
    for index in (deque([2, 0]), array("i", [2, 0]), bytearray([2, 0]), (deque([2, 0]),)):
        x = rg.arange(3.0, requires_grad=True)
        assert x[index].tolist() == [2, 0]
        (x[index] * rg.tensor([5.0, 7.0])).sum().backward()
        assert x.grad.tolist() == [7, 0, 5]
        y = rg.zeros(3)
        y[index] = 1.0
        assert y.tolist() == [1, 0, 1]
    for key in ({0}, {0: 1}, iter([0])):
        with pytest.raises(IndexError, match="are valid indices"):
            rg.arange(3)[key]


@pytest.mark.filterwarnings("ignore:indexing with dtype retrograd.uint8")
def test_boolean_and_byte_masks_select_alike():
    x = rg.arange(4)
    for mask in (
        rg.tensor([True, False, True, False]),
        np.array([True, False, True, False]),
        [True, False, True, False],
        rg.tensor([1, 0, 1, 0], dtype=rg.uint8),
    ):
        assert x[mask].tolist() == [0, 2]


def test_integers_are_applied_before_index_tensors():
    x = rg.arange(24).reshape(2, 3, 4)
    assert x[0, :, [1, 2]].tolist() == [[1, 2], [5, 6], [9, 10]]  # NumPy's is transposed
    assert x[[0, 1], :, [1, 2]].tolist() == [[1, 5, 9], [14, 18, 22]]


def test_repeated_indices_add_up():
    x = rg.ones(3, 2, requires_grad=True)
    x[[0, 0, 2]].sum().backward()
    assert x.grad.tolist() == [[2.0, 2.0], [0.0, 0.0], [1.0, 1.0]]


def test_an_index_tensor_written_before_the_backward_pass_raises():
    x, index = rg.ones(3, requires_grad=True), rg.tensor([0, 1])
    out = x[index].sum()
    index[0] = 2
    with pytest.raises(
        VersionError,
        match=r"LongTensor \[2\]\] is at version 1; .* IndexBackward0 saved it as `index`",
    ):
        out.backward()


def test_a_mask_written_before_the_backward_pass_raises_where_it_is_saved():
    x, mask = rg.ones(2, requires_grad=True), rg.tensor([True, False])
    out = x.masked_fill(mask, 0.0).sum()
    mask.zero_()
    with pytest.raises(
        VersionError,
        match=r"BoolTensor \[2\]\] is at version 1; .* MaskedFillBackward0 saved it as `mask`",
    ):
        out.backward()


def test_assignment_casts_to_the_tensors_dtype():
    x = rg.zeros(2, dtype=rg.int64)
    x[0] = 2.7
    x[1] = rg.tensor(True)
    assert x.tolist() == [2, 1]


def test_assignment_without_history_changes_no_graph():
    x = rg.zeros(3)
    x[1:] = 5.0
    x[rg.tensor([True, False, False])] = 7.0
    assert x.tolist() == [7.0, 5.0, 5.0]
    assert x._version == 2
    assert x.grad_fn is None


def test_failed_assignments_leave_everything_as_it_was():
    x = rg.ones(3, requires_grad=True)
    y = x * 1
    before = y.grad_fn
    for key, value, text in (
        ([5], 1.0, "index 5 is out of bounds for dimension 0 with size 3"),
        (0, rg.ones(2), r"expand\(Tensor{\[2\]}, size=\[\]\)"),
        ([0, 1], rg.ones(3), r"shape \[3\] cannot be broadcast to indexing result of shape \[2\]"),
    ):
        with pytest.raises((IndexError, RuntimeError), match=text):
            y[key] = value
    assert y.grad_fn is before
    assert y._version == 0
    assert y.tolist() == [1.0] * 3


def test_infinities_outside_the_mask_do_not_reach_gradients():
    x = rg.tensor([1.0, float("inf")], requires_grad=True)
    out = x.masked_fill(rg.tensor([False, True]), 0.0)
    (out * out).sum().backward()
    assert x.grad.tolist() == [2.0, 0.0]


def test_gathering_nothing_gives_memory_of_its_own():
    x = rg.ones(0, 3)
    x.gather(0, rg.zeros(0, 3, dtype=rg.int64)).add_(1)
    assert x._version == 0


@pytest.mark.parametrize("name", ["scatter", "scatter_add"])
def test_elements_of_a_source_beyond_the_index_have_no_gradient(name):
    source = rg.ones(2, 3, requires_grad=True)
    call = getattr(rg, name)
    made = call(rg.zeros(3, 3), 0, rg.tensor([[0, 2, 1]]), source)
    (made * rg.arange(9.0).reshape(3, 3)).sum().backward()
    assert source.grad.tolist() == [[0, 7, 5], [0, 0, 0]]


def test_second_derivatives_of_gather_and_scatter():
    x = rg.tensor([1.0, 2.0, 3.0], dtype=rg.float64, requires_grad=True)
    index = rg.tensor([2, 2, 0])
    y = (x.gather(0, index) ** 3).sum() + (x.scatter_add(0, index, x * x) ** 2).sum()
    assert rg.autograd.gradgradcheck(
        lambda v: (v.gather(0, index) ** 3).sum() + (v.scatter_add(0, index, v * v) ** 2).sum(),
        (x,),
    )
    assert y.requires_grad


@pytest.mark.parametrize(
    "make",
    [
        lambda x, i: x.index_add(0, i, x[:2]),
        lambda x, i: x.index_put((i,), x[:2] * 2, accumulate=True),
        lambda x, i: x.index_copy(0, rg.tensor([2, 0]), x[:2] ** 2),
        lambda x, i: x.masked_scatter(x.detach() > 0, x.flip(0)),
        lambda x, i: x.put(rg.tensor([1, 3]), x[0, :2] ** 2),
        lambda x, i: x[i] * x[:, [1, 0]][:2],
    ],
)
def test_gradients_agree_with_finite_differences(make):
    rng = np.random.default_rng(3)
    x = rg.tensor(rng.standard_normal((3, 2)), requires_grad=True)
    index = rg.tensor([1, 1])
    assert rg.autograd.gradcheck(lambda v: make(v, index), (x,))
    assert rg.autograd.gradgradcheck(lambda v: make(v, index), (x,))


@pytest.mark.parametrize("key", [True, rg.tensor(True), (..., rg.tensor(True)), None])
def test_a_number_is_assigned_through_a_true_mask_of_no_dimensions(key):
    x = rg.tensor(3.0, requires_grad=True)
    v = rg.tensor(5.0, requires_grad=True)
    y = x * 1
    y[key] = v
    (y * 2).backward()
    assert (y.item(), x.grad.item(), v.grad.item()) == (5.0, 0.0, 2.0)


@pytest.mark.parametrize("key", [False, rg.tensor(False), (..., rg.tensor(False))])
def test_a_false_mask_of_no_dimensions_assigns_nothing(key):
    x = rg.tensor(3.0)
    x[key] = 5.0
    assert x.item() == 3.0
    rows = rg.ones(2, 3)
    rows[key] = 5.0
    assert rows.sum() == 6.0


def test_a_mask_of_no_dimensions_after_an_ellipsis_assigns_all():
    x = rg.zeros(2, 3)
    x[..., rg.tensor(True)] = 5.0
    assert x.tolist() == [[5.0] * 3] * 2


def test_values_that_do_not_fit_a_mask_of_no_dimensions_are_refused():
    with pytest.raises(RuntimeError, match=r"shape \[2\] cannot be broadcast .* shape \[1\]"):
        rg.tensor(3.0)[rg.tensor(True)] = rg.ones(2)


def test_masks_of_bytes_are_deprecated():
    x = rg.arange(4.0)
    with pytest.warns(UserWarning, match="indexing with dtype retrograd.uint8 is now deprecated"):
        assert x[rg.tensor([1, 0, 0, 1], dtype=rg.uint8)].tolist() == [0.0, 3.0]


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.uint32])
def test_numpys_integers_in_a_list_are_places(kind):
    assert rg.arange(5)[[kind(1), kind(0), kind(4)]].tolist() == [1, 0, 4]
    assert rg.arange(5)[[rg.tensor(1).to(rg.uint8), 3],].tolist() == [1, 3]


def test_what_is_no_number_in_a_list_of_places_is_refused_as_data_is():
    class Half:
        def __float__(self):
            return 0.5

    with pytest.raises(RuntimeError, match="Could not infer dtype of Half"):
        rg.arange(5)[[Half()]]
    with pytest.raises(ValueError, match="Overflow when unpacking long long"):
        rg.arange(5)[[1, 2**70]]


def test_a_short_list_of_more_than_numbers_is_a_tuple_of_indices_with_a_warning():
    x = rg.arange(9.0).reshape(3, 3)
    for key, expected in (
        ([rg.tensor(0), rg.tensor(1)], 1.0),
        ([[0], [1]], [1.0]),
        ([None, 0], [[0.0, 1.0, 2.0]]),
        ([slice(0, 1), slice(0, 2)], [[0.0, 1.0]]),
        ([[True, False, True]], [[0.0, 1.0, 2.0], [6.0, 7.0, 8.0]]),
        ([[0, 2]] * 2, [0.0, 8.0]),
    ):
        with pytest.warns(UserWarning, match="non-tuple sequence") as caught:
            assert x[key].tolist() == expected
        assert [w.filename for w in caught] == [__file__]
    assert x[[0, 2]].shape == (2, 3)


def test_take_is_contiguous_for_any_layout_of_the_places():
    places = rg.arange(16).view(4, 4).T
    found = rg.take(rg.arange(16.0).view(4, 4), places)
    assert found.stride() == (4, 1)
    assert found.equal(places.float())


@pytest.mark.parametrize("value", [2**63, 2**64, -(2**63) - 1])
def test_an_integer_of_more_than_64_bits_is_not_written_to_integers(value):
    x = rg.zeros(2, dtype=rg.int64)
    for key in (0, slice(None), x == 0, [0]):
        with pytest.raises(ValueError, match="Overflow when unpacking long long"):
            x[key] = value
    assert x.tolist() == [0, 0]


def test_small_integers_index_only_as_numbers():
    x = rg.arange(3.0)
    assert x[rg.tensor(1, dtype=rg.int16)].item() == 1.0
    for dtype in (rg.int8, rg.int16):
        with pytest.raises(IndexError, match="must be long, int, byte or bool tensors"):
            x[rg.tensor([1], dtype=dtype)]


@pytest.mark.parametrize("key", ["a", b"a", "", (0, "a")])
def test_text_is_no_index(key):
    with pytest.raises(TypeError, match="invalid data type"):
        rg.ones(3, 3)[key]


@pytest.mark.parametrize(
    ("key", "n"), [([0], 3), (rg.tensor([0]), 3), ((rg.tensor([True, True, False]), 0), 2)]
)
def test_values_of_another_dtype_are_not_stored_at_index_tensors(key, n):
    x = rg.zeros(3, 3)
    with pytest.raises(RuntimeError, match="source and destination dtypes match"):
        x[key] = rg.ones(n, dtype=rg.float64)
    assert not x.any()


def test_one_value_of_another_dtype_is_stored_at_a_mask():
    x = rg.zeros(3)
    x[rg.tensor([True, False, True])] = rg.tensor([2])
    assert x.tolist() == [2.0, 0.0, 2.0]
    with pytest.raises(RuntimeError, match="without overflow: 1j"):
        x[x > 0] = rg.tensor(1j)


def test_index_put_takes_a_mask_of_no_dimensions():
    value = rg.tensor(2.0, requires_grad=True)
    x = rg.zeros(3).index_put((rg.tensor(True),), value)
    x.sum().backward()
    assert (x.tolist(), value.grad.item()) == ([2.0] * 3, 3.0)
    y = rg.zeros(3)
    assert y.index_put_((rg.tensor(True),), rg.tensor(2.0)) is y
    assert y.index_put_((rg.tensor(False),), rg.tensor(5.0)).tolist() == [2.0] * 3


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_floats_that_meet_at_one_place_of_many_keep_their_sum(dtype):
    if dtype == "bfloat16":
        pytest.importorskip("ml_dtypes")
    dtype = getattr(rg, dtype)
    index, source = rg.zeros(4200, dtype=rg.int64), rg.full((4200,), 0.5, dtype=dtype)
    many, exact = rg.zeros(5000, dtype=dtype), rg.tensor(2100.0, dtype=dtype)
    assert many.scatter_add(0, index, source)[0] == exact
    assert many.scatter_reduce(0, index, source, "sum")[0] == exact
    for read in (
        lambda x: x.gather(0, index),
        lambda x: x[index],
        lambda x: x.as_strided((4200,), (0,)),
        lambda x: rg.nn.functional.embedding(index, x.unsqueeze(1)).squeeze(1),
    ):
        x = many.clone().requires_grad_()
        read(x).backward(source)
        assert x.grad[0] == exact
    rows = rg.zeros(5000, 2, dtype=dtype).index_add(0, index, source.unsqueeze(1).expand(-1, 2))
    assert (rows[0] == exact).all()


@pytest.mark.parametrize(
    "indexed",
    [
        lambda x: x[:, [0, 1], [2, 3]],
        lambda x: x[:, :, [0, 1], [2, 3]],
        lambda x: x[:, rg.ones(3, 4) > 0],
        lambda x: x[:, ::2, [0, 1]],
        lambda x: x[:, 1, [0, 1]],
    ],
)
def test_entries_at_indices_of_later_dimensions_lie_in_rows(indexed):
    x = rg.arange(120).reshape(2, 3, 4, 5)
    found = indexed(x)
    assert found.is_contiguous()
    assert found.view(-1).tolist() == found.flatten().tolist()


def test_index_add_keeps_the_dtype_of_its_input():
    x, index = rg.zeros(3, dtype=rg.int32), rg.tensor([0])
    with pytest.raises(RuntimeError, match="alpha must not be a floating point number"):
        x.index_add(0, index, rg.ones(1, dtype=rg.int32), alpha=1.5)
    with pytest.raises(RuntimeError, match="alpha must not be a complex number"):
        x.float().index_add(0, index, rg.ones(1), alpha=2j)
    added = x.bool().index_add(0, index, rg.tensor([True]), alpha=2)
    assert added.dtype == rg.bool
    assert added.tolist() == [True, False, False]


@pytest.mark.parametrize("reduce", ["max", "min"])
def test_scatter_reduce_takes_the_older_names_of_extrema(reduce):
    x, index, source = rg.tensor([2.0, 5.0]), rg.tensor([0, 0]), rg.tensor([3.0, 1.0])
    found = rg.scatter_reduce(x, 0, index, source, reduce)
    assert rg.equal(found, rg.scatter_reduce(x, 0, index, source, f"a{reduce}"))


def test_means_of_complex_numbers_at_places_divide_by_their_number():
    x, at = rg.tensor([1.0 + 1j, 2.0, 3.0]), rg.tensor([0, 0])
    found = x.scatter_reduce(0, at, rg.tensor([1.0, 4.0 + 2j]), "mean")
    assert found.tolist() == [2 + 1j, 2, 3]
    found = x.index_reduce(0, at, rg.tensor([1.0, 4.0 + 2j]), "mean", include_self=False)
    assert found.tolist() == [2.5 + 1j, 2, 3]


def test_sums_at_places_have_the_layout_of_pytorchs():
    x, at = rg.zeros(4, 3).t(), rg.tensor([0, 1])
    assert x.index_add(1, at, rg.ones(3, 2)).stride() == (4, 1)
    assert x.index_put((at,), rg.ones(2, 4), accumulate=True).stride() == (1, 3)
    assert x.scatter_add(1, rg.tensor([[0, 1]]), rg.ones(1, 2)).stride() == (4, 1)
    assert rg.zeros(3, 1).expand(3, 4).index_add(0, at, rg.ones(2, 4)).stride() == (4, 1)


@pytest.mark.parametrize("index", [[1], 1])
def test_one_number_is_copied_into_a_vector(index):
    x, source = rg.zeros(3, requires_grad=True), rg.tensor(5.0, requires_grad=True)
    made = rg.index_copy(x, 0, rg.tensor(index), source)
    made.pow(2).sum().backward()
    assert (made.tolist(), source.grad.item(), x.grad.tolist()) == (
        [0.0, 5.0, 0.0],
        10.0,
        [0.0] * 3,
    )


def test_a_number_is_filled_with_a_tensor():
    filled = rg.tensor(1.0).index_fill(0, rg.tensor([0]), rg.tensor(2.0))
    assert (filled.item(), filled.shape) == (2.0, ())
