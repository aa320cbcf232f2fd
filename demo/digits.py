"""A small convolutional network reads scikit-learn's 1,797 scanned handwritten digits."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from tqdm import tqdm

import retrograd as rg
from retrograd import nn, optim
from retrograd.nn import functional as F
from retrograd.utils.data import DataLoader, TensorDataset

EPOCHS = 15
BATCH = 64


@dataclass
class Reading:
    """What the training gave: losses, the held-out images and how surely they were read as what."""

    model: nn.Module
    images: np.ndarray
    labels: np.ndarray
    trained_on: int
    losses: list[float] = field(default_factory=list)
    accuracies: list[float] = field(default_factory=list)  # on the held-out digits, by epoch
    confidences: np.ndarray = field(default_factory=lambda: np.empty(0))  # (digits, 10)
    seconds: float = 0.0

    @property
    def guesses(self) -> np.ndarray:
        """What the digits were read as."""
        return self.confidences.argmax(1)

    @property
    def parameters(self) -> int:
        """How many numbers were trained."""
        return sum(p.numel() for p in self.model.parameters())

    @property
    def accuracy(self) -> float:
        """The share of held-out digits read correctly."""
        return float((self.labels == self.guesses).mean())


def network() -> nn.Sequential:
    """Three convolutions on 8x8 images of one channel, ten classes."""
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1),
        nn.BatchNorm2d(16),
        nn.ReLU(),
        nn.Conv2d(16, 32, 3, padding=1),
        nn.BatchNorm2d(32),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(32, 48, 3, padding=1),
        nn.BatchNorm2d(48),
        nn.ReLU(),
        nn.Flatten(),
        nn.Dropout(0.4),
        nn.Linear(48 * 4 * 4, 10),
    )


def scanned() -> tuple[TensorDataset, np.ndarray, np.ndarray]:
    """Four fifths of the images with their labels, to train on, and the rest of both."""
    images, labels = load_digits(return_X_y=True)
    images = (images.reshape(-1, 1, 8, 8) / 16.0).astype(np.float32)
    train_x, test_x, train_y, test_y = train_test_split(
        images, labels.astype(np.int64), test_size=0.2, random_state=0, stratify=labels
    )
    return TensorDataset(rg.from_numpy(train_x), rg.from_numpy(train_y)), test_x, test_y


def rate(epoch: int, epochs: int) -> float:
    """The step size of an epoch: half a cosine."""
    return 3e-3 * 0.5 * (1 + np.cos(np.pi * epoch / epochs))


def run(epochs: int = EPOCHS) -> Reading:
    """Train on four fifths of the images, read the rest."""
    rg.manual_seed(0)
    data, test_x, test_y = scanned()
    loader = DataLoader(data, batch_size=BATCH, shuffle=True, drop_last=True)
    model = network()
    optimizer = optim.AdamW(model.parameters(), lr=3e-3, weight_decay=1e-2)
    reading = Reading(model, test_x[:, 0], test_y, len(data))
    start = time.perf_counter()
    with tqdm(total=epochs * len(loader), desc="digits", unit="step") as bar:
        for epoch in range(epochs):
            for group in optimizer.param_groups:
                group["lr"] = rate(epoch, epochs)
            model.train()
            for x, y in loader:
                optimizer.zero_grad()
                loss = F.cross_entropy(model(x), y)
                loss.backward()
                optimizer.step()
                reading.losses.append(loss.item())
                bar.update()
            model.eval()
            with rg.inference_mode():
                reading.confidences = model(rg.from_numpy(test_x)).softmax(1).numpy()
            reading.accuracies.append(reading.accuracy)
            bar.set_postfix(read=f"{reading.accuracy:.2%}")
    reading.seconds = time.perf_counter() - start
    return reading
