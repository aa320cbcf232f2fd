"""Operators of a program's own, by name: PyTorch's `torch.library`.

An operator is a Python function of tensors that the engine does not look into; its gradient is the
one that is registered. Under the alias `torch.ops.namespace.name` is the operator, too.
"""

from .checks import opcheck
from .context import get_ctx
from .custom import (
    CustomOpDef,
    custom_op,
    register_autocast,
    register_autograd,
    register_fake,
    register_kernel,
    register_vmap,
)
from .libraries import Library, define, impl, triton_op, wrap_triton
from .schemas import infer_schema

__all__ = [
    "CustomOpDef", "Library", "custom_op", "define", "get_ctx", "impl", "impl_abstract",
    "infer_schema", "opcheck", "register_autocast", "register_autograd", "register_fake",
    "register_kernel", "register_vmap", "triton_op", "wrap_triton",
]  # fmt: skip

impl_abstract = register_fake  # its earlier name
