"""Complex derivatives near singular points, where formulas lose digits first.

Around each of 0, 1, -1, i and -i, at a distance of 1e-3 and in eight directions, the gradient is
compared with central differences in the 2n real variables, whose steps are a thousandth of that
distance: they agree to 1e-5 of the largest of them.
"""

from __future__ import annotations

import numpy as np
import pytest

import retrograd as rg
from retrograd.engine.registry import OPS
from retrograd.engine.tensor import new_tensor

from .samples import at_least

POINTS = np.array([0, 1, -1, 1j, -1j])
AROUND = 1e-3 * np.exp(1j * (0.2 + np.pi / 4 * np.arange(8)))
Z = (POINTS[:, None] + AROUND).ravel()
STEP = 1e-6
UNARY = [
    (op, example.params)
    for op in OPS.values()
    if op.elementwise and op.complex and op.vjps and len(op.inputs) == 1
    for example in op.examples[:1]
    if example.specs[0].partition(":")[2] in ("", "complex")
]


def values(op, params, z):
    with np.errstate(all="ignore"):
        return np.asarray(op.forward(z, **params))


def difference(op, params, unit):
    """The derivative along a unit, NaN where a cut or a jump lies between."""
    found = [
        (values(op, params, Z + h * unit) - values(op, params, Z - h * unit)) / (2 * h)
        for h in (STEP, STEP / 4)
    ]
    jumps = abs(found[0] - found[1]) > 1e-3 * np.maximum(1.0, abs(found[1]))
    return np.where(jumps, np.nan, found[0])


@pytest.mark.parametrize(
    ("op", "params"), at_least(68, UNARY), ids=lambda value: getattr(value, "name", "")
)
def test_gradients_near_singular_points_are_those_of_differences(op, params):
    z = new_tensor(Z.copy()).requires_grad_()
    out = op.call(z, **params)
    along = difference(op, params, 1.0), difference(op, params, 1j)
    for weight in (1.0, 1j) if out.is_complex() else (1.0,):
        g = rg.full_like(out, weight).detach()
        (found,) = rg.autograd.grad(out, z, g, retain_graph=True)
        x, y = ((np.conj(weight) * d).real for d in along)
        expected = x + 1j * y
        seen = np.isfinite(expected) & np.isfinite(found.numpy())
        assert seen.sum() >= len(Z) // 2
        size = np.maximum(1.0, np.maximum(abs(along[0]), abs(along[1])))
        worst = (abs(found.numpy() - expected) / size)[seen]
        assert worst.max(initial=0.0) <= 1e-5, Z[seen][worst.argmax()]
