"""A context of `torch._dynamo` for `x[i]` under `vmap` with a batched `i`: here it always works.

>>> from retrograd._dynamo._trace_wrapped_higher_order_op import TransformGetItemToIndex
>>> x = rg.tensor([5, 6, 7])
>>> with TransformGetItemToIndex():
...     rg.vmap(lambda i: x[i])(rg.tensor([2, 0]))
tensor([7, 5])
"""

from contextlib import nullcontext as TransformGetItemToIndex

__all__ = ["TransformGetItemToIndex"]
