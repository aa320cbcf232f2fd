"""Rules for ops of sparse tensors: NOTE [Layouts] in `layouts.layout`.

At least one input of a rule is sparse. It computes on entries, by ops on dense tensors, and makes a
sparse tensor of them again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ....engine.tensor import Tensor, new_tensor
from ....ops.core.engine_ops import cast as to_dtype
from ....ops.creation.factories import zeros
from ....ops.indexing.index import index_select
from ....ops.linalg.bilinear import check_dtypes, matrices_error
from ....ops.reduction.sum_prod import sum as total
from ....ops.reduction.vector_norm import _vector_norm_op as norm_op
from ....ops.shape.join import cat as joined
from ....pytree import map_leaves
from .array import NO_SUM, common, is_sparse, refused, rule
from .pattern import COO, Form, Pattern
from .records import densify, entries, from_entries, picked, sparse_mm

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["coalesced", "over_values", "regrouped", "sparse_of", "stored", "stored_at", "to_dense"]

ENLARGED = (
    "{}(): a sparse tensor of shape {} cannot be expanded to {}. Expand the dense one: x.to_dense()"
)
UNSORTED = (
    "cannot set is_coalesced to true if indices correspond to uncoalesced COO tensor: some are not "
    "sorted, or there twice"
)
MIXED = (
    "copy_() between dense and sparse Tensors, or those of different shapes, is not implemented! "
    "Convert first: x.copy_(y.to_dense()), x.copy_(y.to_sparse())"
)


def coalesced(x: Tensor) -> Pattern:
    """The places at which a sparse tensor has values."""
    return x._array.pattern.merged[0]  # type: ignore[no-any-return]


def stored(x: Tensor) -> Tensor:
    """The values of a sparse tensor at these places, with their history."""
    return entries(x, pattern=coalesced(x))


def stored_at(x: Tensor, pattern: Pattern) -> Tensor:
    """The values of a tensor, sparse or dense, at the places of a pattern."""
    return (entries if is_sparse(x) else picked)(x, pattern=pattern)


def sparse_of(values: Tensor, pattern: Pattern) -> Tensor:
    """The sparse tensor with these entries."""
    return from_entries(values, pattern=pattern)


def regrouped(values: Tensor, indices: Any, shape: Any, form: Form = COO) -> Tensor:
    """A coalesced sparse tensor of entries of which several may be at one place."""
    whole = sparse_of(values, Pattern(indices, shape, False, form))
    return sparse_of(stored(whole), coalesced(whole))


def to_dense(x: Tensor) -> Tensor:
    """The dense tensor."""
    return densify(stored(x), pattern=coalesced(x))


def chosen(x: Tensor, which: Any) -> Tensor:
    """The entries numbered `which`."""
    return index_select(stored(x), 0, new_tensor(which))


# -- one element as the other ----------------------------------------------------------------------


@rule("*")
def mapped(op: Any, *inputs: Any, **params: Any) -> Tensor:
    """An elementwise op that gives 0 for 0, of one sparse tensor and numbers: of its values."""
    (place, *more) = [i for i, t in enumerate(inputs) if is_sparse(t)]
    others = [*inputs[:place], *inputs[place + 1 :]]
    numbers = all(not isinstance(t, Tensor) or t.ndim == 0 for t in others)
    if more or not op.elementwise or op.outputs != 1 or not numbers:
        raise refused(op.name) from None
    x = inputs[place]

    def of(t: Tensor) -> Any:
        return op.call(*inputs[:place], t, *inputs[place + 1 :], **params)

    if (of(zeros(1, dtype=x.dtype))._array != 0).any():
        raise refused(op.name, "sparse tensors, for it is not 0 for 0") from None
    return sparse_of(of(stored(x)), coalesced(x))


@rule("cast")
def cast(input: Tensor, *, dtype: Any) -> Tensor:
    """The sparse tensor in another dtype."""
    return sparse_of(to_dtype(stored(input), dtype=dtype), coalesced(input))


@rule("add")
def add(input: Tensor, other: Any) -> Tensor:
    """Raises: what can be added, the arrays add themselves."""
    raise RuntimeError(NO_SUM)


@rule("add_scaled", "sub_scaled", "sub")
def sum_with(op: Any, input: Any, other: Any, *, alpha: Any = 1) -> Tensor:
    """The sum with a multiple, or with its negative."""
    term = other if op.name == "sub" else other * alpha
    return input + (term if op.name == "add_scaled" else -term)  # type: ignore[no-any-return]


@rule("mul")
def mul(input: Any, other: Any) -> Tensor:
    """Products at the places of the sparse factor, or at those which both have."""
    first = is_sparse(input) and (input.ndim or not is_sparse(other))
    a, b = (input, other) if first else (other, input)
    if is_sparse(b) and b.ndim == 0:
        b = to_dense(b)
    if not isinstance(b, Tensor) or b.ndim == 0:
        return sparse_of(stored(a) * b, coalesced(a))
    if is_sparse(b):
        return product_of(a, b)
    if np.broadcast_shapes(a.shape, b.shape) != a.shape:
        raise RuntimeError(ENLARGED.format("mul", list(a.shape), list(b.shape)))
    pattern = coalesced(a)
    return sparse_of(stored(a) * picked(b.expand(a.shape), pattern=pattern), pattern)


def product_of(a: Tensor, b: Tensor) -> Tensor:
    """Products where two sparse tensors both have entries; dense dimensions are broadcast."""
    pattern, other = coalesced(a), coalesced(b)
    k = pattern.dims
    if a.ndim != b.ndim or other.dims != k or pattern.shape[:k] != other.shape[:k]:
        raise refused("mul", f"sparse tensors of shapes {list(a.shape)} and {list(b.shape)}")
    shape = (*pattern.shape[:k], *np.broadcast_shapes(pattern.shape[k:], other.shape[k:]))
    at, there = other.find(pattern)
    both = Pattern(pattern.indices[:, there], shape, True, common(pattern, other))
    return sparse_of(chosen(a, np.flatnonzero(there)) * chosen(b, at[there]), both)


@rule("copy")
def copy(input: Tensor, other: Tensor) -> Tensor:
    """The value of `copy_`, in the dtype of what is written."""
    if not (is_sparse(input) and is_sparse(other)) or input.shape != other.shape:
        raise RuntimeError(MIXED)
    pattern = coalesced(other).laid_out(input._array.pattern.form)
    return sparse_of(to_dtype(stored(other), dtype=input._array.dtype), pattern)


@rule("zero")
def zero(input: Tensor) -> Tensor:
    """A sparse tensor of zeros: it has no entries."""
    pattern = coalesced(input)
    none = pattern.at(pattern.indices[:, :0], True)
    return sparse_of(chosen(input, np.zeros(0, np.int64)), none)


@rule("unsqueeze")
def unsqueeze(input: Tensor, *, dims: Any) -> Tensor:
    """A dimension of size 1, sparse if it is not beyond the sparse ones."""
    pattern, k = coalesced(input), input._array.pattern.dims
    if len(dims) != 1 or pattern.form != COO:
        raise refused("unsqueeze", "several dimensions at once, or compressed matrices")
    if dims[0] > k:
        values = stored(input).unsqueeze(dims[0] - k + 1)
        shape = (*pattern.shape[:k], *values.shape[1:])
        return sparse_of(values, Pattern(pattern.indices, shape, True))
    indices = np.insert(pattern.indices, dims[0], 0, axis=0)
    shape = (*pattern.shape[: dims[0]], 1, *pattern.shape[dims[0] :])
    return sparse_of(stored(input), Pattern(indices, shape, True))


@rule("any")
def any_of(input: Tensor, *, dim: Any, keepdim: bool) -> Tensor:
    """Whether any value is not 0."""
    if keepdim or (dim is not None and len(dim) != input.ndim):
        raise refused("any", "sparse tensors along some dimensions")
    return stored(input).any()


# -- sums and the order of dimensions --------------------------------------------------------------


@rule("sum")
def sum_all(input: Tensor) -> Tensor:
    """The sum of all values, dense."""
    return total(stored(input))


@rule("sum_dim")
def sum_dim(input: Tensor, *, dim: Any, keepdim: bool) -> Tensor:
    """Sums along dimensions: dense where all those that are sparse go, else sparse."""
    pattern, values = coalesced(input), stored(input)
    if keepdim:
        raise refused("sum", "sparse tensors with keepdim=True")
    inner = [d - pattern.dims + 1 for d in dim if d >= pattern.dims]
    if inner:
        values = total(values, inner)
    left = [d for d in range(pattern.dims) if d not in dim]
    if not left:
        return total(values, 0)
    shape = [n for d, n in enumerate(pattern.shape) if d not in dim]
    if len(left) == pattern.dims:
        return sparse_of(values, Pattern(pattern.indices, shape, True))
    return regrouped(values, pattern.indices[left], shape)


@rule("vector_norm")
def vector_norm(input: Tensor, *, ord: Any, dim: Any, keepdim: bool) -> Tensor:
    """The norm of all values together."""
    if keepdim or len(dim) != input.ndim or ord < 0:
        raise refused("vector_norm", "sparse tensors along some dimensions, or of negative order")
    values = stored(input)
    return norm_op(values, ord=ord, dim=tuple(range(values.ndim)), keepdim=False)


@rule("permute")
def permute(input: Tensor, *, dims: Any) -> Tensor:
    """The dimensions in another order; the sparse ones stay in front."""
    pattern, k = coalesced(input), input._array.pattern.dims
    if set(dims[:k]) != set(range(k)):
        raise refused("permute", "sparse dimensions that become dense")
    values = stored(input).permute(0, *[d - k + 1 for d in dims[k:]])
    turned = pattern.turned(tuple(dims[:k]))
    if pattern.form != COO and turned is not pattern:
        if tuple(dims[:k]) != (*range(k - 2), k - 1, k - 2):
            raise refused("permute", "batches of sparse matrices, but to transpose them")
        return regrouped(values, turned.indices, turned.shape, pattern.form.turned)
    if list(dims[k:]) != sorted(dims[k:]):
        shape = [pattern.shape[d] for d in dims]
        turned = Pattern(turned.indices, shape, turned.coalesced, turned.form)
    return sparse_of(values, turned)


@rule("transpose")
def transpose(input: Tensor, *, dim0: int, dim1: int) -> Tensor:
    """Two dimensions exchanged."""
    dims = list(range(input.ndim))
    dims[dim0], dims[dim1] = dim1, dim0
    return permute(input, dims=tuple(dims))


@rule("t", "adjoint")
def t(input: Tensor) -> Tensor:
    """The transpose of a matrix."""
    return permute(input, dims=tuple(reversed(range(input.ndim))))


# -- products of matrices --------------------------------------------------------------------------


def check_matrices(a: Tensor, b: Tensor) -> None:
    """Raise unless two tensors are matrices that can be multiplied, without dense dimensions."""
    if a.shape[1] != b.shape[0]:
        raise matrices_error(a._array, b._array)
    check_dtypes(a._array, b._array)
    for x in (a, b):
        if is_sparse(x) and x._array.pattern.dims != 2:
            raise refused("mm", "sparse tensors with a dimension that is dense")


@rule("mm")
def mm(input: Tensor, mat2: Tensor) -> Tensor:
    """The product of two matrices: dense where one of them is, else sparse."""
    check_matrices(input, mat2)
    if not is_sparse(mat2):
        return sparse_mm(stored(input), mat2, pattern=coalesced(input))
    if not is_sparse(input):
        turned = coalesced(mat2).turned((1, 0))
        found = sparse_mm(stored(mat2), input.t(), pattern=turned).t()
        return found if mat2._array.pattern.form == COO else found.contiguous()  # as in PyTorch
    a, b = coalesced(input), coalesced(mat2)
    starts = b.rows[0]
    counts = np.diff(starts)[a.indices[1]]  # of entries of b in the row that each of a meets
    left = np.repeat(np.arange(a.count), counts)
    within = np.arange(len(left)) - np.repeat(np.cumsum(counts) - counts, counts)
    right = starts[a.indices[1]][left] + within
    indices = np.stack([a.indices[0][left], b.indices[1][right]])
    terms = chosen(input, left) * chosen(mat2, right)
    form = Form("sparse_csr") if a.form.block else a.form
    return regrouped(terms, indices, (a.shape[0], b.shape[1]), form)


@rule("mv")
def mv(input: Tensor, vec: Tensor) -> Tensor:
    """The product of a sparse matrix and a dense vector."""
    if is_sparse(vec):
        raise refused("mv", "sparse vectors")
    return mm(input, vec.unsqueeze(1)).squeeze(1)


@rule("linear")
def linear(input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """`input @ weight.T + bias` for sparse rows, or a sparse weight."""
    if input.ndim != 2 and is_sparse(input):
        raise refused("linear", "sparse tensors that are no matrix")
    rows = input if input.ndim == 2 else input.reshape(-1, input.shape[-1])
    found = mm(rows, weight.t())
    if input.ndim != 2:
        found = found.reshape(*input.shape[:-1], weight.shape[0])
    return found if bias is None else found + bias


@rule("matmul")
def bmm(input: Tensor, other: Tensor) -> Tensor:
    """Products of a batch of sparse matrices (b, n, m) and dense ones (b, m, k)."""
    if is_sparse(other) or other.ndim != 3 or input.ndim != 3 or input._array.pattern.dims != 3:
        raise refused("matmul", "other than a batch of sparse matrices and one of dense ones")
    (b, n, m), pattern = input.shape, coalesced(input)
    if other.shape[:2] != (b, m):
        raise RuntimeError(
            f"bmm(): batches of shapes {list(input.shape)} and {list(other.shape)} cannot be "
            "multiplied"
        )
    check_dtypes(input._array, other._array)
    which, row, column = pattern.indices
    along = Pattern(np.stack([which * n + row, which * m + column]), (b * n, b * m), True)
    found = sparse_mm(stored(input), other.reshape(b * m, other.shape[2]), pattern=along)
    return found.reshape(b, n, other.shape[2])


# -- parts and joins -------------------------------------------------------------------------------


@rule("index_select")
def select_many(input: Tensor, index: Tensor, *, dim: int) -> Tensor:
    """Slices along a sparse dimension, as often as they are named."""
    pattern = coalesced(input)
    if pattern.form.block:
        raise refused("index_select", "sparse tensors of blocks")
    if dim >= pattern.dims:
        values = index_select(stored(input), dim - pattern.dims + 1, index)
        shape = (*pattern.shape[:dim], len(index), *pattern.shape[dim + 1 :])
        return sparse_of(values, Pattern(pattern.indices, shape, True))
    order = np.argsort(pattern.indices[dim], kind="stable")
    wanted = index._array % max(1, pattern.shape[dim])
    first, last = (
        np.searchsorted(pattern.indices[dim][order], wanted, s) for s in ("left", "right")
    )
    counts = last - first
    place = np.repeat(np.arange(len(wanted)), counts)
    which = order[np.arange(len(place)) + np.repeat(first - np.cumsum(counts) + counts, counts)]
    indices = pattern.indices[:, which].copy()
    indices[dim] = place
    shape = (*pattern.shape[:dim], len(wanted), *pattern.shape[dim + 1 :])
    return regrouped(chosen(input, which), indices, shape, pattern.form)


@rule("select", "slice")
def part(input: Tensor, *, index: Any) -> Tensor:
    """A part at integers and slices; dense where integers take all sparse dimensions."""
    pattern, whole = coalesced(input), slice(None)
    if any(each is None for each in index):
        raise refused("slice", "an index of None")
    inner = index[pattern.dims :]
    if any(each != whole for each in inner):
        values = stored(input)[(whole, *inner)]
        cut_shape = (*pattern.shape[: pattern.dims], *values.shape[1:])
        cut = sparse_of(values, Pattern(pattern.indices, cut_shape, True, pattern.form))
        return part(cut, index=index[: pattern.dims])
    indices, shape = pattern.indices.copy(), list(pattern.shape)
    inside, left = np.full(pattern.count, True), []
    for d, n in enumerate(pattern.shape[: pattern.dims]):
        each = index[d] if d < len(index) else whole
        if isinstance(each, slice):
            places = range(*each.indices(n))
            left.append(d)
        else:
            places = range(each % n, each % n + 1)
        shape[d] = len(places)
        away = indices[d] - places.start
        inside &= (away >= 0) & (indices[d] < places.stop) & (away % places.step == 0)
        indices[d] = away // places.step
    which = np.flatnonzero(inside)
    if not left:
        return total(chosen(input, which), 0).to(input.dtype)  # one number at most
    shape = [*[shape[d] for d in left], *shape[pattern.dims :]]
    form = pattern.form
    if form.block and any(each != whole for each in index[form.batch : pattern.dims]):
        form = form._replace(layout=f"sparse_cs{form.layout[-1]}", block=None)
    matrices = form != COO and {pattern.dims - 2, pattern.dims - 1} <= {*left}
    form = form._replace(batch=len(left) - 2) if matrices else COO
    return sparse_of(chosen(input, which), Pattern(indices[left][:, which], shape, True, form))


@rule("unbind")
def unbind(input: Tensor, *, dim: int) -> tuple[Tensor, ...]:
    """The parts at each place of a sparse dimension; dense where there is no other."""
    before = (slice(None),) * dim
    return tuple([part(input, index=(*before, i)) for i in range(input.shape[dim])])


@rule("cat")
def cat(*tensors: Tensor, dim: int) -> Tensor:
    """Sparse tensors one after the other along a sparse dimension."""
    if not all(map(is_sparse, tensors)):
        raise refused("cat", "sparse and dense tensors together")
    patterns = [coalesced(x) for x in tensors]
    if any(dim >= p.dims or p.dims != patterns[0].dims for p in patterns):
        raise refused("cat", "sparse tensors along a dense dimension")
    shape, at, indices = list(patterns[0].shape), 0, []
    for each in patterns:
        if [*each.shape[:dim], *each.shape[dim + 1 :]] != [*shape[:dim], *shape[dim + 1 :]]:
            raise RuntimeError(
                f"cat(): Sizes of tensors must match except in dimension {dim}, but they are "
                f"{', '.join(str(list(p.shape)) for p in patterns)}"
            )
        moved = each.indices.copy()
        moved[dim] += at
        indices.append(moved)
        at += each.shape[dim]
    shape[dim] = at
    values = joined([stored(x) for x in tensors])
    form = patterns[0].form
    if any(each.form != form for each in patterns):
        form = COO
    return regrouped(values, np.concatenate(indices, 1), shape, form)


@rule("stack")
def stack(*tensors: Tensor, dim: int) -> Tensor:
    """Sparse tensors of one shape along a new sparse dimension."""
    if not all(map(is_sparse, tensors)):
        raise refused("stack", "sparse and dense tensors together")
    return cat(*[unsqueeze(x, dims=(dim,)) for x in tensors], dim=dim)


# -- checks of gradients: values are the variables, places stay ------------------------------------


def over_values(
    func: Callable[..., Any], arguments: Sequence[Any]
) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """`func` as a function of the values of sparse tensors, which gives values, and its arguments.

    Entries at one place are one variable.
    """
    patterns = [coalesced(x) if is_sparse(x) else None for x in arguments]

    def of_values(*given: Any) -> Any:
        whole = [
            x if pattern is None else sparse_of(x, pattern)
            for x, pattern in zip(given, patterns, strict=True)
        ]
        return map_leaves(lambda y: stored(y) if is_sparse(y) else y, func(*whole))

    return of_values, tuple([variable(x) if is_sparse(x) else x for x in arguments])


def variable(x: Tensor) -> Tensor:
    """The values of a sparse tensor as a leaf that requires grad if that does."""
    return stored(x.detach()).detach().requires_grad_(x.requires_grad)
