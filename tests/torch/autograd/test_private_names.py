"""Private names of PyTorch that programs about autograd use: `retrograd._C` and the like."""

from __future__ import annotations

import gc
import warnings

import pytest

import retrograd as rg
from retrograd import autograd
from retrograd.torch import _C


def leaf(*values):
    return rg.tensor(list(values), dtype=rg.float64, requires_grad=True)


def test_a_pass_tells_what_it_has_yet_to_run():
    x = leaf(1)
    a, b = x * 2, x * 3
    c, other = a + b, x * 5
    seen = []

    def hook(g):
        seen.append([node.name() for node in _C._current_graph_task_execution_order()])
        seen.append([_C._will_engine_execute_node(t.grad_fn) for t in (a, b, c, other)])

    a.register_hook(hook)
    c.backward(inputs=[x], retain_graph=True)
    assert seen == [["MulBackward0", "torch::autograd::AccumulateGrad"], [True, True, True, False]]
    c.backward()
    assert seen[2:] == seen[:2]
    for name in ("_current_graph_task_execution_order", "_will_engine_execute_node"):
        with pytest.raises(RuntimeError, match="during the backward pass"):
            getattr(_C, name)(*[c.grad_fn] * name.startswith("_will"))


def test_a_pass_tells_that_leaves_with_hooks_run_as_soon_as_they_are_complete():
    x, y, z = leaf(1), leaf(2), leaf(3)
    a, b = x * 2, y + z
    a_node, b_node = a.grad_fn, b.grad_fn
    x_node, y_node, z_node = (
        edge for node in (a_node, b_node) for edge, _ in node.next_functions if edge
    )
    told, ran = [], []
    for tensor, node in ((x, x_node), (y, y_node), (a, a_node), (b, b_node)):
        tensor.register_hook(lambda g, node=node: ran.append(node))
    out = a * b
    out.register_hook(lambda g: told.extend(_C._current_graph_task_execution_order()))
    out.sum().backward()
    assert ran == [b_node, y_node, a_node, x_node]
    assert told == [out.grad_fn, *ran, z_node]


def test_autograd_grad_does_not_say_whether_leaves_run():
    x = leaf(1)
    y = x * 2
    accumulator = y.grad_fn.next_functions[0][0]
    y.register_hook(lambda g: _C._will_engine_execute_node(accumulator) and None)
    y.backward(retain_graph=True)
    with pytest.raises(RuntimeError, match=r"currently running autograd.grad\(\)"):
        autograd.grad(y, x)


def test_what_runs_is_asked_by_node():
    x = leaf(1)
    x.register_hook(lambda g: _C._will_engine_execute_node(x))
    with pytest.raises(RuntimeError, match="expects an grad_fn"):
        x.backward()


def test_weak_references_to_tensors_expire():
    x = rg.ones(1)
    ref = _C._WeakTensorRef(x)
    assert not ref.expired()
    del x
    gc.collect()
    assert ref.expired()


def test_versions_are_set_by_hand():
    x = rg.ones(1)
    _C._autograd._unsafe_set_version_counter((x,), (5,))
    assert x._version == 5
    with pytest.raises(RuntimeError, match="below 0"):
        _C._autograd._unsafe_set_version_counter((x,), (-1,))


def test_hooks_on_saved_values_are_disabled_by_hand():
    private = _C._autograd
    assert private._saved_tensors_hooks_is_enabled()
    private._saved_tensors_hooks_disable("not now")
    try:
        assert not private._saved_tensors_hooks_is_enabled()
        assert private._saved_tensors_hooks_get_disabled_error_message() == "not now"
        with pytest.raises(RuntimeError, match="not now"):
            private._push_saved_tensors_default_hooks(lambda t: t, lambda t: t)
    finally:
        private._saved_tensors_hooks_enable()
    private._push_saved_tensors_default_hooks(len, len)
    assert private._top_saved_tensors_default_hooks(True) == (len, len)
    private._pop_saved_tensors_default_hooks()
    assert private._top_saved_tensors_default_hooks() is None


