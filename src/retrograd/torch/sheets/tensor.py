"""What tensors tell of themselves, and what they become as PyTorch has them: NOTE [Sheets]."""

SHEET = """
no operator: as_subclass backward bfloat16 bool byte cdouble cfloat char data_ptr double float
    from_dlpack get_printoptions half int is_shared long module_load ndimension nelement numpy
    printoptions register_hook register_post_accumulate_grad_hook share_memory_ short storage
    storage_type to_device tolist type untyped_storage
overloads: is_contiguous.default.memory_format result_type.Tensor.Scalar.Scalar_Tensor
    size.int.default stride.int.default to.device.dtype.other.dtype_layout
composed: chalf cpu cuda dim element_size get_device is_complex is_contiguous is_floating_point
    is_inference is_nonzero is_signed item numel requires_grad_ result_type retain_grad size
    storage_offset stride to type_as
lower:
no tensors: dim element_size get_device item numel requires_grad_ result_type retain_grad size
    storage_offset stride
unrecorded: _local_scalar_dense
"""
