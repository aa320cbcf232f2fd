"""Grad mode: managers and decorators, also around generators, coroutines and classes."""

from __future__ import annotations

import asyncio
import inspect
import threading

import pytest

import retrograd as rg
from retrograd import autograd

MODES = [rg.no_grad, rg.inference_mode]


def recording() -> bool:
    return (rg.ones(1, requires_grad=True) * 2).requires_grad


@pytest.mark.parametrize("mode", MODES)
def test_nothing_is_recorded_inside_and_the_mode_is_given_back(mode):
    with mode():
        assert not recording()
        assert not rg.is_grad_enabled()
    assert recording()
    assert rg.is_grad_enabled()


@pytest.mark.parametrize("mode", MODES)
def test_an_exception_gives_the_mode_back(mode):
    with pytest.raises(KeyError), mode():
        raise KeyError
    assert rg.is_grad_enabled()
    assert not rg.is_inference_mode_enabled()


def test_modes_nest():
    with rg.no_grad():
        with rg.enable_grad():
            assert recording()
            with rg.no_grad():
                assert not recording()
            assert recording()
        assert not recording()


def test_one_manager_may_be_used_again_and_inside_itself():
    manager = rg.no_grad()
    for _ in range(2):
        with manager:
            with manager:
                assert not rg.is_grad_enabled()
            assert not rg.is_grad_enabled()
        assert rg.is_grad_enabled()


def test_leaves_made_under_no_grad_may_require_grad():
    with rg.no_grad():
        x = rg.ones(1, requires_grad=True)
    assert x.requires_grad
    assert x.is_leaf


@pytest.mark.parametrize(
    "call",
    [
        lambda x: x.sin(),
        lambda x: x * 2 * x,
        lambda x: x * x,
        lambda x: rg.nn.functional.linear(x, x),
        lambda x: x.prod(0),
        lambda x: Saves.apply(x),
    ],
)
def test_an_inference_tensor_that_requires_grad_is_not_saved(call):
    """Its writes are not counted: the gradient might be that of other values."""
    with rg.inference_mode():
        x = rg.ones(2, 2, requires_grad=True)
    with pytest.raises(RuntimeError, match="Inference tensors cannot be saved for backward"):
        call(x)


class Saves(rg.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return 2 * g


def test_inference_mode_leaves_nothing_that_could_join_a_graph():
    with rg.inference_mode():
        x = rg.ones(2)
        assert rg.is_inference_mode_enabled()
        assert x.is_inference()
        with rg.enable_grad():
            assert rg.is_grad_enabled()
            assert not recording()
        with rg.inference_mode(False):
            assert recording()
            assert not rg.is_inference_mode_enabled()
    weight = rg.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="Inference tensors cannot be saved for backward"):
        weight * x
    with pytest.raises(RuntimeError, match="do not track version counter"):
        x._version
    assert (weight * x.clone()).requires_grad


def test_inference_mode_false_turns_recording_on():
    with rg.no_grad(), rg.inference_mode(False):
        assert rg.is_grad_enabled()


def test_set_grad_enabled_is_undone_by_exit_without_enter():
    manager = rg.set_grad_enabled(False)
    assert not rg.is_grad_enabled()
    manager.__exit__(None, None, None)
    assert rg.is_grad_enabled()


def test_set_grad_enabled_acts_at_once_and_as_a_manager():
    rg.set_grad_enabled(False)
    assert not recording()
    rg.set_grad_enabled(True)
    assert recording()
    with rg.set_grad_enabled(False):
        assert not recording()
        with rg.set_grad_enabled(True):
            assert recording()
    assert recording()


def test_set_grad_enabled_decorates_without_changing_the_present_mode():
    @rg.set_grad_enabled(False)
    def body():
        return rg.is_grad_enabled()

    assert rg.is_grad_enabled()
    assert body() is False
    assert rg.is_grad_enabled()


@pytest.mark.parametrize("value", [1, None, "on", test_modes_nest])
def test_set_grad_enabled_refuses_what_is_no_bool(value):
    with pytest.raises(TypeError, match=r"argument 'enabled' .position 1. must be bool"):
        rg.set_grad_enabled(value)
    assert rg.is_grad_enabled()


def test_inference_mode_and_no_grad_refuse_other_arguments():
    with pytest.raises(TypeError, match="must be bool, not str"):
        rg.inference_mode("a")
    with pytest.raises(TypeError, match="takes no arguments"):
        rg.no_grad(3)


@pytest.mark.parametrize("decorator", [rg.no_grad, rg.no_grad(), rg.inference_mode,
                                       rg.inference_mode(), rg.set_grad_enabled])  # fmt: skip
def test_functions_are_decorated_with_and_without_parentheses(decorator):
    if decorator is rg.set_grad_enabled:
        decorator = rg.set_grad_enabled(False)

    @decorator
    def body(x, *, y=2):
        """What it does."""
        return x + y, rg.is_grad_enabled()

    assert body(1) == (3, False)
    assert body(1, y=5) == (6, False)
    assert body.__name__ == "body"
    assert body.__doc__ == "What it does."
    assert rg.is_grad_enabled()


