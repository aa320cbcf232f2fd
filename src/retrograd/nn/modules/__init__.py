"""Modules by family of layers, and `Module` itself; every layer of `nn` by its name, too."""

from typing import TYPE_CHECKING, Any

from ... import providers
from . import (
    activation,
    adaptive,
    attention,
    channelshuffle,
    container,
    conv,
    distance,
    dropout,
    flatten,
    fold,
    lazy,
    linear,
    loss,
    normalization,
    padding,
    pixelshuffle,
    pooling,
    rnn,
    sparse,
    transformer,
    upsampling,
)
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

if not TYPE_CHECKING:  # to type checkers, what a package imports by * is public
    __all__ = [
        "Module", *activation.__all__, *adaptive.__all__, *attention.__all__,
        *channelshuffle.__all__, *container.__all__, *conv.__all__, *distance.__all__,
        *dropout.__all__, *flatten.__all__, *fold.__all__, *lazy.__all__, *linear.__all__,
        *loss.__all__, *normalization.__all__, *padding.__all__, *pixelshuffle.__all__,
        *pooling.__all__, *rnn.__all__, *sparse.__all__, *transformer.__all__, *upsampling.__all__,
    ]  # fmt: skip
    __all__.remove("LazyModuleMixin")  # what layers derive from, and the class of a layer's part
    __all__.remove("NonDynamicallyQuantizableLinear")


def __getattr__(name: str) -> Any:
    """A layer of PyTorch's world, when it is first asked for."""
    return providers.attribute(__name__, name)


def __dir__() -> list[str]:
    return providers.listed(__name__)
