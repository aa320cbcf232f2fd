"""Steps that are compiled and run eagerly beside: models, losses, optimizers, transforms, writes.

Each function gives a step, a function that draws its arguments, and one that gives the tensors
which the step changes.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import retrograd as rg

nn, F, optim = rg.nn, rg.nn.functional, rg.optim

PROGRAMS = {}


def program(function):
    """Enter a program under the name of its function."""
    PROGRAMS[function.__name__] = function
    return function


def training(model, optimizer, loss, arguments):
    """A step of training; it changes parameters, buffers, gradients and the optimizer's state."""

    def step(*given):
        optimizer.zero_grad()
        out = loss(model, *given)
        out.backward()
        optimizer.step()
        return out

    def changed():
        states = [v for s in optimizer.state.values() for v in s.values()]
        tensors = [v for v in states if isinstance(v, rg.Tensor)]
        return [*model.parameters(), *model.buffers(), *[p.grad for p in model.parameters()],
                *tensors]  # fmt: skip

    return step, arguments, changed


def squared(model, x, y):
    return F.mse_loss(model(x), y)


def classified(model, x, y):
    return F.cross_entropy(model(x), y)


def pair(*shapes):
    return lambda: tuple([rg.randn(*shape) for shape in shapes])


def labelled(*shape, classes=3):
    return lambda: (rg.randn(*shape), rg.randint(0, classes, (shape[0],)))


@program
def perceptron_adam():
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    return training(model, optim.Adam(model.parameters()), squared, pair((5, 4), (5, 2)))


@program
def perceptron_momentum():
    model = nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Linear(8, 2))
    optimizer = optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=0.1)
    return training(model, optimizer, squared, pair((5, 4), (5, 2)))


@program
def classifier():
    model = nn.Sequential(nn.Linear(4, 8), nn.LayerNorm(8), nn.SiLU(), nn.Linear(8, 3))
    return training(model, optim.SGD(model.parameters(), lr=0.1), classified, labelled(5, 4))


def weighted(**options):
    """A classifier with a loss whose samples have shares, and how it makes labels."""
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 3))
    model.register_buffer("share", rg.tensor([0.2, 1.0, 3.0]))

    def loss(model, x, y):
        return F.cross_entropy(model(x), y, model.share, **options)

    return training(model, optim.SGD(model.parameters(), lr=0.1), loss, labelled(5, 4))


@program
def classifier_with_weights():
    return weighted()


@program
def classifier_that_ignores_a_class():
    return weighted(ignore_index=1, reduction="sum")


@program
def classifier_with_smooth_labels():
    return weighted(ignore_index=1, label_smoothing=0.1)


@program
def classifier_with_padding():
    model = nn.Linear(4, 3)

    def arguments():
        return rg.randn(5, 4), rg.cat([rg.tensor([-100, 2]), rg.randint(0, 3, (3,))])

    return training(model, optim.SGD(model.parameters(), lr=0.1), classified, arguments)


@program
def batch_norm():
    model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Tanh(), nn.Linear(8, 3))
    return training(model, optim.SGD(model.parameters(), lr=0.1), classified, labelled(5, 4))


@program
def dropout():
    model = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.5), nn.Linear(8, 3))
    return training(model, optim.SGD(model.parameters(), lr=0.1), classified, labelled(5, 4))


