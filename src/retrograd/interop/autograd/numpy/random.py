"""The names of `numpy.random`: draws are constants, without a gradient."""

from typing import Any

from numpy import random as namespace

__all__: list[str] = []


def __getattr__(name: str) -> Any:
    return getattr(namespace, name)


def __dir__() -> list[str]:
    return dir(namespace)
