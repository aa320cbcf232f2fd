"""Losses: complex values, kinks, stability, errors. Values: `tests/nn/test_functional.py`."""

import math

import numpy as np
import pytest

import retrograd as rg
import retrograd.nn.functional as F
from retrograd.autograd import grad

INF, NAN = math.inf, math.nan
X = rg.tensor([[0.5, -1.0, 2.0, 0.0], [1.0, 1.0, 1.0, 1.0], [0.0, 3.0, -2.0, 1.0]])


def leaf(data, dtype=rg.float64):
    return rg.tensor(data, dtype=dtype, requires_grad=True)


# -- distances --


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_complex_mse_is_the_real_squared_modulus(reduction):
    z, w = leaf([3 + 4j, 1j], rg.complex128), rg.tensor([0j, 0j], dtype=rg.complex128)
    loss = F.mse_loss(z, w, reduction=reduction)
    assert loss.dtype is rg.float64
    np.testing.assert_allclose(loss.sum().item(), {"mean": 13.0}.get(reduction, 26.0))
    (g,) = grad(loss.sum(), z)
    scale = 1.0 if reduction == "mean" else 2.0
    np.testing.assert_allclose(g.numpy(), scale * z.detach().numpy())


def test_complex_l1_and_huber_follow_the_direction_of_the_difference():
    z, w = leaf([3 + 4j, 0.3 + 0.4j], rg.complex128), rg.zeros(2, dtype=rg.complex128)
    assert F.l1_loss(z, w).item() == pytest.approx(2.75, rel=1e-15)
    (g,) = grad(F.l1_loss(z, w, reduction="sum"), z)
    np.testing.assert_allclose(g.numpy(), [0.6 + 0.8j, 0.6 + 0.8j], rtol=1e-15)
    (g,) = grad(F.huber_loss(z, w, reduction="sum"), z)
    np.testing.assert_allclose(g.numpy(), [0.6 + 0.8j, 0.3 + 0.4j], rtol=1e-15)


def test_l1_loss_of_equal_values_has_gradient_zero():
    x = leaf([1.0, 2.0])
    assert grad(F.l1_loss(x, x.detach()), x)[0].tolist() == [0.0, 0.0]


@pytest.mark.parametrize("loss", [F.huber_loss, F.smooth_l1_loss])
def test_second_derivative_of_huber_at_equal_values_is_one(loss):
    x = leaf([1.0])
    (g,) = grad(loss(x, x.detach(), reduction="sum"), x, create_graph=True)
    assert grad(g, x)[0].tolist() == [1.0]


def test_huber_loss_of_infinity_has_a_finite_gradient():
    x = leaf([INF, -INF])
    loss = F.huber_loss(x, rg.zeros(2, dtype=rg.float64), reduction="sum")
    assert (loss.item(), grad(loss, x)[0].tolist()) == (INF, [1.0, -1.0])


def test_another_target_size_warns():
    with pytest.warns(UserWarning, match="different to the input size"):
        F.mse_loss(X, X[0])


def test_mse_loss_promotes_like_a_difference():
    assert F.mse_loss(X, X.double()).dtype is rg.float64
    assert F.mse_loss(X, X.long()).dtype is rg.float32


@pytest.mark.filterwarnings("ignore:Using a target size")
@pytest.mark.parametrize("loss", [F.mse_loss, F.l1_loss, F.smooth_l1_loss, F.huber_loss])
def test_a_target_without_dimensions_is_broadcast_before_dtypes_promote(loss):
    x, target = X.clone().requires_grad_(), rg.tensor(2.0, dtype=rg.float64, requires_grad=True)
    found = loss(x, target)
    assert found.dtype is (rg.float32 if loss is F.huber_loss else rg.float64)  # PyTorch's
    by_input, by_target = grad(found, [x, target])
    assert by_input.dtype is rg.float32
    assert by_target.item() == pytest.approx(-by_input.sum().item(), abs=1e-6)


@pytest.mark.parametrize("dtype", [rg.float16, rg.bfloat16, rg.float32])
def test_integers_before_a_floating_target_have_a_loss(dtype):
    found = F.mse_loss(rg.tensor([1, 3]), rg.tensor([1.0, 1.0], dtype=dtype))
    assert (found.dtype, found.item()) == (dtype, 2.0)


def test_older_reduction_arguments_warn_and_work():
    with pytest.warns(UserWarning, match="reduction='sum'"):
        assert F.mse_loss(X, X + 1, size_average=False).item() == 12.0


# -- binary classes --


