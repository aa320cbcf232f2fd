"""Saved tensors and their hooks, rule by rule.

Every test here also passes with `torch` in place of `retrograd`, but where it says otherwise.
"""

from __future__ import annotations

import math
import threading

import pytest

import retrograd as rg
from retrograd.autograd import graph
from retrograd.autograd.function import Function


def leaf(*values):
    return rg.tensor(list(values), dtype=rg.float64, requires_grad=True)


def test_hooks_on_one_saved_value_change_that_one():
    a = leaf(1, 2)
    y = a * a
    y.grad_fn._raw_saved_self.register_hooks(lambda x: 2 * x, lambda x: x / 2)
    assert y.grad_fn._saved_self.tolist() == [1, 2]
    assert y.grad_fn._saved_other.tolist() == [1, 2]
    y.sum().backward()
    assert a.grad.tolist() == [2, 4]
    a = leaf(1, 2)
    y = a * a
    y.grad_fn._raw_saved_self.register_hooks(lambda x: 2 * x, lambda x: x)
    assert y.grad_fn._saved_self.tolist() == [2, 4]
    y.sum().backward()
    assert a.grad.tolist() == [3, 6]


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize(
    ("f", "expected"),
    [
        (rg.mul, [3.0, 2.0]),  # other, self
        (rg.pow, [3.0, 2.0, 8.0]),  # exponent, self, result
        (lambda a, b: rg.lerp(a, b, a), [3.0, 2.0, 2.0]),  # end, self, weight
        (lambda a, b: rg.addcmul(a, b, a), [3.0, 2.0]),  # tensor1, tensor2
    ],
    ids=["mul", "pow", "lerp", "addcmul"],
)
def test_hooks_see_inputs_by_name_and_then_results(f, expected, create_graph):
    a, b, packed, back = leaf(2), leaf(3), [], []

    def pack(x):
        packed.append(x.item())
        return x

    def unpack(x):
        back.append(x.item())
        return x

    with graph.saved_tensors_hooks(pack, unpack):
        y = f(a, b)
    rg.autograd.grad(y, (a, b), create_graph=create_graph)
    assert packed == back == expected


def test_hooks_must_be_two_functions_and_are_set_once():
    a = leaf(1)
    y = a * a
    with pytest.raises(TypeError, match="incompatible function arguments"):
        y.grad_fn._raw_saved_self.register_hooks(lambda x: x, 1)
    with pytest.raises(TypeError, match="incompatible function arguments"):
        y.grad_fn._raw_saved_self.register_hooks(lambda x: x)
    with pytest.raises(TypeError, match="incompatible function arguments"):
        y.grad_fn._raw_saved_self.register_hooks(1, 1)
    y.grad_fn._raw_saved_self.register_hooks(lambda x: x, lambda x: x)
    with pytest.raises(RuntimeError, match="hooks have already been set"):
        y.grad_fn._raw_saved_self.register_hooks(lambda x: x, lambda x: x)


def test_hooks_of_the_wrong_kind_raise_when_they_are_called():
    a = leaf(1)
    y = a * a
    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        y.grad_fn._raw_saved_self.register_hooks(lambda x, b: x, lambda x: x)
    a = leaf(1)
    y = a * a
    y.grad_fn._raw_saved_self.register_hooks(lambda x: (x, x), lambda x, b: x)
    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        _ = y.grad_fn._saved_self
    a = leaf(1)
    y = a * a
    y.grad_fn._raw_saved_self.register_hooks(lambda x: (x, x), lambda x: x)
    with pytest.raises(TypeError, match="unpack_hook expected to be a Tensor but got result of"):
        _ = y.grad_fn._saved_self


