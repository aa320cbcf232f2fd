"""Questions that programs ask of PyTorch's `torch.fx.experimental`."""
