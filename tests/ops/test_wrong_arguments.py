"""Arguments of a wrong kind are refused, with PyTorch's type of error and key phrase."""

from __future__ import annotations

import numpy as np
import pytest

import retrograd as rg

F = rg.nn.functional
X = rg.arange(6.0).reshape(2, 3)
IMAGE = rg.ones(1, 1, 4, 4)
WEIGHT = rg.ones(1, 1, 2, 2)
A = rg.eye(3)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: X.sum(0, 1), "argument 'keepdim' .* must be bool, not int"),
        (lambda: X.sum(0, keepdim="no"), "argument 'keepdim' must be bool, not str"),
        (lambda: X.sum(0, keepdims=1), "argument 'keepdim' must be bool, not int"),
        (lambda: X.sum(0, np.True_), r"argument 'keepdim' .* must be bool, not numpy\.bool"),
        (lambda: rg.max(X, 1, [X]), "argument 'keepdim' .* must be bool, not list"),
        (lambda: X.std(0, unbiased=None, keepdim=None), "argument 'keepdim' must be bool, not No"),
        (lambda: rg.sort(X, 0, 1), "argument 'descending' .* must be bool, not int"),
        (lambda: rg.linalg.svd(X, 0), "argument 'full_matrices' .* must be bool, not int"),
        (lambda: rg.linalg.eigh(A, UPLO=1), "argument 'UPLO' .* must be str, not int"),
        (lambda: F.dropout(X, training=1), "argument 'training' must be bool, not int"),
        (lambda: F.max_pool2d(IMAGE, 2, ceil_mode=1), "argument 'ceil_mode' must be bool, not int"),
        (lambda: rg.quantile(X, 0.5, interpolation=1), "'interpolation' .* must be str, not int"),
        (lambda: F.layer_norm(X, (3,), eps=[1.0]), "argument 'eps' must be float, not list"),
        (lambda: F.group_norm(X, 1, eps="small"), "argument 'eps' must be float, not str"),
        (lambda: F.poisson_nll_loss(X, X, eps=None), "argument 'eps' must be float, not NoneType"),
        (lambda: F.pad(X, (1, 1), value="0"), "argument 'value' must be float, not str"),
        (lambda: F.dropout([1.0], p=0.0), "argument 'input' .* must be Tensor, not list"),
        (lambda: rg.resolve_conj("x"), "argument 'input' .* must be Tensor, not str"),
        (lambda: F.max_pool2d(IMAGE, "2"), "'kernel_size' must be tuple of ints, not str"),
        (lambda: F.max_pool2d(IMAGE, [2.5]), "must be tuple of ints, but found element of type fl"),
        (lambda: F.avg_pool2d(IMAGE, 2, True), "'stride' must be tuple of ints, not bool"),
        (lambda: F.max_pool2d(IMAGE, 2, {}), "'stride' must be tuple of ints, not dict"),
        (
            lambda: F.adaptive_avg_pool2d(IMAGE, (2, "2")),
            "must be tuple of ints, but found element",
        ),
        (lambda: F.adaptive_max_pool2d(IMAGE, True), "'output_size' must be tuple of ints"),
        (
            lambda: F.fractional_max_pool2d(IMAGE, 2, 1.5),
            "'output_size' must be tuple of ints, not",
        ),
        (lambda: F.conv2d(IMAGE, WEIGHT, stride="1"), "'stride' must be tuple of ints, not str"),
        (lambda: F.conv2d(IMAGE, WEIGHT, dilation=(1, 1.0)), "found element of type float"),
        (lambda: F.unfold(IMAGE, 2.5), "'kernel_size' must be tuple of ints, not float"),
        (lambda: rg.stack(X), "argument 'tensors' .* must be tuple of Tensors, not Tensor"),
        (lambda: rg.flip(X, 0, dims=(1,)), "multiple values for argument 'dims'"),
        (lambda: rg.zeros(2, dtype=X), "dtype must be a retrograd.dtype"),
    ],
)
def test_an_argument_of_a_wrong_type_is_a_type_error(call, text):
    with pytest.raises(TypeError, match=text):
        call()


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (lambda: F.max_pool2d(IMAGE.bool(), 2), NotImplementedError, "not implemented for 'Bool'"),
        (
            lambda: rg.put(X, rg.tensor([0]), rg.tensor([1])),
            RuntimeError,
            "self and source expected to have the same dtype",
        ),
        (
            lambda: rg.linalg.ldl_solve(A, rg.ones(7, dtype=rg.int32), A),
            RuntimeError,
            r"Expected LD.shape\[:-1\] and pivots.shape to be the same",
        ),
        (lambda: rg.linalg.ldl_solve(A, rg.ones(3), A), RuntimeError, "pivots to be integers"),
        (lambda: F.soft_margin_loss(X[0], X), RuntimeError, "doesn't match the broadcast shape"),
    ],
)
def test_what_would_be_cast_or_broadcast_by_mistake_is_refused(call, kind, text):
    with pytest.raises(kind, match=text):
        call()


