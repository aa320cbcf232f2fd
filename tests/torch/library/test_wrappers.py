"""Tensors of classes with a `__torch_dispatch__` where features meet them, as in PyTorch 2.13."""

from __future__ import annotations

import copy
import gc
import io
import pickle
import weakref

import pytest

import retrograd as rg
from retrograd.torch.utils._python_dispatch import TorchDispatchMode
from retrograd.torch.utils._pytree import tree_map


class Held(rg.Tensor):
    """Keeps its values in an attribute that is called as a method of tensors is."""

    def __new__(cls, inner):
        return rg.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)

    def __init__(self, inner):
        self.inner = inner

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        def opened(t):
            return t.inner if isinstance(t, cls) else t

        found = func(*tree_map(opened, args), **tree_map(opened, kwargs or {}))
        return tree_map(lambda t: cls(t) if isinstance(t, rg.Tensor) else t, found)


def held(values, requires_grad=False):
    return Held(rg.tensor(values)).requires_grad_(requires_grad)


@pytest.fixture
def uncollected():
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def test_what_hooks_of_saved_tensors_see_is_of_the_class():
    seen = []
    x = held([1.0, 2.0], True)
    with rg.autograd.graph.saved_tensors_hooks(lambda t: seen.append(t) or t, lambda t: t):
        y = (x.exp() * x).sum()
    assert [type(t) for t in seen] == [Held] * 3
    assert seen[0].inner.tolist() == pytest.approx([2.7182817, 7.3890562])
    y.backward()
    assert x.grad.inner.tolist() == pytest.approx([5.4365635, 22.1671677])


def test_what_nodes_saved_is_of_the_class():
    y = held([0.0], True).exp()
    assert type(y.grad_fn._saved_result) is Held
    assert y.grad_fn._saved_result.inner.tolist() == [1.0]
    assert y.grad_fn._raw_saved_result.data.inner.tolist() == [1.0]


def test_the_data_of_a_wrapper_are_of_its_class():
    x = held([1.0, 2.0], True)
    x.tag = "first"
    assert type(x.data) is Held
    assert x.data.inner is x.inner
    assert x.data.tag == "first"
    assert not x.data.requires_grad
    assert rg.nn.Parameter(x).data.inner.data_ptr() == x.inner.data_ptr()


def test_an_alias_has_the_attributes_that_the_tensor_has_now():
    x = held([1.0])
    p = rg.nn.Parameter(x)
    x.inner = rg.tensor([5.0])
    assert (x.data * 2).inner.tolist() == [10.0]
    assert x.data.inner.tolist() == [5.0]
    assert p.shape == (1,)


def test_states_of_modules_hold_wrappers():
    module = rg.nn.Module()
    module.p = rg.nn.Parameter(held([1.0, 2.0]))
    assert module.state_dict()["p"].inner.tolist() == [1.0, 2.0]


def test_a_parameter_outlives_the_wrapper_that_it_was_made_of():
    p = rg.nn.Parameter(held([1.0, 2.0]))
    assert (p * 2).inner.tolist() == [2.0, 4.0]
    p.data = held([3.0, 4.0])
    assert (p * 2).inner.tolist() == [6.0, 8.0]


def test_a_parameter_of_a_wrapper_is_one_too_with_its_attributes():
    layer = rg.nn.Linear(2, 1, bias=False)
    layer.weight = rg.nn.Parameter(held([[1.0, 2.0]]))
    assert isinstance(layer.weight, Held)
    assert type(layer.weight * 2) is Held
    layer.double()
    assert layer.weight.inner.dtype is rg.float64
    other = pickle.loads(pickle.dumps(layer))
    assert isinstance(other.weight, rg.nn.Parameter)
    assert other.weight.inner.tolist() == [[1.0, 2.0]]


@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))]
)
def test_the_copy_of_a_cotangent_counts_with_its_own_values(copied):
    x, g = held([1.0, 2.0], True), held([1.0, 1.0])
    g = copied(g)
    g.inner = rg.tensor([5.0, 6.0])
    (x * 2).backward(g)
    assert x.grad.inner.tolist() == [10.0, 12.0]


def test_copies_of_parameters_that_wrap_share_nothing():
    p = rg.nn.Parameter(held([1.0, 2.0]))
    other = copy.deepcopy(p)
    other.data.inner.zero_()
    assert other.requires_grad
    assert (other + 1).inner.tolist() == [1.0, 1.0]
    assert (p + 1).inner.tolist() == [2.0, 3.0]


def test_copies_of_tensors_with_data_share_nothing():
    class Watched(rg.Tensor):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            return super().__torch_dispatch__(func, types, args, kwargs or {})

    x = rg.tensor([1.0, 2.0]).as_subclass(Watched)
    copy.deepcopy(x).add_(1)
    assert x.sum().item() == 3.0


