"""Tensors by name in the format safetensors: a header of JSON, and the tensors' bytes behind it.

NOTE [Safetensors]
1. A file is the header's length (64 bits, little-endian), the header, and one block of bytes. The
   header gives each tensor's dtype, shape and place in the block, and under `__metadata__` texts.
2. Nothing in it can be run. A reader checks that every tensor has as many bytes as it needs, and
   that all of them together are the block, each byte once: so a file takes the memory of its bytes.
3. Tensors that share memory are written once each, and no longer share it afterwards.

Functions and arguments are those of the library `safetensors.torch`, which need not be there.
"""

from __future__ import annotations

import io
import json
import math
import struct
import sys
from collections.abc import Iterator, Mapping
from typing import Any, Self

import numpy as np

from .. import dtypes
from ..engine.tensor import Tensor, new_tensor
from ..kernels.memory import address, in_rows
from ..ops.creation.from_data import check_device
from .files import Mapped, Source, opened, write
from .rebuilding import ALIGNMENT, numpy_dtype

__all__ = [
    "load", "load_file", "load_model", "read", "safe_open", "save", "save_file", "save_model",
]  # fmt: skip

LONGEST = 100_000_000  # bytes of a header
DTYPES = {
    "BOOL": "bool",
    "U8": "uint8",
    "I8": "int8",
    "I16": "int16",
    "U16": "uint16",
    "I32": "int32",
    "U32": "uint32",
    "I64": "int64",
    "U64": "uint64",
    "F16": "float16",
    "BF16": "bfloat16",
    "F32": "float32",
    "F64": "float64",
    "C64": "complex64",
    "F8_E4M3": "float8_e4m3fn",
    "F8_E5M2": "float8_e5m2",
    "F8_E4M3FNUZ": "float8_e4m3fnuz",
    "F8_E5M2FNUZ": "float8_e5m2fnuz",
}
CODES = {name: code for code, name in DTYPES.items()}


def bad(why: str) -> RuntimeError:
    """The error for a file that is none of this format."""
    return RuntimeError(
        f"Error while deserializing header: {why}. The file was cut or altered, or is no "
        "safetensors file: read it from a copy that is whole."
    )


# -- writing -----------------------------------------------------------------------------------


def parts_of(tensors: Mapping[str, Tensor], metadata: Mapping[str, str] | None) -> Iterator[Any]:
    """The bytes of a file, part by part, widest elements first so that all are aligned."""
    header: dict[str, Any] = {}
    if metadata is not None:
        if any(not isinstance(text, str) for pair in metadata.items() for text in pair):
            raise TypeError("metadata must have texts as names and values, such as {'epoch': '3'}")
        header["__metadata__"] = dict(metadata)
    for name, tensor in tensors.items():
        if not isinstance(name, str) or not isinstance(tensor, Tensor) or name == "__metadata__":
            raise TypeError(f"expected tensors by name, got {type(tensor).__name__} for {name!r}")
        if tensor.dtype.name not in CODES:
            raise TypeError(
                f"safetensors has no dtype for {tensor.dtype}, that of {name!r}. Save its parts: "
                "retrograd.view_as_real(x)"
            )
    order = sorted(tensors, key=lambda name: (-tensors[name].dtype.itemsize, name))
    place = 0
    for name in order:
        tensor = tensors[name]
        end = place + tensor._array.nbytes
        code = CODES[tensor.dtype.name]
        header[name] = {"dtype": code, "shape": [*tensor.shape], "data_offsets": [place, end]}
        place = end
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    yield struct.pack("<Q", len(text))
    yield text
    for name in order:
        array = in_rows(tensors[name].cpu()._array)
        yield (array if sys.byteorder == "little" else array.byteswap()).reshape(-1).view("u1")


def save(tensors: Mapping[str, Tensor], metadata: Mapping[str, str] | None = None) -> bytes:
    """The bytes of a file with these tensors, by name, and texts in `metadata`.

    Raises TypeError for complex128, which the format does not have.

    >>> from retrograd.serialization import safetensors
    >>> safetensors.load(safetensors.save({"weight": rg.ones(2)}))
    {'weight': tensor([1., 1.])}
    """
    return b"".join(parts_of(tensors, metadata))


def save_file(
    tensors: Mapping[str, Tensor], filename: Any, metadata: Mapping[str, str] | None = None
) -> None:
    """Write tensors to a path, which has the old file until the new one is whole; see `save`.

    >>> import os, tempfile
    >>> from retrograd.serialization import safetensors
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "x.safetensors")
    ...     safetensors.save_file({"weight": rg.ones(2)}, path, metadata={"epoch": "3"})
    ...     safetensors.load_file(path)
    {'weight': tensor([1., 1.])}
    """
    write(filename, [*parts_of(tensors, metadata)])


