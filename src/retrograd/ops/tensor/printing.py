"""How a tensor is shown: `repr`, `str` and `format`, character for character as PyTorch does.

One column width serves all elements of a tensor: `Numbers` finds it, and chooses between integers,
fixed and scientific notation. Only arrays are looked at here; no graph is touched.
"""

from __future__ import annotations

import contextlib
import html
import math
import textwrap
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from ... import dtypes, modes
from ...engine.backward.search import reachable
from ...engine.overriding import IGNORED, named_in
from ...engine.tensor import Tensor, alias, method
from ...kernels.allocation import has_class, has_values, is_batched
from .inspection import PARTS, sparse_coo, strided

__all__ = ["get_printoptions", "printoptions", "set_printoptions"]

PROFILES: dict[str, dict[str, Any]] = {
    "default": {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80},
    "short": {"precision": 2, "threshold": 1000, "edgeitems": 2, "linewidth": 80},
    "full": {"precision": 4, "threshold": math.inf, "edgeitems": 3, "linewidth": 80},
}

options: dict[str, Any] = {**PROFILES["default"], "sci_mode": None}


@named_in(IGNORED)
def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Choose how tensors are printed; what is not given stays, except `sci_mode`.

    precision: digits after the point; threshold: the number of elements above which a tensor is
    summarised to its first and last `edgeitems` along each dimension; linewidth: characters per
    line; profile: "default", "short" or "full"; sci_mode: force scientific notation on or off, None
    lets the values decide. Raises ValueError for another profile.

    >>> rg.set_printoptions(precision=2); print(rg.tensor([1.23456]))
    tensor([1.23])
    >>> rg.set_printoptions(profile="default")
    """
    if profile is not None:
        if profile not in PROFILES:
            raise ValueError(f"profile must be one of {', '.join(PROFILES)}, not {profile!r}")
        options.update(PROFILES[profile])
    given = {
        "precision": precision,
        "threshold": threshold,
        "edgeitems": edgeitems,
        "linewidth": linewidth,
    }
    options.update({name: value for name, value in given.items() if value is not None})
    options["sci_mode"] = sci_mode


def get_printoptions() -> dict[str, Any]:
    """The present print options, as keyword arguments for `set_printoptions`.

    >>> rg.get_printoptions()["precision"]
    4
    """
    return dict(options)


@contextlib.contextmanager
def printoptions(**chosen: Any) -> Iterator[None]:
    """Print options for the length of a `with` block; arguments as for `set_printoptions`.

    >>> with rg.printoptions(precision=1):
    ...     print(rg.tensor([0.25]))
    tensor([0.2])
    """
    before = get_printoptions()
    try:
        set_printoptions(**chosen)
        yield
    finally:
        set_printoptions(**before)


class Numbers:
    """The notation and the common width of the real numbers in one array."""

    def __init__(self, array: Any) -> None:
        self.width, self.whole = 1, array.dtype.kind in "fV"
        if not self.whole:
            self.form = "{}"
            self.width = max([1, *(len(str(value)) for value in array.ravel().tolist())])
            return
        self.form, tail = "{:.0f}", 1
        values = array[np.isfinite(array) & (array != 0)].astype(np.float64)
        if values.size == 0:
            return
        sizes = np.abs(values)
        small, large = float(sizes.min()), float(sizes.max())
        scientific = options["sci_mode"]
        if scientific is None:
            scientific = large / small > 1000 or large > 1e8 or small < 1e-4
        if scientific or (values != np.ceil(values)).any():
            self.form, tail = f"{{:.{options['precision']}{'e' if scientific else 'f'}}}", 0
            self.whole = False
        self.width = max(len(self.form.format(value)) + tail for value in values.tolist())

    def show(self, value: Any) -> str:
        """`value` in this notation, right-aligned."""
        text = self.form.format(value)
        if self.whole and math.isfinite(value):
            text += "."
        return text.rjust(self.width)


class ComplexNumbers:
    """The notation of complex numbers: that of the real parts, and that of the imaginary ones."""

    def __init__(self, array: Any) -> None:
        self.real, self.imag = Numbers(array.real), Numbers(array.imag)
        self.width = self.real.width + self.imag.width + 1

    def show(self, value: Any) -> str:
        """`value` as its real part, a sign, and its imaginary part with a "j"."""
        imag = self.imag.show(value.imag).lstrip()
        return self.real.show(value.real) + ("" if imag[0] in "+-" else "+") + imag + "j"


def edges(array: Any) -> Any:
    """The elements that a summary shows: the first and last few along each dimension."""
    keep = options["edgeitems"]
    for axis, size in enumerate(array.shape):
        if size > 2 * keep:
            array = np.take(array, [*range(keep), *range(size - keep, size)], axis)
    return array


def layout(array: Any, indent: int, summarize: bool, numbers: Any) -> str:
    """The elements of `array` between brackets, `indent` columns into the line."""
    if array.ndim == 0:
        return str(numbers.show(array.item()))
    keep = options["edgeitems"]
    cut = summarize and array.shape[0] > 2 * keep
    parts = [array[:keep], array[array.shape[0] - keep :]] if cut else [array]
    if array.ndim == 1:
        per_line = max(1, (options["linewidth"] - indent) // (numbers.width + 2))
        groups = [[numbers.show(value) for value in part.tolist()] for part in parts]
        shown: list[str] = [*groups[0], " ...", *groups[1]] if cut else groups[0]
        lines = [", ".join(shown[at : at + per_line]) for at in range(0, len(shown), per_line)]
        return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"
    groups = [[layout(row, indent + 1, summarize, numbers) for row in part] for part in parts]
    shown = [*groups[0], "...", *groups[1]] if cut else groups[0]
    gap = "," + "\n" * int(array.ndim - 1) + " " * (indent + 1)
    return "[" + gap.join(shown) + "]"


def elements(array: Any, indent: int) -> str:
    """All that stands between the name and what follows the elements."""
    if array.size == 0:
        return "[]"
    summarize = array.size > options["threshold"]
    if summarize and options["edgeitems"] == 0:
        return "[...]"
    looked_at = edges(array) if summarize else array
    return layout(array, indent, summarize, kind_of(array)(looked_at))


def kind_of(array: Any) -> type[Numbers] | type[ComplexNumbers]:
    """The formatter that shows the elements of an array."""
    return ComplexNumbers if array.dtype.kind == "c" else Numbers


def sparse_parts(tensor: Tensor, indent: int) -> str:
    """The text of the tensors that a sparse one consists of, each on lines of its own."""
    held = {name: getattr(tensor, name)() for name in PARTS[tensor.layout]}
    lines = []
    for name, part in held.items():
        start = f"{name.lstrip('_')}=tensor("
        size = f", size={tuple(part.shape)}" * (part.is_meta or not part.numel())
        shown = "..." if part.is_meta else elements(part._array, indent + len(start))
        lines.append(f"{start}{shown}{size})")
    return (",\n" + " " * indent).join(lines)


def notes(tensor: Tensor) -> Iterator[str]:
    """What is said after the elements: size of an empty tensor, unusual dtype, history."""
    array, default = tensor._array, dtypes.default_numpy()
    usual = array.dtype in (default, dtypes.complex_of(default), np.int64, np.bool_)
    sparse = tensor.layout is not strided
    if tensor.is_meta:
        yield "device='meta'"
        yield f"size={tuple(array.shape)}"
        inferred = array.dtype == default
    elif sparse:
        yield f"size={tuple(array.shape)}"
        yield f"nnz={tensor._nnz()}"
        inferred = usual
    elif array.size == 0:
        if array.ndim != 1:
            yield f"size={tuple(array.shape)}"
        inferred = array.dtype == default
    else:
        if options["edgeitems"] == 0:
            yield f"size={tuple(array.shape)}"
        inferred = usual
    if not inferred:
        yield f"dtype={tensor.dtype}"
    if sparse:
        yield f"layout={tensor.layout}"
    if tensor._node is not None and tensor._node.op.stale and tensor._node.params:
        yield "grad_fn=<Invalid>"
    elif tensor.grad_fn is not None:
        yield f"grad_fn=<{type(tensor.grad_fn).__name__}>"
    elif tensor.requires_grad:
        yield "requires_grad=True"
    levels = modes.state.levels
    if levels and tensor._tangents and levels[-1] in tensor._tangents:
        yield f"tangent={tensor._tangents[levels[-1]]}"


def transforms_of(tensor: Tensor) -> list[int]:
    """The numbers of the transforms in progress that differentiate by what this was computed from.

    In tensors that a batch holds, that is told by those.
    """
    nested = modes.state.nested
    if not nested or tensor._node is None:
        return []
    found = {node.transform for node in reachable([tensor._node])}
    return [transform.number for transform in nested if transform in found]


def within(tensor: Tensor, transforms: list[int]) -> str:
    """A tensor as PyTorch shows it inside function transforms: what each has made of it."""
    batch = tensor._array
    if is_batched(tensor._array):
        said = f"bdim={batch.dim}, " * (not batch.shared)
        text = nested_text(f"BatchedTensor(lvl={batch.level.number}, {said}", batch.given())
    else:
        text = to_text(alias(tensor, None))
    for number in transforms:
        text = nested_text(f"GradTrackingTensor(lvl={number}, ", text)
    return text


def nested_text(start: str, value: Any) -> str:
    """The text of a value inside a named representation of several lines."""
    return f"{start}value=\n{textwrap.indent(str(value), '    ')}\n)"


def to_text(tensor: Tensor, shown: str | None = None) -> str:
    """The representation of a tensor, with `shown` in place of its elements where that is given."""
    name = "tensor" if type(tensor) is Tensor else type(tensor).__name__
    transforms = transforms_of(tensor)
    if transforms or is_batched(tensor._array):
        return within(tensor, transforms)
    indent, array = len(name) + 1, tensor._array
    if has_class(array) and shown is None:
        whole = array.tensor()
        if type(tensor) is not type(whole):  # which knows how it looks
            return repr(whole)
        shown = "..."
    if shown is None and tensor.layout is not strided:
        shown = sparse_parts(tensor, indent)
    elif shown is None:
        shown = "..." if tensor.is_meta else elements(tensor._array, indent)
    return noted(f"{name}({shown}", notes(tensor), indent, tensor.layout is sparse_coo)


def noted(text: str, said: Iterable[str], indent: int, break_line: bool) -> str:
    """A text with what is said after the elements; `break_line`: first on a line of its own."""
    column = len(text) - text.rfind("\n") + 1
    for note in said:
        if break_line or column + len(note) + 2 > options["linewidth"]:
            text += ",\n" + " " * indent + note
            column = indent + len(note)
            break_line = False
        else:
            text += ", " + note
            column += len(note) + 2
    return text + ")"


def _repr(self: Tensor) -> str:
    return to_text(self)


def _format(self: Tensor, spec: str) -> str:
    if self._array.ndim == 0 and type(self) is Tensor and has_values(self._array):
        return str(format(self._array.item(), spec))
    return object.__format__(self, spec)


def _repr_html_(self: Tensor) -> str:
    """What a notebook shows: the values, and below them shape, dtype, size and history."""
    history = self.grad_fn
    size = "sparse" if self.layout is not strided else f"{self._array.nbytes:,} bytes"
    facts = [
        f"shape {tuple(self.shape)}",
        self.dtype.name,
        size,
        history.name() if history is not None else "requires grad" * self.requires_grad,
    ]
    said = html.escape(" · ".join(filter(None, facts)))
    values = html.escape(repr(self))
    return f"<pre style='margin:0'>{values}</pre><div style='opacity:.6'>{said}</div>"


method(_repr, "__repr__")
method(_repr_html_, "_repr_html_")
method(_format, "__format__")
