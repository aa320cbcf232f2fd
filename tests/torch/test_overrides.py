"""`__torch_function__`: who sees which calls, and in which order; `retrograd.overrides`."""

import contextlib
import inspect
import operator
import threading
from typing import ClassVar

import numpy as np
import pytest
from tests.laws.samples import samples

import retrograd as rg
from retrograd.engine.overriding import names, publish
from retrograd.torch import overrides


class Logged(rg.Tensor):
    log: ClassVar = []

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        cls.log.append((func, types, len(args), sorted(kwargs or {})))
        return super().__torch_function__(func, types, args, kwargs)


class Foreign:
    """No tensor at all; says what it was given."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return func, types, args, kwargs or {}


class Refuses:
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return NotImplemented


class Sees(overrides.TorchFunctionMode):
    def __init__(self):
        self.seen = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.seen.append(func)
        return func(*args, **(kwargs or {}))


@pytest.fixture
def logged():
    Logged.log.clear()
    return rg.tensor([[1.0, 2.0], [3.0, 4.0]]).as_subclass(Logged)


T, F = rg.Tensor, rg.nn.functional
SEEN = [
    (lambda x: rg.add(x, 1), rg.add),
    (lambda x: x.add(1), T.add),
    (lambda x: x + 1, T.add),
    (lambda x: 1 + x, T.add),
    (lambda x: rg.ones(2, 2) + x, T.add),
    (lambda x: x - 1, T.sub),
    (lambda x: 1 - x, T.__rsub__),
    (lambda x: x * 2, T.mul),
    (lambda x: x / 2, T.div),
    (lambda x: 2 / x, T.__rtruediv__),
    (lambda x: x // 2, T.__floordiv__),
    (lambda x: x % 2, T.remainder),
    (lambda x: x**2, T.__pow__),
    (lambda x: x @ x, T.matmul),
    (lambda x: x == 1, T.__eq__),
    (lambda x: x != 1, T.ne),
    (lambda x: x < 1, T.lt),
    (lambda x: -x, T.neg),
    (lambda x: abs(x), T.abs),
    (lambda x: x.add_(1), T.add_),
    (lambda x: x.__iadd__(1), T.add_),
    (lambda x: x[0], T.__getitem__),
    (lambda x: x.__setitem__(0, 1.0), T.__setitem__),
    (lambda x: x.shape, T.shape.__get__),
    (lambda x: x.T, T.T.__get__),
    (lambda x: x.grad, T.grad.__get__),
    (lambda x: setattr(x, "grad", None), T.grad.__set__),
    (lambda x: x.requires_grad, T.requires_grad.__get__),
    (lambda x: len(x), T.__len__),
    (lambda x: repr(x), T.__repr__),
    (lambda x: x.size(), T.size),
    (lambda x: x.is_inference(), T.is_inference),
    (lambda x: x.numpy(), T.numpy),
    (lambda x: np.asarray(x), T.__array__),
    (lambda x: x.det(), rg.linalg.det),
    (lambda x: rg.cat([rg.ones(2, 2), x]), rg.cat),
    (lambda x: rg.stack((x, x)), rg.stack),
    (lambda x: rg.einsum("ij,jk", x, x), rg.einsum),
    (lambda x: rg.max(x, 0), rg.max),
    (lambda x: rg.add(rg.ones(2, 2), 1, out=x), rg.add),
    (lambda x: rg.sin(rg.ones(2, 2), out=x), rg.sin),
    (lambda x: F.relu(x), F.relu),
    (lambda x: F.linear(x, rg.ones(2, 2)), F.linear),
    (lambda x: rg.nn.Linear(2, 2)(x), F.linear),
    (lambda x: F.cross_entropy(x, rg.tensor([0, 1])), F.cross_entropy),
    (lambda x: rg.linalg.norm(x), rg.linalg.norm),
    (lambda x: rg.fft.fft(x), rg.fft.fft),
    (lambda x: rg.special.expit(x), rg.special.expit),
    (lambda x: rg.zeros_like(x), rg.zeros_like),
]


@pytest.mark.parametrize("number", range(len(SEEN)))
def test_a_subclass_sees_the_public_function_once(number, logged):
    call, function = SEEN[number]
    call(logged)
    seen = [entry[0] for entry in Logged.log]
    assert seen == [function]


@pytest.mark.parametrize(
    "name",
    ["__getitem__", "__setitem__", "__len__", "__repr__", "__deepcopy__", "backward", "where"],
)
def test_the_function_has_the_name_of_the_method(name):
    assert getattr(T, name).__name__ == name


def test_a_method_has_the_name_of_a_method():
    told = overrides.get_overridable_functions()[T]
    properties = {"__get__", "__set__", "__delete__"}
    assert [f for f in told if f.__name__ not in properties and not hasattr(T, f.__name__)] == []


def test_it_is_told_the_types_and_the_arguments(logged):
    rg.add(logged, 1, alpha=2)
    assert Logged.log == [(rg.add, (Logged,), 2, ["alpha"])]


def test_it_is_told_the_operands_of_einsum_one_by_one(logged):
    rg.einsum("ij,ij->ij", [logged, logged])
    assert Logged.log == [(rg.einsum, (Logged,), 3, [])]


def test_factories_do_not_ask_their_arguments(logged):
    assert type(rg.tensor(3.0)) is rg.Tensor
    rg.is_tensor(logged)
    assert Logged.log == []


@pytest.mark.parametrize(
    ("factory", "args"),
    [(rg.zeros, (2, Foreign())), (rg.ones, ([2, Foreign()],)), (rg.full, ((2,), Foreign()))],
)
def test_factories_ask_arguments_that_are_no_tensors(factory, args):
    assert factory(*args) == (factory, (Foreign,), args, {})


def test_factories_take_a_subclass_for_the_number_in_it():
    assert type(rg.full((2,), rg.tensor(3.0).as_subclass(Logged))) is rg.Tensor


def test_super_runs_the_function_without_asking_again(logged):
    made = F.mse_loss(logged, rg.zeros(2, 2))
    assert type(made) is Logged
    assert float(rg.tensor(made.tolist())) == 7.5
    assert Logged.log[0][0] is F.mse_loss


@pytest.mark.parametrize(
    ("call", "function"),
    [
        (lambda f: rg.mean(f), rg.mean),
        (lambda f: rg.add(f, 1), rg.add),
        (lambda f: rg.add(1, f), rg.add),
        (lambda f: rg.mul(rg.ones(2), f), rg.mul),
        (lambda f: rg.ones(2) * f, T.mul),
        (lambda f: rg.ones(2) @ f, T.matmul),
        (lambda f: rg.ones(2).add_(f), T.add_),
        (lambda f: rg.cat([f, rg.ones(1)]), rg.cat),
        (lambda f: rg.stack((rg.ones(1), f)), rg.stack),
        (lambda f: rg.einsum("i,i", rg.ones(1), f), rg.einsum),
        (lambda f: rg.where(rg.tensor(True), f, 0.0), rg.where),
        (lambda f: rg.sin(rg.ones(1), out=f), rg.sin),
        (lambda f: rg.add(rg.ones(1), 1, out=f), rg.add),
        (lambda f: F.linear(f, rg.ones(2, 2)), F.linear),
        (lambda f: F.relu(f), F.relu),
        (lambda f: F.cross_entropy(f, rg.ones(1)), F.cross_entropy),
        (lambda f: rg.linalg.svd(f), rg.linalg.svd),
        (lambda f: rg.fft.fft(f), rg.fft.fft),
        (lambda f: rg.special.bessel_j0(f), rg.special.bessel_j0),
        (lambda f: rg.ones(3)[f], T.__getitem__),
        (lambda f: rg.det(f), rg.det),
    ],
)
def test_an_object_of_another_kind_sees_the_calls_it_is_given_to(call, function):
    func, types, args, kwargs = call(Foreign())
    assert func is function
    assert types == (Foreign,)
    held = [*args, *kwargs.values()]
    for value in list(held):
        held += value if isinstance(value, (list, tuple)) else []
    assert any(isinstance(value, Foreign) for value in held)


class Another:
    """A tensor of another library, as PyTorch's beside this one."""

    __torch_dispatch__ = __torch_function__ = classmethod(lambda cls, *args: NotImplemented)

    def __array__(self, dtype=None, copy=None):
        return np.array([1.0, 2.0])

    def __dlpack__(self, **wishes):
        return self.__array__().__dlpack__(**wishes)

    def __dlpack_device__(self):
        return 1, 0


