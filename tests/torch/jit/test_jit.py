"""`jit` and `compile`: programs run as they are written."""

from __future__ import annotations

from typing import Any

import pytest

import retrograd as rg
from retrograd.torch import compiler


class Clamped(rg.nn.Module):
    __constants__ = ("most",)
    most: rg.jit.Final[float]

    def __init__(self):
        super().__init__()
        self.most = 2.0

    @rg.jit.export
    def limit(self, x):
        return x.clamp(max=self.most)

    @rg.jit.unused
    def unlimited(self, x):
        return x

    def forward(self, x):
        if rg.jit.is_scripting() or rg.jit.is_tracing():
            return self.unlimited(x)
        return self.limit(x)


def test_a_scripted_module_is_the_module_and_learns():
    net = rg.nn.Sequential(rg.nn.Linear(2, 1), Clamped())
    assert rg.jit.script(net) is net
    net(rg.zeros(1, 2)).sum().backward()
    assert net[0].bias.grad.tolist() == [1.0]


def test_a_scripted_function_keeps_its_branches():
    @rg.jit.script
    def sign(x: rg.Tensor) -> int:
        if x.sum() > 0:
            return 1
        return -1

    assert [sign(rg.ones(1)), sign(-rg.ones(1))] == [1, -1]


def test_script_of_what_cannot_be_called_raises():
    with pytest.raises(TypeError, match="a function, a class or a module, not int"):
        rg.jit.script(3)


def test_trace_calls_once_on_the_examples_and_gives_the_function_back():
    calls = []

    def both(x, y=0):
        calls.append((x.requires_grad, y))
        return (x + y).requires_grad

    x = rg.ones(1, requires_grad=True)
    assert rg.jit.trace(both, (x, 2)) is both
    assert rg.jit.trace(both, x) is both
    assert rg.jit.trace(both, example_kwarg_inputs={"x": x, "y": 5}) is both
    assert calls == [(True, 2), (True, 0), (True, 5)]


def test_trace_of_what_raises_raises():
    with pytest.raises(RuntimeError, match="multiplied"):
        rg.jit.trace(rg.nn.Linear(2, 1), rg.ones(1, 3))


def test_trace_without_an_example_raises():
    with pytest.raises(RuntimeError, match="example_kwarg_inputs should be a dict"):
        rg.jit.trace(abs)


def test_trace_module_calls_every_method_that_is_named():
    net = Clamped()
    assert rg.jit.trace_module(net, {"forward": rg.ones(1), "limit": (rg.ones(1),)}) is net
    with pytest.raises(AttributeError, match="nothing"):
        rg.jit.trace_module(net, {"nothing": rg.ones(1)})


@pytest.mark.parametrize(
    ("value", "kind", "is_one"),
    [
        ([1, 2], list[int], True),
        ([1, "a"], list[int], False),
        ((1, "a"), tuple[int, str], True),
        ((1,), tuple[int, str], False),
        ((1, 2, 3), tuple[int, ...], True),
        ((), tuple[()], True),
        ({"a": [1]}, dict[str, list[int]], True),
        ({"a": [1.0]}, dict[str, list[int]], False),
        (3, int | str, True),
        (None, None, True),
        (3.0, int | None, False),
        (3.0, (int, float), True),
        ([3.0], Any, True),
        ([3.0], list[Any], True),
        (3, list[int], False),
    ],
)
def test_isinstance_asks_what_containers_hold(value, kind, is_one):
    assert rg.jit.isinstance(value, kind) is is_one


def test_freeze_refuses_a_module_in_training():
    with pytest.raises(RuntimeError, match="only implemented for modules in eval mode"):
        rg.jit.freeze(Clamped())
    with pytest.raises(RuntimeError, match="only implemented for modules in eval mode"):
        rg.jit.optimize_for_inference(Clamped())


def test_nothing_is_a_script_but_what_derives_from_one():
    class Own(rg.jit.ScriptModule):
        pass

    assert isinstance(Own(), rg.jit.ScriptModule)
    assert not isinstance(rg.jit.script(Clamped()), rg.jit.ScriptModule)
    assert not isinstance(rg.jit.script(abs), rg.jit.ScriptFunction)


def test_what_is_forked_has_run_and_its_error_is_raised_where_it_is_waited_for():
    with rg.jit.optimized_execution(False):
        later = [rg.jit.fork(rg.mul, rg.ones(2), n) for n in (1, 2)]
    assert sum(rg.jit.wait(each) for each in later).tolist() == [3.0, 3.0]
    failed = rg.jit.fork(rg.ones(2).view, 3)
    with pytest.raises(RuntimeError, match="invalid"):
        rg.jit.wait(failed)


def test_names_of_pytorch_s_file_format_are_absent():
    assert not hasattr(rg.jit, "load")
    assert not hasattr(rg.jit, "save")


def test_compile_gives_back_what_is_no_python_function():
    net = Clamped()
    assert rg.compile(net, mode="reduce-overhead")._orig_mod is net
    assert rg.compile(backend="inductor", dynamic=True)(abs) is abs


def test_compile_refuses_a_mode_with_options():
    with pytest.raises(RuntimeError, match="Either mode or options can be specified"):
        rg.compile(abs, mode="default", options={"trace": True})


def test_nobody_is_compiling():
    asked = (compiler.is_compiling, compiler.is_dynamo_compiling, compiler.is_exporting)
    assert [ask() for ask in asked] == [False, False, False]


def test_a_stance_is_a_call_a_context_or_a_decorator():
    assert compiler.set_stance("force_eager")(abs)(-1) == 1
    with compiler.set_stance("fail_on_recompile"):
        assert rg.compile(abs)(-1) == 1
    with pytest.raises(RuntimeError, match=r"invalid torch\.compile stance 'sideways'"):
        compiler.set_stance("sideways")
