"""`torch.cuda` for programs that ask whether there is a GPU: there is none.

So `device = "cuda" if retrograd.cuda.is_available() else "cpu"` gives "cpu". What PyTorch does
without a GPU happens here: questions are answered, seeds and caches are none's, and whoever would
use one raises AssertionError.
"""

from __future__ import annotations

from typing import Any, NoReturn

from ...engine.placement import device as Device
from ...engine.placement import present
from ...errors import OutOfMemoryError
from . import amp, comm, nvtx
from .classes import TENSORS, CUDAGraph, Event, MemPool, Stream, StreamContext, graph, stream

__all__ = [
    "CUDAGraph",
    "Event",
    "MemPool",
    "OutOfMemoryError",
    "Stream",
    "StreamContext",
    "amp",
    "comm",
    "current_device",
    "current_stream",
    "default_generators",
    "default_stream",
    "device",
    "device_count",
    "device_of",
    "empty_cache",
    "get_arch_list",
    "get_device_capability",
    "get_device_name",
    "get_device_properties",
    "get_gencode_flags",
    "get_rng_state",
    "get_rng_state_all",
    "graph",
    "init",
    "initial_seed",
    "ipc_collect",
    "is_available",
    "is_bf16_supported",
    "is_initialized",
    "is_tf32_supported",
    "manual_seed",
    "manual_seed_all",
    "max_memory_allocated",
    "max_memory_cached",
    "max_memory_reserved",
    "mem_get_info",
    "memory_allocated",
    "memory_cached",
    "memory_reserved",
    "memory_stats",
    "memory_stats_as_nested_dict",
    "nvtx",
    "seed",
    "seed_all",
    "set_device",
    "set_rng_state",
    "set_rng_state_all",
    "set_stream",
    "stream",
    "synchronize",
]
globals().update(TENSORS)
__all__ += list(TENSORS)

default_generators: tuple[Any, ...] = ()  # one for each GPU
_initialized = False  # as code asks that keeps the states of generators for a second forward


def is_available() -> bool:
    """Whether tensors can live on a GPU: never.

    >>> rg.cuda.is_available()
    False
    """
    return False