@pytest.mark.parametrize("convert", [rg.tensor, rg.as_tensor, rg.asarray, rg.from_dlpack])
def test_a_tensor_of_another_library_is_converted(convert):
    assert convert(Another()).tolist() == [1.0, 2.0]


def handler(name, bases=(), order=None):
    def torch_function(cls, func, types, args=(), kwargs=None):
        order.append((cls.__name__, [kind.__name__ for kind in types]))
        return NotImplemented

    return type(name, bases, {"__torch_function__": classmethod(torch_function)})


def test_subclasses_are_asked_first_then_from_left_to_right():
    order = []
    a = handler("A", (), order)
    b, c = handler("B", (a,), order), handler("C", (), order)
    for values, expected in (
        ([a(), b(), c()], "BAC"),
        ([c(), a(), b()], "CBA"),
        ([a(), a(), c()], "AC"),
    ):
        order.clear()
        with pytest.raises(TypeError, match=r"Multiple dispatch failed for 'retrograd\.stack'"):
            rg.stack(values)
        assert order == [(name, list(expected)) for name in expected]


def test_where_nobody_answers_it_is_a_type_error_that_names_function_and_types():
    with pytest.raises(TypeError, match=r"no implementation found for 'retrograd.add' on types"):
        rg.add(Refuses(), 1)
    with pytest.raises(TypeError, match=r"'retrograd.nn.functional.linear'.*Refuses"):
        F.linear(Refuses(), Refuses())
    with pytest.raises(TypeError, match=r"Multiple dispatch failed for 'retrograd.cat'"):
        rg.cat([rg.ones(1), Refuses()])
    with pytest.raises(TypeError, match="unsupported operand type"):
        rg.ones(1) + Refuses()


