"""Subclasses of Tensor: they survive ops, copies and files, and parameters give plain tensors."""

import copy
import io
import pickle
import subprocess
import sys
from typing import ClassVar

import numpy as np
import pytest
from tests.laws.samples import at_least, samples

import retrograd as rg


class Mine(rg.Tensor):
    unit = "m"


class Slotted(rg.Tensor):
    __slots__ = ("tag",)


class Tagged(rg.Tensor):
    def __new__(cls, data, tag=None):
        made = super().__new__(cls, data)
        made.tag = tag
        return made

    def __init__(self, data, tag=None):
        super().__init__()
        self.initialised = True


def plain(value):
    """What a result holds, with classes forgotten."""
    return value.detach().as_subclass(rg.Tensor)


SINGLE = [
    lambda x: x * 2,
    lambda x: 2 - x,
    lambda x: -x,
    lambda x: abs(x),
    lambda x: x @ x,
    lambda x: rg.ones(2, 2) @ x,
    lambda x: rg.ones(2, 2) + x,
    lambda x: x > 1,
    lambda x: x == 1,
    lambda x: x[0],
    lambda x: x[:, 1:],
    lambda x: x[x > 2],
    lambda x: x.T,
    lambda x: x.mT,
    lambda x: x.real,
    lambda x: x.data,
    lambda x: x.sum(),
    lambda x: x.mean(0, keepdim=True),
    lambda x: x.detach(),
    lambda x: x.clone(),
    lambda x: x.double(),
    lambda x: x.view(4),
    lambda x: x.add_(1),
    lambda x: x.requires_grad_(),
    lambda x: x.new_zeros(2),
    lambda x: rg.zeros_like(x),
    lambda x: rg.cat([rg.ones(1, 2), x]),
    lambda x: rg.stack((x, x)),
    lambda x: rg.where(x > 1, x, 0.0),
    lambda x: rg.einsum("ij,jk->ik", x, rg.ones(2, 2)),
    lambda x: rg.add(x, 1, out=rg.empty(2, 2)),
    lambda x: rg.nn.functional.relu(x),
    lambda x: rg.nn.functional.linear(x, rg.ones(2, 2)),
    lambda x: rg.nn.Linear(2, 2)(x),
    lambda x: rg.linalg.norm(x),
    lambda x: rg.linalg.det(x),
    lambda x: rg.fft.fft(x),
    lambda x: rg.special.expit(x),
    lambda x: np.sin(x),
    lambda x: rg.positive(x),
]


@pytest.mark.parametrize("cls", [Mine, Slotted])
@pytest.mark.parametrize("number", range(len(SINGLE)))
def test_what_is_computed_of_a_subclass_is_of_the_subclass(number, cls):
    values = rg.tensor([[1.0, 2.0], [3.0, 5.0]])
    rg.manual_seed(0)
    made = SINGLE[number](values.clone().as_subclass(cls))
    rg.manual_seed(0)
    expected = SINGLE[number](values.clone())
    assert type(made) is cls
    assert made.shape == expected.shape
    assert made.dtype is expected.dtype
    assert rg.equal(plain(made), plain(expected))


def test_every_tensor_of_a_tuple_is_of_the_subclass():
    x = Mine([[1.0, 2.0], [3.0, 4.0]])
    for made in (
        x.split(1),
        x.unbind(),
        rg.max(x, 1),
        x.sort(),
        rg.linalg.svd(x),
        rg.meshgrid(x[0], x[1], indexing="ij"),
    ):
        assert [type(t) for t in made] == [Mine] * len(made)
    assert rg.max(x, 1).values.tolist() == [2.0, 4.0]
    assert type(rg.max(x, 1)) is rg.return_types.max
    assert [type(row) for row in x] == [Mine, Mine]


def test_what_is_no_tensor_stays_what_it_is():
    x = Mine([1.0, 2.0])
    assert type(x.shape) is rg.Size
    assert type(x.size()) is rg.Size
    assert x.tolist() == [1.0, 2.0]
    assert x[0].item() == 1.0
    assert len(x) == 2
    assert type(x.numpy()) is np.ndarray


def law_samples():
    first = {}
    for sample in [*samples(), *samples(differentiable=False)]:
        first.setdefault(sample.op.name, sample)
    return [pytest.param(sample, id=name) for name, sample in first.items()]


