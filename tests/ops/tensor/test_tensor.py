"""What a tensor says about itself, conversions, copies, and hooks."""

from __future__ import annotations

import copy
import math
import pickle
import warnings

import numpy as np
import pytest

import retrograd as rg
from retrograd import modes
from retrograd.errors import ComplexWarning


def test_sizes_are_told_in_every_spelling():
    x = rg.ones(2, 3)
    assert x.size() == x.shape == (2, 3)
    assert x.size(-1) == 3
    assert x.dim() == x.ndimension() == x.ndim == 2
    assert x.numel() == x.nelement() == rg.numel(x) == 6
    assert (x.element_size(), x.itemsize, x.nbytes) == (4, 4, 24)
    assert x.t().stride() == (1, 3)
    assert x.t().stride(0) == 1
    with pytest.raises(IndexError, match=r"range of \[-2, 1\], but got 5"):
        x.size(5)
    with pytest.raises(IndexError, match="tensor has no dimensions"):
        rg.tensor(1.0).size(0)


def test_memory_is_told():
    x = rg.ones(2, 3)
    assert x[1].storage_offset() == 3
    assert x.storage_offset() == 0
    assert x[0].data_ptr() == x.data_ptr()
    assert x.is_contiguous()
    assert not x.t().is_contiguous()
    assert x.is_set_to(x[:])
    assert not x.is_set_to(x[0])


def test_kinds_are_told():
    x, c, i = rg.ones(1), rg.tensor([1j]), rg.tensor([1], dtype=rg.uint8)
    assert x.is_floating_point()
    assert not c.is_floating_point()
    assert c.is_complex()
    assert x.is_signed()
    assert not i.is_signed()
    assert rg.is_tensor(x)
    assert not rg.is_tensor(np.ones(1))
    assert rg.is_nonzero(x)
    assert x.is_cpu
    assert not x.is_cuda
    assert x.get_device() == -1
    assert x.layout is rg.strided
    assert x.layout not in (rg.sparse_bsr, rg.sparse_bsc)
    assert copy.deepcopy(x.layout) is pickle.loads(pickle.dumps(x.layout)) is rg.strided
    assert not x.is_sparse
    assert not x.is_shared()
    with pytest.raises(TypeError, match="must be Tensor, not int"):
        rg.is_complex(1)


def test_single_values_become_python_numbers():
    assert rg.tensor([2.5]).item() == 2.5
    assert float(rg.tensor(2)) == 2.0
    assert int(rg.tensor(2.7)) == 2
    assert complex(rg.tensor(2.5)) == 2.5 + 0j
    assert float(rg.tensor(1 + 0j)) == 1.0
    assert [1, 2, 3][rg.tensor([1])] == 2
    assert bool(rg.tensor([0.0])) is False
    assert rg.ones(2, requires_grad=True).tolist() == [1.0, 1.0]


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: rg.ones(2).item(), RuntimeError, "Tensor with 2 elements cannot be converted"),
        (lambda: float(rg.ones(2)), ValueError, "only one element tensors can be converted"),
        (lambda: int(rg.ones(0)), ValueError, "only one element tensors can be converted"),
        (lambda: float(rg.tensor(1j)), RuntimeError, "type double without overflow"),
        (lambda: int(rg.tensor(1j)), RuntimeError, "type int64_t without overflow"),
        (lambda: [1][rg.tensor(0.0)], TypeError, "only integer tensors of a single element"),
        (lambda: bool(rg.ones(2)), RuntimeError, "more than one value is ambiguous"),
        (lambda: bool(rg.ones(0)), RuntimeError, "no values is ambiguous"),
        (lambda: len(rg.tensor(1)), TypeError, "len.. of a 0-d tensor"),
        (lambda: list(rg.tensor(1)), TypeError, "iteration over a 0-d tensor"),
        (lambda: "a" in rg.ones(1), RuntimeError, "only supports Tensor or scalar"),
        (lambda: rg.ones(1).cuda(), AssertionError, "CUDA"),
    ],
)
def test_values_that_are_no_single_number_raise(call, error, text):
    with pytest.raises(error, match=text):
        call()


