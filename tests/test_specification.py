"""The programs of the autograd-mechanics note, with the results that it states."""

from __future__ import annotations

import gc
import os
import threading
import uuid
import weakref

import numpy as np
import pytest

import retrograd as torch
from retrograd import nn, optim
from retrograd.autograd import Function


def saved_values(root):
    """Every value saved in the graph behind a node."""
    found, stack, seen = [], [root], set()
    while stack:
        node = stack.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        names = [n for n in dir(node) if n.startswith("_raw_saved_")]
        values = [getattr(node, n.replace("_raw", "")) for n in names]
        found += [(node.name(), value) for value in values if value is not None]
        stack += [edge for edge, _ in node.next_functions]
    return found


def test_requires_grad_propagates():
    x = torch.randn(5, 5)
    y = torch.randn(5, 5)
    z = torch.randn((5, 5), requires_grad=True)
    a = x + y
    assert a.requires_grad is False
    b = a + z
    assert b.requires_grad is True


class Backbone(nn.Module):
    """A small stand-in for a pretrained network whose last layer is called `fc`."""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 4, 3, padding=1)
        self.bn1 = nn.BatchNorm2d(4)
        self.conv2 = nn.Conv2d(4, 4, 3, padding=1)
        self.fc = nn.Linear(4 * 4 * 4, 10)

    def forward(self, x):
        x = torch.relu(self.bn1(self.conv1(x)))
        x = nn.functional.max_pool2d(torch.relu(self.conv2(x)), 2)
        return self.fc(x.flatten(1))


def test_freezing_all_but_the_last_layer_saves_nothing_for_the_frozen_part():
    model = Backbone()
    for param in model.parameters():
        param.requires_grad = False
    model.fc = nn.Linear(64, 100)
    optimizer = optim.SGD(model.fc.parameters(), lr=1e-2, momentum=0.9)
    out = model(torch.randn(2, 1, 8, 8))
    assert out.requires_grad
    saved = saved_values(out.grad_fn)
    assert [value.shape for _, value in saved] == [(2, 64)]  # the input of the last layer, alone
    before = [p.clone() for p in model.parameters()]
    out.sum().backward()
    optimizer.step()
    changed = [not torch.equal(p, q) for p, q in zip(model.parameters(), before, strict=True)]
    names = [name for name, _ in model.named_parameters()]
    assert [n for n, c in zip(names, changed, strict=True) if c] == ["fc.weight", "fc.bias"]
    assert all(p.grad is None for n, p in model.named_parameters() if not n.startswith("fc"))


def test_pow_saves_its_input_itself():
    x = torch.randn(5, requires_grad=True)
    y = x.pow(2)
    assert x.equal(y.grad_fn._saved_self)
    assert x is y.grad_fn._saved_self


def test_exp_saves_its_result_as_another_tensor_object_without_a_cycle():
    x = torch.randn(5, requires_grad=True)
    y = x.exp()
    assert y.equal(y.grad_fn._saved_result)
    assert y is not y.grad_fn._saved_result
    assert y.grad_fn._saved_result.data_ptr() == y.data_ptr()
    gc.collect()
    gc.disable()
    try:
        ref = weakref.ref(y)
        del y
        assert ref() is None
    finally:
        gc.enable()


def test_training_in_ten_threads():
    results = []

    def train_fn():
        x = torch.ones(5, 5, requires_grad=True)
        y = (x + 3) * (x + 4) * 0.5
        y.sum().backward()
        results.append(x.grad)

    threads = []
    for _ in range(10):
        p = threading.Thread(target=train_fn, args=())
        p.start()
        threads.append(p)
    for p in threads:
        p.join()
    assert len(results) == 10
    for grad in results:
        np.testing.assert_array_equal(grad.numpy(), np.full((5, 5), 4.5, np.float32))


# -- complex numbers -------------------------------------------------------------------------------


def wirtinger(f, z, h=1e-6):
    """(∂s/∂z, ∂s/∂z*) of a scalar function at z, by central differences."""
    dx = (f(z + h) - f(z - h)) / (2 * h)
    dy = (f(z + 1j * h) - f(z - 1j * h)) / (2 * h)
    return (dx - 1j * dy) / 2, (dx + 1j * dy) / 2


