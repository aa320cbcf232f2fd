"""A generator learns the wines' chemistry from a discriminator, with spectral norm.

retrograd run examples/torch/gan.py [--quick]
"""

import sys

import torch
from torch import nn
from torch.nn.functional import binary_cross_entropy_with_logits as bce
from torch.nn.utils.parametrizations import spectral_norm

try:
    from sklearn.datasets import load_wine
except ImportError:
    sys.exit("This example's data are scikit-learn's: pip install scikit-learn")

STEPS = 20 if "--quick" in sys.argv else 400


def main():
    torch.manual_seed(0)
    real = torch.tensor(load_wine().data, dtype=torch.float32)
    real = (real - real.mean(0)) / real.std(0)
    generator = nn.Sequential(nn.Linear(8, 32), nn.LeakyReLU(0.2), nn.Linear(32, 13))
    discriminator = nn.Sequential(
        spectral_norm(nn.Linear(13, 32)), nn.LeakyReLU(0.2), spectral_norm(nn.Linear(32, 1))
    )
    make = torch.optim.Adam(generator.parameters(), lr=2e-3, betas=(0.5, 0.999))
    judge = torch.optim.Adam(discriminator.parameters(), lr=2e-3, betas=(0.5, 0.999))
    ones, zeros = torch.ones(64, 1), torch.zeros(64, 1)
    for _ in range(STEPS):
        fake = generator(torch.randn(64, 8))
        some = real[torch.randint(len(real), (64,))]
        judge.zero_grad()
        doubt = bce(discriminator(some), ones) + bce(discriminator(fake.detach()), zeros)
        doubt.backward()
        judge.step()
        make.zero_grad()
        bce(discriminator(fake), ones).backward()
        make.step()
    with torch.no_grad():
        fake = generator(torch.randn(1000, 8))
    off = (torch.corrcoef(fake.T) - torch.corrcoef(real.T)).abs().mean()
    print(f"discriminator's loss {doubt.item():.2f}, correlations off by {off.item():.2f}")


if __name__ == "__main__":
    main()
