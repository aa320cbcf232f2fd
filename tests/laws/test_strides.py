"""A law of memory: results and gradients have the strides that PyTorch gives them.

Inputs lie in many layouts; `tests/data/strides_format.py` says which, and what is compared. It
holds with the engine in C and in Python, with kernels and without (the Makefile runs it so).

The rules: reductions, products of matrices, gathers and scatters, norms of batches are contiguous;
what is elementwise lies as its first operand that has an order, and so does its gradient, where the
cotangent is mostly the first; a convolution and its gradients with the channels innermost where
those of its weight or, of images, of its input are; what LAPACK gives lies by columns, a product's
gradient as its factor. What differs is listed with the number of strides that do, which may only
fall.
"""

from __future__ import annotations

import importlib.util
from collections import Counter

import numpy as np
import pytest

import retrograd as rg
from retrograd.autograd import grad
from retrograd.compiler import door

from .samples import ops_format

assert rg.nn.__doc__  # all records are there

spec = importlib.util.spec_from_file_location(
    "tests.data.strides_format", ops_format.HERE / "strides_format.py"
)
strides_format = importlib.util.module_from_spec(spec)
spec.loader.exec_module(strides_format)

CALLS = list(strides_format.read())
PARTS = 8  # tests, so that several workers share them

# fmt: off
DIFFER = {
    "PyTorch leaves what LAPACK or BLAS gave, often by columns; here often by rows": {
        "addbmm": 48, "cdist": 9, "lib.inner(x0,x1)": 15,
        "lib.nn.functional.interpolate(x0,scale_factor=2,mode='bilinear')": 2,
        "linalg.householder_product": 27, "linalg.lstsq": 33, "linalg.lu_solve": 42,
        "nn.functional.bilinear": 27, "nn.functional.scaled_dot_product_attention": 39,
        "nn.functional.upsample_bilinear": 2, "ormqr": 72, "tensordot": 48, "triangular_solve": 7,
    },
    "transforms run along a dimension that PyTorch leaves innermost": {
        "istft": 36, "lib.fft.rfft(x0,dim=1)": 3,
    },
    "whose channels are innermost is told by the input, here by the cotangent as well": {
        "lib.nn.functional.adaptive_avg_pool1d(x0,2)": 2,
        "lib.nn.functional.adaptive_avg_pool2d(x0,2)": 2, "lib.nn.functional.avg_pool1d(x0,2)": 2,
        "lib.nn.functional.avg_pool2d(x0,2)": 2,
        "lib.nn.functional.batch_norm(x0,None,None,training=True)": 2,
        "lib.nn.functional.group_norm(x0,2)": 2, "lib.nn.functional.instance_norm(x0)": 2,
        "lib.nn.functional.interpolate(x0,scale_factor=2)": 2,
        "lib.nn.functional.lp_pool1d(x0,2,2)": 1, "nn.functional.adaptive_avg_pool2d": 2,
        "nn.functional.adaptive_max_pool3d": 3, "nn.functional.avg_pool1d": 12,
        "nn.functional.channel_shuffle": 1, "nn.functional.conv_transpose1d": 4,
        "nn.functional.interpolate": 15, "nn.functional.max_pool1d": 12,
        "nn.functional.max_unpool3d": 2, "nn.functional.pad": 2,
    },
    "operands of a formula lie in different orders: NumPy's result is in row-major order": {
        "__rand__": 5, "__rmod__": 1, "__ror__": 5, "__rxor__": 5, "angle": 2, "atan2": 1,
        "atanh": 1, "diagonal_scatter": 12, "erfinv": 3, "fmax": 2, "fmin": 2, "histogramdd": 12,
        "igamma": 1, "igammac": 1, "index_copy": 4, "lib.atan2(x0, x1)": 4,
        "lib.nn.functional.elu(x0)": 4, "lib.nn.functional.logsigmoid(x0)": 12,
        "lib.nn.functional.smooth_l1_loss(x0,x1,reduction='none')": 16, "lib.prod(x0, dim=0)": 5,
        "lib.prod(x0, dim=1)": 5, "lib.prod(x0, dim=1, keepdim=True)": 5, "lib.prod(x0, dim=2)": 7,
        "lib.renorm(x0,2,1,0.5)": 4, "logaddexp2": 2, "logit": 4, "masked.logaddexp": 1,
        "masked_fill": 2, "masked_select": 9, "mvlgamma": 12,
        "nn.functional.cosine_embedding_loss": 18, "nn.functional.huber_loss": 8,
        "nn.functional.layer_norm": 7, "nn.functional.multi_margin_loss": 3,
        "nn.functional.multilabel_soft_margin_loss": 3, "nn.functional.rms_norm": 4, "prod": 19,
        "put": 4, "ravel": 1, "rot90": 28, "scatter_reduce": 60, "sgn": 1, "slice_scatter": 18,
        "special.chebyshev_polynomial_t": 3, "special.chebyshev_polynomial_u": 3,
        "special.chebyshev_polynomial_v": 3, "special.chebyshev_polynomial_w": 3,
        "special.hermite_polynomial_h": 3, "special.hermite_polynomial_he": 3,
        "special.laguerre_polynomial_l": 3, "special.legendre_polynomial_p": 3,
        "special.shifted_chebyshev_polynomial_t": 3, "special.shifted_chebyshev_polynomial_u": 3,
        "special.shifted_chebyshev_polynomial_v": 3, "special.shifted_chebyshev_polynomial_w": 3,
        "special.xlog1py": 1, "special.zeta": 1, "take": 3, "unravel_index": 24,
        "x0.masked_fill(x0>0.5,0.)": 4, "x0.prod()": 12, "x0.rot90(1,(0,1))": 7,
        "x0[...,[1,2]]": 4, "x0[:,[0,2]]": 7, "x1[x0]": 2, "xlogy": 1,
    },
}
# fmt: on
ALLOWED = {name: count for names in DIFFER.values() for name, count in names.items()}