def test_iteration_keeps_the_history():
    x = rg.tensor([1.0, 2.0], requires_grad=True)
    first, second = x
    (first * 3 + second).backward()
    assert x.grad.tolist() == [3.0, 1.0]
    assert len(x) == 2
    assert 2.0 in x
    assert 5.0 not in x
    assert rg.tensor(1.0) in x


def test_numpy_shares_memory_and_refuses_to_drop_a_gradient():
    x = rg.zeros(2)
    x.numpy()[0] = 3
    assert x.tolist() == [3.0, 0.0]
    assert np.asarray(x).dtype == np.float32
    assert np.array(x, dtype=np.float64).dtype == np.float64
    y = rg.ones(2, requires_grad=True)
    for call in (y.numpy, lambda: np.asarray(y), (y * 2).numpy):
        with pytest.raises(RuntimeError, match=r"Use tensor.detach...numpy.. instead"):
            call()
    assert (y * 2).numpy(force=True).tolist() == [2.0, 2.0]


def test_numpy_values_on_the_left_leave_the_operation_to_the_tensor():
    x = rg.ones(2, requires_grad=True)
    y = np.float64(2) * x
    assert isinstance(y, rg.Tensor)
    assert y.dtype is rg.float32
    assert y.requires_grad
    z = np.ones(2) * x
    assert isinstance(z, rg.Tensor)
    assert z.dtype is rg.float64
    assert z.requires_grad
    assert (y.tolist(), z.tolist()) == ([2.0, 2.0], [1.0, 1.0])


@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        ("bool", rg.bool),
        ("byte", rg.uint8),
        ("char", rg.int8),
        ("short", rg.int16),
        ("int", rg.int32),
        ("long", rg.int64),
        ("half", rg.float16),
        ("float", rg.float32),
        ("double", rg.float64),
        ("cfloat", rg.complex64),
        ("cdouble", rg.complex128),
    ],
)
def test_short_forms_convert(name, dtype):
    x = rg.tensor([1.0, 0.0], requires_grad=True)
    made = getattr(x, name)()
    assert made.dtype is dtype
    assert made.requires_grad is (dtype.is_floating_point or dtype.is_complex)


def test_to_takes_dtypes_devices_and_tensors():
    x = rg.ones(2, requires_grad=True)
    assert x.to(rg.float32) is x
    assert x.to("cpu") is x
    assert x.to() is x
    assert x.to(rg.float32, copy=True) is not x
    assert x.to("cpu", rg.float64).dtype is rg.float64
    assert x.to(device=rg.device("cpu"), dtype=rg.float64).dtype is rg.float64
    assert x.to(rg.tensor(1)).dtype is rg.int64
    assert x.type_as(rg.tensor(1j)).dtype is rg.complex64
    assert not x.to(rg.int32).requires_grad
    for number in (3.0, True):
        with pytest.raises(TypeError, match=r"must be retrograd.dtype, device or Tensor, not"):
            x.to(number)
    with pytest.raises(RuntimeError, match="Cannot access accelerator device"):
        x.to(0)
    with pytest.raises(AssertionError, match="CUDA"):
        x.to("cuda")


def test_converting_to_a_complex_dtype_and_back_carries_the_gradient():
    x = rg.tensor([1.0, 2.0], requires_grad=True)
    with pytest.warns(ComplexWarning, match="imaginary"):
        y = (x.to(rg.complex128) * (2 + 1j)).to(rg.float32)
    y.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]
    assert x.grad.dtype is rg.float32


def test_type_names_and_converts():
    assert rg.ones(1).type() == "retrograd.FloatTensor"
    assert rg.ones(1).type(rg.int64).dtype is rg.int64
    assert rg.ones(1).type("retrograd.DoubleTensor").dtype is rg.float64
    with pytest.raises(ValueError, match="invalid type"):
        rg.ones(1).type("foo")


