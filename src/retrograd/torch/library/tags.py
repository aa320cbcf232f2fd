"""Tags of operators for PyTorch's compiler: accepted, and read by nothing here."""

from __future__ import annotations

import enum

__all__ = ["Tag"]


class Tag(enum.Enum):
    """A mark for `tags=` of an operator, by PyTorch's names.

    >>> from retrograd import library
    >>> library.define("marked::same", "(Tensor x) -> Tensor", tags=[rg.Tag.pt2_compliant_tag])
    """

    core = enum.auto()
    cudagraph_unsafe = enum.auto()
    data_dependent_output = enum.auto()
    dynamic_output_shape = enum.auto()
    flexible_layout = enum.auto()
    generated = enum.auto()
    inplace = enum.auto()
    inplace_view = enum.auto()
    maybe_aliasing_or_mutating = enum.auto()
    needs_contiguous_strides = enum.auto()
    needs_exact_strides = enum.auto()
    needs_fixed_stride_order = enum.auto()
    nondeterministic_bitwise = enum.auto()
    nondeterministic_seeded = enum.auto()
    out = enum.auto()
    out_variant = enum.auto()
    pointwise = enum.auto()
    pt2_compliant_tag = enum.auto()
    reduction = enum.auto()
    view_copy = enum.auto()
