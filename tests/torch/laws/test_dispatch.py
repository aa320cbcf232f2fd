"""Laws of `__torch_dispatch__`: whoever sees every operator and changes nothing changes nothing.

For which functions a mode sees what PyTorch's own modes see is compared with
`data/dispatched.json`; `data/dispatched_otherwise.json` names the others.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import retrograd as rg
from retrograd.torch.utils._python_dispatch import TorchDispatchMode
from retrograd.torch.utils._pytree import tree_map

from ...laws.samples import at_least, ops_format, samples

STORED = at_least(590, ops_format.read())
ROOT = Path(__file__).parents[3]
THEIRS, OTHERWISE = (
    json.loads((ROOT / "tests" / "data" / name).read_text())
    for name in ("dispatched.json", "dispatched_otherwise.json")
)
UNWRITTEN = ("empty", "empty_like", "empty_permuted", "empty_strided", "new_empty")


class Seen(TorchDispatchMode):
    """Keeps the names of what it sees."""

    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.names.append(str(func))
        return func(*args, **(kwargs or {}))


class Wrapper(rg.Tensor):
    """Holds a tensor, and computes with that."""

    def __new__(cls, held, requires_grad=False):
        settings = {"strides": held.stride(), "dtype": held.dtype, "requires_grad": requires_grad}
        made = rg.Tensor._make_wrapper_subclass(cls, held.shape, **settings)
        made.held = held
        return made

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        args, kwargs = tree_map(plain, args), tree_map(plain, kwargs or {})
        return tree_map(
            lambda each: cls(each) if isinstance(each, rg.Tensor) else each, func(*args, **kwargs)
        )


def plain(value: Any) -> Any:
    return value.held if isinstance(value, Wrapper) else value


def gradients(outputs: Any, leaves: Any) -> Any:
    given = [ops_format.cotangent(rg, t, place) for place, t in enumerate(outputs)]
    return rg.autograd.grad(outputs, leaves, given, allow_unused=True)


def check_alike(found: Any, expected: Any) -> None:
    for a, b in zip(found, expected, strict=True):
        if a is None or b is None:
            assert a is b
            continue
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        assert (a.grad_fn is None) == (b.grad_fn is None)
        if a.grad_fn is not None:
            assert a.grad_fn.name() == b.grad_fn.name()
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("sample", at_least(1900, samples()), ids=repr)
def test_a_mode_that_changes_nothing_leaves_results_and_gradients(sample):
    made = sample.tensors()
    leaves = [made[i] for i in sample.differentiable]
    with np.errstate(all="ignore"):
        expected = sample.call(made)
        mode = Seen()
        with mode:
            found = sample.call(made)
            assert mode.names
            inside = gradients(found, leaves)
        check_alike(found, expected)
        assert [t._is_view() for t in found] == [t._is_view() for t in expected]
        check_alike(inside, gradients(expected, leaves))


@pytest.mark.parametrize("sample", at_least(1900, samples()), ids=repr)
def test_a_wrapper_that_changes_nothing_leaves_results_and_gradients(sample):
    made = sample.tensors()
    leaves = [made[i] for i in sample.differentiable]
    wrapped = [
        None if t is None else Wrapper(t.detach(), requires_grad=t.requires_grad) for t in made
    ]
    with np.errstate(all="ignore"):
        expected = sample.call(made)
        found = sample.call(wrapped)
        assert all(type(t) is Wrapper for t in found)
        check_alike([plain(t) for t in found], [t.detach() for t in expected])
        cotangents = [ops_format.cotangent(rg, t, place) for place, t in enumerate(expected)]
        ours = rg.autograd.grad(
            found, [wrapped[i] for i in sample.differentiable], cotangents, allow_unused=True
        )
        check_alike([plain(g) for g in ours], gradients(expected, leaves))


def inputs_of(stored: Any, recorded: bool) -> Any:
    made = [rg.tensor(np.array(array), dtype=getattr(rg, name)) for name, array, _ in stored]
    for t, (_, _, wanted) in zip(made, stored, strict=True):
        t.requires_grad = bool(wanted and recorded)
    return made


@pytest.mark.parametrize("name", STORED)
def test_a_mode_that_changes_nothing_leaves_the_results_of_public_functions(name):
    for expression, stored, _, _ in STORED[name]:
        for recorded in (True, False):
            rg.manual_seed(0)
            expected, _ = ops_format.run(rg, expression, inputs_of(stored, recorded), False)
            rg.manual_seed(0)
            with Seen():
                found, _ = ops_format.run(rg, expression, inputs_of(stored, recorded), False)
            assert type(found) is type(expected)
            for a, b in zip(ops_format.tensors(found), ops_format.tensors(expected), strict=True):
                assert (a.dtype, a.shape, a.stride()) == (b.dtype, b.shape, b.stride())
                assert (a.grad_fn is None) == (b.grad_fn is None)
                if not name.startswith(UNWRITTEN):
                    close = {"rtol": 1e-5, "atol": 1e-5}
                    np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), **close)


@pytest.mark.parametrize("history", ["recorded", "unrecorded"])
def test_a_mode_sees_what_pytorch_s_does_but_for_the_functions_that_are_listed(history):
    recorded, otherwise = history == "recorded", []
    for name, calls in STORED.items():
        expression, stored, *_ = calls[0]
        mode = Seen()
        with mode:
            ops_format.run(rg, expression, inputs_of(stored, recorded), False)
        seen = [each.removeprefix("aten.") for each in mode.names]
        seen = [each for each in seen if each not in ("detach.default", "lift_fresh.default")]
        if " ".join(seen) != THEIRS[name][not recorded]:
            otherwise.append(name)
    assert otherwise == OTHERWISE[history].split()


def test_the_documents_say_how_many_functions_show_pytorch_s_sequence():
    total = len(STORED)
    first, second = (total - len(OTHERWISE[each].split()) for each in ("recorded", "unrecorded"))
    text = (ROOT / "docs" / "differences.md").read_text()
    assert f"Of {total} functions {first} show PyTorch's own sequence" in text
    assert f"{second} of {total} show PyTorch's own sequence" in text
