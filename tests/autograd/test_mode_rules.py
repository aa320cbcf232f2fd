"""Inference mode, grad mode, anomaly mode and threads, rule by rule.

Every test here also passes with `torch` in place of `retrograd`, but where it says otherwise.
"""

from __future__ import annotations

import threading
import warnings

import pytest

import retrograd as rg
from retrograd import autograd
from retrograd.autograd import graph
from retrograd.autograd.function import Function


def leaf(*values):
    return rg.tensor(list(values), dtype=rg.float64, requires_grad=True)


def run_threads(body, count=10, args=()):
    """Run `body` in threads; raise the first error."""
    errors = []

    def guarded():
        try:
            body(*args)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=guarded) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def test_tensors_made_in_inference_mode_are_inference_tensors():
    with rg.inference_mode():
        c = rg.ones(1, 2, 3)
        assert not c.requires_grad
        assert c.is_inference()
        t = rg.ones(1, requires_grad=True)
        assert t.requires_grad
        assert t.is_inference()
        assert (t * 1).is_inference()
        assert not (t * 1).requires_grad
    assert c.is_inference()


def test_inference_tensors_do_not_say_that_they_are_views():
    with rg.inference_mode():
        inside = rg.ones(2, 3)
        views = [inside.view(-1), inside[0]]
    for view in (*views, inside.view(-1)):
        assert view.is_inference()
        assert not view._is_view()
        assert view._base is None


def test_normal_tensors_stay_normal_in_inference_mode():
    s = rg.ones(1, 2, 3)
    s.requires_grad_()
    a = s.clone()
    s2 = rg.ones(2)
    with rg.inference_mode():
        a * s
        o = a + 1
        assert o.is_inference()
        v = s.view(2, 3)
        assert not v.is_inference()
        s2.add_(2)
        assert not s2.is_inference()
        w = s2.view(1, 2)
        w.mul_(2)
        assert not w.is_inference()
    assert v._is_view()


def test_what_inference_tensors_may_do_outside():
    with rg.inference_mode():
        i = rg.ones(1, 2, 3)
    o = i + 1
    assert not o.requires_grad
    assert o.is_inference() is False
    n = rg.ones(1, 2, 3, requires_grad=True)
    with pytest.raises(RuntimeError, match=r"Inference tensors cannot be saved for backward."):
        i * n
    r = i + n
    r.sum().backward()
    with pytest.raises(
        RuntimeError, match="Inplace update to inference tensor outside InferenceMode"
    ):
        i.add_(1)
    v = i.view(6)
    assert v.is_inference()
    with pytest.raises(
        RuntimeError, match="Setting requires_grad=True on inference tensor outside InferenceMode"
    ):
        i.requires_grad_()
    with pytest.raises(RuntimeError, match="Inference tensors do not track version counter"):
        i._version
    with pytest.raises(
        RuntimeError, match="Inplace update to inference tensor outside InferenceMode"
    ):
        i.copy_(rg.ones(1))


def test_normal_tensors_may_be_written_with_inference_tensors():
    with rg.inference_mode():
        i = rg.ones(2)
    x = rg.ones(2, requires_grad=True)
    a = x.clone()
    a.add_(i)
    a.sum().backward()
    assert (a.tolist(), x.grad.tolist()) == ([2, 2], [1, 1])
    b = rg.full((2,), 3.0)
    b.mul_(i)
    assert (b.tolist(), b._version) == ([3, 3], 1)


def test_leaves_may_be_written_in_inference_mode():
    a = rg.ones(2, requires_grad=True).clone()
    with rg.inference_mode():
        a.add_(1)
    assert a.requires_grad
    assert not a.is_inference()
    x = rg.ones(2, requires_grad=True)
    with rg.inference_mode():
        x.add_(1)
    assert x._version == 1


