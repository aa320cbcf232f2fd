"""The writer of logs, and the files beside it."""

from __future__ import annotations

import os
import socket
import sys
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...locks import load
from . import graph, plugins, projector, summary

__all__ = ["FileWriter", "SummaryWriter"]

EVENTS = "tensorboard.compat.proto.event_pb2"


class FileWriter:
    """One file of events in a folder, by TensorBoard's own writer."""

    def __init__(
        self,
        log_dir: Any,
        max_queue: int = 10,
        flush_secs: float = 120,
        filename_suffix: str = "",
    ) -> None:
        home = load("tensorboard.summary.writer.event_file_writer")
        self._writer = home.EventFileWriter(
            os.fspath(log_dir), max_queue, flush_secs, filename_suffix
        )

    def get_logdir(self) -> str:
        """The folder."""
        return self._writer.get_logdir()  # type: ignore[no-any-return]

    def add_summary(
        self, summary: Any, global_step: int | None = None, walltime: float | None = None
    ) -> None:
        """Write a message at a step."""
        self.add_event(load(EVENTS).Event(summary=summary), global_step, walltime)

    def add_event(self, event: Any, step: int | None = None, walltime: float | None = None) -> None:
        """Write an event at a step."""
        event.wall_time = time.time() if walltime is None else walltime
        if step is not None:
            event.step = int(step)
        self._writer.add_event(event)

    def add_graph(self, graph: Any, walltime: float | None = None) -> None:
        """Write a graph."""
        self.add_event(load(EVENTS).Event(graph_def=graph.SerializeToString()), None, walltime)

    def flush(self) -> None:
        """Have all in the file."""
        self._writer.flush()

    def close(self) -> None:
        """End the file."""
        self._writer.close()


