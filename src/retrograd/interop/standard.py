"""The method by which the array API standard finds the namespace of a tensor."""

from __future__ import annotations

from types import ModuleType

from ..engine.tensor import Tensor
from . import array_api

__all__ = ["array_namespace"]

VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12")


def array_namespace(self: Tensor, *, api_version: str | None = None) -> ModuleType:
    """The namespace of the array API standard: `retrograd.interop.array_api`.

    Raises ValueError for a version of the standard that it does not follow.

    >>> xp = rg.ones(2).__array_namespace__(api_version="2024.12")
    >>> xp.linalg.vector_norm(xp.asarray([3.0, 4.0]))
    tensor(5.)
    """
    if api_version is not None and api_version not in VERSIONS:
        raise ValueError(
            f"the array API standard {api_version!r} is not implemented; there are "
            f"{', '.join(VERSIONS)}"
        )
    return array_api
