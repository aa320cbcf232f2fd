"""What public functions take beside their own arguments: `out=` and NumPy's names."""

from __future__ import annotations

import inspect
from types import FunctionType

import pytest

import retrograd as rg
from retrograd import ops
from retrograd.ops import later
from retrograd.ops.core.arguments import ALIASES, public

NAMESPACES = {"": rg, "linalg": rg.linalg, "fft": rg.fft, "special": rg.special}
FUNCTIONS = [
    pytest.param(function, id=f"{space}.{name}".strip("."))
    for space, module in NAMESPACES.items()
    for name, function in sorted(vars(module).items())
    if callable(function) and not isinstance(function, type) and not name.startswith("_")
    if "names" in getattr(getattr(function, "__signature__", None), "parameters", ())
]


def scaled():
    @public(out=True)
    def times(input: rg.Tensor, dim: int, other: float = 2.0) -> rg.Tensor:
        return input * other + dim

    return times


@pytest.mark.parametrize("function", FUNCTIONS)
def test_every_argument_that_has_another_name_refuses_both(function):
    own = inspect.signature(function).parameters
    for name, to in ALIASES.items():
        if to in own:
            with pytest.raises(TypeError, match=f"multiple values for argument '{to}'"):
                function(**{name: 0, to: 0})


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
        "(input: 'rg.Tensor', dim: 'int', other: 'float' = 2.0, *, out: 'Any' = None, "
        "**names: 'Any') -> 'rg.Tensor'"
    )


def test_a_function_without_out_refuses_it():
    with pytest.raises(TypeError, match="unexpected keyword argument 'out'"):
        rg.argsort(rg.ones(2), out=rg.ones(2))


@pytest.mark.parametrize(
    "call",
    [
        lambda x, out: rg.cat([x, x], out=out),
        lambda x, out: rg.matmul(input=x, other=rg.ones(2, 2), out=out),
        lambda x, out: rg.addmm(rg.ones(2), rg.ones(2, 2), mat2=x, out=out),
    ],
)
def test_wherever_a_tensor_that_requires_grad_is_given_out_is_refused(call):
    x = rg.ones(2, 2, requires_grad=True)
    with pytest.raises(RuntimeError, match="don't support automatic differentiation"):
        call(x, rg.empty(0))
    with rg.no_grad():
        assert call(x, rg.empty(0)).sum().item() > 0


def test_one_tensor_for_several_results_is_refused():
    with pytest.raises(TypeError, match="argument 'out' must be tuple of Tensors, not Tensor"):
        rg.sort(rg.ones(2), out=rg.ones(2))


def test_several_tensors_for_one_result_are_refused():
    with pytest.raises(TypeError, match="argument 'out' must be Tensor, not tuple"):
        rg.sum(rg.ones(2), out=(rg.ones(()), rg.ones(())))


def test_too_few_tensors_for_the_results_are_refused_before_anything_is_written():
    values = rg.zeros(2)
    with pytest.raises(RuntimeError, match="expected an out= argument of length 2, got 1"):
        rg.sort(rg.ones(2), out=(values,))
    assert values.tolist() == [0.0, 0.0]


def test_methods_and_in_place_forms_take_the_same():
    x = rg.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert x.cumsum_(axis=1).tolist() == [[1.0, 3.0], [3.0, 7.0]]
    assert x.sum(0, out=rg.empty(0)).tolist() == [4.0, 10.0]


@pytest.mark.parametrize("name", sorted(set(later.__all__) | set(ops.__all__)))
def test_every_function_with_an_argument_that_numpy_names_otherwise_understands_it(name):
    function = getattr(rg, name)
    if isinstance(function, FunctionType | type(rg.add)) and not (
        hasattr(function, "op") or name.endswith("_")  # callers of records
    ):
        shown = inspect.signature(function).parameters
        assert "names" in shown or not shown.keys() & set(ALIASES.values())
