"""Registration, traversal, conversion and text of modules."""

from __future__ import annotations

import copy
import gc
import inspect
import pickle
import types
import weakref
from typing import ClassVar

import numpy as np
import pytest

import retrograd as rg
from retrograd import nn
from retrograd.engine.native import native
from retrograd.nn import state


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(2, 3)
        self.scale = nn.Parameter(rg.tensor(2.0))
        self.register_buffer("mean", rg.zeros(3))
        self.register_buffer("scratch", rg.zeros(1), persistent=False)
        self.inner = nn.Sequential(nn.ReLU(), nn.Linear(3, 1, bias=False))

    def forward(self, x):
        return self.inner(self.first(x) * self.scale)


def test_assignment_registers_parameters_buffers_and_modules():
    net = Net()
    names = ["scale", "first.weight", "first.bias", "inner.1.weight"]
    assert [n for n, _ in net.named_parameters()] == names
    assert [n for n, _ in net.named_buffers()] == ["mean", "scratch"]
    assert [n for n, _ in net.named_modules()] == ["", "first", "inner", "inner.0", "inner.1"]
    assert [n for n, _ in net.named_children()] == ["first", "inner"]
    assert [n for n, _ in net.named_parameters("net", recurse=False)] == ["net.scale"]


def test_a_registered_name_is_found_by_its_class_only_where_an_instance_has_it():
    class Layer(nn.Module):
        def __init__(self, deep):
            super().__init__()
            self.scale = nn.Parameter(rg.ones(1))
            if deep:
                self.inner = Layer(False)

    class Fixed(Layer):
        inner = "of the class"  # as in PyTorch, it hides what is registered

    deep, flat = Layer(True), Layer(False)
    assert deep.inner.scale is deep.inner._parameters["scale"]
    assert not hasattr(Layer, "scale")
    assert not hasattr(flat, "inner")
    with pytest.raises(AttributeError, match="'Layer' object has no attribute 'inner'"):
        flat.inner
    flat._parameters["scale"] = deep.scale  # the tables are what counts
    assert flat.scale is deep.scale
    del flat.scale
    flat.scale = "plain"
    assert flat.scale == "plain"
    assert Fixed(True).inner == "of the class"
    with pytest.raises(AttributeError, match="has no attribute 'scale'"):
        object.__new__(Layer).scale


def test_containers_keep_their_users_names_to_themselves():
    first = nn.ModuleDict({"encoder": nn.Identity()})
    assert isinstance(first.encoder, nn.Identity)
    assert "encoder" not in vars(nn.ModuleDict)
    assert not hasattr(nn.ModuleDict(), "encoder")


def test_shared_members_are_given_once_unless_asked():
    net = nn.Module()
    net.a = nn.Linear(1, 1)
    net.b = net.a
    net.c = net.a.weight
    assert len(list(net.parameters())) == 2
    assert [n for n, _ in net.named_modules()] == ["", "a"]
    assert [n for n, _ in net.named_modules(remove_duplicate=False)] == ["", "a", "b"]
    assert len(list(net.named_parameters(remove_duplicate=False))) == 5


def test_parameters_can_be_replaced_and_deleted():
    net = Net()
    net.scale = None
    assert net.scale is None
    assert "scale" not in dict(net.named_parameters())
    net.scale = nn.Parameter(rg.ones(1))
    assert net.scale.shape == (1,)
    del net.scale
    with pytest.raises(AttributeError, match="'Net' object has no attribute 'scale'"):
        _ = net.scale


def test_an_attribute_changes_its_table_with_its_value():
    net = nn.Module()
    net.x = 1
    net.x = nn.ReLU()
    assert "x" not in net.__dict__
    net.x = nn.Parameter(rg.ones(1))
    assert list(net.children()) == []
    assert isinstance(net.x, nn.Parameter)


