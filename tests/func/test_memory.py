"""Transforms leave nothing behind: what they made goes by reference counts alone."""

from __future__ import annotations

import gc

import pytest

import retrograd as rg
from retrograd.autograd import forward_ad
from retrograd.engine.graph import Node
from retrograd.engine.tensor import Tensor
from retrograd.engine.transforms.batch import Batch, BatchLevel
from retrograd.func import grad, hessian, jvp, linearize, vmap

X = rg.arange(12.0, dtype=rg.float64).reshape(3, 4) / 7


def scalar(v):
    return (v.sin() * v.exp()).sum() + v.max() + v.cumsum(0).std()


def dual_backward():
    w = X.clone().requires_grad_()
    with forward_ad.dual_level():
        d = forward_ad.make_dual(w, X)
        forward_ad.unpack_dual((d * d).exp().sum()).tangent.backward()


PROGRAMS = {
    "vmap of grad": lambda: vmap(grad(scalar))(X),
    "jvp of grad": lambda: jvp(grad(scalar), (X[0],), (X[1],)),
    "hessian": lambda: hessian(scalar)(X[0]),
    "vmap of jvp": lambda: vmap(lambda r: jvp(scalar, (r,), (r,))[1])(X),
    "linearize": lambda: linearize(scalar, X[0])[1](X[1]),
    "backward of a tangent": dual_backward,
}


def alive():
    return sum(isinstance(o, (Batch, BatchLevel, Node, Tensor)) for o in gc.get_objects())


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_transform_leaves_no_object_behind(name):
    program = PROGRAMS[name]
    program()
    gc.collect()
    gc.disable()
    try:
        before = alive()
        for _ in range(20):
            program()
        assert alive() <= before
    finally:
        gc.enable()
