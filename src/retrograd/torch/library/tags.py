"""Tags of operators for PyTorch's compiler: accepted, and read by nothing here."""

from __future__ import annotations

import enum

__all__ = ["Tag"]


NAMES = (
    "core cudagraph_unsafe data_dependent_output dynamic_output_shape flexible_layout generated "
    "inplace inplace_view maybe_aliasing_or_mutating needs_contiguous_strides needs_exact_strides "
    "needs_fixed_stride_order nondeterministic_bitwise nondeterministic_seeded out out_variant "
    "pointwise pt2_compliant_tag reduction view_copy"
)

Tag = enum.Enum("Tag", NAMES, module=__name__)  # type: ignore[misc]
Tag.__doc__ = """A mark for `tags=` of an operator, by PyTorch's names.

>>> from retrograd import library
>>> library.define("marked::same", "(Tensor x) -> Tensor", tags=[rg.Tag.pt2_compliant_tag])
"""
