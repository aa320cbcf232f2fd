"""Whole derivatives of functions: Jacobians, Hessians, and their products with vectors.

NOTE [Strangers] The inputs are replaced by fresh tensors before the function is called, so that a
tensor given as input and the same tensor used inside the function are different variables.

NOTE [Double backward] A Jacobian-vector product comes from two backward passes: the gradient for a
cotangent u is linear in u, and differentiating it with respect to u transposes it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .. import modes
from ..engine.batch import BatchLevel, batched, split
from ..engine.forward import Level
from ..engine.op import recorded
from ..engine.tensor import Tensor, alias, new_tensor, set_requires_grad
from .forward_ad import dual, parts
from .grad import grad
from .pairs import from_cotangents, from_tangents

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]

INDEPENDENT = (
    "The output of the user-provided function is independent of input {place}. This is not allowed "
    "in strict mode."
)
NOT_DIFFERENTIABLE = (
    "Output {place} of the user-provided function does not require gradients. The outputs must be "
    "computed in a differentiable manner from the input when running in strict mode."
)
GRADIENT_CONSTANT = (
    "The gradient with respect to input {place} is independent of the inputs of the user-provided "
    "function. This is not allowed in strict mode."
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
    "supported together (yet). Please either set `strict=False` or `strategy=\"reverse-mode\"`."
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


class Recording:
    """A context in which operations are recorded, whatever the caller's mode."""

    def __enter__(self) -> None:
        self.before = modes.change(grad=True)

    def __exit__(self, *exc: object) -> None:
        modes.change(**self.before)


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


def strangers(inputs: Sequence[Tensor], create_graph: bool) -> tuple[Tensor, ...]:
    """Fresh tensors with the values of `inputs`, and their history if `create_graph`."""
    return tuple([_stranger(x, create_graph) for x in inputs])


def _stranger(x: Tensor, create_graph: bool) -> Tensor:
    if create_graph and x.node is not None:
        return recorded.clone(x)  # type: ignore[no-any-return]
    fresh = alias(x, None)
    set_requires_grad(fresh, True)
    return fresh


def outputs_of(
    func: Callable[..., Any], inputs: Sequence[Tensor], caller: str, strict: bool
) -> tuple[bool, tuple[Tensor, ...]]:
    """What the function gives for the inputs; in strict mode it must depend on them."""
    several, outputs = as_tuple(func(*inputs), "outputs of the user-provided function", caller)
    if strict:
        for place, output in enumerate(outputs):
            if output.node is None:
                raise RuntimeError(NOT_DIFFERENTIABLE.format(place=place))
    return several, outputs


