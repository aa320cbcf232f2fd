"""What public functions take beside their own arguments: `out=`, with NumPy's names, too."""

from __future__ import annotations

import inspect

import pytest

import retrograd as rg
from retrograd import Tensor
from retrograd.ops.core.arguments import public


def scaled():
    @public(out=True)
    def times(input: Tensor, dim: int, other: float = 2.0) -> Tensor:
        return input * other + dim

    return times


def test_an_argument_given_in_order_and_by_numpys_name_is_refused():
    with pytest.raises(TypeError, match="multiple values for argument 'dim'"):
        rg.sum(rg.ones(2, 2), 0, axis=0)


def test_numpys_names_stand_for_arguments():
    x = rg.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert x.sum(axis=0, keepdims=True).tolist() == [[4.0, 6.0]]
    assert scaled()(rg.ones(1), axis=1, x2=3.0).item() == 4.0


def test_a_name_of_nothing_raises_as_pythons_functions_do():
    message = r"sum\(\) got an unexpected keyword argument 'axes'"
    with pytest.raises(TypeError, match=message):
        rg.sum(rg.ones(2), axes=0)
    with pytest.raises(TypeError, match=message):
        rg.sum(rg.ones(2), axes=0, keepdims=True)


def test_the_signature_shows_what_is_taken_besides():
    assert str(inspect.signature(scaled())) == (
        "(input: 'Tensor', dim: 'int', other: 'float' = 2.0, *, out: 'Tensor | None' = None) "
        "-> 'Tensor'"
    )


def test_a_function_without_out_refuses_it():
    with pytest.raises(TypeError, match="unexpected keyword argument 'out'"):
        rg.matrix_exp(rg.ones(2, 2), out=rg.ones(2, 2))


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda x, out: rg.cat([x, x], out=out), [[1, 1]] * 4),
        (lambda x, out: rg.matmul(input=x, other=rg.ones(2, 2), out=out), [[2, 2]] * 2),
        (lambda x, out: rg.addmm(rg.ones(2), rg.ones(2, 2), mat2=x, out=out), [[3, 3]] * 2),
    ],
)
def test_wherever_a_tensor_that_requires_grad_is_given_out_is_refused(call, expected):
    x = rg.ones(2, 2, requires_grad=True)
    with pytest.raises(RuntimeError, match="don't support automatic differentiation"):
        call(x, rg.empty(0))
    with rg.no_grad():
        out = rg.empty(0)
        assert call(x, out) is out
    assert out.tolist() == expected


def test_one_tensor_for_several_results_is_refused():
    with pytest.raises(TypeError, match="argument 'out' must be tuple of Tensors, not Tensor"):
        rg.sort(rg.ones(2), out=rg.ones(2))


def test_several_tensors_for_one_result_are_refused():
    with pytest.raises(TypeError, match="argument 'out' must be Tensor, not tuple"):
        rg.sum(rg.ones(2), out=(rg.ones(()), rg.ones(())))


def test_too_few_tensors_for_the_results_are_refused_before_anything_is_written():
    values = rg.zeros(2)
    with pytest.raises(TypeError, match="expected an out= argument of length 2, got 1"):
        rg.sort(rg.ones(2), out=(values,))
    assert values.tolist() == [0.0, 0.0]


def test_methods_and_in_place_forms_take_the_same():
    x = rg.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert x.cumsum_(axis=1).tolist() == [[1.0, 3.0], [3.0, 7.0]]
    assert x.sum(0, out=rg.empty(0)).tolist() == [4.0, 10.0]


def test_out_of_a_kind_that_cannot_hold_the_result_is_both_errors_of_pytorch():
    message = "can't be cast to the desired output type Long"
    for error in (RuntimeError, TypeError):
        with pytest.raises(error, match=message):
            rg.cat([rg.ones(1)], out=rg.ones(1, dtype=rg.int64))


def test_numbers_are_added_into_an_out_of_any_kind_that_holds_their_sum():
    assert rg.add(1, 2, out=rg.ones(())).tolist() == 3.0
    with pytest.raises(RuntimeError, match="Long can't be cast to the desired output type Bool"):
        rg.add(1, 2, out=rg.ones((), dtype=rg.bool))
