"""Processes train one model without waiting for each other: Hogwild over shared memory.

retrograd run examples/torch/hogwild.py [--quick]
"""

import sys

import torch
import torch.multiprocessing as mp
from torch import nn

try:
    from sklearn.datasets import load_digits
except ImportError:
    sys.exit("This example's data are scikit-learn's: pip install scikit-learn")

STEPS = 200 if "--quick" in sys.argv else 1000


def train(rank, model, x, y):
    torch.manual_seed(rank)
    torch.set_num_threads(1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(STEPS):
        part = torch.randint(len(x), (32,))
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x[part]), y[part]).backward()
        optimizer.step()


def main():
    torch.manual_seed(0)
    data, labels = load_digits(return_X_y=True)
    x, y = torch.tensor(data, dtype=torch.float32) / 16, torch.tensor(labels)
    model = nn.Linear(64, 10)
    model.share_memory()
    mp.spawn(train, (model, x[:1500], y[:1500]), nprocs=2)
    accuracy = (model(x[1500:]).argmax(1) == y[1500:]).double().mean().item()
    print(f"two processes: more than 80 % right: {accuracy > 0.8}")


if __name__ == "__main__":
    main()
