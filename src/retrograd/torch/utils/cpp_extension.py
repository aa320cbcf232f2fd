"""PyTorch's builder of extensions in C++, as it is where no build tool is installed.

There is no C++ library to build against. Programs that build one may go on without it.
"""

from __future__ import annotations

from typing import Any, NoReturn

__all__ = ["CUDA_HOME", "ROCM_HOME", "is_ninja_available", "load", "load_inline"]

CUDA_HOME = ROCM_HOME = None  # folders of compilers for accelerators
REFUSED = (
    "{name}: there is no C++ library to build against. Write an autograd.Function on NumPy arrays, "
    "and call C from it by ctypes, cffi, Cython or Numba"
)


def is_ninja_available() -> bool:
    """Whether extensions can be built: never.

    >>> from retrograd.utils import cpp_extension
    >>> cpp_extension.is_ninja_available()
    False
    """
    return False


def load(name: str, *args: Any, **kwargs: Any) -> NoReturn:
    """Raises RuntimeError, as PyTorch's does where nothing can be built."""
    raise RuntimeError(REFUSED.format(name=name))


load_inline = load
