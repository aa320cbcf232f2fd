"""Tensors in PyTorch's files: what the names in a pickle stand for, and the memory behind tensors.

NOTE [Names in files]
1. Files name PyTorch's functions and classes. They stand in a table here, for reading
   (`Rebuilding`) and for writing (`pickler`), and mean functions of this module. No module is
   imported for a name, but for `Parameter`, which is this package's.
2. A tensor is its storage, which several may share, and its place in it: offset, sizes and strides
   in elements. `strided` checks that it stays within (NOTE [No view leaves its memory]).
3. A tensor may be of any class of tensors that is loaded by then; none of its code is run, unless
   it is allowed. Its attributes go into its dictionary; those that the engine or a tensor's
   interface know are refused.
"""

from __future__ import annotations

import math
import sys
import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .. import dtypes, modes, providers
from ..engine.overriding import OFF
from ..engine.placement import everything
from ..engine.tensor import Size, Tensor, device, new_tensor, set_requires_grad
from ..kernels.allocation import has_memory
from ..kernels.memory import address, strided
from ..locks import load
from ..ops.tensor.inspection import LAYOUTS
from ..ops.tensor.storage import TypedStorage, storage_of
from . import safe
from .data import BYTES, PYTHON_2, Data
from .unpickler import Lookup, failed, told

if TYPE_CHECKING:
    from .archive import Allowance

__all__ = ["STORAGES", "Rebuilding", "numpy_dtype", "width"]

UNSUPPORTED = (
    "Unsupported global: GLOBAL {name} was not an allowed global by default. By default, files "
    "hold tensors, dtypes, NumPy arrays of numbers, OrderedDict and Python's own data. Please use "
    "`retrograd.serialization.add_safe_globals([{short}])`, or the "
    "`retrograd.serialization.safe_globals([{short}])` context manager, to allow it if you trust "
    "it; or, only if you trust whoever wrote the file: retrograd.load(f, weights_only=False)"
)
LACKING = {
    "torch._utils._rebuild_qtensor": "a quantized tensor. Save x.dequantize()",
}
# Dtypes by the names of their storages; others are saved as bytes.
STORAGES = {
    "BoolStorage": "bool",
    "ByteStorage": "uint8",
    "CharStorage": "int8",
    "ShortStorage": "int16",
    "IntStorage": "int32",
    "LongStorage": "int64",
    "HalfStorage": "float16",
    "BFloat16Storage": "bfloat16",
    "FloatStorage": "float32",
    "DoubleStorage": "float64",
    "ComplexFloatStorage": "complex64",
    "ComplexDoubleStorage": "complex128",
}
DTYPES = {*STORAGES.values(), *dtypes.NARROW, "uint16", "uint32", "uint64"}
UNTYPED = ("torch.storage.UntypedStorage", "torch.UntypedStorage")
NN = "torch.nn.parameter."
JAGGED = "torch.nested._internal.nested_tensor."
META = "retrograd.kernels.meta"  # with the first tensor without data
ALIGNMENT = 16  # of the largest element


def unsupported(name: str) -> Exception:
    """The error for a name that is not allowed."""
    return failed(UNSUPPORTED.format(name=name, short=name.rpartition(".")[2]))


class Bounds:
    """What PyTorch's compiler knows of sizes of nested tensors, which is read and dropped."""

    def __setstate__(self, state: Any) -> None:
        """Ignore the state."""


class Kind(NamedTuple):
    """A class of storages: the name of its dtype, None for one of bytes."""

    dtype: str | None


class Block:
    """The memory of a storage in a file, which tensors share; of one on the meta device, not."""

    __slots__ = ("away", "dtype", "memory", "swapped")

    def __init__(self, memory: Any, dtype: str | None, swapped: bool, away: bool) -> None:
        self.away = away
        apart = memory.size and address(memory) % ALIGNMENT
        self.memory = memory.copy() if apart else memory  # in a file that is mapped
        self.dtype, self.swapped = dtype, swapped

    def of(self, dtype: Any) -> Any:
        """The memory, in this machine's byte order."""
        if self.swapped:
            whole = self.memory.size // dtype.itemsize * dtype.itemsize
            self.memory[:whole].view(dtype).byteswap(inplace=True)
            self.swapped = False
        return self.memory