@pytest.mark.parametrize(
    ("act", "kind", "text"),
    [
        (lambda m: setattr(m, "scale", rg.ones(1)), TypeError, "as parameter 'scale'"),
        (lambda m: setattr(m, "first", 3), TypeError, "as child module 'first'"),
        (lambda m: setattr(m, "mean", 3), TypeError, "as buffer 'mean'"),
        (lambda m: m.register_parameter("a.b", None), KeyError, "contain"),
        (lambda m: m.register_parameter("", None), KeyError, "be empty"),
        (lambda m: m.register_parameter("first", None), KeyError, "already exists"),
        (lambda m: m.register_buffer("b", 3), TypeError, "to buffer 'b'"),
        (lambda m: m.add_module("m", 3), TypeError, "int is not a Module subclass"),
        (lambda m: m.add_module("m", rg.relu), TypeError, "relu is not a Module subclass"),
        (lambda m: m.train(1), ValueError, "training mode is expected to be boolean"),
        (lambda m: m.to(rg.int64), TypeError, "only accepts floating point or complex dtypes"),
    ],
)
def test_what_cannot_be_registered_raises(act, kind, text):
    with pytest.raises(kind, match=text):
        act(Net())


def test_a_tensor_with_history_is_no_parameter():
    parameter = nn.Parameter(rg.ones(1))
    parameter._node = (rg.ones(1, requires_grad=True) * 2)._node
    with pytest.raises(ValueError, match="Cannot assign non-leaf Tensor to parameter 'w'"):
        nn.Module().register_parameter("w", parameter)


def test_assigning_before_init_raises():
    class Early(nn.Module):
        def __init__(self):
            self.w = nn.Parameter(rg.ones(1))

    with pytest.raises(AttributeError, match=r"before Module\.__init__"):
        Early()


def test_a_module_without_forward_raises():
    with pytest.raises(NotImplementedError, match='missing the required "forward" function'):
        nn.Module()(1)


def test_programs_add_to_the_constants_of_a_layer():
    class Scaled(nn.Linear):
        __constants__: ClassVar = [*nn.Linear.__constants__, "scale"]

    assert Scaled.__constants__ == ["scale"]


def test_a_function_that_is_an_attribute_of_a_class_is_no_method():
    class Layer(nn.Module):
        act = rg.tanh
        multiply = nn.functional.linear
        own = lambda self, x: x + 1

    x = rg.tensor([[1.0, 2.0]])
    assert Layer().act(x).equal(rg.tanh(x))
    assert Layer().multiply(x, rg.tensor([[3.0, 4.0]])).tolist() == [[11.0]]
    assert Layer().own(x).tolist() == [[2.0, 3.0]]
    assert Layer.act is rg.tanh


def test_a_function_of_the_package_is_a_function_for_who_asks():
    assert isinstance(rg.tanh, types.FunctionType)
    assert inspect.isfunction(nn.functional.relu)


@pytest.mark.skipif(native is None, reason="Python's functions are methods of any class")
def test_in_a_compiled_core_a_function_is_no_method_of_any_class_but_those_of_tensors():
    class Backend:
        sin = rg.sin
        log_gamma = rg.lgamma

    class Mine(rg.Tensor):
        own = rg.sin

    x = rg.tensor([1.0, 2.0])
    assert Backend().sin(x).equal(rg.sin(x))
    assert Backend().log_gamma(input=x).equal(rg.lgamma(x))
    assert Backend.sin is rg.sin
    assert type(x.as_subclass(Mine).own()) is Mine
    with pytest.raises(TypeError, match="a class and a name"):
        rg.sin.__set_name__(3, "sin")


def test_a_class_may_have_any_attribute():
    class Odd:
        def __hash__(self):
            raise AssertionError("hashed")

    class Layer(nn.Module):
        sizes = (1, [2])
        odd = Odd()

    assert Layer().sizes == (1, [2])
    assert Layer().odd is Layer.odd


def test_members_are_found_by_dotted_names():
    net = Net()
    assert net.get_submodule("inner.1") is net.inner[1]
    assert net.get_parameter("inner.1.weight") is net.inner[1].weight
    assert net.get_buffer("mean") is net.mean
    net.set_submodule("inner.0", nn.Tanh())
    assert isinstance(net.inner[0], nn.Tanh)
    with pytest.raises(AttributeError, match="Net has no attribute `nothing`"):
        net.get_submodule("nothing.at.all")
    with pytest.raises(AttributeError, match=r"`mean` is not an nn\.Parameter"):
        net.get_parameter("mean")


