"""What the functions of `functional` share: their checks, their inputs, their passes.

NOTE [Fresh variables] The inputs are replaced by fresh tensors before the function is called, so
that a tensor given as input and the same tensor used inside the function are different variables.
They keep their tangents, as results do, for a forward derivative in progress asks for no history.
Members of a subclass that overrides functions make the fresh ones themselves, and stay members.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...engine.namespaces import recorded
from ...engine.overriding import is_asked
from ...engine.tensor import Tensor, set_requires_grad, twin
from ..grad import grad

INDEPENDENT = (
    "The output of the user-provided function is independent of input {place}. This is not allowed "
    "in strict mode."
)
NOT_DIFFERENTIABLE = (
    "Output {place} of the user-provided function does not require gradients. The outputs must be "
    "computed in a differentiable manner from the input when running in strict mode."
)
JACOBIAN_INDEPENDENT = (
    "Output {output} of the user-provided function is independent of input {place}. This is not "
    "allowed in strict mode."
)
GRADIENT_CONSTANT = (
    "The jacobian of the user-provided function is independent of input {place}. This is not "
    "allowed in strict mode when create_graph=True."
)
JACOBIAN_CONSTANT = (
    "While computing the hessian, found that the jacobian of the user-provided function with "
    "respect to input {place} is independent of the input. This is not allowed in strict mode. You "
    "should ensure that your function is twice differentiable and that the jacobian depends on the "
    "inputs (this would be violated by a linear function for example)."
)
TRICK = (
    "The gradient with respect to the input is independent of entry {place} in the grad_outputs "
    "when using the double backward trick to compute forward mode gradients. This is not allowed "
    "in strict mode."
)
STRICT_FORWARD = (
    'autograd.functional.{name}: `strict=True` and `strategy="forward-mode"` are not '
    'supported together (yet). Please either set `strict=False` or `strategy="reverse-mode"`.'
)
STRICT_VECTORIZED = (
    "autograd.functional.{name}: `strict=True` and `vectorize=True` are not supported "
    "together. Please either set `strict=False` or `vectorize=False`."
)
FORWARD_SINGLY = (
    "Computing Jacobian using forward-AD or forward-over-reverse Hessian is only implemented for "
    "`vectorize=True`."
)
HESSIAN_CONSTANT = (
    "The jacobian of the user-provided function is independent of input {place}. This is not "
    "allowed in strict mode."
)


def as_tuple(value: Any, what: str, caller: str) -> tuple[bool, tuple[Tensor, ...]]:
    """Whether `value` is a tuple, and the tuple of its tensors."""
    several = isinstance(value, tuple)
    values = value if several else (value,)
    for index, tensor in enumerate(values):
        if not isinstance(tensor, Tensor):
            where = f"the value at index {index}" if several else f"the given {what}"
            raise TypeError(
                f"The {what} given to {caller} must be either a Tensor or a tuple of Tensors but "
                f"{where} has type {type(tensor)}."
            )
    return several, values


def fresh_variables(inputs: Sequence[Tensor], create_graph: bool) -> tuple[Tensor, ...]:
    """Fresh tensors with the values of `inputs`, and their history if `create_graph`."""
    return tuple([_fresh_variable(x, create_graph) for x in inputs])


def _fresh_variable(x: Tensor, create_graph: bool) -> Tensor:
    if create_graph and x._node is not None:
        return x.view_as(x) if is_asked(type(x)) else recorded.clone(x)
    fresh = x.detach() if is_asked(type(x)) else twin(x, None)
    set_requires_grad(fresh, True)
    return fresh


def outputs_of(
    func: Callable[..., Any], inputs: Sequence[Tensor], caller: str, strict: bool
) -> tuple[bool, tuple[Tensor, ...]]:
    """What the function gives for the inputs; in strict mode it must depend on them.

    It gets other tensors with the same histories, so that those of `inputs` stay if it writes.
    """
    given = [x.view_as(x) if is_asked(type(x)) else twin(x, x._node) for x in inputs]
    several, outputs = as_tuple(func(*given), "outputs of the user-provided function", caller)
    if strict:
        for place, output in enumerate(outputs):
            if output._node is None:
                raise RuntimeError(NOT_DIFFERENTIABLE.format(place=place))
    return several, outputs


def check_v(v: Any, like: Sequence[Tensor], several: bool, what: str, caller: str) -> Any:
    """The vector given to `caller`, one tensor per entry of `like`; ones for a single number."""
    if v is None:
        if len(like) != 1 or like[0]._array.size != 1:
            raise RuntimeError(
                f"The vector v can only be None if {what} a single Tensor with a single element."
            )
        return (recorded.zeros_like(like[0]) + 1,)
    _, vectors = as_tuple(v, "v", caller)
    if len(vectors) != len(like):
        if not several:
            raise RuntimeError("The given v should contain a single Tensor.")
        raise RuntimeError(
            f"v is a tuple of invalid length: should be {len(like)} but got {len(vectors)}."
        )
    for index, (vector, x) in enumerate(zip(vectors, like, strict=True)):
        if vector.shape != x.shape:
            prefix = f"Entry {index} in " if several else ""
            raise RuntimeError(  # in PyTorch's words, by which programs know it
                f"{prefix}v has invalid size: should be torch.Size({[*x.shape]}) but got "
                f"torch.Size({[*vector.shape]})."
            )
    return vectors


def pulled(
    outputs: Sequence[Tensor],
    inputs: Sequence[Tensor],
    cotangents: Sequence[Any] | None,
    create_graph: bool,
) -> list[Tensor | None]:
    """The gradients of those outputs that have a history; None where none depends on an input."""
    places = [i for i, t in enumerate(outputs) if t._node is not None]
    if not places:
        return [None] * len(inputs)
    given = None if cotangents is None else [cotangents[i] for i in places]
    chosen = [outputs[i] for i in places]
    return list(grad(chosen, inputs, given, True, create_graph, allow_unused=True))


def filled(
    found: Sequence[Tensor | None], like: Sequence[Tensor], strict: str, create_graph: bool
) -> tuple[Tensor, ...]:
    """Gradients with zeros for None, without history unless `create_graph`.

    `strict` is the error to raise for a None, or "".
    """
    made = []
    for place, (g, x) in enumerate(zip(found, like, strict=True)):
        if g is None and strict:
            raise RuntimeError(strict.format(place=place))
        known = recorded.zeros_like(x) if g is None else g
        made.append(known if create_graph else twin(known, None))
    return tuple(made)


def check_history(tensors: Sequence[Tensor], text: str) -> None:
    """Raise `text` for the first tensor without history."""
    for place, tensor in enumerate(tensors):
        if tensor._node is None:
            raise RuntimeError(text.format(place=place))


def plain(tensors: Sequence[Tensor], create_graph: bool) -> tuple[Tensor, ...]:
    """The tensors, without history unless `create_graph`."""
    return tuple([t if create_graph else twin(t, None) for t in tensors])


def unpack(values: tuple[Any, ...], several: bool) -> Any:
    """The tuple of values, or its one element where there are not `several`."""
    return values if several else values[0]


_as_tuple = as_tuple  # this and the two below are PyTorch's names, for Jacobians of programs


def _grad_postprocess(inputs: Sequence[Any], create_graph: bool) -> tuple[Any, ...]:
    """The tensors of nested tuples, without history unless `create_graph`."""
    if isinstance(inputs[0], Tensor):
        return plain(inputs, create_graph)
    return tuple([_grad_postprocess(each, create_graph) for each in inputs])


def _tuple_postprocess(res: tuple[Any, ...], to_unpack: bool | tuple[bool, bool]) -> Any:
    """A tuple, or a tuple of tuples, each level as its one element unless it was a tuple."""
    if not isinstance(to_unpack, tuple):
        return unpack(res, to_unpack)
    outer, inner = to_unpack
    return unpack(tuple([unpack(each, inner) for each in res]), outer)


def zeros(like: Sequence[Tensor]) -> list[Tensor]:
    """Tensors of zeros in the shapes of `like`, which require grad."""
    made = [recorded.zeros_like(t) for t in like]
    for t in made:
        set_requires_grad(t, True)
    return made


def single(func: Callable[..., Any], xs: Sequence[Tensor], caller: str, strict: bool) -> Tensor:
    """The one number that the function returns."""
    many, outputs = outputs_of(func, xs, caller, strict)
    if many:
        raise RuntimeError(f"The function given to {caller} should return a single Tensor")
    if outputs[0]._array.size != 1:
        raise RuntimeError(
            f"The Tensor returned by the function given to {caller} should contain a single element"
        )
    return outputs[0]
