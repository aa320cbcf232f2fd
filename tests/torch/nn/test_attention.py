"""Attention by functions of positions, against PyTorch's numbers; the choice of kernels."""

from __future__ import annotations

import math

import numpy as np
import pytest
from retrograd.nn.attention import SDPBackend, sdpa_kernel
from retrograd.nn.attention.bias import (
    CausalBias,
    CausalVariant,
    causal_lower_right,
    causal_upper_left,
)
from retrograd.nn.attention.flex_attention import (
    AuxRequest,
    create_block_mask,
    create_mask,
    flex_attention,
    noop_mask,
    or_masks,
)

import retrograd as rg
from retrograd.autograd import gradcheck

F = rg.nn.functional


def drawn():
    """Queries, keys and values of fewer heads, and something to add to the scores."""
    rng = np.random.default_rng(0)
    shapes = [(2, 4, 5, 4), (2, 2, 5, 4), (2, 2, 5, 4), (4, 5, 5)]
    return [rg.tensor(rng.standard_normal(shape)) for shape in shapes]


Q, K, V, BIAS = drawn()


def score(s, b, h, q, k):
    return s.tanh() + BIAS[h, q, k]


def mask():
    shown = lambda b, h, q, k: (q >= k) & (q != 0) & ((b == 0) | (k > 1))
    return create_block_mask(shown, 2, None, 5, 5)


def test_scores_masks_and_shared_heads_give_pytorch_s_numbers():
    out, lse = flex_attention(Q, K, V, score, mask(), enable_gqa=True, return_lse=True)
    expected = [0.0, 1.2487765154600867, 0.5409667692526887, 0.0, 0.9447927021361349]
    np.testing.assert_allclose(out.flatten()[::7][:5].numpy(), expected, rtol=1e-12)
    expected = [-math.inf, 0.16257979184472093, 0.908206031362732, 0.9686520639183739]
    np.testing.assert_allclose(lse.flatten()[:4].numpy(), expected, rtol=1e-12)


def test_without_functions_it_is_scaled_dot_product_attention():
    found = flex_attention(Q, Q, Q, scale=0.3)
    np.testing.assert_allclose(
        found.numpy(), F.scaled_dot_product_attention(Q, Q, Q, scale=0.3).numpy(), rtol=1e-12
    )


def test_its_derivatives_reach_what_a_function_captures():
    bias = rg.randn(2, 3, 3, dtype=rg.float64, requires_grad=True)
    q = rg.randn(1, 2, 3, 2, dtype=rg.float64, requires_grad=True)
    causal = create_block_mask(lambda b, h, q, k: q >= k, None, None, 3, 3)
    assert gradcheck(
        lambda q, bias: flex_attention(q, q, q, lambda s, b, h, i, j: s + bias[h, i, j], causal),
        (q, bias),
    )


def test_a_request_gives_the_largest_scores():
    _, aux = flex_attention(Q, Q, Q, return_aux=AuxRequest(max_scores=True))
    assert aux.lse is None
    expected = (Q @ Q.mT / 2).amax(-1)
    np.testing.assert_allclose(aux.max_scores.numpy(), expected.numpy(), rtol=1e-14)


def test_a_mask_of_blocks_says_which_are_seen():
    causal = create_block_mask(lambda b, h, q, k: q >= k, None, None, 300, 300)
    assert causal.to_dense().tolist() == [[[[1, 0, 0], [1, 1, 0], [1, 1, 1]]]]
    assert causal.shape == (1, 1, 300, 300)
    assert causal.sparsity() == pytest.approx(-9.226666666666672)


def test_masks_are_joined():
    either = or_masks(lambda b, h, q, k: q == k, lambda b, h, q, k: k == 0)
    assert create_mask(either, None, 2, 2, 2)[0, 1].tolist() == [[True, False], [True, True]]
    assert create_mask(noop_mask, None, None, 1, 2).tolist() == [[[[True, True]]]]


def test_a_mask_for_fewer_positions_is_refused():
    with pytest.raises(ValueError, match=r"block_mask was created for .* but got q_len=5"):
        flex_attention(Q, Q, Q, block_mask=create_block_mask(noop_mask, None, None, 3, 5))


def test_a_mask_for_other_batches_and_heads_is_made_for_those_that_are_there():
    q, k, v = (rg.rand(3, 4, 6, 2) for _ in range(3))
    mask = create_block_mask(lambda b, h, i, j: i >= j + h - b, 2, 3, 6, 6)
    whole = create_block_mask(mask.mask_mod, 3, 4, 6, 6)
    found = flex_attention(q, k, v, block_mask=mask)
    rg.testing.assert_close(found, flex_attention(q, k, v, block_mask=whole))


