"""Questions that programs ask of PyTorch's `torch.fx.experimental`."""

from . import proxy_tensor
