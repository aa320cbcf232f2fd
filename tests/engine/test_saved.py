"""Saved values: what is kept, version checks, and the two kinds of hooks."""

from __future__ import annotations

import os
import uuid

import numpy as np
import pytest
from tests.laws.samples import at_least, sample

import retrograd as rg
from retrograd import autograd
from retrograd.autograd.graph import saved_tensors_hooks
from retrograd.engine.registry import OPS
from retrograd.engine.saved import OnTensors, on_tensors_from
from retrograd.errors import SecondBackwardError, VersionError


def leaf(*values, dtype=rg.float64):
    return rg.tensor(list(values), dtype=dtype, requires_grad=True)


def saved_values(root):
    """All values that the graph behind a tensor keeps for its backward pass."""
    found, nodes = [], [root.grad_fn]
    for node in nodes:
        if node.name() != "torch::autograd::AccumulateGrad":
            found += [value for value in node.saved if value is not None]
        for edge, _ in node.next_functions:
            if edge is not None and edge not in nodes:
                nodes.append(edge)
    return found


# -- what is saved -----------------------------------------------------------------------------


def test_a_saved_input_is_the_same_object():
    x = leaf(1, 2)
    y = x.pow(2)
    assert y.grad_fn._saved_self is x
    assert x.equal(y.grad_fn._saved_self)


def test_a_product_saves_only_the_factor_that_the_other_s_gradient_reads():
    x, w = rg.ones(2), rg.ones(2, requires_grad=True)
    assert ((x * w).grad_fn._saved_self is not None, (x * w).grad_fn._saved_other) == (True, None)
    assert ((w * x).grad_fn._saved_self, (w * x).grad_fn._saved_other is not None) == (None, True)


def test_a_saved_result_is_equal_but_another_object_on_the_same_memory():
    x = leaf(1, 2)
    y = x.exp()
    saved = y.grad_fn._saved_result
    assert saved is not y
    assert y.equal(saved)
    assert np.shares_memory(saved._array, y._array)
    assert saved.grad_fn is y.grad_fn


def test_an_operand_is_saved_only_if_the_other_one_needs_a_gradient():
    x, y = leaf(1, 2), rg.tensor([3.0, 4.0], dtype=rg.float64)
    node = (x * y).grad_fn
    assert node._saved_self is None
    assert node._saved_other is y


def test_linear_operations_save_nothing():
    x = leaf(1, 2)
    assert saved_values(-(x + 1 - x).sum()) == []


def test_a_frozen_part_of_a_network_saves_nothing():
    rg.manual_seed(0)
    sizes = [(8, 4), (8, 8), (8, 8), (2, 8)]
    weights = [rg.randn(*size) for size in sizes]
    weights[-1].requires_grad_()
    hidden = rg.randn(3, 4)
    for weight in weights[:-1]:
        hidden = (hidden @ weight.t()).relu()
        assert hidden.grad_fn is None
    loss = (hidden @ weights[-1].t()).sum()
    assert [value is hidden for value in saved_values(loss)] == [True]
    loss.backward()
    assert [weight.grad is None for weight in weights] == [True, True, True, False]


def test_facts_are_shown_like_saved_values():
    node = rg.ones(2, 3, requires_grad=True).sum(1).grad_fn
    assert node._saved_dim == (1,)
    assert node._saved_self_sym_sizes == (2, 3)


@pytest.mark.parametrize("name", ["kthvalue", "max", "median", "min", "mode", "nanmedian"])
def test_the_dimension_of_a_choice_is_shown_as_a_number(name):
    x = rg.tensor([[1.0, 3.0, 2.0]], requires_grad=True)
    values, _ = getattr(x, name)(*[1] * (name == "kthvalue"), dim=1)
    assert values.grad_fn._saved_dim == 1


NAMED = [sample(op, op.examples[-1], False) for op in OPS.values() if op.saved]


@pytest.mark.parametrize("made", at_least(40, NAMED), ids=repr)
def test_every_name_that_a_record_shows_can_be_read(made):
    node = made.call(made.tensors())[0].grad_fn
    for name in made.op.saved:
        getattr(node, f"_saved_{name}")


