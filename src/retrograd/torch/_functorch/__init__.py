"""PyTorch's private `torch._functorch`: doors to `func`, for programs that go through it."""

from typing import Any

from ...locks import load as _load

# Modules that load when they are first asked for.
LATER = ("apis", "autograd_function", "eager_transforms", "make_functional", "vmap")


def __getattr__(name: str) -> Any:
    """Load a module when it is first asked for."""
    if name in LATER:
        return _load(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