def test_a_deep_copy_is_an_independent_leaf_with_its_gradient():
    x = rg.tensor([1.0, 2.0], requires_grad=True)
    (x * 3).sum().backward()
    x.note = [1]
    y, again = copy.deepcopy([x, x])
    assert y is again
    assert y.requires_grad
    assert y.is_leaf
    assert y.grad.tolist() == [3.0, 3.0]
    assert y.grad is not x.grad
    assert y.note == [1]
    assert y.note is not x.note
    with rg.no_grad():
        y.mul_(0)
    assert x.tolist() == [1.0, 2.0]


def test_a_deep_copy_of_a_computed_tensor_raises():
    x = rg.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="Only Tensors created explicitly by the user"):
        copy.deepcopy(x * 2)


def test_a_shallow_copy_shares_memory_and_is_a_leaf():
    x = rg.ones(2, requires_grad=True)
    for y in (copy.copy(x), copy.copy(x * 1)):
        assert y.is_leaf
        assert y.requires_grad
    assert copy.copy(x).data_ptr() == x.data_ptr()


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_pickle_keeps_values_dtype_and_requires_grad(protocol):
    x = rg.tensor([1 + 2j, 3], requires_grad=True)
    for source in (x, x * 1):
        y = pickle.loads(pickle.dumps(source, protocol))
        assert y.tolist() == [1 + 2j, 3]
        assert y.dtype is rg.complex64
        assert y.requires_grad
        assert y.is_leaf
    assert pickle.loads(pickle.dumps(rg.float64)) is rg.float64


def test_pickled_aliases_have_their_own_memory_and_one_tensor_stays_one():
    x = rg.ones(3)
    a, b, c, d = pickle.loads(pickle.dumps([x, x.detach(), x[:2], x]))
    a.zero_()
    assert (b.tolist(), c.tolist()) == ([1.0] * 3, [1.0] * 2)
    assert d is a


def test_pickle_keeps_the_class_of_a_tensor():
    y = pickle.loads(pickle.dumps(Velocity([1.0])))
    assert type(y) is Velocity
    assert y.tolist() == [1.0]


class Velocity(rg.Tensor):
    """A tensor class that pickle finds by name."""


def test_requires_grad_is_set_in_place():
    x = rg.ones(2)
    assert x.requires_grad_() is x
    assert x.requires_grad
    assert not x.requires_grad_(False).requires_grad
    with pytest.raises(RuntimeError, match="floating point and complex dtype"):
        rg.arange(2).requires_grad_()
    with pytest.raises(RuntimeError, match="only change requires_grad flags of leaf variables"):
        (rg.ones(2, requires_grad=True) * 2).requires_grad_(False)


def test_hooks_run_in_order_and_are_removed_by_their_handle():
    x = rg.ones(2, requires_grad=True)
    y = x * 2
    seen = []
    y.register_hook(lambda g: seen.append(g.tolist()))
    double = y.register_hook(lambda g: g * 2)
    y.register_hook(lambda g: seen.append(g.tolist()))
    y.sum().backward(retain_graph=True)
    assert seen == [[1.0, 1.0], [2.0, 2.0]]
    assert x.grad.tolist() == [4.0, 4.0]
    double.remove()
    y.sum().backward()
    assert x.grad.tolist() == [6.0, 6.0]


def test_retain_grad_fills_the_gradient_of_a_computed_tensor():
    x = rg.ones(2, requires_grad=True)
    y = x * 2
    y.retain_grad()
    y.retain_grad()
    assert y.retains_grad
    assert not x.retains_grad
    (y * 3).sum().backward()
    assert y.grad.tolist() == [3.0, 3.0]
    x.retain_grad()
    assert not x.retains_grad


def test_a_post_accumulate_hook_sees_the_leaf_with_its_gradient():
    x = rg.ones(2, requires_grad=True)
    seen = []
    handle = x.register_post_accumulate_grad_hook(lambda t: seen.append((t is x, t.grad.tolist())))
    (x * 3).sum().backward()
    handle.remove()
    (x * 3).sum().backward()
    assert seen == [(True, [3.0, 3.0])]


