"""What programs that show tensors use of PyTorch's private module `torch._tensor_str`."""

from __future__ import annotations

from typing import Any

from ..engine.tensor import Tensor
from ..ops.tensor import printing
from ..ops.tensor.printing import get_printoptions, printoptions, set_printoptions

__all__ = ["get_printoptions", "printoptions", "set_printoptions"]


class Options:
    """The present print options as attributes."""

    def __getattr__(self, name: str) -> Any:
        try:
            return printing.options[name]
        except KeyError:
            raise AttributeError(f"there is no print option {name!r}") from None


PRINT_OPTS = Options()
_add_suffixes = printing.noted


def _tensor_str(self: Tensor, indent: int) -> str:
    """The elements of a tensor between brackets, `indent` columns into the line.

    >>> rg._tensor_str._tensor_str(rg.ones(2), 0), rg._tensor_str.PRINT_OPTS.precision
    ('[1., 1.]', 4)
    """
    return printing.elements(self._array, indent)


def _str_intern(inp: Tensor, *, tensor_contents: str | None = None) -> str:
    """The representation of a tensor, with a text in place of its elements if one is given.

    >>> rg._tensor_str._str_intern(rg.ones(2), tensor_contents="[...]")
    'tensor([...])'
    """
    return printing.to_text(inp, shown=tensor_contents)


class _Formatter:
    """The notation and the width in which the elements of a tensor would be shown.

    >>> shown = rg._tensor_str._Formatter(rg.tensor([1.0, 2.5]))
    >>> shown.width(), shown.format(1.0)
    (6, '1.0000')
    """

    def __init__(self, tensor: Tensor) -> None:
        self._numbers = printing.kind_of(tensor._array)(tensor._array)

    def width(self) -> int:
        """The number of columns."""
        return self._numbers.width

    def format(self, value: Any) -> str:
        """A number, or a tensor of one element, in this notation."""
        return self._numbers.show(value.item() if isinstance(value, Tensor) else value)
