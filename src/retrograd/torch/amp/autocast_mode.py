"""`autocast`: products run in half precision, what needs range in float32, the rest as it comes.

NOTE [Who is cast]
1. A mode of the thread sees every public function and method (`engine.overriding`), after the
   program's own modes. The lists are those of PyTorch's CPU: `LOWER` functions get their tensors in
   the region's dtype, `SINGLE` in float32, those that `PROMOTE` in the widest that is among them.
   All other functions get what they are given. Only floating tensors are cast, never float64, and
   nothing in calls with `out=`.
2. A cast is an op: it is recorded, and gradients come in the dtype of what was cast. What a
   function does inside is not cast, except in `STEPS`: PyTorch has no kernels for them.
3. Casts of float32 leaves that require grad, so of weights, are kept until the outermost region is
   left: each weight is cast once per region, as in PyTorch; again where it was written since, or
   where its cast was made in another grad mode.
4. On NumPy bfloat16 and float16 are slower than float32: this is for the numbers, not the time.
"""

from __future__ import annotations

import functools
import threading
import warnings
import weakref
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from ... import dtypes, modes
from ...engine import overriding
from ...engine.subclasses import watch_properties
from ...engine.tensor import Tensor, device
from ..sheets import said

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "autocast", "autocast_decrement_nesting", "autocast_increment_nesting", "clear_autocast_cache",
    "custom_bwd", "custom_fwd", "get_autocast_cpu_dtype", "get_autocast_dtype",
    "get_autocast_gpu_dtype", "is_autocast_available", "is_autocast_cache_enabled",
    "is_autocast_cpu_enabled", "is_autocast_enabled", "set_autocast_cache_enabled",
    "set_autocast_cpu_dtype", "set_autocast_cpu_enabled", "set_autocast_dtype",
    "set_autocast_enabled",
]  # fmt: skip

F = TypeVar("F", bound="Callable[..., Any]")

LOWER, SINGLE, PROMOTE = map(said, ("lower", "float32", "widest"))
STEPS = ("gru", "gru_cell", "lstm_cell")  # of which the products are cast, and not the state
HALVES = ("bfloat16", "float16")
CAST = ("float32", *HALVES)  # what is cast

NO_GPU = "CUDA is not available or torch_xla is imported. Disabling autocast."
NO_DTYPE = (
    "In CPU autocast, but the target dtype is not supported. Disabling autocast.\n"
    "CPU Autocast only supports dtypes of torch.bfloat16, torch.float16 currently."
)


class State(threading.local):
    """The dtype to which the calling thread casts, and the casts that it keeps."""

    enabled: bool = False
    dtype: Any = None  # bfloat16, which is loaded when it is first asked for
    caching: bool = True
    nesting: int = 0

    def __init__(self) -> None:
        self.casts: dict[int, tuple[Any, int, Tensor]] = {}


state = State()


class Casting:
    """The mode that casts arguments: NOTE [Who is cast]."""

    casts = True  # layers that check dtypes leave that to the functions they call

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        if not state.enabled or kwargs.get("out") is not None:
            return func(*args, **kwargs)
        name = name_of(func)
        if name in STEPS:
            with modes.Changed(function_modes=(self, *modes.state.function_modes)):
                return func.__wrapped__(*args, **kwargs)
        target = target_of(name, args, kwargs)
        if target is not None:
            args, kwargs = cast(args, target), cast(kwargs, target)
        return func(*args, **kwargs)


CASTING = Casting()


@functools.cache
def name_of(func: Any) -> str:
    """The name of a function in PyTorch's lists: "mm", "linalg_inv", "cross_entropy"."""
    name = overriding.names.get(func, "").partition(".")[2]
    for prefix in ("nn.functional.", "Tensor."):
        name = name.removeprefix(prefix)
    return "matmul" if name == "__rmatmul__" else name.replace(".", "_")


