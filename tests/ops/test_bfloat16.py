"""bfloat16 through ml_dtypes: conversions, promotion, arithmetic, gradients; what is missing."""

import pickle
import sys

import numpy as np
import pytest

import retrograd as rg
from retrograd import dtypes
from retrograd.autograd import grad
from retrograd.nn import functional as F

ml_dtypes = pytest.importorskip("ml_dtypes", reason="it has the dtype")


def leaf(*values):
    return rg.tensor(list(values), dtype=rg.bfloat16, requires_grad=True)


def test_the_dtype_is_a_real_floating_one():
    assert repr(rg.bfloat16) == "retrograd.bfloat16"
    assert rg.bfloat16.is_floating_point
    assert not rg.bfloat16.is_complex
    assert rg.bfloat16.itemsize == 2
    assert rg.finfo(rg.bfloat16).eps == 2**-7
    assert rg.tensor(np.ones(1, ml_dtypes.bfloat16)).dtype is rg.bfloat16
    assert pickle.loads(pickle.dumps(rg.bfloat16)) is rg.bfloat16


@pytest.mark.parametrize(
    ("other", "result"),
    [
        (rg.bool, "bfloat16"),
        (rg.int64, "bfloat16"),
        (rg.float16, "float32"),
        (rg.float32, "float32"),
        (rg.float64, "float64"),
        (rg.complex64, "complex64"),
    ],
)
def test_promotion_is_that_of_pytorch(other, result):
    assert rg.promote_types(rg.bfloat16, other) is getattr(rg, result)
    assert rg.promote_types(other, rg.bfloat16) is getattr(rg, result)
    assert (rg.ones(1).bfloat16() + rg.ones(1).to(other)).dtype is getattr(rg, result)


@pytest.mark.parametrize("dtype", [rg.float64, rg.float32, rg.complex64])
@pytest.mark.filterwarnings("ignore::retrograd.errors.ComplexWarning")
def test_conversion_there_and_back_carries_gradients_of_each_dtype(dtype):
    x = rg.tensor([1.0, 2.5], dtype=dtype, requires_grad=True)
    y = x.bfloat16()
    assert y.tolist() == [1.0, 2.5]
    (g,) = grad((y * y).sum(), x)
    assert (g.dtype, g.tolist()) == (dtype, [2.0, 5.0])
    assert y.to(dtype).dtype is dtype
    assert rg.tensor([True, False]).bfloat16().tolist() == [1.0, 0.0]


def test_numbers_are_rounded_to_eight_bits():
    assert rg.tensor([1 + 2**-8 + 2**-9]).bfloat16().item() == 1 + 2**-7
    assert rg.tensor([3e38]).bfloat16().isfinite().item()


@pytest.mark.parametrize(
    "function",
    [rg.exp, rg.sin, rg.sqrt, rg.sigmoid, rg.erf, rg.digamma, rg.abs, rg.relu, rg.sum, rg.mean,
     lambda x: x @ x, lambda x: x.softmax(0), lambda x: x**2, lambda x: x / 3, rg.amax],
)  # fmt: skip
def test_functions_keep_the_dtype_and_nearly_the_values_and_derivatives(function):
    narrow, wide = leaf(0.5, 1.25, 2.0), rg.tensor([0.5, 1.25, 2.0], requires_grad=True)
    found, expected = function(narrow), function(wide)
    assert found.dtype is rg.bfloat16
    np.testing.assert_allclose(found.float().tolist(), expected.tolist(), rtol=2**-7)
    (one,), (other,) = grad(found.sum(), narrow), grad(expected.sum(), wide)
    assert one.dtype is rg.bfloat16
    np.testing.assert_allclose(one.tolist(), other.tolist(), rtol=0.02, atol=1e-3)


def test_it_prints_as_pytorch_does():
    assert repr(rg.ones(2).bfloat16()) == "tensor([1., 1.], dtype=retrograd.bfloat16)"


def test_without_ml_dtypes_the_error_names_the_extra(monkeypatch):
    monkeypatch.delitem(dtypes._by_name, "bfloat16", raising=False)
    monkeypatch.delitem(sys.modules, "retrograd.dtypes.bfloat16", raising=False)
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    with pytest.raises(AttributeError, match=r"pip install retrograd\[bfloat16\]"):
        rg.bfloat16
    with pytest.raises(AttributeError, match=r"pip install retrograd\[bfloat16\]"):
        rg.ones(1).bfloat16()


def test_half_precision_complex_numbers_are_refused():
    with pytest.raises(TypeError, match="Use complex64"):
        rg.ones(1).chalf()
    with pytest.raises(TypeError, match="complex32 is not supported"):
        rg.ones(1, dtype=rg.complex32)
    with pytest.raises(TypeError, match="complex32 is not supported"):
        rg.ones(1).to(rg.complex32)


def test_half_precision_complex_numbers_can_be_named():
    assert rg.complex32 is rg.chalf
    assert isinstance(rg.complex32, rg.dtype)
    assert rg.complex32.is_complex
    assert rg.ones(1).dtype not in (rg.complex32, rg.complex64)
    assert pickle.loads(pickle.dumps(rg.complex32)) is rg.complex32


@pytest.mark.parametrize("name", ["qint8", "quint8", "qint32", "quint4x2", "quint2x4"])
def test_quantized_dtypes_can_be_named(name):
    kind = getattr(rg, name)
    assert repr(kind) == f"retrograd.{name}"
    assert rg.ones(1, dtype=rg.int8).dtype != kind
    assert not kind.is_floating_point
    assert not kind.is_complex
    with pytest.raises(TypeError, match=f"{name} is not supported: NumPy has no quantized"):
        rg.ones(1).to(kind)


