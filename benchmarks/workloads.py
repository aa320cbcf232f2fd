"""The workloads of `performance.py`: each is written once, over a library module `lib`.

A workload is a function of the library and of a size, which makes what it needs and returns the
function that is timed. What is timed leaves no gradient behind that the next call would add to.
`size` is 1.0 for the figures that count; a test runs all of them at a hundredth of it.
"""

from __future__ import annotations

import concurrent.futures
import math
from typing import NamedTuple

MILLION = 1_000_000


class Workload(NamedTuple):
    """What is timed; `flops` of products and `bytes` to and from memory that one call cannot avoid.

    `asked` is the ratio to PyTorch that is aimed at; `cause` says in words what keeps it from that,
    where it is not reached.
    """

    group: str
    name: str
    make: object
    asked: float
    flops: float = 0.0
    bytes: float = 0.0
    cause: str = ""


def scaled(number, size, least=2):
    """A number of elements, rows or channels at a smaller size."""
    return max(least, round(number * size))


def side(number, size, least=2):
    """The side of a square or cube with that share of the elements."""
    return max(least, round(number * math.sqrt(size)))


# -- elementwise, forward and backward -------------------------------------------------------------


def both_ways(function, elements=MILLION, **options):
    """Forward and backward of `function(lib, x)` from a cotangent of ones."""

    def make(lib, size):
        kind = {name: getattr(lib, value) for name, value in options.items()}
        x = lib.rand(scaled(elements, size), **kind).requires_grad_()
        ones = lib.ones_like(function(lib, x)).detach()

        def run():
            x.grad = None
            function(lib, x).backward(ones)

        return run

    return make


def named(lib, name):
    """A function of `lib.nn.functional`, or of `lib`."""
    return getattr(lib.nn.functional, name, None) or getattr(lib, name)


def one(name):
    """The function of that name."""
    return lambda lib, x: named(lib, name)(x)


def chain(lib, x):
    """Six functions of one argument."""
    return x.sin().exp().tanh().sigmoid().cos().square()


def softmax_cross_entropy(lib, size):
    """The loss of 10,000 classes."""
    rows, classes = side(256, size), side(10_000, size)
    logits = lib.randn(rows, classes, requires_grad=True)
    labels = lib.randint(0, classes, (rows,))

    def run():
        logits.grad = None
        lib.nn.functional.cross_entropy(logits, labels).backward()

    return run


def layer_norm(lib, size):
    """Of rows of 1,024."""
    rows = scaled(1024, size)
    layer, x = lib.nn.LayerNorm(1024), lib.randn(rows, 1024, requires_grad=True)
    ones = lib.ones(rows, 1024)

    def run():
        layer.zero_grad()
        x.grad = None
        layer(x).backward(ones)

    return run


def adam(lib, size):
    """A step of five million parameters."""
    params = [lib.randn(scaled(MILLION, size), requires_grad=True) for _ in range(5)]
    for p in params:
        p.grad = lib.randn(p.shape)
    return lib.optim.Adam(params).step


def reductions(lib, size):
    """Sum, mean and variance of four million numbers, over all and along either dimension."""
    x = lib.rand(side(2000, size), side(2000, size))

    return lambda: (x.sum(), x.mean(0), x.var(1))


def bias_add(lib, size):
    """A row added to many."""
    rows = scaled(1000, size)
    x, bias = (lib.rand(*shape, requires_grad=True) for shape in ((rows, 1000), (1000,)))
    ones = lib.ones(rows, 1000)

    def run():
        x.grad = bias.grad = None
        (x + bias).backward(ones)

    return run


# -- models: training steps ------------------------------------------------------------------------


def training(build, data, loss, frozen=None):
    """A step of SGD with momentum of the model `build(lib, size)` on `data(lib, size)`."""

    def make(lib, size):
        model, (x, target) = build(lib, size), data(lib, size)
        for part in () if frozen is None else frozen(model):
            part.requires_grad_(False)
        params = [p for p in model.parameters() if p.requires_grad]
        optimizer = lib.optim.SGD(params, lr=1e-4, momentum=0.9)

        def run():
            optimizer.zero_grad()
            loss(lib, model(x), target).backward()
            optimizer.step()

        return run

    return make


