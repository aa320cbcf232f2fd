"""Contractions: sums of products over dimensions chosen by name (einsum) or number (tensordot).

Both label the dimensions of two tensors and hand them to `contract`, which permutes and reshapes
them into one matrix product. So every derivative is that of `matmul`, `permute` and `reshape`.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import Any

from ...engine.dispatch import as_non_view
from ...engine.overriding import SPELLINGS
from ...engine.registry import name_node
from ...engine.tensor import Tensor
from ..core.arguments import public
from ..core.dims import place_of
from ..elementwise.arithmetic import mul
from . import bilinear
from .matmul import matmul

__all__ = ["einsum", "tensordot"]

ELLIPSIS = "..."
Label = str | int


def permuted(t: Tensor, labels: Sequence[Label], wanted: Sequence[Label]) -> Tensor:
    """`t` with its dimensions in the order `wanted`."""
    if list(labels) == list(wanted):
        return t
    return t.permute([labels.index(label) for label in wanted])


def summed_out(
    t: Tensor, labels: Sequence[Label], keep: Collection[Label]
) -> tuple[Tensor, list[Label]]:
    """`t` summed over the dimensions that are not in `keep`, the others in the order of `keep`.

    As it is where all are in `keep`. Also the labels left.
    """
    ones = [x for x, n in zip(labels, t.shape, strict=True) if n == 1 and x not in keep]
    if ones:
        t, labels = without_ones(t, labels, ones)
    gone = [label for label in labels if label not in keep]
    if not gone:
        return t, list(labels)
    left = [label for label in keep if label in labels]
    t = permuted(t, labels, [*left, *gone])
    return t.sum(list(range(len(left), t.ndim))), left


def contract(
    a: Tensor,
    a_labels: Sequence[Label],
    b: Tensor,
    b_labels: Sequence[Label],
    keep: Sequence[Label],
    multiply: Any,
) -> tuple[Tensor, list[Label]]:
    """The product of two labelled tensors, summed over every label not in `keep`.

    Returns it with its labels: where nothing is summed in the order of `keep`, else first those in
    both, then those of `a` alone, then of `b` alone, each in that order; `b` is the first where all
    that it has alone comes first.
    """
    a, a_labels = summed_out(a, a_labels, dict.fromkeys((*keep, *b_labels)))
    b, b_labels = summed_out(b, b_labels, dict.fromkeys((*keep, *a_labels)))
    both = [label for label in a_labels if label in b_labels]
    batch = [label for label in keep if label in both]
    inner = [label for label in both if label not in keep]
    if inner and all(n == 1 for label, n in zip(a_labels, a.shape, strict=True) if label in inner):
        parts = (*without_ones(a, a_labels, inner), *without_ones(b, b_labels, inner))
        return contract(*parts, keep, multiply)
    if not inner:
        labels = [label for label in keep if label in a_labels or label in b_labels]
        return mul(spread(a, a_labels, labels), spread(b, b_labels, labels)), labels
    size = dict(zip((*a_labels, *b_labels), (*a.shape, *b.shape), strict=True))
    if comes_first(b_labels, a_labels, [label for label in keep if size.get(label, 1) != 1]):
        return contract(b, b_labels, a, a_labels, keep, multiply)
    left = [label for label in keep if label in a_labels and label not in both]
    right = [label for label in keep if label in b_labels and label not in both]
    labels = [*batch, *left, *right]
    shape = [size[label] for label in labels]
    a = merged(permuted(a, a_labels, [*batch, *left, *inner]), len(batch), len(left), len(inner))
    b = merged(permuted(b, b_labels, [*batch, *inner, *right]), len(batch), len(inner), len(right))
    product = multiply(a, b)
    if tuple(product.shape) != tuple(shape):
        product = product.reshape(shape)
    return name_node(product, "ViewBackward0"), labels


def without_ones(
    t: Tensor, labels: Sequence[Label], gone: Collection[Label]
) -> tuple[Tensor, list[Label]]:
    """`t` without its dimensions of size 1 called `gone`: nothing is summed, so dtypes promote."""
    left = [(label, n) for label, n in zip(labels, t.shape, strict=True) if label not in gone]
    return t.reshape([n for _, n in left]), [label for label, _ in left]


def spread(t: Tensor, labels: Sequence[Label], wanted: Sequence[Label]) -> Tensor:
    """`t` with its dimensions in the order `wanted`, and size 1 for those that it lacks."""
    t = permuted(t, labels, [label for label in wanted if label in labels])
    sizes = iter(t.shape)
    shape = [next(sizes) if label in labels else 1 for label in wanted]
    return t if shape == list(t.shape) else t.reshape(shape)


def merged(t: Tensor, batch: int, first: int, second: int) -> Tensor:
    """`t` with two runs of dimensions after the batch made one each (without batch: none if 0)."""
    if first == second == 1:
        return t
    sizes = list(t.shape)
    middle = batch + first
    shape = sizes[:batch]
    if first or batch:
        shape.append(math.prod(sizes[batch:middle]))
    if second or batch:
        shape.append(math.prod(sizes[middle:]))
    return t if shape == sizes else t.reshape(shape)


@public(out=True)
def tensordot(a: Tensor, b: Tensor, dims: Any = 2) -> Tensor:
    """Sum of products over some dimensions of `a` and as many of `b`.

    `dims` is a number n (the last n of `a` with the first n of `b`, in order) or a pair of lists of
    dimensions. The result has the other dimensions of `a`, then those of `b`. Raises RuntimeError
    where sizes or dtypes differ.

    >>> rg.tensordot(rg.ones(2, 3, 4), rg.ones(4, 3), dims=([1, 2], [1, 0]))
    tensor([12., 12.])
    """
    if a.dtype != b.dtype:
        raise RuntimeError(
            f"tensordot(): both inputs should have same dtype, but have {a.dtype} and {b.dtype}. "
            "Convert one of them first, such as a.to(b.dtype)"
        )
    first, second = paired_dims(a, b, dims)
    a_labels: list[Label] = list(range(a.ndim))
    b_labels: list[Label] = list(range(a.ndim, a.ndim + b.ndim))
    free = {*a_labels, *b_labels}
    for i, j in zip(first, second, strict=True):
        free -= {a_labels[i], b_labels[j]}
        m, n = a.shape[i], b.shape[j]
        if m == n:
            b_labels[j] = a_labels[i]
        elif 1 not in (m, n):
            raise RuntimeError(
                f"contracted dimensions need to match, but first has size {m} in dim {i} and "
                f"second has size {n} in dim {j}"
            )
    sizes = zip((*a_labels, *b_labels), (*a.shape, *b.shape), strict=True)
    if all(n == 1 for label, n in sizes if label in free):  # one number
        taken = [d % a.ndim for d in first]
        a = a.permute([*taken, *(d for d in range(a.ndim) if d not in taken)])
        b = b.permute([*second, *(d for d in range(b.ndim) if d not in second)])
        if not (a.is_contiguous() and b.is_contiguous()):  # as in PyTorch: copies nothing
            pair = [t.reshape(t.shape[: len(first)]) for t in (a, b)]
            return as_non_view(mul(*pair).sum(dtype=a.dtype).reshape([1] * len(free)))
    return contract(a, a_labels, b, b_labels, sorted(free), matmul)[0]


def paired_dims(a: Tensor, b: Tensor, dims: Any) -> tuple[list[int], list[int]]:
    """The `dims` of `tensordot` as two lists of dimensions."""
    if isinstance(dims, Tensor):
        dims = dims.item() if dims._array.size == 1 else dims.tolist()
    if isinstance(dims, int):
        if dims < 0:
            raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
        if dims > min(a.ndim, b.ndim):
            raise RuntimeError(f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims}")
        return list(range(-dims, 0)), list(range(dims))
    if not isinstance(dims, (tuple, list)):
        raise RuntimeError(
            "tensordot expects dims to be int or tuple[list[int], list[int]] or list[list[int]] "
            f"containing two lists, but got dims={dims}"
        )
    first, second = ([side] if isinstance(side, int) else list(side) for side in dims)
    if len(first) != len(second):
        raise RuntimeError(
            f"both dimension lists should have same length, but got {first} and {second}"
        )
    return [place_of(d, a.ndim) for d in first], [place_of(d, b.ndim) for d in second]


# -- einsum ------------------------------------------------------------------------------------


def of_operands(args: Any) -> Any:
    """The arguments of `einsum` with operands one by one, where they stand in a list."""
    if not isinstance(args[0], str) or not isinstance(args[1], (list, tuple)):
        return args
    return (args[0], *args[1])


SPELLINGS["einsum"] = of_operands


def einsum(*args: Any) -> Tensor:
    """Sum of products of tensors, by Einstein's convention.

    `einsum("ij,jk->ik", a, b)`: each letter is a dimension; those absent from the right side are
    summed over, a letter twice in one term takes the diagonal, `...` stands for further dimensions,
    which broadcast, as does size 1. Without `->` the result has the letters that occur once, in
    alphabetical order, after `...`. The same with numbers: `einsum(a, [0, 1], b, [1, 2], [0, 2])`.
    Contracts from left to right; nothing is conjugated. Raises RuntimeError for a term that does
    not fit its operand, and sizes that do not fit.

    >>> a = rg.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> rg.einsum("ij,kj->ik", a, a), rg.einsum("ii", a)
    (tensor([[ 5., 11.],
            [11., 25.]]), tensor(5.))
    """
    operands, terms, result = parse(args)
    labels = [expand_ellipsis(t, term, n) for n, (t, term) in enumerate(zip(operands, terms))]  # noqa: B905 (checked by parse)
    wanted = output_labels(labels, terms, result)
    operands, labels = unique_labels(operands, labels)
    t, have = operands[0], labels[0]
    if len(operands) == 1:  # turned first, as in PyTorch, so that the sum lies by rows
        rest = [label for label in have if label not in wanted]
        t = t.permute([have.index(label) for label in (*wanted, *rest)])
        return t.sum(list(range(len(wanted), t.ndim))) if rest else t
    summed = {label for row in labels for label in row}.difference(wanted)
    order = [*wanted, *sorted(summed, key=lambda x: (isinstance(x, str), x))]  # as PyTorch's
    for n in range(1, len(operands)):
        keep = [x for x in order if x not in summed or any(x in row for row in labels[n + 1 :])]
        t, have = contract(t, have, operands[n], labels[n], keep, of_matrices)
    t = permuted(t, have, wanted)
    return name_node(t, "ViewBackward0") if summed else t


def comes_first(some: Sequence[Label], others: Sequence[Label], keep: Sequence[Label]) -> bool:
    """Whether what one operand has alone comes before what the other one has alone.

    keep: the labels in order, without those of size 1, which PyTorch counts for neither operand.
    """
    after = [label in others for label in keep if (label in some) != (label in others)]
    return after == sorted(after) and len(set(after)) == 2


def of_matrices(a: Tensor, b: Tensor) -> Tensor:
    """`matmul`, but of two matrices as of a stack: the gradients lie by rows, as PyTorch's do."""
    return (bilinear.matmul if a.ndim == b.ndim == 2 else matmul)(a, b)


