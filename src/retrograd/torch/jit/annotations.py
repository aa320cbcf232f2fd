"""`torch.jit.annotations`: names of types in annotations, those of `typing` and lists by length."""

from typing import *  # noqa: F403

__all__ = [f"BroadcastingList{length}" for length in range(1, 7)]

# a list of so many, or one value for all
BroadcastingList1 = BroadcastingList2 = BroadcastingList3 = list
BroadcastingList4 = BroadcastingList5 = BroadcastingList6 = list
