"""The names of `numpy.fft`, whose functions take boxes as they are."""

from typing import Any

from numpy import fft as namespace

__all__: list[str] = []


def __getattr__(name: str) -> Any:
    return getattr(namespace, name)


def __dir__() -> list[str]:
    return dir(namespace)
