"""Functions under the layers: convolution, pooling, normalization, attention, recurrence."""
