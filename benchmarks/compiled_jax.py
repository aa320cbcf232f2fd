"""The workloads of `workloads.py` as JAX's users write them: pure functions under `jax.jit`.

Each takes the size and gives the function that is timed, which waits for its results.
"""

from __future__ import annotations

import itertools

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax, nn
from workloads import MILLION, scaled, side


def drawn(*shape, dtype="float32", seed=0):
    """Normal numbers, the same for the same shape and seed."""
    parts = np.random.default_rng(sum(shape) + seed).standard_normal((2, *shape))
    number = parts[0] if np.dtype(dtype).kind == "f" else (parts[0] + 1j * parts[1]) / 2**0.5
    return jnp.asarray(number.astype(dtype))


def uniform(*shape):
    """Numbers in (0, 1)."""
    return jnp.asarray(np.random.default_rng(sum(shape)).random(shape, "float32"))


def classes(count, rows):
    """Labels."""
    return jnp.asarray(np.random.default_rng(rows).integers(0, count, rows))


def timed(function, *given):
    """A step that is the function of what is given."""
    step = jax.jit(function)
    return lambda: jax.block_until_ready(step(*given))


def carried(function, *state):
    """A step whose function gives a result and the state of the next step."""
    state, step = list(state), jax.jit(function)

    def run():
        result, *state[:] = step(*state)
        return jax.block_until_ready(result)

    return run


def gradient(loss, *parameters, keep=False):
    """The gradients of a loss; as in PyTorch, complex ones are the conjugates of JAX's."""
    every = tuple(range(len(parameters)))
    found = jax.value_and_grad(loss, every) if keep else jax.grad(loss, every)
    return timed(lambda *given: jax.tree.map(jnp.conj, found(*given)), *parameters)


def both_ways(function, elements=MILLION, dtype="float32"):
    """The gradient of a function for a cotangent of ones."""

    def make(size):
        x = uniform(scaled(elements, size)).astype(dtype)
        ones = jnp.ones(x.shape, dtype)
        return timed(lambda x, g: jax.vjp(function, x)[1](g.conj())[0].conj(), x, ones)

    return make


def forward(function, shape=(MILLION,), low=0.05):
    """A function of a million numbers in (low, 0.95)."""

    def make(size):
        x = uniform(*[side(n, size) if len(shape) > 1 else scaled(n, size) for n in shape])
        return timed(function, x * (0.95 - low) + low)

    return make


def sgd(loss, parameters, rate=1e-4, extra=None):
    """A step of SGD with momentum; a loss with something `extra` gives that anew, too."""

    def step(parameters, speeds, extra):
        (value, extra), grads = jax.value_and_grad(loss, has_aux=True)(parameters, extra)
        speeds = jax.tree.map(lambda v, g: 0.9 * v + g, speeds, grads)
        moved = jax.tree.map(lambda p, v: p - rate * v, parameters, speeds)
        return value, moved, speeds, extra

    return carried(step, parameters, jax.tree.map(jnp.zeros_like, parameters), extra)


def adam_rule(parameters, grads, first, second, count):
    """What Adam makes of the parameters and of its state."""
    count = count + 1
    first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, first, grads)
    second = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, second, grads)
    rate, scale = 0.001 / (1 - 0.9**count), jnp.sqrt(1 - 0.999**count)
    moved = jax.tree.map(
        lambda p, m, v: p - rate * m / (jnp.sqrt(v) / scale + 1e-8), parameters, first, second
    )
    return moved, first, second, count


def adam(loss, parameters):
    """A step of Adam."""

    def step(parameters, *state):
        value, grads = jax.value_and_grad(loss)(parameters)
        return value, *adam_rule(parameters, grads, *state)

    nothing = jax.tree.map(jnp.zeros_like, parameters)
    return carried(step, parameters, nothing, nothing, jnp.float32(0))


def cross_entropy(logits, labels):
    """The mean loss of a classifier."""
    logs = nn.log_softmax(logits)
    return -jnp.take_along_axis(logs, labels[:, None], 1).mean()


# -- elementwise -----------------------------------------------------------------------------------


def dropout(size):
    """Half of the numbers, drawn anew in each step."""
    x, ones = uniform(scaled(MILLION, size)), jnp.ones(scaled(MILLION, size))

    def step(key):
        key, drawn = jax.random.split(key)
        kept = jax.random.bernoulli(drawn, 0.5, x.shape)
        return jax.vjp(lambda x: jnp.where(kept, 2 * x, 0), x)[1](ones), key

    return carried(step, jax.random.key(0))


def chain(x):
    """Six functions of one argument."""
    return jnp.square(jnp.cos(nn.sigmoid(jnp.tanh(jnp.exp(jnp.sin(x))))))


