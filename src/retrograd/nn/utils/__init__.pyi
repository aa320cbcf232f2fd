# Written by docs/make_stubs.py: change that, and run it.
# ruff: noqa
# fmt: off
from . import parametrizations as parametrizations, parametrize as parametrize, rnn as rnn
from .clip_grad import clip_grad_norm as clip_grad_norm, clip_grad_norm_ as clip_grad_norm_, clip_grad_value_ as clip_grad_value_, clip_grads_with_norm_ as clip_grads_with_norm_, get_total_norm as get_total_norm
from .convert_parameters import parameters_to_vector as parameters_to_vector, vector_to_parameters as vector_to_parameters
from .spectral_norm import remove_spectral_norm as remove_spectral_norm, spectral_norm as spectral_norm
from .weight_norm import remove_weight_norm as remove_weight_norm, weight_norm as weight_norm
from ...torch.nn.utils.fusion import fuse_conv_bn_eval as fuse_conv_bn_eval, fuse_conv_bn_weights as fuse_conv_bn_weights, fuse_linear_bn_eval as fuse_linear_bn_eval, fuse_linear_bn_weights as fuse_linear_bn_weights
from ...torch.nn.utils.init import skip_init as skip_init
from ...torch.nn.utils.memory_format import convert_conv2d_weight_memory_format as convert_conv2d_weight_memory_format, convert_conv3d_weight_memory_format as convert_conv3d_weight_memory_format
from ...torch.nn.utils import prune as prune, stateless as stateless, _named_member_accessor as _named_member_accessor, fusion as fusion, init as init, memory_format as memory_format
__all__ = ['clip_grad_norm', 'clip_grad_norm_', 'clip_grad_value_', 'clip_grads_with_norm_', 'get_total_norm', 'parameters_to_vector', 'parametrizations', 'parametrize', 'remove_spectral_norm', 'remove_weight_norm', 'rnn', 'spectral_norm', 'vector_to_parameters', 'weight_norm', 'fuse_conv_bn_eval', 'fuse_conv_bn_weights', 'fuse_linear_bn_eval', 'fuse_linear_bn_weights', 'skip_init', 'convert_conv2d_weight_memory_format', 'convert_conv3d_weight_memory_format', 'prune', 'stateless']
