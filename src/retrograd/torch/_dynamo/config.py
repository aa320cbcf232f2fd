"""Settings of PyTorch's `torch._dynamo`: attributes that programs set are kept, and not read."""