class AsksAgain:
    """As a tensor of another library, which calls what it is asked about."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize(
    "call",
    [
        lambda other: rg.ones(2) + other,
        lambda other: rg.add(rg.ones(2), other),
        lambda other: rg.ones(2) == other,
        lambda other: rg.cat([rg.ones(2), other]),
    ],
)
def test_an_object_that_asks_again_is_named(call):
    with pytest.raises(TypeError, match=r"AsksAgain.* with the same arguments.*as_tensor"):
        call(AsksAgain())


def test_an_error_in_an_override_of_an_operator_is_raised():
    class Wrong(rg.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            raise TypeError("mine")

    with pytest.raises(TypeError, match="mine"):
        rg.ones(1).as_subclass(Wrong) + 1


OPERATORS = {
    "pow": lambda x: x**2,
    "pow_": lambda x: operator.ipow(x, 2),
    "floor_divide_": lambda x: operator.ifloordiv(x, 2),
    "remainder_": lambda x: operator.imod(x, 2),
    "__rdiv__": lambda x: 2 / x,
    "__rfloordiv__": lambda x: 2 // x,
    "bitwise_and": lambda x: 2 & x,
    "bitwise_or": lambda x: 2 | x,
    "bitwise_xor": lambda x: 2 ^ x,
    "__and__": lambda x: x & 2,
    "__eq__": lambda x: x == 2,
    "ne": lambda x: x != 2,
}


@pytest.mark.parametrize("name", OPERATORS)
def test_overrides_of_operators_are_told_the_functions_that_pytorch_tells(name):
    names = []

    class Told(rg.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            names.append(func.__name__)
            return super().__torch_function__(func, types, args, kwargs or {})

    OPERATORS[name](rg.tensor([3, 4]).as_subclass(Told))
    assert names == [name]


@pytest.mark.parametrize("mode", [contextlib.nullcontext, Sees])
@pytest.mark.parametrize("kind", [rg.Tensor, Logged])
@pytest.mark.parametrize("other", [None, "a", ..., (1, 2), range(2), {}], ids=repr)
def test_what_is_no_operand_is_unequal_whoever_is_asked(kind, mode, other):
    x = rg.ones(2).as_subclass(kind)
    with mode():
        assert (x != other) is True
        assert (other == x) is False
        for way in (operator.add, operator.lt, operator.matmul):
            with pytest.raises(TypeError):
                way(x, other)
            with pytest.raises(TypeError):
                way(other, x)


def test_disabling_subclasses_gives_plain_results_and_asks_nobody(logged):
    with rg._C.DisableTorchFunctionSubclass():
        made = logged * 2
        assert not rg._C._is_torch_function_enabled()
        with pytest.raises(TypeError, match="must be Tensor, not Foreign"):
            rg.add(Foreign(), 1)
    assert type(made) is rg.Tensor
    assert Logged.log == []
    assert rg._C._is_torch_function_enabled()


def test_a_class_may_say_that_it_overrides_nothing():
    class Inert(rg.Tensor):
        __torch_function__ = rg._C._disabled_torch_function_impl

    assert type(Inert([1.0]) * 2) is rg.Tensor


def test_a_mode_sees_every_call_of_its_thread_factories_too():
    with Sees() as mode:
        x = rg.ones(2)
        x + 1
        x.shape
        F.linear(rg.ones(1, 2), rg.ones(2, 2))
        rg.tensor([1.0])
        elsewhere = threading.Thread(target=lambda: rg.zeros(1))
        elsewhere.start()
        elsewhere.join()
    rg.ones(1)
    expected = [rg.ones, T.add, T.shape.__get__, rg.ones, rg.ones, F.linear, rg.tensor]
    assert mode.seen == expected


def test_a_mode_sees_the_factories_of_layers():
    class Double(overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            kwargs = {**(kwargs or {}), **({"dtype": rg.float64} if func is rg.empty else {})}
            return func(*args, **kwargs)

    with Double():
        layer = rg.nn.Linear(2, 3)
    assert layer.weight.dtype is layer.bias.dtype is rg.float64


def test_modes_nest_and_the_inner_one_is_asked_first():
    order = []

    class Names(overrides.TorchFunctionMode):
        def __init__(self, name):
            self.name = name

        def __torch_function__(self, func, types, args=(), kwargs=None):
            order.append(self.name)
            return func(*args, **(kwargs or {}))

    with Names("outer"), Names("inner"):
        assert rg._C._len_torch_function_stack() == 2
        rg.ones(2)
    assert order == ["inner", "outer"]
    assert rg._C._len_torch_function_stack() == 0


def test_a_mode_is_asked_before_arguments_and_may_pass(logged):
    class Passes(overrides.TorchFunctionMode):
        asked = 0

        def __torch_function__(self, func, types, args=(), kwargs=None):
            self.asked += types == (Logged,)
            return NotImplemented if types else func(*args, **(kwargs or {}))

    with Passes() as mode:
        made = rg.sin(logged)
    assert mode.asked == 1
    assert type(made) is Logged


def test_a_mode_that_is_left_by_an_error_is_left(logged):
    with pytest.raises(ZeroDivisionError), overrides.BaseTorchFunctionMode():
        1 / 0
    assert not overrides.has_torch_function((rg.ones(1),))


def test_all_overriding_can_be_turned_off(logged):
    with Sees() as mode, rg._C.DisableTorchFunction():
        assert type(logged * 2) is rg.Tensor
    assert mode.seen == []


def test_within_a_handler_arguments_can_be_asked_again():
    class Twice(rg.Tensor):
        asked: ClassVar = []

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            cls.asked.append(func)
            if func is F.relu:
                with rg._C.DisableTorchFunctionSubclass(), overrides.enable_reentrant_dispatch():
                    return rg.clamp(args[0], 0)
            return super().__torch_function__(func, types, args, kwargs)

    F.relu(Twice([1.0]))
    assert Twice.asked == [F.relu, rg.clamp]


def test_questions_about_arguments():
    x, f = rg.ones(1), Foreign()
    assert overrides.is_tensor_like(f)
    assert overrides.is_tensor_like(x)
    assert not overrides.is_tensor_like(1)
    assert overrides.has_torch_function([f])
    assert not overrides.has_torch_function((x, 1))
    assert overrides.has_torch_function_unary(f)
    assert not overrides.has_torch_function_unary(x)
    assert overrides.has_torch_function_variadic(1, f)
    assert not overrides.has_torch_function_unary(rg.nn.Parameter(x))


def test_names_of_functions():
    for function, name in (
        (rg.add, "retrograd.add"),
        (rg.Tensor.add_, "retrograd.Tensor.add_"),
        (F.linear, "retrograd.nn.functional.linear"),
        (rg.linalg.svd, "retrograd.linalg.svd"),
        (rg.fft.fft, "retrograd.fft.fft"),
        (rg.Tensor.shape.__get__, "retrograd.Tensor.shape.__get__"),
        (rg.lt, "retrograd.lt"),
        (len, None),
    ):
        assert overrides.resolve_name(function) == name
    assert overrides.is_tensor_method_or_property(rg.Tensor.add_)
    assert overrides.is_tensor_method_or_property(rg.Tensor.shape.__get__)
    assert not overrides.is_tensor_method_or_property(F.linear)


def test_a_function_goes_by_its_own_name_whichever_was_asked_for_first(monkeypatch):
    monkeypatch.setitem(names, rg.trunc, "retrograd.Tensor.trunc")
    for alias, told in (("fix", "fix"), ("trunc", "trunc"), ("fix", "trunc")):
        publish({alias: rg.trunc}, "retrograd")
        assert overrides.resolve_name(rg.trunc) == f"retrograd.{told}"


def test_no_function_is_both_overridable_and_ignored():
    ignored = overrides.get_ignored_functions()
    assert {rg.zeros, rg.tensor, rg.is_tensor, rg.manual_seed} <= ignored
    for functions in overrides.get_overridable_functions().values():
        assert ignored.isdisjoint(functions)


OVERRIDABLE = [
    pytest.param(function, id=overrides.resolve_name(function) or repr(function))
    for functions in overrides.get_overridable_functions().values()
    for function in functions
]


def required(function):
    """How many arguments a function has to be given."""
    if function.__name__ in ("__get__", "__set__", "__delete__"):
        return 2 if function.__name__ == "__set__" else 1
    parameters = inspect.signature(function).parameters.values()
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    needed = [p for p in parameters if p.kind in kinds and p.default is inspect.Parameter.empty]
    return max(len(needed), 1)


@pytest.mark.parametrize("function", OVERRIDABLE)
def test_every_overridable_function_asks_its_arguments(function):
    asked = []

    class Asks(rg.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            asked.append(func)
            return -1

    x = rg.ones(1).as_subclass(Asks)
    made = function(*[x] * required(function))
    assert made == (None if function.__name__ in ("__set__", "__delete__") else -1)
    assert len(asked) == 1
    assert overrides.resolve_name(asked[0]) is not None


def test_there_are_as_many_as_there_are_public_functions():
    found = overrides.get_overridable_functions()
    assert {rg, F, rg.linalg, rg.fft, rg.special, rg.Tensor} == set(found)
    assert len(found[rg]) > 500
    assert len(found[rg.Tensor]) > 500
    assert len(found[F]) > 100


def test_testing_overrides_have_the_signatures_of_the_functions():
    found = overrides.get_testing_overrides()
    assert found[rg.add](1, 2, alpha=3) == -1
    with pytest.raises(TypeError, match="missing a required argument: 'input'"):
        found[rg.sin]()


def test_functions_of_ones_own_can_be_overridden():
    @overrides.wrap_torch_function(lambda a, b: (a, b))
    def both(a, b):
        return "plain"

    assert both(1, 2) == "plain"
    func, types, args, _ = both(1, Foreign())
    assert func is both
    assert types == (Foreign,)
    assert args[0] == 1


def first_samples():
    first = {}
    for sample in samples():
        if not sample.complex:
            first.setdefault(sample.op.name, sample)
    return [pytest.param(sample, id=name) for name, sample in first.items()]


def callers_of(op):
    """The function that calls an op and its operators, in C where there is C, and in Python."""
    found = {
        op.call,
        *[each for each in vars(rg.Tensor).values() if getattr(each, "op", None) is op],
    }
    return found | {getattr(call, "__wrapped__", call) for call in found}


@pytest.mark.parametrize("sample", first_samples())
def test_every_op_asks_wherever_the_tensor_stands_in_its_inputs(sample):
    for i, array in enumerate(sample.arrays):
        if array is not None:
            tensors = sample.tensors()
            tensors[i] = Foreign()
            for call in callers_of(sample.op):
                func, types, args, _ = call(*tensors, **sample.params)
                assert types == (Foreign,)
                assert args[i] is tensors[i]
                assert func.__name__


def test_a_call_by_other_names_runs_a_function_once():
    calls = []

    class Counting(rg.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            calls.append(func.__name__)
            return func(*args, **(kwargs or {}))

    x = rg.ones(2, 2)
    with Counting():
        rg.sum(a=x, axis=0)
    assert calls == ["sum"]
