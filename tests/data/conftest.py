"""`make_ops.py` imports PyTorch, so it is no place in which to look for doctests."""

collect_ignore = ["make_ops.py"]
