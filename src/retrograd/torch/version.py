"""`torch.version` under the alias: the release that is followed, and what is not built in.

`retrograd.version` has its own version, and beside it these names.
"""

from .torch_version import FOLLOWED

__all__ = ["__version__", "cuda", "debug", "git_version", "hip", "rocm", "xpu"]

__version__ = str(FOLLOWED)
debug = False
git_version = "retrograd"
cuda = hip = rocm = xpu = None