def softmax_cross_entropy(size):
    """The loss of 10,000 classes."""
    rows, count = side(256, size), side(10_000, size)
    labels = classes(count, rows)
    return gradient(lambda logits: cross_entropy(logits, labels), drawn(rows, count))


def normed(x, weight, bias):
    """Layer norm."""
    x = (x - x.mean(-1, keepdims=True)) * lax.rsqrt(x.var(-1, keepdims=True) + 1e-5)
    return x * weight + bias


def layer_norm(size):
    """Of rows of 1,024."""
    x = drawn(scaled(1024, size), 1024)
    return timed(
        lambda g, *given: jax.vjp(normed, *given)[1](g),
        *(jnp.ones(x.shape), x, jnp.ones(1024), jnp.zeros(1024)),
    )


def many_parameters(size):
    """A step of Adam for five million parameters."""
    shape = (scaled(MILLION, size),)
    parameters, grads = [[drawn(*shape) for _ in range(5)] for _ in range(2)]
    nothing = [jnp.zeros(shape) for _ in range(5)]

    def step(parameters, *state):
        moved, *state = adam_rule(parameters, grads, *state)
        return moved, moved, *state

    return carried(step, parameters, nothing, nothing, jnp.float32(0))


def reductions(size):
    """Sum, mean and variance."""
    x = uniform(side(2000, size), side(2000, size))
    return timed(lambda x: (x.sum(), x.mean(0), x.var(1, ddof=1)), x)


def bias_add(size):
    """A row added to many."""
    x, bias = uniform(scaled(1000, size), 1000), uniform(1000)
    return timed(lambda g, *given: jax.vjp(jnp.add, *given)[1](g), jnp.ones(x.shape), x, bias)


# -- small graphs ----------------------------------------------------------------------------------


def product_chain(size):
    """100 products of 10 numbers."""

    def loss(w):
        y = w
        for _ in range(100):
            y = y * w
        return y.sum()

    return gradient(loss, jnp.ones(10))


def linear(x, parameters):
    """A layer as PyTorch keeps it."""
    weight, bias = parameters
    return x @ weight.T + bias


def dense(*widths):
    """The parameters of layers."""
    return [(drawn(n, m), drawn(n)) for m, n in itertools.pairwise(widths)]


def two_layers(parameters, x):
    """Two layers with tanh between them."""
    return linear(jnp.tanh(linear(x, parameters[0])), parameters[1])


def perceptron(optimizer):
    """Two layers of 16 on 8 examples."""

    def make(size):
        x, y = drawn(8, 8), drawn(8, 1)

        def loss(parameters, extra=None):
            value = jnp.square(two_layers(parameters, x) - y).mean()
            return (value, extra) if optimizer is sgd else value

        more = {"rate": 0.1} if optimizer is sgd else {}
        return optimizer(loss, dense(8, 16, 1), **more)

    return make


def cells(size):
    """An LSTM cell over 20 steps."""
    x = drawn(20, 2, 4)

    def loss(inner, outer):
        h = c = jnp.zeros((2, 8))
        for t in range(20):
            i, f, g, o = jnp.split(linear(x[t], inner) + linear(h, outer), 4, 1)
            c = nn.sigmoid(f) * c + nn.sigmoid(i) * jnp.tanh(g)
            h = nn.sigmoid(o) * jnp.tanh(c)
        return h.sum()

    return gradient(loss, *dense(4, 32), *dense(8, 32))


def equation(size):
    """A neural differential equation, 20 steps of two stages, with Adam."""
    start, end = drawn(4, 2), drawn(4, 2)

    def loss(parameters):
        y = start
        for _ in range(20):
            y = y + 0.1 * two_layers(parameters, y + 0.05 * two_layers(parameters, y))
        return jnp.square(y - end).mean()

    return adam(loss, dense(2, 16, 2))


def views_in_place(size):
    """Writes to rows of a small matrix."""

    def loss(x):
        y = x * 1
        for row in range(8):
            y = y.at[row].multiply(2)
        return y.sum()

    return gradient(loss, uniform(8, 8))


def custom(size):
    """A function with a derivative of the user's, small."""

    @jax.custom_vjp
    def double(x):
        return x * x

    double.defvjp(lambda x: (x * x, x), lambda x, g: (2 * x * g,))
    return gradient(lambda x: double(x).sum(), drawn(8, 8))


# -- models ----------------------------------------------------------------------------------------


def plain(loss):
    """A loss with nothing beside it."""
    return lambda parameters, extra: (loss(parameters), extra)


