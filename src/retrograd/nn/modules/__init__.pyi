# Written by docs/make_stubs.py: change that, and run it.
# ruff: noqa
# fmt: off
from . import activation as activation, adaptive as adaptive, attention as attention, channelshuffle as channelshuffle, container as container, conv as conv, distance as distance, dropout as dropout, flatten as flatten, fold as fold, lazy as lazy, linear as linear, loss as loss, normalization as normalization, padding as padding, pixelshuffle as pixelshuffle, pooling as pooling, rnn as rnn, sparse as sparse, transformer as transformer, upsampling as upsampling
from .activation import *
from .adaptive import *
from .attention import *
from .channelshuffle import *
from .container import *
from .conv import *
from .distance import *
from .dropout import *
from .flatten import *
from .fold import *
from .lazy import *
from .linear import *
from .loss import *
from .normalization import *
from .padding import *
from .pixelshuffle import *
from .pooling import *
from .rnn import *
from .sparse import *
from .transformer import *
from .upsampling import *
from .module import Module as Module
from ...torch.nn.modules.batchnorm import SyncBatchNorm as SyncBatchNorm
from ...torch.nn.modules.container import Container as Container
from ...torch.nn.modules.loss import NLLLoss2d as NLLLoss2d
from ...torch.nn.modules.upsampling import UpsamplingBilinear2d as UpsamplingBilinear2d, UpsamplingNearest2d as UpsamplingNearest2d
from ...torch.nn.modules import batchnorm as batchnorm, instancenorm as instancenorm
__all__ = ['Module', 'CELU', 'ELU', 'SELU', 'Hardshrink', 'Hardsigmoid', 'Hardswish', 'Hardtanh', 'LeakyReLU', 'PReLU', 'RReLU', 'ReLU', 'ReLU6', 'Softshrink', 'Threshold', 'GELU', 'GLU', 'LogSigmoid', 'Mish', 'SiLU', 'Sigmoid', 'Softplus', 'Softsign', 'Tanh', 'Tanhshrink', 'LogSoftmax', 'Softmax', 'Softmax2d', 'Softmin', 'AdaptiveLogSoftmaxWithLoss', 'MultiheadAttention', 'ChannelShuffle', 'ModuleDict', 'ModuleList', 'ParameterDict', 'ParameterList', 'Sequential', 'Conv1d', 'Conv2d', 'Conv3d', 'ConvTranspose1d', 'ConvTranspose2d', 'ConvTranspose3d', 'CosineSimilarity', 'PairwiseDistance', 'AlphaDropout', 'Dropout', 'Dropout1d', 'Dropout2d', 'Dropout3d', 'FeatureAlphaDropout', 'Flatten', 'Unflatten', 'Fold', 'Unfold', 'LazyBatchNorm1d', 'LazyBatchNorm2d', 'LazyBatchNorm3d', 'LazyConv1d', 'LazyConv2d', 'LazyConv3d', 'LazyConvTranspose1d', 'LazyConvTranspose2d', 'LazyConvTranspose3d', 'LazyInstanceNorm1d', 'LazyInstanceNorm2d', 'LazyInstanceNorm3d', 'LazyLinear', 'Bilinear', 'Identity', 'Linear', 'BCELoss', 'BCEWithLogitsLoss', 'CTCLoss', 'CosineEmbeddingLoss', 'CrossEntropyLoss', 'GaussianNLLLoss', 'HingeEmbeddingLoss', 'HuberLoss', 'KLDivLoss', 'L1Loss', 'LinearCrossEntropyLoss', 'LinearCrossEntropyOptions', 'MSELoss', 'MarginRankingLoss', 'MultiLabelMarginLoss', 'MultiLabelSoftMarginLoss', 'MultiMarginLoss', 'NLLLoss', 'PoissonNLLLoss', 'SmoothL1Loss', 'SoftMarginLoss', 'TripletMarginLoss', 'TripletMarginWithDistanceLoss', 'BatchNorm1d', 'BatchNorm2d', 'BatchNorm3d', 'CrossMapLRN2d', 'GroupNorm', 'InstanceNorm1d', 'InstanceNorm2d', 'InstanceNorm3d', 'LayerNorm', 'LocalResponseNorm', 'RMSNorm', 'CircularPad1d', 'CircularPad2d', 'CircularPad3d', 'ConstantPad1d', 'ConstantPad2d', 'ConstantPad3d', 'ReflectionPad1d', 'ReflectionPad2d', 'ReflectionPad3d', 'ReplicationPad1d', 'ReplicationPad2d', 'ReplicationPad3d', 'ZeroPad1d', 'ZeroPad2d', 'ZeroPad3d', 'PixelShuffle', 'PixelUnshuffle', 'AdaptiveAvgPool1d', 'AdaptiveAvgPool2d', 'AdaptiveAvgPool3d', 'AdaptiveMaxPool1d', 'AdaptiveMaxPool2d', 'AdaptiveMaxPool3d', 'FractionalMaxPool2d', 'FractionalMaxPool3d', 'MaxPool1d', 'MaxPool2d', 'MaxPool3d', 'MaxUnpool1d', 'MaxUnpool2d', 'MaxUnpool3d', 'AvgPool1d', 'AvgPool2d', 'AvgPool3d', 'LPPool1d', 'LPPool2d', 'LPPool3d', 'GRU', 'LSTM', 'RNN', 'GRUCell', 'LSTMCell', 'RNNBase', 'RNNCell', 'RNNCellBase', 'Embedding', 'EmbeddingBag', 'Transformer', 'TransformerDecoder', 'TransformerDecoderLayer', 'TransformerEncoder', 'TransformerEncoderLayer', 'Upsample']
