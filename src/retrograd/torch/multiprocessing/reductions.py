"""How tensors are pickled for another process: shared ones by the descriptor of their memory."""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from multiprocessing import process, reduction, util
from multiprocessing.context import get_spawning_popen
from multiprocessing.reduction import ForkingPickler
from typing import Any

from ...engine.tensor import Tensor
from ...kernels.shared import block_of, opened, place_of
from ...nn.parameter import Buffer, Parameter
from ...ops.tensor.pickling import attributes, check_whole, rebuild

__all__ = ["init_reductions", "reduce_tensor"]

NO_LEAF = (
    "Cowardly refusing to serialize non-leaf tensor which requires_grad, since autograd does not "
    "support crossing process boundaries. If you just want to transfer the data, call detach() on "
    "the tensor before serializing (e.g., putting it on the queue)."
)

LONGEST = 60  # bytes of a folder in which a socket's path, 104 bytes on some systems, has room

_given: weakref.WeakKeyDictionary[Any, dict[int, Any]] = weakref.WeakKeyDictionary()


class Shared:
    """A shared array on its way to another process."""

    def __init__(self, array: Any) -> None:
        self.array = array

    def __reduce__(self) -> Any:
        block = block_of(self.array)
        assert block is not None
        return arrived, (handed(block.descriptor), place_of(self.array))


def handed(descriptor: int) -> Any:
    """An object that becomes the descriptor in another process, given once to one that starts."""
    keep_paths_short()
    popen = get_spawning_popen()
    if popen is None:
        return reduction.DupFd(descriptor)
    given = _given.setdefault(popen, {})
    if descriptor not in given:
        given[descriptor] = reduction.DupFd(descriptor)
    return given[descriptor]


def keep_paths_short() -> None:
    """Let Python hand descriptors over by a socket in /tmp where TMPDIR is too long for one.

    Python does so itself since 3.14; before, the error comes in a thread of the queue's, and who
    waits for the tensor waits for ever.
    """
    if os.name == "posix" and len(os.fsencode(util.get_temp_dir())) > LONGEST:
        folder = tempfile.mkdtemp(prefix="pymp-", dir="/tmp")
        util.Finalize(None, shutil.rmtree, (folder,), exitpriority=-100)
        vars(process.current_process())["_config"]["tempdir"] = folder


def arrived(descriptor: Any, place: tuple[Any, ...]) -> Any:
    """The array that another process has sent."""
    return opened(descriptor.detach(), place)


def reduce_tensor(tensor: Tensor) -> tuple[Any, ...]:
    """How a tensor is pickled for another process: NOTE [Tensors between processes], 2.

    Raises RuntimeError for one with a history, which cannot go along.
    """
    if tensor.requires_grad and not tensor.is_leaf:
        raise RuntimeError(NO_LEAF)
    check_whole(tensor, "sent to another process")
    if get_spawning_popen() is not None and os.name != "nt":
        tensor.share_memory_()
    array = Shared(tensor._array) if tensor.is_shared() else tensor._array
    return rebuild, (type(tensor), array, tensor.requires_grad, attributes(tensor))


def init_reductions() -> None:
    """Let all messages between processes carry tensors so."""
    for kind in (Tensor, Parameter, Buffer):
        ForkingPickler.register(kind, reduce_tensor)
