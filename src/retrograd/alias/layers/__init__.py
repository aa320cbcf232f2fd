"""PyTorch's modules of layers whose names are in other files here."""
