"""`autograd.graph`: hooks on saved values as contexts, hooks on groups, edges, versions."""

from __future__ import annotations

import threading

import pytest

import retrograd as rg
from retrograd import autograd
from retrograd.autograd import graph


def leaf(*values):
    return rg.tensor(list(values), dtype=rg.float64, requires_grad=True)


# -- nodes and edges ---------------------------------------------------------------------------


def test_every_grad_fn_is_a_node():
    x = leaf(1, 2)
    for y in (x * 2, x.exp(), x.sum(), x.unbind()[1], x[:1]):
        assert isinstance(y.grad_fn, graph.Node)
    assert x.grad_fn is None


def test_nodes_show_name_edges_and_metadata():
    x, y = leaf(1), rg.ones(1, dtype=rg.float64)
    node = (x * y).grad_fn
    assert type(node).__name__ == node.name() == "MulBackward0"
    (first, number), second = node.next_functions
    assert (first.name(), number) == ("torch::autograd::AccumulateGrad", 0)
    assert first.variable is x
    assert second == (None, 0)
    node.metadata["mine"] = 3
    assert node.metadata == {"mine": 3}
    assert node.requires_grad is first.requires_grad is True


def test_the_edge_of_a_tensor_is_its_node_and_output_number():
    x = leaf(1, 2)
    y = x.unbind()[1]
    edge = graph.get_gradient_edge(y)
    assert (edge.node, edge.output_nr) == (y.grad_fn, 1)
    assert graph.get_gradient_edge(x).node.variable is x
    with pytest.raises(RuntimeError, match="not possible to get the gradient edge"):
        graph.get_gradient_edge(rg.ones(1))


def test_edges_stand_for_tensors_in_grad_and_backward():
    x = leaf(1, 2)
    a, b = (x * 3).unbind()
    edge = graph.get_gradient_edge(b)
    loss = a * b
    assert autograd.grad(loss, edge, retain_graph=True)[0].item() == 3
    one = rg.ones((), dtype=rg.float64)
    assert autograd.grad(edge, x, one, retain_graph=True)[0].tolist() == [0, 3]
    del a, b, loss
    autograd.backward([edge], [one])
    assert x.grad.tolist() == [0, 3]


# -- contexts for saved values -----------------------------------------------------------------


def test_hooks_for_saved_values_are_local_to_the_thread():
    notes = []
    with graph.saved_tensors_hooks(lambda t: notes.append("packed"), lambda packed: packed):
        thread = threading.Thread(target=lambda: leaf(1).exp())
        thread.start()
        thread.join()
    assert notes == []


def test_an_error_inside_the_context_ends_it():
    with pytest.raises(ValueError, match="mine"), graph.saved_tensors_hooks(len, len):
        raise ValueError("mine")
    leaf(1).exp().backward()


def test_save_on_cpu_changes_no_gradient():
    x = leaf(2)
    with graph.save_on_cpu(pin_memory=True):
        y = x * x * x
    y.backward()
    assert x.grad.tolist() == [12]


def test_disabled_hooks_raise_the_given_message():
    with (
        graph.disable_saved_tensors_hooks("not here"),
        pytest.raises(RuntimeError, match="not here"),
        graph.saved_tensors_hooks(lambda t: t, lambda t: t),
    ):
        pass
    with (
        graph.saved_tensors_hooks(lambda t: t, lambda t: t),
        pytest.raises(RuntimeError, match="not here"),
        graph.disable_saved_tensors_hooks("not here"),
    ):
        pass
    with graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        pass


def test_the_inner_message_counts_while_hooks_are_disabled():
    def enter():
        with graph.saved_tensors_hooks(lambda t: t, lambda t: t):
            pass

    with graph.disable_saved_tensors_hooks("outer"):
        with (
            graph.disable_saved_tensors_hooks("inner"),
            pytest.raises(RuntimeError, match="inner"),
        ):
            enter()
        with pytest.raises(RuntimeError, match="outer"):
            enter()


# -- hooks on groups ---------------------------------------------------------------------------


