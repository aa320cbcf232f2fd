"""The dtypes of PyTorch's results under `autocast`, by expression.

As a script, with PyTorch installed, this writes them to `autocast.json`:

    python make_autocast.py
"""

import importlib
import json
import warnings
from pathlib import Path

PATH = Path(__file__).with_name("autocast.json")

CASES = """
x@w
torch.mm(x,w)
x.mm(w)
d@d
h@d
c@c
F.linear(x,w)
F.cross_entropy(x,i)
F.nll_loss(x,i)
F.mse_loss(x,x)
F.softmax(x,1)
F.layer_norm(x,[3])
torch.cat([w,h])
torch.stack([w,h])
torch.einsum('ij,jk->ik',x,w)
torch.tensordot(x,w,1)
torch.dot(w[0],w[0])
torch.mv(w,w[0])
torch.outer(w[0],w[0])
torch.addmv(w[0],w,w[0])
torch.linalg.norm(w)
torch.linalg.inv(w)
torch.linalg.multi_dot([w,w,w])
torch.linalg.vecdot(w,w)
torch.prod(w)
torch.sum(w)
torch.exp(w)
torch.cdist(x,w)
F.scaled_dot_product_attention(w[None],w[None],w[None])
nn.LSTM(3,3)(x[None].to(torch.float32))
nn.GRU(3,3)(x[None].to(torch.float32))
nn.RNN(3,3)(x[None].to(torch.float32))
nn.LSTMCell(3,3)(x.to(torch.float32))
nn.GRUCell(3,3)(x.to(torch.float32))
nn.RNNCell(3,3)(x.to(torch.float32))
nn.MultiheadAttention(3,1)(x[None].to(torch.float32),x[None].to(torch.float32),x[None].to(torch.float32))
nn.MultiheadAttention(3,1)(x[None].to(torch.float32),x[None].to(torch.float32),x[None].to(torch.float32),need_weights=False)
nn.TransformerEncoderLayer(3,1,4,dropout=0.)(x[None].to(torch.float32))
nn.Bilinear(3,3,2)(x.float(),x.float())
F.prelu(x,w[0,:1])
F.batch_norm(x,None,None,training=True)
F.binary_cross_entropy(x.sigmoid(),x.sigmoid())
F.binary_cross_entropy_with_logits(x,x)
F.kl_div(x,x)
F.gaussian_nll_loss(x,x,x.abs())
F.triplet_margin_loss(x,x,x)
F.cosine_similarity(x,x)
F.pad(x,(1,1),mode='reflect')
F.pad(x,(1,1))
F.avg_pool1d(x,2)
F.interpolate(x[None],scale_factor=2)
torch.trace(w)
torch.quantile(x,0.5)
torch.baddbmm(w[None],w[None],w[None])
torch.addmm(w,w,w)
torch.matmul(w,w,out=torch.empty(3,3))
w.clone().addmm_(w,w)
torch.fft.fft(w)
torch.linalg.svd(w)
torch.linalg.eigh(w+w.T)
torch.linalg.matrix_power(w,3)
torch.matrix_power(w,2)
torch.inverse(w)
torch.chain_matmul(w,w)
torch.index_copy(w,0,i[:1],h[:1])
torch.kron(w,w)
torch.inner(w,w)
torch.corrcoef(w)
torch.cov(w)
torch.where(w>0,w,h)
F.embedding(i,w)
F.conv1d(w[None],w[:,:,None])
nn.Conv2d(1,1,2)(w[None,None].float())
nn.ConvTranspose2d(1,1,2)(w[None,None].float())
torch.norm(w)
torch.logsumexp(w,0)
torch.cumsum(w,0)
F.grid_sample(w[None,None],torch.zeros(1,2,2,2))
F.max_pool2d(w[None,None],2)
w.prod(dtype=torch.float64)
F.ctc_loss(w.reshape(3,1,3).log_softmax(-1),torch.tensor([[1]]),torch.tensor([3]),torch.tensor([1]))
w.T@w
w.matmul(w)
w.__matmul__(w)
w.cpu().inverse()
nn.CrossEntropyLoss()(x,i)
"""


def results(torch):
    """The dtypes of all results of float32 and of bfloat16, and with float16 as the region's."""
    nn = importlib.import_module(f"{torch.__name__}.nn")
    torch.manual_seed(0)
    x, w = torch.randn(2, 3), torch.randn(3, 3)
    names = {"torch": torch, "nn": nn, "F": nn.functional, "d": w.double(), "h": w.bfloat16()}
    names |= {"c": w.to(torch.complex64), "i": torch.zeros(2, dtype=torch.long)}
    single, half = {"x": x, "w": w}, {"x": x.bfloat16(), "w": w.bfloat16()}
    return {
        case: [
            dtype_of(torch, case, names | single, torch.bfloat16),
            dtype_of(torch, case, names | half, torch.bfloat16),
            dtype_of(torch, case, names | single, torch.float16),
        ]
        for case in CASES.strip().splitlines()
    }


def dtype_of(torch, case, names, dtype):
    """The dtype of one result, or "error"."""
    with torch.autocast("cpu", dtype=dtype), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = eval(case, names)
        except (RuntimeError, TypeError):
            return "error"
    found = found[0] if isinstance(found, (tuple, list)) else found
    return str(found.dtype).rpartition(".")[2]


if __name__ == "__main__":
    found = results(importlib.import_module("torch"))
    lines = [f"{json.dumps(k)}: {json.dumps(v)}" for k, v in found.items()]
    PATH.write_text("{\n" + ",\n".join(lines) + "\n}\n")