def test_logits_of_any_size_give_finite_losses_and_gradients():
    x = leaf([1000.0, -1000.0, 1000.0, 0.0])
    loss = F.binary_cross_entropy_with_logits(
        x, rg.tensor([1.0, 0.0, 0.0, 1.0], dtype=rg.float64), reduction="none"
    )
    np.testing.assert_allclose(loss.detach().numpy(), [0.0, 0.0, 1000.0, math.log(2)], rtol=1e-15)
    assert grad(loss.sum(), x)[0].tolist() == [0.0, 0.0, 1.0, -0.5]


def test_certain_probabilities_cost_a_hundred_at_most():
    p = leaf([0.0, 1.0, 1.0])
    loss = F.binary_cross_entropy(p, rg.tensor([1.0, 0.0, 1.0], dtype=rg.float64), reduction="none")
    assert loss.tolist() == [100.0, 100.0, 0.0]
    np.testing.assert_allclose(grad(loss.sum(), p)[0].numpy(), [-1e12, 1e12, 0.0])


def test_kl_div_of_zero_targets_is_zero():
    x = leaf([-1.0, -2.0])
    t = leaf([0.0, 0.5])
    loss = F.kl_div(x, t, reduction="sum")
    assert loss.item() == pytest.approx(0.5 * math.log(0.5) + 1.0, rel=1e-15)
    assert grad(loss, x)[0].tolist() == [0.0, -0.5]


# -- classes --


def test_cross_entropy_of_large_logits_is_exact():
    x = leaf([[1e4, 0.0], [0.0, 1e4]])
    loss = F.cross_entropy(x, rg.tensor([0, 0]), reduction="sum")
    assert loss.item() == 1e4
    assert grad(loss, x)[0].tolist() == [[0.0, 0.0], [-1.0, 1.0]]


def test_cross_entropy_keeps_the_input_and_the_target_alone():
    x, target = leaf(np.ones((3, 4))), rg.tensor([0, 1, 2])
    node = F.cross_entropy(x, target).grad_fn
    assert node.name() == "NllLossBackward0"
    assert [value is x or value is target for value in node.saved if value is not None] == [
        True
    ] * 2


@pytest.mark.parametrize("name", ["cross_entropy", "nll_loss"])
def test_ignored_samples_may_be_infinite(name):
    x = leaf([[0.0, 1.0], [-INF, 0.0]])
    target = rg.tensor([0, -100])
    loss = getattr(F, name)(x, target)
    assert math.isfinite(loss.item())
    assert grad(loss, x)[0][1].tolist() == [0.0, 0.0]


@pytest.mark.parametrize("name", ["cross_entropy", "nll_loss"])
def test_ignoring_every_sample_gives_nan_for_the_mean_and_zero_for_the_sum(name):
    target = rg.tensor([-100, -100, -100])
    assert math.isnan(getattr(F, name)(X, target).item())
    assert getattr(F, name)(X, target, reduction="sum").item() == 0.0


@pytest.mark.parametrize("loss", [F.cross_entropy, F.nll_loss])
def test_samples_of_no_classes_may_all_be_ignored(loss):
    x, target = rg.zeros(2, 0, requires_grad=True), rg.full((2,), -100)
    assert loss(x, target, reduction="none").tolist() == [0, 0]
    assert loss(x, target, reduction="sum").item() == 0
    assert loss(x, target).isnan()
    loss(x, target).backward()
    assert x.grad.shape == (2, 0)


def test_a_class_may_be_the_ignored_index():
    assert F.cross_entropy(X, rg.tensor([1, 2, 2]), ignore_index=2).item() == pytest.approx(
        F.cross_entropy(X[:1], rg.tensor([1])).item(), rel=1e-6
    )


def test_uint8_targets_are_indices():
    target = rg.tensor([0, 3, 1], dtype=rg.uint8)
    assert F.cross_entropy(X, target).item() == F.cross_entropy(X, target.long()).item()


def test_target_probabilities_get_gradients():
    t = leaf(np.full((3, 4), 0.25))
    (g,) = grad(F.cross_entropy(X.double(), t, reduction="sum"), t)
    np.testing.assert_allclose(g.numpy(), -F.log_softmax(X.double(), 1).numpy(), rtol=1e-12)