def noted(tensors, mode):
    """A list to which a hook on `tensors` appends what it is called with."""
    notes = []

    def hook(given):
        if mode == "any":
            notes.append(given.item())
        else:
            notes.append([None if g is None else g.item() for g in given])

    return notes, graph.register_multi_grad_hook(tensors, hook, mode=mode)


def test_a_hook_on_all_runs_once_with_every_gradient():
    x, y, z = leaf(1), leaf(2), leaf(3)
    notes, _ = noted((x, y, z), "all")
    (x * y * z).backward()
    assert notes == [[6, 3, 2]]


def test_a_hook_on_all_gets_none_for_what_the_pass_does_not_reach():
    x, y, z = leaf(1), leaf(2), leaf(3)
    notes, _ = noted((x, y, z), "all")
    (x * y).backward()
    (x * 5).backward()
    assert notes == [[2, 1, None], [5, None, None]]


def test_a_hook_on_all_knows_what_named_inputs_leave_out():
    x, y = leaf(1), leaf(2)
    z = x * y
    notes, _ = noted((x, y, z), "all")
    autograd.grad(z * 3, y)
    assert notes == [[None, 3, 3]]


def test_a_hook_on_any_runs_once_with_the_first_gradient():
    x, y = leaf(1), leaf(2)
    z = x * y
    notes, _ = noted((x, z, y), "any")
    (z * 3).backward()
    (x * 5).backward()
    assert notes == [3, 5]


def test_a_removed_hook_on_a_group_runs_no_more():
    x, y = leaf(1), leaf(2)
    notes, handle = noted((x, y), "all")
    handle.remove()
    (x * y).backward()
    assert notes == []


def test_passes_inside_a_pass_do_not_disturb_a_hook_on_a_group():
    x, y = leaf(1), leaf(2)
    notes, _ = noted((x, y), "all")
    z = x * y
    z.register_hook(lambda g: autograd.grad(x_alone, x) and None)
    x_alone = x * 7
    z.backward()
    assert notes == [[7, None], [2, 1]]


def test_wrong_arguments_raise():
    with pytest.raises(ValueError, match="Expects mode to be one of"):
        graph.register_multi_grad_hook((leaf(1),), print, mode="some")
    with pytest.raises(AssertionError, match="Expected gradient function to be set"):
        graph.register_multi_grad_hook((leaf(1), rg.ones(1)), print)


# -- versions ----------------------------------------------------------------------------------


def test_increment_version_counts_a_write():
    x = leaf(1, 2)
    a = x * 1
    y = a * a
    graph.increment_version(a)
    assert a._version == 1
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()
    graph.increment_version([a, x])
    assert (a._version, x._version) == (2, 1)
    with pytest.raises(RuntimeError, match="expect a Iterable"):
        graph.increment_version(3)


def test_inference_tensors_have_no_version_to_increment():
    with rg.inference_mode():
        x = rg.ones(2)
        graph.increment_version(x)
    graph.increment_version([x])
    with pytest.raises(RuntimeError, match="do not track version counter"):
        assert x._version


def test_nodes_are_not_made_by_hand():
    with pytest.raises(TypeError, match="abstract"):
        graph.Node()


def test_what_is_computed_is_not_asked_to_require_grad():
    y = leaf(1) * 2
    with pytest.raises(RuntimeError, match="you can only change requires_grad flags of leaf"):
        y.requires_grad = True
    with pytest.raises(RuntimeError, match=r"use var_no_grad = var.detach"):
        y.requires_grad = False
    assert y.requires_grad_() is y


def test_what_a_called_node_computes_is_recorded():
    x = rg.tensor([1.0, 2.0], requires_grad=True)
    node = (x**3).grad_fn
    share = node(rg.ones(2))
    assert autograd.grad(share.sum(), x)[0].tolist() == [6, 12]
    with rg.no_grad():
        assert not node(rg.ones(2)).requires_grad
    with pytest.raises(TypeError, match="expected Variable or None"):
        node("text")


def test_the_node_of_a_leaf_alone_has_a_variable():
    x = leaf(1)
    assert not hasattr((x * 2).grad_fn, "variable")
    assert hasattr((x * 2).grad_fn.next_functions[0][0], "variable")
