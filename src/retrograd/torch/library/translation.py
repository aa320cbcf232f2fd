"""Which operators of PyTorch's a function, or a record, is: what `library.dispatch` shows.

NOTE [Operators that are seen]
1. A function that has the name of an operator is a call of it (`operator_of`), but for those that
   PyTorch composes of others: there the parts are seen.
2. A record is the call of the operator of its name where the arguments agree, or what `RECORDS`
   says: one call or several, whose results are those of the record. Any other is an operator of a
   namespace of this package's: `retrograd::splice`.
3. Of an operator's overloads, `chosen` takes the one that the arguments fit. They stand as in
   PyTorch: in the order of the signature, sizes as one list, defaults at the end left out.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ... import dtypes
from ...engine.overriding import names
from ...engine.tensor import Tensor, new_tensor
from ...kernels.allocation import has_memory, is_numpy
from ..names.aten import REDUCTIONS
from ..sheets import said
from .aten import MODULES, Operator, Overload, aten, function_of, is_composed, original
from .aten import OWN as OWN_FUNCTIONS
from .overloads import chosen

if TYPE_CHECKING:
    from ...engine.op import Op

__all__ = ["arranged", "operator_of", "shown", "viewed"]

OWN = "retrograd"
PREFIXES = {module: f"{module}_" for module in MODULES}
LEAVES = {  # of methods by other names
    **{"__itruediv__": "div_", "__ifloordiv__": "floor_divide_", "__imod__": "remainder_"},
    **{"clip_": "clamp_", "huber_loss": "huber_loss", "relu_": "relu_"},
    "matrix_exp": "linalg_matrix_exp",
    **dict.fromkeys(["item", "__bool__", "__float__", "__int__"], "_local_scalar_dense"),
    **{f"__i{name}__": f"{name}_" for name in ("add", "sub", "mul", "pow")},
    **{f"__i{name}__": f"bitwise_{name}_" for name in ("and", "or", "xor")},
}
PARTS, NUMBERS, UNRECORDED, ASKED = map(said, ("part of it", "numbers", "unrecorded", "no tensors"))
WRITTEN_ANEW = OWN_FUNCTIONS.keys() - LEAVES.values()  # whose functions take other arguments

Call = Callable[..., Any]  # of an operator by name, with its arguments

# -- records ---------------------------------------------------------------------------------------


def only(dim: Any) -> int:
    """The one dimension of a tuple; that of a single number is 0."""
    return dim[0] if dim else 0


def as_it_is(name: str) -> Callable[..., Any]:
    """The record of an operator that needs no translation."""
    return lambda call, *inputs: call(name, *inputs)


def along_one(name: str) -> Callable[..., Any]:
    """The record over one dimension, in a tuple, that an operator takes as a number."""
    return lambda call, x, *, dim, keepdim: call(name, x, only(dim), keepdim)


def whole(name: str, several: str, one: str = "") -> Callable[..., Any]:
    """A reduction that has overloads for all dimensions at once, for several, and maybe for one."""

    def run(call: Call, x: Any, *, dim: Any, keepdim: bool) -> Any:
        if len(dim) == x.ndim and not keepdim:
            return call(f"{name}.default", x)
        if one and len(dim) == 1:
            return call(f"{name}.{one}", x, dim[0], keepdim)
        return call(f"{name}.{several}", x, list(dim), keepdim)

    return run


def spread_out(name: str) -> Callable[..., Any]:
    """Translate variances and standard deviations."""
    return lambda call, x, *, dim, correction, keepdim: call(
        f"{name}.correction", x, list(dim), correction=correction, keepdim=keepdim
    )


def sliced(call: Call, x: Any, *, index: Any) -> Any:
    """Basic indices, from the left: each is a slice, a number or a new axis of what was before."""
    dim, skipped = 0, x.ndim - sum(each is not None and each is not ... for each in index)
    found = x
    for each in index:
        if each is None:
            found, dim = call("unsqueeze.default", found, dim), dim + 1
        elif each is ...:
            dim += skipped
        elif isinstance(each, slice):
            if each != slice(None):
                stop = sys.maxsize if each.stop is None else each.stop
                step = [] if each.step in (None, 1) else [each.step]
                found = call("slice.Tensor", found, dim, each.start or 0, stop, *step)
            dim += 1
        else:
            found = call("select.int", found, dim, each)
    return call("alias.default", x) if found is x else found


def each_of(name: str) -> Callable[..., Any]:
    """A record over several dimensions that is a call for each, the last first."""

    def run(call: Call, x: Any, *, dims: Any) -> Any:
        if not dims:
            return call("alias.default", x)
        for dim in dims if name == "unsqueeze.default" else sorted(dims, reverse=True):
            x = call(name, x, dim)
        return x

    return run


def places(call: Call, index: Any, dims: Any) -> list[Any]:
    """The list of indices by dimension, None where there is none."""
    if len(dims) == 1:
        parts = [index]
    elif not has_memory(index._array):
        parts = call("unbind.int", index, 0)
    else:
        parts = [new_tensor(each) for each in index._array]
    return [parts[dims.index(d)] if d in dims else None for d in range(max(dims) + 1)]


def put(call: Call, x: Any, values: Any, index: Any, *, dims: Any, accumulate: bool) -> Any:
    """Values put at indices, of another dtype perhaps."""
    if values.dtype is not x.dtype:
        values = call("_to_copy.default", values, dtype=x.dtype)
    return call("index_put.default", x, places(call, index, dims), values, accumulate)


def added(call: Call, x: Any, weight: Any, bias: Any) -> Any:
    """Translate a linear layer to `addmm` and the like."""
    if x.ndim != 2 or weight.ndim != 2:
        return call("linear.default", x, weight, bias)
    turned = call("t.default", weight)
    if bias is None:
        return call("mm.default", x, turned)
    return call("addmm.default", bias, x, turned)


def transposed(call: Call, g: Any, x: Any) -> Any:
    """The gradient of a linear layer's weight."""
    if g.ndim != 2 or x.ndim != 2:
        return NotImplemented
    return call("mm.default", call("t.default", g), x)