def is_initialized() -> bool:
    """Whether a GPU is in use: never."""
    return False


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Whether a GPU computes with bfloat16: none does."""
    return False


def is_tf32_supported() -> bool:
    """Whether a GPU computes with TF32: none does."""
    return False


def device_count() -> int:
    """The number of GPUs: 0."""
    return 0


def get_arch_list() -> list[str]:
    """The architectures of GPUs that the package is built for: none."""
    return []


def get_gencode_flags() -> str:
    """What a compiler of CUDA is told about GPUs: nothing."""
    return ""


# -- seeds, caches, memory: there is nothing to be done ----------------------------------------


def manual_seed(seed: int) -> None:
    """Seed the generator of the current GPU: there is none, so nothing happens, as in PyTorch."""


def manual_seed_all(seed: int) -> None:
    """Seed the generators of all GPUs: there are none, so nothing happens, as in PyTorch."""


def seed() -> None:
    """Seed the generator of the current GPU: there is none, so nothing happens, as in PyTorch."""


def seed_all() -> None:
    """Seed the generators of all GPUs: there are none, so nothing happens, as in PyTorch."""


def get_rng_state_all() -> list[Any]:
    """The states of the generators of all GPUs: none.

    >>> rg.cuda.get_rng_state_all()
    []
    """
    return []


def set_rng_state_all(new_states: Any) -> None:
    """Set the states of the generators of all GPUs; AssertionError for any state."""
    if len(new_states):
        init()


def empty_cache() -> None:
    """Give unused memory of GPUs back: there is none, so nothing happens, as in PyTorch."""


def memory_allocated(device: Any = None) -> int:
    """How many bytes tensors take on a GPU: 0.

    >>> rg.cuda.memory_allocated(), rg.cuda.max_memory_allocated()
    (0, 0)
    """
    return 0


def max_memory_allocated(device: Any = None) -> int:
    """The most bytes that tensors took on a GPU: 0."""
    return 0


def memory_reserved(device: Any = None) -> int:
    """How many bytes of a GPU are held: 0."""
    return 0


def max_memory_reserved(device: Any = None) -> int:
    """The most bytes of a GPU that were held: 0."""
    return 0


def memory_stats(device: Any = None) -> dict[str, Any]:
    """Counts of a GPU's memory: none, as in PyTorch.

    >>> rg.cuda.memory_stats().get("allocated_bytes.all.peak", 0)
    0
    """
    return {}


def memory_stats_as_nested_dict(device: Any = None) -> dict[str, Any]:
    """`memory_stats`, sorted by what is counted: none."""
    return {}


memory_cached, max_memory_cached = memory_reserved, max_memory_reserved  # their older names


def synchronize(device: Any = None) -> None:
    """Wait for GPUs: nothing runs there, so nothing happens, where PyTorch raises."""


# -- what needs a GPU --------------------------------------------------------------------------


def init() -> NoReturn:
    """Raise AssertionError: there is no GPU.

    >>> rg.cuda.init()
    Traceback (most recent call last):
        ...
    AssertionError: Retrograd not compiled with CUDA enabled: tensors live on the cpu. Leave the device argument out, or write device='cpu'.
    """  # noqa: E501
    present("cuda")
    raise AssertionError


_lazy_init = init  # as libraries call it


def _lazy_call(callable: Any, **kwargs: Any) -> None:
    """Call a function once a GPU is in use: never, so nothing happens, as in PyTorch."""


def _is_in_bad_fork() -> bool:
    """Whether this process was forked from one that uses a GPU: never, as in PyTorch."""
    return False


def set_device(device: Any) -> None:
    """Choose a GPU; AssertionError for any but a negative number, which chooses none."""
    if number_of(device) >= 0:
        init()


def current_device() -> int:
    """The number of the current GPU: AssertionError."""
    init()


def set_rng_state(new_state: Any, device: Any = "cuda") -> None:
    """Set the state of a GPU's generator: nothing happens, as in PyTorch."""


def set_stream(stream: Any) -> None:
    """Choose the queue of a GPU: nothing happens for None, AssertionError otherwise."""
    if stream is not None:
        init()


def current_stream(device: Any = None) -> Any:
    """The queue that a GPU works on: AssertionError."""
    init()


def default_stream(device: Any = None) -> Any:
    """The queue that a GPU works on first: AssertionError."""
    init()


def mem_get_info(device: Any = None) -> tuple[int, int]:
    """How many bytes of a GPU are free, of how many: AssertionError."""
    init()


def ipc_collect() -> None:
    """Free what other processes had of a GPU: AssertionError."""
    init()


def initial_seed() -> int:
    """The seed of a GPU's generator: AssertionError."""
    init()


def get_rng_state(device: Any = "cuda") -> Any:
    """The state of a GPU's generator: AssertionError."""
    init()


def get_device_name(device: Any = None) -> str:
    """The name of a GPU: AssertionError."""
    init()


def get_device_capability(device: Any = None) -> tuple[int, int]:
    """The version of what a GPU can do: AssertionError."""
    init()


def get_device_properties(device: Any = None) -> Any:
    """What a GPU is: AssertionError."""
    init()


class device:  # noqa: N801 (PyTorch's name)
    """A context in which a GPU is the current one: AssertionError, but for a negative number.

    >>> with rg.cuda.device(-1):
    ...     rg.cuda.is_available()
    False
    """

    def __init__(self, device: Any) -> None:
        self.idx = number_of(device)

    def __enter__(self) -> None:
        set_device(self.idx)

    def __exit__(self, *exc: object) -> None:
        pass


class device_of(device):  # noqa: N801 (PyTorch's name)
    """A context in which the GPU of a tensor is the current one; none for a tensor on the cpu."""

    def __init__(self, obj: Any) -> None:
        super().__init__(getattr(obj, "device", None))


def number_of(spec: Any) -> int:
    """The number of a device: of None, or of the cpu, -1."""
    if isinstance(spec, int):
        return spec
    found = Device("cpu" if spec is None else spec)
    return -1 if found.type == "cpu" else found.index or 0
