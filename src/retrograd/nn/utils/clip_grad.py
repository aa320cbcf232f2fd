"""Clipping gradients in place, by their common norm or by value."""

from __future__ import annotations

import warnings
from collections.abc import Generator, Iterable

from ... import modes
from ...engine.inplace import write
from ...engine.tensor import Tensor
from ...ops.creation.factories import zeros
from ...ops.elementwise.arithmetic import mul
from ...ops.elementwise.clamp_where import clamp, where
from ...ops.elementwise.complex import complex
from ...ops.reduction.vector_norm import vector_norm
from ...ops.shape.join import stack

__all__ = [
    "clip_grad_norm", "clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_",
    "get_total_norm",
]  # fmt: skip


def _grads(parameters: Iterable[Tensor] | Tensor) -> list[Tensor]:
    """The gradients of those parameters that have one."""
    found = [parameters] if isinstance(parameters, Tensor) else list(parameters)
    return [grad for p in found if (grad := p.grad) is not None]


def get_total_norm(
    tensors: Iterable[Tensor] | Tensor,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """The norm of all tensors together, as if they were one vector.

    norm_type: the order, infinity included. Raises RuntimeError for a norm that is not finite, if
    `error_if_nonfinite`. `foreach` is accepted as in PyTorch.
    """
    found = [tensors] if isinstance(tensors, Tensor) else list(tensors)
    order = float(norm_type)
    if not found:
        return zeros(())
    with modes.Changed(grad=False):
        total = vector_norm(stack([vector_norm(t, order) for t in found]), order)
    if error_if_nonfinite and not total.isfinite():
        raise RuntimeError(
            f"The total norm of order {order} for gradients from `parameters` is non-finite, so it "
            "cannot be clipped. To disable this error and scale the gradients by the non-finite "
            "norm anyway, set `error_if_nonfinite=False`"
        )
    return total


def clip_grads_with_norm_(
    parameters: Iterable[Tensor] | Tensor,
    max_norm: float,
    total_norm: Tensor,
    foreach: bool | None = None,
) -> None:
    """Scale the gradients by min(1, max_norm / (total_norm + 1e-6)), in place."""
    with modes.Changed(grad=False):
        factor = clamp(float(max_norm) / (total_norm + 1e-6), max=1.0)
        for grad in _grads(parameters):
            write(grad, "clip_grad_norm_", mul, (factor,), {})


def clip_grad_norm_(
    parameters: Iterable[Tensor] | Tensor,
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Scale the gradients together so that their common norm is at most `max_norm`.

    Returns the norm before. A complex gradient counts with its absolute values. A generator that
    gives nothing, as one does that has been used up, warns; a module raises TypeError. Source:
    PyTorch's `clip_grad_norm_`.

    >>> w = rg.tensor([1.0, 1.0], requires_grad=True)
    >>> w.grad = rg.tensor([3.0, 4.0])
    >>> rg.nn.utils.clip_grad_norm_([w], 1.0), w.grad
    (tensor(5.), tensor([0.6000, 0.8000]))
    """
    if hasattr(parameters, "parameters"):
        raise TypeError(
            f"clip_grad_norm_() takes tensors, not {type(parameters).__name__}. Write "
            "clip_grad_norm_(model.parameters(), max_norm)"
        )
    found = [parameters] if isinstance(parameters, Tensor) else list(parameters)
    if not found and isinstance(parameters, Generator):
        warnings.warn(
            "`parameters` is an empty generator, no gradient clipping will occur. A generator can "
            "be read once: ask for model.parameters() again",
            stacklevel=2,
        )
    total = get_total_norm(_grads(found), norm_type, error_if_nonfinite)
    clip_grads_with_norm_(found, max_norm, total)
    return total


def clip_grad_norm(
    parameters: Iterable[Tensor] | Tensor,
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """`clip_grad_norm_` by its older name; warns."""
    warnings.warn(
        "`torch.nn.utils.clip_grad_norm` is now deprecated in favor of "
        "`torch.nn.utils.clip_grad_norm_`.",
        FutureWarning,
        stacklevel=2,
    )
    return clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite, foreach)


def clip_grad_value_(
    parameters: Iterable[Tensor] | Tensor,
    clip_value: float,
    foreach: bool | None = None,
    *,
    by: str | None = None,
) -> None:
    """Cut every element of the gradients to [-clip_value, clip_value], in place.

    Complex gradients are cut in their modulus, which keeps their direction, where `by` is
    "modulus", in both parts where it is "parts"; without it they raise NotImplementedError. Raises
    ValueError for another `by`. Source: PyTorch's `clip_grad_value_`, which is real only.

    >>> w = rg.ones(2, dtype=rg.complex64, requires_grad=True)
    >>> w.grad = rg.tensor([3 + 4j, 1j])
    >>> rg.nn.utils.clip_grad_value_([w], 2.5, by="modulus"); w.grad
    tensor([1.5000+2.j, 0.0000+1.j])
    """
    if by not in (None, "modulus", "parts"):
        raise ValueError(f"clip_grad_value_(): by must be 'modulus' or 'parts', got {by!r}")
    most = float(clip_value)
    for grad in _grads(parameters):
        if grad.is_complex() and by is None:
            raise NotImplementedError(
                "clip_grad_value_ is not supported for complex gradients, which have no order. Use "
                'clip_grad_norm_, or say what is cut: by="modulus" or by="parts"'
            )
        with modes.Changed(grad=False):
            write(grad, "clip_grad_value_", cut, (most, by), {})


def cut(g: Tensor, most: float, by: str | None) -> Tensor:
    """`clip_grad_value_` of one gradient, out of place."""
    if not g.is_complex():
        return clamp(g, -most, most)
    if by == "parts":
        return complex(clamp(g.real, -most, most), clamp(g.imag, -most, most))
    size = g.abs()
    return mul(g, where(size > most, most / size, 1.0))