@program
def convolution():
    layers = nn.Conv2d(1, 3, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten()
    model = nn.Sequential(*layers, nn.Linear(27, 3))
    return training(model, optim.SGD(model.parameters(), lr=0.1), classified, labelled(2, 1, 6, 6))


class Modulus(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(rg.randn(3, 4, dtype=rg.complex64))
        self.bias = nn.Parameter(rg.zeros(3, dtype=rg.complex64))

    def forward(self, x):
        z = x @ self.weight.T + self.bias
        return (z * rg.sigmoid(z.abs())).abs()


@program
def complex_network():
    model = Modulus()

    def arguments():
        return rg.randn(5, 4, dtype=rg.complex64), rg.randn(5, 3)

    return training(model, optim.SGD(model.parameters(), lr=0.1), squared, arguments)


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell, self.out = nn.LSTMCell(3, 4), nn.Linear(4, 1)

    def forward(self, x):
        h, c = rg.zeros(2, 4), rg.zeros(2, 4)
        for t in range(x.shape[1]):
            h, c = self.cell(x[:, t], (h, c))
        return self.out(h)


@program
def lstm_cells():
    model = Recurrent()
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    return training(model, optimizer, squared, pair((2, 5, 3), (2, 1)))


@program
def transformer():
    model = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, dropout=0.1)
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    return training(model, optimizer, squared, pair((2, 5, 8), (2, 5, 8)))


@program
def embedding():
    model = nn.Sequential(nn.Embedding(7, 4), nn.Flatten(), nn.Linear(12, 2))

    def arguments():
        return rg.randint(0, 7, (5, 3)), rg.randn(5, 2)

    return training(model, optim.SGD(model.parameters(), lr=0.1), squared, arguments)


@program
def schedule():
    model = nn.Linear(3, 2)
    optimizer = optim.SGD(model.parameters(), lr=0.5)
    rates = optim.lr_scheduler.StepLR(optimizer, 2)

    def step(x, y):
        optimizer.zero_grad()
        loss = F.smooth_l1_loss(model(x), y)
        loss.backward()
        optimizer.step()
        rates.step()
        return loss

    return step, pair((4, 3), (4, 2)), lambda: [*model.parameters()]


@program
def clipping():
    model = nn.Linear(3, 2)
    optimizer = optim.SGD(model.parameters(), lr=0.5)

    def step(x, y):
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), y) * 100
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return loss

    return step, pair((4, 3), (4, 2)), lambda: [*model.parameters()]


@program
def descent_by_hand():
    w = rg.randn(3, 2).requires_grad_()

    def step(x, y):
        loss = ((x @ w - y) ** 2).sum()
        (g,) = rg.autograd.grad(loss, [w])
        with rg.no_grad():
            w.sub_(g * 0.01)
        return loss.detach()

    return step, pair((4, 3), (4, 2)), lambda: [w]


@program
def accumulation():
    model = nn.Linear(3, 2)

    def step(x, y):
        for i in range(2):
            F.mse_loss(model(x[i::2]), y[i::2]).backward()

    return step, pair((4, 3), (4, 2)), lambda: [p.grad for p in model.parameters()]


@program
def gradient_penalty():
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
    optimizer = optim.SGD(model.parameters(), lr=0.1)

    def step(x):
        x = x.clone().requires_grad_()
        optimizer.zero_grad()
        y = model(x)
        (g,) = rg.autograd.grad(y.sum(), x, create_graph=True)
        loss = ((g.norm(dim=1) - 1) ** 2).mean() + y.mean()
        loss.backward()
        optimizer.step()
        return loss

    return step, pair((4, 3)), lambda: [*model.parameters()]


@program
def inference():
    model = nn.Sequential(nn.Linear(3, 4), nn.Softmax(1))

    def step(x):
        with rg.no_grad():
            return model(x), model(x).argmax(1)

    return step, pair((4, 3)), list


@program
def writes_on_views():
    w = rg.randn(4, 6).requires_grad_()

    def step(s):
        x = rg.zeros(4, 6)
        x[1:3] = w[1:3] * 2
        x.mul_(w)
        x.t()[0].add_(s)
        loss = x.sin().sum()
        loss.backward()
        return loss

    return step, pair((1,)), lambda: [w.grad]


@program
def branch():
    w = rg.randn(3).requires_grad_()

    def step(x):
        y = (w * x).sum()
        loss = y * y if y > 0 else -y
        loss.backward()
        return loss

    return step, pair((3,)), lambda: [w.grad]


@program
def transform():
    w = rg.randn(8).requires_grad_()

    def step(x):
        loss = (rg.fft.fft(w * x).abs() ** 2).sum()
        loss.backward()
        return loss

    return step, pair((8,)), lambda: [w.grad]


@program
def batched_gradients():
    def step(x, y):
        return rg.func.vmap(rg.func.grad(lambda a, b: (a * b).sin().sum()))(x, y)

    return step, pair((4, 3), (4, 3)), list


@program
def gradients_that_lie_as_their_factors():
    w = rg.randn(2, 3).requires_grad_()

    def step(x, y):
        jacobian = rg.func.jacrev(rg.func.vmap(lambda v: w.detach() @ v))(x)
        product = (y.t() @ w.t()).sin().sum()
        return jacobian, *rg.autograd.grad(product, [w])

    return step, pair((5, 3), (3, 4)), list