def multiplied(call: Call, x: Any, y: Any) -> Any:
    """Translate a product of matrices."""
    if x.ndim == y.ndim == 2:
        return call("mm.default", x, y)
    if x.ndim == y.ndim == 3 and x.shape[0] == y.shape[0]:
        return call("bmm.default", x, y)
    return call("matmul.default", x, y)


def convolved(
    call: Call,
    x: Any,
    w: Any,
    b: Any,
    *,
    stride: Any,
    padding: Any,
    dilation: Any,
    groups: int,
    channels_last: bool,
) -> Any:
    """A convolution, but for one with other padding before than after.

    PyTorch's operator finds out itself whether channels are innermost.
    """
    if x.ndim != w.ndim or any(before != after for before, after in padding):
        return NotImplemented
    sizes = [list(stride), [before for before, _ in padding], list(dilation), False]
    return call("convolution.default", x, w, b, *sizes, [0] * len(stride), groups)


def filled(call: Call, x: Any, value: Any) -> Any:
    """One value everywhere: in a batch, one for each example."""
    if not isinstance(value, Tensor):
        return call("fill.Scalar", x, value)
    return NotImplemented if value.ndim else call("fill.Tensor", x, value)


def fits_windows(x: Any, kernel: Any) -> bool:
    """Whether an operator takes what a record pools, which has any number of leading dimensions."""
    return bool(x.numel()) and x.ndim - len(kernel) in (1, 2)


def averaged(call: Call, x: Any, *, kernel: Any, stride: Any, padding: Any, **how: Any) -> Any:
    """Means in windows of two or three dimensions."""
    if not fits_windows(x, kernel) or len(kernel) == 1:
        return NotImplemented
    sizes = [list(each) for each in (kernel, stride, padding)]
    return call(
        f"avg_pool{len(kernel)}d.default", x, *sizes, how["ceil"], how["count_pad"], how["divisor"]
    )


def pooled(call: Call, x: Any, *, kernel: Any, ceil: bool, **sizes: Any) -> Any:
    """Maxima in windows, and where they are."""
    if not fits_windows(x, kernel):
        return NotImplemented
    settings = [list(sizes[name]) for name in ("stride", "padding", "dilation")]
    return call(f"max_pool{len(kernel)}d_with_indices.default", x, list(kernel), *settings, ceil)


def squared(call: Call, x: Any, y: Any, *, reduction: str) -> Any:
    """The squared error of what has one shape."""
    if x.shape != y.shape:
        return NotImplemented
    return call("mse_loss.default", x, y, REDUCTIONS.index(reduction))


ALIKE = {  # records that take what an overload takes
    "clamp_tensors": "clamp.Tensor",
    "dot": "dot.default",
    "floor_div": "floor_divide.default",
    "pow_tensors": "pow.Tensor_Tensor",
}


