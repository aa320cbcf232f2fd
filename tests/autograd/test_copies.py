"""Copies of tensors by pickle, copy and deepcopy.

Every test here also passes with `torch` in place of `retrograd`, but where it says otherwise.
"""

from __future__ import annotations

import copy
import pickle
import warnings

import pytest

import retrograd as rg


def leaf(*values):
    return rg.tensor(list(values), dtype=rg.float64, requires_grad=True)


def test_copies_are_leaves_with_the_same_values():
    x = rg.randn(2, 2, requires_grad=True)
    y = rg.ones(1)
    for p in range(pickle.HIGHEST_PROTOCOL + 1):
        z = pickle.loads(pickle.dumps(x, protocol=p))
        assert z.requires_grad
        assert rg.equal(z, x)
        assert z.is_leaf
        assert not pickle.loads(pickle.dumps(y, protocol=p)).requires_grad
    with pytest.raises(RuntimeError, match="Only Tensors created explicitly by the user"):
        copy.deepcopy(x * 2)
    copy.deepcopy(x.detach() * 2)
    xs = [x, x]
    ys = copy.deepcopy(xs)
    assert ys[0] is ys[1]
    v = rg.ones(4)
    w = [v, v[:2]]
    u = copy.deepcopy(w)
    u[0][0] = 5
    assert u[1][0].item() == 5
    q = copy.copy(x)
    assert q.data_ptr() == x.data_ptr()
    assert q.requires_grad
    assert q is not x
    p = rg.nn.Parameter(rg.ones(2))
    pp = copy.deepcopy(p)
    assert type(pp) is rg.nn.Parameter
    assert pp.requires_grad
    pickle.loads(pickle.dumps(p))
    x.foo = 3
    assert copy.deepcopy(x).foo == 3
    nl = x * 2
    b = pickle.dumps(nl)
    r = pickle.loads(b)
    assert r.requires_grad


def test_a_deep_copy_has_the_gradient():
    x = leaf(1)
    x.sum().backward()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        z = copy.deepcopy(x)
    assert z.grad.item() == 1