def target_of(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The dtype that the tensors of a call are cast to; None for none."""
    if is_left(name, args, kwargs):
        return None
    if name in LOWER:
        return get_autocast_cpu_dtype()
    if name in SINGLE:
        return dtypes.float32
    if name == "pad" and (kwargs.get("mode") or (*args, *"   ")[2]) in ("reflect", "replicate"):
        return dtypes.float32
    if name in PROMOTE:
        tensors = [t for t in overriding.spread((*args, *kwargs.values())) if isinstance(t, Tensor)]
        found = {t.dtype.name for t in tensors}
        return dtypes.float32 if "float32" in found and found & set(HALVES) else None
    return None


def _of_numbers(input: Tensor, other: Tensor) -> bool:
    return min(input.ndim, other.ndim) == 0 or input.ndim == other.ndim == 1


def _to_a_number(a: Tensor, b: Tensor, dims: Any = 2) -> bool:
    count = len(dims[0]) if isinstance(dims, (tuple, list)) else dims
    return bool(count == a.ndim == b.ndim)


# Calls of functions in the lists which PyTorch carries out by functions that are in none.
LEFT: dict[str, Callable[..., bool]] = {
    "inner": _of_numbers,
    "linalg_matrix_power": lambda A, n: n < 2,
    "matrix_power": lambda input, n: n < 2,
    "max_pool3d": lambda *args, return_indices=False, **options: return_indices,
    "pad": lambda input, pad, mode="constant", value=None: mode == "reflect" and len(pad) == 6,
    "tensordot": _to_a_number,
}


def is_left(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether a call is one of those that nothing is cast for."""
    try:
        return name in LEFT and LEFT[name](*args, **kwargs)
    except (TypeError, AttributeError):  # the function itself says what is wrong
        return False


def cast(value: Any, target: Any) -> Any:
    """Tensors, also those in lists, tuples and dicts, as NOTE [Who is cast] says."""
    if isinstance(value, Tensor):
        return cast_tensor(value, target)
    if isinstance(value, dict):
        return {key: cast(each, target) for key, each in value.items()}
    if type(value) in (list, tuple):
        return type(value)([cast(each, target) for each in value])
    return value


def cast_tensor(x: Tensor, target: Any) -> Tensor:
    """A tensor in another dtype, which is kept for weights: rule 3."""
    if x.dtype is target or x.dtype.name not in CAST:
        return x
    kept = state.caching and target.name in HALVES and x.dtype is dtypes.float32
    if not (kept and x.requires_grad and x.is_leaf and x._base is None):
        return x.to(target)
    found = state.casts.get(id(x))
    if found is not None:
        source, version, made = found
        if (
            source() is x
            and version == x._version
            and made.dtype is target
            and made.requires_grad == modes.state.records
        ):
            return made
    made = x.to(target)
    state.casts[id(x)] = (weakref.ref(x), x._version, made)
    return made


def arrange(enabled: bool) -> None:
    """Turn casting on or off for the thread."""
    state.enabled = enabled
    stack = modes.state.function_modes
    if enabled and CASTING not in stack:
        watch_properties()
        overriding.count_mode(1)
        modes.change(function_modes=(CASTING, *stack))
    elif not enabled and CASTING in stack:
        modes.change(function_modes=tuple([mode for mode in stack if mode is not CASTING]))
        overriding.count_mode(-1)


def autocast_settings() -> tuple[Any, bool]:
    """What a region takes from the thread: the dtype, and whether casts of weights are kept."""
    return get_autocast_cpu_dtype(), state.caching


class autocast:  # noqa: N801 (PyTorch's name)
    """A context or decorator in which ops run in mixed precision: NOTE [Who is cast].

    `dtype` is bfloat16 unless it is float16; another one warns and turns the region off, as does
    "cuda", for there is no GPU. Regions nest; in one that is not `enabled` nothing is cast.
    `cache_enabled` says whether casts of weights are kept. Raises ValueError for a `device_type`
    that is no string, RuntimeError for one that casts nowhere. Source: PyTorch's `amp.autocast`.

    >>> w = rg.ones(2, 2, requires_grad=True)
    >>> with rg.amp.autocast("cpu"):
    ...     y = w @ w
    ...     y.dtype, y.exp().dtype, rg.nn.functional.mse_loss(y, y).dtype
    (retrograd.bfloat16, retrograd.bfloat16, retrograd.float32)
    >>> y.sum().backward(); w.grad.dtype
    retrograd.float32
    """

    # a compiled step may enter it, if what this reads is as it was: `capture.watch`
    _in_compiled_steps: ClassVar = {"__enter__": autocast_settings}

    def __init__(
        self,
        device_type: str,
        dtype: Any = None,
        enabled: bool = True,
        cache_enabled: bool | None = None,
    ) -> None:
        if not isinstance(device_type, str):
            found = type(device_type)
            raise ValueError(f"Expected `device_type` of type `str`, got: `{found}`")
        if not is_autocast_available(device_type) and device_type != "cuda":
            raise RuntimeError(
                f"User specified an unsupported autocast device_type '{device_type}'"
            )
        self.device = device_type
        if not (dtype is None or isinstance(dtype, dtypes.dtype)):
            dtype = dtypes.of_numpy(dtypes.to_numpy(dtype))
        self.fast_dtype = get_autocast_dtype(device_type) if dtype is None else dtype
        if enabled and device_type == "cuda":
            warnings.warn(NO_GPU, stacklevel=2)
            enabled = False
        elif enabled and self.fast_dtype.name not in HALVES:
            warnings.warn(NO_DTYPE, stacklevel=2)
            enabled = False
        self._enabled = enabled
        self._cache_enabled = state.caching if cache_enabled is None else cache_enabled
        self._before: list[tuple[bool, Any, bool]] = []

    def __enter__(self) -> autocast:
        self._before.append((state.enabled, state.dtype, state.caching))
        state.nesting += 1
        if self.device == "cpu":
            state.dtype = self.fast_dtype
            arrange(self._enabled)
        state.caching = self._cache_enabled
        return self

    def __exit__(self, *exc: object) -> None:
        if autocast_decrement_nesting() == 0:
            clear_autocast_cache()
        enabled, state.dtype, state.caching = self._before.pop()
        arrange(enabled)

    def __call__(self, func: F) -> F:
        """The function, within the region whenever it is called."""

        @functools.wraps(func)
        def call(*args: Any, **kwargs: Any) -> Any:
            with self:
                return func(*args, **kwargs)

        return call  # type: ignore[return-value]


def as_now(function: F) -> F:
    """A function that runs as it would now, also after the region has been left."""
    if not state.enabled:
        return function
    return autocast("cpu", state.dtype, cache_enabled=state.caching)(function)


# -- the state, by PyTorch's names --------------------------------------------------------------


def is_autocast_available(device_type: str) -> bool:
    """Whether `autocast` can be turned on: for the cpu.

    >>> rg.amp.is_autocast_available("cpu")
    True
    """
    return device(device_type).type == "cpu"


def is_autocast_enabled(device_type: str = "cuda") -> bool:
    """Whether ops are cast now. PyTorch's default device is the GPU, where they never are.

    >>> rg.is_autocast_enabled("cpu")
    False
    """
    return state.enabled and device(device_type).type == "cpu"


def set_autocast_enabled(*given: Any) -> None:
    """`set_autocast_enabled("cpu", True)` turns casting on for the thread; False turns it off.

    >>> rg.set_autocast_enabled("cpu", False)
    """
    kind, enabled = given if len(given) == 2 else ("cuda", *given)
    if device(kind).type == "cpu":
        arrange(bool(enabled))


def get_autocast_dtype(device_type: str) -> Any:
    """The dtype that products are cast to: on the cpu bfloat16 unless a region says else.

    >>> rg.get_autocast_dtype("cpu")
    retrograd.bfloat16
    """
    return get_autocast_cpu_dtype() if device(device_type).type == "cpu" else dtypes.float16


def set_autocast_dtype(device_type: str, dtype: Any) -> None:
    """Say which dtype products are cast to.

    >>> rg.set_autocast_dtype("cpu", rg.bfloat16)
    """
    if device(device_type).type == "cpu":
        state.dtype = dtype


def is_autocast_cpu_enabled() -> bool:
    """`is_autocast_enabled("cpu")`."""
    return state.enabled


def set_autocast_cpu_enabled(enabled: bool) -> None:
    """`set_autocast_enabled("cpu", enabled)`."""
    arrange(bool(enabled))


def get_autocast_cpu_dtype() -> Any:
    """`get_autocast_dtype("cpu")`."""
    if state.dtype is None:
        state.dtype = dtypes.by_name("bfloat16")
    return state.dtype


def get_autocast_gpu_dtype() -> Any:
    """`get_autocast_dtype("cuda")`, with a DeprecationWarning."""
    text = "get_autocast_gpu_dtype() is deprecated. Write get_autocast_dtype('cuda')"
    warnings.warn(text, DeprecationWarning, stacklevel=2)
    return get_autocast_dtype("cuda")


def set_autocast_cpu_dtype(dtype: Any) -> None:
    """`set_autocast_dtype("cpu", dtype)`."""
    state.dtype = dtype


def is_autocast_cache_enabled() -> bool:
    """Whether casts of weights are kept."""
    return state.caching


def set_autocast_cache_enabled(enabled: bool) -> None:
    """Say whether casts of weights are kept."""
    state.caching = bool(enabled)


def clear_autocast_cache() -> None:
    """Drop the casts that are kept."""
    state.casts.clear()


def autocast_increment_nesting() -> int:
    """Enter a region by hand; how many there are now."""
    state.nesting += 1
    return state.nesting


def autocast_decrement_nesting() -> int:
    """Leave a region by hand; how many are left."""
    state.nesting -= 1
    return state.nesting


# -- custom functions ---------------------------------------------------------------------------


def custom_fwd(fwd: Any = None, *, device_type: str, cast_inputs: Any = None) -> Any:
    """Decorate the `forward` of a custom Function, which then knows how it is to be run.

    With `cast_inputs`, its floating tensors are cast to that dtype, within a region, and it runs
    with casting turned off; so does any other function. Source: PyTorch's `amp.custom_fwd`.
    """
    kind = device(device_type).type
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @functools.wraps(fwd)
    def call(ctx: Any, *args: Any, **kwargs: Any) -> Any:
        ctx._dtype = get_autocast_dtype(kind)
        ctx._fwd_used_autocast = cast_inputs is None and is_autocast_enabled(kind)
        if cast_inputs is None or not is_autocast_enabled(kind):
            return fwd(ctx, *args, **kwargs)
        with autocast(kind, enabled=False):
            return fwd(*cast((ctx, *args), cast_inputs), **cast(kwargs, cast_inputs))

    return call


def custom_bwd(bwd: Any = None, *, device_type: str) -> Any:
    """Decorate the `backward` of a custom Function, which runs as its `forward` did.

    Source: PyTorch's `amp.custom_bwd`.
    """
    kind = device(device_type).type
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)

    @functools.wraps(bwd)
    def call(ctx: Any, *args: Any, **kwargs: Any) -> Any:
        with autocast(kind, enabled=ctx._fwd_used_autocast, dtype=ctx._dtype):
            return bwd(ctx, *args, **kwargs)

    return call
