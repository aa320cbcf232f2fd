"""Data sets are read from local files, in the formats of their makers."""

from __future__ import annotations

import gzip
import json
import pickle
import struct
from pathlib import Path

import numpy as np
import pytest

import retrograd as rg
from retrograd.vision import datasets, pictures, transforms

EXPECTED = json.loads((Path(__file__).parents[1] / "data" / "vision.json").read_text())


def idx(array, code=8):
    """The bytes of an idx file."""
    return struct.pack(f">HBB{array.ndim}I", 0, code, array.ndim, *array.shape) + array.tobytes()


def write_mnist(root, name="MNIST", part="train"):
    """Two pictures, the second one compressed with its target."""
    images = np.arange(2 * 28 * 28, dtype=np.uint8).reshape(2, 28, 28)
    folder = root / name / "raw"
    folder.mkdir(parents=True)
    (folder / f"{part}-images-idx3-ubyte").write_bytes(idx(images))
    labels = gzip.compress(idx(np.array([7, 9], np.uint8)))
    (folder / f"{part}-labels-idx1-ubyte.gz").write_bytes(labels)
    return images


def python_2(labels, rows, key=b"labels"):
    """A pickle as Python 2 wrote those of CIFAR: strings of bytes, and an array of them."""
    text = lambda content: b"U" + bytes([len(content)]) + content
    numbers = b"](" + b"".join(b"K" + bytes([label]) for label in labels) + b"e"
    shape = b"K" + bytes([len(rows)]) + b"M" + struct.pack("<H", rows.shape[1]) + b"\x86"
    dtype = b"cnumpy\ndtype\n" + text(b"u1") + b"K\0K\1\x87R(K\3" + text(b"|")
    dtype += b"NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\0tb"
    array = (
        b"cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\0\x85" + text(b"b") + b"\x87R"
    )
    state = b"(K\1" + shape + dtype + b"\x89T" + struct.pack("<I", rows.size) + rows.tobytes()
    entries = text(key) + numbers + text(b"data") + array + state + b"tb"
    return b"\x80\2}(" + entries + b"u."


def write_cifar(root, name="cifar-10-batches-py", files=datasets.CIFAR10.files[1]):
    """One picture in each file, of the class of its number."""
    folder = root / name
    folder.mkdir()
    rows = np.arange(3 * 32 * 32, dtype=np.uint16).astype(np.uint8)[None]
    for n, file in enumerate(files):
        (folder / file).write_bytes(python_2([n], rows + np.uint8(n)))
    names = {"label_names": ["airplane", "automobile"]}
    (folder / "batches.meta").write_bytes(pickle.dumps(names, protocol=2))
    return rows


# -- MNIST -------------------------------------------------------------------------------------


def test_mnist_is_read_from_idx_files_compressed_or_not(tmp_path):
    images = write_mnist(tmp_path)
    data = datasets.MNIST(tmp_path, download=True, transform=transforms.ToTensor())
    assert data.data.numpy().tolist() == images.tolist()
    assert data.targets.tolist() == [7, 9]
    picture, target = data[1]
    rg.testing.assert_close(picture, rg.from_numpy(images[1:]).float() / 255)
    assert (len(data), target, data.classes[target]) == (2, 9, "9 - nine")


def test_the_files_for_testing_have_another_name(tmp_path):
    write_mnist(tmp_path, "FashionMNIST", "t10k")
    assert datasets.FashionMNIST(tmp_path, train=False, target_transform=str)[0][1] == "7"


def test_samples_are_pictures_of_pillow_s_or_arrays_without_it(tmp_path, monkeypatch):
    images = write_mnist(tmp_path)
    data = datasets.MNIST(tmp_path)
    if pictures.INSTALLED:
        assert data[0][0].size == (28, 28)
    monkeypatch.setattr(pictures, "INSTALLED", False)
    assert data[0][0].tolist() == images[0].tolist()


def test_an_idx_file_that_ends_early_is_refused(tmp_path):
    write_mnist(tmp_path)
    path = tmp_path / "MNIST" / "raw" / "train-images-idx3-ubyte"
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(ValueError, match="should have 1584 bytes"):
        datasets.MNIST(tmp_path)


@pytest.mark.parametrize("content", [b"", b"\0\0\x08", b"<html>", b"\0\0\x07\0", b"\0\0\x08\3\0"])
def test_a_file_that_is_no_idx_file_is_refused(tmp_path, content):
    write_mnist(tmp_path)
    (tmp_path / "MNIST" / "raw" / "train-images-idx3-ubyte").write_bytes(content)
    with pytest.raises(ValueError, match="is no idx file"):
        datasets.MNIST(tmp_path)


# -- CIFAR -------------------------------------------------------------------------------------


