"""Layers as functions as PyTorch has them: NOTE [Sheets]."""

SHEET = """
no operator: adaptive_max_pool1d_with_indices adaptive_max_pool2d_with_indices
    adaptive_max_pool3d_with_indices affine_grid dropout1d dropout2d dropout3d fold
    fractional_max_pool2d fractional_max_pool2d_with_indices fractional_max_pool3d
    fractional_max_pool3d_with_indices grid_sample interpolate local_response_norm lp_pool1d
    lp_pool2d lp_pool3d max_unpool1d max_unpool2d max_unpool3d multi_head_attention_forward
    normalize upsample upsample_bilinear upsample_nearest
overloads: _convolution.deprecated.default _native_batch_norm_legit.default.no_stats
    _upsample_nearest_exact1d.default.vec _upsample_nearest_exact2d.default.vec
    _upsample_nearest_exact3d.default.vec conv1d.default.padding conv2d.default.padding
    conv3d.default.padding conv_transpose2d.input conv_transpose3d.input gru.input.data
    lstm.input.data rnn_relu.input.data rnn_tanh.input.data upsample_bicubic2d.default.vec
    upsample_bilinear2d.default.vec upsample_linear1d.default.vec upsample_nearest1d.default.vec
    upsample_nearest2d.default.vec upsample_nearest3d.default.vec upsample_trilinear3d.default.vec
composed: adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool1d avg_pool1d
    conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d gru gru_cell lstm
    lstm_cell max_pool1d max_pool1d_with_indices max_pool2d max_pool3d one_hot rms_norm rnn_relu
    rnn_relu_cell rnn_tanh rnn_tanh_cell scaled_dot_product_attention
float32: adaptive_avg_pool3d adaptive_max_pool3d avg_pool3d fractional_max_pool2d
    fractional_max_pool3d grid_sample max_pool3d max_unpool1d max_unpool2d max_unpool3d
lower: conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d lstm
    multi_head_attention_forward rnn_relu rnn_relu_cell rnn_tanh rnn_tanh_cell
    scaled_dot_product_attention
no tensors: adaptive_max_pool1d gru lstm rnn_relu rnn_tanh
"""
