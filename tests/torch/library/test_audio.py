"""The operators that the package torchaudio has in C++, by their names in `torch.ops`."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import retrograd as rg
from retrograd.torch.library import ops

ops.load_library("site-packages/torchaudio/lib/libtorchaudio.abi3.so")
own = ops.torchaudio
F64 = rg.float64


def test_the_library_says_what_it_has():
    assert ops._torchaudio.cuda_version() is None
    assert ops._torchaudio.is_align_available()


def test_a_recursive_filter_subtracts_what_it_gave_before():
    impulse = rg.zeros(1, 2, 5, dtype=F64)
    impulse[..., 0] = 1.0
    made = rg.zeros(1, 2, 7, dtype=F64)
    last_first = rg.tensor([[0.0, -0.5, 1.0], [0.25, 0.0, 1.0]], dtype=F64)
    version = made._version
    own._lfilter_core_loop(impulse, last_first, made)
    assert made[0, :, 2:].tolist() == [
        [1.0, 0.5, 0.25, 0.125, 0.0625],
        [1.0, 0.0, -0.25, 0.0, 0.0625],
    ]
    assert made._version > version


def test_overdrive_takes_the_slow_part_away():
    signal, bent = rg.tensor([[1.0, 2.0, 4.0]], dtype=F64), rg.tensor([[1.0, 1.0, 2.0]], dtype=F64)
    before, out, made = (rg.zeros(n, dtype=F64) for n in (1, 1, (1, 3)))
    own._overdrive_core_loop(signal, bent, before, out, made)
    kept = [1.0, 0.995, 1 + 0.995**2]
    assert made[0].tolist() == pytest.approx(
        [0.5 * x + 0.75 * y for x, y in zip((1, 2, 4), kept, strict=True)]
    )
    assert (before.item(), out.item()) == (2.0, pytest.approx(kept[-1]))


def ways(logs, labels, blank):
    """The weights of all ways through frames and labels, one after the other."""
    frames = len(logs)
    for moves in itertools.combinations(range(frames + len(labels) - 1), len(labels)):
        t = u = 0
        total = 0.0
        for step in range(frames + len(labels) - 1):
            moved = step in moves
            total += logs[t, u, labels[u] if moved else blank]
            t, u = (t, u + 1) if moved else (t + 1, u)
        yield total + logs[t, u, blank]


def transducer():
    rg.manual_seed(0)
    lengths = rg.tensor([4, 3], dtype=rg.int32), rg.tensor([2, 1], dtype=rg.int32)
    targets = rg.tensor([[1, 3], [2, 0]], dtype=rg.int32)
    return rg.randn(2, 4, 3, 5, dtype=F64, requires_grad=True), targets, *lengths


def test_the_loss_of_a_transducer_counts_all_ways():
    logits, targets, frames, labels = transducer()
    costs, _ = own.rnnt_loss_forward(logits, targets, frames, labels, 4, -1.0, True)
    logs = logits.log_softmax(-1).detach().numpy()
    expected = [-np.logaddexp.reduce([*ways(logs[0], [1, 3], 4)]),
                -np.logaddexp.reduce([*ways(logs[1, :3, :2], [2], 4)])]  # fmt: skip
    np.testing.assert_allclose(costs.detach(), expected, rtol=1e-13)


def test_its_gradient_is_that_of_the_loss():
    logits, *rest = transducer()

    class Loss(rg.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            costs, grads = own.rnnt_loss_forward(x, *rest, 0, -1.0, True)
            ctx.save_for_backward(grads)
            return costs

        @staticmethod
        def backward(ctx, g):
            return ctx.saved_tensors[0] * g[:, None, None, None]

    assert rg.autograd.gradcheck(Loss.apply, logits)


def test_a_clamp_bounds_the_gradient_alone():
    given = transducer()
    costs, grads = own.rnnt_loss_forward(*given, 0, -1.0, True)
    same, bounded = own.rnnt_loss_forward(*given, 0, 0.01, True)
    assert rg.equal(costs, same)
    assert rg.equal(bounded, grads.clamp(-0.01, 0.01))


def collapsed(path):
    return [label for label, _ in itertools.groupby(path) if label]


@pytest.mark.parametrize("labels", [[1, 2], [2, 2], [1], [1, 2, 1]])
def test_the_alignment_is_the_likeliest_of_all(labels):
    rg.manual_seed(1)
    scores = rg.randn(1, 5, 3, dtype=F64).log_softmax(-1)
    lengths = rg.tensor([5]), rg.tensor([len(labels)])
    path, shown = own.forced_align(scores, rg.tensor([labels]), *lengths, 0)
    fits = [p for p in itertools.product(range(3), repeat=5) if collapsed(p) == labels]
    best = max(fits, key=lambda p: sum(scores[0, t, c].item() for t, c in enumerate(p)))
    assert tuple(path[0].tolist()) == best
    assert rg.equal(shown, scores)


def test_more_labels_than_frames_are_refused():
    scores, lengths = rg.zeros(1, 2, 3), (rg.tensor([2]), rg.tensor([2]))
    with pytest.raises(RuntimeError, match=r"targets length is too long for CTC.*repeats: 1"):
        own.forced_align(scores, rg.tensor([[1, 1]]), *lengths, 0)
    with pytest.raises(RuntimeError, match="batch dimension for log_probs must be 1"):
        own.forced_align(rg.zeros(2, 2, 3), rg.tensor([[1, 1]]), *lengths, 0)
