"""Complex-valued networks: layers with complex parameters, and what no real network has.

What takes complex data as it is in `nn`, and has no parameters, is named here once more: pooling
(maxima by modulus), padding, dropout (one mask for both parts), upsampling, losses of distances.
"""

from typing import TYPE_CHECKING

from ..modules.upsampling import Upsample as Upsample
from ..modules.dropout import (
    Dropout as Dropout,
    Dropout1d as Dropout1d,
    Dropout2d as Dropout2d,
    Dropout3d as Dropout3d,
)
from ..modules.loss import (
    CrossEntropyLoss as CrossEntropyLoss,
    HuberLoss as HuberLoss,
    L1Loss as L1Loss,
    MSELoss as MSELoss,
)
from ..modules.pooling import (
    AvgPool1d as AvgPool1d,
    AvgPool2d as AvgPool2d,
    AvgPool3d as AvgPool3d,
    MaxPool1d as MaxPool1d,
    MaxPool2d as MaxPool2d,
    MaxPool3d as MaxPool3d,
    MaxUnpool1d as MaxUnpool1d,
    MaxUnpool2d as MaxUnpool2d,
    MaxUnpool3d as MaxUnpool3d,
    adaptive,
)
from ..modules.pooling.adaptive import *
from . import activation, attention, diagnostics, heads, layers, loss, normalization, recurrent
from . import functional as functional
from .activation import *
from .attention import *
from .diagnostics import *
from .heads import *
from .layers import *
from .loss import *
from .normalization import *
from .recurrent import *

if not TYPE_CHECKING:  # to type checkers, what a package imports by * is public
    __all__ = [
        "AvgPool1d", "AvgPool2d", "AvgPool3d", "CrossEntropyLoss", "Dropout", "Dropout1d",
        "Dropout2d", "Dropout3d", "HuberLoss", "L1Loss", "MSELoss", "MaxPool1d", "MaxPool2d",
        "MaxPool3d", "MaxUnpool1d", "MaxUnpool2d", "MaxUnpool3d", "Upsample", "functional",
        *adaptive.__all__, *activation.__all__, *attention.__all__, *diagnostics.__all__,
        *heads.__all__, *layers.__all__, *loss.__all__, *normalization.__all__, *recurrent.__all__,
    ]  # fmt: skip
