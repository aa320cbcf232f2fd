"""Order as PyTorch has them: NOTE [Sheets]."""

SHEET = """
overloads: argsort.default.stable isin.Tensor_Tensor.Tensor_Scalar.Scalar_Tensor
    kthvalue.default.values sort.default.stable.values_stable.values.Tensor topk.default.values
no operator: unique unravel_index
"""