RECORDS: dict[str, Callable[..., Any]] = {
    **{name: as_it_is(overload) for name, overload in ALIKE.items()},
    **{f"{name}_dim": along_one(f"{name}.dim") for name in ("max", "median", "min", "nanmedian")},
    **{name: spread_out(name) for name in ("std", "std_mean", "var", "var_mean")},
    "add_scaled": lambda call, x, y, *, alpha: call("add.Tensor", x, y, alpha=alpha),
    "sub_scaled": lambda call, x, y, *, alpha: call("sub.Tensor", x, y, alpha=alpha),
    "all": whole("all", "dims", "dim"),
    "any": whole("any", "dims", "dim"),
    "as_strided": lambda call, x, *, size, stride, offset: call(
        "as_strided.default", x, list(size), list(stride), x.storage_offset() + offset
    ),
    "avg_pool": averaged,
    "cast": lambda call, x, *, dtype: call("_to_copy.default", x, dtype=dtypes.of_numpy(dtype)),
    "cat": lambda call, *tensors, dim=0: call("cat.default", list(tensors), dim),
    "clamp_numbers": lambda call, x, *, min=None, max=None: call("clamp.default", x, min, max),
    "constant_pad_nd": lambda call, x, *, widths, value: call(
        "constant_pad_nd.default", x, [n for pair in reversed(widths) for n in pair], value
    ),
    "conv": convolved,
    "cross": lambda call, x, y, *, dim: call("linalg_cross.default", x, y, dim=dim),
    "expand": lambda call, x, *, shape: call("expand.default", x, list(shape)),
    "cumsum": lambda call, x, *, dim, reverse: (
        call("cumsum.default", x, dim) if not reverse else NotImplemented
    ),
    "embedding": lambda call, table, rows, *, skip, by_frequency: call(
        "embedding.default", table, rows, -1 if skip is None else skip, by_frequency
    ),
    "fill": filled,
    "index": lambda call, x, index, *, dims: call("index.Tensor", x, places(call, index, dims)),
    "index_put": put,
    "kthvalue": lambda call, x, *, k, dim, keepdim: call(
        "kthvalue.default", x, k, only(dim), keepdim
    ),
    "lerp_number": lambda call, x, end, *, weight: call("lerp.Scalar", x, end, weight),
    "linear": added,
    "linear_weight": transposed,
    "log_softmax": lambda call, x, *, dim: call("_log_softmax.default", x, only(dim), False),
    "masked_fill": lambda call, x, value, mask: (
        NotImplemented if value.ndim else call("masked_fill.Tensor", x, mask, value)
    ),
    "matmul": multiplied,
    "max_pool": pooled,
    "mean_dim": whole("mean", "dim"),
    "mode_dim": along_one("mode.default"),
    "mse_loss": squared,
    "nansum": lambda call, x, *, dim, keepdim: call("nansum.default", x, list(dim), keepdim),
    "new_axis": sliced,
    "pow_base": lambda call, x, *, base: call("pow.Scalar", base, x),
    "prod_dim": along_one("prod.dim_int"),
    "repeat": lambda call, x, *, repeats: call("repeat.default", x, list(repeats)),
    "reshape": lambda call, x, *, shape: call(
        "view.default" if viewed(x, shape) else "reshape.default", x, list(shape)
    ),
    "scatter": lambda call, x, src, index, *, dim: (
        call("scatter.src", x, dim, index, src) if src.ndim == index.ndim else NotImplemented
    ),
    "select": sliced,
    "slice": sliced,
    "softmax": lambda call, x, *, dim: call("_softmax.default", x, only(dim), False),
    "sort": lambda call, x, *, dim, descending: call("sort.default", x, dim, descending),
    "split": lambda call, x, *, sizes, dim: (
        call("split.Tensor", x, sizes[0], dim)
        if len({max(sizes), *sizes[:-1]}) == 1
        else call("split_with_sizes.default", x, list(sizes), dim)
    ),
    "squeeze": each_of("squeeze.dim"),
    "stack": lambda call, *tensors, dim=0: call("stack.default", list(tensors), dim),
    "sum_dim": whole("sum", "dim_IntList"),
    "take_along": lambda call, x, index, *, dim: call("gather.default", x, dim, index),
    "trunc_div": lambda call, x, y: call("div.Tensor_mode", x, y, rounding_mode="trunc"),
    "unfold": lambda call, x, *, dim, size, step: call("unfold.default", x, dim, size, step),
    "unsqueeze": each_of("unsqueeze.default"),
    "view_dtype": lambda call, x, *, dtype: call("view.dtype", x, dtypes.of_numpy(dtype)),
    "vector_norm": lambda call, x, *, ord, dim, keepdim: call(
        "linalg_vector_norm.default", x, ord, list(dim), keepdim
    ),
}


def viewed(x: Tensor, shape: Any) -> bool:
    """Whether a tensor of another shape can be a view."""
    array = x._array
    if array.flags.c_contiguous or not is_numpy(array):
        return bool(array.flags.c_contiguous)
    try:
        return array.reshape(shape, copy=False) is not None
    except ValueError:
        return False


