"""Every public name says what it does and shows it; the examples of declared ops run here.

Functions written out in a module are collected by pytest itself; a declared op's caller is made by
the engine, so its docstring is found through the registry.
"""

from __future__ import annotations

import doctest

import pytest

import retrograd as rg
from retrograd import autograd, nn, ops, optim
from retrograd.engine.registry import OPS
from retrograd.ops import later

DECLARED = [op for op in OPS.values() if op.doc and ">>>" in op.doc]

PUBLIC = {
    **{f"retrograd.{name}": getattr(rg, name) for name in (*ops.__all__, *later.__all__)},
    **{f"fft.{name}": getattr(rg.fft, name) for name in rg.fft.__all__},
    **{f"special.{name}": getattr(rg.special, name) for name in rg.special.__all__},
    **{f"windows.{name}": getattr(rg.signal.windows, name) for name in rg.signal.windows.__all__},
    **{f"masked.{name}": getattr(rg.masked, name) for name in rg.masked.__all__},
    **{f"autograd.{name}": getattr(autograd, name) for name in autograd.__all__},
    **{f"func.{name}": getattr(rg.func, name) for name in rg.func.__all__},
    **{f"distributions.{n}": getattr(rg.distributions, n) for n in rg.distributions.__all__},
    **{f"nn.{name}": getattr(nn, name) for name in nn.__all__},
    **{f"optim.{name}": getattr(optim, name) for name in optim.__all__},
    **{
        f"functional.{name}": getattr(nn.functional, name)
        for name in dir(nn.functional)
        if not name.startswith("_") and callable(getattr(nn.functional, name))
    },
}
CALLABLE = {name: value for name, value in PUBLIC.items() if callable(value)}


@pytest.mark.parametrize("op", DECLARED, ids=repr)
def test_examples_of_a_declared_op_run(op):
    finder = doctest.DocTestParser()
    test = finder.get_doctest(op.doc, {"rg": rg, "retrograd": rg}, op.name, None, 0)
    report: list[str] = []
    failed, tried = doctest.DocTestRunner(optionflags=0).run(test, out=report.append)
    assert tried
    assert not failed, "".join(report)


@pytest.mark.parametrize("name", CALLABLE)
def test_public_name_is_documented(name):
    doc = CALLABLE[name].__doc__
    assert doc, f"{name} has no docstring"
    assert doc.strip().splitlines()[0].rstrip().endswith((".", ":", '"')) or len(doc) > 40
