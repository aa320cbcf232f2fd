"""What plugins of TensorBoard read: sounds, meshes, whole tensors, charts of several scalars."""

from __future__ import annotations

import io
import json
import wave
from typing import TYPE_CHECKING, Any

import numpy as np

from ...locks import load
from .summary import Summary, SummaryMetadata, TensorProto, TensorShapeProto, array_of

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["audio", "charts", "mesh", "tensor"]


def audio(tag: str, sound: Any, rate: int) -> Any:
    """A sound of one channel, values from -1 to 1, `rate` of them a second; louder ones are cut."""
    values = array_of(sound).squeeze()
    if values.ndim != 1:
        raise AssertionError(f"add_audio(): {tag!r} should be 1 dimensional, got {values.shape}")
    steps = (values.astype(np.float64).clip(-1, 1) * np.iinfo(np.int16).max).astype("<i2")
    file = io.BytesIO()
    with wave.open(file, "wb") as made:
        made.setnchannels(1)
        made.setsampwidth(2)
        made.setframerate(rate)
        made.writeframes(steps.tobytes())
    message = Summary.Audio(
        sample_rate=rate,
        num_channels=1,
        length_frames=len(steps),
        encoded_audio_string=file.getvalue(),
        content_type="audio/wav",
    )
    return Summary(value=[Summary.Value(tag=tag, audio=message)])


def mesh(tag: str, vertices: Any, colors: Any, faces: Any, config: dict[str, Any] | None) -> Any:
    """Points in space, (N, vertices, 3), with their colors and the triangles between them."""
    home, kinds = (
        load(f"tensorboard.plugins.mesh.{name}") for name in ("metadata", "plugin_data_pb2")
    )
    kind = kinds.MeshPluginData
    given = [(vertices, kind.VERTEX), (faces, kind.FACE), (colors, kind.COLOR)]
    parts = [(array_of(value), which) for value, which in given if value is not None]
    components = home.get_components_bitmask([which for _, which in parts])
    text = json.dumps(config or {}, sort_keys=True)
    values = []
    for part, which in parts:
        about = home.create_summary_metadata(
            tag, tag, which, components, part.shape, "", json_config=text
        )
        name = home.get_instance_name(tag, which)
        values.append(Summary.Value(tag=name, tensor=proto(part), metadata=about))
    return Summary(value=values)


def tensor(tag: str, values: Any) -> Any:
    """A whole tensor."""
    data = SummaryMetadata.PluginData(plugin_name="tensor")
    made = proto(array_of(values))
    about = SummaryMetadata(plugin_data=data)
    return Summary(value=[Summary.Value(tag=tag, metadata=about, tensor=made)])


def proto(values: Any) -> Any:
    """An array in TensorBoard's form."""
    return load("tensorboard.util.tensor_util").make_tensor_proto(values)


def charts(layout: dict[str, dict[str, Sequence[Any]]]) -> Any:
    """Charts of several scalars, by category and title: ["Multiline", tags], or ["Margin", tags].

    The tags of a margin are those of a value, of its lower and of its upper bound.
    """
    home = load("tensorboard.plugins.custom_scalar.layout_pb2")
    categories = []
    for category, titles in layout.items():
        made = []
        for title, (kind, tags) in titles.items():
            if kind != "Margin":
                lines = home.MultilineChartContent(tag=tags)
                made.append(home.Chart(title=title, multiline=lines))
                continue
            if len(tags) != 3:
                raise AssertionError(f"a margin has three tags, but {title!r} has {len(tags)}")
            names = dict(zip(("value", "lower", "upper"), tags, strict=True))
            series = home.MarginChartContent.Series(**names)
            margin = home.MarginChartContent(series=[series])
            made.append(home.Chart(title=title, margin=margin))
        categories.append(home.Category(title=category, chart=made))
    whole = home.Layout(category=categories).SerializeToString()
    data = SummaryMetadata.PluginData(plugin_name="custom_scalars")
    text = TensorProto(dtype="DT_STRING", string_val=[whole], tensor_shape=TensorShapeProto())
    about = SummaryMetadata(plugin_data=data)
    value = Summary.Value(tag="custom_scalars__config__", tensor=text, metadata=about)
    return Summary(value=[value])
