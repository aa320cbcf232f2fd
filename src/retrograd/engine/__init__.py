"""The graph machinery: tensors, nodes, op records, recording, in-place writes, the backward pass."""
