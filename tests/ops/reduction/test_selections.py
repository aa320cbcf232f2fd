"""Pieces, scattering with reductions and statistics beside PyTorch's results."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import retrograd as rg
from retrograd.autograd import grad, gradcheck, gradgradcheck

spec = importlib.util.spec_from_file_location(
    "selections", Path(__file__).parents[2] / "data" / "make_selections.py"
)
made = importlib.util.module_from_spec(spec)
spec.loader.exec_module(made)
cases = made.machinery()


@pytest.mark.filterwarnings("ignore:cov:UserWarning")
@pytest.mark.parametrize(
    ("case", "want"),
    made.references("pieces", "scatter", "statistics"),
    ids=lambda value: str(value)[:60],
)
def test_call_gives_pytorchs_values_gradients_and_errors(case, want):
    cases.check(rg, case, want)


# -- pieces and regions -------------------------------------------------------------------------


def leaf(data):
    return rg.tensor(data, dtype=rg.float64, requires_grad=True)


def complex_leaf(data):
    return rg.tensor(data, dtype=rg.complex128, requires_grad=True)


def test_pieces_of_unsafe_split_may_be_written_and_the_base_learns_of_it():
    x = leaf([1.0, 2.0, 3.0])
    y = x * 2
    first, last = rg.unsafe_split(y, 2)
    first.mul_(10)
    assert y.tolist() == [20.0, 40.0, 6.0]
    assert last.tolist() == [6.0]
    np.testing.assert_array_equal(grad(y.sum(), x)[0]._array, [20.0, 20.0, 2.0])


def test_a_region_is_replaced_in_complex_tensors_with_derivatives_of_every_order():
    z = rg.tensor(np.arange(6.0).reshape(2, 3) + 1j, requires_grad=True)
    w = complex_leaf([1j, 2.0])
    for call in (
        lambda z, w: rg.select_scatter(z, w, 1, -1) ** 2,
        lambda z, w: rg.diagonal_scatter(z, w) ** 2,
        lambda z, w: rg.slice_scatter(z, w[:, None], 1, 1, 2) ** 2,
        lambda z, w: rg.as_strided_scatter(z, w, (2,), (2,)) ** 2,
    ):
        assert gradcheck(call, (z, w))
        assert gradgradcheck(call, (z, w))


def test_as_strided_in_place_keeps_history_and_refuses_live_views():
    x = leaf([1.0, 2.0, 3.0])
    y = x * 1
    y.as_strided_((2, 2), (1, 1))
    np.testing.assert_array_equal(grad(y.sum(), x)[0]._array, [1.0, 2.0, 1.0])
    base = rg.ones(3)
    view = base[0]
    with pytest.raises(RuntimeError, match="without live views"):
        base.as_strided_((1,), (1,))
    assert view.item() == 1.0


def test_uninitialised_tensors_lie_in_memory_as_asked():
    assert rg.empty_permuted((2, 3, 4), (2, 0, 1)).stride() == (3, 1, 6)
    x = rg.empty_strided((2, 3), (1, 4), dtype=rg.float64, requires_grad=True)
    assert (x.stride(), x.dtype, x.requires_grad) == ((1, 4), rg.float64, True)
    x.detach().zero_()
    assert rg.zeros(2, dtype=rg.int64).new_empty_strided((2, 2), (2, 1)).dtype == rg.int64
    assert rg.empty_strided((0, 3), (3, 1)).shape == (0, 3)
    for call, text in (
        (lambda: rg.empty_strided((2,), (1, 1)), "must match dimensionality of strides"),
        (lambda: rg.empty_strided((2,), (-1,)), "strides are not negative"),
        (lambda: rg.empty_permuted((2, 3), (0, 0)), "Duplicate dim not allowed"),
        (lambda: rg.empty_permuted((2, 3), (0, 2)), "out of range"),
        (lambda: rg.empty_permuted((2, 3), (0,)), "does not match the length"),
    ):
        with pytest.raises(RuntimeError, match=text):
            call()


# -- scattering with a reduction ----------------------------------------------------------------


@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("reduce", ["sum", "mean", "prod"])
def test_scatter_reduce_has_complex_derivatives_of_every_order(reduce, include_self):
    z = complex_leaf([1 + 1j, 2.0, -1j])
    w = complex_leaf([1j, 0.5, 3 - 1j])
    index = rg.tensor([1, 1, 0])

    def call(z, w):
        return rg.scatter_reduce(z, 0, index, w, reduce, include_self=include_self)

    assert gradcheck(call, (z, w))
    assert gradgradcheck(call, (z, w))


def test_products_with_zeros_have_their_derivatives_of_every_order():
    x, s = leaf([2.0, 0.0, 3.0]), leaf([0.0, 5.0, 0.0])

    def call(x, s):
        return rg.scatter_reduce(x, 0, rg.tensor([1, 0, 0]), s, "prod")

    first = grad(call(x, s).sum(), (x, s), create_graph=True)
    np.testing.assert_array_equal(first[0]._array, [0.0, 0.0, 1.0])
    np.testing.assert_array_equal(first[1]._array, [0.0, 0.0, 10.0])
    np.testing.assert_array_equal(grad(first[1][2], (x, s))[1]._array, [0.0, 2.0, 0.0])


def test_products_and_extrema_pass_over_infinities_of_other_places():
    x = rg.tensor([float("inf"), 2.0, float("nan")])
    index, s = rg.tensor([1]), rg.tensor([3.0])
    np.testing.assert_array_equal(
        rg.scatter_reduce(x, 0, index, s, "prod")._array, [np.inf, 6.0, np.nan]
    )
    np.testing.assert_array_equal(
        rg.scatter_reduce(x, 0, index, s, "amax")._array, [np.inf, 3.0, np.nan]
    )


def test_extrema_exclude_the_tensors_own_value_on_request_even_where_it_is_equal():
    x, s = leaf([3.0, 1.0]), leaf([3.0, 2.0])
    y = rg.scatter_reduce(x, 0, rg.tensor([0, 0]), s, "amax", include_self=False)
    found = grad(y.sum(), (x, s))
    np.testing.assert_array_equal(found[0]._array, [0.0, 1.0])
    np.testing.assert_array_equal(found[1]._array, [1.0, 0.0])


@pytest.mark.parametrize("dtype", [rg.bool, rg.uint8, rg.int32, rg.float16, rg.float32])
@pytest.mark.parametrize("reduce", ["prod", "amax", "amin"])
def test_scatter_reduce_keeps_the_dtype(dtype, reduce):
    x, s = rg.tensor([1, 0, 1]).to(dtype), rg.tensor([1, 1]).to(dtype)
    found = rg.scatter_reduce(x, 0, rg.tensor([1, 2]), s, reduce)
    assert found.dtype == dtype
    assert [int(v) for v in found.tolist()] == ([1, 1, 1] if reduce == "amax" else [1, 0, 1])


# -- statistics ---------------------------------------------------------------------------------


def test_quantiles_have_derivatives_with_respect_to_the_rank_too():
    x = leaf([3.0, 1.0, 7.0])
    q = leaf([0.3, 0.6])
    assert gradcheck(lambda x, q: rg.quantile(x, q), (x, q))
    assert gradcheck(lambda x, q: rg.nanquantile(x, q), (x, q))


@pytest.mark.parametrize("correction", [2, 3])
def test_cov_warns_without_degrees_of_freedom(correction):
    with np.errstate(divide="ignore"), pytest.warns(UserWarning, match="degrees of freedom is"):
        assert rg.cov(rg.tensor([1.0, 2.0]), correction=correction).item() == float("inf")


def test_correlations_of_equal_rows_are_one():
    x = rg.tensor([[1.0, 2.0, 4.0], [1.0, 2.0, 4.0]])
    np.testing.assert_allclose(rg.corrcoef(x)._array, np.ones((2, 2)), rtol=1e-6)


def test_gradient_is_exact_for_parabolas_at_any_positions():
    at = leaf([0.0, 0.5, 2.0, 3.0])
    (derivative,) = rg.gradient(at**2, spacing=(at.detach(),), edge_order=2)
    np.testing.assert_allclose(derivative.detach()._array, 2 * at.detach()._array, atol=1e-12)


# -- names and out ------------------------------------------------------------------------------

REDUCTIONS = (
    *("sum", "mean", "prod", "amax", "amin", "argmax", "argmin", "all", "any", "std", "var"),
    *("logsumexp", "median", "nanmedian", "mode", "nansum", "nanmean", "max", "min", "aminmax"),
    *("kthvalue", "quantile", "nanquantile"),
)
ALONG = (
    *("softmax", "log_softmax", "cumsum", "cumprod", "cummax", "cummin", "logcumsumexp", "sort"),
    *("argsort", "unbind", "squeeze", "unsqueeze", "diff", "trapezoid", "count_nonzero"),
    *("cat", "concat", "concatenate", "stack"),
)


@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions_take_numpys_names(name):
    x = rg.tensor([[1.0, 5.0], [3.0, 2.0]])
    more = {"kthvalue": (1,), "quantile": (0.5,), "nanquantile": (0.5,)}.get(name, ())
    found = getattr(rg, name)(x, *more, axis=0, keepdims=True)
    want = getattr(x, name)(*more, dim=0, keepdim=True)
    for a, b in zip(listed(found), listed(want), strict=True):
        assert a.shape == b.shape
        np.testing.assert_array_equal(a._array, b._array)


def listed(value):
    return list(value) if isinstance(value, tuple) else [value]


@pytest.mark.parametrize("name", ALONG)
def test_functions_along_a_dimension_take_axis(name):
    x = rg.tensor([[1.0, 5.0], [3.0, 2.0]])
    given = [x, x] if name in ("cat", "concat", "concatenate", "stack") else x
    found, want = getattr(rg, name)(given, axis=1), getattr(rg, name)(given, dim=1)
    for a, b in zip(listed(found), listed(want), strict=True):
        np.testing.assert_array_equal(a._array, b._array)


def test_unknown_keywords_and_arguments_given_twice_raise():
    x = rg.ones(2, 2)
    with pytest.raises(TypeError, match=r"sum\(\) got an unexpected keyword argument 'axes'"):
        x.sum(axes=0)
    with pytest.raises(TypeError, match="multiple values for argument 'dim'"):
        x.sum(0, axis=1)
    with pytest.raises(TypeError, match=r"missing 1 required positional argument: .dim."):
        rg.softmax(x)
    np.testing.assert_array_equal(rg.max(x, x2=x * 2)._array, 2 * x._array)


def test_results_are_written_into_out():
    x = rg.tensor([[1.0, 5.0], [3.0, 2.0]])
    i = rg.tensor([[1, 0]])
    for call in (
        lambda **o: rg.gather(x, 0, i, **o), lambda **o: rg.scatter(x, 0, i, 9.0, **o),
        lambda **o: rg.scatter_reduce(x, 0, i, x[:1], "prod", **o),
        lambda **o: rg.index_select(x, 1, rg.tensor([1]), **o), lambda **o: rg.hstack([x, x], **o),
        lambda **o: rg.tril(x, **o), lambda **o: rg.take(x, i, **o),
        lambda **o: rg.quantile(x, 0.5, **o), lambda **o: rg.renorm(x, 2, 0, 1.0, **o),
        lambda **o: rg.isin(x, 5.0, **o), lambda **o: rg.nonzero(x, **o),
        lambda **o: rg.bucketize(x, x[0], **o), lambda **o: rg.norm(x, "nuc", **o),
    ):  # fmt: skip
        want = call()
        out = rg.empty(want.shape, dtype=want.dtype)
        assert call(out=out) is out
        np.testing.assert_array_equal(out._array, want._array)


def test_several_results_are_written_into_several_tensors():
    x = rg.tensor([[1.0, 5.0], [3.0, 2.0]])
    for call in (rg.sort, rg.aminmax, lambda t, **o: rg.topk(t, 1, **o), lambda t, **o:
                 rg.cummax(t, 0, **o), lambda t, **o: rg.histogram(t, 3, **o)):  # fmt: skip
        want = call(x)
        outs = tuple(rg.empty(t.shape, dtype=t.dtype) for t in want)
        found = call(x, out=outs)
        assert type(found) is type(want)
        assert found[0] is outs[0]
        for a, b in zip(found, want, strict=True):
            np.testing.assert_array_equal(a._array, b._array)
    with pytest.raises(RuntimeError, match="don't support automatic differentiation"):
        rg.sort(leaf([1.0]), out=(rg.empty(1), rg.empty(1, dtype=rg.int64)))
    with pytest.raises(TypeError, match="an out= argument of length 2, got 1"):
        rg.sort(x, out=(rg.empty(2, 2),))
