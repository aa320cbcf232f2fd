"""Tensors on files: memory that the system reads from there, and writes back if it is shared."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import dtypes
from .from_data import check_device, check_dtype, finish

if TYPE_CHECKING:
    from ...engine.tensor import Tensor

__all__ = ["from_file"]


def mapped(filename: Any, shared: bool, nbytes: int, kind: Any) -> Any:
    """The first bytes of a file as an array: written to it if `shared`, kept in memory if not."""
    path = os.fspath(filename)
    if not shared:
        size = os.path.getsize(path) if os.path.exists(path) else -1
        if size < 0:
            raise RuntimeError(
                f"unable to open file <{path}> in read-only mode: No such file or directory. To "
                "make it: shared=True"
            )
        if size < nbytes:
            raise RuntimeError(
                f"file <{path}> size <{size}> is smaller than the required mapping size <{nbytes}>"
            )
    else:
        with open(path, "ab") as file:
            if file.tell() < nbytes:
                file.truncate(nbytes)
    if not nbytes:
        return np.zeros(0, kind)
    shape = (nbytes // kind.itemsize,)
    return np.asarray(np.memmap(path, kind, "r+" if shared else "c", shape=shape))


def from_file(
    filename: Any,
    shared: bool = False,
    size: int = 0,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """A 1-D tensor of `size` elements on a file, which is read as they are.

    If `shared`, writes go to the file, which is made, or made longer, where it must be; if not,
    they stay in memory. Raises RuntimeError for a file that is not there or too short. Source:
    PyTorch's `from_file`.

    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "numbers")
    ...     _ = rg.from_file(path, shared=True, size=2).fill_(7.0)
    ...     rg.from_file(path, size=2)
    tensor([7., 7.])
    """
    check_device(device)
    kind = dtypes.default_numpy() if dtype is None else check_dtype(dtype, "from_file")
    return finish(mapped(filename, shared, size * kind.itemsize, kind), requires_grad)