def test_a_pack_hook_may_not_write():
    a = leaf(1, 2)

    def inc(x):
        x += 1
        return x

    with (
        pytest.raises(
            RuntimeError, match="A saved tensor pack hook is modifying its input in place"
        ),
        graph.saved_tensors_hooks(inc, lambda x: x),
    ):
        y = rg.pow(a, 2)
    y = rg.pow(a, 2)
    with pytest.raises(
        RuntimeError, match="A saved tensor pack hook is modifying its input in place"
    ):
        y.grad_fn._raw_saved_self.register_hooks(inc, lambda x: x)


def test_reading_one_saved_value_unpacks_that_one():
    a = leaf(1, 2)
    p, u = [], []

    def pack(x):
        p.append(1)
        return x

    def unpack(x):
        u.append(1)
        return x

    with graph.saved_tensors_hooks(pack, unpack):
        y = a * a
        assert (len(p), len(u)) == (2, 0)
        y.grad_fn._saved_self
        assert len(u) == 1, u
        y.grad_fn._saved_other
        assert len(u) == 2
    y.sum().backward(retain_graph=True)
    assert len(u) == 4
    y.sum().backward()
    assert len(u) == 6


def test_the_innermost_hooks_count():
    a = leaf(1, 2)
    with graph.saved_tensors_hooks(lambda x: 2 * x, lambda x: x / 2):
        with graph.saved_tensors_hooks(lambda x: 10 * x, lambda x: x):
            y = a * a
        assert y.grad_fn._saved_self.tolist() == [10, 20]
        z = a * a
        assert z.grad_fn._saved_self.tolist() == [1, 2]


def test_errors_of_hooks_arrive_as_they_are():
    a = leaf(1)

    class MyErr(Exception):
        pass

    def pack(x):
        raise MyErr()

    with pytest.raises(MyErr), graph.saved_tensors_hooks(pack, lambda x: x):
        a * a

    def unpack(x):
        raise MyErr()

    with graph.saved_tensors_hooks(lambda x: x, unpack):
        y = a * a
    with pytest.raises(MyErr):
        y.backward()


def test_intermediate_values_of_a_function_are_packed():
    class F(Function):
        @staticmethod
        def forward(ctx, x):
            i = x.exp()
            ctx.save_for_backward(i.clone().detach_().requires_grad_(True))
            return x.exp()

        @staticmethod
        def backward(ctx, g):
            (i,) = ctx.saved_tensors
            return g * i

    a, packed = leaf(1), []
    with graph.saved_tensors_hooks(lambda x: packed.append(x.item()) or x, lambda x: x * 2):
        y = F.apply(a)
    y.backward()
    assert packed == [math.e]
    assert a.grad.item() == 2 * math.e


