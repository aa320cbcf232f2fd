"""Reading and writing along a dimension by index arrays."""

import numpy as np
import pytest

import retrograd as rg
from retrograd.engine.namespaces import arrays as xp


def test_take_along_reads_an_index_smaller_than_the_input_in_other_dimensions():
    x = np.arange(12.0).reshape(3, 4)
    index = np.array([[2, 0], [1, 1], [0, 2], [2, 2]])
    expected = [[x[index[i, j], j] for j in range(2)] for i in range(4)]
    np.testing.assert_array_equal(xp.take_along(x, index, dim=0), expected)


def test_put_along_adds_where_an_index_repeats():
    out = xp.put_along(np.array([1.0, 2.0, 4.0]), np.array([1, 1, 0]), dim=0, shape=(3,))
    np.testing.assert_array_equal(out, [4.0, 3.0, 0.0])


def test_put_along_is_the_adjoint_of_take_along():
    rng = np.random.default_rng(0)
    x, index = rng.standard_normal((2, 5, 3)), rng.integers(0, 5, (2, 7, 2))
    g = rng.standard_normal(index.shape)
    left = np.sum(xp.take_along(x, index, dim=1) * g)
    right = np.sum(x * xp.put_along(g, index, dim=1, shape=x.shape))
    np.testing.assert_allclose(left, right, rtol=1e-12)


def test_zero_dimensional_arrays_count_as_one_element():
    x, index = np.array(3.0), np.array([0, 0])
    np.testing.assert_array_equal(xp.take_along(x, index, dim=0), [3.0, 3.0])
    assert xp.put_along(np.array([1.0, 2.0]), index, dim=0, shape=()) == 3.0
    assert xp.place_along(np.array(2.0), np.array(0), dim=0, shape=()) == 2.0


def test_place_along_equals_put_along_where_no_index_repeats():
    rng = np.random.default_rng(1)
    index = np.argsort(rng.standard_normal((4, 3)), axis=0)
    g = rng.standard_normal((4, 3))
    np.testing.assert_array_equal(
        xp.place_along(g, index, dim=0, shape=(4, 3)), xp.put_along(g, index, dim=0, shape=(4, 3))
    )


def test_put_refuses_another_number_of_values_than_places():
    with pytest.raises(IndexError, match="same number of elements"):
        rg.zeros(3).put(rg.tensor([0]), rg.ones(2))


@pytest.mark.parametrize("src", [rg.tensor([2.0, 5.0], requires_grad=True), 3.0])
def test_what_scatter_multiplies_in_has_the_derivative_of_a_product(src):
    x, i = rg.tensor([1.0, 2.0, 4.0], requires_grad=True), rg.tensor([2, 2])
    y = x.clone().scatter_(0, i, src, reduce="multiply")
    factors = src.tolist() if isinstance(src, rg.Tensor) else [src, src]
    product = factors[0] * factors[1]
    assert y.tolist() == [1.0, 2.0, 4.0 * product]
    y.sum().backward()
    assert x.grad.tolist() == [1.0, 1.0, product]
    if isinstance(src, rg.Tensor):
        assert src.grad.tolist() == [4.0 * factors[1], 4.0 * factors[0]]