def classified(lib, out, target):
    """The loss of a classifier."""
    return lib.nn.functional.cross_entropy(out, target)


def squared(lib, out, target):
    """The mean square."""
    return out.square().mean()


def mlp(lib, size):
    """784-1024-1024-10."""
    nn, width = lib.nn, side(1024, size)
    return nn.Sequential(
        *(nn.Linear(784, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU()),
        nn.Linear(width, 10),
    )


def digits(lib, size):
    """A batch of 256 rows."""
    rows = side(256, size)
    return lib.randn(rows, 784), lib.randint(0, 10, (rows,))


def transformer(lib, size):
    """One causal block of 256 features and 8 heads."""
    nn, F = lib.nn, lib.nn.functional

    class Block(nn.Module):
        def __init__(self, width=256, heads=8):
            super().__init__()
            self.heads = heads
            self.before, self.between = nn.LayerNorm(width), nn.LayerNorm(width)
            self.mix, self.back = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

        def forward(self, x):
            n, length, width = x.shape
            parts = self.mix(self.before(x)).reshape(n, length, 3, self.heads, width // self.heads)
            q, k, v = parts.permute(2, 0, 3, 1, 4).unbind(0)
            seen = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.back(seen.transpose(1, 2).reshape(n, length, width))
            return x + self.down(F.gelu(self.up(self.between(x))))

    return Block()


def sequences(lib, size):
    """8 sequences of 128 tokens."""
    return lib.randn(side(8, size), side(128, size), 256), None


def conv_net(lib, size):
    """Three convolutions with batch norm."""
    nn, layers, before = lib.nn, [], 3
    for after in (16, 32, 64):
        layers += [nn.Conv2d(before, after, 3, padding=1), nn.BatchNorm2d(after), nn.ReLU()]
        layers += [nn.MaxPool2d(2)]
        before = after
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(64 * 16, 10))


def images(lib, size):
    """32 images of 32 x 32."""
    rows = scaled(32, size)
    return lib.randn(rows, 3, 32, 32), lib.randint(0, 10, (rows,))


def residual(lib, before, after, stride=1):
    """A ResNet basic block."""
    nn = lib.nn

    class Basic(nn.Module):
        def __init__(self):
            super().__init__()
            self.one = nn.Conv2d(before, after, 3, stride, 1, bias=False)
            self.two = nn.Conv2d(after, after, 3, 1, 1, bias=False)
            self.norm_one, self.norm_two = nn.BatchNorm2d(after), nn.BatchNorm2d(after)
            short = nn.Conv2d(before, after, 1, stride, bias=False)
            self.short = None if before == after else nn.Sequential(short, nn.BatchNorm2d(after))

        def forward(self, x):
            out = self.norm_one(self.one(x)).relu()
            out = self.norm_two(self.two(out))
            return (out + (x if self.short is None else self.short(x))).relu()

    return Basic()


def feature_maps(lib, size):
    """8 maps of 64 channels, 56 x 56."""
    return lib.randn(scaled(8, size), 64, side(56, size), side(56, size)), None


def resnet18(lib, size):
    """The whole network."""
    nn = lib.nn
    stem = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU()]
    blocks, before = [nn.MaxPool2d(3, 2, 1)], 64
    for after in (64, 128, 256, 512):
        blocks += [residual(lib, before, after, 1 if after == before else 2)]
        blocks += [residual(lib, after, after)]
        before = after
    body = nn.Sequential(*stem, *blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten())
    return nn.Sequential(body, nn.Linear(512, 10))


def photographs(lib, size):
    """8 images of 64 x 64."""
    rows, pixels = scaled(8, size), side(64, size, 32)
    return lib.randn(rows, 3, pixels, pixels), lib.randint(0, 10, (rows,))