def test_flags_that_pytorch_asks_for_their_truth_may_be_anything():
    assert F.max_pool2d(IMAGE, 2, return_indices=1)[1].shape == (1, 1, 2, 2)
    assert F.relu(X, inplace=0).equal(X)


def test_numbers_may_stand_in_tensors_of_one_element():
    normal = F.layer_norm(X, (3,), eps=0.5)
    assert F.layer_norm(X, (3,), eps=rg.tensor(0.5)).allclose(normal)
    assert F.layer_norm(X, (3,), eps=np.float32(0.5)).allclose(normal)


def test_window_sizes_may_be_anything_that_stands_for_integers():
    for size in (np.int64(2), rg.tensor(2), [2, np.int32(2)], rg.Size([2, 2])):
        assert F.max_pool2d(IMAGE, size).equal(F.max_pool2d(IMAGE, (2, 2)))


def test_positions_are_int64_whatever_the_indices_are():
    found = rg.unravel_index(rg.tensor([5], dtype=rg.uint8), (2, 3))
    assert [(t.dtype, t.item()) for t in found] == [(rg.int64, 1), (rg.int64, 2)]


def test_sum_to_size_of_small_integers_is_int64_as_sums_are():
    found = rg.full((3,), 200, dtype=rg.uint8).sum_to_size(1)
    assert found.dtype == rg.int64
    assert found.tolist() == [600]


def test_numbers_of_numpy_are_orders_of_norms():
    assert rg.linalg.vector_norm(X, np.int64(1)).item() == 15
    assert F.normalize(X, p=np.float32(1)).sum().item() == 2


@pytest.mark.parametrize("flag", [1, np.True_])
def test_flags_of_backward_passes_count_by_their_truth(flag):
    x = rg.ones(1, requires_grad=True)
    y = x * x * x
    (g,) = rg.autograd.grad(y, x, create_graph=flag, allow_unused=flag)
    g.backward(retain_graph=flag)
    g.backward(retain_graph=0)
    assert x.grad.item() == 12


@pytest.mark.parametrize("name", ["max", "min", "median", "nanmedian", "prod"])
def test_keepdim_without_a_dim_is_refused(name):
    with pytest.raises(TypeError, match='missing 1 required positional arguments: "dim"'):
        getattr(rg, name)(X, keepdim=True)


@pytest.mark.parametrize("name", ["acos_", "add_", "bitwise_not_", "clamp_", "round_", "div_"])
def test_an_in_place_form_has_no_out_and_leaves_it_as_it_was(name):
    target = rg.tensor([1, 2]) if name == "bitwise_not_" else rg.tensor([0.25, 0.5])
    before, out = target.clone(), rg.zeros(0, dtype=rg.complex64)
    args = (target,) if name in ("add_", "div_", "clamp_") else ()
    with pytest.raises(TypeError, match=f"{name}.* got an unexpected keyword argument 'out'"):
        getattr(target, name)(*args, out=out)
    assert target.equal(before)
    assert out.shape == (0,)


@pytest.mark.parametrize("norm", [F.batch_norm, F.instance_norm])
@pytest.mark.parametrize("shapes", [((1, 3), (3,)), ((3,), (3, 1))])
def test_running_statistics_of_more_dimensions_are_refused_before_one_is_written(norm, shapes):
    running = [rg.ones(shape) for shape in shapes]
    with pytest.raises(RuntimeError, match="should have 1 dimension, one element per channel"):
        norm(rg.rand(2, 3, 4), *running, None, None, True)
    assert all(t.eq(1).all() and t._version == 0 for t in running)


def test_running_statistics_of_integers_are_cut_off():
    x = rg.tensor([[[1.0, 9.0]]])
    mean, var = rg.tensor([10]), rg.tensor([100])
    F.instance_norm(x, mean, var, momentum=0.5)
    assert (mean.item(), var.item()) == (7, 66)


def test_initial_values_are_drawn_when_all_arguments_are_known_to_fit():
    x = rg.ones(2, 3)
    with pytest.raises(TypeError, match="sparsity"):
        rg.nn.init.sparse_(x, [0.5])
    assert x.eq(1).all()


def test_a_stride_may_be_anything_that_stands_for_integers_or_empty():
    for stride in (rg.tensor(1), np.int64(1), [1]):
        assert F.max_pool1d(X, 2, stride=stride).tolist() == [[1.0, 2.0], [4.0, 5.0]]
    for stride in (None, [], ()):
        assert F.avg_pool1d(X, 2, stride).tolist() == [[0.5], [3.5]]