def test_undefined_gradients_end_in_none():
    x = leaf(1)
    y = _C._functions.UndefinedGrad()(x * 1)
    y.backward()
    assert x.grad is None


def test_a_warning_is_given_once_or_always():
    def count():
        x = leaf(1)
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            x.backward(create_graph=True)
        return sum("Using backward() with create_graph=True" in str(w.message) for w in found)

    assert count() <= 1
    assert count() == 0
    assert not rg.is_warn_always_enabled()
    rg.set_warn_always(True)
    try:
        assert (count(), count()) == (1, 1)
    finally:
        rg.set_warn_always(False)


def test_a_view_is_made_again_from_another_base():
    x = leaf(1, 2, 3, 4)
    new = rg.tensor([5.0, 6, 7, 8])
    view = x.view(2, 2).t()[0]
    assert view._view_func(new).tolist() == [5, 7]
    assert view._view_func(new)._base is new
    assert x.unbind()[2]._view_func(new).item() == 7
    assert x._view_func(new) is None
    with pytest.raises(RuntimeError, match="they must be equal"):
        view._view_func(rg.ones(3))


def test_the_modules_have_pytorchs_names():
    for name in ("anomaly_mode", "function", "functional", "grad_mode", "graph", "variable"):
        assert getattr(autograd, name).__name__ == f"retrograd.autograd.{name}"
    assert autograd.is_view_replay_enabled()
    with autograd._force_original_view_tracking(True):
        pass


def test_threads_keep_objects_of_their_own():
    _C._stash_obj_in_tls("mine", 1)
    assert _C._is_key_in_tls("mine")
    assert _C._get_obj_in_tls("mine") == 1
    assert not _C._is_key_in_tls("yours")


def test_the_multithreading_flag_has_a_private_door():
    assert _C._is_multithreading_enabled()
    _C._set_multithreading_enabled(False)
    try:
        assert not autograd.is_multithreading_enabled()
    finally:
        _C._set_multithreading_enabled(True)


def test_unit_vectors_of_several_tensors():
    tensors = (rg.ones(2, 1), rg.ones((), dtype=rg.float64))
    basis = autograd.functional._construct_standard_basis_for(tensors, (2, 1))
    assert [part.tolist() for part in basis] == [[[1, 0], [0, 1], [0, 0]], [[0], [0], [1]]]
    assert [part.dtype for part in basis] == [rg.float32, rg.float64]
    with pytest.raises(AssertionError, match="expected as many numbers as tensors"):
        autograd.functional._construct_standard_basis_for(tensors, (2,))


def test_new_data_leaves_the_version_as_it_is():
    x = rg.ones(2)
    view = x[:]
    x.add_(1)
    x.data = rg.zeros(2, 3)
    assert x._version == view._version == 1
    x.add_(1)
    view.add_(1)
    assert x._version == view._version == 3


def test_new_data_is_noticed_by_what_was_saved():
    x = leaf(1, 2)
    x[:]
    y = x * x
    x.data = rg.zeros(2, dtype=rg.float64)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_vmap_is_found_where_pytorch_has_it():
    assert rg.vmap is rg.func.vmap


def test_the_engine_is_called_with_all_arguments():
    run = autograd.Variable._execution_engine.run_backward
    x, w = leaf(3), leaf(5)
    y = x * w
    one = rg.ones_like(y)
    assert run((y,), (one,), True, False, (x,))[0].item() == 5
    assert x.grad is None
    assert run((y,), (one,), True, False, (x,), accumulate_grad=True) == ()
    assert (x.grad.item(), w.grad) == (5, None)
    assert run((y,), (one,), False, False) == ()
    assert w.grad.item() == 3


def test_forward_derivatives_are_turned_off_and_on_by_a_call():
    try:
        rg._C._set_fwd_grad_enabled(False)
        assert not autograd.forward_ad._is_fwd_grad_enabled()
    finally:
        rg._C._set_fwd_grad_enabled(True)
    assert autograd.forward_ad._is_fwd_grad_enabled()


