"""`retrograd.utils.tensorboard`: what its writer logs, read from the files."""

from __future__ import annotations

import importlib
import struct
import sys

import numpy as np
import pytest

import retrograd as rg
from retrograd.torch.utils.tensorboard import SummaryWriter

Event = importlib.import_module("tensorboardX.proto.event_pb2").Event


def events(folder):
    """What the files in a folder hold: records of a length, its checksum, bytes and theirs."""
    for file in sorted(folder.iterdir()):
        data = file.read_bytes() if file.is_file() else b""
        while data:
            (length,) = struct.unpack_from("<Q", data)
            yield Event.FromString(data[12 : 12 + length])
            data = data[16 + length :]


@pytest.fixture
def logged(tmp_path):
    """Log something, and give {tag: [(step, value)]} of what the file has."""

    def run(write, folder=""):
        with SummaryWriter(tmp_path / "log") as log:
            write(log)
        found = {}
        for event in events(tmp_path / f"log{folder}"):
            for value in event.summary.value:
                found.setdefault(value.tag, []).append((event.step, value))
        return found

    return run


def test_without_the_package_the_import_says_what_to_install(monkeypatch):
    monkeypatch.delitem(sys.modules, "retrograd.torch.utils.tensorboard")
    monkeypatch.setitem(sys.modules, "tensorboardX", None)
    with pytest.raises(ImportError, match="pip install tensorboardX"):
        importlib.import_module("retrograd.torch.utils.tensorboard")


def test_scalars_are_logged_at_their_steps(logged):
    found = logged(lambda log: [log.add_scalar("loss", rg.tensor(0.5 * n), n) for n in range(3)])
    assert [(n, value.simple_value) for n, value in found["loss"]] == [(0, 0), (1, 0.5), (2, 1)]


def test_several_scalars_have_folders_of_their_own(logged, tmp_path):
    scalars = {"train": rg.tensor(1.0), "test": rg.tensor(2.0, requires_grad=True)}
    logged(lambda log: log.add_scalars("loss", scalars, 5))
    values = {
        value.simple_value
        for folder in (tmp_path / "log").rglob("*test*")
        for event in events(folder)
        for value in event.summary.value
    }
    assert values == {2.0}


def test_a_histogram_has_all_values(logged):
    values = rg.tensor([0.0, 1.0, 1.0, 3.0])
    ((_, found),) = logged(lambda log: log.add_histogram("w", values, bins=3))["w"]
    made = found.histo
    assert (made.min, made.max, made.num, made.sum, made.sum_squares) == (0, 3, 4, 5, 11)


def test_a_picture_is_a_png_of_its_values(logged):
    image = pytest.importorskip("PIL.Image", reason="pictures need Pillow")
    ((_, found),) = logged(lambda log: log.add_image("p", rg.eye(2), dataformats="HW"))["p"]
    with importlib.import_module("io").BytesIO(found.image.encoded_image_string) as file:
        shown = np.asarray(image.open(file).convert("L"))
    assert np.array_equal(shown, [[255, 0], [0, 255]])


def test_settings_and_results_are_logged_as_a_run(logged):
    results = {"acc": rg.tensor(0.5)}
    found = logged(lambda log: log.add_hparams({"lr": 0.1}, results, run_name="one"), "/one")
    assert [value.simple_value for _, value in found["acc"]] == [0.5]


def test_the_folder_is_known_by_pytorch_s_names(tmp_path):
    with SummaryWriter(tmp_path / "log") as log:
        assert log.log_dir == log.get_logdir() == str(tmp_path / "log")


def test_the_graph_of_a_model_is_logged(tmp_path):
    pytest.importorskip("onnx", reason="graphs are drawn as ONNX has them")
    model = rg.nn.Sequential(rg.nn.Linear(2, 3), rg.nn.ReLU())
    with SummaryWriter(tmp_path / "log") as log:
        log.add_graph(model, rg.ones(1, 2))
    definition = importlib.import_module("tensorboardX.proto.graph_pb2").GraphDef
    graphs = [event.graph_def for event in events(tmp_path / "log") if event.graph_def]
    ops = [node.op for graph in graphs for node in definition.FromString(graph).node]
    assert "Relu" in ops
