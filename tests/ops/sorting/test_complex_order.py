"""`by=`: what an order and the nearest number mean for complex numbers."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

import retrograd as rg
from retrograd.ops.core.arguments import CHOOSING, ORDERED, ROUNDED

F = rg.nn.functional
Z = rg.tensor([[1 + 1j, -3j, 2.0], [0.5j, -2.0, 1 - 1j]], dtype=rg.complex128)
REAL = rg.tensor([[1.0, -3.0, 2.0], [0.5, -2.0, 4.0]], dtype=rg.float64)
ORDERS = {
    "max": lambda x, **by: x.max(1, **by),
    "min": lambda x, **by: x.min(dim=0, **by),
    "max of all": lambda x, **by: x.max(**by),
    "max of two": lambda x, **by: rg.max(x, x.flip(1), **by),
    "amax": lambda x, **by: rg.amax(x, (0, 1), **by),
    "amin": lambda x, **by: x.amin(1, keepdim=True, **by),
    "aminmax": lambda x, **by: rg.aminmax(x, dim=0, **by),
    "maximum": lambda x, **by: rg.maximum(x, x.flip(0), **by),
    "minimum": lambda x, **by: x.minimum(x.flip(0), **by),
    "fmax": lambda x, **by: rg.fmax(x, x.flip(0), **by),
    "fmin": lambda x, **by: rg.fmin(x, other=x.flip(0), **by),
    "cummax": lambda x, **by: rg.cummax(x, 1, **by),
    "cummin": lambda x, **by: rg.cummin(x, 0, **by),
    "sort": lambda x, **by: rg.sort(x, 0, descending=True, **by),
    "msort": lambda x, **by: rg.msort(x, **by),
    "topk": lambda x, **by: rg.topk(x, 2, **by),
    "kthvalue": lambda x, **by: rg.kthvalue(x, 2, **by),
    "median": lambda x, **by: rg.median(x, 1, **by),
    "nanmedian": lambda x, **by: rg.nanmedian(x, **by),
    "argmax": lambda x, **by: rg.argmax(x, 1, **by),
    "argmin": lambda x, **by: rg.argmin(x, **by),
    "argsort": lambda x, **by: rg.argsort(x, 1, **by),
    "scatter_reduce": lambda x, **by: x.scatter_reduce(
        1, rg.tensor([[0, 0, 1], [2, 2, 2]]), x.flip(1), "amax", **by
    ),
    "index_reduce": lambda x, **by: x.index_reduce(
        0, rg.tensor([1, 1]), x.flip(1), reduce="amin", **by
    ),
}


def results(found):
    return [found] if isinstance(found, rg.Tensor) else list(found)


def test_every_function_that_takes_by_is_here():
    assert {name.split()[0] for name in ORDERS} == ORDERED


@pytest.mark.parametrize("name", ORDERS)
@pytest.mark.parametrize("by", ["modulus", "lexicographic"])
def test_what_is_chosen_has_the_rank_that_the_real_function_chooses(name, by):
    """Positive numbers, turned by one angle: their order by modulus is that of their sizes."""
    sizes = rg.tensor([[1.0, 3.0, 2.0], [0.5, 2.5, 4.0]], dtype=rg.float64)
    turn = np.exp(0.7j)
    for found, real in zip(
        results(ORDERS[name](sizes * turn, by=by)), results(ORDERS[name](sizes)), strict=True
    ):
        expected = real * turn if real.dtype.is_floating_point else real
        rg.testing.assert_close(found, expected, rtol=1e-15, atol=0)


@pytest.mark.parametrize("name", ORDERS)
def test_the_derivative_goes_to_what_was_chosen(name):
    sizes = rg.tensor([[1.0, 3.0, 2.0], [0.5, 2.5, 4.0]], dtype=rg.float64, requires_grad=True)
    z = (sizes.detach() * 1j).requires_grad_()
    found, real = results(ORDERS[name](z, by="modulus"))[0], results(ORDERS[name](sizes))[0]
    if not real.requires_grad:
        assert not found.requires_grad
        return
    weight = rg.arange(1.0, real.numel() + 1, dtype=rg.float64).reshape(real.shape)
    (g,) = rg.autograd.grad(found, z, weight + 0j)
    (expected,) = rg.autograd.grad(real, sizes, weight)
    rg.testing.assert_close(g, expected + 0j, rtol=0, atol=0)


@pytest.mark.parametrize("name", [n for n in ORDERS if n.split()[0] not in CHOOSING])
def test_the_plain_call_of_what_puts_in_order_raises_and_says_by(name):
    with pytest.raises(RuntimeError, match=r'complex numbers have no order.*by="modulus"'):
        ORDERS[name](Z)


CHOICES = [name for name in ORDERS if name.split()[0] in CHOOSING]


@pytest.mark.parametrize("dtype", [rg.complex64, rg.complex128])
@pytest.mark.parametrize("name", CHOICES)
def test_the_plain_call_of_what_chooses_is_that_by_modulus(name, dtype):
    """Forward, backward, twice backward and in forward mode."""
    z = Z.to(dtype, copy=True).requires_grad_()
    with rg.autograd.forward_ad.dual_level():
        dual = rg.autograd.forward_ad.make_dual(z, z.detach().flip(0))
        pairs = [results(ORDERS[name](dual, **by)) for by in ({}, {"by": "modulus"})]
        for found, expected in zip(*pairs, strict=True):
            assert found.dtype == expected.dtype
            assert found.equal(expected)
            tangents = [rg.autograd.forward_ad.unpack_dual(t).tangent for t in (found, expected)]
            assert (tangents[0] is None) == (tangents[1] is None) == (not found.is_complex())
            assert tangents[0] is None or tangents[0].equal(tangents[1])
    firsts, seconds = [], []
    for by in ({}, {"by": "modulus"}):
        out = results(ORDERS[name](z * z, **by))[0]
        if not out.is_complex():
            assert not out.requires_grad
            return
        (g,) = rg.autograd.grad(out.abs().sum(), z, create_graph=True)
        firsts.append(g)
        seconds += rg.autograd.grad(g.abs().sum(), z)
    assert firsts[0].equal(firsts[1])
    assert seconds[0].equal(seconds[1])


@pytest.mark.filterwarnings("ignore:There is a performance drop")
@pytest.mark.parametrize("name", CHOICES)
def test_the_plain_call_runs_under_vmap(name):
    pair = rg.stack([Z, Z.flip(1) * 1.5])
    for found, one, two in zip(
        results(rg.func.vmap(ORDERS[name])(pair)),
        results(ORDERS[name](pair[0])),
        results(ORDERS[name](pair[1])),
        strict=True,
    ):
        assert found.equal(rg.stack([one, two]))


def test_what_chooses_turns_with_its_input():
    turn = np.exp(0.5j)
    assert (Z * turn).argmax(1).tolist() == Z.argmax(1).tolist()
    rg.testing.assert_close((Z * turn).amax(0), Z.amax(0) * turn, rtol=1e-15, atol=0)


def test_the_plain_call_writes_to_out_and_in_place():
    out = rg.zeros((), dtype=Z.dtype)
    assert rg.amax(Z, out=out) is out
    assert out.item() == -3j
    rows, at = Z.clone(), rg.tensor([[0, 0, 1], [2, 2, 2]])
    expected = rows.scatter_reduce(1, at, Z.flip(1), "amax")
    assert rows.scatter_reduce_(1, at, Z.flip(1), "amax").equal(expected)


def test_a_complex_nan_is_what_is_chosen():
    z = rg.tensor([1j, complex(math.nan, 0), 5.0])
    assert z.max().isnan()
    assert z.median().isnan()
    assert rg.maximum(z, z.flip(0)).isnan().tolist() == [False, True, False]
    assert rg.fmax(z, rg.ones(3)).tolist() == [1j, 1, 5]


def test_where_there_are_no_elements_what_chooses_says_so():
    empty = rg.zeros(0, 3, dtype=rg.complex64)
    with pytest.raises(RuntimeError, match="numel\\(\\) == 0"):
        empty.max()
    assert empty.max(1).values.shape == (0,)
    assert empty.median().isnan()


def test_integers_and_numbers_may_stand_beside_complex_numbers():
    z = rg.tensor([1j, 3j])
    assert rg.maximum(z, 2.0).tolist() == [2, 3j]
    assert rg.max(z, rg.tensor([2, 2])).tolist() == [2, 3j]
    assert rg.minimum(rg.tensor([2, 2]), z, by="lexicographic").tolist() == [1j, 3j]


def test_segments_choose_by_modulus_too():
    found = rg.segment_reduce(Z[0], "max", lengths=rg.tensor([2, 1, 0]))
    assert found.tolist() == [-3j, 2, 0]


KEYS = {
    "modulus": lambda z: (abs(z), np.angle(z)),
    "lexicographic": lambda z: (z.real, z.imag),
}
INF = float("inf")


@pytest.mark.parametrize("by", KEYS)
@pytest.mark.parametrize(
    "values",
    [
        [2, 2j, -2, 1 + 1j, -2],
        [complex(3, 0), complex(5, -INF), complex(4, 1)],
        [complex(INF, 1), complex(1, INF), complex(-INF, 0)],
        [0j, complex(-0.0, -0.0), complex(-0.0, 0.0)],
    ],
)
def test_extrema_of_ties_and_infinities(values, by):
    key, places = KEYS[by], range(len(values))
    largest = max(places, key=lambda k: key(values[k]))  # the first of equal ones
    smallest = min(places, key=lambda k: key(values[k]))
    z = rg.tensor(values, dtype=rg.complex128)
    rows = rg.stack([z, z.flip(0)])
    assert rg.argmax(z, by=by) == largest
    assert rg.argmin(z, by=by) == smallest
    assert rg.max(rows, 1, by=by).values.tolist() == [values[largest]] * 2
    assert rg.amin(rows, (0, 1), by=by).item() == values[smallest]
    found = rg.aminmax(rows, dim=1, keepdim=True, by=by)
    assert found.max.tolist() == [[values[largest]]] * 2
    assert found.min.tolist() == [[values[smallest]]] * 2
    assert rg.maximum(z[largest], z, by=by).tolist() == [values[largest]] * len(values)


@pytest.mark.parametrize("by", KEYS)
def test_the_first_nan_is_both_largest_and_smallest(by):
    z = rg.tensor([[9.0, complex(1, float("nan")), float("nan")], [1, 2, 3]], dtype=rg.complex64)
    assert rg.argmax(z, 1, by=by).tolist() == [1, 2]
    assert rg.argmin(z, 1, by=by).tolist() == [1, 0]


def test_the_element_that_is_chosen_has_the_gradient():
    z = rg.tensor([[1j, 3, -3], [2, 1, 1]], dtype=rg.complex64, requires_grad=True)
    rg.amax(z, 1).real.sum().backward()
    assert z.grad.tolist() == [[0, 0, 1], [1, 0, 0]]


def test_numpys_functions_keep_numpys_order():
    z = rg.tensor([1 + 1j, -3j, 1 + 2j, 1 - 1j])
    for name in ("max", "min", "argmax", "argmin", "sort", "argsort"):
        function = getattr(np, name)
        np.testing.assert_array_equal(np.asarray(function(z)), function(z.numpy()))
    for name in ("maximum", "minimum", "fmax", "fmin"):
        function = getattr(np, name)
        np.testing.assert_array_equal(
            function(z, z.flip(0)).numpy(), function(z.numpy(), z.numpy()[::-1])
        )
    np.testing.assert_array_equal(
        np.maximum.accumulate(z).numpy(), np.maximum.accumulate(z.numpy())
    )


@pytest.mark.parametrize("name", [n for n in ORDERS if "arg" not in n])
def test_by_parts_is_the_function_of_each_part(name):
    pair = rg.complex(REAL, REAL.flip(0))
    real, imag = results(ORDERS[name](REAL)), results(ORDERS[name](REAL.flip(0)))
    if any(not t.dtype.is_floating_point for t in real):
        with pytest.raises(ValueError, match="finds no places"):
            ORDERS[name](pair, by="parts")
        return
    for found, a, b in zip(results(ORDERS[name](pair, by="parts")), real, imag, strict=True):
        assert found.equal(rg.complex(a, b))


def test_equal_moduli_are_ordered_by_angle_and_equal_real_parts_by_imaginary_ones():
    z = rg.tensor([1j, -1 + 0j, 1 + 0j, -1j, 1 + 2j])
    assert z.argsort(by="modulus").tolist() == [3, 2, 0, 1, 4]
    assert z.argsort(by="lexicographic").tolist() == np.argsort(z.numpy()).tolist()


@pytest.mark.parametrize("by", ["modulus", "lexicographic"])
def test_of_equal_elements_that_is_named_which_is_among_real_ones(by):
    real = rg.tensor([1.0, 3.0, 3.0, 1.0, 2.0, 1.0])
    for name in ("argmax", "argmin", "argsort"):
        function = getattr(rg, name)
        assert function(real + 0j, by=by).equal(function(real))
    for name in ("max", "min", "median", "cummax", "cummin", "sort"):
        function = getattr(rg, name)
        assert function(real + 0j, 0, by=by).indices.equal(function(real, 0).indices)
    for found in (
        rg.sort(real + 0j, 0, True, by=by).indices,
        rg.argsort(real + 0j, descending=True, by=by),
    ):
        assert found.equal(rg.argsort(real, descending=True))
    assert (real + 0j).argmax() == 1
    assert (real + 0j).max(0).indices == 1


def test_nan_counts_as_largest_and_is_found():
    z = rg.tensor([1j, complex(math.nan, 0), 5.0])
    assert z.max(by="modulus").isnan()
    assert z.min(by="modulus").isnan()
    assert z.argmax(by="modulus").item() == 1
    assert z.sort(by="modulus").values.isnan().tolist() == [False, False, True]
    assert rg.nanmedian(z, by="modulus").item() == 1j


def test_equal_elements_of_different_rows_keep_their_own_derivatives():
    z = rg.tensor([[1j, 2j], [2j, 1j]], requires_grad=True)
    z.amax(1, by="modulus").sum().backward(rg.tensor(1 + 0j))
    assert z.grad.tolist() == [[0, 1], [1, 0]]


def test_a_sum_by_scatter_reduce_needs_no_order():
    z, at = Z[0].clone(), rg.tensor([0, 0, 1])
    expected = z.scatter_reduce(0, at, z, "sum")
    assert z.scatter_reduce(0, at, z, "sum", by="modulus").equal(expected)


@pytest.mark.parametrize("name", sorted(ROUNDED))
def test_rounding_acts_on_parts_or_on_the_modulus(name):
    more = {"clamp": (-1, 1), "clip": (-1, 1), "clamp_min": (0.5,), "clamp_max": (1,)}.get(name, ())
    z, f = Z * 1.3, getattr(rg, name)
    apart = rg.complex(f(z.real, *more), f(z.imag, *more))
    assert f(z, *more, by="parts").equal(apart)
    assert name == "sign" or f(z, *more).equal(apart)
    rg.testing.assert_close(
        f(z, *more, by="modulus"), f(z.abs(), *more) * z.sgn(), rtol=1e-15, atol=0
    )


def test_in_place_with_out_and_under_vmap():
    z = Z[0] * 1.5
    assert z.clone().round_(by="parts").equal(z.round(by="parts"))
    assert z.clone().sign_(by="modulus").equal(z.sgn())
    out = rg.zeros(3, dtype=z.dtype)
    assert rg.maximum(z, z.flip(0), out=out, by="modulus") is out
    assert out.equal(z.maximum(z.flip(0), by="modulus"))
    assert rg.amax(z, 0, out=rg.zeros((), dtype=z.dtype), by="modulus").item() == -4.5j
    rows = rg.func.vmap(lambda row: row.max(by="modulus"))(Z)
    assert rows.equal(Z.amax(1, by="modulus"))
    assert rg.func.vmap(lambda row: rg.maximum(row, row.flip(0), by="modulus"))(Z).equal(
        rg.maximum(Z, Z.flip(1), by="modulus")
    )


def test_second_derivatives_and_tangents_go_through():
    z = Z.clone().requires_grad_()
    assert rg.autograd.gradcheck(lambda z: z.sort(1, by="modulus").values, z, check_forward_ad=True)
    assert rg.autograd.gradgradcheck(lambda z: rg.clamp(z, 0.3, 1.5, by="modulus"), z)


def test_real_numbers_have_a_modulus_too():
    assert rg.max(REAL[0], by="modulus").item() == -3.0
    assert rg.round(rg.tensor([2.6]), by="parts").item() == 3.0


def test_another_by_is_refused():
    for call in (lambda: Z.max(by="size"), lambda: Z.sign(by="lexicographic")):
        with pytest.raises(ValueError, match="by must be one of"):
            call()
    with pytest.raises(TypeError, match="unexpected keyword argument 'by'"):
        rg.exp(Z, by="parts")


# -- defaults ------------------------------------------------------------------------------------


def test_atan2_of_complex_numbers_without_imaginary_part_is_the_real_one():
    y, x = (
        rg.tensor(v, dtype=rg.float64) for v in ([1.0, 1, -1, -1, 0, 2], [1.0, -1, -1, 1, -2, 0])
    )
    rg.testing.assert_close(rg.atan2(y + 0j, x + 0j).real, rg.atan2(y, x), rtol=1e-15, atol=0)


def test_sign_is_the_direction():
    z = Z.clone().requires_grad_()
    assert z.sign().equal(z.sgn())
    assert rg.autograd.gradcheck(rg.sign, z)
    assert not rg.sign(REAL.requires_grad_()).sum().backward()


@pytest.mark.parametrize(
    ("y", "x"),
    [
        (1 + 0.5j, 2 - 0.3j),
        (-0.3 + 1j, -1 + 0.2j),
        (1e-9j, 1 + 0j),
        (2.0 + 0j, -3 + 0j),
        (1j, -2 + 0.1j),
    ],
)
def test_atan2_continues_analytically(y, x):
    """tan(atan2(y, x)) = y / x, cos of it = x / sqrt(x^2 + y^2): both fix it but for 2 pi."""
    y, x = (rg.tensor(v, dtype=rg.complex128, requires_grad=True) for v in (y, x))
    found = rg.atan2(y, x)
    rg.testing.assert_close(found.tan(), y / x, rtol=1e-14, atol=0)
    rg.testing.assert_close(found.cos(), x / (x * x + y * y).sqrt(), rtol=1e-14, atol=1e-16)
    assert abs(found.real.item()) <= math.pi
    assert rg.autograd.gradcheck(rg.atan2, (y, x), eps=1e-7)


def test_binary_cross_entropy_is_the_mean_over_the_parts():
    z, t = Z[0] * 0.3, rg.tensor([1.0, 0.0, 1.0], dtype=rg.float64)
    f = F.binary_cross_entropy_with_logits
    both = rg.complex(t, 1 - t)
    assert f(z, t).item() == pytest.approx((f(z.real, t) + f(z.imag, t)).item() / 2, rel=1e-15)
    assert f(z, both).item() == pytest.approx(
        (f(z.real, t) + f(z.imag, 1 - t)).item() / 2, rel=1e-15
    )
    p = rg.complex(z.real.sigmoid(), z.imag.sigmoid())
    assert F.binary_cross_entropy(p, both).item() == pytest.approx(f(z, both).item(), rel=1e-12)


PROBES = Path(__file__).parents[2] / "data" / "complex_probes.json"
WITH = {  # the argument that says what is meant, where the plain call raises
    "sort": "r(5).sort(by='modulus')[0]",
    "eig vecs": "torch.linalg.eig(r(3, 3), gauge='project')[1]",
    "svd U": "torch.linalg.svd(r(3, 3), gauge='project')[0]",
}


def run(expression, names):
    y = eval(expression, names)
    y.backward(rg.ones_like(y))


@pytest.mark.parametrize("probe", json.loads(PROBES.read_text()), ids=lambda p: p[0])
@pytest.mark.filterwarnings("ignore:Default grid_sample")
def test_probes_of_complex64_run_forward_and_backward(probe):
    name, expression = probe
    names = {
        "torch": rg,
        "nn": rg.nn,
        "F": F,
        "C": rg.complex64,
        "r": lambda *shape: rg.randn(*shape, dtype=rg.complex64).requires_grad_(),
    }
    if name in WITH:
        with pytest.raises(RuntimeError, match=r"by=|gauge="):
            run(expression, names)
    run(WITH.get(name, expression), names)


@pytest.mark.parametrize("name", ["amax", "amin", "max", "min"])
def test_a_single_complex_number_is_its_own_extremum(name):
    z = rg.tensor(1 + 2j, requires_grad=True)
    found = getattr(rg, name)(z)
    found.backward(rg.tensor(2 - 1j))
    assert (found.item(), z.grad.item()) == (1 + 2j, 2 - 1j)
