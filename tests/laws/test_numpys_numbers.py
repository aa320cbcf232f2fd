"""A law of arguments: a number of NumPy's is the number that it is, whatever its dtype.

NumPy's arithmetic counts the dtype of its numbers, PyTorch's does not: `x.clamp(np.mean(a))` of a
float32 tensor is float32. Every stored call runs in single precision, once as it is written and
once with its numbers as NumPy's, also those within tuples and lists.
"""

from __future__ import annotations

import ast
from typing import Any

import numpy as np
import pytest

import retrograd as rg

from .samples import at_least, ops_format, stored

SINGLE = {"float64": "float32", "complex128": "complex64"}
OF_NUMPY = {int: np.int64, float: np.float64, complex: np.complex128}
# Undefined values; and what PyTorch, too, wants Python's own integer for.
APART = ("empty", "new_empty", "tensordot")


class AsNumPys(ast.NodeTransformer):
    """Puts a call of `given` around each number in an expression."""

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        if type(node.value) not in OF_NUMPY:
            return node
        return ast.Call(ast.Name("given", ast.Load()), [node], [])

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        return node  # a place in a result


def given(number: Any) -> Any:
    return OF_NUMPY[type(number)](number)


def rewritten(expression: str) -> str:
    tree = AsNumPys().visit(ast.parse(expression, mode="eval"))
    return ast.unparse(ast.fix_missing_locations(tree))


def answer(expression, inputs, derivatives):
    """The tensors that a call gives, and its gradients."""
    rg.manual_seed(0)
    tensors = [
        rg.tensor(np.array(held), dtype=getattr(rg, SINGLE.get(name, name)), requires_grad=grad)
        for name, held, grad in inputs
    ]
    value, grads = ops_format.run(rg, expression, tensors, derivatives)
    return [*ops_format.tensors(value), *(grads or ())]


CALLS = {
    name: asked
    for name, calls in stored().items()
    if not name.startswith(APART)
    and (asked := [call for call in calls if rewritten(call[0]) != call[0]])
}

# Functions whose stored calls have no numbers.
BESIDE = (
    "add sub mul div true_divide floor_divide remainder fmod pow float_power rsub xlogy copysign "
    "eq ne lt le gt ge clamp clip clamp_min clamp_max"
)
F = "lib.nn.functional"
OTHERS = [
    *(f"lib.{name}(x0, {n})" for name in BESIDE.split() for n in (2, 0.5)),
    "lib.clamp(x0, 1, 1.5)",
    "x0.clamp(max=2)",
    "x0.clone().clamp_(0.5, 2)",
    "lib.add(x0, x0, alpha=0.5)",
    "lib.sub(x0, 1.5, alpha=2)",
    "lib.nan_to_num(x0, 1, 2.5, -2)",
    "lib.fill(x0, 3)",
    "lib.where(x0 > 2, x0, 0.5)",
    "lib.swapaxes(x0, 0, 1)",
    "lib.linalg.cond(x0, 2)",
    "lib.amax(x0, 0) + lib.amin(x0, dim=[1, 0])",
    f"{F}.celu(x0, 0.5)",
    f"{F}.cross_entropy(x0, x0.softmax(1), label_smoothing=0.25)",
    f"{F}.elu(x0, 2)",
    f"{F}.gumbel_softmax(x0, 0.5)",
    f"{F}.leaky_relu(x0, 0.5)",
    f"{F}.lp_pool1d(x0, 2.0, 2)",
    f"{F}.pairwise_distance(x0, x0 + 1, 1.5, 0.5)",
    f"{F}.smooth_l1_loss(x0, x0 * 0, beta=0.5)",
    "lib.nn.AvgPool1d(2)(x0)",
    "lib.nn.CELU(0.5)(x0)",
    "lib.nn.Conv1d(2, 1, 2, padding=1)(x0)",
    "lib.nn.GroupNorm(1, 3)(x0)",
    "lib.nn.GRU(3, 2, 2)(x0)[0]",
    "lib.nn.LayerNorm(3, 0.5)(x0)",
    "lib.nn.Linear(3, 2)(x0)",
    "lib.nn.RMSNorm(3, 0.5)(x0)",
    "lib.nn.TransformerEncoderLayer(4, 2, 8, 0.0)(x0.repeat(1, 4).view(2, 3, 4))",
]
GIVEN = [("float32", np.arange(0.5, 3.5, 0.5).reshape(2, 3), True)]


def check(expression, inputs, derivatives):
    try:
        expected = answer(expression, inputs, derivatives)
    except (RuntimeError, TypeError, NotImplementedError):
        if inputs is GIVEN:
            raise
        return  # one dtype wanted, which the stored inputs have only in double precision
    found = answer(rewritten(expression), inputs, derivatives)
    for one, other in zip(found, expected, strict=True):
        assert (one is None) == (other is None), expression
        if one is not None:
            assert (one.dtype, one.layout) == (other.dtype, other.layout), expression
            held = [
                t.detach() if t.layout is rg.strided else t.detach().to_dense()
                for t in (one, other)
            ]
            np.testing.assert_array_equal(*(t.numpy() for t in held), expression)


@pytest.fixture(autouse=True)
def numbers(monkeypatch):
    monkeypatch.setitem(ops_format.NAMES, "given", given)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", at_least(270, CALLS, inner=240))
def test_a_number_of_numpys_is_that_number(name):
    for expression, inputs, _, grads in CALLS[name]:
        check(expression, inputs, grads is not None)


@pytest.mark.parametrize("expression", OTHERS)
def test_a_number_of_numpys_is_that_number_where_no_call_is_stored(expression):
    check(expression, GIVEN, True)
