"""`save` and `async_save`: a checkpoint that all ranks write together.

NOTE [Writing together]
1. Each rank says which blocks it has. A block of a DTensor that several have is written by the one
   that has least to do. Of all else, which need not be alike on all ranks, such as the statistics
   of batches under DistributedDataParallel, the first one's counts. Ranks may have names of their
   own.
2. What a rank writes is made into bytes at once, so the state may change when `async_save` returns.
   Files are written beside the program, which uses a group of its own for that, one checkpoint
   after the other.
3. The first rank writes `.metadata` when all files are there: a folder without it is no checkpoint,
   and one with it is whole: NOTE [Whole checkpoints] in `filesystem`.
"""

from __future__ import annotations

import io
import pickle
import threading
import uuid
from concurrent.futures import Future
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from .... import dtypes, serialization
from ....engine.tensor import Size, Tensor
from ....serialization.rebuilding import numpy_dtype
from ..engine.world import World
from ..membership import is_initialized, joined
from ..tensor import DTensor
from .filesystem import FileSystemWriter
from .metadata import (
    BytesStorageMetadata,
    CheckpointException,
    ChunkStorageMetadata,
    Metadata,
    MetadataIndex,
    StorageInfo,
    StorageMeta,
    TensorProperties,
    TensorStorageMetadata,
)
from .nested import block_of, flat, states_of

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

__all__ = ["async_save", "save"]

_threads: list[threading.Thread] = []  # the last that writes


def save(
    state_dict: dict[str, Any],
    *,
    checkpoint_id: str | os.PathLike[str] | None = None,
    storage_writer: Any = None,
    process_group: Any = None,
    no_dist: bool = False,
) -> Metadata:
    """Write the states of all ranks as one checkpoint: NOTE [Writing together].

    state_dict: nested dictionaries of tensors, DTensors, plain data and what is Stateful. All ranks
    of `process_group`, all by default, call this; with `no_dist`, or without a group, this one
    alone. checkpoint_id: a folder; or storage_writer: a FileSystemWriter. PyTorch reads what is
    written, and `load` reads what it wrote. Raises CheckpointException on all ranks where one
    cannot write.

    >>> import tempfile
    >>> from retrograd.distributed import checkpoint
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     state = {"net": {"weight": rg.ones(2)}, "step": 3}
    ...     said = checkpoint.save(state, checkpoint_id=folder)
    >>> list(said.state_dict_metadata)
    ['net.weight', 'step']
    """
    where: Any = {"checkpoint_id": checkpoint_id, "storage_writer": storage_writer}
    return async_save(state_dict, **where, process_group=process_group, no_dist=no_dist).result()


def async_save(
    state_dict: dict[str, Any],
    *,
    checkpoint_id: str | os.PathLike[str] | None = None,
    storage_writer: Any = None,
    process_group: Any = None,
    no_dist: bool = False,
) -> Future[Metadata]:
    """As `save`, with files written beside the program: the future of the metadata.

    The state may be changed as soon as this returns. A process ends when its files are written.

    >>> import tempfile
    >>> from retrograd.distributed import checkpoint
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     done = checkpoint.async_save({"x": rg.ones(2)}, checkpoint_id=folder)
    ...     list(done.result().state_dict_metadata)
    ['x']
    """
    if storage_writer is None and checkpoint_id is None:
        raise ValueError("save needs a place: pass checkpoint_id=folder, or storage_writer=")
    writer = storage_writer or FileSystemWriter(checkpoint_id)  # type: ignore[arg-type]
    metadata, finish = _staged(state_dict, writer, process_group, no_dist)
    found: Future[Metadata] = Future()
    before = _threads[0] if _threads else None

    def run() -> None:
        if before is not None:
            before.join()
        try:
            finish()
            found.set_result(metadata)
        except BaseException as error:
            found.set_exception(error)

    _threads[:] = [threading.Thread(target=run)]
    _threads[0].start()
    return found


