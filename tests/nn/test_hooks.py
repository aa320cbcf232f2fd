"""Forward, backward and state hooks of modules."""

from __future__ import annotations

import gc
import pickle
import weakref
from functools import partial

import pytest

import retrograd as rg
from retrograd import nn
from retrograd.nn.modules.module import (
    register_module_buffer_registration_hook,
    register_module_forward_hook,
    register_module_forward_pre_hook,
    register_module_full_backward_hook,
    register_module_module_registration_hook,
    register_module_parameter_registration_hook,
)


class Double(nn.Module):
    def forward(self, x, factor=2):
        return x * factor


class Pair(nn.Module):
    def forward(self, x, y):
        return x * y, x + y


def test_pre_hooks_change_the_arguments_in_order():
    layer = Double()
    layer.register_forward_pre_hook(lambda m, args: args[0] + 1)
    layer.register_forward_pre_hook(lambda m, args: (args[0] * 10,))
    layer.register_forward_pre_hook(lambda m, args: (args[0] - 1,), prepend=True)
    assert layer(rg.tensor(3.0)).item() == 60.0


def test_pre_hooks_with_kwargs_see_and_change_both():
    layer = Double()
    handle = layer.register_forward_pre_hook(
        lambda m, args, kwargs: (args, {"factor": kwargs["factor"] + 1}), with_kwargs=True
    )
    assert layer(rg.tensor(1.0), factor=4).item() == 5.0
    handle.remove()
    assert layer(rg.tensor(1.0), factor=4).item() == 4.0
    layer.register_forward_pre_hook(lambda m, args, kwargs: 3, with_kwargs=True)
    with pytest.raises(RuntimeError, match="tuple of \\(new_args, new_kwargs\\)"):
        layer(rg.tensor(1.0))


def test_forward_hooks_replace_the_output_in_order():
    layer = Double()
    layer.register_forward_hook(lambda m, args, output: output + args[0])
    layer.register_forward_hook(
        lambda m, args, kwargs, output: output * kwargs["factor"], with_kwargs=True
    )
    assert layer(rg.tensor(1.0), factor=3).item() == 12.0


def test_a_hook_leaves_with_its_context():
    layer, seen = Double(), []
    with layer.register_forward_hook(lambda *args: seen.append(1)):
        layer(rg.tensor(1.0))
    layer(rg.tensor(1.0))
    assert seen == [1]


def test_always_called_hooks_run_after_an_error():
    class Fails(nn.Module):
        def forward(self):
            raise ValueError("inside")

    layer, seen = Fails(), []
    layer.register_forward_hook(lambda m, args, output: seen.append("plain"))
    layer.register_forward_hook(lambda m, args, out: seen.append(out), always_call=True)
    with pytest.raises(ValueError, match="inside"):
        layer()
    assert seen == [None]


def test_backward_hooks_see_and_change_gradients():
    layer, seen = Pair(), []

    def hook(module, grad_input, grad_output):
        seen.append(([g.item() for g in grad_input], [g.item() for g in grad_output]))
        return grad_input[0] * 100, grad_input[1]

    layer.register_full_backward_hook(hook)
    x, y = rg.tensor(3.0, requires_grad=True), rg.tensor(5.0, requires_grad=True)
    product, total = layer(x, y)
    (product + 2 * total).backward()
    assert seen == [([7.0, 5.0], [1.0, 2.0])]
    assert (x.grad.item(), y.grad.item()) == (700.0, 5.0)


def test_backward_pre_hooks_change_the_gradient_of_the_output():
    layer, seen = Double(), []
    layer.register_full_backward_pre_hook(lambda m, grad_output: (grad_output[0] * 10,))
    layer.register_full_backward_hook(lambda m, gi, go: seen.append((gi[0].item(), go[0].item())))
    x = rg.tensor(1.0, requires_grad=True)
    layer(x).backward()
    assert x.grad.item() == 20.0
    assert seen == [(20.0, 10.0)]


