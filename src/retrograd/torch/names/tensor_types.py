"""The old names of tensors by dtype: `FloatTensor`, `LongTensor` and the rest.

Each makes tensors of its dtype and answers `isinstance`. They are no classes: the class of every
tensor is `Tensor`.
"""

from __future__ import annotations

from typing import Any, Union

from ... import dtypes, version
from ...engine.overriding import IGNORED, named_in
from ...engine.tensor import Tensor, new_tensor
from ...ops.creation.new import constructed


class TensorType:
    """A class of tensors of one dtype: call it with sizes (values are not set) or with data.

    Raises TypeError for a tensor of another dtype. Source: PyTorch's `FloatTensor` and its like.

    >>> rg.LongTensor([1, 2]), rg.FloatTensor(2, 3).shape
    (tensor([1, 2]), retrograd.Size([2, 3]))
    >>> isinstance(rg.ones(1), rg.FloatTensor), isinstance(rg.ones(1), rg.LongTensor)
    (True, False)
    """

    def __init__(self, dtype: dtypes.dtype) -> None:
        self.dtype = dtype
        self.__name__ = f"{dtypes.legacy_name(dtype)}Tensor"

    def __call__(self, *data: Any, device: Any = None) -> Tensor:
        first: Any = data[0] if len(data) == 1 else None
        if isinstance(first, Tensor):
            if first.dtype is not self.dtype:
                raise TypeError(
                    f"{self.__name__}() expected a tensor of {self.dtype}, got {first.dtype}. "
                    f"Convert it: x.to({self.dtype})"
                )
            return first.detach()
        return new_tensor(constructed(data, self.dtype.numpy, self.__name__, device))

    def __mro_entries__(self, bases: tuple[Any, ...]) -> Any:
        raise TypeError(
            f"type '{version.called}.{self.__name__}' is not an acceptable base type: it is no "
            f"class. Derive from {version.called}.Tensor"
        )

    def __instancecheck__(self, instance: object) -> bool:
        return isinstance(instance, Tensor) and instance.dtype is self.dtype

    def __or__(self, other: Any) -> Any:
        """`LongTensor | None`, as annotations write it."""
        return Union[self, other]  # noqa: UP007 (an object, which `|` does not take)

    def __ror__(self, other: Any) -> Any:
        return Union[other, self]  # noqa: UP007

    def __repr__(self) -> str:
        return f"<class '{version.called}.{self.__name__}'>"

    def __reduce__(self) -> str:
        return self.__name__


DTYPES = ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64")
TYPES = {made.__name__: made for made in map(TensorType, map(dtypes.by_name, DTYPES))}
globals().update(TYPES)
__all__ = ["set_default_tensor_type", "typename"]
__all__ += list(TYPES)


def set_default_tensor_type(t: Any) -> None:
    """Make the dtype of a tensor type, or of its name, the default: `set_default_dtype`.

    Raises TypeError for types that are not floating.

    >>> rg.set_default_tensor_type(rg.DoubleTensor)
    >>> rg.ones(1).dtype
    retrograd.float64
    >>> rg.set_default_tensor_type("retrograd.FloatTensor")
    """
    if isinstance(t, str):
        t = TYPES.get(t.rpartition(".")[2])
    if not isinstance(t, TensorType):
        raise TypeError(f"invalid type object: {t!r}. Give retrograd.DoubleTensor or its like")
    if not t.dtype.is_floating_point:
        raise TypeError("only floating-point types are supported as the default type")
    dtypes.set_default_dtype(t.dtype)


@named_in(IGNORED)
def typename(obj: Any) -> str:
    """The name of a tensor's type, or of any other object's class or function, with its module.

    >>> rg.typename(rg.ones(1)), rg.typename(rg.nn.Linear), rg.typename(3)
    ('retrograd.FloatTensor', 'retrograd.nn.modules.linear.Linear', 'int')
    """
    if isinstance(obj, Tensor):
        return obj.type()
    named = obj if hasattr(obj, "__qualname__") else type(obj)
    module = getattr(named, "__module__", None) or ""
    return named.__qualname__ if module in ("", "builtins") else f"{module}.{named.__qualname__}"