def test_views_made_in_inference_mode_are_not_written_outside():
    a = rg.ones(2, requires_grad=True).clone()
    with rg.inference_mode():
        v = a.view(2, 1)
    assert not v.is_inference()
    with pytest.raises(
        RuntimeError, match="A view was created in inference mode and is being modified inplace"
    ):
        v.add_(1)
    s = v.view(-1)
    with pytest.raises(RuntimeError, match=r"A view was created in inference mode|inference mode"):
        s.add_(1)


def test_a_clone_of_an_inference_tensor_is_normal():
    with rg.inference_mode():
        i = rg.ones(2)
    c = i.clone()
    assert not c.is_inference()
    c.requires_grad_()
    with rg.inference_mode():
        d = c.clone()
        assert d.is_inference()
        assert d.detach().is_inference()
    e = i.detach()
    assert e.is_inference()
    assert i.to(rg.float64).is_inference() is False


def test_an_inference_tensor_is_no_out_outside():
    a = rg.ones(2)
    with rg.inference_mode():
        i = rg.ones(2)
        rg.add(a, a, out=i)
    with pytest.raises(
        RuntimeError, match="Inplace update to inference tensor outside InferenceMode"
    ):
        rg.add(a, a, out=i)


def test_enable_grad_changes_nothing_in_inference_mode():
    with rg.inference_mode():
        with rg.enable_grad():
            x = rg.ones(1, requires_grad=True)
            y = x * 2
            assert not y.requires_grad
        assert not rg.is_grad_enabled()


def test_inference_mode_can_be_entered_by_calls():
    g = autograd.grad_mode
    m = g._enter_inference_mode(True)
    assert rg.is_inference_mode_enabled()
    g._exit_inference_mode(m)
    assert not rg.is_inference_mode_enabled()


def test_the_multithreading_flag_is_kept():
    A = autograd
    before = A.is_multithreading_enabled()
    assert before is True
    with A.set_multithreading_enabled(False):
        assert A.is_multithreading_enabled() is False
    assert A.is_multithreading_enabled()
    A.set_multithreading_enabled(False)
    assert A.is_multithreading_enabled() is False
    A.set_multithreading_enabled(True)