def width(dtype: str | None) -> int:
    """The bytes of an element of a storage; None is one of bytes."""
    return 1 if dtype is None else numpy_dtype(dtype).itemsize


def numpy_dtype(name: str) -> Any:
    """NumPy's dtype of a name; RuntimeError where its package is not installed."""
    if name.__class__ is not str:
        raise TypeError(f"a dtype called {told(name)}")
    try:
        return dtypes.by_name(name).numpy
    except AttributeError as error:
        raise RuntimeError(str(error)) from None


class Rebuilding(Lookup):
    """What the names of one file stand for, and its storages.

    `read` gives the memory of a storage by key and number of bytes, and `place` is called with a
    storage's memory and the device that it was on; None stands for the meta device. `order` is the
    byte order of the file.
    """

    trusting = False  # whether the file may do anything

    def __init__(
        self,
        read: Callable[[str, int], Any],
        place: Callable[[Any, str], Any],
        allowance: Allowance,
        order: str = sys.byteorder,
    ) -> None:
        self.read, self.place, self.allowance = read, place, allowance
        self.foreign = order != sys.byteorder
        self.blocks: dict[str, Block] = {}
        self.shown: dict[int, tuple[Any, Block]] = {}  # by the id of what the pickle is given
        self.data = Data(allowance)
        self.allowed = safe.allowed()
        own = [kind for kind in self.allowed.values() if isinstance(kind, type)]
        self.classes = {id(kind) for kind in (Bounds, *own)}
        self.functions = self.data.functions() | {
            "torch._utils._rebuild_tensor": self.tensor,
            "torch._utils._rebuild_tensor_v2": self.tensor,
            "torch._utils._rebuild_tensor_v3": self.tensor_of_bytes,
            "torch._utils._rebuild_parameter": self.parameter,
            "torch._utils._rebuild_parameter_with_state": self.parameter,
            "torch._utils._rebuild_nested_tensor": self.nested,
            "torch._utils._rebuild_sparse_tensor": self.sparse,
            f"{JAGGED}_rebuild_njt": self.jagged,
            "torch._dynamo.decorators._DimRange": Bounds,
            "torch._utils._rebuild_meta_tensor_no_storage": self.without_data,
            "torch._utils._rebuild_wrapper_subclass": self.wrapper,
            "torch._tensor._rebuild_from_type_v2": self.of_class,
            "torch.Size": self.size,
            "torch.device": device,
            "torch.serialization._get_layout": self.layout,
            f"{NN}UninitializedParameter": self.uninitialized_parameter,
            f"{NN}UninitializedBuffer": self.uninitialized_buffer,
        }
        self.called = {id(f) for f in (*self.functions.values(), *self.allowed.values())}

    def close(self) -> None:
        """Let go of everything, which refers to this in a circle and would stay in memory."""
        self.__dict__.clear()

    # -- names ---------------------------------------------------------------------------------

    def find(self, module: str, name: str) -> Any:
        """What a name stands for: NOTE [Names in files]."""
        full = f"{PYTHON_2.get(module, module)}.{name}"
        found = self.known(full)
        if found is None:
            found = self.allowed.get(safe.name_here(full)) or safe.tensor_class(full)
        if found is None:
            raise unsupported(full)
        return found

    def known(self, full: str) -> Any:
        """What a name stands for in files that this package or PyTorch wrote, or None."""
        found = self.functions.get(full)
        if found is not None:
            return found
        if full in LACKING:
            raise failed(f"The file holds {LACKING[full]}; there are none here.")
        if full in UNTYPED:
            return Kind(None)
        module, _, name = full.rpartition(".")
        if module in ("torch", "torch.cuda") and name in STORAGES:
            return Kind(STORAGES[name])
        if module == "torch" and (name in DTYPES or name in dtypes.MISSING):
            return dtypes.of_numpy(numpy_dtype(name))
        if full in (f"{NN}Parameter", f"{NN}Buffer"):
            return getattr(parameters(), name)
        if full in ("torch.Tensor", f"{JAGGED}NestedTensor"):
            return Tensor
        return np.ndarray if full == "numpy.ndarray" else None

    def calls(self, function: Any) -> bool:
        """Whether a file may call what `find` gave it."""
        return self.trusting or id(function) in self.called

    def makes(self, kind: Any) -> bool:
        """Whether a class has been allowed by the user."""
        return self.trusting or id(kind) in self.classes

    def fill(self, made: Any, state: Any) -> None:
        """Give an object the state that the file has for it."""
        if not self.makes(type(made)):
            self.data.fill(made, state)
        elif hasattr(made, "__setstate__"):
            made.__setstate__(state)
        else:
            own, slots = state if isinstance(state, tuple) else (state, None)
            made.__dict__.update(own or {})
            for name, value in (slots or {}).items():
                setattr(made, name, value)

    # -- storages ------------------------------------------------------------------------------

    def persistent(self, key: Any) -> Any:
        """The storage that a file refers to."""
        dtype, block = self.block(key)
        return self.show(block, dtype)

    def show(self, block: Block, dtype: str | None) -> Any:
        """A storage on a block, by elements of a dtype or by bytes."""
        made: Any = storage_of(block.memory)
        if dtype is not None:
            block.of(numpy_dtype(dtype))
            made = TypedStorage(wrap_storage=made, dtype=dtypes.by_name(dtype))
        self.shown[id(made)] = made, block
        return made

    def block(self, key: Any) -> tuple[str | None, Block]:
        """The dtype by which a file refers to a storage, and its memory."""
        if key.__class__ is not tuple or len(key) < 5 or text(key[0]) != "storage":
            raise failed(f"Unknown typename for persistent_load: {told(key)}")
        _, kind, name, location, count = (text(part) for part in key[:5])
        if (kind.__class__, name.__class__, location.__class__) != (Kind, str, str):
            raise failed(f"it refers to a storage in another way than PyTorch: {told(key)}")
        if count.__class__ is not int or count < 0:
            raise failed(f"it has a storage of {told(count)} elements")
        found = self.blocks.get(name)
        size = count * width(kind.dtype)
        if found is None:
            here = self.read(name, size)
            memory = self.place(here, location)
            away = memory is None
            found = Block(here if away else memory, kind.dtype, self.foreign, away)
            self.blocks[name] = found
        if found.memory.size != size:
            raise failed(f"the storage {name!r} has {found.memory.size} bytes, and not {size}")
        return kind.dtype, found

    # -- tensors -------------------------------------------------------------------------------

    def laid(self, storage: Any, dtype: str | None, offset: Any, size: Any, stride: Any) -> Any:
        """The array at an offset and with strides in a storage."""
        if id(storage) not in self.shown or dtype is None:
            raise TypeError("a tensor without a storage of its dtype")
        _, block = self.shown[id(storage)]
        numbers = [offset, *size, *stride]
        if any(number.__class__ is not int or number < 0 for number in numbers):
            raise ValueError(
                f"a tensor of sizes {told(size)}, strides {told(stride)} and offset {told(offset)}"
            )
        target = numpy_dtype(dtype)
        steps = [step * target.itemsize for step in stride]
        array = strided(block.of(target), size, steps, offset * target.itemsize, target)
        return load(META).empty(array.shape, target, array.strides) if block.away else array

    def tensor(
        self,
        storage: Any,
        offset: int,
        size: Any,
        stride: Any,
        requires_grad: Any = False,
        hooks: Any = None,
        metadata: Any = None,
    ) -> Tensor:
        """A tensor of its storage's dtype; hooks are never loaded."""
        dtype = getattr(storage, "dtype", None)
        name = getattr(dtype, "name", None)
        return self.leaf(self.laid(storage, name, offset, size, stride), requires_grad, metadata)

    def tensor_of_bytes(
        self,
        storage: Any,
        offset: int,
        size: Any,
        stride: Any,
        requires_grad: Any,
        hooks: Any,
        dtype: Any,
        metadata: Any = None,
    ) -> Tensor:
        """A tensor of another dtype than its storage's."""
        array = self.laid(storage, dtype.name, offset, size, stride)
        return self.leaf(array, requires_grad, metadata)

    def without_data(self, dtype: Any, size: Any, stride: Any, requires_grad: Any) -> Tensor:
        """A tensor on the meta device."""
        numbers = [*size, *stride]
        if len(size) != len(stride) or any(n.__class__ is not int or n < 0 for n in numbers):
            raise ValueError(f"a tensor of sizes {told(size)} and strides {told(stride)}")
        target = numpy_dtype(dtype.name)
        steps = tuple([step * target.itemsize for step in stride])
        return self.leaf(load(META).empty(tuple(size), target, steps), requires_grad)

    def wrapper(
        self, kind: Any, dtype: Any, size: Any, stride: Any, offset: Any, layout: Any, device: Any,
        requires_grad: Any,
    ) -> Tensor:  # fmt: skip
        """A tensor of a class that keeps its values in attributes."""
        if not (isinstance(kind, type) and issubclass(kind, Tensor)):
            raise failed(f"it makes a tensor of {told(kind)}, which is no class of tensors")
        like = self.without_data(dtype, size, stride, False)
        settings = {"strides": like.stride(), "dtype": dtype, "requires_grad": bool(requires_grad)}
        make: Any = kind._make_wrapper_subclass
        found: Tensor = make(kind, like.shape, **settings)
        return found

    def sparse(self, layout: Any, parts: Any) -> Tensor:
        """A sparse tensor of indices, values and a size, which are checked."""
        name = getattr(layout, "name", "")
        if not name.startswith("sparse_") or parts.__class__ is not tuple:
            raise failed(f"it holds a sparse tensor of layout {told(layout)}, which is not here")
        count = 2 if name == "sparse_coo" else 3
        tensors, size = parts[:count], parts[count : count + 1]
        if not size or not all(isinstance(each, Tensor) for each in tensors):
            raise failed("it holds a sparse tensor without indices, values or a size")
        self.allowance.take(sum(3 * each._array.nbytes for each in tensors))
        if name != "sparse_coo":
            make = providers.service("sparse").sparse_compressed_tensor
            return make(*tensors, self.size(size[0]), layout=layout)  # type: ignore[no-any-return]
        found: Tensor = providers.service("sparse factories").sparse_coo_tensor(
            *tensors, self.size(size[0])
        )
        return found.coalesce() if parts[3:] == (True,) else found

    def jagged(self, parts: Any) -> Tensor:
        """A nested tensor of values, offsets and lengths, which are checked."""
        make = providers.service("nested").nested_tensor_from_jagged
        given = [parts.get(name) for name in ("values", "offsets", "lengths", "_ragged_idx")]
        found: Tensor = make(*given)
        return found.requires_grad_(parts.get("requires_grad") is True)

    def nested(self, values: Any, sizes: Any, strides: Any, begins: Any) -> Tensor:
        """A nested tensor of components of any sizes, which lie in a vector."""
        starts = begins.tolist()
        numbers = sum(math.prod(size) for size in sizes.tolist())
        self.allowance.take(numbers * values._array.itemsize)
        parts = [
            values.as_strided(size, stride, start)
            for size, stride, start in zip(sizes.tolist(), strides.tolist(), starts, strict=True)
        ]
        found: Tensor = providers.service("nested").nested_tensor(parts, dtype=values.dtype)
        return found.requires_grad_(values.requires_grad)

    def leaf(self, array: Any, requires_grad: Any, metadata: Any = None) -> Tensor:
        """A leaf around an array, which PyTorch may have kept conjugated or negated."""
        for name, function in (("conj", np.conjugate), ("neg", np.negative)):
            if metadata and metadata.get(name):
                self.allowance.take(math.prod(array.shape) * array.itemsize)
                array = function(array)
        made = new_tensor(array)
        if requires_grad is True:
            set_requires_grad(made, True)
        return made

    def parameter(
        self, data: Tensor, requires_grad: bool, hooks: Any = None, state: Any = None
    ) -> Tensor:
        """A parameter, with attributes."""
        made: Tensor = parameters().Parameter(data, requires_grad is True)
        self.restore(made, state)
        return made

    def of_class(self, function: Any, kind: Any, args: Any, state: Any) -> Tensor:
        """A tensor of a class, with attributes."""
        if not self.calls(function) or not (isinstance(kind, type) and issubclass(kind, Tensor)):
            raise failed(f"it makes a tensor of {told(kind)}, which is no class of tensors")
        made: Tensor = function(*args)
        if not isinstance(made, Tensor):
            raise failed(f"it makes a tensor by {told(function)}, which makes none")
        if made.is_nested:  # its state is what it was made of
            return made
        if not has_memory(made._array) and type(made) is kind:
            self.restore(made, state)
            return made
        if kind is Tensor and state.__class__ is dict and state.pop("_is_buffer", None):
            kind = parameters().Buffer
        return self.dressed(kind, made._array, made.requires_grad, state)

    def dressed(self, kind: Any, array: Any, requires_grad: Any, state: Any) -> Tensor:
        """A leaf of a class, with attributes."""
        if kind.__setattr__ is not Tensor.__setattr__ and not self.makes(kind):
            raise unsupported(f"{kind.__module__}.{kind.__qualname__}")
        made = new_tensor(array, kind)
        with modes.Changed(overriding=OFF):  # its __torch_function__ sees nothing of this
            set_requires_grad(made, requires_grad is True)
        self.restore(made, state)
        return made

    def restore(self, made: Tensor, state: Any) -> None:
        """Give a tensor its attributes: NOTE [Names in files], 3."""
        kind: Any = type(made)
        if getattr(kind, "__setstate__", None) is not getattr(Tensor, "__setstate__", None):
            if not self.makes(kind):
                raise unsupported(f"{kind.__module__}.{kind.__qualname__}")
            kind.__setstate__(made, state)
            return
        for part in state if state.__class__ is tuple else (state,):
            for name, value in (part or {}).items():
                if name.__class__ is not str or (hasattr(Tensor, name) and not self.trusting):
                    raise failed(f"it sets the attribute {told(name)} of a tensor")
                slots = [vars(each)[name] for each in kind.__mro__ if name in vars(each)]
                if slots and isinstance(slots[0], types.MemberDescriptorType):
                    slots[0].__set__(made, value)
                else:
                    everything.__get__(made)[name] = value

    # -- the rest ------------------------------------------------------------------------------

    def size(self, sizes: Any = ()) -> Size:
        """The sizes of a tensor."""
        if not isinstance(sizes, (tuple, list)) or any(n.__class__ is not int for n in sizes):
            raise TypeError(f"a tensor of sizes {told(sizes)}")
        self.allowance.take(BYTES * len(sizes))
        return Size(sizes)

    def layout(self, name: str) -> Any:
        """A layout by its name."""
        found = next((each for each in LAYOUTS if f"torch.{each.name}" == name), None)
        if found is None:
            raise failed(f"it has the layout {told(name)}, which is not here")
        return found

    def uninitialized_parameter(self, requires_grad: bool = True, *rest: Any) -> Tensor:
        """A parameter without a shape, of the default dtype if none is given."""
        return self.uninitialized(parameters().UninitializedParameter, requires_grad, *rest)

    def uninitialized_buffer(self, requires_grad: bool = False, *rest: Any) -> Tensor:
        """A buffer without a shape."""
        return self.uninitialized(parameters().UninitializedBuffer, requires_grad, *rest)

    def uninitialized(
        self, kind: Any, requires_grad: bool, place: Any = None, dtype: Any = None
    ) -> Tensor:
        """A tensor without a shape; wherever it was, it is on the cpu."""
        if dtype is not None and dtype.__class__ is not dtypes.dtype:
            raise TypeError(f"a tensor of dtype {told(dtype)}")
        made: Tensor = kind(requires_grad is True, None, dtype)
        return made


def text(part: Any) -> Any:
    """A string that Python 2 wrote as bytes, as text."""
    return part.decode("ascii") if isinstance(part, bytes) else part


def parameters() -> Any:
    """The module that has `Parameter`, above this one."""
    return load("retrograd.nn.parameter")
