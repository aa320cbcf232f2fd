"""Checkpoints: the same gradients for less memory, and clear errors where that cannot be."""

from __future__ import annotations

import contextlib
import gc
import threading
import warnings
import weakref
from functools import partial

import numpy as np
import pytest

import retrograd as rg
from retrograd import autograd, func, nn
from retrograd.engine.transforms.watch import Watcher
from retrograd.utils import checkpoint as module
from retrograd.utils.checkpoint import (
    SAC_IGNORED_OPS,
    CheckpointError,
    CheckpointFunction,
    CheckpointPolicy,
    GraphExecGroup,
    check_backward_validity,
    checkpoint_sequential,
    create_selective_checkpoint_contexts,
    detach_variable,
    set_checkpoint_debug_enabled,
    set_checkpoint_early_stop,
)

checkpoint = partial(module.checkpoint, use_reentrant=False)
BOTH = pytest.mark.parametrize("use_reentrant", [False, True])
F64 = rg.float64


@pytest.fixture
def no_collector():
    """Only reference counts free memory."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def leaf(*values, dtype=F64):
    return rg.tensor(list(values), dtype=dtype, requires_grad=True)


class Counted:
    """A function that counts its calls."""

    def __init__(self, function):
        self.function, self.calls = function, 0

    def __call__(self, *args, **kwargs):
        self.calls += 1
        return self.function(*args, **kwargs)


def body(x, w):
    """Saves inputs and outputs, views, an in-place write."""
    y = (x @ w).tanh()
    z = (y * y.sin())[1:]
    z = z * 2
    z.mul_(w[1:])
    return z.exp() / (1 + y.sum() ** 2)


def grads_of(function, *tensors):
    for t in tensors:
        t.grad = None
    function(*tensors).sum().backward()
    return [t.grad.numpy().copy() for t in tensors]


def square(dtype=F64):
    values = rg.rand(3, 3, dtype=dtype)
    return (values - 0.4).requires_grad_()


# -- gradients ---------------------------------------------------------------------------------


@BOTH
def test_gradients_are_those_of_the_plain_call(use_reentrant):
    x, w = square(), square()
    expected = grads_of(body, x, w)
    found = grads_of(lambda x, w: module.checkpoint(body, x, w, use_reentrant=use_reentrant), x, w)
    np.testing.assert_array_equal(expected, found)


@BOTH
def test_complex_parameters_get_their_gradients(use_reentrant):
    x, w = square(rg.complex128), square(rg.complex128)

    def loss(x, w):
        return (x @ w).tanh().mul(w.conj()).abs()

    expected = grads_of(loss, x, w)
    found = grads_of(lambda x, w: module.checkpoint(loss, x, w, use_reentrant=use_reentrant), x, w)
    assert found[0].dtype == np.complex128
    np.testing.assert_array_equal(expected, found)


@BOTH
def test_modules_get_gradients_for_their_parameters(use_reentrant):
    net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
    x = rg.rand(5, 3, requires_grad=True)
    net(x).sum().backward()
    expected = [p.grad.numpy().copy() for p in net.parameters()]
    net.zero_grad()
    module.checkpoint(net, x, use_reentrant=use_reentrant).sum().backward()
    for a, p in zip(expected, net.parameters(), strict=True):
        np.testing.assert_array_equal(a, p.grad.numpy())


def test_only_parameters_inside_the_function_need_to_require_grad():
    w = leaf(1, 2)
    checkpoint(lambda x: (x * w).exp(), rg.ones(2, dtype=F64)).sum().backward()
    np.testing.assert_allclose(w.grad.numpy(), np.exp([1, 2]))


def test_the_first_op_that_differs_is_only_compared_where_it_is_needed():
    x = leaf(1, 2)
    switch = iter([rg.exp, rg.sin])

    def function(x):
        next(switch)(x)  # its node dies at once, so nobody reads what it saved
        return x * x

    checkpoint(function, x).sum().backward()
    assert x.grad.tolist() == [2, 4]


@BOTH
def test_tensors_other_values_and_several_outputs_pass_through(use_reentrant):
    x = leaf(1, 2)

    def function(x, factor, text, nothing, pair):
        assert (text, nothing) == ("text", None)
        return x * factor, pair[0] * x.sin(), "label"

    pair = (rg.ones(2, dtype=F64), 1)
    a, b, label = module.checkpoint(
        function, x, 3.0, "text", None, pair, use_reentrant=use_reentrant
    )
    assert label == "label"
    (a + b).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), 3 + np.cos([1, 2]))


def test_keyword_arguments_reach_the_function_both_times():
    x, w = leaf(1, 2), leaf(3, 4)

    def function(x, *, w, power=1):
        return (x * w) ** power

    checkpoint(function, x, w=w, power=2).sum().backward()
    assert x.grad.tolist() == [18, 64]
    assert w.grad.tolist() == [6, 32]


def test_second_derivatives_run_through_the_checkpoint():
    x = leaf(0.3, 0.7)
    y = checkpoint(lambda x: x.sin() * x.exp(), x)
    (dx,) = autograd.grad(y.sum(), x, create_graph=True)
    (ddx,) = autograd.grad(dx.sum(), x, create_graph=True)
    (d3x,) = autograd.grad(ddx.sum(), x)
    v = x.detach().numpy()
    np.testing.assert_allclose(ddx.detach().numpy(), 2 * np.exp(v) * np.cos(v))
    np.testing.assert_allclose(d3x.numpy(), 2 * np.exp(v) * (np.cos(v) - np.sin(v)))


def test_gradcheck_and_gradgradcheck_hold():
    x, w = square(), square()
    assert autograd.gradcheck(lambda x, w: checkpoint(body, x, w), (x, w))
    assert autograd.gradgradcheck(lambda x, w: checkpoint(body, x, w), (x, w))


def test_grad_and_inputs_work_without_reentrance():
    x, w = leaf(1, 2), leaf(3, 4)
    y = checkpoint(lambda x: (x * w).exp().log(), x).sum()
    (dw,) = autograd.grad(y, w, retain_graph=True)
    y.backward(inputs=[x])
    assert dw.tolist() == pytest.approx([1, 2])
    assert x.grad.tolist() == pytest.approx([3, 4])
    assert w.grad is None


def test_custom_functions_inside_a_checkpoint_read_their_saved_tensors():
    class Square(autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = x * x
            ctx.save_for_backward(x, y)
            return y

        @staticmethod
        def backward(ctx, g):
            x, y = ctx.saved_tensors
            assert y.tolist() == [1, 4]
            return 2 * x * g

    x = leaf(1, 2)
    checkpoint(lambda x: Square.apply(x).exp(), x).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), [2 * np.exp(1), 4 * np.exp(4)])


def test_a_value_overwritten_in_the_function_is_recomputed_as_it_was_saved():
    x, w = leaf(1, 2), leaf(5, 6)

    def function(x):
        y = x * 3
        y.mul_(w)
        y.add_(w)
        return y

    checkpoint(function, x).sum().backward()
    assert w.grad.tolist() == [4, 7]
    assert x.grad.tolist() == [15, 18]


def test_hooks_keep_the_value_that_an_in_place_write_overwrites():
    x, w = leaf(1, 2), leaf(5, 6)
    with autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        y = x * 3
        y[:1].mul_(w[:1])
    y.sum().backward()
    assert w.grad.tolist() == [3, 0]


# -- when it runs again ------------------------------------------------------------------------


def test_the_function_runs_again_once_per_pass_and_each_pass_is_right():
    function = Counted(lambda x: x.sin().exp().cos())
    x = leaf(1, 2)
    y = checkpoint(function, x).sum()
    for passes in (1, 2, 3):
        y.backward(retain_graph=True)
        assert function.calls == 1 + passes
    once = grads_of(lambda x: x.sin().exp().cos(), leaf(1, 2))[0]
    np.testing.assert_allclose(x.grad.numpy(), 3 * once)


def test_a_second_pass_without_retaining_raises_as_without_a_checkpoint():
    x = leaf(1, 2)
    y = checkpoint(lambda x: x.sin().exp(), x).sum()
    y.backward()
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        y.backward()


def test_nothing_runs_again_if_no_value_is_needed():
    function = Counted(lambda x: x + 1)
    x = leaf(1, 2)
    checkpoint(function, x).sum().backward()
    assert function.calls == 1
    assert x.grad.tolist() == [1, 1]


def test_reading_a_saved_value_by_hand_runs_the_function_again_each_time():
    function = Counted(lambda x: (x * x * x, x.exp())[1])
    y = checkpoint(function, leaf(1, 2))
    assert function.calls == 1
    for reading in (2, 3):
        assert y.grad_fn._saved_result.tolist() == pytest.approx(np.exp([1, 2]).tolist())
        assert function.calls == reading
    y.sum().backward()
    assert function.calls == 4
    with pytest.raises(RuntimeError, match="after they have already been freed"):
        _ = y.grad_fn._saved_result


def test_the_run_again_stops_when_all_values_are_there():
    ends = []

    def function(x):
        y = x.sin().exp()
        ends.append(1)
        return y

    x = leaf(1)
    checkpoint(function, x).backward()
    assert len(ends) == 1
    checkpoint(function, x, early_stop=False).backward()
    assert len(ends) == 3


@pytest.mark.parametrize("dtype", [rg.float32, rg.bfloat16])
@BOTH
def test_a_batch_norm_that_is_the_last_op_moves_its_statistics_as_often_as_it_counts(
    use_reentrant, dtype
):
    net = nn.BatchNorm1d(1)
    x = rg.tensor([[0.0], [2.0]], dtype=dtype, requires_grad=True)
    module.checkpoint(net, x, use_reentrant=use_reentrant).sum().backward()
    assert net.num_batches_tracked == 2
    np.testing.assert_allclose(net.running_mean.numpy(), [0.19], rtol=1e-6)
    np.testing.assert_allclose(net.running_var.numpy(), [1.19], rtol=1e-6)


def test_a_handler_inside_the_function_does_not_catch_the_early_stop():
    x = leaf(1)
    caught = []

    def function(x):
        try:
            return x.sin().exp()
        except Exception as error:
            caught.append(error)
            raise

    checkpoint(function, x).backward()
    assert not caught


@pytest.mark.parametrize("enable", [False, True])
def test_early_stop_is_decided_where_the_forward_runs(enable):
    ends = []

    def function(x):
        y = x.exp()
        ends.append(1)
        return y

    with set_checkpoint_early_stop(enable):
        y = checkpoint(function, leaf(1), early_stop=not enable)
    y.backward()
    assert len(ends) == (1 if enable else 2)
    with set_checkpoint_early_stop(not enable), set_checkpoint_early_stop(None):
        y = checkpoint(function, leaf(1), early_stop=enable)
    y.backward()
    assert len(ends) == (2 if enable else 4)


@BOTH
def test_without_grad_mode_the_function_just_runs(use_reentrant):
    function = Counted(lambda x: x.exp())
    x = leaf(0)
    with rg.no_grad():
        y = module.checkpoint(function, x, use_reentrant=use_reentrant)
    assert (function.calls, y.requires_grad, y.tolist()) == (1, False, [1])


def test_inference_mode_just_runs_the_function_too():
    with rg.inference_mode():
        y = checkpoint(lambda x: x.exp(), leaf(0))
    assert y.is_inference()


def test_blocks_without_grad_inside_the_function_stay_so():
    def function(x):
        with rg.no_grad():
            constant = x.exp()
        return constant * x.sin()

    x = leaf(0.5)
    checkpoint(function, x).backward()
    assert x.grad.item() == pytest.approx(np.exp(0.5) * np.cos(0.5))


def test_a_pass_started_under_no_grad_records_what_it_runs_again():
    x = leaf(1, 2)
    y = checkpoint(lambda x: x.sin().exp(), x).sum()
    with rg.no_grad():
        y.backward()
    assert x.grad.tolist() == pytest.approx((np.exp(np.sin([1, 2])) * np.cos([1, 2])).tolist())


# -- random numbers ----------------------------------------------------------------------------


@BOTH
def test_the_same_random_numbers_are_drawn_again(use_reentrant):
    x = leaf(*range(1, 50))
    y = module.checkpoint(
        lambda x: nn.functional.dropout(x, 0.5) * x, x, use_reentrant=use_reentrant
    )
    rg.rand(5)
    y.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), 2 * y.detach().numpy() / x.detach().numpy())


@BOTH
def test_the_stream_outside_goes_on_as_if_nothing_had_run_again(use_reentrant):
    x = leaf(1, 2)
    y = module.checkpoint(lambda x: (x * rg.rand(2)).exp(), x, use_reentrant=use_reentrant).sum()
    state = rg.get_rng_state()
    y.backward()
    assert bool((state == rg.get_rng_state()).all())


@BOTH
def test_without_preserving_the_state_other_numbers_are_drawn(use_reentrant):
    x, drawn = leaf(1, 2), []

    def function(x):
        drawn.append(rg.rand(2, dtype=F64))
        return x * drawn[-1]

    module.checkpoint(
        function, x, use_reentrant=use_reentrant, preserve_rng_state=False
    ).sum().backward()
    assert drawn[0].tolist() != drawn[1].tolist()
    assert x.grad.tolist() == drawn[1].tolist()


# -- nesting -----------------------------------------------------------------------------------


def test_checkpoints_nest_to_any_depth():
    def nested(x, depth):
        if depth == 0:
            return x.sin() * x.exp()
        return checkpoint(nested, x, depth - 1).tanh() * x

    def plain(x, depth):
        return x.sin() * x.exp() if depth == 0 else plain(x, depth - 1).tanh() * x

    x = leaf(0.3, 0.7)
    for depth in (1, 2, 4):
        expected = grads_of(partial(plain, depth=depth), x)
        found = grads_of(lambda x, depth=depth: checkpoint(nested, x, depth), x)
        np.testing.assert_array_equal(expected, found)


def test_second_derivatives_of_nested_checkpoints():
    def outer(x):
        return checkpoint(lambda x: x.sin().exp(), x * 2).cos()

    x = leaf(0.3, 0.7)
    assert autograd.gradgradcheck(lambda x: checkpoint(outer, x), (x,))


def test_an_inner_checkpoint_runs_the_outer_one_first_and_its_values_are_not_kept():
    inner, outer = Counted(lambda x: x.sin().exp()), Counted(lambda x: checkpoint(inner, x * x))
    x = leaf(1, 2)
    y = checkpoint(outer, x)
    assert (inner.calls, outer.calls) == (1, 1)
    y.sum().backward()
    assert outer.calls == 2
    v = np.array([1.0, 2.0])
    np.testing.assert_allclose(x.grad.numpy(), 2 * v * np.cos(v * v) * np.exp(np.sin(v * v)))


@pytest.mark.parametrize("early_stop", [True, False])
@pytest.mark.parametrize("retain_graph", [True, False])
def test_a_backward_pass_inside_the_function(early_stop, retain_graph):
    def function(x):
        y = x.sin()
        z = y.cos()
        (gx,) = autograd.grad(z.sum(), x, retain_graph=retain_graph)
        return (x.cos() * gx, z) if retain_graph else (x.cos() * gx,)

    x = leaf(0.3, 0.7)
    sum(t.sum() for t in function(x)).backward()
    expected, x.grad = x.grad, None
    sum(t.sum() for t in checkpoint(function, x, early_stop=early_stop)).backward()
    np.testing.assert_allclose(x.grad.numpy(), expected.numpy())


def test_reentrant_inside_plain_and_plain_inside_reentrant():
    x = leaf(0.3, 0.7)
    expected = grads_of(lambda x: (x.sin().exp() * x).cos(), x)

    def with_inner(inner_reentrant):
        def function(x):
            y = module.checkpoint(lambda x: x.sin().exp(), x, use_reentrant=inner_reentrant)
            return (y * x).cos()

        return function

    for outer, inner in ((False, True), (True, False), (True, True)):
        found = grads_of(
            lambda x, o=outer, i=inner: module.checkpoint(with_inner(i), x, use_reentrant=o), x
        )
        np.testing.assert_array_equal(expected, found)


def test_hooks_around_a_checkpoint_see_its_arguments_only():
    seen = []
    x = leaf(1, 2)
    with autograd.graph.saved_tensors_hooks(lambda t: (seen.append(t.tolist()), t)[1], lambda t: t):
        y = checkpoint(lambda x: x.sin().exp(), x * 2)
    assert seen == [[2, 4]]
    y.sum().backward()
    z = 2 * x.detach()
    assert x.grad.allclose(2 * z.cos() * z.sin().exp())


def test_disabled_hooks_refuse_a_checkpoint():
    with (
        autograd.graph.disable_saved_tensors_hooks("no hooks here"),
        pytest.raises(RuntimeError, match="no hooks here"),
    ):
        checkpoint(lambda x: x.exp(), leaf(1))


# -- errors ------------------------------------------------------------------------------------


class Alternating:
    """Runs the first function, then the second."""

    def __init__(self, first, second):
        self.functions = iter([first, second])

    def __call__(self, x):
        return next(self.functions)(x)


def failing(first, second, **kwargs):
    x = leaf(1, 2)
    y = checkpoint(Alternating(first, second), x, **kwargs).sum()
    with pytest.raises(CheckpointError) as caught:
        y.backward()
    return str(caught.value)


def test_fewer_saved_tensors_raise_and_the_first_missing_op_is_named():
    text = failing(lambda x: x.sin().exp().cos(), lambda x: x.sin().exp())
    assert "A different number of tensors was saved during the original forward and" in text
    assert "Number of tensors saved during forward: 3" in text
    assert "Number of tensors saved during recomputation: 2" in text
    assert "at position 2: `cos` with shape [2] in the forward pass, none in the recomp" in text


def test_more_saved_tensors_raise_if_the_run_again_gets_there():
    def more(x):
        return x.sin().exp().cos()

    text = failing(lambda x: x.sin().exp(), more, early_stop=False)
    assert "trying to save more tensors during recomputation than during the original" in text
    assert "at position 2: none in the forward pass, `cos`" in text
    x = leaf(1, 2)
    checkpoint(Alternating(lambda x: x.sin().exp(), more), x).sum().backward()
    assert x.grad.allclose(x.cos() * x.sin().exp())


def test_another_shape_raises_with_both_shapes_and_the_position():
    text = failing(lambda x: x.sin().exp(), lambda x: x.sin()[:1].exp())
    assert "have different metadata than during the forward pass" in text
    assert "tensor at position 1:\nsaved metadata: {'shape': retrograd.Size([2])" in text
    assert "recomputed metadata: {'shape': retrograd.Size([1])" in text
    assert "position 1: `exp` with shape [2] in the forward pass, `exp` with shape [1]" in text


def test_another_dtype_raises_with_both_dtypes():
    text = failing(lambda x: x.sin().exp(), lambda x: x.float().sin().exp().double())
    assert "'dtype': retrograd.float64" in text
    assert "'dtype': retrograd.float32" in text


def test_another_op_with_the_same_shape_raises_and_is_named():
    text = failing(lambda x: x.sin().exp(), lambda x: x.cos().exp())
    assert "position 0: `sin` with shape [2] in the forward pass, `cos` with shape [2]" in text
    assert "debug=True" in text


def test_the_check_may_be_switched_off_but_not_the_count():
    x = leaf(1, 2)
    function = Alternating(lambda x: x.sin().exp(), lambda x: x.cos().exp())
    checkpoint(function, x, determinism_check="none").sum().backward()
    assert x.grad.allclose(
        x.cos() * x.cos().exp()
    )  # sin's derivative, and what the second run saved
    text = failing(lambda x: x.sin().exp(), lambda x: x.sin(), determinism_check="none")
    assert "A different number of tensors was saved" in text


@pytest.mark.parametrize("by_context", [False, True])
def test_debug_lists_the_ops_of_both_runs_with_their_traces(by_context):
    context = set_checkpoint_debug_enabled(True) if by_context else contextlib.nullcontext()
    with context:
        x = leaf(1, 2)
        function = Alternating(lambda x: x.sin().exp(), lambda x: x.cos().exp())
        y = checkpoint(function, x, debug=not by_context).sum()
    with pytest.raises(CheckpointError) as caught:
        y.backward()
    text = str(caught.value)
    forward, again = text.split("Operations executed during the original forward:")[1].split(
        "Operations executed during recomputation:"
    )
    assert forward.split() == ["sin([2])", "exp([2])"]
    assert again.split()[:2] == ["cos([2])", "exp([2])"]
    assert "sin([2])   (1 of 2 in original)" in text
    assert __file__ in text
    assert isinstance(caught.value.__cause__, CheckpointError)


def test_debug_may_be_overridden_by_its_context():
    x = leaf(1, 2)
    with set_checkpoint_debug_enabled(False):
        y = checkpoint(Alternating(rg.sin, rg.cos), x, debug=True).sum()
    with pytest.raises(CheckpointError, match="different metadata"):
        y.backward()


def test_a_written_argument_raises_the_version_error():
    x = leaf(1, 2)
    y = x * 1
    z = checkpoint(lambda y: y.sin(), y).sum()
    y.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.backward()


def test_unknown_checks_and_misplaced_keywords_raise():
    x = leaf(1)
    with pytest.raises(ValueError, match="determinism_check should be one of"):
        checkpoint(rg.exp, x, determinism_check="strict")
    with pytest.raises(ValueError, match="Unexpected keyword arguments: scale"):
        module.checkpoint(rg.exp, x, use_reentrant=True, scale=2)
    for keyword in ({"debug": True}, {"context_fn": lambda: None}):
        with pytest.raises(ValueError, match="only supported when use_reentrant=False"):
            module.checkpoint(rg.exp, x, use_reentrant=True, **keyword)
    with pytest.raises(ValueError, match="debug=True is incompatible with non-default context_fn"):
        checkpoint(rg.exp, x, debug=True, context_fn=lambda: None)
    with pytest.raises(ValueError, match="Unexpected keyword arguments: early_stop"):
        checkpoint_sequential([rg.exp], 1, x, use_reentrant=False, early_stop=True)


def test_leaving_use_reentrant_out_warns_and_means_true():
    x = leaf(0)
    with pytest.warns(UserWarning, match="use_reentrant parameter should be passed explicitly"):
        y = module.checkpoint(rg.exp, x)
    assert y.grad_fn.name() == "CheckpointFunctionBackward"
    with pytest.warns(UserWarning, match="checkpoint_sequential: the use_reentrant parameter"):
        checkpoint_sequential([rg.exp, rg.sin], 2, x)


def test_an_error_of_the_function_passes_through_both_times():
    def raising(x):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        checkpoint(raising, leaf(1))
    y = checkpoint(Alternating(lambda x: x.exp(), raising), leaf(1))
    with pytest.raises(KeyError, match="mine"):
        y.backward()


def test_a_context_that_hides_the_error_of_the_forward_is_refused():
    def raising(x):
        raise KeyError("mine")

    contexts = lambda: (contextlib.suppress(KeyError), contextlib.nullcontext())
    with pytest.raises(RuntimeError, match="suppressed an exception"):
        checkpoint(raising, leaf(1), context_fn=contexts)


def test_the_contexts_surround_the_two_runs():
    seen = []

    @contextlib.contextmanager
    def context(name):
        seen.append(name)
        yield
        seen.append("end of " + name)

    x = leaf(1)
    function = lambda x: (seen.append("function"), x + x * x)[1]
    y = checkpoint(
        function, x, context_fn=lambda: (context("first"), context("second")), early_stop=False
    )
    y.backward()
    assert seen == ["first", "function", "end of first", "second", "function", "end of second"]


# -- the re-entrant kind -----------------------------------------------------------------------


def test_reentrant_warns_if_no_argument_requires_grad():
    w = leaf(1, 2)
    with pytest.warns(UserWarning, match="None of the inputs have requires_grad=True"):
        y = module.checkpoint(lambda x: x * w, rg.ones(2, dtype=F64), use_reentrant=True)
    assert not y.requires_grad
    with pytest.warns(UserWarning, match="None of the inputs have requires_grad=True"):
        check_backward_validity([1, rg.ones(1)])


def test_reentrant_refuses_grad_and_inputs():
    x = leaf(1, 2)
    text = r"incompatible with \.grad\(\) or passing an `inputs` parameter to \.backward\(\)"
    y = module.checkpoint(rg.exp, x, use_reentrant=True).sum()
    with pytest.raises(RuntimeError, match=text):
        autograd.grad(y, x, retain_graph=True)
    with pytest.raises(RuntimeError, match=text):
        y.backward(inputs=[x])


def test_reentrant_says_if_no_output_requires_grad_when_it_runs_again():
    x = leaf(1, 2)
    y = module.checkpoint(lambda x: x.detach() * 2, x, use_reentrant=True).sum()
    with pytest.raises(RuntimeError, match="none of output has requires_grad=True"):
        y.backward()


def test_detached_variables_are_leaves_that_require_grad_where_the_tensors_do():
    x = leaf(1) * 2
    detached, plain, number = detach_variable((x, rg.arange(2), 3))
    assert detached.is_leaf
    assert detached.requires_grad
    assert not plain.requires_grad
    assert number == 3
    with pytest.raises(RuntimeError, match="Only tuple of tensors is supported"):
        detach_variable([x])


# -- sequences ---------------------------------------------------------------------------------


@BOTH
@pytest.mark.parametrize("segments", [1, 2, 3, 5])
def test_a_sequence_in_segments_gives_the_same_gradients(use_reentrant, segments):
    net = nn.Sequential(*[nn.Linear(3, 3) if i % 2 else nn.Tanh() for i in range(5)])
    x = rg.rand(2, 3, requires_grad=True)
    net(x).sum().backward()
    expected = [p.grad.numpy().copy() for p in net.parameters()]
    net.zero_grad()
    checkpoint_sequential(net, segments, x, use_reentrant=use_reentrant).sum().backward()
    for a, p in zip(expected, net.parameters(), strict=True):
        np.testing.assert_array_equal(a, p.grad.numpy())


def test_all_segments_but_the_last_run_again():
    functions = [Counted(rg.sin), Counted(rg.cos), Counted(rg.exp), Counted(rg.tanh)]
    x = leaf(1, 2)
    checkpoint_sequential(functions, 2, x, use_reentrant=False).sum().backward()
    assert [f.calls for f in functions] == [2, 2, 1, 1]


# -- selective policies ------------------------------------------------------------------------


def keeping(*ops, **options):
    return partial(create_selective_checkpoint_contexts, list(ops), **options)


def forwards_of(op_name, calls):
    """A watcher that notes each time the forward of an op really runs."""

    class Noting(Watcher):
        def compute(self, op, arrays, params, proceed):
            if op.name == op_name:
                calls.append(op.name)
            return proceed(arrays, params)

    return Noting()


def test_a_listed_op_is_not_computed_again():
    x = leaf(0.3, 0.7)
    for kept, expected in (((), 2), ((rg.exp,), 1), (("exp",), 1), (("sin",), 2)):
        calls = []
        with forwards_of("exp", calls):
            y = checkpoint(lambda x: x.sin().exp().cos(), x, context_fn=keeping(*kept))
            (dx,) = autograd.grad(y.sum(), x)
        assert len(calls) == expected
        np.testing.assert_allclose(
            dx.numpy(), grads_of(lambda x: x.sin().exp().cos(), leaf(0.3, 0.7))[0]
        )


def test_public_functions_methods_and_composed_names_select_their_op():
    a = square()
    calls = []
    name = (a @ a).grad_fn.op.name
    with forwards_of(name, calls):
        y = checkpoint(lambda a: (a @ a).tanh(), a, context_fn=keeping(name))
        y.sum().backward()
    assert calls == [name]
    np.testing.assert_array_equal(a.grad.numpy(), grads_of(lambda a: (a @ a).tanh(), a)[0])


def test_a_policy_sees_each_call_once_with_its_arguments_and_result():
    seen = []

    def policy(ctx, op, *args, **kwargs):
        assert ctx.is_recompute is False
        assert not rg.is_grad_enabled()
        assert not any(isinstance(a, rg.Tensor) and a.requires_grad for a in args)
        seen.append((op, [tuple(a.shape) for a in args], kwargs, tuple(ctx.op_output.shape)))
        return CheckpointPolicy.PREFER_RECOMPUTE

    x = leaf(1, 2)
    y = checkpoint(
        lambda x: x.exp().cumsum(0),
        x,
        context_fn=partial(create_selective_checkpoint_contexts, policy),
    )
    y.sum().backward()
    assert seen == [
        (rg.exp, [(2,)], {}, (2,)),
        (rg.cumsum, [(2,)], {"dim": 0, "reverse": False}, (2,)),
    ]


@pytest.mark.parametrize("policy", [*CheckpointPolicy, True, False])
def test_every_policy_gives_the_same_gradients(policy):
    def function(x, w):
        y = (x @ w).tanh()
        return (y * y.sin())[1:].t() / (1 + y.sum(0, keepdim=True).std() ** 2)

    x, w = square(), square()
    expected = grads_of(function, x, w)
    contexts = partial(create_selective_checkpoint_contexts, lambda *args, **kwargs: policy)
    found = grads_of(lambda x, w: checkpoint(function, x, w, context_fn=contexts), x, w)
    np.testing.assert_array_equal(expected, found)


def test_ops_with_several_outputs_may_be_kept():
    x = leaf(3, 1, 2)

    def function(x):
        values, order = x.sort()
        return values.exp() * order

    expected = grads_of(function, x)
    calls = []
    with forwards_of("sort", calls):
        found = grads_of(lambda x: checkpoint(function, x, context_fn=keeping(rg.sort)), x)
    assert calls == ["sort"]
    np.testing.assert_array_equal(expected, found)


def test_views_are_ignored():
    assert {rg.transpose, rg.as_strided, rg.split, rg.unbind} <= SAC_IGNORED_OPS
    seen = []

    def policy(ctx, op, *args, **kwargs):
        seen.append(op.__name__)
        return CheckpointPolicy.MUST_SAVE

    x = square()
    function = lambda x: (x.t()[1:].reshape(-1) * 2).exp()
    expected = grads_of(function, x)
    contexts = partial(create_selective_checkpoint_contexts, policy)
    found = grads_of(lambda x: checkpoint(function, x, context_fn=contexts), x)
    np.testing.assert_array_equal(expected, found)
    assert [name for name in seen if name != "reshape"] == ["mul", "exp"]


def test_policies_work_in_nested_checkpoints():
    contexts = keeping(rg.exp)

    def outer(x):
        return checkpoint(lambda x: x.sin().exp(), x * 2, context_fn=contexts).exp().cos()

    x = leaf(0.3, 0.7)
    expected = grads_of(lambda x: (x * 2).sin().exp().exp().cos(), x)
    found = grads_of(lambda x: checkpoint(outer, x, context_fn=contexts), x)
    np.testing.assert_allclose(expected, found)


def test_a_pass_inside_the_function_does_not_confuse_the_stored_calls():
    def function(x):
        y = x.exp()
        (g,) = autograd.grad(y.sum(), x)
        return (g * x).exp().sin()

    x = leaf(0.3, 0.7)
    expected = grads_of(function, x)
    found = grads_of(lambda x: checkpoint(function, x, context_fn=keeping(rg.sin, rg.mul)), x)
    np.testing.assert_allclose(expected, found)
    y = checkpoint(function, x, context_fn=keeping(rg.exp))  # the pass inside used the first exp
    with pytest.raises(RuntimeError, match="Trying to backward an extra time"):
        y.sum().backward()


def test_a_second_pass_over_a_selective_checkpoint_raises():
    y = checkpoint(lambda x: x.sin().exp(), leaf(1), context_fn=keeping(rg.exp))
    y.backward(retain_graph=True)
    with pytest.raises(RuntimeError, match="Trying to backward an extra time"):
        y.backward()


def test_a_stored_result_that_was_written_raises_unless_allowed():
    def function(x):
        y = x.sin()
        z = y + 1
        y.add_(1)
        return z.exp()

    y = checkpoint(function, leaf(1), context_fn=keeping(rg.sin))
    with pytest.raises(RuntimeError, match="cached during selective activation checkpoint has"):
        y.backward()
    contexts = keeping(rg.sin, allow_cache_entry_mutation=True)
    checkpoint(function, leaf(1), context_fn=contexts).backward()


def test_an_op_that_only_runs_the_second_time_is_found_out():
    function = Alternating(lambda x: x.exp(), lambda x: x.cos().exp())
    y = checkpoint(function, leaf(1), context_fn=keeping(rg.exp))
    with pytest.raises(RuntimeError, match=r"cos .*encountered during backward but not found"):
        y.backward()


def test_policies_that_are_none_raise():
    with pytest.raises(ValueError, match="Expected op in `op_list`"):
        create_selective_checkpoint_contexts(["no_such_op"])
    with pytest.raises(ValueError, match="Expected op in `op_list`"):
        create_selective_checkpoint_contexts([3])
    with pytest.raises(TypeError, match="either a function or a list of ops"):
        create_selective_checkpoint_contexts(3)


# -- groups of passes --------------------------------------------------------------------------


def test_passes_in_a_group_run_the_function_again_once():
    function = Counted(lambda x, w: (x.exp(), w.sin().exp()))
    x, w = leaf(1), leaf(2)
    a, b = checkpoint(function, x, w)
    with GraphExecGroup():
        a.backward()
        b.backward()
    assert function.calls == 2
    assert x.grad.item() == pytest.approx(np.exp(1))
    assert w.grad.item() == pytest.approx(np.exp(np.sin(2)) * np.cos(2))


def test_passes_in_a_group_must_not_overlap_and_groups_must_not_nest():
    y = checkpoint(lambda x: x.exp(), leaf(1))
    with GraphExecGroup():
        y.backward(retain_graph=True)
        with pytest.raises(CheckpointError, match="Performing two backward calls that overlap"):
            y.backward(retain_graph=True)
        with pytest.raises(RuntimeError, match="GraphExecGroup contexts cannot be nested"):
            GraphExecGroup().__enter__()
    y.backward()


# -- threads -----------------------------------------------------------------------------------


def in_threads(count, work):
    errors = []

    def guarded(index):
        try:
            work(index)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors, errors


def test_checkpoints_work_in_several_threads_at_once():
    v = np.array([0.3, 0.7])
    expected = np.exp(np.sin(2 * v)) * np.cos(2 * v) * 2

    def work(index):
        for _ in range(20):
            x = leaf(*v)
            y = checkpoint(lambda x: checkpoint(lambda x: x.sin().exp(), x * 2), x)
            y.sum().backward()
            np.testing.assert_allclose(x.grad.numpy(), expected)

    in_threads(4, work)


def test_several_threads_may_go_back_through_one_checkpoint():
    x = leaf(0.3, 0.7)
    y = checkpoint(lambda x: x.sin().exp().cos(), x)
    (expected,) = autograd.grad(y.sum(), x, retain_graph=True)
    found = [None] * 4

    def work(index):
        for _ in range(20):
            (found[index],) = autograd.grad(y.sum(), x, retain_graph=True)

    in_threads(4, work)
    for g in found:
        assert g.tolist() == expected.tolist()


def test_selective_checkpoints_work_in_several_threads_at_once():
    def work(index):
        for _ in range(10):
            x = leaf(0.3, 0.7)
            y = checkpoint(lambda x: x.sin().exp(), x, context_fn=keeping(rg.sin))
            y.sum().backward()
            v = x.detach().numpy()
            np.testing.assert_allclose(x.grad.numpy(), np.exp(np.sin(v)) * np.cos(v))

    in_threads(4, work)


# -- memory ------------------------------------------------------------------------------------


def nodes_of(root):
    found = [root.grad_fn]
    for node in found:
        found += [n for n, _ in node.next_functions if n is not None and n not in found]
    return [node for node in found if node.name() != "torch::autograd::AccumulateGrad"]


def test_activations_are_not_kept_by_the_forward(no_collector):
    refs = []

    def function(x):
        y = x.sin()
        refs.append(weakref.ref(y._array))
        return y.exp() * y

    y = checkpoint(function, leaf(1, 2))
    assert refs[0]() is None
    y.sum().backward(retain_graph=True)
    assert all(ref() is None for ref in refs)


def remembered(*objects):
    return [weakref.ref(each) for each in objects]


class Marked:
    """A function that can be watched."""

    def __call__(self, x):
        return x.sin().exp() * x


@pytest.mark.parametrize("use_reentrant", [False, True])
@pytest.mark.parametrize("ran", [False, True])
def test_everything_is_freed_by_reference_counts(no_collector, use_reentrant, ran):
    x, function = leaf(1, 2) * 1, Marked()
    y = module.checkpoint(function, x, use_reentrant=use_reentrant)
    refs = remembered(function, *nodes_of(y), x, y)
    if ran:
        y.sum().backward()
    del x, y, function
    assert [ref() for ref in refs] == [None] * len(refs)


def test_nested_selective_and_failed_checkpoints_are_freed(no_collector):
    def outer(x):
        return checkpoint(Marked(), x * 2, context_fn=keeping(rg.exp)).cos()

    x = leaf(1, 2) * 1
    y = checkpoint(outer, x, context_fn=keeping(rg.sin))
    (dx,) = autograd.grad(y.sum(), x)
    refs = remembered(*nodes_of(y), x, y)
    del y, x, dx
    assert [ref() for ref in refs] == [None] * len(refs)

    x = leaf(1, 2) * 1
    function = Alternating(lambda x: x.sin().exp(), lambda x: x.cos().exp())
    y = checkpoint(function, x, debug=True)
    refs = remembered(*nodes_of(y), x, y)
    with contextlib.suppress(CheckpointError):
        y.sum().backward()
    del y, x, function
    assert [ref() for ref in refs] == [None] * len(refs)


def test_double_backward_graphs_are_freed(no_collector):
    x = leaf(1, 2)
    y = checkpoint(Marked(), x)
    (dx,) = autograd.grad(y.sum(), x, create_graph=True)
    refs = remembered(*nodes_of(y), *nodes_of(dx))
    dx.sum().backward()
    del y, dx
    x.grad = None
    assert [ref() for ref in refs] == [None] * len(refs)


def test_a_stopped_run_again_leaves_nothing_behind(no_collector):
    refs = []

    def function(x):
        y = x.sin()
        z = y.exp()
        refs.extend(remembered(y, y._array, z))
        return z * y

    y = checkpoint(function, leaf(1, 2)).sum()
    for _ in range(2):
        y.backward(retain_graph=True)
    assert len(refs) >= 6
    assert [ref() for ref in refs] == [None] * len(refs)


def test_values_that_a_partial_pass_did_not_read_die_with_the_graph(no_collector):
    refs = []

    def function(x, w):
        a = w.sin()
        refs.append(weakref.ref(a._array))
        return x.exp(), a.exp().cos()

    x, w = leaf(1), leaf(2)
    a, b = checkpoint(function, x, w)
    a.backward()
    del a, b
    assert [ref() for ref in refs] == [None] * len(refs)


def test_no_warning_is_raised_by_a_correct_program():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        x = leaf(1, 2)
        checkpoint(Marked(), x).sum().backward()
    assert x.grad.allclose(x.sin().exp() * (1 + x * x.cos()))


def test_the_function_class_may_be_applied_directly():
    x = leaf(1, 2)
    y = CheckpointFunction.apply(Marked(), True, x)
    assert y.grad_fn.name() == "CheckpointFunctionBackward"
    y.sum().backward()
    assert x.grad.allclose(x.sin().exp() * (1 + x * x.cos()))


@pytest.mark.parametrize("write", [lambda y: y.mul_(2), lambda y: y.detach().zero_(), rg.Tensor.t_])
def test_a_recomputed_value_that_the_function_overwrites_is_refused(write):
    def function(x):
        y = x.exp()
        z = y * x
        write(y)
        return z.sum() + (y * y).sum()

    x = rg.ones(2, 3, requires_grad=True)
    with pytest.raises(rg.errors.VersionError, match="modified by an inplace operation"):
        function(x).backward()
    with pytest.raises(rg.errors.VersionError, match="modified by an inplace operation"):
        checkpoint(function, x, use_reentrant=False).backward()


def transposed(x):
    """What forward mode differentiates by transposing formulas, partly."""
    return (x.sin() * x).cumsum(0).softmax(0)


def test_forward_mode_goes_through_a_checkpoint():
    x, t = rg.tensor([[0.0, 1.0], [2.0, 3.0]]), rg.tensor([[1.0, 2.0], [3.0, 4.0]])
    again = partial(checkpoint, transposed)
    value, tangent = func.jvp(again, (x,), (t,))
    assert value.tolist() == transposed(x).tolist()
    expected = [[-0.0277476, 2.7057933], [0.0277476, -2.7057933]]
    rg.testing.assert_close(tangent, rg.tensor(expected), rtol=1e-5, atol=1e-7)
    assert func.jacfwd(again)(x).tolist() == func.jacfwd(transposed)(x).tolist()


def test_forward_over_reverse_and_over_forward_mode_go_through_a_checkpoint():
    x, t = rg.tensor([[0.0, 1.0], [2.0, 3.0]]), rg.tensor([[1.0, 2.0], [3.0, 4.0]])
    again = partial(checkpoint, transposed)
    for twice in (
        lambda f: func.jvp(func.grad(lambda x: f(x).square().sum()), (x,), (t,))[1],
        lambda f: func.jvp(lambda x: func.jvp(f, (x,), (t,))[1], (x,), (t,))[1],
    ):
        assert twice(again).tolist() == twice(transposed).tolist()


def test_pack_hooks_do_not_see_what_forward_mode_records_and_reads_at_once():
    seen = []
    hooks = autograd.graph.saved_tensors_hooks(lambda t: seen.append(t.shape), lambda t: None)
    x = rg.tensor([1.0, 2.0])
    with hooks:
        func.jvp(lambda x: x.softmax(0), (x,), (x,))
    assert seen == []