def test_files_keep_attributes_that_are_called_as_methods():
    file = io.BytesIO()
    rg.save(held([1.0, 2.0]), file)
    file.seek(0)
    assert rg.load(file, weights_only=False).inner.tolist() == [1.0, 2.0]
    file.seek(0)
    with pytest.raises(Exception, match="Weights only load failed"):
        rg.load(file)


def test_a_wrapper_that_was_never_used_dies_at_once(uncollected):
    x = held([1.0])
    refs = [weakref.ref(x), weakref.ref(x.inner)]
    del x
    assert [ref() for ref in refs] == [None, None]


VIEWS = [
    *(lambda x: x.view(4), lambda x: x.unsqueeze(0), lambda x: x.t(), lambda x: x.diagonal()),
    *(lambda x: x.expand(2, 2), lambda x: x.transpose(0, 1), lambda x: x.permute(1, 0)),
    *(lambda x: x.select(0, 1), lambda x: x.squeeze(0), lambda x: x.split(1)[1]),
    *(lambda x: x.split([1, 1])[0], lambda x: x.unbind()[0], lambda x: x.unfold(0, 2, 1)),
    *(lambda x: x.as_strided((2,), (1,), 1), lambda x: x.view_as(x), lambda x: x.swapaxes(0, 1)),
]


@pytest.mark.parametrize("view", VIEWS)
def test_a_write_through_a_view_reaches_what_has_no_history(view):
    wanted, x = rg.tensor([[0.5, -2.0], [3.0, -1.0]]), held([[0.5, -2.0], [3.0, -1.0]])
    for base in (wanted, x):
        view(base).absolute_()  # which the class sees as `abs`: no write in place
        view(base).mul_(3.0)
    rg.testing.assert_close((x + 0).inner, wanted)


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.split(1)[1],
        lambda x: x.unbind()[0],
        lambda x: rg.var_mean(x, 1)[0],
        lambda x: rg.nn.functional.layer_norm(x, (2,)),
        lambda x: rg.linalg.qr(x)[1],
        lambda x: rg.linalg.slogdet(x)[1],
    ],
)
def test_outputs_without_a_cotangent_count_as_zeros(function, create_graph):
    values = [[0.5, 2.0], [3.0, -1.0]]
    wanted, x = rg.tensor(values, requires_grad=True), held(values, True)
    function(wanted).square().sum().backward()
    function(x).square().sum().backward(create_graph=create_graph)
    rg.testing.assert_close(x.grad.detach().inner, wanted.grad)


@pytest.mark.filterwarnings("ignore:Anomaly Detection has been", "ignore:Error detected")
def test_anomaly_mode_looks_for_nan_where_the_class_computes():
    with rg.autograd.detect_anomaly():
        x = held([1.0, 2.0], True)
        (x.log() * x).sum().backward()
        assert x.grad.inner.tolist() == pytest.approx([1.0, 1.6931472])
        y = (held([0.0], True).sqrt() * 0).sum()
        with pytest.raises(RuntimeError, match="'SqrtBackward0' returned nan values"):
            y.backward()


