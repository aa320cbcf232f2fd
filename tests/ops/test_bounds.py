"""Indices, sizes and dimensions out of bounds are refused, and memory that must not be written."""

from __future__ import annotations

import numpy as np
import pytest

import retrograd as rg
from retrograd.nn import functional as F

FAR = [-6, 5, 2**40, -(2**62)]
VECTOR, MATRIX = rg.arange(5.0), rg.arange(12.0).reshape(3, 4)
TABLE, TWO = rg.ones(5, 2), rg.ones(2)
SCORES = rg.zeros(2, 5)
EVEN = rg.zeros(4, 1, 5).log_softmax(2)


def at(i):
    return rg.tensor([0, i])


def stored(i):
    x = VECTOR.clone()
    x[at(i)] = 1.0
    return x


# name: (the function of an index, whether -1 is an index, too)
READERS = {
    "embedding": (lambda i: F.embedding(at(i), TABLE), False),
    "embedding_bag": (lambda i: F.embedding_bag(at(i), TABLE, rg.tensor([0])), False),
    "gather": (lambda i: VECTOR.gather(0, at(i)), False),
    "scatter": (lambda i: VECTOR.scatter(0, at(i), TWO), False),
    "scatter_": (lambda i: VECTOR.clone().scatter_(0, at(i), TWO), False),
    "scatter_add": (lambda i: VECTOR.scatter_add(0, at(i), TWO), False),
    "scatter_reduce": (lambda i: VECTOR.scatter_reduce(0, at(i), TWO, "amax"), False),
    "index_select": (lambda i: VECTOR.index_select(0, at(i)), False),
    "index_add": (lambda i: VECTOR.index_add(0, at(i), TWO), False),
    "index_copy": (lambda i: VECTOR.index_copy(0, at(i), TWO), False),
    "index_reduce": (lambda i: VECTOR.index_reduce(0, at(i), TWO, "prod"), False),
    "index_fill": (lambda i: VECTOR.index_fill(0, at(i), 1.0), True),
    "index_put": (lambda i: VECTOR.index_put((at(i),), TWO), True),
    "index_put accumulate": (lambda i: VECTOR.index_put((at(i),), TWO, accumulate=True), True),
    "getitem": (lambda i: VECTOR[at(i)], True),
    "setitem": (stored, True),
    "getitem of a number": (lambda i: VECTOR[i], True),
    "take": (lambda i: VECTOR.take(at(i)), True),
    "put_": (lambda i: VECTOR.clone().put_(at(i), TWO), True),
    "take_along_dim": (lambda i: rg.take_along_dim(VECTOR, at(i), 0), True),
    "take_along_dim flat": (lambda i: rg.take_along_dim(VECTOR, at(i)), False),
    "select": (lambda i: VECTOR.select(0, i), True),
    "narrow": (lambda i: VECTOR.narrow(0, i, 1), True),
    "select_scatter": (lambda i: rg.select_scatter(VECTOR, rg.tensor(1.0), 0, i), True),
    "nll_loss": (lambda i: F.nll_loss(SCORES, at(i)), False),
    "cross_entropy": (lambda i: F.cross_entropy(SCORES, at(i)), False),
    "multi_margin_loss": (lambda i: F.multi_margin_loss(SCORES, at(i)), False),
    "multilabel_margin_loss": (lambda i: F.multilabel_margin_loss(VECTOR[:2], at(i)), True),
    "one_hot": (lambda i: F.one_hot(at(i), 5), False),
    "ctc_loss": (lambda i: F.ctc_loss(EVEN, rg.tensor([[1, i]]), (4,), (2,)), False),
    "ctc_loss blank": (lambda i: F.ctc_loss(EVEN, rg.tensor([[1]]), (4,), (1,), i), False),
    "ctc_loss inputs": (lambda i: F.ctc_loss(EVEN, rg.tensor([[1]]), (i,), (1,)), False),
    "ctc_loss targets": (lambda i: F.ctc_loss(EVEN, rg.tensor([[1]]), (4,), (i,)), False),
    "max_unpool1d": (lambda i: F.max_unpool1d(rg.ones(1, 1, 2), at(i)[None, None], 2), False),
    "searchsorted": (
        lambda i: rg.searchsorted(VECTOR, TWO, sorter=rg.tensor([0, 1, 2, 3, i])),
        False,
    ),
    "segment_reduce": (lambda i: rg.segment_reduce(VECTOR, "sum", lengths=at(i + 1)), False),
    "segment_reduce offsets": (
        lambda i: rg.segment_reduce(VECTOR, "sum", offsets=at(i + 1)),
        False,
    ),
    "embedding_bag offsets": (lambda i: F.embedding_bag(rg.tensor([0, 1]), TABLE, at(i)), False),
}


