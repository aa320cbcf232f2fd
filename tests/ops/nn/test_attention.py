"""Attention: rows that see nothing, by values from PyTorch 2.13; and without matrices of scores."""

from __future__ import annotations

import math
import tracemalloc

import numpy as np
import pytest

import retrograd as rg
from retrograd.kernels.native import loops, threads
from retrograd.ops.nn import attention

F = rg.nn.functional
MASK = rg.tensor([[True, False, True], [False, False, False], [True, True, True]])
ADDED = rg.zeros(3, 3, dtype=rg.float64).masked_fill(~MASK, -math.inf)


@pytest.mark.parametrize("mask", [MASK, ADDED], ids=["boolean", "added"])
def test_a_row_that_sees_nothing_is_0_and_leaves_all_gradients_finite(mask):
    q = rg.ones(1, 3, 2, dtype=rg.float64, requires_grad=True)
    out = F.scaled_dot_product_attention(q, q, q, attn_mask=mask)
    assert out.tolist() == [[[1.0, 1.0], [0.0, 0.0], [1.0, 1.0]]]
    out.pow(2).sum().backward()
    row, blind = [5 / 3] * 2, [2 / 3] * 2
    rg.testing.assert_close(q.grad, rg.tensor([[row, blind, row]], dtype=rg.float64))


def test_so_it_is_under_vmap():
    q = rg.ones(2, 3, 2, dtype=rg.float64)
    masks = rg.stack([MASK, ~MASK])
    found = rg.func.vmap(lambda q, m: F.scaled_dot_product_attention(q, q, q, attn_mask=m))(
        q, masks
    )
    assert found[:, :, 0].tolist() == [[1.0, 0.0, 1.0], [1.0, 1.0, 0.0]]


def test_complex_rows_that_see_nothing_are_0():
    q = rg.ones(3, 2, dtype=rg.complex128)
    out = F.scaled_dot_product_attention(q, q, q, attn_mask=MASK)
    assert out[1].tolist() == [0j, 0j]


def drawn(*shape, dtype=rg.float64):
    rg.manual_seed(len(shape))
    return [rg.randn(*shape, dtype=dtype, requires_grad=True) for _ in range(3)]


def composed(q, k, v, bias):
    """The same by matrices; NumPy's in float64."""
    q, k, v = (t.detach().numpy().astype(np.float64) for t in (q, k, v))
    scores = q @ np.swapaxes(k, -1, -2) / math.sqrt(q.shape[-1]) + bias
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    slopes = np.swapaxes(v, -1, -2)
    slopes = weights * (
        np.cos(weights @ v) @ slopes - (np.cos(weights @ v) * (weights @ v)).sum(-1, keepdims=True)
    )
    slopes /= math.sqrt(q.shape[-1])
    turned = [np.swapaxes(m, -1, -2) for m in (slopes, weights)]
    return weights @ v, slopes @ k, turned[0] @ q, turned[1] @ np.cos(weights @ v)


@pytest.mark.parametrize(("dtype", "eps"), [(rg.float32, 2e-6), (rg.float64, 4e-15)])
@pytest.mark.parametrize("masked", ["no", "causal", "boolean", "added"])
@pytest.mark.parametrize(
    ("heads", "rows", "columns", "width"),
    [((), 3, 5, 2), ((2, 3), 70, 130, 33), ((1,), 600, 530, 8), ((2,), 1030, 40, 100)],
)
def test_attention_equals_its_matrices(heads, rows, columns, width, masked, dtype, eps):
    q, k, v = drawn(*heads, max(rows, columns), width, dtype=dtype)
    q = q[..., :rows, :].detach().requires_grad_()
    k, v = (t[..., :columns, :].detach().requires_grad_() for t in (k, v))
    mask, bias = None, 0.0
    if masked == "causal":
        bias = np.where(np.tri(rows, columns, dtype=bool), 0.0, -np.inf)
    elif masked == "boolean":
        mask = rg.arange(rows)[:, None] % 3 != rg.arange(columns) % 3
        bias = np.where(mask.numpy(), 0.0, -np.inf)
    elif masked == "added":
        mask = rg.randn(rows, columns, dtype=dtype)
        mask[:, 1] = -math.inf
        bias = mask.numpy()
    out = F.scaled_dot_product_attention(q, k, v, mask, is_causal=masked == "causal")
    expected = composed(q, k, v, bias)
    out.backward(rg.tensor(np.cos(expected[0]), dtype=dtype))
    for found, wanted in zip((out, q.grad, k.grad, v.grad), expected, strict=True):
        scale = max(1, np.abs(wanted).max())
        np.testing.assert_allclose(found.detach().numpy(), wanted, rtol=0, atol=8 * eps * scale)


