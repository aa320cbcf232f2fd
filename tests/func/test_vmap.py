"""`vmap`: dimensions, containers, chunks, randomness, in-place writes, loops, errors."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import retrograd as rg
from retrograd.func import grad, jacfwd, jacrev, jvp, vmap

F = rg.nn.functional
X = rg.tensor(np.random.default_rng(0).standard_normal((2, 3, 4)))


def close(found, expected, tolerance=1e-12):
    np.testing.assert_allclose(found.detach().numpy(), expected, rtol=tolerance, atol=tolerance)


# -- dimensions and containers -----------------------------------------------------------------


@pytest.mark.parametrize("dim", [0, 1, 2, -1, -3])
@pytest.mark.parametrize("place", [0, 1, 2, -1, -2])
def test_dimension_is_taken_from_in_dims_and_put_at_out_dims(dim, place):
    found = vmap(lambda x: x * 2, in_dims=dim, out_dims=place)(X)
    close(found, np.moveaxis(2 * X.numpy(), dim, place))


def test_what_a_function_returns_as_it_is_comes_out_as_it_is():
    assert vmap(lambda x: x)(X) is X
    assert vmap(lambda x: x, in_dims=1)(X)._base is X


def test_in_dims_of_containers_and_of_shared_arguments():
    def f(p, c, k):
        return p["w"] @ c + k

    given = {"w": X, "unused": 3}
    found = vmap(f, in_dims=({"w": 1, "unused": None}, None, None))(given, rg.ones(4).double(), 2)
    close(found, np.moveaxis(X.numpy(), 1, 0).sum(-1) + 2)


def test_out_dims_of_one_tensor_may_be_a_tuple_of_one():
    assert vmap(lambda x: x * 2, out_dims=(1,))(X).tolist() == (X * 2).movedim(0, 1).tolist()


def test_out_dims_of_containers():
    found = vmap(lambda x: (x, {"s": x.sum(), "n": x.t()}), out_dims=(1, {"s": 0, "n": -1}))(X)
    assert found[0].equal(X.permute(1, 0, 2))
    assert found[1]["s"].allclose(X.sum((1, 2)))
    assert found[1]["n"].equal(X.permute(2, 1, 0))


def test_output_that_all_examples_share_is_repeated_or_given_once():
    many, once = vmap(lambda x: (rg.arange(3.0), rg.arange(3.0)), out_dims=(1, None))(X)
    close(many, np.repeat(np.arange(3.0)[:, None], 2, 1))
    close(once, np.arange(3.0))


def test_keywords_are_shared():
    close(vmap(lambda x, *, k: x * k)(X, k=X[0]), X.numpy() * X.numpy()[0])


@pytest.mark.parametrize("size", [1, 2, 3, 4, 9])
def test_chunks_change_nothing(size):
    x = X.reshape(4, 6)
    a, b = vmap(lambda r: (r.sin(), r.sum()), out_dims=(1, 0), chunk_size=size)(x)
    close(a, np.sin(x.numpy()).T)
    close(b, x.numpy().sum(1))


def test_no_examples_and_no_elements():
    assert vmap(lambda x: x * 2)(rg.ones(0, 3)).shape == (0, 3)
    assert vmap(lambda x: x.sum())(rg.ones(3, 0)).tolist() == [0.0, 0.0, 0.0]


def test_nested_batches():
    a, b = rg.arange(3.0), rg.arange(2.0)
    found = vmap(vmap(lambda x, y: x * 10 + y, in_dims=(None, 0)), in_dims=(0, None))(a, b)
    assert found.tolist() == [[0, 1], [10, 11], [20, 21]]


def test_integers_and_booleans():
    i = rg.arange(6).reshape(2, 3)
    found = vmap(lambda r: ((r * 2 + 1) // 3, (r > 1) & (r < 5), r.sum(), r.argmax(), r & 1))(i)
    n = i.numpy()
    for t, expected in zip(
        found, ((n * 2 + 1) // 3, (n > 1) & (n < 5), n.sum(1), [2, 2], n & 1), strict=True
    ):
        assert (t.numpy() == np.asarray(expected)).all()


def test_result_dtype_is_that_of_one_example():
    # a 0-d tensor does not widen, and the batch dimension must not make it count as 1-d
    x = rg.ones(3, dtype=rg.float64)
    assert vmap(lambda s: rg.ones(2) * s)(x).dtype is rg.float32
    assert vmap(lambda s: s * rg.tensor([1, 2]))(x.float()).dtype is rg.float32


# -- what it does at once ----------------------------------------------------------------------

AT_ONCE = {
    "reduction": lambda x: (x.sum(), x.mean(0), x.max(1).values, x.var(), x.norm(), x.logsumexp(0)),
    "order": lambda x: (
        x.sort(-1).values,
        x.topk(2).values,
        x.argsort(0),
        x.cumsum(1),
        x.cumprod(0),
    ),
    "shape": lambda x: (
        x.t().reshape(-1),
        x[1:],
        x[..., 0],
        x.flip(0),
        x.roll(1),
        x.unfold(1, 2, 1),
    ),
    "layout": lambda x: (x.t().contiguous().view(2, 6), x.as_strided((2, 2), (1, 2)), x.tril()),
    "joining": lambda x: (rg.cat([x, x * 2]), rg.stack([x[0, 0], x.sum()]), x.split(2, 1)[1]),
    "masks": lambda x: (rg.where(x > 0, x, -x), x.masked_fill(x > 0, 3.0), (x * (x > 0)).sum()),
    "indexing": lambda x: (x[rg.tensor([0, 2])], x[rg.tensor([0, 2]), rg.tensor([[1], [2]])]),
    "matrices": lambda x: (x @ x.t(), rg.linalg.svdvals(x), rg.linalg.pinv(x), rg.kron(x, x)),
    "square": lambda x: (
        rg.linalg.inv(x[:, :3]),
        rg.linalg.det(x[:, :3]),
        rg.linalg.matrix_exp(x[:, :3]),
    ),
    "solving": lambda x: (rg.linalg.solve(x[:, :3], x[:, 3]), rg.linalg.solve(x[:, :3], x)),
    "fourier": lambda x: (rg.fft.fft(x).abs(), rg.fft.irfft(rg.fft.rfft(x)), rg.fft.fft2(x).real),
    "norms": lambda x: (
        F.layer_norm(x, (4,)),
        F.batch_norm(x, None, None, training=True),
        F.rms_norm(x, (4,)),
    ),
    "activation": lambda x: (F.softmax(x, -1), F.gelu(x), F.glu(x, 1), F.normalize(x, dim=0)),
    "conv": lambda x: (
        F.conv1d(x[None], x[:, :2].reshape(2, 3, 1)),
        F.max_pool1d(x[None], 2),
        F.unfold(x[None, None], 2),
    ),
    "interpolation": lambda x: (
        F.interpolate(x[None, None], scale_factor=2, mode="bilinear"),
        F.pad(x, (1, 1), mode="reflect"),
    ),
    "attention": lambda x: (
        F.scaled_dot_product_attention(x[None], x[None] * 2, x[None]),
        F.scaled_dot_product_attention(x, x * 2, x, attn_mask=x @ x.t() > -0.2),
    ),
    "losses": lambda x: (
        F.mse_loss(x, x.flip(0)),
        F.smooth_l1_loss(x, -x),
        F.cosine_similarity(x, -x.flip(0)),
    ),
    "complex": lambda x: (rg.complex(x, -x).abs(), rg.view_as_complex(x.reshape(3, 2, 2)).angle()),
}


@pytest.mark.parametrize("kind", AT_ONCE)
def test_common_operations_run_at_once_and_differentiate(kind):
    # a warning, which a loop would give, is an error here
    f = AT_ONCE[kind]
    found = vmap(f)(X)
    for place, out in enumerate(found):
        close(out, np.stack([f(X[k])[place].numpy() for k in range(2)]), 1e-9)

    def loss(x):
        return sum((out.sin().sum() for out in f(x) if out.is_floating_point()), rg.tensor(0.0))

    close(vmap(grad(loss))(X), np.stack([grad(loss)(X[k]).numpy() for k in range(2)]), 1e-9)
    close(
        grad(lambda x: vmap(loss)(x).sum())(X),
        np.stack([grad(loss)(X[k]).numpy() for k in range(2)]),
        1e-9,
    )


OWN_INDEX = {
    "row": (lambda x, i: x[i], (2,)),
    "number": (lambda x, i: x[i], ()),
    "column": (lambda x, i: x[:, i], (2, 2)),
    "two dimensions": (lambda x, i: x[i, i], (2,)),
    "around a slice": (lambda x, i: x[None].expand(3, 3, 4)[i, :, i], (2,)),
    "gather": (lambda x, i: x.gather(1, i), (3, 2)),
    "scatter": (lambda x, i: x.scatter(1, i, 2.0), (3, 1)),
    "scatter_add": (lambda x, i: x.scatter_add(1, i, i.double()), (3, 2)),
    "index_fill": (lambda x, i: x.index_fill(0, i, 2.0), (2,)),
    "index_select": (lambda x, i: x.index_select(0, i), (2,)),
    "index_add": (lambda x, i: x.index_add(0, i, x[:2] * 3), (2,)),
    "index_put": (lambda x, i: rg.index_put(x, (i, i), x[:2, 0], accumulate=True), (2,)),
    "embedding": (lambda x, i: F.embedding(i, x), (2, 2)),
    "embedding with padding": (lambda x, i: F.embedding(i, x, padding_idx=1), (2, 2)),
    "cross_entropy": (lambda x, i: F.cross_entropy(x, i), (3,)),
    "nll_loss": (lambda x, i: F.nll_loss(x, i, ignore_index=1), (3,)),
    "one_hot": (lambda x, i: F.one_hot(i, 3).double() @ x, (2,)),
}


@pytest.mark.parametrize("kind", [k for k in OWN_INDEX if k != "embedding with padding"])
def test_indices_of_their_own_for_each_example_run_at_once(kind):
    f, shape = OWN_INDEX[kind]
    i = rg.tensor(np.random.default_rng(1).integers(0, 3, (2, *shape)))
    close(vmap(f)(X, i), np.stack([f(X[k], i[k]).numpy() for k in range(2)]))
    loss = lambda x, i: f(x, i).sin().sum()
    expected = np.stack([grad(loss)(X[k], i[k]).numpy() for k in range(2)])
    close(vmap(grad(loss))(X, i), expected)
    close(grad(lambda x: vmap(loss)(x, i).sum())(X), expected)
    shared = vmap(grad(loss), in_dims=(None, 0))(X[0], i)
    close(shared, np.stack([grad(loss)(X[0], i[k]).numpy() for k in range(2)]))


def test_padding_row_of_an_embedding_gets_no_gradient_in_a_batch():
    i = rg.tensor([[0, 1], [1, 2]])
    found = vmap(grad(lambda w, i: F.embedding(i, w, padding_idx=1).sum()), in_dims=(None, 0))(
        X[0], i
    )
    assert found.sum(-1).tolist() == [[4, 0, 0], [0, 0, 4]]


def test_index_out_of_bounds_of_one_example_raises():
    with pytest.raises(IndexError, match=r"out of bounds|out of range"):
        vmap(lambda x, i: x[i])(X, rg.tensor([[0], [3]]))
    with pytest.raises(IndexError, match="index out of range in self"):
        vmap(lambda i: F.embedding(i, X[0]))(rg.tensor([[0], [-1]]))


@pytest.mark.parametrize("examples", [1, 2])
def test_indices_of_examples_into_inner_dimensions_stay_there(examples):
    x = rg.arange(120.0).view(2, 3, 4, 5)
    i, j = (
        rg.tensor([[0, 1, 2], [2, 0, 1]])[:examples],
        rg.tensor([[1, 3, 0], [0, 2, 2]])[:examples],
    )
    weight = rg.arange(30.0).view(2, 3, 5)
    found = vmap(lambda i, j: x[:, i, j])(i, j)
    assert found.tolist() == [x.numpy()[:, a, b].tolist() for a, b in zip(i, j, strict=True)]
    spread = vmap(lambda i, j: grad(lambda x: (x[:, i, j] * weight).sum())(x))(i, j)
    assert vmap(lambda s, i, j: s[:, i, j])(spread, i, j).tolist() == [weight.tolist()] * examples


# -- writing in place --------------------------------------------------------------------------


def test_writes_to_tensors_made_inside():
    def f(x):
        y = x.new_zeros(2, 4)
        y[0] = x[0]
        y[1].add_(x.sum())
        y[:, 2:] *= 3
        return y

    close(vmap(f)(X), np.stack([f(X[k]).numpy() for k in range(2)]))
    close(vmap(jacfwd(jacrev(f)))(X), np.zeros((2, 2, 4, 3, 4, 3, 4)))


def test_write_through_a_view_is_seen_by_its_base_and_by_other_views():
    def f(x):
        y = x.clone()
        row, corner = y[1], y[1:, :2]
        row.mul_(2)
        return y, corner, y.t()[0]

    for found, place in zip(vmap(f)(X), range(3), strict=True):
        close(found, np.stack([f(X[k])[place].numpy() for k in range(2)]))


def test_write_to_an_argument_writes_to_all_of_it():
    x = X.clone()
    vmap(lambda c: c[0].mul_(2), in_dims=2)(x)
    expected = X.numpy().copy()
    expected[0] *= 2
    close(x, expected)


def test_values_per_example_do_not_fit_into_a_tensor_from_outside():
    total = rg.zeros(3, 4).double()
    with pytest.raises(RuntimeError, match="vmapped over but `self` not being vmapped over"):
        vmap(lambda x: total.add_(x))(X)
    assert total.sum().item() == 0


VIEWS = {
    "view": lambda a: a.view(-1),
    "view_as": lambda a: a.view_as(a),
    "unflatten": lambda a: a.unflatten(0, (3, 1)),
    "view of a turned example": lambda a: a.unsqueeze_(0).view(3),
}


@pytest.mark.parametrize("name", VIEWS)
def test_views_of_examples_that_lie_apart_in_memory_show_the_callers_memory(name):
    x = rg.arange(12.0).reshape(3, 4)
    found = vmap(VIEWS[name], in_dims=1)(x)  # without a warning: nothing runs once per example
    assert found.reshape(4, 3).tolist() == [[0, 4, 8], [1, 5, 9], [2, 6, 10], [3, 7, 11]]
    found.zero_()
    assert x.sum() == 0


def test_reshape_that_copies_is_no_view():
    def f(x):
        y = x.t().reshape(-1)
        y.zero_()
        return x + y.sum()

    close(vmap(f)(X.clone()), X.numpy())


# -- history -----------------------------------------------------------------------------------


def test_gradients_flow_to_arguments_and_closures():
    w = rg.tensor([1.0, 2.0, 3.0, 4.0], dtype=rg.float64, requires_grad=True)
    x = X.clone().requires_grad_()
    vmap(lambda x: (x * w).sum())(x).sum().backward()
    close(w.grad, X.numpy().sum((0, 1)))
    close(x.grad, np.broadcast_to([1.0, 2.0, 3.0, 4.0], (2, 3, 4)))


def test_detach_inside_cuts_the_history_outside():
    found = grad(lambda x: vmap(lambda r: (r * r.detach()).sum())(x).sum())(X)
    close(found, X.numpy())


def test_no_grad_around_it_records_nothing():
    with rg.no_grad():
        assert not vmap(rg.sin)(X.clone().requires_grad_()).requires_grad


def test_per_sample_gradients_equal_one_backward_pass_each():
    rg.manual_seed(0)
    net = rg.nn.Sequential(
        rg.nn.Conv2d(1, 2, 3),
        rg.nn.ReLU(),
        rg.nn.MaxPool2d(2),
        rg.nn.Flatten(),
        rg.nn.Linear(18, 4),
    ).double()
    params = {name: p.detach() for name, p in net.named_parameters()}
    x, y = rg.randn(3, 1, 8, 8, dtype=rg.float64), rg.tensor([0, 3, 1])

    def loss(params, x, y):
        out = rg.func.functional_call(net, params, (x.unsqueeze(0),))
        return F.cross_entropy(out, y.unsqueeze(0))

    found = vmap(grad(loss), in_dims=(None, 0, 0))(params, x, y)
    for k in range(3):
        net.zero_grad()
        F.cross_entropy(net(x[k : k + 1]), y[k : k + 1]).backward()
        for name, p in net.named_parameters():
            close(found[name][k], p.grad.numpy(), 1e-10)


def test_forward_derivatives_of_a_batch():
    close(vmap(lambda x: jvp(rg.sin, (x,), (x * 2,))[1])(X), np.cos(X.numpy()) * 2 * X.numpy())


# -- randomness --------------------------------------------------------------------------------


@pytest.mark.parametrize("draw", [
    lambda x: rg.normal(x, 1.0), lambda x: rg.normal(x, x), lambda x: rg.normal(1.0, x),
])  # fmt: skip
def test_normal_numbers_of_a_batch_are_those_of_one_draw(draw):
    x = rg.ones(3, 8)  # 16 elements and more are drawn in another order than one after the other
    rg.manual_seed(3)
    expected = draw(x)
    rg.manual_seed(3)
    assert vmap(draw, randomness="different")(x).tolist() == expected.tolist()


DRAWS = {
    "randn": lambda x: rg.randn(20),
    "rand_like": rg.rand_like,
    "dropout": lambda x: F.dropout(x),
    "bernoulli": rg.bernoulli,
    "uniform_": lambda x: x.clone().uniform_(),
    "randperm": lambda x: rg.randperm(20),
    "gumbel_softmax": F.gumbel_softmax,
}


@pytest.mark.parametrize("name", DRAWS)
def test_randomness_modes(name):
    x = rg.full((3, 20), 0.5)
    with pytest.raises(RuntimeError, match="random operation while in randomness error mode"):
        vmap(lambda x: DRAWS[name](x.clone()))(x) if name != "bernoulli" else vmap(
            lambda x: rg.rand(1)
        )(x)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        same = vmap(DRAWS[name], randomness="same")(x)
        different = vmap(DRAWS[name], randomness="different")(x)
    assert bool((same == same[0]).all())
    assert not bool((different[0] == different[1]).all())


def test_different_numbers_are_drawn_at_once():
    calls = []

    def f(x):
        calls.append(1)
        return F.dropout(x, 0.5) + rg.randn(4)

    found = vmap(f, randomness="different")(rg.ones(5, 4))
    assert found.shape == (5, 4)
    assert len(set(found.flatten().tolist())) == 20
    assert len(calls) == 1


def test_several_draws_of_a_batch_are_those_of_one_draw_each():
    half = rg.full((5,), 0.5)

    def draws(x, shape):
        return (
            rg.randn(shape), rg.bernoulli(x), rg.bernoulli(half.expand(shape)),
            rg.bernoulli(x, 0.3), x.clone().normal_(), x.clone().bernoulli_(half),
            rg.zeros_like(x).uniform_(1, 2),
        )  # fmt: skip

    x = rg.full((4, 5), 0.4)
    rg.manual_seed(3)
    expected = draws(x, (4, 5))
    rg.manual_seed(3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = vmap(lambda row: draws(row, (5,)), randomness="different")(x)
    assert [t.tolist() for t in found] == [t.tolist() for t in expected]


def test_numbers_written_to_what_is_no_batch_are_drawn_for_each_example():
    found = vmap(lambda x: x + rg.zeros(3).normal_(), randomness="different")(rg.zeros(2, 3))
    assert not bool((found[0] == found[1]).any())


def test_what_runs_once_per_example_after_all_draws_from_where_the_call_began():
    rg.manual_seed(3)
    expected = rg.stack([rg.randn(3) for _ in range(2)])
    rg.manual_seed(3)
    found = vmap(lambda x: rg.randn(3) + x.item(), randomness="different")(rg.zeros(2))
    assert found.tolist() == expected.tolist()


@pytest.mark.parametrize(
    "draw", [rg.bernoulli, lambda x: x.clone().bernoulli_(x), lambda x: rg.normal(0.0, 1 - x)]
)
def test_a_setting_out_of_bounds_in_some_example_is_an_error(draw):
    with pytest.raises(RuntimeError, match=r"1|std >= 0"):
        vmap(draw, randomness="different")(rg.tensor([[0.5], [1.5]]))


def test_randomness_of_nested_batches():
    inner = vmap(lambda x: rg.rand(3), randomness="same")
    found = vmap(inner, randomness="different")(rg.zeros(4, 2))
    assert bool((found[:, 0] == found[:, 1]).all())
    assert not bool((found[0] == found[1]).all())


def test_same_numbers_in_a_loop_from_a_generator_of_ones_own():
    g = rg.Generator().manual_seed(1)
    f = lambda x: rg.rand(3, generator=g) * x.item()
    with pytest.warns(UserWarning, match="once per example"):
        found = vmap(f, randomness="same")(rg.ones(3))
    assert bool((found[0] == found[2]).all())


# -- what Python decides by values -------------------------------------------------------------


def test_control_flow_on_values_runs_once_per_example_with_a_warning():
    def f(x):
        return x * 2 if x.sum() > 0 else -x

    with pytest.warns(UserWarning, match="f asks for the value of a single example") as caught:
        found = vmap(f)(X)
    assert caught[0].filename == __file__
    close(found, np.stack([f(X[k]).numpy() for k in range(2)]))
    with pytest.warns(UserWarning, match="once per example"):
        found = vmap(grad(lambda x: f(x).sum()))(X)
    close(found, np.stack([grad(lambda x: f(x).sum())(X[k]).numpy() for k in range(2)]))


def test_only_the_batch_whose_values_are_asked_for_is_looped():
    calls = []

    def f(x, y):
        calls.append(1)
        return y * (2 if x.sum() > 0 else -1)

    inner = vmap(f, in_dims=(None, 0))
    with pytest.warns(UserWarning, match="once per example"):
        found = vmap(inner, in_dims=(0, None))(X, rg.arange(5.0))
    assert found.shape == (2, 5)
    assert len(calls) == 3  # once in vain, then once for each of two x


def test_loop_of_an_operation_without_a_rule_warns_once():
    def f(x):
        return x.median()

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = [vmap(f)(X), vmap(f)(X)]
    close(found[0], np.sort(X.numpy().reshape(2, -1))[:, 5])
    assert len([w for w in caught if "median" in str(w.message)]) <= 1


ONE = {
    "a number among each example": lambda x: rg.bucketize(3.0, x),
    "numbers among each example": lambda x: rg.searchsorted(x, rg.tensor([1.0, 4.0]), right=True),
    "its own numbers": lambda x: rg.bucketize(x, rg.arange(5.0)),
    "median": lambda x: x.median(),
    "place of the median": lambda x: x.median(0).indices,
}


@pytest.mark.filterwarnings("ignore:.*once per example:UserWarning")
@pytest.mark.filterwarnings("ignore:There is no rule:UserWarning")
@pytest.mark.parametrize("name", ONE)
def test_searches_and_medians_are_those_of_each_example(name):
    x = X.reshape(-1, 4)
    x = x[: len(x)].sort(-1).values
    assert vmap(ONE[name])(x).equal(rg.stack([ONE[name](row) for row in x]))


# -- errors ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (
            lambda: vmap(lambda x: 3)(X),
            ValueError,
            "must only return Tensors, got type <class 'int'>",
        ),
        (lambda: vmap(lambda x: None)(X), ValueError, "must only return Tensors"),
        (lambda: vmap(rg.sin, in_dims="a")(X), ValueError, "expected `in_dims` to be int or a"),
        (lambda: vmap(rg.sin, in_dims=None)(X), ValueError, "expected `in_dims` to be int or a"),
        (
            lambda: vmap(rg.sin, in_dims=(0, 0))(X),
            ValueError,
            "compatible with the structure of `inputs`",
        ),
        (lambda: vmap(rg.sin, in_dims=(None,))(X), ValueError, "at least one Tensor to vmap over"),
        (lambda: vmap(rg.sin, in_dims=3)(X), ValueError, "Got in_dim=3 for some input"),
        (
            lambda: vmap(rg.sin, in_dims=(0.0,))(X),
            ValueError,
            "must be either an integer dimension or None",
        ),
        (lambda: vmap(rg.mul)(X, 2), ValueError, "We cannot vmap over non-Tensor arguments"),
        (lambda: vmap(lambda: 3)(), ValueError, "got no inputs"),
        (
            lambda: vmap(rg.mul)(X, X[:1]),
            ValueError,
            "same size in the mapped dimension, got sizes [2, 1]",
        ),
        (
            lambda: vmap(rg.sin, out_dims=(0, 0))(X),
            ValueError,
            "compatible with the structure of `outputs`",
        ),
        (lambda: vmap(rg.sin, out_dims=3)(X), IndexError, "Dimension out of range"),
        (lambda: vmap(rg.sin, out_dims="a")(X), ValueError, "`out_dims` must be an int, None or"),
        (lambda: vmap(rg.sin, out_dims=None)(X), ValueError, "BatchedTensor when out_dim is None"),
        (
            lambda: vmap(rg.sin, randomness="maybe")(X),
            RuntimeError,
            "Only allowed values for randomness",
        ),
        (
            lambda: vmap(rg.sin, chunk_size=0)(X),
            ValueError,
            "chunk_size should be None or greater than 0",
        ),
        (lambda: vmap(lambda x: x @ x)(X), RuntimeError, "mat"),
    ],
)
def test_misuse_raises_what_pytorch_raises(call, kind, text):
    with pytest.raises(kind) as caught:
        call()
    assert text in str(caught.value)


def test_what_the_attempt_to_run_at_once_wrote_is_undone_before_the_loop():
    rows = rg.tensor([[1.0, 2.0], [3.0, 4.0]])

    def counted(row, count):
        count[:1].add_(1)
        return row * count if row.sum() > 0 else row

    for call in (
        lambda count: vmap(counted, (0, None))(rows, count),
        lambda count: vmap(lambda row: counted(row, count))(rows),
        lambda count: vmap(lambda n: vmap(counted, (0, None))(rows, count))(rows[:1])[0],
    ):
        count = rg.zeros(2)
        with pytest.warns(UserWarning, match="counted|<lambda>"):
            assert call(count).tolist() == [[1.0, 0.0], [6.0, 0.0]]
        assert count.tolist() == [2.0, 0.0]


def test_a_write_that_was_undone_leaves_no_history():
    rows, w = rg.tensor([[1.0], [2.0]]), rg.tensor([3.0], requires_grad=True)
    total = rg.zeros(1)

    def added(row):
        total.add_(w)
        return row * total if row.sum() > 0 else row

    with pytest.warns(UserWarning, match="added"):
        out = vmap(added)(rows)  # w, then 2 · 2 w
    out.sum().backward()
    assert w.grad.item() == 5.0


def test_what_escapes_from_a_batched_call_cannot_be_used():
    kept = []

    def keep(x):
        kept.append(x)
        return x

    vmap(keep)(rg.ones(2, 3))
    with pytest.raises(RuntimeError, match="escaped from inside a function being vmapped"):
        kept[0] * 2


def test_of_an_empty_batch_nothing_is_known_where_examples_run_by_themselves():
    choose = vmap(lambda x: x.masked_select(x > 0).sum())
    with (
        pytest.warns(UserWarning, match="once per example"),
        pytest.raises(RuntimeError, match="there is none that says what it returns"),
    ):
        choose(rg.ones(0, 2))
    assert vmap(rg.sin)(rg.ones(0, 2)).shape == (0, 2)


@pytest.mark.filterwarnings("ignore:.*median:UserWarning", "ignore:.*once per example:UserWarning")
def test_of_an_empty_batch_nothing_is_known_by_an_operation_without_a_rule():
    with pytest.raises(RuntimeError, match="there is none that says what it returns"):
        vmap(lambda x: x.median())(rg.ones(0, 2))


@pytest.mark.parametrize(
    "function",
    [
        rg.func.grad(lambda x: x),
        rg.func.jacfwd(lambda x: 3 * x),
        lambda x: rg.func.vjp(lambda y: 2 * y, x)[1](rg.tensor(1.0))[0],
        lambda x: rg.tensor(5.0),
    ],
)
def test_no_two_examples_of_a_result_share_memory(function):
    found = rg.vmap(function)(rg.tensor([1.0, 2.0]))
    before = found.tolist()
    found[1:].zero_()
    assert found.tolist() == [before[0], 0.0]


def test_what_a_tensor_within_nested_calls_holds_can_be_looked_at():
    held = []

    def look(x):
        held.extend(rg.func.debug_unwrap(x, recurse=recurse).shape for recurse in (True, False))
        return x

    vmap(vmap(look), in_dims=1)(rg.zeros(3, 2, 4))
    assert held == [(3, 2, 4), (3, 4)]
    plain = rg.ones(2)
    assert rg.func.debug_unwrap(plain) is plain


def test_views_that_were_written_may_precede_what_runs_once_per_example():
    def f(x):
        y = x * 1
        v = y.view(2, 2).t()
        v[0] = x[:2]
        y.mul_(x)
        return y.sum() if bool(y[0] > 0) else y.prod()

    x = rg.arange(1.0, 9.0).view(2, 4)
    with pytest.warns(UserWarning, match="once per example"):
        found = vmap(f)(x)
    assert found.tolist() == [1.0 + 4.0 + 6.0 + 16.0, 25.0 + 36.0 + 42.0 + 64.0]


@pytest.mark.parametrize(
    ("in_dims", "expected"),
    [
        (0, [[1, 2], [13, 14]]),
        (1, [[1, 2], [5, 6], [9, 10]]),
        (2, [[1, 2], [2, 3], [3, 4], [4, 5]]),
    ],
)
def test_the_offset_of_as_strided_is_that_of_the_first_example(in_dims, expected):
    x = rg.arange(24.0).reshape(2, 3, 4)
    found = vmap(lambda t: t.as_strided((2,), (1,), 1), in_dims=in_dims)(x)
    assert found.tolist() == expected


def test_nested_examples_of_as_strided_each_start_where_they_lie():
    x = rg.arange(24.0).reshape(2, 3, 4)
    inner = vmap(lambda t: t.as_strided((2,), (4,), 0), in_dims=1)
    assert vmap(inner)(x).tolist() == [
        [[k, k + 4] for k in range(first, first + 4)] for first in (0, 12)
    ]


def test_as_strided_reaches_nothing_beyond_an_example():
    x = rg.arange(24.0).reshape(2, 3, 4)
    for place in (12, 13):
        with pytest.raises(RuntimeError, match="can access memory outside of `tensor`"):
            vmap(lambda t, place=place: t.as_strided((2,), (1,), place))(x)
    with pytest.raises(RuntimeError, match="elements 4 to 7"):
        vmap(lambda t: t[1].as_strided((2,), (1,), 0))(x)


def test_the_gradient_of_as_strided_under_vmap_is_by_the_examples_own_elements():
    x = rg.arange(6.0).reshape(3, 2)

    def square(t):
        return (t.as_strided((2,), (2,), 2) ** 2).sum()

    assert vmap(grad(square), in_dims=1)(x).tolist() == [[0, 4, 8], [0, 6, 10]]
    whole = grad(lambda x: vmap(square, in_dims=1)(x).sum())
    assert whole(x).tolist() == [[0, 0], [4, 6], [8, 10]]


@pytest.mark.filterwarnings("ignore:vmap")
def test_functions_with_arguments_left_out_run_once_per_example():
    x, target = rg.randn(2, 3, 4), rg.zeros(2, 3, dtype=rg.int64)
    found = rg.func.vmap(rg.nn.functional.multi_margin_loss)(x, target)
    each = [rg.nn.functional.multi_margin_loss(*pair) for pair in zip(x, target, strict=True)]
    np.testing.assert_array_equal(found, rg.stack(each))


def test_out_of_an_example_is_written_for_all_examples():
    x = rg.arange(6.0).view(2, 3)
    values = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]
    assert vmap(lambda row: rg.add(row, 1, out=row.clone()))(x).tolist() == values
    assert vmap(lambda row: rg.add(row, 1, out=rg.empty_like(row)))(x).tolist() == values
    assert vmap(lambda row: rg.mul(row, 2, out=row))(x).tolist() == (x * 1).tolist()
    assert x.tolist() == [[0.0, 2.0, 4.0], [6.0, 8.0, 10.0]]


def test_out_that_all_examples_share_has_no_room_for_each():
    shared = rg.zeros(3)
    with pytest.raises(RuntimeError, match="vmap: inplace arithmetic"):
        vmap(lambda row: rg.add(row, 1, out=shared))(rg.ones(2, 3))
    assert shared.tolist() == [0.0, 0.0, 0.0]
    assert (
        vmap(lambda row: rg.add(rg.ones(3), 1, out=shared))(rg.ones(2, 3)).tolist()
        == [[2.0] * 3] * 2
    )
    assert shared.tolist() == [2.0, 2.0, 2.0]


def test_losses_that_look_at_values_run_at_once():
    loss = rg.nn.functional
    p, t = rg.tensor([[0.25, 0.5], [0.75, 0.5]]), rg.tensor([[0.0, 1.0], [1.0, 0.0]])
    for function in (loss.binary_cross_entropy, lambda a, b: loss.gaussian_nll_loss(a, b, a)):
        expected = [function(*pair).item() for pair in zip(p, t, strict=True)]
        assert vmap(function)(p, t).tolist() == expected  # a warning would be an error
    with pytest.raises(RuntimeError, match="between 0 and 1"):
        vmap(loss.binary_cross_entropy)(p + 1, t)


def test_statistics_of_each_example_normalise_with_weight_and_bias():
    x, rng = (
        rg.tensor(np.random.default_rng(1).standard_normal((3, 2, 4, 5))),
        np.random.default_rng(2),
    )
    mean, var = rg.tensor(rng.standard_normal((3, 4))), rg.tensor(rng.random((3, 4)) + 0.5)
    weight, bias = rg.tensor(rng.standard_normal(4)), rg.tensor(rng.standard_normal(4))

    def f(x, mean, var):
        return F.batch_norm(x, mean, var, weight, bias)

    found = vmap(f)(x, mean, var)
    column = (..., None)
    expected = (x - mean[:, None, :, None]) / (var[:, None, :, None] + 1e-5).sqrt()
    close(found, (expected * weight[column] + bias[column]).numpy())


def test_strided_views_of_examples_with_gaps_begin_where_each_example_does():
    x = rg.arange(12.0).reshape(3, 4)
    found = vmap(lambda a: a.as_strided((3,), (1,)))(x[:, ::2])
    assert found.tolist() == [[0, 1, 2], [4, 5, 6], [8, 9, 10]]


def test_outer_products_lie_in_memory_as_pytorchs():
    m, w = rg.rand(2, 3, 4), rg.rand(3, 2)
    nested = vmap(vmap(rg.outer, (0, None)), (1, 0))(m, w)
    assert nested.stride() == (8, 24, 2, 1)
    rg.testing.assert_close(nested, rg.einsum("kni,nj->nkij", m, w))


def test_outer_products_of_examples_keep_the_sign_of_zero():
    found = vmap(rg.outer, (0, None))(rg.tensor([[-1.0], [1.0]]), rg.zeros(1))
    assert found.flatten().signbit().tolist() == [True, False]


def test_searchsorted_runs_on_all_examples_at_once():
    rows, values = rg.tensor([[1.0, 3.0], [2.0, 4.0]]), rg.tensor([[0.0, 2.0], [2.0, 9.0]])
    assert vmap(rg.searchsorted)(rows, values).tolist() == [[0, 1], [0, 2]]  # and no warning
    assert vmap(rg.searchsorted, (None, 0))(rows[0], values).tolist() == [[0, 1], [1, 2]]
    assert vmap(rg.searchsorted, (0, None))(rows, values).tolist() == [
        [[0, 1], [1, 2]],
        [[0, 0], [0, 2]],
    ]
    assert vmap(lambda row: rg.searchsorted(row, 2, right=True))(rows).tolist() == [1, 1]
    assert vmap(rg.bucketize, (0, None))(values, rows[1]).tolist() == [[0, 0], [0, 2]]