def test_factories_and_losses_know_it():
    rg.manual_seed(0)
    assert rg.arange(0, 1, 0.25, dtype=rg.bfloat16).tolist() == [0, 0.25, 0.5, 0.75]
    drawn = rg.rand(2000, dtype=rg.bfloat16)
    assert drawn.dtype is rg.bfloat16
    assert 0 <= drawn.min().item() < drawn.max().item() < 1
    assert rg.randn(3, dtype=rg.bfloat16).dtype is rg.bfloat16
    ones, zeros = rg.ones(2, 3, dtype=rg.bfloat16), rg.zeros(2, 3, dtype=rg.bfloat16)
    loss = rg.nn.functional.mse_loss(ones, zeros)
    assert (loss.dtype, loss.item()) == (rg.bfloat16, 1.0)
    loss = rg.nn.functional.cross_entropy(ones, rg.tensor([0, 1]))
    assert loss.dtype is rg.bfloat16
    assert loss.item() == pytest.approx(1.0986, rel=2**-7)


X, HALF = rg.tensor([[1.0, 2.0], [3.0, 5.0]]), rg.tensor([[0.25, 0.5], [0.5, 0.75]])
KEEPERS = {
    "dropout": lambda x, p: F.dropout(x, 1.0),
    "bmm": lambda x, p: x[None] @ x[None],
    "attention": lambda x, p: F.scaled_dot_product_attention(x[None], x[None], x[None]),
    "binary_cross_entropy": lambda x, p: F.binary_cross_entropy(p, p),
    "gaussian_nll_loss": lambda x, p: F.gaussian_nll_loss(x, x, p),
    "addcdiv": lambda x, p: rg.addcdiv(x, x, p),
    "layer_norm": lambda x, p: F.layer_norm(x, (2,)),
    "rms_norm": lambda x, p: F.rms_norm(x, (2,)),
    "group_norm": lambda x, p: F.group_norm(x[None], 1),
    "instance_norm": lambda x, p: F.instance_norm(x[None]),
    "batch_norm": lambda x, p: F.batch_norm(x, None, None, training=True),
    "batch_norm_running": lambda x, p: F.batch_norm(x, rg.zeros(2), rg.ones(2)),
    "max_pool1d": lambda x, p: F.max_pool1d(x[None], 2),
    "cosine_similarity": lambda x, p: F.cosine_similarity(x, p),
    "cross_entropy": lambda x, p: F.cross_entropy(x, p),
    "huber_loss": lambda x, p: F.huber_loss(x, p),
    "floor": lambda x, p: (x * p).floor(),
    "custom": lambda x, p: Doubled.apply(x),
}


class Doubled(rg.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * 2


@pytest.mark.parametrize("name", KEEPERS)
def test_function_and_gradient_have_the_dtype_and_the_digits_of_bfloat16(name):
    x, p = X.bfloat16().requires_grad_(), HALF.bfloat16()
    exact = X.clone().requires_grad_()
    y, wanted = KEEPERS[name](x, p), KEEPERS[name](exact, HALF)
    assert y.dtype is rg.bfloat16
    assert rg.allclose(y.float(), wanted, rtol=2**-7, atol=1e-6)
    if y.requires_grad:
        y.sum().backward()
        wanted.sum().backward()
        assert x.grad.dtype is rg.bfloat16
        assert rg.allclose(x.grad.float(), exact.grad, rtol=2**-6, atol=2e-3)


def test_infinities_become_the_largest_numbers_of_bfloat16():
    x = rg.tensor([float("inf"), -float("inf"), float("nan")], dtype=rg.bfloat16)
    most = rg.finfo(rg.bfloat16).max
    assert x.nan_to_num().tolist() == [most, -most, 0.0]


def test_missing_numbers_are_sorted_behind_all_others():
    x = rg.tensor([3.0, float("nan"), 1.0, 2.0, float("nan"), -1.0])
    few = x.bfloat16()
    assert few.argsort().tolist() == [5, 2, 3, 0, 1, 4]
    assert few.argsort(descending=True).tolist() == [1, 4, 0, 3, 2, 5]
    assert few.kthvalue(4).indices.item() == 0
    assert few.nanmedian(0).indices.item() == 2
    assert few.topk(4, largest=False).values.tolist() == [-1.0, 1.0, 2.0, 3.0]
    assert rg.unique(few)[:4].tolist() == [-1.0, 1.0, 2.0, 3.0]
    assert rg.searchsorted(few.sort().values, rg.tensor([2.5]).bfloat16()).item() == 3


@pytest.mark.parametrize(
    "shapes", [((2, 3), (3, 2)), ((2, 3), (3,)), ((3,), (3,)), ((2, 2, 3), (2, 3, 2))]
)
def test_products_without_data_keep_the_dtype(shapes):
    a, b = (rg.ones(shape, dtype=rg.bfloat16, device="meta") for shape in shapes)
    assert (a @ b).dtype is rg.bfloat16


def test_a_layer_without_data_keeps_the_dtype():
    layer = rg.nn.Linear(3, 2, dtype=rg.bfloat16, device="meta")
    assert layer(rg.ones(1, 3, dtype=rg.bfloat16, device="meta")).dtype is rg.bfloat16
