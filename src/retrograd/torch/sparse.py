"""Sparse tensors under torch.sparse's names (names only; see `layouts.sparse`)."""

from ..engine import overriding
from ..engine.tensor import Tensor  # noqa: F401 (by which programs annotate their functions)
from .layouts.sparse.functions import TYPES as _TYPES
from .layouts.sparse.functions import (
    addmm,
    as_sparse_gradcheck,
    check_sparse_tensor_invariants,
    log_softmax,
    mm,
    sampled_addmm,
    softmax,
    spdiags,
    sum,
)

__all__ = [
    "addmm", "as_sparse_gradcheck", "check_sparse_tensor_invariants", "log_softmax", "mm",
    "sampled_addmm", "softmax", "spdiags", "sum",
]  # fmt: skip

overriding.publish(globals(), "retrograd.sparse", "torch.layouts")
globals().update(_TYPES)
__all__ += list(_TYPES)