@pytest.mark.parametrize("behind", [False, True], ids=["caller", "caller in Python"])
@pytest.mark.parametrize("sample", at_least(365, law_samples()))
def test_every_op_gives_the_subclass_with_the_same_values_and_history(sample, behind):
    expected = sample.op.call(*sample.tensors(), **sample.params)
    tensors = sample.tensors()
    for t in tensors:
        if t is not None:
            t.__class__ = Mine
    call = getattr(sample.op.call, "__wrapped__", sample.op.call) if behind else sample.op.call
    made = call(*tensors, **sample.params)
    pairs = (
        list(zip(made, expected, strict=True))
        if isinstance(expected, tuple)
        else [(made, expected)]
    )
    for got, wanted in pairs:
        assert type(got) is Mine
        assert got.requires_grad == wanted.requires_grad
        assert (got.grad_fn is None) == (wanted.grad_fn is None)
        assert np.array_equal(got._array, wanted._array, equal_nan=wanted._array.dtype.kind in "fc")


def test_gradients_flow_through_subclasses_and_are_plain():
    x = Mine([1.0, 2.0]).requires_grad_()
    (x * x).sum().backward()
    assert type(x.grad) is rg.Tensor
    assert x.grad.tolist() == [2.0, 4.0]


@pytest.mark.parametrize("cls", [Mine, Slotted])
def test_a_view_of_a_subclass_writes_its_base_and_the_history_follows(cls):
    x = rg.ones(3, requires_grad=True)
    y = x.as_subclass(cls) * 1
    view = y[:2]
    view.mul_(3)
    assert type(view) is cls
    assert plain(y).tolist() == [3.0, 3.0, 1.0]
    y.sum().backward()
    assert x.grad.tolist() == [3.0, 3.0, 1.0]


@pytest.mark.parametrize("cls", [Mine, Slotted])
def test_a_write_to_a_saved_result_of_a_subclass_is_found_out(cls):
    x = rg.ones(2, requires_grad=True)
    y = x.as_subclass(cls).exp()
    z = y.sum()
    y.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.backward()


@pytest.mark.parametrize("cls", [Mine, Slotted])
def test_a_leaf_made_of_a_subclass_collects_its_gradient(cls):
    x = rg.zeros_like(rg.ones(2).as_subclass(cls), requires_grad=True)
    (x * 3).sum().backward()
    assert type(x) is cls
    assert x.is_leaf
    assert x.grad.tolist() == [3.0, 3.0]


def test_gradients_of_a_subclass_that_are_asked_for_are_of_the_subclass():
    x = Mine([1.0, 2.0]).requires_grad_()
    (g,) = rg.autograd.grad((x**3).sum(), x, create_graph=True)
    assert type(g) is Mine
    assert plain(g).tolist() == [3.0, 12.0]
    assert plain(rg.autograd.grad(g.sum(), x)[0]).tolist() == [6.0, 12.0]


def test_a_subclass_may_be_made_on_the_memory_of_a_tensor():
    x = rg.tensor([1, 2])
    y = rg.Tensor._make_subclass(Mine, x)
    x[0] = 5
    assert type(y) is Mine
    assert y.tolist() == [5, 2]
    assert y.is_leaf
    assert rg.Tensor._make_subclass(Slotted, rg.ones(1), True).requires_grad


def test_an_argument_that_is_returned_keeps_its_class():
    given = rg.empty(2)
    made = rg.add(Mine([1.0, 2.0]), 1, out=given)
    assert type(made) is Mine
    assert type(given) is rg.Tensor
    assert given.tolist() == [2.0, 3.0]


def test_a_class_made_of_a_tensor_shares_its_memory():
    x = rg.zeros(2)
    y = Mine(x)
    x[0] = 5
    assert type(y) is Mine
    assert y.tolist() == [5.0, 0.0]


def test_a_subclass_may_have_constructors_and_attributes():
    x = Tagged([1.0, 2.0], tag="a")
    assert (x.tag, x.initialised, x.tolist()) == ("a", True, [1.0, 2.0])
    assert type(x + 1) is Tagged
    assert not hasattr(x + 1, "tag")
    assert Mine([1.0]).unit == (Mine([1.0]) * 2).unit == "m"
    assert Mine(2, 3).shape == (2, 3)