CASES = {
    "c * z": (lambda z: 3.0 * z, lambda z: 3.0 * z),
    "z * z": (lambda z: z * z, lambda z: z * z),
    "conj": (lambda z: z.conj(), np.conj),
    "z |z|^2": (lambda z: z * z * z.conj(), lambda z: z * z * np.conj(z)),
    "exp(conj z) sin z": (
        lambda z: z.conj().exp() * z.sin(),
        lambda z: np.exp(np.conj(z)) * np.sin(z),
    ),
    "tanh": (lambda z: z.tanh(), np.tanh),
}


@pytest.mark.parametrize("name", CASES)
def test_boxed_formula_for_complex_functions(name):
    f, reference = CASES[name]
    z0, g = 0.7 - 0.4j, 0.3 + 1.1j
    z = torch.tensor(z0, dtype=torch.complex128, requires_grad=True)
    f(z).backward(torch.tensor(g, dtype=torch.complex128))
    dz, dz_conj = wirtinger(reference, z0)
    expected = np.conj(g) * dz_conj + g * np.conj(dz)
    assert z.grad.item() == pytest.approx(expected, rel=1e-8)


def test_gradient_of_c_times_z_is_c():
    z = torch.tensor(1.0 + 2.0j, dtype=torch.complex128, requires_grad=True)
    (2.5 * z).backward(torch.tensor(1.0 + 0.0j, dtype=torch.complex128))
    assert z.grad.item() == 2.5


@pytest.mark.parametrize(
    ("f", "reference"),
    [
        (lambda z: z.abs(), np.abs),
        (lambda z: z.angle(), np.angle),
        (lambda z: z.real * z.imag, lambda z: z.real * z.imag),
        (lambda z: (z * z.conj()).real.sqrt(), lambda z: np.sqrt((z * np.conj(z)).real)),
    ],
)
def test_complex_to_real_formula(f, reference):
    z0, g = 0.7 - 0.4j, 1.3
    z = torch.tensor(z0, dtype=torch.complex128, requires_grad=True)
    f(z).backward(torch.tensor(g, dtype=torch.float64))
    _, dz_conj = wirtinger(reference, z0)
    assert z.grad.item() == pytest.approx(2 * g * dz_conj, rel=1e-8)


@pytest.mark.parametrize(
    ("f", "derivative"),
    [
        (lambda x: torch.complex(x, x * x), lambda x: 1 + 2j * x),
        (lambda x: (1j * x).exp(), lambda x: 1j * np.exp(1j * x)),
        (lambda x: torch.polar(x, x), lambda x: (1 + 1j * x) * np.exp(1j * x)),
    ],
)
def test_real_to_complex_formula(f, derivative):
    x0, g = 0.6, 0.3 + 1.1j
    x = torch.tensor(x0, dtype=torch.float64, requires_grad=True)
    f(x).backward(torch.tensor(g, dtype=torch.complex128))
    ds_dz_conj = derivative(x0) / 2  # for real x, ∂s/∂z* is half the ordinary derivative
    assert x.grad.item() == pytest.approx(2 * (np.conj(g) * ds_dz_conj).real, rel=1e-12)


def test_real_function_through_complex_operations_has_the_real_gradient():
    x = torch.tensor([0.3, -1.2], dtype=torch.float64, requires_grad=True)
    ((1j * x).exp() * (-1j * x).exp() * x).real.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), [1.0, 1.0], rtol=1e-12)


def test_step_against_the_conjugate_derivative_descends():
    z = torch.tensor(1.0 + 2.0j, dtype=torch.complex128, requires_grad=True)
    loss = (z - (0.5 - 1.0j)).abs().square()
    loss.backward()
    assert z.grad.item() == pytest.approx(2 * (0.5 + 3.0j), rel=1e-12)


def test_gradient_of_sum_of_conj_is_one():
    x = torch.tensor(
        [[0.17014372 + 0.71475762j, 0.57455420 + 0.00144318j],
         [0.57871044 + 0.61303568j, 0.48074263 + 0.7623235j]],
        dtype=torch.complex64, requires_grad=True,
    )  # fmt: skip
    y = torch.sum(torch.conj(x))
    (z,) = torch.autograd.grad(y, x, torch.ones_like(y))
    np.testing.assert_array_equal(z.numpy(), np.ones((2, 2), np.complex64))


# -- hooks for saved tensors -----------------------------------------------------------------------