def test_flex_attention_checks_dimensions_and_heads():
    q, k = rg.rand(1, 4, 6, 2), rg.rand(1, 2, 6, 2)
    with pytest.raises(ValueError, match="same number of heads"):
        flex_attention(q, k, k)
    with pytest.raises(NotImplementedError, match="must be 4D"):
        flex_attention(q[0], q, q)
    with pytest.raises(ValueError, match="multiple of kv heads"):
        flex_attention(q[:, :3], k, k, enable_gqa=True)
    with pytest.raises(ValueError, match="same embedding dimension"):
        flex_attention(q, q[..., :1], q)


def test_flex_attention_of_other_batches_of_keys_wants_a_mask_of_the_query_s():
    q, k = rg.rand(3, 1, 5, 2), rg.rand(1, 1, 5, 2)
    with pytest.raises(ValueError, match="same batch size"):
        flex_attention(q, k, k)
    with pytest.raises(ValueError, match="same batch size"):
        flex_attention(q, k, k, block_mask=create_block_mask(noop_mask, None, None, 5, 5))
    mask = create_block_mask(noop_mask, 3, None, 5, 5)
    expected = rg.nn.functional.scaled_dot_product_attention(q, k, k)
    rg.testing.assert_close(flex_attention(q, k, k, block_mask=mask), expected)


def test_the_choice_of_a_kernel_is_checked():
    with sdpa_kernel([SDPBackend.MATH, SDPBackend.FLASH_ATTENTION]):
        assert F.scaled_dot_product_attention(Q, Q, Q).shape == Q.shape
    with pytest.raises(TypeError, match="Backend must be an instance of SDPBackend"):
        sdpa_kernel("math").__enter__()


def test_causal_masks_lean_on_either_corner():
    assert causal_upper_left(2, 3).tolist() == [[True, False, False], [True, True, False]]
    assert causal_lower_right(2, 3).tolist() == [[True, True, False], [True, True, True]]
    query, rows = rg.ones(1, 2), rg.arange(6.0).reshape(3, 2)
    new = rg.nn.functional.scaled_dot_product_attention(query, rows, rows, causal_lower_right(1, 3))
    rg.testing.assert_close(new, rg.nn.functional.scaled_dot_product_attention(query, rows, rows))


def test_a_causal_mask_knows_how_it_was_made():
    mask = causal_lower_right(2, 3)
    assert (mask.variant, mask.seq_len_q, mask.seq_len_kv) == (CausalVariant.LOWER_RIGHT, 2, 3)
    assert (type(mask), type(~mask)) == (CausalBias, rg.Tensor)
    attended = F.scaled_dot_product_attention(rg.ones(2, 4), rg.ones(3, 4), rg.ones(3, 4), mask)
    assert type(attended) is rg.Tensor
    with pytest.warns(UserWarning, match="Lower right causal bias will produce NaNs"):
        causal_lower_right(3, 2)
    with pytest.raises(AssertionError, match="variant must be a CausalVariant, got int"):
        CausalBias(3, 2, 2)
    with pytest.raises(AssertionError, match="causal_upper_left only supports 2D"):
        causal_upper_left(2)


MASKS = {
    "causal": (lambda b, h, q, k: q >= k, None, None),
    "window": (lambda b, h, q, k: (q - k).abs() <= 1, None, None),
    "far apart": (lambda b, h, q, k: (k < 2) | (q == k), None, None),
    "by head": (lambda b, h, q, k: (q >= k) | (h == 1), None, 2),
    "by batch and head": (lambda b, h, q, k: (q + b >= k) & (k % 2 == h), 2, 2),
    "rows that see nothing": (lambda b, h, q, k: (q > 3) & (k == 5), None, None),
}


