"""A user's program, which `mypy --strict` checks with the package's stubs: `make lint`.

Each `assert_type` is a promise to editors. It runs, too: `tests/test_stubs.py`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, assert_type

import numpy as np

import retrograd as rg
import retrograd.nn.functional as F
from retrograd import Tensor, nn, optim
from retrograd.utils.data import DataLoader, Dataset, TensorDataset, random_split


def factories() -> list[Tensor]:
    """Tensors from data and from sizes."""
    x = rg.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    assert_type(x, Tensor)
    assert_type(rg.zeros(2, 3), Tensor)
    assert_type(rg.zeros((2, 3), dtype=rg.float64), Tensor)
    assert_type(rg.ones(x.shape), Tensor)
    assert_type(rg.full((2, 2), math.pi), Tensor)
    assert_type(rg.arange(0, 10, 2), Tensor)
    assert_type(rg.linspace(0.0, 1.0, 5), Tensor)
    assert_type(rg.eye(3), Tensor)
    assert_type(rg.rand(2, 2), Tensor)
    assert_type(rg.randn(2), rg.Tensor)
    assert_type(rg.randint(0, 5, (3,)), Tensor)
    assert_type(rg.zeros_like(x), Tensor)
    assert_type(rg.empty(2, device="cpu"), Tensor)
    assert_type(rg.from_numpy(np.ones(3)), Tensor)
    assert_type(rg.manual_seed(0).initial_seed(), int)
    return [x, rg.randn(2, 2, generator=rg.Generator().manual_seed(1))]


def facts(x: Tensor) -> str:
    """What a tensor says about itself."""
    assert_type(x.shape, rg.Size)
    assert_type(x.shape[0], int)
    assert_type(x.size(), rg.Size)
    assert_type(x.size(0), int)
    assert_type(x.stride(), tuple[int, ...])
    assert_type(x.dtype, rg.dtype)
    assert_type(x.device, rg.device)
    assert_type(x.ndim, int)
    assert_type(x.dim(), int)
    assert_type(x.numel(), int)
    assert_type(x.requires_grad, bool)
    assert_type(x.is_leaf, bool)
    assert_type(x.grad, Tensor | None)
    assert_type(x.type(), str)
    assert_type(len(x), int)
    assert_type(rg.is_tensor(x), bool)
    assert_type(x.is_contiguous(), bool)
    assert_type(rg.float32, rg.dtype)
    assert_type(rg.int, rg.dtype)
    return f"{x.dtype} {x.shape} on {x.device}"


def arithmetic(x: Tensor, y: Tensor) -> Tensor:
    """Operators, in place as well."""
    assert_type(rg.randn(2) + 1, rg.Tensor)
    assert_type(1 - x, Tensor)
    assert_type(2.0 * x, Tensor)
    assert_type(x / y, Tensor)
    assert_type(1j * x, Tensor)
    assert_type(x**2, Tensor)
    assert_type(2**x, Tensor)
    assert_type(x @ y, Tensor)
    assert_type(-x, Tensor)
    assert_type(x // 2, Tensor)
    assert_type(x % 2, Tensor)
    assert_type(x > y, Tensor)
    assert_type(x == y, Tensor)
    assert_type(x != 1, Tensor)
    assert_type((x > 0) & ~(y > 0), Tensor)
    assert_type(abs(x), Tensor)
    assert_type(bool((x == x).all()), bool)
    assert_type(float(x.sum()), float)
    count: int = (x == y).sum().item()
    numbers: list[float] = [x.sum().item(), count]
    assert ["few", "many"][(x.sum() > 0).long().item()] in ("few", "many")
    assert len(numbers) == 2
    assert_type(x.tolist(), list[Any])
    assert_type(rg.exp(x), Tensor)
    assert_type(rg.add(x, y, alpha=2), Tensor)
    assert_type(x.add(y).mul(3).sub(1).div(2), Tensor)
    assert_type(rg.maximum(x, y), Tensor)
    assert_type(rg.clamp(x, min=0.0), Tensor)
    assert_type(x.clamp(0, 1), Tensor)
    assert_type(rg.where(x > 0, x, 0.0), Tensor)
    assert_type(x.where(x > 0, y), Tensor)
    assert_type(rg.sin(y.detach(), out=rg.empty(2, 2)), Tensor)
    z = x.detach().clone()
    z += 1
    z *= y.detach()
    assert_type(z, Tensor)
    assert_type(z.add_(1).mul_(2).zero_(), Tensor)
    return z


def indexing(x: Tensor) -> Iterator[Tensor]:
    """Reading and writing parts."""
    assert_type(x[0], Tensor)
    assert_type(x[0, 1], Tensor)
    assert_type(x[:, None, ..., 1:], Tensor)
    assert_type(x[x > 0], Tensor)
    assert_type(x[rg.tensor([0, 1])], Tensor)
    assert_type(x[[0, 1]], Tensor)
    y = x.detach().clone()
    y[0] = 1.0
    y[y > 2] = rg.tensor(0.0)
    y[:, 0] += 1
    assert_type(x.index_select(0, rg.tensor([1])), Tensor)
    assert_type(rg.gather(x, 1, rg.tensor([[0], [1]])), Tensor)
    assert_type(y.masked_fill(y > 0, 0.0), Tensor)
    assert_type(rg.nonzero(x), Tensor)
    assert_type(rg.nonzero(x, as_tuple=True), tuple[Tensor, ...])
    for row in x:
        assert_type(row, Tensor)
        yield row


def reductions(x: Tensor) -> Tensor:
    """Over all elements, along dimensions, and with positions."""
    assert_type(x.sum(), Tensor)
    assert_type(x.sum(0), Tensor)
    assert_type(x.sum((0, 1), keepdim=True), Tensor)
    assert_type(x.sum(dim=-1, dtype=rg.float64), Tensor)
    assert_type(rg.mean(x, dim=0), Tensor)
    assert_type(x.std(), Tensor)
    assert_type(rg.var_mean(x), tuple[Tensor, Tensor])
    assert_type(x.argmax(dim=1), Tensor)
    assert_type(x.max(), Tensor)
    assert_type(rg.max(x, x), Tensor)
    found = x.max(dim=1)
    assert_type(found.values, Tensor)
    assert_type(found.indices, Tensor)
    values, indices = rg.min(x, 0)
    assert_type(values, Tensor)
    assert_type(indices, Tensor)
    assert_type(x.median(0).values, Tensor)
    assert_type(x.sort().indices, Tensor)
    best, places = x.topk(1)
    assert_type(best, Tensor)
    assert_type(places, Tensor)
    assert_type(x.cumsum(0), Tensor)
    assert_type(x.norm(), Tensor)
    assert_type(rg.unique(x), Tensor)
    assert_type(rg.unique(x, return_counts=True), tuple[Tensor, ...])
    assert_type(rg.logsumexp(x, dim=1), Tensor)
    assert_type(rg.allclose(x, x), bool)
    return found.values


def shapes(x: Tensor, y: Tensor) -> Tensor:
    """Joining, splitting and rearranging."""
    assert_type(rg.cat([x, y]), Tensor)
    assert_type(rg.cat((x, y), dim=1), Tensor)
    assert_type(rg.stack([x, y], dim=0), Tensor)
    assert_type(x.reshape(4), Tensor)
    assert_type(x.reshape(-1, 1), Tensor)
    assert_type(x.view((4,)), Tensor)
    assert_type(x.T, Tensor)
    assert_type(x.mT, Tensor)
    assert_type(x.transpose(0, 1), Tensor)
    assert_type(x.permute(1, 0), Tensor)
    assert_type(rg.movedim(x, 0, 1), Tensor)
    assert_type(x.unsqueeze(0).squeeze(0), Tensor)
    assert_type(x.flatten(), Tensor)
    assert_type(x.expand(3, 2, 2), Tensor)
    assert_type(x.repeat(2, 1), Tensor)
    assert_type(x.split(1), tuple[Tensor, ...])
    first, second = x.chunk(2)
    assert_type(first, Tensor)
    assert_type(second, Tensor)
    assert_type(rg.unbind(x), tuple[Tensor, ...])
    assert_type(rg.atleast_2d(x), Tensor)
    assert_type(x.to(rg.float64), Tensor)
    assert_type(x.double().float().long(), Tensor)
    assert_type(x.detach().contiguous(), Tensor)
    assert_type(x.detach().numpy(), np.ndarray[Any, Any])
    assert_type(F.pad(x, (1, 1)), Tensor)
    return rg.einsum("ij,jk->ik", x, y)


def matrices(a: Tensor) -> Tensor:
    """Decompositions and transforms."""
    u, s, vh = rg.linalg.svd(a)
    assert_type(u, Tensor)
    assert_type(rg.linalg.svd(a).S, Tensor)
    assert_type(rg.linalg.eigh(a @ a.T).eigenvalues, Tensor)
    assert_type(rg.linalg.qr(a).Q, Tensor)
    assert_type(rg.linalg.solve(a, a), Tensor)
    assert_type(rg.linalg.inv(a), Tensor)
    assert_type(rg.linalg.norm(a), Tensor)
    assert_type(rg.linalg.slogdet(a).logabsdet, Tensor)
    assert_type(rg.matmul(a, a).trace(), Tensor)
    assert_type(rg.fft.fft(a), Tensor)
    assert_type(rg.fft.rfft2(a), Tensor)
    assert_type(rg.special.erf(a), Tensor)
    return u * s @ vh


def complex_numbers() -> Tensor:
    """Complex tensors and their parts."""
    z = rg.complex(rg.randn(3), rg.randn(3)).requires_grad_()
    assert_type(z, Tensor)
    assert_type(z.real, Tensor)
    assert_type(z.imag, Tensor)
    assert_type(z.conj(), Tensor)
    assert_type(z.abs(), Tensor)
    assert_type(rg.angle(z), Tensor)
    assert_type(rg.view_as_real(z), Tensor)
    assert_type(rg.polar(z.abs(), z.angle()), Tensor)
    assert_type(rg.is_complex(z), bool)
    assert_type(z.H if z.ndim == 2 else z.mH if z.ndim > 2 else z, Tensor)
    assert_type(rg.cfloat, rg.dtype)
    (z * z.conj()).real.sum().backward()
    assert z.grad is not None
    return z.grad


def gradients(x: Tensor) -> None:
    """The backward pass, modes, hooks, and functions of one's own."""
    y = (x**2).sum()
    assert_type(y.backward(), None)
    if x.grad is not None:
        assert_type(x.grad.norm(), Tensor)
    handle = x.register_hook(lambda g: g * 2)
    handle.remove()
    with rg.no_grad():
        assert_type(x * 2, Tensor)
    with rg.enable_grad(), rg.set_grad_enabled(True):
        z = (x * 3).sum()
    (g,) = rg.autograd.grad(z, x, create_graph=True)
    assert_type(g, Tensor)
    assert_type(evaluated(x), Tensor)
    assert_type(rg.is_grad_enabled(), bool)
    assert rg.autograd.gradcheck(squared, (rg.ones(2, dtype=rg.double).requires_grad_(),))