def test_inputs_without_gradient_are_none_in_backward_hooks():
    layer, seen = Pair(), []
    layer.register_full_backward_hook(lambda m, gi, go: seen.append(gi))
    x = rg.tensor(3.0, requires_grad=True)
    layer(x, rg.tensor(5.0))[0].backward()
    assert seen[0][0].item() == 5.0
    assert seen[0][1] is None


def test_backward_hooks_without_differentiable_inputs_warn_and_run():
    layer, seen = nn.Linear(2, 1), []
    layer.register_full_backward_hook(lambda m, gi, go: seen.append((gi, go[0].shape)))
    with pytest.warns(UserWarning, match="no inputs require gradients"):
        layer(rg.ones(3, 2)).sum().backward()
    assert seen == [((None,), (3, 1))]
    assert layer.weight.grad.tolist() == [[3.0, 3.0]]


def test_a_wrong_number_of_gradients_raises():
    layer = Pair()
    layer.register_full_backward_hook(lambda m, gi, go: (gi[0],))
    x = rg.ones(1, requires_grad=True)
    with pytest.raises(RuntimeError, match="invalid number of grad_input, got 1, but expected 2"):
        layer(x, x * 2)[0].sum().backward()


def test_writing_a_hooked_input_in_place_raises():
    layer = nn.Sequential(nn.ReLU(inplace=True))
    layer.register_full_backward_hook(lambda *args: None)
    x = rg.ones(1, requires_grad=True)
    with pytest.raises(RuntimeError, match="is a view and is being modified inplace"):
        layer(x * 2)


def test_backward_hooks_differentiate_twice():
    layer, seen = Double(), []
    layer.register_full_backward_hook(lambda m, gi, go: seen.append(go[0].requires_grad))
    x = rg.tensor(3.0, requires_grad=True)
    (dx,) = rg.autograd.grad(layer(x * x), x, create_graph=True)
    (ddx,) = rg.autograd.grad(dx, x)
    assert (dx.item(), ddx.item()) == (12.0, 4.0)
    assert len(seen) >= 1


def test_hooked_modules_leave_no_cycle():
    layer = Double()
    layer.register_full_backward_hook(lambda *args: None)
    gc.disable()
    try:
        x = rg.ones(1000, requires_grad=True)
        out = layer(x * 1)
        ref = weakref.ref(out._array)
        out.sum().backward()
        del out
        assert ref() is None
    finally:
        gc.enable()


def test_state_hooks_run_around_saving_and_loading():
    layer, seen = nn.Linear(1, 1), []
    layer.register_state_dict_pre_hook(lambda m, prefix, keep: seen.append("pre"))
    layer.register_state_dict_post_hook(lambda m, d, p, meta: d.update(extra=rg.ones(1)))
    state = layer.state_dict()
    assert list(state) == ["weight", "bias", "extra"]
    layer.register_load_state_dict_pre_hook(lambda m, d, *rest: d.pop("extra"))
    layer.register_load_state_dict_post_hook(lambda m, keys: seen.append(keys.missing_keys))
    layer.load_state_dict(state)
    assert seen == ["pre", []]


class TimesTwo(nn.Module):
    def forward(self, x):
        return x * 2


@pytest.mark.parametrize(
    "shape", [lambda y: y, lambda y: (y, 1), lambda y: [y], lambda y: {"y": y}]
)
def test_a_regular_backward_hook_sees_the_last_operation(shape):
    class Shaped(TimesTwo):
        def forward(self, x):
            return shape(super().forward(x))

    seen = []
    module = Shaped()
    handle = module.register_backward_hook(lambda *args: seen.append(args))
    x = rg.ones(2, requires_grad=True)
    with pytest.warns(FutureWarning, match="non-full backward hook"):
        y = module(x)
    while not isinstance(y, rg.Tensor):
        y = next(iter(y.values())) if isinstance(y, dict) else y[0]
    y.sum().backward()
    ((found, grad_input, grad_output),) = seen
    assert found is module
    assert [None if g is None else g.tolist() for g in grad_input] == [[2.0, 2.0], None]
    assert [g.tolist() for g in grad_output] == [[1.0, 1.0]]
    handle.remove()
    module(x)


