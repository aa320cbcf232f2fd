"""Dropout: which values, which probabilities, the same mask in every order of differentiation."""

import numpy as np
import pytest

import retrograd as rg
import retrograd.nn.functional as F
from retrograd.autograd import grad

ALL = [F.dropout, F.dropout2d, F.dropout3d, F.alpha_dropout, F.feature_alpha_dropout]


@pytest.mark.parametrize("function", ALL)
def test_without_training_the_input_itself_comes_back(function):
    x = rg.ones(2, 3, 2, 2) if function is F.dropout2d else rg.ones(2, 3, 2, 2, 2)
    assert function(x, 0.5, training=False) is x
    assert function(x, 0.0, training=True) is x


def test_kept_values_are_scaled_and_their_share_is_that_asked_for():
    out = F.dropout(rg.ones(10000), 0.2).numpy()
    assert set(out.tolist()) == {0.0, 1.25}
    assert abs((out > 0).mean() - 0.8) < 0.02  # five standard deviations


def test_the_seed_decides_the_mask():
    rg.manual_seed(3)
    first = F.dropout(rg.ones(50))
    rg.manual_seed(3)
    assert rg.equal(first, F.dropout(rg.ones(50)))


def test_gradients_of_both_orders_see_the_mask_of_the_forward_pass():
    x = rg.arange(1.0, 21.0, requires_grad=True)
    out = F.dropout(x * x)
    (first,) = grad(out.sum(), x, create_graph=True)
    (second,) = grad(first.sum(), x)
    mask = (out.detach() > 0).float()
    np.testing.assert_array_equal(first.detach().numpy(), (4 * x.detach() * mask).numpy())
    np.testing.assert_array_equal(second.numpy(), (4 * mask).numpy())


def test_the_mask_is_kept_as_booleans_and_the_input_is_not_kept():
    x = rg.ones(8, requires_grad=True)
    saved = [t.dtype for t in F.dropout(x).grad_fn.saved if t is not None]
    assert saved == [rg.bool]


@pytest.mark.parametrize(
    ("function", "shape"),
    [(F.dropout1d, (4, 6, 5)), (F.dropout2d, (4, 6, 5, 2)), (F.dropout3d, (4, 6, 2, 2, 2))],
)
def test_whole_channels_are_dropped(function, shape):
    out = function(rg.ones(*shape)).numpy().reshape(24, -1)
    assert set(out[:, 0].tolist()) == {0.0, 2.0}
    assert (out == out[:, :1]).all()


def test_the_first_dimension_is_the_channel_without_a_batch():
    out = F.dropout1d(rg.ones(40, 3)).numpy()
    assert (out == out[:, :1]).all()
    assert set(out[:, 0].tolist()) == {0.0, 2.0}


def test_dropping_everything_gives_zeros_and_gradient_zero():
    x = rg.ones(3, requires_grad=True)
    out = F.dropout(x, 1.0)
    assert (out.tolist(), grad(out.sum(), x)[0].tolist()) == ([0.0] * 3, [0.0] * 3)


def test_in_place_dropout_writes_the_input():
    x = rg.ones(20)
    assert F.dropout(x, 0.5, inplace=True) is x
    assert set(x.tolist()) == {0.0, 2.0}
    leaf = rg.ones(4, requires_grad=True)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        F.dropout(leaf, 0.5, inplace=True)


def test_complex_values_are_kept_or_dropped_whole():
    out = F.dropout(rg.full((50,), 1 + 2j))
    assert set(out.tolist()) == {0j, 2 + 4j}


def test_alpha_dropout_keeps_mean_and_variance():
    out = F.alpha_dropout(rg.randn(40000), 0.3, training=True)
    assert abs(out.mean().item()) < 0.05
    assert abs(out.var().item() - 1) < 0.05
    assert F.alpha_dropout(rg.ones(3), 1.0, training=True).tolist() == [0.0] * 3


@pytest.mark.parametrize("p", [-0.1, 1.5])
@pytest.mark.parametrize("function", [*ALL, F.dropout1d])
def test_probabilities_outside_the_unit_interval_raise(function, p):
    with pytest.raises(ValueError, match="dropout probability has to be between 0 and 1"):
        function(rg.ones(2, 3, 4), p)


@pytest.mark.parametrize("dropout", [F.dropout, F.dropout2d, F.alpha_dropout])
def test_a_probability_of_1_draws_nothing(dropout):
    rg.manual_seed(0)
    wanted = rg.rand(1)
    rg.manual_seed(0)
    out = dropout(rg.ones(1, 2, 2, 2), 1.0, True)
    assert not out.any()
    assert rg.equal(rg.rand(1), wanted)


@pytest.mark.filterwarnings("ignore:.*Received a 1-D input")
@pytest.mark.parametrize("dropout", [F.dropout2d, F.feature_alpha_dropout])
def test_dropout_of_channels_needs_a_dimension_of_channels(dropout):
    with pytest.raises(RuntimeError, match="requires at least 2 dimensions"):
        dropout(rg.ones(3), 0.5, True)
    assert dropout(rg.ones(3), 0.5, False).tolist() == [1.0] * 3


@pytest.mark.parametrize(
    ("name", "ndim", "text"),
    [
        ("dropout2d", 5, "Received a 5-D input to dropout2d, which is deprecated"),
        ("dropout2d", 2, "Received a 2-D input to dropout2d, which is deprecated"),
        ("dropout2d", 3, "Received a 3D input to dropout2d"),
        ("dropout3d", 6, "Received a 6-D input to dropout3d, which is deprecated"),
        ("dropout3d", 3, "Received a 3-D input to dropout3d, which is deprecated"),
    ],
)
def test_dropout_of_channels_warns_at_other_numbers_of_dimensions(name, ndim, text):
    x = rg.ones([2] * ndim)
    with pytest.warns(UserWarning, match=text):
        found = getattr(rg.nn.functional, name)(x, 0.5)
    assert found.shape == x.shape


@pytest.mark.parametrize("dims", [(2, 1, 0), (0, 2, 1), (1, 0, 2)])
def test_channels_that_are_dropped_leave_the_input_in_its_order(dims):
    x = rg.ones(2, 4, 3).permute(dims)
    for dropout in (F.dropout1d, F.dropout, F.feature_alpha_dropout):
        assert dropout(x, training=True).stride() == x.stride()


def test_numbers_for_channels_are_drawn_in_rows_whatever_the_order():
    rg.manual_seed(1)
    expected = F.feature_alpha_dropout(rg.ones(3, 2), 0.5, True)
    rg.manual_seed(1)
    assert rg.equal(F.feature_alpha_dropout(rg.ones(2, 3).t(), 0.5, True), expected)
    assert len(expected.unique()) == 2


@pytest.mark.filterwarnings("ignore:dropout3d. Received")
@pytest.mark.parametrize("shape", [(6,), (2, 6), (40, 3, 2)])
def test_the_first_dimension_has_the_channels_where_volumes_have_no_batch(shape):
    """As PyTorch's: whatever has not five dimensions gets a batch."""
    rg.manual_seed(1)
    found = F.dropout3d(rg.ones(shape), 0.5)
    rg.manual_seed(1)
    count, *rest = shape
    keep = rg.empty(count).bernoulli_(0.5)
    assert rg.equal(found, 2 * keep.reshape(count, *[1] * len(rest)).expand(shape))
