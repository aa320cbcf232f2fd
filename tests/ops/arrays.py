"""Arrays for tests that compare with NumPy."""

from __future__ import annotations

import numpy as np

from retrograd.engine.tensor import new_tensor


def values(*shape, complex=False, seed=0):
    """Normal numbers, the same for the same shape and seed."""
    rng = np.random.default_rng([seed, *shape])
    real = rng.standard_normal(shape)
    return real + 1j * rng.standard_normal(shape) if complex else real


def leaf(array):
    """A leaf with a copy of the array."""
    made = new_tensor(np.array(array))
    made.requires_grad = True
    return made


def close(found, expected, tolerance=1e-9):
    """Fail unless a tensor has these values."""
    np.testing.assert_allclose(found.detach().numpy(), expected, rtol=tolerance, atol=tolerance)
