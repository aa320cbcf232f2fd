"""The names of PyTorch's operators that are here, by their overloads, and which takes a call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ... import dtypes
from ...engine.tensor import Tensor

__all__ = ["OVERLOADS", "chosen"]

NAMES = {
    "default": (
        "_foreach_abs _foreach_abs_ _foreach_acos _foreach_acos_ _foreach_asin _foreach_asin_ "
        "_foreach_atan _foreach_atan_ _foreach_ceil _foreach_ceil_ _foreach_clone _foreach_copy_ "
        "_foreach_cos _foreach_cos_ _foreach_cosh _foreach_cosh_ _foreach_erf _foreach_erf_ "
        "_foreach_erfc _foreach_erfc_ _foreach_exp _foreach_exp_ _foreach_expm1 _foreach_expm1_ "
        "_foreach_floor _foreach_floor_ _foreach_frac _foreach_frac_ _foreach_lgamma "
        "_foreach_lgamma_ _foreach_log _foreach_log10 _foreach_log10_ _foreach_log1p "
        "_foreach_log1p_ _foreach_log2 _foreach_log2_ _foreach_log_ _foreach_max _foreach_neg "
        "_foreach_neg_ _foreach_reciprocal _foreach_reciprocal_ _foreach_round _foreach_round_ "
        "_foreach_rsqrt _foreach_rsqrt_ _foreach_sigmoid _foreach_sigmoid_ _foreach_sign "
        "_foreach_sign_ _foreach_sin _foreach_sin_ _foreach_sinh _foreach_sinh_ _foreach_sqrt "
        "_foreach_sqrt_ _foreach_tan _foreach_tan_ _foreach_tanh _foreach_tanh_ _foreach_trunc "
        "_foreach_trunc_ _foreach_zero_ _local_scalar_dense _log_softmax _pin_memory _softmax "
        "_sparse_addmm _to_copy abs abs_ absolute absolute_ acos acos_ acosh acosh_ "
        "adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool1d "
        "adaptive_max_pool2d adaptive_max_pool3d addbmm addbmm_ addcdiv addcdiv_ addcmul addcmul_ "
        "addmm addmm_ addmv addmv_ addr addr_ adjoint affine_grid_generator alias alias_copy "
        "allclose alpha_dropout alpha_dropout_ amax amin aminmax angle arccos arccos_ arccosh "
        "arccosh_ arcsin arcsin_ arcsinh arcsinh_ arctan arctan2 arctan2_ arctan_ arctanh "
        "arctanh_ argmax argmin argwhere as_strided as_strided_ as_strided_copy "
        "as_strided_scatter asin asin_ asinh asinh_ atan atan2 atan2_ atan_ atanh atanh_ "
        "avg_pool1d avg_pool2d avg_pool3d baddbmm baddbmm_ batch_norm bilinear "
        "binary_cross_entropy binary_cross_entropy_with_logits bincount binomial bitwise_not "
        "bitwise_not_ block_diag bmm broadcast_tensors broadcast_to cartesian_prod cat cauchy_ "
        "ccol_indices cdist ceil ceil_ celu celu_ chain_matmul chalf channel_shuffle cholesky "
        "cholesky_inverse cholesky_solve chunk clone coalesce col_indices column_stack "
        "combinations complex concat concatenate conj conj_physical conj_physical_ "
        "constant_pad_nd contiguous conv_tbc conv_transpose1d convolution convolution_backward "
        "copy corrcoef cos cos_ cosh cosh_ cosine_embedding_loss cosine_similarity cov cpu cross "
        "cross_entropy_loss crow_indices cuda cummax cummin cumprod cumprod_ cumsum cumsum_ "
        "deg2rad deg2rad_ dense_dim det detach detach_ detach_copy diag diag_embed diagflat "
        "diagonal diagonal_copy diagonal_scatter diff digamma digamma_ dim dist dot dropout "
        "dropout_ dstack einsum element_size elu elu_ embedding embedding_renorm_ empty_like "
        "empty_permuted empty_strided equal erf erf_ erfc erfc_ erfinv erfinv_ exp exp2 exp2_ "
        "exp_ expand expand_as expand_copy expm1 expm1_ exponential_ feature_alpha_dropout "
        "feature_alpha_dropout_ feature_dropout feature_dropout_ fft_fft fft_fft2 fft_fftfreq "
        "fft_fftn fft_fftshift fft_hfft fft_hfft2 fft_hfftn fft_ifft fft_ifft2 fft_ifftn "
        "fft_ifftshift fft_ihfft fft_ihfft2 fft_ihfftn fft_irfft fft_irfft2 fft_irfftn fft_rfft "
        "fft_rfft2 fft_rfftfreq fft_rfftn fill_diagonal_ fix fix_ flip fliplr flipud floor floor_ "
        "fmax fmin frac frac_ full full_like gather gcd gcd_ gelu geometric_ ger get_device glu "
        "grid_sampler grid_sampler_2d grid_sampler_2d_backward grid_sampler_3d "
        "grid_sampler_3d_backward group_norm gru_cell hardshrink hardsigmoid hardsigmoid_ "
        "hardswish hardswish_ hardtanh hardtanh_ heaviside heaviside_ hinge_embedding_loss histc "
        "hstack huber_loss hypot hypot_ i0 i0_ igamma igamma_ igammac igammac_ imag index_add "
        "index_add_ index_copy index_copy_ index_put index_put_ index_reduce index_reduce_ "
        "index_select indices inner instance_norm inverse is_coalesced is_complex is_conj "
        "is_distributed is_floating_point is_inference is_neg is_nonzero is_pinned is_same_size "
        "is_set_to is_signed isclose isfinite isinf isnan isneginf isposinf isreal istft item "
        "kl_div kron l1_loss layer_norm lcm lcm_ ldexp_ leaky_relu leaky_relu_ lgamma lgamma_ "
        "lift_fresh lift_fresh_copy linalg_cholesky linalg_cross linalg_det linalg_diagonal "
        "linalg_eig linalg_eigvals linalg_eigvalsh linalg_householder_product linalg_inv "
        "linalg_ldl_factor linalg_ldl_factor_ex linalg_ldl_solve linalg_lstsq linalg_lu "
        "linalg_lu_factor linalg_lu_factor_ex linalg_lu_solve linalg_matmul linalg_matrix_exp "
        "linalg_matrix_power linalg_multi_dot linalg_qr linalg_slogdet linalg_solve "
        "linalg_solve_ex linalg_solve_triangular linalg_svdvals linalg_tensorinv "
        "linalg_tensorsolve linalg_vander linalg_vecdot linalg_vector_norm linear log log10 "
        "log10_ log1p log1p_ log2 log2_ log_ log_normal_ logaddexp logaddexp2 logcumsumexp logdet "
        "logical_and logical_and_ logical_not logical_not_ logical_or logical_or_ logical_xor "
        "logical_xor_ logit logit_ logsumexp lstm_cell lu_solve lu_unpack margin_ranking_loss "
        "masked_scatter masked_scatter_ masked_select matmul matrix_exp matrix_power max_pool1d "
        "max_pool1d_with_indices max_pool2d max_pool2d_with_indices max_pool3d "
        "max_pool3d_with_indices maximum minimum mish mish_ mm mse_loss msort multinomial mv "
        "mvlgamma mvlgamma_ nan_to_num nan_to_num_ nanmean nansum narrow_copy native_batch_norm "
        "native_channel_shuffle native_dropout native_group_norm native_layer_norm neg neg_ "
        "negative negative_ new_empty new_empty_strided new_full new_ones new_zeros nextafter "
        "nextafter_ nonzero nonzero_static norm_except_dim normal_ numel one_hot ones ones_like "
        "orgqr ormqr outer pad pairwise_distance pdist permute permute_copy pin_memory pinverse "
        "pixel_shuffle pixel_unshuffle poisson poisson_nll_loss polar polygamma polygamma_ "
        "positive prelu put put_ rad2deg rad2deg_ ravel real reciprocal reciprocal_ relu relu6 "
        "relu6_ relu_ renorm renorm_ repeat requires_grad_ reshape reshape_as resize_ "
        "resolve_conj resolve_neg retain_grad rms_norm rnn_relu_cell rnn_tanh_cell roll rot90 "
        "row_indices row_stack rrelu rrelu_ rsqrt rsqrt_ scalar_tensor "
        "scaled_dot_product_attention scatter_add scatter_add_ segment_reduce select_scatter selu "
        "selu_ sgn sgn_ sigmoid sigmoid_ sign sign_ signbit silu silu_ sin sin_ sinc sinc_ sinh "
        "sinh_ slice_scatter slogdet smooth_l1_loss softplus softshrink sparse_dim sparse_mask "
        "special_airy_ai special_bessel_j0 special_bessel_j1 special_bessel_y0 special_bessel_y1 "
        "special_digamma special_entr special_erf special_erfc special_erfcx special_erfinv "
        "special_exp2 special_expit special_expm1 special_gammainc special_gammaincc "
        "special_gammaln special_i0 special_i0e special_i1 special_i1e special_log1p "
        "special_log_ndtr special_log_softmax special_logit special_logsumexp "
        "special_modified_bessel_i0 special_modified_bessel_i1 special_modified_bessel_k0 "
        "special_modified_bessel_k1 special_multigammaln special_ndtr special_ndtri "
        "special_polygamma special_psi special_round special_scaled_modified_bessel_k0 "
        "special_scaled_modified_bessel_k1 special_sinc special_softmax "
        "special_spherical_bessel_j0 split_with_sizes split_with_sizes_copy sqrt sqrt_ square "
        "square_ stack storage_offset sum_to_size swapaxes swapaxes_ swapdims swapdims_ t t_ "
        "t_copy take take_along_dim tan tan_ tanh tanh_ threshold threshold_ tile to_dense "
        "to_sparse_csc to_sparse_csr trace transpose_ tril tril_ tril_indices triplet_margin_loss "
        "triu triu_ triu_indices trunc trunc_ type_as unfold unfold_copy uniform_ "
        "unique_consecutive unsafe_chunk unsafe_split_with_sizes unsqueeze unsqueeze_ "
        "unsqueeze_copy upsample_bicubic2d_backward upsample_bilinear2d_backward "
        "upsample_linear1d_backward upsample_nearest1d_backward upsample_nearest2d_backward "
        "upsample_nearest3d_backward upsample_trilinear3d_backward vander vdot view_as "
        "view_as_complex view_as_complex_copy view_as_real view_as_real_copy view_copy vstack "
        "zero_ zeros zeros_like"
    ),
    "Tensor Scalar": (
        "add add_ bitwise_and_ bitwise_or_ bitwise_xor_ bucketize copysign copysign_ eq "
        "float_power_ floor_divide_ fmod fmod_ ge greater greater_equal gt le less less_equal lt "
        "mul mul_ multiply multiply_ ne not_equal remainder_ searchsorted sub sub_ subtract "
        "subtract_ true_divide true_divide_"
    ),
    "Scalar Tensor": (
        "eq_ fill fill_ ge_ greater_ greater_equal_ gt_ le_ lerp lerp_ less_ less_equal_ lt_ "
        "masked_fill masked_fill_ ne_ not_equal_ pow_"
    ),
    "default x_scalar n_scalar": (
        "special_chebyshev_polynomial_t special_chebyshev_polynomial_u "
        "special_chebyshev_polynomial_v special_chebyshev_polynomial_w "
        "special_hermite_polynomial_h special_hermite_polynomial_he special_laguerre_polynomial_l "
        "special_legendre_polynomial_p special_shifted_chebyshev_polynomial_t "
        "special_shifted_chebyshev_polynomial_u special_shifted_chebyshev_polynomial_v "
        "special_shifted_chebyshev_polynomial_w"
    ),
    "default Tensor": (
        "clamp clamp_ clamp_max clamp_max_ clamp_min clamp_min_ clip clip_ copy_ narrow values"
    ),
    "Scalar List ScalarList": (
        "_foreach_clamp_max _foreach_clamp_max_ _foreach_clamp_min _foreach_clamp_min_ "
        "_foreach_maximum _foreach_maximum_ _foreach_minimum _foreach_minimum_ _foreach_sub "
        "_foreach_sub_"
    ),
    "int": (
        "log_softmax select select_copy softmax sym_size transpose transpose_copy unbind "
        "unbind_copy unflatten"
    ),
    "Tensor": "frexp index ldexp rsub slice slice_copy split_copy unsafe_split",
    "Scalar List ScalarList Tensor": (
        "_foreach_add _foreach_add_ _foreach_div _foreach_div_ _foreach_mul _foreach_mul_"
    ),
    "Tensor Scalar Scalar_Tensor": "bitwise_and bitwise_or bitwise_xor remainder result_type",
    "default dim dims": "all any squeeze squeeze_ squeeze_copy",
    "default generator": "rand rand_like randn randn_like randperm",
    "Scalar ScalarList Tensor": (
        "_foreach_addcdiv _foreach_addcdiv_ _foreach_addcmul _foreach_addcmul_"
    ),
    "default dim correction": "std std_mean var var_mean",
    "input data": "gru lstm rnn_relu rnn_tanh",
    "List Scalar ScalarList": "_foreach_lerp _foreach_lerp_ _foreach_pow_",
    "default Sequence": "atleast_1d atleast_2d atleast_3d",
    "default other_scalar self_scalar": "special_xlog1py special_xlogy special_zeta",
    "deprecated default": "_convolution",
    "default padding": "conv1d conv2d conv3d",
    "default periodic": "bartlett_window blackman_window hann_window",
    "default values": "kthvalue mode topk",
    "int array": "dsplit hsplit vsplit",
    "x dx": "cumulative_trapezoid trapezoid trapz",
    "Tensor Scalar Tensor_mode Scalar_mode": "div divide",
    "Tensor Tensor_Scalar Scalar_Tensor": "bitwise_left_shift bitwise_right_shift",
    "Tensor_Scalar Tensor": "bitwise_left_shift_ bitwise_right_shift_",
    "Tensor_Tensor Tensor_Scalar Scalar": "float_power pow",
    "Tensor_Tensor Tensor_Scalar Scalar_Tensor default": "linspace logspace",
    "default U": "linalg_svd svd",
    "default decimals": "round round_",
    "default dim": "mean nuclear_norm",
    "default dim dim_values": "median nanmedian",
    "default scalar": "nanquantile quantile",
    "input": "conv_transpose2d conv_transpose3d",
    "int default": "size stride",
    "int_Tensor int_Scalar": "index_fill index_fill_",
    "two": "scatter_reduce scatter_reduce_",
    "IntList Tensor": "ctc_loss",
    "List Scalar ScalarList ScalarAndTensor": "_foreach_pow",
    "Scalar": "_foreach_norm",
    "Scalar ScalarOpt_dim ScalarOpt_dim_dtype ScalarOpt_dtype": "norm",
    "Tensor Scalar_Other": "xlogy_",
    "Tensor Scalar_Other Scalar_Self": "xlogy",
    "Tensor Tensor_mode Scalar Scalar_mode": "div_",
    "Tensor Tensor_mode Scalar_mode Scalar": "divide_",
    "Tensor float": "bernoulli_",
    "Tensor self_Tensor self_int": "repeat_interleave",
    "Tensor sizes default": "split",
    "Tensor_Tensor Tensor_Scalar Scalar_Tensor": "isin",
    "Tensor_float float_Tensor Tensor_Tensor float_float": "normal",
    "bins_tensor bin_ct": "histogram",
    "ccol_row_value_size ccol_row_value": "sparse_csc_tensor",
    "crow_col_value_size crow_col_value": "sparse_csr_tensor",
    "default L": "linalg_cholesky_ex",
    "default Q": "qr",
    "default Scalar": "floor_divide",
    "default Tensor low_dtype generator Tensor_generator low_generator_dtype": "randint_like",
    "default a": "geqrf",
    "default atol_rtol_float atol_rtol_tensor rcond_tensor": "linalg_pinv",
    "default center": "stft",
    "default dim_IntList": "count_nonzero",
    "default dim_int": "prod",
    "default dtype": "view",
    "default eigvals": "linalg_eigh",
    "default generator low low_generator": "randint",
    "default indexing": "meshgrid",
    "default int_bins TensorList_bins": "histogramdd",
    "default inverse": "linalg_inv_ex",
    "default m": "eye",
    "default memory_format": "is_contiguous",
    "default ord_str": "linalg_norm",
    "default p Tensor": "bernoulli",
    "default p_str": "linalg_cond",
    "default padding_idx": "embedding_bag",
    "default periodic beta": "kaiser_window",
    "default periodic periodic_alpha periodic_alpha_beta": "hamming_window",
    "default source_Tensor": "set_",
    "default stable": "argsort",
    "default stable values_stable values Tensor": "sort",
    "default start start_step": "arange",
    "default str_ord": "linalg_matrix_norm",
    "default tol_tensor atol_rtol_tensor atol_rtol_float": "linalg_matrix_rank",
    "device dtype other dtype_layout": "to",
    "dim": "frobenius_norm",
    "dim_IntList default": "sum",
    "from to default": "random_",
    "int intlist": "movedim",
    "intlist int": "moveaxis",
    "memory_format": "empty",
    "other default dim dim_max": "max",
    "other default dim dim_min": "min",
    "scalarint scalararray array scalarrayint scalarrayarray tensorarrayint tensorarray": (
        "gradient"
    ),
    "sections indices tensor_indices_or_sections": "tensor_split",
    "self ScalarOther ScalarSelf Scalar default": "where",
    "size indices indices_size": "sparse_coo_tensor",
    "sparse_dim default": "to_sparse",
    "src value reduce value_reduce": "scatter_",
    "step default": "range",
    "using_ints": "flatten",
    "vec": (
        "upsample_bicubic2d upsample_bilinear2d upsample_linear1d upsample_nearest1d "
        "upsample_nearest2d upsample_nearest3d upsample_trilinear3d"
    ),
    "value src reduce value_reduce": "scatter",
}

OVERLOADS = {
    name: overloads.split() for overloads, names in NAMES.items() for name in names.split()
}

ARITHMETIC = {"add", "sub", "mul", "div", "floor_divide", "split"}  # of tensors, with numbers, too
PLACES = {"masked_fill": (2,), "lerp": (2,), "clamp": (1, 2)}  # of what decides, if not the second


def is_tensor(args: Any, *places: int) -> bool:
    """Whether there is a tensor at one of some places."""
    return any(len(args) > place and isinstance(args[place], Tensor) for place in places)


def is_number(args: Any, place: int) -> bool:
    """Whether there is a number at a place."""
    return len(args) > place and isinstance(args[place], (int, float, complex))


# By overload, in the order in which they are tried: whether it takes the arguments (by name of the
# operator, arguments, keywords).
FITS: dict[str, Callable[[str, Any, Any], bool]] = {
    "Tensor_mode": lambda name, args, named: "rounding_mode" in named,
    "stable": lambda name, args, named: "stable" in named,
    "dtype": lambda name, args, named: len(args) > 1 and isinstance(args[1], dtypes.dtype),
    "correction": lambda name, args, named: True,
    "decimals": lambda name, args, named: "decimals" in named or len(args) > 1,
    "Tensor_Tensor": lambda name, args, named: is_tensor(args, 0) and is_tensor(args, 1),
    "Tensor_Scalar": lambda name, args, named: is_tensor(args, 0) and is_number(args, 1),
    "Scalar_Tensor": lambda name, args, named: is_number(args, 0) and is_tensor(args, 1),
    "Scalar_Self": lambda name, args, named: is_number(args, 0),
    "int_Scalar": lambda name, args, named: is_number(args, 3),
    "int_Tensor": lambda name, args, named: is_tensor(args, 3),
    "Tensor": lambda name, args, named: (
        (name != "copy_" and is_tensor(args, *PLACES.get(name.rstrip("_"), (1,))))
        or (is_number(args, 1) and name.rstrip("_") in ARITHMETIC)
    ),
    "Scalar": lambda name, args, named: (
        is_number(args, 0) or is_number(args, PLACES.get(name.rstrip("_"), (1,))[0])
    ),
    **dict.fromkeys(
        ["Scalar_Other", "bin_ct", "self_int"], lambda name, args, named: is_number(args, 1)
    ),
    "m": lambda name, args, named: len(args) > 1,
    "float_float": lambda name, args, named: is_number(args, 0) and is_number(args, 1),
    "float_Tensor": lambda name, args, named: is_number(args, 0),
    "other": lambda name, args, named: is_tensor(args, 1),
    "dim_IntList": lambda name, args, named: len(args) > 1 or "dim" in named,
    "dims": lambda name, args, named: len(args) > 1 and isinstance(args[1], list),
    "dim": lambda name, args, named: len(args) > 1 or "dim" in named,
    "dim_int": lambda name, args, named: len(args) > 1 or "dim" in named,
    **dict.fromkeys(["from", "low", "start_step"], lambda name, args, named: len(args) > 2),
    "to": lambda name, args, named: len(args) > 1,
    "start": lambda name, args, named: len(args) > 1,
    "src": lambda name, args, named: is_tensor(args, 3),
    "value": lambda name, args, named: is_number(args, 3),
    "self": lambda name, args, named: True,
}


def chosen(name: str, args: Any, named: Any) -> str:
    """The overload of an operator that takes these arguments: rule 3."""
    options = OVERLOADS[name]
    for option, fits in FITS.items():
        if len(options) > 1 and option in options and fits(name, args, named):
            return option
    return "default" if "default" in options else options[0]
