"""Who writes to an inference tensor outside inference mode is refused, and changes nothing."""

import pytest

import retrograd as rg

REFUSED = "Inplace update to inference tensor outside InferenceMode"


def with_grad():
    """A parameter whose gradient was made in inference mode."""
    x = rg.nn.Parameter(rg.ones(2))
    with rg.inference_mode():
        x.grad = rg.full((2,), 3.0)
    return x


def made(*shape):
    with rg.inference_mode():
        return rg.full(shape, 3.0)


def backward(x):
    (x * 2).sum().backward()


ON_GRADIENTS = {
    "backward": backward,
    "backward of a mixed dtype": lambda x: (x * rg.ones(2, dtype=rg.float64)).sum().backward(),
    "zero_grad": lambda x: rg.optim.SGD([x], 0.1).zero_grad(set_to_none=False),
    "clip_grad_norm_": lambda x: rg.nn.utils.clip_grad_norm_([x], 0.1),
    "clip_grad_value_": lambda x: rg.nn.utils.clip_grad_value_([x], 0.1),
}


@pytest.mark.parametrize("name", ON_GRADIENTS)
def test_a_gradient_made_in_inference_mode_is_not_written_outside(name):
    x = with_grad()
    with pytest.raises(RuntimeError, match=REFUSED):
        ON_GRADIENTS[name](x)
    assert x.grad.tolist() == [3.0, 3.0]


def test_a_gradient_accumulated_in_inference_mode_is_one():
    x = rg.ones(2, requires_grad=True)
    y = (x * 2).sum()
    with rg.inference_mode():
        y.backward(retain_graph=True)
        y.backward(retain_graph=True)
    assert x.grad.tolist() == [4.0, 4.0]
    with pytest.raises(RuntimeError, match=REFUSED):
        y.backward()
    assert x.grad.tolist() == [4.0, 4.0]


def test_a_recorded_sum_of_gradients_is_a_new_tensor():
    x = with_grad()
    (x * x).sum().backward(inputs=[x], create_graph=True)
    assert x.grad.tolist() == [5.0, 5.0]
    assert not x.grad.is_inference()


@pytest.mark.parametrize("name", ["SGD", "Adam", "Adagrad", "LBFGS"])
def test_a_parameter_made_in_inference_mode_is_not_stepped_outside(name):
    with rg.inference_mode():
        w = rg.nn.Parameter(made(2))
    w.grad = rg.ones(2)
    with pytest.raises(RuntimeError, match=REFUSED):
        getattr(rg.optim, name)([w], lr=0.1).step(lambda: rg.zeros(()))
    assert w.tolist() == [3.0, 3.0]


def test_a_state_is_not_loaded_into_an_inference_tensor():
    layer = rg.nn.Linear(2, 1)
    layer.register_buffer("scale", made(2))
    with pytest.raises(RuntimeError, match=REFUSED):
        layer.load_state_dict({**layer.state_dict(), "scale": rg.zeros(2)})
    assert layer.scale.tolist() == [3.0, 3.0]


def test_a_leaf_is_resized_in_inference_mode_and_goes_on_requiring_grad():
    with rg.inference_mode():
        x = rg.ones(2, 3, requires_grad=True)
        assert x.resize_(2).tolist() == [1, 1]
        assert x.resize_as_(rg.ones(1, 2)).shape == (1, 2)
        assert x.requires_grad
    with rg.no_grad(), pytest.raises(RuntimeError, match="cannot resize variables that require"):
        rg.ones(2, requires_grad=True).resize_(1)
