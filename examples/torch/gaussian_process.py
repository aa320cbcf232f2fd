"""A Gaussian process of tumours' sizes, its settings learnt from the marginal likelihood.

retrograd run examples/torch/gaussian_process.py [--quick]
"""

import sys

import torch
from torch.distributions import MultivariateNormal

try:
    from sklearn.datasets import load_breast_cancer
except ImportError:
    sys.exit("This example's data are scikit-learn's: pip install scikit-learn")

STEPS = 5 if "--quick" in sys.argv else 60


def kernel(a, b, log):
    length, size = log[0].exp(), log[1].exp()
    return size * torch.exp(-0.5 * torch.cdist(a / length, b / length).square())


def main():
    data = torch.tensor(load_breast_cancer().data)
    data = (data - data.mean(0)) / data.std(0)
    x, y = data[:150, 1:4:2], data[:150, 20]
    x_test, y_test = data[150:250, 1:4:2], data[150:250, 20]
    log = torch.zeros(3, dtype=torch.float64, requires_grad=True)
    eye = torch.eye(len(x), dtype=torch.float64)
    optimizer = torch.optim.Adam([log], lr=0.1)
    for _ in range(STEPS):
        optimizer.zero_grad()
        noisy = kernel(x, x, log) + (log[2].exp() + 1e-6) * eye
        loss = -MultivariateNormal(torch.zeros_like(y), noisy).log_prob(y) / len(y)
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        factor = torch.linalg.cholesky(kernel(x, x, log) + (log[2].exp() + 1e-6) * eye)
        mean = kernel(x_test, x, log) @ torch.cholesky_solve(y[:, None], factor).squeeze(1)
        error = (mean - y_test).square().mean().sqrt()
    print(f"length {log[0].exp():.3f}, size {log[1].exp():.3f}, noise {log[2].exp():.4f}")
    print(f"negative log likelihood {loss:.4f} per point, error {error:.4f}")


if __name__ == "__main__":
    main()