def test_the_first_size_tells_what_sizes_are():
    for call in (lambda n: F.max_pool2d(IMAGE, n), rg.zeros, X.repeat, lambda n: F.pad(X, n)):
        assert call((2, True)).equal(call((2, 1)))
        with pytest.raises(TypeError, match="bool"):
            call((True, 2))


@pytest.mark.parametrize(
    "call",
    [
        lambda: rg.linalg.cholesky(np.eye(2)),
        lambda: rg.linalg.qr(np.eye(2)),
        lambda: rg.cholesky_inverse(np.eye(2)),
    ],
)
def test_an_array_for_a_matrix_is_a_type_error(call):
    with pytest.raises(TypeError, match=r"must be Tensor, not numpy\.ndarray"):
        call()


def test_what_no_loop_computes_is_not_implemented():
    z = rg.ones(2, dtype=rg.complex64)
    for mode in ("trunc", "floor"):
        with pytest.raises(NotImplementedError, match=rf"{mode}_div\(\).*complex64, complex64"):
            rg.div(z, z, rounding_mode=mode)


def test_differences_of_order_0_are_a_copy_without_the_ends():
    found = rg.diff(X, 0, prepend=rg.ones(2, 1), append=rg.ones(2, 1))
    assert found.equal(X)
    found[0, 0] = 7.0
    assert X[0, 0] == 0.0


def test_adaptive_maxima_come_with_their_places():
    values, places = rg.adaptive_max_pool1d(X, 1)
    assert (values.tolist(), places.tolist()) == ([[2.0], [5.0]], [[2], [2]])
    assert F.adaptive_max_pool1d(X, 1).equal(values)


def test_a_tensor_with_keepdim_is_a_dim_of_max():
    assert rg.max(X, rg.tensor(1), True).values.tolist() == [[2.0], [5.0]]
    assert rg.max(X, rg.tensor(1)).equal(rg.maximum(X, rg.tensor(1)))


def test_reduce_counts_by_its_truth():
    with pytest.warns(UserWarning, match="use reduction='none' instead"):
        assert F.cross_entropy(X, X.softmax(1), None, None, -100, 0).shape == (2,)


@pytest.mark.parametrize("parameters", [(1j, 1.0), (0.0, 1j)])
def test_a_distribution_has_no_complex_numbers(parameters):
    with pytest.raises(ValueError, match="must all be instances of Number"):
        rg.distributions.Normal(*parameters)


def test_the_gamma_distribution_takes_numbers_for_samples():
    gamma = rg.distributions.Gamma(2.0, 1.0)
    assert gamma.log_prob(3.0).equal(gamma.log_prob(rg.tensor(3.0)))


def test_a_complex_order_of_a_norm_is_refused():
    with pytest.raises(RuntimeError, match="Expected a non-complex scalar as the order of norm"):
        rg.linalg.vector_norm(X, 1j)


@pytest.mark.parametrize("reduction", [None, 1, True, [], X, "average"])
def test_a_reduction_of_any_type_that_there_is_not_is_a_value_error(reduction):
    for loss in (F.mse_loss, F.nll_loss, F.l1_loss, F.margin_ranking_loss):
        targets = (rg.tensor([0, 1]),) if loss is F.nll_loss else (X,)
        targets = (X, X) if loss is F.margin_ranking_loss else targets
        with pytest.raises(ValueError, match="is not a valid value for reduction"):
            loss(X, *targets, reduction=reduction)


@pytest.mark.parametrize("size", [rg.tensor([1, 2]), [3], 2.5, "3"])
def test_a_layer_of_sizes_that_are_none_is_a_type_error(size):
    for make in (rg.nn.Linear, rg.nn.LSTMCell):
        with pytest.raises(TypeError, match=f"found element of type {type(size).__name__}"):
            make(size, 2)


def test_pivots_of_another_shape_are_refused():
    LU, pivots = rg.linalg.lu_factor(rg.eye(3).expand(2, 3, 3))
    for wrong in (pivots[0], pivots[:, :2], pivots[None]):
        with pytest.raises(RuntimeError, match=r"Expected LU.shape\[:-1\] and pivots.shape to be"):
            rg.linalg.lu_solve(LU, wrong, rg.ones(2, 3, 1))


def test_interpolation_compares_the_sizes_first():
    with pytest.raises(ValueError, match="spatial dimensions"):
        F.interpolate(X, (2, 2))


@pytest.mark.parametrize("name", ["zeros", "empty", "randn", "view", "expand", "permute", "repeat"])
def test_a_sequence_of_sizes_with_more_beside_it_is_refused(name):
    call = getattr(X, name, None) or getattr(rg, name)
    for sizes in ((2, 3), [2, 3]):
        text = rf"{name}\(\) takes 1 positional argument but 3 were given"
        with pytest.raises(TypeError, match=text):
            call(sizes, 4, 5)
    with pytest.raises(TypeError, match="must be tuple of ints"):
        call(2, (3,))
