"""Embeddings, bags, one-hot vectors. Values: `tests/nn/test_functional.py`."""

import math

import numpy as np
import pytest

import retrograd as rg
import retrograd.nn.functional as F
from retrograd.autograd import grad

TABLE = np.arange(12.0).reshape(4, 3)


def table(dtype=rg.float64):
    return rg.tensor(TABLE, dtype=dtype, requires_grad=True)


def test_repeated_rows_add_up_and_padding_gets_nothing():
    w = table()
    out = F.embedding(rg.tensor([1, 2, 1, 3]), w, padding_idx=-1)
    assert grad(out.sum(), w)[0].tolist() == [[0.0] * 3, [2.0] * 3, [1.0] * 3, [0.0] * 3]


def test_gradients_by_frequency_are_averages():
    w = table()
    out = F.embedding(rg.tensor([1, 2, 1]), w, scale_grad_by_freq=True)
    assert grad(out.sum(), w)[0].tolist() == [[0.0] * 3, [1.0] * 3, [1.0] * 3, [0.0] * 3]


def test_embeddings_may_be_complex():
    w = (table() * 1j).detach().requires_grad_()
    out = F.embedding(rg.tensor([1, 1]), w)
    (g,) = grad((out.abs() ** 2).sum(), w)
    np.testing.assert_allclose(g.numpy()[1], 4 * w.detach().numpy()[1], rtol=1e-14)


def test_rows_of_too_large_a_norm_are_scaled_down_in_place():
    w = rg.tensor([[3.0, 4.0], [0.3, 0.4], [30.0, 40.0]])
    out = F.embedding(rg.tensor([0, 1]), w, max_norm=1.0)
    np.testing.assert_allclose(out.numpy(), [[0.6, 0.8], [0.3, 0.4]], rtol=1e-6)
    assert (w[2].tolist(), w._version) == ([30.0, 40.0], 1)


def test_bags_take_their_table_first_with_a_warning():
    w, x = table(), rg.tensor([1, 2, 3])
    with pytest.warns(UserWarning, match="Argument order of nn.functional.embedding_bag was chan"):
        turned = F.embedding_bag(w, x, rg.tensor([0, 2]))
    assert turned.tolist() == F.embedding_bag(x, w, rg.tensor([0, 2])).tolist()


def test_empty_bags_give_zeros():
    for mode in ("sum", "mean", "max"):
        out = F.embedding_bag(rg.tensor([1, 2]), table(), rg.tensor([0, 0]), mode=mode)
        assert out[0].tolist() == [0.0, 0.0, 0.0]


def test_weights_of_a_bag_get_gradients():
    weights = rg.tensor([[1.0, 2.0]], dtype=rg.float64, requires_grad=True)
    indices = rg.tensor([[1, 2]])
    out = F.embedding_bag(indices, table(), mode="sum", per_sample_weights=weights)
    assert out.tolist() == [(TABLE[1] + 2 * TABLE[2]).tolist()]
    assert grad(out.sum(), weights)[0].tolist() == [[TABLE[1].sum(), TABLE[2].sum()]]


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (
            lambda: F.embedding(rg.tensor([0, 6]), table()),
            IndexError,
            "index out of range in self: indices run from 0 to 6, .* Make them num_embeddings=7$",
        ),
        (
            lambda: F.embedding(rg.tensor([-1]), table()),
            IndexError,
            "index out of range in self: indices run from -1 to -1, .* which count from 0$",
        ),
        (
            lambda: F.embedding(rg.tensor([0.0]), table()),
            RuntimeError,
            "to have one of the following scalar types: Long, Int; but got retrograd.FloatTensor",
        ),
        (lambda: F.embedding(rg.tensor([0]), table()[0]), RuntimeError, "'weight' must be 2-D"),
        (
            lambda: F.embedding(rg.tensor([0]), table(), padding_idx=4),
            AssertionError,
            "Padding_idx must be within num_embeddings",
        ),
        (lambda: F.embedding_bag(rg.tensor([0]), table()), ValueError, "offsets has to be a 1D"),
        (
            lambda: F.embedding_bag(rg.tensor([[0]]), table(), mode="min"),
            ValueError,
            "mode has to be one of sum, mean or max",
        ),
        (lambda: F.one_hot(rg.tensor([5]), 3), RuntimeError, "must be smaller than num_classes"),
        (lambda: F.one_hot(rg.tensor([-1])), RuntimeError, "Class values must be non-negative"),
        (lambda: F.one_hot(rg.tensor([0.0])), RuntimeError, "only applicable to index tensor"),
        (
            lambda: F.one_hot(rg.zeros(0, dtype=rg.int64)),
            RuntimeError,
            "Can not infer total number of classes from empty tensor",
        ),
    ],
)
def test_bad_arguments_raise_as_in_pytorch(call, kind, text):
    with pytest.raises(kind, match=text):
        call()


@pytest.mark.parametrize(
    ("weights", "kind", "text"),
    [
        (rg.ones(4, dtype=rg.float64), RuntimeError, "to have the same type as weight"),
        (rg.ones(3), ValueError, "same shape as the input"),
        (rg.ones(2, 2), ValueError, "same shape as the input"),
    ],
)
def test_weights_of_another_dtype_or_shape_than_the_bags_raise(weights, kind, text):
    bags, offsets = rg.tensor([0, 1, 2, 0]), rg.tensor([0, 2])
    with pytest.raises(kind, match=text):
        F.embedding_bag(bags, rg.ones(3, 1), offsets, mode="sum", per_sample_weights=weights)


@pytest.mark.parametrize("padding_idx", [None, 0])
def test_what_comes_after_the_last_bag_is_in_none(padding_idx):
    table, indices = rg.arange(8.0).reshape(4, 2), rg.tensor([1, 2, 3, 1])
    settings = {"mode": "sum", "include_last_offset": True, "padding_idx": padding_idx}
    found = F.embedding_bag(
        indices, table, rg.tensor([0, 2, 3]), per_sample_weights=rg.full((4,), 2.0), **settings
    )
    assert found.tolist() == [[12.0, 16.0], [12.0, 14.0]]


def test_a_padding_index_of_bags_is_a_row():
    with pytest.raises(RuntimeError, match="padding_idx must be within the number of embeddings"):
        F.embedding_bag(rg.tensor([[0]]), rg.ones(2, 1), padding_idx=2)


def test_a_table_with_an_infinite_row_is_scaled_in_silence(recwarn):
    weight = rg.tensor([[math.inf, 1.0], [3.0, 4.0]])
    found = F.embedding(rg.tensor([0, 1]), weight, max_norm=1.0)
    assert found.isnan().tolist() == [[True, False], [False, False]]
    rg.testing.assert_close(found[1], rg.tensor([0.6, 0.8]))
    assert not recwarn.list
