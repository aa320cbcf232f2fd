"""Order as PyTorch has them: NOTE [Sheets]."""

SHEET = """
no operator: unique unravel_index
overloads: argsort.default.stable isin.Tensor_Tensor.Tensor_Scalar.Scalar_Tensor
    kthvalue.default.values sort.default.stable.values_stable.values.Tensor topk.default.values
composed: argsort argwhere msort
along: argsort sort topk
part of it: unique_consecutive
unrecorded: isin nonzero nonzero_static
"""