def squared(t: Tensor) -> Tensor:
    """A number of one tensor."""
    return (t * t).sum()


def loss_of(params: dict[str, Tensor], t: Tensor) -> tuple[Tensor, int]:
    """A loss by parameters, and something else."""
    return (params["w"] * t).sum(), len(params)


def product(a: Tensor, b: Tensor) -> Tensor:
    """A number of two tensors."""
    return (a * b).sum()


def halves(t: Tensor) -> tuple[Tensor, int]:
    """A tensor, and something else."""
    return t / 2, t.ndim


def transforms(x: Tensor) -> None:
    """What transforms give has the types of the function that they are given."""
    params = {"w": x}
    assert_type(rg.func.grad(squared)(x), Tensor)
    assert_type(rg.func.grad(rg.func.grad(rg.sin))(rg.ones(())), Tensor)
    assert_type(rg.func.grad(loss_of, has_aux=True)(params, x), tuple[dict[str, Tensor], int])
    assert_type(rg.func.grad_and_value(squared)(x), tuple[Tensor, Tensor])
    assert_type(rg.func.jacrev(rg.sin)(x), Tensor)
    assert_type(rg.func.jacfwd(rg.func.jacrev(squared))(x), Tensor)
    assert_type(rg.func.hessian(squared)(x), Tensor)
    z = x + 0j
    assert_type(rg.func.jacrev(rg.sin, wirtinger=True)(z), tuple[Tensor, Tensor])
    assert_type(rg.vmap(squared)(x), Tensor)
    assert_type(rg.vmap(rg.func.grad(squared), chunk_size=2)(x), Tensor)
    assert_type(rg.func.jvp(squared, (x,), (x,)), tuple[Tensor, Tensor])
    out, pull = rg.func.vjp(squared, x)
    assert_type(out, Tensor)
    assert_type(pull(out), tuple[Tensor])
    with rg.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = squared(x)
    assert_type(tape.gradient(y, x), Tensor | None)
    assert_type(tape.gradient(y, x, unconnected_gradients="zero"), Tensor)
    assert_type(tape.gradient(y, [x]), list[Tensor | None])
    assert_type(tape.gradient(y, params), dict[str, Tensor | None])
    assert_type(tape.jacobian(y, x), Tensor | None)
    assert_type(rg.func.grad(product, argnums=1)(x, x), Tensor)
    assert_type(rg.func.grad(product, argnums=(0, 1))(x, x), tuple[Tensor, Tensor])
    assert_type(rg.func.jacrev(halves, has_aux=True)(x), tuple[Tensor, int])
    assert_type(rg.autograd.functional.vjp(product, (x, x)), tuple[Tensor, tuple[Tensor, Tensor]])
    assert_type(rg.autograd.functional.hvp(squared, x, x), tuple[Tensor, Tensor])
    assert_type(rg.compile(squared)(x), Tensor)


