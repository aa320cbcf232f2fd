"""In-place writes, versions and views, rule by rule.

Every test here also passes with `torch` in place of `retrograd`, but where it says otherwise.
"""

from __future__ import annotations

import pytest

import retrograd as rg
from retrograd import autograd
from retrograd.autograd.function import Function


def leaf(*values):
    return rg.tensor(list(values), dtype=rg.float64, requires_grad=True)


def test_a_method_of_tensors_writes_to_nothing_else():
    with pytest.raises(TypeError, match=r"exp_\(\): the first argument must be a Tensor"):
        rg.Tensor.exp_(1.0)


def test_leaves_that_require_grad_and_their_views_are_not_written():
    x = leaf(1, 2)
    with pytest.raises(
        RuntimeError,
        match="a leaf Variable that requires grad is being used in an in-place operation",
    ):
        x.add_(1)
    with pytest.raises(
        RuntimeError,
        match="a leaf Variable that requires grad is being used in an in-place operation",
    ):
        x[0] = 3
    with pytest.raises(
        RuntimeError,
        match="a view of a leaf Variable that requires grad is being used in an in-place operation",
    ):
        x[0].add_(1)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        x.copy_(rg.zeros(2))
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        x.fill_(1)


def test_a_leaf_that_is_a_view_is_not_written_through_its_own_views():
    for leaf in (rg.arange(6.0).reshape(2, 3), rg.arange(6.0)[2:].view(2, 2)):
        leaf.requires_grad_()
        for write in (
            lambda x: x[0].mul_(2),
            lambda x: x.__setitem__(0, 1.0),
            lambda x: x[0][1:].zero_(),
        ):
            with pytest.raises(RuntimeError, match="a view of a leaf Variable that requires grad"):
                write(leaf)
        assert leaf.is_leaf
        (leaf * leaf).sum().backward()
        assert leaf.grad.equal(2 * leaf.detach())


def test_a_write_under_no_grad_is_counted():
    x = leaf(1, 2)
    y = x * 1
    z = (y * y).sum()
    with rg.no_grad():
        y.add_(1)
    assert y._version == 1
    with pytest.raises(RuntimeError, match="modified by an inplace"):
        z.backward()
    x = leaf(1)
    z = x * x
    with rg.no_grad():
        x.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace"):
        z.backward()


def test_what_counts_as_a_write():
    x = rg.randn(1, 2)
    v = x._version
    x.add_(1)
    assert x._version == v + 1
    y = x.detach()
    assert y._version == x._version
    y.add_(1)
    assert x._version == y._version
    d = x.data
    xv = x._version
    d.add_(1)
    assert x._version == xv
    z = x.view(2)
    z.add_(1)
    assert x._version == z._version
    x.data = rg.zeros(3)
    x2 = rg.ones(2)
    v = x2._version
    x2.data = rg.zeros(2)
    assert x2._version == v, x2._version
    rg.ones(2)
    assert x.detach()._version == x._version
    a = rg.ones(2)
    a[0] = 3
    assert a._version == 1
    a.zero_()
    a.fill_(1)
    a.copy_(x2)
    assert a._version == 4
    a.requires_grad_()
    assert a._version == 4
    b = a.clone()
    assert b._version == 0
    with pytest.raises(AttributeError, match="has no setter"):
        a._version = 3


def test_writes_can_be_hidden_from_the_version():
    x = leaf(1, 2).clone()
    z = (x * x).sum()
    with autograd._unsafe_preserve_version_counter(x), rg.no_grad():
        x.add_(1)
    z.backward()
    a, b = rg.ones(1), rg.ones(1)
    with autograd._unsafe_preserve_version_counter((a, b)):
        a.add_(1)
        b.add_(1)
    assert a._version == 0


def test_a_view_made_under_no_grad_is_not_written_with_grad():
    x = leaf(1, 2).clone()
    with rg.no_grad():
        v = x[0]
    with pytest.raises(
        RuntimeError,
        match="A view was created in no_grad mode and is being modified inplace",
    ):
        v.mul_(2)
    with rg.no_grad():
        v.mul_(2)
    x = leaf(1, 2)
    with rg.no_grad():
        v = x[0]
    with pytest.raises(
        RuntimeError,
        match=r"A view was created in no_grad mode and is being modified inplace|leaf",
    ):
        v.mul_(2)


