"""The backward pass: order, accumulation, freeing, `inputs`, failure, nesting, threads."""

from __future__ import annotations

import threading
import tracemalloc

import numpy as np
import pytest

import retrograd as rg
from retrograd import autograd
from retrograd.engine.native import native
from retrograd.engine.registry import OPS
from retrograd.errors import SecondBackwardError


def leaf(*values, dtype=rg.float64):
    return rg.tensor(list(values), dtype=dtype, requires_grad=True)


class Noted(autograd.Function):
    """The identity; its backward notes a name."""

    @staticmethod
    def forward(ctx, x, name, notes):
        ctx.note = (name, notes)
        return x * 1

    @staticmethod
    def backward(ctx, g):
        name, notes = ctx.note
        notes.append(name)
        return g, None, None


class Failing(autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 1

    @staticmethod
    def backward(ctx, g):
        raise RuntimeError("no backward today")


# -- order -------------------------------------------------------------------------------------


def test_nodes_run_newest_first_whatever_the_shape_of_the_graph():
    notes = []
    x = leaf(1)
    a = Noted.apply(x, "a", notes)
    b = Noted.apply(x, "b", notes)
    c = Noted.apply(a, "c", notes)
    d = Noted.apply(b, "d", notes)
    (d + c + a).backward()
    assert notes == ["d", "c", "b", "a"]


def test_the_order_with_inputs_named_is_the_same():
    notes = []
    x = leaf(1)
    a, b = Noted.apply(x, "a", notes), Noted.apply(x, "b", notes)
    autograd.grad(b + a, x)
    assert notes == ["b", "a"]


def test_several_roots_run_in_one_pass():
    notes = []
    x = leaf(1)
    a = Noted.apply(x, "a", notes)
    b = Noted.apply(a, "b", notes)
    autograd.backward([a, b, a])
    assert notes == ["b", "a"]
    assert x.grad.tolist() == [3]


def test_leaves_accumulate_after_every_node_has_run():
    notes = []
    x, y = leaf(1), leaf(1)
    early = Noted.apply(x, "early", notes)
    late = Noted.apply(y, "late", notes)

    class Look(autograd.Function):
        @staticmethod
        def forward(ctx, t):
            return t * 1

        @staticmethod
        def backward(ctx, g):
            notes.append(y.grad)
            return g

    loss = Look.apply(early) + late
    loss.backward()
    assert notes == [None, "late", "early"]
    assert y.grad.tolist() == [1]


def test_a_leaf_with_a_hook_runs_right_after_its_last_contributor():
    notes = []
    x, y = leaf(1), leaf(1)
    a = Noted.apply(y, "a", notes)
    b = Noted.apply(a + x, "b", notes)
    x.register_hook(lambda g: notes.append("x"))
    y.register_post_accumulate_grad_hook(lambda t: notes.append("y"))
    (b * 2).backward()
    assert notes == ["b", "x", "a", "y"]


def test_a_leaf_with_a_hook_waits_for_all_contributions():
    seen = []
    x = leaf(1)
    x.register_hook(lambda g: seen.append(g.tolist()))
    y = x * 2
    (y * x * 10).sum().backward()
    assert seen == [[40]]
    assert x.grad.tolist() == [40]


# -- accumulation ------------------------------------------------------------------------------


def test_gradients_add_up_over_passes():
    x = leaf(1, 2)
    for _ in range(3):
        (x * x).sum().backward()
    assert x.grad.tolist() == [6, 12]


def test_gradients_add_up_into_the_same_tensor():
    x = leaf(1, 2)
    x.sum().backward()
    before = x.grad
    x.sum().backward()
    assert x.grad is before
    assert before.tolist() == [2, 2]


def test_gradients_with_create_graph_are_new_tensors():
    x = leaf(1, 2)
    x.sum().backward()
    before = x.grad
    (x * x).sum().backward(create_graph=True)
    assert before.tolist() == [1, 1]
    assert x.grad.tolist() == [3, 5]
    assert x.grad.requires_grad


def test_contributions_to_one_value_are_summed_and_none_is_overwritten():
    x, y = leaf(1, 2), leaf(3, 4)
    s = x + y
    (s * 2 + s * 3 + s).sum().backward()
    assert x.grad.tolist() == y.grad.tolist() == [6, 6]
    x.grad.mul_(2)
    assert y.grad.tolist() == [6, 6]


def test_the_cotangent_given_is_neither_kept_nor_written():
    x, y = leaf(1, 2), leaf(3, 4)
    g = rg.ones(2, dtype=rg.float64)
    (x + y).backward(g)
    (x + y).backward(g)
    assert g.tolist() == [1, 1]
    assert x.grad.tolist() == y.grad.tolist() == [2, 2]


def test_only_leaves_get_a_gradient():
    x = leaf(2)
    y = x * x
    (y * 3).backward()
    assert x.grad.tolist() == [12]
    with pytest.warns(UserWarning, match="a Tensor that is not a leaf Tensor is being accessed"):
        assert y.grad is None


def test_retain_grad_keeps_that_of_another_tensor():
    x = leaf(2)
    y = x * x
    y.retain_grad()
    (y * 3).backward()
    assert y.grad.tolist() == [3]


def test_turning_requires_grad_off_after_the_forward_pass_stops_accumulation():
    x, y = leaf(1), leaf(1)
    z = x * y
    x.requires_grad_(False)
    z.backward()
    assert x.grad is None
    assert y.grad.tolist() == [1]


def test_broadcast_inputs_get_sums_and_real_inputs_real_parts():
    x, z = leaf(1, 2), leaf(1 + 2j, dtype=rg.complex128)
    (x * z).backward(rg.tensor([1j, 1.0], dtype=rg.complex128))
    assert x.grad.dtype == rg.float64
    assert x.grad.tolist() == [2, 1]
    assert z.grad.tolist() == [2 + 1j]


# -- freeing -----------------------------------------------------------------------------------


def test_a_second_backward_raises():
    y = (leaf(1, 2).exp()).sum()
    y.backward()
    with pytest.raises(SecondBackwardError, match="Trying to backward through the graph a second"):
        y.backward()
    assert issubclass(SecondBackwardError, RuntimeError)


def test_a_graph_that_saves_nothing_runs_twice():
    x, y = leaf(1), leaf(2)
    total = (x + y).sum()
    total.backward()
    total.backward()
    assert x.grad.tolist() == y.grad.tolist() == [2]


def test_a_retained_graph_runs_again_and_then_is_freed():
    x = leaf(2)
    y = x * x
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad.tolist() == [8]
    with pytest.raises(SecondBackwardError, match="backward through the graph a second time"):
        y.backward()


def test_a_gradient_with_create_graph_has_memory_of_its_own():
    x, given = leaf(1.0, 2.0), rg.ones(2, dtype=rg.float64)
    x.backward(given, create_graph=True)
    x.backward(given)
    assert x.grad.tolist() == [2.0, 2.0]
    assert given.tolist() == [1.0, 1.0]


def test_a_broadcast_gradient_with_create_graph_can_be_added_to():
    x = rg.arange(5000.0, requires_grad=True)
    x.sum().backward(create_graph=True)
    (x * x).sum().backward()
    assert x.grad.tolist() == [1 + 2.0 * n for n in range(5000)]


def test_a_retained_gradient_with_create_graph_has_memory_of_its_own():
    y, given = leaf(1.0) * 2, rg.ones(1, dtype=rg.float64)
    y.retain_grad()
    y.backward(given, create_graph=True)
    y.grad.mul_(3)
    assert given.tolist() == [1.0]


def test_create_graph_retains_the_graph_by_default():
    x = leaf(2)
    y = x * x * x
    (dx,) = autograd.grad(y, x, create_graph=True)
    assert autograd.grad(dx, x, retain_graph=True)[0].tolist() == [12]
    assert autograd.grad(y, x, create_graph=True, retain_graph=False)[0].tolist() == [12]
    with pytest.raises(SecondBackwardError, match="backward through the graph a second time"):
        y.backward()


def test_parts_of_a_graph_that_did_not_run_are_not_freed():
    x, y = leaf(2), leaf(3)
    a, b = x * x, y * y
    total = a + b
    autograd.grad(total, x)
    b.backward()
    assert y.grad.tolist() == [6]


# -- failure -----------------------------------------------------------------------------------


def test_a_failing_pass_leaves_every_gradient_as_it_was():
    x, y, z = leaf(1), leaf(2), leaf(3)
    y.grad = rg.tensor([7.0], dtype=rg.float64)
    with pytest.raises(RuntimeError, match="no backward today"):
        (Failing.apply(x) + y + z).backward()
    assert (x.grad, z.grad) == (None, None)
    assert y.grad.tolist() == [7]


def test_a_failing_pass_leaves_what_it_did_not_reach_and_its_retained_graph():
    x = leaf(2)
    y = x * x
    z = Failing.apply(y)
    for _ in range(2):
        with pytest.raises(RuntimeError, match="no backward today"):
            (z * z).backward(retain_graph=True)
    y.backward()
    assert x.grad.tolist() == [4]


def test_roots_are_checked_before_anything_runs():
    x = leaf(1, 2)
    y = x * x
    with pytest.raises(RuntimeError, match="implicitly created only for scalar outputs"):
        y.backward()
    with pytest.raises(RuntimeError, match="implicitly created only for real scalar"):
        leaf(1j, dtype=rg.complex128).sum().backward()
    with pytest.raises(RuntimeError, match="Mismatch in shape"):
        y.backward(rg.ones(3, dtype=rg.float64))
    with pytest.raises(TypeError, match="gradients can be either Tensors or None"):
        autograd.backward(y, [1.0])
    with pytest.raises(RuntimeError, match="does not require grad and does not have a grad_fn"):
        rg.ones(1).backward()
    y.sum().backward()
    assert x.grad.tolist() == [2, 4]


# -- backward(inputs=...) and grad -------------------------------------------------------------


def test_backward_with_inputs_touches_only_those():
    x, y = leaf(2), leaf(3)
    (x * y).backward(inputs=[x])
    assert x.grad.tolist() == [3]
    assert y.grad is None


def test_backward_with_inputs_runs_only_the_nodes_on_the_way():
    notes = []
    x, y = leaf(2), leaf(3)
    (Noted.apply(x, "x", notes) * Noted.apply(y, "y", notes)).backward(inputs=y)
    assert notes == ["y"]


def test_backward_with_a_tensor_that_is_no_leaf_fills_its_gradient():
    x = leaf(2)
    y = x * x
    (y * 3).backward(inputs=[y, x])
    assert y.grad.tolist() == [3]
    assert x.grad.tolist() == [12]


def test_backward_needs_at_least_one_input():
    with pytest.raises(RuntimeError, match="cannot be empty"):
        leaf(1).sum().backward(inputs=[])


def test_grad_returns_gradients_and_touches_none():
    x, y = leaf(2), leaf(3)
    found = autograd.grad(x * y, [x, y])
    assert isinstance(found, tuple)
    assert [g.tolist() for g in found] == [[3], [2]]
    assert (x.grad, y.grad) == (None, None)


def test_grad_takes_cotangents_for_several_outputs():
    x = leaf(1, 2)
    g = [rg.tensor([1.0, 0.0], dtype=rg.float64), None]
    (found,) = autograd.grad([x * x, x.sum()], x, g)
    assert found.tolist() == [3, 1]


def test_grad_of_a_tensor_inside_the_graph_stops_there():
    notes = []
    x = leaf(2)
    y = Noted.apply(x, "below", notes)
    (found,) = autograd.grad(y * y, y)
    assert found.tolist() == [4]
    assert notes == []


def test_grad_of_an_output_with_respect_to_itself_is_the_cotangent():
    y = leaf(1, 2) * 3
    g = rg.tensor([5.0, 6.0], dtype=rg.float64)
    (found,) = autograd.grad(y, y, g)
    assert found.tolist() == [5, 6]
    found.mul_(0)
    assert g.tolist() == [5, 6]


@pytest.mark.parametrize("seed", range(8))
def test_grad_of_any_inputs_is_what_backward_gives(seed):
    rng, notes = np.random.default_rng(seed), []
    leaves = [leaf(*rng.random(4)) for _ in range(5)]
    v, w, x, y, z = leaves
    a = rg.nn.functional.layer_norm(x * y, (4,), w, v)
    b = rg.complex(a, z) ** 2
    c, d = Noted.apply(a, "d", notes).split(2)
    e = rg.nn.functional.linear((c - d).expand(3, 2).t(), rg.stack([y[:3], z[1:]]), v[1:3])
    inner = [a, b, c, d, e]
    outs = [b.abs() + a, e.sum(0).softmax(0)]
    for chosen in (rng.permutation(10)[: 1 + n] for n in range(9)):
        inputs = [[*leaves, *inner][n] for n in chosen]
        for t in inputs:
            t.requires_grad_().retain_grad()
            t.grad = None
        cotangents = [rg.ones_like(out) for out in outs]
        autograd.backward(outs, cotangents, retain_graph=True)
        expected = [(t.grad.tolist(), t.grad.stride()) for t in inputs]
        found = autograd.grad(outs, inputs, cotangents, retain_graph=True)
        assert [(g.tolist(), g.stride()) for g in found] == expected
        assert not any(g._is_view() for g in found)
        assert len({g.data_ptr() for g in [*found, *cotangents]}) == len(found) + 2


@pytest.mark.parametrize("number", [np.float64(2), np.int64(3), np.float64(0.5)])
def test_numbers_of_numpys_leave_the_dtype_of_gradients(number):
    x = leaf(0.5, 2, dtype=rg.float32)
    y = x * 1
    z = y**number * number
    for g in autograd.grad(z, [x, y], rg.ones(2)):
        assert g.dtype is rg.float32
        assert (
            g.tolist()
            == autograd.grad(x ** number.item() * number.item(), x, rg.ones(2))[0].tolist()
        )


def test_grad_frees_the_nodes_on_the_way_alone():
    x, y = leaf(2), leaf(3)
    loss = (x.exp() * y.sin()).exp()
    assert autograd.grad(loss, x)[0].item() == pytest.approx(
        np.exp(np.exp(2) * np.sin(3)) * np.exp(2) * np.sin(3), rel=1e-15
    )
    assert loss.grad_fn.next_functions[0][0].next_functions[1][0]._saved_self.tolist() == [3]
    with pytest.raises(SecondBackwardError):
        autograd.grad(loss, y)


def test_unused_inputs_raise_unless_allowed():
    x, y = leaf(1), leaf(2)
    with pytest.raises(RuntimeError, match="not have been used in the graph"):
        autograd.grad(x * 1, y)
    assert autograd.grad(x * 1, [y, x], allow_unused=True)[0] is None
    assert autograd.grad(x * 1, y, materialize_grads=True)[0].tolist() == [0]
    with pytest.raises(ValueError, match="allow_unused to be True or not passed"):
        autograd.grad(x * 1, y, allow_unused=False, materialize_grads=True)


def test_inputs_that_require_no_grad_raise():
    with pytest.raises(RuntimeError, match="does not require grad"):
        autograd.grad(leaf(1) * 1, rg.ones(1))


def test_batched_cotangents_give_batched_gradients():
    x = leaf(1, 2)
    rows = rg.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], dtype=rg.float64)
    (found,) = autograd.grad(x * x, x, rows, is_grads_batched=True)
    assert found.tolist() == [[2, 0], [0, 4], [2, 4]]


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize(
    "function",
    [lambda a, b: a + b, lambda a, b: rg.cat([a, b]), lambda a, b: (a + b).view(1, 2)],
    ids=["add", "cat", "view"],
)
def test_batched_gradients_share_no_memory(function, create_graph):
    a, b = leaf(1, 2), leaf(3, 4)
    out = function(a, b)
    rows = rg.ones(3, *out.shape, dtype=rg.float64)
    how = {"is_grads_batched": True, "create_graph": create_graph}
    first, second = autograd.grad(out, [a, b], rows, **how)
    with rg.no_grad():
        first.mul_(5.0)
    assert second.tolist() == [[1, 1]] * 3
    assert bool((rows == 1).all())


