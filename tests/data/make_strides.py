"""The strides of results and gradients that PyTorch gives, for inputs in many memory layouts.

With PyTorch 2.13 installed, this writes `strides.json`; `strides_format.py` says its form.

    python make_strides.py

The calls are those of `ops.json` with an input of two dimensions that are no 1, each expression in
one dtype, and the ones below: reductions, windows, indices, products of more dimensions.
"""

import json
import re
import warnings

import torch
from ops_format import LETTER, read
from strides_format import FILE, LAYOUTS, answer, arranged, numbers, text_of

THREE, FOUR = ["d2x3x4*"], ["d2x3x4x5*"]
REDUCTIONS = [
    f"lib.{name}(x0, {dims}{kept})"
    for name in ("sum", "mean", "prod", "amax", "amin", "std", "var", "std_mean", "var_mean",
                 "logsumexp", "norm", "linalg.vector_norm", "any", "all", "nansum", "nanmean",
                 "count_nonzero", "argmax", "argmin", "max", "min", "median", "mode", "nanmedian",
                 "cumsum", "cumprod", "logcumsumexp", "cummax", "softmax", "log_softmax", "sort",
                 "argsort", "nn.functional.normalize", "nn.functional.softmin", "trapezoid",
                 "cumulative_trapezoid", "diff", "aminmax", "quantile", "unbind", "flip", "roll")
    for dims, kept in (("dim=0", ""), ("dim=1", ""), ("dim=1", ", keepdim=True"), ("dim=2", ""),
                       ("dim=(0, 2)", ""), ("dim=(1, 3)", ""))
]  # fmt: skip
OWN = {
    "d2x3x4* d2x3x4*": """
        lib.add(x0, x1)  lib.mul(x0, x1)  lib.div(x0, x1)  lib.maximum(x0, x1)
        lib.atan2(x0, x1)  lib.cat([x0,x1],1)  lib.stack([x0,x1],1)  lib.matmul(x0,x1.mT)
        lib.einsum('bij,bkj->bik',x0,x1)  lib.cosine_similarity(x0,x1)
        lib.nn.functional.pairwise_distance(x0,x1)  lib.where(x0>0.5,x0,x1)  lib.lerp(x0,x1,0.3)
        lib.cdist(x0,x1)  lib.dist(x0,x1)  lib.nn.functional.mse_loss(x0,x1)
        lib.nn.functional.smooth_l1_loss(x0,x1,reduction='none')
        lib.nn.functional.kl_div(x0,x1)  lib.nn.functional.binary_cross_entropy(x0,x1)
        lib.hypot(x0,x1)  lib.linalg.vecdot(x0,x1,dim=1)  lib.trapezoid(x0,x1,dim=1)
        lib.inner(x0,x1)  lib.nn.functional.gaussian_nll_loss(x0,x1,x1)  lib.fmax(x0,x1)
        lib.fmin(x0,x1)  lib.nextafter(x0,x1)  lib.xlogy(x0,x1)  lib.special.xlog1py(x0,x1)
        x0**x1  lib.copysign(x0,x1)  lib.fmod(x0,x1)  x0%x1  lib.logaddexp(x0,x1)
        lib.logaddexp2(x0,x1)  lib.ldexp(x0,x1)  lib.polar(x0,x1)  x0.masked_fill(x1>0.5,0.)
        lib.nn.functional.huber_loss(x0,x1,reduction='sum')  lib.slice_scatter(x0,x1)
        lib.nn.functional.poisson_nll_loss(x0,x1,reduction='sum')
        lib.nn.functional.binary_cross_entropy_with_logits(x0,x1,reduction='none')
        (x0.sin()*x1).transpose(0,1).softmax(-1)  (x0@x1.mT).tanh()[:,1:]*2
        lib.cat([x0.exp(),x1],1).mT.contiguous()*3  (x0.permute(2,0,1)*x1.permute(2,0,1)).mean(0)
        lib.einsum('bij,bkj->bki',x0,x1).relu().cumsum(1)  (x0*x1.sum(1,keepdim=True)).std(0)
        lib.where(x0>x1,x0.mT.exp().mT,x1).flatten(1)  x0.reshape(6,4)@x1.reshape(6,4).T
        lib.nn.functional.layer_norm(x0*x1,(4,)).transpose(1,2)@x0  (x0-x1).abs().amax(1).sqrt()
        lib.stack([x0*x1,x1],-1).prod(-1).log()  (x0/x1).unfold(2,2,1).square().sum(-1)
        lib.linalg.solve(x0@x0.mT+3*lib.eye(3,dtype=x0.dtype),x1).mT*2
        x0.gather(1,lib.zeros(2,2,4,dtype=lib.int64))*x1[:,1:]  (x0[:,[2,0]]*x1[:,:2]).diagonal()
        x0.clone().mul_(x1).transpose(0,2).cos()  lib.baddbmm(x0@x0.mT,x0,x1.mT).log_softmax(1)
        x0.expand(5,2,3,4).mul(x1).sum(0).exp()  (x0.chunk(2,-1)[0]*x1.split(2,-1)[1]).flip(0)
        lib.nn.functional.normalize(x0.mT,dim=1).mT*x1  x0.diff(dim=1).pow(2).sum(0)+x1[0,1:]
        lib.linalg.vector_norm(x0-x1,dim=1).unsqueeze(1)*x0  (x0.roll(1,0)*x1.tril()).logsumexp(2)
        lib.nn.functional.conv1d(x0*2,x1[...,:2]).relu()  x0.index_add(1,lib.tensor([0]),x1[:,:1])*2
        x0.masked_fill(x1>0.5,0.).repeat(2,1,1).sigmoid()  lib.lerp(x0,x1,0.3).movedim(0,2)*3
        lib.nn.functional.batch_norm(x0*x1,None,None,training=True).flatten(0,1)""",
    "d2x3x4*": """
        x0.exp()  x0.relu()  x0*2  x0+1  x0**2  x0.sqrt()  x0.sigmoid()
        lib.nn.functional.gelu(x0)  lib.erf(x0)  lib.lgamma(x0)  lib.nn.functional.silu(x0)
        lib.nn.functional.elu(x0)  lib.nn.functional.leaky_relu(x0)
        lib.nn.functional.softplus(x0)  lib.nn.functional.hardswish(x0)
        lib.nn.functional.glu(x0,2)  lib.nn.functional.logsigmoid(x0)
        lib.nn.functional.layer_norm(x0,(4,))  lib.nn.functional.rms_norm(x0,(4,))
        lib.nn.functional.batch_norm(x0,None,None,training=True)
        lib.nn.functional.instance_norm(x0)  lib.nn.functional.group_norm(x0,3)
        lib.renorm(x0,2,1,0.5)  x0.clone()  x0.to(lib.float32)  x0.float()  x0.transpose(0,1)
        x0.permute(2,0,1)  x0.reshape(6,4)  x0.reshape(2,12)  x0.flatten()  x0.flatten(1)  x0[0]
        x0[:,1]  x0[...,::2]  x0[:,[0,2]]  x0[[1,0]]  x0[...,[1,2]]  x0[x0>0.5]  x0[[0,1],[1,2]]
        x0[:,None]  x0.squeeze()  x0.repeat(2,1,1)  x0.tile(2)  x0.expand(3,2,3,4)
        x0.unfold(1,2,1)  x0.tril()  x0.triu()  x0.diagonal()  x0.clamp(0.2,0.7)
        x0.masked_fill(x0>0.5,0.)  x0.movedim(0,2)  x0.topk(2,1)  x0.kthvalue(2,1)  x0.msort()
        x0.unique()  x0.nonzero()  x0.split(1,1)  x0.chunk(2,2)  x0[0].cov()  x0.sum()
        x0.mean()  x0.norm()  x0.std()  x0.prod()  x0.max()  x0.sum_to_size(1,3,4)
        x0.repeat_interleave(2,1)  x0.index_select(1,lib.tensor([0,2]))  x0.rot90(1,(0,1))
        lib.nn.functional.pad(x0,(1,1))  lib.nn.functional.pad(x0,(1,1),mode='reflect')
        x0.logit()  x0.round()  lib.nn.functional.avg_pool1d(x0,2)
        lib.nn.functional.max_pool1d(x0,2)  lib.nn.functional.lp_pool1d(x0,2,2)
        lib.nn.functional.adaptive_avg_pool1d(x0,2)
        lib.nn.functional.interpolate(x0,scale_factor=2)  lib.zeros_like(x0)  lib.ones_like(x0)
        lib.empty_like(x0)  x0.new_zeros(2,3)  lib.fft.fft(x0)  lib.fft.rfft(x0,dim=1)
        lib.autograd.grad((x0.transpose(0,1)**2).sum(),x0,create_graph=True)  x0.cos().sum(1)
        lib.autograd.grad(x0.relu().square().sum(),x0,create_graph=True)
        lib.autograd.grad(lib.where(x0>0.5,x0,x0*2).sum(),x0,create_graph=True)
        lib.autograd.grad(x0.clamp(0.2,0.7).sum(),x0,create_graph=True)
        lib.fft.fft2(x0)  lib.fft.ifftn(x0,dim=(0,))  lib.fft.irfft(x0)  lib.fft.fft(x0,n=2)
        (x0*x0).transpose(0,2).mean(0)  (x0.transpose(1,2)*2).reshape(2,12)  x0.view(lib.int64)
        2**x0  1/x0  x0.rsqrt()  x0.angle()  lib.mvlgamma(x0+2,2)  x0.nan_to_num()
        lib.nn.functional.selu(x0)  lib.nn.functional.hardsigmoid(x0)  lib.special.erfcx(x0)
        x0.round(decimals=1)  x0.take(lib.tensor([1,5]))  x0.masked_select(x0>0.5)
        lib.fft.rfft2(x0)  lib.fft.irfft2(x0)  lib.fft.hfft2(x0)  lib.fft.ifft(x0,dim=0)
        x0.clone().clamp_(0.6).log()  x0[:,lib.tensor([[0,1],[2,0]])]
        x0>0.5  x0.isnan()  x0.sign()  x0.cross(x0,1)  x0.detach().add_(1)  x0.clone().mul_(2)
        x0.clone().fill_(1)  x0.gt(0.5).any(1)  x0.trunc()  x0.mT@x0""",
    "d2x3x4": """
        lib.func.hessian(lambda t:(t**3).sum())(x0)  lib.func.hessian(lambda t:t.exp().sum())(x0)
        lib.func.hessian(lambda t:t.relu().square().sum())(x0)
        lib.func.hessian(lambda t:(t@t.mT).square().sum())(x0)
        lib.func.hessian(lambda t:t.softmax(1).log().sum())(x0)
        lib.func.jacfwd(lib.func.grad(lambda t:t.sigmoid().sum()))(x0)
        lib.func.jacfwd(lambda t:t.sin())(x0)  lib.func.jacfwd(lambda t:t.softmax(1))(x0)
        lib.func.jacfwd(lambda t:t+t.tanh())(x0)  lib.func.jacrev(lambda t:t.sin())(x0)
        lib.func.vmap(lib.func.grad(lambda t:t.log().sum()))(x0)
        lib.func.jvp(lambda t:t*t,(x0,),(lib.ones(2,3,4,dtype=x0.dtype),))
        lib.autograd.functional.hessian(lambda t:t.sqrt().sum(),x0)""",
    "D2x3x4*": """
        x0.imag*2  x0.exp().real  -x0.imag  lib.view_as_real(x0)*2  x0.real@x0.imag.mT
        (x0*x0.conj()).real  lib.complex(x0.real,x0.imag)  lib.fft.irfft(x0,dim=0)
        lib.fft.ifft(x0).real  lib.fft.hfft(x0)  x0.abs()  x0.angle()  x0.log1p()
        x0.sigmoid()  x0.exp2()  x0.sinc()  x0.prod(1)
        x0.real*2  x0.norm(dim=1)  x0.reciprocal()""",
    "D2x5x6*": "lib.istft(x0,8)  lib.istft(x0,8,window=lib.ones(8,dtype=lib.float64))",
    "d2x3x2*": "lib.view_as_complex(x0)  lib.view_as_complex(x0*2).exp()",
    "d3x3* d3x2*": """
        lib.linalg.solve(x0,x1.mT,left=False)
        lib.linalg.solve_triangular(x0,x1.mT,upper=True,left=False)""",
    "d2x3x3* d2x3x2*": """
        lib.linalg.solve(x0,x1)  lib.linalg.solve(x0,x1.mT,left=False)
        lib.linalg.solve_triangular(x0,x1,upper=False)
        lib.linalg.solve_triangular(x0,x1.mT,upper=True,left=False)
        lib.linalg.solve_triangular(x0,x1.mT,upper=False,left=False,unitriangular=True)
        lib.linalg.lu_solve(*lib.linalg.lu_factor(x0),x1)""",
    "l2x3x4": "x0.floor()  x0.round()  x0.nan_to_num()  x0.isreal()",
    "d2x3x6x4* d2x3x6x4* d2x3x6x4*": """
        lib.nn.functional.scaled_dot_product_attention(x0,x1,x2)  lib.addcmul(x0,x1,x2)
        lib.nn.functional.scaled_dot_product_attention(x0,x1,x2,is_causal=True)
        lib.lerp(x0,x1,x2)""",
    "d3x5x4* d3x4x6* d5x6*": "lib.addbmm(x2,x0,x1)",
    "d2x6x5x4*": """
        lib.nn.functional.max_pool2d(x0,2)  lib.nn.functional.avg_pool2d(x0,2)  x0.mean((2,3))
        x0.sum(1)  lib.nn.functional.adaptive_avg_pool2d(x0,2)
        lib.nn.functional.adaptive_max_pool2d(x0,2)
        lib.nn.functional.interpolate(x0,scale_factor=2)
        lib.nn.functional.interpolate(x0,scale_factor=2,mode='bilinear')
        lib.nn.functional.pixel_shuffle(x0[:,:4],2)  lib.nn.functional.unfold(x0,2)
        lib.nn.functional.pad(x0,(1,1,1,1))
        lib.nn.functional.batch_norm(x0,None,None,training=True)
        lib.nn.functional.group_norm(x0,2)  lib.nn.functional.instance_norm(x0)
        lib.nn.functional.softmax(x0,1)  lib.nn.functional.local_response_norm(x0,2)
        lib.nn.functional.normalize(x0)  x0.flatten(2)  x0.flatten(2).transpose(1,2)  x0.exp()
        x0.relu()  x0.amax((2,3))  x0.var((0,2,3))  x0.std(1)  x0.logsumexp(1)  x0.cumsum(1)
        x0.argmax(1)  x0.max(1)  x0[:,:3]  x0[:,[0,2]]  x0.float()  lib.cat([x0,x0],1)
        lib.stack([x0,x0])  x0.permute(0,2,3,1)  x0.permute(0,2,3,1).contiguous()  x0.clone()
        x0*2+1""",
    "d2x3x5x4* d4x3x2x2* d4*": """
        lib.nn.functional.conv2d(x0,x1,x2)  lib.nn.functional.conv2d(x0,x1,x2,padding=1)""",
    "d2x3x5* d4x3x2* d4*": "lib.nn.functional.conv1d(x0,x1,x2)",
    "d2x3x5* d3x4x2*": "lib.nn.functional.conv_transpose1d(x0,x1)",
    "d2x3x4x5* d3x1x1*": "lib.mul(x0,x1)  lib.add(x1,x0)  lib.where(x0>x1,x0,x1)",
    "d3x4* d4x5*": """
        lib.mm(x0,x1)  lib.matmul(x0,x1)  x0@x1  lib.einsum('ij,jk->ik',x0,x1)
        lib.linalg.multi_dot([x0,x1])""",
    "d5* d3x4* d4x5*": "lib.addmm(x0,x1,x2)",
    "d3x4* d4*": """
        lib.mv(x0,x1)  lib.matmul(x0,x1)  x0*x1  lib.nn.functional.layer_norm(x0,(4,),x1)""",
    "d3x4* d5x4* d5*": "lib.nn.functional.linear(x0,x1,x2)",
    "d3x5* l3": """
        lib.nn.functional.cross_entropy(x0,x1)  lib.nn.functional.nll_loss(x0.log_softmax(1),x1)
        x0.gather(1,x1[:,None])""",
    "l3x4 d5x2*": """
        lib.nn.functional.embedding(x0,x1)  lib.nn.functional.one_hot(x0,3)  x1[x0]""",
    "d3x4* l3x4": """
        lib.gather(x0,1,x1)  lib.zeros(3,4,dtype=lib.float64).scatter(1,x1,x0)
        lib.take_along_dim(x0,x1,1)  x0.scatter_add(0,x1,x0)""",
}  # fmt: skip