# -- versions ----------------------------------------------------------------------------------


def test_a_saved_input_that_was_written_raises():
    x = leaf(1, 2)
    a = x * 1
    y = a * a
    a.add_(1)
    with pytest.raises(VersionError, match="modified by an inplace operation") as caught:
        y.sum().backward()
    text = str(caught.value)
    assert "retrograd.DoubleTensor [2]" in text
    assert "is at version 1; expected version 0 instead" in text
    assert "which is output 0 of Mul" in text
    assert "MulBackward0 saved it as `input`, and then it was written by add_" in text
    assert "Hint: enable anomaly detection to find the operation" in text


def test_a_saved_output_that_was_written_raises():
    y = leaf(1, 2).exp()
    y.add_(1)
    with pytest.raises(VersionError, match=r"output 0 of Exp, is at.*saved it as its result"):
        y.sum().backward()


def test_an_input_that_is_not_saved_may_be_written():
    x = leaf(1, 2)
    a = x * 1
    y = a.exp()
    a.add_(1)
    y.sum().backward()
    assert x.grad.tolist() == pytest.approx(np.exp([1, 2]).tolist(), rel=1e-15)


def test_a_write_before_saving_is_no_error():
    x = leaf(1, 2)
    a = x * 1
    a.add_(1)
    (a * a).sum().backward()
    assert x.grad.tolist() == [4, 6]


def test_a_write_to_a_view_or_a_detached_alias_is_seen():
    for write in (lambda a: a[:1].mul_(2), lambda a: a.detach().mul_(2)):
        a = leaf(1, 2) * 1
        y = a * a
        write(a)
        with pytest.raises(
            VersionError, match="output 0 of Mul, is at version 1; expected version 0 instead"
        ):
            y.sum().backward()


def test_a_write_under_no_grad_is_seen_and_one_to_data_is_not():
    x = leaf(1, 2)
    y = x * x
    x.data.mul_(10)
    y.sum().backward()
    assert x.grad.tolist() == [20, 40]
    y = x * x
    with rg.no_grad():
        x.mul_(2)
    with pytest.raises(VersionError, match="expected version 0 instead"):
        y.sum().backward()


def test_versions_count_writes_and_are_shared_with_views():
    x = rg.zeros(3)
    assert x._version == 0
    view = x[1:]
    view.add_(1)
    x.mul_(2)
    assert x._version == view._version == 2


def test_a_version_error_leaves_gradients_as_they_were():
    x = leaf(1, 2)
    a = x * 1
    y = (a * a).sum() + (x * 3).sum()
    a.add_(1)
    with pytest.raises(
        VersionError, match="output 0 of Mul, is at version 1; expected version 0 instead"
    ):
        y.backward()
    assert x.grad is None


# -- freed values ------------------------------------------------------------------------------


def test_freed_values_cannot_be_read():
    y = leaf(1, 2).exp()
    handle = y.grad_fn._raw_saved_result
    y.sum().backward()
    with pytest.raises(SecondBackwardError, match="directly access saved tensors after they have"):
        _ = y.grad_fn._saved_result
    for found in (handle, y.grad_fn._raw_saved_result):
        with pytest.raises(RuntimeError, match="after it has been freed"):
            found.register_hooks(lambda t: t, lambda t: t)


# -- hooks for one saved value -----------------------------------------------------------------


def test_hooks_registered_on_a_saved_value_pack_at_once_and_unpack_at_reading():
    notes = []

    def pack(t):
        notes.append("pack")
        return t.numpy().copy()

    def unpack(a):
        notes.append("unpack")
        return rg.tensor(a)

    x = leaf(1, 2)
    y = x.pow(2)
    y.grad_fn._raw_saved_self.register_hooks(pack, unpack)
    assert notes == ["pack"]
    assert y.grad_fn._saved_self.equal(x)
    y.sum().backward()
    assert notes == ["pack", "unpack", "unpack"]
    assert x.grad.tolist() == [2, 4]