def test_zeros_for_unused_inputs_have_no_batch_dimension():
    x, unused = leaf(1, 2), leaf(1, 2, 3)
    rows = rg.eye(2, dtype=rg.float64)
    how = {"is_grads_batched": True, "materialize_grads": True, "create_graph": True}
    used, zeros = autograd.grad(x * x, [x, unused], rows, **how)
    assert used.tolist() == [[2, 0], [0, 4]]
    assert zeros.tolist() == [0, 0, 0]
    assert zeros.requires_grad
    assert zeros.is_leaf


def test_create_graph_records_even_under_no_grad():
    x = leaf(2)
    y = x * x * x
    with rg.no_grad():
        (dx,) = autograd.grad(y, x, create_graph=True)
        assert not rg.is_grad_enabled()
    assert autograd.grad(dx, x)[0].tolist() == [12]


# -- several outputs ---------------------------------------------------------------------------


def test_an_op_with_several_outputs_gets_zeros_for_those_not_used():
    x = leaf(1, 2, 3)
    first, _, third = x.unbind()
    (first * 2 + third * 5).backward()
    assert x.grad.tolist() == [2, 0, 5]


def test_each_output_of_an_op_is_an_input_of_its_own():
    x = leaf(1, 2)
    a, b = x.unbind()
    assert a.grad_fn is b.grad_fn
    assert (a.output_nr, b.output_nr) == (0, 1)
    da, db = autograd.grad(a * b * b, [a, b])
    assert (da.item(), db.item()) == (4, 4)