def test_a_subclass_may_have_slots():
    x = rg.ones(2).as_subclass(Slotted)
    x.tag = 3
    assert x.tag == 3
    assert type(x * 2) is Slotted
    assert not hasattr(x * 2, "tag")


@pytest.mark.parametrize(
    "through",
    [
        copy.copy,
        copy.deepcopy,
        lambda x: pickle.loads(pickle.dumps(x)),
        lambda x: saved_and_loaded(x),
    ],
    ids=["copy", "deepcopy", "pickle", "save"],
)
def test_a_copy_keeps_the_class_and_what_is_stored_on_it(through):
    x = Tagged([1.0, 2.0], tag="a")
    made = through(x)
    assert type(made) is Tagged
    assert made.tag == "a"
    assert made.tolist() == [1.0, 2.0]
    y = rg.ones(2).as_subclass(Slotted)
    y.tag = 3
    made = through(y)
    assert type(made) is Slotted
    assert made.tag == 3
    assert made.tolist() == [1.0, 1.0]


def saved_and_loaded(x):
    file = io.BytesIO()
    rg.save(x, file)
    file.seek(0)
    return rg.load(file, weights_only=False)


def test_parameters_and_buffers_give_plain_tensors():
    for held in (rg.nn.Parameter(rg.ones(2)), rg.nn.Buffer(rg.ones(2))):
        for made in (held * 2, held[0], held.detach(), held.data, rg.cat([held, held]), held.T):
            assert type(made) is rg.Tensor


