"""What type checkers must let through though it says no types: functions as people write them."""

# mypy: allow-untyped-defs, allow-untyped-calls
# pyright: standard, reportUnknownLambdaType=false

from __future__ import annotations

from typing import Any

import retrograd as rg


def scaled(params, x):
    """By a dictionary, without types."""
    return (params["scale"] * x).sum()


def unsaid(x: rg.Tensor, pair: Any) -> None:
    """Lambdas, and functions without types, in each transform."""
    rg.func.grad(lambda t: t.sum())(x).shape
    rg.func.grad(lambda t, u: (t * u).sum(), argnums=(0, 1))(x, x)
    rg.func.grad(scaled)({"scale": x}, x)["scale"].shape
    rg.func.grad_and_value(lambda t: t.sum())(x)
    rg.func.jacrev(lambda t: t * t)(x).shape
    rg.func.jacfwd(lambda t: t * t)(x).shape
    rg.func.hessian(lambda t: t.sum())(x).shape
    rg.func.jvp(lambda t: t.exp(), (x,), (x,))[1].shape
    rg.func.vjp(lambda t: t.exp(), x)[1](x)
    rg.vmap(lambda t: t.sum())(x).shape
    rg.vmap(lambda t: (t, t))(x)
    rg.vmap(scaled, in_dims=(None, 0))({"scale": x}, x).shape
    rg.autograd.gradcheck(lambda t: t * t, (x,))
    rg.compile(lambda t: t + 1)(x)
    rg.wirtinger.derivatives(lambda z: z * z.conj(), x)
    for _a, _b in rg.utils.data.DataLoader(pair):
        pass
    x.sum(axis=0, keepdims=True)
    rg.cat([x, x], axis=0)
