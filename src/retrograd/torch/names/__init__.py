"""PyTorch's older and internal names, and why some are absent."""
