"""`__torch_dispatch__`: programs as PyTorch's users write them; PyTorch 2.13 gives the same."""

from __future__ import annotations

import copy
import io
import pickle
import threading
import weakref
from collections import Counter

import pytest

import retrograd as rg
from retrograd.torch.library.ops import aten
from retrograd.torch.overrides import TorchFunctionMode
from retrograd.torch.utils._python_dispatch import (
    BaseTorchDispatchMode,
    TorchDispatchMode,
    _disable_current_modes,
    _get_current_dispatch_mode,
    is_in_torch_dispatch_mode,
    is_traceable_wrapper_subclass,
    return_and_correct_aliasing,
    transform_subclass,
)
from retrograd.torch.utils._pytree import tree_leaves, tree_map


class Log(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.calls = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.calls.append((str(func).removeprefix("aten."), args, kwargs))
        return func(*args, **(kwargs or {}))

    @property
    def names(self):
        return [name for name, *_ in self.calls]


def logged(function):
    with Log() as log:
        function()
    return log.names


class Held(rg.Tensor):
    """Keeps its values in a slot, and what it was asked in a list."""

    __slots__ = ("elem",)
    calls: list = []  # noqa: RUF012

    def __new__(cls, elem, requires_grad=False):
        made = rg.Tensor._make_wrapper_subclass(
            cls, elem.size(), strides=elem.stride(), dtype=elem.dtype, requires_grad=requires_grad
        )
        made.elem = elem.detach() if requires_grad else elem
        return made

    def __tensor_flatten__(self):
        return ["elem"], None

    @staticmethod
    def __tensor_unflatten__(inner, context, size, stride):
        return Held(inner["elem"])

    def __repr__(self):
        return f"Held({self.elem})"

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        cls.calls.append(str(func).removeprefix("aten."))
        plain = lambda t: t.elem if isinstance(t, cls) else t
        wrap = lambda t: cls(t) if isinstance(t, rg.Tensor) else t
        out = func(*tree_map(plain, args), **tree_map(plain, kwargs or {}))
        return return_and_correct_aliasing(func, args, kwargs, tree_map(wrap, out))


class Untold(Held):
    __torch_function__ = rg._C._disabled_torch_function_impl


@pytest.fixture(params=[Held, Untold])
def kind(request):
    Held.calls.clear()
    return request.param


# -- modes: what they see ------------------------------------------------------------------------


def test_a_mode_sees_operators_with_their_arguments():
    x = rg.ones(2, 3)
    with Log() as log:
        x.sum(1)
        x * 2
    (_, args, _), (name, others, kwargs) = log.calls
    assert log.names == ["sum.dim_IntList", "mul.Tensor"]
    assert args[0] is x
    assert others == (x, 2)
    assert kwargs == {}
    assert name == "mul.Tensor"


def test_a_mode_sees_the_parts_of_a_linear_layer():
    layer = rg.nn.Linear(3, 4)
    assert logged(lambda: layer(rg.ones(2, 3)).relu()) == [
        "ones.default", "t.default", "addmm.default", "relu.default",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("function", "names"),
    [
        (lambda x: rg.zeros(2, 3), ["zeros.default"]),
        (lambda x: rg.arange(3), ["arange.default"]),
        (lambda x: x.add_(1), ["add_.Tensor"]),
        (lambda x: x.__iadd__(1), ["add_.Tensor"]),
        (lambda x: x.__setitem__(0, 5.0), ["select.int", "copy_.default"]),
        (lambda x: x[:, 1:], ["slice.Tensor"]),
        (lambda x: x[0], ["select.int"]),
        (lambda x: x[x > 0], ["gt.Scalar", "index.Tensor"]),
        (lambda x: x.sum().item(), ["sum.default", "_local_scalar_dense.default"]),
        (lambda x: float(x[0, 0]), ["select.int", "select.int", "_local_scalar_dense.default"]),
        (lambda x: x.softmax(-1), ["_softmax.default"]),
        (lambda x: x.to(rg.float64), ["_to_copy.default"]),
        (lambda x: x.reshape(4).view(2, 2), ["view.default", "view.default"]),
        (lambda x: x.t().reshape(4), ["t.default", "reshape.default"]),
        (lambda x: x**2, ["pow.Tensor_Scalar"]),
        (lambda x: 2**x, ["pow.Scalar"]),
        (lambda x: x == 1, ["eq.Scalar"]),
        (lambda x: rg.addmm(x, x, x), ["addmm.default"]),
        (lambda x: x.max(0), ["max.dim"]),
        (lambda x: rg.cat([x, x]), ["cat.default"]),
    ],
)
def test_a_mode_sees_what_pytorch_s_does(function, names):
    x = rg.ones(2, 2)
    assert logged(lambda: function(x)) == names


def test_what_is_recorded_is_seen_by_its_records():
    x = rg.ones(2, 2, requires_grad=True)
    assert logged(lambda: rg.addmm(x, x, x)) == ["mm.default", "add.Tensor"]


def test_a_record_that_is_no_operator_is_one_of_this_package_s():
    x = rg.ones(2, requires_grad=True)
    with Log() as log:
        rg.nn.functional.dropout(x)
    assert log.names == ["retrograd.masked_scale.default"]


def test_a_mode_sees_a_backward_pass():
    x = rg.ones(2, requires_grad=True)
    y = (x * x).sum()
    assert logged(y.backward).count("mul.Tensor") == 2
    assert x.grad.tolist() == [2.0, 2.0]


def test_an_overload_says_what_it_is():
    seen = []

    class Keep(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            seen.append((func, types))
            return func(*args, **(kwargs or {}))

    with Keep():
        rg.ones(2).mul_(3)
    func, types = seen[-1]
    assert func is aten.mul_.Tensor
    assert types == ()
    assert (func.name(), func.namespace, func._overloadname) == (
        "aten::mul_.Tensor",
        "aten",
        "Tensor",
    )
    assert func.overloadpacket is aten.mul_
    assert func._schema.is_mutable
    assert not aten.mul.Tensor._schema.is_mutable
    assert [each.name for each in func._schema.arguments] == ["self", "other"]
    assert func._schema.arguments[0].is_write


# -- modes: what they may do -----------------------------------------------------------------------


def test_what_a_mode_returns_stands_for_the_result_and_has_the_operator_s_derivative():
    class Twice(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            found = func(*args, **(kwargs or {}))
            assert not found.requires_grad
            return found * 2 if func is aten.mul.Tensor else found

    x = rg.tensor([3.0], requires_grad=True)
    with Twice():
        y = x * 5
    y.backward()
    assert y.tolist() == [30.0]
    assert x.grad.tolist() == [5.0]


def test_a_mode_that_was_not_entered_cannot_be_left():
    with pytest.raises(IndexError, match="was not entered"):
        TorchDispatchMode().__exit__(None, None, None)
    with pytest.raises(RuntimeError, match="trying to pop from empty mode stack"):
        TorchFunctionMode().__exit__(None, None, None)
    assert logged(lambda: rg.ones(1) + 1) == ["ones.default", "add.Tensor"]


def test_the_tensor_that_a_mode_returns_is_the_result():
    kept = []

    class Keep(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            kept.append(func(*args, **(kwargs or {})))
            return kept[-1]

    x = rg.ones(2, requires_grad=True)
    with Keep():
        y = x * 2
    assert len(kept) == 1
    assert kept[0] is y


def test_modes_nest_the_innermost_first():
    seen = []

    class Named(TorchDispatchMode):
        def __init__(self, name):
            super().__init__()
            self.name = name

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            seen.append((self.name, str(func)))
            return func(*args, **(kwargs or {}))

    x = rg.ones(2)
    with Named("outer"), Named("inner"):
        x + 1
    assert seen == [("inner", "aten.add.Tensor"), ("outer", "aten.add.Tensor")]


def test_a_mode_is_out_of_force_in_itself_after_it_and_where_it_is_disabled():
    with Log() as log:
        assert is_in_torch_dispatch_mode()
        assert _get_current_dispatch_mode() is log
        with _disable_current_modes():
            rg.ones(2)
    assert log.names == []
    assert not is_in_torch_dispatch_mode()


def test_a_mode_that_raises_is_left():
    class Boom(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            raise ValueError("boom")

    with pytest.raises(ValueError, match="boom"), Boom():
        rg.ones(2)
    assert rg.ones(2).tolist() == [1.0, 1.0]


class Given(TorchDispatchMode):
    """Gives the same for every operator."""

    def __init__(self, value):
        super().__init__()
        self.value = value

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return self.value


@pytest.mark.parametrize("value", [1, "text", None, [1]])
@pytest.mark.parametrize(
    "function",
    [
        lambda x: x * 2,
        lambda x: x.detach() * 2,
        lambda x: x.detach().max(0),
        lambda x: x.max(0),
        lambda x: x.detach().split(1),
        lambda x: rg.zeros(2),
    ],
)
def test_a_mode_that_returns_no_tensor_is_told(value, function):
    x = rg.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="Unable to cast"), Given(value):
        function(x)


def test_a_mode_that_returns_no_number_is_told():
    x = rg.ones(1)
    for function in (rg.Tensor.item, bool, lambda x: x.equal(x)):
        with pytest.raises(RuntimeError, match="Unable to cast 'text' to a number"), Given("text"):
            function(x)
    with Given(3):
        assert x.item() == 3


def test_a_mode_may_return_none_for_a_write():
    x = rg.ones(2)
    with Given(None):
        assert x.add_(1) is x


def test_below_functions_grad_mode_is_that_of_the_call_and_nothing_is_recorded():
    seen = []

    class Asks(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            seen.append(rg.is_grad_enabled())
            with rg.no_grad():
                seen.append(rg.is_grad_enabled())
            with rg.enable_grad():
                seen.append((rg.is_grad_enabled(), (args[0] * 2).requires_grad))
            return func(*args, **(kwargs or {}))

    x, g = rg.ones(2, requires_grad=True), rg.ones(2)
    with Asks():
        y = x * x
        assert seen == [True, False, (True, False)]
        seen.clear()
        y.backward(g)
        assert set(seen[::3]) == {False}
        seen.clear()
        with rg.no_grad():
            x * x
    assert seen == [False, False, (True, False)]
    assert y.requires_grad


def test_a_grad_mode_set_below_functions_ends_with_the_call():
    class Sets(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            rg.set_grad_enabled(False)
            return func(*args, **(kwargs or {}))

    x = rg.ones(2, requires_grad=True)
    with Sets():
        assert (x * x).requires_grad
    assert rg.is_grad_enabled()


def test_views_made_before_a_write_have_their_history_below_functions():
    x = rg.ones(4, requires_grad=True)
    base = x * 1
    view = base[:2]
    base.mul_(3)

    class Looks(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            assert view.grad_fn is not None
            return func(*args, **(kwargs or {}))

    with Looks():
        rg.ones(2) + 1
    view.sum().backward()
    assert x.grad.tolist() == [3, 3, 0, 0]


def test_a_mode_is_of_its_thread():
    with Log() as log:
        thread = threading.Thread(target=lambda: rg.ones(2) + 1)
        thread.start()
        thread.join()
    assert log.names == []


def test_a_mode_sees_batched_calls_and_forward_derivatives():
    x = rg.ones(3, 2)
    with Log() as log:
        rg.func.vmap(lambda v: v.exp() * 2)(x)
        rg.func.jvp(rg.sin, (x,), (x,))
    assert {"exp.default", "mul.Tensor", "sin.default", "cos.default"} <= set(log.names)


def test_errors_are_those_without_a_mode():
    with pytest.raises(RuntimeError, match="must match the size"), BaseTorchDispatchMode():
        rg.ones(2) + rg.ones(3)
    with pytest.raises(TypeError, match="unsupported operand"), BaseTorchDispatchMode():
        rg.ones(2) + object()


# -- programs with modes -----------------------------------------------------------------------


def test_a_checker_finds_where_nan_comes_from():
    class Check(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            out = func(*args, **(kwargs or {}))
            for t in tree_leaves(out):
                if isinstance(t, rg.Tensor) and t.is_floating_point() and t.isnan().any():
                    raise RuntimeError(f"NaN from {func}")
            return out

    with pytest.raises(RuntimeError, match=r"NaN from aten\.sqrt\.default"), Check():
        (rg.tensor([-1.0, 4.0]).sqrt() * 2).sum()
    z = rg.zeros(1, requires_grad=True)
    with pytest.raises(RuntimeError, match="NaN from"), Check():
        (z * z).sqrt().sum().backward()


def test_a_tracker_follows_memory_by_storages():
    class Track(TorchDispatchMode):
        def __init__(self):
            super().__init__()
            self.seen, self.now, self.peak = weakref.WeakKeyDictionary(), 0, 0

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            out = func(*args, **(kwargs or {}))
            storage = out.untyped_storage()
            if storage not in self.seen:
                size = self.seen[storage] = storage.nbytes()
                self.now += size
                self.peak = max(self.peak, self.now)
                weakref.finalize(storage, self.free, size)
            return out

        def free(self, size):
            self.now -= size

    with Track() as track:
        a = rg.ones(1000)
        b = a * 2
        del a
        c = b + 1
        del b
    assert (track.now, track.peak, c.shape) == (4000, 8000, (1000,))


def test_a_counter_counts_the_products_of_a_training_step():
    flops = Counter()

    class Count(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            if func in (aten.mm.default, aten.addmm.default):
                x, y = args[-2:]
                flops[func] += 2 * x.shape[0] * x.shape[1] * y.shape[1]
            return func(*args, **(kwargs or {}))

    net = rg.nn.Sequential(rg.nn.Linear(3, 4), rg.nn.ReLU(), rg.nn.Linear(4, 2))
    with Count():
        net(rg.ones(5, 3)).sum().backward()
    assert flops == {aten.addmm.default: 200, aten.mm.default: 280}


# -- classes ---------------------------------------------------------------------------------------


def test_a_wrapper_has_the_shape_it_was_made_with_and_no_data(kind):
    x = kind(rg.ones(3, 2).t())
    assert (x.shape, x.stride(), x.dtype, x.numel()) == ((2, 3), (1, 2), rg.float32, 6)
    assert x.is_leaf
    assert not x.requires_grad
    assert x.device.type == "cpu"
    with pytest.raises(NotImplementedError, match="has no data of its own"):
        x.numpy()


def test_a_class_without_torch_dispatch_makes_no_wrapper():
    class Silent(rg.Tensor):
        pass

    with pytest.raises(TypeError, match="must define __torch_dispatch__"):
        rg.Tensor._make_wrapper_subclass(Silent, (2,))


def test_gradients_go_through_wrappers(kind):
    x = kind(rg.tensor([1.0, 2.0]), requires_grad=True)
    y = (x * x).sum()
    assert type(y) is kind
    assert type(y.grad_fn).__name__ == "SumBackward0"
    y.backward()
    assert type(x.grad) is kind
    assert x.grad.elem.tolist() == [2.0, 4.0]
    (x * x).sum().backward()
    assert x.grad.elem.tolist() == [4.0, 8.0]


def test_second_derivatives_go_through_wrappers(kind):
    x = kind(rg.tensor([1.0, 2.0]), requires_grad=True)
    (first,) = rg.autograd.grad((x**3).sum(), x, create_graph=True)
    (second,) = rg.autograd.grad(first.sum(), x)
    assert second.elem.tolist() == [6.0, 12.0]


def test_functions_lead_into_a_wrapper_and_out_of_it(kind):
    class Wrap(rg.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return kind(x)

        @staticmethod
        def backward(ctx, g):
            return g.elem

    class Open(rg.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.elem.clone()

        @staticmethod
        def backward(ctx, g):
            return kind(g)

    x = rg.ones(2, requires_grad=True)
    w = Wrap.apply(x)
    y = Open.apply(w * w * 3)
    (y * y).sum().backward()
    assert type(w) is kind
    assert x.grad.tolist() == [36.0, 36.0]


def test_a_plain_graph_may_save_a_wrapper(kind):
    x = rg.ones(3, requires_grad=True)
    index = kind(rg.tensor([0, 0, 2]))
    x.index_select(0, index).elem.sum()
    found = rg.autograd.grad(x.index_select(0, index).sum(), x, kind(rg.tensor(1.0)))[0]
    assert found.elem.tolist() == [2.0, 0.0, 1.0]


def test_writes_in_place_reach_what_a_wrapper_holds(kind):
    held = rg.tensor([1.0, 2.0])
    x = kind(held)
    assert x.add_(1) is x
    x[0] = 7.0
    x += 1
    x.mul_(x)
    assert held.tolist() == [64.0, 16.0]
    assert x.elem is held
    assert kind.calls == [
        "add_.Tensor",
        "select.int",
        "copy_.default",
        "add_.Tensor",
        "mul_.Tensor",
    ]


def test_recorded_writes_give_a_wrapper_other_values(kind):
    x = kind(rg.tensor([1.0, 2.0]), requires_grad=True)
    y = x.clone()
    y.mul_(3)
    assert y.elem.tolist() == [3.0, 6.0]
    y.sum().backward()
    assert x.grad.elem.tolist() == [3.0, 3.0]


def test_detach_and_factories_give_wrappers(kind):
    x = kind(rg.tensor([1.0, 2.0]), requires_grad=True)
    for made in (x.detach(), rg.zeros_like(x), x.new_ones(2), x.clone(), x[0], x.view(1, 2)):
        assert type(made) is kind
        assert made.elem.dtype is rg.float32
    assert x.sum().item() == 3.0
    assert float(x[1]) == 2.0


def test_masks_and_indices_may_be_wrappers(kind):
    x = kind(rg.tensor([1.0, -2.0, 3.0]))
    assert x[x > 0].elem.tolist() == [1.0, 3.0]
    assert x[kind(rg.tensor([2, 0]))].elem.tolist() == [3.0, 1.0]


def test_results_with_names_keep_them(kind):
    found = kind(rg.tensor([3.0, 1.0])).sort()
    assert found.indices.elem.tolist() == [1, 0]
    assert type(found).__name__ == "sort"


def test_copies_and_files_keep_what_a_wrapper_holds():
    x = Held(rg.tensor([1.0, 2.0]), requires_grad=True)
    file = io.BytesIO()
    rg.save(x, file)
    file.seek(0)
    with rg.serialization.safe_globals([Held]):
        loaded = rg.load(file)
    for made in (copy.copy(x), copy.deepcopy(x), pickle.loads(pickle.dumps(x)), loaded):
        assert type(made) is Held
        assert made.requires_grad
        assert (made * 2).elem.tolist() == [2.0, 4.0]


@pytest.mark.parametrize("rule", [rg.optim.SGD, rg.optim.Adam, rg.optim.RMSprop])
def test_optimizers_update_wrappers(rule):
    plain, held = rg.ones(2, requires_grad=True), Held(rg.ones(2), requires_grad=True)
    for x in (plain, held):
        optimizer = rule([x], lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            (x * x).sum().backward()
            optimizer.step()
    assert rg.allclose(held.detach().elem, plain.detach(), atol=1e-7)


def test_a_parameter_of_a_wrapper_trains():
    layer = rg.nn.Linear(2, 2, bias=False)
    layer.weight = rg.nn.Parameter(Held(rg.eye(2)))
    layer(rg.ones(1, 2)).sum().backward()
    assert type(layer.weight.grad) is Held
    assert layer.weight.grad.elem.tolist() == [[1.0, 1.0]] * 2
    assert "Held(" in repr(layer.weight)


def test_a_class_on_data_sees_operators_and_may_leave_them_as_they_are():
    seen = []

    class Own(rg.Tensor):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            seen.append((str(func), types))
            return super().__torch_dispatch__(func, types, args, kwargs)

    for made in (Own([1.0, 2.0]), rg.ones(2).as_subclass(Own)):
        assert type(made + 1) is rg.Tensor
    assert seen == [("aten.add.Tensor", (Own,))] * 2


def test_a_subclass_is_asked_before_its_base_and_the_next_where_it_declines():
    asked = []

    def answering(name, answer):
        def dispatch(cls, func, types, args=(), kwargs=None):
            asked.append(name)
            return answer

        return classmethod(dispatch)

    made = rg.ones(2)
    base = type("Base", (rg.Tensor,), {"__torch_dispatch__": answering("base", made)})
    sub = type("Sub", (base,), {"__torch_dispatch__": answering("sub", NotImplemented)})
    x, y = rg.zeros(2).as_subclass(base), rg.zeros(2).as_subclass(sub)
    assert (x + y).tolist() == [1.0, 1.0]
    assert asked == ["sub", "base"]
    with pytest.raises(TypeError, match="all __torch_dispatch__ handlers returned NotImplemented"):
        y + 1


def test_a_mode_sees_a_wrapper_s_operators_first_with_its_type():
    types_seen = []

    class Types(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            types_seen.append(types)
            return func(*args, **(kwargs or {}))

    with Types():
        found = Held(rg.ones(2)) + 1
    assert found.elem.tolist() == [2.0, 2.0]
    assert types_seen == [(), (Held,)]


def test_a_wrapper_may_scale():
    class Scaled(rg.Tensor):
        def __new__(cls, held, scale):
            made = rg.Tensor._make_wrapper_subclass(cls, held.shape, dtype=rg.float32)
            made.held, made.scale = held, scale
            return made

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            if func is aten.mul.Tensor and not isinstance(args[1], rg.Tensor):
                return cls(args[0].held, args[0].scale * args[1])
            opened = tree_map(lambda t: t.held * t.scale if isinstance(t, cls) else t, args)
            return func(*opened, **(kwargs or {}))

    x = Scaled(rg.tensor([1, 2], dtype=rg.int8), 0.5)
    y = x * 4
    assert type(y) is Scaled
    assert y.scale == 2.0
    assert (y + 1).tolist() == [3.0, 5.0]


def test_wrappers_can_be_taken_apart():
    x = Held(rg.ones(2))
    assert is_traceable_wrapper_subclass(x)
    assert not is_traceable_wrapper_subclass(rg.ones(2))
    assert transform_subclass(x, lambda name, t: t * 3).elem.tolist() == [3.0, 3.0]


def test_dropping_a_wrapper_s_graph_frees_it():
    x = Held(rg.ones(2), requires_grad=True)
    y = (x * x).exp()
    ref = weakref.ref(y.elem)
    del y
    assert ref() is None
