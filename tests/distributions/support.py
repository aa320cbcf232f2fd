"""What the tests of distributions share: which cases they run for, parameters, sample means."""

from __future__ import annotations

import math

import retrograd as rg

D = rg.distributions
N = 20_000  # samples


def only(choice):
    """Collect a test for the distributions that a choice takes; see conftest."""

    def mark(test):
        test.only = choice
        return test

    return mark


def parameters(d):
    """By name, the parameters that a distribution was given."""
    inner = getattr(d, "base_dist", d)
    inner = inner.base_dist if isinstance(inner, D.Independent) else inner
    derived = {"probs" if getattr(inner, "_is_logits", None) else "logits"}
    derived |= {"covariance_matrix", "precision_matrix", "scale_tril"} - vars(d).keys()
    return {name: getattr(d, name) for name in d.arg_constraints if name not in derived}


def rebuild(d, given, validate_args=False):
    """A distribution of the same class with other parameters, and the same settings."""
    settings = {
        name: getattr(d, name)
        for name in ("total_count", "dim", "temperature")
        if hasattr(d, name) and name not in given
    }
    return type(d)(**settings, **given, validate_args=validate_args)


def t(values):
    return rg.tensor(values, dtype=rg.float64)


def assert_mean(samples, expected, bound=5.0):
    """The mean of independent samples, along the first dimension, is as expected."""
    error = samples.std(0) / math.sqrt(len(samples))
    away = (samples.mean(0) - expected).abs()
    assert (away <= bound * error + 1e-9).all(), (away / error).tolist()
