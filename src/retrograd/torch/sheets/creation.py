"""New tensors as PyTorch has them: NOTE [Sheets]."""

SHEET = """
no operator: as_tensor asarray from_file from_numpy frombuffer new_tensor tensor
overloads: arange.default.start.start_step empty.memory_format eye.default.m
    linspace.Tensor_Tensor.Tensor_Scalar.Scalar_Tensor.default
    logspace.Tensor_Tensor.Tensor_Scalar.Scalar_Tensor.default
numbers: arange new_full
unrecorded: empty_like full_like new_empty new_full new_ones new_zeros ones_like zeros_like
"""