def test_a_view_made_in_inference_mode_is_not_written_with_grad():
    x = leaf(1, 2).clone()
    with rg.inference_mode():
        v = x.view(1, 2)
    assert not v.is_inference()
    with pytest.raises(
        RuntimeError, match="A view was created in inference mode and is being modified inplace"
    ):
        v.mul_(2)


def test_expanded_memory_is_not_written():
    x = rg.zeros(1).expand(3)
    with pytest.raises(
        RuntimeError,
        match="more than one element of the written-to tensor refers to a single memory location",
    ):
        x.add_(1)
    x = leaf(1).expand(3)
    with pytest.raises(
        RuntimeError,
        match="a view of a leaf Variable that requires grad is being used in an in-place",
    ):
        x.mul_(2)


def test_the_result_must_fit_dtype_and_shape():
    with pytest.raises(
        RuntimeError, match="result type Float can't be cast to the desired output type Long"
    ):
        rg.zeros(2, dtype=rg.int64).add_(1.5)
    with pytest.raises(
        RuntimeError, match=r"output with shape .* doesn't match the broadcast shape"
    ):
        rg.zeros(1).add_(rg.zeros(2))


def test_a_write_of_a_value_with_history_gives_history():
    x = rg.zeros(2, dtype=rg.float64)
    y = leaf(1, 2)
    x.add_(y)
    assert x.requires_grad
    assert not x.is_leaf
    x.sum().backward()
    assert y.grad.tolist() == [1, 1]
    b = rg.zeros(2, dtype=rg.float64)
    v = b[0]
    v.add_(y[0])
    assert b.requires_grad
    assert v.requires_grad
    b.sum().backward()


def test_a_write_through_a_detached_tensor_is_seen():
    x = leaf(1, 2)
    d = x.detach()
    d.add_(1)
    assert x.tolist() == [2, 3]
    y = x * 1
    d = y.detach()
    z = (y * y).sum()
    d.mul_(2)
    with pytest.raises(RuntimeError, match="is at version 1; expected version 0 instead"):
        z.backward()


def test_what_may_be_assigned_to_data():
    x = leaf(1, 2)
    x.data = rg.zeros(3, dtype=rg.float64)
    assert x.shape == (3,)
    assert x.requires_grad
    x.sum().backward()
    assert x.grad.shape == (3,)
    with pytest.raises(
        RuntimeError,
        match="data set to a tensor that requires gradients must be floating point",
    ):
        x.data = rg.zeros(3, dtype=rg.int64)
    y = rg.zeros(2)
    y.data = rg.ones(2, dtype=rg.int64)
    assert y.dtype is rg.int64
    with pytest.raises(TypeError, match="data has to be a tensor, but got int"):
        y.data = 5
    a = rg.ones(1)
    a.data = a.data
    b = rg.ones(1, requires_grad=True)
    z = rg.ones(1)
    b.data = z
    assert b.requires_grad
    assert not z.requires_grad
    i = id(b)
    b.data = rg.ones(4)
    assert id(b) == i


def test_views_know_their_base():
    x = leaf(1, 2).clone()
    v = x[0]
    assert v._is_view()
    assert v._base is x
    assert not x._is_view()
    assert x._base is None
    w = x.view(1, 2)[0]
    assert w._base is x
    a = rg.ones(2)
    assert a[0]._base is a


def test_gradients_pass_writes_to_views():
    def f1(x, y):
        out = x.clone().view(-1)
        out += y
        return out

    def f2(x, y):
        out = x.clone().view(-1)
        b = out * 2
        out += y
        return out + b

    x, y = (
        rg.rand(2, 1, dtype=rg.float64, requires_grad=True),
        rg.rand(2, dtype=rg.float64, requires_grad=True),
    )
    for f in (f1, f2):
        o = f(x, y).sum()
        gx = autograd.grad(o, y, retain_graph=True)[0]
        assert gx.tolist() == [1, 1]
        gx, gy = autograd.grad(o, [x, y])
        assert gy.tolist() == [1, 1]


