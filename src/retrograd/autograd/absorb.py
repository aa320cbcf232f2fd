"""A backward mode in which zero stays zero, whatever derivative it meets."""

from __future__ import annotations

from .grad_mode import Mode

__all__ = ["absorb_zeros"]


class absorb_zeros(Mode):  # noqa: N801 (beside PyTorch's modes)
    """A context, or decorator, in which backward passes take 0 times infinity or NaN to be 0.

    A branch that `where` did not select gets a cotangent of 0; where its derivative is infinite or
    NaN (the root, the logarithm or the quotient at 0), the chain rule multiplies 0 by that and
    gives NaN, as in PyTorch. In this mode an elementwise operation contributes 0 at every element
    whose cotangent is 0, so such branches are left out. It applies to the calling thread's backward
    passes, to every order, and costs a comparison and a selection per operation. PyTorch has no
    such mode; the usual way around is a second `where` inside the function.

    >>> x = rg.tensor([0.0, 4.0], requires_grad=True)
    >>> y = rg.where(x > 0, x.sqrt(), 0.0).sum()
    >>> rg.autograd.grad(y, x, retain_graph=True)
    (tensor([   nan, 0.2500]),)
    >>> with rg.autograd.absorb_zeros():
    ...     rg.autograd.grad(y, x)
    (tensor([0.0000, 0.2500]),)
    """

    __slots__ = ()
    fields = {"absorb": True}  # noqa: RUF012
