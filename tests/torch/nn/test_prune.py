"""Pruning: which entries are held at zero, and what becomes of the parameter."""

import pickle

import pytest

import retrograd as rg
from retrograd import nn
from retrograd.nn.utils import prune


def layer(values):
    made = nn.Linear(len(values[0]), len(values), bias=False)
    made.weight.data = rg.tensor(values)
    return made


def test_a_pruned_entry_is_zero_and_gets_no_gradient():
    made = prune.l1_unstructured(layer([[1.0, -3.0, 2.0]]), "weight", amount=1)
    made(rg.ones(1, 3)).sum().backward()
    assert made.weight.tolist() == [[0.0, -3.0, 2.0]]
    assert made.weight_orig.grad.tolist() == [[0.0, 1.0, 1.0]]
    assert [name for name, _ in made.named_parameters()] == ["weight_orig"]


def test_the_parameter_stays_the_same_object():
    made = layer([[1.0, -3.0]])
    before = made.weight
    prune.l1_unstructured(made, "weight", amount=1)
    assert made.weight_orig is before
    prune.remove(made, "weight")
    assert made.weight is before
    assert made.weight.tolist() == [[0.0, -3.0]]
    assert list(made.state_dict()) == ["weight"]
    assert not prune.is_pruned(made)


def test_a_second_method_sees_what_the_first_has_left():
    made = layer([[1.0, 5.0, 2.0], [3.0, 1.5, 4.0]])
    prune.l1_unstructured(made, "weight", amount=2)
    assert made.weight_mask.tolist() == [[0, 1, 1], [1, 0, 1]]
    prune.l1_unstructured(made, "weight", amount=0.5)
    assert made.weight_mask.tolist() == [[0, 1, 0], [0, 0, 1]]
    (hook,) = made._forward_pre_hooks.values()
    assert len(hook) == 2
    assert isinstance(hook[1], prune.L1Unstructured)


def test_slices_of_small_norm_are_pruned_as_a_whole():
    made = layer([[1.0, 2.0, 0.0], [3.0, 0.0, 0.5]])
    prune.ln_structured(made, "weight", amount=1, n=1, dim=1)
    assert made.weight_mask.tolist() == [[1, 1, 0], [1, 1, 0]]
    prune.ln_structured(made, "weight", amount=1, n=float("inf"), dim=0)
    assert made.weight_mask.tolist() == [[0, 0, 0], [1, 1, 0]]


def test_random_methods_choose_what_pytorch_chooses_for_a_seed():
    rg.manual_seed(0)
    mask = prune.random_unstructured(nn.Linear(4, 2), "weight", amount=0.5).weight_mask
    assert mask.tolist() == [[1, 0, 1, 1], [1, 0, 0, 0]]
    rg.manual_seed(0)
    mask = prune.random_structured(nn.Linear(4, 2), "weight", amount=0.5, dim=1).weight_mask
    assert mask.tolist() == [[1, 1, 0, 0], [1, 1, 0, 0]]


def test_random_methods_prune_the_share_that_was_asked_for():
    made = prune.random_unstructured(nn.Linear(10, 7), "weight", amount=0.3)
    assert made.weight_mask.sum() == 70 - 21
    made = prune.random_structured(nn.Linear(10, 7), "weight", amount=2, dim=0)
    assert sorted(made.weight_mask.sum(1).tolist()) == [0.0] * 2 + [10.0] * 5


def test_importance_scores_decide_instead_of_the_values():
    scores = rg.tensor([[3.0, -1.0, 2.0]])
    made = layer([[1.0, -3.0, 2.0]])
    prune.l1_unstructured(made, "weight", 1, importance_scores=scores)
    assert made.weight.tolist() == [[1.0, 0.0, 2.0]]


def test_parameters_are_pruned_together():
    a, b = layer([[1.0, 2.0]]), layer([[0.5, 0.1, -2.0]])
    prune.global_unstructured([(a, "weight"), (b, "weight")], prune.L1Unstructured, amount=3)
    assert a.weight.tolist() == [[0.0, 2.0]]
    assert b.weight.tolist() == [[0.0, 0.0, -2.0]]


def test_a_method_that_fails_leaves_the_module_as_it_was():
    made = layer([[1.0, 2.0]])
    with pytest.raises(ValueError, match="should be smaller than the number of parameters"):
        prune.l1_unstructured(made, "weight", amount=3)
    assert list(made.state_dict()) == ["weight"]
    assert not prune.is_pruned(made)


def test_asking_whether_a_module_is_pruned_leaves_it_without_hooks():
    made = layer([[1.0, 2.0]])
    assert not prune.is_pruned(made)
    assert "_hooks" not in vars(made)


def test_a_pruned_module_is_pickled():
    made = pickle.loads(pickle.dumps(prune.l1_unstructured(layer([[1.0, 2.0]]), "weight", 1)))
    made.weight_orig.data.fill_(5.0)
    assert made(rg.ones(1, 2)).item() == 5.0


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (lambda m: prune.random_unstructured(m, "weight", "much"), TypeError, "amount: much"),
        (lambda m: prune.random_unstructured(m, "weight", 1.1), ValueError, "amount=1.1 should"),
        (lambda m: prune.random_unstructured(m, "weight", -1), ValueError, "amount=-1 should"),
        (
            lambda m: prune.random_structured(m, "weight", 1, dim=2),
            IndexError,
            r"Invalid index 2 for tensor of shape \(1, 2\)",
        ),
        (lambda m: prune.remove(m, "weight"), ValueError, "'weight' .* has to be pruned before"),
        (
            lambda m: prune.PruningContainer(prune.Identity()).add_pruning_method(3),
            TypeError,
            "'int'> is not a BasePruningMethod subclass",
        ),
        (
            lambda m: prune.global_unstructured([(m, "weight")], prune.LnStructured, amount=1, n=1),
            TypeError,
            'Only "unstructured" PRUNING_TYPE supported .* of type structured',
        ),
    ],
)
def test_what_does_not_fit_raises(call, kind, text):
    with pytest.raises(kind, match=text):
        call(layer([[1.0, 2.0]]))