def test_functions_that_write_views_agree_with_differences():
    class PyAdd(Function):
        @staticmethod
        def forward(ctx, x, y):
            ctx.mark_dirty(x)
            x.add_(y)
            return x

        @staticmethod
        def backward(ctx, g):
            return g, g

    a, b = (
        rg.randn(2, 2, dtype=rg.float64).requires_grad_(),
        rg.randn(2, dtype=rg.float64).requires_grad_(),
    )

    def f(root, b):
        x = root.clone()
        v1 = x.narrow(0, 0, 1)
        v2 = v1.narrow(1, 1, 1)
        PyAdd.apply(v1, b)
        PyAdd.apply(v2, b[:1])
        return x

    assert autograd.gradcheck(f, (a, b))


def test_base_and_views_have_the_gradient_of_what_they_hold():
    root = rg.randn(2, 2, dtype=rg.float64, requires_grad=True)
    x = root.clone()
    v = x.narrow(0, 0, 1)
    v.mul_(2)
    x.sum().backward()
    assert root.grad.tolist() == [[2, 2], [1, 1]]
    root.grad = None
    x = root.clone()
    v = x.narrow(0, 0, 1)
    v.mul_(2)
    v.sum().backward()
    assert root.grad.tolist() == [[2, 2], [0, 0]]
    root.grad = None
    x = root.clone()
    v = x.narrow(0, 0, 1)
    w = x.narrow(0, 1, 1)
    x.mul_(3)
    w.sum().backward()
    assert root.grad.tolist() == [[0, 0], [3, 3]]


def test_views_of_one_of_several_views_are_not_written():
    a = rg.rand(10, dtype=rg.float64, requires_grad=True).clone()
    b = a.unbind(0)
    c = b[0].view_as(b[0])
    with pytest.raises(
        RuntimeError, match=r"This view is the output of a function that returns multiple views."
    ):
        c.mul_(2)
    a = rg.rand(10, dtype=rg.float64, requires_grad=True).clone()
    b = a.view_as(a)
    c = b.unbind(0)
    with pytest.raises(
        RuntimeError, match=r"This view is the output of a function that returns multiple views."
    ):
        c[0].mul_(2)
    a = rg.rand(10, dtype=rg.float64, requires_grad=True).clone()
    b = a.unbind(0)
    with pytest.raises(RuntimeError, match="multiple views"):
        b[0].mul_(b[1])


def test_a_view_made_before_its_base_requires_grad_is_not_written():
    base = rg.zeros(2, dtype=rg.float64)
    v = base[0]
    base.requires_grad_()
    with pytest.raises(RuntimeError, match=r"view of a leaf|leaf"):
        v.add_(1)


def test_results_with_out_are_not_recorded():
    a = rg.randn(2, 2, requires_grad=True)
    b = rg.randn(2, 2, requires_grad=True)
    x = rg.zeros_like(a)
    with pytest.raises(
        RuntimeError, match=r"out=... arguments don't support automatic differentiation"
    ):
        rg.mul(a, b, out=x)
    rg.mul(a.detach(), b.detach(), out=x)
    o = rg.zeros(2, 2, requires_grad=True)
    with pytest.raises(
        RuntimeError, match=r"out=\.\.\. arguments don't support automatic differentiation"
    ):
        rg.mul(a.detach(), b.detach(), out=o)
    with rg.no_grad():
        rg.mul(a, b, out=o)
        assert o.requires_grad


def test_assigned_regions_have_the_gradient_of_what_was_assigned():
    x = leaf(1, 2, 3, 4, 5)
    y = leaf(7)
    z = rg.randn(4, dtype=rg.float64).requires_grad_()
    x.clone()
    x = rg.zeros(5, dtype=rg.float64)
    x[0] = y
    x[1:] = 2 * z
    assert x.requires_grad
    assert x.grad_fn.name() == "torch::autograd::CopySlices"
    x.sum().backward()
    assert y.grad.item() == 1
    assert z.grad.tolist() == [2] * 4