def test_grad_mode_is_asked_for_where_pytorch_has_it():
    with rg.no_grad():
        assert not rg._C.is_grad_enabled()
    assert rg._C.is_grad_enabled()


def test_what_is_no_node_is_refused_outside_a_pass_too():
    with pytest.raises(RuntimeError, match="expects an grad_fn, but got Tensor"):
        rg._C._will_engine_execute_node(leaf(1))


def test_an_error_can_be_put_into_the_graph():
    x = leaf(1, 2)
    first, second = _C._functions.DelayedError("not this way", 2)(x, x * 3)
    assert second.tolist() == [3, 6]
    assert type(first.grad_fn).__name__ == "Error"
    assert first.grad_fn.name() == "torch::autograd::Error"
    assert autograd.grad((first * 2).sum(), first)[0].tolist() == [2, 2]
    for y in (first, second):
        with pytest.raises(RuntimeError, match="not this way"):
            y.sum().backward()


def test_hooks_can_be_assigned():
    x, seen = leaf(1), []
    x._backward_hooks = {0: lambda g: g * 2}
    x._backward_hooks[1] = seen.append
    x.register_hook(lambda g: g + 1)
    x.backward()
    assert x.grad.tolist() == [3]
    assert [g.tolist() for g in seen] == [[2]]
    x._backward_hooks = None
    assert x._backward_hooks is None
    x.backward()
    assert x.grad.tolist() == [4]


def test_hooks_assigned_before_a_gradient_is_wanted_run_once_it_is():
    x = rg.ones(1)
    x._backward_hooks = {}
    x._backward_hooks[0] = lambda g: g * 2
    (x + leaf(1)).backward()
    x.requires_grad_().backward()
    assert x.grad.tolist() == [2]


def test_integers_with_hooks_still_want_no_gradient():
    n = rg.tensor([1])
    n._backward_hooks = {0: print}
    with pytest.raises(RuntimeError, match="only Tensors of floating point"):
        n.requires_grad_()


def test_handles_of_saved_values_are_found_not_made():
    assert isinstance(leaf(1).exp().grad_fn._raw_saved_result, autograd.SavedTensor)
    with pytest.raises(RuntimeError, match="Trying to create a SavedTensor object from Python is"):
        autograd.SavedTensor()


def test_errors_of_linear_algebra_have_a_private_name():
    assert _C._LinAlgError is rg.linalg.LinAlgError


def test_every_pass_has_a_number_of_its_own():
    C = rg._C
    ids = []
    x = leaf(1)
    x.register_hook(lambda g: ids.append(C._current_graph_task_id()))
    x.sum().backward()
    x.sum().backward()
    assert C._current_graph_task_id() == -1
    assert ids[0] != ids[1]
    assert ids[0] >= 0


def test_hooks_know_the_node_that_runs():
    seen = []

    def note(*_):
        seen.append(rg._C._current_autograd_node().name())

    x = rg.ones(2, requires_grad=True)
    y = x * 2
    first, _ = y.exp().split(1)
    first.register_hook(note)
    first.grad_fn.register_prehook(note)
    y.register_hook(note)
    y.grad_fn.register_hook(note)
    x.register_hook(note)
    first.sum().backward()
    leaf = "torch::autograd::AccumulateGrad"
    assert seen == ["SplitBackward0", "SplitBackward0", "MulBackward0", "MulBackward0", leaf]
    assert rg._C._current_autograd_node() is None


def test_versions_are_set():
    x = rg.ones(1)
    _C._autograd._unsafe_set_version_counter((x,), (5,))
    assert x._version == 5
    with pytest.raises(RuntimeError, match="Cannot set a version_counter to a value below 0"):
        _C._autograd._unsafe_set_version_counter((x,), (-1,))


def test_resize_is_a_function_of_old_programs():
    x = rg.arange(4.0, requires_grad=True)
    (autograd._functions.Resize.apply(x, (2, 2)) * rg.tensor([[1.0], [2.0]])).sum().backward()
    assert x.grad.tolist() == [1, 1, 2, 2]
