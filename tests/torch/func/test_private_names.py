"""PyTorch's private modules of function transforms: `torch._functorch`, `torch._vmap_internals`."""

from __future__ import annotations

import importlib

import pytest

import retrograd as rg
from retrograd import nn
from retrograd.torch import _functorch
from retrograd.torch._C import _functorch as levels
from retrograd.torch._functorch.autograd_function import CtxWithSavedTensors, reductify_leaf

_vmap = rg._vmap_internals._vmap
X = rg.arange(24.0).reshape(2, 3, 4)


def test_the_transforms_are_found_where_pytorch_keeps_them():
    assert _functorch.apis.vmap is _functorch.vmap.vmap is rg.func.vmap
    assert _functorch.eager_transforms.jacrev is rg.func.jacrev
    assert _functorch.make_functional.make_functional is rg.func.make_functional
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _functorch.nothing


def test_its_modules_are_attributes_and_there_are_no_others():
    assert all(hasattr(rg._functorch, name) for name in rg._functorch.__all__)
    assert not hasattr(rg._functorch, "levels")


def test_arguments_are_chosen_as_argnums_says():
    args = ("a", "b", "c")
    chosen = _functorch.eager_transforms._slice_argnums
    assert chosen(args, -1) == ("c",)
    assert chosen(args, -1, as_tuple=False) == "c"
    assert chosen(args, (2, 0), as_tuple=False) == ("c", "a")


def test_the_older_vmap_maps():
    assert _vmap(rg.sum, 1, 0)(X).tolist() == X.sum((0, 2)).tolist()


def test_the_older_vmap_passes_none_through_where_it_is_told_to():
    twice, none, (rows,) = _vmap(lambda x: (2 * x, None, [x]), 1, 1, True)(X)
    assert none is None
    assert twice.tolist() == (2 * X).tolist()
    assert rows.tolist() == X.tolist()
    with pytest.raises(ValueError, match="must only return Tensors"):
        _vmap(lambda x: (x, None))(X)


def test_cotangents_of_an_older_program_run_at_once():
    x = rg.tensor([1.0, 2.0], requires_grad=True)
    y = rg.ones(1, requires_grad=True)
    squares = x * x

    def pulled(v):
        return rg.autograd.grad(squares, (x, y), v, retain_graph=True, allow_unused=True)

    rows, unused = _vmap(pulled, 0, 0, allow_none_pass_through=True)(rg.eye(2))
    assert rows.tolist() == [[2.0, 0.0], [0.0, 4.0]]
    assert unused is None


