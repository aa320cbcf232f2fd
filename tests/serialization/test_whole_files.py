"""Paths are written whole or not at all: NOTE [Whole files]."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading

import pytest

import retrograd as rg
from retrograd.serialization import npz, safetensors

WRITERS = [
    lambda path: rg.save({"x": rg.arange(1000)}, path),
    lambda path: rg.save({"x": rg.arange(1000)}, path, _use_new_zipfile_serialization=False),
    lambda path: safetensors.save_file({"x": rg.arange(1000)}, path),
    lambda path: npz.save_file({"x": rg.arange(1000)}, path),
]


def only(folder, name):
    """Whether the folder has that file alone."""
    return [path.name for path in folder.iterdir()] == [name]


@pytest.mark.parametrize("write", WRITERS)
@pytest.mark.parametrize("step", ["fsync", "replace", "chmod"])
def test_a_failure_leaves_the_old_file_and_nothing_else(write, step, tmp_path, monkeypatch):
    path = tmp_path / "x"
    path.write_bytes(b"old")

    def fail(*args, **kwargs):
        raise OSError("no space left on device")

    monkeypatch.setattr(os, step, fail)
    with pytest.raises(OSError, match="no space left"):
        write(path)
    assert path.read_bytes() == b"old"
    assert only(tmp_path, "x")


def test_an_object_that_cannot_be_written_leaves_the_old_file(tmp_path):
    path = tmp_path / "x"
    path.write_bytes(b"old")
    with pytest.raises(TypeError, match="cannot pickle"):
        rg.save([rg.ones(2), threading.Lock()], path)
    with pytest.raises(TypeError, match="no dtype for"):
        safetensors.save_file({"x": rg.ones(1, dtype=rg.complex128)}, path)
    assert path.read_bytes() == b"old"
    assert only(tmp_path, "x")


def test_a_process_that_dies_while_it_writes_leaves_the_old_file(tmp_path):
    path = tmp_path / "x.pt"
    rg.save(rg.arange(3), path)
    code = """
import os, sys, retrograd as rg
os.fsync = lambda handle: os._exit(9)  # the process is gone before the file is on the disk
rg.save(rg.zeros(5), sys.argv[1])
"""
    done = subprocess.run([sys.executable, "-c", code, str(path)], check=False)
    assert done.returncode == 9
    assert rg.load(path).tolist() == [0, 1, 2]


@pytest.mark.parametrize("write", WRITERS)
def test_the_file_is_on_the_disk_before_it_takes_the_name(write, tmp_path, monkeypatch):
    done = []
    real = {name: getattr(os, name) for name in ("fsync", "replace")}
    monkeypatch.setattr(os, "fsync", lambda handle: done.append("fsync") or real["fsync"](handle))
    monkeypatch.setattr(
        os, "replace", lambda *names: done.append("replace") or real["replace"](*names)
    )
    write(tmp_path / "x")
    assert done == ["fsync", "replace", "fsync"]  # the file, its name, the folder


def test_permissions_stay_and_new_files_have_the_usual_ones(tmp_path):
    path = tmp_path / "x"
    rg.save(rg.ones(1), path)
    (tmp_path / "y").touch()
    assert path.stat().st_mode == (tmp_path / "y").stat().st_mode
    path.chmod(0o640)
    rg.save(rg.ones(1), path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_link_is_followed(tmp_path):
    (tmp_path / "folder").mkdir()
    target, link = tmp_path / "folder" / "x", tmp_path / "link"
    link.symlink_to(target)
    rg.save(rg.ones(1), link)
    assert link.is_symlink()
    assert rg.load(target).tolist() == [1.0]


def test_what_is_no_ordinary_file_is_written_as_it_comes(tmp_path):
    rg.save(rg.ones(1), os.devnull)
    assert not os.path.isfile(os.devnull)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    found = []
    reader = threading.Thread(target=lambda: found.append(rg.load(pipe)))
    reader.start()
    rg.save(rg.arange(3), pipe)
    reader.join()
    assert found[0].tolist() == [0, 1, 2]


def test_a_folder_that_is_not_there_is_an_error(tmp_path):
    with pytest.raises(RuntimeError, match=r"Parent directory .* does not exist"):
        rg.save(rg.ones(1), tmp_path / "none" / "x")
    with pytest.raises(RuntimeError, match="is a directory"):
        rg.save(rg.ones(1), tmp_path)


def test_a_name_as_long_as_the_system_allows_can_be_written(tmp_path):
    path = tmp_path / ("x" * 255)
    rg.save(rg.ones(1), path)
    assert rg.load(path).tolist() == [1.0]
