"""Modules of `torch.onnx` that belong to PyTorch's older exporter, which is not here."""