@pytest.mark.parametrize("i", FAR)
@pytest.mark.parametrize("name", READERS)
def test_an_index_far_outside_is_refused(name, i):
    text = rf"{i}\b|{i + 1}\b|out of range|contains negative|along axis to sum to"
    with pytest.raises((IndexError, RuntimeError), match=text):
        READERS[name][0](i)


FORWARD = [
    name for name, (_, wraps) in READERS.items()
    if not wraps and name not in ("segment_reduce", "segment_reduce offsets")  # a length of 0 there
]  # fmt: skip


@pytest.mark.parametrize("name", FORWARD)
def test_minus_one_is_no_index_of_what_does_not_count_from_the_end(name):
    with pytest.raises((IndexError, RuntimeError), match=r"-1\b|out of range"):
        READERS[name][0](-1)


def test_minus_one_is_the_last_of_what_counts_from_the_end():
    wrapping = {name for name, (_, wraps) in READERS.items() if wraps}
    for name in wrapping - {"multilabel_margin_loss"}:
        read = READERS[name][0]
        assert read(-1).equal(read(4)), name
        assert not read(-1).equal(read(3)), name
    assert len(wrapping) == 13
    listed = READERS["multilabel_margin_loss"][0](-1)  # ends the list there
    assert listed.item() == pytest.approx((1 - (VECTOR[0] - VECTOR[1]).item()) / 2)


def test_index_fill_counts_negative_indices_from_the_end():
    assert VECTOR.index_fill(0, rg.tensor([0, -1]), 9.0).tolist() == [9, 1, 2, 3, 9]
    assert MATRIX.index_fill(1, rg.tensor([-4]), 9.0)[:, 0].tolist() == [9, 9, 9]


WRONG_OFFSETS = [
    ([0, 3], r"offsets\[-1\] can not be greater than input's length 2 but got offsets\[-1\] of 3"),
    ([1, 2], r"offsets\[0\] has to be 0"),
    ([0, 2, 1], "offsets must not decrease"),
]


@pytest.mark.parametrize(("offsets", "text"), WRONG_OFFSETS)
def test_offsets_of_bags_name_places_in_the_input(offsets, text):
    with pytest.raises(RuntimeError, match=text):
        F.embedding_bag(rg.tensor([0, 1]), TABLE, rg.tensor(offsets))


@pytest.mark.parametrize("pivots", [[1, 0], [1, 3], [1, -1]])
def test_pivots_name_rows(pivots):
    found = rg.tensor(pivots, dtype=rg.int32)
    with pytest.raises(RuntimeError, match="Did you properly pass the result of lu_factor"):
        rg.linalg.lu_solve(rg.eye(2), found, rg.ones(2, 1))
    with pytest.raises(RuntimeError, match="Did you properly pass the result of lu_factor"):
        rg.lu_unpack(rg.eye(2), found)


def test_segments_begin_where_the_offsets_say():
    assert rg.segment_reduce(VECTOR, "sum", offsets=rg.tensor([1, 3, 5])).tolist() == [3, 7]
    with pytest.raises(RuntimeError, match="out of bounds for data of size 5"):
        rg.segment_reduce(VECTOR, "sum", offsets=rg.tensor([0, 2**40]))
    rows = rg.arange(6.0).reshape(2, 3)
    lengths = rg.tensor([[1, 3], [1, 1]])
    with pytest.raises(RuntimeError, match="out of bounds for data of size 3"):
        rg.segment_reduce(rows, "sum", lengths=lengths, axis=1, unsafe=True)


@pytest.mark.parametrize("offset", [2**40, -(2**40)])
def test_a_diagonal_far_outside_is_empty(offset):
    x = MATRIX.clone().requires_grad_()
    x.diagonal(offset).sum().backward()
    assert x.diagonal(offset).shape == (0,)
    assert x.grad.tolist() == rg.zeros(3, 4).tolist()


