"""How nested tensors are made, what they say of themselves, and their components."""

import subprocess
import sys

import pytest

import retrograd as rg

A, B = rg.arange(6.0).reshape(2, 3), rg.arange(9.0).reshape(3, 3) + 10


def jagged(*parts, **settings):
    return rg.nested.nested_tensor(list(parts), layout=rg.jagged, **settings)


def strided(*parts, **settings):
    return rg.nested.nested_tensor(list(parts), **settings)


def same(actual, expected):
    rg.testing.assert_close(actual, expected, rtol=1e-12, atol=1e-12)


def test_components_come_back():
    for nt in (jagged(A, B), strided(A, B)):
        a, b = nt.unbind()
        same(a, A)
        same(b, B)
        assert len(nt) == 2
        assert [part.shape for part in nt] == [A.shape, B.shape]
        same(nt[1], B)
        same(nt[-1], B)
        same(nt[1, 2], B[2])


def test_jagged_parts_are_values_and_offsets():
    nt = jagged(A, B)
    same(nt.values(), rg.cat([A, B]))
    assert nt.offsets().tolist() == [0, 2, 5]
    assert nt.lengths() is None
    assert (nt.layout, nt.is_nested, nt.numel(), nt.ndim) == (rg.jagged, True, 15, 3)
    assert not A.is_nested
    assert nt.is_contiguous()
    assert not nt.transpose(1, 2).is_contiguous()


def test_the_size_that_differs_is_a_symbol():
    nt = jagged(A, B)
    batch, ragged, last = nt.shape
    assert (batch, last) == (2, 3)
    assert isinstance(ragged, rg.SymInt)
    assert repr(nt.shape) == f"retrograd.Size([2, {ragged}, 3])"
    assert nt.size(1) == ragged == (nt * 2).shape[1]
    assert ragged != jagged(A, B).shape[1]
    assert 2 * ragged == ragged * 2 != ragged
    with pytest.raises(NotImplementedError, match="no number"):
        int(ragged)


def test_the_ragged_dimension_may_be_a_later_one():
    nt = jagged(rg.ones(2, 3), rg.ones(2, 5))
    assert nt.shape[1] == 2
    assert isinstance(nt.shape[2], rg.SymInt)
    assert nt.values().shape == (2, 8)


def test_components_may_be_lists_of_numbers():
    nt = jagged([1, 2], [3])
    assert nt.dtype is rg.int64
    assert nt.values().tolist() == [1, 2, 3]
    assert jagged([1, 2], dtype=rg.float64).dtype is rg.float64
    assert strided().ndim == 1
    assert repr(strided()) == "nested_tensor([\n\n])"


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ([], "empty tensor list"),
        ([rg.tensor(1.0)], "zero-dim"),
        ([A, rg.ones(2)], "same dim"),
        ([A, B.long()], "same dtype"),
        ([A, rg.ones(3, 4)], "single ragged dimension"),
    ],
)
def test_components_that_are_not_jagged_are_refused(parts, message):
    with pytest.raises(RuntimeError, match=message):
        jagged(*parts)


def test_what_is_no_list_of_components_is_refused():
    with pytest.raises(TypeError, match="Only lists"):
        rg.nested.nested_tensor(A)
    with pytest.raises(RuntimeError, match="same dimension"):
        strided(A, rg.ones(2))
    with pytest.raises(RuntimeError, match="layout is unsupported"):
        rg.nested.nested_tensor([A], layout=rg.sparse_coo)
    with pytest.raises(TypeError, match="list / tuple of tensors"):
        rg.nested.as_nested_tensor([1, 2])
    with pytest.raises(RuntimeError, match="dim\\(\\) > 1"):
        rg.nested.as_nested_tensor(rg.ones(2))


def test_a_strided_one_has_sizes_by_dimension():
    nt = strided(A, B)
    assert (nt.size(0), nt.size(2), nt.size(-1), nt.layout) == (2, 3, 3, rg.strided)
    with pytest.raises(RuntimeError, match="dimension 1 is irregular"):
        nt.size(1)
    with pytest.raises(RuntimeError, match="doesn't support sizes"):
        _ = nt.shape
    with pytest.raises(RuntimeError, match="doesn't support strides"):
        nt.stride()
    with pytest.raises(AttributeError, match="'Tensor' object has no attribute 'offsets'"):
        nt.offsets()