def test_a_decorated_function_may_recurse_and_raise():
    @rg.no_grad
    def body(n):
        assert not rg.is_grad_enabled()
        if n == 0:
            raise KeyError
        with rg.enable_grad():
            body(n - 1)

    with pytest.raises(KeyError):
        body(3)
    assert rg.is_grad_enabled()


def test_methods_are_decorated():
    class Model:
        @rg.no_grad()
        def run(self):
            return self, rg.is_grad_enabled()

    model = Model()
    assert model.run() == (model, False)


def test_a_generator_holds_the_mode_only_while_its_body_runs():
    seen = []

    @rg.no_grad()
    def body():
        """Yields."""
        try:
            received = yield rg.is_grad_enabled()
            seen.append((received, rg.is_grad_enabled()))
            try:
                yield 2
            except KeyError:
                seen.append(("caught", rg.is_grad_enabled()))
            yield 3
        finally:
            seen.append(("closed", rg.is_grad_enabled()))

    assert inspect.isgeneratorfunction(body)
    assert body.__doc__ == "Yields."
    steps = body()
    assert next(steps) is False
    assert rg.is_grad_enabled()
    assert steps.send("value") == 2
    assert rg.is_grad_enabled()
    assert steps.throw(KeyError()) == 3
    assert rg.is_grad_enabled()
    steps.close()
    assert rg.is_grad_enabled()
    assert seen == [("value", False), ("caught", False), ("closed", False)]


def test_a_generator_keeps_its_return_value_and_its_errors():
    @rg.no_grad
    def body(fail):
        yield 1
        if fail:
            raise KeyError("lost")
        return "done"

    def outer(fail):
        return (yield from body(fail))

    steps = outer(False)
    assert next(steps) == 1
    with pytest.raises(StopIteration) as stop:
        next(steps)
    assert stop.value.value == "done"
    with pytest.raises(KeyError, match="lost"):
        list(outer(True))
    assert rg.is_grad_enabled()


def test_two_generators_may_be_mixed():
    @rg.no_grad
    def off():
        while True:
            yield rg.is_grad_enabled()

    @rg.enable_grad
    def on():
        while True:
            yield rg.is_grad_enabled()

    pair = zip(off(), on(), strict=False)
    assert [next(pair) for _ in range(3)] == [(False, True)] * 3
    with rg.no_grad():
        assert next(pair) == (False, True)
        assert not rg.is_grad_enabled()


def test_a_coroutine_holds_the_mode_only_while_its_body_runs():
    outside = []

    async def other():
        outside.append(rg.is_grad_enabled())
        await asyncio.sleep(0)
        outside.append(rg.is_grad_enabled())

    @rg.no_grad()
    async def body():
        first = rg.is_grad_enabled()
        await asyncio.sleep(0)
        try:
            await asyncio.wait_for(asyncio.Event().wait(), 0.001)
        except TimeoutError:
            return first, rg.is_grad_enabled()

    async def main():
        return await asyncio.gather(body(), other(), other())

    assert inspect.iscoroutinefunction(body)
    assert asyncio.run(main())[0] == (False, False)
    assert outside == [True] * 4
    assert rg.is_grad_enabled()


def test_an_async_generator_holds_the_mode_only_while_its_body_runs():
    seen = []

    @rg.no_grad()
    async def body():
        try:
            while True:
                await asyncio.sleep(0)
                try:
                    seen.append((yield rg.is_grad_enabled()))
                except KeyError:
                    seen.append(rg.is_grad_enabled())
        finally:
            seen.append(("closed", rg.is_grad_enabled()))

    async def main():
        steps = body()
        assert await anext(steps) is False
        assert rg.is_grad_enabled()
        assert await steps.asend("value") is False
        assert await steps.athrow(KeyError()) is False
        assert rg.is_grad_enabled()
        await steps.aclose()
        assert rg.is_grad_enabled()

    assert inspect.isasyncgenfunction(body)
    asyncio.run(main())
    assert seen == ["value", False, ("closed", False)]


def test_an_async_generator_ends_as_its_body_does():
    @rg.no_grad
    async def body():
        yield 1
        yield 2

    async def main():
        return [value async for value in body()]

    assert asyncio.run(main()) == [1, 2]


def test_decorating_a_class_decorates_its_constructor_and_warns():
    with pytest.warns(FutureWarning, match="Decorating classes is deprecated"):

        @rg.no_grad()
        class Model:
            def __init__(self):
                self.mode = rg.is_grad_enabled()

            def run(self):
                return rg.is_grad_enabled()

    assert Model().mode is False
    assert Model().run() is True


def test_threads_have_modes_of_their_own():
    seen = []
    with rg.no_grad():
        thread = threading.Thread(target=lambda: seen.append(recording()))
        thread.start()
        thread.join()
    assert seen == [True]


def test_the_modes_stand_where_pytorch_has_them():
    for name in ("no_grad", "enable_grad", "set_grad_enabled", "inference_mode"):
        assert getattr(autograd, name) is getattr(autograd.grad_mode, name) is getattr(rg, name)
    assert repr(rg.set_grad_enabled(True)).endswith("set_grad_enabled(mode=True)")
    with autograd.set_multithreading_enabled(False):
        assert recording()
