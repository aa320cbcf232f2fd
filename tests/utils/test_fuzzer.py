"""Random tensors to measure with; the draws are PyTorch's."""

from __future__ import annotations

import pytest

import retrograd as rg
from retrograd.utils.benchmark import FuzzedParameter, FuzzedTensor, Fuzzer, ParameterAlias


def fuzzer(**settings):
    parameters = [
        FuzzedParameter("n", 1, 9, "uniform"),
        [
            FuzzedParameter("k", 4, 1000, "loguniform"),
            FuzzedParameter("f", 0.0, 1.0, "uniform"),
            FuzzedParameter("d", 1, 3, "uniform", strict=True),
        ],
    ]
    bounds = {"min_elements": 30, "max_elements": 5000, "dim_parameter": "d"}
    tensors = [
        FuzzedTensor("x", ("n", "k", 2), ("n",), 0.3, **bounds),
        FuzzedTensor("i", ("n", 3), dtype=rg.int64, probability_contiguous=0.1),
    ]
    return Fuzzer(parameters, tensors, seed=3, **settings)


def test_draws_are_those_of_pytorch():
    made = list(fuzzer(constraints=[lambda params: params["n"] > 2]).take(3))
    assert [tuple(params.values()) for _, _, params in made] == [
        (4, 19, 0.510827605197663, 2),
        (9, 13, 0.35390507188629283, 3),
        (8, 9, 0.5446490180318447, 3),
    ]
    assert [(t["x"].shape, t["x"].stride(), t["i"].sum().item()) for t, _, _ in made] == [
        ((4, 19), (4, 16), 749),
        ((9, 13, 2), (9, 81, 1053), 1631),
        ((8, 9, 2), (72, 1, 576), 1540),
    ]
    assert made[0][0]["x"].sum().item() == pytest.approx(38.9014, abs=5e-5)


def test_what_a_tensor_is_like_is_told():
    ((_, properties, _),) = fuzzer(constraints=[lambda params: params["n"] > 2]).take(1)
    assert {name: str(value) for name, value in properties["x"].items()} == {
        "numel": "76",
        "order": "[1 0]",
        "steps": "(4, 1)",
        "is_contiguous": "False",
        "dtype": "retrograd.float32",
    }


def test_sets_that_meet_no_constraint_are_drawn_again():
    number = FuzzedParameter("n", 1, 9, "uniform")
    drawn = Fuzzer([number], [], constraints=[lambda params: params["n"] == 9], seed=0)
    assert drawn.rejection_rate == 0.0
    assert [params for *_, params in drawn.take(2)] == [{"n": 9}, {"n": 9}]
    assert 0.5 < drawn.rejection_rate < 1
    with pytest.raises(ValueError, match="Failed to generate a set of valid parameters"):
        next(Fuzzer([number], [], constraints=[lambda params: False], seed=0).take(1))


def test_a_choice_may_be_the_value_of_another_parameter():
    choices = {1: 0.5, ParameterAlias("n"): 0.5}
    drawn = Fuzzer(
        [FuzzedParameter("m", distribution=choices), FuzzedParameter("n", 2, 9, "uniform")],
        [FuzzedTensor("x", ("m",))],
        seed=0,
    )
    made = [(params["m"], params["n"]) for _, _, params in drawn.take(20)]
    assert {m for m, n in made if m != n} == {1}
    assert any(m == n for m, n in made)
    cycle = [FuzzedParameter("a", distribution={ParameterAlias("a"): 1.0})]
    with pytest.raises(ValueError, match="ParameterAlias cycle"):
        next(Fuzzer(cycle, [], seed=0).take(1))


def test_a_constructor_makes_the_tensor():
    def made(size, dtype, n):
        return rg.full(size, n, dtype=dtype)

    drawn = Fuzzer(
        [FuzzedParameter("n", 2, 5, "uniform")],
        [FuzzedTensor("x", ("n",), dtype=rg.float64, tensor_constructor=made)],
        seed=0,
    )
    ((tensors, _, params),) = drawn.take(1)
    assert tensors["x"].tolist() == [float(params["n"])] * params["n"]
    assert tensors["x"].dtype is rg.float64


def test_wrong_specifications_are_refused():
    with pytest.raises(AssertionError, match="Unknown distribution: normal"):
        FuzzedParameter("n", 1, 2, "normal")
    with pytest.raises(AssertionError, match="not normalized"):
        FuzzedParameter("n", distribution={1: 0.5, 2: 0.6})
    with pytest.raises(AssertionError, match="no minval"):
        FuzzedParameter("n", 1, distribution={1: 1.0})
    with pytest.raises(ValueError, match="Duplicate names"):
        Fuzzer([FuzzedParameter("n", 1, 2, "uniform")], [FuzzedTensor("n", (1,))])
