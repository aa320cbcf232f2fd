"""`library.opcheck`; its verdicts and texts are PyTorch's."""

from __future__ import annotations

import pytest

import retrograd as rg
from retrograd.torch.library import Library, custom, custom_op, get_ctx, opcheck
from retrograd.torch.library.checks import OpCheckError


@pytest.fixture(autouse=True)
def _forgotten():
    yield
    custom.OPERATORS.pop("mine", None)


def cube(x: rg.Tensor) -> rg.Tensor:
    return x**3


def defined():
    op = custom_op("mine::cube", cube, mutates_args=())
    op.register_fake(rg.empty_like)
    op.register_autograd(
        lambda ctx, g: 3 * g * ctx.saved_tensors[0] ** 2,
        setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs),
    )
    return op


def test_an_operator_that_is_as_defined_passes_every_check():
    for x in (rg.ones(2), rg.ones(2, requires_grad=True)):
        assert set(opcheck(defined(), (x,)).values()) == {"SUCCESS"}
        assert len(opcheck(defined(), (x,), test_utils="ALL")) == 5
    assert x.grad is None


def test_a_write_that_is_not_said_is_found():
    op = custom_op("mine::grow", lambda x: x.add_(1).clone(), mutates_args=())
    x = rg.zeros(2)
    with pytest.raises(OpCheckError, match="test_schema failed with Argument x is not defined as"):
        opcheck(op, (x,))
    assert x.tolist() == [0.0, 0.0]
    said = custom_op("mine::said", lambda x: x.add_(1).clone(), mutates_args=["x"])
    assert opcheck(said, (x,), test_utils="test_schema") == {"test_schema": "SUCCESS"}


def test_a_result_in_the_memory_of_an_input_is_found():
    op = custom_op("mine::same", lambda x: x.view(-1), mutates_args=())
    with pytest.raises(OpCheckError, match="may not alias any inputs"):
        opcheck(op, (rg.ones(2),), test_utils=["test_schema"])


def test_without_a_function_for_shapes_the_check_of_shapes_fails():
    op = custom_op("mine::cube", cube, mutates_args=())
    found = opcheck(op, (rg.ones(2),), raise_exception=False)
    assert found["test_schema"] == found["test_autograd_registration"] == "SUCCESS"
    assert "There was no fake impl registered for <CustomOpDef(mine::cube)>" in str(
        found["test_faketensor"]
    )


@pytest.mark.parametrize(
    ("told", "text"),
    [
        (lambda x: x.new_empty((2, 1)), r"Shapes .*\(?\[2\]\)? and .*\[2, 1\].* are not equal!"),
        (lambda x: x.new_empty(2, dtype=rg.int32), r"Dtypes .*float32 and .*int32 are not equal!"),
        (lambda x: (x.clone(), x.clone()), r"numbers of outputs: 1 and 2"),
    ],
)
def test_other_outputs_than_told_are_found(told, text):
    op = custom_op("mine::cube", cube, mutates_args=())
    op.register_fake(told)
    with pytest.raises(OpCheckError, match=text):
        opcheck(op, (rg.ones(2),), test_utils="test_faketensor")


def test_sizes_by_values_are_not_checked():
    op = custom_op("mine::chosen", lambda x: x[x > 0], mutates_args=())
    op.register_fake(lambda x: x.new_empty(get_ctx().new_dynamic_size()))
    assert opcheck(op, (rg.ones(2),), test_utils="test_faketensor")["test_faketensor"] == "SUCCESS"


def test_a_history_of_its_own_is_found():
    op = custom_op("mine::own", lambda x: x.detach().clone().requires_grad_(), mutates_args=())
    with pytest.raises(OpCheckError, match="at least one output of this operator has requires_g"):
        opcheck(op, (rg.ones(2),), test_utils="test_autograd_registration")


def test_outputs_that_change_from_call_to_call_are_found():
    calls = []
    op = custom_op("mine::counts", lambda x: x + (calls.append(1) or len(calls)), mutates_args=())
    op.register_fake(rg.empty_like)
    with pytest.raises(OpCheckError, match="test_aot_dispatch_dynamic failed with"):
        opcheck(op, (rg.ones(2),))


def test_a_gradient_without_a_formula_is_found():
    op = custom_op("mine::cube", cube, mutates_args=())
    op.register_fake(rg.empty_like)
    with pytest.raises(OpCheckError, match="no autograd formula was registered"):
        opcheck(op, (rg.ones(2, requires_grad=True),))


def test_what_is_asked_is_checked():
    with pytest.raises(ValueError, match="expected test_utils to be subset of"):
        opcheck(defined(), (rg.ones(1),), test_utils="nothing")
    with pytest.raises(ValueError, match="must specify both"):
        opcheck(defined(), (rg.ones(1),), rtol=1.0)
    with pytest.raises(ValueError, match="op must be"):
        opcheck(rg.sin, (rg.ones(1),))


def test_operators_of_a_library_are_checked_too():
    mine = Library("mine", "DEF")
    mine.define("twice(Tensor x, *, int n=2) -> Tensor")
    mine.impl("twice", lambda x, n: x * n, "CompositeExplicitAutograd")
    assert set(opcheck(custom.OPERATORS["mine"].twice, (rg.ones(2),)).values()) == {"SUCCESS"}
