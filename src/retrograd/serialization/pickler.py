"""The pickler of `save`: Python's own, with PyTorch's names for what PyTorch has.

A tensor is written as a call of the function by which PyTorch makes one again, of its storage and
its place in it; `rebuilding` reads the same. Storages are kept aside, to be written after the
pickle.
"""

from __future__ import annotations

import collections
import pickle
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np

from .. import dtypes, modes
from ..engine.overriding import NO_SUBCLASSES
from ..engine.tensor import Size, Tensor, device, new_tensor
from ..kernels.allocation import has_class, is_numpy
from ..kernels.memory import address, memory, root
from ..ops.tensor.inspection import PARTS, layout, strided
from ..ops.tensor.pickling import attributes, check_whole
from ..ops.tensor.storage import TypedStorage, UntypedStorage
from .rebuilding import STORAGES, width
from .safe import name_here

__all__ = ["Kept", "pickler_of"]

HERE = "retrograd.nn.parameter."
PARAMETERS = ("Parameter", "Buffer")
UNINITIALIZED = {f"{HERE}Uninitialized{name}": f"Uninitialized{name}" for name in PARAMETERS}
PythonPickler: Any = pickle._Pickler  # the one whose names can be other than Python's
TYPED = {dtype: name for name, dtype in STORAGES.items()}

NO_NAMES = (
    "save() cannot give PyTorch's names to what {module} writes, for its Pickler is not derived "
    "from Python's pickle._Pickler, as dill's is. Leave pickle_module out."
)


class Name(NamedTuple):
    """A function or class of PyTorch's by its name."""

    module: str
    name: str

    def __call__(self) -> None:
        """Never called: pickle asks for something that could be."""


# One of each, so that a pickle has each name once.
NAMES = {
    name: Name(f"torch.{module}".rstrip("."), name)
    for module, names in {
        "": (*STORAGES, *dtypes._MESSAGE_NAMES, "Size", "Tensor", "device"),
        "_utils": ("_rebuild_tensor_v2", "_rebuild_tensor_v3", "_rebuild_parameter",
                   "_rebuild_parameter_with_state", "_rebuild_sparse_tensor",
                   "_rebuild_meta_tensor_no_storage", "_rebuild_wrapper_subclass",
                   "_rebuild_nested_tensor"),
        "_tensor": ("_rebuild_from_type_v2",),
        "nested._internal.nested_tensor": ("_rebuild_njt",),
        "nn.parameter": ("Parameter", "UninitializedParameter", "UninitializedBuffer"),
        "serialization": ("_get_layout",),
        "storage": ("UntypedStorage",),
    }.items()
    for name in names
}  # fmt: skip


class Kept:
    """A storage: its bytes, the name of the dtype of its elements, and its key in the file."""

    __slots__ = ("bytes", "dtype", "key", "owner")

    def __init__(self, block: Any, dtype: str, key: str, owner: Any) -> None:
        self.bytes, self.dtype, self.key, self.owner = block, dtype, key, owner


class Use(NamedTuple):
    """A storage as a tensor of a dtype refers to it; None for bytes."""

    kept: Kept
    dtype: str | None


