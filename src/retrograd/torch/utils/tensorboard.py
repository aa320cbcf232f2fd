"""Logs for TensorBoard, by PyTorch's names: tensorboardX's writer, given tensors and modules."""

from __future__ import annotations

import functools
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...engine.tensor import Tensor
from ...locks import load
from ...pytree import map_leaves

if TYPE_CHECKING:
    from collections.abc import Callable

try:
    import tensorboardX
    from tensorboardX.writer import FileWriter
except ImportError as error:
    raise ImportError(
        "retrograd.utils.tensorboard writes by tensorboardX: pip install tensorboardX"
    ) from error

__all__ = ["FileWriter", "SummaryWriter"]


class SummaryWriter(tensorboardX.SummaryWriter):  # type: ignore[misc]  # it has no types
    """Logs scalars, histograms, pictures and texts to files that TensorBoard shows.

    log_dir: the folder, by default runs/, date and machine. purge_step: what an earlier log in that
    folder has from this step on is not shown any more. Every `add_...` takes tensors where
    tensorboardX's takes arrays. Source: PyTorch's `utils.tensorboard.SummaryWriter`, tensorboardX.

    Usage::

        with rg.utils.tensorboard.SummaryWriter() as log:
            log.add_scalar("loss", loss, step)
    """

    def __init__(self, log_dir: Any = None, *args: Any, **settings: Any) -> None:
        super().__init__(None if log_dir is None else str(log_dir), *args, **settings)

    @property
    def log_dir(self) -> str:
        """The folder."""
        return str(self.logdir)

    def get_logdir(self) -> str:
        """The folder."""
        return self.log_dir

    def add_graph(
        self,
        model: Any,
        input_to_model: Any = None,
        verbose: bool = False,
        use_strict_trace: bool = True,
    ) -> None:
        """Log the graph of a module for inputs, as ONNX has it: needs the extra `onnx`."""
        args = input_to_model if isinstance(input_to_model, tuple) else (input_to_model,)
        with tempfile.TemporaryDirectory() as folder:
            path = str(Path(folder, "model.onnx"))
            load("retrograd.torch.onnx").export(model, args, path, verbose=verbose)
            self.add_onnx_graph(path)

    def add_hparams(
        self,
        hparam_dict: dict[str, Any],
        metric_dict: dict[str, Any],
        hparam_domain_discrete: Any = None,
        run_name: str | None = None,
        global_step: int | None = None,
    ) -> None:
        """Log settings and what they led to as a run, of the name `run_name` or the time.

        tensorboardX does not write `hparam_domain_discrete`, the values that a setting may have.
        """
        settings, results = map_leaves(number, (hparam_dict, metric_dict))
        super().add_hparams(settings, results, run_name, global_step)


def number(value: Any) -> Any:
    """The number of a tensor of one element; what is none, as it is."""
    return value.item() if isinstance(value, Tensor) else value


def array(value: Any) -> Any:
    """The array of a tensor; what is none, as it is."""
    return value.detach().resolve_conj().numpy() if isinstance(value, Tensor) else value


def with_arrays(method: Callable[..., None]) -> Callable[..., None]:
    """A method of tensorboardX's that takes tensors where it takes arrays."""

    @functools.wraps(method)
    def add(self: SummaryWriter, *args: Any, **named: Any) -> None:
        args, named = map_leaves(array, (args, named))
        method(self, *args, **named)

    return add


for name, method in vars(tensorboardX.SummaryWriter).items():
    if name.startswith("add_") and name not in vars(SummaryWriter):
        setattr(SummaryWriter, name, with_arrays(method))
