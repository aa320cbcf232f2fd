"""The files of TensorBoard's projector, which shows vectors as points with words and pictures."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

import numpy as np

from ...locks import load
from . import summary

__all__ = ["embedding"]

CONFIG = "tensorboard.plugins.projector.projector_config_pb2"


def embedding(
    root: str,
    place: tuple[str, int],
    points: Any,
    words: Sequence[Any] | None,
    pictures: Any,
    header: Sequence[str] | None,
) -> str:
    """Write vectors, their words and pictures below `root`; the entry of the projector's list.

    place: tag and step, which name the folder. points: (N, D). words: N of them, or N rows for the
    names in `header`. pictures: (N, C, H, W), which become one picture, in rows.
    """
    tag, step = place
    vectors = summary.array_of(points)
    if vectors.ndim != 2 or not vectors.size:
        raise ValueError(f"add_embedding(): vectors are (N, D), but the shape is {vectors.shape}")
    given = {"metadata": words, "label_img": pictures}
    for name, each in given.items():
        if each is not None and len(each) != len(vectors):
            raise ValueError(f"add_embedding(): {len(vectors)} vectors, {len(each)} in {name}")
    inside = f"{step:05}/{quote(tag, safe=' /')}"
    folder = os.path.join(root, inside)
    os.makedirs(folder, exist_ok=True)
    made = load(CONFIG).EmbeddingInfo(
        tensor_name=f"{tag}:{step:05}", tensor_path=f"{inside}/tensors.tsv"
    )
    _write(folder, "tensors.tsv", vectors.tolist())
    if words is not None:
        rows = [header, *words] if header else [[str(word)] for word in words]
        _write(folder, "metadata.tsv", rows)
        made.metadata_path = f"{inside}/metadata.tsv"
    if pictures is not None:
        with open(os.path.join(folder, "sprite.png"), "wb") as file:
            file.write(_sprite(summary.array_of(pictures)))
        made.sprite.image_path = f"{inside}/sprite.png"
        made.sprite.single_image_dim.extend([pictures.shape[3], pictures.shape[2]])
    entry = load(CONFIG).ProjectorConfig(embeddings=[made])
    return str(load("google.protobuf.text_format").MessageToString(entry))


def _write(folder: str, name: str, rows: Sequence[Sequence[Any]]) -> None:
    with open(os.path.join(folder, name), "w", encoding="utf8") as file:
        file.writelines("\t".join(map(str, row)) + "\n" for row in rows)


def _sprite(pictures: Any) -> bytes:
    """A square of pictures as a PNG; where there are too few, the rest is black."""
    count, channels, height, width = pictures.shape
    side = math.ceil(math.sqrt(count))
    room = np.zeros((side * side, channels, height, width), pictures.dtype)
    room[:count] = pictures
    rows = room.reshape(side, side, channels, height, width).transpose(2, 0, 3, 1, 4)
    whole = rows.reshape(channels, side * height, side * width)
    return bytes(summary.image("", whole, "CHW").value[0].image.encoded_image_string)