def parse(args: Sequence[Any]) -> tuple[list[Tensor], list[list[str]], list[str] | None]:
    """Operands, the terms of the left side, and the right side if there is one."""
    if len(args) < 2:
        raise ValueError(
            "einsum(): must specify the equation string and at least one operand, or at least one "
            "operand and its subscripts list"
        )
    if isinstance(args[0], str):
        equation, *operands = args
        if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
            operands = list(operands[0])
        terms, result = parse_equation(equation)
    else:
        operands = list(args[: len(args) // 2 * 2 : 2])
        terms = [from_numbers(numbers) for numbers in args[1::2]]
        result = from_numbers(args[-1]) if len(args) % 2 else None
    if len(terms) != len(operands):
        kind = "fewer" if len(operands) < len(terms) else "more"
        raise RuntimeError(
            f"einsum(): {kind} operands were provided than specified in the equation"
        )
    return operands, terms, result


def parse_equation(equation: str) -> tuple[list[list[str]], list[str] | None]:
    """The terms of an equation string, each a list of letters and at most one `...`."""
    left, arrow, right = equation.partition("->")
    terms = []
    start = 0
    for n, term in enumerate(left.split(",")):
        terms.append(from_letters(term, start, f"operand {n}"))
        start += len(term) + 1
    return terms, from_letters(right, len(left) + 2, "the output") if arrow else None


def from_letters(term: str, start: int, where: str) -> list[str]:
    """A term as labels; `start` is its place in the equation, for the error message."""
    labels: list[str] = []
    i = 0
    while i < len(term):
        letter = term[i]
        if letter == ".":
            if ELLIPSIS in labels:
                raise RuntimeError(
                    f"einsum(): found '.' for {where} for which an ellipsis was already found"
                )
            if term[i : i + 3] != ELLIPSIS:
                raise RuntimeError(
                    f"einsum(): found '.' for {where} that is not part of any ellipsis"
                )
            labels.append(ELLIPSIS)
            i += 2
        elif letter.isascii() and letter.isalpha():
            labels.append(letter)
        elif letter != " ":
            raise RuntimeError(
                f"einsum(): invalid subscript given at index {start + i} in the equation string, "
                "subscripts must be in [a-zA-Z]"
            )
        i += 1
    return labels


def from_numbers(numbers: Sequence[Any]) -> list[str]:
    """A subscript list as labels: 0 to 25 are A to Z, 26 to 51 a to z."""
    labels = []
    for number in numbers:
        if number is Ellipsis:
            labels.append(ELLIPSIS)
        elif 0 <= number < 52:
            labels.append(chr(number + (65 if number < 26 else 71)))
        else:
            raise ValueError(
                "einsum(): subscript in subscript list is not within the valid range [0, 52)"
            )
    return labels


def expand_ellipsis(t: Tensor, term: Sequence[str], number: int) -> list[Label]:
    """One label per dimension of `t`; those under an ellipsis are counted from its end: -1, -2."""
    named = len(term) - (ELLIPSIS in term)
    extra = t.ndim - named
    if extra < 0 or (extra > 0 and ELLIPSIS not in term):
        given = "" if ELLIPSIS in term else " and no ellipsis was given"
        relation = "is more than" if given == "" else "does not match"
        raise RuntimeError(
            f"einsum(): the number of subscripts in the equation ({named}) {relation} the number "
            f"of dimensions ({t.ndim}) for operand {number}{given}"
        )
    labels: list[Label] = []
    for label in term:
        labels.extend(range(-extra, 0) if label == ELLIPSIS else [label])
    return labels


def output_labels(
    labels: Sequence[Sequence[Label]], terms: Sequence[Sequence[str]], result: list[str] | None
) -> list[Label]:
    """The labels of the result, in order."""
    covered = -min(min((x for x in row if isinstance(x, int)), default=0) for row in labels)
    under: list[Label] = list(range(-covered, 0))
    letters = [x for term in terms for x in term if x != ELLIPSIS]
    if result is None:
        return [*under, *sorted({x for x in letters if letters.count(x) == 1})]
    wanted: list[Label] = []
    for label in result:
        if label != ELLIPSIS and label not in letters:
            raise RuntimeError(
                f"einsum(): output subscript {label} does not appear in the equation for any input "
                "operand"
            )
        if label in wanted:
            raise RuntimeError(
                f"einsum(): output subscript {label} appears more than once in the output"
            )
        wanted.extend(under if label == ELLIPSIS else [label])
    return wanted


def unique_labels(
    operands: Sequence[Tensor], labels: Sequence[Sequence[Label]]
) -> tuple[list[Tensor], list[list[Label]]]:
    """Operands with diagonals taken and size-1 dimensions dropped where another one is larger."""
    diagonals = [diagonal(t, row, n) for n, (t, row) in enumerate(zip(operands, labels))]  # noqa: B905 (checked by parse)
    size: dict[Label, int] = {}
    for n, (t, row) in enumerate(diagonals):
        for label, m in zip(row, t.shape, strict=True):
            seen = size.get(label, 1)
            if m != seen and 1 not in (m, seen):
                what = f"subscript {label}" if isinstance(label, str) else "a dimension under ..."
                raise RuntimeError(
                    f"einsum(): {what} has size {m} for operand {n} which does not broadcast with "
                    f"previously seen size {seen}"
                )
            size[label] = seen if m == 1 else m
    pairs = []
    for t, row in diagonals:
        stay = [i for i, label in enumerate(row) if t.shape[i] == size[label]]
        if len(stay) < len(row):
            t, row = t.reshape([t.shape[i] for i in stay]), [row[i] for i in stay]  # noqa: PLW2901
        pairs.append((t, row))
    return [t for t, _ in pairs], [row for _, row in pairs]


def diagonal(t: Tensor, row: Sequence[Label], number: int) -> tuple[Tensor, list[Label]]:
    """`t` with one dimension for each label, repeated ones by their diagonal."""
    labels = list(row)
    for label in dict.fromkeys(row):
        while labels.count(label) > 1:
            i = labels.index(label)
            j = labels.index(label, i + 1)
            if t.shape[i] != t.shape[j]:
                raise RuntimeError(
                    f"einsum(): subscript {label} is repeated for operand {number} but the sizes "
                    f"don't match, {t.shape[j]} != {t.shape[i]}"
                )
            t = t.diagonal(0, i, j)
            labels = [x for k, x in enumerate(labels) if k not in (i, j)] + [label]
    return t, labels
