"""Logs for TensorBoard, by PyTorch's names: `torch.utils.tensorboard`.

The files are written by the `tensorboard` package; without it, importing this raises ImportError.
"""

from .writer import FileWriter, SummaryWriter

__all__ = ["FileWriter", "SummaryWriter"]
