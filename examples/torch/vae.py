"""A variational autoencoder of digits, with distributions and their divergence.

retrograd run examples/torch/vae.py [--quick]
"""

import sys

import torch
from torch import nn
from torch.distributions import Bernoulli, Independent, Normal, kl_divergence

try:
    from sklearn.datasets import load_digits
except ImportError:
    sys.exit("This example's data are scikit-learn's: pip install scikit-learn")

EPOCHS = 2 if "--quick" in sys.argv else 30


class VAE(nn.Module):
    def __init__(self, latent=4):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(64, 64), nn.ELU(), nn.Linear(64, 2 * latent))
        self.decoder = nn.Sequential(nn.Linear(latent, 64), nn.ELU(), nn.Linear(64, 64))
        self.register_buffer("zero", torch.zeros(latent))

    def forward(self, x):
        mean, scale = self.encoder(x).chunk(2, -1)
        posterior = Independent(Normal(mean, nn.functional.softplus(scale)), 1)
        prior = Independent(Normal(self.zero, torch.ones_like(self.zero)), 1)
        pixels = Independent(Bernoulli(logits=self.decoder(posterior.rsample())), 1)
        return pixels.log_prob(x) - kl_divergence(posterior, prior)


def main():
    torch.manual_seed(0)
    x = (torch.tensor(load_digits().data, dtype=torch.float32) / 16).bernoulli()
    model = VAE()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for epoch in range(EPOCHS):
        bounds = []
        for batch in x[torch.randperm(len(x))].split(100):
            optimizer.zero_grad()
            bound = model(batch).mean()
            (-bound).backward()
            optimizer.step()
            bounds.append(bound.item())
        if epoch % 10 == EPOCHS % 10 - 1 or epoch == EPOCHS - 1:
            print(f"epoch {epoch}: evidence bound {sum(bounds) / len(bounds):.2f}")


if __name__ == "__main__":
    main()