def test_one_pair_of_hooks_at_a_time_and_none_on_nothing():
    x, y = leaf(1, 2), rg.ones(2, dtype=rg.float64)
    node = (x * y).grad_fn
    node._raw_saved_other.register_hooks(lambda t: t, lambda t: t)
    with pytest.raises(RuntimeError, match="only one pair of hooks is allowed"):
        node._raw_saved_other.register_hooks(lambda t: t, lambda t: t)
    with pytest.raises(RuntimeError, match="with value None is forbidden"):
        node._raw_saved_self.register_hooks(lambda t: t, lambda t: t)
    with pytest.raises(TypeError, match="incompatible function arguments"):
        leaf(1).exp().grad_fn._raw_saved_result.register_hooks(lambda t: t, None)


def test_a_pack_hook_may_not_write_to_its_argument():
    x = leaf(1, 2)
    with pytest.raises(RuntimeError, match="pack hook is modifying its input in place"):
        x.exp().grad_fn._raw_saved_result.register_hooks(lambda t: t.add_(1), lambda t: t)


MAKERS = {
    "a saved input": lambda x: ((y := x * 1), y.sin),
    "a saved result": lambda x: ((y := x * 1), y.exp),
    "one of several results": lambda x: (None, lambda: rg.linalg.qr((x * 1).reshape(2, 2))),
}


@pytest.mark.parametrize("way", [lambda t: t, lambda t: t[:]], ids=["itself", "a view"])
@pytest.mark.parametrize("maker", MAKERS)
def test_what_hooks_write_to_what_they_were_given_counts(maker, way):
    """A node that saved the same memory without hooks notices."""
    given = []
    y, call = MAKERS[maker](leaf(1, 2, 3, 4))
    with saved_tensors_hooks(lambda t: (given.append(way(t)), t)[1], lambda t: t):
        made = call()
    made = made[0] if isinstance(made, tuple) else made
    seen = made if y is None or maker == "a saved result" else y
    z = (seen * seen).sum()
    with rg.no_grad():
        for each in given:
            each.mul_(2)
    assert seen._version == 1
    with pytest.raises(VersionError, match="it was written by mul_"):
        z.backward()


def test_pack_hooks_see_inputs_as_they_are_and_results_without_history():
    x, constant = leaf(1, 2), rg.ones(2, dtype=rg.float64)
    y = x * 1
    seen = []
    with saved_tensors_hooks(lambda t: (seen.append(t), t)[1], lambda t: t):
        x.sin(), y.sin(), x * constant
        made = x.exp()
    assert seen[0] is x
    assert seen[1] is y
    assert seen[2] is constant
    assert seen[3] is not made
    assert seen[3].grad_fn is None
    assert seen[3].tolist() == made.tolist()


def test_a_write_to_what_an_unpack_hook_gave_is_one_to_that():
    y = leaf(1, 2) * 1
    with saved_tensors_hooks(lambda t: t.clone(), lambda t: t):
        y.cos_()
    y.grad_fn._saved_self.mul_(2)
    assert y._version == 1


def test_a_write_to_a_saved_result_counts_for_those_who_saved_the_tensor():
    y = leaf(1, 2).exp()
    z = (y * y).sum()
    y.grad_fn._saved_result.mul_(2)
    assert y._version == 1
    with pytest.raises(VersionError, match="it was written by mul_"):
        autograd.grad(z, y)


def test_writes_to_what_an_unpack_hook_gave_are_none_to_what_was_saved():
    x, other = leaf(1, 2), rg.tensor([5.0, 6.0])
    with saved_tensors_hooks(lambda t: other, lambda t: t):
        y = x * x
    z = (x * x).sum()
    with rg.no_grad():
        y.grad_fn._saved_self.add_(1)
    assert (x._version, other._version, other.tolist()) == (0, 1, [6, 7])
    (dx,) = autograd.grad(z, x)
    assert dx.tolist() == [2, 4]


def test_an_unpack_hook_must_return_a_tensor():
    x = leaf(1, 2)
    y = x.exp()
    y.grad_fn._raw_saved_result.register_hooks(lambda t: 3, lambda packed: packed)
    with pytest.raises(TypeError, match="unpack_hook expected to be a Tensor"):
        y.sum().backward()


# -- hooks for all saved values ----------------------------------------------------------------