def mlp(size):
    """784-1024-1024-10."""
    width, rows = side(1024, size), side(256, size)
    x, labels = drawn(rows, 784), classes(10, rows)

    def loss(parameters):
        y = x
        for layer in parameters[:-1]:
            y = nn.relu(linear(y, layer))
        return cross_entropy(linear(y, parameters[-1]), labels)

    parameters = dense(784, width, width, 10)
    return sgd(plain(loss), [(w / w.shape[1] ** 0.5, b) for w, b in parameters])


def transformer(size, width=256, heads=8):
    """One causal block of 256 features and 8 heads."""
    n, length = side(8, size), side(128, size)
    data, small = drawn(n, length, width), width**-0.5
    seen = jnp.tril(jnp.ones((length, length), bool))

    def loss(p):
        x, parts = data, linear(normed(data, *p["before"]), p["mix"])
        q, k, v = parts.reshape(n, length, 3, heads, width // heads).transpose(2, 0, 3, 1, 4)
        scores = q @ k.swapaxes(-1, -2) / (width // heads) ** 0.5
        found = nn.softmax(jnp.where(seen, scores, -jnp.inf)) @ v
        x = x + linear(found.swapaxes(1, 2).reshape(n, length, width), p["back"])
        wide = nn.gelu(linear(normed(x, *p["between"]), p["up"]), approximate=False)
        return jnp.square(x + linear(wide, p["down"])).mean()

    shapes = {"mix": (width, 3 * width), "back": (width, width)}
    shapes |= {"up": (width, 4 * width), "down": (4 * width, width)}
    p = {name: (small * drawn(n, m), drawn(n)) for name, (m, n) in shapes.items()}
    p |= {name: (jnp.ones(width), jnp.zeros(width)) for name in ("before", "between")}
    return sgd(plain(loss), p)


def convolved(x, weight, stride=1, padding=1):
    """A convolution of images."""
    return lax.conv_general_dilated(x, weight, (stride,) * 2, [(padding,) * 2] * 2)


def pooled(x, size, stride, padding=0):
    """The maxima of windows."""
    pads = [(0, 0)] * 2 + [(padding,) * 2] * 2
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, 1, size, size), (1, 1, stride, stride), pads)


def batch_norm(x, weight, bias, running):
    """Batch norm in training, and the running statistics after it."""
    mean, var, count = x.mean((0, 2, 3)), x.var((0, 2, 3)), x.size / x.shape[1]
    scale = weight * lax.rsqrt(var + 1e-5)
    found = x * scale[:, None, None] + (bias - mean * scale)[:, None, None]
    before = running[0] * 0.9 + 0.1 * mean, running[1] * 0.9 + 0.1 * var * count / (count - 1)
    return found, jax.tree.map(lax.stop_gradient, before)


def filters(after, before, kernel):
    """The weights of a convolution, and those of the norm that follows."""
    weight = drawn(after, before, kernel, kernel) / (before * kernel**2) ** 0.5
    return weight, jnp.ones(after), jnp.zeros(after)


def statistics(layers):
    """The running statistics of some norms."""
    return [(jnp.zeros(len(w)), jnp.ones(len(w))) for w, *_ in layers]


def conv_net(size):
    """Three convolutions with batch norm."""
    rows = scaled(32, size)
    x, labels = drawn(rows, 3, 32, 32), classes(10, rows)
    layers = [filters(*n, 3) for n in ((16, 3), (32, 16), (64, 32))]
    biases = [drawn(len(w)) for w, *_ in layers]

    def loss(parameters, running):
        y, after = x, []
        for (weight, *norm), bias, before in zip(*parameters[:2], running, strict=True):
            y, found = batch_norm(convolved(y, weight) + bias[:, None, None], *norm, before)
            y = pooled(nn.relu(y), 2, 2)
            after.append(found)
        return cross_entropy(linear(y.reshape(rows, -1), parameters[2]), labels), after

    last = 0.03 * drawn(10, 1024), drawn(10)
    return sgd(loss, (layers, biases, last), extra=statistics(layers))


def residual(x, layers, running, stride=1):
    """A ResNet basic block, and the running statistics after it."""
    (one, *norm_one), (two, *norm_two), *short = layers
    y, first = batch_norm(convolved(x, one, stride), *norm_one, running[0])
    y, second = batch_norm(convolved(nn.relu(y), two), *norm_two, running[1])
    after = [first, second]
    for weight, *norm in short:
        x, third = batch_norm(convolved(x, weight, stride, 0), *norm, running[2])
        after.append(third)
    return nn.relu(y + x), after


def block(before, after):
    """The layers of a block."""
    layers = [filters(after, before, 3), filters(after, after, 3)]
    return layers if before == after else [*layers, filters(after, before, 1)]