def compared(part):
    """How many strides there are in a part of the calls, and of each name those that differ."""
    total, differ = 0, Counter()
    for name, expression, arrays, wanted, answers in CALLS[part::PARTS]:
        for letter, expected in answers.items():
            given = strides_format.arranged(arrays, letter)
            found = strides_format.answer(rg, expression, given, wanted)
            for pair in zip(expected, found, strict=True):
                both = [each for each in zip(*pair, strict=True) if "-" not in each]
                total += len(both)
                differ[name or expression] += sum(ours != theirs for theirs, ours in both)
    return total, differ


@pytest.mark.parametrize("part", range(PARTS))
def test_strides_are_those_of_pytorch(part):
    total, differ = compared(part)
    more = {name: n for name, n in differ.items() if n > ALLOWED.get(name, 0)}
    assert not more
    assert total > 5000
    assert differ.total() < 0.04 * total


def test_the_table_has_more_than_1500_calls_and_few_that_differ():
    assert len(CALLS) > 1500
    assert sum(ALLOWED.values()) < 0.022 * 45000


REDUCED = ["sum", "mean", "std", "logsumexp", "norm", "amax", "softmax", "nansum"]


@pytest.mark.skipif(not door.AVAILABLE, reason="kernels need llvmlite")
@pytest.mark.parametrize("name", REDUCED)
def test_kernels_give_the_same_strides(name):
    x = np.arange(24.0).reshape(2, 3, 4) / 24
    for letter in "ctmfp":
        made = []
        for least in (0, 10**9):
            before = door.change(least=least)
            try:
                given = strides_format.arranged([x], letter)
                made.append(strides_format.answer(rg, f"lib.{name}(x0, dim=1)", given, [True]))
            finally:
                door.change(**before)
        assert made[0] == made[1]


# -- programs --------------------------------------------------------------------------------------


def test_a_gradient_through_a_transpose_can_be_viewed_and_written():
    w = rg.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], requires_grad=True)
    (g,) = grad((w.t() ** 2).sum(), w)
    assert g.is_contiguous()
    assert g.view(-1).tolist() == [2.0, 4.0, 6.0, 8.0, 10.0, 12.0]
    g.flatten().clamp_(max=3.0)
    assert g.tolist() == [[2.0, 3.0, 3.0], [3.0, 3.0, 3.0]]
    (g,) = rg.func.grad(lambda w: (w.t() ** 2).sum())(w.detach()).unsqueeze(0)
    g.flatten()[0] = 9.0
    assert g[0, 0] == 9.0


NAMES = [
    *("sum", "mean", "prod", "amax", "amin", "std", "var", "logsumexp", "norm", "any", "all"),
    *("linalg.vector_norm", "nansum", "nanmean", "count_nonzero", "trapezoid"),
]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("shape", [(2, 3, 4), (20, 30, 40)])
def test_a_reduction_of_a_transposed_tensor_is_contiguous(name, shape):
    x = rg.ones(shape).transpose(0, 1)
    function = rg
    for part in name.split("."):
        function = getattr(function, part)
    found = function(x, dim=2)
    assert found.stride() == (shape[0], 1)
    flat = found.view(-1)
    found.flatten()[0] = 0
    assert flat[0] == 0


