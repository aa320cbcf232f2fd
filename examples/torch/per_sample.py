"""Which samples pull a model where: gradients of each by vmap, and training that clips them.

retrograd run examples/torch/per_sample.py [--quick]
"""

import sys

import torch
from torch import nn
from torch.func import functional_call, grad, hessian, vmap

try:
    from sklearn.datasets import load_breast_cancer
except ImportError:
    sys.exit("This example's data are scikit-learn's: pip install scikit-learn")

STEPS = 5 if "--quick" in sys.argv else 50


def main():
    torch.manual_seed(0)
    data, labels = load_breast_cancer(return_X_y=True)
    x, y = torch.tensor(data), torch.tensor(labels, dtype=torch.float64)
    x = (x - x.mean(0)) / x.std(0)
    net = nn.Sequential(nn.Linear(30, 8), nn.Tanh(), nn.Linear(8, 1)).double()
    weights = {name: w.detach().clone() for name, w in net.named_parameters()}

    def loss(weights, x, y):
        logit = functional_call(net, weights, (x,)).squeeze(-1)
        return nn.functional.binary_cross_entropy_with_logits(logit, y)

    each = vmap(grad(loss), in_dims=(None, 0, 0))
    for _ in range(STEPS):
        part = torch.randperm(len(x))[:64]
        grads = each(weights, x[part], y[part])
        sizes = sum(g.flatten(1).square().sum(1) for g in grads.values()).sqrt()
        scale = (1.0 / sizes).clamp(max=1.0)
        for name, g in grads.items():
            clipped = torch.einsum("n,n...->...", scale, g) / 64
            noise = torch.randn(g.shape[1:], dtype=g.dtype) * 0.01
            weights[name] = weights[name] - 0.5 * (clipped + noise)
    right = (functional_call(net, weights, (x,)).squeeze(1) > 0) == (y > 0.5)
    print(f"loss {loss(weights, x, y):.4f}, accuracy {right.double().mean():.3f}")
    norms = sum(g.flatten(1).square().sum(1) for g in each(weights, x, y).values()).sqrt()
    print("largest gradients", " ".join(map(str, norms.topk(5).indices.tolist())))
    curve = hessian(lambda b: loss({**weights, "2.bias": b}, x, y))(weights["2.bias"])
    print(f"curvature by the last bias {curve.item():.5f}")


if __name__ == "__main__":
    main()