def test_modes_reach_every_module():
    net = Net().eval()
    assert not any(m.training for m in net.modules())
    assert all(m.training for m in net.train().modules())


def test_freezing_stops_gradients():
    net = Net().requires_grad_(False)
    assert not net(rg.ones(1, 2)).requires_grad
    net.inner.requires_grad_()
    net(rg.ones(1, 2)).sum().backward()
    assert net.first.weight.grad is None
    assert net.inner[1].weight.grad.equal(net.inner[0](net.first(rg.ones(1, 2)) * net.scale))
    net.zero_grad()
    assert net.inner[1].weight.grad is None


def test_apply_visits_children_first():
    seen = []
    Net().apply(lambda m: seen.append(type(m).__name__))
    assert seen == ["Linear", "ReLU", "Linear", "Sequential", "Net"]


def test_conversion_keeps_the_parameter_objects_and_converts_gradients():
    layer = nn.Linear(2, 1)
    weight, before = layer.weight, layer.weight.tolist()
    layer(rg.ones(1, 2)).sum().backward()
    layer.to(rg.float64)
    assert layer.weight is weight
    assert weight.dtype is weight.grad.dtype is rg.float64
    assert weight.tolist() == before
    layer(rg.ones(1, 2, dtype=rg.float64)).sum().backward()
    assert weight.grad.tolist() == [[2.0, 2.0]]


def test_conversion_to_complex_leaves_integer_buffers():
    layer = nn.BatchNorm1d(2).to(rg.complex128)
    assert layer.weight.dtype is layer.running_mean.dtype is rg.complex128
    assert layer.num_batches_tracked.dtype is rg.int64
    assert nn.Linear(1, 1).double().weight.dtype is rg.float64
    assert nn.Linear(1, 1).half().weight.dtype is rg.float16
    assert nn.Linear(1, 1).cfloat().weight.dtype is rg.complex64
    assert nn.Linear(1, 1).cfloat().double().weight.dtype is rg.complex64


def test_an_absent_device_raises():
    with pytest.raises(AssertionError, match="CUDA"):
        nn.Linear(1, 1, device="cuda")
    with pytest.raises(AssertionError, match="CUDA"):
        nn.Linear(1, 1).to("cuda")


def test_a_deep_copy_is_independent():
    net = Net()
    before, other = net.first.weight.tolist(), copy.deepcopy(net)
    assert other(rg.ones(1, 2)).equal(net(rg.ones(1, 2)))
    with rg.no_grad():
        other.first.weight.zero_()
    assert net.first.weight.tolist() == before
    assert type(other.first.weight) is nn.Parameter
    assert other(rg.ones(1, 2)).equal(other.inner(other.first.bias * 2)[None])


def test_a_deep_copy_keeps_ties():
    net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    net[1].weight = net[0].weight
    other = copy.deepcopy(net)
    assert other[0].weight is other[1].weight
    assert other[0].weight is not net[0].weight


def test_pickling_keeps_values_modes_and_kinds():
    net = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2)).eval()
    net[0].weight.requires_grad_(False)
    other = pickle.loads(pickle.dumps(net))
    x = rg.tensor([[1.0, -2.0]])
    assert other(x).tolist() == net(x).tolist()
    assert not other[0].weight.requires_grad
    assert isinstance(other[0].bias, nn.Parameter)
    assert not other.training


def test_a_parameter_shares_memory_and_shows_itself():
    data = rg.ones(2)
    parameter = nn.Parameter(data)
    data.add_(1)
    assert parameter.tolist() == [2.0, 2.0]
    assert repr(parameter) == "Parameter containing:\ntensor([2., 2.], requires_grad=True)"
    assert repr(nn.Buffer(data)) == "tensor([2., 2.])"
    assert type(parameter * 1) is rg.Tensor
    with pytest.raises(TypeError, match="Parameter data must be a Tensor"):
        nn.Parameter([1.0])
    with pytest.raises(RuntimeError, match="floating point and complex"):
        nn.Parameter(rg.arange(3))
    assert not nn.Parameter(rg.arange(3), requires_grad=False).requires_grad


