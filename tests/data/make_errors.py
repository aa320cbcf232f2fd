"""Makes errors.json: what PyTorch raises and warns of in wrong programs.

    python tests/data/make_errors.py

with PyTorch 2.13. For each program below: the class of its error, None where it runs, and the
categories of its warnings. `tests/laws/test_error_classes.py` runs them, as PyTorch did, with
`torch`, `nn`, `F`, `rnn` (`nn.utils.rnn`), `io` and `np`, and `ones`, which is `torch.ones`.
"""

from __future__ import annotations

import io
import json
import warnings
from pathlib import Path

import numpy as np

PROGRAMS = """
# warnings
m = nn.Linear(2, 2); m.register_full_backward_hook(lambda *_: None); m(ones(1, 2)).sum().backward()
m = nn.Linear(2, 2); m.register_full_backward_pre_hook(lambda *_: None); m(ones(2)).sum().backward()
F.mse_loss(ones(3, 2), ones(3))
F.mse_loss(ones(3, 2), ones(2))
F.l1_loss(ones(3, 2), ones(3))
F.smooth_l1_loss(ones(3, 2), ones(3))
F.huber_loss(ones(3, 2), ones(3))
nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 4), 1)
nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 4), 1, enable_nested_tensor=False)
nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 4, batch_first=True), 1)
nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 4, norm_first=True), 1)
nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 4, bias=False, batch_first=True), 1)
nn.TransformerEncoder(nn.TransformerEncoderLayer(3, 3, 4, batch_first=True), 1)
nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 4, activation="gelu", batch_first=True), 1)
nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 4, activation=abs, batch_first=True), 1)
nn.TransformerEncoder(nn.Linear(2, 2), 1)
nn.Transformer(4, 2, 1, 1, 4)
nn.Transformer(4, 2, 1, 1, 4, batch_first=True)
ones(1).std()
ones(1, 3).var(0)
ones(0, 5).var(1)
ones(0, 5).std(0)
torch.var_mean(ones(0, 5), 1)
torch.std_mean(ones(5, 0), 0, correction=0)
ones(2, 3).var(0, correction=1)
torch.cov(ones(2, 3), correction=5)
F.batch_norm(ones(2, 3), -ones(3), -ones(3))
# sequences
rnn.PackedSequence(ones(3))
rnn.PackedSequence(ones(3), torch.ones(3).long(), 5)
rnn.pack_sequence([])
rnn.pack_sequence([ones(1), ones(2)])
rnn.pack_padded_sequence(ones(3, 2, 1), [3, 0])
rnn.pack_padded_sequence(ones(3, 2, 1), [3])
rnn.pack_padded_sequence([1, 2], [3])
rnn.pad_packed_sequence(rnn.pack_padded_sequence(ones(3, 2, 1), [3, 2]), total_length=2)
nn.LSTM(4, 5)(ones(3, 2, 4), (ones(1, 2, 5),) * 3)
nn.LSTM(4, 5)(ones(3, 2, 4), 5)
nn.LSTM(4, 5)(ones(3, 2, 4), (ones(1, 2, 4),) * 2)
nn.LSTM(4, 5)(ones(3, 2, 4), (ones(2, 5),) * 2)
nn.GRU(4, 5)(ones(3, 2, 4), (ones(1, 2, 5),))
F.ctc_loss(ones(5, 2, 4), ones(2, 2).long(), (6, 6), (2, 2))
F.ctc_loss(ones(5, 2, 4), ones(2, 2).long(), (5, 5), (3, 3))
F.ctc_loss(ones(5, 2, 4), ones(2, 2).long(), (5,), (2, 2))
F.ctc_loss(ones(5, 2, 4), ones(2, 2).long(), (-1, 5), (2, 2))
F.ctc_loss(ones(5, 2, 4), ones(2, 2).long(), (5.0, 5.0), (2, 2))
F.ctc_loss(ones(1, 5, 2, 4), ones(2, 2).long(), (5, 5), (2, 2))
F.ctc_loss(ones(5, 2, 4), ones(2, 2).long(), (5, 5), (2, 2), blank=9)
# files
torch.load(io.BytesIO(b"junk" * 10), weights_only=False)
torch.load(io.BytesIO(b""))
torch.load(io.BytesIO(b"PK\\3\\4junk"))
torch.load("no such file")
# arguments
torch.linalg.lstsq(ones(3, 2), ones(4, 3, 1))
torch.linalg.lstsq(ones(2, 3, 2), ones(3, 1))
torch.linalg.lstsq(ones(2, 3, 2), ones(3))
torch.linalg.lstsq(ones(1, 3, 2), ones(4, 3, 1))
torch.linalg.lstsq(ones(2, 3, 2), ones(2, 3))
torch.argsort(ones(2), 0, False, True)
ones(2).argsort(0, False, True)
torch.argsort(ones(2), dim=0, stable=True)
torch.testing.assert_close(np.ones(2), torch.ones(2).double())
torch.testing.assert_close(torch.ones(2).double(), np.ones(2))
torch.testing.assert_close(np.ones(2), np.ones(2))
torch.testing.assert_close(1.0, ones(()))
torch.div(ones(2).bool(), ones(2).bool(), rounding_mode="floor")
torch.div(ones(2).bool(), True, rounding_mode="trunc")
torch.div(ones(2).bool(), 2, rounding_mode="floor")
torch.div(ones(2), 2, rounding_mode="up")
ones(2).bool() // True
True // ones(2).bool()
torch.where(ones(2) > 0, None, None)
torch.where(ones(2) > 0, 1)
torch.where(ones(2) > 0, 1, None)
torch.where(ones(2) > 0)
torch.clamp_max(ones(2), None)
torch.clamp_min(ones(2), None)
torch.clamp(ones(2))
ones(2, 3).sum(torch.tensor([1]))
torch.narrow(ones(2, 3), 1, 0, torch.tensor([2]))
torch.kthvalue(ones(2, 3), torch.tensor([[1]]))
torch.kthvalue(ones(2, 3), torch.tensor([1, 1]))
torch.kthvalue(ones(2, 3), torch.tensor([1.0]))
torch.as_strided(ones(4), 2, 1)
torch.as_strided(ones(4), (2,), 1)
torch.empty_strided(2, 1)
torch.empty_permuted((2, 3), 1)
F.pad(ones(2, 3), 1)
F.pad(ones(2, 3), (1, 1), None)
F.pad(ones(2, 3), (1, 1), "bogus")
F.layer_norm(ones(2, 3), ("a",))
F.layer_norm(ones(2, 3), (None,))
F.layer_norm(ones(2, 3), ((3,),))
F.instance_norm(ones(2, 3, 4), torch.zeros(3))
torch.diff(ones(2, 3), 0, 5)
torch.diff(ones(2, 3), 0, prepend=ones(3))
torch.normal(ones(2), ones(2), (2,))
torch.addcmul(ones(2), ones(2), ones(2), value=ones(2))
torch.meshgrid([1, ones(2)], indexing="ij")
torch.atleast_2d([1.0, 2.0])
torch.lu_unpack(ones(()), ones(1).int())
torch.lu_unpack(ones(3), ones(1).int())
torch.lu_unpack(ones(2, 3, 3), ones(2, 2).int())
torch.linalg.inv(ones(2, 3))
torch.cat([ones(2), 3])
ones(2, 3).view(4)
ones(2, 3).squeeze("a")
ones(2, 3).sum((0, 0))
ones(2, 3).sum((0, -2))
ones(2, 3).sum(5)
ones(2).add_(ones(3))
ones(2).long().add_(0.5)
ones(2).long().requires_grad_()
ones(2, requires_grad=True).add_(1)
ones(1).expand(3).add_(1)
torch.add(ones(2), ones(2), out=ones(2).long())
torch.add(ones(2), ones(2), out=ones(3))
torch.add(ones(2), ones(2), bogus=1)
torch.linalg.pinv(torch.eye(2), 0.1, atol=0.1)
torch.linalg.matrix_rank(torch.eye(2), 0.1, rtol=0.1)
torch.linalg.cross(ones(3) > 0, ones(3) > 0)
nn.Linear(2, 3)(ones(4))
nn.Linear("a", 3)
nn.Linear(2, 3, bogus=1)
nn.Conv2d(3, 4, 2)(ones(1, 2, 5, 5))
nn.BatchNorm1d(3)(ones(1, 3))
nn.Embedding(3, 2)(torch.tensor([5]))
nn.Embedding(3, 2)(ones(2))
F.cross_entropy(ones(2, 3), torch.tensor([0, 5]))
F.nll_loss(ones(2, 3), ones(2))
F.one_hot(torch.tensor([-1]))
torch.optim.SGD([], 0.1)
torch.optim.SGD([ones(2, requires_grad=True)], -1.0)
torch.optim.SGD(ones(2), 0.1)
torch.distributions.Normal(0.0, -1.0)
torch.distributions.Categorical()
# flags and counts that are none
torch.autograd.set_detect_anomaly(3)
torch.autograd.set_detect_anomaly(True, 3)
torch.autograd.forward_ad._set_fwd_grad_enabled(3)
torch.set_grad_enabled(3)
nn.Linear(2, 2).requires_grad_("a")
nn.Linear(2, 2).requires_grad_(1)
ones(2).requires_grad_("a")
rnn.pad_sequence([ones(2), ones(3)], 0)
rnn.pack_padded_sequence(ones(3, 2, 1), [3, 2], 0)
rnn.pad_packed_sequence(rnn.pack_padded_sequence(ones(3, 2, 1), [3, 2]), 0)
torch.device("cpu", 1.5)
torch.device("cpu", np.int64(0))
torch.device(np.int64(0))
nn.GRU(2, 2, bidirectional=None)
nn.Unflatten(np.int64(1), (2, 2))(ones(2, 4))
nn.Linear(2, 2).type("torch.DoubleTensor")
nn.Linear(2, 2).type(5)
ones(2).random_(1.5)
ones(2).random_("a")
ones(2).random_(10**30)
# numbers
torch.arange(3 + 0j)
torch.arange(0, 3 + 1j)
torch.lerp(ones(2).long(), ones(2).long(), torch.tensor(0.5))
torch.lerp(ones(2).long(), ones(2).long(), 0.5)
ones(2).copy_(np.int64(3))
ones(2).copy_(np.bool_(True))
ones(2).copy_(np.ones(2))
ones(2, 3)[np.bool_(True)]
ones(2, 3)[np.bool_(True), 0]
ones(2, 3)[1.5]
ones(2, 3)[ones(1)]
ones(2) in ones(2, 3)
ones(3) in ones(2, 3)
"a" in ones(2)
torch.ormqr(ones(2, 3, 3), ones(2, 3), ones(3, 3))
torch.ormqr(torch.eye(3), ones(3), ones(3))
torch.ormqr(torch.eye(3).long(), ones(3).long(), ones(3, 3).long())
torch.cholesky_solve(torch.eye(2).long(), torch.eye(2).long())
torch.cholesky_inverse(torch.eye(2).long())
torch.linalg.solve_triangular(torch.eye(2).long(), torch.eye(2).long(), upper=True)
torch.linalg.householder_product(torch.eye(2).long(), ones(2).long())
torch.linalg.cholesky(torch.eye(2).long())
torch.autograd.grad(ones((), requires_grad=True) * 2, ones(()), is_grads_batched=True)
x = ones(2, requires_grad=True); torch.autograd.grad(x.sum(), x, is_grads_batched=True)
x = ones(2, requires_grad=True); torch.autograd.grad(x * 2, x, is_grads_batched=True)
F.embedding_bag(torch.tensor([0, 1]), ones(2, 2), torch.tensor([0.0]))
F.embedding_bag(torch.tensor([0, 1]), ones(2, 2), torch.tensor([0]).byte())
torch.signal.windows.gaussian(5, std=torch.tensor(0.5))
torch.tensordot(ones(2, 2), ones(2, 2), dims=torch.tensor([1]))
torch.tensordot(ones(2, 2), ones(2, 2), dims=1.5)
torch.add(ones(2), ones(2), alpha=None)
torch.addmm(ones(2, 2), ones(2, 2), ones(2, 2), beta="a")
# distributions and optimizers
torch.distributions.StackTransform([torch.distributions.ExpTransform()], 3)(ones(2, 2))
torch.distributions.CatTransform([torch.distributions.ExpTransform()], 3)(ones(2, 2))
torch.distributions.Pareto(1.0, 1.0).cdf(2.0)
torch.distributions.Weibull(1.0, 1.0).cdf(2.0)
torch.distributions.LogNormal(0.0, 1.0).cdf(-ones(2))
torch.distributions.LogNormal(0.0, 1.0).log_prob(2.0)
torch.optim.Adam([ones(2, requires_grad=True)], betas=(0.9,))
torch.optim.Adam([ones(2, requires_grad=True)], lr=ones(2))
torch.optim.Adam([ones(2, requires_grad=True)], eps=ones(2))
torch.optim.SGD([ones(2, requires_grad=True)], weight_decay=ones(2))
S = torch.optim.lr_scheduler; S.MultiplicativeLR(torch.optim.SGD([ones(2)], 0.1), "a")
S = torch.optim.lr_scheduler; S.LambdaLR(torch.optim.SGD([ones(2)], 0.1), 5)
S = torch.optim.lr_scheduler; S.CosineAnnealingWarmRestarts(torch.optim.SGD([ones(2)], 0.1), None)
S = torch.optim.lr_scheduler; S.CosineAnnealingWarmRestarts(torch.optim.SGD([ones(2)], 0.1), 1.5)
# data
D = torch.utils.data; D.TensorDataset(np.ones(2))
D = torch.utils.data; next(iter(D.DataLoader(D.TensorDataset(ones(4)), sampler=[1.5])))
D = torch.utils.data; next(iter(D.DataLoader(D.TensorDataset(ones(4)), sampler=ones(2))))
D = torch.utils.data; next(iter(D.DataLoader(D.TensorDataset(ones(4)), batch_sampler=[1, 2])))
D = torch.utils.data; next(iter(D.DataLoader(D.TensorDataset(ones(4)), collate_fn=0)))
""".strip().splitlines()  # fmt: skip


def outcome(program: str, tools: dict) -> list:
    """The class of a program's error, or None, and the categories of its warnings."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        error = None
        try:
            exec(program, dict(tools))
        except Exception as raised:
            error = next(c.__name__ for c in type(raised).__mro__ if c.__module__ != "torch")
    return [error, sorted(each.category.__name__ for each in seen)]


if __name__ == "__main__":
    import torch

    nn = torch.nn
    tools = {"torch": torch, "nn": nn, "F": nn.functional, "rnn": nn.utils.rnn}
    tools |= {"io": io, "np": np, "ones": torch.ones}
    found = {p: outcome(p, tools) for p in PROGRAMS if not p.startswith("#")}
    lines = [f"{json.dumps(p)}: {json.dumps(o)}" for p, o in found.items()]
    text = "{\n" + ",\n".join(lines) + "\n}\n"
    (Path(__file__).parent / "errors.json").write_text(text, encoding="utf-8")