def residual_block(size):
    """A block of 64 channels."""
    x = drawn(scaled(8, size), 64, side(56, size), side(56, size))

    def loss(layers, running):
        y, running = residual(x, layers, running)
        return jnp.square(y).mean(), running

    layers = block(64, 64)
    return sgd(loss, layers, extra=statistics(layers))


def resnet18(frozen):
    """The whole network, of which all but the last layer may be frozen."""

    def make(size):
        rows, pixels = scaled(8, size), side(64, size, 32)
        x, labels = drawn(rows, 3, pixels, pixels), classes(10, rows)
        blocks, before = [], 64
        for after in (64, 128, 256, 512):
            blocks += [block(before, after), block(after, after)]
            before = after
        body, last = (filters(64, 3, 7), blocks), (0.05 * drawn(10, 512), drawn(10))

        def features(body, running):
            (weight, *norm), blocks = body
            y, first = batch_norm(convolved(x, weight, 2, 3), *norm, running[0][0])
            y, found = pooled(nn.relu(y), 3, 2, 1), [[first]]
            for layers, seen in zip(blocks, running[1:], strict=True):
                stride = 2 if len(layers) == 3 else 1
                y, after = residual(y, layers, seen, stride)
                found.append(after)
            return y.mean((2, 3)), found

        def loss(parameters, extra):
            body, running = (extra[0] if frozen else parameters[0]), extra[1]
            y, running = features(body, running)
            value = cross_entropy(linear(y, parameters[-1]), labels)
            return value, (extra[0], running)

        running = [statistics([body[0]]), *map(statistics, blocks)]
        if frozen:
            return sgd(loss, (last,), extra=(body, running))
        return sgd(loss, (body, last), extra=(None, running))

    return make


def embedding(size):
    """The gradient of a table of 30,000 rows, scattered from 8,192 tokens."""
    rows = scaled(30_000, size)
    tokens = classes(rows, scaled(8192, size))
    return gradient(lambda table: jnp.square(table[tokens]).mean(), drawn(rows, 128))


# -- higher order ----------------------------------------------------------------------------------


def wave(weight, x):
    """A small function."""
    return jnp.tanh(weight @ x)


def hessian(size):
    """Of the sum of squares of a small function."""
    found = jax.hessian(lambda x, weight: jnp.square(wave(weight, x)).sum())
    return timed(found, drawn(8), drawn(8, 8))


def jacobian(size):
    """Of a small function."""
    return timed(jax.jacrev(wave, 1), drawn(8, 8), drawn(8))


def layers(weights, x):
    """Two layers."""
    a, b, c, d = weights
    return jnp.tanh(x @ a + b) @ c + d


def small_weights():
    """The weights of two layers, from 4 numbers over 16 to one."""
    return [drawn(*n) for n in ((4, 16), (16,), (16, 1), (1,))]


def squares(weights, x, y):
    """The loss of two layers."""
    return jnp.square(layers(weights, x) - y).mean()


def hessian_product(size):
    """The Hessian of a loss of two layers times a vector."""
    x, y, vector = drawn(8, 4), drawn(8, 1), small_weights()

    def along(weights):
        grads = jax.grad(squares)(weights, x, y)
        return sum((g * v).sum() for g, v in zip(grads, vector, strict=True))

    return timed(jax.grad(along), small_weights())


def learned_start(size):
    """Weights from which one step leads far in each of four tasks (MAML)."""
    tasks = [(drawn(8, 4, seed=n), drawn(8, 1, seed=n)) for n in range(4)]

    def loss(weights):
        total = 0.0
        for x, y in tasks:
            grads = jax.grad(squares)(weights, x, y)
            fast = [w - 0.1 * g for w, g in zip(weights, grads, strict=True)]
            total = total + squares(fast, x, y)
        return total

    def step(weights):
        total, grads = jax.value_and_grad(loss)(weights)
        return total, [w - 0.01 * g for w, g in zip(weights, grads, strict=True)]

    return carried(step, small_weights())


def gradient_penalty(size):
    """The norm of a convolution's gradient, differentiated again."""
    x = drawn(scaled(16, size), 3, 16, 16)
    shapes = ((16, 3, 3, 3), (16, 16, 3, 3), (1, 16 * 12 * 12))
    parameters = [(drawn(*n) / np.prod(n[1:]) ** 0.5, drawn(n[0])) for n in shapes]

    def net(x, parameters):
        *filters, last = parameters
        for weight, bias in filters:
            x = jnp.tanh(convolved(x, weight, 1, 0) + bias[:, None, None])
        return linear(x.reshape(len(x), -1), last).sum()

    def penalty(parameters):
        g = jax.grad(net)(x, parameters).reshape(len(x), -1)
        return jnp.square(jnp.sqrt(jnp.square(g).sum(1)) - 1).mean()

    return gradient(penalty, parameters)


