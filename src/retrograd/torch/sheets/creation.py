"""New tensors as PyTorch has them: NOTE [Sheets]."""

SHEET = """
overloads: arange.default.start.start_step empty.memory_format eye.default.m
    linspace.Tensor_Tensor.Tensor_Scalar.Scalar_Tensor.default
    logspace.Tensor_Tensor.Tensor_Scalar.Scalar_Tensor.default
no operator: as_tensor asarray from_file from_numpy frombuffer new_tensor tensor
"""
