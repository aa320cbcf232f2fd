"""`view_copy`, `permute_copy` and their relatives: what a view function gives, as a copy.

Each is the view, then `clone`: it never shares memory, and its derivative is the view's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...engine.tensor import Tensor, method
from ..core.arguments import write_value
from ..core.dims import normalize_dim
from ..core.structure import clone
from ..elementwise.complex import view_as_complex, view_as_real
from ..shape.basic_views import as_strided, diagonal, narrow, select, unfold
from ..shape.expand import expand, squeeze, unsqueeze
from ..shape.permute import permute, t, transpose
from ..shape.reshape import view
from ..shape.split import split, split_with_sizes, unbind

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "alias_copy",
    "as_strided_copy",
    "detach_copy",
    "diagonal_copy",
    "expand_copy",
    "narrow_copy",
    "permute_copy",
    "select_copy",
    "slice_copy",
    "split_copy",
    "split_with_sizes_copy",
    "squeeze_copy",
    "t_copy",
    "transpose_copy",
    "unbind_copy",
    "unfold_copy",
    "unsqueeze_copy",
    "view_as_complex_copy",
    "view_as_real_copy",
    "view_copy",
]


def _copied(function: Callable[..., Any], view: Tensor, out: Tensor | None) -> Tensor:
    """The copy that `function` owes for a view, written into `out` if that is given."""
    return clone(view) if out is None else write_value(view, out, function.__name__)  # type: ignore[no-any-return]


def _all_copied(function: Callable[..., Any], views: tuple[Tensor, ...], out: Any) -> Any:
    """The copies for several views; with `out`, a list of tensors, they are written there."""
    if out is None:
        return tuple(map(clone, views))
    if len(out) != len(views):
        raise RuntimeError(
            f"{function.__name__}(): expected an out= argument of length {len(views)}, got "
            f"{len(out)}"
        )
    for part, target in zip(views, out, strict=True):
        _copied(function, part, target)
    return None


def alias_copy(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """A copy of the whole tensor. Source: PyTorch's `alias_copy`.

    >>> import retrograd as rg
    >>> rg.alias_copy(rg.tensor([1, 2]))
    tensor([1, 2])
    """
    return _copied(alias_copy, input, out)


def as_strided_copy(
    input: Tensor,
    size: Any,
    stride: Any,
    storage_offset: int | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """`as_strided` as a copy; errors as there. Source: PyTorch's `as_strided_copy`.

    >>> import retrograd as rg
    >>> rg.as_strided_copy(rg.tensor([1, 2, 3]), (2, 2), (1, 1))
    tensor([[1, 2],
            [2, 3]])
    """
    return _copied(as_strided_copy, as_strided(input, size, stride, storage_offset), out)


def detach_copy(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """A copy without history. Source: PyTorch's `detach_copy`.

    >>> import retrograd as rg
    >>> rg.detach_copy(rg.ones(1, requires_grad=True))
    tensor([1.])
    """
    return _copied(detach_copy, input.detach(), out)


def diagonal_copy(
    input: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1, *, out: Tensor | None = None
) -> Tensor:
    """`diagonal` as a copy; errors as there. Source: PyTorch's `diagonal_copy`.

    >>> import retrograd as rg
    >>> rg.diagonal_copy(rg.tensor([[1, 2], [3, 4]]))
    tensor([1, 4])
    """
    return _copied(diagonal_copy, diagonal(input, offset, dim1, dim2), out)


def expand_copy(
    input: Tensor, size: Any, *, implicit: bool = False, out: Tensor | None = None
) -> Tensor:
    """`expand` as a copy, so that it may be written; errors as there. Source: `expand_copy`.

    >>> import retrograd as rg
    >>> rg.expand_copy(rg.tensor([1, 2]), (2, 2))
    tensor([[1, 2],
            [1, 2]])
    """
    return _copied(expand_copy, expand(input, size), out)


def narrow_copy(
    input: Tensor, dim: int, start: Any, length: int, *, out: Tensor | None = None
) -> Tensor:
    """`narrow` as a copy; errors as there. Source: PyTorch's `narrow_copy`.

    >>> import retrograd as rg
    >>> rg.narrow_copy(rg.tensor([1, 2, 3]), 0, 1, 2)
    tensor([2, 3])
    """
    return _copied(narrow_copy, narrow(input, dim, start, length), out)


def permute_copy(input: Tensor, dims: Any, *, out: Tensor | None = None) -> Tensor:
    """`permute` as a copy; errors as there. Source: PyTorch's `permute_copy`.

    >>> import retrograd as rg
    >>> rg.permute_copy(rg.tensor([[1, 2], [3, 4]]), (1, 0))
    tensor([[1, 3],
            [2, 4]])
    """
    return _copied(permute_copy, permute(input, dims), out)


def select_copy(input: Tensor, dim: int, index: int, *, out: Tensor | None = None) -> Tensor:
    """`select` as a copy; errors as there. Source: PyTorch's `select_copy`.

    >>> import retrograd as rg
    >>> rg.select_copy(rg.tensor([[1, 2], [3, 4]]), 0, 1)
    tensor([3, 4])
    """
    return _copied(select_copy, select(input, dim, index), out)


def slice_copy(
    input: Tensor,
    dim: int = 0,
    start: int | None = None,
    end: int | None = None,
    step: int = 1,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The entries `start:end:step` of a dimension as a copy. Source: PyTorch's `slice_copy`.

    >>> import retrograd as rg
    >>> rg.slice_copy(rg.tensor([1, 2, 3, 4]), 0, 1, None, 2)
    tensor([2, 4])
    """
    key = (*[slice(None)] * normalize_dim(dim, input.ndim), slice(start, end, step))
    return _copied(slice_copy, input[key], out)