def test_rows_of_a_tensor_are_components():
    x = rg.arange(12.0).reshape(2, 3, 2)
    nt = rg.nested.as_nested_tensor(x, layout=rg.jagged)
    same(nt.unbind()[1], x[1])
    assert rg.nested.as_nested_tensor(nt, layout=rg.jagged) is nt
    with pytest.raises(RuntimeError, match="between nested tensor layouts"):
        rg.nested.as_nested_tensor(nt)


def test_values_that_are_given_are_shared_unless_recorded():
    x = rg.ones(5, 2)
    nt = rg.nested.nested_tensor_from_jagged(x, rg.tensor([0, 2, 5]))
    x.mul_(2)
    nt.unbind()[1].mul_(2)
    assert nt.values()[:, 0].tolist() == [2, 2, 4, 4, 4]
    assert x[:, 0].tolist() == [2, 2, 4, 4, 4]
    y = rg.ones(5, requires_grad=True)
    nt = rg.nested.nested_tensor_from_jagged(y, rg.tensor([0, 2, 5]))
    with rg.no_grad():
        y.mul_(2)
    assert nt.values().tolist() == [1] * 5


def test_lengths_alone_lie_side_by_side():
    nt = rg.nested.nested_tensor_from_jagged(rg.arange(5), lengths=rg.tensor([2, 3]))
    assert nt.offsets().tolist() == [0, 2, 5]
    assert nt.lengths() is None


def test_gaps_between_components_count_as_nothing():
    x = rg.arange(12.0).reshape(6, 2)
    nt = rg.nested.nested_tensor_from_jagged(x, rg.tensor([0, 2, 3, 6]), rg.tensor([1, 1, 2]))
    assert [part[:, 0].tolist() for part in nt.unbind()] == [[0], [4], [6, 8]]
    assert (nt.is_contiguous(), nt.numel()) == (False, 8)
    assert nt.sum().item() == 40
    assert nt.sum(1)[:, 0].tolist() == [0, 4, 14]
    assert nt.mean((0, 1)).tolist() == [4.5, 5.5]
    close = nt.contiguous()
    assert close.lengths() is None
    assert close.values()[:, 0].tolist() == [0, 4, 6, 8]


@pytest.mark.parametrize("offsets", [[0, 2, 4], [1, 2, 5], [0, 2, 9], [0, 3, 2, 5]])
def test_offsets_that_are_not_of_the_values_are_refused(offsets):
    with pytest.raises(RuntimeError, match="Let offsets run from 0 to 5"):
        rg.nested.nested_tensor_from_jagged(rg.ones(5), rg.tensor(offsets))


def test_offsets_or_lengths_are_needed():
    with pytest.raises(RuntimeError, match="At least one of offsets or lengths"):
        rg.nested.nested_tensor_from_jagged(rg.ones(5))
    with pytest.raises(ValueError, match="jagged_dim >=1"):
        rg.nested.nested_tensor_from_jagged(rg.ones(5), rg.tensor([0, 5]), jagged_dim=0)


def test_narrow_takes_a_piece_of_each_row():
    x = rg.arange(24.0).reshape(2, 4, 3)
    nt = rg.nested.narrow(x, 1, rg.tensor([0, 1]), rg.tensor([2, 3]), layout=rg.jagged)
    same(nt.unbind()[0], x[0, :2])
    same(nt.unbind()[1], x[1, 1:])
    assert nt.offsets().tolist() == [0, 5, 8]
    nt = rg.nested.narrow(x, 1, 1, 2, layout=rg.jagged)
    same(nt.to_padded_tensor(0.0), x[:, 1:3])
    same(rg.nested.narrow(x, 0, 1, 1).unbind()[0], x[1])
    with pytest.raises(RuntimeError, match="only supports dim=1"):
        rg.nested.narrow(x, 2, 0, 1, layout=rg.jagged)
    with pytest.raises(RuntimeError, match="must be an integer or a tensor"):
        rg.nested.narrow(x, 1, 0.5, 1)