@pytest.mark.parametrize("name", ["register_hook", "register_post_accumulate_grad_hook"])
def test_hooks_on_a_tensor_without_gradient_raise(name):
    with pytest.raises(RuntimeError, match="cannot register a hook on a tensor that doesn't req"):
        getattr(rg.ones(2), name)(print)


def test_post_accumulate_hooks_and_retain_grad_refuse_the_wrong_tensors():
    y = rg.ones(2, requires_grad=True) * 2
    with pytest.raises(RuntimeError, match="cannot be registered on non-leaf tensors"):
        y.register_post_accumulate_grad_hook(print)
    with pytest.raises(RuntimeError, match="can't retain_grad on Tensor that has requires_grad=Fa"):
        rg.ones(2).retain_grad()


def test_result_type_and_can_cast_follow_promotion():
    assert rg.result_type(rg.arange(2), 1.0) is rg.float32
    assert rg.result_type(rg.arange(2), rg.tensor(1.0, dtype=rg.float64)) is rg.float64
    assert rg.result_type(rg.ones(2), rg.tensor(1.0, dtype=rg.float64)) is rg.float32
    assert rg.result_type(1, rg.ones(2, dtype=rg.float16)) is rg.float16
    assert rg.can_cast(rg.int64, rg.float16)
    assert not rg.can_cast(rg.float16, rg.int64)
    assert rg.can_cast(rg.int64, rg.uint8)
    assert rg.can_cast(rg.uint8, rg.int8)


@pytest.mark.parametrize(
    ("make", "stride"),
    [
        (lambda: rg.zeros(2, 3).unsqueeze(0), (6, 3, 1)),
        (lambda: rg.zeros(2, 3)[:, None], (3, 3, 1)),
        (lambda: rg.zeros(2, 3)[..., None], (3, 1, 1)),
        (lambda: rg.zeros(2, 3).t_().unsqueeze_(0), (3, 1, 3)),
        (lambda: rg.zeros(2, 3).t().unsqueeze(1), (1, 6, 3)),
        (lambda: rg.zeros(3, 1).expand(3, 4), (1, 0)),
        (lambda: rg.zeros(3, 1).expand(1, 3, 1), (3, 1, 1)),
        (lambda: rg.tensor(1.0)[None], (1,)),
        (lambda: rg.zeros(4, 0), (1, 1)),
    ],
)
def test_a_dimension_of_size_1_has_the_stride_of_pytorch(make, stride):
    assert make().stride() == stride
    assert [make().stride(dim) for dim in range(len(stride))] == list(stride)


@pytest.mark.parametrize("like", [rg.clone, rg.zeros_like, lambda x: rg.full_like(x, 2)])
def test_a_copy_of_an_expanded_tensor_is_contiguous(like):
    x = rg.arange(6.0).reshape(2, 3).expand(4, 2, 3)
    assert like(x).stride() == (6, 3, 1)
    made = like(x)
    assert made.view(-1).tolist() == [v for a in made.tolist() for b in a for v in b]


@pytest.mark.parametrize("make", [rg.Tensor])
def test_old_constructors_take_sizes(make):
    assert make(5).shape == (5,)
    assert make(2, 0).shape == (2, 0)
    assert make().shape == (0,)
    assert make(rg.Size([2, 3])).shape == (2, 3)
    assert make(rg.Size([])).shape == ()


def test_reversed_gives_the_rows_in_the_opposite_order():
    assert reversed(rg.tensor([[1, 2], [3, 4]])).tolist() == [[3, 4], [1, 2]]
    assert reversed(rg.tensor(3)).item() == 3
    x = rg.tensor([1.0, 2.0], requires_grad=True)
    (reversed(x) * rg.tensor([5.0, 7.0])).sum().backward()
    assert x.grad.tolist() == [7.0, 5.0]


