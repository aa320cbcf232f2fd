"""Python's and NumPy's own data in files: the functions by which a pickle makes it.

None of them does anything but make data of what it is given; each checks that, and is charged for
what it copies: NOTE [What a file may do] in `unpickler`.
"""

from __future__ import annotations

import collections
import math
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from .unpickler import check_key, failed, told

if TYPE_CHECKING:
    from .archive import Allowance

__all__ = ["Data"]

NUMBERS = re.compile(r"[<>|=]?(b1|\?|[iu][1248]|f[248]|c(8|16))")
PYTHON_2 = {"__builtin__": "builtins", "copy_reg": "copyreg"}
BYTES = 64  # what an entry of a container takes, about


class Data:
    """The functions by their names in pickles, for one file."""

    def __init__(self, allowance: Allowance) -> None:
        self.allowance = allowance

    def functions(self) -> dict[str, Callable[..., Any]]:
        """The functions that a file may call, by name."""
        numpys = {
            name: function
            for home in ("numpy._core.", "numpy.core.")
            for name, function in (
                (f"{home}multiarray._reconstruct", self.no_numbers),
                (f"{home}multiarray.scalar", self.scalar),
                (f"{home}numeric._frombuffer", self.numbers),
            )
        }
        return numpys | {
            "numpy.dtype": self.dtype,
            "_codecs.encode": self.encode,
            "builtins.bytes": self.no_bytes,
            "builtins.bytearray": self.bytearray,
            "builtins.set": self.set,
            "builtins.frozenset": self.frozenset,
            "builtins.complex": self.complex,
            "builtins.range": self.range,
            "builtins.xrange": self.range,  # the name in protocol 2
            "builtins.slice": self.slice,
            "collections.OrderedDict": self.ordered,
            "collections.Counter": self.counter,
        }

    def encode(self, text: str, encoding: str) -> bytes:
        """Bytes, as protocol 2 has them."""
        self.allowance.take(len(text))
        if encoding not in ("latin1", "latin-1"):
            raise failed(f"it encodes text as {told(encoding)}")
        return text.encode("latin-1")

    def no_bytes(self) -> bytes:
        """Empty bytes, as protocol 2 has them."""
        return b""

    def bytearray(self, content: bytes | str = b"", encoding: str = "latin-1") -> bytearray:
        """A bytearray of bytes, or of text as `encode` takes it."""
        if isinstance(content, str):
            content = self.encode(content, encoding)
        if not isinstance(content, bytes):
            raise TypeError(f"a bytearray of {type(content).__name__}")
        self.allowance.take(len(content))
        return bytearray(content)

    def entries(self, values: Any) -> Any:
        """The values, a list or tuple, that are to be keys."""
        if values.__class__ not in (list, tuple):
            raise TypeError(f"a list was expected, not {type(values).__name__}")
        self.allowance.take(BYTES * len(values))
        for value in values:
            check_key(value)
        return values

    def set(self, values: Any = ()) -> set[Any]:
        """A set of a list."""
        return set(self.entries(values))

    def frozenset(self, values: Any = ()) -> frozenset[Any]:
        """A frozenset of a list."""
        return frozenset(self.entries(values))

    def complex(self, real: float, imag: float) -> complex:
        """A complex number of two floats."""
        return complex(real, imag)

    def range(self, *bounds: int) -> range:
        """A range, which takes no memory."""
        return range(*bounds)

    def slice(self, *bounds: Any) -> slice:
        """A slice."""
        return slice(*bounds)

    def ordered(self, pairs: Any = ()) -> collections.OrderedDict[Any, Any]:
        """An OrderedDict of a list of pairs."""
        self.entries([pair[0] for pair in pairs] if pairs.__class__ is list else pairs)
        return collections.OrderedDict(pairs)

    def counter(self, counts: Any = None) -> collections.Counter[Any]:
        """The Counter that a dictionary of counts stands for."""
        made: collections.Counter[Any] = collections.Counter()
        if counts:
            self.entries(list(counts))
            dict.update(made, counts)
        return made

    # -- NumPy ---------------------------------------------------------------------------------

    def dtype(self, code: str, align: bool = False, copy: bool = False) -> Any:
        """A dtype of numbers, which its state may give another byte order."""
        if not isinstance(code, str) or not NUMBERS.fullmatch(code):
            raise failed(f"it has a NumPy array of dtype {told(code)}, which is none of numbers")
        return np.dtype(code, copy=True)

    def no_numbers(self, kind: Any, shape: Any, code: Any) -> Any:
        """An array that is to get its numbers by its state."""
        if kind is not np.ndarray:
            raise failed("it has an array of a class that is not NumPy's own")
        return np.empty(0, np.uint8)

    def numbers(self, content: Any, dtype: Any, shape: Any, order: str, axes: Any = None) -> Any:
        """An array of bytes, as protocol 5 has them; of order "K", with its axes moved."""
        made = np.empty(0, np.uint8)
        self.fill_array(made, shape, dtype, order == "F", bytes(memoryview(content)))
        return made.transpose(axes) if order == "K" else made

    def scalar(self, dtype: Any, content: bytes) -> Any:
        """A number of NumPy's."""
        made = np.empty(0, np.uint8)
        self.fill_array(made, (), dtype, False, content)
        return made[()]

    def fill(self, made: Any, state: Any) -> None:
        """Give an array, a dtype or an OrderedDict its state, once it has been checked."""
        if made.__class__ is collections.OrderedDict or made.__class__ is collections.Counter:
            self.attributes(made, state)
        elif issubclass(type(made), np.dtype):
            _, order, *rest = state
            if order not in ("<", ">", "=", "|") or rest not in PLAIN:
                raise failed("it has a NumPy dtype that is none of numbers")
            made.__setstate__((3, order, None, None, None, -1, -1, 0))
        elif made.__class__ is np.ndarray:
            _, shape, dtype, columns, content = state
            self.fill_array(made, shape, dtype, columns, content)
        else:
            raise failed(f"it gives a state to {type(made).__name__}, which may get none")

    def fill_array(self, made: Any, shape: Any, dtype: Any, columns: Any, content: Any) -> None:
        """Give an array shape, dtype and numbers."""
        if isinstance(content, str):  # by Python 2
            content = self.encode(content, "latin1")
        if len(shape) > 64 or any(size.__class__ is not int or size < 0 for size in shape):
            raise ValueError(f"a NumPy array of shape {told(shape)}")
        if not isinstance(dtype, np.dtype) or not NUMBERS.fullmatch(dtype.str):
            raise failed(f"it has a NumPy array of {told(dtype)}, which is no dtype of numbers")
        needs = math.prod(shape) * dtype.itemsize
        if content.__class__ is not bytes or len(content) != needs:
            raise ValueError(f"a NumPy array of {needs} bytes has another number of them")
        self.allowance.take(needs)
        made.__setstate__((1, tuple(shape), dtype, columns is True, content))

    def attributes(self, made: Any, state: Any) -> None:
        """Give a dictionary attributes that do not stand for its own."""
        for name, value in state.items():
            if not isinstance(name, str) or hasattr(type(made), name):
                raise failed(f"it sets the attribute {told(name)} of {type(made).__name__}")
            made.__dict__[name] = value


PLAIN = ([None, None, None, -1, -1, 0], [None, None, None, -1, -1])
