"""Training that is cut off and goes on from its checkpoint ends where it would have ended anyway.

retrograd run examples/torch/resume.py [--quick]
"""

import os
import sys
import tempfile

import torch
from torch import nn

try:
    from sklearn.datasets import load_wine
except ImportError:
    sys.exit("This example's data are scikit-learn's: pip install scikit-learn")

STEPS = 10 if "--quick" in sys.argv else 60


def make():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(13, 32), nn.ReLU(), nn.Dropout(0.3), nn.Linear(32, 3))
    optimizer = torch.optim.NAdam(net.parameters(), lr=1e-2)
    schedule = torch.optim.lr_scheduler.SequentialLR(
        optimizer,
        [
            torch.optim.lr_scheduler.LinearLR(optimizer, 0.1, total_iters=5),
            torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.98),
        ],
        milestones=[5],
    )
    return net, optimizer, schedule


def train(parts, x, y, steps):
    net, optimizer, schedule = parts
    for _ in range(steps):
        part = torch.randperm(len(x))[:50]
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(net(x[part]), y[part])
        loss.backward()
        optimizer.step()
        schedule.step()
    return loss.item()


def main():
    data, labels = load_wine(return_X_y=True)
    x, y = torch.tensor(data, dtype=torch.float32), torch.tensor(labels)
    x = (x - x.mean(0)) / x.std(0)
    whole = make()
    print(f"at once: loss {train(whole, x, y, STEPS):.4f}")
    first = make()
    train(first, x, y, STEPS // 2)
    path = os.path.join(tempfile.mkdtemp(), "checkpoint.pt")
    state = {"parts": [part.state_dict() for part in first], "random": torch.get_rng_state()}
    torch.save(state, path)
    second = make()
    state = torch.load(path)
    for part, kept in zip(second, state["parts"]):
        part.load_state_dict(kept)
    torch.set_rng_state(state["random"])
    print(f"in two parts: loss {train(second, x, y, STEPS - STEPS // 2):.4f}")
    same = all(torch.equal(a, b) for a, b in zip(whole[0].parameters(), second[0].parameters()))
    print(f"the same weights: {same}, learning rate {second[1].param_groups[0]['lr']:.6f}")


if __name__ == "__main__":
    main()
