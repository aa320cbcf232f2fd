"""Operators of a program's own, by name: PyTorch's `torch.library`.

An operator is a Python function of tensors that the engine does not look into; its gradient is the
one that is registered. Under the alias `torch.ops.namespace.name` is the operator, too.
"""

from .custom import CustomOpDef, custom_op, register_autograd, register_fake, register_kernel

__all__ = ["CustomOpDef", "custom_op", "register_autograd", "register_fake", "register_kernel"]
