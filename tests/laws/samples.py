"""Inputs for the law suites, drawn from the examples that each op record carries."""

from __future__ import annotations

import importlib.util
import zlib
from collections.abc import Sized
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

import retrograd
from retrograd import providers
from retrograd.engine.op import Op
from retrograd.engine.registry import OPS, Example
from retrograd.engine.tensor import new_tensor

Cases = TypeVar("Cases", bound=Sized)

# The module beside the stored calls of public functions, which reads them.
PATH = Path(__file__).parents[1] / "data" / "ops_format.py"
SPEC: Any = importlib.util.spec_from_file_location("ops_format", PATH)
ops_format = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(ops_format)


@dataclass
class Sample:
    """One call of an op: arrays for its inputs, and its parameters."""

    op: Op
    example: Example
    complex: bool
    arrays: list[Any]
    params: dict[str, Any]

    @property
    def differentiable(self) -> list[int]:
        """Which inputs have a derivative formula and a floating dtype."""
        op = self.op
        return [
            i
            for i, a in enumerate(self.arrays)
            if a is not None and a.dtype.kind in "fc" and (op.variadic or op.inputs[i] in op.vjps)
        ]

    def tensors(self, arrays: list[Any] | None = None, grad: bool = True) -> list[Any]:
        """The inputs as tensors; leaves that require grad where there is a derivative."""
        made = [None if a is None else new_tensor(np.array(a)) for a in arrays or self.arrays]
        if grad:
            for i in self.differentiable:
                made[i].requires_grad = True
        return made

    def call(self, tensors: list[Any]) -> list[Any]:
        """The op's differentiable outputs on tensors."""
        outputs = self.op.call(*tensors, **self.params)
        outputs = list(outputs) if isinstance(outputs, tuple) else [outputs]
        return outputs[: self.op.grad_outputs]

    def forward(self, arrays: list[Any]) -> list[Any]:
        """The op's differentiable outputs on arrays."""
        with np.errstate(all="ignore"):
            results = self.op.forward(*arrays, **self.params)
        results = list(results) if self.op.outputs > 1 else [results]
        return [np.asarray(r) for r in results[: self.op.grad_outputs]]

    def __repr__(self) -> str:
        kind = "complex" if self.complex else "real"
        return f"{self.op.name}-{kind}-{self.example!r}"


def draw(spec: str, domain: tuple[float, float], complex: bool, rng: Any) -> Any:
    """An array for one spec of an `Example`."""
    if spec == "none":
        return None
    sizes, _, kind = spec.partition(":")
    shape = tuple(int(n) for n in sizes.split("x")) if sizes else ()
    if kind.startswith("int"):
        least, _, end = kind[3:].partition("<")
        return rng.integers(int(least or 0), int(end or 5), shape)
    if kind == "bool":
        return rng.random(shape) < 0.5
    low, high = domain
    values = np.asarray(rng.uniform(low, high, shape))
    if kind == "complex" or (complex and kind != "real"):
        return values + 1j * np.asarray(rng.uniform(-1.0, 1.0, shape))
    return values


def sample(op: Op, example: Example, complex: bool, seed: int = 0) -> Sample:
    """A `Sample` whose values depend only on the op, the example and `seed`."""
    rng = np.random.default_rng([zlib.crc32(f"{op.name}{example!r}".encode()), seed])
    arrays = [draw(spec, op.domain, complex, rng) for spec in example.specs]
    return Sample(op, example, complex, arrays, example.params)


def samples(differentiable: bool = True) -> list[Sample]:
    """Every op with every example, real and, where the op allows, complex."""
    assert retrograd.__doc__
    found = []
    for op in OPS.values():
        for example in op.examples:
            for complex in (False, True) if op.complex else (False,):
                made = sample(op, example, complex)
                if not differentiable or made.differentiable:
                    found.append(made)
    return found


def present(name: str) -> bool:
    """Whether a ring that is installed has a function, or a method of tensors, of that name."""
    try:
        attrgetter(name)(retrograd)
    except AttributeError:
        return hasattr(retrograd.Tensor, name)
    return True


def stored() -> dict[str, Any]:
    """The stored calls of each public function; without PyTorch's world, of those of the rest."""
    calls = ops_format.read()
    whole = providers.world()
    return {name: each for name, each in calls.items() if whole or present(name)}


def at_least(count: int, cases: Cases, inner: int | None = None) -> Cases:
    """`cases`, of which what chose them has to leave `count`: a law of none holds for anything.

    Where PyTorch's world is not installed, it has to leave `inner` of them, which are the others'.
    """
    wanted = count if inner is None or providers.world() else inner
    assert len(cases) >= wanted, f"{len(cases)} cases of a law that is to have {wanted}"
    return cases


def inner(a: Any, b: Any) -> float:
    """The real inner product of two lists of arrays: sum of Re(conj(a) b)."""
    return float(sum(np.sum((np.conj(x) * y).real) for x, y in zip(a, b, strict=True)))


def like(arrays: list[Any], rng: Any) -> list[Any]:
    """Standard normal arrays with the shapes and kinds of `arrays`."""
    return [
        rng.standard_normal(a.shape)
        + (1j * rng.standard_normal(a.shape) if a.dtype.kind == "c" else 0.0)
        for a in arrays
    ]