def shown(op: Op, call: Callable[..., Any], inputs: Any, params: dict[str, Any]) -> Any:
    """The results of a record as `call`, given overloads and arguments, gives them: rule 2."""

    def by_name(name: str, *args: Any, **kwargs: Any) -> Any:
        return call(overload(name), *args, **kwargs)

    whole = params.get("dim") != () or not inputs[0].ndim  # else no dim, for operators all
    if op.name in RECORDS and whole:
        results = RECORDS[op.name](by_name, *inputs, **params)
        if results is not NotImplemented:
            return results
    operator = same(op) if whole and op.name not in RECORDS else own(op)
    if operator.namespace == OWN:
        return call(operator.default, *inputs, **params)
    named = dict(zip(op.inputs, inputs, strict=False)) | params
    if operator.function is op.call:
        placed, named = list(inputs), params
    else:
        placed, named = arranged(operator.function, (), named)
    return call(getattr(operator, chosen(operator, placed, named)), *placed, **named)


@functools.cache
def same(op: Op) -> Operator:
    """The operator of a record's own name, or one of our own."""
    for prefix in ("", *PREFIXES.values()):
        name = prefix + op.name
        if op.name not in PARTS and function_of(name):
            found: Operator = getattr(aten, name)
            takes = signature(found.function).parameters.keys()
            if found.function is op.call or {*op.inputs, *op.params} <= takes:
                return found
    return own(op)


@functools.cache
def own(op: Op) -> Operator:
    """A record as an operator of this package's."""
    return Operator(op.name, op.call, ["default"], OWN)


@functools.cache
def overload(name: str) -> Overload:
    """An overload of `aten` by name."""
    packet, _, which = name.rpartition(".")
    found: Overload = getattr(getattr(aten, packet), which)
    return found


# -- functions -------------------------------------------------------------------------------------


@functools.cache
def operator_of(function: Any, whole: bool = False) -> Operator | None:
    """The operator that a function is, None for one that is composed of others: rule 1.

    `whole`: also one of those, if it gives tensors.
    """
    place, _, own = names.get(function, "").rpartition(".")
    name = LEAVES.get(own, PREFIXES.get(place.rpartition(".")[2], "") + own)
    if name.endswith("_") and not name.startswith("_"):
        name = f"{original(name[:-1])}_"
    if name in WRITTEN_ANEW or not function_of(name):
        return None
    if is_composed(name) and (not whole or name in ASKED or name.startswith("is_")):
        return None
    operator: Operator = getattr(aten, name)
    takes = [list(signature(each).parameters) for each in (function, operator.function)]
    return operator if takes[0][1:] == takes[1][1:] or own in LEAVES else None


def arranged(function: Any, args: Any, kwargs: Any) -> tuple[list[Any], dict[str, Any]]:
    """The arguments of a call as PyTorch would have them: rule 3.

    Of these `inplace` is none: whether it is said stays among those by name.
    """
    own = signature(function)
    bound = own.bind(*args, **kwargs).arguments
    placed: list[Any] = []
    named: dict[str, Any] = {}
    for name, each in own.parameters.items():
        if each.kind == each.VAR_POSITIONAL:
            given = bound.get(name, ())
            if given and name == "more":  # than one, which is before them
                given = (placed.pop(), *given)
            placed += given if function.__name__ in NUMBERS else [listed(given)][: len(given)]
        elif each.kind == each.VAR_KEYWORD:
            named |= bound.get(name, {})
        elif name == "inplace":
            named |= {"inplace": True} if bound.get(name) else {}
        elif each.kind == each.KEYWORD_ONLY:
            if name in bound and bound[name] is not each.default:
                named[name] = bound[name]
        else:
            placed.append(bound.get(name, each.default))
    lists = [name for name, each in own.parameters.items() if each.kind == each.VAR_POSITIONAL]
    several = any(map(bound.get, lists))
    for each in () if several else reversed(list(own.parameters.values())[: len(placed)]):
        if not is_default(placed[-1], each):
            break
        placed.pop()
    given = [list(each) if isinstance(each, tuple) else each for each in placed]
    return given, {k: list(each) if isinstance(each, tuple) else each for k, each in named.items()}


signature = functools.cache(inspect.signature)


def listed(values: Any) -> Any:
    """Sizes, given one by one or as one sequence; a dtype in their place as it is."""
    first = values[0] if len(values) == 1 else None
    if isinstance(first, dtypes.dtype):
        return first
    return list(first) if isinstance(first, (tuple, list)) else list(values)


def is_default(value: Any, parameter: inspect.Parameter) -> bool:
    """Whether an argument is what it is where nothing is said."""
    default = parameter.default
    plain = type(value) is type(default) and isinstance(value, (int, float, str))
    return value is default or (plain and value == default)
