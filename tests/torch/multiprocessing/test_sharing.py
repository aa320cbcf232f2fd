"""`Tensor.share_memory_`: what moves, and what it leaves as it is."""

from __future__ import annotations

import os

import pytest

import retrograd as rg


def in_child(work):
    """Run a function in a fork of this process, and wait for it."""
    child = os.fork()
    if not child:
        work()
        os._exit(0)
    os.waitpid(child, 0)


def test_a_fork_writes_the_same_memory():
    x, private = rg.zeros(3).share_memory_(), rg.zeros(3)

    def work():
        x.fill_(7)
        private.fill_(7)

    in_child(work)
    assert x.tolist() == [7, 7, 7]
    assert private.tolist() == [0, 0, 0]


def test_parent_and_child_share_other_memory_afterwards():
    first = rg.zeros(4).share_memory_()

    def work():
        rg.full((4,), 9.0).share_memory_()

    in_child(work)
    second = rg.ones(4).share_memory_()
    assert second.tolist() == [1, 1, 1, 1]
    assert first.tolist() == [0, 0, 0, 0]


def test_views_and_base_move_together():
    base = rg.arange(12.0).reshape(3, 4)
    view = base[1:, ::2]
    view.share_memory_()
    assert base.is_shared()
    base.mul_(2)
    assert view.tolist() == [[8, 12], [16, 20]]


def test_histories_stay_what_they_are():
    x = rg.ones(3, requires_grad=True)
    y = x * 2
    part = y[1:]
    y.share_memory_()
    part.mul_(3)
    y.sum().backward()
    assert x.grad.tolist() == [2, 6, 6]


def test_an_alias_that_is_shared_later_comes_to_the_same_memory():
    x = rg.zeros(2)
    alias = x.detach()
    x.share_memory_().fill_(3)
    alias.share_memory_()
    assert alias.tolist() == [3, 3]
    assert alias.data_ptr() == x.data_ptr()


def test_the_storage_is_shared_with_its_tensors():
    x = rg.zeros(4)
    storage = x.untyped_storage()
    assert not storage.is_shared()
    x[1:].share_memory_()
    assert storage.is_shared()
    assert storage is x.untyped_storage()
    x.fill_(1)
    assert x.storage().tolist() == [1, 1, 1, 1]
    assert storage[3] == 63


@pytest.mark.parametrize("shape", [(), (0,), (0, 3), (1 << 19,)])
def test_tensors_of_any_size_are_shared(shape):
    x = rg.ones(shape).share_memory_()
    assert x.is_shared()
    assert x.shape == shape
    assert (x == 1).all()


def test_sharing_again_changes_nothing():
    x = rg.ones(2).share_memory_()
    place = x.data_ptr()
    assert x.share_memory_() is x
    assert x.data_ptr() == place


def test_a_module_shares_parameters_and_buffers():
    net = rg.nn.Sequential(rg.nn.Linear(3, 2), rg.nn.BatchNorm1d(2))
    assert net.share_memory() is net
    assert all(held.is_shared() for held in net.state_dict().values())
    net(rg.ones(4, 3)).sum().backward()
    assert net[1].bias.grad.tolist() == [4.0, 4.0]


def test_the_way_in_which_memory_is_to_be_handed_over_is_kept():
    kept = rg.multiprocessing.get_sharing_strategy()
    for strategy in rg.multiprocessing.get_all_sharing_strategies():
        rg.multiprocessing.set_sharing_strategy(strategy)
        assert rg.multiprocessing.get_sharing_strategy() == strategy
    rg.multiprocessing.set_sharing_strategy(kept)