def test_cifar_is_read_from_the_pickles_of_python_2(tmp_path):
    rows = write_cifar(tmp_path)
    data = datasets.CIFAR10(tmp_path, transform=transforms.ToTensor())
    assert (data.data.shape, data.targets) == ((5, 32, 32, 3), [0, 1, 2, 3, 4])
    picture, target = data[0]
    rg.testing.assert_close(picture, rg.from_numpy(rows.reshape(3, 32, 32)).float() / 255)
    assert (target, data.class_to_idx) == (0, {"airplane": 0, "automobile": 1})


def test_a_pickle_that_would_run_something_is_refused(tmp_path):
    write_cifar(tmp_path)
    (tmp_path / "cifar-10-batches-py" / "data_batch_1").write_bytes(b"\x80\2cos\ngetcwd\n)R.")
    with pytest.raises(pickle.UnpicklingError, match=r"Unsupported global: GLOBAL os\.getcwd"):
        datasets.CIFAR10(tmp_path)


def test_files_that_are_missing_are_an_error(tmp_path):
    with pytest.raises(FileNotFoundError, match="CIFAR100: Dataset not found: there is no"):
        datasets.CIFAR100(tmp_path, download=True)


# -- folders -----------------------------------------------------------------------------------


def write_pictures(root):
    """Pictures of two classes in folders, and a file that is none."""
    image = pytest.importorskip("PIL.Image")
    for n, name in enumerate(("cat/b.png", "cat/deep/a.PNG", "dog/c.jpg")):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        image.new("L", (4, 3), 40 * n).save(root / name)
    (root / "dog" / "notes.txt").write_text("")


def test_pictures_in_folders_are_sorted_by_class(tmp_path):
    write_pictures(tmp_path)
    data = datasets.ImageFolder(str(tmp_path), transforms.ToTensor())
    assert (data.classes, data.class_to_idx) == (["cat", "dog"], {"cat": 0, "dog": 1})
    names = [str(Path(path).relative_to(tmp_path)) for path, _ in data.samples]
    assert (names, data.targets) == (["cat/b.png", "cat/deep/a.PNG", "dog/c.jpg"], [0, 0, 1])
    img, target = data[1]
    assert (img.shape, target) == ((3, 3, 4), 0)
    assert (img == 40 / 255).all()


def test_a_folder_of_other_files_has_its_own_loader(tmp_path):
    write_pictures(tmp_path)
    data = datasets.DatasetFolder(
        tmp_path, lambda path: Path(path).name, (".txt",), allow_empty=True
    )
    assert list(data) == [("notes.txt", 1)]


def test_classes_without_files_are_an_error(tmp_path):
    write_pictures(tmp_path)
    (tmp_path / "fox").mkdir()
    with pytest.raises(FileNotFoundError, match="Found no valid file for the classes fox"):
        datasets.ImageFolder(tmp_path)
    with pytest.raises(ValueError, match="cannot be None or not None at the same time"):
        datasets.folder.make_dataset(tmp_path)


def test_house_numbers_are_read_and_0_is_their_class(tmp_path):
    io = pytest.importorskip("scipy.io")
    pixels = np.arange(32 * 32 * 3 * 2, dtype=np.uint8).reshape(32, 32, 3, 2)
    content = {"X": pixels, "y": np.array([[10], [3]], np.uint8)}
    io.savemat(tmp_path / "test_32x32.mat", content)
    data = datasets.SVHN(tmp_path, "test")
    assert [target for _, target in data] == [0, 3]
    np.testing.assert_array_equal(np.asarray(data[1][0]), pixels[..., 1])


# -- without files -----------------------------------------------------------------------------


def test_noise_is_torchvision_s():
    data = datasets.FakeData(3, (3, 6, 6), transform=transforms.ToTensor())
    for n, (target, elements) in enumerate(EXPECTED["fake"]):
        found, of_class = data[n]
        assert of_class == target
        np.testing.assert_allclose(found.flatten()[:9].tolist(), elements, atol=1e-5)


def test_noise_leaves_the_generator_as_it_was():
    state = rg.get_rng_state()
    datasets.FakeData(3, (3, 6, 6))[1]
    assert rg.get_rng_state().equal(state)


def test_noise_ends():
    assert len(list(datasets.FakeData(3, (3, 2, 2)))) == 3


def test_digits_are_scikit_learn_s():
    pytest.importorskip("sklearn")
    data = datasets.Digits()
    batch, targets = next(iter(rg.utils.data.DataLoader(data, batch_size=10)))
    assert (len(data), batch.shape, targets.tolist()) == (1797, (10, 1, 8, 8), [*range(10)])
    assert (data.data.min().item(), data.data.max().item()) == (0, 1)