def test_nan_is_checked_only_if_asked_for():
    class F(Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            return g * float("nan")

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with autograd.detect_anomaly(check_nan=False):
            assert not rg.is_anomaly_check_nan_enabled()
            F.apply(leaf(1)).backward()
    x = leaf(1)
    with autograd.set_detect_anomaly(True, check_nan=False):
        F.apply(x).backward()
    assert not rg.is_anomaly_enabled()
    autograd.set_detect_anomaly(True)
    assert rg.is_anomaly_enabled()
    assert rg.is_anomaly_check_nan_enabled()
    autograd.set_detect_anomaly(False)
    assert not rg.is_anomaly_enabled()


def test_anomaly_mode_names_the_pass_that_recorded_a_node():
    class F(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return G.apply(x, g)

    class G(Function):
        @staticmethod
        def forward(ctx, x, g):
            return g * 2

        @staticmethod
        def backward(ctx, g):
            raise RuntimeError("inner failure")

    with warnings.catch_warnings(record=True) as w:
        warnings.simplefilter("always")
        with autograd.detect_anomaly():
            x = leaf(1)
            y = F.apply(x)
            (g,) = autograd.grad(y.sum() * y.sum(), x, create_graph=True)
            with pytest.raises(RuntimeError, match="inner failure"):
                g.backward()
    texts = [str(e.message) for e in w]
    assert any("Error detected in GBackward" in t for t in texts), texts
    assert any("Previous calculation was induced by FBackward" in t for t in texts), texts


def test_threads_have_graphs_of_their_own():
    def f():
        x = rg.ones(5, 5, requires_grad=True)
        y = (x + 3) * (x + 4) * 0.5
        y.sum().backward()
        assert rg.allclose(x.grad, x + 3.5)

    run_threads(f)


def test_exceptions_leave_threads():
    class F(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            raise ValueError("in thread")

    def f():
        F.apply(leaf(1)).backward()

    with pytest.raises(ValueError, match="in thread"):
        run_threads(f, 1)


def test_threads_share_a_leaf():
    x = rg.ones(3, 3, requires_grad=True)

    def f(t):
        y = t * 2
        z = y * 4
        z.sum().backward()

    run_threads(f, 5, (x,))
    assert x.grad[0, 0].item() == 40


def test_hooks_on_saved_values_do_not_cross_threads():
    n = []

    def f():
        a = leaf(1)
        (a * a).backward()

    with graph.saved_tensors_hooks(lambda x: n.append(1) or x, lambda x: x):
        run_threads(f, 2)
    assert n == []


def test_the_hooks_of_a_graph_run_in_any_thread():
    n = []
    a = leaf(1)
    with graph.saved_tensors_hooks(lambda x: x, lambda x: n.append(threading.get_ident()) or x):
        y = a * a
    run_threads(lambda: y.backward(), 1)
    assert len(n) == 2


@pytest.mark.parametrize("mode", [rg.no_grad, rg.inference_mode])
def test_a_view_made_without_recording_is_a_leaf_like_its_base(mode):
    base = leaf(1, 2).clone()
    with mode():
        view = base.view(2, 1)
        parts = base.split(1)
        plain = rg.ones(2).view(2, 1)
    assert view.requires_grad
    assert view.is_leaf
    assert view.grad_fn is None
    assert all(part.requires_grad for part in parts)
    assert not plain.requires_grad
    (view * 3).sum().backward()
    assert view.grad.tolist() == [[3], [3]]
    base.mul_(2)
    with pytest.raises(RuntimeError, match="its base or another view of its base has been"):
        view.grad_fn


def test_a_function_that_returns_a_view_of_its_input_is_its_maker():
    class Column(Function):
        @staticmethod
        def forward(ctx, x):
            return x.view(-1, 1)

        @staticmethod
        def backward(ctx, g):
            return g.view(-1) * 5

    x = leaf(1, 2)
    y = Column.apply(x)
    assert y.grad_fn.name() == "ColumnBackward"
    y.sum().backward()
    assert x.grad.tolist() == [5, 5]


def test_inference_tensors_keep_their_shape_outside():
    with rg.inference_mode():
        made = rg.ones(2, 3)
    for write in (
        lambda: made.t_(),
        lambda: made.unsqueeze_(0),
        lambda: made.resize_(1, 2),
        lambda: made.set_(rg.ones(1)),
    ):
        with pytest.raises(RuntimeError, match="Inplace update to inference tensor outside"):
            write()
    assert made.shape == (2, 3)


def test_a_write_says_first_that_a_tensor_is_a_leaf():
    with rg.inference_mode():
        made = rg.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        made.add_(1)


def test_hooks_on_saved_values_are_functions():
    with pytest.raises(TypeError, match="incompatible function arguments"):
        graph.saved_tensors_hooks(1, 2).__enter__()
    (leaf(1) ** 2).backward()


def test_arrays_are_given_where_nothing_is_recorded():
    x = leaf(1, 2)
    for mode in (rg.no_grad, rg.inference_mode):
        with mode():
            assert x.numpy().tolist() == [1, 2]
            assert x[:1].numpy().tolist() == [1]
    with pytest.raises(RuntimeError, match=r"Can't call numpy\(\) on Tensor that requires grad"):
        x.numpy()


def test_a_parameter_on_the_memory_of_an_inference_tensor_is_one():
    with rg.inference_mode():
        data = rg.ones(2)
        assert rg.nn.Parameter(data).is_inference()
    assert rg.nn.Buffer(data).is_inference()
    with pytest.raises(RuntimeError, match="Setting requires_grad=True on inference tensor"):
        rg.nn.Parameter(data)


def test_a_parameter_made_in_inference_mode_of_a_normal_tensor_is_normal():
    data = rg.ones(2)
    with rg.inference_mode():
        made = rg.nn.Parameter(data)
    assert not made.is_inference()
    (made * 2).sum().backward()
    assert made.grad.tolist() == [2.0, 2.0]