def embedding(lib, size):
    """The gradient of a table of 30,000 rows, scattered from 8,192 tokens."""
    rows = scaled(30_000, size)
    table = lib.nn.Embedding(rows, 128)
    tokens = lib.randint(0, rows, (scaled(8192, size),))

    def run():
        table.zero_grad()
        table(tokens).square().mean().backward()

    return run


# -- small graphs ----------------------------------------------------------------------------------


def product_chain(lib, size):
    """100 products of 10 numbers."""
    w = lib.ones(10, requires_grad=True)

    def run():
        w.grad = None
        y = w
        for _ in range(100):
            y = y * w
        y.sum().backward()

    return run


def perceptron(kind, **settings):
    """A step of training of two layers of 16 on 8 examples."""

    def make(lib, size):
        nn = lib.nn
        model = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1))
        optimizer = getattr(lib.optim, kind)(model.parameters(), **settings)
        x, y = lib.randn(8, 8), lib.randn(8, 1)

        def run():
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(x), y)
            loss.backward()
            optimizer.step()
            return loss

        return run

    return make


def cells(lib, size):
    """An LSTM cell over 20 steps."""
    cell, x = lib.nn.LSTMCell(4, 8), lib.randn(20, 2, 4)

    def run():
        cell.zero_grad()
        h, c = lib.zeros(2, 8), lib.zeros(2, 8)
        for t in range(20):
            h, c = cell(x[t], (h, c))
        h.sum().backward()

    return run


def equation(lib, size):
    """A neural differential equation, 20 steps of two stages, with Adam."""
    nn = lib.nn
    model = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 2))
    optimizer, start, end = lib.optim.Adam(model.parameters()), lib.randn(4, 2), lib.randn(4, 2)

    def run():
        optimizer.zero_grad()
        y = start
        for _ in range(20):
            y = y + 0.1 * model(y + 0.05 * model(y))
        loss = nn.functional.mse_loss(y, end)
        loss.backward()
        optimizer.step()
        return loss

    return run


def views_in_place(lib, size):
    """Writes to rows of a small matrix."""
    x = lib.rand(8, 8, requires_grad=True)

    def run():
        x.grad = None
        y = x * 1
        for row in range(8):
            y[row].mul_(2)
        y.sum().backward()

    return run


