"""The named tuples that functions with several results return: PyTorch's `torch.return_types`."""

from .ops.core import return_types

globals().update(
    {
        name: value
        for name, value in vars(return_types).items()
        if isinstance(value, type) and issubclass(value, return_types.Named)
    }
)