def save_model(model: Any, filename: Any, metadata: Mapping[str, str] | None = None) -> None:
    """Write the state of a module; of tensors that are the same, the first by name.

    >>> import os, tempfile
    >>> from retrograd.serialization import safetensors
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "x.safetensors")
    ...     safetensors.save_model(rg.nn.Linear(2, 1), path)
    ...     list(safetensors.load_file(path))
    ['bias', 'weight']
    """
    state, texts = model.state_dict(), dict(metadata or {})
    kept: dict[Any, str] = {}
    for name in sorted(state):
        first = kept.setdefault(same_as(state[name]), name)
        if first != name:
            texts[name] = first
    save_file({name: state[name] for name in kept.values()}, filename, texts or None)


def same_as(tensor: Tensor) -> Any:
    """What is equal for tensors that are the same."""
    array = tensor._array
    return (address(array), array.shape, array.strides, array.dtype) if array.size else id(tensor)


# -- reading -----------------------------------------------------------------------------------


class Header:
    """What a file says that it holds, checked: NOTE [Safetensors], 2."""

    def __init__(self, source: Source) -> None:
        self.source = source
        length = int.from_bytes(source.bytes(0, min(8, source.size)), "little")
        if source.size < 8 or length > min(LONGEST, source.size - 8):
            raise bad(f"a header of {length} bytes")
        try:
            found = json.loads(source.bytes(8, length).decode(), object_pairs_hook=unique)
        except (ValueError, RecursionError) as error:
            raise bad(f"it is no JSON: {error}") from None
        if not isinstance(found, dict):
            raise bad("it is no object")
        self.metadata: dict[str, str] | None = found.pop("__metadata__", None)
        texts = self.metadata if isinstance(self.metadata, dict) else {}
        if (self.metadata is not None and self.metadata is not texts) or any(
            not isinstance(text, str) for text in texts.values()
        ):
            raise bad("its metadata are no texts by name")
        self.start, self.tensors = 8 + length, found
        ends = [0]
        for name, value in sorted(found.items(), key=lambda pair: place_of(*pair)):
            begin, end = check(name, value)
            if begin != ends[-1]:
                raise bad(f"tensor {name!r} does not begin where the one before it ends")
            ends.append(end)
        if self.start + ends[-1] != source.size:
            raise bad(f"its tensors have {ends[-1]} bytes, the file {source.size - self.start}")

    def array(self, name: str) -> Any:
        """The array of a name, in memory of its own or mapped."""
        value = self.tensors[name]
        begin, end = value["data_offsets"]
        dtype = numpy_dtype(DTYPES[value["dtype"]])
        memory = self.source.memory(self.start + begin, end - begin)
        if memory.size and address(memory) % ALIGNMENT:
            memory = memory.copy()
        try:
            array = memory.view(dtype).reshape(value["shape"])
        except ValueError as error:
            raise bad(f"tensor {name!r}: {error}") from None
        return array if sys.byteorder == "little" else array.byteswap(inplace=True)


def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A dictionary whose keys were written once."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name is there twice")
    return found


def place_of(name: str, value: Any) -> tuple[int, int]:
    """(begin, end) of a tensor in the file; raise where the header does not say so."""
    if not isinstance(value, dict) or value.keys() != {"dtype", "shape", "data_offsets"}:
        raise bad(f"tensor {name!r} has other fields than dtype, shape, data_offsets")
    place, shape = value["data_offsets"], value["shape"]
    for numbers in (place, shape):
        if not isinstance(numbers, list) or any(
            number.__class__ is not int or number < 0 for number in numbers
        ):
            raise bad(f"tensor {name!r} has no valid place and shape")
    if len(place) != 2:
        raise bad(f"tensor {name!r} has no valid place")
    return place[0], place[1]


def check(name: str, value: Any) -> tuple[int, int]:
    """(begin, end) of a tensor in the file; raise unless it has the bytes that it needs."""
    begin, end = value["data_offsets"]
    if value["dtype"] not in CODES.values():  # it may be no text
        raise RuntimeError(f"tensor {name!r} is of dtype {value['dtype']!r}, which is not here")
    if len(value["shape"]) > 64:
        raise bad(f"tensor {name!r} has {len(value['shape'])} dimensions")
    needs = math.prod(value["shape"]) * dtypes.by_name(DTYPES[value["dtype"]]).itemsize
    if end - begin != needs:
        raise bad(f"tensor {name!r} of shape {value['shape']} has {end - begin} bytes")
    return begin, end


