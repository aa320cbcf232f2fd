"""An LSTM reads a digit's rows one by one; lengths differ, so sequences are packed.

retrograd run examples/torch/lstm.py [--quick]
"""

import sys

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence

try:
    from sklearn.datasets import load_digits
except ImportError:
    sys.exit("This example's data are scikit-learn's: pip install scikit-learn")

EPOCHS = 1 if "--quick" in sys.argv else 12


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(8, 32, batch_first=True, bidirectional=True)
        self.head = nn.Linear(64, 10)

    def forward(self, x, lengths):
        packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        _, (hidden, _) = self.lstm(packed)
        return self.head(hidden.transpose(0, 1).flatten(1))


def main():
    torch.manual_seed(0)
    digits = load_digits()
    x = torch.tensor(digits.images, dtype=torch.float32) / 16
    y = torch.tensor(digits.target)
    lengths = torch.randint(6, 9, (len(x),))
    net = Reader()
    optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, EPOCHS)
    for _ in range(EPOCHS):
        for part in torch.randperm(1500).split(100):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(net(x[part], lengths[part]), y[part])
            loss.backward()
            optimizer.step()
        schedule.step()
    with torch.no_grad():
        right = net(x[1500:], lengths[1500:]).argmax(1) == y[1500:]
    print(f"loss {loss.item():.2f}, accuracy {right.double().mean().item():.2f}")


if __name__ == "__main__":
    main()
