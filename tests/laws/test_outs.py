"""Laws of `out=`, for every public function that takes it and that a few usual arguments fit."""

from __future__ import annotations

import inspect
import warnings

import numpy as np
import pytest

import retrograd as rg

MODULES = {"": rg, "linalg.": rg.linalg, "special.": rg.special, "fft.": rg.fft}
RANDOM = {"bernoulli", "multinomial", "normal", "rand", "randint", "randn", "randperm"}
FACTORIES = {"arange", "empty", "eye", "full", "linspace", "logspace", "ones", "range", "zeros"}
X = rg.tensor([[0.25, 0.5, 0.75], [0.5, 0.25, 0.125], [0.125, 0.5, 0.25]])
V, BATCH = X[0], X[None]
INTS = rg.tensor([[1, 2], [3, 1]])
POSITIVE, PLACES = X @ X.mT + 3 * rg.eye(3), rg.zeros(3, 3, dtype=rg.int64)
CALLS = [
    (X,), (X, X), (X, 0), (X, 0, 1), (POSITIVE,), (V,), (V, V), (BATCH, BATCH), (X, V), (X, X, X),
    (X, X, X, 0.5), (X, V, V), (V, X, V), (X, BATCH, BATCH), (BATCH, BATCH, BATCH), (INTS,),
    (INTS, INTS), (X, 0, PLACES), (X, 0, PLACES, X), (X, PLACES), (X, X > 0.3), (X > 0.3, X, X),
    ([X, X],), (X, (0,), X), (X, 2, 0, 1.0), (X, 0, PLACES[0], X), (X, 0, PLACES[0], X, "amax"),
    (INTS, INTS, INTS), (rg.complex(X, X),), (X, (1, 1)), (X, 0, PLACES, X, "sum"), (X + 1, 2),
    (2, X), (X, 0.5), (V, 1, V), (POSITIVE, X), (X, (2, 3), (1, 1)),
]  # fmt: skip


def results(found):
    """The tensors that a function gave."""
    return found if isinstance(found, tuple) else (found,)


def taking_out():
    """Each function by its name, with arguments that fit it."""
    for prefix, module in MODULES.items():
        for name in sorted(module.__all__):
            function = getattr(module, name)
            if name in RANDOM | FACTORIES or name.endswith("_") or isinstance(function, type):
                continue
            if not callable(function) or "out" not in inspect.signature(function).parameters:
                continue
            yield prefix + name, function


def outs_like(found, make):
    """An `out=` for such results, made from each of them."""
    made = tuple([make(t) for t in results(found)])
    return made if isinstance(found, tuple) else made[0]


def called():
    """(name, function, arguments, results) of each that some arguments fit."""
    for name, function in taking_out():
        for arguments in CALLS:
            try:
                found = function(*arguments)
            except Exception:
                continue
            if all(isinstance(t, rg.Tensor) for t in results(found)):
                yield name, function, arguments, found
                break


@pytest.fixture(scope="module")
def cases():
    """All calls that give no warning, and what they give."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = list(called())
    assert len(found) > 200
    return found


def check(name, given, found, out):
    """That a call with `out` gave it, with these values."""
    assert given is None or all(a is b for a, b in zip(results(given), results(out), strict=True))
    for a, b in zip(results(out), results(found), strict=True):
        np.testing.assert_array_equal(a._array, b._array.astype(a._array.dtype), name)
        assert a.shape == b.shape, name


def test_an_empty_out_gets_shape_and_values_without_a_word(cases):
    for name, function, arguments, found in cases:
        out = outs_like(found, lambda t: rg.zeros(0, dtype=t.dtype))
        check(name, function(*arguments, out=out), found, out)


def test_an_out_of_another_size_is_resized_with_a_warning(cases):
    for name, function, arguments, found in cases:
        out = outs_like(found, lambda t: rg.zeros(17, dtype=t.dtype))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            given = function(*arguments, out=out)
        assert len(caught) == len(results(found)), name
        for warning, t in zip(caught, results(found), strict=True):
            assert warning.filename == __file__, name
            text = str(warning.message)
            assert "was resized since it had shape [17]" in text, name
            assert str(list(t.shape)) in text, name
        check(name, given, found, out)


def test_an_out_with_gaps_is_written_between_them(cases):
    for name, function, arguments, found in cases:
        whole = [rg.full((*t.shape, 2), 1).to(t.dtype) for t in results(found)]
        views = tuple([t[..., 0] for t in whole])
        out = views if isinstance(found, tuple) else views[0]
        check(name, function(*arguments, out=out), found, out)
        assert all((t[..., 1] == 1).all() for t in whole), name


def test_an_out_may_be_an_input(cases):
    for name, function, arguments, found in cases:
        first = next((a for a in arguments if isinstance(a, rg.Tensor)), None)
        alone = not isinstance(found, tuple) and isinstance(first, rg.Tensor)
        if alone and (first.shape, first.dtype) == (found.shape, found.dtype):
            own = first.clone()
            changed = [own if a is first else a for a in arguments]
            check(name, function(*changed, out=own), found, own)


def test_fractions_do_not_go_into_an_out_of_integers(cases):
    for name, function, arguments, found in cases:
        if results(found)[0].dtype.is_floating_point and not sums(function):
            kinds = {t.dtype for t in results(found) if not t.dtype.is_floating_point}
            out = outs_like(
                found, lambda t: rg.full((2,), 5, dtype=t.dtype if t.dtype in kinds else rg.int64)
            )
            with pytest.raises(RuntimeError, match="can't be cast to the desired output type Long"):
                function(*arguments, out=out)
            assert results(out)[0].tolist() == [5, 5], name


def sums(function):
    """Whether a function computes in the dtype of its `out`."""
    return getattr(function, "__name__", "") in ("sum", "nansum", "prod", "cumsum", "cumprod")


def test_an_out_beside_a_tensor_that_requires_grad_is_refused(cases):
    for name, function, arguments, found in cases:
        if not any(isinstance(a, rg.Tensor) and a.dtype.is_floating_point for a in arguments):
            continue
        if not results(found)[0].dtype.is_floating_point:
            continue
        leaves = {}
        given = [leaf(a, leaves) for a in arguments]
        out = outs_like(found, lambda t: rg.zeros(0, dtype=t.dtype))
        with pytest.raises(RuntimeError, match="don't support automatic differentiation"):
            function(*given, out=out)
        assert results(out)[0].numel() == 0, name


def leaf(value, leaves):
    """A floating tensor as a leaf that requires grad, the same one for the same tensor."""
    if not isinstance(value, rg.Tensor) or not value.dtype.is_floating_point:
        return value
    if id(value) not in leaves:
        leaves[id(value)] = value.clone().requires_grad_()
    return leaves[id(value)]