def split_copy(input: Tensor, split_size: int, dim: int = 0, *, out: Any = None) -> Any:
    """`split` as copies; with `out`, a list of tensors, they are written there.

    Errors as there. Source: PyTorch's `split_copy`.

    >>> import retrograd as rg
    >>> rg.split_copy(rg.tensor([1, 2, 3]), 2)
    (tensor([1, 2]), tensor([3]))
    """
    return _all_copied(split_copy, split(input, split_size, dim), out)


def split_with_sizes_copy(input: Tensor, split_sizes: Any, dim: int = 0, *, out: Any = None) -> Any:
    """`split_with_sizes` as copies; with `out`, a list of tensors, they are written there.

    Errors as there. Source: PyTorch's `split_with_sizes_copy`.

    >>> import retrograd as rg
    >>> rg.split_with_sizes_copy(rg.tensor([1, 2, 3]), [1, 2])
    (tensor([1]), tensor([2, 3]))
    """
    return _all_copied(split_with_sizes_copy, split_with_sizes(input, split_sizes, dim), out)


def squeeze_copy(input: Tensor, dim: Any = None, *, out: Tensor | None = None) -> Tensor:
    """`squeeze` as a copy; errors as there. Source: PyTorch's `squeeze_copy`.

    >>> import retrograd as rg
    >>> rg.squeeze_copy(rg.tensor([[1, 2]]), 0)
    tensor([1, 2])
    """
    return _copied(squeeze_copy, squeeze(input, dim), out)


def t_copy(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`t` as a copy; errors as there. Source: PyTorch's `t_copy`.

    >>> import retrograd as rg
    >>> rg.t_copy(rg.tensor([[1, 2]]))
    tensor([[1],
            [2]])
    """
    return _copied(t_copy, t(input), out)


def transpose_copy(input: Tensor, dim0: int, dim1: int, *, out: Tensor | None = None) -> Tensor:
    """`transpose` as a copy; errors as there. Source: PyTorch's `transpose_copy`.

    >>> import retrograd as rg
    >>> rg.transpose_copy(rg.tensor([[1, 2]]), 0, 1)
    tensor([[1],
            [2]])
    """
    return _copied(transpose_copy, transpose(input, dim0, dim1), out)


def unbind_copy(input: Tensor, dim: int = 0, *, out: Any = None) -> Any:
    """`unbind` as copies; with `out`, a list of tensors, they are written there.

    Errors as there. Source: PyTorch's `unbind_copy`.

    >>> import retrograd as rg
    >>> rg.unbind_copy(rg.tensor([[1, 2], [3, 4]]))
    (tensor([1, 2]), tensor([3, 4]))
    """
    return _all_copied(unbind_copy, unbind(input, dim), out)


def unfold_copy(
    input: Tensor, dimension: int, size: int, step: int, *, out: Tensor | None = None
) -> Tensor:
    """`unfold` as a copy; errors as there. Source: PyTorch's `unfold_copy`.

    >>> import retrograd as rg
    >>> rg.unfold_copy(rg.tensor([1, 2, 3]), 0, 2, 1)
    tensor([[1, 2],
            [2, 3]])
    """
    return _copied(unfold_copy, unfold(input, dimension, size, step), out)


def unsqueeze_copy(input: Tensor, dim: int, *, out: Tensor | None = None) -> Tensor:
    """`unsqueeze` as a copy; errors as there. Source: PyTorch's `unsqueeze_copy`.

    >>> import retrograd as rg
    >>> rg.unsqueeze_copy(rg.tensor([1, 2]), 0)
    tensor([[1, 2]])
    """
    return _copied(unsqueeze_copy, unsqueeze(input, dim), out)


def view_as_complex_copy(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`view_as_complex` as a copy; errors as there. Source: PyTorch's `view_as_complex_copy`.

    >>> import retrograd as rg
    >>> rg.view_as_complex_copy(rg.tensor([[1.0, 2.0]]))
    tensor([1.+2.j])
    """
    return _copied(view_as_complex_copy, view_as_complex(input), out)


def view_as_real_copy(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`view_as_real` as a copy; errors as there. Source: PyTorch's `view_as_real_copy`.

    >>> import retrograd as rg
    >>> rg.view_as_real_copy(rg.tensor([1 + 2j]))
    tensor([[1., 2.]])
    """
    return _copied(view_as_real_copy, view_as_real(input), out)


def view_copy(
    input: Tensor, size: Any = None, dtype: Any = None, *, out: Tensor | None = None
) -> Tensor:
    """`view` as a copy, with another shape or as another dtype; errors as there.

    Source: PyTorch's `view_copy`.

    >>> import retrograd as rg
    >>> rg.view_copy(rg.tensor([1, 2, 3, 4]), (2, 2))
    tensor([[1, 2],
            [3, 4]])
    """
    seen = view(input, size) if dtype is None else view(input, dtype=dtype)
    return _copied(view_copy, seen, out)


method(narrow_copy)
