"""What TensorBoard reads, made of values: its messages for scalars, histograms, images, text."""

from __future__ import annotations

import io
from typing import Any

import numpy as np

from ...engine.tensor import Tensor
from ...locks import load

try:
    from tensorboard.compat.proto.summary_pb2 import HistogramProto, Summary, SummaryMetadata
    from tensorboard.compat.proto.tensor_pb2 import TensorProto
    from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto
except ImportError as error:
    raise ImportError(
        "retrograd.utils.tensorboard needs the package tensorboard: pip install tensorboard"
    ) from error

__all__ = ["array_of", "histogram", "image", "pr_curve", "scalar", "text"]


def array_of(value: Any) -> Any:
    """The values of a tensor, an array or a number."""
    return np.asarray(value.detach().cpu().numpy() if isinstance(value, Tensor) else value)


def scalar(tag: str, value: Any) -> Any:
    """A number."""
    number = array_of(value)
    if number.size != 1:
        raise ValueError(f"add_scalar(): {tag!r} must be one number, got shape {number.shape}")
    return Summary(value=[Summary.Value(tag=tag, simple_value=float(number.reshape(())))])


def histogram(tag: str, values: Any, bins: Any, most: int | None) -> Any:
    """How often values lie in which bins: those of NumPy, or "tensorflow", finer around 0."""
    flat = array_of(values).astype(np.float64).reshape(-1)
    if flat.size == 0:
        raise ValueError(f"add_histogram(): {tag!r} has no values")
    if bins == "tensorflow":
        steps = 1e-12 * 1.1 ** np.arange(774)
        bins = np.concatenate([-steps[::-1], [0.0], steps])
    counts, limits = np.histogram(flat, bins=bins)
    if most is not None and counts.size > most:
        every = -(-counts.size // most)
        counts = np.add.reduceat(counts, np.arange(0, counts.size, every))
        limits = np.append(limits[:-1:every], limits[-1])
    some = np.flatnonzero(counts)
    first, last = (some[0], some[-1] + 1) if some.size else (0, 0)
    made = HistogramProto(
        min=flat.min(),
        max=flat.max(),
        num=flat.size,
        sum=flat.sum(),
        sum_squares=flat @ flat,
        bucket_limit=limits[first : last + 1].tolist(),
        bucket=[0.0, *counts[first:last].tolist()],
    )
    return Summary(value=[Summary.Value(tag=tag, histo=made)])


def image(tag: str, picture: Any, formats: str) -> Any:
    """A picture whose dimensions `formats` names: C, H, W, in front N for several, side by side."""
    pixels = array_of(picture)
    order = formats.upper()
    if pixels.ndim != len(order) or set(order) - set("NCHW"):
        raise ValueError(f"add_image(): {tag!r} has shape {pixels.shape}, which is no {formats}")
    axes = [order.index(name) for name in "NHWC" if name in order]
    pixels = pixels.transpose(axes)
    if "C" not in order:
        pixels = pixels[..., None]
    if "N" in order:
        pixels = np.concatenate(list(pixels), 1)
    if pixels.dtype != np.uint8:
        pixels = (pixels.astype(np.float64) * 255.0).clip(0, 255).astype(np.uint8)
    file = io.BytesIO()
    load("PIL.Image").fromarray(pixels[..., 0] if pixels.shape[2] == 1 else pixels).save(
        file, "PNG"
    )
    made = Summary.Image(
        height=pixels.shape[0],
        width=pixels.shape[1],
        colorspace=pixels.shape[2],
        encoded_image_string=file.getvalue(),
    )
    return Summary(value=[Summary.Value(tag=tag, image=made)])


def text(tag: str, words: str) -> Any:
    """A text, shown as Markdown."""
    about = SummaryMetadata(plugin_data=SummaryMetadata.PluginData(plugin_name="text"))
    shape = TensorShapeProto(dim=[TensorShapeProto.Dim(size=1)])
    made = TensorProto(dtype="DT_STRING", string_val=[words.encode()], tensor_shape=shape)
    value = Summary.Value(tag=f"{tag}/text_summary", metadata=about, tensor=made)
    return Summary(value=[value])


def pr_curve(tag: str, labels: Any, predictions: Any, thresholds: int, weights: Any) -> Any:
    """What is found and what is right at thresholds, evenly from 0 to 1.

    Rows: true and false positives, true and false negatives, precision, recall.
    """
    truth = array_of(labels).astype(bool).reshape(-1)
    place = np.int64(array_of(predictions).astype(np.float64).reshape(-1) * (thresholds - 1))
    weight = np.broadcast_to(1.0 if weights is None else array_of(weights).reshape(-1), truth.shape)
    found = [
        np.bincount(place, weight * chosen, thresholds)[::-1].cumsum()[::-1]
        for chosen in (truth, ~truth)
    ]
    (right, wrong), least = found, 1e-7
    missed = right[0] - right
    precision, recall = (
        right / np.maximum(right + wrong, least),
        right / np.maximum(right + missed, least),
    )
    rows = np.stack([right, wrong, wrong[0] - wrong, missed, precision, recall])
    home = load("tensorboard.plugins.pr_curve.metadata")
    return Summary(
        value=[
            Summary.Value(
                tag=tag,
                metadata=home.create_summary_metadata("", "", thresholds),
                tensor=TensorProto(
                    dtype="DT_FLOAT",
                    float_val=rows.reshape(-1).tolist(),
                    tensor_shape=TensorShapeProto(
                        dim=[TensorShapeProto.Dim(size=size) for size in rows.shape]
                    ),
                ),
            )
        ]
    )