def check_v(v: Any, like: Sequence[Tensor], several: bool, what: str, caller: str) -> Any:
    """The vector given to `caller`, one tensor per entry of `like`; ones for a single number."""
    if v is None:
        if len(like) != 1 or like[0].array.size != 1:
            raise RuntimeError(
                f"The vector v can only be None if {what} is a single Tensor with a single element."
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
            raise RuntimeError(
                f"{prefix}v has invalid size: should be {x.shape} but got {vector.shape}."
            )
    return vectors


def pulled(
    outputs: Sequence[Tensor],
    inputs: Sequence[Tensor],
    cotangents: Sequence[Any] | None,
    create_graph: bool,
    retain_graph: bool = True,
) -> list[Tensor | None]:
    """The gradients of those outputs that have a history; None where none depends on an input."""
    places = [i for i, t in enumerate(outputs) if t.node is not None]
    if not places:
        return [None] * len(inputs)
    given = None if cotangents is None else [cotangents[i] for i in places]
    chosen = [outputs[i] for i in places]
    return list(grad(chosen, inputs, given, retain_graph, create_graph, allow_unused=True))


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
        made.append(known if create_graph else alias(known, None))
    return tuple(made)


def check_history(tensors: Sequence[Tensor], text: str) -> None:
    """Raise `text` for the first tensor without history."""
    for place, tensor in enumerate(tensors):
        if tensor.node is None:
            raise RuntimeError(text.format(place=place))


def plain(tensors: Sequence[Tensor], create_graph: bool) -> tuple[Tensor, ...]:
    """The tensors, without history unless `create_graph`."""
    return tuple([t if create_graph else alias(t, None) for t in tensors])


def unpack(values: tuple[Any, ...], several: bool) -> Any:
    """The tuple, or its one element."""
    return values if several else values[0]


def vjp(
    func: Callable[..., Any],
    inputs: Any,
    v: Any = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """(outputs, vᵀJ): the product of a vector with the Jacobian of `func` at `inputs`.

    inputs: a tensor or a tuple; v: the cotangents, shaped like the outputs (by default 1 for a
    single number). The product is shaped like the inputs. With `strict`, a RuntimeError where
    something does not depend on the inputs, instead of zeros. Source: PyTorch's `functional.vjp`.

    >>> import retrograd as rg
    >>> rg.autograd.functional.vjp(lambda x: x * x, rg.tensor([1.0, 2.0]), rg.tensor([1.0, 10.0]))
    (tensor([1., 4.]), tensor([ 2., 40.]))
    """
    with Recording():
        several, given = as_tuple(inputs, "inputs", "vjp")
        xs = strangers(given, create_graph)
        many, outputs = outputs_of(func, xs, "vjp", strict)
        cotangents = check_v(v, outputs, many, "the output of the user-provided function", "vjp")
        found = pulled(outputs, xs, cotangents, create_graph)
        product = filled(found, xs, INDEPENDENT if strict else "", create_graph)
    if strict and create_graph:
        check_history(product, GRADIENT_CONSTANT)
    return unpack(plain(outputs, create_graph), many), unpack(product, several)


def jvp(
    func: Callable[..., Any],
    inputs: Any,
    v: Any = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """(outputs, Jv): the product of the Jacobian of `func` at `inputs` with a vector.

    v: the tangents, shaped like the inputs (by default 1 for a single number). The product is
    shaped like the outputs. The rest is as for `vjp`; NOTE [Double backward] says how. Source:
    PyTorch's `functional.jvp`.

    >>> import retrograd as rg
    >>> rg.autograd.functional.jvp(lambda x: x * x, rg.tensor([1.0, 2.0]), rg.tensor([1.0, 10.0]))
    (tensor([1., 4.]), tensor([ 2., 40.]))
    """
    with Recording():
        several, given = as_tuple(inputs, "inputs", "jvp")
        xs = strangers(given, create_graph)
        tangents = check_v(v, xs, several, "the input to the user-provided function", "jvp")
        many, outputs = outputs_of(func, xs, "jvp", strict)
        us = zeros(outputs)
        rows = filled(pulled(outputs, xs, us, True), xs, INDEPENDENT if strict else "", True)
        found = pulled(rows, us, tangents, create_graph)
        product = filled(found, outputs, TRICK if strict else "", create_graph)
    if strict and create_graph:
        check_history(product, GRADIENT_CONSTANT)
    return unpack(plain(outputs, create_graph), many), unpack(product, many)


def zeros(like: Sequence[Tensor]) -> list[Tensor]:
    """Zeros that require grad."""
    made = [new_tensor(np.zeros_like(t.array)) for t in like]
    for t in made:
        set_requires_grad(t, True)
    return made


def jacobian(
    func: Callable[..., Any],
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
    *,
    wirtinger: bool = False,
) -> Any:
    """All derivatives of `func` at `inputs`, of shape output.shape + input.shape.

    One tensor for one output and one input, else a tuple over inputs, or over outputs of tuples
    over inputs. For complex tensors, row j is the gradient for the cotangent 1 at element j; with
    `wirtinger=True` each entry is the pair (∂f/∂z, ∂f/∂z*), exact for any function
    (NOTE [Complex Jacobians] of `autograd.pairs`; a real z keeps one matrix). `vectorize` computes
    all rows in one batched pass. `strategy` "forward-mode", which needs `vectorize`, computes
    columns instead. Raises RuntimeError with `strict` where an output does not depend on an input.
    Source: PyTorch's `functional.jacobian`.

    >>> import retrograd as rg
    >>> rg.autograd.functional.jacobian(lambda x: x * x, rg.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    >>> rg.autograd.functional.jacobian(lambda z: z * z.conj(), rg.tensor(3 + 4j), wirtinger=True)
    (tensor(3.-4.j), tensor(3.+4.j))
    """
    if strategy not in ("reverse-mode", "forward-mode"):
        raise AssertionError(
            'Expected strategy to be either "forward-mode" or "reverse-mode". Hint: If your '
            'function has more outputs than inputs, "forward-mode" tends to be more performant. '
            'Otherwise, prefer to use "reverse-mode".'
        )
    if strategy == "forward-mode":
        if strict:
            raise RuntimeError(STRICT_FORWARD.format(name="jacobian"))
        if not vectorize:
            raise NotImplementedError(FORWARD_SINGLY)
    elif strict and vectorize:
        raise RuntimeError(STRICT_VECTORIZED.format(name="jacobian"))
    with Recording():
        several, given = as_tuple(inputs, "inputs", "jacobian")
        xs = strangers(given, create_graph)
        if strategy == "forward-mode":
            many, table = by_columns(func, xs, create_graph, wirtinger)
        else:
            many, outputs = outputs_of(func, xs, "jacobian", strict)
            table = [
                rows_of(output, xs, create_graph, strict, vectorize, wirtinger)
                for output in outputs
            ]
    return unpack(tuple([unpack(row, several) for row in table]), many)


def rows_of(
    output: Tensor,
    xs: Sequence[Tensor],
    create_graph: bool,
    strict: bool,
    vectorize: bool,
    wirtinger: bool,
) -> tuple[Any, ...]:
    """The Jacobians of one output with respect to each input, by backward passes."""
    both = wirtinger and output.array.dtype.kind == "c"
    found = [
        _stacked_rows(output, xs, unit_vectors(output, unit), create_graph, strict, vectorize)
        for unit in ((1.0, 1j) if both else (1.0,))
    ]
    if not wirtinger:
        return found[0]
    imaginary: Sequence[Any] = found[1] if both else [None] * len(xs)
    return tuple([from_cotangents(*parts) for parts in zip(found[0], imaginary, xs, strict=True)])


def unit_vectors(like: Tensor, scale: complex) -> Tensor:
    """All unit vectors of a tensor's shape, times `scale`, along a new first dimension."""
    size = like.array.size
    rows = (scale * np.eye(size)).astype(like.array.dtype)
    return new_tensor(rows.reshape(size, *like.array.shape))


def _stacked_rows(
    output: Tensor,
    xs: Sequence[Tensor],
    units: Tensor,
    create_graph: bool,
    strict: bool,
    vectorize: bool,
) -> tuple[Tensor, ...]:
    """The gradients for every cotangent along the first dimension of `units`."""
    if not output.array.size:
        return tuple([recorded.zeros_like(new_tensor(np.empty((*output.shape, *x.shape),
                      x.array.dtype))) for x in xs])  # fmt: skip
    if vectorize and output.node is not None:
        rows: Any = grad(
            [output], xs, [units], True, create_graph, allow_unused=True, is_grads_batched=True
        )
        like = [new_tensor(np.empty((len(units.array), *x.shape), x.array.dtype)) for x in xs]
        made = filled(rows, like, "", create_graph)
    else:
        table = []
        for index in range(output.array.size):
            found = pulled([output], xs, [recorded.select(units, index=(index,))], create_graph)
            row = filled(found, xs, INDEPENDENT if strict else "", create_graph)
            if strict and create_graph:
                check_history(row, HESSIAN_CONSTANT)
            table.append(row)
        made = tuple([recorded.stack(*column, dim=0) for column in zip(*table, strict=True)])
    return tuple(
        [
            recorded.reshape(g, shape=(*output.array.shape, *x.array.shape))
            for g, x in zip(made, xs, strict=True)
        ]
    )


def by_columns(
    func: Callable[..., Any], xs: Sequence[Tensor], create_graph: bool, wirtinger: bool
) -> tuple[bool, list[tuple[Any, ...]]]:
    """Whether there are several outputs, and their Jacobians by one batched forward derivative."""
    columns = []
    for place, x in enumerate(xs):
        complex_x = x.array.dtype.kind == "c"
        found = []
        for unit in (1.0, 1j) if complex_x and wirtinger else (1.0,):
            many, moved = _pushed(func, xs, place, unit_vectors(x, unit))
            found.append(moved if create_graph else plain(moved, False))
        imaginary: Sequence[Any] = found[1] if len(found) > 1 else [None] * len(found[0])
        columns.append(
            [
                from_tangents(one, other, x) if wirtinger else one
                for one, other in zip(found[0], imaginary, strict=True)
            ]
        )
    return many, list(zip(*columns, strict=True))


def _pushed(
    func: Callable[..., Any], xs: Sequence[Tensor], place: int, units: Tensor
) -> tuple[bool, tuple[Tensor, ...]]:
    """The tangents of each output for every tangent of one input, as columns of its Jacobian."""
    x = xs[place]
    level = BatchLevel(len(units.array), "error")
    with level, Level() as forward:
        duals = [dual(t, batched(units, level), forward) if i == place else t
                 for i, t in enumerate(xs)]  # fmt: skip
        many, outputs = as_tuple(func(*duals), "outputs of the user-provided function", "jacobian")
        pairs = [parts(output, forward) for output in outputs]
    moved = []
    for value, tangent in pairs:
        rows = split(recorded.zeros_like(value) if tangent is None else tangent, level)
        last = recorded.permute(rows, dims=(*range(1, rows.array.ndim), 0))
        moved.append(recorded.reshape(last, shape=(*value.array.shape, *x.array.shape)))
    return many, tuple(moved)


def hessian(
    func: Callable[..., Any],
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
    *,
    wirtinger: bool = False,
) -> Any:
    """All second derivatives of `func`, which returns a single number, at `inputs`.

    Of shape input.shape + input.shape for one input, else a tuple of tuples: entry [i][j] for
    inputs i and j. With `wirtinger=True`, for a function of complex z that is real, each entry is
    the pair of pairs ((f_zz, f_zz*), (f_z*z, f_z*z*)). The rest is as for `jacobian`. Source:
    PyTorch's `functional.hessian`.

    >>> import retrograd as rg
    >>> rg.autograd.functional.hessian(lambda x: (x * x * x).sum(), rg.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    several, given = as_tuple(inputs, "inputs", "hessian")
    if strict and outer_jacobian_strategy == "forward-mode":
        raise RuntimeError(STRICT_FORWARD.format(name="hessian"))
    if strict and vectorize:
        raise RuntimeError(STRICT_VECTORIZED.format(name="hessian"))

    def gradient(*xs: Tensor) -> tuple[Tensor, ...]:
        output = single(func, xs, "hessian", strict)
        found = pulled([output], xs, None, True)
        rows = filled(found, xs, INDEPENDENT if strict else "", True)
        if strict:
            check_history(rows, JACOBIAN_CONSTANT)
        return rows

    how = (create_graph, strict, vectorize, outer_jacobian_strategy)
    table = jacobian(gradient, given, *how, wirtinger=wirtinger)
    if wirtinger:
        table = [
            [from_gradient(entry, x) for entry in row] for row, x in zip(table, given, strict=True)
        ]
    return unpack(tuple([unpack(tuple(row), several) for row in table]), several)


def from_gradient(entry: Any, x: Tensor) -> Any:
    """Second derivatives from the Jacobian of a gradient, which is 2 ∂f/∂z* of a real f(z).

    Its pair (A, B) has A = 2 f_z*z and B = 2 f_z*z*; the row f_z is the conjugate, for f is real.
    """
    if x.array.dtype.kind != "c":
        return entry
    if isinstance(entry, tuple):
        a, b = entry[0] * 0.5, entry[1] * 0.5
        return (b.conj(), a.conj()), (a, b)
    half = entry * 0.5
    return half.conj(), half


def single(func: Callable[..., Any], xs: Sequence[Tensor], caller: str, strict: bool) -> Tensor:
    """The one number that the function returns."""
    many, outputs = outputs_of(func, xs, caller, strict)
    if many:
        raise RuntimeError(f"The function given to {caller} should return a single Tensor")
    if outputs[0].array.size != 1:
        raise RuntimeError(
            f"The Tensor returned by the function given to {caller} should contain a single element"
        )
    return outputs[0]


def vhp(
    func: Callable[..., Any],
    inputs: Any,
    v: Any = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """(output, vᵀH): the product of a vector with the Hessian of `func` at `inputs`.

    `func` returns a single number; v and the product are shaped like the inputs. The rest is as
    for `vjp`. Source: PyTorch's `functional.vhp`.

    >>> import retrograd as rg
    >>> cube = lambda x: (x * x * x).sum()
    >>> rg.autograd.functional.vhp(cube, rg.tensor([1.0, 2.0]), rg.tensor([1.0, 10.0]))
    (tensor(9.), tensor([  6., 120.]))
    """
    return product_with_hessian("vhp", func, inputs, v, create_graph, strict)


def hvp(
    func: Callable[..., Any],
    inputs: Any,
    v: Any = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """(output, Hv): the product of the Hessian of `func` at `inputs` with a vector.

    As `vhp`, transposed by NOTE [Double backward]; the two differ where second derivatives do not
    commute, and `vhp` is cheaper. Source: PyTorch's `functional.hvp`.

    >>> import retrograd as rg
    >>> cube = lambda x: (x * x * x).sum()
    >>> rg.autograd.functional.hvp(cube, rg.tensor([1.0, 2.0]), rg.tensor([1.0, 10.0]))
    (tensor(9.), tensor([  6., 120.]))
    """
    return product_with_hessian("hvp", func, inputs, v, create_graph, strict)


def product_with_hessian(
    caller: str, func: Callable[..., Any], inputs: Any, v: Any, create_graph: bool, strict: bool
) -> tuple[Any, Any]:
    """What `vhp` and `hvp` share."""
    with Recording():
        several, given = as_tuple(inputs, "inputs", caller)
        xs = strangers(given, create_graph)
        vectors = check_v(v, xs, several, "the input to the user-provided function", caller)
        output = single(func, xs, caller, strict)
        first = pulled([output], xs, None, True)
        rows = filled(first, xs, INDEPENDENT if strict else "", True)
        if strict:
            check_history(rows, JACOBIAN_CONSTANT)
        if caller == "vhp":
            found = pulled(rows, xs, vectors, create_graph)
        else:
            us = zeros(xs)
            twice = filled(pulled(rows, xs, us, True), xs, "", True)
            found = pulled(twice, us, vectors, create_graph)
        product = filled(found, xs, HESSIAN_CONSTANT if strict else "", create_graph)
    return plain((output,), create_graph)[0], unpack(product, several)
