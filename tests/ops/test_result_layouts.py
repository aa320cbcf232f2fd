"""How results of transposed and expanded tensors lie in memory: as PyTorch 2.13 lays them out.

It decides whether `view`, `flatten` and `reshape` of a result share its memory.
"""

from __future__ import annotations

import pytest

import retrograd as rg
from retrograd.nn import functional as F

OF_ONE = {
    "kept": [
        lambda x: -x,
        lambda x: x + 1,
        lambda x: x * x,
        lambda x: (x > 1).add(rg.ones(1, 1)),
        lambda x: x.clone(),
        lambda x: x.flip(0),
        lambda x: x.to(rg.int64),
        lambda x: rg.where(x > 1, x, x),
    ],
    "in rows": [
        lambda x: x.roll(1, 0),
        lambda x: x.cumsum(0),
        lambda x: x.softmax(-1),
        lambda x: x.log_softmax(0),
        lambda x: x.masked_fill(x == 1, 2.0),
        lambda x: rg.cat([x, x]),
        lambda x: rg.stack([x, x]),
        lambda x: x.contiguous(),
        lambda x: x.tile(1),
        lambda x: x.repeat(1, 1),
        lambda x: F.layer_norm(x, x.shape[-1:]),
        lambda x: F.rms_norm(x, x.shape[-1:]),
    ],
}


@pytest.mark.parametrize("function", OF_ONE["kept"])
def test_elementwise_results_lie_as_their_transposed_input(function):
    assert function(rg.arange(6.0).reshape(2, 3).t()).stride() == (1, 3)


@pytest.mark.parametrize("function", OF_ONE["in rows"])
def test_other_results_lie_in_rows(function):
    assert function(rg.arange(6.0).reshape(2, 3).t()).is_contiguous()


@pytest.mark.parametrize("function", [*OF_ONE["kept"], *OF_ONE["in rows"], F.relu, rg.sigmoid])
def test_results_of_expanded_tensors_lie_in_rows(function):
    assert function(rg.arange(3.0).expand(2, 3)).is_contiguous()


@pytest.mark.parametrize("dim", [0, -1])
def test_a_number_flips_to_itself(dim):
    x = rg.tensor(1.5, requires_grad=True)
    y = x.flip(dim)
    y.backward()
    assert (y.item(), x.grad.item()) == (1.5, 1.0)
    with pytest.raises(IndexError, match="Dimension out of range"):
        x.flip(1)
