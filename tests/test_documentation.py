"""Every public name says what it does and shows it; the examples of declared ops run here.

Functions written out in a module are collected by pytest itself; a declared op's caller is made by
the engine, so its docstring is found through the registry.
"""

from __future__ import annotations

import ast
import builtins
import doctest
import functools
import inspect
import re
import sys
import textwrap
import types
from collections import Counter

import numpy as np
import pytest

import retrograd as rg
from retrograd import autograd, nn, ops, optim, providers
from retrograd.engine.registry import OPS

DECLARED = [op for op in OPS.values() if op.doc and ">>>" in op.doc]

LATER = providers.load_families().__all__
WORLDS = ("amp", "masked", "__config__") if providers.world() else ()

PUBLIC = {
    **{f"retrograd.{name}": getattr(rg, name) for name in (*ops.__all__, *LATER)},
    **{f"fft.{name}": getattr(rg.fft, name) for name in rg.fft.__all__},
    **{f"linalg.{name}": getattr(rg.linalg, name) for name in rg.linalg.__all__},
    **{f"special.{name}": getattr(rg.special, name) for name in rg.special.__all__},
    **{f"windows.{name}": getattr(rg.signal.windows, name) for name in rg.signal.windows.__all__},
    **{f"{at}.{n}": getattr(getattr(rg, at), n) for at in WORLDS for n in getattr(rg, at).__all__},
    **{f"autograd.{name}": getattr(autograd, name) for name in autograd.__all__},
    **{f"func.{name}": getattr(rg.func, name) for name in rg.func.__all__},
    **{f"distributions.{n}": getattr(rg.distributions, n) for n in rg.distributions.__all__},
    **{f"nn.{name}": getattr(nn, name) for name in nn.__all__},
    **{f"nn.complex.{name}": getattr(nn.complex, name) for name in nn.complex.__all__},
    **{f"complex.{n}": getattr(nn.complex.functional, n) for n in nn.complex.functional.__all__},
    **{f"optim.{name}": getattr(optim, name) for name in optim.__all__},
    **{f"utils.{name}": getattr(nn.utils, name) for name in nn.utils.__all__},
    **{f"rnn.{name}": getattr(nn.utils.rnn, name) for name in nn.utils.rnn.__all__},
    **{f"init.{name}": getattr(nn.init, name) for name in nn.init.__all__},
    **{f"testing.{name}": getattr(rg.testing, name) for name in rg.testing.__all__},
    **{f"viz.{name}": getattr(rg.viz, name) for name in rg.viz.__all__},
    **{f"data.{name}": getattr(rg.utils.data, name) for name in rg.utils.data.__all__},
    **{f"graph.{name}": getattr(autograd.graph, name) for name in autograd.graph.__all__},
    **{f"lr.{name}": getattr(optim.lr_scheduler, name) for name in optim.lr_scheduler.__all__},
    **{f"retrograd.{name}": getattr(rg, name) for name in ("save", "load")},
    **{
        f"functional.{name}": getattr(nn.functional, name)
        for name in dir(nn.functional)
        if not name.startswith("_") and callable(getattr(nn.functional, name))
    },
}
CALLABLE = {name: value for name, value in PUBLIC.items() if callable(value)}
LAYERS = {  # that can be called: a container without `forward` takes nothing
    name: value
    for name, value in CALLABLE.items()
    if isinstance(value, type)
    and issubclass(value, nn.Module)
    and value.forward is not nn.Module.forward
}
SHAPE = re.compile(r"\(N\b|\(\*|\([LT], |shape")


def body(value):
    """The function that a call of `value` runs: of a class, its own constructor."""
    return vars(value).get("__init__") if isinstance(value, type) else inspect.unwrap(value)


WRITTEN = {  # in a file, unlike the constructor of a dataclass
    name: function
    for name, value in CALLABLE.items()
    if isinstance(function := body(value), types.FunctionType)
    and function.__code__.co_filename != "<string>"
}


def prose(value):
    """The docstring up to its examples."""
    return (inspect.getdoc(value) or "").partition(">>>")[0]


def raised(function):
    """The names of the exceptions that `function` raises, or a helper that only it calls."""
    if function.__code__.co_name == "<lambda>":  # no statement, so it raises nothing
        return set()
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            name = ast.unparse(node.exc.func)
            kind = function.__globals__.get(name, getattr(builtins, name, None))
            if isinstance(kind, type) and issubclass(kind, BaseException):
                found.add(name)
    whole = uses(inspect.getsource(sys.modules[function.__module__]))
    for name, count in uses(ast.unparse(tree)).items():
        helper = function.__globals__.get(name)
        private = name.startswith("_") and isinstance(helper, types.FunctionType)
        if private and helper.__module__ == function.__module__ and whole[name] == count:
            found |= raised(helper)
    return found


@functools.cache
def uses(source):
    """How often each name is read in a piece of Python."""
    return Counter(node.id for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Name))


def methods(layer):
    """What runs when a layer is made and called: the constructor, `forward` and their helpers."""
    for name in dir(layer):
        value = inspect.getattr_static(layer, name)
        runs = name in ("__init__", "forward") or re.match("_[a-z]", name)
        given = value is inspect.getattr_static(nn.Module, name, None)
        if runs and isinstance(value, types.FunctionType) and not given:
            yield value


def errors_said_of(function):
    """The prose of a function, and that of the one as for which all else is."""
    own = prose(function)
    return own + "".join(
        errors_said_of(getattr(nn.functional, name))
        for name in re.findall(r"(?:as for|as|see) `(\w+)`", own)
        if name != function.__name__ and hasattr(nn.functional, name)
    )


def errors_said(layer, seen=()):
    """The prose of a layer, and that of the layers it refers to."""
    own = prose(layer)
    others = {PUBLIC.get(f"nn.{name}") for name in re.findall(r"`(?:nn\.)?(\w+)`", own)} - {
        None,
        *seen,
    }
    others = [value for value in others if isinstance(value, type) and value is not layer]
    return own + "".join(errors_said(other, (*seen, layer)) for other in others)


@pytest.mark.parametrize("op", DECLARED, ids=repr)
def test_examples_of_a_declared_op_run(op):
    finder = doctest.DocTestParser()
    test = finder.get_doctest(op.doc, {"rg": rg, "np": np, "retrograd": rg}, op.name, None, 0)
    report: list[str] = []
    failed, tried = doctest.DocTestRunner(optionflags=0).run(test, out=report.append)
    assert tried
    assert not failed, "".join(report)


@pytest.mark.parametrize("name", CALLABLE)
def test_public_name_is_documented(name):
    doc = CALLABLE[name].__doc__
    assert doc, f"{name} has no docstring"
    assert doc.strip().splitlines()[0].rstrip().endswith((".", ":", '"')) or len(doc) > 40


@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_says_the_shapes_of_its_call(name):
    assert SHAPE.search(prose(LAYERS[name]))


@pytest.mark.parametrize("name", WRITTEN)
def test_a_public_name_names_the_errors_it_raises(name):
    function = WRITTEN[name]
    layer = isinstance(CALLABLE[name], type)
    said = errors_said(CALLABLE[name]) if layer else errors_said_of(function)
    assert not {error for error in raised(function) if error not in said}


@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_names_the_errors_it_raises(name):
    said = errors_said(LAYERS[name])
    raising = {error for method in methods(LAYERS[name]) for error in raised(method)}
    assert not {error for error in raising - {"NotImplementedError"} if error not in said}