def test_a_mask_of_another_shape_is_refused_as_elsewhere():
    with pytest.raises(RuntimeError, match=r"The size of tensor a \(4\) must match"):
        VECTOR.masked_select(rg.ones(4).bool())
    with pytest.raises(RuntimeError, match="Number of elements of source < number of ones in mask"):
        VECTOR.masked_scatter(VECTOR > 0, TWO)


@pytest.mark.parametrize("coordinate", [float("inf"), float("nan"), 1e30, -1e30])
@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
def test_grid_sample_reads_inside_the_image_wherever_it_is_asked_to(coordinate, mode, padding):
    grid = rg.full((1, 1, 1, 2), coordinate, requires_grad=True)
    image = rg.ones(1, 1, 2, 2, requires_grad=True)
    out = F.grid_sample(image, grid, mode, padding, align_corners=False)
    out.sum().backward()
    value = out.item()
    assert value in (0.0, 1.0) or np.isnan(value)


# -- dimensions and sizes ------------------------------------------------------------------------

MANY = {
    "unsqueeze": lambda: rg.zeros([1] * 64).unsqueeze(0),
    "None": lambda: rg.zeros([1] * 64)[None],
    "expand": lambda: rg.zeros(1).expand([1] * 65),
    "reshape": lambda: rg.zeros(1).reshape([1] * 65),
    "stack": lambda: rg.stack([rg.zeros([1] * 64)]),
    "as_strided": lambda: rg.zeros(1).as_strided([1] * 65, [1] * 65),
    "unfold": lambda: rg.zeros([1] * 64).unfold(0, 1, 1),
    "tensordot": lambda: rg.tensordot(rg.zeros([1] * 40), rg.zeros([1] * 40), 0),
    "index": lambda: rg.zeros([1] * 40)[rg.zeros([1] * 40).long()],
    "embedding": lambda: F.embedding(rg.zeros([1] * 64).long(), TABLE),
    "one_hot": lambda: F.one_hot(rg.zeros([1] * 64).long()),
    "zeros": lambda: rg.zeros([1] * 65),
    "empty_strided": lambda: rg.empty_strided([1] * 65, [1] * 65),
    "rand": lambda: rg.rand([1] * 65),
}


@pytest.mark.parametrize("make", MANY.values(), ids=MANY)
def test_more_than_64_dimensions_are_refused(make):
    with pytest.raises(RuntimeError, match=r"tensor has too many \(>64\) dims"):
        make()


def test_64_dimensions_are_fine():
    x = rg.zeros([1] * 40)[rg.zeros([1] * 25).long()]
    assert x.ndim == 64


def holding_itself():
    a = []
    a.append(a)
    return a


def beside_itself():
    a = [[1.0, 2.0], None]
    a[1] = a
    return a


def deep():
    a = [1.0]
    for _ in range(5000):
        a = [a]
    return a


class Endless:
    def __len__(self):
        return 1

    def __getitem__(self, place):
        return self


@pytest.mark.parametrize("data", [holding_itself, deep, Endless, lambda: [Endless()]])
def test_a_sequence_that_holds_itself_has_too_many_dimensions(data):
    for make in (rg.tensor, rg.as_tensor, rg.ones(1).new_tensor):
        with pytest.raises(ValueError, match="too many dimensions 'list'"):
            make(data())


def test_a_list_that_holds_itself_beside_others_is_refused():
    for make in (rg.tensor, rg.as_tensor, rg.ones(1).new_tensor):
        with pytest.raises(TypeError, match="self-referential lists are incompatible"):
            make(beside_itself())


@pytest.mark.filterwarnings("ignore:Using a non-tuple sequence")
@pytest.mark.parametrize("data", [holding_itself, beside_itself, deep, lambda: [Endless()]])
def test_a_list_that_holds_itself_is_no_index(data):
    text = r"too many dimensions|must be long|self-referential"
    with pytest.raises((ValueError, IndexError, TypeError), match=text):
        VECTOR[data()]


