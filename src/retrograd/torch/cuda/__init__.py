"""`torch.cuda` for programs that ask whether there is a GPU: there is none.

So `device = "cuda" if retrograd.cuda.is_available() else "cpu"` gives "cpu". As in a PyTorch
without a GPU, counts are 0, functions that set seeds or free memory do nothing, and functions that
need a GPU raise AssertionError.

>>> rg.cuda.is_available(), rg.cuda.memory_allocated(), rg.cuda.get_rng_state_all()
(False, 0, [])
>>> rg.cuda.comm.broadcast(rg.ones(2), ["cuda:0"])
Traceback (most recent call last):
    ...
AssertionError: Retrograd not compiled with CUDA enabled: tensors live on the cpu. Leave the device argument out, or write device='cpu'.
"""  # noqa: E501

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NoReturn

from ...engine.placement import device as Device
from ...engine.placement import as_device
from ...errors import OutOfMemoryError
from ..tables import absent_device, define, module
from . import amp
from .classes import TENSORS, CUDAGraph, Event, MemPool, Stream, StreamContext, graph, stream

globals().update(TENSORS)

default_generators: tuple[Any, ...] = ()  # one for each GPU
_initialized = False  # programs read it that keep the states of generators for a second forward


def init() -> NoReturn:
    """Raise AssertionError: there is no GPU.

    >>> rg.cuda.init()
    Traceback (most recent call last):
        ...
    AssertionError: Retrograd not compiled with CUDA enabled: tensors live on the cpu. Leave the device argument out, or write device='cpu'.
    """  # noqa: E501
    as_device("cuda")
    raise AssertionError


def set_device(device: Any) -> None:
    """Choose a GPU; AssertionError for any but a negative number, which chooses none."""
    if number_of(device) >= 0:
        init()


comm = module(
    f"{__name__}.comm",
    "Tensors that go from one GPU to others: there is none, so each raises AssertionError.",
    {
        name: (lambda *args, **kwargs: init(), "Send tensors of a GPU: AssertionError.")
        for name in (
            *("broadcast", "broadcast_coalesced", "gather", "reduce_add", "reduce_add_coalesced"),
            "scatter",
        )
    },
)


def unmarked() -> NoReturn:
    """Raise RuntimeError: there are no profiles of a GPU."""
    raise RuntimeError(
        "NVTX functions not installed. Are you sure you have a CUDA build? Retrograd runs on the "
        "cpu: record functions with retrograd.profiler.record_function(name)."
    )


@contextmanager
def span(msg: str, *args: Any, **kwargs: Any) -> Any:
    """Raise RuntimeError on entering."""
    yield unmarked()


nvtx = module(
    f"{__name__}.nvtx",
    "Marks in the profiles of NVIDIA's tools: nothing writes such profiles here, so all raise.",
    {
        "mark": (lambda msg: unmarked(), "Mark a moment: RuntimeError."),
        "range_push": (lambda msg: unmarked(), "Begin a span inside the last one: RuntimeError."),
        "range_pop": (lambda: unmarked(), "End the last span: RuntimeError."),
        "range_start": (lambda msg: unmarked(), "Begin a span for any thread: RuntimeError."),
        "range_end": (lambda range_id: unmarked(), "End such a span: RuntimeError."),
        "range": (span, "A context that is a span: RuntimeError on entering it."),
    },
)

# What is left of PyTorch's functions where there is no GPU.
FUNCTIONS: dict[str, Any] = {
    **absent_device(),
    # Answers.
    "is_initialized": (lambda: False, "Whether a GPU is in use: never."),
    "is_bf16_supported": (
        lambda including_emulation=True: False,
        "Whether a GPU computes with bfloat16: none does.",
    ),
    "is_tf32_supported": (lambda: False, "Whether a GPU computes with TF32: none does."),
    "get_arch_list": (lambda: [], "The architectures that the package is built for: none."),
    "get_gencode_flags": (lambda: "", "The flags of CUDA's compiler: none."),
    "get_rng_state_all": (lambda: [], "The states of the generators of all GPUs: none."),
    "memory_allocated": (lambda device=None: 0, "The bytes that tensors take on a GPU: 0."),
    "max_memory_allocated": (lambda device=None: 0, "The most bytes tensors took on a GPU: 0."),
    "memory_reserved": (lambda device=None: 0, "The bytes that are held of a GPU: 0."),
    "max_memory_reserved": (lambda device=None: 0, "The most bytes held of a GPU so far: 0."),
    "memory_cached": (lambda device=None: 0, "`memory_reserved` by its older name."),
    "max_memory_cached": (lambda device=None: 0, "`max_memory_reserved` by its older name."),
    "memory_stats": (lambda device=None: {}, "Counts of a GPU's memory: none, as in PyTorch."),
    "memory_stats_as_nested_dict": (lambda device=None: {}, "The same, in groups: none."),
    # No effect, as in PyTorch without a GPU; but PyTorch's `synchronize` raises.
    "manual_seed_all": (lambda seed: None, "Seed the generators of all GPUs: there are none."),
    "seed": (lambda: None, "Seed the current GPU's generator by chance: there is none."),
    "seed_all": (lambda: None, "Seed the generators of all GPUs by chance: there are none."),
    "set_rng_state": (
        lambda new_state, device="cuda": None,
        "Set the state of a GPU's generator: there is none.",
    ),
    # AssertionError, some but for arguments that name no GPU.
    "set_rng_state_all": (
        lambda new_states: init() if len(new_states) else None,
        "Set the states of the generators of all GPUs; AssertionError for any state.",
    ),
    "set_stream": (
        lambda stream: None if stream is None else init(),
        "Choose the queue of a GPU; AssertionError for any but None.",
    ),
    "current_device": (lambda: init(), "The number of the current GPU: AssertionError."),
    "current_stream": (lambda device=None: init(), "The queue of a GPU: AssertionError."),
    "default_stream": (lambda device=None: init(), "The first queue of a GPU: AssertionError."),
    "mem_get_info": (lambda device=None: init(), "A GPU's free and total bytes: AssertionError."),
    "ipc_collect": (lambda: init(), "Free what other processes had of a GPU: AssertionError."),
    "initial_seed": (lambda: init(), "The seed of a GPU's generator: AssertionError."),
    "get_rng_state": (lambda device="cuda": init(), "The state of a generator: AssertionError."),
    "get_device_name": (lambda device=None: init(), "The name of a GPU: AssertionError."),
    "get_device_capability": (lambda device=None: init(), "A GPU's version: AssertionError."),
    "get_device_properties": (lambda device=None: init(), "What a GPU is: AssertionError."),
    # As libraries call them.
    "_lazy_call": (lambda callable, **kwargs: None, "Call a function once a GPU is used: never."),
    "_is_in_bad_fork": (lambda: False, "Whether a parent process used a GPU: never."),
}
define(globals(), FUNCTIONS)
__all__ = [name for name in FUNCTIONS if not name.startswith("_")]
__all__ += list(TENSORS)
__all__ += [
    "CUDAGraph", "Event", "MemPool", "OutOfMemoryError", "Stream", "StreamContext", "amp", "comm",
    "default_generators", "device", "device_of", "graph", "init", "nvtx",
    "set_device", "stream",
]  # fmt: skip

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...  # the functions of the table


_lazy_init = init  # as libraries call it


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
