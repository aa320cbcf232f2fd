"""What is in the families that load later. docs/make_families.py writes this file.

By family, a module of this package: the methods of tensors, the ops and the public names.
"""

from __future__ import annotations

__all__ = ["METHODS", "NAMES", "OPS"]

METHODS = {
    "activation.piecewise": "hardshrink prelu relu relu_",
    "activation.smooth": "sigmoid sigmoid_",
    "activation.softmax": "log_softmax logsumexp softmax",
    "creation.new": "new_empty new_full new_ones new_tensor new_zeros",
    "creation.strided": "new_empty_strided",
    "elementwise.clamp_where": (
        "clamp clamp_ clamp_max clamp_max_ clamp_min clamp_min_ clip clip_ fmax fmin maximum "
        "minimum nan_to_num nan_to_num_ where"
    ),
    "elementwise.comparison": (
        "__eq__ __ge__ __gt__ __le__ __lt__ __ne__ allclose eq eq_ equal ge ge_ greater greater_ "
        "greater_equal greater_equal_ gt gt_ isclose isfinite isinf isnan isneginf isposinf "
        "isreal le le_ less less_ less_equal less_equal_ lt lt_ ne ne_ not_equal not_equal_"
    ),
    "elementwise.complex": "__abs__ abs abs_ absolute absolute_ angle sgn sgn_",
    "elementwise.exp_log": (
        "addcdiv addcdiv_ addcmul addcmul_ exp exp2 exp2_ exp_ expm1 expm1_ lerp lerp_ log log10 "
        "log10_ log1p log1p_ log2 log2_ log_ logaddexp logaddexp2 reciprocal reciprocal_ rsqrt "
        "rsqrt_ sqrt sqrt_"
    ),
    "elementwise.float_parts": "frexp gcd gcd_ lcm lcm_ ldexp ldexp_ nextafter nextafter_",
    "elementwise.logic": (
        "__and__ __iand__ __ilshift__ __invert__ __ior__ __irshift__ __ixor__ __lshift__ __or__ "
        "__rand__ __rlshift__ __ror__ __rrshift__ __rshift__ __rxor__ __xor__ bitwise_and "
        "bitwise_and_ bitwise_left_shift bitwise_left_shift_ bitwise_not bitwise_not_ bitwise_or "
        "bitwise_or_ bitwise_right_shift bitwise_right_shift_ bitwise_xor bitwise_xor_ "
        "logical_and logical_and_ logical_not logical_not_ logical_or logical_or_ logical_xor "
        "logical_xor_"
    ),
    "elementwise.power": (
        "__ipow__ __pow__ __rpow__ float_power float_power_ pow pow_ square square_"
    ),
    "elementwise.rounding": (
        "__floordiv__ __ifloordiv__ __imod__ __mod__ __rfloordiv__ __rmod__ ceil ceil_ copysign "
        "copysign_ fix fix_ floor floor_ floor_divide floor_divide_ fmod fmod_ frac frac_ "
        "heaviside heaviside_ remainder remainder_ round round_ sign sign_ signbit trunc trunc_"
    ),
    "elementwise.trigonometry": (
        "acos acos_ acosh acosh_ arccos arccos_ arccosh arccosh_ arcsin arcsin_ arcsinh arcsinh_ "
        "arctan arctan2 arctan2_ arctan_ arctanh arctanh_ asin asin_ asinh asinh_ atan atan2 "
        "atan2_ atan_ atanh atanh_ cos cos_ cosh cosh_ deg2rad deg2rad_ hypot hypot_ rad2deg "
        "rad2deg_ sin sin_ sinc sinc_ sinh sinh_ tan tan_ tanh tanh_"
    ),
    "fft.stft": "istft stft",
    "indexing.assign": (
        "__delitem__ __setitem__ copy_ fill fill_ index_put index_put_ resize_ resize_as_ set_ "
        "zero_"
    ),
    "indexing.elements": "apply_ fill_diagonal_ map2_ map_",
    "indexing.masked_fill": "masked_fill masked_fill_ masked_scatter masked_scatter_",
    "indexing.scatter": (
        "gather index_add index_add_ index_copy index_copy_ index_fill index_fill_ put put_ "
        "scatter scatter_ scatter_add scatter_add_ take_along_dim"
    ),
    "indexing.segment_reduce": "index_reduce index_reduce_ scatter_reduce scatter_reduce_",
    "linalg.cholesky": "cholesky_inverse cholesky_solve",
    "linalg.determinant": "det logdet",
    "linalg.lstsq": "pinverse",
    "linalg.matrix_functions": "addbmm addbmm_ matrix_exp",
    "linalg.matrix_products": (
        "addmm addmm_ addmv addmv_ addr addr_ baddbmm baddbmm_ cross kron matrix_power trace"
    ),
    "linalg.qr": "geqrf orgqr ormqr",
    "linalg.solve": "inverse",
    "random.factories": "bernoulli multinomial",
    "random.inplace": (
        "bernoulli_ cauchy_ exponential_ geometric_ log_normal_ normal_ random_ uniform_"
    ),
    "reduction.covariance": "corrcoef cov",
    "reduction.extrema": "amax amin aminmax argmax argmin max median min mode nanmedian",
    "reduction.histogram": "bincount histc histogram",
    "reduction.quantiles": "nanquantile quantile",
    "reduction.scan": "cummax cummin cumprod cumprod_ cumsum cumsum_ diff logcumsumexp",
    "reduction.variance": "std var",
    "reduction.vector_norm": "dist norm renorm renorm_",
    "shape.functional_scatter": "as_strided_scatter diagonal_scatter select_scatter slice_scatter",
    "shape.join": "repeat repeat_interleave tile",
    "shape.rearrange": (
        "diag diag_embed diagflat flip fliplr flipud roll rot90 tril tril_ triu triu_"
    ),
    "shape.split": (
        "chunk dsplit hsplit split split_with_sizes tensor_split unbind unsafe_chunk unsafe_split "
        "unsafe_split_with_sizes vsplit"
    ),
    "shape.strided": "_view_func as_strided as_strided_",
    "sorting.search": "nonzero_static",
    "sorting.sort": "argsort argwhere kthvalue msort nonzero sort topk unique unique_consecutive",
    "special.bessel": "i0 i0_",
    "special.entropy": "logit logit_ xlogy xlogy_",
    "special.erf_gamma": (
        "digamma digamma_ erf erf_ erfc erfc_ erfinv erfinv_ lgamma lgamma_ polygamma polygamma_"
    ),
    "special.incomplete_gamma": "igamma igamma_ igammac igammac_ mvlgamma mvlgamma_",
    "tensor.conversion": (
        "bfloat16 bool byte cdouble cfloat chalf char double float half int long short to type "
        "type_as"
    ),
    "tensor.dlpack": "__dlpack__ __dlpack_device__",
    "tensor.pickling": "__copy__ __deepcopy__ __reduce_ex__ as_subclass",
    "tensor.printing": "__format__ __repr__ _repr_html_",
    "tensor.sharing": "is_shared share_memory_",
    "tensor.storage": "_typed_storage storage storage_type untyped_storage",
    "tensor.swap": "module_load",
}