def test_default_hooks_pack_once_and_unpack_as_often_as_needed():
    packed, unpacked = [], []

    def pack(t):
        packed.append(t.tolist())
        return len(packed) - 1

    def unpack(place):
        unpacked.append(place)
        return rg.tensor(packed[place], dtype=rg.float64)

    x = leaf(1, 2)
    with saved_tensors_hooks(pack, unpack):
        y = x.exp() * x
    assert packed == [np.exp([1.0, 2.0]).tolist(), [1, 2], np.exp([1.0, 2.0]).tolist()]
    y.sum().backward(retain_graph=True)
    y.sum().backward()
    assert sorted(unpacked) == [0, 0, 1, 1, 2, 2]


def test_packed_values_are_new_objects_on_the_same_memory():
    with saved_tensors_hooks(lambda t: t, lambda t: t):
        x = leaf(1, 2)
        y = x * x
    first, second = y.grad_fn._saved_self, y.grad_fn._saved_other
    assert len({id(x), id(first), id(second)}) == 3
    assert np.shares_memory(first._array, x._array)
    assert np.shares_memory(second._array, x._array)
    assert first.grad_fn is None
    assert first.requires_grad


def test_unpacked_values_have_history_for_second_derivatives():
    x = leaf(2)
    with saved_tensors_hooks(lambda t: t.numpy().copy(), lambda a: rg.tensor(a)):
        y = (x * x).exp()
        (dx,) = autograd.grad(y, x, create_graph=True)
    (ddx,) = autograd.grad(dx, x)
    assert dx.item() == pytest.approx(4 * np.exp(4), rel=1e-14)
    assert ddx.item() == pytest.approx(18 * np.exp(4), rel=1e-14)


def test_inner_hooks_replace_outer_ones_and_end_with_their_context():
    notes = []

    def noting(name):
        return lambda t: notes.append(name) or t

    x = leaf(1)
    with saved_tensors_hooks(noting("outer"), lambda t: t):
        with saved_tensors_hooks(noting("inner"), lambda t: t):
            x.exp()
        x.exp()
    x.exp()
    assert notes == ["inner", "outer"]


def test_packed_values_are_not_checked_for_writes():
    x = leaf(1, 2)
    a = x * 1
    with saved_tensors_hooks(lambda t: t.clone(), lambda t: t):
        y = a * a
    a.mul_(100)
    y.sum().backward()
    assert x.grad.tolist() == [2, 4]


def temporary_files(folder):
    """The self-deleting file of the specification, and its hooks."""

    class SelfDeletingTempFile:
        def __init__(self):
            self.name = os.path.join(folder, str(uuid.uuid4()) + ".npy")

        def __del__(self):
            os.remove(self.name)

    def pack_hook(tensor):
        temp_file = SelfDeletingTempFile()
        np.save(temp_file.name, tensor.numpy())
        return temp_file

    def unpack_hook(temp_file):
        return rg.tensor(np.load(temp_file.name))

    return pack_hook, unpack_hook


def test_values_saved_to_temporary_files_are_deleted_with_the_graph(tmp_path):
    pack_hook, unpack_hook = temporary_files(tmp_path)
    x = leaf(*range(5))
    y = x.pow(2)
    y.grad_fn._raw_saved_self.register_hooks(pack_hook, unpack_hook)
    assert len(os.listdir(tmp_path)) == 1
    y.sum().backward(retain_graph=True)
    y.sum().backward()
    assert x.grad.tolist() == [0, 4, 8, 12, 16]
    assert os.listdir(tmp_path) == []
    y = x.pow(2)
    y.grad_fn._raw_saved_self.register_hooks(pack_hook, unpack_hook)
    del y
    assert os.listdir(tmp_path) == []


