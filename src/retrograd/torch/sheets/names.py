"""Functions by PyTorch's older and internal names as PyTorch has them: NOTE [Sheets]."""

SHEET = """
no operator: are_deterministic_algorithms_enabled compiled_with_cxx11_abi const_data_ptr dim_order
    eig fake_quantize_per_channel_affine fake_quantize_per_tensor_affine
    get_deterministic_debug_mode get_float32_matmul_precision get_num_interop_threads
    get_num_threads is_deterministic_algorithms_warn_only_enabled is_vulkan_available lobpcg lstsq
    lu matrix_rank new reinforce resize resize_as set_anomaly_enabled set_default_tensor_type
    set_deterministic_debug_mode set_float32_matmul_precision set_flush_denormal
    set_num_interop_threads set_num_threads solve symeig triangular_solve
    use_deterministic_algorithms
overloads: _foreach_add.Scalar.List.ScalarList.Tensor _foreach_addcdiv.Scalar.ScalarList.Tensor
    _foreach_addcmul.Scalar.ScalarList.Tensor _foreach_clamp_max.Scalar.List.ScalarList
    _foreach_clamp_min.Scalar.List.ScalarList _foreach_div.Scalar.List.ScalarList.Tensor
    _foreach_lerp.List.Scalar.ScalarList _foreach_maximum.Scalar.List.ScalarList
    _foreach_minimum.Scalar.List.ScalarList _foreach_mul.Scalar.List.ScalarList.Tensor
    _foreach_norm.Scalar _foreach_pow.List.Scalar.ScalarList.ScalarAndTensor
    _foreach_pow_.List.Scalar.ScalarList _foreach_sub.Scalar.List.ScalarList ctc_loss.IntList.Tensor
    embedding_bag.default.padding_idx frobenius_norm.dim nuclear_norm.default.dim qr.default.Q
    range.step.default select_copy.int slice_copy.Tensor split_copy.Tensor
    squeeze_copy.default.dim.dims svd.default.U transpose_copy.int unbind_copy.int
composed: alpha_dropout batch_norm cosine_embedding_loss ctc_loss dropout embedding_bag
    feature_alpha_dropout feature_dropout frobenius_norm grid_sampler group_norm
    hinge_embedding_loss instance_norm is_distributed kl_div layer_norm lu_solve margin_ranking_loss
    norm_except_dim nuclear_norm pin_memory poisson_nll_loss qr slogdet svd triplet_margin_loss
    vander
basic: grid_sampler_2d grid_sampler_3d
float32: binary_cross_entropy_with_logits cholesky cosine_embedding_loss ctc_loss grid_sampler
    grid_sampler_2d grid_sampler_3d hinge_embedding_loss kl_div lu lu_solve margin_ranking_loss
    poisson_nll_loss qr svd triangular_solve triplet_margin_loss
no tensors: pin_memory
part of it: binary_cross_entropy_with_logits
"""
