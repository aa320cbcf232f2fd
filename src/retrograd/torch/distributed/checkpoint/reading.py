"""`load`: states of all ranks from one checkpoint, however its tensors were cut."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import numpy as np

from .... import serialization
from ....autograd.grad_mode import no_grad
from ....autograd.graph import increment_version
from ....engine.tensor import Tensor, new_tensor
from .filesystem import FileSystemReader
from .metadata import CheckpointException, Metadata, MetadataIndex, TensorStorageMetadata
from .nested import block_of, entered, flat, states_of
from .stateful import Stateful

if TYPE_CHECKING:
    import os

__all__ = ["load", "object_at"]


def load(
    state_dict: dict[str, Any],
    *,
    checkpoint_id: str | os.PathLike[str] | None = None,
    storage_reader: Any = None,
    process_group: Any = None,
    no_dist: bool = False,
) -> None:
    """Fill a state from a checkpoint, in place: its tensors and DTensors are written.

    state_dict: as `save` took it, or some of its names; ranks and placements may be others. What is
    Stateful gets its state by `load_state_dict`. Each rank reads the blocks that it needs; nothing
    in the files is run. checkpoint_id: a folder; or storage_reader: a FileSystemReader. Raises
    CheckpointException for names that the checkpoint lacks, ValueError for another shape.

    >>> import tempfile
    >>> from retrograd.distributed import checkpoint
    >>> state = {"x": rg.zeros(2), "step": 0}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     said = checkpoint.save({"x": rg.ones(2), "step": 3}, checkpoint_id=folder)
    ...     checkpoint.load(state, checkpoint_id=folder); state
    {'x': tensor([1., 1.]), 'step': 3}
    """
    if storage_reader is None and checkpoint_id is None:
        raise ValueError("load needs a place: pass checkpoint_id=folder, or storage_reader=")
    reader = FileSystemReader(checkpoint_id) if storage_reader is None else storage_reader  # type: ignore[arg-type]
    metadata = reader.read_metadata()
    states = states_of(state_dict)
    for name, (path, value) in flat(states).items():
        if name not in metadata.state_dict_metadata:
            raise CheckpointException(
                f"Missing key in checkpoint state_dict: {name}. It has "
                f"{', '.join([*metadata.state_dict_metadata][:9])}, ..."
            )
        if isinstance(value, Tensor):
            _fill(reader, metadata, name, value)
        else:
            entered(states, path, object_at(reader, metadata, name))
    for key, value in state_dict.items():
        if isinstance(value, Stateful):
            value.load_state_dict(states[key])
        else:
            state_dict[key] = states[key]


def object_at(reader: Any, metadata: Metadata, name: str) -> Any:
    """What a checkpoint holds by a name, which is no tensor, or a whole one."""
    known = metadata.state_dict_metadata[name]
    if not isinstance(known, TensorStorageMetadata):
        return _read(reader, metadata, MetadataIndex(name))
    whole = new_tensor(np.empty(known.size, known.properties.dtype.numpy))
    _copy(reader, metadata, name, whole, (0,) * whole.ndim)
    return whole


def _fill(reader: Any, metadata: Metadata, name: str, tensor: Tensor) -> None:
    """Write what this rank has of a tensor."""
    known = metadata.state_dict_metadata[name]
    if not isinstance(known, TensorStorageMetadata) or known.size != tensor.shape:
        size = tuple(getattr(known, "size", ()))
        raise ValueError(
            f"Size mismatch between saved {size} and current: {tuple(tensor.shape)} for {name}"
        )
    begins, local = block_of(tensor)
    with no_grad():
        _copy(reader, metadata, name, local, begins)
    increment_version(tensor)


def _copy(reader: Any, metadata: Metadata, name: str, place: Tensor, begins: Any) -> None:
    """Write the part of a tensor that begins somewhere, from the blocks that meet it."""
    for chunk in metadata.state_dict_metadata[name].chunks:
        meets = [
            (max(a, b), min(a + n, b + m))
            for a, n, b, m in zip(begins, place.shape, chunk.offsets, chunk.sizes, strict=True)
        ]
        if any(start >= stop for start, stop in meets):
            continue
        found = _read(reader, metadata, MetadataIndex(name, chunk.offsets))
        there = tuple(slice(s - b, e - b) for (s, e), b in zip(meets, chunk.offsets, strict=True))
        here = tuple(slice(s - b, e - b) for (s, e), b in zip(meets, begins, strict=True))
        place[here].copy_(found[there])


def _read(reader: Any, metadata: Metadata, index: MetadataIndex) -> Any:
    """One block."""
    return serialization.load(io.BytesIO(reader.read(metadata.storage_data[index])))