@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_cuda_takes_no_other_device(device):
    with pytest.raises(RuntimeError, match="Invalid device, must be cuda device"):
        rg.ones(1).cuda(device)
    with pytest.raises(AssertionError, match="CUDA"):
        rg.ones(1).cuda()


def test_an_expanded_tensor_is_pickled_expanded():
    x = pickle.loads(pickle.dumps(rg.arange(3.0)[:, None].expand(3, 4)))
    assert (x.stride(), x.tolist()) == ((1, 0), [[k] * 4 for k in (0.0, 1.0, 2.0)])


PERMUTED = [
    (lambda x: x.to(memory_format=rg.channels_last), (60, 1, 15, 3)),
    (lambda x: x.permute(3, 1, 0, 2), (1, 20, 60, 5)),
    (lambda x: x.mT, (60, 20, 1, 5)),
    (lambda x: x.transpose(0, 1) + 1, (20, 60, 5, 1)),
    (lambda x: x[0, 0].t().expand(3, 5, 4), (0, 1, 5)),
    (lambda x: x.permute(2, 0, 1, 3)[1:, ..., ::2], (3, 27, 9, 1)),
]


@pytest.mark.parametrize(("arrange", "strides"), PERMUTED)
def test_pickle_keeps_the_order_in_memory(arrange, strides):
    x = arrange(rg.arange(120.0).reshape(2, 3, 4, 5)).requires_grad_()
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        y = pickle.loads(pickle.dumps(x, protocol))
        assert (y.stride(), y.requires_grad) == (strides, True)
        assert y.tolist() == x.tolist()


def test_a_pickled_module_keeps_its_channels_innermost():
    m = rg.nn.Conv2d(2, 2, 3).to(memory_format=rg.channels_last)
    found = pickle.loads(pickle.dumps(m)).weight
    assert (found.stride(), rg.equal(found, m.weight)) == ((18, 1, 6, 2), True)


def test_a_number_from_what_requires_grad_warns_once(monkeypatch):
    monkeypatch.setattr(modes, "warned", set())
    x = rg.tensor(1.5, requires_grad=True)
    for convert in (float, complex, math.sin):
        monkeypatch.setattr(modes, "warned", set())
        with pytest.warns(UserWarning, match="requires_grad=True to a scalar"):
            convert(x)
        with warnings.catch_warnings(action="error"):
            assert (float(x), int(x), x.item()) == (1.5, 1, 1.5)
            float(x.detach())


def test_numpys_strings_equal_no_tensor():
    x = rg.tensor([1.0, 2.0])
    assert (x == np.str_("a"), x != np.str_("a"), x == np.bytes_(b"a")) == (False, True, False)
    with pytest.raises(TypeError, match="not supported between instances"):
        _ = x < np.str_("a")


def test_numpys_truth_values_are_exponents():
    x = rg.tensor([1.0, 2.0])
    assert (x**np.True_).tolist() == rg.pow(x, np.True_).tolist() == [1.0, 2.0]
    assert (x**np.False_).tolist() == [1.0, 1.0]


def test_the_second_flag_of_to_asks_for_a_copy():
    x = rg.ones(2)
    for args in [(rg.float32,), ("cpu",), ("cpu", rg.float32), (rg.zeros(1),)]:
        assert x.to(*args) is x
        assert x.to(*args, True) is x
        assert x.to(*args, False, True) is not x
        assert x.to(*args, False, False) is x


def test_to_contiguous_format_copies_only_what_has_its_channels_inside():
    x = rg.arange(24.0).reshape(2, 3, 4).transpose(1, 2)
    assert x.to(memory_format=rg.contiguous_format) is x
    assert x.to(rg.float64, memory_format=rg.contiguous_format).is_contiguous()
    y = rg.ones(2, 3, 4, 5).contiguous(memory_format=rg.channels_last)
    assert y.to(memory_format=rg.contiguous_format).stride() == (60, 20, 5, 1)
