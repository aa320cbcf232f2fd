"""A context of `torch._dynamo` in which tensors of one element index under `vmap`."""

from __future__ import annotations

__all__ = ["TransformGetItemToIndex"]


class TransformGetItemToIndex:
    """In PyTorch, lets `x[i]` under `vmap` take a batched `i`; here it always may.

    >>> from retrograd._dynamo._trace_wrapped_higher_order_op import TransformGetItemToIndex
    >>> x = rg.tensor([5, 6, 7])
    >>> with TransformGetItemToIndex():
    ...     rg.vmap(lambda i: x[i])(rg.tensor([2, 0]))
    tensor([7, 5])
    """

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        pass
