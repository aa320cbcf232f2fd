"""Which modules run; the values are PyTorch's."""

from __future__ import annotations

import retrograd as rg
from retrograd.torch.utils.module_tracker import ModuleTracker


def test_modules_run_forward_and_backward():
    tracker, seen = ModuleTracker(), []

    class Seen(rg.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            seen.append((sorted(tracker.parents), tracker.is_bw))
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            seen.append((sorted(tracker.parents), tracker.is_bw))
            return g

    class Asks(rg.nn.Module):
        def forward(self, x):
            return Seen.apply(x)

    class Net(rg.nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = rg.nn.Linear(2, 2), rg.nn.Sequential(rg.nn.Tanh(), Asks())

        def forward(self, x):
            return self.b(self.a(x))

    net = Net()
    with tracker:
        y = net(rg.ones(2, requires_grad=True))
        assert tracker.parents == {"Global"}
        y.sum().backward()
        assert tracker.parents == {"Global"}
    names = ["Global", "Net", "Net.b", "Net.b.1"]
    assert seen == [(names, False), (names, True)]
    net(rg.ones(2))
    assert seen[-1] == (["Global"], False)


def test_the_parents_are_as_before_after_a_pass_that_reaches_no_input():
    net = rg.nn.Sequential(rg.nn.Linear(2, 2))
    with ModuleTracker() as tracker:
        for _ in range(2):
            net(rg.ones(2)).sum().backward()
            assert (tracker.parents, tracker.is_bw) == ({"Global"}, False)