OPS = {
    "activation.piecewise": (
        "elu gate hardshrink hardsigmoid hardswish hardtanh leaky_relu prelu relu softshrink "
        "threshold"
    ),
    "activation.smooth": "gelu gelu_tanh log_sigmoid mish sigmoid silu softplus",
    "activation.softmax": "log_softmax logsumexp softmax",
    "elementwise.clamp_where": (
        "clamp_numbers clamp_tensors fmax fmin larger_share maximum minimum nan_to_num"
    ),
    "elementwise.comparison": (
        "eq ge gt isclose isfinite isinf isnan isneginf isposinf isreal le lt ne"
    ),
    "elementwise.complex": "abs angle complex join_parts polar sgn view_as_complex view_as_real",
    "elementwise.exp_log": (
        "addcdiv addcmul exp exp2 expm1 lerp lerp_number log log10 log1p log2 logaddexp "
        "logaddexp2 reciprocal rsqrt sqrt"
    ),
    "elementwise.float_parts": "frexp gcd lcm nextafter times_power_of_two",
    "elementwise.logic": (
        "bitwise_and bitwise_left_shift bitwise_not bitwise_or bitwise_right_shift bitwise_xor "
        "logical_and logical_not logical_or logical_xor"
    ),
    "elementwise.power": "pow pow_base pow_derivative pow_edge pow_tensors zero_base",
    "elementwise.rounding": (
        "ceil copysign floor fmod frac heaviside remainder round round_decimals sign signbit trunc"
    ),
    "elementwise.trigonometry": (
        "acos acosh acosh_derivative asin asin_derivative asinh asinh_derivative atan atan2 atanh "
        "cos cosh deg2rad hypot rad2deg sin sinc sinc_derivative sinh tan tanh"
    ),
    "fft.records": "fft_c2c fft_c2r fft_r2c scale_paired",
    "indexing.assign": "copy fill zero",
    "indexing.masked_fill": "masked_fill",
    "indexing.scatter": "index_add scatter scatter_add scatter_blank scatter_multiply",
    "indexing.segment_reduce": "segment_amax segment_amin segment_prod segment_share",
    "indexing.take_along": "place_along put_along take_along",
    "linalg.checks": "gaps off_diagonal phase_free quotient",
    "linalg.cholesky": "cholesky_ex ldl_factor_ex ldl_solve mirror",
    "linalg.determinant": "adjugate adjugate_derivative det slogdet",
    "linalg.distance": "cdist euclidean_distance",
    "linalg.eigen": "eig eigh eigvals eigvalsh",
    "linalg.lstsq": "pinv",
    "linalg.lu": "lu_factor_ex swap_rows",
    "linalg.matrix_functions": "exp_derivative matrix_exp twice",
    "linalg.matrix_products": "cross",
    "linalg.qr": "geqrf qr",
    "linalg.solve": "inv_ex solve_ex solve_triangular",
    "linalg.svd": "svd svdvals",
    "loss.elementwise": "binary_cross_entropy binary_cross_entropy_with_logits huber mse_loss",
    "nn.adaptive_pool": "adaptive_avg_pool adaptive_avg_pool_input adaptive_max_pool",
    "nn.attention_records": (
        "attention attention_bias_derivative attention_derivative attention_kept"
    ),
    "nn.conv": "conv conv_input conv_weight",
    "nn.dropout": "masked_scale",
    "nn.embedding": "add_rows embedding weighted_rows",
    "nn.interpolate": "resample",
    "nn.normalization_records": "blend dot_to native_batch_norm native_layer_norm real_dot_to",
    "nn.pool": "avg_pool avg_pool_input max_pool pool_gather pool_put pool_scatter",
    "nn.rnn_cells": "gru_gates lstm_gates lstm_layer",
    "random.factories": "drawn_bernoulli drawn_binomial drawn_normals drawn_poisson",
    "random.inplace": (
        "drawn_bernoulli_ drawn_cauchy_ drawn_exponential_ drawn_geometric_ drawn_log_normal_ "
        "drawn_normal_ drawn_random_ drawn_uniform_"
    ),
    "reduction.extrema": (
        "amax amin argmax argmin max max_dim median median_dim min min_dim mode_dim nanmedian "
        "nanmedian_dim tie_share"
    ),
    "reduction.histogram": "searchsorted",
    "reduction.scan": (
        "cummax cummin cumprod cumprod_before cumsum linear_recurrence logcumsumexp shift"
    ),
    "reduction.variance": "div_or_zero std std_mean var var_mean",
    "reduction.vector_norm": "pow_or_zero vector_norm",
    "shape.join": "cat repeat stack",
    "shape.pad": "constant_pad_nd",
    "shape.rearrange": "flip roll tril triu",
    "shape.split": "split unbind",
    "shape.strided": "over_storage",
    "sorting.complex_order": "arranged foremost",
    "sorting.sort": "argsort kthvalue sort topk unique unique_consecutive",
    "special.bessel": "airy bessel_i bessel_ie bessel_j bessel_k bessel_ke bessel_y spherical_j",
    "special.beta_gamma": "beta betainc betaln gamma rgamma",
    "special.entropy": "at_zero_product entr logit xlog1py xlogy",
    "special.erf_gamma": "digamma erf erfc erfcx erfinv lgamma log_ndtr ndtr ndtri polygamma",
    "special.incomplete_gamma": "igamma igammac zeta",
    "special.orthogonal_polynomials": "orthogonal",
}

