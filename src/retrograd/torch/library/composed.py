"""The names of operators that PyTorch computes by others, which are seen in their place.

`library/translation.py` says where.
"""

from __future__ import annotations

__all__ = ["COMPOSED"]

NAMES = (
    "absolute absolute_ adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d "
    "adaptive_max_pool1d adjoint alpha_dropout alpha_dropout_ arccos arccos_ arccosh arccosh_ "
    "arcsin arcsin_ arcsinh arcsinh_ arctan arctan2 arctan2_ arctan_ arctanh arctanh_ argsort "
    "argwhere atleast_1d atleast_2d atleast_3d avg_pool1d batch_norm bilinear broadcast_tensors "
    "broadcast_to cartesian_prod cdist chain_matmul chalf chunk clip clip_ coalesce column_stack "
    "combinations concat concatenate conj conj_physical contiguous conv1d conv2d conv3d "
    "conv_transpose1d conv_transpose2d conv_transpose3d corrcoef cosine_embedding_loss "
    "cross_entropy_loss l1_loss cosine_similarity cov cpu cross ctc_loss cuda "
    "cumulative_trapezoid det diag diagflat diff "
    "dim divide divide_ dropout dropout_ dsplit dstack einsum element_size embedding_bag "
    "expand_as feature_alpha_dropout feature_alpha_dropout_ feature_dropout feature_dropout_ "
    "fft_fft fft_fft2 fft_fftn fft_fftshift fft_hfft fft_hfft2 fft_hfftn fft_ifft fft_ifft2 "
    "fft_ifftn fft_ifftshift fft_ihfft fft_ihfft2 fft_ihfftn fft_irfft fft_irfft2 fft_irfftn "
    "fft_rfft fft_rfft2 fft_rfftn fill_diagonal_ fix fix_ flatten fliplr flipud float_power "
    "float_power_ frobenius_norm ger get_device gradient greater greater_ greater_equal "
    "greater_equal_ grid_sampler group_norm gru gru_cell hinge_embedding_loss histogramdd hsplit "
    "hstack imag inner instance_norm inverse is_complex is_conj is_contiguous is_distributed "
    "is_floating_point is_inference is_neg is_nonzero is_signed isclose isfinite isreal istft "
    "item kl_div kron layer_norm less less_ less_equal less_equal_ linalg_cholesky linalg_cond "
    "linalg_det linalg_diagonal linalg_eigh linalg_eigvals linalg_eigvalsh linalg_inv "
    "linalg_ldl_factor linalg_lu_factor linalg_matmul linalg_matrix_norm linalg_matrix_power "
    "linalg_matrix_rank linalg_multi_dot linalg_norm linalg_slogdet linalg_solve linalg_solve_ex "
    "linalg_svd linalg_svdvals linalg_tensorinv linalg_tensorsolve linalg_vander linalg_vecdot "
    "linear log_softmax logdet lstm lstm_cell lu_solve margin_ranking_loss matmul matrix_exp "
    "matrix_power max_pool1d max_pool1d_with_indices max_pool2d max_pool3d meshgrid moveaxis "
    "movedim msort multiply multiply_ nanmean nanquantile narrow native_channel_shuffle negative "
    "negative_ norm norm_except_dim not_equal not_equal_ nuclear_norm numel one_hot orgqr outer "
    "pad pairwise_distance pdist pin_memory pinverse poisson_nll_loss positive prelu qr quantile "
    "ravel real relu6 requires_grad_ reshape reshape_as resolve_conj resolve_neg result_type "
    "retain_grad rms_norm rnn_relu rnn_relu_cell rnn_tanh rnn_tanh_cell row_stack rrelu rrelu_ "
    "scaled_dot_product_attention selu selu_ size slogdet softmax sparse_csc_tensor "
    "sparse_csr_tensor special_digamma special_erf special_erfc special_erfinv special_exp2 "
    "special_expit special_expm1 special_gammainc special_gammaincc special_gammaln special_i0 "
    "special_log1p special_log_softmax special_logit special_logsumexp special_multigammaln "
    "special_ndtr special_polygamma special_psi special_round special_sinc special_softmax "
    "special_xlogy square square_ stft storage_offset stride subtract subtract_ sum_to_size svd "
    "swapaxes swapaxes_ swapdims swapdims_ take_along_dim tensor_split tile to to_dense to_sparse "
    "to_sparse_csc to_sparse_csr trapezoid trapz triplet_margin_loss true_divide true_divide_ "
    "type_as unflatten unsafe_chunk vander view_as vsplit vstack "
)

COMPOSED = frozenset(NAMES.split())