def ones(*shape):
    return rg.ones(*shape)


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (lambda: F.cross_entropy(X, rg.tensor([0, 1, 7])), IndexError, "Target 7 is out of bounds"),
        (lambda: F.cross_entropy(X, rg.tensor([0, 1, -1])), IndexError, "Target -1 is out of"),
        (lambda: F.nll_loss(X, rg.tensor([0, 1, 4])), IndexError, "Target 4 is out of bounds"),
        (
            lambda: F.cross_entropy(X, rg.tensor([0, 1])),
            ValueError,
            r"Expected input batch_size \(3\) to match target batch_size \(2\)",
        ),
        (lambda: F.cross_entropy(X, ones(3)), RuntimeError, "to be Long or Byte, but got Float"),
        (lambda: F.cross_entropy(X, ones(3, 5)), RuntimeError, "multi-target not supported"),
        (lambda: F.cross_entropy(X, [0, 1, 2]), TypeError, "must be Tensor, not list"),
        (
            lambda: F.cross_entropy(X, rg.tensor([0, 1, 2]), weight=ones(3)),
            RuntimeError,
            "either for all 4 classes or no classes",
        ),
        (
            lambda: F.cross_entropy(X, rg.tensor([0, 1, 2]), label_smoothing=1.5),
            RuntimeError,
            "label_smoothing must be between 0.0 and 1.0. Got: 1.5",
        ),
        (
            lambda: F.cross_entropy(X, X.softmax(1), ignore_index=1),
            RuntimeError,
            "ignore_index is not supported for floating point target",
        ),
        (
            lambda: F.nll_loss(rg.zeros(2, 3, 4), rg.zeros(2, 5, dtype=rg.int64)),
            RuntimeError,
            r"Expected target size \[2, 4\], got \[2, 5\]",
        ),
        (lambda: F.mse_loss(X, X, reduction="avg"), ValueError, "avg is not a valid value for red"),
        (lambda: F.mse_loss(X, ones(3)), RuntimeError, "must match the size of tensor b"),
        (lambda: F.mse_loss(X.long(), X.long()), NotImplementedError, "not implemented for"),
        (lambda: F.huber_loss(X, X, delta=0.0), RuntimeError, "non-positive values for delta"),
        (lambda: F.smooth_l1_loss(X, X, beta=-1.0), RuntimeError, "negative values for beta"),
        (lambda: F.binary_cross_entropy(X, X), RuntimeError, "should be between 0 and 1"),
        (
            lambda: F.binary_cross_entropy(ones(2), ones(2).double()),
            RuntimeError,
            "Found dtype Double but expected Float",
        ),
        (lambda: F.binary_cross_entropy(ones(2), ones(3)), ValueError, "Using a target size"),
        (
            lambda: F.binary_cross_entropy_with_logits(ones(2), ones(3)),
            ValueError,
            "must be the same as input size",
        ),
        (lambda: F.gaussian_nll_loss(X, X, -ones(3, 4)), ValueError, "negative entry/entries"),
        (lambda: F.gaussian_nll_loss(X, X, ones(2)), ValueError, "var is of incorrect size"),
        (lambda: F.triplet_margin_loss(X, X, X, margin=0), ValueError, "must be greater than 0"),
        (lambda: F.triplet_margin_loss(X, X, X[0]), RuntimeError, "same number of dimensions"),
        (lambda: F.multi_margin_loss(X, rg.tensor([0, 1, 7])), RuntimeError, "out of range"),
        (
            lambda: F.multi_margin_loss(X, rg.tensor([0])),
            RuntimeError,
            r"target tensor should be 1-D .* Expected target of shape \[3\], but got \[1\]",
        ),
        (lambda: F.multi_margin_loss(ones(2), rg.tensor([[0]])), RuntimeError, "should be 1-D"),
        (
            lambda: F.multi_margin_loss(ones(3, 0), rg.tensor([0, 0, 0])),
            RuntimeError,
            r"Expected non-empty vector or matrix with optional 0-dim batch size, .* \[3, 0\]",
        ),
        (
            lambda: F.multilabel_margin_loss(ones(1, 1, 2), rg.tensor([[[0, 1]]])),
            RuntimeError,
            r"Expected non-empty vector or matrix .* \[1, 1, 2\]",
        ),
        (lambda: F.margin_ranking_loss(X, X, ones(3)), RuntimeError, "should have same dimension"),
        (lambda: F.cosine_embedding_loss(X, X, ones(3, 1)), RuntimeError, "multi-target not supp"),
    ],
)
@pytest.mark.filterwarnings("ignore:Using a target size")
def test_bad_arguments_raise_as_in_pytorch(call, kind, text):
    with pytest.raises(kind, match=text):
        call()