class Named(rg.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        made = super().__torch_function__(func, types, args, kwargs or {})
        if isinstance(made, Named):
            made.name_of = getattr(args[0], "name_of", None)
        return made


def test_a_parameter_has_the_attributes_that_its_class_gives_to_what_is_detached():
    x = rg.ones(2).as_subclass(Named)
    x.name_of = "weight"
    w = rg.nn.Parameter(x)
    assert (w.name_of, (w * 2).name_of, w.requires_grad) == ("weight", "weight", True)
    assert w.data_ptr() == x.data_ptr()


def test_a_class_that_detaches_to_another_one_makes_no_parameter():
    class Lost(rg.Tensor):
        def detach(self):
            return super().detach().as_subclass(rg.Tensor)

    with pytest.raises(RuntimeError, match=r"requires that detach\(\) returns an instance of the"):
        rg.nn.Parameter(rg.ones(2).as_subclass(Lost))


def test_a_subclass_of_parameter_gives_plain_tensors():
    class Weight(rg.nn.Parameter):
        pass

    assert type(Weight(rg.ones(2)) * 2) is rg.Tensor


def test_the_more_derived_class_is_the_results():
    class Derived(Mine):
        pass

    for made in (Mine([1.0]) + Derived([1.0]), Derived([1.0]) + Mine([1.0])):
        assert type(made) is Derived


def test_classes_that_do_not_know_each_other_do_not_mix():
    class Other(rg.Tensor):
        pass

    with pytest.raises(TypeError, match=r"no implementation found for 'retrograd.add'"):
        rg.add(Mine([1.0]), Other([1.0]))
    with pytest.raises(TypeError, match="unsupported operand"):
        Mine([1.0]) + Other([1.0])


def test_as_subclass_goes_back_to_plain_tensors():
    x = Mine([1.0])
    assert type(x.as_subclass(rg.Tensor)) is rg.Tensor
    assert type(rg.tensor(x.tolist())) is rg.Tensor


def test_a_subclass_shows_its_name():
    assert repr(Mine([1.0, 2.0])) == "Mine([1., 2.])"


def test_an_operand_that_nobody_knows_is_asked_by_subclasses_too():
    class Speaks:
        def __rmul__(self, other):
            return "asked"

    assert Mine([1.0]) * Speaks() == "asked"
    with pytest.raises(TypeError, match="unsupported operand"):
        Mine([1.0]) * object()
    assert (Mine([1.0]) == None) is False  # noqa: E711


def test_modules_keep_the_classes_of_their_buffers():
    class Mine(rg.Tensor):
        pass

    module = rg.nn.Module()
    module.register_buffer("own", rg.ones(2).as_subclass(Mine))
    assert type(module.state_dict()["own"]) is Mine
    assert type(module.double().own) is Mine
    assert module.own.dtype is rg.float64
    assert type(module.to_empty(device="cpu").own) is Mine


def test_an_override_that_calls_super_runs_once_though_the_method_loads_only_then():
    program = """
import retrograd as rg

class Counted(rg.Tensor):
    calls = 0

    def rsqrt(self):
        Counted.calls += 1
        return super().rsqrt()

assert rg.tensor([4.0]).as_subclass(Counted).rsqrt().item() == 0.5
assert Counted.calls == 1
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_overrides_are_told_the_names_that_python_knows():
    told = []

    class Told(rg.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            told.append(func.__name__)
            return super().__torch_function__(func, types, args, kwargs or {})

    x = rg.tensor([1, 2]).as_subclass(Told)
    x[0]
    x[0] = 3
    len(x)
    x == x  # noqa: B015
    x & x
    ~x
    x != x  # noqa: B015
    x / 2
    assert told == [
        *("__getitem__", "__setitem__", "__len__", "__eq__", "__and__", "__invert__", "ne", "div")
    ]


class Held(rg.nn.Parameter):
    """A parameter that stands for another one, as those of hypll do."""

    def __new__(cls, data):
        return super().__new__(cls)

    def __init__(self, data):
        self.held = rg.nn.Parameter(data)

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return func(*[arg.held if isinstance(arg, cls) else arg for arg in args], **(kwargs or {}))


def test_making_a_parameter_asks_no_class():
    assert Held(rg.ones(2)).held.tolist() == [1.0, 1.0]


@pytest.mark.parametrize("to_none", [True, False])
@pytest.mark.parametrize("by", ["module", "optimizer"])
def test_the_gradient_of_a_parameter_is_dropped_where_its_class_keeps_it(by, to_none):
    module = rg.nn.Module()
    module.w = Held(rg.ones(2))
    (module.w * 3).sum().backward()
    assert module.w.grad.tolist() == [3.0, 3.0]
    owner = module if by == "module" else rg.optim.SGD(module.parameters(), 0.1)
    owner.zero_grad(set_to_none=to_none)
    assert module.w.held.grad is None if to_none else module.w.held.grad.tolist() == [0.0, 0.0]


def test_a_copy_of_a_class_that_says_how_it_is_made_again_is_made_so():
    class Own(rg.Tensor):
        def __reduce_ex__(self, protocol):
            return _again, (self.as_subclass(rg.Tensor) + 1,), {"tag": 5}

    def _again(x):
        return x.as_subclass(Own)

    found = copy.copy(rg.zeros(2).as_subclass(Own))
    assert (type(found), found.tolist(), found.tag) == (Own, [1.0, 1.0], 5)


class Told(rg.Tensor):
    seen: ClassVar[list] = []

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        cls.seen.append(func)
        return super().__torch_function__(func, types, args, kwargs or {})


class Answering(rg.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return "answered"


@pytest.mark.parametrize(
    "call",
    [
        lambda x, out: rg.exp(x, out=out),
        lambda x, out: rg.add(x, x, out=out),
        lambda x, out: rg.zeros(2, out=out),
        lambda x, out: rg.lerp(x, x, 0.5, out=out),
    ],
    ids=["exp", "add", "zeros", "lerp"],
)
def test_an_override_may_answer_for_what_it_is_to_be_written_to(call):
    assert call(rg.ones(2), Answering([1.0, 2.0])) == "answered"


def test_saving_a_subclass_asks_it_for_nothing():
    x = rg.zeros(2).as_subclass(Told)
    Told.seen.clear()
    rg.save(x, io.BytesIO())
    assert Told.seen == []


@pytest.mark.parametrize(
    "name", ["__dlpack__", "__dlpack_device__", "is_conj", "is_neg", "new_tensor", "type"]
)
def test_overrides_are_told_the_name_of_a_method(name):
    assert getattr(rg.Tensor, name).__name__ == name


def test_the_node_of_another_class_of_a_tensor_is_an_alias():
    x = rg.ones(2, requires_grad=True)
    assert type(x.as_subclass(Mine).grad_fn).__name__ == "AliasBackward0"
    y = x * 2
    y.as_subclass(Mine).mul_(3)
    y.sum().backward()
    assert x.grad.tolist() == [6.0, 6.0]
