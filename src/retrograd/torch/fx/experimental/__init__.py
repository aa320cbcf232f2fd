"""Questions that programs ask of PyTorch's `torch.fx.experimental`."""

from . import optimization, proxy_tensor