@pytest.mark.parametrize("size", [2, 3, (4, 2), 128])
@pytest.mark.parametrize("name", MASKS)
def test_blocks_that_are_left_out_change_no_value_and_no_gradient(name, size):
    rng = np.random.default_rng(1)
    q, k, v, bias = [
        rg.tensor(rng.standard_normal(shape), requires_grad=True)
        for shape in [(2, 2, 7, 3), (2, 2, 9, 3), (2, 2, 9, 2), (7, 9)]
    ]
    function, batches, heads = MASKS[name]
    blocks = create_block_mask(function, batches, heads, 7, 9, BLOCK_SIZE=size)
    out, aux = flex_attention(
        *(q, k, v, lambda s, b, h, i, j: s + bias[i, j] * (h + 1), blocks),
        return_aux=AuxRequest(lse=True, max_scores=True),
    )
    scores = q @ k.mT / 3**0.5 + bias * rg.tensor([1.0, 2.0])[:, None, None]
    hidden = ~create_mask(function, batches, heads, 7, 9).expand(2, 2, 7, 9)
    scores = scores.masked_fill(hidden, -math.inf)
    expected = rg.nan_to_num(scores.softmax(-1)) @ v
    np.testing.assert_allclose(out.detach().numpy(), expected.detach().numpy(), atol=1e-14)
    assert rg.allclose(aux.lse, scores.logsumexp(-1), rtol=1e-12)
    assert rg.allclose(aux.max_scores, scores.amax(-1), rtol=1e-12)
    seen = ~hidden.all(-1, keepdim=True)
    weight = rg.tensor(rng.standard_normal(out.shape)) * seen
    dense = (scores.masked_fill(~seen, 0.0).softmax(-1) * seen) @ v
    gradients = [rg.autograd.grad(y, [q, k, v, bias], weight) for y in (out, dense)]
    for found, right in zip(*gradients, strict=True):
        np.testing.assert_allclose(found.numpy(), right.numpy(), atol=1e-13)


def test_what_no_query_sees_may_be_anything():
    x = rg.ones(1, 1, 4, 2)
    v = rg.tensor([1.0, 2.0, math.nan, math.inf])[None, None, :, None]
    first = create_block_mask(lambda b, h, q, k: k < 2, None, None, 4, 4, BLOCK_SIZE=2)
    assert flex_attention(x, x, v, block_mask=first).flatten().tolist() == [1.5] * 4


def test_a_mask_of_blocks_has_numbers_and_indices_of_blocks_seen_in_part_and_whole():
    mask = create_block_mask(lambda b, h, q, k: q >= k, None, None, 6, 6, BLOCK_SIZE=2)
    assert mask.kv_num_blocks.tolist() == [[[1, 1, 1]]]
    assert mask.kv_indices.tolist() == [[[[0, 1, 2], [1, 0, 2], [2, 0, 1]]]]
    assert mask.full_kv_num_blocks.tolist() == [[[0, 1, 2]]]
    assert mask.full_q_num_blocks.tolist() == [[[2, 1, 0]]]
    assert mask.full_q_indices.tolist() == [[[[1, 2, 0], [2, 0, 1], [0, 1, 2]]]]
    assert mask.q_num_blocks.dtype is mask.q_indices.dtype is rg.int32
    with pytest.raises(AttributeError, match="nothing"):
        mask.nothing


def test_a_mask_of_blocks_is_drawn():
    mask = create_block_mask(lambda b, h, q, k: (q >= k) & (h > 0), 1, 2, 6, 6, BLOCK_SIZE=2)
    empty, corner = " " * 6, "██    \n████  \n██████\n"
    text = f"(0, 0)\n{empty}\n{empty}\n{empty}\n\n(0, 1)\n{corner}"
    assert str(mask) == f"BlockMask(shape=(1, 2, 6, 6), sparsity=66.67%, \n{text})"
    assert (
        mask.to_string(2, limit=1)
        == "(0, 0)\n    \n    \n\n...\nto_string(limit=...) draws more of them\n"
    )
    assert create_block_mask(noop_mask, 1, 1, 3, 3, BLOCK_SIZE=1).to_string(1) == "(0, 0)\n██\n"
    assert "\n    BLOCK_SIZE=(2, 2),\n" in repr(mask)


def test_masks_of_some_batches_and_heads_are_those_of_the_whole():
    mask = create_block_mask(lambda b, h, q, k: q >= k + b - h, 2, 3, 20, 20, BLOCK_SIZE=4)
    q = rg.rand(2, 3, 20, 4, dtype=rg.float64)
    whole = flex_attention(q, q, q, block_mask=mask)
    for index in (1, (0, 2), (slice(None), [2, 0]), (rg.tensor([1, 0]), -1)):
        places = rg.arange(6).reshape(2, 3)[index]
        chosen = mask[index]
        parts = q.flatten(0, 1)[places.reshape(-1)].unflatten(0, chosen.shape[:2])
        expected = whole.flatten(0, 1)[places.reshape(-1)].unflatten(0, chosen.shape[:2])
        found = flex_attention(parts, parts, parts, block_mask=chosen)
        np.testing.assert_allclose(found, expected, rtol=1e-12)
    with pytest.raises(NotImplementedError, match="batches and heads can be chosen"):
        mask[0, 0, 1]


def test_a_backend_is_printed_by_its_name():
    backend = rg.nn.attention.SDPBackend.MATH
    assert (str(backend), f"{backend}", int(backend)) == ("SDPBackend.MATH", "SDPBackend.MATH", 0)
