"""An error that comes from an argument of a wrong type is a TypeError that names it."""

from __future__ import annotations

import pytest

import retrograd as rg
from retrograd.nn import functional as F

X = rg.ones(2, 3)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: F.dropout(X, X), r"dropout\(\): argument 'p' \(position 2\) must be float"),
        (lambda: F.dropout(X, 0.5, X), r"'training' \(position 3\) must be bool, not Tensor"),
        (lambda: F.relu(X, inplace=X), r"relu\(\): argument 'inplace' \(position 2\)"),
        (lambda: rg.addbmm(X, X, "a"), r"addbmm\(\): argument 'batch2' .* Tensor, not str"),
        (lambda: rg.addbmm(X, None, X), r"'batch1' .* must be Tensor, not NoneType"),
        (lambda: rg.fft.fft(X, 0, "a"), r"fft\(\): argument 'dim' .* must be int, not str"),
        (lambda: rg.softmax("a", 0), r"softmax\(\): argument 'input' .* Tensor, not str"),
        (lambda: rg.atleast_1d(X, 3), r"atleast_1d\(\): .* must be tuple of Tensors, .* type int"),
        (lambda: rg.as_strided(X, X, 1), r"as_strided\(\): argument 'size' must be tuple of ints"),
        (lambda: rg.promote_types(3, rg.int8), r"promote_types\(\): argument 'type1' .* not int"),
    ],
)
def test_the_argument_is_named(call, text):
    with pytest.raises(TypeError, match=text):
        call()


def test_other_errors_stay_what_they_are():
    with pytest.raises(RuntimeError, match="cannot be multiplied"):
        rg.matmul(X, X)
    with pytest.raises(RuntimeError, match="ambiguous"):
        rg.sum(X, 0, bool(X))
    with pytest.raises(ValueError, match="dropout probability"):
        F.dropout(X, 2.0)
