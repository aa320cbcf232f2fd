"""Connectionist temporal classification against the sum over all alignments."""

import itertools
import math

import numpy as np
import pytest

import retrograd as rg
import retrograd.nn.functional as F
from retrograd.autograd import grad

LOGITS = np.random.default_rng(0).normal(size=(4, 2, 3))
TARGETS, TIMES, LENGTHS = [[1, 1], [2, 1]], [4, 3], [2, 1]


def collapsed(path):
    """An alignment without repetitions and blanks."""
    return [label for label, _ in itertools.groupby(path) if label]


def by_enumeration(log_p, target):
    """The loss of one sample, from every alignment there is."""
    paths = itertools.product(range(log_p.shape[1]), repeat=len(log_p))
    kept = [p for p in paths if collapsed(p) == target]
    return -math.log(sum(math.exp(log_p[range(len(p)), p].sum()) for p in kept))


def test_the_loss_sums_over_all_alignments():
    log_p = rg.tensor(LOGITS).log_softmax(2)
    loss = F.ctc_loss(log_p, rg.tensor(TARGETS), TIMES, LENGTHS, reduction="none")
    expected = [
        by_enumeration(log_p.numpy()[: TIMES[n], n], TARGETS[n][: LENGTHS[n]]) for n in (0, 1)
    ]
    np.testing.assert_allclose(loss.numpy(), expected, rtol=1e-13)


def test_gradients_of_both_orders_equal_differences():
    def first(values, create_graph=False):
        x = rg.tensor(values, requires_grad=True)
        loss = F.ctc_loss(x.log_softmax(2), rg.tensor(TARGETS), TIMES, LENGTHS)
        return x, loss, grad(loss, x, create_graph=create_graph)[0]

    direction = np.random.normal(size=LOGITS.shape)
    step = 1e-5 * direction
    x, _, g = first(LOGITS, create_graph=True)
    (second,) = grad((g * rg.tensor(direction)).sum(), x)
    ends = [first(LOGITS + step), first(LOGITS - step)]
    derivative = (ends[0][1] - ends[1][1]).item() / 2e-5
    assert derivative == pytest.approx((g.detach().numpy() * direction).sum(), rel=1e-8)
    bend = (ends[0][2] - ends[1][2]).numpy() / 2e-5
    np.testing.assert_allclose(second.numpy(), bend, rtol=0, atol=1e-9)


def test_a_target_too_long_costs_infinity_or_nothing():
    x = rg.tensor(LOGITS, requires_grad=True)
    log_p = x.log_softmax(2)
    arguments = (log_p, rg.tensor(TARGETS), [2, 3], LENGTHS)  # "1 1" needs a blank between
    assert F.ctc_loss(*arguments, reduction="none")[0].item() == math.inf
    loss = F.ctc_loss(*arguments, reduction="none", zero_infinity=True)
    assert loss[0].item() == 0.0
    assert grad(loss[0], x)[0].abs().max().item() == 0.0


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (([5, 3], LENGTHS), "input_lengths to have value at most 4, but got value 5"),
        (([4], LENGTHS), "input_lengths must be of size batch_size"),
        ((TIMES, [3, 1]), "Expected tensor to have size at least 3 at dimension 1"),
        ((TIMES, LENGTHS, 3), "blank must be in label range"),
    ],
)
def test_lengths_that_do_not_fit_raise(arguments, text):
    with pytest.raises(RuntimeError, match=text):
        F.ctc_loss(rg.tensor(LOGITS), rg.tensor(TARGETS), *arguments)


def test_without_inputs_only_an_empty_target_fits():
    log_p = rg.zeros(5, 2, 4).log_softmax(2)
    losses = F.ctc_loss(log_p, rg.ones(2, 2).long(), (0, 0), (0, 2), reduction="none")
    assert losses.tolist() == [0.0, math.inf]
    log_p.requires_grad_()
    F.ctc_loss(log_p, rg.ones(2, 2).long(), (0, 0), (0, 0), reduction="sum").backward()
    assert not log_p.grad.any()