def test_only_large_values_go_to_disk(tmp_path):
    store, load = temporary_files(tmp_path)

    def pack_hook(x):
        return x if x.numel() < 1000 else store(x)

    def unpack_hook(packed):
        return packed if isinstance(packed, rg.Tensor) else load(packed)

    class Model(rg.nn.Module):
        def forward(self, x):
            with saved_tensors_hooks(pack_hook, unpack_hook):
                output = (x * x).exp()
            return output

    small, large = rg.zeros(999, requires_grad=True), rg.ones(1000, requires_grad=True)
    net = Model()
    first = net(small)
    assert os.listdir(tmp_path) == []
    second = net(large)
    assert len(os.listdir(tmp_path)) == 3
    (first.sum() + second.sum()).backward()
    assert os.listdir(tmp_path) == []
    np.testing.assert_array_equal(small.grad.numpy(), 0)
    np.testing.assert_allclose(large.grad.numpy(), 2 * np.e, rtol=1e-6)


@pytest.mark.parametrize("name", ["tanh", "sigmoid"])
def test_an_input_that_only_complex_formulas_read_is_saved_for_these_alone(name):
    real = getattr(leaf(1), name)()
    assert real.grad_fn._saved_self is None
    assert real.grad_fn._saved_result.equal(real)
    z = rg.tensor([1j], requires_grad=True)
    assert getattr(z, name)().grad_fn._saved_self is z


def test_other_memory_for_a_tensor_concerns_what_saved_that_tensor_alone():
    base, x = rg.arange(4.0), leaf(2, 3)
    first, second, alias = base[:2], base[2:], base[2:].detach()
    products = [x * first, x * second, x * alias]
    second.data = rg.zeros(2)
    for y, gradient in ((products[0], [0, 1]), (products[2], [2, 3])):
        assert rg.autograd.grad(y.sum(), x)[0].tolist() == gradient
    with pytest.raises(VersionError, match=r"written by the assignment to \.data"):
        products[1].sum().backward()


def test_other_memory_for_a_base_leaves_what_saved_its_views():
    base, x = rg.arange(4.0), leaf(2, 3)
    y = x * base[:2]
    base.data = rg.zeros(4)
    assert rg.autograd.grad(y.sum(), x)[0].tolist() == [0, 1]


def test_other_memory_for_a_result_leaves_the_one_that_its_node_saved():
    x = leaf(0, 1)
    y = x.exp()
    loss = y.sum()
    y.data = rg.zeros(2)
    assert rg.autograd.grad(loss, x)[0].tolist() == pytest.approx([1, np.e])


def test_writes_to_other_memory_are_none_to_what_was_saved_of_the_former():
    x, base = leaf(2, 3), rg.ones(4)
    view = base[:2]
    view.data = rg.zeros(2)
    products = x * base[:2], x * view
    view.add_(1)
    assert view._version == base._version == 1
    assert rg.autograd.grad(products[0].sum(), x)[0].tolist() == [1, 1]
    with pytest.raises(
        VersionError, match=r"FloatTensor \[2\]\] is at version 1; .* saved it as `other`"
    ):
        products[1].sum().backward()
    y = x * view
    base.add_(1)
    assert rg.autograd.grad(y.sum(), x)[0].tolist() == [1, 1]


@pytest.mark.parametrize("show", [lambda t: t.view(2, 2), lambda t: t[1:3]])
def test_a_tensor_that_shows_its_memory_in_another_way_still_writes_it(show):
    x, base = leaf(0, 1, 2, 3), rg.ones(4)
    product, y, z = x * base.detach(), x.exp(), x.exp()
    losses = product.sum(), y.sum(), z.sum()
    with rg.no_grad():
        for tensor in (base, y, z.detach()):
            tensor.data = show(tensor.data)
            tensor.add_(1)
    for loss in losses:
        with pytest.raises(
            VersionError, match=r"\[4\]\].* is at version 1; expected version 0 instead"
        ):
            loss.backward()


class Halves(autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x / 2, x / 2

    @staticmethod
    def backward(ctx, first, second):
        return (first + second) / 2


class Whole(autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        return x + y

    @staticmethod
    def backward(ctx, g):
        return g, g


def test_nodes_that_many_ways_lead_to_are_told_once_that_they_run_on_tensors():
    x = rg.tensor(0.0, requires_grad=True)
    first = y = x.exp()
    for _ in range(64):
        y = Whole.apply(*Halves.apply(y))
    on_tensors_from(y._node)
    assert isinstance(first._node.saved, OnTensors)
    y.backward()
    assert x.grad.item() == 1