def test_what_a_regular_backward_hook_returns_replaces_the_gradient():
    module = nn.ReLU()
    module.register_backward_hook(lambda m, given, got: (given[0] * 10,))
    x = rg.ones(2, requires_grad=True)
    with pytest.warns(FutureWarning):
        y = module(x)
    y.sum().backward()
    assert x.grad.tolist() == [10.0, 10.0]


@pytest.mark.parametrize("regular_first", [False, True])
def test_regular_and_full_backward_hooks_do_not_go_together(regular_first):
    module = nn.ReLU()
    ways = [module.register_full_backward_hook, module.register_backward_hook]
    first, second = reversed(ways) if regular_first else ways
    first(print)
    with pytest.raises(RuntimeError, match="Cannot use both regular backward hooks and full"):
        second(print)


def test_a_full_pre_hook_and_a_regular_hook_run_once_each():
    module, seen = TimesTwo(), []
    module.register_full_backward_pre_hook(lambda m, g: seen.append("pre"))
    module.register_backward_hook(lambda m, given, got: seen.append("regular"))
    with pytest.warns(FutureWarning):
        y = module(rg.ones(2, requires_grad=True))
    y.sum().backward()
    assert seen == ["pre", "regular"]


def test_a_private_state_hook_may_return_another_state():
    layer = nn.Linear(1, 1)
    handle = layer._register_state_dict_hook(lambda module, state, prefix, metadata: {"a": 1})
    assert layer.state_dict() == {"a": 1}
    handle.remove()
    layer.register_state_dict_post_hook(lambda module, state, prefix, metadata: {})
    with pytest.raises(RuntimeError, match="must return None"):
        layer.state_dict()


def test_a_private_load_hook_is_given_the_module_only_if_asked():
    layer, seen = nn.Linear(1, 1), []

    def complete(state, prefix, *rest):
        state[prefix + "bias"] = rg.ones(1)

    layer._register_load_state_dict_pre_hook(complete)
    layer._register_load_state_dict_pre_hook(lambda *args: seen.append(args[0]), with_module=True)
    layer.load_state_dict({"weight": rg.zeros(1, 1)})
    assert layer.bias.tolist() == [1.0]
    assert seen == [layer]
    assert len(layer._load_state_dict_pre_hooks) == 2
    assert len(layer._load_state_dict_post_hooks) == 0


def test_hooks_of_all_modules_run_before_a_modules_own():
    seen = []
    layer = nn.ReLU()
    layer.register_forward_pre_hook(lambda module, args: seen.append("own pre"))
    layer.register_forward_hook(lambda module, args, output: seen.append("own"))
    with (
        register_module_forward_pre_hook(lambda module, args: seen.append("all pre")),
        register_module_forward_hook(lambda module, args, output: seen.append("all")),
    ):
        layer(rg.ones(1))
        nn.Tanh()(rg.ones(1))
    assert seen == ["all pre", "own pre", "all", "own", "all pre", "all"]
    layer(rg.ones(1))
    assert seen[6:] == ["own pre", "own"]


def test_backward_hooks_of_all_modules_see_every_module():
    x = rg.ones(2, requires_grad=True)
    names = []
    with register_module_full_backward_hook(lambda module, *_: names.append(type(module).__name__)):
        nn.Sequential(nn.ReLU(), nn.Tanh())(x).sum().backward()
    assert names == ["Tanh", "ReLU", "Sequential"]


