"""`backward`, `grad` and what tensors tell about their place in the graph, rule by rule.

Every test here also passes with `torch` in place of `retrograd`, but where it says otherwise.
"""

from __future__ import annotations

import gc
import warnings
import weakref

import pytest

import retrograd as rg
from retrograd import autograd
from retrograd.autograd import graph
from retrograd.autograd.function import Function


def leaf(*values):
    return rg.tensor(list(values), dtype=rg.float64, requires_grad=True)


def test_reading_the_gradient_that_no_pass_fills_warns():
    x = leaf(1)
    y = x * 2
    with pytest.warns(
        UserWarning,
        match=r"The .grad attribute of a Tensor that is not a leaf Tensor is being accessed",
    ):
        y.grad
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        y.retain_grad()
        y.grad
        x.grad
        rg.ones(1).grad


def test_unused_inputs_get_zeros_if_asked_for():
    x = leaf(2)
    y = leaf(3)
    g = autograd.grad(x * 2, [x, y], allow_unused=True, materialize_grads=True)
    assert g[1].item() == 0
    g = autograd.grad(x * 2, [x, y], materialize_grads=True)
    assert g[1].item() == 0
    with pytest.raises(ValueError, match="Expected allow_unused to be True or not passed when"):
        autograd.grad(x * 2, [x, y], allow_unused=False, materialize_grads=True)
    # second order
    x = leaf(0.5)
    leaf(1)
    b = 2 * x
    (g,) = autograd.grad(b, x, create_graph=True)
    assert not g.requires_grad
    (g,) = autograd.grad(b, x, create_graph=True, materialize_grads=True)


def test_edges_stand_for_outputs_and_inputs():
    x = leaf(3)
    y = x * x
    e = graph.get_gradient_edge(y)
    ex = graph.get_gradient_edge(x)
    z = y * 2
    gy, gx = autograd.grad(z.sum(), [e, ex], retain_graph=True)
    assert gy.item() == 2
    assert gx.item() == 12
    ez = graph.get_gradient_edge(z)
    (g,) = autograd.grad(ez, x, grad_outputs=rg.ones(1, dtype=rg.float64), retain_graph=True)
    assert g.item() == 12
    (g,) = autograd.grad((ez,), x, grad_outputs=(rg.ones(1, dtype=rg.float64),), retain_graph=True)
    autograd.backward(ez, rg.ones(1, dtype=rg.float64), inputs=(ex,), retain_graph=True)
    assert x.grad.item() == 12
    ez2 = graph.get_gradient_edge(z)
    assert ez2.node is z.grad_fn
    assert ez2.output_nr == 0
    g = autograd.grad(ez, x, retain_graph=True)
    v = leaf(1, 2) * 2
    with pytest.raises(RuntimeError, match="implicitly created only for scalar outputs"):
        autograd.grad(graph.get_gradient_edge(v), x)


def test_cotangents_are_checked():
    x = leaf(1, 2)
    with pytest.raises(
        RuntimeError,
        match=r"Mismatch in shape: grad_output\[0\] has a shape of .* and output\[0\] has",
    ):
        (x * 2).backward(rg.ones(3, dtype=rg.float64))
    with pytest.raises(
        RuntimeError, match="grad can be implicitly created only for scalar outputs"
    ):
        (x * 2).backward()
    with pytest.raises(
        RuntimeError, match="element 0 of tensors does not require grad and does not have a grad_fn"
    ):
        rg.ones(1).backward()


def test_a_root_given_twice_counts_twice():
    a, b = leaf(1), leaf(2)
    x = a * b
    autograd.backward([x, x], [rg.ones(1, dtype=rg.float64)] * 2)
    assert a.grad.item() == 4


def test_a_second_pass_needs_retain_graph():
    x = leaf(1)
    y = x * x * x
    y.backward()
    with pytest.raises(RuntimeError, match="Specify retain_graph=True"):
        y.backward()
    x = leaf(1)
    y = x * x
    y.backward(retain_graph=True)
    y.backward()
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        y.backward()


def test_gradients_of_several_outputs_of_one_node():
    x = leaf(1, 2, 3, 4)
    x0, x1 = x.split(2)
    y = (x0 * 2 + x1 * 3).sum()

    def hook(*g):
        pass

    x0.register_hook(hook)
    a, b = autograd.grad(y, [x0, x1])
    assert a.tolist() == [2, 2]
    assert b.tolist() == [3, 3]