class Pickler(PythonPickler):  # type: ignore[misc]
    """Writes tensors by their storages, which it keeps in `storages`."""

    beyond: tuple[Any, ...] = ()  # what else a reference to a storage has

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.storages: dict[int, Kept] = {}

    def persistent_id(self, obj: Any) -> Any:
        """The reference to a storage."""
        kind = obj.__class__
        if kind is UntypedStorage or kind is TypedStorage:
            obj = self.use(obj)
        elif kind is not Use:
            return None
        kept, dtype = obj
        size = kept.bytes.size // width(dtype)
        kind = NAMES["UntypedStorage" if dtype is None else TYPED[dtype]]
        return ("storage", kind, kept.key, "cpu", size, *self.beyond)

    def reducer_override(self, obj: Any) -> Any:
        """How what PyTorch has is written; anything else in Python's way."""
        kind = obj.__class__
        if kind is str or kind is int or kind is float or kind is tuple:  # the usual parts
            return NotImplemented
        if isinstance(obj, Tensor):
            return self.tensor(obj)
        if kind is Size:
            return NAMES["Size"], (tuple(obj),)
        if kind is device:
            return NAMES["device"], (obj.type,) if obj.index is None else (obj.type, obj.index)
        if kind is layout:
            return NAMES["_get_layout"], (f"torch.{obj.name}",)
        if kind is dtypes.dtype or kind is Name or obj is Tensor:
            return "named"  # `save_global` sees to it
        if isinstance(obj, (type, FunctionType)) and "<locals>" in obj.__qualname__:
            raise AttributeError(
                f"Can't pickle local object {obj.__qualname__!r}: no program that loads it could "
                "find it. Define it at the top of its module"
            )
        return NotImplemented

    def save_global(self, obj: Any, name: str | None = None) -> None:
        """Write a name: PyTorch's where `reducer_override` says so."""
        if name != "named":
            super().save_global(obj, name)
            return
        if obj.__class__ is not Name:
            self.save(NAMES["Tensor" if obj is Tensor else obj.name])
            return
        if self.proto >= 4:
            self.save(obj.module)
            self.save(obj.name)
            self.write(pickle.STACK_GLOBAL)
        else:
            self.write(pickle.GLOBAL + f"{obj.module}\n{obj.name}\n".encode())
        self.memoize(obj)

    def use(self, storage: Any) -> Use:
        """The reference to a storage that is saved itself, as bytes if its dtype is not one."""
        dtype = getattr(storage, "dtype", dtypes.uint8).name
        kept, _, _ = self.keep(storage._elements, dtype)
        if isinstance(storage, UntypedStorage) or dtype not in TYPED:
            return Use(kept, None)
        return Use(kept, dtype)

    # -- tensors -------------------------------------------------------------------------------

    def tensor(self, obj: Any) -> Any:
        """The function and arguments by which `load` makes a tensor again."""
        kind: Any = type(obj)
        if kind.__reduce_ex__ is not Tensor.__reduce_ex__:
            return NotImplemented  # a class with a way of its own
        called = name_here(f"{kind.__module__}.{kind.__qualname__}")
        if called in UNINITIALIZED:
            return NAMES[UNINITIALIZED[called]], (obj.requires_grad, None, obj.dtype)
        parameter = called == f"{HERE}Parameter"
        with modes.Changed(overriding=NO_SUBCLASSES):
            check_whole(obj, "saved")
            if obj.is_nested:
                return nested(obj)
            requires_grad = obj.requires_grad
            function, args = self.plain(obj, requires_grad and not parameter)
        custom = getattr(kind, "__getstate__", None)
        same = custom is getattr(Tensor, "__getstate__", None)
        state = attributes(obj) if same else obj.__getstate__()
        if parameter:
            args = (Call(function, args), requires_grad, collections.OrderedDict())
            if state:
                return NAMES["_rebuild_parameter_with_state"], (*args, state)
            return NAMES["_rebuild_parameter"], args
        if called == f"{HERE}Buffer":
            kind, state = Tensor, {"persistent": obj.persistent, **state, "_is_buffer": True}
        if kind is Tensor and not state:
            return function, args
        return NAMES["_rebuild_from_type_v2"], (function, kind, args, state)

    def plain(self, obj: Any, requires_grad: bool) -> tuple[Any, tuple[Any, ...]]:
        """The function that makes a plain tensor, and its arguments."""
        if obj.layout is not strided:
            parts = [getattr(obj, name)() for name in PARTS[obj.layout]]
            known = (obj.is_coalesced(),) if obj.is_sparse else ()
            return NAMES["_rebuild_sparse_tensor"], (obj.layout, (*parts, obj.shape, *known))
        if obj.is_meta:
            laid_out = (obj.dtype, tuple(obj.shape), obj.stride(), requires_grad)
            return NAMES["_rebuild_meta_tensor_no_storage"], laid_out
        if has_class(obj._array):
            shape = (tuple(obj.shape), obj.stride(), 0, obj.layout, obj.device)
            return NAMES["_rebuild_wrapper_subclass"], (
                type(obj), obj.dtype, *shape, requires_grad
            )  # fmt: skip
        array = obj._array if is_numpy(obj._array) else np.asarray(obj._array)
        name = dtypes.of_numpy(array.dtype).name
        kept, offset, strides = self.keep(array, name)
        place: tuple[Any, ...] = (
            offset,
            array.shape,
            strides if array.size else obj.stride(),  # NumPy's are zeros then
            requires_grad,
            collections.OrderedDict(),
        )
        if kept.dtype == name and name in TYPED:
            return NAMES["_rebuild_tensor_v2"], (Use(kept, name), *place)
        return NAMES["_rebuild_tensor_v3"], (Use(kept, None), *place, NAMES[name])

    def keep(self, array: Any, name: str) -> tuple[Kept, int, tuple[int, ...]]:
        """The storage of an array, and its place in it by elements."""
        found = memory_layout(array)
        if found is None:
            array = array.astype(array.dtype.newbyteorder("="), order="C")  # for PyTorch to see
            found = memory_layout(array)
        assert found is not None
        block, offset, strides = found
        owner = root(array)
        kept = self.storages.get(id(owner))
        if kept is None:
            kept = self.storages[id(owner)] = Kept(block, name, str(len(self.storages)), owner)
        return kept, offset, strides