def test_elements_cannot_be_deleted():
    x = rg.zeros(3)
    with pytest.raises(TypeError, match="Tensor does not support deleting items"):
        del x[0]


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_a_convolution_needs_a_kernel(dims):
    x, kernel = rg.zeros([1, 1] + [4] * dims), rg.zeros([1, 1] + [1] * (dims - 1) + [0])
    for name in (f"conv{dims}d", f"conv_transpose{dims}d"):
        with pytest.raises(RuntimeError, match="kernel size should be greater than zero, but got"):
            getattr(F, name)(x, kernel)


@pytest.mark.parametrize("mode", ["nearest", "nearest-exact", "bilinear", "bicubic"])
@pytest.mark.parametrize("size", [-1, 0, (2, -1)])
def test_images_are_not_resampled_to_nothing(mode, size):
    with pytest.raises(RuntimeError, match="Input and output sizes should be greater than 0"):
        F.interpolate(rg.zeros(1, 1, 4, 4), size=size, mode=mode)


def test_an_empty_image_cannot_be_resampled_and_an_empty_batch_can():
    with pytest.raises(RuntimeError, match="Input and output sizes should be greater than 0"):
        F.interpolate(rg.zeros(1, 1, 0, 4), size=3)
    assert F.interpolate(rg.zeros(0, 1, 2, 4), size=3).shape == (0, 1, 3, 3)
    with pytest.raises(RuntimeError, match="must be greater than or equal to 0"):
        F.interpolate(rg.zeros(1, 1, 4, 4), size=-1, mode="area")


# -- memory that must not be written -------------------------------------------------------------


def read_only(*shape):
    array = np.ones(shape, np.float32)
    array.flags.writeable = False
    return rg.from_numpy(array)


def graded(grad):
    x = rg.ones(grad.shape, requires_grad=True)
    x.grad = grad
    return [x]


WRITERS = {
    "mul_": lambda x: x.mul_(2),
    "copy_": lambda x: x.copy_(rg.ones(2, 2)),
    "setitem": lambda x: x.__setitem__(0, 1.0),
    "index_put_": lambda x: x.__setitem__(rg.tensor([0]), 1.0),
    "normal_": lambda x: x.normal_(),
    "out=": lambda x: rg.add(rg.ones(2, 2), 1, out=x),
    "out= of a factory": lambda x: rg.eye(2, out=x),
    "out= of several": lambda x: rg.linalg.qr(rg.eye(2), out=(x, rg.ones(2, 2))),
    "clip_grad_norm_": lambda x: rg.nn.utils.clip_grad_norm_(graded(x), 0.5),
    "clip_grad_value_": lambda x: rg.nn.utils.clip_grad_value_(graded(x), 0.5),
    "eye_": lambda x: rg.nn.init.eye_(x),
    "orthogonal_": lambda x: rg.nn.init.orthogonal_(x),
    "batch_norm": lambda x: F.batch_norm(rg.ones(3, 2), x[0], rg.ones(2), training=True),
    "embedding": lambda x: F.embedding(rg.tensor([0]), x, max_norm=0.1),
}
# All elements get the same value, so several of them may be one.
UNIFORM = {
    "zero_": lambda x: x.zero_(),
    "fill_": lambda x: x.fill_(1.0),
    "zero_grad": lambda x: rg.optim.SGD(graded(x), 0.1).zero_grad(set_to_none=False),
    "constant_": lambda x: rg.nn.init.constant_(x, 1.0),
}


@pytest.mark.parametrize("write", (WRITERS | UNIFORM).values(), ids=WRITERS | UNIFORM)
def test_read_only_memory_is_not_written(write):
    x = read_only(2, 2)
    with pytest.raises(RuntimeError, match="stands on read-only memory"):
        write(x)
    assert x.tolist() == [[1, 1], [1, 1]]


@pytest.mark.parametrize("write", WRITERS.values(), ids=WRITERS)
def test_an_expanded_tensor_is_not_written(write):
    x = rg.ones(1).expand(2, 2)
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
        write(x)
    assert x.tolist() == [[1, 1], [1, 1]]


@pytest.mark.parametrize("name", UNIFORM)
def test_an_expanded_tensor_may_get_one_value(name):
    x = rg.full((1,), 5.0).expand(2, 2)
    UNIFORM[name](x)
    assert x.tolist() == [[0.0 if "zero" in name else 1.0] * 2] * 2
