"""Random programs, run with C, without, and by PyTorch: `make fuzz`."""
