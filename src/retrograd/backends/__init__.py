"""PyTorch's `torch.backends`: libraries that are not here, and their switches, which are kept.

NOTE [Backends]
1. A library that this package does not use says so: `is_available()` is False.
2. A library is a module, as in PyTorch: `import retrograd.backends.cudnn` finds it.
3. A switch is an attribute. It says what a program has set, and changes nothing: kernels are
   deterministic, and in full precision, whatever it says. A name that is no switch raises.
"""

from __future__ import annotations

import sys
from contextlib import contextmanager
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["cuda", "cudnn", "mkl", "mkldnn", "mps", "openmp", "opt_einsum"]


class Backend(ModuleType):
    """A library and its switches: NOTE [Backends]; AttributeError where a name is no switch.

    >>> import retrograd as rg
    >>> rg.backends.cudnn.benchmark = True
    >>> rg.backends.cudnn.benchmark, rg.backends.cudnn.is_available()
    (True, False)
    >>> with rg.backends.cudnn.flags(enabled=True, benchmark=False):
    ...     rg.backends.cudnn.benchmark
    False
    >>> rg.backends.cudnn.benchmark = False
    """

    def __init__(self, name: str, **switches: Any) -> None:
        super().__init__(f"{__name__}.{name}", type(self).__doc__)
        vars(self).update(switches, __spec__=ModuleSpec(self.__name__, None))
        sys.modules[self.__name__] = self

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in vars(self):
            raise AttributeError(f"{self!r} has no switch {name!r}: {self.switches()}")
        vars(self)[name] = value

    def __repr__(self) -> str:
        return f"<backend {self.__name__!r}>"

    def switches(self) -> dict[str, Any]:
        """The switches, and what they say."""
        return {name: value for name, value in vars(self).items() if not name.startswith("__")}

    def is_available(self) -> bool:
        """Whether tensors compute with the library: never."""
        return False

    def is_built(self) -> bool:
        """Whether the package is built with the library: never."""
        return False

    def version(self) -> None:
        """The version of the library: None, as there is none."""

    @contextmanager
    def flags(self, **switches: Any) -> Iterator[None]:
        """A context in which switches say something else; AttributeError for what is none."""
        before = self.switches()
        try:
            for name, value in switches.items():
                setattr(self, name, value)
            yield
        finally:
            vars(self).update(before)


cuda = Backend(
    "cuda",
    matmul=Backend(
        "cuda.matmul",
        allow_tf32=False,
        allow_fp16_reduced_precision_reduction=True,
        allow_bf16_reduced_precision_reduction=True,
        fp32_precision="none",
    ),
)
cudnn = Backend(
    "cudnn",
    enabled=True,
    benchmark=False,
    benchmark_limit=10,
    deterministic=False,
    allow_tf32=True,
    fp32_precision="none",
)
mkl = Backend("mkl")
mkldnn = Backend(
    "mkldnn", enabled=True, deterministic=False, allow_tf32=True, fp32_precision="none"
)
mps = Backend("mps")
openmp = Backend("openmp")
opt_einsum = Backend("opt_einsum", enabled=False, strategy=None)