def test_edges_lead_to_nodes_in_the_order_of_operands():
    x, y = leaf(1), leaf(2)
    a = x + y
    n = a.grad_fn.next_functions
    assert [type(f).__name__ for f, _ in n] == ["AccumulateGrad"] * 2
    b = a + 5
    n = b.grad_fn.next_functions
    assert n[0][0] is a.grad_fn
    assert n[1][0] is None
    assert n[1][1] == 0


def test_the_old_name_of_grad_tensors_warns():
    x = leaf(1)
    with pytest.warns(FutureWarning, match="`grad_variables` is deprecated"):
        autograd.backward(x * 2, grad_variables=rg.ones(1, dtype=rg.float64))
    g = rg.ones(1, dtype=rg.float64)
    with pytest.warns(FutureWarning), pytest.raises(RuntimeError, match="`grad_variables`"):
        autograd.backward(x * 2, g, grad_variables=g)


def test_a_gradient_of_another_shape_is_refused():
    class F(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return rg.randn(10, dtype=rg.float64)

    with pytest.raises(RuntimeError, match="expected shape"):
        F.apply(rg.randn(5, 5, dtype=rg.float64).requires_grad_()).sum().backward()


def test_gradients_accumulate_in_place_unless_a_graph_is_created():
    x = leaf(1, 2)

    def compute(create):
        (x * 2).sum().backward(create_graph=create)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compute(False)
        g1 = x.grad
        c = g1.clone()
        compute(False)
        assert (g1 - c).tolist() == [2, 2]
        assert x.grad is g1
        g2 = x.grad
        c = g2.clone()
        compute(True)
        assert g2.tolist() == c.tolist()
        assert x.grad is not g2
        assert x.grad.tolist() == [6, 6]


def test_passes_inside_passes_nest_hundreds_deep():
    passes = []

    class Deep(Function):
        @staticmethod
        def forward(ctx, x):
            with rg.enable_grad():
                ctx.x = x.detach().requires_grad_()
                ctx.x = ctx.x - 1
            return ctx.x.detach()

        @staticmethod
        def backward(ctx, g):
            passes.append(g.item())
            if ctx.x < 0:
                return g
            with rg.enable_grad():
                Deep.apply(ctx.x).sum().backward()
            return g

    v = rg.tensor(300.0, requires_grad=True)
    Deep.apply(v).sum().backward()
    assert v.grad.item() == 1.0
    assert passes == [1.0] * 301


def test_a_node_can_be_called_with_cotangents():
    x = leaf(3)
    y = x**2
    with pytest.raises(TypeError, match=r"expected .* arguments, got .* instead"):
        y.grad_fn(x.detach(), x.detach())
    with pytest.raises(TypeError, match=r"expected .* arguments, got .* instead"):
        y.grad_fn()
    r = y.grad_fn(x.detach())
    r = r[0] if isinstance(r, tuple) else r
    assert r.item() == 18


def test_factories_make_leaves_of_floating_dtypes_only():
    for f in (
        lambda: rg.ones(2, requires_grad=True),
        lambda: rg.randn(2, requires_grad=True),
        lambda: rg.full((2,), 1.0, requires_grad=True),
        lambda: rg.empty(2, requires_grad=True),
        lambda: rg.linspace(0, 1, 2, requires_grad=True),
        lambda: rg.arange(0, 2.0, requires_grad=True),
        lambda: rg.eye(2, requires_grad=True),
        lambda: rg.zeros_like(rg.ones(2), requires_grad=True),
        lambda: rg.ones(2).new_ones(2, requires_grad=True),
        lambda: rg.ones(2).new_tensor([1.0], requires_grad=True),
        lambda: rg.logspace(0, 1, 2, requires_grad=True),
        lambda: rg.rand_like(rg.ones(2), requires_grad=True),
        lambda: rg.ones(2).new_full((2,), 3.0, requires_grad=True),
        lambda: rg.ones(2).new_empty((2,), requires_grad=True),
        lambda: rg.hann_window(3, requires_grad=True),
    ):
        t = f()
        assert t.requires_grad
        assert t.is_leaf
    for d in (rg.int32, rg.int64, rg.bool):
        with pytest.raises(RuntimeError, match="loating point"):
            rg.ones(2, dtype=d, requires_grad=True)
        with pytest.raises(RuntimeError, match="loating point"):
            rg.ones(2, dtype=d).requires_grad_()
        t = rg.ones(2, dtype=d)
        with pytest.raises(RuntimeError, match="loating point"):
            t.requires_grad = True


def test_what_may_be_assigned_and_deleted():
    x = leaf(1, 2)
    with pytest.raises(TypeError, match="expected to be a Tensor or None"):
        x.grad = 0
    with pytest.raises(RuntimeError, match="size"):
        x.grad = rg.ones(3, dtype=rg.float64)
    with pytest.raises(RuntimeError, match=r"dtype|type"):
        x.grad = rg.ones(2)
    with pytest.raises(RuntimeError, match="own grad"):
        x.grad = x
    x.grad = rg.ones(2, dtype=rg.float64)
    del x.grad
    assert x.grad is None
    for name in ("dtype", "shape", "_version", "is_leaf", "grad_fn", "device"):
        with pytest.raises(AttributeError, match="has no deleter"):
            delattr(x, name)
    with pytest.raises(RuntimeError, match="cannot delete the data of a tensor"):
        del x.data
    with pytest.raises(RuntimeError, match="cannot delete requires_grad"):
        del x.requires_grad
    with pytest.raises(RuntimeError, match="this attribute of a tensor cannot be deleted"):
        del x._grad_fn
    with pytest.raises(RuntimeError, match="this attribute of a tensor cannot be deleted"):
        del x._backward_hooks


def test_callbacks_run_at_the_end_of_a_pass():
    o = []
    x = leaf(1)
    V = autograd.Variable
    x.register_hook(lambda g: V._execution_engine.queue_callback(lambda: o.append("cb")))
    x.register_post_accumulate_grad_hook(lambda t: o.append("acc"))
    x.sum().backward()
    assert o == ["acc", "cb"]
    with pytest.raises(RuntimeError, match="during backward pass"):
        V._execution_engine.queue_callback(lambda: None)


def test_every_tensor_is_a_variable():
    V = autograd.Variable
    v = V(rg.ones(2), requires_grad=True)
    assert v.requires_grad
    assert isinstance(v, V)
    assert isinstance(rg.ones(1), V)

    assert type(v) is rg.Tensor


def test_leaves_and_output_numbers():
    x = leaf(1, 2)
    assert x.is_leaf
    assert rg.ones(1).is_leaf
    assert not (x * 2).is_leaf
    assert x.output_nr == 0
    assert [t.output_nr for t in x.unbind()] == [0, 1]
    a, b = x.unbind()
    assert a.grad_fn is b.grad_fn
    assert x.name is None


def test_gradients_pass_back_through_a_cast():
    x = rg.ones(2, requires_grad=True)
    y = x.double() * 2
    y.sum().backward()
    assert x.grad.dtype is rg.float32
    assert x.grad.tolist() == [2, 2]


def test_none_beside_a_gradient_counts_as_zero():
    x = leaf(1)

    class F(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            return None

    y = x * 2
    (F.apply(y) + y).backward()
    assert x.grad.item() == 2


def test_detached_tensors_are_leaves():
    x = leaf(1)
    y = x + 2
    y = y.detach()
    z = y * 4
    assert not y.requires_grad
    assert not z.requires_grad
    x2 = leaf(1)
    y = x2 * 2
    y = y.detach()
    assert y.grad_fn is None
    y.requires_grad_()
    z = x2 + y
    z.backward()
    assert y.grad.item() == 1
    x = leaf(1, 2)
    view = x.clone().narrow(0, 0, 1)
    with pytest.raises(RuntimeError, match=r"view|Can't detach views in-place"):
        view.detach_()
    assert rg.ones(1).detach_().grad_fn is None


def test_complex_and_real_views_of_one_memory_are_written():
    x = rg.randn(2, 2, 2, dtype=rg.float64, requires_grad=True)
    y = x.detach().requires_grad_(True)
    x0 = x.clone()
    x1 = rg.view_as_complex(x0)
    x2 = rg.view_as_real(x1)
    x2.mul_(2)
    x2.sum().abs().backward()
    y0 = y.clone()
    y0.mul_(2)
    y0.sum().abs().backward()
    assert rg.allclose(x.grad, y.grad)
    x = rg.randn(2, 2, 2, dtype=rg.float64, requires_grad=True)
    x1 = rg.view_as_complex(x.clone())
    x2 = rg.view_as_real(x1)
    a, _b = x2.unbind(0)
    with pytest.raises(
        RuntimeError, match="Output 0 of Unbind is a view and is being modified inplace"
    ):
        a.mul_(2)


def test_a_write_to_a_view_makes_its_base_require_grad():
    a = rg.randn(4, 4, dtype=rg.float64, requires_grad=False)
    b = rg.randn(4, 2, dtype=rg.float64, requires_grad=True)

    def f(root, b):
        x = root.clone()
        assert not x.requires_grad
        x.narrow(1, 2, 2).mul_(b)
        assert x.requires_grad
        return x

    assert autograd.gradcheck(f, [a, b])
    assert autograd.gradgradcheck(f, [a, b])


def test_the_gradient_tensor_is_kept_unless_a_graph_is_created():
    for create in (False, True):
        p = rg.tensor([1.5, 1.5]).requires_grad_()
        p.grad = rg.tensor([1.5, 1.5])
        s = p.grad
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            p.backward(rg.tensor([1.5, 1.5]), create_graph=create)
        assert (s is p.grad) is (not create)


def test_a_node_tells_what_it_receives():
    y = rg.ones(2, 3, requires_grad=True) * 2
    m = y.grad_fn._input_metadata
    assert len(m) == 1
    assert m[0].shape == [2, 3]
    assert m[0].dtype is rg.float32
    assert not m[0].is_nested_tensor
    _v, _i = rg.ones(2, 3, requires_grad=True).max(0)


def test_retain_grad_closes_no_cycle():
    def run():
        x = leaf(1)
        y = x * 2
        y.retain_grad()
        z = (y * 2).sum()
        z.backward()
        return weakref.ref(y), z

    gc.disable()
    try:
        r, _z = run()
        assert r() is None
    finally:
        gc.enable()


def test_the_graph_can_be_walked_from_outside():
    x = leaf(1)
    z = (x * 2).exp()

    def desc(fn):
        if fn is None:
            return "None"
        return type(fn).__name__ + "(" + ", ".join(desc(n[0]) for n in fn.next_functions) + ")"

    assert desc(z.grad_fn) == "ExpBackward0(MulBackward0(AccumulateGrad(), None))"


def test_a_leaf_may_be_the_root():
    x = leaf(1)
    x.backward()
    assert x.grad.item() == 1
    x.backward(rg.tensor([3.0], dtype=rg.float64))
    assert x.grad.item() == 4
    assert autograd.grad(x, x)[0].item() == 1


def test_a_detached_tensor_shares_the_version():
    x = leaf(1, 2).clone()
    d = x.detach()
    v = x._version
    d.zero_()
    assert x._version == v + 1


def test_an_error_in_a_hook_leaves_the_modes():
    x = leaf(1)
    y = x * 2
    y.register_hook(lambda g: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        y.backward()
    assert rg.is_grad_enabled()


@pytest.mark.parametrize("recorded", [True, False])
def test_the_node_of_a_leaf_adds_what_it_is_called_with(recorded):
    x = rg.ones(2, requires_grad=True)
    node = (x * 1).grad_fn.next_functions[0][0]
    seen = []
    x.register_hook(lambda g: g * 10)
    x.register_post_accumulate_grad_hook(lambda p: seen.append(p.grad.tolist()))
    with rg.set_grad_enabled(recorded):
        assert node(rg.tensor([1.0, 2.0])) == ()
        assert node(rg.ones(2)) == ()
        assert node(None) == ()
    assert seen == [[1, 2], [2, 3]]
    assert not x.grad.requires_grad
    with pytest.raises(RuntimeError, match="AccumulateGrad"):
        node(rg.ones(3))


def test_the_node_of_a_real_leaf_adds_the_real_part():
    x = rg.ones(2, requires_grad=True)
    (x * 1).grad_fn.next_functions[0][0](rg.tensor([1 + 2j, 2 + 3j]))
    assert x.grad.tolist() == [1.0, 2.0]


def test_a_variable_is_made_of_a_tensor_only():
    with pytest.raises(TypeError, match="Variable data has to be a tensor, but got list"):
        autograd.Variable([1.0])


def test_a_volatile_variable_warns_and_is_a_tensor():
    with pytest.warns(UserWarning, match=r"volatile was removed .* `with retrograd\.no_grad\(\):`"):
        v = autograd.Variable(rg.ones(2), volatile=True)
    assert not v.requires_grad


def test_the_warning_of_an_old_attribute_names_the_line_that_asked():
    with pytest.warns(UserWarning, match="volatile was removed") as caught:
        assert rg.ones(2).volatile is False
    assert caught[0].filename == __file__