def _staged(
    state_dict: dict[str, Any], writer: Any, group: Any, alone: bool
) -> tuple[Metadata, Callable[[], None]]:
    """What the checkpoint says of itself, and what writes it."""
    named = flat(states_of(state_dict))
    outside = alone or not is_initialized()
    world = World(0, [0], None, 0.0) if outside else joined(group).world
    blocks = {
        name: block_of(value) for name, (_, value) in named.items() if isinstance(value, Tensor)
    }
    own = {name: _described(path, value, blocks.get(name)) for name, (path, value) in named.items()}
    metadata, owners = _planned(_gathered(world, own))
    parts: dict[MetadataIndex, bytes] = {}
    for index, owner in owners.items():
        if owner == world.number:
            value = named[index.fqn][1] if index.offset is None else blocks[index.fqn][1].clone()
            parts[index] = _bytes(value)
    infos, begin, file = {}, 0, f"__{world.number}_{uuid.uuid4().hex[:8]}.distcp"
    for index, part in parts.items():
        infos[index] = StorageInfo(file, begin, len(part))
        begin += len(part)
    metadata.storage_data = {k: v for found in _gathered(world, infos) for k, v in found.items()}
    metadata.storage_meta = StorageMeta(str(writer.path), str(uuid.uuid4()))
    beside = world.within(world.ranks, world.timeout)
    return metadata, partial(_finish, writer, file, [*parts.values()], metadata, beside)


def _described(path: Any, value: Any, block: Any) -> Any:
    """What other ranks must know of a value."""
    if block is None:
        return path, None
    begins, local = block
    lying = isinstance(value, DTensor)
    known = value.dtype.name, tuple(value.shape), begins, tuple(local.shape), lying
    return path, known


def _gathered(world: World, value: Any) -> list[Any]:
    """What all ranks say."""
    said = world.texts("a checkpoint", [pickle.dumps(value)] * world.size)
    return [*map(pickle.loads, said)]


def _planned(every: list[dict[str, Any]]) -> tuple[Metadata, dict[MetadataIndex, int]]:
    """What the checkpoint says, and which rank writes each block."""
    described: dict[str, Any] = {}
    paths: dict[str, Any] = {}
    holders: dict[MetadataIndex, list[tuple[int, int]]] = {}
    for number, own in enumerate(every):
        for name, (path, known) in own.items():
            paths[name] = path
            if known is None:
                described.setdefault(name, BytesStorageMetadata())
                holders.setdefault(MetadataIndex(name), [(number, 1)])
                continue
            dtype, shape, begins, sizes, lying = known
            properties = TensorProperties(dtypes.of_numpy(numpy_dtype(dtype)))
            whole = described.setdefault(name, TensorStorageMetadata(properties, Size(shape), []))
            if whole.size != shape:
                raise CheckpointException(f"{name}: ranks have shapes {tuple(whole.size)}, {shape}")
            count = int(np.prod(sizes, dtype=np.int64))
            if not count and any(shape):
                continue
            index = MetadataIndex(name, Size(begins))
            if index not in holders:
                whole.chunks.append(ChunkStorageMetadata(Size(begins), Size(sizes)))
                holders[index] = [(number, count)]
            elif lying:
                holders[index].append((number, count))
    load, owners = [0] * len(every), {}
    for index, ranks in holders.items():
        chosen, cost = min(ranks, key=lambda entry: load[entry[0]])
        owners[index], load[chosen] = chosen, load[chosen] + cost
    return Metadata(described, paths, version="1.0.0"), owners


def _bytes(value: Any) -> bytes:
    file = io.BytesIO()
    serialization.save(value, file)
    return file.getvalue()


def _finish(writer: Any, file: str, parts: list[bytes], metadata: Metadata, world: World) -> None:
    """Write this rank's file; once all have, the first one's last. Errors come to all."""
    try:
        _tried(writer, world, partial(_write, writer, file, parts))
        _tried(writer, world, partial(writer.finish, metadata) if world.number == 0 else None)
    finally:
        world.close()


def _write(writer: Any, file: str, parts: list[bytes]) -> None:
    writer.prepare()
    if parts:
        writer.write(file, parts)


def _tried(writer: Any, world: World, task: Callable[[], None] | None) -> None:
    """Do a task; CheckpointException on all ranks where one cannot."""
    error = None
    try:
        if task is not None:
            task()
    except Exception as caught:
        error = caught
    failures = np.flatnonzero(world.all_gather("a checkpoint", np.array(error is not None)))
    if failures.size:
        raise CheckpointException(
            f"ranks {failures.tolist()} could not write their parts of the checkpoint at "
            f"{writer.path}{f': {error}' if error else ''}"
        ) from error
