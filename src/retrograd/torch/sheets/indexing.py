"""Indices and writes as PyTorch has them: NOTE [Sheets]."""

SHEET = """
no operator: apply_ map2_ map_ resize_as_
overloads: copy_.default.Tensor fill.Scalar.Tensor _unsafe_index.Tensor index.Tensor
    index_fill.int_Tensor.int_Scalar
    masked_fill.Scalar.Tensor scatter.value.src.reduce.value_reduce
    scatter_.src.value.reduce.value_reduce scatter_reduce.two set_.default.source_Tensor
    slice.Tensor
composed: fill_diagonal_ take_along_dim
part of it: copy scatter
widest: index_copy
"""