def numpys_names(x: Tensor) -> None:
    """NumPy's names of arguments."""
    assert_type(x.sum(axis=0, keepdims=True), Tensor)
    assert_type(rg.cat([x, x], axis=0), Tensor)
    assert_type(rg.max(x, axis=0).indices, Tensor)
    assert_type(x.gather(axis=0, index=rg.zeros(1, 1, dtype=rg.int64)), Tensor)


def worlds_names() -> None:
    """Names that PyTorch's world adds to packages are known."""
    assert_type(nn.SyncBatchNorm(2), nn.SyncBatchNorm)
    assert_type(rg.utils.data.DistributedSampler([1], 1, 0).num_samples, int)
    assert callable(nn.utils.prune.l1_unstructured)


@rg.no_grad()
def evaluated(x: Tensor) -> Tensor:
    """A decorated function keeps its type."""
    return x * 2


class Net(nn.Module):
    """Two layers and what is between them."""

    def __init__(self, hidden: int = 8) -> None:
        super().__init__()
        self.first = nn.Linear(2, hidden)
        self.rest = nn.Sequential(nn.ReLU(), nn.Dropout(0.1), nn.Linear(hidden, 1))
        self.scale = nn.Parameter(rg.ones(1))

    def forward(self, x: Tensor) -> Tensor:
        """(N, 2) to (N, 1)."""
        return F.softplus(self.rest(self.first(x)) * self.scale)


