"""Checkpoints as files of `save`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .... import serialization
from .filesystem import FileSystemReader
from .nested import entered
from .reading import object_at

if TYPE_CHECKING:
    import os

__all__ = ["dcp_to_torch_save"]


def dcp_to_torch_save(
    dcp_checkpoint_dir: str | os.PathLike[str], torch_save_path: str | os.PathLike[str]
) -> None:
    """Write what a checkpoint holds, with whole tensors, to one file that `load` reads.

    >>> import os, tempfile
    >>> from retrograd.distributed import checkpoint
    >>> from retrograd.distributed.checkpoint.format_utils import dcp_to_torch_save
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     said = checkpoint.save({"net": {"x": rg.ones(2)}}, checkpoint_id=folder)
    ...     dcp_to_torch_save(folder, os.path.join(folder, "net.pt"))
    ...     rg.load(os.path.join(folder, "net.pt"))
    {'net': {'x': tensor([1., 1.])}}
    """
    reader = FileSystemReader(dcp_checkpoint_dir)
    metadata = reader.read_metadata()
    state: Any = {}
    for name in metadata.state_dict_metadata:
        path = (metadata.planner_data or {}).get(name, (name,))
        state = entered(state, path, object_at(reader, metadata, name))
    serialization.save(state, torch_save_path)
