"""Functions whose operator has another name or other arguments: for graphs of composite operators.

NOTE [Composite operators] A mode that sees composite operators, not their parts, sees a function by
the operator of its name (`dispatch.Dispatcher`). Where that takes other arguments than the
function, `COMPOSITES` makes them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from inspect import signature
from typing import Any

from ...ops.creation.factories import arange
from ..names.aten import REDUCTIONS
from .aten import aten
from .gradients import UPSAMPLES

__all__ = ["COMPOSITES", "spread"]

LISTED = {"amax", "amin", "logsumexp", "mean", "nansum", "sum"}  # over dims that are a list


def dropped(name: str) -> Callable[..., Any]:
    """Dropout of some kind, which is no operator where it is switched off or writes."""

    def arguments(input: Any, p: float, training: bool, inplace: bool) -> Any:
        return (f"{name}{'_' if inplace else ''}.default", input, p, training)

    return arguments


def loss(name: str) -> Callable[..., Any]:
    """A loss with a reduction, which operators have as a number."""

    def arguments(reduction: str, size_average: Any, reduce: Any, **given: Any) -> Any:
        takes = signature(getattr(aten, name).function).parameters
        weighted = "weight" not in takes and given.get("weight") is not None
        older = size_average is not None or reduce is not None
        if older or weighted or reduction not in REDUCTIONS:
            return None
        given["reduction"] = REDUCTIONS.index(reduction)
        first, second, *rest = [given[each] for each in takes]
        defaults = [each.default for each in takes.values()]
        return f"{name}.default", first, second, *shortened(rest, defaults[2:])

    return arguments


def shortened(values: list[Any], defaults: list[Any]) -> list[Any]:
    """Arguments without those at the end that are defaults."""
    while values and values[-1] == defaults[len(values) - 1]:
        values.pop()
    return values


def embedded(**given: Any) -> Any:
    """Rows of a table, unless it is written."""
    if given["max_norm"] is not None:
        return None
    skip = given["padding_idx"]
    if skip is not None and skip < 0:
        skip += len(given["weight"])
    rest = [-1 if skip is None else skip, given["scale_grad_by_freq"], given["sparse"]]
    rest = shortened(rest, [-1, False, False])
    return ("embedding.default", given["weight"], given["input"], *rest)


def bagged(**given: Any) -> Any:
    """Bags of rows of a table, unless it is written."""
    if given["max_norm"] is not None:
        return None
    x, starts, weights = given["input"], given["offsets"], given["per_sample_weights"]
    if starts is None:
        starts = arange(0, x.numel(), x.shape[1], device=x.device)
        x, weights = x.reshape(-1), weights if weights is None else weights.reshape(-1)
    rest = given["sparse"], weights, given["include_last_offset"], given["padding_idx"]
    mode = ("sum", "mean", "max").index(given["mode"])
    table = given["weight"]
    return "embedding_bag.padding_idx", table, x, starts, given["scale_grad_by_freq"], mode, *rest


def resampled(**given: Any) -> Any:
    """The input at another resolution."""
    x, mode, scale = given["input"], given["mode"], given["scale_factor"]
    ndim = x.ndim - 2
    name = f"upsample_{mode}{ndim}d"
    if name not in UPSAMPLES or given["antialias"] or given["recompute_scale_factor"]:
        return None
    size = given["size"]
    size, scale = (
        [each] * ndim if isinstance(each, (int, float)) else each and list(each)
        for each in (size, scale)
    )
    corners = [] if mode == "nearest" else [bool(given["align_corners"])]
    return (f"{name}.vec", x, size, *corners, scale and [float(n) for n in scale])


def normalized(name: str) -> Callable[..., Any]:
    """A normalization, whose operator has the same arguments in another order, and one for GPUs."""

    def arguments(**given: Any) -> Any:
        takes = signature(getattr(aten, name).function).parameters
        values = [given.get(each, False) for each in takes]
        return f"{name}.default", *[list(v) if isinstance(v, tuple) else v for v in values]

    return arguments


def exponential(name: str) -> Callable[..., Any]:
    """A softmax, without the dtype that is not said."""
    return lambda input, dim, dtype: (f"{name}.int", input, dim, *[dtype] * bool(dtype))


COMPOSITES: dict[str, Callable[..., Any]] = {
    "alpha_dropout": dropped("alpha_dropout"),
    "binary_cross_entropy": loss("binary_cross_entropy"),
    "cross_entropy": loss("cross_entropy_loss"),
    "dropout": dropped("dropout"),
    **dict.fromkeys(("dropout1d", "dropout2d", "dropout3d"), dropped("feature_dropout")),
    "einsum": lambda args: (
        ("einsum.default", args[0], list(args[1:]))
        if isinstance(args[0], str) and not isinstance(args[1], (list, tuple))
        else None
    ),
    "embedding": embedded,
    "embedding_bag": bagged,
    "feature_alpha_dropout": dropped("feature_alpha_dropout"),
    "interpolate": resampled,
    **{name: loss(name) for name in ("l1_loss", "mse_loss", "smooth_l1_loss")},
    **{name: normalized(name) for name in ("batch_norm", "group_norm", "layer_norm")},
    **{name: exponential(name) for name in ("log_softmax", "softmax")},
}


def spread(name: str, placed: list[Any]) -> list[Any]:
    """Arguments with a list in place of a number for each dimension."""
    found = re.search(r"(conv|pool)(\d)d$", name)
    if found:
        first = 3 if found[1] == "conv" else 1
        several = int(found[2])
        placed = [
            [each] * several if first <= i < first + 3 and type(each) is int else each
            for i, each in enumerate(placed)
        ]
        if found[1] == "conv":
            placed[3:] = shortened(placed[3:], [[1] * several, [0] * several, [1] * several, 1])
    if name in LISTED and len(placed) > 1 and type(placed[1]) is int:
        placed[1] = [placed[1]]
    return placed
