"""`DistributedDataParallel`: gradients over ranks."""

from __future__ import annotations

import numpy as np
import pytest

import retrograd as rg

from .together import together, values

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


def test_arguments_for_speed_and_the_group_of_all_change_nothing():
    code = """
layer = nn.Linear(1, 1, bias=False)
DDP(layer, process_group=dist.group.WORLD, bucket_cap_mb=25, gradient_as_bucket_view=True,
    static_graph=True)(rg.tensor([[1.0 + 2 * rank]])).sum().backward(); show(layer.weight.grad)
"""
    assert values(code) == [[[[2.0]]]] * 2


LAYERS = """
def made():
    rg.manual_seed(0)
    return nn.Sequential(*[nn.Linear(300, 300, dtype=rg.complex64 if i == 2 else None)
                           if i != 3 else Real() for i in range(6)])
class Real(nn.Module):
    def forward(self, x): return x.real + x.imag
class Cast(nn.Module):
    def __init__(self, net): super().__init__(); self.net = net
    def forward(self, x):
        for i, layer in enumerate(self.net): x = layer(x.to(rg.complex64) if i == 2 else x)
        return x
rg.manual_seed(1); x = rg.randn(2 * size, 300) / 30; part = x[2 * rank:2 * rank + 2]
"""


@pytest.mark.parametrize("views", [False, True])
def test_small_buckets_travel_beside_the_pass_and_give_the_gradients_of_the_whole_batch(views):
    code = f"""
whole = Cast(made()); net = DDP(Cast(made()), bucket_cap_mb=0.3, gradient_as_bucket_view={views})
count = []
def seen(p): count.append(sum(bucket.work is not None for bucket in net._buckets))
next(net.parameters()).register_post_accumulate_grad_hook(seen)
for step in range(3):
    for model, given in ((whole, x), (net, part)):
        for p in model.parameters(): p.grad = None
        model(given * (step + 1)).abs().mean().backward()
assert len(net._buckets) == 5, len(net._buckets)
assert min(count) >= 4, count  # under way before the pass came to the first layer
for p, q in zip(whole.parameters(), net.parameters()):
    assert np.allclose(p.grad.numpy(), q.grad.numpy(), rtol=1e-4, atol=1e-7)
inside = [any(np.shares_memory(q.grad.numpy(), b.memory) for b in net._buckets)
          for q in net.parameters()]
assert inside == [{views}] * len(inside)
print("alike")
"""
    assert together(LAYERS + code) == ["alike"] * 2


def test_gradients_that_lie_in_buckets_add_up_there():
    code = """
layer = nn.Linear(1, 1, bias=False); model = DDP(layer, gradient_as_bucket_view=True)
x = rg.tensor([[1.0 + 2 * rank]]); model(x).sum().backward(); first = layer.weight.grad.clone()
with model.no_sync(): model(x).sum().backward()
local = layer.weight.grad.clone(); model(x).sum().backward(); total = layer.weight.grad.clone()
layer.zero_grad(set_to_none=False); model(x).sum().backward()
show(first, local, total, layer.weight.grad)
"""
    assert values(code) == [
        [[[2.0]], [[2.0 + 1.0 + 2 * rank]], [[6.0]], [[2.0]]] for rank in (0, 1)
    ]


def test_passes_that_fail_at_different_places_break_the_group():
    code = """
net = nn.Sequential(nn.Linear(400, 400), nn.Linear(400, 400)); model = DDP(net, bucket_cap_mb=0.1)
def fail(p):
    if rank == 1: raise ZeroDivisionError
handle = net[1].bias.register_post_accumulate_grad_hook(fail)
def step(): model(rg.ones(1, 400)).sum().backward()
try: step()
except ZeroDivisionError: handle.remove(); error(step)
except RuntimeError as caught: print(type(caught).__name__, caught)
"""
    for out in together(code):
        assert out.startswith("DistNetworkError")
        assert "of pass 1" in out
        assert "of pass 2" in out


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
        assert "rank 0 of the group has weight of shape (1, 2)" in out
        assert "rank 1 has weight of shape (2, 2)" in out


def test_modules_with_more_parameters_are_told():
    for out in together("error(DDP, nn.Linear(2, 1, bias=rank == 0))"):
        assert "rank 0 of the group has bias of shape (1,)" in out
        assert "rank 1 has nothing more" in out


def test_a_rank_that_ends_before_its_backward_pass_is_an_error():
    code = "loss = DDP(nn.Linear(1, 1))(rg.ones(1, 1)); rank and sys.exit(); error(loss.backward)"
    assert "Connection closed by peer: rank 1 ended" in together(code, fresh=True)[0]


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


def test_a_module_may_be_alike_on_some_ranks():
    code = """
pair = dist.new_group([1, 2]); layer = nn.Linear(1, 1, bias=False); model = layer
if rank: model = DDP(layer, device_ids=[], process_group=pair)
model(rg.tensor([[1.0 + 2 * rank]])).sum().backward(); own = rg.tensor(layer.weight.item())
if rank: dist.broadcast(own, 1, pair)
show(layer.weight.grad, rg.tensor(own.item() == layer.weight.item()))
"""
    assert values(code, 3) == [[[[1.0]], True], [[[4.0]], True], [[[4.0]], True]]


@pytest.mark.usefixtures("alone")
def test_devices_are_not_for_modules_on_the_cpu():
    with pytest.raises(ValueError, match="device_ids and output_device arguments only work with"):
        rg.nn.parallel.DistributedDataParallel(rg.nn.Linear(1, 1), device_ids=[0])
