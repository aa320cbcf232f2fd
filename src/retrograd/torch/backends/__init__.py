"""PyTorch's switches for libraries behind its kernels, none of which is here.

They are there for programs that set them: they can be read and written, alone or for a while by
`flags`, and change nothing. `is_available` is False. Modules that are no more than this are made of
a table; `cuda` has a file.

>>> rg.backends.cudnn.is_available(), rg.backends.mha.get_fastpath_enabled()
(False, True)
>>> with rg.backends.cudnn.flags(enabled=False):
...     rg.backends.cudnn.enabled
False
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from numpy._core._multiarray_umath import __cpu_features__ as FEATURES

from ..nn.attention import switched
from ..tables import module
from . import cuda

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from ..tables import Table


def absent(*names: str) -> Table:
    """Functions that say of a library that it is not there: `is_available`, and those named."""
    return {
        "is_available": (lambda: False, "Whether it is used: never, as arrays are NumPy's."),
        **{name: (lambda: None, "What the library says of itself: None.") for name in names},
    }


def flags(module: Any, settings: dict[str, Any]) -> AbstractContextManager[None]:
    """A context, or decorator, in which a module has other switches; TypeError for unknown ones."""
    held: Any = vars(module)
    known = [name for name in held if not name.startswith("_") and not callable(held[name])]
    if unknown := settings.keys() - set(known):
        raise TypeError(
            f"flags() got an unexpected keyword argument {min(unknown)!r}. There are "
            f"{', '.join(known)}"
        )
    return switched(held, **settings)


def library(name: str, about: str, functions: Table, **switches: Any) -> Any:
    """The module of a library: its functions, and switches, which `flags` sets for a while."""
    row = (lambda **settings: flags(made, settings), "Set switches of it for a while.")
    rows: Table = {"flags": row, **functions} if "enabled" in switches else functions
    made: Any = module(f"{__name__}.{name}", about, rows, **switches)
    return made


def set_flags(_enabled: bool) -> tuple[bool]:
    """Switch NNPACK on or off; how it was."""
    before, nnpack.enabled = (nnpack.enabled,), bool(_enabled)
    return before


def capability() -> str:
    """The vectors of NumPy's kernels."""
    wide = "AVX2" if FEATURES.get("AVX2") else "DEFAULT"
    return "AVX512" if FEATURES.get("AVX512_SKX") else wide


cpu = library(
    "cpu",
    "The processor, as programs that choose between kernels ask for it.",
    {
        "get_cpu_capability": (
            capability,
            'The vectors that NumPy\'s kernels use: "AVX512", "AVX2" or "DEFAULT" for others.',
        )
    },
)
cudnn = library(
    *("cudnn", "Switches of NVIDIA's cuDNN.", absent("version")),
    enabled=True,
    benchmark=False,
    benchmark_limit=10,
    deterministic=False,
    allow_tf32=True,
)
cusparselt = library(
    "cusparselt",
    "NVIDIA's cuSPARSELt, which is not used.",
    absent("version", "get_max_alg_id"),
)
kleidiai = library("kleidiai", "Arm's KleidiAI, which is not used.", absent())
mha: Any = library(
    "mha",
    "The switch of PyTorch's fast path through transformer layers; there is one path here.",
    {
        "get_fastpath_enabled": (lambda: mha._enabled, "Whether it is left switched on."),
        "set_fastpath_enabled": (
            lambda value: setattr(mha, "_enabled", bool(value)),
            "Switch it on or off, which changes no result.",
        ),
    },
    _enabled=True,
)
mkl = library("mkl", "Intel's MKL, which NumPy may use, but this package does not know.", absent())
mkldnn = library(
    *("mkldnn", "Switches of Intel's oneDNN.", absent()),
    enabled=True,
    deterministic=False,
    allow_tf32=True,
)
mps = library(
    "mps",
    "Apple's GPU, which is not used.",
    {**absent(), "is_built": (lambda: False, "Whether it could be used: no.")},
)
nnpack: Any = library(
    "nnpack",
    "The switch of NNPACK, which is not used.",
    {
        **absent(),
        "set_flags": (set_flags, "Switch it on or off, which changes no result; how it was."),
        "flags": (
            lambda enabled=False: switched(vars(nnpack), enabled=bool(enabled)),
            "A context in which it is switched on or off.",
        ),
    },
    enabled=True,
)
openmp = library("openmp", "OpenMP, which is not used.", absent())
opt_einsum = library(
    "opt_einsum",
    "The switch of the package opt_einsum, which is not used: `einsum` orders products itself.",
    absent("get_opt_einsum"),
    enabled=False,
    strategy=None,
)
quantized = library(
    "quantized", "Kernels for quantized dtypes, of which there are none.", {},
    engine="none", supported_engines=["none"],
)  # fmt: skip

__all__ = [
    "cpu", "cuda", "cudnn", "cusparselt", "kleidiai", "mha", "mkl", "mkldnn", "mps", "nnpack",
    "openmp", "opt_einsum", "quantized",
]  # fmt: skip