def test_std_mean_batch_norm_one_hot_and_renorm_are_contiguous():
    x = rg.rand(2, 3, 4).transpose(1, 2)
    assert all(t.is_contiguous() for t in rg.std_mean(x, dim=0))
    for training in (True, False):
        running = (rg.zeros(4), rg.ones(4))
        out = rg.nn.functional.batch_norm(x, *running, training=training)
        assert out.is_contiguous()
    assert rg.nn.functional.instance_norm(x).is_contiguous()
    assert rg.renorm(x, 2, 0, 1.0).is_contiguous()
    indices = rg.tensor([[0, 1, 2], [2, 1, 0]]).t()
    assert rg.nn.functional.one_hot(indices).stride() == (6, 3, 1)
    assert rg.nn.functional.cosine_similarity(x, x, dim=0).is_contiguous()
    assert rg.nn.functional.pairwise_distance(x, x).is_contiguous()


def test_negative_strides_count_by_their_size():
    x = rg.from_numpy(np.arange(6.0).reshape(2, 3)[::-1, ::-1])
    assert (x * 2).is_contiguous()
    assert x.sum(0).is_contiguous()
    assert (x.t() + 1).stride() == (1, 3)


MIXED = {
    "a.double() + b": (1, 3),
    "b.double() + a": (2, 1),
    "a + b.double()": (1, 3),
    "a.short() < b": (1, 3),
    "rg.maximum(a.double(), b)": (1, 3),
    "a.long() * b": (1, 3),
    "a.half() + b": (1, 3),
    "a.double() / b.long()": (1, 3),
    "a + b.double().expand(5, 3, 2)": (6, 1, 3),
}


@pytest.mark.parametrize("text", MIXED)
def test_operands_of_two_dtypes_give_the_order_of_the_first(text):
    a, b = rg.ones(2, 3).t(), rg.ones(3, 2)
    found = eval(text, {"rg": rg, "a": a, "b": b})
    assert found.stride() == MIXED[text]
    assert found.tolist() == eval(text, {"rg": rg, "a": a.contiguous(), "b": b}).tolist()


SEVERAL = {
    "rg.lerp(a, b, 0.5)": (1, 3),
    "rg.lerp(a, b, a)": (1, 3),
    "rg.lerp(b, a, a)": (2, 1),
    "rg.lerp(rg.ones(2), a, b)": (1, 3),
    "rg.addcmul(a, b, b)": (1, 3),
    "rg.addcmul(b, a, a)": (2, 1),
    "rg.addcdiv(a, b, b)": (1, 3),
    "rg.clamp(a, b, b)": (1, 3),
    "rg.clamp(a, max=b)": (1, 3),
    "rg.clamp(b, a, a)": (2, 1),
    "rg.complex(a, a)": (1, 3),
    "rg.complex(b, a)": (2, 1),
    "rg.polar(a, a)": (1, 3),
    "a.isclose(b)": (1, 3),
    "b.isclose(a)": (2, 1),
    "a.long().isclose(b.long(), 0, 0)": (1, 3),
    "rg.addr(a, rg.ones(3), rg.ones(2))": (1, 3),
    "rg.addmm(a, rg.ones(3, 4), rg.ones(4, 2))": (2, 1),
    "rg.addmm(a, rg.ones(4, 3).t(), rg.ones(2, 4).t(), beta=2)": (2, 1),
    "rg.addbmm(a, rg.ones(5, 3, 4), rg.ones(5, 4, 2))": (2, 1),
    "rg.baddbmm(a[None], rg.ones(1, 3, 4), rg.ones(1, 4, 2))": (6, 2, 1),
    "rg.baddbmm(a.expand(5, 3, 2), rg.ones(5, 3, 4), rg.ones(5, 4, 2))": (6, 2, 1),
    "rg.nn.functional.rrelu(a)": (2, 1),
    "rg.nn.functional.rrelu(a, training=True)": (2, 1),
    "rg.nn.functional.rrelu(a.clone(), inplace=True)": (1, 3),
}


@pytest.mark.parametrize("text", SEVERAL)
def test_what_takes_several_operands_lies_as_in_pytorch(text):
    a, b = rg.arange(6.0).reshape(2, 3).t(), rg.ones(3, 2)
    found = eval(text, {"rg": rg, "a": a, "b": b})
    assert found.stride() == SEVERAL[text]
    in_rows = eval(text, {"rg": rg, "a": a.contiguous(), "b": b})
    assert rg.equal(found, in_rows)