class Square(rg.autograd.Function):
    """A function with a derivative of one's own."""

    @staticmethod
    def forward(ctx: rg.autograd.function.FunctionCtx, x: Tensor) -> Tensor:
        """x squared."""
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: rg.autograd.function.FunctionCtx, g: Tensor) -> Tensor:
        """Twice x."""
        (x,) = ctx.saved_tensors
        return 2 * g * x


class Squares(Dataset[Tensor]):
    """A data set of one's own."""

    def __len__(self) -> int:
        return 4

    def __getitem__(self, index: int) -> Tensor:
        squared: Tensor = Square.apply(rg.tensor(float(index)))
        return squared


def total(numbers: list[int]) -> int:
    """A batch that is their sum."""
    return sum(numbers)


def training() -> float:
    """A loop over batches."""
    net = Net()
    assert_type(net.first.weight, nn.Parameter)
    assert_type(net.scale.data, Tensor)
    assert_type(net.rest[0], nn.Module)
    assert_type(net.rest[1:], nn.Sequential)
    for layer in net.rest:
        assert_type(layer, nn.Module)
    assert_type(nn.ModuleDict({"first": net.first})["first"], nn.Module)
    optimizer = optim.Adam(net.parameters(), lr=1e-2)
    schedule = optim.lr_scheduler.StepLR(optimizer, step_size=2)
    x, y = rg.randn(8, 2), rg.rand(8, 1)
    loss = rg.zeros(())
    for inputs, targets in DataLoader(TensorDataset(x, y), batch_size=4, shuffle=True):
        optimizer.zero_grad()
        loss = F.mse_loss(net(inputs), targets) + 1e-3 * net.scale.abs().sum()
        assert_type(loss, Tensor)
        assert_type(net(inputs), Tensor)
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
    schedule.step()
    assert_type(Squares()[2] + 1, Tensor)
    for squares in DataLoader(Squares(), batch_size=2):
        assert_type(squares, Tensor)
    for batch in DataLoader(TensorDataset(x, y), 4, True):
        assert_type(batch, list[Tensor])
    first, _ = random_split(Squares(), [3, 1])
    assert_type(first[0], Tensor)
    assert_type(next(iter(DataLoader([{"x": 1.0}], num_workers=0))), dict[str, Tensor])
    assert_type(next(iter(DataLoader([1, 2], collate_fn=total))), int)
    assert_type(next(iter(DataLoader("ab", batch_size=None))), Any)
    assert_type(net.eval(), Net)
    assert_type(net.to(rg.float32).train(), Net)
    assert_type(net.first(x), Tensor)
    assert_type(net.rest(net.first(x)), Tensor)
    assert_type(nn.MaxPool2d(2)(rg.randn(1, 1, 4, 4)), Tensor)
    assert_type(nn.CrossEntropyLoss()(rg.randn(2, 3), rg.tensor([0, 1])), Tensor)
    assert_type(rg.viz.graph(loss), rg.viz.Picture)
    assert_type(rg.__config__.show(), str)
    assert_type(net.state_dict()["scale"], Tensor)
    net.load_state_dict(net.state_dict())
    images = rg.randn(1, 1, 4, 4)
    assert_type(F.conv2d(images, rg.randn(2, 1, 3, 3), padding=1), Tensor)
    assert_type(F.max_pool2d(images, 2), Tensor)
    assert_type(F.max_pool2d(images, 2, return_indices=True), tuple[Tensor, Tensor])
    assert_type(F.cross_entropy(rg.randn(2, 3), rg.tensor([0, 1])), Tensor)
    assert_type(F.relu(x), Tensor)
    assert_type(x.softmax(dim=1), Tensor)
    return float(loss)


def main() -> None:
    """All of it."""
    x, y = factories()
    facts(x)
    arithmetic(x, y)
    list(indexing(x))
    reductions(x)
    shapes(x, y)
    matrices(rg.eye(3) + 0.1 * rg.rand(3, 3))
    complex_numbers()
    gradients(x)
    transforms(rg.ones(3))
    numpys_names(x.detach())
    worlds_names()
    assert math.isfinite(training())


if __name__ == "__main__":
    main()
