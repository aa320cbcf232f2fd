"""`retrograd.hub`: what folders offer, and files of weights."""

from __future__ import annotations

import hashlib
import os
import sys

import pytest

import retrograd as rg
from retrograd.torch import hub

CONFIG = """
dependencies = ["numpy"]
from helper import scale

def scaled(n, by=1):
    "Ones, times a number."
    import retrograd as rg
    return scale(rg.ones(n), by)

def _private():
    pass
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "hubconf.py").write_text(CONFIG)
    (tmp_path / "helper.py").write_text("def scale(x, by):\n    return x * by\n")
    return tmp_path


def test_a_folder_offers_functions(folder):
    assert hub.list(folder) == ["scale", "scaled"]
    assert hub.help(folder, "scaled") == "Ones, times a number."
    assert hub.load(str(folder), "scaled", 2, by=3, source="local").tolist() == [3, 3]


def test_a_function_may_import_what_lies_in_its_folder(folder):
    (folder / "beside.py").write_text("number = 3\n")
    code = "dependencies = ['beside']\ndef net():\n    import beside\n    return beside.number\n"
    (folder / "hubconf.py").write_text(code)
    before = list(sys.path)
    assert hub.load(folder, "net", source="local") == 3
    assert sys.path == before


def test_a_repository_on_the_network_is_refused(folder):
    with pytest.raises(ValueError, match="source='local'"):
        hub.load("owner/name", "model")


def test_what_is_missing_is_said(folder):
    with pytest.raises(RuntimeError, match="Cannot find callable other in hubconf"):
        hub.load(folder, "other", source="local")
    (folder / "hubconf.py").write_text('dependencies = ["nothing_of_this_name"]')
    with pytest.raises(RuntimeError, match="Missing dependencies: nothing_of_this_name"):
        hub.list(folder)
    os.unlink(folder / "hubconf.py")
    with pytest.raises(FileNotFoundError, match=r"no hubconf\.py"):
        hub.list(folder)


def test_a_file_of_weights_is_downloaded_once_and_checked(tmp_path, monkeypatch):
    rg.save({"w": rg.ones(2)}, tmp_path / "w.pth")
    digest = hashlib.sha256((tmp_path / "w.pth").read_bytes()).hexdigest()
    source = tmp_path / f"net-{digest[:8]}.pth"
    (tmp_path / "w.pth").rename(source)
    monkeypatch.setattr(hub, "_folder", str(tmp_path / "cache"))
    for _ in range(2):
        found = hub.load_state_dict_from_url(source.as_uri(), check_hash=True)
        assert found["w"].tolist() == [1, 1]
        source.unlink(missing_ok=True)
    assert os.listdir(tmp_path / "cache" / "checkpoints") == [source.name]


def test_a_file_that_was_downloaded_has_the_permissions_of_any_file(tmp_path):
    (tmp_path / "x").write_bytes(b"something")
    hub.download_url_to_file((tmp_path / "x").as_uri(), str(tmp_path / "y"))
    assert (tmp_path / "y").stat().st_mode == (tmp_path / "x").stat().st_mode


def test_a_file_that_is_not_what_its_name_says_is_not_kept(tmp_path):
    (tmp_path / "x").write_bytes(b"something else")
    with pytest.raises(RuntimeError, match="invalid hash value"):
        hub.download_url_to_file((tmp_path / "x").as_uri(), str(tmp_path / "y"), "0123abcd")
    assert os.listdir(tmp_path) == ["x"]


def test_the_folder_of_downloads_is_pytorch_s(monkeypatch, tmp_path):
    monkeypatch.setattr(hub, "_folder", None)
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    assert hub.get_dir() == str(tmp_path / "hub")
    hub.set_dir("/elsewhere")
    assert hub.get_dir() == "/elsewhere"


def test_a_bar_of_progress_is_found_where_programs_look_for_it(capsys):
    with hub.tqdm(total=4) as bar:
        bar.update(1)
    assert "25" in capsys.readouterr().err
    if tqdm := sys.modules.get("tqdm"):
        assert hub.tqdm is tqdm.tqdm
    assert not hasattr(hub, "nothing")
