"""Forms of NumPy's functions that have no counterpart in PyTorch: values and gradients."""

from __future__ import annotations

import numpy as np
import pytest

import retrograd as rg
from retrograd.autograd import gradcheck

X = np.array([[0.3, -1.2, 2.1], [0.7, 1.6, -0.4]])
IMAGE = np.arange(24.0).reshape(2, 3, 4) ** 1.1

CASES = {
    "vsplit": (lambda x: np.vsplit(x, 2)[1], X),
    "hsplit_vector": (lambda x: np.hsplit(x, 3)[1], X[0]),
    "dsplit": (lambda x: np.dsplit(x, 2)[1], IMAGE),
    "rollaxis": (lambda x: np.rollaxis(x, 2), IMAGE),
    "rollaxis_back": (lambda x: np.rollaxis(x, 0, 3), IMAGE),
    "rollaxis_negative": (lambda x: np.rollaxis(x, -1, -2), IMAGE),
    "partition": (lambda x: np.partition(x, 1, axis=0), X),
    "partition_flat": (lambda x: np.partition(x, 3, None), X),
    "imag_of_real": (lambda x: np.imag(x) + x, X),
    "real_if_close": (lambda x: np.real_if_close(x), X),
    "real_if_close_complex": (lambda x: np.real_if_close(x + 1e-20j), X),
    "real_if_not_close": (lambda x: np.real_if_close(x + 1e-3j), X),
    "svd_values": (lambda x: np.linalg.svd(x, compute_uv=False), X),
    "cross_axes": (lambda x: np.cross(x, X, axisa=1, axisc=0), X),
    "cross_axis": (lambda x: np.cross(x, X.T, axis=0), X.T),
}


@pytest.mark.parametrize("name", CASES)
def test_a_form_has_numpys_value_and_a_gradient(name):
    function, array = CASES[name]
    x = rg.tensor(array, requires_grad=True)
    found, expected = function(x), function(array)
    assert found.detach().numpy().dtype == expected.dtype
    np.testing.assert_allclose(found.detach().numpy(), expected, rtol=1e-13, atol=1e-15)
    assert gradcheck(function, (x,))


@pytest.mark.parametrize("function", [np.split, np.array_split, np.hsplit])
def test_parts_are_a_list(function):
    parts = function(rg.ones(4), 2)
    assert type(parts) is list
    assert [part.tolist() for part in parts] == [[1.0, 1.0], [1.0, 1.0]]


def test_splitting_along_an_axis_that_is_not_there_raises():
    with pytest.raises(ValueError, match="vsplit only works on arrays of 2"):
        np.vsplit(rg.ones(4), 2)
    with pytest.raises(ValueError, match="dsplit only works on arrays of 3"):
        np.dsplit(rg.ones(4, 2), 2)
