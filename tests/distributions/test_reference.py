"""Values, shapes and signatures are PyTorch's, which `tests/data/distributions.json` holds."""

from __future__ import annotations

import importlib

import numpy as np
import pytest

import retrograd as rg

# Where PyTorch is wrong or has less: see docs/differences.md.
BETTER = {
    ("continuous bernoulli", "cdf"),
    ("continuous bernoulli", "icdf"),
    ("kumaraswamy", "mode"),
    ("weibull", "mode"),
    ("von mises", "has_rsample"),
}
BETTER_DIVERGENCES = {"wishart, wishart", "ContinuousBernoulli, wide Uniform"}


def agree(got, expected, tolerance=1e-9):
    """Whether nested lists of numbers, or texts, are equal up to rounding."""
    if got is None or expected is None or got == expected:
        return got == expected
    got, expected = np.array(got, float), np.array(expected, float)
    return np.allclose(got, expected, rtol=tolerance, atol=1e-12, equal_nan=True)


def test_a_distribution_is_pytorchs(distribution, tables, stored):
    got = tables.of_distribution(tables.DISTRIBUTIONS[distribution], rg)
    # PyTorch's Bessel functions have seven digits
    tolerance = 3e-5 if distribution == "von mises" else 1e-9
    for name, expected in stored["distributions"][distribution].items():
        if (distribution, name) not in BETTER:
            assert agree(got[name], expected, tolerance), name


# Theirs are decompositions of matrices, which half floats do not have: as in PyTorch.
OF_MATRICES = ("low rank normal", "lkj", "multivariate normal", "wishart")


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_floats_give_half_floats(distribution, tables, dtype):
    if distribution.startswith(OF_MATRICES):
        return
    d, x = (tables.made(text, rg, dtype) for text in tables.DISTRIBUTIONS[distribution])
    found = [d.log_prob(x), d.sample((2,)), d.rsample() if d.has_rsample else d.mean]
    for name in ("mean", "mode", "variance", "stddev", "entropy", "cdf", "enumerate_support"):
        try:
            value = getattr(d, name)
            found.append(value(*[x] * (name == "cdf")) if callable(value) else value)
        except NotImplementedError:  # there is none
            continue
    whole = {"retrograd.int64"} if distribution.startswith("categorical") else set()
    assert {str(t.dtype) for t in found} - whole == {f"retrograd.{dtype}"}


def test_a_divergence_is_pytorchs(divergence, tables, stored):
    got = tables.of_divergence(tables.PAIRS[divergence], rg)
    if divergence not in BETTER_DIVERGENCES:
        assert agree(got, stored["divergences"][divergence])


def test_a_transform_is_pytorchs(transform, tables, stored):
    got = tables.of_transform(tables.TRANSFORMS[transform], rg)
    for name, expected in stored["transforms"][transform].items():
        assert agree(got[name], expected), name


def test_a_constraint_is_pytorchs(constraint, tables, stored):
    got = tables.of_constraint((constraint, tables.CONSTRAINTS[constraint]), rg)
    for name, expected in stored["constraints"][constraint].items():
        assert got[name] == expected, name


def test_signatures_are_pytorchs(tables, stored):
    assert tables.signatures(rg) == stored["signatures"]


def test_every_pair_of_pytorchs_has_a_divergence(stored):
    pairs = rg.distributions.kl._KL_REGISTRY
    assert sorted(f"{p.__name__}, {q.__name__}" for p, q in pairs) == stored["registered"]


def test_every_module_of_pytorchs_can_be_imported(stored):
    for name in stored["modules"]:
        module = importlib.import_module(f"retrograd.distributions.{name}")
        assert module is getattr(rg.distributions, name)
    assert rg.distributions.normal.Normal is rg.distributions.Normal


def test_names_that_libraries_call_are_there():
    assert rg._standard_gamma(rg.tensor([2.0])).shape == (1,)
    assert rg._sample_dirichlet(rg.ones(4, 3)).shape == (4, 3)
    utils = rg.distributions.utils
    assert utils._sum_rightmost(rg.ones(2, 3, 4), 2).tolist() == [12, 12]
    assert utils._standard_normal((2,), rg.float64, "cpu").dtype is rg.float64
    assert repr(rg.distributions.transforms._InverseTransform(rg.distributions.ExpTransform()))