NAMES = {
    "activation.piecewise": "celu hardshrink prelu relu rrelu selu sigmoid threshold",
    "activation.softmax": "log_softmax logsumexp softmax",
    "creation.like": "empty_like full_like ones_like zeros_like",
    "creation.memory": "from_file frombuffer",
    "creation.strided": "empty_permuted empty_strided",
    "elementwise.clamp_where": (
        "clamp clamp_max clamp_min clip fmax fmin maximum minimum nan_to_num where"
    ),
    "elementwise.comparison": (
        "allclose eq equal ge greater greater_equal gt isclose isfinite isinf isnan isneginf "
        "isposinf isreal le less less_equal lt ne not_equal"
    ),
    "elementwise.complex": "abs absolute angle complex polar sgn view_as_complex view_as_real",
    "elementwise.exp_log": (
        "addcdiv addcmul exp exp2 expm1 lerp log log10 log1p log2 logaddexp logaddexp2 reciprocal "
        "rsqrt sqrt"
    ),
    "elementwise.float_parts": "frexp gcd lcm ldexp nextafter",
    "elementwise.logic": (
        "bitwise_and bitwise_left_shift bitwise_not bitwise_or bitwise_right_shift bitwise_xor "
        "logical_and logical_not logical_or logical_xor"
    ),
    "elementwise.power": "float_power pow square",
    "elementwise.rounding": (
        "ceil copysign fix floor floor_divide fmod frac heaviside remainder round sign signbit "
        "trunc"
    ),
    "elementwise.trigonometry": (
        "acos acosh arccos arccosh arcsin arcsinh arctan arctan2 arctanh asin asinh atan atan2 "
        "atanh cos cosh deg2rad hypot rad2deg sin sinc sinh tan tanh"
    ),
    "fft.stft": "istft stft",
    "fft.window_functions": (
        "bartlett_window blackman_window hamming_window hann_window kaiser_window"
    ),
    "indexing.assign": "fill index_put",
    "indexing.masked_fill": "masked_fill masked_scatter",
    "indexing.scatter": (
        "gather index_add index_copy index_fill put scatter scatter_add take_along_dim"
    ),
    "indexing.segment_reduce": "index_reduce scatter_reduce segment_reduce",
    "linalg.cholesky": "cholesky_inverse cholesky_solve",
    "linalg.determinant": "det logdet",
    "linalg.distance": "cdist pdist",
    "linalg.einsum": "einsum tensordot",
    "linalg.lstsq": "pinverse",
    "linalg.lu": "lu_unpack",
    "linalg.matrix_functions": "addbmm matrix_exp",
    "linalg.matrix_products": (
        "addmm addmv addr baddbmm bilinear chain_matmul cross kron matrix_power trace"
    ),
    "linalg.qr": "geqrf orgqr ormqr",
    "linalg.solve": "inverse",
    "linalg.svd": "pca_lowrank svd_lowrank",
    "nn.adaptive_pool": "adaptive_avg_pool1d",
    "nn.conv": "conv1d conv2d conv3d conv_tbc conv_transpose1d conv_transpose2d conv_transpose3d",
    "nn.pool": "avg_pool1d max_pool1d max_pool2d max_pool3d",
    "nn.pool_with_indices": "adaptive_max_pool1d max_pool1d_with_indices",
    "nn.rnn_cells": "gru_cell lstm_cell rnn_relu_cell rnn_tanh_cell",
    "nn.rnn_layers": "gru lstm rnn_relu rnn_tanh",
    "random.factories": (
        "Generator bernoulli binomial default_generator fork_rng get_rng_state initial_seed "
        "manual_seed multinomial normal poisson rand rand_like randint randint_like randn "
        "randn_like randperm seed set_rng_state"
    ),
    "reduction.covariance": "corrcoef cov",
    "reduction.extrema": "amax amin aminmax argmax argmin max median min mode nanmedian",
    "reduction.finite_difference": "gradient",
    "reduction.histogram": "bincount bucketize histc histogram histogramdd searchsorted",
    "reduction.quantiles": "nanquantile quantile",
    "reduction.scan": (
        "cummax cummin cumprod cumsum cumulative_trapezoid diff logcumsumexp trapezoid trapz"
    ),
    "reduction.variance": "std std_mean var var_mean",
    "reduction.vector_norm": "dist norm renorm",
    "shape.functional_scatter": "as_strided_scatter diagonal_scatter select_scatter slice_scatter",
    "shape.join": (
        "block_diag cartesian_prod cat column_stack combinations concat concatenate dstack hstack "
        "meshgrid repeat_interleave row_stack stack tile vstack"
    ),
    "shape.pad": "constant_pad_nd",
    "shape.rearrange": (
        "diag diag_embed diagflat flip fliplr flipud roll rot90 tril tril_indices triu triu_indices"
    ),
    "shape.split": (
        "chunk dsplit hsplit split split_with_sizes tensor_split unbind unsafe_chunk unsafe_split "
        "unsafe_split_with_sizes vsplit"
    ),
    "shape.strided": "as_strided",
    "sorting.search": "isin nonzero_static unravel_index",
    "sorting.sort": "argsort argwhere kthvalue msort nonzero sort topk unique unique_consecutive",
    "special.bessel": "i0",
    "special.entropy": "logit xlogy",
    "special.erf_gamma": "digamma erf erfc erfinv lgamma polygamma",
    "special.incomplete_gamma": "igamma igammac mvlgamma",
    "tensor.conversion": "can_cast result_type",
    "tensor.dlpack": "from_dlpack",
    "tensor.printing": "get_printoptions printoptions set_printoptions",
    "tensor.storage": (
        "BoolStorage ByteStorage CharStorage ComplexDoubleStorage ComplexFloatStorage "
        "DoubleStorage FloatStorage HalfStorage IntStorage LongStorage ShortStorage Storage "
        "TypedStorage UntypedStorage is_storage"
    ),
}
