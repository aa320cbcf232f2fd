"""Settings of PyTorch's `torch._inductor`: attributes that programs set are kept, and not read."""
