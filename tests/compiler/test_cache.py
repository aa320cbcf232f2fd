"""Kernels on disk: found again, and never run where somebody else could have written them."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import count
from pathlib import Path

import pytest

from retrograd.compiler import cache, door

pytestmark = pytest.mark.skipif(not door.AVAILABLE, reason="kernels need llvmlite")
posix = pytest.mark.skipif(not hasattr(os, "geteuid"), reason="owners are POSIX's")


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A directory for the cache, which is not there yet."""
    monkeypatch.setenv("RETROGRAD_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_what_was_written_is_read(home):
    cache.write("k1", b"object")
    assert cache.read("k1") == b"object"
    assert cache.read("k2") is None


@posix
def test_the_directory_is_the_users_alone(home):
    cache.write("k1", b"object")
    assert home.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("content", [b"", b"short", b"x" * 100])
def test_a_broken_entry_is_none(home, content):
    cache.write("k1", b"object")
    (home / "k1").write_bytes(content)
    assert cache.read("k1") is None


def test_an_entry_under_another_name_is_none(home):
    cache.write("k1", b"object")
    (home / "k1").rename(home / "k2")
    assert cache.read("k2") is None


@posix
@pytest.mark.parametrize("mode", [0o770, 0o707, 0o777])
def test_a_directory_that_others_may_write_is_left_unused(home, mode):
    cache.write("k1", b"object")
    home.chmod(mode)
    assert cache.read("k1") is None
    cache.write("k2", b"object")
    assert not (home / "k2").exists()


@posix
def test_an_entry_that_others_may_write_is_none(home):
    cache.write("k1", b"object")
    (home / "k1").chmod(0o666)
    assert cache.read("k1") is None


@posix
def test_a_directory_behind_a_link_is_left_unused(home, tmp_path):
    (tmp_path / "real").mkdir(mode=0o700)
    home.symlink_to(tmp_path / "real")
    cache.write("k1", b"object")
    assert cache.read("k1") is None
    assert not (tmp_path / "real" / "k1").exists()


@posix
def test_an_entry_that_is_no_file_is_none(home):
    cache.write("k1", b"object")
    os.mkfifo(home / "k2", 0o600)  # whoever opened it would wait for a writer
    assert cache.read("k2") is None


def test_without_a_place_nothing_is_kept_and_nothing_raised(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("RETROGRAD_CACHE", str(tmp_path / "file" / "cache"))
    cache.write("k1", b"object")
    assert cache.read("k1") is None


def test_the_name_depends_on_every_part():
    names = {
        cache.digest(*parts) for parts in (("ab", "c"), ("a", "bc"), ("abc",), ("ab", "c", ""))
    }
    assert len(names) == 4


def filled(home, monkeypatch, sizes, most):
    """Entries of these sizes, used one after the other, the first longest ago; their names."""
    names = ["k" + cache.digest(str(i)) for i in range(len(sizes))]
    for age, (name, size) in enumerate(zip(names, sizes, strict=True)):
        cache.write(name, bytes(size - cache.SIZE))
        os.utime(home / name, (age, age))
    monkeypatch.setattr(cache, "MOST", most)
    return names


def test_a_full_cache_lets_go_of_what_was_not_used_for_longest(home, monkeypatch):
    names = filled(home, monkeypatch, [100] * 8, 700)
    cache.bound(home)
    assert {path.name for path in home.iterdir()} == {*names[3:]}  # three quarters of 700 bytes


def test_what_was_read_was_used(home, monkeypatch):
    names = filled(home, monkeypatch, [100] * 8, 700)
    assert cache.read(names[0]) is not None
    cache.bound(home)
    assert {path.name for path in home.iterdir()} == {names[0], *names[4:]}


def test_a_cache_with_room_keeps_everything(home, monkeypatch):
    names = filled(home, monkeypatch, [100] * 8, 800)
    cache.bound(home)
    assert {path.name for path in home.iterdir()} == {*names}


def test_other_files_in_the_directory_stay(home, monkeypatch):
    filled(home, monkeypatch, [100] * 8, 0)
    (home / "keep").write_bytes(bytes(1000))
    os.utime(home / "keep", (0, 0))
    cache.bound(home)
    assert [path.name for path in home.iterdir()] == ["keep"]


def test_an_entry_that_another_process_removes_first_is_no_error(home, monkeypatch):
    names = filled(home, monkeypatch, [100] * 3, 0)
    unlink = Path.unlink

    def late(path):
        unlink(path)
        unlink(path)

    monkeypatch.setattr(Path, "unlink", late)
    cache.bound(home)
    assert not [name for name in names if (home / name).exists()]


def test_a_process_bounds_the_cache_when_it_writes(home, monkeypatch):
    names = filled(home, monkeypatch, [100] * 8, 700)
    monkeypatch.setattr(cache, "written", count())
    cache.write("k" + cache.digest("new"), b"object")
    assert not (home / names[0]).exists()
    assert len([*home.iterdir()]) == 6


SUM = """
import numpy as np, retrograd as rg
x = rg.linspace(-3, 3, 5000, dtype=rg.float64)
print(rg.nn.functional.silu(x).sum().item())
"""


def run(home):
    """What a process computes that has the cache there."""
    env = {**os.environ, "RETROGRAD_CACHE": str(home)}
    command = [sys.executable, "-c", SUM]
    return subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True)


def test_two_processes_fill_it_at_once_and_a_broken_entry_is_built_anew(home):
    found = [process.communicate()[0] for process in [run(home), run(home)]]
    (entry,) = home.iterdir()
    whole = entry.read_bytes()
    entry.write_bytes(whole[:-1])
    found.append(run(home).communicate()[0])
    assert entry.read_bytes() == whole
    assert len({*found}) == 1
    assert found[0]