def test_masked_select_keeps_rows_apart():
    nt = rg.nested.masked_select(A, A > 1)
    assert [part.tolist() for part in nt.unbind()] == [[2], [3, 4, 5]]
    nt = rg.nested.masked_select(rg.ones(3, 2), rg.tensor([False]))
    assert nt.offsets().tolist() == [0, 0, 0, 0]


def test_padding_is_at_the_end_of_each_component():
    for nt in (jagged(A, B), strided(A, B)):
        found = nt.to_padded_tensor(-1.0)
        same(found[0], rg.cat([A, -rg.ones(1, 3)]))
        same(found[1], B)
        assert rg.nested.to_padded_tensor(nt, 0, (2, 4, 5)).shape == (2, 4, 5)
        with pytest.raises(RuntimeError, match="Truncation is not supported"):
            nt.to_padded_tensor(0, (2, 2, 3))
    with pytest.raises(NotImplementedError, match="is not nested"):
        A.to_padded_tensor(0)


def test_representations_are_those_of_pytorch():
    nt = jagged(A[:, 0], B[:, 0], requires_grad=True)
    size = f"(2, {nt.shape[1]})"
    text = f"NestedTensor(size={size}, offsets=tensor([0, 2, 5])"
    assert repr(nt) == f"{text}, requires_grad=True, contiguous=True)"
    assert repr(nt * 2).startswith(f"{text}, grad_fn=<MulBackward0 object")
    assert repr(strided(A, B[:1], requires_grad=True)) == (
        "nested_tensor([\n  tensor([[0., 1., 2.],\n          [3., 4., 5.]], requires_grad=True),\n"
        "  tensor([[10., 11., 12.]], requires_grad=True)\n], requires_grad=True)"
    )


@pytest.mark.parametrize("zipped", [True, False])
def test_files_bring_them_back(zipped, tmp_path):
    holes = rg.nested.narrow(
        rg.arange(8.0).reshape(2, 4), 1, rg.tensor([0, 1]), rg.tensor([2, 3]), layout=rg.jagged
    )
    given = [jagged(A, B), strided(A, B), jagged(A, B).mT, holes]
    given += [jagged(A, B, requires_grad=True), strided(A, B, requires_grad=True)]
    rg.save(given, tmp_path / "nested.pt", _use_new_zipfile_serialization=zipped)
    for before, after in zip(given, rg.load(tmp_path / "nested.pt"), strict=True):
        assert (after.layout, after.requires_grad) == (before.layout, before.requires_grad)
        assert repr(after)[:7] == repr(before)[:7]
        for x, y in zip(before.unbind(), after.unbind(), strict=True):
            same(y.detach(), x.detach())


def test_a_process_that_makes_none_has_all_functions_of_one_from_a_file(tmp_path):
    rg.save(strided(A, B), tmp_path / "nested.pt")
    code = "import sys, retrograd; print(len(retrograd.load(sys.argv[1]).unbind()))"
    command = [sys.executable, "-c", code, str(tmp_path / "nested.pt")]
    assert subprocess.run(command, capture_output=True, check=True).stdout.strip() == b"2"


def test_a_file_whose_offsets_lead_beyond_the_values_is_refused(tmp_path):
    nt = jagged(A, B)
    nt.offsets()[-1] = 99
    rg.save(nt, tmp_path / "nested.pt")
    with pytest.raises(Exception, match="Let offsets run from 0 to 5"):
        rg.load(tmp_path / "nested.pt")


def test_nested_tensors_begin_where_their_memory_does():
    for layout in (rg.strided, rg.jagged):
        t = rg.nested.nested_tensor([rg.ones(2), rg.ones(3)], layout=layout)
        assert t.storage_offset() == 0


@pytest.mark.parametrize("layout", [rg.strided, rg.jagged])
def test_a_nested_tensor_goes_to_the_meta_device(layout):
    there = rg.nested.nested_tensor([rg.ones(2), rg.ones(3)], layout=layout).to("meta")
    assert (there.is_nested, there.device.type, there.size(0)) == (True, "meta", 2)
    assert (there * 2).device.type == "meta"
