"""PyTorch's private `torch._functorch`: doors to `func`, for programs that go through it."""
