"""Layers that are computed again in the backward pass, by PyTorch's private name."""
