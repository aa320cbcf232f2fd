"""The meta device: tensors that have a shape, a dtype and strides, and no data."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import retrograd as rg
from retrograd.nn import functional as F


def shape(*sizes, **settings):
    return rg.empty(*sizes, device="meta", **settings)


@pytest.fixture(autouse=True)
def _on_the_cpu():
    yield
    rg.set_default_device("cpu")


# -- how they are made ---------------------------------------------------------------------------


MAKERS = {
    "zeros": lambda: rg.zeros(2, 3, device="meta"),
    "ones": lambda: rg.ones((2, 3), device=rg.device("meta")),
    "full": lambda: rg.full((2, 3), 1.0, device="meta"),
    "rand": lambda: rg.rand(2, 3, device="meta"),
    "randn": lambda: rg.randn(2, 3, device="meta"),
    "tensor": lambda: rg.tensor([[1.0, 2, 3]] * 2, device="meta"),
    "as_tensor": lambda: rg.as_tensor([[1.0, 2, 3]] * 2, device="meta"),
    "to": lambda: rg.ones(2, 3).to("meta"),
    "zeros_like": lambda: rg.zeros_like(rg.ones(2, 3), device="meta"),
    "empty_like": lambda: rg.empty_like(shape(2, 3)),
    "full_like": lambda: rg.full_like(shape(2, 3), 2.0),
    "rand_like": lambda: rg.rand_like(rg.ones(2, 3), device="meta"),
    "new_zeros": lambda: shape(1).new_zeros(2, 3),
    "new_tensor": lambda: shape(1).new_tensor([[1.0, 2, 3]] * 2),
    "deepcopy": lambda: copy.deepcopy(shape(2, 3)),
    "pickle": lambda: pickle.loads(pickle.dumps(shape(2, 3))),
}


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_a_tensor_is_made_without_data(make):
    x = make()
    assert (x.is_meta, x.is_cpu, x.device) == (True, False, rg.device("meta"))
    assert (x.shape, x.dtype, x.stride(), x.data_ptr()) == ((2, 3), rg.float32, (3, 1), 0)


def test_factories_take_no_memory():
    for make in (rg.empty, rg.zeros, rg.ones, rg.randn):
        assert make(10**9, 10**6, device="meta").numel() == 10**15
    assert rg.arange(10**15, device="meta").shape == (10**15,)
    assert rg.randint(5, (10**15,), device="meta").dtype is rg.int64


def test_a_device_is_where_a_thread_makes_tensors():
    with rg.device("meta"):
        assert rg.ones(2).is_meta
        assert rg.get_default_device() == rg.device("meta")
        with rg.device("cpu"):
            assert rg.ones(2).is_cpu
        assert rg.ones(2, device="cpu").is_cpu
        assert rg.zeros_like(rg.ones(2, device="cpu")).is_cpu
        assert rg.nn.Linear(2, 3).weight.is_meta
    assert rg.ones(2).is_cpu
    assert rg.device("meta")(rg.ones)(2).is_meta
    rg.set_default_device("meta")
    assert rg.tensor([1.0]).is_meta


def test_a_context_is_left_by_an_error_too():
    with pytest.raises(KeyError), rg.device("meta"):
        raise KeyError
    assert rg.ones(1).is_cpu


def test_tensors_are_moved_there_and_not_back():
    x = rg.ones(2, 3).t().to("meta", rg.float64)
    assert (x.dtype, x.shape) == (rg.float64, (3, 2))
    for back in (lambda: x.to("cpu"), lambda: x.cpu(), lambda: rg.ones(3, 2).copy_(x)):
        with pytest.raises(NotImplementedError, match="Cannot copy out of meta tensor; no data!"):
            back()
    assert rg.empty_like(x, device="cpu").is_cpu


# -- what they say -------------------------------------------------------------------------------


def test_they_print_their_size():
    assert repr(shape(2, 3)) == "tensor(..., device='meta', size=(2, 3))"
    x = shape(2, dtype=rg.int32)
    assert repr(x) == "tensor(..., device='meta', size=(2,), dtype=retrograd.int32)"
    y = shape((), requires_grad=True) * 2
    assert repr(y) == "tensor(..., device='meta', size=(), grad_fn=<MulBackward0>)"
    assert x.type() == "retrograd.meta.IntTensor"


@pytest.mark.parametrize("ask", [bool, float, int, lambda x: x.item()])
def test_they_have_no_number(ask):
    with pytest.raises(RuntimeError, match=r"Tensor.item\(\) cannot be called on meta tensors"):
        ask(shape(3).sum())


def test_they_have_no_values():
    for x in (shape(2), shape(2).requires_grad_()):
        for ask in (rg.Tensor.numpy, np.asarray):
            with pytest.raises(TypeError, match="can't convert meta device type tensor to numpy"):
                ask(x)
    with pytest.raises(NotImplementedError, match="Cannot copy out of meta tensor"):
        shape(2).tolist()


@pytest.mark.parametrize(
    "ask", [lambda x: x.nonzero(), lambda x: x[x > 0], lambda x: x.unique(), rg.masked_select]
)
def test_shapes_by_values_raise(ask):
    x = shape(2, 3)
    with pytest.raises(NotImplementedError, match="depends on the values"):
        ask(x) if ask is not rg.masked_select else ask(x, x > 0)


def test_views_have_strides_and_offsets():
    x = shape(4, 5)
    assert (x.t().stride(), x[1:, 2:].storage_offset()) == ((1, 5), 7)
    assert x.t().is_contiguous() is False
    assert x.view(2, 10).stride() == (10, 1)
    with pytest.raises(RuntimeError, match="view size is not compatible"):
        x.t().view(20)
    assert x.t().reshape(20).stride() == (1,)
    assert (
        x.as_strided((20,), (1,)).storage_offset()
        == x.as_strided((2,), (7,), 0).storage_offset()
        == 0
    )


# -- what is computed ----------------------------------------------------------------------------


def test_devices_do_not_mix_but_for_numbers():
    assert (shape(2) + 1.0 + rg.tensor(2.0)).is_meta
    assert shape(3)[rg.tensor([0, 2])].shape == (2,)
    with pytest.raises(RuntimeError, match="not on the expected device meta"):
        shape(2) + rg.ones(2)
    with pytest.raises(RuntimeError, match="not on the expected device meta"):
        rg.cat([shape(2), rg.ones(2)])
    with pytest.raises(RuntimeError, match="not on the expected device meta"):
        rg.where(shape(2) > 0, rg.ones(2), shape(2))
    for product in (rg.nn.functional.linear, lambda x, w: x @ w.T, lambda x, w: rg.mv(w, x[0])):
        with pytest.raises(RuntimeError, match="not on the expected device meta"):
            product(rg.ones(2, 3), shape(4, 3))
    for grid in (rg.meshgrid, rg.cartesian_prod):
        with pytest.raises(RuntimeError, match="same device, but they are on cpu, meta"):
            grid(shape(2), rg.ones(3))


CLASSES, PLACES = rg.tensor([0, 1]), rg.tensor([[0, 1]])


@pytest.mark.parametrize(
    "call",
    [
        lambda: F.cross_entropy(shape(2, 3), CLASSES),
        lambda: F.cross_entropy(shape(3), CLASSES[:1]),
        lambda: F.cross_entropy(shape(2, 3), CLASSES, label_smoothing=0.1),
        lambda: F.cross_entropy(shape(2, 3), CLASSES.to("meta"), rg.ones(3)),
        lambda: F.nll_loss(shape(2, 3), CLASSES),
        lambda: F.nll_loss(shape(1, 3, 2), PLACES),
        lambda: shape(2).index_add(0, CLASSES, shape(2)),
        lambda: shape(2).index_add_(0, CLASSES, shape(2)),
        lambda: shape(2).index_copy(0, CLASSES, shape(2)),
        lambda: shape(2).index_fill(0, CLASSES, 1.0),
        lambda: rg.take_along_dim(shape(1, 2), PLACES, 1),
        lambda: rg.take_along_dim(shape(1, 2), PLACES),
        lambda: rg.complex(shape(2), rg.ones(2)),
        lambda: F.max_unpool1d(shape(1, 2), PLACES, 2),
    ],
)
def test_indices_that_have_values_do_not_go_with_a_shape(call):
    with pytest.raises(RuntimeError, match="not on the expected device meta"):
        call()


def test_numbers_go_with_every_device():
    for loss in (F.cross_entropy, F.nll_loss):
        assert loss(shape(3), rg.tensor(1)).is_meta
    assert rg.complex(shape(2), rg.tensor(1.0)).shape == (2,)


def test_a_result_is_not_written_to_an_out_on_another_device():
    for x, out in ((rg.ones(2), shape(2)), (shape(2), rg.ones(2))):
        with pytest.raises(RuntimeError, match=r"Attempting to copy from device \w+ to device \w+"):
            rg.add(x, 1, out=out)
    assert rg.ones(2, out=shape(2)).shape == (2,)


def test_writes_leave_a_tensor_as_it_is():
    x = shape(2, 3)
    x[0] = 1.0
    x.mul_(2).fill_(3.0).copy_(rg.ones(2, 3)).uniform_()
    assert (x.shape, x._version) == ((2, 3), 5)


def test_gradients_are_shapes_too():
    w = shape(4, 5, requires_grad=True)
    table = shape(10, 4, requires_grad=True)
    out = F.layer_norm(F.gelu(F.embedding(shape(7, dtype=rg.int64) * 0, table) @ w), (5,))
    out.softmax(-1).sum().backward()
    assert [(t.grad.shape, t.grad.is_meta) for t in (w, table)] == [((4, 5), True), ((10, 4), True)]


def test_large_models_run_in_no_memory():
    with rg.device("meta"):
        net = rg.nn.Sequential(rg.nn.Conv2d(3, 10**4, 3), rg.nn.ReLU(), rg.nn.Flatten(),
                               rg.nn.Linear(36 * 10**4, 10**6))  # fmt: skip
        out = net(rg.ones(2, 3, 8, 8))
    F.cross_entropy(out, rg.zeros(2, dtype=rg.int64, device="meta")).backward()
    assert out.shape == (2, 10**6)
    assert net[3].weight.grad.shape == (10**6, 36 * 10**4)


def test_an_optimizer_steps():
    net = rg.nn.Linear(3, 4, device="meta")
    optimizer = rg.optim.AdamW(net.parameters())
    net(shape(2, 3)).sum().backward()
    optimizer.step()
    assert optimizer.state[net.weight]["exp_avg"].is_meta


# -- modules -------------------------------------------------------------------------------------


def test_a_module_gets_memory_by_to_empty():
    net = rg.nn.Sequential(rg.nn.Linear(2, 3), rg.nn.BatchNorm1d(3)).to("meta")
    assert all(t.is_meta for t in (*net.parameters(), *net.buffers()))
    with pytest.raises(NotImplementedError, match=r"torch.nn.Module.to_empty\(\) instead"):
        net.to("cpu")
    weight = net[0].weight
    net.to_empty(device="cpu")
    assert net[0].weight is weight
    assert all(t.is_cpu for t in (*net.parameters(), *net.buffers()))
    assert weight.requires_grad


def test_a_state_is_assigned_to_a_module_without_data():
    net, full = rg.nn.Linear(2, 3, device="meta"), rg.nn.Linear(2, 3)
    with pytest.warns(UserWarning, match=r"which is a no-op.*`assign=True`"):
        net.load_state_dict(full.state_dict())
    assert net.weight.is_meta
    net.load_state_dict(full.state_dict(), assign=True)
    assert net.weight.equal(full.weight)
    assert net.weight.requires_grad
    with pytest.raises((RuntimeError, NotImplementedError), match="meta tensor"):
        full.load_state_dict(rg.nn.Linear(2, 3, device="meta").state_dict())


def test_functions_that_make_tensors_on_the_cpu_alone_say_so():
    with pytest.raises(NotImplementedError, match="not on the meta device"):
        rg.fft.fftfreq(3, device="meta")
    with pytest.raises(RuntimeError, match="Cannot get a META generator"):
        rg.Generator("meta")


def test_embeddings_that_would_look_at_values_have_shapes():
    indices = rg.zeros(4, 2, dtype=rg.int64, device="meta")
    with rg.device("meta"):
        limited = rg.nn.Embedding(5, 3, max_norm=1.0)
        bags = [rg.nn.EmbeddingBag(5, 3, mode=mode) for mode in ("sum", "mean", "max")]
    assert limited(indices).shape == (4, 2, 3)
    assert [tuple(bag(indices).shape) for bag in bags] == [(4, 3)] * 3


def test_a_spectral_norm_runs_on_meta():
    layer = rg.nn.utils.parametrizations.spectral_norm(rg.nn.Linear(3, 4)).to("meta")
    assert layer(rg.zeros(2, 3, device="meta")).shape == (2, 4)


def test_masked_scatter_and_index_fill_of_meta_tensors_have_shapes():
    x = rg.empty(3, 4, device="meta", requires_grad=True)
    source = rg.empty(3, 4, device="meta", requires_grad=True)
    mask = rg.empty(4, dtype=rg.bool, device="meta")
    found = x.masked_scatter(mask, source)
    assert (found.shape, found.device.type) == ((3, 4), "meta")
    found.sum().backward()
    assert (x.grad.shape, source.grad.shape) == ((3, 4), (3, 4))
    index = rg.empty(2, dtype=rg.int64, device="meta")
    assert x.index_fill(0, index, 1.0).shape == (3, 4)


OF_FIXED_SHAPE = {
    **{
        f"scatter_reduce {name}": lambda x, i, name=name: x.scatter_reduce(0, i, x, name)
        for name in ("sum", "prod", "mean", "amax", "amin")
    },
    **{
        f"index_reduce {name}": lambda x, i, name=name: x.index_reduce(0, i[:, 0], x, name)
        for name in ("prod", "mean", "amax", "amin")
    },
    "scatter": lambda x, i: x.scatter(0, i, 2.0, reduce="multiply"),
    "matrix_exp": lambda x, i: rg.matrix_exp(x),
    "matrix_power": lambda x, i: rg.matrix_power(x, 0),
    "cholesky": lambda x, i: rg.linalg.cholesky(x),
    "inv": lambda x, i: rg.linalg.inv(x),
    "solve": lambda x, i: rg.linalg.solve(x, x),
    "ldl_factor": lambda x, i: rg.linalg.ldl_factor(x).LD,
    "chebyshev_polynomial_t": lambda x, i: rg.special.chebyshev_polynomial_t(x, i),
    "as_strided": lambda x, i: x.as_strided((2, 2), (1, 3), 1),
    "nonzero_static": lambda x, i: x.nonzero_static(size=4),
    "repeat_interleave": lambda x, i: x.repeat_interleave(i[0] + 1, dim=0, output_size=3),
    "cat": lambda x, i: rg.cat([x[0, :0], x[0, :0]]),
    "resize_": lambda x, i: x.clone().resize_(4, 5),
    "new_empty_strided": lambda x, i: x.new_empty_strided((2, 3), (1, 2)),
}


@pytest.mark.parametrize("name", OF_FIXED_SHAPE)
def test_what_has_one_shape_for_all_values_has_it_without_values(name):
    x, i = rg.eye(3), rg.zeros(3, 3, dtype=rg.int64)
    expected, found = (OF_FIXED_SHAPE[name](x.to(at), i.to(at)) for at in ("cpu", "meta"))
    assert found.is_meta
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
    assert found.stride() == expected.stride()


@pytest.mark.parametrize(
    "write",
    [
        lambda x, y: y.__setitem__(x > 0, 1.0),
        lambda x, y: y.__setitem__(x[:, 0] > 0, shape(2, 4)),
        lambda x, y: y.__setitem__((x[:, 0] > 0, 1), shape(2)),
        lambda x, y: y.__setitem__((slice(None), x[0] > 0), shape(3, 2)),
        lambda x, y: y.index_put_((x[:, 0] > 0,), shape(4)),
        lambda x, y: y.__setitem__(rg.tensor([True, False, True]), shape(2, 4)),
    ],
)
def test_writes_through_masks_keep_shape_and_history(write):
    x = shape(3, 4).requires_grad_()
    y = x * 2
    write(x, y)
    y.sum().backward()
    assert (y.shape, y.requires_grad, x.grad.shape) == ((3, 4), True, (3, 4))


def test_values_written_through_a_mask_have_a_gradient_of_their_shape():
    y, values = shape(3, 4), shape(2, 4).requires_grad_()
    y[y[:, 0] > 0] = values
    y.sum().backward()
    assert values.grad.shape == (2, 4)


# -- gradients, and what is made of other tensors ------------------------------------------------


class OnAnotherDevice(rg.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return rg.ones(2) if g.is_meta else shape(2)


def test_a_gradient_is_on_the_device_of_its_tensor():
    for x, other in ((rg.ones(2), shape(2)), (shape(2), rg.ones(2))):
        x.requires_grad_()
        for ask in (
            lambda x=x, g=other: (x * 2).backward(g),
            lambda x=x, g=other: rg.autograd.grad(x * 2, x, g, create_graph=True),
            lambda x=x: OnAnotherDevice.apply(x).backward(rg.ones_like(x)),
        ):
            with pytest.raises(RuntimeError, match=r"invalid gradient at index 0 - expected devi"):
                ask()
        hooked = x * 2
        hooked.register_hook(lambda g, other=other: other)
        loss = hooked.sum()
        with pytest.raises(RuntimeError, match="has changed the type of value"):
            loss.backward()
        assert x.grad is None
    x = shape(2, requires_grad=True)
    x.sum().backward(rg.tensor(1.0))
    assert x.grad.is_meta
    with pytest.raises(NotImplementedError, match="Cannot copy out of meta tensor"):
        rg.ones(2, requires_grad=True).sum().backward(shape(()))


@pytest.mark.filterwarnings("ignore:To copy construct from a tensor")
def test_a_tensor_to_another_is_on_its_device():
    x, other = rg.ones(2), shape(3, dtype=rg.float64)
    for made in (x.to(other), x.type_as(other), other.new_tensor(x.double())):
        assert (made.is_meta, made.dtype, made.shape) == (True, rg.float64, (2,))
    assert x.to("cpu", None) is x


@pytest.mark.filterwarnings("ignore:To copy construct from a tensor")
def test_nothing_is_made_on_the_cpu_of_what_has_no_data():
    x, cpu = shape(2), rg.ones(1)
    for made in (
        lambda: rg.tensor(x, device="cpu"),
        lambda: rg.as_tensor(x, device="cpu"),
        lambda: rg.asarray(x, device="cpu"),
        lambda: cpu.new_tensor(x),
        lambda: x.to(cpu),
        lambda: x.type_as(cpu),
    ):
        with pytest.raises(NotImplementedError, match="Cannot copy out of meta tensor"):
            made()
    for target, source in ((cpu, x), (x, cpu)):
        with pytest.raises(RuntimeError, match="Attempted to set the storage of a tensor on dev"):
            target.set_(source)
