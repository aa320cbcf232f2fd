"""Every forward and every formula runs on arrays that are known by NumPy's protocols alone.

The rules are in NOTE [The seam] in `kernels.allocation`. Results are those on NumPy's arrays to the
bit, but for 0-d complex numbers: those that formulas compute are NumPy's scalars, whose products
and quotients are rounded in another order than its loops'. The loops in C, which NumPy's own arrays
go to, round in another order, too: here they are left out.
"""

from __future__ import annotations

import sys

import numpy as np
import pytest

import retrograd as rg
from retrograd.engine.namespaces import arrays, reals
from retrograd.engine.registry import OPS
from retrograd.kernels import native
from retrograd.kernels.implicit import beta_derivative, gamma_derivative, von_mises_derivative
from retrograd.kernels.search import first_largest, searched

from .recorder import CUPY, Recorder, Refused, plain
from .samples import at_least, samples

# The records whose forward, or whose formula, cannot run on such arrays, and why.
BY_STRIDES = "the protocols know no strides of one's own choosing"
LOOKS = "how many steps to take depends on the largest value"
PIVOTS = "each pivot is chosen, and read, in Python"
EXCEPTIONS = {
    "as_strided": BY_STRIDES,
    "over_storage": BY_STRIDES,
    "unstrided": BY_STRIDES,
    "matrix_exp": LOOKS,
    "exp_derivative": LOOKS,
    "orthogonal": LOOKS,
    "ldl_factor_ex": PIVOTS,
    "ldl_solve": PIVOTS,
    "spherical_j": "SciPy's function for orders from 1 on is no ufunc",
    **dict.fromkeys(
        ["scatter_multiply", "segment_prod"], "CuPy multiplies at no places, nor in runs"
    ),
}


@pytest.fixture(autouse=True)
def _in_numpy(monkeypatch):
    loops = native.loops
    monkeypatch.setattr(native, "loops", None)
    monkeypatch.setitem(sys.modules, "scipy.sparse", None)  # its loops round otherwise
    if loops is not None:
        loops.leave_small_out(True)
    yield
    if loops is not None:
        loops.leave_small_out(False)


SAMPLES = [sample for sample in samples(differentiable=False) if sample.op.name not in EXCEPTIONS]


def test_the_law_has_cases():
    at_least(2100, SAMPLES)  # of every family: others import them without


def owned(value):
    """Copies of arrays, in tuples, too; anything else itself."""
    if isinstance(value, tuple):
        return tuple(owned(v) for v in value)
    return np.array(value) if isinstance(value, (np.ndarray, np.generic)) else value


def recorders(value):
    """Recorders of arrays, in tuples, too; anything else itself."""
    if isinstance(value, tuple):
        return tuple(recorders(v) for v in value)
    return Recorder(np.array(value)) if isinstance(value, (np.ndarray, np.generic)) else value


def equal(found, expected):
    """Assert that a recorder holds what was expected, to the bit."""
    assert isinstance(found, Recorder), f"made a {type(found).__name__}, not where its inputs live"
    found, expected = plain(found), np.asarray(expected)
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    if expected.ndim == 0 and expected.dtype.kind == "c":
        np.testing.assert_allclose(found, expected, rtol=1e-14)
    else:
        assert found.tobytes() == expected.tobytes()


def forward(sample, inputs):
    """The outputs of a sample's op on arrays of some kind."""
    rg.manual_seed(0)
    with np.errstate(all="ignore"):
        found = sample.op.forward(*inputs, **sample.params)
    return tuple(found) if sample.op.outputs != 1 else (found,)


@pytest.mark.parametrize("sample", SAMPLES, ids=repr)
def test_forwards_run_on_recorders(sample):
    inputs = owned(tuple(sample.arrays))
    expected = forward(sample, inputs)
    found = forward(sample, recorders(inputs))
    for a, b in zip(found, expected, strict=True):
        equal(a, b)


def values(sample):
    """What the formulas of a sample's op may name, and a cotangent."""
    op, inputs = sample.op, owned(tuple(sample.arrays))
    outputs = tuple(np.asarray(out) for out in forward(sample, inputs))
    rng = np.random.default_rng(0)
    g = tuple(
        rng.standard_normal(out.shape).astype(out.dtype) for out in outputs[: op.grad_outputs]
    )
    found = dict(sample.params)
    if op.variadic:
        found[f"{op.inputs[0]}_shape"] = tuple([a.shape for a in inputs])
    else:
        found |= dict(zip(op.inputs, inputs, strict=True))
        found |= {f"{name}_shape": getattr(a, "shape", None)
                  for name, a in zip(op.inputs, inputs, strict=True)}  # fmt: skip
    if op.output_names[0].lstrip("*") == op.output_names[0]:
        found |= dict(zip(op.output_names, outputs, strict=True))
    return found, g if op.grad_outputs != 1 else g[0]


