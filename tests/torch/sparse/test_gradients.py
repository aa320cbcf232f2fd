"""Gradients through sparse tensors: of their values, of themselves, and of dense operands."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

import retrograd as rg
import retrograd.autograd.forward_ad as fw
from retrograd import modes

PLACES = [[0, 1, 1, 3], [2, 0, 2, 1]]


def drawn(*shape, seed=0, dtype=rg.float64):
    """A dense leaf."""
    rng = np.random.default_rng(seed)
    values = rng.standard_normal(shape)
    if dtype.is_complex:
        values = values + 1j * rng.standard_normal(shape)
    return rg.tensor(values, dtype=dtype, requires_grad=True)


def matrix(values, places=PLACES, layout=rg.sparse_coo):
    """A sparse matrix (4, 3) with these values."""
    return rg.sparse_coo_tensor(places, values, (4, 3)).to_sparse(layout=layout)


FUNCTIONS = {
    "mm": lambda x, y: rg.sparse.mm(x, y),
    "mm of the transpose": lambda x, y: rg.mm(x.t(), x.to_dense()),
    "dense mm sparse": lambda x, y: y.t()[:, :3] @ x.t(),
    "sparse mm sparse": lambda x, y: rg.sparse.mm(x, x.t()).to_dense(),
    "mv": lambda x, y: x.mv(y[:, 0]),
    "addmm": lambda x, y: rg.addmm(y.sum(), x, y, alpha=3),
    "to_dense": lambda x, y: x.to_dense(),
    "mul": lambda x, y: (x * x).to_dense(),
    "mul dense": lambda x, y: (x * y[:, 0]).to_dense(),
    "mul number": lambda x, y: (x * 3).to_dense(),
    "mul 0-d": lambda x, y: (x * y[0, 0]).to_dense(),
    "add": lambda x, y: (x + x * x).to_dense(),
    "add dense": lambda x, y: y.sum() * rg.ones(4, 3, dtype=rg.float64) + x,
    "sub": lambda x, y: (x * x - x).to_dense(),
    "sin": lambda x, y: x.sin().to_dense(),
    "t": lambda x, y: x.t().to_dense(),
    "sum": lambda x, y: x.sum(),
    "sum 0": lambda x, y: rg.sparse.sum(x, 0).to_dense(),
    "row": lambda x, y: x[1].to_dense(),
    "index_select": lambda x, y: x.index_select(0, rg.tensor([1, 1, 0])).to_dense(),
    "cat": lambda x, y: rg.cat([x, x * x]).to_dense(),
    "softmax": lambda x, y: rg.sparse.softmax(x, 1).to_dense(),
    "log_softmax": lambda x, y: rg.sparse.log_softmax(x, 0).to_dense(),
    "sampled_addmm": lambda x, y: rg.sparse.sampled_addmm(x, x.to_dense(), y @ y.t()).to_dense(),
    "norm": lambda x, y: x.norm(),
    "values": lambda x, y: x.coalesce().values(),
    "in place": lambda x, y: x.clone().mul_(x).to_dense(),
}
REAL = {"softmax", "log_softmax", "norm"}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_first_and_second_derivatives_agree_with_differences(name):
    inputs = drawn(4), drawn(3, 3, seed=1)

    def function(values, y):
        found = FUNCTIONS[name](matrix(values), y)
        return found * found

    assert rg.autograd.gradcheck(function, inputs)
    assert rg.autograd.gradgradcheck(function, inputs)


@pytest.mark.parametrize(
    "name", sorted(FUNCTIONS.keys() - REAL - {"add dense", "mm of the transpose"})
)
def test_complex_derivatives_agree_with_differences(name):
    inputs = drawn(4, dtype=rg.complex128), drawn(3, 3, seed=1, dtype=rg.complex128)
    assert rg.autograd.gradcheck(lambda v, y: FUNCTIONS[name](matrix(v), y), inputs)


@pytest.mark.parametrize("layout", [rg.sparse_coo, rg.sparse_csr, rg.sparse_csc])
def test_products_in_every_layout_agree_with_differences(layout):
    inputs = drawn(4), drawn(3, 2, seed=1)
    assert rg.autograd.gradcheck(lambda v, y: matrix(v, layout=layout) @ y, inputs)


def test_a_custom_function_takes_a_sparse_matrix_in_a_mode():
    class Product(rg.autograd.Function):
        @staticmethod
        def forward(ctx, a, b):
            return a @ b

    with rg.no_grad():
        out = Product.apply(rg.sparse_coo_tensor([[0], [1]], [2.0], (2, 2)), rg.ones(2, 1))
    assert out.tolist() == [[2.0], [0.0]]


def test_entries_at_one_place_share_their_gradient():
    values = drawn(3)
    x = rg.sparse_coo_tensor([[1, 0, 1], [2, 0, 2]], values, (2, 3))
    (x.to_dense() ** 2).sum().backward()
    both = 2 * (values[0] + values[2]).item()
    assert values.grad.tolist() == [both, 2 * values[1].item(), both]


def test_a_sparse_leaf_has_a_sparse_gradient_of_its_places():
    x = rg.sparse_coo_tensor(PLACES, [1.0, 2.0, 3.0, 4.0], (4, 3), requires_grad=True)
    y = rg.tensor([[1.0, 0.0], [2.0, 1.0], [3.0, 5.0]])
    rg.sparse.mm(x, y).sum().backward()
    assert x.is_leaf
    assert x.grad.is_sparse
    assert x.grad.indices().tolist() == PLACES
    assert x.grad.values().tolist() == [8.0, 1.0, 8.0, 3.0]


def test_the_gradient_of_a_leaf_with_entries_at_one_place_is_that_of_the_matrix():
    x = rg.sparse_coo_tensor([[1, 1], [0, 0]], [1.0, 2.0], (2, 2), requires_grad=True)
    (x.to_dense() ** 2).sum().backward()
    assert x.grad.to_dense().tolist() == [[0.0, 0.0], [6.0, 0.0]]


def test_gradients_of_a_sparse_leaf_add_up():
    x = matrix(rg.ones(4)).requires_grad_()
    for _ in range(2):
        (x.to_dense() * 2).sum().backward()
        (x * 3).sum().backward()
    assert x.grad.to_dense().tolist() == (10 * matrix(rg.ones(4)).to_dense()).tolist()


def test_grad_gives_sparse_gradients_that_can_be_differentiated():
    x = matrix(rg.tensor([1.0, 2.0, 3.0, 4.0])).requires_grad_()
    (g,) = rg.autograd.grad((x * x * x).sum(), x, create_graph=True)
    assert g.is_sparse
    assert g.coalesce().values().tolist() == [3.0, 12.0, 27.0, 48.0]
    (again,) = rg.autograd.grad(g.to_dense().sum(), x)
    assert again.coalesce().values().tolist() == [6.0, 12.0, 18.0, 24.0]


def test_a_dense_operand_has_a_dense_gradient():
    y = drawn(4, 3)
    x = matrix(rg.tensor([1.0, 2.0, 3.0, 4.0]).double())
    (x * y).sum().backward()
    assert rg.equal(y.grad, x.to_dense())
    y.grad = None
    y.to_sparse().sum().backward()
    assert rg.equal(y.grad, rg.ones(4, 3).double())


def test_nothing_is_saved_for_what_needs_no_gradient():
    x, y = matrix(rg.ones(4).double()), drawn(3, 2)
    saved = []
    with rg.autograd.graph.saved_tensors_hooks(lambda t: saved.append(t) or t, lambda t: t):
        x @ y
    assert [tuple(t.shape) for t in saved] == [(4,)]


def test_a_sparse_graph_is_freed_with_its_last_tensor():
    values = drawn(4)
    x = matrix(values)
    node = weakref.ref(x.grad_fn)
    gc.disable()
    try:
        del x
        assert node() is None
    finally:
        gc.enable()


def test_no_grad_and_detach_leave_the_graph_out():
    x = matrix(drawn(4))
    with rg.no_grad():
        assert not (x * 2).requires_grad
    assert not x.detach().requires_grad
    assert rg.equal(x.detach().to_dense(), x.to_dense())


def test_a_hook_sees_the_sparse_gradient():
    x = matrix(rg.ones(4)).requires_grad_()
    seen = []
    x.register_hook(lambda g: seen.append(g.is_sparse))
    (x * 2).sum().backward()
    assert seen == [True]


def test_tangents_pass_through_sparse_products():
    values, y = rg.tensor([1.0, 2.0, 3.0, 4.0]), rg.ones(3, 2)
    with fw.dual_level():
        dual = fw.make_dual(values, rg.ones(4))
        found = fw.unpack_dual(matrix(dual) @ y).tangent
    assert rg.equal(found, matrix(rg.ones(4)) @ y)


# -- embeddings ------------------------------------------------------------------------------------


def table(**settings):
    """An embedding of 5 rows with sparse gradients."""
    weight = rg.arange(10.0).reshape(5, 2) / 10
    return rg.nn.Embedding(5, 2, sparse=True, _weight=weight, **settings)


def test_an_embedding_has_a_sparse_gradient_of_the_rows_in_use():
    embedding = table()
    embedding(rg.tensor([[1, 3], [1, 1]])).sum().backward()
    grad = embedding.weight.grad
    assert grad.is_sparse
    assert (grad._nnz(), grad.shape) == (4, (5, 2))
    expected = [[0.0] * 2, [3.0] * 2, [0.0] * 2, [1.0] * 2, [0.0] * 2]
    assert grad.to_dense().tolist() == expected
    embedding(rg.tensor([0])).sum().backward()
    assert embedding.weight.grad.to_dense().tolist() == [[1.0] * 2, *expected[1:]]


def test_the_row_of_padding_gets_no_entry():
    embedding = table(padding_idx=1)
    index = rg.tensor([[1, 2], [2, 3]])
    out = embedding(index)
    assert rg.equal(out, embedding.weight[index])
    out.sum().backward()
    assert embedding.weight.grad._indices().tolist() == [[2, 2, 3]]


def test_dense_and_sparse_gradients_of_one_table_add_up():
    for first, second in ((True, False), (False, True)):
        embedding = table()
        for sparse in (first, second):
            used = embedding(rg.tensor([2])) if sparse else embedding.weight
            used.sum().backward()
        together = table()
        (together(rg.tensor([2])).sum() + together.weight.sum()).backward()
        expected = [[1.0] * 2, [1.0] * 2, [2.0] * 2, [1.0] * 2, [1.0] * 2]
        assert embedding.weight.grad.tolist() == together.weight.grad.tolist() == expected


def test_a_table_that_is_computed_has_a_dense_gradient():
    weight = rg.ones(3, 2, requires_grad=True)
    rg.nn.functional.embedding(rg.tensor([1]), weight * 2, sparse=True).sum().backward()
    assert weight.grad.tolist() == [[0.0, 0.0], [2.0, 2.0], [0.0, 0.0]]


@pytest.mark.parametrize("indices", [1, [1, 2], [[1, 2]]])
@pytest.mark.parametrize("skip", [None, 2])
def test_rows_that_are_looked_up_are_no_view(indices, skip):
    """A write to them keeps the hooks that they have."""
    rows = table(padding_idx=skip)(rg.tensor(indices))
    assert (rows._is_view(), rows.grad_fn.name()) == (False, "EmbeddingBackward0")
    seen = []
    rows.register_hook(lambda g: seen.append(g.tolist()))
    rows.mul_(3)
    assert rows.grad_fn.name() == "MulBackward0"
    rows.sum().backward()
    assert seen == [rg.full(rows.shape, 3.0).tolist()]


@pytest.mark.parametrize("mode", ["sum", "mean"])
def test_bags_have_sparse_gradients(mode):
    bags = rg.nn.EmbeddingBag(5, 2, mode=mode, sparse=True)
    dense = rg.nn.EmbeddingBag(5, 2, mode=mode, _weight=bags.weight.detach().clone())
    for each in (bags, dense):
        each(rg.tensor([1, 2, 1]), rg.tensor([0, 2])).pow(2).sum().backward()
    assert bags.weight.grad.is_sparse
    rg.testing.assert_close(bags.weight.grad.to_dense(), dense.weight.grad)


def test_sparse_gradients_refuse_what_they_cannot():
    with pytest.raises(RuntimeError, match="scale_grad_by_freq not supported with sparse grad"):
        table(scale_grad_by_freq=True)(rg.tensor([1]))
    bags = rg.nn.EmbeddingBag(5, 2, mode="max", sparse=True)
    with pytest.raises(ValueError, match="max mode does not support sparse weights"):
        bags(rg.tensor([[1]]))


def test_zero_grad_drops_the_entries():
    embedding = table()
    optimizer = rg.optim.SGD(embedding.parameters(), lr=0.1)
    for clear in (embedding.zero_grad, optimizer.zero_grad):
        embedding(rg.tensor([1])).sum().backward()
        clear(set_to_none=False)
        assert embedding.weight.grad._nnz() == 0
        clear()
        assert embedding.weight.grad is None


# Three steps of PyTorch 2.13: rows 1, 3 and 1 of the table, the loss their squares.
STEPS = {
    "sgd": ("SGD", {"lr": 0.1}, [[0.0768, 0.1152], [0.3840, 0.4480]]),
    "momentum": ("SGD", {"lr": 0.1, "momentum": 0.9}, [[-0.0060, -0.0090], [0.2760, 0.3220]]),
    "maximize": ("SGD", {"lr": 0.1, "maximize": True}, [[0.4032, 0.6048], [0.8640, 1.0080]]),
    "adagrad": ("Adagrad", {"lr": 0.1}, [[0.0110, 0.0820], [0.4360, 0.5349]]),
    "decay": ("Adagrad", {"lr": 0.1, "lr_decay": 0.1}, [[0.0203, 0.0964], [0.4552, 0.5544]]),
    "adam": ("SparseAdam", {"lr": 0.1}, [[-0.0690, 0.0061], [0.4402, 0.5401]]),
    "ascent": ("SparseAdam", {"lr": 0.1, "maximize": True}, [[0.4888, 0.5913], [0.7604, 0.8604]]),
}


def trained(embedding, optimizer):
    """The table after three steps."""
    for rows in ([1], [1, 3], [1, 3, 1]):
        optimizer.zero_grad()
        (embedding(rg.tensor(rows)) ** 2).sum().backward()
        optimizer.step()
    return embedding.weight.detach()


@pytest.mark.parametrize("name", STEPS)
def test_steps_by_sparse_gradients_are_those_of_pytorch(name):
    rule, settings, (one, three) = STEPS[name]
    embedding = table()
    found = trained(embedding, getattr(rg.optim, rule)(embedding.parameters(), **settings))
    expected = rg.tensor([[0.0, 0.1], one, [0.4, 0.5], three, [0.8, 0.9]])
    rg.testing.assert_close(found, expected, rtol=0, atol=6e-5)


@pytest.mark.parametrize(
    "settings", [{}, {"momentum": 0.9, "nesterov": True}, {"weight_decay": 0.1}]
)
def test_steps_of_sgd_equal_those_by_dense_gradients(settings):
    one, two = table(), table()
    two.sparse = False
    found = [trained(e, rg.optim.SGD(e.parameters(), lr=0.1, **settings)) for e in (one, two)]
    rg.testing.assert_close(*found)


def test_a_scaler_of_losses_takes_sparse_gradients():
    one, two = table(), table()
    optimizer = rg.optim.SGD(one.parameters(), lr=0.1)
    scaler = rg.amp.GradScaler("cpu", init_scale=8.0)
    scaler.scale(one(rg.tensor([1, 1])).pow(2).sum()).backward()
    scaler.step(optimizer)
    scaler.update()
    two(rg.tensor([1, 1])).pow(2).sum().backward()
    rg.optim.SGD(two.parameters(), lr=0.1).step()
    rg.testing.assert_close(one.weight, two.weight)
    scaler.scale(one(rg.tensor([1])).sum() * rg.inf).backward()
    scaler.step(optimizer)
    scaler.update()
    assert scaler.get_scale() == 4.0


def test_complex_tables_are_trained_by_sparse_gradients():
    weight = rg.tensor([[1 + 2j], [2 - 1j], [1j]])
    found = []
    for sparse in (True, False):
        embedding = rg.nn.Embedding(3, 1, sparse=sparse, _weight=weight.clone())
        optimizer = rg.optim.Adagrad(embedding.parameters(), lr=0.1)
        for _ in range(2):
            optimizer.zero_grad()
            embedding(rg.tensor([0, 2])).abs().pow(2).sum().backward()
            optimizer.step()
        found.append(embedding.weight.detach())
    rg.testing.assert_close(*found)


def test_optimizers_refuse_gradients_that_they_cannot_take():
    embedding = table()
    embedding(rg.tensor([1])).sum().backward()
    for name in ("Adam", "AdamW", "RMSprop", "Adafactor", "Muon"):
        with pytest.raises(RuntimeError, match=f"{name} does not support sparse gradients"):
            getattr(rg.optim, name)(embedding.parameters()).step()
    with pytest.raises(RuntimeError, match="weight_decay option is not compatible with sparse gr"):
        rg.optim.Adagrad(embedding.parameters(), weight_decay=0.1).step()
    embedding.weight.grad = embedding.weight.grad.to_dense()
    with pytest.raises(RuntimeError, match="SparseAdam does not support dense gradients"):
        rg.optim.SparseAdam(embedding.parameters()).step()


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"lr": 0.0}, "Invalid learning rate: 0.0"),
        ({"eps": 0.0}, "Invalid epsilon value: 0.0"),
        ({"betas": (1.0, 0.9)}, "Invalid beta parameter at index 0: 1.0"),
    ],
)
def test_settings_of_sparse_adam_are_checked(settings, said):
    with pytest.raises(ValueError, match=said):
        rg.optim.SparseAdam([rg.ones(1, requires_grad=True)], **settings)


def test_a_sparse_parameter_is_refused_by_steps():
    x = rg.eye(2).to_sparse().requires_grad_()
    (x * 2).sum().backward()
    with pytest.raises(RuntimeError, match="SGD does not support sparse parameters"):
        rg.optim.SGD([x], lr=0.1).step()


def test_sparse_adam_takes_dense_parameters_alone():
    with pytest.raises(ValueError, match=r"Sparse params at indices \[\[0, 0\]\]"):
        rg.optim.SparseAdam([rg.eye(2).to_sparse().requires_grad_()])


@pytest.mark.parametrize("fast_mode", [False, True])
@pytest.mark.parametrize("layout", ["sparse_coo", "sparse_csr"])
def test_gradcheck_varies_the_values_of_sparse_inputs(layout, fast_mode):
    sparse = rg.tensor([[0.0, 2.0], [3.0, 0.0], [0.0, 1.5]], dtype=rg.float64)
    sparse = sparse.to_sparse(layout=getattr(rg, layout)).requires_grad_()
    dense = rg.rand(2, 4, dtype=rg.float64, requires_grad=True)
    how = {"masked": True, "fast_mode": fast_mode}
    assert rg.autograd.gradcheck(lambda a, b: rg.sparse.mm(a, b).sin(), (sparse, dense), **how)
    assert rg.autograd.gradcheck(lambda a: a * 2, (sparse,), **how)
    assert rg.autograd.gradgradcheck(lambda a, b: rg.sparse.mm(a, b) ** 2, (sparse, dense), **how)
    assert not rg.autograd.gradcheck(Doubled.apply, (sparse,), raise_exception=False, **how)


class Doubled(rg.autograd.Function):
    """A wrong derivative of what makes a tensor dense."""

    @staticmethod
    def forward(ctx, x):
        return x.to_dense()

    @staticmethod
    def backward(ctx, g):
        return (g * 2).to_sparse()


def test_a_sparse_gradient_grows_in_place():
    table = rg.ones(4, 2, requires_grad=True)
    rg.nn.functional.embedding(rg.tensor([1, 3]), table, sparse=True).sum().backward()
    held, version = table.grad, table.grad._version
    rg.nn.functional.embedding(rg.tensor([1, 0]), table, sparse=True).sum().backward()
    assert table.grad is held
    assert held._version > version
    assert held.to_dense()[:, 0].tolist() == [1, 2, 0, 1]


def test_a_sparse_output_is_not_checked():
    x = rg.tensor([1.0, 2.0], dtype=rg.float64, requires_grad=True)
    with pytest.raises(ValueError, match="Sparse output is not supported"):
        rg.autograd.gradcheck(lambda x: (x * 2).to_sparse(), (x,))


def test_sparse_gradients_are_added_in_that_dtype():
    table = rg.nn.Embedding(4, 2, sparse=True, dtype=rg.bfloat16)
    table.weight.grad_dtype = rg.float32
    for _ in range(2):
        table(rg.tensor([1, 1])).sum().backward()
    assert table.weight.grad.dtype is rg.float32
    assert table.weight.grad.to_dense().tolist() == [[0.0, 0.0], [4.0, 4.0], [0.0, 0.0], [0.0, 0.0]]


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (rg.Tensor.coalesce, "CoalesceBackward0"),
        (lambda x: x.coalesce().values(), "ValuesBackward0"),
        (lambda x: x.mv(rg.ones(2)), "MvBackward0"),
        (lambda x: x @ rg.ones(2, 2), "MmBackward0"),
        (lambda x: rg.sparse.mm(x, rg.ones(2, 2)), "SparseAddmmBackward0"),
        (lambda x: rg.sparse.mm(x, x), "SparseSparseMatmulBackward0"),
        (lambda x: rg.sparse.addmm(rg.ones(2, 2), x, rg.ones(2, 2)), "SparseAddmmBackward0"),
        (lambda x: rg.sparse.sum(x, 0), "SparseSumBackward0"),
        (lambda x: rg.sparse.softmax(x, 0), "SparseSoftmaxBackward0"),
        (lambda x: x * 2, "MulBackward0"),
        (rg.Tensor.t, "TBackward0"),
        (rg.Tensor.to_dense, "ToDenseBackward0"),
        (lambda x: x.to_dense().sparse_mask(x.detach().coalesce()), "SparseMaskBackward0"),
    ],
)
def test_a_node_has_the_name_of_the_function(call, name):
    x = rg.sparse_coo_tensor([[0, 1, 1], [0, 1, 1]], [1.0, 2.0, 3.0], (2, 2), requires_grad=True)
    assert call(x).grad_fn.name() == name


def test_a_matrix_by_rows_of_values_that_require_grad_has_a_node_of_its_own_name():
    values = rg.ones(2, requires_grad=True)
    made = rg.sparse_csr_tensor([0, 1, 2], [0, 1], values, (2, 2))
    assert made.grad_fn.name() == "SparseCompressedTensorBackward0"


def test_a_tensor_of_one_entry_is_coalesced_and_so_is_the_sum_of_two():
    table = rg.ones(3, 1, requires_grad=True)
    for row in (1, 0):
        rg.nn.functional.embedding(rg.tensor([row]), table, sparse=True).sum().backward()
        assert table.grad.is_coalesced()
    assert table.grad.indices().tolist() == [[0, 1]]
    assert not rg.sparse_coo_tensor([[1, 1]], [1.0, 2.0], (3,)).is_coalesced()


# -- cotangents of Functions and hooks -------------------------------------------------------------


class MadeSparse(rg.autograd.Function):
    """A copy, with a sparse gradient."""

    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, g):
        return g.to_sparse()


BEFORE = {
    "mul": lambda x: x * 3,
    "sin": rg.sin,
    "sum": lambda x: x * 2 + 1,
    "mm": lambda x: x @ rg.ones(2, 2, dtype=rg.float64),
    "view": lambda x: x.view(10),
    "index": lambda x: x[1:],
    "cat": lambda x: rg.cat([x, x]),
    "layer_norm": lambda x: rg.nn.functional.layer_norm(x, (2,)),
}


@pytest.mark.parametrize("name", BEFORE)
def test_a_function_before_a_sparse_gradient_gives_a_dense_one(name):
    x = drawn(5, 2)
    out = BEFORE[name](x)
    weight = rg.arange(out.numel(), dtype=rg.float64).reshape(out.shape)
    (found,) = rg.autograd.grad((MadeSparse.apply(out) * weight).sum(), x, retain_graph=True)
    (wanted,) = rg.autograd.grad((out * weight).sum(), x)
    assert found.layout is rg.strided
    rg.testing.assert_close(found, wanted, rtol=0, atol=0)


def test_a_leaf_and_a_function_get_a_sparse_gradient_as_it_is():
    x = drawn(5, 2)
    MadeSparse.apply(MadeSparse.apply(x)).sum().backward()
    assert x.grad.layout is rg.sparse_coo
    assert rg.equal(x.grad.to_dense(), rg.ones(5, 2, dtype=rg.float64))


def looked_up(table):
    return rg.nn.functional.embedding(rg.tensor([3, 1, 3]), table, sparse=True).sum()


@pytest.mark.parametrize(
    ("call", "hook"),
    [
        (looked_up, lambda g: g.to_dense()),
        (rg.sum, lambda g: g.to_sparse()),
        (rg.sum, lambda g: g.to_sparse_csr()),
    ],
)
def test_a_hook_that_changes_the_layout_raises(call, hook):
    x = drawn(5, 2)
    x.register_hook(hook)
    with pytest.raises(RuntimeError, match="has changed the type of value"):
        call(x).backward()
    assert x.grad is None


def test_create_graph_keeps_the_entries_of_a_sparse_gradient(monkeypatch):
    monkeypatch.setattr(modes, "warned", set())
    x = drawn(5, 2)
    with pytest.warns(UserWarning, match="reference cycle"):
        looked_up(x).backward(create_graph=True)
    assert x.grad._indices().tolist() == [[3, 1, 3]]
    assert not x.grad.is_coalesced()
    assert not x.grad.requires_grad


@pytest.mark.parametrize("layout", [rg.sparse_coo, rg.sparse_csr])
def test_to_dense_of_a_sparse_tensor_takes_no_dtype(layout):
    x = rg.eye(3).to_sparse(layout=layout)
    with pytest.raises(RuntimeError, match="dtype argument is not supported by sparse"):
        x.to_dense(rg.float64)
    assert rg.eye(2).to_dense(rg.float64).dtype is rg.float64
