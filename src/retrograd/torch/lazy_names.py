"""What is in the families that load later. docs/make_families.py writes this file.

By family, a module of this package: the methods of tensors, the ops and the public names.
"""

from __future__ import annotations

__all__ = ["METHODS", "NAMES", "OPS"]

METHODS = {
    "layouts.nested.functions": "to_padded_tensor",
    "layouts.sparse.methods": (
        "_coalesced_ _indices _nnz _values ccol_indices coalesce col_indices crow_indices "
        "dense_dim indices is_coalesced row_indices sparse_dim sparse_mask to_dense to_sparse "
        "to_sparse_bsc to_sparse_bsr to_sparse_coo to_sparse_csc to_sparse_csr values"
    ),
    "names.deprecated": "eig lstsq solve symeig",
    "names.deprecated_linalg": "cholesky lu lu_solve qr slogdet svd triangular_solve",
    "names.deprecated_methods": (
        "__div__ __idiv__ __long__ __nonzero__ _fix_weakref const_data_ptr dim_order "
        "is_distributed new pin_memory reinforce resize resize_as"
    ),
    "names.view_copies": "narrow_copy",
}

OPS = {
    "layouts.nested.array": "nested_of values_of",
    "layouts.sparse.records": "densify entries from_entries picked sampled_mm sparse_mm",
}

NAMES = {
    "layouts.sparse.compressed": (
        "sparse_bsc_tensor sparse_bsr_tensor sparse_compressed_tensor sparse_csc_tensor "
        "sparse_csr_tensor"
    ),
    "layouts.sparse.factories": "sparse_coo_tensor",
    "layouts.sparse.functions": "dsmm spmm",
    "names.aten": (
        "alpha_dropout alpha_dropout_ batch_norm binary_cross_entropy_with_logits celu_ "
        "channel_shuffle cosine_embedding_loss cosine_similarity ctc_loss dropout dropout_ "
        "embedding feature_alpha_dropout feature_alpha_dropout_ feature_dropout feature_dropout_ "
        "group_norm hinge_embedding_loss instance_norm kl_div layer_norm margin_ranking_loss "
        "native_channel_shuffle pairwise_distance pixel_shuffle pixel_unshuffle poisson_nll_loss "
        "relu_ rms_norm rrelu_ selu_ sigmoid_ tanh_ threshold_ triplet_margin_loss"
    ),
    "names.aten_kernels": (
        "affine_grid_generator convolution embedding_bag embedding_renorm_ grid_sampler "
        "grid_sampler_2d grid_sampler_3d native_batch_norm native_dropout native_group_norm "
        "native_layer_norm norm_except_dim"
    ),
    "names.deprecated": (
        "eig frobenius_norm lstsq matrix_rank nuclear_norm range solve symeig vander"
    ),
    "names.deprecated_linalg": "cholesky lu lu_solve qr slogdet svd triangular_solve",
    "names.deprecated_methods": "is_distributed",
    "names.fake_quantize": "fake_quantize_per_channel_affine fake_quantize_per_tensor_affine",
    "names.flags": (
        "are_deterministic_algorithms_enabled compiled_with_cxx11_abi "
        "get_deterministic_debug_mode get_float32_matmul_precision get_num_interop_threads "
        "get_num_threads has_cuda has_cudnn has_lapack has_mkl has_mkldnn has_mps has_openmp "
        "has_spectral is_deterministic_algorithms_warn_only_enabled is_vulkan_available "
        "set_anomaly_enabled set_deterministic_debug_mode set_float32_matmul_precision "
        "set_flush_denormal set_num_interop_threads set_num_threads use_deterministic_algorithms"
    ),
    "names.inplace_functions": (
        "abs_ acos_ acosh_ addmv_ arccos_ arccosh_ arcsin_ arcsinh_ arctan_ arctanh_ as_strided_ "
        "asin_ asinh_ atan_ atanh_ ceil_ clamp_ clamp_max_ clamp_min_ clip_ conj_physical_ cos_ "
        "cosh_ deg2rad_ detach_ erf_ erfc_ exp2_ exp_ expm1_ fill_ fix_ floor_ frac_ gcd_ i0_ "
        "index_put_ lcm_ ldexp_ log10_ log1p_ log2_ log_ logit_ nan_to_num_ neg_ negative_ "
        "rad2deg_ reciprocal_ resize_as_ round_ rsqrt_ sin_ sinc_ sinh_ sqrt_ square_ tan_ trunc_ "
        "xlogy_ zero_"
    ),
    "names.lobpcg": "lobpcg",
    "names.tensor_types": (
        "BoolTensor ByteTensor CharTensor DoubleTensor FloatTensor HalfTensor IntTensor "
        "LongTensor ShortTensor set_default_tensor_type typename"
    ),
    "names.view_copies": (
        "alias_copy as_strided_copy detach_copy diagonal_copy expand_copy narrow_copy "
        "permute_copy select_copy slice_copy split_copy split_with_sizes_copy squeeze_copy t_copy "
        "transpose_copy unbind_copy unfold_copy unsqueeze_copy view_as_complex_copy "
        "view_as_real_copy view_copy"
    ),
}