def read(source: Source) -> dict[str, Tensor]:
    """All tensors of a file."""
    header = Header(source)
    return {name: new_tensor(header.array(name)) for name in header.tensors}


def load(data: bytes) -> dict[str, Tensor]:
    """The tensors in the bytes of a file, by name.

    Raises RuntimeError where they are no such file.

    >>> from retrograd.serialization import safetensors
    >>> safetensors.load(safetensors.save({"steps": rg.arange(3)}))
    {'steps': tensor([0, 1, 2])}
    """
    with opened(io.BytesIO(data)) as file:
        return read(Source(file))


def load_file(filename: Any, device: Any = "cpu") -> dict[str, Tensor]:
    """The tensors in a file, by name, read at once; `safe_open` reads them one by one.

    Raises RuntimeError for a file that is none of this format, or was cut or altered.

    >>> import os, tempfile
    >>> from retrograd.serialization import safetensors
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "x.safetensors")
    ...     safetensors.save_file({"steps": rg.arange(3)}, path)
    ...     safetensors.load_file(path)
    {'steps': tensor([0, 1, 2])}
    """
    check_device(device)
    with opened(filename) as file:
        return read(Source(file))


def load_model(
    model: Any, filename: Any, strict: bool = True, device: Any = "cpu"
) -> tuple[set[str], list[str]]:
    """Load what `save_model` wrote into a module; the names that were missing and unexpected.

    With `strict`, RuntimeError where there are any.

    >>> import os, tempfile
    >>> from retrograd.serialization import safetensors
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "x.safetensors")
    ...     safetensors.save_model(rg.nn.Linear(2, 1), path)
    ...     safetensors.load_model(rg.nn.Linear(2, 1), path)
    (set(), [])
    """
    state = load_file(filename, device)
    groups: dict[Any, list[str]] = {}
    for name, tensor in model.state_dict().items():
        groups.setdefault(same_as(tensor), []).append(name)
    for names in groups.values():
        there = [name for name in names if name in state]
        if there:
            state.update(dict.fromkeys(names, state[there[0]]))
    found = model.load_state_dict(state, strict=strict)
    return set(found.missing_keys), found.unexpected_keys


class safe_open:  # noqa: N801 (the library's name)
    """A file whose tensors, or parts of them, are read when they are asked for.

    >>> import os, tempfile
    >>> from retrograd.serialization import safetensors
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "x.safetensors")
    ...     safetensors.save_file({"x": rg.arange(6).view(2, 3)}, path, {"epoch": "3"})
    ...     with safetensors.safe_open(path) as file:
    ...         file.keys(), file.metadata(), file.get_slice("x")[:, 1:]
    (['x'], {'epoch': '3'}, tensor([[1, 2],
            [4, 5]]))
    """

    def __init__(self, filename: Any, framework: str = "pt", device: Any = "cpu") -> None:
        check_device(device)
        with open(filename, "rb") as file:
            self.header = Header(Mapped(file))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        """Nothing: the file is unmapped with the last tensor."""

    def keys(self) -> list[str]:
        """The names of all tensors, sorted."""
        return sorted(self.header.tensors)

    def offset_keys(self) -> list[str]:
        """The names in the order in which the tensors lie in the file."""
        found = self.header.tensors
        return sorted(found, key=lambda name: found[name]["data_offsets"])

    def metadata(self) -> dict[str, str] | None:
        """The texts that were saved with the tensors."""
        return self.header.metadata

    def get_tensor(self, name: str) -> Tensor:
        """A tensor, in memory of its own; KeyError for a name that is not there."""
        return new_tensor(self.header.array(name).copy())

    def get_slice(self, name: str) -> Slice:
        """A tensor of which parts can be read; KeyError for a name that is not there."""
        return Slice(self.header.array(name), self.header.tensors[name]["dtype"])


class Slice:
    """A tensor in a file: indexing it reads that part."""

    def __init__(self, array: Any, code: str) -> None:
        self.array, self.code = array, code

    def __getitem__(self, key: Any) -> Tensor:
        """The part, in memory of its own."""
        return new_tensor(np.array(self.array[key]))

    def get_shape(self) -> list[int]:
        """The shape."""
        return list(self.array.shape)

    def get_dtype(self) -> str:
        """The dtype, by its name in the format."""
        return self.code