@pytest.mark.parametrize("name", ["SGD", "Adam", "Adagrad", "Rprop", "Adadelta"])
def test_wrappers_are_optimized_by_each_rule(name):
    p, q = rg.nn.Parameter(held([1.0, 2.0])), rg.nn.Parameter(rg.tensor([1.0, 2.0]))
    for each in (p, q):
        optimizer = getattr(rg.optim, name)([each], lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            each.square().sum().backward()
            optimizer.step()
    rg.testing.assert_close((p * 1).detach().inner, q.detach())


def test_a_mode_that_leaves_a_call_to_nobody_is_refused():
    class Nobody(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return NotImplemented

    with (
        Nobody(),
        pytest.raises(TypeError, match="all __torch_dispatch__ handlers returned NotImplemented"),
    ):
        rg.ones(2)
    assert rg.ones(2).tolist() == [1.0, 1.0]


def test_a_class_answers_what_a_mode_leaves_to_it():
    class Nobody(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return NotImplemented

    x = held([1.0])
    with Nobody():
        y = x * 2
    assert y.inner.tolist() == [2.0]


@pytest.mark.parametrize("create_graph", [False, True])
def test_gradients_go_on_into_plain_tensors_from_which_a_wrapper_was_computed(create_graph):
    w = rg.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    a, b = (w * 2).exp().split(1)
    x = held([1.0, 2.0], True)
    (x * a * 3 + b).sum().backward(create_graph=create_graph)
    wanted = 2 * (2 * w.detach()).exp() * rg.tensor([[3.0, 6.0], [1.0, 1.0]])
    rg.testing.assert_close(w.grad.detach().inner, wanted)
    rg.testing.assert_close(x.grad.detach().inner, 3 * (2 * w.detach()[0]).exp())


@pytest.mark.parametrize("name", ["inv", "det", "cholesky"])
def test_matrices_are_factored_where_the_class_computes(name):
    values = [[4.0, 1.0], [1.0, 3.0]]
    wanted, x = rg.tensor(values, requires_grad=True), held(values, True)
    function = getattr(rg.linalg, name)
    function(wanted).sum().backward()
    function(x).sum().backward()
    rg.testing.assert_close(x.grad.inner, wanted.grad)


def test_a_plain_tensor_that_was_written_with_a_wrapper_is_the_result():
    x = rg.zeros(2)
    assert x.add_(held([1.0, 2.0])) is x
    assert x.tolist() == [1, 2]


@pytest.mark.parametrize("wrapped", [False, True])
def test_batched_cotangents_meet_wrappers(wrapped):
    x, rows = held([1.0, 2.0], True), rg.eye(2)
    cotangents = Held(rows) if wrapped else rows
    (g,) = rg.autograd.grad(x * x, x, cotangents, is_grads_batched=True)
    assert g.inner.tolist() == [[2, 0], [0, 4]]


def test_jacobians_by_wrappers():
    x = held([1.0, 2.0])
    for transform in (rg.func.jacrev, rg.func.jacfwd):
        assert transform(lambda t: t * t)(x).inner.tolist() == [[2, 0], [0, 4]]
    assert rg.func.hessian(lambda t: (t * t * t).sum())(x).inner.tolist() == [[6, 0], [0, 12]]


def test_a_batch_with_a_plain_operand_and_a_wrapper():
    table, plain = held([[1.0, 2.0], [3.0, 4.0]]), rg.tensor([[1.0, 1.0], [2.0, 2.0]])
    for first, second in ((table, plain), (plain, table)):
        found = rg.func.vmap(lambda a, b: (a * b).sum())(first, second)
        assert found.inner.tolist() == [3, 14]


def with_gradient(values):
    x = held([0.0] * len(values), True)
    x.grad = held(values)
    return x


def test_gradients_of_wrappers_are_clipped():
    x = with_gradient([3.0, 4.0])
    assert rg.nn.utils.clip_grad_norm_([x], 1.0).inner.item() == 5
    assert x.grad.inner.tolist() == pytest.approx([0.6, 0.8], rel=1e-6)
    x = with_gradient([-3.0, 0.5])
    rg.nn.utils.clip_grad_value_([x], 1.0)
    assert x.grad.inner.tolist() == [-1, 0.5]


def test_batch_norm_of_wrappers_moves_plain_statistics():
    norm = rg.nn.BatchNorm1d(2)
    x = held([[3.0, 4.0], [1.0, 2.0], [5.0, 9.0]], True)
    y = norm(x)
    y.sum().backward()
    assert type(y) is type(x.grad) is Held
    assert type(norm.running_mean) is rg.Tensor
    assert norm.running_mean.tolist() == pytest.approx([0.3, 0.5])
    assert norm.running_var.tolist() == pytest.approx([1.3, 2.2])


def test_batch_norm_by_wrappers_moves_their_statistics():
    norm = rg.nn.BatchNorm1d(2)
    norm.running_mean, norm.running_var = held([0.0, 0.0]), held([1.0, 1.0])
    norm(rg.tensor([[3.0, 4.0], [1.0, 2.0], [5.0, 9.0]]))
    assert norm.running_mean.inner.tolist() == pytest.approx([0.3, 0.5])
    assert norm.running_var.inner.tolist() == pytest.approx([1.3, 2.2])


VIEWS = {
    "element": (lambda y: y[0], [[3, 6], [3, 4]]),
    "transposed": (lambda y: y.t()[1], [[1, 6], [3, 12]]),
    "viewed": (lambda y: y.view(4)[1:3], [[1, 6], [9, 4]]),
    "diagonal": (lambda y: y.diagonal(), [[3, 2], [3, 12]]),
}


@pytest.mark.parametrize("name", VIEWS)
def test_a_recorded_write_to_a_view_reaches_what_it_is_a_view_of(name):
    view, expected = VIEWS[name]
    x = held([[1.0, 2.0], [3.0, 4.0]], True)
    y = x * 1
    part = view(y)
    part.mul_(3)
    y.sum().backward()
    assert y.inner.tolist() == expected
    assert part.inner.tolist() == view(rg.tensor([[1.0, 2.0], [3.0, 4.0]])).mul(3).tolist()
    factors = rg.tensor(expected) / rg.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert x.grad.inner.tolist() == factors.tolist()


def test_a_recorded_write_reaches_the_views_there_are():
    y = held([1.0, 2.0], True) * 1
    part, whole = y[1:], y.view(2, 1)
    y.mul_(2)
    assert (part.inner.tolist(), whole.inner.tolist()) == ([4], [[2], [4]])
    part.backward(held([1.0]))


def test_a_part_of_a_wrapper_is_assigned():
    x = held([1.0, 2.0], True)
    y = x * 1
    y[0] = y[1] * 2
    y.sum().backward()
    assert (y.inner.tolist(), x.grad.inner.tolist()) == ([4, 2], [0, 3])


def test_losses_that_look_at_values_leave_those_of_wrappers_to_the_class():
    loss = rg.nn.functional
    x, t = held([0.25, 0.5], True), held([0.0, 1.0])
    for function in (
        loss.binary_cross_entropy,
        loss.soft_margin_loss,
        lambda a, b: loss.gaussian_nll_loss(a, b, a),
        lambda a, b: loss.binary_cross_entropy_with_logits(a, b, pos_weight=b),
    ):
        found = function(x, t)
        expected = function(x.inner.requires_grad_(), t.inner)
        assert found.inner.item() == expected.item()
        (g,), (h,) = rg.autograd.grad(found, x), rg.autograd.grad(expected, x.inner)
        assert g.inner.tolist() == pytest.approx(h.tolist(), rel=1e-6)


def test_functional_derivatives_are_those_of_the_class():
    x, v = held([1.0, 2.0]), held([1.0, 1.0])
    derivatives = rg.autograd.functional
    assert derivatives.jvp(lambda t: t * t, x, v)[1].inner.tolist() == [2, 4]
    assert derivatives.hvp(lambda t: (t * t * t).sum(), x, v)[1].inner.tolist() == [6, 12]


class Strided(Held):
    """The same with the strides of what it holds, so that reshaping may have to copy."""

    def __new__(cls, inner):
        return rg.Tensor._make_wrapper_subclass(
            cls, inner.shape, strides=inner.stride(), dtype=inner.dtype
        )


def test_a_recorded_write_to_a_reshaped_copy_leaves_what_was_copied():
    x = Strided(rg.tensor([[1.0, 2.0], [3.0, 4.0]])).requires_grad_()
    y = x * 1
    flat, copied = y.reshape(4), y.t().reshape(4)
    copied.mul_(10)
    flat.mul_(2)
    assert copied.inner.tolist() == [10, 30, 20, 40]
    assert y.inner.tolist() == [[2, 4], [6, 8]]


def test_a_recorded_write_to_a_view_of_a_batch_of_wrappers_reaches_the_batch():
    def run(row):
        own = row * 1
        own.view(2, 1).add_(1.0)
        return own

    x = held([[1.0, 2.0], [3.0, 4.0]], True)
    assert rg.func.vmap(run)(x).inner.tolist() == [[2, 3], [4, 5]]


@pytest.mark.parametrize("name", ["sum", "mean", "amax", "nansum", "all", "norm"])
def test_a_mode_sees_reductions_of_numbers_in_a_batch_as_what_they_are(name):
    class Through(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {}))

    x = rg.tensor([1.0, 2.0, 3.0])
    expected = rg.func.vmap(lambda t: getattr(t, name)())(x)
    with Through():
        found = rg.func.vmap(lambda t: getattr(t, name)())(x)
    assert found.tolist() == expected.tolist()


def test_differences_of_what_has_no_values_are_refused():
    x = Held(rg.ones(2, dtype=rg.float64)).requires_grad_()
    with pytest.raises(NotImplementedError, match="has no values of its own to vary"):
        rg.autograd.gradcheck(lambda x: x * x, (x,))


@pytest.mark.parametrize(("mode", "expected"), [("sum", [4.0, 6.0]), ("mean", [2.0, 3.0])])
def test_bags_of_rows_of_a_class_are_computed_by_it(mode, expected):
    table = held([[1.0, 2.0], [3.0, 4.0]])
    found = rg.nn.functional.embedding_bag(rg.tensor([[0, 1]]), table, mode=mode)
    assert found.inner.tolist() == [expected]


def test_quantiles_of_a_class_are_computed_by_it():
    x = held([[1.0, 2.0, 5.0], [3.0, 4.0, 6.0]])
    assert rg.quantile(x, 0.5, dim=1).inner.tolist() == [2.0, 4.0]


def test_a_second_gradient_is_added_to_the_tensor_that_holds_the_first():
    x = held([1.0, 2.0], True)
    (x * 2).sum().backward()
    first = x.grad
    (x * 3).sum().backward()
    assert x.grad is first
    assert (first.inner.tolist(), first._version) == ([5.0, 5.0], 1)
