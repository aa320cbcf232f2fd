"""Operations counted by `FlopCounterMode`; the numbers are PyTorch's."""

from __future__ import annotations

import pytest
from retrograd.nn.attention.flex_attention import create_block_mask, flex_attention

import retrograd as rg
from retrograd.nn import functional as F
from retrograd.torch.utils.flop_counter import FlopCounterMode


def counted(function):
    with FlopCounterMode(display=False) as counter:
        function()
    return counter.get_total_flops()


@pytest.fixture
def net():
    return rg.nn.Sequential(
        rg.nn.Conv2d(3, 4, 3), rg.nn.ReLU(), rg.nn.Flatten(), rg.nn.Linear(64, 5)
    )


@pytest.mark.parametrize(
    ("function", "flops"),
    [
        (lambda: rg.bmm(rg.ones(3, 4, 8), rg.ones(3, 8, 4)), 768),
        (lambda: rg.baddbmm(rg.zeros(3, 4, 4), rg.ones(3, 4, 8), rg.ones(3, 8, 4)), 768),
        (lambda: rg.ones(2, 3, 4, 8) @ rg.ones(8, 2), 768),
        (lambda: rg.addmm(rg.zeros(2, 2), rg.ones(2, 3), rg.ones(3, 2)), 24),
        (lambda: rg.einsum("ij,jk->ik", rg.ones(2, 3), rg.ones(3, 4)), 48),
        (lambda: F.conv2d(rg.ones(2, 4, 5, 5), rg.ones(6, 2, 3, 3), groups=2, stride=2), 1728),
        (lambda: F.conv_transpose1d(rg.ones(1, 2, 5), rg.ones(2, 3, 2)), 120),
        (lambda: F.conv_transpose2d(rg.ones(1, 4, 5, 5), rg.ones(4, 3, 2, 2), groups=2), 2400),
        (lambda: rg.nn.LSTM(2, 3)(rg.ones(4, 2, 2)), 384 + 576),
        (lambda: rg.mv(rg.ones(2, 3), rg.ones(3)), 0),
    ],
)
def test_products_count_a_multiplication_and_an_addition(function, flops):
    assert counted(function) == flops


def test_attention_counts_its_two_products():
    q = rg.ones(2, 3, 4, 8)
    assert counted(lambda: F.scaled_dot_product_attention(q, q, q)) == 2 * (2 * 2 * 3 * 4 * 4 * 8)


def test_a_backward_counts_a_product_for_each_gradient(net):
    x = rg.ones(2, 3, 6, 6)
    assert counted(lambda: net(x).sum().backward()) == 17664
    x.requires_grad_()
    assert counted(lambda: net(x).sum().backward()) == 24576
    assert counted(lambda: rg.autograd.grad(net(x).sum(), x, create_graph=True)) == 16384


def test_nothing_is_recorded_for_gradients_where_none_is_wanted(net):
    with rg.no_grad():
        assert counted(lambda: net(rg.ones(2, 3, 6, 6))) == 8192


def test_counts_are_told_by_module(net):
    with FlopCounterMode(display=False) as counter:
        net(rg.ones(2, 3, 6, 6))
    assert counter.get_flop_counts() == {
        "Global": {"conv": 6912, "linear": 1280},
        "Sequential": {"conv": 6912, "linear": 1280},
        "Sequential.0": {"conv": 6912},
        "Sequential.3": {"linear": 1280},
    }


def test_a_table_is_printed_at_the_end(net, capsys):
    with FlopCounterMode(depth=0):
        net(rg.ones(2, 3, 6, 6))
    assert [line.split() for line in capsys.readouterr().out.splitlines()] == [
        ["module", "FLOP", "%", "total"],
        ["Global", "8.192K", "100.00%"],
        ["Sequential", "8.192K", "100.00%"],
    ]


def test_the_counter_is_found_by_its_module_without_an_import():
    assert rg.utils.flop_counter.FlopCounterMode is FlopCounterMode


def test_only_blocks_that_are_seen_are_computed():
    q = rg.randn(1, 1, 8, 4, requires_grad=True)
    blocks = create_block_mask(lambda b, h, i, j: i >= j, None, None, 8, 8, BLOCK_SIZE=2)
    counted = {}
    for mask in (None, blocks):
        with FlopCounterMode(display=False) as counter:
            flex_attention(q, q, q, block_mask=mask).sum().backward()
        counted[mask] = counter.get_total_flops()
    assert counted[blocks] * 16 == counted[None] * 10
