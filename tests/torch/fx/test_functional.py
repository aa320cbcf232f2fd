"""Graphs without writes."""

from __future__ import annotations

import pytest

import retrograd as rg
from retrograd.func import functionalize, grad
from retrograd.torch.fx.experimental.proxy_tensor import make_fx

X = rg.arange(4.0).reshape(2, 2) - 0.7


def slices(x):
    y = x.clone()
    y.add_(1)
    y[0].mul_(3)
    return y * 2


def arguments(x):
    y = x.t()
    y.mul_(2)
    x[1:].fill_(7)
    x.view(-1)[0].zero_()
    return y + 1, x.sum()


def parts(x):
    a, b = x.clone().chunk(2)
    a.add_(1)
    b.copy_(a)
    c = x.clone()
    c.split(1)[1].mul_(5)
    c.diagonal().add_(9)
    c.unbind(0)[1].neg_()
    return a, b, c


def many(x):
    y = rg.zeros_like(x)
    y[:, 1] = x[:, 0]
    y.unsqueeze(0).add_(1)
    y.permute(1, 0).sub_(2)
    y.masked_fill_(y > 1, 0.0)
    y.transpose(0, 1).div_(2)
    out = rg.zeros(3)
    out.index_put_((rg.tensor([0, 2]),), rg.tensor([1.0, 2.0]))
    return y, out


def gradient(x):
    return grad(lambda a: (a.clone().mul_(2) ** 2).sum())(x)


@pytest.mark.parametrize("remove", ["mutations", "mutations_and_views"])
@pytest.mark.parametrize("f", [slices, arguments, parts, many, gradient])
def test_a_functionalized_graph_computes_and_writes_the_same(f, remove):
    x = X.clone()
    traced = make_fx(functionalize(f, remove=remove))(x)
    a, b = X * 1.5, X * 1.5
    rg.testing.assert_close(traced(a), f(b))
    rg.testing.assert_close(a, b)
    names = [n.target.__name__.partition(".")[0] for n in traced.graph.nodes
             if hasattr(n.target, "overloadpacket")]  # fmt: skip
    assert {n for n in names if n.endswith("_")} <= {"copy_"}
    if remove == "mutations_and_views":
        views = {"view", "select", "slice", "t", "transpose", "permute", "split", "diagonal"}
        assert not views & {*names}


def test_tracing_writes_arguments_once():
    x, y = X.clone(), X.clone()
    make_fx(functionalize(arguments))(x)
    arguments(y)
    rg.testing.assert_close(x, y)


def test_without_a_tracer_the_function_is_called():
    x = rg.tensor([1.0])
    assert functionalize(lambda x: x.add_(1))(x) is x
    assert x.item() == 2


def test_what_has_no_form_without_a_write_is_refused():
    with pytest.raises(RuntimeError, match="cannot be taken out of the graph"):
        make_fx(functionalize(lambda x: x.clone().normal_()))(X)