def test_huber_loss_has_the_dtype_of_its_input():
    x, target = rg.tensor([1.0], requires_grad=True), rg.tensor([3.0], dtype=rg.float64)
    loss = F.huber_loss(x, target)
    loss.backward()
    assert (loss.dtype, loss.item(), x.grad.item()) == (rg.float32, 1.5, -1.0)
    with pytest.raises(RuntimeError, match="result type ComplexFloat can't be cast"):
        F.huber_loss(x, rg.tensor([1j]))


def test_cross_entropy_of_complex_logits_is_that_of_their_moduli():
    z = rg.randn(3, 4, dtype=rg.complex128, requires_grad=True)
    target = rg.tensor([0, 3, 1])
    assert rg.equal(F.cross_entropy(z, target), F.cross_entropy(z.abs(), target))
    assert rg.autograd.gradcheck(lambda z: F.cross_entropy(z, target), z)
    each = rg.func.vmap(lambda z, t: F.cross_entropy(z, t))(z, target)
    rg.testing.assert_close(each, F.cross_entropy(z, target, reduction="none"))


def test_margins_that_are_just_kept_give_no_gradient():
    x = rg.tensor([[1.0, 0.0], [0.0, 1.0]], requires_grad=True)
    for p in (1, 2):
        loss = F.multi_margin_loss(x, rg.tensor([0, 1]), p)
        assert rg.autograd.grad(loss, x)[0].tolist() == [[0.0, 0.0], [0.0, 0.0]]
    loss = F.multilabel_margin_loss(x, rg.tensor([[0, -1], [1, -1]]))
    assert rg.autograd.grad(loss, x)[0].tolist() == [[0.0, 0.0], [0.0, 0.0]]


@pytest.mark.parametrize("first", ["input", "target"])
def test_losses_of_an_integer_beside_a_floating_tensor_are_floating(first):
    i, f = rg.tensor([[1, 2], [3, 4]]), rg.tensor([[1.5, 2.0], [3.0, 0.0]], requires_grad=True)
    pair = (i, f) if first == "input" else (f, i)
    loss = F.smooth_l1_loss(*pair)
    loss.backward()
    assert (loss.dtype, loss.item()) == (rg.float32, 0.90625)
    assert f.grad.tolist() == [[0.125, 0.0], [0.0, -0.25]]
    cosines = F.cosine_similarity(*pair)
    assert cosines.dtype == rg.float32
    assert rg.allclose(cosines, rg.tensor([0.98386991, 0.6]))


def test_losses_of_integers_alone_are_refused():
    i = rg.tensor([[1, 2]])
    with pytest.raises(NotImplementedError, match="not implemented for 'Long'"):
        F.smooth_l1_loss(i, i)
    with pytest.raises(RuntimeError, match="yet common dtype is Long"):
        F.cosine_similarity(i, i)


def test_multi_margin_loss_adds_to_the_margin_first_as_pytorch_does():
    x = rg.tensor([[0.2, 0.3, 0.9]], dtype=rg.float64)
    loss = F.multi_margin_loss(x, rg.tensor([0]), reduction="none").item()
    assert loss == ((1 - 0.2 + 0.3) + (1 - 0.2 + 0.9)) / 3
    assert loss != ((0.3 - 0.2 + 1) + (0.9 - 0.2 + 1)) / 3


@pytest.mark.parametrize("name", ["nll_loss", "cross_entropy", "multi_margin_loss"])
def test_no_gradient_of_class_weights_is_lost(name):
    weight = rg.ones(3, requires_grad=True)
    x, target = rg.randn(2, 3), rg.tensor([0, 2])
    with pytest.raises(RuntimeError, match="not differentiable with respect to argument 'weight'"):
        getattr(F, name)(x, target, weight=weight)
    with rg.no_grad():
        assert not getattr(F, name)(x, target, weight=weight).requires_grad


def test_probabilities_as_targets_give_class_weights_a_gradient():
    weight = rg.ones(2, dtype=rg.float64, requires_grad=True)
    x = rg.zeros(1, 2, dtype=rg.float64)
    F.cross_entropy(x, rg.tensor([[0.25, 0.75]], dtype=rg.float64), weight=weight).backward()
    expected = [0.25 * math.log(2), 0.75 * math.log(2)]
    assert weight.grad.tolist() == pytest.approx(expected, abs=1e-15)


@pytest.mark.parametrize("value", [-0.5, 1.5, float("nan")])
def test_binary_cross_entropy_refuses_a_target_that_is_no_probability(value):
    with pytest.raises(RuntimeError, match="all elements of target should be between 0 and 1"):
        F.binary_cross_entropy(rg.tensor([0.5]), rg.tensor([value]))


