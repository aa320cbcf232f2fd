# Written by docs/make_stubs.py: change that, and run it.
# ruff: noqa
# fmt: off
from . import complex as complex
from . import functional as functional
from . import init as init
from . import modules as modules
from . import utils as utils
from .modules import *
from .parameter import Buffer as Buffer
from .parameter import Parameter as Parameter
from .parameter import UninitializedBuffer as UninitializedBuffer
from .parameter import UninitializedParameter as UninitializedParameter
from ..torch.nn.modules.batchnorm import SyncBatchNorm as SyncBatchNorm
from ..torch.nn.modules.container import Container as Container
from ..torch.nn.parallel import DataParallel as DataParallel
from ..torch.nn.modules.loss import NLLLoss2d as NLLLoss2d
from ..torch.nn.modules.upsampling import UpsamplingBilinear2d as UpsamplingBilinear2d
from ..torch.nn.modules.upsampling import UpsamplingNearest2d as UpsamplingNearest2d
from ..torch.nn import _reduction as _reduction
from ..torch.nn import attention as attention
from ..torch.nn import common_types as common_types
from ..torch.nn import grad as grad
from ..torch.nn import parallel as parallel
__all__ = ['Buffer', 'Parameter', 'UninitializedBuffer', 'UninitializedParameter', 'complex', 'functional', 'init', 'utils', 'Module', 'CELU', 'ELU', 'SELU', 'Hardshrink', 'Hardsigmoid', 'Hardswish', 'Hardtanh', 'LeakyReLU', 'PReLU', 'RReLU', 'ReLU', 'ReLU6', 'Softshrink', 'Threshold', 'GELU', 'GLU', 'LogSigmoid', 'Mish', 'SiLU', 'Sigmoid', 'Softplus', 'Softsign', 'Tanh', 'Tanhshrink', 'LogSoftmax', 'Softmax', 'Softmax2d', 'Softmin', 'AdaptiveLogSoftmaxWithLoss', 'ChannelShuffle', 'CosineSimilarity', 'Flatten', 'Fold', 'PairwiseDistance', 'PixelShuffle', 'PixelUnshuffle', 'Unflatten', 'Unfold', 'Upsample', 'MultiheadAttention', 'ModuleDict', 'ModuleList', 'ParameterDict', 'ParameterList', 'Sequential', 'Conv1d', 'Conv2d', 'Conv3d', 'ConvTranspose1d', 'ConvTranspose2d', 'ConvTranspose3d', 'CTCLoss', 'LinearCrossEntropyLoss', 'LinearCrossEntropyOptions', 'TripletMarginLoss', 'TripletMarginWithDistanceLoss', 'AlphaDropout', 'Dropout', 'Dropout1d', 'Dropout2d', 'Dropout3d', 'FeatureAlphaDropout', 'LazyBatchNorm1d', 'LazyBatchNorm2d', 'LazyBatchNorm3d', 'LazyConv1d', 'LazyConv2d', 'LazyConv3d', 'LazyConvTranspose1d', 'LazyConvTranspose2d', 'LazyConvTranspose3d', 'LazyInstanceNorm1d', 'LazyInstanceNorm2d', 'LazyInstanceNorm3d', 'LazyLinear', 'Bilinear', 'Identity', 'Linear', 'BCELoss', 'BCEWithLogitsLoss', 'CosineEmbeddingLoss', 'CrossEntropyLoss', 'GaussianNLLLoss', 'HingeEmbeddingLoss', 'HuberLoss', 'KLDivLoss', 'L1Loss', 'MSELoss', 'MarginRankingLoss', 'MultiLabelMarginLoss', 'MultiLabelSoftMarginLoss', 'MultiMarginLoss', 'NLLLoss', 'PoissonNLLLoss', 'SmoothL1Loss', 'SoftMarginLoss', 'BatchNorm1d', 'BatchNorm2d', 'BatchNorm3d', 'CrossMapLRN2d', 'GroupNorm', 'InstanceNorm1d', 'InstanceNorm2d', 'InstanceNorm3d', 'LayerNorm', 'LocalResponseNorm', 'RMSNorm', 'CircularPad1d', 'CircularPad2d', 'CircularPad3d', 'ConstantPad1d', 'ConstantPad2d', 'ConstantPad3d', 'ReflectionPad1d', 'ReflectionPad2d', 'ReflectionPad3d', 'ReplicationPad1d', 'ReplicationPad2d', 'ReplicationPad3d', 'ZeroPad1d', 'ZeroPad2d', 'ZeroPad3d', 'AdaptiveAvgPool1d', 'AdaptiveAvgPool2d', 'AdaptiveAvgPool3d', 'AdaptiveMaxPool1d', 'AdaptiveMaxPool2d', 'AdaptiveMaxPool3d', 'FractionalMaxPool2d', 'FractionalMaxPool3d', 'MaxPool1d', 'MaxPool2d', 'MaxPool3d', 'MaxUnpool1d', 'MaxUnpool2d', 'MaxUnpool3d', 'AvgPool1d', 'AvgPool2d', 'AvgPool3d', 'LPPool1d', 'LPPool2d', 'LPPool3d', 'GRU', 'LSTM', 'RNN', 'GRUCell', 'LSTMCell', 'RNNBase', 'RNNCell', 'RNNCellBase', 'Embedding', 'EmbeddingBag', 'Transformer', 'TransformerDecoder', 'TransformerDecoderLayer', 'TransformerEncoder', 'TransformerEncoderLayer', 'SyncBatchNorm', 'Container', 'DataParallel', 'NLLLoss2d', 'UpsamplingBilinear2d', 'UpsamplingNearest2d']
