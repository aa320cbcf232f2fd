"""Signal processing: windows under torch.signal's names, analytic signals, another sampling.

Short-time transforms and their inverses are `stft` and `istft`, all others in `fft`.
"""

from . import windows
from .analytic import hilbert, resample

__all__ = ["hilbert", "resample", "windows"]
