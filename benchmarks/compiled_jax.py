"""The steps of `compiled.py` as JAX's users write them: pure functions under `jax.jit`."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np


def drawn(*shape):
    """Normal numbers."""
    return jnp.asarray(np.random.default_rng(sum(shape)).standard_normal(shape), jnp.float32)


def waited(function, *state):
    """A step that keeps what its function gives after the loss for the next one, and waits."""
    state = list(state)

    def step():
        loss, *state[:] = function(*state)
        return loss.block_until_ready()

    return step


def sgd(loss, parameters):
    """A step of SGD with momentum."""

    @jax.jit
    def step(parameters, speeds):
        value, grads = jax.value_and_grad(loss)(parameters)
        speeds = [0.9 * v + g for v, g in zip(speeds, grads, strict=True)]
        moved = [p - 0.1 * v for p, v in zip(parameters, speeds, strict=True)]
        return value, moved, speeds

    return waited(step, parameters, [0 * p for p in parameters])


def adam(loss, parameters):
    """A step of Adam."""

    @jax.jit
    def step(parameters, first, second, count):
        value, grads = jax.value_and_grad(loss)(parameters)
        count = count + 1
        first = [0.9 * m + 0.1 * g for m, g in zip(first, grads, strict=True)]
        second = [0.999 * v + 0.001 * g * g for v, g in zip(second, grads, strict=True)]
        rate, scale = 0.001 / (1 - 0.9**count), 1 - 0.999**count
        moved = [
            p - rate * m / (jnp.sqrt(v / scale) + 1e-8)
            for p, m, v in zip(parameters, first, second, strict=True)
        ]
        return value, moved, first, second, count

    nothing = [0 * p for p in parameters]
    return waited(step, parameters, nothing, nothing, jnp.float32(0))


def layers(parameters, x):
    """Two layers."""
    a, b, c, d = parameters
    return jnp.tanh(x @ a.T + b) @ c.T + d


def perceptron(optimizer):
    """Two layers of 16 on 8 examples."""
    x, y = drawn(8, 8), drawn(8, 1)

    def loss(parameters):
        return ((layers(parameters, x) - y) ** 2).mean()

    return optimizer(loss, [drawn(16, 8), drawn(16), drawn(1, 16), drawn(1)])


def gradient(loss, parameters):
    """The loss and its gradients."""
    step = jax.jit(jax.value_and_grad(loss))
    return lambda: jax.block_until_ready(step(parameters))


def chain():
    """100 products of 10 numbers."""

    def loss(w):
        y = w
        for _ in range(100):
            y = y * w
        return y.sum()

    return gradient(loss, jnp.ones(10))


def cells():
    """An LSTM cell over 20 steps."""
    x = drawn(20, 2, 4)

    def loss(parameters):
        a, b, c, d = parameters
        h = cell = jnp.zeros((2, 8))
        for t in range(20):
            i, f, g, o = jnp.split(x[t] @ a.T + b + h @ c.T + d, 4, 1)
            cell = jax.nn.sigmoid(f) * cell + jax.nn.sigmoid(i) * jnp.tanh(g)
            h = jax.nn.sigmoid(o) * jnp.tanh(cell)
        return h.sum()

    return gradient(loss, [drawn(32, 4), drawn(32), drawn(32, 8), drawn(32)])


def equation():
    """A neural differential equation, 20 steps of two stages, with Adam."""
    start, end = drawn(4, 2), drawn(4, 2)

    def loss(parameters):
        y = start
        for _ in range(20):
            y = y + 0.1 * layers(parameters, y + 0.05 * layers(parameters, y))
        return ((y - end) ** 2).mean()

    return adam(loss, [drawn(16, 2), drawn(16), drawn(2, 16), drawn(2)])


def modulus():
    """A complex layer and moduli."""
    x = drawn(6, 6)

    def loss(w):
        return (jnp.abs(jnp.exp(w * x) * w.conj()) ** 2).sum()

    return gradient(loss, drawn(6, 6) + 1j * drawn(6, 6))


STEPS = {
    "chain of 100 products": chain,
    "perceptron, SGD with momentum": lambda: perceptron(sgd),
    "perceptron, Adam": lambda: perceptron(adam),
    "LSTM cell, 20 steps": cells,
    "neural differential equation": equation,
    "complex products and moduli": modulus,
}