def test_a_context_may_be_given_other_saved_tensors():
    given = rg.tensor(5.0)

    class Scaled(rg.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 1

        @staticmethod
        def backward(ctx, g):
            other = CtxWithSavedTensors(CtxWithSavedTensors(ctx, ()), (given,))
            other.note = other.needs_input_grad
            assert ctx.note == ctx.needs_input_grad == (True,)
            return g * other.saved_tensors[0]

    x = rg.tensor(2.0, requires_grad=True)
    Scaled.apply(x).backward()
    assert x.grad.item() == 5.0


@pytest.mark.parametrize(
    ("own", "of_input", "expected"),
    [
        (None, None, X),
        (1, None, X.sum(1)),
        (1, 1, X),
        (0, 2, X.permute(1, 2, 0)),
        (None, 1, X.unsqueeze(1).expand(2, 5, 3, 4)),
    ],
)
def test_the_gradients_of_examples_come_as_their_input_lies(own, of_input, expected):
    size = 5 if own is None else X.shape[own]
    assert reductify_leaf(X, own, of_input, size).tolist() == expected.tolist()
    assert reductify_leaf(None, own, of_input, size) is None


def test_the_gradients_of_examples_are_summed_to_the_shape_of_the_input():
    assert reductify_leaf(X, 0, 1, 2, (4,)).tolist() == X.sum(1).t().tolist()
    assert reductify_leaf(X, None, 0, 3, (1, 4)).tolist() == (
        X.sum((0, 1)).expand(3, 1, 4).tolist()
    )


def test_a_program_may_batch_by_its_own_steps():
    level = levels._vmap_increment_nesting(3, "error")
    x = levels._add_batch_dim(X, 1, level)
    assert (x.shape, levels.is_batchedtensor(x), levels.maybe_get_level(x)) == ((2, 4), True, level)
    assert levels.get_unwrapped(x).shape == X.shape
    y = _functorch.vmap._maybe_remove_batch_dim("f", x.sum(0), level, 3, 1)
    with pytest.raises(ValueError, match="`f` can not return a BatchedTensor when out_dim is None"):
        _functorch.vmap._maybe_remove_batch_dim("f", x, level, 3, None)
    assert _functorch.vmap._maybe_remove_batch_dim("f", 5, level, 3, None) == 5
    alike = levels._remove_batch_dim(rg.ones(2), level, 3, 0)
    assert levels._vmap_decrement_nesting() == level == 1
    assert y.tolist() == X.sum(0).T.tolist()
    assert alike.tolist() == [[1.0, 1.0]] * 3
    assert levels.maybe_get_level(X) == -1
    with pytest.raises(ValueError, match="`f` must only return Tensors"):
        _functorch.vmap._maybe_remove_batch_dim("f", 5, level, 3, 0)


def test_functions_of_modules_tell_by_their_class_whether_they_take_buffers():
    make = _functorch.make_functional
    assert type(make.make_functional(nn.Linear(1, 1))[0]) is make.FunctionalModule
    norm = make.make_functional_with_buffers(nn.BatchNorm1d(1))[0]
    assert type(norm) is make.FunctionalModuleWithBuffers


class Table:
    """Columns of tensors with common dimensions, which put batch dimensions in by themselves."""

    def __init__(self, columns, shape):
        self.columns, self.shape = columns, rg.Size(shape)

    def _add_batch_dim(self, *, in_dim, vmap_level):
        add = levels._add_batch_dim
        columns = {name: add(t, in_dim, vmap_level) for name, t in self.columns.items()}
        return Table(columns, self.shape[:in_dim] + self.shape[in_dim + 1 :])

    def _maybe_remove_batch_dim(self, name, vmap_level, batch_size, out_dim):
        remove = levels._remove_batch_dim
        columns = {n: remove(t, vmap_level, batch_size, out_dim) for n, t in self.columns.items()}
        return Table(columns, (*self.shape[:out_dim], batch_size, *self.shape[out_dim:]))

    def permute(self, *dims):
        rest = {n: range(len(dims), t.ndim) for n, t in self.columns.items()}
        columns = {n: t.permute(*dims, *rest[n]) for n, t in self.columns.items()}
        return Table(columns, [self.shape[d] for d in dims])


def test_a_container_that_batches_itself_is_an_argument_and_a_result():
    table = Table({"a": rg.arange(6.0).reshape(2, 3), "b": rg.ones(2, 3, 4)}, (2, 3))
    seen = []

    def f(row, factor):
        seen.append((row.shape, row.columns["b"].shape))
        return Table({"a": row.columns["a"] * factor}, row.shape), row.columns["b"].sum()

    for dim, shape in ((0, (3,)), (1, (2,))):
        made, sums = rg.vmap(f, (dim, None))(table, 2.0)
        assert seen.pop() == (rg.Size(shape), rg.Size((*shape, 4)))
        assert made.shape == table.columns["a"].movedim(dim, 0).shape
        assert made.columns["a"].tolist() == (2 * table.columns["a"]).movedim(dim, 0).tolist()
        assert sums.tolist() == [4.0 * shape[0]] * table.shape[dim]
    back, _ = rg.vmap(f, (1, None), (1, 0))(table, 1.0)
    assert back.columns["a"].tolist() == table.columns["a"].tolist()


def test_what_is_differentiated_by_transforms_is_told_and_unwrapped():
    levels = importlib.import_module("retrograd.torch._C._functorch")
    captured, seen = rg.ones(2, requires_grad=True), []

    def told(*tensors):
        seen.extend(
            (levels.is_gradtrackingtensor(x), levels.is_functorch_wrapped_tensor(x))
            for x in tensors
        )

    def function(x):
        told(x, captured * x, captured, levels.get_unwrapped(x))
        return x.sum()

    rg.func.grad(function)(rg.ones(2))
    assert seen == [(True, True), (True, True), (False, False), (False, False)]
    seen.clear()
    rg.vmap(lambda x: told(x, levels.get_unwrapped(x)) or x)(rg.ones(2))
    assert seen == [(False, True), (False, False)]