def test_hooks_of_one_module_are_not_those_of_all():
    with register_module_forward_hook(lambda module, args, output: output + 1):
        layer = nn.ReLU()
        layer.register_forward_hook(lambda module, args, output: output * 10)
        assert layer(rg.ones(1)).item() == 20
        assert nn.ReLU()(rg.ones(1)).item() == 2
    assert nn.ReLU()(rg.ones(1)).item() == 1
    assert nn.Module._hooks is None


@pytest.mark.parametrize(
    ("forward", "text"),
    [
        (lambda m: m[0] * 2, "does not take as input a single Tensor or a tuple of Tensors"),
        (lambda x: [x * 2], "does not return a single Tensor or a tuple of Tensors"),
        (lambda x: (x * 2, x * 3), "outputs are generated by different autograd Nodes"),
        (lambda x: (x * 2) * 3, "the forward contains multiple autograd Nodes"),
    ],
)
def test_a_regular_backward_hook_says_what_it_misses(forward, text):
    module = nn.Module()
    module.forward = forward
    module.register_backward_hook(lambda *args: None)
    x = rg.ones(2, requires_grad=True).clone()
    with pytest.warns(FutureWarning, match=text):
        module([x] if "take as input" in text else x)


def test_a_regular_backward_hook_that_misses_nothing_is_silent():
    module = nn.ReLU()
    module.register_backward_hook(lambda *args: None)
    module(rg.ones(2, requires_grad=True).clone())


def test_tables_of_hooks_say_which_want_keyword_arguments_and_which_always_run():
    module = nn.Identity()
    pre = module.register_forward_pre_hook(lambda *args: None, with_kwargs=True)
    post = module.register_forward_hook(lambda *args: None, with_kwargs=True, always_call=True)
    assert module._forward_pre_hooks_with_kwargs == {pre.id: True}
    assert module._forward_hooks_with_kwargs == {post.id: True}
    assert module._forward_hooks_always_called == {post.id: True}
    post.remove()
    assert module._forward_hooks_with_kwargs == module._forward_hooks_always_called == {}


def test_a_write_to_what_a_backward_hook_guards_names_the_passage():
    module = nn.Identity()
    module.register_full_backward_hook(lambda *args: None)
    y = module(rg.ones(2, requires_grad=True).clone())
    assert type(y.grad_fn).__module__ == "retrograd.autograd.function"
    with pytest.raises(RuntimeError, match="Output 0 of BackwardHookFunction is a view and is bei"):
        y += 1


def test_a_module_with_a_load_hook_without_module_is_pickled():
    layer = Double()
    layer._register_load_state_dict_pre_hook(layer.requires_grad_)
    assert pickle.loads(pickle.dumps(layer))(rg.tensor(3.0)).item() == 6.0


def test_hooks_see_and_replace_all_that_is_registered():
    seen = []

    def note(kind, module, name, value):
        seen.append((kind, type(module).__name__, name))
        return nn.Identity() if isinstance(value, nn.ReLU) else None

    tables = [
        (register_module_parameter_registration_hook, "parameter"),
        (register_module_buffer_registration_hook, "buffer"),
        (register_module_module_registration_hook, "module"),
    ]
    handles = [register(partial(note, kind)) for register, kind in tables]
    try:
        net = nn.Sequential(nn.BatchNorm1d(1, affine=False), nn.ReLU())
        net.weight = nn.Parameter(rg.ones(1))
    finally:
        for handle in handles:
            handle.remove()
    assert seen == [
        ("buffer", "BatchNorm1d", "running_mean"),
        ("buffer", "BatchNorm1d", "running_var"),
        ("buffer", "BatchNorm1d", "num_batches_tracked"),
        ("module", "Sequential", "0"),
        ("module", "Sequential", "1"),
        ("parameter", "Sequential", "weight"),
    ]
    assert isinstance(net[1], nn.Identity)
    net.other = nn.Linear(1, 1)
    assert len(seen) == 6
