# Written by docs/make_stubs.py: change that, and run it.
# ruff: noqa
# fmt: off
from . import activation as activation
from . import adaptive as adaptive
from . import arrange as arrange
from . import attention as attention
from . import container as container
from . import conv as conv
from . import criteria as criteria
from . import dropout as dropout
from . import lazy as lazy
from . import linear as linear
from . import loss as loss
from . import normalization as normalization
from . import padding as padding
from . import pooling as pooling
from . import rnn as rnn
from . import sparse as sparse
from . import transformer as transformer
from .activation import *
from .adaptive import *
from .arrange import *
from .attention import *
from .container import *
from .conv import *
from .criteria import *
from .dropout import *
from .lazy import *
from .linear import *
from .loss import *
from .normalization import *
from .padding import *
from .pooling import *
from .rnn import *
from .sparse import *
from .transformer import *
from .module import Module as Module
from ...torch.nn.modules.batchnorm import SyncBatchNorm as SyncBatchNorm
from ...torch.nn.modules.container import Container as Container
from ...torch.nn.modules.loss import NLLLoss2d as NLLLoss2d
from ...torch.nn.modules.upsampling import UpsamplingBilinear2d as UpsamplingBilinear2d
from ...torch.nn.modules.upsampling import UpsamplingNearest2d as UpsamplingNearest2d
from ...torch.nn.modules import batchnorm as batchnorm
from ...torch.nn.modules import channelshuffle as channelshuffle
from ...torch.nn.modules import distance as distance
from ...torch.nn.modules import flatten as flatten
from ...torch.nn.modules import fold as fold
from ...torch.nn.modules import instancenorm as instancenorm
from ...torch.nn.modules import pixelshuffle as pixelshuffle
from ...torch.nn.modules import upsampling as upsampling
__all__ = ['Module', 'CELU', 'ELU', 'SELU', 'Hardshrink', 'Hardsigmoid', 'Hardswish', 'Hardtanh', 'LeakyReLU', 'PReLU', 'RReLU', 'ReLU', 'ReLU6', 'Softshrink', 'Threshold', 'GELU', 'GLU', 'LogSigmoid', 'Mish', 'SiLU', 'Sigmoid', 'Softplus', 'Softsign', 'Tanh', 'Tanhshrink', 'LogSoftmax', 'Softmax', 'Softmax2d', 'Softmin', 'AdaptiveLogSoftmaxWithLoss', 'ChannelShuffle', 'CosineSimilarity', 'Flatten', 'Fold', 'PairwiseDistance', 'PixelShuffle', 'PixelUnshuffle', 'Unflatten', 'Unfold', 'Upsample', 'MultiheadAttention', 'ModuleDict', 'ModuleList', 'ParameterDict', 'ParameterList', 'Sequential', 'Conv1d', 'Conv2d', 'Conv3d', 'ConvTranspose1d', 'ConvTranspose2d', 'ConvTranspose3d', 'CTCLoss', 'LinearCrossEntropyLoss', 'LinearCrossEntropyOptions', 'TripletMarginLoss', 'TripletMarginWithDistanceLoss', 'AlphaDropout', 'Dropout', 'Dropout1d', 'Dropout2d', 'Dropout3d', 'FeatureAlphaDropout', 'LazyBatchNorm1d', 'LazyBatchNorm2d', 'LazyBatchNorm3d', 'LazyConv1d', 'LazyConv2d', 'LazyConv3d', 'LazyConvTranspose1d', 'LazyConvTranspose2d', 'LazyConvTranspose3d', 'LazyInstanceNorm1d', 'LazyInstanceNorm2d', 'LazyInstanceNorm3d', 'LazyLinear', 'Bilinear', 'Identity', 'Linear', 'BCELoss', 'BCEWithLogitsLoss', 'CosineEmbeddingLoss', 'CrossEntropyLoss', 'GaussianNLLLoss', 'HingeEmbeddingLoss', 'HuberLoss', 'KLDivLoss', 'L1Loss', 'MSELoss', 'MarginRankingLoss', 'MultiLabelMarginLoss', 'MultiLabelSoftMarginLoss', 'MultiMarginLoss', 'NLLLoss', 'PoissonNLLLoss', 'SmoothL1Loss', 'SoftMarginLoss', 'BatchNorm1d', 'BatchNorm2d', 'BatchNorm3d', 'CrossMapLRN2d', 'GroupNorm', 'InstanceNorm1d', 'InstanceNorm2d', 'InstanceNorm3d', 'LayerNorm', 'LocalResponseNorm', 'RMSNorm', 'CircularPad1d', 'CircularPad2d', 'CircularPad3d', 'ConstantPad1d', 'ConstantPad2d', 'ConstantPad3d', 'ReflectionPad1d', 'ReflectionPad2d', 'ReflectionPad3d', 'ReplicationPad1d', 'ReplicationPad2d', 'ReplicationPad3d', 'ZeroPad1d', 'ZeroPad2d', 'ZeroPad3d', 'AdaptiveAvgPool1d', 'AdaptiveAvgPool2d', 'AdaptiveAvgPool3d', 'AdaptiveMaxPool1d', 'AdaptiveMaxPool2d', 'AdaptiveMaxPool3d', 'FractionalMaxPool2d', 'FractionalMaxPool3d', 'MaxPool1d', 'MaxPool2d', 'MaxPool3d', 'MaxUnpool1d', 'MaxUnpool2d', 'MaxUnpool3d', 'AvgPool1d', 'AvgPool2d', 'AvgPool3d', 'LPPool1d', 'LPPool2d', 'LPPool3d', 'GRU', 'LSTM', 'RNN', 'GRUCell', 'LSTMCell', 'RNNBase', 'RNNCell', 'RNNCellBase', 'Embedding', 'EmbeddingBag', 'Transformer', 'TransformerDecoder', 'TransformerDecoderLayer', 'TransformerEncoder', 'TransformerEncoderLayer']
