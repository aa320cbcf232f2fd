"""Operators that programs define, by `library.custom_op`."""

from __future__ import annotations

import numpy as np
import pytest

import retrograd as rg
from retrograd.torch.library import (
    custom,
    custom_op,
    ops,
    register_autocast,
    register_autograd,
    register_kernel,
    register_vmap,
)
from retrograd.torch.utils._python_dispatch import TorchDispatchMode


@pytest.fixture(autouse=True)
def _forgotten():
    yield
    custom.OPERATORS.pop("mine", None)


def weighed(x: rg.Tensor, n: int = 2, *, by: float = 1.0) -> rg.Tensor:
    return rg.from_numpy(x.detach().numpy() * n * by)


def test_an_operator_takes_defaults_and_names():
    op = custom_op("mine::weighed", weighed, mutates_args=())
    assert op(rg.ones(2), by=3.0).tolist() == [6.0, 6.0]
    assert ops.mine.weighed(rg.ones(1), 5).tolist() == [5.0]
    assert ops.mine.weighed.default is op
    assert repr(op) == "<CustomOpDef(mine::weighed)>"


def test_its_gradient_is_the_one_that_is_registered():
    op = custom_op("mine::weighed", weighed, mutates_args=())
    seen = {}

    def keep(ctx, inputs, keyword_only_inputs, output):
        seen.update(inputs=inputs[1:], named=keyword_only_inputs, output=output.tolist())
        ctx.by = inputs[1] * keyword_only_inputs["by"]

    register_autograd("mine::weighed", lambda ctx, g: (g * ctx.by, None), setup_context=keep)
    x = rg.tensor([1.0, 2.0], requires_grad=True)
    op(x, 3, by=0.5).sum().backward()
    assert seen == {"inputs": (3,), "named": {"by": 0.5}, "output": [1.5, 3.0]}
    assert x.grad.tolist() == [1.5, 1.5]


def test_gradients_of_lists_of_tensors_come_back_as_a_list():
    @custom_op("mine::both", mutates_args=())
    def both(xs: list[rg.Tensor]) -> rg.Tensor:
        return xs[0] * xs[1]

    both.register_autograd(
        lambda ctx, g: [g * ctx.saved_tensors[1], g * ctx.saved_tensors[0]],
        setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs[0]),
    )
    a, b = (rg.tensor(v, requires_grad=True) for v in (2.0, 3.0))
    both([a, b]).backward()
    assert (a.grad.item(), b.grad.item()) == (3.0, 2.0)


def test_without_a_formula_backward_raises():
    op = custom_op("mine::weighed", weighed, mutates_args=())
    out = op(rg.ones(1, requires_grad=True))
    with pytest.raises(RuntimeError, match="no autograd formula was registered"):
        out.backward()


def test_an_output_that_is_an_input_is_refused():
    op = custom_op("mine::same", lambda x: x, mutates_args=())
    with pytest.raises(RuntimeError, match="must not also be an input"):
        op(rg.ones(1))


def test_an_operator_that_writes_counts_the_write():
    op = custom_op("mine::grow", lambda x: x.add_(1.0) and None, mutates_args={"x"})
    x = rg.zeros(1)
    assert op(x) is None
    assert (x.item(), x._version) == (1.0, 2)  # once by add_, once by the operator, as in PyTorch


def test_the_kernel_of_the_cpu_is_the_one_that_runs():
    op = custom_op("mine::weighed", weighed, mutates_args=())
    register_kernel("mine::weighed", "cuda", lambda x, n, by: None)
    register_kernel(op, ["cpu"])(lambda x, n, by: rg.tensor(np.pi))
    assert op(rg.ones(1)).item() == rg.tensor(np.pi).item()


def test_names_have_a_namespace():
    with pytest.raises(ValueError, match="namespace::name"):
        custom_op("weighed", weighed, mutates_args=())
    with pytest.raises(RuntimeError, match="operator mine::nothing does not exist"):
        custom.register_fake("mine::nothing", weighed)
    with pytest.raises(AttributeError, match="mine"):
        _ = ops.mine


def zeroed(x):
    x.numpy()[:] = 0.0


@pytest.mark.parametrize("mutates", [{"x"}, "unknown"])
def test_a_write_past_the_ops_is_counted(mutates):
    op = custom_op("mine::zeroed", zeroed, mutates_args=mutates)
    w, x = rg.ones(2, requires_grad=True), rg.ones(2)
    y = w * x
    op(x)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_a_result_in_the_memory_of_an_input_is_refused():
    op = custom_op("mine::viewed", lambda x: x.view(2, 1), mutates_args=())
    with pytest.raises(RuntimeError, match="may not alias any inputs"):
        op(rg.ones(2))