def test_packing_leaves_the_version_alone():
    class T(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x.sin()

        @staticmethod
        def backward(ctx, g):
            before = a._version
            (x,) = ctx.saved_tensors
            assert before == a._version
            return g * x.cos()

    a = leaf(1)
    with graph.save_on_cpu():
        b = T.apply(a)
    b.sum().backward()
    assert a._version == 0


def test_the_unpack_hook_runs_in_the_grad_mode_of_the_pass():
    seen = []

    def unpack(x):
        seen.append(rg.is_grad_enabled())
        return x * 1

    class Squared(rg.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            return 2 * g * ctx.saved_tensors[0]

    x = rg.tensor([1.0, 2.0], requires_grad=True)
    with graph.saved_tensors_hooks(lambda x: x.detach(), unpack):
        y = x.sin().sum() + Squared.apply(x).sum()
    y.backward(retain_graph=True)
    assert seen == [False, False]
    (g,) = rg.autograd.grad(y, x, create_graph=True)
    assert seen[2:] == [True, True]
    (h,) = rg.autograd.grad(g.sum(), x)
    rg.testing.assert_close(h, 2 - x.detach().sin())


def test_what_the_unpack_hook_returns_is_used():
    a = leaf(1, 2)
    with graph.saved_tensors_hooks(
        lambda x: None, lambda _: rg.tensor([5.0, 5.0], dtype=rg.float64)
    ):
        y = a * a
    y.sum().backward()
    assert a.grad.tolist() == [10, 10]


def test_a_saved_result_is_another_object_with_the_same_history():
    a = leaf(1, 2)
    y = a.exp()
    assert y is not y.grad_fn._saved_result
    assert y.grad_fn is y.grad_fn._saved_result.grad_fn
    y.backward(rg.ones(2, dtype=rg.float64), retain_graph=True)
    assert a.grad.tolist() == y.tolist()


def test_hooks_are_those_of_the_thread():
    seen = []

    def fn():
        x = leaf(1)
        x * x
        seen.append(1)

    n = []
    with graph.saved_tensors_hooks(lambda x: n.append(1) or x, lambda x: x):
        t = threading.Thread(target=fn)
        t.start()
        t.join()
    assert n == []


def test_packed_values_may_be_written():
    a = leaf(1, 2)
    b = a * 1
    with graph.saved_tensors_hooks(lambda x: x.clone(), lambda x: x):
        y = b * b
    b.add_(1)
    y.sum().backward()
    assert a.grad.tolist() == [2, 4]


def test_hooks_get_the_very_tensor_that_has_no_history_and_may_give_it_back():
    x, constant = leaf(2), rg.ones(1, dtype=rg.float64)
    seen = []

    class Kept(Function):
        @staticmethod
        def forward(ctx, x, y):
            ctx.save_for_backward(y)
            return x * y

        @staticmethod
        def backward(ctx, g):
            seen.extend(ctx.saved_tensors)
            return g, None

    with graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        y = Kept.apply(x, constant)
    y.backward()
    assert seen[0] is constant


def test_a_pack_hook_that_writes_a_tensor_without_history_is_refused():
    with (
        graph.saved_tensors_hooks(lambda t: t.add_(1), lambda t: t),
        pytest.raises(RuntimeError, match="pack hook is modifying its input in place"),
    ):
        leaf(1) * rg.ones(1, dtype=rg.float64)


def test_leaving_a_context_of_hooks_once_more_does_nothing():
    context = graph.saved_tensors_hooks(lambda t: t, lambda t: t * 2)
    with context:
        y = leaf(1).exp()
    context.__exit__()
    assert y.grad_fn._saved_result.item() == 2 * y.item()


@pytest.mark.parametrize(
    ("op", "unpack", "text"),
    [
        (lambda x: x * x, lambda kept: rg.ones(3), r"MulBackward0 cannot compute.* \(2,\) \(3,\)"),
        (lambda x: x.prod(), lambda kept: rg.zeros(0), r"ProdBackward0 returned .* got \[0\]"),
    ],
    ids=["elementwise", "reduction"],
)
def test_a_formula_that_cannot_use_what_an_unpack_hook_gave_raises_a_runtime_error(
    op, unpack, text
):
    x = rg.tensor([1.0, 2.0], requires_grad=True)
    with rg.autograd.graph.saved_tensors_hooks(lambda kept: kept, unpack):
        y = op(x).sum()
    with pytest.raises(RuntimeError, match=text):
        y.backward()
    assert x.grad is None


def test_the_handle_of_a_saved_tensor_shows_what_is_kept():
    x = rg.tensor([1.0, 2.0], requires_grad=True)
    y = x * x
    handle = y.grad_fn._raw_saved_self
    assert handle.data is x
    assert handle.unpack() is x
    assert handle.unpack_hook is None
    unpack = rg.tensor
    handle.register_hooks(rg.Tensor.tolist, unpack)
    assert handle.data == [1.0, 2.0]
    assert handle.unpack().tolist() == [1.0, 2.0]
    assert handle.unpack_hook is unpack
    y.sum().backward()
    assert handle.data is None
    with pytest.raises(RuntimeError, match="a second time"):
        handle.unpack()


def test_the_handle_of_a_value_that_is_not_saved_shows_none():
    handle = (rg.ones(2, requires_grad=True) * 3.0).grad_fn._raw_saved_self
    assert handle.data is handle.unpack() is handle.unpack_hook is None
