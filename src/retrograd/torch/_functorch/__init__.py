"""PyTorch's private `torch._functorch`: doors to `func`, for programs that go through it."""

from . import apis, autograd_function, eager_transforms, make_functional, vmap

__all__ = ["apis", "autograd_function", "eager_transforms", "make_functional", "vmap"]