def calls():
    """(op, expression, descriptions, arrays) of every call."""
    for name, stored in read().items():
        seen = set()
        for expression, inputs, _, _ in stored:
            arrays = [array for _, array, _ in inputs]
            wide = any(sum(n > 1 for n in array.shape) > 1 for array in arrays)
            key = expression, tuple(array.shape for array in arrays)
            if not wide or key in seen or any(kind == "bfloat16" for kind, _, _ in inputs):
                continue
            seen.add(key)
            specs = [
                LETTER[kind] + "x".join(map(str, a.shape)) + "*" * bool(w) for kind, a, w in inputs
            ]
            yield name, expression, specs, arrays
    texts = [(key.split(), re.split(r"\s\s+", text.strip())) for key, text in OWN.items()]
    for specs, expressions in [(THREE, REDUCTIONS), (FOUR, REDUCTIONS), *texts]:
        arrays = [numbers(spec, place) for place, spec in enumerate(specs)]
        for expression in expressions:
            yield "", expression, specs, arrays


def main():
    """Write the file."""
    warnings.filterwarnings("ignore")
    lines = []
    for name, expression, specs, arrays in calls():
        answers = {}
        for letter in LAYOUTS:
            given = arranged(arrays, letter)
            if given is None:
                continue
            try:
                found = answer(torch, expression, given, [spec.endswith("*") for spec in specs])
            except Exception:  # PyTorch refuses the call
                continue
            answers[text_of(found)] = answers.get(text_of(found), "") + letter
        if answers:
            lines.append(json.dumps([name, expression, specs, answers], separators=(",", ":")))
    FILE.write_text("[\n" + ",\n".join(lines) + "\n]\n")


if __name__ == "__main__":
    main()