def by_matrices(q, k, v, mask, p):
    """The same as a composition, which draws its mask in one call."""
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    return F.dropout((scores if mask is None else scores + mask).softmax(-1), p) @ v


@pytest.mark.parametrize(("dtype", "eps"), [(rg.float32, 4e-6), (rg.float64, 1e-14)])
@pytest.mark.parametrize("p", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("mask", [None, (70, 130), (1, 130), (70, 1), (3, 70, 130), (2, 1, 1, 130)])
def test_dropout_and_masks_with_gradients_equal_their_matrices(mask, p, dtype, eps):
    q, k, v = drawn(2, 3, 130, 33, dtype=dtype)
    given = [q[..., :70, :].detach().requires_grad_(), k, v]
    if mask is not None:
        given.append(rg.randn(*mask, dtype=dtype, requires_grad=True))
    found = []
    for function in (F.scaled_dot_product_attention, by_matrices):
        rg.manual_seed(7)
        out = function(*given[:3], given[3] if mask else None, p)
        gradients = rg.autograd.grad(out, given, rg.ones_like(out) * 0.5)
        found.append([out.detach(), *gradients, rg.rand(3)])  # the stream goes on at one place
    for one, two in zip(*found, strict=True):
        assert one.dtype == two.dtype
        rg.testing.assert_close(one, two, rtol=0, atol=eps * max(1, float(two.abs().max())))


@pytest.fixture(params=[0, 1 << 40], ids=["large", "small"])
def size(request, monkeypatch):
    """Attention with dropout as for many scores, and as for few."""
    monkeypatch.setattr(attention, "MANY", request.param)


@pytest.mark.usefixtures("size")
@pytest.mark.parametrize("rows", [64, 100, 1100])
def test_the_mask_of_dropout_is_drawn_row_by_row(rows):
    q = rg.zeros(2, rows, 1)
    k, v = rg.zeros(2, 5, 1), rg.ones(2, 5, 1)
    rg.manual_seed(3)
    found = F.scaled_dot_product_attention(q, k, v, dropout_p=0.4)
    rg.manual_seed(3)
    kept = F.dropout(rg.ones(2, rows, 5), 0.4)
    rg.testing.assert_close(found, kept.mean(-1, keepdim=True))


@pytest.mark.usefixtures("size")
def test_grouped_heads_drop_their_weights_and_are_causal():
    q = rg.randn(1, 4, 6, 3, dtype=rg.float64)
    k, v = (rg.randn(1, 2, 6, 3, dtype=rg.float64) for _ in range(2))
    rg.manual_seed(5)
    found = F.scaled_dot_product_attention(q, k, v, dropout_p=0.5, is_causal=True, enable_gqa=True)
    hidden = rg.zeros(6, 6, dtype=rg.float64).masked_fill(~rg.ones(6, 6).tril().bool(), -math.inf)
    rg.manual_seed(5)
    k, v = (t.repeat_interleave(2, 1) for t in (k, v))
    rg.testing.assert_close(found, by_matrices(q, k, v, hidden, 0.5), rtol=0, atol=1e-14)


@pytest.mark.usefixtures("size")
@pytest.mark.parametrize("p", [0.0, 0.4])
@pytest.mark.parametrize("mask", [(4, 5), (2, 1, 5), (2, 4, 1)])
def test_second_derivatives_with_dropout_and_masks_are_right(mask, p):
    rg.manual_seed(1)
    given = [rg.randn(2, n, 3, dtype=rg.float64, requires_grad=True) for n in (4, 5, 5)]
    given.append(rg.randn(*mask, dtype=rg.float64, requires_grad=True))

    def attend(q, k, v, mask):
        rg.manual_seed(3)
        return F.scaled_dot_product_attention(q, k, v, mask, p)

    assert rg.autograd.gradcheck(attend, given)
    assert rg.autograd.gradgradcheck(attend, given)


def test_its_second_derivatives_are_right():
    q, k, v = drawn(2, 4, 3)
    for causal in (False, True):
        assert rg.autograd.gradgradcheck(
            lambda q, k, v, causal=causal: F.scaled_dot_product_attention(
                q, k, v, is_causal=causal
            ),
            (q, k, v),
        )


@pytest.mark.skipif(loops is None, reason="NumPy makes a matrix of scores")
def test_memory_grows_with_the_length_not_with_its_square():
    q, k, v = drawn(1, 4096, 16, dtype=rg.float32)
    tracemalloc.start()
    F.scaled_dot_product_attention(q, k, v, is_causal=True).sum().backward()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4096 * 4096 * 4 / 10


def peak_of(length, heads, mask, p):
    """The most bytes at once of a pass there and back, without what is given."""
    q, k, v = drawn(heads, length, 16, dtype=rg.float32)
    mask = rg.zeros(length, length, requires_grad=True) if mask else None
    tracemalloc.start()
    F.scaled_dot_product_attention(q, k, v, mask, p).sum().backward()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


@pytest.mark.skipif(loops is None, reason="NumPy makes a matrix of scores")
def test_so_it_does_with_dropout():
    peak_of(64, 1, False, 0.2)  # what is made once
    assert peak_of(4096, 1, False, 0.2) < 4.2 * peak_of(1024, 1, False, 0.2)


@pytest.mark.skipif(loops is None, reason="NumPy makes a matrix of scores")
@pytest.mark.parametrize("p", [0.0, 0.2])
def test_the_gradient_of_a_mask_that_heads_share_takes_no_memory_for_each_of_them(p):
    matrix = 4 * 1024 * 1024
    assert peak_of(1024, 16, True, p) < 4 * matrix


@pytest.mark.skipif(loops is None, reason="the pool is in C")
def test_its_bits_do_not_depend_on_the_number_of_threads():
    found = []
    for count in (1, 2):
        q, k, v = drawn(2, 1100, 16, dtype=rg.float32)
        mask = rg.randn(1100, 1100, requires_grad=True)
        before = threads.threads()
        threads.set_threads(count)
        try:
            out = F.scaled_dot_product_attention(q, k, v, mask, 0.1)
            out.backward(out.detach())
        finally:
            threads.set_threads(before)
        found.append([t.numpy() for t in (out.detach(), q.grad, k.grad, v.grad, mask.grad)])
    for one, two in zip(*found, strict=True):
        np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("number", [math.nan, math.inf])
def test_what_is_not_a_number_stays_in_its_row(number):
    q, k, v = (t.detach() for t in drawn(3, 2))
    q[1, 0] = number
    out = F.scaled_dot_product_attention(q, k, v)
    assert out[1].isnan().all()
    assert out[::2].isfinite().all()


def test_scores_without_bounds_do_not_overflow():
    q, k, v = (t.detach() for t in drawn(200, 2))
    out = F.scaled_dot_product_attention(q * 1e4, k * 1e4, v)
    rg.testing.assert_close(out, v[(q @ k.T).argmax(1)])


def test_a_mask_with_a_gradient_gets_it():
    q, k, v = drawn(4, 3)
    mask = rg.zeros(4, 4, dtype=rg.float64, requires_grad=True)
    assert rg.autograd.gradcheck(F.scaled_dot_product_attention, (q, k, v, mask))


def test_a_mask_has_a_forward_derivative():
    rg.manual_seed(0)
    q, k, v = [rg.randn(1, 2, n, 4, dtype=rg.float64) for n in (3, 5, 5)]
    mask, d = [rg.randn(3, 5, dtype=rg.float64) for _ in range(2)]

    def attend(mask):
        return rg.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)

    step = 1e-6
    expected = (attend(mask + step * d) - attend(mask - step * d)) / (2 * step)
    for found in (rg.func.jvp(attend, (mask,), (d,))[1], rg.func.linearize(attend, mask)[1](d)):
        rg.testing.assert_close(found, expected, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("dtype", [rg.int64, rg.uint8, rg.float64, rg.complex64])
def test_masks_that_would_be_added_by_mistake_are_refused(dtype):
    q = rg.ones(1, 2, 4)
    with pytest.raises(RuntimeError, match="attn_mask dtype"):
        rg.nn.functional.scaled_dot_product_attention(q, q, q, rg.ones(2, 2, dtype=dtype))


@pytest.mark.parametrize("dtype", [rg.float16, rg.bfloat16, rg.float64])
def test_a_float32_mask_leaves_the_dtype_of_the_query(dtype):
    q = rg.randn(1, 2, 4).to(dtype)
    out = rg.nn.functional.scaled_dot_product_attention(q, q, q, rg.zeros(2, 2))
    assert out.dtype == dtype
    plain = rg.nn.functional.scaled_dot_product_attention(q, q, q)
    rg.testing.assert_close(out, plain)


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize(("columns", "width"), [(1, 1), (3, 2), (1, 2)])
def test_no_queries_have_no_result_and_keys_a_gradient_of_0(columns, width, masked):
    q = rg.zeros(2, 0, width, requires_grad=True)
    k = rg.ones(2, columns, width, requires_grad=True)
    v = rg.ones(2, columns, width, requires_grad=True)
    mask = rg.zeros(2, 0, columns, requires_grad=True) if masked else None
    out = F.scaled_dot_product_attention(q, k, v, mask)
    assert out.shape == q.shape
    out.sum().backward()
    assert q.grad.shape == q.shape
    assert k.grad.tolist() == v.grad.tolist() == rg.zeros(2, columns, width).tolist()


def test_attention_without_features_is_the_mean_and_heads_must_divide():
    v = rg.tensor([[[1.0], [3.0]]])
    out = rg.nn.functional.scaled_dot_product_attention(rg.ones(1, 1, 0), rg.ones(1, 2, 0), v)
    assert out.tolist() == [[[2.0]]]
    q = rg.ones(1, 4, 2, 3)
    for heads in (0, 3, 8):
        k = rg.ones(1, heads, 2, 3)
        with pytest.raises(RuntimeError, match="must divide"):
            rg.nn.functional.scaled_dot_product_attention(q, k, k, enable_gqa=True)


def in_rows_of_heads(length, width=6, dtype=rg.float64):
    """(2, heads, length, width), a view of memory in which the heads of a position lie together."""
    return rg.randn(2, length, 3, width, dtype=rg.float64).to(dtype).transpose(1, 2)


WAYS = [{}, {"is_causal": True}, {"attn_mask": MASK}, {"attn_mask": MASK[::2]}, {"scale": 0.5}]


@pytest.mark.parametrize("dtype", [rg.float64, rg.float32, rg.bfloat16, rg.float16])
@pytest.mark.parametrize("way", WAYS, ids=str)
def test_the_result_lies_in_memory_as_a_transposed_query_does(way, dtype):
    rg.manual_seed(0)
    rows = 2 if way.get("attn_mask") is WAYS[3]["attn_mask"] else 3
    q, k, v = (in_rows_of_heads(n, dtype=dtype) for n in (rows, 3, 3))
    out = F.scaled_dot_product_attention(q, k, v, **way)
    assert out.stride() == (18 * rows, 6, 18, 1)
    plain = F.scaled_dot_product_attention(q.contiguous(), k, v, **way)
    assert plain.is_contiguous()
    assert rg.equal(out, plain)


@pytest.mark.parametrize("heads", [1, 3])
@pytest.mark.parametrize("rows", [1, 4])
def test_heads_are_joined_by_a_view_of_the_result(heads, rows):
    q = drawn(2, rows, heads, 5)[0].transpose(1, 2)
    out = F.scaled_dot_product_attention(q, q, q)
    joined = out.transpose(1, 2).view(2, rows, heads * 5)
    assert joined.tolist() == out.permute(0, 2, 1, 3).flatten(2).tolist()
    assert F.scaled_dot_product_attention(*drawn(2, heads, rows, 5)).is_contiguous()


@pytest.mark.usefixtures("size")
@pytest.mark.parametrize("way", [{}, {"is_causal": True}, {"dropout_p": 0.4}], ids=str)
def test_gradients_are_the_same_however_the_query_lies_in_memory(way):
    found = []
    bias = rg.randn(3, 70, 70, dtype=rg.float64).requires_grad_()
    given = {"attn_mask": bias} if "is_causal" not in way else {}
    q, k, v = (t.transpose(1, 2) for t in drawn(2, 70, 3, 9))
    for query in (q, q.contiguous()):
        rg.manual_seed(1)
        out = F.scaled_dot_product_attention(query, k, v, **given, **way)
        leaves = [query, k, v, *given.values()]
        found.append(rg.autograd.grad(out.cos().sum(), leaves, retain_graph=True))
    for one, other in zip(*found, strict=True):
        assert rg.equal(one, other)


def test_derivatives_of_transposed_operands_are_right_to_second_order():
    q, k, v = (t.transpose(1, 2) for t in drawn(1, 3, 2, 2))
    assert rg.autograd.gradcheck(F.scaled_dot_product_attention, (q, k, v))
    assert rg.autograd.gradgradcheck(F.scaled_dot_product_attention, (q, k, v))


def test_masks_of_two_dtypes_are_warned_of():
    layer, x = rg.nn.MultiheadAttention(4, 2), rg.ones(3, 1, 4)
    padding, scores = rg.tensor([[False, True, False]]), rg.zeros(3, 3)
    with pytest.warns(UserWarning, match="mismatched key_padding_mask and attn_mask") as caught:
        found = layer(x, x, x, key_padding_mask=padding, attn_mask=scores)[0]
    assert [w.filename for w in caught] == [__file__]
    rg.testing.assert_close(found, layer(x, x, x, key_padding_mask=padding)[0])