@program
def differential_equation():
    model = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 2))
    optimizer = optim.SGD(model.parameters(), lr=0.1)

    def step(y, end):
        optimizer.zero_grad()
        for _ in range(10):
            y = y + 0.1 * model(y + 0.05 * model(y))
        loss = F.mse_loss(y, end)
        loss.backward()
        optimizer.step()
        return loss

    return step, pair((3, 2), (3, 2)), lambda: [*model.parameters()]


class Gated(nn.Module):
    def __init__(self):
        super().__init__()
        self.act, self.linear = functools.partial(F.softplus, beta=2), nn.Linear(3, 2)
        self.scale = nn.Parameter(rg.ones(2))
        self.scaled = functools.partial(rg.mul, self.scale)

    def forward(self, x):
        shift = functools.partial(rg.add, alpha=0.5)
        return self.scaled(shift(self.act(self.linear(x)), 1.0))


@program
def partial_functions():
    model = Gated()
    return training(model, optim.SGD(model.parameters(), lr=0.1), squared, pair((4, 3), (4, 2)))


class Moments(NamedTuple):
    mean: rg.Tensor
    square: rg.Tensor
    count: int = 0

    def variance(self):
        return self.square - self.mean**2


@program
def named_tuples():
    w = rg.randn(3).requires_grad_()

    def step(x):
        found = Moments(square=(w * x * x).mean(0), mean=(w * x).mean(0))
        found = found._replace(count=len(x), mean=found.mean * 2)
        mean, square, _ = found
        loss = (found.variance() * found.count + found[1] * mean - square).sum()
        loss.backward()
        return Moments(loss, x * 2, found.count)

    return step, pair((4, 3)), lambda: [w.grad]


@program
def gradients_of_a_module_dropped():
    model = nn.Linear(3, 2)

    def step(x):
        model.zero_grad()
        loss = model(x).tanh().sum()
        loss.backward()
        return loss

    return step, pair((4, 3)), lambda: [p.grad for p in model.parameters()]


@program
def gradients_of_a_module_filled_with_zeros():
    model = nn.Linear(3, 2)

    def step(x):
        loss = model(x).tanh().sum()
        loss.backward()
        model.zero_grad(set_to_none=False)
        return loss

    return step, pair((4, 3)), lambda: [p.grad for p in model.parameters()]


@program
def written_through_an_alias():
    w = rg.randn(3).requires_grad_()

    def step(x):
        loss = (x * w).sin().sum()
        (gradient,) = rg.autograd.grad(loss, w)
        w.detach().sub_(0.1 * gradient)
        return loss

    return step, pair((3,)), lambda: [w]


@program
def gradients_set_to_none():
    w, b = rg.randn(4, 3).requires_grad_(), rg.randn(3).requires_grad_()

    def step(x):
        w.grad = b.grad = None
        y = (x * w + b) * 1
        for row in range(4):
            y[row].mul_(row + b)
        loss = y.sin().sum()
        loss.backward()
        return loss

    return step, pair((4, 3)), lambda: [w.grad, b.grad]


@program
def hessian_row_by_row():
    w = rg.randn(3, 3)

    def energy(x):
        return (w @ x).tanh().square().sum()

    return lambda x: rg.autograd.functional.hessian(energy, x), pair((3,)), list


@program
def jacobian_that_was_made_before():
    w = rg.randn(4, 3)
    found = rg.func.jacrev(rg.func.vmap(lambda x: (w @ x).tanh()))
    return lambda x: found(x) * 2, pair((2, 3)), list


@program
def large_arrays():
    w = rg.randn(100, 100).requires_grad_()

    def step(x):
        w.grad = None
        y = (x * w).sin()
        z = (y.exp() * y.tanh() + w).sigmoid()
        loss = (z - x).abs().mean()
        loss.backward()
        return loss, y.detach(), z.detach()

    return step, pair((100, 100)), lambda: [w.grad]


@program
def large_complex_arrays():
    w = rg.randn(90, 100, dtype=rg.complex64).requires_grad_()

    def step(x):
        w.grad = None
        z = ((w * x).exp() * w.conj() + w.sin()) * x
        loss = z.abs().square().mean()
        loss.backward()
        return loss

    return step, pair((90, 100)), lambda: [w.grad]
