"""torchvision's `transforms.v2`, as far as its transforms are those of `transforms`."""

from .. import *
from .. import __all__ as __all__
from . import functional as functional  # type: ignore[no-redef]
