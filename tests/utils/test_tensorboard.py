"""`retrograd.utils.tensorboard`: what its writer logs, read by TensorBoard itself."""

from __future__ import annotations

import importlib
import sys

import numpy as np
import pytest

import retrograd as rg

LIBRARY = "retrograd.utils.tensorboard"


def test_without_the_package_the_import_says_what_to_install(monkeypatch):
    for name in [each for each in sys.modules if each.startswith((LIBRARY, "tensorboard"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "tensorboard", None)
    with pytest.raises(ImportError, match="pip install tensorboard"):
        importlib.import_module(LIBRARY)


@pytest.fixture
def read(tmp_path):
    """Log something, and read it with TensorBoard."""
    why = "logs need the package tensorboard"
    home = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator", reason=why)

    def logged(write, folder=""):
        with importlib.import_module(LIBRARY).SummaryWriter(tmp_path / "log") as log:
            write(log)
        found = home.EventAccumulator(str(tmp_path / f"log{folder}"))
        return found.Reload()

    return logged


def test_scalars_are_logged_at_their_steps(read):
    found = read(lambda log: [log.add_scalar("loss", rg.tensor(0.5 * n), n) for n in range(3)])
    assert [(each.step, each.value) for each in found.Scalars("loss")] == [(0, 0), (1, 0.5), (2, 1)]


def test_several_scalars_have_folders_of_their_own(read):
    found = read(lambda log: log.add_scalars("loss", {"train": 1.0, "test": 2.0}, 5), "/loss_test")
    assert [(each.step, each.value) for each in found.Scalars("loss")] == [(5, 2.0)]


def test_a_histogram_has_all_values(read):
    values = rg.tensor([0.0, 1.0, 1.0, 3.0])
    found = read(lambda log: log.add_histogram("w", values, bins=3)).Histograms("w")[0]
    made = found.histogram_value
    assert (made.min, made.max, made.num, made.sum, made.sum_squares) == (0, 3, 4, 5, 11)
    assert list(made.bucket_limit) == [0, 1, 2, 3]
    assert list(made.bucket) == [0, 1, 2, 1]


def test_a_picture_is_a_png_of_its_values(read):
    image = pytest.importorskip("PIL.Image", reason="pictures need Pillow")
    found = read(lambda log: log.add_image("p", rg.eye(2), dataformats="HW")).Images("p")[0]
    with importlib.import_module("io").BytesIO(found.encoded_image_string) as file:
        assert np.array_equal(np.asarray(image.open(file)), [[255, 0], [0, 255]])
    with pytest.raises(ValueError, match=r"\(2, 2\), which is no CHW"):
        read(lambda log: log.add_image("p", rg.eye(2)))


def test_a_curve_has_precision_and_recall_at_every_threshold(read):
    labels, predictions = rg.tensor([1, 0, 1, 0]), rg.tensor([0.9, 0.6, 0.4, 0.1])
    found = read(lambda log: log.add_pr_curve("pr", labels, predictions, num_thresholds=3))
    rows = np.array(found.Tensors("pr")[0].tensor_proto.float_val).reshape(6, 3)
    assert rows[:4].tolist() == [[2, 1, 0], [2, 1, 0], [0, 1, 2], [0, 1, 2]]
    assert rows[4:].tolist() == [[0.5, 0.5, 0.0], [1.0, 0.5, 0.0]]


def test_settings_and_results_are_logged_as_a_run(read):
    found = read(lambda log: log.add_hparams({"lr": 0.1}, {"acc": 0.5}, run_name="one"), "/one")
    assert found.Scalars("acc")[0].value == 0.5


def test_settings_have_messages_for_the_start_and_the_end(read):
    def write(log):
        home = importlib.import_module(f"{LIBRARY}.summary")
        for message in home.hparams({"lr": 0.1, "kind": "a"}, {"acc": 0.5}, {"kind": ["a", "b"]}):
            log._get_file_writer().add_summary(message)

    found = read(write).summary_metadata
    assert set(found) == {
        f"_hparams_/{name}" for name in ("experiment", "session_start_info", "session_end_info")
    }


def test_a_log_that_was_closed_goes_on_in_a_new_file(read, tmp_path):
    def write(log):
        first = log.file_writer
        log.close()
        log.flush()
        assert log.file_writer is not first

    read(write)


def test_what_is_no_number_is_no_scalar(read):
    with pytest.raises(ValueError, match=r"one number, got shape \(2,\)"):
        read(lambda log: log.add_scalar("x", rg.ones(2)))


def test_what_is_no_number_tensor_or_array_is_refused(read):
    with pytest.raises(NotImplementedError, match="array or torch tensor are expected"):
        read(lambda log: log.add_scalar("loss", [1.0, 2.0], 0))


def test_vectors_are_logged_for_the_projector_with_words_and_pictures(read, tmp_path):
    image = pytest.importorskip("PIL.Image", reason="pictures need Pillow")

    def write(log):
        pictures = rg.arange(3.0)[:, None, None, None].expand(3, 1, 2, 4) / 4
        log.add_embedding(rg.arange(6.0).reshape(3, 2), metadata=list("abc"), label_img=pictures)
        rows = [["a", 1], ["b", 2]]
        log.add_embedding(np.ones((2, 1)), rows, None, 3, "two", metadata_header=["name", "n"])

    read(write)
    log = tmp_path / "log"
    config = importlib.import_module("tensorboard.plugins.projector.projector_config_pb2")
    text = importlib.import_module("google.protobuf.text_format")
    shown = text.Parse((log / "projector_config.pbtxt").read_text(), config.ProjectorConfig())
    first, second = shown.embeddings
    assert [first.tensor_name, second.tensor_name] == ["default:00000", "two:00003"]
    assert (log / first.tensor_path).read_text() == "0.0\t1.0\n2.0\t3.0\n4.0\t5.0\n"
    assert (log / first.metadata_path).read_text() == "a\nb\nc\n"
    assert (log / second.metadata_path).read_text() == "name\tn\na\t1\nb\t2\n"
    assert list(first.sprite.single_image_dim) == [4, 2]
    sprite = np.asarray(image.open(log / first.sprite.image_path))
    assert sprite.shape == (4, 8)
    assert sprite[::2, ::4].tolist() == [[0, 63], [127, 0]]


def test_vectors_without_a_word_each_are_refused(read):
    with pytest.raises(ValueError, match="3 vectors, 1 in metadata"):
        read(lambda log: log.add_embedding(rg.ones(3, 2), metadata=["a"]))


def test_a_scalar_may_be_of_double_precision(read):
    def write(log):
        log.add_scalar("single", 0.1, 1, new_style=True)
        log.add_scalar("double", 0.1, 1, new_style=True, double_precision=True)

    found = read(write)
    assert list(found.Tensors("double")[0].tensor_proto.double_val) == [0.1]
    assert list(found.Tensors("single")[0].tensor_proto.float_val) == [float(np.float32(0.1))]


def test_from_the_purged_step_on_an_earlier_log_is_not_shown(read):
    def write(log):
        for step in range(4):
            log.add_scalar("loss", step, step)
        log.close()
        with type(log)(log.log_dir, purge_step=2, filename_suffix=".later") as later:
            later.add_scalar("loss", 7.0, 2)

    found = read(write).Scalars("loss")
    assert [(each.step, each.value) for each in found] == [(0, 0.0), (1, 1.0), (2, 7.0)]


def test_sounds_are_logged(read):
    (found,) = read(lambda log: log.add_audio("a", rg.tensor([[0.0, 0.5, 3.0]]), 1, 8000)).Audio(
        "a"
    )
    assert (found.sample_rate, found.length_frames, found.content_type) == (8000, 3, "audio/wav")
    assert np.frombuffer(found.encoded_audio_string[-6:], "<i2").tolist() == [0, 16383, 32767]


def test_meshes_are_logged(read):
    points = rg.arange(12.0).reshape(1, 4, 3)
    faces = rg.tensor([[[0, 2, 3]]], dtype=rg.int32)
    found = read(lambda log: log.add_mesh("m", points, faces=faces, global_step=3))
    assert sorted(found.Tags()["tensors"]) == ["m_FACE", "m_VERTEX"]
    util = importlib.import_module("tensorboard.util.tensor_util")
    (vertices,) = found.Tensors("m_VERTEX")
    assert vertices.step == 3
    np.testing.assert_array_equal(util.make_ndarray(vertices.tensor_proto), points.numpy())


def test_whole_tensors_are_logged(read):
    (found,) = read(lambda log: log.add_tensor("t", rg.eye(2), 5)).Tensors("t")
    util = importlib.import_module("tensorboard.util.tensor_util")
    assert util.make_ndarray(found.tensor_proto).tolist() == [[1.0, 0.0], [0.0, 1.0]]


def test_charts_of_several_scalars_are_logged(read):
    (found,) = read(lambda log: log.add_custom_scalars_marginchart(["a", "b", "c"])).Tensors(
        "custom_scalars__config__"
    )
    home = importlib.import_module("tensorboard.plugins.custom_scalar.layout_pb2")
    layout = home.Layout.FromString(found.tensor_proto.string_val[0])
    (series,) = layout.category[0].chart[0].margin.series
    assert (series.value, series.lower, series.upper) == ("a", "b", "c")
    read(lambda log: log.add_custom_scalars_multilinechart(["a", "b"]))
    with pytest.raises(AssertionError, match="three tags"):
        read(lambda log: log.add_custom_scalars({"x": {"y": ["Margin", ["a"]]}}))


def test_the_graph_of_a_model_is_logged(read):
    model = rg.nn.Sequential(rg.nn.Linear(2, 3), rg.nn.ReLU())
    found = read(lambda log: log.add_graph(model, rg.ones(1, 2))).Graph()
    nodes = {node.name: list(node.input) for node in found.node}
    assert nodes["input/0"] == []
    assert nodes["Sequential/0/linear"] == [
        "input/0",
        "Sequential/0/weight",
        "Sequential/0/bias",
    ]
    assert nodes["Sequential/1/relu"] == ["Sequential/0/linear"]
    assert nodes["output/0"] == ["Sequential/1/relu"]
    shape = found.node[-1].attr["_output_shapes"].list.shape[0]
    assert [dim.size for dim in shape.dim] == [1, 3]