@pytest.mark.parametrize("values", [[0, 1], [0, 3]])
def test_binary_cross_entropy_of_integers_is_refused(values):
    x = rg.tensor(values)
    with pytest.raises(NotImplementedError, match="not implemented for 'Long'"):
        F.binary_cross_entropy(x, x)


def test_divergence_of_integers_is_refused():
    p = rg.tensor([0.5, 0.5])
    for x, target in ((p, p.long()), (p.long(), p), (p, p > 0)):
        with pytest.raises(RuntimeError, match="Integral inputs not supported"):
            F.kl_div(x, target, reduction="sum")


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_class_indices_that_are_overwritten_are_noticed(smoothing, reduction):
    x, target = leaf([[0.5, -1.0, 2.0], [0.0, 1.0, 0.0]]), rg.tensor([0, 1])
    for loss in (
        F.nll_loss(x, target, reduction=reduction),
        F.cross_entropy(x, target, reduction=reduction, label_smoothing=smoothing),
    ):
        target.add_(1).remainder_(3)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            loss.sum().backward()


def test_kl_div_of_a_negative_target_is_nan():
    loss = F.kl_div(rg.tensor([0.1, 0.2, 0.3]), rg.tensor([-1.0, 0.0, 1.0]), reduction="none")
    np.testing.assert_allclose(loss.numpy(), [math.nan, 0.0, -0.3], rtol=1e-6)


def test_the_mean_over_elements_of_a_divergence_warns():
    p = rg.tensor([[0.5, 0.5], [0.25, 0.75]])
    with pytest.warns(UserWarning, match="'batchmean' divides only by the batch size"):
        assert F.kl_div(p.log(), p).item() == 0.0
    assert F.kl_div(p.log(), p, reduction="batchmean").item() == 0.0  # without a warning


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        (rg.tensor([1, 1], dtype=rg.uint8), 0.22009484469890594),
        (rg.tensor([1, -1], dtype=rg.int8), 1.220094919204712),
        (rg.tensor([True, False]), 0.5032044649124146),
    ],
)
def test_targets_of_the_soft_margin_loss_may_be_of_any_dtype(target, expected):
    assert F.soft_margin_loss(rg.tensor([1.0, 2.0]), target).item() == pytest.approx(expected)


@pytest.mark.parametrize("dtypes", [(rg.float16, rg.float32), (rg.float32, rg.float64)])
def test_the_soft_margin_loss_has_the_dtype_of_its_input(dtypes):
    x, y = (rg.ones(2, dtype=dtype) for dtype in dtypes)
    found = F.soft_margin_loss(x, y)
    assert found.dtype is dtypes[0]
    assert found.item() == pytest.approx(math.log1p(math.exp(-1)), rel=1e-3)


def test_huber_loss_takes_a_target_of_booleans():
    x = rg.tensor([2.0, 0.5], requires_grad=True)
    loss = F.huber_loss(x, rg.tensor([False, True]), reduction="sum")
    loss.backward()
    assert (loss.item(), x.grad.tolist()) == (1.625, [1.0, -0.5])


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("weight", [None, rg.tensor([0.5, 2.0, 1.0], dtype=rg.float64)])
@pytest.mark.parametrize("smoothing", [0.0, 0.2])
def test_a_batch_of_losses_by_class_is_computed_at_once(smoothing, weight, reduction):
    generator = rg.Generator().manual_seed(0)
    x = rg.randn(4, 3, 3, 2, dtype=rg.float64, generator=generator)
    target = rg.randint(-1, 3, (4, 3, 2), generator=generator)

    def loss(x, target):
        settings = {"ignore_index": -1, "reduction": reduction}
        return F.cross_entropy(x, target, weight, label_smoothing=smoothing, **settings)

    expected = rg.stack([loss(*example) for example in zip(x, target, strict=True)])
    rg.testing.assert_close(rg.vmap(loss)(x, target), expected)  # without a warning
    found = rg.vmap(rg.func.grad(lambda *args: loss(*args).sum()))(x, target)
    x.requires_grad_()
    rg.stack([loss(*example).sum() for example in zip(x, target, strict=True)]).sum().backward()
    rg.testing.assert_close(found, x.grad)


def test_a_batch_of_log_probabilities_is_weighed_at_once():
    x, target = rg.tensor([[-1.0, -2.0], [-3.0, -4.0]]), rg.tensor([1, 0])
    weight = rg.tensor([0.25, 3.0])
    found = rg.vmap(lambda x, t: F.nll_loss(x, t, weight, reduction="sum"))(x, target)
    assert found.tolist() == [6.0, 0.75]
