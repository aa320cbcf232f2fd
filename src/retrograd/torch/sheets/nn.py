"""Layers as functions as PyTorch has them: NOTE [Sheets]."""

SHEET = """
overloads: _convolution.deprecated.default conv1d.default.padding conv2d.default.padding
    conv3d.default.padding conv_transpose2d.input conv_transpose3d.input gru.input.data
    lstm.input.data rnn_relu.input.data rnn_tanh.input.data upsample_bicubic2d.vec
    upsample_bilinear2d.vec upsample_linear1d.vec upsample_nearest1d.vec upsample_nearest2d.vec
    upsample_nearest3d.vec upsample_trilinear3d.vec
no operator: adaptive_max_pool1d_with_indices adaptive_max_pool2d_with_indices
    adaptive_max_pool3d_with_indices affine_grid dropout1d dropout2d dropout3d fold
    fractional_max_pool2d fractional_max_pool2d_with_indices fractional_max_pool3d
    fractional_max_pool3d_with_indices grid_sample interpolate local_response_norm lp_pool1d
    lp_pool2d lp_pool3d max_unpool1d max_unpool2d max_unpool3d multi_head_attention_forward
    normalize upsample upsample_bilinear upsample_nearest
"""