@pytest.mark.parametrize("sample", [s for s in SAMPLES if s.differentiable], ids=repr)
def test_formulas_run_on_recorders(sample):
    op = sample.op
    named, g = values(sample)
    wanted = {op.inputs[0 if op.variadic else i] for i in sample.differentiable}
    for xp in (arrays,) if sample.complex else (arrays, reals):
        for name in wanted:
            formula, needs = op.vjps[name], [named[need] for need in op.needs[name]]
            given = [v if need in op.params else recorders(v)
                     for need, v in zip(op.needs[name], needs, strict=True)]  # fmt: skip
            with np.errstate(all="ignore"):
                expected = formula(xp, g, *needs)
                found = formula(xp, recorders(g), *given)
            parts = zip(found, expected, strict=True) if op.variadic else [(found, expected)]
            for a, b in parts:
                equal(a, b)


@pytest.mark.parametrize("rows", ["3x5", "5"])
@pytest.mark.parametrize("side", ["left", "right"])
def test_the_search_in_sorted_rows_runs_on_recorders(rows, side):
    rng = np.random.default_rng(0)
    rows = np.sort(rng.standard_normal([int(n) for n in rows.split("x")]))
    values = rng.standard_normal((3, 4))
    found = searched(*recorders((rows, values)), side)
    equal(found, searched(rows, values, side))


def test_the_largest_of_bags_are_found_on_recorders():
    rows = np.random.default_rng(0).standard_normal((5, 3))
    starts = np.array([0, 2])
    equal(first_largest(recorders(rows), starts), first_largest(rows, starts))


@pytest.mark.parametrize(
    ("kernel", "count"),
    [(gamma_derivative, 2), (beta_derivative, 3), (von_mises_derivative, 2)],
    ids=["gamma", "beta", "von_mises"],
)
def test_derivatives_of_samples_run_on_recorders(kernel, count):
    rng = np.random.default_rng(0)
    given = [rng.uniform(0.1, 5.0, 20) for _ in range(count - 1)] + [rng.uniform(0.05, 0.95, 20)]
    equal(kernel(*recorders(tuple(given))), kernel(*given))


def test_hardly_any_record_is_an_exception():
    assert EXCEPTIONS.keys() <= OPS.keys()
    assert len(EXCEPTIONS) <= 0.05 * len(OPS)


@pytest.mark.parametrize(
    "ask",
    [np.asarray, float, bool, list, lambda x: x.tolist(), lambda x: x.item(), lambda x: x.fill(1)],
    ids=["asarray", "float", "bool", "list", "tolist", "item", "fill"],
)
def test_a_recorder_refuses_to_become_an_array_or_a_number(ask):
    with pytest.raises((Refused, TypeError)):
        ask(Recorder(np.array(1.0)))


def test_a_recorder_has_nothing_that_cupys_arrays_lack():
    x = Recorder(np.ones((2, 3)))
    assert {name for name in dir(Recorder) if not name.startswith("_")} <= set(CUPY["ndarray"])
    assert (x.flags.c_contiguous, x.flags.owndata, x.T.base.flags.forc) == (True, True, True)
    assert not hasattr(x.flags, "writeable")
    with pytest.raises(Refused, match=r"np.put_along_axis writes"):
        np.put_along_axis(x, np.zeros((2, 1), int), 1.0, 1)
    with pytest.raises(Refused, match=r"CuPy's numpy.max takes"):
        np.max(x, initial=0.0)
    with pytest.raises(Refused, match=r"CuPy's numpy.empty_like takes"):
        np.empty_like(x, subok=True)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda x: np.maximum.reduce(x), "CuPy has no maximum.reduce"),
        (lambda x: np.logical_or.reduce(x), "CuPy has no logical_or.reduce"),
        (lambda x: np.add.reduce(x, initial=1.0), r"add.reduce takes .* not \['initial'\]"),
        (lambda x: np.add.reduce(x, where=x > 0), "add.reduce takes .* not .*'where'"),
        (lambda x: np.divide(x, x, out=x, where=x > 0), r"divide.* not \['out', 'where'\]"),
        (lambda x: np.maximum.accumulate(x), "CuPy has no maximum.accumulate"),
        (lambda x: np.minimum.reduceat(x, [0]), "CuPy has no minimum.reduceat"),
        (lambda x: np.multiply.at(x, 0, x), "CuPy has no multiply.at"),
        (lambda x: np.vecdot(x, x), "CuPy has no vecdot.__call__"),
        (lambda x: np.frexp(x, out=(x, x)), r"frexp.* not \['out'\]"),
    ],
)
def test_a_recorder_has_no_ufuncs_methods_or_arguments_that_cupys_lack(call, text):
    x = Recorder(np.ones(3))
    with pytest.raises(Refused, match=text):
        call(x)
    assert plain(np.add.reduce(x, 0, keepdims=True)).tolist() == [3.0]
    assert plain(np.multiply.accumulate(x)).tolist() == [1.0, 1.0, 1.0]
