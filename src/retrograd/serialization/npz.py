"""Tensors by name in NumPy's archives, which `numpy.load` and `numpy.savez` read and write.

An array of Python objects would be a pickle: it is refused, before anything is read.
"""

from __future__ import annotations

import io
import re
import struct
from collections.abc import Mapping
from typing import Any

import numpy as np

from .. import dtypes
from ..engine.tensor import Tensor, new_tensor
from ..kernels.memory import address, in_rows
from .archive import Archive, archived
from .files import Mapped, Source, opened, write
from .rebuilding import ALIGNMENT

__all__ = ["load_file", "save_file"]

BAD = "the array {name!r} cannot be read: {why}. The file was cut or altered, or holds no numbers"
BEGINS = struct.Struct("<6sBB")
LENGTHS = {1: struct.Struct("<H"), 2: struct.Struct("<L"), 3: struct.Struct("<L")}
FIELDS = tuple(
    re.compile(rf"""['"]{name}['"]\s*:\s*{value}""")
    for name, value in {
        "descr": r"""['"]([<>|=]?[a-z]\d+)['"]""",
        "fortran_order": "(True|False)",
        "shape": r"\(([\dL, ]*)\)",
    }.items()
)


def save_file(tensors: Mapping[str, Tensor], file: Any) -> None:
    """Write tensors by name to a path, or a file opened for writing, as `numpy.savez` does.

    Raises TypeError for bfloat16 and float8, which NumPy does not have. A path has the old file
    until the new one is whole.

    >>> import io
    >>> from retrograd.serialization import npz
    >>> file = io.BytesIO()
    >>> npz.save_file({"weight": rg.ones(2)}, file)
    >>> np.load(io.BytesIO(file.getvalue()))["weight"]
    array([1., 1.], dtype=float32)
    """
    records = []
    for name, tensor in tensors.items():
        if tensor.dtype.name in dtypes.NARROW:
            raise TypeError(
                f"NumPy has no {tensor.dtype.name}, the dtype of {name!r}. Save x.float()"
            )
        array = in_rows(tensor._array)
        header = io.BytesIO()
        np.lib.format.write_array_header_1_0(
            header, np.lib.format.header_data_from_array_1_0(array)
        )
        records.append((f"{name}.npy", header.getvalue() + array.tobytes()))
    write(file, archived(records))


def load_file(file: Any, mmap: bool = False) -> dict[str, Tensor]:
    """The tensors in what `numpy.savez` wrote, a path or a file opened for reading, by name.

    With `mmap`, a path is mapped: what is not compressed is read when it is needed.
    Raises RuntimeError for a file that is no such archive, was cut or altered, or holds objects.

    >>> import io
    >>> from retrograd.serialization import npz
    >>> file = io.BytesIO()
    >>> np.savez(file, steps=np.arange(3))
    >>> npz.load_file(io.BytesIO(file.getvalue()))
    {'steps': tensor([0, 1, 2])}
    """
    with opened(file) as stream:
        archive = Archive(Mapped(stream) if mmap else Source(stream))
        return {
            name.removesuffix(".npy"): new_tensor(array_of(archive.memory(name), name))
            for name in archive.records
        }


def array_of(content: Any, name: str) -> Any:
    """The array in a record, on its memory."""
    try:
        magic, version, _ = BEGINS.unpack_from(content)
        length = LENGTHS[version]
        begin = BEGINS.size + length.size
        end = begin + length.unpack_from(content, BEGINS.size)[0]
        if magic != b"\x93NUMPY" or end > content.size:
            raise ValueError("it does not begin as one")
        code, columns, shape = fields_of(content[begin:end].tobytes().decode("latin-1"))
        dtype = np.dtype(code)
        target = dtypes.of_numpy(dtype).numpy
        numbers = content[end:]
        if numbers.size and address(numbers) % ALIGNMENT:
            numbers = numbers.copy()
        array = numbers.view(dtype).reshape(shape, order="F" if columns else "C")
    except (ValueError, TypeError, KeyError, OverflowError, struct.error) as error:
        raise RuntimeError(BAD.format(name=name, why=error)) from None
    return array.astype(target, copy=False)


def fields_of(header: str) -> tuple[str, bool, list[int]]:
    """The dtype's code, whether columns come first, and the shape, by a header."""
    found = [field.search(header) for field in FIELDS]
    if None in found:
        raise ValueError(f"its header is {header[:200].strip()}")
    code, columns, shape = (field[1] for field in found if field)
    return (
        code,
        columns == "True",
        [int(size.strip(" L")) for size in shape.split(",") if size.strip()],
    )