def test_masks_and_repeated_indices():
    x = rg.zeros(4, dtype=rg.float64)
    v = leaf(1, 2)
    x[rg.tensor([True, False, True, False])] = v
    x.sum().backward()
    assert v.grad.tolist() == [1, 1]
    y = leaf(1, 2, 3)
    i = rg.tensor([0, 0, 2, 0])
    y[i].sum().backward()
    assert y.grad.tolist() == [3, 0, 1]
    y = leaf(1, 2, 3)
    y[[0, 0],].sum().backward()
    assert y.grad.tolist() == [2, 0, 0]
    a = rg.arange(1.0, 17, dtype=rg.float64).view(4, 4).requires_grad_()
    idx = ([1, 1, 3, 2], [0, 0, 2, 2])
    a[idx].sum().backward()
    assert a.grad[1, 0].item() == 2
    z = leaf(1, 2).clone()
    z[rg.tensor(False)] = 1.0
    z[0] = rg.tensor(3.0)


def test_a_filled_tensor_has_the_gradient_of_its_fill():
    root = rg.randn(2, dtype=rg.float64).requires_grad_()
    x = root.clone()
    x.fill_(2)
    assert x.requires_grad
    x.sum().backward()
    assert root.grad.tolist() == [0, 0]
    v = rg.tensor(3.0, dtype=rg.float64, requires_grad=True)
    x = root.clone()
    x.fill_(v)
    x.sum().backward()
    assert v.grad.item() == 2


def test_copies_broadcast_and_convert():
    x = rg.zeros(2, 3, dtype=rg.float64)
    y = rg.ones(3, requires_grad=True)
    x.copy_(y)
    x.sum().backward()
    assert y.grad.tolist() == [2, 2, 2]
    assert y.grad.dtype is rg.float32
    z = leaf(1, 2).clone()
    z.copy_(z)


def test_real_and_imaginary_parts_are_written():
    x = rg.ones(2, 2, dtype=rg.float64, requires_grad=True).clone()
    c = rg.view_as_complex(x)
    c.mul_(2j)
    x.sum().backward()
    z = rg.ones(2, dtype=rg.complex128, requires_grad=True).clone()
    z.real.mul_(2)
    z.imag.add_(1)
    (z.abs()).sum().backward()
    r = rg.view_as_real(z.detach())
    r.zero_()


def test_integers_take_values_without_their_history():
    x = rg.ones(2, requires_grad=True)
    whole = rg.zeros(2, dtype=rg.int64)
    whole.copy_(x)
    assert not whole.requires_grad
    whole[0] = x[1] * 5
    assert not whole.requires_grad
    assert whole.tolist() == [5, 1]
    half = rg.zeros(2, dtype=rg.float16).copy_(x)
    assert half.requires_grad


@pytest.mark.parametrize("write", [lambda v: v.mul_(2), lambda v: v.fill_(1), rg.Tensor.zero_])
def test_a_view_of_a_leaf_that_is_a_view_is_not_written(write):
    x = rg.arange(6.0)[::2].requires_grad_()
    with pytest.raises(RuntimeError, match="a view of a leaf Variable that requires grad"):
        write(x[1:])
    with rg.no_grad():
        write(x[1:])
    assert x.is_leaf


@pytest.mark.parametrize("view", [False, True])
def test_the_gradient_of_a_tensor_written_with_a_wider_one_has_its_own_dtype(view):
    x = rg.tensor([2.0], dtype=rg.float64, requires_grad=True)
    y = rg.ones(2, 1)
    target = y[0] if view else y
    target.mul_(x)
    kinds = []
    target.register_hook(lambda g: kinds.append(g.dtype))
    target.grad_fn.register_prehook(lambda gs: kinds.append(gs[0].dtype))
    target.retain_grad()
    target.sum().backward()
    assert kinds == [rg.float32, rg.float32]
    assert target.grad.dtype is rg.float32
    assert x.grad.dtype is rg.float64
    assert x.grad.tolist() == [1.0 if view else 2.0]


@pytest.mark.parametrize("view", [False, True])
@pytest.mark.parametrize("write", ["pow_", "add_", "mul_"])
def test_what_a_write_overwrites_is_kept_when_another_follows(view, write):
    x = leaf(2, 3)
    y = x * 2
    target = y[:] if view else y
    target.pow_(3)
    getattr(target, write)(2)
    target.sin_().sum().backward()
    u = (2 * x.detach()).requires_grad_()
    getattr(rg, write[:-1])(u**3, 2).sin().sum().backward()
    assert rg.allclose(x.grad, 2 * u.grad, rtol=1e-12)
