"""`torch.onnx.symbolic_opset11`: functions of PyTorch's older exporter, of which none is here."""
