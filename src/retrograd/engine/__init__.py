"""The graph machinery: tensors, nodes, op records, recording, in-place writes, backward."""
