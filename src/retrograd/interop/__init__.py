"""Other array libraries: NumPy's functions on tensors, and the array API standard.

Tensors get the methods that other libraries look for. Here stand only their names: what they do is
loaded at the first call, so that the core imports quickly, and then takes the place of the name.
"""

from typing import Any

from ..engine.tensor import Tensor, method
from ..locks import load

__all__: list[str] = []


def later(name: str, module: str, function: str) -> None:
    """Attach the method `name`, which is `function` of a module of this package, once loaded."""

    def call(self: Tensor, *args: Any, **options: Any) -> Any:
        found = getattr(load(f"{__name__}.{module}"), function)
        method(found, name)
        return found(self, *args, **options)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"See `retrograd.interop.{module}.{function}`."
    method(call, name)


later("__array_ufunc__", "numpy", "array_ufunc")
later("__array_function__", "numpy", "array_function")
later("__array_namespace__", "standard", "array_namespace")


def to_device(self: Tensor, device: Any, /, *, stream: Any = None) -> Tensor:
    """The tensor itself, since its memory is on the only device: the array API standard's method.

    Raises AssertionError for another device, ValueError for a stream, which the cpu lacks.

    >>> x = rg.ones(2)
    >>> x.to_device(x.device) is x
    True
    """
    if stream is not None:
        raise ValueError("to_device(): there are no streams on the cpu. Leave stream away.")
    return self.to(device)


method(to_device, "to_device")
