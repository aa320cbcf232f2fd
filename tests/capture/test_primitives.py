"""NumPy's functions as native loops: each gives what NumPy gives, and nothing is left to NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import retrograd as rg
from retrograd.capture import program
from retrograd.capture.loops.lowering import Lowering
from retrograd.capture.loops.primitives import Loop
from retrograd.capture.loops.storages import Part
from retrograd.capture.program import NATIVE
from retrograd.capture.recording import Recording
from retrograd.capture.traced import held
from retrograd.engine.tensor import new_tensor
from retrograd.kernels.native.products import has_blas

pytestmark = pytest.mark.skipif(not NATIVE, reason="needs llvmlite and the parts in C")


def given(dtype, *shape):
    """Some numbers, with both zeros among them, NaN, and ties; small ones of integers."""
    source = np.random.default_rng(sum(shape))
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return source.random(shape) < 0.5
    if dtype.kind in "iu":
        return source.integers(0, 9, shape).astype(dtype)
    x = source.standard_normal(shape)
    if dtype.kind == "c":
        x = x + 1j * source.standard_normal(shape)
    x.reshape(-1)[:3] = 0.0, -0.0, x.reshape(-1)[-1]
    return x.astype(dtype)


def with_nan(dtype, *shape):
    x = given(dtype, *shape)
    if x.dtype.kind == "f":
        x.reshape(-1)[4] = np.nan
    return x


def index(high, *shape):
    return np.random.default_rng(7).integers(-high, high, shape)


REAL, FLOATS, EVERY = "ilfd", "fdFD", "?bhilBHfdFD"
CALLS = {}


def call(dtypes, *arrays):
    """Enter a function of arrays; `arrays` make them for a dtype."""

    def enter(function):
        CALLS[function.__name__] = function, dtypes, arrays
        return function

    return enter


def array(*shape, of=given):
    return lambda dtype: of(dtype, *shape)


def places(high, *shape):
    return lambda dtype: index(high, *shape)


@call("ilfdFD", array(4, 5))
def sums(x):
    dtype = x.dtype
    return (
        x.sum(0, dtype=dtype),
        np.sum(x, (0, 1), dtype),
        np.add.reduce(x, 1, dtype, keepdims=True),
    )


@call("?bhiBH", array(4, 5))
def sums_of_small_integers(x):
    return x.sum(0), np.sum(x)


@call("?bhilBHIL", array(4, 5))
def sums_of_integers_as_floats(x):
    return x.sum(0, np.float64), np.sum(x, None, "f"), x.sum(1, "F"), np.add.reduce(x, 0, "D")


@call(REAL, array(4, 5, of=with_nan))
def extremes(x):
    return x.max(1), np.min(x), np.maximum.reduce(x), x.max(0, initial=3), x[:, ::-1].min(1)


@call("fdFDil", array(3, 4))
def products_of_elements(x):
    return np.prod(x, 1, x.dtype), np.multiply.reduce(x, 0, x.dtype)


@call("?ilfd", array(3, 4))
def truths(x):
    return np.all(x, 1), x.any(), np.logical_or.reduce(x > 1, axis=0)


@call(FLOATS, array(3, 4))
def means(x):
    return x.mean(), x.mean(1, keepdims=True), np.mean(x, 0)


@call("?bhilBHfd", array(4, 5, of=with_nan))
def first_places(x):
    return x.argmax(), x.argmax(0), np.argmin(x, 1), x.T.argmin(), x.argmax(1, keepdims=True)


@call(FLOATS, array(3, 4), array(4, 5), array(4))
def matrices(x, y, v):
    return x @ y, np.matmul(x[None], y), x @ v, v @ y, np.dot(x, y), np.vdot(v, v), np.inner(v, v)


@call(FLOATS, array(40, 60), array(60, 40), array(3, 40, 30))
def large_matrices(x, y, stack):
    """Those that BLAS multiplies: rows, columns and parts of either, and stacks."""
    return (
        *(
            x @ y,
            y.T @ x.T,
            x[1:] @ x[:-1].T,
            np.dot(x.T, y[:40].T[:40]),
            x[:, 5:35] @ y[5:35, :39],
        ),
        *(x[::2] @ y, y.T[3:, 7:] @ x.T[7:, 2:], stack.transpose(0, 2, 1) @ stack[::-1]),
        *(stack @ y[:30], y[:30, :40].T @ stack.transpose(0, 2, 1), stack[1] @ stack[2].T),
    )


@call(EVERY[1:], array(4), array(5))
def pairs(v, w):
    return np.multiply.outer(v, w), np.add.outer(v[::-2], w.reshape(1, 5))


@call(EVERY, array(3, 4))
def parts_that_are_written(x):
    out = np.zeros_like(x)
    out[1:, ::2] = x[1:, ::2]
    out[0, 1] = x[2, 3]
    out[..., 3] = 1
    return out


@call(EVERY, array(3, 4))
def copies_in_rows(x):
    return x.T.reshape(-1), x.T.ravel(), x[:, ::-1].flatten(), np.reshape(x.T, (2, 6)), x.T.copy()


@call(EVERY, array(3, 4), array(3, 4))
def joined(x, y):
    return np.concatenate([x, y, x], 1), np.stack([x, y], 1), np.stack([x.T, y.T], axis=-1)


@call("ilfdFD", array(3, 4), lambda dtype: given("?", 3, 4))
def chosen(x, mask):
    out, filled = np.ones_like(x), x.copy()
    np.copyto(out, x, where=mask)
    np.multiply(x, x, out=filled, where=mask)
    set_to = x.copy()
    set_to[mask] = 2
    return out, filled, set_to, np.where(mask, x, 0)


@call("ilfd", array(3, 4, of=with_nan))
def clipped(x):
    return x.clip(1, 2), np.clip(x, None, x.dtype.type(1))


@call("fd", array(3, 4))
def clipped_zeros(x):
    zeros = x * 0
    return tuple(np.copysign(1, zeros.clip(*bounds)) for bounds in ((0, 1), (-1, -0.0), (0, None)))


@call("fd", array(3, 4))
def rounded(x):
    return np.round(x * 2), np.rint(x)


@call(EVERY, array(5, 4), places(5, 3), places(4, 3), places(5, 2, 3))
def taken(x, i, j, k):
    return (x.take(i, 0), x.take(j, 1), x[i], x[:, j], x[i, j], x[k], x[..., j], x.take(i),
            np.take(x, k, axis=0))  # fmt: skip


@call(EVERY, array(5, 4), places(4, 5, 2), places(5, 3, 4))
def along_an_axis(x, i, j):
    out = x.copy()
    np.put_along_axis(out, i, x[:, :2], 1)
    return np.take_along_axis(x, i, 1), np.take_along_axis(x, j, axis=0), out


@call(EVERY, array(5, 4), places(5, 3), places(4, 3), array(3, 4))
def put(x, i, j, v):
    rows, points, numbers = x.copy(), x.copy(), x.copy()
    rows[i] = v
    points[i, j] = v[:, 0]
    numbers[:, j] = 1
    return rows, points, numbers


@call("ilfdFD", array(5, 4), lambda dtype: np.array([0, 3, 0, -5, 2]), array(5, 4), array(5))
def added(x, i, v, w):
    rows, points, largest = x.copy(), x.copy(), x.copy()
    np.add.at(rows, i, v)
    np.add.at(points, (i, i % 4), w)
    np.multiply.at(largest, i, v)
    return rows, points, largest


@call("fd", array(3, 4))
def with_a_dtype(x):
    return np.multiply(x, 2, dtype=np.float64), np.add(x, x, dtype="f8")


class AllOpen(dict):
    """Forms of loops, as if there had been each with other sizes, strides and numbers."""

    def get(self, kind, default):
        values = []
        program.native.with_values(kind, values.append)
        return [program.native.Form(values, [], 0)] if values else default


def replayed(function, arrays, forms):
    """What a function gives, what its native form gives, and what has none."""
    recording = Recording()
    tensors = [rg.as_tensor(np.array(a)) for a in arrays]
    for number, tensor in enumerate(tensors):
        recording.root(tensor, ("argument", f"args[{number}]"))
    found = function(*[tensor._array for tensor in tensors])
    results = tuple([new_tensor(held(f)) for f in (found if isinstance(found, tuple) else [found])])
    recording.settle()
    assert recording.stopped is None
    lowering, left = Lowering(recording, program.native.can), []
    for step in recording.steps:
        if lowering.lowered(step) is None:
            left.append((step.function, lowering.reasons.get(step)))
    replay, *_ = program.program(recording, results, [], True, forms)
    return results, replay(tensors, {}), left


@pytest.mark.parametrize("forms", [dict, AllOpen])
@pytest.mark.parametrize("name", CALLS)
def test_a_call_has_a_native_form_that_gives_what_numpy_gives(name, forms):
    function, dtypes, make = CALLS[name]
    if function is large_matrices and not has_blas():
        pytest.skip("NumPy has a BLAS of its own kind")
    for dtype in dtypes:
        expected, found, left = replayed(function, [m(dtype) for m in make], forms())
        assert not left, dtype
        for a, b in zip(found, expected, strict=True):
            x, y = a._array, b._array
            assert (x.shape, x.dtype, x.strides) == (y.shape, y.dtype, y.strides)
            if x.dtype.kind in "fc":
                bound = 1e-6 if x.dtype.char in "fF" else 1e-14
                size = np.abs(y).max() if function is large_matrices else 1.0  # BLAS orders terms
                np.testing.assert_allclose(x, y, rtol=bound, atol=bound * size)
            else:
                np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize("dtype", "fd")
def test_rows_of_all_lengths_give_what_numpy_gives(dtype):
    def function(x, row, column):
        return np.where(x > row, x * column, np.exp(row)), x < column, x @ x.T, row + 1

    for n in (3, 5, 8, 13, 16, 17, 18, 31, 33, 70):
        x, row, column = [array(*shape)(dtype) for shape in ((3, n), (n,), (3, 1))]
        expected, found, left = replayed(function, [x, row, column], {})
        assert not left
        bound = 1e-6 if dtype == "f" else 1e-14
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_allclose(a._array, b._array, rtol=bound, atol=n * bound)


def test_an_index_out_of_range_is_told_by_the_functions_own_error():
    w = rg.arange(5.0)
    step = rg.compile(lambda i: w[i] * 2)
    for _ in range(2):
        assert step(rg.tensor([1, -1])).tolist() == [2.0, 8.0]
    for bad in (5, -6, 2**62):
        with pytest.raises(IndexError, match=f"index {bad} is out of bounds for dimension 0"):
            step(rg.tensor([1, bad]))


def test_an_index_that_the_step_moves_out_of_range_is_no_error():
    x, index = rg.arange(3.0), rg.tensor([1])

    @rg.compile
    def step(index):
        found = x[index] * 2
        index.add_(3)
        return found

    for _ in range(3):
        assert step(index).tolist() == [2]
        assert index.tolist() == [4]
        index.sub_(3)
    assert step.compiled.reasons == []


def test_a_large_product_that_blas_cannot_read_has_a_loop_of_its_own():
    by_rows, by_columns = (160, 4), (4, 160)
    x, y = (Part(number, 0, (40, 40), by_rows, np.dtype("f")) for number in (1, 2))
    forms, known = program.native.Forms({}), {}
    for strides in (by_rows, by_columns):
        out = Part(0, 0, (40, 40), strides, np.dtype("f"))
        known[strides] = forms.found(Loop("matmul", "matmul", out, (x, y)))
    forms.build()
    (code, words), (other, nothing) = [(form.address, given) for form, given in known.values()]
    assert nothing == []  # the table gives such a loop its parts alone
    if has_blas():
        told = program.native.loops.words_of_product
        assert told(11, 1, 40, 40, 40, *[0, *by_rows] * 3) == [code, *words]
        assert words == [11, 40, 40, 40, 111, 111, 40, 40, 40, 1, 0, 0, 0]
        turned = told(12, 3, 20, 30, 40, 4800, 240, 8, 6400, 8, 160, 0, 240, 8)
        assert turned == [code, 12, 20, 30, 40, 112, 111, 30, 20, 30, 3, 4800, 6400, 0]
        for strides in ((160, 8), (0, 4), (156, 4), (162, 4), (-160, 4)):
            assert told(11, 1, 40, 40, 40, *(0, *by_rows), *(0, *strides), *(0, *by_rows)) is None
        assert code != other
