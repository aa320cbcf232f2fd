"""Signal processing under torch.signal's names; the transforms are `fft`, `stft` and `istft`."""

from . import windows

__all__ = ["windows"]
