"""How diabetes progresses: least squares by LBFGS, then a small network with early stopping.

retrograd run examples/torch/regression.py [--quick]
"""

import copy
import sys

import torch
from torch import nn

try:
    from sklearn.datasets import load_diabetes
except ImportError:
    sys.exit("This example's data are scikit-learn's: pip install scikit-learn")

STEPS = 20 if "--quick" in sys.argv else 300


def data():
    x, y = load_diabetes(return_X_y=True)
    x, y = torch.tensor(x), torch.tensor(y)
    x, y = (x - x.mean(0)) / x.std(0), (y - y.mean()) / y.std()
    order = torch.randperm(len(x))
    return x[order[:350]], y[order[:350]], x[order[350:]], y[order[350:]]


def linear(x, y):
    weights = torch.zeros(x.shape[1], dtype=x.dtype, requires_grad=True)
    optimizer = torch.optim.LBFGS([weights], max_iter=50, line_search_fn="strong_wolfe")

    def closure():
        optimizer.zero_grad()
        loss = (x @ weights - y).square().mean() + 0.01 * weights.square().sum()
        loss.backward()
        return loss

    optimizer.step(closure)
    return weights.detach()


def network(x, y, x_test, y_test):
    net = nn.Sequential(nn.Linear(10, 16), nn.Tanh(), nn.Dropout(0.2), nn.Linear(16, 1)).double()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-3)
    best, kept = float("inf"), None
    for _ in range(STEPS):
        net.train()
        optimizer.zero_grad()
        nn.functional.huber_loss(net(x).squeeze(1), y).backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        net.eval()
        with torch.no_grad():
            loss = (net(x_test).squeeze(1) - y_test).square().mean().item()
        if loss < best:
            best, kept = loss, copy.deepcopy(net.state_dict())
    net.load_state_dict(kept)
    return net, best


def main():
    torch.manual_seed(0)
    x, y, x_test, y_test = data()
    weights = linear(x, y)
    print("weights", " ".join(f"{w:.3f}" for w in weights.tolist()))
    print(f"linear model: mean squared error {(x_test @ weights - y_test).square().mean():.4f}")
    _, best = network(x, y, x_test, y_test)
    print(f"network: mean squared error {best:.3f}")


if __name__ == "__main__":
    main()
