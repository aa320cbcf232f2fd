"""The named tuples that functions with several results return: PyTorch's `torch.return_types`."""

from .ops import returns

globals().update(
    {
        name: value
        for name, value in vars(returns).items()
        if isinstance(value, type) and issubclass(value, returns.Named)
    }
)