class Call:
    """A call within the arguments of another."""

    def __init__(self, function: Any, args: tuple[Any, ...]) -> None:
        self.function, self.args = function, args

    def __reduce__(self) -> tuple[Any, ...]:
        return self.function, self.args


def memory_layout(array: Any) -> tuple[Any, int, tuple[int, ...]] | None:
    """(memory, offset, strides in elements) of an array; None if a storage cannot hold it so."""
    block, size = memory(array), array.itemsize
    offset = address(array) - address(block) if array.size else 0
    whole = block.size // size * size
    reach = (
        offset + size + sum((n - 1) * s for n, s in zip(array.shape, array.strides, strict=True))
    )
    steps = (offset, *array.strides)
    if not array.dtype.isnative or any(step < 0 or step % size for step in steps):
        return None
    if (array.size and reach > whole) or (array.size and whole < block.size):
        return None
    return block, offset // size, tuple(step // size for step in array.strides)


def pickler_of(module: Any) -> type[Pickler]:
    """The pickler, or one that pickles the rest as `module` does."""
    if module is None or module is pickle:
        return Pickler
    if not issubclass(module.Pickler, PythonPickler):
        raise TypeError(NO_NAMES.format(module=module.__name__))
    return type("Pickler", (Pickler, module.Pickler), {})


def nested(obj: Any) -> tuple[Any, tuple[Any, ...]]:
    """The function that makes a nested tensor, and its arguments."""
    values, sizes = obj.detach().values(), [part.shape for part in obj.detach().unbind()]
    if obj.layout is not strided:
        return NAMES["_rebuild_njt"], (
            {
                "values": values, "offsets": obj.offsets(), "lengths": obj.lengths(),
                "_ragged_idx": obj._array.pattern.ragged, "_metadata_cache": {},
                "requires_grad": obj.requires_grad,
            },
        )  # fmt: skip
    values = values.requires_grad_(obj.requires_grad)
    like = [new_tensor(np.empty(size, np.bool_)) for size in sizes]
    begins = np.cumsum([0, *[part.numel() for part in like]])[:-1]
    tables = [np.array(n, np.int64) for n in (sizes, [part.stride() for part in like], begins)]
    return NAMES["_rebuild_nested_tensor"], (values, *map(new_tensor, tables))
