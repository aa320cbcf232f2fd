"""Arguments of another type than asked for raise PyTorch's errors."""

import numpy as np
import pytest

import retrograd as rg
from retrograd.nn import functional as F

BOOL = r"argument 'requires_grad'( \(position 2\))? must be bool, not"


@pytest.mark.parametrize("gradient", [[1.0, 2.0], np.ones(2), [1.0], (1,)])
def test_a_cotangent_that_is_no_tensor_raises_type_error(gradient):
    x = rg.ones(2, requires_grad=True)
    for start in ((x * 2).backward, lambda g: rg.autograd.backward(x * 2, g)):
        with pytest.raises(TypeError, match="gradients can be either Tensors or None, but got"):
            start(gradient)
    with pytest.raises(TypeError, match="gradients can be either Tensors or None, but got"):
        rg.autograd.grad(x * 2, x, gradient)
    assert x.grad is None


@pytest.mark.parametrize("value", [None, 1, "yes"])
def test_requires_grad_is_set_to_a_bool_only(value):
    x = rg.ones(2)
    with pytest.raises(RuntimeError, match="requires_grad must be a bool"):
        x.requires_grad = value
    with pytest.raises(TypeError, match=BOOL):
        x.requires_grad_(value)
    with pytest.raises(TypeError, match=BOOL):
        rg.nn.Parameter(x, value)


FACTORIES = [
    lambda flag: rg.zeros(2, requires_grad=flag),
    lambda flag: rg.tensor([1.0], requires_grad=flag),
    lambda flag: rg.randn(2, requires_grad=flag),
    lambda flag: rg.full((2,), 1.0, requires_grad=flag),
    lambda flag: rg.arange(2.0, requires_grad=flag),
    lambda flag: rg.eye(2, requires_grad=flag),
    lambda flag: rg.linspace(0, 1, 3, requires_grad=flag),
    lambda flag: rg.zeros_like(rg.ones(2), requires_grad=flag),
    lambda flag: rg.ones(2).new_zeros(2, requires_grad=flag),
    lambda flag: rg.empty_strided((2,), (1,), requires_grad=flag),
    lambda flag: rg.fft.fftfreq(3, requires_grad=flag),
    lambda flag: rg.hann_window(3, requires_grad=flag),
]


@pytest.mark.parametrize("made", FACTORIES)
@pytest.mark.parametrize("flag", [1, 0, "yes"])
def test_factories_take_a_bool_for_requires_grad(made, flag):
    with pytest.raises(TypeError, match=BOOL):
        made(flag)


@pytest.mark.parametrize("made", FACTORIES)
def test_factories_make_leaves_that_require_grad(made):
    assert made(True).requires_grad
    assert not made(False).requires_grad


def test_a_size_holds_integers():
    size = rg.Size((np.int64(3), True, rg.tensor(2)))
    assert tuple(map(type, size)) == (int, int, int)
    assert size == (3, 1, 2)


@pytest.mark.parametrize("value", [1.5, "a", None])
def test_a_size_of_what_is_no_integer_raises_type_error(value):
    kind = type(value).__name__
    with pytest.raises(
        TypeError, match=rf"Size\(\) takes an iterable of 'int' \(item 1 is '{kind}"
    ):
        rg.Size((1, value))


def test_sums_and_multiples_of_sizes_are_sizes():
    size = rg.Size((2, 3))
    one = (1,)
    for made in (size + one, one + size, size * 2, 2 * size, size[:1]):
        assert type(made) is rg.Size
    assert one + size == (1, 2, 3)
    assert 2 * size == (2, 3, 2, 3)


def test_a_size_is_no_list():
    size, sizes = rg.Size((1,)), [2]
    for call in (lambda: size + sizes, lambda: sizes + size):
        with pytest.raises(TypeError, match="can only concatenate"):
            call()


@pytest.mark.parametrize(
    "call",
    [
        lambda x, two: F.softplus(x, beta=two),
        lambda x, two: F.hardtanh(x, -two, two),
        lambda x, two: F.layer_norm(x, (3,), eps=two),
        lambda x, two: rg.linalg.vector_norm(x, two),
        lambda x, two: F.normalize(x, two),
    ],
)
def test_a_tensor_of_one_element_is_a_number(call):
    x = rg.tensor([[-1.0, 2.0, 5.0]])
    assert call(x, rg.tensor(2.0)).tolist() == call(x, 2.0).tolist()
