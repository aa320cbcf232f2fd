"""An exported model: the runs, the graph and the file."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

from ... import pytree
from ...autograd.grad_mode import no_grad
from ...engine.tensor import Tensor
from ...nn.modules.module import Module
from ...serialization.files import write
from . import elementwise, layers, shapes
from .errors import OnnxExporterError
from .graph import Graph, described
from .tracing import Trace, Value, matched, other, place

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

__all__ = ["ONNXProgram", "exported"]

OLDEST = 18  # whose reductions take their dimensions as an input
FAMILIES = (elementwise, layers, shapes)  # which fill the table


class ONNXProgram:
    """An exported model: ONNX's message, and how to write it."""

    def __init__(self, model_proto: Any) -> None:
        self.model_proto = model_proto

    def save(self, destination: Any) -> None:
        """Write it to a path or an open file."""
        write(destination, [self.model_proto.SerializeToString()])


def exported(
    model: Callable[..., Any],
    args: Any,
    kwargs: Mapping[str, Any],
    input_names: Sequence[str],
    output_names: Sequence[str],
    opset: int,
    dynamic_axes: Mapping[str, Any],
) -> ONNXProgram:
    """The model of a module: see `export`."""
    if opset < OLDEST:
        raise ValueError(f"opset_version={opset} is too old: write opset_version={OLDEST}")
    arguments = args if isinstance(args, tuple) else (args,)
    given = [each for each in pytree.flatten((arguments, kwargs)) if isinstance(each, Tensor)]
    names = named(input_names, len(given), "input")
    vary = {name: axes_of(name, axes) for name, axes in dynamic_axes.items()}

    def run(change: Callable[[Tensor, str], Tensor]) -> tuple[Trace, list[Value], list[Value]]:
        left = iter(names)
        taken, named_ones = pytree.map_leaves(
            lambda each: change(each, next(left)) if isinstance(each, Tensor) else each,
            (arguments, dict(kwargs)),
        )
        with no_grad():
            return traced(model, taken, named_ones)

    labels = dict.fromkeys(label for axes in vary.values() for label in axes.values())
    growth = dict(zip(labels, primes(), strict=False))
    longer = {name: {dim: growth[label] for dim, label in vary[name].items()} for name in vary}
    first, inputs, outputs = run(lambda tensor, _: tensor)
    second, again, results = run(lambda tensor, name: other(tensor, longer.get(name, {})))
    calls = matched(first, second, zip(outputs, results, strict=False))
    known = {}
    if isinstance(model, Module):
        state = model.state_dict(keep_vars=True)
        known = {place(tensor._array): name for name, tensor in state.items()}
    graph = Graph(known, list(zip(inputs, again, strict=True)))
    for name, value in zip(names, inputs, strict=True):
        value.name = name
    for call, twin in calls:
        graph.add(call, twin)
    ends = named(output_names, len(outputs), "output")
    if unknown := [name for name in dynamic_axes if name not in (*names, *ends)]:
        raise ValueError(f"dynamic_axes names {unknown}, and the model has {[*names, *ends]}")
    for name, value in zip(ends, outputs, strict=True):
        graph.rename(value, name)
    taken = [described(n, v, vary.get(n, {})) for n, v in zip(names, inputs, strict=True)]
    made = [
        described(n, v, {**changed(n, v, w), **vary.get(n, {})})
        for n, v, w in zip(ends, outputs, results, strict=True)
    ]
    return ONNXProgram(graph.model(taken, made, opset))


def traced(
    model: Callable[..., Any], args: Any, kwargs: Any
) -> tuple[Trace, list[Value], list[Value]]:
    """The calls of a forward, the values of its inputs and those of its outputs."""
    trace = Trace()
    leaves = [each for each in pytree.flatten((args, kwargs)) if isinstance(each, Tensor)]
    inputs = [trace.enter(each, True) for each in leaves]
    with trace:
        found = model(*args, **kwargs)
    results = [each for each in pytree.flatten(found) if isinstance(each, Tensor)]
    if not results:
        raise OnnxExporterError(f"the model gave no tensor, but a {type(found).__name__}")
    return trace, inputs, [trace.value(each, "the model's output") for each in results]


def primes() -> Iterator[int]:
    """The prime numbers, in order."""
    return (n for n in itertools.count(2) if all(n % d for d in range(2, n)))


def named(names: Sequence[str], count: int, stem: str) -> list[str]:
    """`count` names: those given, then numbered ones."""
    if len(names) > count:
        raise ValueError(f"{len(names)} names for {count} tensors: {stem}_names={list(names)}")
    return [*names, *[f"{stem}_{number}" for number in range(len(names), count)]]


def axes_of(name: str, axes: Any) -> dict[int, str]:
    """The names of dimensions that vary."""
    if isinstance(axes, dict):
        return dict(axes)
    return {dim: f"{name}_dim_{dim}" for dim in axes}


def changed(name: str, first: Value, second: Value) -> dict[int, str]:
    """Names for the dimensions of a result that differ between the runs."""
    sizes = zip(first.array.shape, second.array.shape, strict=True)
    return {dim: f"{name}_dim_{dim}" for dim, (a, b) in enumerate(sizes) if a != b}