@pytest.mark.parametrize("text", ["rg.lerp(a, b, 0.5)", "rg.addcmul(a, b, b)", "a.double() + b"])
def test_large_operands_give_the_order_of_the_first_as_small_ones_do(text):
    a, b = rg.rand(80, 90).t(), rg.rand(90, 80)
    found = eval(text, {"rg": rg, "a": a, "b": b})
    assert found.stride() == (1, 90)
    assert rg.equal(found, eval(text, {"rg": rg, "a": a.contiguous(), "b": b}))


JOINED = {
    "a, a": [(12, 1, 6, 3), (24, 1, 12, 6), (24, 1, 6, 3), (24, 1, 12, 3)],
    "a, a.double()": [(12, 1, 6, 3), (24, 1, 12, 6), (24, 1, 6, 3), (24, 1, 12, 3)],
    "a": [(12, 1, 6, 3)] * 4,
    "a, b": [(12, 4, 2, 1), (24, 4, 2, 1), (24, 8, 2, 1), (24, 8, 4, 1)],
    "b, a": [(12, 4, 2, 1), (24, 4, 2, 1), (24, 8, 2, 1), (24, 8, 4, 1)],
    "a, b.double()": [(12, 4, 2, 1), (24, 4, 2, 1), (24, 8, 2, 1), (24, 8, 4, 1)],
    "a, rg.zeros(0), a": [(12, 4, 2, 1), (24, 4, 2, 1), (24, 8, 2, 1), (24, 8, 4, 1)],
}


@pytest.mark.parametrize("text", JOINED)
def test_what_is_joined_has_its_channels_innermost_where_all_parts_have(text):
    b = rg.arange(24.0).reshape(2, 3, 2, 2)
    a = b.contiguous(memory_format=rg.channels_last)
    parts = eval(f"[{text}]", {"rg": rg, "a": a, "b": b})
    for dim, strides in enumerate(JOINED[text]):
        found = rg.cat(parts, dim)
        assert found.stride() == strides
        assert rg.equal(found, rg.cat([part.contiguous() for part in parts], dim))


STACKED = {
    4: [
        (24, 12, 1, 6, 3),
        (24, 3, 1, 12, 6),
        (24, 1, 12, 6, 3),
        (24, 1, 12, 6, 3),
        (24, 8, 4, 2, 1),
    ],
    5: [
        *((48, 24, 1, 12, 6, 3), (48, 3, 1, 24, 12, 6), (48, 1, 24, 12, 6, 3)),
        *((48, 1, 24, 12, 6, 3), (48, 1, 24, 12, 6, 3), (48, 16, 8, 4, 2, 1)),
    ],
}


@pytest.mark.parametrize("ndim", STACKED)
def test_stacked_tensors_with_channels_innermost_lie_as_if_joined(ndim):
    b = rg.arange(3.0 * 2 ** (ndim - 1)).reshape(2, 3, *[2] * (ndim - 2))
    a = b.contiguous(memory_format=rg.channels_last if ndim == 4 else rg.channels_last_3d)
    for dim, strides in enumerate(STACKED[ndim]):
        found = rg.stack([a, a], dim)
        assert found.stride() == strides
        assert rg.equal(found, rg.stack([b, b], dim))
        assert rg.stack([a, b], dim).is_contiguous()


# What is computed of x, by columns, and y, by rows; the order of x's gradient for a cotangent in
# the order of the result, as PyTorch has it.
LED = {
    "x * y": "F",
    "y * x": "C",
    "x / y": "F",
    "rg.maximum(y, x)": "C",
    "rg.maximum(x, y)": "F",
    "rg.where(x > 0.5, x, y)": "F",
    "rg.atan2(x, y)": "F",
    "x.relu()": "F",
    "x.erf()": "F",
    "x.exp() * y + x": "F",
    "x.logsumexp(1)": "F",
    "x.mean(0)": "C",
    "x[None]": "F",
    "rg.einsum('ij,kj->ki', x, y)": "F",
    "x @ y.t()": "F",
}


@pytest.mark.parametrize("size", [3, 80])
@pytest.mark.parametrize("text", LED)
def test_a_gradient_lies_as_the_operand_that_leads_for_few_and_many_elements(text, size):
    rg.manual_seed(0)
    found = {}
    base, y = rg.rand(size + 1, size), rg.rand(size, size + 1)
    for order, copy in (("F", base.t()), ("C", base.t().contiguous())):
        x = copy.detach().requires_grad_()
        out = eval(text, {"rg": rg, "x": x, "y": y})
        (found[order],) = grad(out, x, rg.ones_like(out))
    assert found["F"].is_contiguous() == (LED[text] == "C")
    assert found["F"].t().is_contiguous() == (LED[text] == "F")
    rg.testing.assert_close(found["F"], found["C"])
