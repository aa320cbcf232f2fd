"""Operators that programs define by schemas, with `library.Library`."""

from __future__ import annotations

import pytest

import retrograd as rg
from retrograd import library
from retrograd.library import Library, custom, ops


@pytest.fixture
def mine():
    yield Library("mine", "DEF")
    custom.OPERATORS.pop("mine", None)


def test_a_schema_says_defaults_and_what_is_given_by_name(mine):
    mine.define("weigh(Tensor x, int[2] n=[1, 2], *, float? by=None, str how='sum') -> Tensor")
    mine.impl("weigh", lambda x, n, *, by, how: x * (by or 2) * n[1] + len(how), "CPU")
    assert ops.mine.weigh(rg.ones(1)).tolist() == [7.0]
    assert ops.mine.weigh(rg.ones(1), [0, 3], by=1.0, how="").tolist() == [3.0]
    with pytest.raises(TypeError, match="too many positional"):
        ops.mine.weigh(rg.ones(1), [0, 1], 1.0)


@pytest.mark.parametrize("schema", ["weigh", "(Tensor x) -> Tensor", "weigh(Tensor) -> Tensor"])
def test_a_schema_that_cannot_be_read_is_refused(mine, schema):
    with pytest.raises(ValueError, match="schema reads"):
        mine.define(schema)


def test_what_is_defined_has_no_function_before_it_is_given_one(mine):
    mine.define("weigh(Tensor x) -> Tensor")
    with pytest.raises(NotImplementedError, match="Could not run 'mine::weigh'"):
        ops.mine.weigh(rg.ones(1))


def test_a_composite_function_is_recorded_until_a_formula_is_registered(mine):
    mine.define("square(Tensor x) -> Tensor")
    mine.impl("square", lambda x: x * x, "CompositeImplicitAutograd")
    x = rg.tensor(3.0, requires_grad=True)
    (first,) = rg.autograd.grad(ops.mine.square(x), x, create_graph=True)
    assert rg.autograd.grad(first, x)[0].item() == 2.0
    library.register_autograd("mine::square", lambda ctx, g: g * 100)
    assert rg.autograd.grad(ops.mine.square(x), x)[0].item() == 100.0


def test_a_composite_function_gets_the_defaults_of_the_schema(mine):
    mine.define("weigh(Tensor x, float by=3., *, float more=1.) -> Tensor")
    mine.impl("weigh", lambda x, by, *, more: x * by + more, "CompositeImplicitAutograd")
    assert ops.mine.weigh(rg.ones(1)).tolist() == [4.0]


def test_a_function_of_the_meta_device_tells_shapes(mine):
    mine.define("twice(Tensor x) -> Tensor")
    mine.impl("twice", lambda x: rg.cat((x, x)), "CPU")
    meta = Library("mine", "IMPL", "Meta")
    meta.impl(ops.mine.twice.default, lambda x: x.new_empty(2 * len(x)))
    assert ops.mine.twice(rg.ones(2, device="meta")).shape == (4,)


def test_a_size_by_values_cannot_be_told(mine):
    mine.define("positive(Tensor x) -> Tensor")
    library.register_fake(
        "mine::positive", lambda x: x.new_empty(library.get_ctx().new_dynamic_size())
    )
    with pytest.raises(RuntimeError, match="depends on the values"):
        ops.mine.positive(rg.ones(2, device="meta"))


def test_functions_of_other_devices_are_not_needed(mine):
    mine.define("twice(Tensor x) -> Tensor")
    mine.impl("twice", lambda x: x * 2, "CPU")
    mine.impl("twice", lambda x: None, "CUDA")
    assert ops.mine.twice(rg.ones(1)).item() == 2.0
    with pytest.raises(NotImplementedError, match=r"register_autograd\('mine::twice'"):
        mine.impl("twice", lambda x: None, "AutogradCPU")
    with pytest.raises(RuntimeError, match="operator mine::thrice does not exist"):
        mine.impl("thrice", lambda x: None)


def test_a_schema_says_what_is_written(mine):
    mine.define("fill(Tensor(a!) x, Tensor by) -> ()")
    mine.impl("fill", lambda x, by: x.numpy().fill(by.item()), "CPU")
    x = rg.ones(2)
    ops.mine.fill(x, rg.tensor(3.0))
    assert (x.tolist(), x._version) == ([3.0, 3.0], 1)


def test_a_library_is_of_a_known_kind():
    with pytest.raises(ValueError, match="Unsupported kind"):
        Library("mine", "OWN")


def test_a_subclass_takes_an_operator_over(mine):
    mine.define("twice(Tensor x) -> Tensor")
    mine.impl("twice", lambda x: x * 2, "CPU")

    class Named(rg.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return func.__name__

    assert ops.mine.twice(rg.ones(1).as_subclass(Named)) == "twice"


def test_an_operator_of_a_schema_has_no_documentation(mine):
    mine.define("plain(Tensor x) -> Tensor")
    assert ops.mine.plain.__doc__ is None


def test_a_library_that_gives_functions_alone_defines_nothing():
    with pytest.raises(RuntimeError, match="Cannot define an operator inside of a library of kind"):
        Library("mine", "IMPL").define("weigh(Tensor x) -> Tensor")


def test_an_operator_is_defined_and_given_functions_by_its_whole_name(mine):
    library.define("mine::twice", "(Tensor x, int n=2) -> Tensor")

    @library.impl("mine::twice", ("cpu", "cuda"))
    def twice(x, n):
        return x * n

    assert library.ops.mine.twice(rg.ones(1)).tolist() == [2.0]
    with pytest.raises(RuntimeError, match="no fake impl"):
        library.ops.mine.twice(rg.ones(1, device="meta"))
    library.impl("mine::twice", "default", lambda x, n: x + n)
    assert library.ops.mine.twice(rg.ones(1)).tolist() == [3.0]
    assert library.ops.mine.twice(rg.ones(1, device="meta")).is_meta
    with pytest.raises(ValueError, match="'mine::sin' and a schema like"):
        library.define("twice", "(Tensor x) -> Tensor")


def test_a_function_is_given_to_an_operator_of_a_library(mine):
    mine.define("twice(Tensor x) -> Tensor")

    @library.impl(mine, "twice", "CPU")
    def twice(x):
        return x * 2

    assert library.ops.mine.twice(rg.ones(1)).tolist() == [2.0]
