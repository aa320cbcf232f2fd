"""The backward pass: the order of nodes, what they contribute, leaves, hooks."""
