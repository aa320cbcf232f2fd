"""Operators that programs define by schemas, with `library.Library`."""

from __future__ import annotations

import pytest

import retrograd as rg
from retrograd.torch import library
from retrograd.torch.library import Library, custom, ops


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


@pytest.mark.parametrize("key", ["CPU", "CompositeExplicitAutograd"])
def test_a_function_without_formula_is_recorded_as_it_runs(mine, key):
    mine.define("square(Tensor x) -> Tensor")
    mine.impl("square", lambda x: x * x, key)
    x = rg.tensor(3.0, requires_grad=True)
    assert rg.autograd.grad(ops.mine.square(x), x)[0].item() == 6.0
    library.register_autograd("mine::square", lambda ctx, g: g * 100)
    assert rg.autograd.grad(ops.mine.square(x), x)[0].item() == 100.0


def test_a_function_that_hides_its_input_has_a_node_that_raises(mine):
    mine.define("twice(Tensor x) -> (Tensor, Tensor)")
    mine.impl("twice", lambda x: (rg.from_numpy(2 * x.detach().numpy()), rg.arange(2)), "CPU")
    found, places = ops.mine.twice(rg.ones(2, requires_grad=True))
    assert found.tolist() == [2.0, 2.0]
    assert not places.requires_grad
    with pytest.raises(RuntimeError, match=r"through mine\.twice\.default but no autograd formula"):
        found.sum().backward()


def test_a_function_may_return_what_it_changed_or_a_view(mine):
    mine.define("bump_(Tensor(a!) x, int k) -> Tensor(a!)")
    mine.impl("bump_", lambda x, k: x.add_(k), "CPU")
    mine.define("flat(Tensor(a) x) -> Tensor(a)")
    mine.impl("flat", lambda x: x.view(-1), "CPU")
    x = rg.zeros(2, 1)
    assert ops.mine.bump_(x, 2) is x
    assert (x.tolist(), x._version) == ([[2.0], [2.0]], 1)
    assert ops.mine.flat(x)._base is x
    leaf = rg.ones(2, requires_grad=True)
    ops.mine.bump_(y := leaf * leaf, 3).sum().backward()
    assert (y.tolist(), leaf.grad.tolist()) == ([4.0, 4.0], [2.0, 2.0])


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


def test_an_operator_that_is_defined_later_gets_its_functions_then(mine):
    mine.impl("thrice", lambda x: x * 3, "CPU")
    mine.define("thrice(Tensor x) -> Tensor")
    assert ops.mine.thrice(rg.ones(1)).item() == 3.0
    library.impl("mine::twice", ["CPU"], lambda x: x * 2)
    library.define("mine::twice", "(Tensor x) -> Tensor")
    assert ops.mine.twice(rg.ones(1)).item() == 2.0


def test_a_function_for_the_cpu_goes_before_one_for_all_devices(mine):
    mine.define("twice(Tensor x) -> Tensor")
    library.impl("mine::twice", "cpu", lambda x: x * 2)
    library.impl("mine::twice", "default", lambda x: x.new_zeros(3))
    assert ops.mine.twice(rg.ones(1)).item() == 2.0
    assert ops.mine.twice(rg.ones(1, device="meta")).shape == (3,)


@pytest.mark.parametrize("key", ["Autograd", "AutogradCPU"])
def test_a_function_for_autograd_takes_the_place_of_what_records(mine, key):
    mine.define("twice(Tensor x) -> Tensor")
    mine.impl("twice", lambda x: x * 2, "CPU")

    class Twice(rg.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            with rg._C._AutoDispatchBelowAutograd():
                return ops.mine.twice(x)

        @staticmethod
        def backward(ctx, g):
            return g * 5

    mine.impl("twice", Twice.apply, key)
    library.register_autograd("mine::twice", lambda ctx, g: g * 7)
    x = rg.ones(2, requires_grad=True)
    y = ops.mine.twice(x)
    y.sum().backward()
    assert (y.tolist(), x.grad.tolist()) == ([2.0, 2.0], [5.0, 5.0])
    mine.impl("twice", lambda x: x**3, key)
    assert rg.autograd.grad(ops.mine.twice(x).sum(), x)[0].tolist() == [3.0, 3.0]


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
    assert library.ops.mine.twice(rg.ones(1, device="meta")).shape == (1,)
    assert library.ops.mine.twice(rg.ones(1, device="meta")).is_meta
    with pytest.raises(ValueError, match="'mine::sin' and a schema like"):
        library.define("twice", "(Tensor x) -> Tensor")


def test_a_name_and_a_schema_define_an_operator_that_functions_are_given_to():
    library.define("shed::scaled", "(Tensor x, float by=2.0) -> Tensor")
    library.impl("shed::scaled", "cpu", lambda x, by: x * by)
    library.impl("shed::scaled", "cuda")(None)
    assert library.ops.shed.scaled(rg.ones(2), 3.0).tolist() == [3.0, 3.0]
    library.define("shed::more", "(Tensor x) -> Tensor", tags=rg.Tag.pt2_compliant_tag)
    library.impl("shed::more", ("default",), lambda x: x + 1)
    library.impl_abstract("shed::more", rg.empty_like)
    assert library.ops.shed.more(rg.zeros(2, device="meta")).shape == (2,)
    assert library.ops.shed.more.default(rg.zeros(2)).tolist() == [1.0, 1.0]


def test_a_library_decorates_functions(mine):
    @library.define(mine, "half(Tensor x) -> Tensor")
    def half(x):
        return x / 2

    mine.define("third(Tensor x) -> Tensor")

    @library.impl(mine, "third", "CPU")
    def third(x):
        return x / 3

    own = getattr(library.ops, mine.ns)
    assert half(rg.ones(1)).item() == own.half(rg.ones(1)).item() == 0.5
    assert third(rg.ones(1)).item() == own.third(rg.ones(1)).item()


def test_an_overload_is_an_operator_of_its_own():
    library.define("shed::add", "(Tensor x, Tensor y) -> Tensor")
    library.define("shed::add.out", "(Tensor x, Tensor y, Tensor(a!) out) -> ()")
    library.impl("shed::add", "cpu", lambda x, y: x + y)
    library.impl("shed::add.out", "cpu", lambda x, y, out: out.copy_(x + y).clone())
    one, out = rg.ones(1), rg.zeros(1)
    library.ops.shed.add.out(one, one, out)
    assert out.item() == library.ops.shed.add(one, one).item() == 2.0


def test_an_operator_of_triton_runs_its_function_and_has_no_kernels_to_wrap():
    @library.triton_op("shed::cube", mutates_args={})
    def cube(x: rg.Tensor) -> rg.Tensor:
        return x**3

    assert cube(rg.tensor(2.0)).item() == 8.0
    with pytest.raises(ModuleNotFoundError, match="No module named 'triton'"):
        library.wrap_triton(cube)
