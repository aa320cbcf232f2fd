"""`allow_mutation_on_saved_tensors`: the backward pass sees what was saved.

Every test here also passes with `torch` in place of `retrograd`, but where it says otherwise.
"""

from __future__ import annotations

import math

import pytest

import retrograd as rg
from retrograd import autograd
from retrograd.autograd import graph
from retrograd.autograd.function import Function


def leaf(*values):
    return rg.tensor(list(values), dtype=rg.float64, requires_grad=True)


def test_a_saved_value_may_be_overwritten():
    with graph.allow_mutation_on_saved_tensors():
        a = leaf(1, 2)
        b = a.clone()
        out = (b**2).sum()
        b.sin_()
        out.backward()
    assert a.grad.tolist() == [2, 4]


def test_a_value_is_copied_once_and_only_while_its_graph_lives():
    with graph.allow_mutation_on_saved_tensors() as ctx:
        a = leaf(1, 2).clone()
        out = (a**2).sum()
        assert len(ctx.cloned) == 0
        assert len(ctx.original) >= 1
        a.sin_()
        assert len(ctx.cloned) == 1
        b = (a**2).sum()
        a.sin_()
        assert len(ctx.cloned) == 2
        del out, b
        assert len(ctx.cloned) == 0


def test_writes_through_views_are_noticed():
    with graph.allow_mutation_on_saved_tensors():
        a = rg.ones(2, 2, dtype=rg.float64, requires_grad=True)
        b = a.clone()
        c = b[0]
        o = (b * b).sum() + (c * c).sum()
        b.mul_(3)
        o.backward()
    assert a.grad.tolist() == [[4, 4], [2, 2]]
    with graph.allow_mutation_on_saved_tensors():
        a = rg.ones(2, 2, dtype=rg.float64, requires_grad=True)
        b = a.clone()
        o = (b * b).sum()
        b[0].zero_()
        b.view(-1)[1:].fill_(7)
        o.backward()
    assert a.grad.tolist() == [[2, 2], [2, 2]]


def test_chains_of_writes_keep_every_value():
    with graph.allow_mutation_on_saved_tensors():
        a = leaf(0.5, 1)
        b = a.clone()
        b.sin_().sin_().sum().backward()

    assert abs(a.grad[0].item() - math.cos(math.sin(0.5)) * math.cos(0.5)) < 1e-12


def test_contexts_do_not_nest_and_passes_stay_inside():
    with (
        pytest.raises(RuntimeError, match="cannot be nested"),
        graph.allow_mutation_on_saved_tensors(),
        graph.allow_mutation_on_saved_tensors(),
    ):
        pass
    with graph.allow_mutation_on_saved_tensors():
        a = leaf(1)
        o = a * a
    with pytest.raises(
        AssertionError,
        match="Trying to backward outside of the 'allow_mutation_on_saved_tensors' context",
    ):
        o.backward()


def test_out_arguments_and_functions_take_part():
    with graph.allow_mutation_on_saved_tensors():
        a = leaf(1, 2)
        b = a.clone()
        o = (b * b).sum()
        with rg.no_grad():
            rg.sin(b, out=b)
        o.backward()
        assert a.grad.tolist() == [2, 4]

    class F(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return 2 * x * g

    with graph.allow_mutation_on_saved_tensors():
        a = leaf(1, 2)
        b = a.clone()
        o = F.apply(b).sum()
        b.zero_()
        o.backward()
        assert a.grad.tolist() == [2, 4]


def test_saved_results_take_part():
    with graph.allow_mutation_on_saved_tensors():
        a = leaf(1, 2)
        b = a.exp()
        o = b.sum()
        b.mul_(2)
        o.backward()
        assert rg.allclose(a.grad, a.exp())


def test_second_derivatives_see_saved_values():
    with graph.allow_mutation_on_saved_tensors():
        a = leaf(2)
        b = a.clone()
        o = (b**3).sum()
        b.mul_(5)
        (g,) = autograd.grad(o, a, create_graph=True)
        (h,) = autograd.grad(g, a)
        assert g.item() == 12
        assert h.item() == 12


def test_assignments_are_noticed():
    with graph.allow_mutation_on_saved_tensors():
        a = leaf(1, 2)
        b = a.clone()
        o = (b * b).sum()
        b[0] = 9
        b.copy_(rg.ones(2))
        o.backward()
        assert a.grad.tolist() == [2, 4]


def test_a_batch_that_runs_singly_may_change_what_it_saved():
    weight = rg.tensor([1.0, 2.0], requires_grad=True)

    def square(x):
        with graph.allow_mutation_on_saved_tensors():
            made = (weight * x).exp()
            total = (made * 1).sum()
            made.mul_(x.sum().item())
            return made.detach() + rg.autograd.grad(total, weight)[0]

    x = rg.tensor([[0.0, 1.0], [1.0, 1.0]])
    with pytest.warns(UserWarning, match="once per example"):
        found = rg.func.vmap(square)(x)
    rg.testing.assert_close(found, rg.stack([square(each) for each in x]))
