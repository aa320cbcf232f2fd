"""The processor, as programs that choose between kernels ask for it."""

from __future__ import annotations

from numpy._core._multiarray_umath import __cpu_features__

__all__ = ["get_cpu_capability"]


def get_cpu_capability() -> str:
    """The vectors that NumPy's kernels use: "AVX512", "AVX2" or "DEFAULT" for others.

    >>> rg.backends.cpu.get_cpu_capability() in ("DEFAULT", "AVX2", "AVX512")
    True
    """
    if __cpu_features__.get("AVX512_SKX"):
        return "AVX512"
    return "AVX2" if __cpu_features__.get("AVX2") else "DEFAULT"
