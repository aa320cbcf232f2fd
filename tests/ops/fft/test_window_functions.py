"""PyTorch's older window functions: `hann_window` and its like."""

import pytest

import retrograd as rg

NAMES = ["bartlett_window", "blackman_window", "hamming_window", "hann_window", "kaiser_window"]


@pytest.mark.parametrize("name", NAMES)
def test_an_error_about_out_names_the_window_that_was_called(name):
    out = rg.ones(4, requires_grad=True)
    with pytest.raises(RuntimeError, match=rf"^{name}\(\): functions with out="):
        getattr(rg, name)(4, out=out)


@pytest.mark.parametrize("name", NAMES)
def test_a_window_fills_out_with_the_values_it_returns_without(name):
    out = rg.zeros(5)
    getattr(rg, name)(5, out=out)
    assert rg.equal(out, getattr(rg, name)(5))


def test_a_length_may_be_a_tensor_of_an_integer():
    expected = rg.signal.windows.hann(5)
    assert (rg.signal.windows.hann(rg.tensor(5)) == expected).all()
    assert (rg.hann_window(rg.tensor(5), periodic=False) == expected).all()
    with pytest.raises(TypeError, match="must be int, not Tensor"):
        rg.signal.windows.hann(rg.tensor(5.0))