# -- complex ---------------------------------------------------------------------------------------


def fft_loss(size):
    """The loss between spectra."""
    x, wanted = (drawn(*[side(256, size)] * 2, dtype="complex64") for _ in range(2))
    return gradient(lambda x: jnp.square(jnp.abs(jnp.fft.fft2(x) - wanted)).mean(), x)


def complex_chain(size):
    """Products and functions of complex128."""
    make = both_ways(lambda x: (jnp.exp(x * x) * x.conj() + jnp.sin(x)) * x, dtype="complex128")
    with jax.enable_x64(True):
        step = make(size)

    def run():
        with jax.enable_x64(True):
            return step()

    return run


def complex_linear(size):
    """A complex layer with modReLU."""
    n = side(256, size)
    x = drawn(n, n, dtype="complex64")

    def loss(weight, shift):
        z = x @ weight.T
        r = jnp.abs(z)
        return jnp.abs(nn.relu(r + shift) * z / (r + 1e-6)).sum()

    return gradient(loss, drawn(n, n, dtype="complex64"), jnp.full(n, -0.1))


def modulus(size):
    """Products and moduli of 36 numbers."""
    x = drawn(6, 6)
    return gradient(
        lambda w: jnp.square(jnp.abs(jnp.exp(w * x) * w.conj())).sum(),
        drawn(6, 6, dtype="complex64"),
    )


def holomorphic(size):
    """A holomorphic differential equation, 20 steps."""
    weight, start, end = (0.1 * drawn(*n, dtype="complex64") for n in ((6, 6), (6, 4), (6, 4)))

    def loss(weight):
        z = start
        for _ in range(20):
            z = z + 0.05 * jnp.sin(weight @ z)
        return jnp.square(jnp.abs(z - end)).mean()

    return gradient(loss, weight)


PROGRAMS = {
    **{
        f"{name} 1M float32": both_ways(getattr(jnp, name))
        for name in ("tanh", "exp", "log", "sin")
    },
    "gelu 1M float32": both_ways(lambda x: nn.gelu(x, approximate=False)),
    "sigmoid 1M float32": both_ways(nn.sigmoid),
    "dropout 1M float32": dropout,
    "chain of six unaries 1M": both_ways(chain),
    "cross entropy 256 x 10,000": softmax_cross_entropy,
    "layer norm 1024 x 1024": layer_norm,
    "Adam, 5M parameters": many_parameters,
    "sum, mean, var of 4M": reductions,
    "bias add 1000 x 1000": bias_add,
    "chain of 100 products": product_chain,
    "perceptron, SGD with momentum": perceptron(sgd),
    "perceptron, Adam": perceptron(adam),
    "LSTM cell, 20 steps": cells,
    "neural differential equation": equation,
    "in-place on views": views_in_place,
    "custom Function": custom,
    "MLP 784-1024-1024-10, batch 256": mlp,
    "transformer block 8 x 128 x 256": transformer,
    "conv net with batch norm, batch 32": conv_net,
    "ResNet basic block 64 x 56 x 56, batch 8": residual_block,
    "embedding 30k rows": embedding,
    "ResNet-18 64 x 64, batch 8": resnet18(frozen=False),
    "ResNet-18, all but the last layer frozen": resnet18(frozen=True),
    "Hessian": hessian,
    "Jacobian, row by row": jacobian,
    "Jacobian by vmap": jacobian,
    "Hessian-vector product": hessian_product,
    "learned start (MAML)": learned_start,
    "gradient penalty, conv": gradient_penalty,
    "FFT loss 256 x 256 complex64": fft_loss,
    "chain 1M complex128": complex_chain,
    "linear and modReLU complex64": complex_linear,
    "products and moduli, small": modulus,
    "holomorphic differential equation": holomorphic,
    "lgamma": forward(lax.lgamma),
    "digamma": forward(lax.digamma),
    "erfinv": forward(lax.erf_inv),
    "erf": forward(lax.erf),
    "softplus": forward(nn.softplus),
    "mish": forward(nn.mish),
    "logsigmoid": forward(nn.log_sigmoid),
    "sinc": forward(jnp.sinc),
    "elu": forward(nn.elu, low=-0.95),
    "rsqrt": forward(lax.rsqrt),
    "log1p": forward(jnp.log1p),
    "softmax": forward(nn.softmax, (1000, 1000)),
}