def custom(lib, size):
    """A Function of the user's, small."""

    class Double(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return 2 * x * g

    x = lib.randn(8, 8, requires_grad=True)

    def run():
        x.grad = None
        Double.apply(x).sum().backward()

    return run


# -- higher order ----------------------------------------------------------------------------------


def wave(lib):
    """A function of eight numbers, and those."""
    weight, x = lib.randn(8, 8), lib.randn(8)
    return lambda x: (weight @ x).tanh(), x


def hessian(lib, size):
    """Of the sum of squares of a small function."""
    function, x = wave(lib)

    def energy(x):
        return function(x).square().sum()

    return lambda: lib.autograd.functional.hessian(energy, x)


def jacobian_loop(lib, size):
    """Of a small function, row by row."""
    function, x = wave(lib)
    x.requires_grad_()

    def run():
        y = function(x)
        return lib.stack([lib.autograd.grad(y[i], x, retain_graph=True)[0] for i in range(8)])

    return run


def jacobian(lib, size):
    """Of a small function, by vmap."""
    function, x = wave(lib)
    found = lib.func.jacrev(function)
    return lambda: found(x)


def layers(weights, x):
    """Two layers."""
    a, b, c, d = weights
    return (x @ a + b).tanh() @ c + d


def small_weights(lib):
    """The weights of two layers, from 4 numbers over 16 to one."""
    return [lib.randn(*n, requires_grad=True) for n in ((4, 16), (16,), (16, 1), (1,))]


def hessian_product(lib, size):
    """The Hessian of a loss of two layers times a vector."""
    weights, x, y = small_weights(lib), lib.randn(8, 4), lib.randn(8, 1)
    vector = [lib.randn(w.shape) for w in weights]

    def run():
        loss = (layers(weights, x) - y).square().mean()
        grads = lib.autograd.grad(loss, weights, create_graph=True)
        along = sum((g * v).sum() for g, v in zip(grads, vector, strict=True))
        return lib.autograd.grad(along, weights)

    return run


def learned_start(lib, size):
    """Weights from which one step leads far in each of four tasks (MAML)."""
    weights = small_weights(lib)
    tasks = [(lib.randn(8, 4), lib.randn(8, 1)) for _ in range(4)]
    optimizer = lib.optim.SGD(weights, lr=0.01)

    def loss(weights, x, y):
        return (layers(weights, x) - y).square().mean()

    def run():
        optimizer.zero_grad()
        total = 0.0
        for x, y in tasks:
            grads = lib.autograd.grad(loss(weights, x, y), weights, create_graph=True)
            fast = [w - 0.1 * g for w, g in zip(weights, grads, strict=True)]
            total = total + loss(fast, x, y)
        total.backward()
        optimizer.step()
        return total

    return run


def gradient_penalty(lib, size):
    """The norm of a convolution's gradient, differentiated again."""
    net = lib.nn.Sequential(
        *(lib.nn.Conv2d(3, 16, 3), lib.nn.Tanh(), lib.nn.Conv2d(16, 16, 3), lib.nn.Tanh()),
        *(lib.nn.Flatten(), lib.nn.LazyLinear(1)),
    )
    x = lib.randn(scaled(16, size), 3, 16, 16, requires_grad=True)
    net(x)

    def run():
        net.zero_grad()
        (g,) = lib.autograd.grad(net(x).sum(), x, create_graph=True)
        (g.flatten(1).norm(dim=1) - 1).square().mean().backward()

    return run


# -- complex ---------------------------------------------------------------------------------------


def fft_loss(lib, size):
    """The loss between spectra."""
    x, wanted = (lib.randn(*[side(256, size)] * 2, dtype=lib.complex64) for _ in range(2))
    x.requires_grad_()

    def run():
        x.grad = None
        (lib.fft.fft2(x) - wanted).abs().square().mean().backward()

    return run


def complex_chain(lib, x):
    """Products and functions of complex128."""
    return ((x * x).exp() * x.conj() + x.sin()) * x


def complex_linear(lib, size):
    """A complex layer with modReLU."""
    rows, width = side(256, size), side(256, size)
    weight, x = (lib.randn(n, width, dtype=lib.complex64) for n in (width, rows))
    weight.requires_grad_()
    shift = lib.full((width,), -0.1, requires_grad=True)

    def run():
        weight.grad = shift.grad = None
        z = x @ weight.T
        r = z.abs()
        ((r + shift).relu() * z / (r + 1e-6)).abs().sum().backward()

    return run


def modulus(lib, size):
    """Products and moduli of 36 numbers."""
    w, x = lib.randn(6, 6, dtype=lib.complex64).requires_grad_(), lib.randn(6, 6)

    def run():
        w.grad = None
        ((w * x).exp() * w.conj()).abs().square().sum().backward()

    return run


def holomorphic(lib, size):
    """A holomorphic differential equation, 20 steps."""
    weight, start, end = (
        0.1 * lib.randn(*n, dtype=lib.complex64) for n in ((6, 6), (6, 4), (6, 4))
    )
    weight.requires_grad_()

    def run():
        weight.grad = None
        z = start
        for _ in range(20):
            z = z + 0.05 * (weight @ z).sin()
        (z - end).abs().square().mean().backward()

    return run


# -- single functions, forward ---------------------------------------------------------------------


def forward(name, shape=(MILLION,), low=0.05):
    """A function of a million numbers in (low, 0.95)."""

    def make(lib, size):
        x = lib.rand(*[side(n, size) if len(shape) > 1 else scaled(n, size) for n in shape])
        x = x * (0.95 - low) + low
        function, more = named(lib, name), (-1,) if name == "softmax" else ()
        return lambda: function(x, *more)

    return make


# -- two threads at once on separate graphs --------------------------------------------------------


def two_threads(make_one):
    """Two graphs in two threads together; `in_turn` has the same work in one."""

    def make(lib, size):
        pool = concurrent.futures.ThreadPoolExecutor(2)
        runs = [make_one(lib, size), make_one(lib, size)]

        def together():
            concurrent.futures.wait([pool.submit(run) for run in runs])

        together.in_turn = lambda: [run() for run in runs]
        return together

    return make


def small_graph(lib, size):
    """Thirty small ops."""
    x = lib.rand(8, 8, requires_grad=True)

    def run():
        y = x
        for _ in range(30):
            y = y * x
        x.grad = None
        y.sum().backward()

    return run


def products(lib, size):
    """Products of matrices."""
    n = side(512, size)
    a, b = (lib.rand(n, n, requires_grad=True) for _ in range(2))

    def run():
        a.grad = b.grad = None
        (a @ b).sum().backward()

    return run


# -- the table -------------------------------------------------------------------------------------

ARRAY = 4 * MILLION  # bytes
RESNET = 8 * 3 * 2 * 0.149e9  # flops of a step: three products of the forward's multiplications

# What keeps workloads from more, by what they share.
MEMORY = "The speed of memory is the limit, in PyTorch too."
BLAS = (
    "Most of the time is matrix products. NumPy uses OpenBLAS, PyTorch uses MKL, which is faster "
    "on one core."
)
CONVOLUTION = (
    "Retrograd has one loop for convolutions of all shapes. PyTorch uses oneDNN, which compiles a "
    "loop for each shape."
)
RANGES = (
    "For each element the formulas of all ranges are computed in float64, and then one result is "
    "chosen."
)

WORKLOADS = [
    *[
        Workload("elementwise", f"{name} 1M float32", both_ways(one(name)), asked, bytes=6 * ARRAY,
                 cause=MEMORY)
        for name, asked in [
            *(("tanh", 2.0), ("gelu", 1.2), ("sigmoid", 1.0), ("exp", 1.3), ("log", 1.3)),
            ("sin", 1.3),
        ]
    ],
    Workload("elementwise", "dropout 1M float32", both_ways(one("dropout")), 2.0, bytes=6 * ARRAY,
             cause="PyTorch's random numbers are one sequence, of which each is made from others "
             "before it: one core draws all of them."),
    Workload("elementwise", "chain of six unaries 1M", both_ways(chain), 2.0, bytes=6 * ARRAY),
    Workload("elementwise", "cross entropy 256 x 10,000", softmax_cross_entropy, 1.5,
             bytes=3 * 4 * 2.56 * MILLION),
    Workload("elementwise", "layer norm 1024 x 1024", layer_norm, 1.3, bytes=6 * 4 * 1024**2,
             cause=MEMORY),
    Workload("elementwise", "Adam, 5M parameters", adam, 1.0, bytes=7 * 5 * ARRAY),
    Workload("elementwise", "sum, mean, var of 4M", reductions, 1.2, bytes=3 * 4 * ARRAY),
    Workload("elementwise", "bias add 1000 x 1000", bias_add, 1.0, bytes=6 * ARRAY,
             cause=MEMORY),
    Workload("small graphs", "chain of 100 products", product_chain, 2.0),
    Workload("small graphs", "perceptron, SGD with momentum",
             perceptron("SGD", lr=0.1, momentum=0.9), 2.0),
    Workload("small graphs", "perceptron, Adam", perceptron("Adam"), 2.0),
    Workload("small graphs", "LSTM cell, 20 steps", cells, 2.0),
    Workload("small graphs", "neural differential equation", equation, 2.0),
    Workload("small graphs", "in-place on views", views_in_place, 1.5),
    Workload("small graphs", "custom Function", custom, 1.5),
    Workload("models", "MLP 784-1024-1024-10, batch 256", training(mlp, digits, classified), 1.1,
             flops=3 * 2 * 256 * (784 * 1024 + 1024**2 + 10240), cause=BLAS),
    Workload("models", "transformer block 8 x 128 x 256", training(transformer, sequences, squared),
             1.05, flops=3 * 2 * 8 * 128 * (12 * 256**2 + 2 * 128 * 256), cause=BLAS),
    Workload("models", "conv net with batch norm, batch 32", training(conv_net, images, classified),
             0.9, flops=3 * 2 * 32 * 9 * (3 * 16 * 32**2 + 16 * 32 * 16**2 + 32 * 64 * 8**2),
             cause=CONVOLUTION),
    Workload("models", "ResNet basic block 64 x 56 x 56, batch 8",
             training(lambda lib, size: residual(lib, 64, 64), feature_maps, squared), 1.0,
             flops=3 * 2 * 8 * 2 * 9 * 64 * 64 * 56**2, cause=CONVOLUTION),
    Workload("models", "embedding 30k rows", embedding, 1.0, bytes=30_000 * 128 * 4),
    Workload("models", "ResNet-18 64 x 64, batch 8", training(resnet18, photographs, classified),
             0.9, flops=RESNET, cause=CONVOLUTION),
    Workload("models", "ResNet-18, all but the last layer frozen",
             training(resnet18, photographs, classified, frozen=lambda model: [model[0]]), 0.95,
             flops=RESNET / 3, cause=CONVOLUTION),
    Workload("higher order", "Hessian", hessian, 1.0),
    Workload("higher order", "Jacobian, row by row", jacobian_loop, 1.0),
    Workload("higher order", "Jacobian by vmap", jacobian, 1.0,
             cause="It makes about 400 Python calls, and each takes a small part of the "
             "time."),
    Workload("higher order", "Hessian-vector product", hessian_product, 1.0),
    Workload("higher order", "learned start (MAML)", learned_start, 1.0),
    Workload("higher order", "gradient penalty, conv", gradient_penalty, 1.0),
    Workload("complex", "FFT loss 256 x 256 complex64", fft_loss, 1.0,
             flops=2 * 5 * 256**2 * 16,
             cause="PyTorch uses MKL, whose transforms along rows are faster."),
    Workload("complex", "chain 1M complex128", both_ways(complex_chain, dtype="complex128"), 1.3,
             bytes=6 * 4 * ARRAY),
    Workload("complex", "linear and modReLU complex64", complex_linear, 1.0,
             flops=2 * 8 * 256**3, cause=BLAS),
    Workload("complex", "products and moduli, small", modulus, 1.0),
    Workload("complex", "holomorphic differential equation", holomorphic, 1.0),
    *[
        Workload("single functions", name, forward(name), 1.0, bytes=2 * ARRAY, cause=cause)
        for name, cause in [
            *(("lgamma", RANGES), ("digamma", RANGES), ("erfinv", ""), ("erf", MEMORY)),
            *(("softplus", ""), ("mish", ""), ("logsigmoid", ""), ("sinc", "")),
            *(("rsqrt", MEMORY), ("log1p", MEMORY)),
        ]
    ],
    Workload("single functions", "elu", forward("elu", low=-0.95), 1.0, bytes=2 * ARRAY,
             cause=MEMORY),
    Workload("single functions", "softmax", forward("softmax", (1000, 1000)), 1.0, bytes=2 * ARRAY,
             cause=MEMORY),
    Workload("two threads", "small ops", two_threads(small_graph), 1.0),
    Workload("two threads", "large ops", two_threads(both_ways(chain)), 1.0),
    Workload("two threads", "products", two_threads(products), 1.0, flops=2 * 3 * 2 * 512**3,
             cause=BLAS),
]  # fmt: skip


def swept(lib, count):
    """The size sweep: `x * y` forward and backward on `count` elements."""
    x, y = (lib.rand(count, requires_grad=True) for _ in range(2))
    ones = lib.ones(count)

    def run():
        x.grad = y.grad = None
        (x * y).backward(ones)

    return run