def test_only_arguments_can_be_written():
    with pytest.raises(ValueError, match="'y'} in mutates_args were not found"):
        custom_op("mine::zeroed", zeroed, mutates_args=["y"])


def test_a_function_for_other_devices_does_not_run():
    op = custom_op("mine::weighed", weighed, mutates_args=(), device_types="cuda")
    with pytest.raises(NotImplementedError, match="Could not run 'mine::weighed'"):
        op(rg.ones(1))
    op.register_kernel(["cpu", "cuda"], weighed)
    assert op(rg.ones(1)).item() == 2


def test_a_namespace_is_one_object_that_has_later_operators_too():
    custom_op("mine::weighed", weighed, mutates_args=())
    space = ops.mine
    custom_op("mine::again", weighed, mutates_args=())
    assert space is ops.mine
    assert space.again(rg.ones(1)).item() == 2
    with pytest.raises(AttributeError, match="'mine' object has no attribute 'other'"):
        _ = space.other


def test_a_backward_returns_a_gradient_for_each_argument():
    op = custom_op("mine::weighed", weighed, mutates_args=())
    op.register_autograd(lambda ctx, g: (g,))
    with pytest.raises(RuntimeError, match="returned 1 gradients, but the operator has 2"):
        op(rg.ones(1, requires_grad=True)).backward()


def test_wrong_arguments_are_told_with_the_operator():
    op = custom_op("mine::weighed", weighed, mutates_args=())
    with pytest.raises(TypeError, match=r"mine::weighed\(x: .*: missing a required argument: 'x'"):
        op()


def test_on_the_meta_device_an_operator_without_fake_kernel_raises():
    op = custom_op("mine::weighed", weighed, mutates_args=())
    with pytest.raises(RuntimeError, match=r"There was no fake impl registered for <CustomOpDef"):
        op(rg.ones(2, device="meta"))
    op.register_fake(lambda x, n=2, *, by=1.0: rg.empty_like(x))
    assert op(rg.ones(2, device="meta")).is_meta

    @custom_op("mine::grow", mutates_args=["x"])
    def grow(x: rg.Tensor) -> None:
        x.add_(1)

    assert grow(rg.ones(2, device="meta")) is None  # there is nothing to tell


def test_a_batch_goes_to_the_function_that_is_registered_for_it():
    op = custom_op("mine::weighed", weighed, mutates_args=())
    seen = []

    @op.register_vmap
    def batched(info, in_dims, x, n, *, by):
        seen.append((info.batch_size, info.randomness, in_dims, x.shape, n, by))
        return weighed(x, n, by=by), in_dims[0]

    x = rg.arange(6.0).reshape(2, 3)
    made = rg.func.vmap(lambda x: op(x, 3, by=2.0), in_dims=1)(x)
    assert seen == [(3, "error", (1, None), (2, 3), 3, 2.0)]
    rg.testing.assert_close(made, 6 * x.T)
    assert op(rg.ones(1)).tolist() == [2.0]


def test_a_batch_goes_to_its_function_without_the_defaults_at_the_end():
    @custom_op("mine::moved", mutates_args=())
    def moved(x: rg.Tensor, by: float = 1.0, to: rg.Tensor | None = None) -> rg.Tensor:
        return x + by if to is None else x + by * to

    seen = []

    @moved.register_vmap
    def batched(info, in_dims, x, *rest):
        seen.append((in_dims, len(rest)))
        return moved(x, *rest), 0

    x = rg.arange(2.0)
    assert rg.func.vmap(moved)(x).tolist() == [1.0, 2.0]
    assert rg.func.vmap(lambda x: moved(x, 3.0))(x).tolist() == [3.0, 4.0]
    assert rg.func.vmap(lambda x: moved(x, to=x))(x).tolist() == [0.0, 2.0]
    assert seen == [((0,), 0), ((0, None), 1), ((0, None, 0), 2)]


def test_an_operator_names_its_overloads():
    custom_op("mine::kept", weighed, mutates_args=())
    custom_op("mine::kept.out", weighed, mutates_args=())
    assert rg.ops.mine.kept.overloads() == ["default", "out"]
    assert rg.ops.mine.kept.out.overloads() == ["out"]


def test_a_gradient_flows_through_the_operator_on_a_batch():
    @custom_op("mine::cube", mutates_args=())
    def cube(x: rg.Tensor) -> rg.Tensor:
        return rg.from_numpy(x.detach().numpy() ** 3)

    cube.register_autograd(
        lambda ctx, g: 3 * g * ctx.saved_tensors[0] ** 2,
        setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs),
    )
    register_vmap("mine::cube", lambda info, in_dims, x: (cube(x), in_dims[0]))
    x = rg.tensor([1.0, 2.0], requires_grad=True)
    rg.func.vmap(cube)(x).sum().backward()
    assert x.grad.tolist() == [3.0, 12.0]
    each = rg.func.vmap(rg.func.grad(cube))(rg.tensor([1.0, 2.0]))
    assert each.tolist() == [3.0, 12.0]


