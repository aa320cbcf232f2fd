"""What TensorBoard reads, made of values: its messages for scalars, histograms, images, text."""

from __future__ import annotations

import io
from numbers import Number
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

__all__ = [
    "Summary",
    "SummaryMetadata",
    "TensorProto",
    "TensorShapeProto",
    "array_of",
    "histogram",
    "hparams",
    "image",
    "pr_curve",
    "scalar",
    "text",
]

HPARAMS = "tensorboard.plugins.hparams"


def array_of(value: Any) -> Any:
    """The values of a tensor, an array or a number; NotImplementedError for anything else."""
    if isinstance(value, Tensor):
        return value.detach().cpu().numpy()
    if not isinstance(value, (np.ndarray, np.generic, Number)):
        raise NotImplementedError(
            f"Got {type(value)}, but numpy array or torch tensor are expected: np.asarray(value)"
        )
    return np.asarray(value)


def scalar(tag: str, value: Any, *, new_style: bool = False, double: bool = False) -> Any:
    """A number, of single precision; in the newer form that holds a tensor, of double if asked."""
    number = array_of(value)
    if number.size != 1:
        raise ValueError(f"add_scalar(): {tag!r} must be one number, got shape {number.shape}")
    plain = float(number.reshape(()))
    if not new_style:
        return Summary(value=[Summary.Value(tag=tag, simple_value=plain)])
    about = SummaryMetadata(plugin_data=SummaryMetadata.PluginData(plugin_name="scalars"))
    made = (
        TensorProto(double_val=[plain], dtype="DT_DOUBLE")
        if double
        else TensorProto(float_val=[plain], dtype="DT_FLOAT")
    )
    return Summary(value=[Summary.Value(tag=tag, tensor=made, metadata=about)])


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
    right, wrong = found
    missed = right[0] - right
    shares = [right / np.maximum(right + other, 1e-7) for other in (wrong, missed)]
    rows = np.stack([right, wrong, wrong[0] - wrong, missed, *shares])
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


def hparams(
    hparam_dict: dict[str, Any],
    metric_dict: dict[str, Any],
    hparam_domain_discrete: dict[str, list[Any]] | None = None,
) -> tuple[Any, Any, Any]:
    """Settings, and names of numbers that they led to: the experiment, its session's start and end.

    hparam_domain_discrete: of some settings, the values that they may have.
    """
    home = load(f"{HPARAMS}.summary_v2")
    domains = {name: home.Discrete(of) for name, of in (hparam_domain_discrete or {}).items()}
    plain = {
        name: getattr(value, "item", lambda v=value: v)() for name, value in hparam_dict.items()
    }
    experiment = home.hparams_config_pb(
        [home.HParam(name, domains.get(name)) for name in plain], [*map(home.Metric, metric_dict)]
    )
    about, data = load(f"{HPARAMS}.metadata"), load(f"{HPARAMS}.plugin_data_pb2")
    done = load(f"{HPARAMS}.api_pb2").Status.Value("STATUS_SUCCESS")
    end = data.HParamsPluginData(session_end_info=data.SessionEndInfo(status=done))
    value = Summary.Value(
        tag=about.SESSION_END_INFO_TAG,
        metadata=about.create_summary_metadata(end),
        tensor=about.NULL_TENSOR,
    )
    return experiment, home.hparams_pb(plain), Summary(value=[value])
