"""PyTorch's names for what nodes save: `grad_fn._saved_<name>`."""

from __future__ import annotations

import pytest

import retrograd as rg
from retrograd.nn import functional

HUGE = 2**63 - 1


def matrix(*shape):
    size = rg.Size(shape).numel()
    return (rg.arange(float(size)) * 0.7).sin().reshape(shape).requires_grad_()


def saved(tensor, *names):
    return tuple(getattr(tensor.grad_fn, f"_saved_{name}") for name in names)


A = matrix(3, 4)


@pytest.mark.parametrize(
    ("tensor", "facts"),
    [
        (A[0], {"dim": 0, "index": 0, "self_sym_sizes": (3, 4)}),
        (A[:, -2], {"dim": 1, "self_sym_sizes": (3, 4)}),
        (A[:1, None].squeeze((0, 1)), {"dim": (0, 1), "self_sym_sizes": (1, 1, 4)}),
        (A[1:], {"dim": 0, "start": 1, "end": HUGE, "step": 1}),
        (A[:, :3:2], {"dim": 1, "start": 0, "end": 3, "step": 2}),
        (A[..., None], {"dim": 2}),
        (A.unsqueeze(0), {"dim": 0}),
        (A.max(1).values, {"dim": 1, "keepdim": False}),
        (A.prod(0), {"dim": 0}),
        (A.sum(1, keepdim=True), {"dim": (1,), "keepdim": True, "self_sym_sizes": (3, 4)}),
        (A.unfold(1, 2, 1), {"dimension": 1, "size": 2, "step": 1}),
        (A.as_strided((2, 2), (1, 2), 1), {"size": (2, 2), "stride": (1, 2), "storage_offset": 1}),
        (functional.pad(A, (1, 2)), {"pad": (1, 2)}),
        (functional.pad(A, (1, 2, 3, 4)), {"pad": (1, 2, 3, 4)}),
        (2**A, {"self": 2}),
        (functional.layer_norm(A, (4,)), {"normalized_shape": (4,), "weight": None}),
        (functional.layer_norm(A, (3, 4)), {"normalized_shape": (3, 4)}),
        (functional.unfold(A[None, None], 2), {"kernel_size": (2, 2), "stride": (1, 1)}),
        (functional.embedding(rg.tensor([0]), A), {"padding_idx": -1, "scale_grad_by_freq": False}),
        (rg.stack([A, A], dim=1), {"dim": 1}),
    ],
    ids=lambda value: value.grad_fn.name() if isinstance(value, rg.Tensor) else "",
)
def test_parameters_have_pytorchs_names(tensor, facts):
    assert dict(zip(facts, saved(tensor, *facts), strict=True)) == facts


def test_a_saved_result_counts_the_writes_to_the_result():
    result = matrix(2).exp()
    shown = result.grad_fn._saved_result
    factor = rg.ones(2, requires_grad=True)
    product = shown.detach() * factor
    with rg.no_grad():
        result.add_(1)
    assert shown._version == result._version == 1
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        product.sum().backward()


def test_a_leaf_s_node_has_pytorch_s_full_name():
    node = matrix(2).exp().grad_fn.next_functions[0][0]
    assert node.name() == "torch::autograd::AccumulateGrad"
    assert repr(node).startswith("<AccumulateGrad object at")


def test_indices_are_given_for_each_dimension():
    rows = rg.tensor([0, 1])
    none, second = A[:, rows].grad_fn._saved_indices
    assert none is None
    assert second.tolist() == [0, 1]
    both = A[rows, rows + 1].grad_fn._saved_indices
    assert [index.tolist() for index in both] == [[0, 1], [1, 2]]


def test_values_have_pytorchs_names():
    square = matrix(3, 3)
    positive = square @ square.t() + rg.eye(3)
    (condition,) = saved(rg.where(A > 0, A, A), "condition")
    assert condition.dtype is rg.bool
    for tensor, names in (
        (rg.linalg.svd(square).S, ("U", "S", "Vh")),
        (rg.linalg.eigh(positive).eigenvalues, ("eigenvalues", "eigenvectors")),
        (rg.linalg.qr(square).Q, ("Q", "R")),
        (rg.linalg.cholesky(positive), ("L",)),
        (rg.linalg.det(square), ("A",)),
        (rg.linalg.inv(square), ("inverse",)),
        (A[0].dot(A[1]), ("tensor",)),
        (2**A, ("exponent", "result")),
        (rg.cdist(A, A), ("x1", "x2")),
        (functional.conv1d(matrix(1, 1, 4), matrix(1, 1, 2)), ("input", "weight")),
    ):
        for value in saved(tensor, *names):
            assert isinstance(value, rg.Tensor)
        for name in names:
            getattr(tensor.grad_fn, f"_raw_saved_{name}").register_hooks(lambda t: t, lambda t: t)


def test_indices_have_handles():
    x = rg.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    y = x[:, rg.tensor([0, 0])]
    nothing, index = y.grad_fn._raw_saved_indices
    index.register_hooks(lambda t: t.tolist(), rg.tensor)
    with pytest.raises(RuntimeError, match="with value None is forbidden"):
        nothing.register_hooks(lambda t: t, lambda t: t)
    y.sum().backward()
    assert x.grad.tolist() == [[2, 0], [2, 0]]


def test_sums_and_pieces_show_their_numbers():
    x = rg.ones(4, 2, requires_grad=True)
    assert rg.add(x, x, alpha=3).grad_fn._saved_alpha == 3
    assert rg.sub(x, x, alpha=3).grad_fn._saved_alpha == 3
    assert rg.rsub(x, x, alpha=3).grad_fn._saved_alpha == 3
    assert (x + x).grad_fn._saved_alpha == (2 - x).grad_fn._saved_alpha == 1
    assert x.split([1, 3])[0].grad_fn._saved_split_sizes == (1, 3)
    assert x.split(2)[0].grad_fn._saved_split_size == 2
