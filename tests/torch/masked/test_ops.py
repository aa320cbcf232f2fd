"""What ops give for masked tensors beside what PyTorch computes, too."""

import pytest

import retrograd as rg
from retrograd.torch.masked import is_masked_tensor, masked_tensor

DATA = rg.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
MASK = rg.tensor([[True, False, True], [False, False, True]])


def x():
    return masked_tensor(DATA, MASK)


def shows(found, data, mask):
    """Assert that a result is masked out as `mask` says, and else has these data."""
    assert is_masked_tensor(found)
    data, mask = rg.as_tensor(data), rg.as_tensor(mask)
    rg.testing.assert_close(found.get_mask(), mask)
    kept = found.to_tensor(0)
    rg.testing.assert_close(kept, data.to(kept.dtype).masked_fill(~mask, 0), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", ["relu", "sigmoid", "logical_not", "isinf", "softsign"])
def test_elementwise_ops_keep_the_mask(name):
    run = getattr(rg.nn.functional, name, None) or getattr(rg, name)
    shows(run(x()), run(DATA), MASK)


def test_operands_of_numbers_and_plain_tensors():
    shows(2 ** x(), 2**DATA, MASK)
    shows(2 - x(), 2 - DATA, MASK)
    shows(rg.hypot(x(), DATA), rg.hypot(DATA, DATA), MASK)
    shows(rg.add(x(), DATA, alpha=2), DATA * 3, MASK)
    shows(x() * DATA[:, :1], DATA * DATA[:, :1], MASK)
    shows(masked_tensor(DATA[0], MASK[0]) + DATA, DATA[0] + DATA, MASK[:1].expand(2, 3))


def test_broadcast_masks_have_to_match():
    row = masked_tensor(DATA[0], MASK[0])
    shows(row + masked_tensor(DATA, MASK[0].expand(2, 3)), DATA[0] + DATA, MASK[:1].expand(2, 3))
    with pytest.raises(ValueError, match="Input masks must match"):
        row + x()
    with pytest.raises(RuntimeError, match="must match the size"):
        x() + rg.ones(2)


def test_shapes_change_with_the_mask():
    shows(x().permute(1, 0), DATA.t(), MASK.t())
    shows(x().T, DATA.t(), MASK.t())
    shows(x().unsqueeze(0).squeeze(0), DATA, MASK)
    shows(x().repeat(2, 1), DATA.repeat(2, 1), MASK.repeat(2, 1))
    shows(x().flip(0), DATA.flip(0), MASK.flip(0))
    shows(x().diagonal(), DATA.diagonal(), MASK.diagonal())
    shows(x().gather(1, rg.tensor([[2], [0]])), [[3.0], [4.0]], [[True], [False]])
    for part, data, mask in zip(x().unbind(1), DATA.unbind(1), MASK.unbind(1), strict=True):
        shows(part, data, mask)


def test_plain_tensors_count_as_a_whole_where_tensors_are_joined():
    shows(rg.cat([x(), DATA]), rg.cat([DATA, DATA]), rg.cat([MASK, MASK | True]))
    shows(rg.where(MASK, x(), 7.0), DATA.where(MASK, rg.tensor(7.0)), MASK | True)


def test_views_have_memory_of_their_own():
    whole = x()
    whole[0].zero_()
    shows(whole, DATA, MASK)


def test_elements_are_written_and_the_mask_stays():
    whole = x()
    whole[0] = 9.0
    whole[1, 2] = masked_tensor(rg.tensor(8.0), rg.tensor(True))
    shows(whole, [[9.0, 9.0, 9.0], [4.0, 5.0, 8.0]], MASK)


def test_writes_in_place():
    whole = x()
    data = whole.get_data()
    whole += 1
    whole.mul_(DATA).sqrt_()
    expected = ((DATA + 1) * DATA).sqrt()
    shows(whole, expected, MASK)
    rg.testing.assert_close(data, expected)
    shows(whole.zero_(), rg.zeros(2, 3), MASK)
    shows(whole.fill_(3), rg.full((2, 3), 3.0), MASK)
    shows(whole.copy_(DATA), DATA, MASK)
    with pytest.raises(ValueError, match="masks must match"):
        whole.copy_(masked_tensor(DATA, ~MASK))
    with pytest.raises(RuntimeError, match="cannot be written into a plain tensor"):
        DATA.clone().add_(x())


def test_reductions_leave_out_what_is_masked_out():
    shows(x().sum(), 10.0, True)
    shows(x().mean(0), [1.0, 0.0, 4.5], [True, False, True])
    shows(x().sum((0, 1), keepdim=True), [[10.0]], [[True]])
    shows(x().norm(1, 1), [4.0, 6.0], [True, True])
    shows(x().median(), 3.0, True)
    shows(x().logsumexp(1), rg.tensor([DATA[0, ::2].logsumexp(0).item(), 6.0]), [True, True])
    shows(x().var(1, correction=0), [1.0, 0.0], [True, True])
    shows((x() > 2).any(1), [True, True], [True, True])
    shows((x() > 2).all(), False, True)
    shows(x().argmax(1), [2, 2], [True, True])
    shows(x().sum(dtype=rg.float64), rg.tensor(10.0, dtype=rg.float64), True)


def test_functions_along_a_dimension_keep_the_mask():
    shows(x().cumsum(1), [[1.0, 0.0, 4.0], [0.0, 0.0, 6.0]], MASK)
    shows(x().log_softmax(1), [[-2.126928, 0.0, -0.126928], [0.0, 0.0, 0.0]], MASK)


def test_functions_of_masked_take_both_masks():
    given = rg.tensor([[True, True, False], [True, True, True]])
    found = rg.masked.sum(x(), 1, mask=given)
    assert type(found) is rg.Tensor
    assert found.tolist() == [1.0, 6.0]
    assert rg.masked.mean(x(), 0).tolist()[::2] == [1.0, 4.5]
    assert rg.masked.logaddexp(x(), DATA)[0, 1] == 2.0


def test_reductions_of_sparse_tensors_count_entries_alone():
    for layout in ("to_sparse", "to_sparse_csr"):
        sparse = getattr(x(), layout)()
        shows(sparse.mean(), 10 / 3, True)
        shows(sparse.std(), (DATA[MASK]).std().item(), True)
        shows(sparse.argmax(), 5.0, True)
        shows(sparse.sum(0), [1.0, 0.0, 9.0], [True, False, True])


def test_sparse_operands_are_of_the_same_places():
    sparse = x().to_sparse()
    shows((sparse * DATA).to_dense(), DATA * DATA, MASK)
    other = masked_tensor(DATA, ~MASK).to_sparse()
    with pytest.raises(ValueError, match="sparse_coo indices must match"):
        sparse + other


def test_new_tensors_beside_one():
    shows(rg.zeros_like(x()), rg.zeros(2, 3), MASK)
    shows(rg.full_like(x(), 2.0), rg.full((2, 3), 2.0), MASK)
    assert rg.randn_like(x()).shape == (2, 3)
    assert type(x().new_zeros(2)) is rg.Tensor


def test_complex_data_are_reduced_by_modulus():
    z = masked_tensor(rg.tensor([1 + 1j, 5j, 0.5]), rg.tensor([True, False, True]))
    shows(z.sum(), rg.tensor(1.5 + 1j), True)
    shows(z.amax(), rg.tensor(1 + 1j), True)
    shows(z.abs(), [2**0.5, 0.0, 0.5], [True, False, True])
    shows(z.real, [1.0, 0.0, 0.5], [True, False, True])


def test_arguments_may_be_named_as_in_numpy():
    shows(x().sum(axis=1, keepdims=True), [[4.0], [6.0]], [[True], [True]])
    shows(rg.mean(input=x()), 10 / 3, True)
    shows(rg.any(input=x() > 2), True, True)
    shows(rg.zeros_like(input=x()), rg.zeros(2, 3), MASK)
    with pytest.raises(TypeError, match="unexpected keyword argument 'out'"):
        rg.sum(x(), 1, out=rg.ones(2))
    assert rg.mul(x1=x(), x2=2).get_data().equal((x() * 2).get_data())
    with pytest.raises(TypeError, match=r"mul\(\) missing 1 required positional argument: 'other'"):
        rg.mul(x())


def test_products_of_matrices_leave_out_what_is_masked_out():
    w = rg.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    filled = DATA.masked_fill(~MASK, 0.0)
    shows(x() @ w, filled @ w, rg.ones(2, 2) > 0)
    shows(w @ x(), w @ filled, (MASK | MASK.flip(0)).any(0).expand(3, 3))
    shows(x()[0] @ DATA[0], 10.0, True)
    shows(rg.nn.functional.linear(x(), w.t(), w[0]), filled @ w + w[0], rg.ones(2, 2) > 0)
    none = masked_tensor(DATA, rg.tensor([[True], [False]]).expand(2, 3))
    shows(none @ w, DATA @ w, rg.tensor([[True], [False]]).expand(2, 2))


def test_sparse_tensors_do_not_lie_in_memory():
    with pytest.raises(
        ValueError, match="MaskedTensors with sparse data do not have is_contiguous"
    ):
        x().to_sparse().is_contiguous()


def test_data_are_written_into_plain_tensors():
    plain = rg.zeros(2, 3)
    plain[:, 1:] = x()[:, 1:]
    assert plain.tolist() == [[0.0, 2.0, 3.0], [0.0, 5.0, 6.0]]
    assert rg.zeros(2, 3).copy_(x().to_sparse()).tolist() == [[1.0, 0.0, 3.0], [0.0, 0.0, 6.0]]
    plain[rg.tensor([True, False])] = x()[:1]
    assert plain.tolist() == [[1.0, 2.0, 3.0], [0.0, 5.0, 6.0]]


def test_a_tensor_all_of_whose_elements_count_is_as_a_plain_one():
    centred = x() - x().mean(1, keepdim=True)
    shows(centred, [[-1.0, 0.0, 1.0], [0.0, 0.0, 0.0]], MASK)
    unit = rg.nn.functional.normalize(x())
    shows(unit, [[1 / 10**0.5, 0.0, 3 / 10**0.5], [0.0, 0.0, 1.0]], MASK)
    shows(rg.linalg.vector_norm(x(), 1), 10.0, True)
