"""Processes that work together: collectives, what breaks a group, gradients over ranks."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys

import numpy as np
import pytest

import retrograd as rg
from retrograd import distributed as dist

PRELUDE = """
import json, sys
from datetime import timedelta
import numpy as np
import retrograd as rg
from retrograd import distributed as dist, nn
from retrograd.nn.parallel import DistributedDataParallel as DDP
dist.init_process_group("gloo", timeout=timedelta(seconds=20))
rank, size = dist.get_rank(), dist.get_world_size()
def show(*values):
    print(json.dumps([[v.real.tolist(), v.imag.tolist()] if v.is_complex() else v.tolist()
                      for v in values]))
def error(call, *args):
    try:
        call(*args)
    except (RuntimeError, ValueError) as caught:
        print(type(caught).__name__, caught)
"""


def together(code, size=2, prelude=PRELUDE, **more):
    """What each of `size` processes prints, which run the code in one group."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    common = {**os.environ, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    common |= {"WORLD_SIZE": str(size), **more}
    jobs = [
        subprocess.Popen(
            [sys.executable, "-c", prelude + code],
            env={**common, "RANK": str(rank)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(size)
    ]
    done = [job.communicate() for job in jobs]
    assert all(not err for _, err in done), done
    return [out.strip() for out, _ in done]


def values(code, size=2):
    """What each process shows, as numbers."""
    return [json.loads(out) for out in together(code, size)]


@pytest.fixture
def alone():
    """A group of this process alone."""
    dist.init_process_group(rank=0, world_size=1)
    yield
    dist.destroy_process_group()


# -- collectives -----------------------------------------------------------------------------------


def test_all_reduce_adds_complex_numbers_as_such_on_all_ranks():
    code = "x = rg.tensor([1 + 2j, rank * 1j]); dist.all_reduce(x); show(x)"
    assert values(code, 3) == [[[[3.0, 0.0], [6.0, 3.0]]]] * 3


def test_all_reduce_by_every_op():
    code = """
names = ("SUM", "AVG", "PRODUCT", "MIN", "MAX")
found = [rg.tensor([2.0 * rank, 4.0 - 2 * rank]) for _ in names]
for name, x in zip(names, found): dist.all_reduce(x, dist.ReduceOp[name])
show(*found)
"""
    assert values(code) == [[[2.0, 6.0], [1.0, 3.0], [0.0, 8.0], [0.0, 2.0], [2.0, 4.0]]] * 2


def test_all_reduce_by_bits():
    code = """
found = [rg.tensor([3 + 3 * rank, 1]) for _ in range(3)]
for name, x in zip(("BAND", "BOR", "BXOR"), found): dist.all_reduce(x, dist.ReduceOp[name])
show(*found)
"""
    assert values(code) == [[[2, 1], [7, 1], [5, 0]]] * 2


def test_the_group_is_an_object_while_it_is_there():
    code = """
world = dist.group.WORLD
assert world is dist.GroupMember.WORLD
show(rg.tensor([world.size(), world.rank(), world.name() == dist.Backend.GLOO]))
"""
    assert values(code) == [[[2, 0, 1]], [[2, 1, 1]]]
    assert rg.distributed.group.WORLD is None


def test_a_product_of_complex_numbers_is_theirs():
    code = "x = rg.tensor(1 + 1j); dist.all_reduce(x, dist.ReduceOp.PRODUCT); show(x)"
    assert values(code) == [[[0.0, 2.0]]] * 2


def test_reduce_changes_the_tensor_of_one_rank():
    assert values("x = rg.tensor([1.0 + rank]); dist.reduce(x, dst=1); show(x)") == [
        [[1.0]],
        [[3.0]],
    ]


def test_broadcast_writes_in_place_any_layout_and_counts_the_write():
    code = """
x = rg.full((2, 3), rank).t(); before = x._version
dist.broadcast(x, src=1); dist.barrier(); show(x, rg.tensor(x._version - before))
"""
    assert values(code) == [[[[1, 1]] * 3, 1]] * 2


def test_all_gather_has_the_tensors_in_the_order_of_ranks():
    code = "o = [rg.zeros(1) for _ in range(size)]; dist.all_gather(o, rg.ones(1) * rank); show(*o)"
    assert values(code, 3) == [[[0.0], [1.0], [2.0]]] * 3


def test_gather_and_scatter_are_each_other_s_inverse():
    code = """
x, y = rg.tensor([rank, 7 * rank]), rg.zeros(2, dtype=rg.int64)
parts = [rg.zeros_like(x) for _ in range(size)] if rank == 1 else None
dist.gather(x, parts, dst=1); dist.scatter(y, parts, src=1); show(y)
"""
    assert values(code, 3) == [[[0, 0]], [[1, 7]], [[2, 14]]]


def test_send_goes_to_one_rank_and_recv_says_who_sent():
    code = """
x = rg.tensor([rank + 0.5j])
if rank == 2: dist.send(x, 1, tag=3); show()
elif rank == 1: show(rg.tensor(dist.recv(x, tag=3)), x)
else: show()
"""
    assert values(code, 3) == [[], [2, [[2.0], [0.5]]], []]


def test_every_dtype_arrives_as_it_was_sent():
    code = """
same = []
for dtype in (rg.bool, rg.uint8, rg.int64, rg.float16, rg.bfloat16, rg.float64, rg.complex128):
    for shape in ((), (0, 3), (2, 3)):
        x = (rg.ones(shape) * (1 + rank)).to(dtype); dist.broadcast(x, 0)
        same.append(rg.equal(x, rg.ones(shape).to(dtype)) and x.dtype is dtype)
show(rg.tensor(all(same)))
"""
    assert values(code) == [[True]] * 2


# -- what goes wrong -------------------------------------------------------------------------------


def test_tensors_of_other_shapes_break_the_group_on_all_ranks_and_name_both():
    code = "error(dist.all_reduce, rg.ones(2, 1 + rank)); error(dist.barrier)"
    for out in together(code, 3):
        assert "rank 1 has a tensor of shape (2, 2) and dtype float32" in out
        assert out.count("DistNetworkError") == 2  # again, instead of a wait
        assert "rank 0 one of shape (2, 1)" in out


def test_a_large_tensor_of_another_shape_names_both_shapes_to_its_sender():
    out = together("error(dist.all_reduce, rg.ones(10**6 * (1 + rank)))")[1]
    assert "shape (2000000,)" in out
    assert "shape (1000000,)" in out


def test_ranks_that_call_different_functions_are_told():
    outs = together("error(dist.broadcast if rank else dist.all_reduce, rg.ones(2), *[1] * rank)")
    assert "rank 1 calls broadcast from rank 1 where rank 0 calls all_reduce SUM" in outs[0]


def test_a_rank_that_ends_is_an_error_of_all_others():
    outs = together("rank == 1 and sys.exit(); error(dist.barrier)", 3)
    assert outs[0] == outs[2]
    assert outs[0].startswith("DistNetworkError Connection closed by peer: rank 1 ended")


def test_a_rank_that_is_too_late_is_an_error():
    code = """
dist.collectives._world.peers[1 - rank].settimeout(0.1)
error(dist.recv, rg.ones(1), 1 - rank)
"""
    for out in together(code):
        assert out.startswith("DistNetworkError Timed out after 20.0 s: rank")


def test_ranks_that_never_come_are_named():
    code = """
from datetime import timedelta
from retrograd import distributed as dist
try:
    dist.init_process_group(world_size=3, timeout=timedelta(seconds=0.3))
except RuntimeError as caught:
    print(caught)
"""
    assert "missing are the ranks [1, 2]" in together(code, 1, prelude="")[0]


def test_a_rank_with_another_key_is_turned_away():
    code = """
import os
from datetime import timedelta
from retrograd import distributed as dist
os.environ["RETROGRAD_DISTRIBUTED_KEY"] = "key " + os.environ["RANK"]
try:
    dist.init_process_group(timeout=timedelta(seconds=2))
except RuntimeError as caught:
    print(caught)
"""
    outs = together(code, prelude="")
    assert "missing are the ranks [1]" in outs[0]
    assert "rank 1 of 2 could not meet the others" in outs[1]


@pytest.mark.parametrize(
    ("arguments", "kind", "said"),
    [
        ({"backend": "nccl"}, RuntimeError, 'Use init_process_group\\("gloo"\\)'),
        ({"init_method": "tcp://h:1"}, ValueError, "rank parameter missing"),
        ({"rank": 0}, ValueError, "environment variable WORLD_SIZE expected, but not set"),
        ({"init_method": "file:///x"}, ValueError, "env:// or tcp://host:port"),
        ({"rank": 2, "world_size": 2}, ValueError, "rank must be in"),
    ],
)
def test_a_group_that_cannot_be_says_why(monkeypatch, arguments, kind, said):
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    with pytest.raises(kind, match=said):
        dist.init_process_group(**arguments)
    assert not dist.is_initialized()


def test_without_a_group_there_is_no_rank():
    with pytest.raises(ValueError, match="Default process group has not been initialized"):
        dist.get_rank()


@pytest.mark.usefixtures("alone")
def test_reductions_that_a_dtype_lacks_are_refused():
    with pytest.raises(ValueError, match=r"not support ReduceOp\.MAX on complex tensors"):
        dist.all_reduce(rg.tensor([1j]), dist.ReduceOp.MAX)
    with pytest.raises(ValueError, match=r"not support ReduceOp\.AVG on integer tensors"):
        dist.all_reduce(rg.tensor([1]), dist.ReduceOp.AVG)


@pytest.mark.usefixtures("alone")
def test_a_second_group_is_refused():
    with pytest.raises(ValueError, match="twice"):
        dist.init_process_group(rank=0, world_size=1)


@pytest.mark.usefixtures("alone")
def test_a_sampler_asks_the_group():
    assert list(rg.utils.data.DistributedSampler(range(3), shuffle=False)) == [0, 1, 2]


def test_a_sampler_without_a_group_says_so():
    with pytest.raises(ValueError, match="process group has not been initialized"):
        rg.utils.data.DistributedSampler(range(3))


# -- DistributedDataParallel -----------------------------------------------------------------------

NET = """
def net(dtype, seed):
    rg.manual_seed(seed)
    first, last = nn.Linear(3, 4, dtype=dtype), nn.Linear(4, 2, dtype=dtype)
    return nn.Sequential(first, nn.Tanh(), last)
def loss(model, x):
    return model(x).abs().square().mean()
rg.manual_seed(9)
"""


@pytest.mark.parametrize(
    ("dtypes", "close"), [("float32 complex64", 1e-6), ("float64 complex128", 1e-14)]
)
def test_gradients_are_those_of_the_whole_batch(dtypes, close):
    code = f"""
same = []
for dtype in map(rg.dtypes.by_name, {dtypes.split()}):
    x = rg.randn(6, 3, dtype=dtype); own, whole = DDP(net(dtype, rank)), net(dtype, 0)
    loss(own, x.tensor_split(size)[rank]).backward(); loss(whole, x).backward()
    same += [rg.allclose(a.grad, b.grad, 0, {close}) and a.grad.abs().max().item() > 0.01
             for a, b in zip(own.parameters(), whole.parameters())]
show(*map(rg.tensor, same))
"""
    assert values(NET + code, 3) == [[True] * 8] * 3


def test_one_module_may_have_parameters_of_several_dtypes():
    code = """
model = nn.ParameterList([rg.ones(2), rg.ones(2, dtype=rg.complex128), rg.ones(())])
class Sum(nn.Module):
    def __init__(self): super().__init__(); self.parts = model
    def forward(self, x): return sum((p * x).real.sum() for p in self.parts)
DDP(Sum())(rg.tensor(2.0 * rank + 4j)).backward(); show(*(p.grad for p in model))
"""
    assert values(code) == [[[1.0, 1.0], [[1.0, 1.0], [-4.0, -4.0]], 1.0]] * 2


def test_gradients_clipped_by_their_modulus_are_those_of_the_whole_batch():
    code = """
x = rg.randn(4, 3, dtype=rg.complex128); own, whole = DDP(net(x.dtype, rank)), net(x.dtype, 0)
loss(own, x.chunk(2)[rank]).backward(); loss(whole, x).backward()
norms = [nn.utils.clip_grad_norm_(m.parameters(), 1e-3) for m in (own, whole)]
show(rg.tensor(rg.allclose(*norms, 1e-12)), *(rg.tensor(rg.allclose(a.grad, b.grad, 1e-12)) for a, b
     in zip(own.parameters(), whole.parameters())))
"""
    assert values(NET + code) == [[True] * 5] * 2


def test_the_gradient_of_a_complex_parameter_is_the_mean_of_complex_numbers():
    code = """
layer = nn.Linear(1, 1, bias=False, dtype=rg.complex64)
(DDP(layer)(rg.tensor([[1 + 2j * rank]]))).real.sum().backward(); show(layer.weight.grad)
"""
    assert values(code) == [[[[[1.0]], [[-1.0]]]]] * 2


def test_gradients_without_sync_add_up_and_are_averaged_by_the_next_pass():
    code = """
layer = nn.Linear(1, 1, bias=False); model = DDP(layer); x = rg.tensor([[1.0 + 2 * rank]])
with model.no_sync(): model(x).sum().backward()
local = layer.weight.grad.clone(); model(10 * x).sum().backward(); show(local, layer.weight.grad)
"""
    assert values(code) == [[[[1.0]], [[22.0]]], [[[3.0]], [[22.0]]]]


TWO = """
class Two(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = (nn.Parameter(rg.tensor(1.0)) for _ in range(3))
    def forward(self, x):
        return self.a * x if rank == 0 else self.a * x + self.b * x
"""


def test_parameters_that_one_rank_does_not_reach_count_as_zero_there():
    code = """
model = DDP(Two(), find_unused_parameters=True); model(rg.tensor(4.0)).backward()
show(model.module.a.grad, model.module.b.grad, rg.tensor(model.module.c.grad is None))
"""
    assert values(TWO + code) == [[4.0, 2.0, True]] * 2


def test_parameters_that_are_not_reached_are_an_error_on_all_ranks():
    code = "error(DDP(Two())(rg.tensor(4.0)).backward)"
    for out in together(TWO + code):
        assert "Expected to have finished reduction" in out
        assert "did not reach b, c." in out


def test_a_pass_that_failed_does_not_keep_the_next_from_averaging():
    code = """
layer = nn.Linear(1, 1, bias=False); model = DDP(layer); x = rg.tensor([[1.0 + 2 * rank]])
handle = layer.weight.register_post_accumulate_grad_hook(lambda p: 1 / 0)
try: model(x).sum().backward()
except ZeroDivisionError: handle.remove(); layer.weight.grad = None
model(x).sum().backward(); show(layer.weight.grad)
"""
    assert values(code) == [[[[2.0]]]] * 2


def test_buffers_follow_rank_0_where_gradients_are_wanted():
    code = """
norm = nn.BatchNorm1d(1, momentum=1.0); model = DDP(norm); x = rg.tensor([[0.0], [2.0 * rank]])
model(x); own = norm.running_mean.clone()
norm.eval(); model(x); show(own, norm.running_mean)
"""
    assert values(code) == [[[0.0], [0.0]], [[1.0], [0.0]]]


def test_modules_of_other_shapes_are_told():
    for out in together("error(DDP, nn.Linear(2, 1 + rank))"):
        assert "shape (1, 2)" in out
        assert "shape (2, 2)" in out


def test_a_rank_that_ends_before_its_backward_pass_is_an_error():
    code = "loss = DDP(nn.Linear(1, 1))(rg.ones(1, 1)); rank and sys.exit(); error(loss.backward)"
    assert "Connection closed by peer: rank 1 ended" in together(code)[0]


@pytest.mark.usefixtures("alone")
def test_a_module_without_gradients_needs_no_wrapper():
    with pytest.raises(RuntimeError, match="is not needed when a module doesn't have any param"):
        rg.nn.parallel.DistributedDataParallel(rg.nn.ReLU())


@pytest.mark.usefixtures("alone")
def test_the_state_has_the_prefix_and_loads_again():
    model = rg.nn.parallel.DistributedDataParallel(rg.nn.Linear(2, 1))
    state = {name: rg.full_like(value, 2.0) for name, value in model.state_dict().items()}
    model.load_state_dict(state)
    assert list(state) == ["module.weight", "module.bias"]
    assert np.all(model.module.weight.numpy(force=True) == 2.0)


def test_the_core_loads_no_distributed_and_neither_does_nn():
    code = "import sys, retrograd.nn; print('retrograd.distributed' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
