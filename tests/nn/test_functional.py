"""nn.functional and fft against PyTorch 2.13: values, first and second derivatives.

`tests/data/make_functional.py` lists the calls and made `functional.json` with PyTorch. Numbers
agree to 1e-9 relative, both sides being float64.
"""

import importlib.util
import inspect
import json
from pathlib import Path

import pytest

import retrograd as rg
from retrograd import nn

DATA = Path(__file__).parents[1] / "data"
spec = importlib.util.spec_from_file_location("functional_calls", DATA / "make_functional.py")
functional = importlib.util.module_from_spec(spec)
spec.loader.exec_module(functional)
RESULTS = json.loads((DATA / "functional.json").read_text())
CALLS = dict(functional.calls())


def same(found, expected):
    """Whether two summaries agree; a missing gradient is one of zeros."""
    if found is None or expected is None:
        given = found or expected
        return given is None or given[2] == 0.0
    return found[:2] == expected[:2] and found[2] == pytest.approx(expected[2], rel=1e-9, abs=1e-9)


def test_every_call_has_a_result():
    assert list(CALLS) == list(RESULTS)


@pytest.mark.parametrize("name", CALLS)
def test_values_and_derivatives_are_those_of_pytorch(name):
    expected = RESULTS[name]
    found = functional.run(rg, CALLS[name])
    for order, parts in expected.items():
        assert len(found[order]) == len(parts)
        for index, pair in enumerate(zip(found[order], parts, strict=True)):
            assert same(*pair), f"{order}[{index}]: {pair[0]}, in PyTorch {pair[1]}"


def public():
    """The functions, without in-place forms."""
    members = vars(nn.functional).items()
    return {name: f for name, f in members if callable(f) and name.strip("_") == name}


def test_every_public_function_has_a_docstring_with_an_example():
    assert len(public()) > 100
    for function in public().values():
        assert ">>>" in (inspect.getdoc(function) or ""), function


@pytest.mark.parametrize("name", ["celu_", "elu_", "hardtanh_", "leaky_relu_", "relu_", "selu_"])
def test_in_place_forms_write_their_input(name):
    x = rg.tensor([-2.0, 0.5, 3.0])
    expected = public()[name.rstrip("_")](x)
    assert getattr(nn.functional, name)(x) is x
    assert rg.equal(x, expected)


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("name", ["running_mean", "running_var"])
def test_no_gradient_of_running_statistics_is_lost(name, training):
    F = rg.nn.functional
    statistics = {"running_mean": rg.zeros(2), "running_var": rg.ones(2)}
    statistics[name].requires_grad_()
    with pytest.raises(RuntimeError, match=f"with respect to argument '{name}'"):
        F.batch_norm(rg.ones(3, 2), **statistics, training=training)
    with pytest.raises(RuntimeError, match=f"with respect to argument '{name}'"):
        F.instance_norm(rg.ones(3, 2, 2), **statistics, use_input_stats=training)
    assert [statistics[each].sum().item() for each in statistics] == [0.0, 2.0]
