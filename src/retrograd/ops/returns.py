"""What functions with several results return: named tuples that print as PyTorch's do."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

__all__: list[str] = []


def _show(self: Any) -> str:
    lines = [f"{name}={value!r}" for name, value in zip(self._fields, self, strict=True)]
    return f"retrograd.return_types.{type(self).__name__}(\n" + ",\n".join(lines) + ")"


def result_type(name: str, *fields: str) -> Any:
    """A named tuple called `name`."""
    members = {"__slots__": (), "__repr__": _show, "__module__": __name__}
    return type(name, (namedtuple(name, fields),), members)


PAIR = ("values", "indices")

max = result_type("max", *PAIR)
min = result_type("min", *PAIR)
aminmax = result_type("aminmax", "min", "max")
median = result_type("median", *PAIR)
nanmedian = result_type("nanmedian", *PAIR)
mode = result_type("mode", *PAIR)
kthvalue = result_type("kthvalue", *PAIR)
sort = result_type("sort", *PAIR)
topk = result_type("topk", *PAIR)
cummax = result_type("cummax", *PAIR)
cummin = result_type("cummin", *PAIR)
