"""Where PyTorch's results and gradients are not finite if one element of the input is not.

As a script, with PyTorch installed, this writes `poison.json`: for each call, place and value two
numbers, whose bits say which elements of the result and of the gradient are NaN or infinite.
"""

from __future__ import annotations

import json
import math
from pathlib import Path

FILE = Path(__file__).with_name("poison.json")
PLACES = (0, 5, 11)
VALUES = (math.nan, math.inf, -math.inf)
X = [[0.3, -1.2, 2.1, 0.7], [1.6, 0.4, -0.8, 1.1], [-0.5, 0.9, 1.3, -1.7]]
CALLS = """
L.renorm(x, 1, 0, 1.0)
L.renorm(x, 2, 0, 1.0)
L.renorm(x, 2, 1, 2.0)
L.renorm(x, 3, 0, 1.0)
L.where(x > 0, x, x * 2)
L.where(x > 0, x.log(), x * 2)
L.where(x.detach() > 0, x.sqrt(), x)
x.masked_fill(x.detach() > 1, 0.0)
x.masked_fill(x.detach() != x.detach(), 0.0)
L.clamp(x, -1, 1)
x.clamp(max=0.5)
x.clamp_min(0.1)
L.nan_to_num(x)
L.nan_to_num(x, 1.0, 2.0, 3.0)
L.nansum(x, 1)
L.nanmean(x, 1)
x.amax(1)
x.amin(0)
x.max(1)[0]
x.min(0)[0]
x.aminmax(dim=1)[0]
x.sort(1)[0]
x.topk(2, 1)[0]
x.kthvalue(2, 1)[0]
x.median(1)[0]
x.nanmedian(1)[0]
x.mode(1)[0]
x.cummax(1)[0]
x.cummin(0)[0]
x.cumsum(1)
x.cumprod(0)
x.logcumsumexp(1)
x.logsumexp(1)
x.sum(0)
x.mean(1)
x.prod(1)
x.var(1)
x.std(0)
x.norm(dim=1)
x.norm(p=1, dim=0)
L.linalg.vector_norm(x, 3, 1)
L.linalg.vector_norm(x, float("inf"), 1)
L.linalg.vector_norm(x, 0, 1)
F.softmax(x, 1)
F.log_softmax(x, 1)
F.softmin(x, 0)
F.normalize(x, dim=1)
F.layer_norm(x, (4,))
F.rms_norm(x, (4,))
F.group_norm(x[None], 3)
F.instance_norm(x[None])
F.batch_norm(x, None, None, training=True)
F.cosine_similarity(x, x.detach() + 1, 1)
F.pairwise_distance(x, x.detach() + 1)
F.relu(x)
F.leaky_relu(x)
F.elu(x)
F.selu(x)
F.celu(x)
F.gelu(x)
F.silu(x)
F.mish(x)
F.softplus(x)
F.softsign(x)
F.hardtanh(x)
F.hardswish(x)
F.hardsigmoid(x)
F.hardshrink(x)
F.softshrink(x)
F.tanhshrink(x)
F.threshold(x, 0.5, 1.0)
F.relu6(x)
F.logsigmoid(x)
F.glu(x, 1)
F.max_pool1d(x, 2)
F.max_pool1d(x, 3, 1, 1)
F.avg_pool1d(x, 2)
F.adaptive_max_pool1d(x, 2)
F.adaptive_avg_pool1d(x, 2)
F.lp_pool1d(x, 2.0, 2)
F.pad(x[None], (1, 1), mode="reflect")
F.pad(x, (1, -1))
F.interpolate(x[None], scale_factor=2, mode="linear")
F.interpolate(x[None], size=2)
F.mse_loss(x, x.detach() * 0, reduction="none")
F.l1_loss(x, x.detach() * 0, reduction="none")
F.smooth_l1_loss(x, L.zeros(3, 4, dtype=L.float64), reduction="none")
F.huber_loss(x, L.zeros(3, 4, dtype=L.float64), reduction="none")
F.binary_cross_entropy_with_logits(x, L.ones(3, 4, dtype=L.float64), reduction="none")
F.cross_entropy(x, L.tensor([0, 1, 2]), reduction="none")
F.cross_entropy(x, L.tensor([0, 1, -100]), reduction="none")
F.nll_loss(x, L.tensor([0, 1, 2]), reduction="none")
F.kl_div(x, L.tensor([[0.0, 1, 0, 0]], dtype=L.float64), reduction="none")
F.hinge_embedding_loss(x, L.tensor([[1.0, -1, 1, -1]]), reduction="none")
F.gaussian_nll_loss(x, x.detach() * 0, L.ones(3, 4, dtype=L.float64), reduction="none")
F.poisson_nll_loss(x, L.ones(3, 4, dtype=L.float64), reduction="none")
F.multi_margin_loss(x, L.tensor([0, 1, 2]), reduction="none")
F.dropout(x, 0.0)
F.embedding(L.tensor([0, 2]), x)
F.embedding_bag(L.tensor([[0, 1], [1, 2]]), x)
F.embedding_bag(L.tensor([[0, 1], [1, 2]]), x, mode="max")
F.linear(x, L.ones(2, 4, dtype=L.float64))
F.conv1d(x[None], L.ones(1, 3, 2, dtype=L.float64))
F.unfold(x[None, None], 2)
x.abs()
x.sign()
x.sgn()
x.sqrt()
x.log()
x.log1p()
x.exp()
x.expm1()
x.reciprocal()
x.rsqrt()
x.tanh()
x.sigmoid()
x.atan()
x.asinh()
x.erf()
x.sinc()
x.logit(eps=0.1)
x.xlogy(x.detach())
L.xlogy(x, L.zeros(3, 4, dtype=L.float64))
L.special.entr(x)
x.pow(2)
x.pow(0)
x.pow(0.5)
x.square()
x.floor()
x.round()
x.frac()
x.trunc()
x.fmod(1.0)
x.remainder(1.0)
L.maximum(x, x.detach() * 0)
L.minimum(x, L.zeros(3, 4, dtype=L.float64))
L.fmax(x, L.zeros(3, 4, dtype=L.float64))
L.fmin(x, L.zeros(3, 4, dtype=L.float64))
L.hypot(x, L.ones(3, 4, dtype=L.float64))
L.atan2(x, L.ones(3, 4, dtype=L.float64))
L.copysign(x, L.ones(3, 4, dtype=L.float64))
L.lerp(x, L.ones(3, 4, dtype=L.float64), 0.0)
L.addcmul(x, L.zeros(3, 4, dtype=L.float64), L.ones(3, 4, dtype=L.float64))
L.logaddexp(x, L.zeros(3, 4, dtype=L.float64))
x @ L.ones(4, 2, dtype=L.float64)
L.cdist(x, L.ones(2, 4, dtype=L.float64))
L.diff(x, dim=1)
L.trapezoid(x, dim=1)
x.triu()
x.tril(-1)
x.diagonal()
x.gather(1, L.tensor([[0], [1], [2]]))
x.index_select(0, L.tensor([0, 2]))
x.scatter(1, L.tensor([[0], [1], [3]]), 0.0)
x.index_fill(0, L.tensor([0]), 0.0)
x.take_along_dim(L.tensor([[0], [1], [3]]), 1)
x.flip(1)
x.roll(1, 0)
x.repeat(2, 1)
L.cat([x, x * 0], 0)
L.einsum("ij->i", x)
L.outer(x[0], x[1])
L.quantile(x, 0.5, dim=1)
L.nanquantile(x, 0.5, dim=1)
L.cov(x)
""".strip().splitlines()


def bits(tensor):
    """Which elements are not finite, as a number."""
    return sum(1 << i for i, v in enumerate(tensor.flatten().tolist()) if not math.isfinite(v))


def answer(lib, call, place, value):
    """[of the result, of the gradient] of a call with one element changed."""
    x = lib.tensor(X, dtype=lib.float64)
    x.view(-1)[place] = value
    x.requires_grad_()
    out = eval(call, {"L": lib, "F": lib.nn.functional, "x": x})
    if not out.requires_grad:
        return [bits(out), 0]
    (g,) = lib.autograd.grad(out.sum(), x, allow_unused=True)
    return [bits(out), 0 if g is None else bits(g + 0)]


def cases():
    """Every call, place and value."""
    return [(call, place, value) for call in CALLS for place in PLACES for value in VALUES]


def main():
    """Write the file."""
    import torch  # noqa: PLC0415

    lines = [json.dumps(answer(torch, *case)) for case in cases()]
    FILE.write_text("[\n" + ",\n".join(lines) + "\n]\n")


if __name__ == "__main__":
    main()
