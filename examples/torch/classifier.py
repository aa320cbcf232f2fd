"""A convolutional network reads scikit-learn's digits, batches made by workers.

retrograd run examples/torch/classifier.py [--quick]
"""

import sys

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split

try:
    from sklearn.datasets import load_digits
except ImportError:
    sys.exit("This example's data are scikit-learn's: pip install scikit-learn")

EPOCHS = 1 if "--quick" in sys.argv else 8


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, 3, padding=1)
        self.norm = nn.BatchNorm2d(16)
        self.conv2 = nn.Conv2d(16, 32, 3, padding=1)
        self.head = nn.Linear(32 * 4, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.norm(self.conv1(x))), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        return self.head(x.flatten(1))


def main():
    torch.manual_seed(0)
    images, labels = load_digits(return_X_y=True)
    whole = TensorDataset(
        torch.tensor(images, dtype=torch.float32).reshape(-1, 1, 8, 8) / 16, torch.tensor(labels)
    )
    train, test = random_split(whole, [0.8, 0.2])
    net = Net()
    optimizer = torch.optim.AdamW(net.parameters(), lr=2e-3)
    for epoch in range(EPOCHS):
        net.train()
        total = 0.0
        for x, y in DataLoader(train, batch_size=64, shuffle=True, num_workers=2):
            optimizer.zero_grad()
            loss = F.cross_entropy(net(x), y)
            loss.backward()
            optimizer.step()
            total += loss.item() * len(x)
        print(f"epoch {epoch}: loss {total / len(train):.3f}")
    net.eval()
    with torch.no_grad():
        right = sum((net(x).argmax(1) == y).sum().item() for x, y in DataLoader(test, 256))
    print(f"accuracy {right / len(test):.3f}")


if __name__ == "__main__":
    main()