class Tagged(rg.Tensor):
    """A class of tensors whose members load twice what they are given."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if func is rg.Tensor.module_load:
            return (args[1] * 2).as_subclass(Tagged)
        return super().__torch_function__(func, types, args, kwargs or {})


def test_a_parameter_of_a_subclass_is_one_of_it_too():
    data = rg.tensor([1.0, 2.0]).as_subclass(Tagged)
    parameter = nn.Parameter(data)
    assert isinstance(parameter, Tagged)
    assert isinstance(parameter, nn.Parameter)
    assert type(parameter).__name__ == "Tagged"
    assert repr(parameter) == "Parameter(Tagged([1., 2.], requires_grad=True))"
    assert type(parameter * 2) is type(parameter.detach()) is Tagged
    other = copy.deepcopy(parameter)
    data.add_(1)
    assert parameter.tolist() == [2.0, 3.0]
    assert other.tolist() == [1.0, 2.0]
    assert type(other) is type(parameter)
    (parameter * parameter).sum().backward()
    assert parameter.grad.tolist() == [4.0, 6.0]


def test_a_module_asks_its_tensors_what_they_make_of_loaded_values(monkeypatch):
    monkeypatch.setattr(state, "swaps", True)
    layer = nn.Linear(2, 2)
    layer.weight = weight = nn.Parameter(layer.weight.detach().as_subclass(Tagged))
    bias = layer.bias
    layer.load_state_dict({"weight": rg.ones(2, 2), "bias": rg.ones(2)})
    assert layer.weight is weight
    assert isinstance(weight, Tagged)
    assert weight.tolist() == [[2.0, 2.0], [2.0, 2.0]]
    assert layer.bias is bias
    assert bias.tolist() == [1.0, 1.0]


def test_a_tensor_that_gives_itself_for_a_loaded_value_is_refused(monkeypatch):
    monkeypatch.setattr(state, "swaps", True)
    monkeypatch.setattr(rg.Tensor, "module_load", lambda self, other, assign=False: other)
    with pytest.raises(RuntimeError, match="returned one of self or other for weight"):
        nn.Linear(1, 1, bias=False).load_state_dict({"weight": rg.ones(1, 1)})


def test_a_conversion_that_writes_in_place_counts_for_gradients_too():
    layer = nn.Linear(2, 2)
    layer.weight.grad = rg.ones(2, 2, requires_grad=True)
    g = layer.weight.grad
    product = (g * g).sum()
    with rg.no_grad():
        layer._apply(lambda t: t.add_(1))
    assert g is layer.weight.grad
    assert (g.tolist(), g._version) == ([[2, 2], [2, 2]], 1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        product.backward()


def test_conversion_keeps_the_gradient_objects():
    layer = nn.Linear(2, 2)
    layer(rg.ones(1, 2)).sum().backward()
    grad = layer.weight.grad
    layer.double()
    assert layer.weight.grad is grad
    assert grad.dtype is rg.float64


def test_a_conversion_that_fails_leaves_parameters_and_their_gradients():
    def failing(t):
        if t is not layer.weight and (t == 1).all():
            raise ValueError
        return t.double()

    layer = nn.Linear(2, 2, bias=False)
    layer(rg.ones(1, 2)).sum().backward()
    grad = layer.weight.grad
    for failed, convert in (
        (AssertionError, layer.cuda),
        (ValueError, lambda: layer._apply(failing)),
    ):
        with pytest.raises(failed):
            convert()
        assert layer.weight.grad is grad
        assert (layer.weight.dtype, grad.dtype) == (rg.float32, rg.float32)
        assert grad.tolist() == [[1, 1], [1, 1]]


def test_a_buffer_with_a_graph_keeps_it_when_it_is_converted():
    module = nn.Module()
    module.register_buffer("b", rg.ones(3, requires_grad=True))
    before = module.b
    assert module.double().b.dtype is rg.float64
    (module.half().b * rg.tensor([1, 2, 3])).sum().backward()
    assert before.grad.tolist() == [1, 2, 3]
    with rg.no_grad():
        assert not module.double().b.requires_grad


def test_an_expanded_buffer_that_is_converted_lies_row_by_row():
    module = nn.Module()
    module.register_buffer("k", rg.arange(3.0).expand(2, 3))
    assert module.double().k.stride() == module.k.half().stride() == (3, 1)


def test_a_deep_copied_parameter_keeps_the_order_of_its_elements_in_memory():
    layer = nn.Conv2d(2, 3, 2).to(memory_format=rg.channels_last)
    other = copy.deepcopy(layer)
    assert other.weight.stride() == layer.weight.stride() == (8, 1, 4, 2)
    assert other.weight.tolist() == layer.weight.tolist()
    assert copy.deepcopy(nn.Parameter(rg.ones(4, 3)[:, ::2])).stride() == (2, 1)


def test_a_deep_copied_parameter_leaves_its_gradient_behind():
    parameter = nn.Parameter(rg.ones(1))
    parameter.grad = rg.ones(1)
    assert copy.deepcopy(parameter).grad is None


def test_buffers_know_whether_they_are_saved():
    net = nn.Module()
    net.kept, net.lost = nn.Buffer(rg.ones(1)), nn.Buffer(rg.ones(1), persistent=False)
    assert list(net.state_dict()) == ["kept"]
    assert not copy.deepcopy(net.lost).persistent
    net.kept = rg.zeros(2)
    assert dict(net.named_buffers())["kept"].shape == (2,)


def test_the_text_nests_like_pytorchs():
    lines = [
        "Net(",
        "  (first): Linear(in_features=2, out_features=3, bias=True)",
        "  (inner): Sequential(",
        "    (0): ReLU()",
        "    (1): Linear(in_features=3, out_features=1, bias=False)",
        "  )",
        ")",
    ]
    assert repr(Net()).split("\n") == lines


def test_dropping_a_module_frees_its_parameters_at_once():
    gc.disable()
    try:
        net = Net()
        ref = weakref.ref(net.first.weight._array)
        net(rg.ones(1, 2)).sum().backward()
        del net
        assert ref() is None
    finally:
        gc.enable()


def test_linear_with_numpy_values_computes_the_product():
    layer = nn.Linear(3, 2, dtype=rg.float64)
    x = np.arange(6.0).reshape(2, 3)
    expected = x @ layer.weight._array.T + layer.bias._array
    np.testing.assert_allclose(layer(rg.tensor(x))._array, expected, rtol=1e-14)


def test_a_getattr_of_a_class_s_own_hears_of_every_registered_name():
    asked = []

    class Hearing(rg.nn.Module):
        def __getattr__(self, name):
            asked.append(name)
            return super().__getattr__(name)

    class Both(rg.nn.Linear, Hearing):
        pass

    rg.nn.Linear(2, 1)  # whose class finds its names the quick way
    layer = Both(2, 1)
    layer.inner = rg.nn.ReLU()
    asked.clear()
    assert layer.weight is layer._parameters["weight"]
    assert layer.inner is layer._modules["inner"]
    assert layer.weight is layer._parameters["weight"]
    assert asked == ["weight", "inner", "weight"]


def test_a_subclass_whose_to_asks_for_cpu_ends():
    class Placed(nn.Module):
        def to(self, device):
            return self.cpu()

    layer = Placed()
    assert layer.to("cpu") is layer


def test_members_of_other_tables_are_named_like_parameters():
    net = rg.nn.Sequential(rg.nn.Linear(1, 1), rg.nn.ReLU())
    found = net._named_members(lambda module: [("training", module.training)], prefix="net")
    assert [name for name, _ in found] == ["net.training"]  # of equal members, the first
    every = net._named_members(lambda m: m._parameters.items(), remove_duplicate=False)
    assert [name for name, _ in every] == ["0.weight", "0.bias"]


def test_a_conversion_may_give_a_module_new_parameters(monkeypatch):
    layer = rg.nn.Linear(2, 2)
    before = layer.weight
    layer(rg.ones(2)).sum().backward()
    monkeypatch.setattr(rg.nn.casts, "overwrites", True)
    layer.double()
    assert (before.dtype, layer.weight.dtype) == (rg.float32, rg.float64)
    assert layer.weight.is_leaf
    assert layer.weight.grad.dtype is rg.float64
    assert layer.weight.grad.tolist() == before.grad.tolist()


def test_arguments_that_reach_module_are_refused_under_the_name_of_the_class():
    class Layer(nn.Module):
        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)

    with pytest.raises(TypeError, match=r"Layer.__init__\(\) takes 1 positional argument but 2"):
        Layer(1)
    with pytest.raises(TypeError, match=r"Layer.__init__\(\) got an unexpected keyword argument"):
        Layer(size=1)


def test_call_super_init_goes_on_to_the_next_base():
    class Named:
        def __init__(self, name):
            self.name = name

    class Layer(nn.Module, Named):
        call_super_init = True

    assert Layer(name="first").name == "first"
    assert not nn.Module.call_super_init


def test_a_module_does_not_take_the_place_of_a_parameter():
    module = nn.Module()
    module.p = nn.Parameter(rg.ones(1))
    with pytest.raises(TypeError, match=r"cannot assign '.*Linear' as parameter 'p'"):
        module.p = nn.Linear(1, 1)
    assert list(module._parameters) == ["p"]
    module.p = None
    del module.p
    module.p = nn.Linear(1, 1)
    assert list(module._modules) == ["p"]


def test_generators_of_a_module_say_that_they_are_its_own():
    assert repr(nn.Linear(1, 1).parameters()).startswith("<generator object Module.parameters at ")


def test_a_class_that_replaces_call_impl_is_called_by_it():
    class Doubled(rg.nn.Identity):
        def _call_impl(self, *args):
            return 2 * super()._call_impl(*args)

    class Below(Doubled):
        pass

    module, seen = Below(), []
    module.register_forward_hook(lambda *args: seen.append("hook"))
    assert (module(3), module._wrapped_call_impl(4), seen) == (6, 4, ["hook", "hook"])
    assert rg.nn.Module.dump_patches is False


def test_modules_may_be_listed_as_often_as_they_are_there():
    shared = rg.nn.ReLU()
    module = rg.nn.Sequential(shared, shared)
    assert list(module.modules(remove_duplicate=False)) == [module, shared, shared]
    assert list(module.modules()) == [module, shared]


def test_the_output_of_an_adaptive_softmax_is_the_sum_of_head_and_tails():
    layer = nn.AdaptiveLogSoftmaxWithLoss(4, 5, [2], div_value=2.0)
    x, target = rg.ones(3, 4), rg.tensor([0, 3, 4])
    output, loss = layer(x, target)
    assert output.grad_fn.name() == "AddBackward0"
    rg.testing.assert_close(output, layer.log_prob(x).gather(1, target[:, None]).squeeze(1))
    rg.testing.assert_close(loss, -output.mean())


def test_a_module_without_tensors_goes_to_any_device():
    layer = nn.ReLU()
    assert layer.to("cuda") is layer.to(device="cuda:0") is layer.to("mps", rg.float64) is layer
    with pytest.raises(RuntimeError, match="Expected one of cpu, cuda"):
        layer.to("nonsense")
    with pytest.raises(AssertionError, match="not compiled with CUDA enabled"):
        nn.Sequential(layer, nn.Linear(1, 1)).to("cuda")


def test_type_takes_what_that_of_a_tensor_takes():
    layer = rg.nn.Linear(2, 2)
    assert layer.type("retrograd.DoubleTensor").weight.dtype is rg.float64
    assert layer.type(rg.float32).weight.dtype is rg.float32
    with pytest.raises(TypeError):
        layer.type(5)