@pytest.fixture
def temp_file_hooks(tmp_path):
    """The note's self-deleting temporary files, and the pair of hooks that uses them."""

    class SelfDeletingTempFile:
        def __init__(self):
            self.name = os.path.join(tmp_path, str(uuid.uuid4()))

        def __del__(self):
            os.remove(self.name)

    def pack_hook(tensor):
        temp_file = SelfDeletingTempFile()
        torch.save(tensor, temp_file.name)
        return temp_file

    def unpack_hook(temp_file):
        return torch.load(temp_file.name)

    return SelfDeletingTempFile, pack_hook, unpack_hook


def test_saved_tensor_lives_in_a_file_as_long_as_the_graph(tmp_path, temp_file_hooks):
    _, pack_hook, unpack_hook = temp_file_hooks
    x = torch.randn(5, requires_grad=True)
    y = x.pow(2)
    y.grad_fn._raw_saved_self.register_hooks(pack_hook, unpack_hook)
    assert len(os.listdir(tmp_path)) == 1
    assert torch.equal(y.grad_fn._saved_self, x)
    y.sum().backward()
    assert torch.equal(x.grad, 2 * x)
    assert os.listdir(tmp_path) == []


def threshold_hooks(temp_file_class, threshold=1000):
    """Save on disk only tensors that have `threshold` elements or more."""

    def pack_hook(x):
        if x.numel() < threshold:
            return x
        temp_file = temp_file_class()
        torch.save(x, temp_file.name)
        return temp_file

    def unpack_hook(tensor_or_sctf):
        if isinstance(tensor_or_sctf, torch.Tensor):
            return tensor_or_sctf
        return torch.load(tensor_or_sctf.name)

    return pack_hook, unpack_hook


def test_module_that_saves_large_tensors_on_disk(tmp_path, temp_file_hooks):
    pack_hook, unpack_hook = threshold_hooks(temp_file_hooks[0])

    class Model(nn.Module):
        def forward(self, x):
            with torch.autograd.graph.saved_tensors_hooks(pack_hook, unpack_hook):
                output = x * x
            return output

    net = Model()
    small = torch.randn(4, 10, requires_grad=True)
    out = net(small)
    assert os.listdir(tmp_path) == []
    out.sum().backward()
    assert torch.equal(small.grad, 2 * small)
    large = torch.randn(4, 1000, requires_grad=True)
    out = net(large)
    assert len(os.listdir(tmp_path)) > 0
    out.sum().backward()
    assert torch.equal(large.grad, 2 * large)
    assert os.listdir(tmp_path) == []


def test_identity_hooks_give_new_tensors_on_the_same_memory():
    x = torch.randn(5, requires_grad=True)
    y = x * x
    assert x is y.grad_fn._saved_self
    assert x is y.grad_fn._saved_other
    with torch.autograd.graph.saved_tensors_hooks(lambda x: x, lambda x: x):
        x = torch.randn(5, requires_grad=True)
        y = x * x
    for saved in (y.grad_fn._saved_self, y.grad_fn._saved_other):
        assert saved is not x
        assert saved.data_ptr() == x.data_ptr()


def test_saved_tensors_of_a_custom_function():
    class Square(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return 2 * x * grad

    x = torch.randn(5, requires_grad=True)
    Square.apply(x).sum().backward()
    assert torch.equal(x.grad, 2 * x)


# -- no limit on size, no leak ---------------------------------------------------------------------


def test_a_million_node_chain_builds_differentiates_and_frees():
    x = torch.ones(1, requires_grad=True)
    y = x
    for _ in range(1_000_000):
        y = y + 0.0
    y.backward(torch.ones(1))
    assert x.grad.item() == 1.0
    node = weakref.ref(y.grad_fn)
    del y
    assert node() is None


def test_dropping_the_loss_of_a_convolutional_network_frees_every_array():
    gc.collect()
    gc.disable()
    try:
        model = Backbone()
        loss = model(torch.randn(2, 1, 8, 8)).square().mean()
        refs = [weakref.ref(value) for _, value in saved_values(loss.grad_fn)]
        nodes, stack = [], [loss.grad_fn]
        while stack:
            node = stack.pop()
            if node.name() != "torch::autograd::AccumulateGrad":
                nodes.append(weakref.ref(node))
                stack += [edge for edge, _ in node.next_functions if edge is not None]
        del node, stack
        kept = {id(p) for p in model.parameters()} | {id(b) for b in model.buffers()}
        refs = [ref for ref in refs if ref() is not None and id(ref()) not in kept]
        assert len(nodes) > 10
        loss.backward()
        del loss
        assert all(ref() is None for ref in (*refs, *nodes))
    finally:
        gc.enable()