def test_under_autocast_inputs_are_cast_to_the_registered_dtype():
    seen = []
    op = custom_op("mine::seen", lambda x, n: seen.append(x.dtype) or x.clone(), mutates_args=())
    register_autocast("mine::seen", "cpu", rg.bfloat16)
    register_autocast(op, "cuda", rg.float16)
    op(rg.ones(1), 1)
    with rg.autocast("cpu"):
        assert op(rg.ones(1), 1).dtype == rg.bfloat16
        op(rg.ones(1, dtype=rg.int64), 1)
    assert seen == [rg.float32, rg.bfloat16, rg.int64]
    with pytest.raises(ValueError, match="'mps' does not support autocast"):
        op.register_autocast("mps", rg.float16)


class Seen(TorchDispatchMode):
    """A mode that notes operators and their arguments."""

    def __init__(self):
        self.calls = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.calls.append((str(func), len(args), kwargs))
        return func(*args, **kwargs)


@pytest.mark.parametrize("requires_grad", [False, True])
def test_a_mode_sees_the_operator_and_not_what_its_function_calls(requires_grad):
    @custom_op("mine::cube", mutates_args=())
    def cube(x: rg.Tensor, n: int = 3, *, by: int = 1) -> rg.Tensor:
        return x**n * by

    cube.register_autograd(
        lambda ctx, g: (g * 3 * ctx.saved_tensors[0] ** 2, None),
        setup_context=lambda ctx, inputs, output, keyword_only_inputs: ctx.save_for_backward(
            inputs[0]
        ),
    )
    x = rg.tensor([1.0, 2.0], requires_grad=requires_grad)
    with Seen() as seen:
        y = cube(x)
    assert seen.calls == [("mine.cube.default", 1, {"by": 1})]
    if requires_grad:
        y.sum().backward()
        assert x.grad.tolist() == [3.0, 12.0]


def test_a_class_below_functions_answers_for_the_operator():
    class Doubling(rg.Tensor):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            return rg.tensor([ops.mine.cube is func, func._schema.is_mutable])

    custom_op("mine::cube", lambda x: x**3, mutates_args=())
    x = rg.Tensor._make_subclass(Doubling, rg.ones(2))
    assert ops.mine.cube(x).tolist() == [True, False]


def test_a_schema_names_what_an_operator_writes():
    op = custom_op("mine::shift", lambda x, by=1: None, mutates_args=("x",))
    assert (op.name(), op.namespace, op._schema.name) == ("mine::shift", "mine", "mine::shift")
    assert [(each.name, each.is_write) for each in op._schema.arguments] == [
        ("x", True),
        ("by", False),
    ]


def test_what_was_written_before_an_error_is_counted():
    @custom_op("mine::shift", mutates_args=("x",))
    def shift(x: rg.Tensor) -> None:
        x.numpy()[0] = 7
        raise ValueError("halfway")

    w, x = rg.ones(2), rg.ones(2, requires_grad=True)
    y = (x * w).sum()
    with pytest.raises(ValueError, match="halfway"):
        shift(w)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()


def test_the_context_of_a_custom_op_tells_which_of_its_own_arguments_want_gradients():
    asked = []

    def setup(ctx, inputs, output):
        ctx.save_for_backward(*inputs[0], inputs[1])
        asked.append(ctx.needs_input_grad)

    def backward(ctx, g):
        a, b, y = ctx.saved_tensors
        asked.append(ctx.needs_input_grad)
        return [g * y, g * y], g * (a + b) if ctx.needs_input_grad[1] else None

    op = custom_op("mine::dot", lambda xs, y: (xs[0] + xs[1]) * y, mutates_args=())
    op.register_autograd(backward, setup_context=setup)
    a, b, y = rg.ones(1, requires_grad=True), rg.ones(1), rg.ones(1, requires_grad=True)
    op([a, b], y).backward()
    assert asked == [([True, False], True)] * 2
    assert (a.grad.item(), y.grad.item()) == (1.0, 2.0)


def test_the_node_of_a_custom_op_has_its_name():
    op = custom_op("mine::cube", lambda x: x**3, mutates_args=())
    op.register_autograd(lambda ctx, g: g)
    node = op(rg.ones(1, requires_grad=True)).grad_fn
    assert node.name() == "GeneratedBackwardFor_mine_cube_defaultBackward"


def test_an_operator_knows_the_function_that_it_was_made_of():
    def twice(x: rg.Tensor) -> rg.Tensor:
        return x * 2

    made = rg.library.custom_op("mine::known", twice, mutates_args=())
    assert made._init_fn is twice
    assert made._opoverload is made.default
