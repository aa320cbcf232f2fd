"""`torch._subclasses` under the alias: questions that programs ask of PyTorch's own subclasses."""