class SummaryWriter:
    """Logs scalars, histograms, pictures and texts to files that TensorBoard shows.

    log_dir: the folder, by default runs/, date and machine. purge_step: what an earlier log in that
    folder has from this step on is not shown any more. Values are tensors, arrays or numbers.
    Source: PyTorch's `utils.tensorboard.SummaryWriter`.

    Usage::

        with rg.utils.tensorboard.SummaryWriter() as log:
            log.add_scalar("loss", loss, step)
    """

    def __init__(
        self,
        log_dir: Any = None,
        comment: str = "",
        purge_step: int | None = None,
        max_queue: int = 10,
        flush_secs: float = 120,
        filename_suffix: str = "",
    ) -> None:
        if not log_dir:
            now = time.strftime("%b%d_%H-%M-%S")
            log_dir = os.path.join("runs", f"{now}_{socket.gethostname()}{comment}")
        self.log_dir = os.fspath(log_dir)
        self._options = (max_queue, flush_secs, filename_suffix)
        self._files: dict[str, FileWriter] = {}
        self._projected: list[str] = []  # what the projector shows
        if purge_step is not None:
            log = load(EVENTS).SessionLog(status=load(EVENTS).SessionLog.START)
            for event in ({"file_version": "brain.Event:2"}, {"session_log": log}):
                self.file_writer.add_event(load(EVENTS).Event(**event), purge_step)
        self._get_file_writer()

    def _get_file_writer(self, folder: str | None = None) -> FileWriter:
        """The file in a folder, by default the log's own; a new one where it has been closed."""
        folder = self.log_dir if folder is None else folder
        if folder not in self._files:
            self._files[folder] = FileWriter(folder, *self._options)
        return self._files[folder]

    @property
    def file_writer(self) -> FileWriter:
        """The file in the log's own folder."""
        return self._get_file_writer()

    def get_logdir(self) -> str:
        """The folder."""
        return str(self.log_dir)

    def add_scalar(
        self,
        tag: str,
        scalar_value: Any,
        global_step: int | None = None,
        walltime: float | None = None,
        new_style: bool = False,
        double_precision: bool = False,
    ) -> None:
        """Log one number; with `new_style`, in double precision if asked."""
        made = summary.scalar(tag, scalar_value, new_style=new_style, double=double_precision)
        self.file_writer.add_summary(made, global_step, walltime)

    def add_scalars(
        self,
        main_tag: str,
        tag_scalar_dict: dict[str, Any],
        global_step: int | None = None,
        walltime: float | None = None,
    ) -> None:
        """Log several numbers that are shown in one chart, each in a folder of its own."""
        for tag, value in tag_scalar_dict.items():
            folder = f"{self.log_dir}/{main_tag.replace('/', '_')}_{tag}"
            file = self._get_file_writer(folder)
            file.add_summary(summary.scalar(main_tag, value), global_step, walltime)

    def add_histogram(
        self,
        tag: str,
        values: Any,
        global_step: int | None = None,
        bins: Any = "tensorflow",
        walltime: float | None = None,
        max_bins: int | None = None,
    ) -> None:
        """Log how values are distributed."""
        made = summary.histogram(tag, values, bins, max_bins)
        self.file_writer.add_summary(made, global_step, walltime)

    def add_image(
        self,
        tag: str,
        img_tensor: Any,
        global_step: int | None = None,
        walltime: float | None = None,
        dataformats: str = "CHW",
    ) -> None:
        """Log a picture of numbers in [0, 1], or of bytes; needs Pillow."""
        made = summary.image(tag, img_tensor, dataformats)
        self.file_writer.add_summary(made, global_step, walltime)

    def add_images(
        self,
        tag: str,
        img_tensor: Any,
        global_step: int | None = None,
        walltime: float | None = None,
        dataformats: str = "NCHW",
    ) -> None:
        """Log several pictures as one."""
        self.add_image(tag, img_tensor, global_step, walltime, dataformats)

    def add_figure(
        self,
        tag: str,
        figure: Any,
        global_step: int | None = None,
        close: bool = True,
        walltime: float | None = None,
    ) -> None:
        """Log a figure of matplotlib, closed afterwards unless `close` is False."""
        figure.canvas.draw()
        pixels = np.asarray(figure.canvas.buffer_rgba())[..., :3]
        if close:
            load("matplotlib.pyplot").close(figure)
        self.add_image(tag, pixels, global_step, walltime, "HWC")

    def add_text(
        self,
        tag: str,
        text_string: str,
        global_step: int | None = None,
        walltime: float | None = None,
    ) -> None:
        """Log a text, shown as Markdown."""
        self.file_writer.add_summary(summary.text(tag, text_string), global_step, walltime)

    def add_pr_curve(
        self,
        tag: str,
        labels: Any,
        predictions: Any,
        global_step: int | None = None,
        num_thresholds: int = 127,
        weights: Any = None,
        walltime: float | None = None,
    ) -> None:
        """Log precision and recall of `predictions`, from 0 to 1, of what `labels` says is true."""
        made = summary.pr_curve(tag, labels, predictions, num_thresholds, weights)
        self.file_writer.add_summary(made, global_step, walltime)

    def add_audio(
        self,
        tag: str,
        snd_tensor: Any,
        global_step: int | None = None,
        sample_rate: int = 44100,
        walltime: float | None = None,
    ) -> None:
        """Log a sound of one channel, (N,) or (1, N), of values from -1 to 1."""
        made = plugins.audio(tag, snd_tensor, sample_rate)
        self.file_writer.add_summary(made, global_step, walltime)

    def add_mesh(
        self,
        tag: str,
        vertices: Any,
        colors: Any = None,
        faces: Any = None,
        config_dict: dict[str, Any] | None = None,
        global_step: int | None = None,
        walltime: float | None = None,
    ) -> None:
        """Log points in space, (N, V, 3), with colors (N, V, 3) and triangles (N, F, 3) of them."""
        made = plugins.mesh(tag, vertices, colors, faces, config_dict)
        self.file_writer.add_summary(made, global_step, walltime)

    def add_tensor(
        self,
        tag: str,
        tensor: Any,
        global_step: int | None = None,
        walltime: float | None = None,
    ) -> None:
        """Log a whole tensor."""
        self.file_writer.add_summary(plugins.tensor(tag, tensor), global_step, walltime)

    def add_custom_scalars(self, layout: dict[str, dict[str, Sequence[Any]]]) -> None:
        """Log charts of several scalars: {category: {title: ["Multiline" or "Margin", tags]}}."""
        self.file_writer.add_summary(plugins.charts(layout))

    def add_custom_scalars_multilinechart(
        self, tags: Sequence[str], category: str = "default", title: str = "untitled"
    ) -> None:
        """Log a chart of several scalars, a line for each."""
        self.add_custom_scalars({category: {title: ["Multiline", tags]}})

    def add_custom_scalars_marginchart(
        self, tags: Sequence[str], category: str = "default", title: str = "untitled"
    ) -> None:
        """Log a chart of a scalar between two others, its lower and its upper bound."""
        self.add_custom_scalars({category: {title: ["Margin", tags]}})

    def add_graph(
        self,
        model: Any,
        input_to_model: Any = None,
        verbose: bool = False,
        use_strict_trace: bool = True,
    ) -> None:
        """Log the op calls of a forward, each in its module; printed, too, if `verbose`.

        input_to_model: a tensor, or all arguments.
        """
        found = graph.graph(model, input_to_model)
        if verbose:
            sys.stdout.write(f"{found}\n")
        self.file_writer.add_graph(found)

    def add_embedding(
        self,
        mat: Any,
        metadata: Sequence[Any] | None = None,
        label_img: Any = None,
        global_step: int | None = None,
        tag: str = "default",
        metadata_header: Sequence[str] | None = None,
    ) -> None:
        """Log vectors (N, D) for the projector, each with a word and a picture, (N, C, H, W)."""
        place = (tag, int(global_step or 0))
        entry = projector.embedding(self.log_dir, place, mat, metadata, label_img, metadata_header)
        self._projected.append(entry)
        with open(os.path.join(self.log_dir, "projector_config.pbtxt"), "w") as file:
            file.writelines(self._projected)

    def add_hparams(
        self,
        hparam_dict: dict[str, Any],
        metric_dict: dict[str, Any],
        hparam_domain_discrete: dict[str, list[Any]] | None = None,
        run_name: str | None = None,
        global_step: int | None = None,
    ) -> None:
        """Log settings and the numbers they led to, as a run in a folder of its own."""
        folder = os.path.join(self.log_dir, run_name or str(time.time()))
        with SummaryWriter(folder) as log:
            for message in summary.hparams(hparam_dict, metric_dict, hparam_domain_discrete):
                log.file_writer.add_summary(message)
            for name, value in metric_dict.items():
                log.add_scalar(name, value, global_step)

    def flush(self) -> None:
        """Have all in the files."""
        for file in self._files.values():
            file.flush()

    def close(self) -> None:
        """End the files; what is logged later begins new ones."""
        for file in self._files.values():
            file.close()
        self._files.clear()

    def __enter__(self) -> SummaryWriter:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()
