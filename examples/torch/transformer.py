"""A small language model, a character at a time, of the text that comes with scikit-learn's data.

retrograd run examples/torch/transformer.py [--quick]
"""

import math
import sys

import torch
from torch import nn

try:
    from sklearn.datasets import load_wine
except ImportError:
    sys.exit("This example's data are scikit-learn's: pip install scikit-learn")

STEPS = 5 if "--quick" in sys.argv else 150
LENGTH = 32


class Model(nn.Module):
    def __init__(self, letters, width=48):
        super().__init__()
        self.letters = nn.Embedding(letters, width)
        self.places = nn.Parameter(torch.randn(LENGTH, width) * 0.02)
        layer = nn.TransformerEncoderLayer(width, 4, 96, 0.0, batch_first=True, norm_first=True)
        self.blocks = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(width, letters)

    def forward(self, x):
        mask = nn.Transformer.generate_square_subsequent_mask(x.shape[1])
        hidden = self.letters(x) + self.places[: x.shape[1]]
        return self.head(self.blocks(hidden, mask=mask, is_causal=True))


def main():
    torch.manual_seed(0)
    text = load_wine().DESCR
    letters = sorted(set(text))
    codes = torch.tensor([letters.index(letter) for letter in text])
    model = Model(len(letters))
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    warm = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1, (step + 1) / 10))
    for _ in range(STEPS):
        starts = torch.randint(len(codes) - LENGTH - 1, (16,))
        windows = torch.stack([codes[s : s + LENGTH + 1] for s in starts.tolist()])
        loss = nn.functional.cross_entropy(
            model(windows[:, :-1]).transpose(1, 2), windows[:, 1:], label_smoothing=0.05
        )
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        warm.step()
    print(f"{loss.item() / math.log(2):.1f} bits per letter")


if __name__ == "__main__":
    main()