def test_second_derivatives_go_through_several_outputs():
    x = leaf(2, 3)
    a, b = x.unbind()
    (dx,) = autograd.grad(a * a * b, x, create_graph=True)
    assert dx.tolist() == [12, 4]
    assert autograd.grad(dx.sum(), x)[0].tolist() == [10, 4]


# -- nesting and threads -----------------------------------------------------------------------


def test_a_hook_may_run_a_backward_pass():
    x, y = leaf(2), leaf(3)
    z = x * x

    def hook(g):
        with rg.enable_grad():
            (y * y).backward()
        return g * y.grad

    z.register_hook(hook)
    (z * 1).backward()
    assert y.grad.tolist() == [6]
    assert x.grad.tolist() == [24]


def test_a_pass_in_a_hook_may_reach_the_same_leaf():
    x = leaf(2)
    z = x * x
    w = x * 5
    z.register_hook(lambda g: w.backward())
    (z * 1).backward()
    assert x.grad.tolist() == [9]


def test_ten_threads_train_on_their_own():
    found = []

    def train():
        x = rg.ones(5, 5, requires_grad=True)
        y = (x + 3) * (x + 4) * 0.5
        y.sum().backward()
        found.append(x.grad.tolist())

    threads = [threading.Thread(target=train) for _ in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [[[4.5] * 5] * 5] * 10


def test_threads_add_to_a_shared_leaf_without_losing_a_contribution():
    x = leaf(*[1.0] * 100)
    x.grad = rg.zeros(100, dtype=rg.float64)
    start = threading.Barrier(4)

    def train():
        start.wait()
        for _ in range(50):
            (x * 2).sum().backward()

    threads = [threading.Thread(target=train) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    np.testing.assert_array_equal(x.grad.numpy(), 400.0)


def test_modes_of_one_thread_do_not_reach_another():
    seen = []
    with rg.no_grad():
        thread = threading.Thread(target=lambda: seen.append((leaf(1) * 2).requires_grad))
        thread.start()
        thread.join()
    assert seen == [True]


def of_layer_norm(monkeypatch, watched):
    """Gradients of a layer norm, whose joint formula notes in `watched` what it is asked for."""
    rg.nn.functional.layer_norm(rg.ones(2, 3), (3,))
    op = OPS["native_layer_norm"]
    joint = op.joint

    def noted(xp, wanted, *rest):
        watched.append(wanted)
        return joint(xp, wanted, *rest)

    monkeypatch.setattr(op, "joint", noted)
    x, weight, bias = (leaf(*values) for values in ((1, 2, 4), (3, 4, 5), (6, 7, 8)))
    y = rg.nn.functional.layer_norm(rg.stack([x, x * x]), (3,), weight, bias)
    return y, (x, weight, bias)


def test_formulas_of_one_node_run_together_where_several_are_needed(monkeypatch):
    watched = []
    y, leaves = of_layer_norm(monkeypatch, watched)
    recorded = autograd.grad(y.square().sum(), leaves, create_graph=True)
    assert not watched  # they are recorded each by itself
    y.square().sum().backward(retain_graph=True)
    some = autograd.grad(y.square().sum(), leaves[1:], retain_graph=True)
    (one,) = autograd.grad(y.square().sum(), leaves[2], retain_graph=True)
    y.grad_fn.register_hook(lambda ours, theirs: None)
    hooked = autograd.grad(y.square().sum(), leaves)
    assert [w for w in watched if w.bit_count() > 1] == [0b111, 0b110, 0b111]
    for x, a, b in zip(leaves, recorded, hooked, strict=True):
        np.testing.assert_allclose(x.grad.numpy(), a.detach().numpy(), atol=1e-12)
        np.testing.assert_array_equal(x.grad.numpy(), b.numpy())
    np.testing.assert_array_equal(some[0].numpy(), leaves[1].grad.numpy())
    np.testing.assert_array_equal(some[1].numpy(), one.numpy())


def test_a_bias_has_a_gradient_of_its_own():
    x, weight, bias = (leaf(*values) for values in ((1, 2, 4), (3, 4, 5), (6, 7, 8)))
    g = rg.ones(3, dtype=rg.float64)
    rg.nn.functional.layer_norm(x, (3,), weight, bias).backward(g)
    bias.grad.mul_(2)
    assert g.tolist() == [1, 1, 1]


def test_an_error_of_a_joint_formula_is_said(monkeypatch):
    y, _ = of_layer_norm(monkeypatch, [])

    def fail(*_):
        raise ZeroDivisionError("joint")

    monkeypatch.setattr(OPS["native_layer_norm"], "joint", fail)
    with pytest.raises(ZeroDivisionError, match="joint"):
        y.sum().backward()


@pytest.mark.parametrize("call", ["backward", "grad", "inputs"])
def test_a_node_whose_formula_raises_is_not_freed(call):
    x = rg.tensor([[1 + 2j, 3.0], [0.5, 1 - 1j]], requires_grad=True)
    u, _, _ = rg.linalg.svd(x)
    loss = u.exp().abs().sum()  # depends on the phase of the vectors
    (g,) = autograd.grad(loss, u, retain_graph=True)
    run = {
        "backward": lambda: u.backward(g),
        "grad": lambda: autograd.grad(u, x, g),
        "inputs": lambda: u.backward(g, inputs=[x]),
    }
    for _ in range(2):
        with pytest.raises(RuntimeError, match="depends on this phase"):
            run[call]()


@pytest.mark.skipif(native is None, reason="Python keeps the saved values while it adds")
@pytest.mark.parametrize("call", ["backward", "grad"])
def test_saved_values_are_freed_before_contributions_are_added(call):
    x = leaf(*np.ones(100_000))
    tracemalloc.start()
    try:
        y = x * 1
        loss = (y + y.exp()).sum()
        del y
        tracemalloc.reset_peak()
        loss.backward() if call == "backward" else autograd.grad(loss, x)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak / x._array.nbytes < 3.5  # what arrived twice, and the sum; not the saved result
