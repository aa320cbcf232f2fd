"""Models that a folder offers by its `hubconf.py`, and files of weights: `torch.hub`.

A folder is a local one: nothing is downloaded of a repository, whose code would then run. Files of
weights are, over HTTP, into `get_dir()`, and those that lie there are used as they are.
"""

from __future__ import annotations

import builtins
import hashlib
import importlib.util
import os
import re
import sys
import urllib.request
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlparse

from ...serialization import load as read
from ...serialization.files import replacing
from .progress import tqdm

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

__all__ = [
    "download_url_to_file", "get_dir", "help", "list", "load", "load_state_dict_from_url",
    "set_dir",
]  # fmt: skip

CONFIG = "hubconf.py"
HASH_REGEX = re.compile(r"-([a-f0-9]{8,})\.")  # PyTorch's name, which libraries import
CHUNK = 1 << 17
REMOTE = (
    "hub.{name}(): source={source!r} would run code from the network. Clone the repository, look "
    "at it, and give its folder: retrograd.hub.{name}(folder, ..., source='local')"
)

_folder: str | None = None


def _get_torch_home() -> str:
    """The folder of what libraries keep: $TORCH_HOME, or ~/.cache/torch."""
    cache = os.environ.get("XDG_CACHE_HOME", "~/.cache")
    return os.path.expanduser(os.environ.get("TORCH_HOME", os.path.join(cache, "torch")))


def get_dir() -> str:
    """The folder of what is downloaded: `set_dir`'s, or $TORCH_HOME/hub, or ~/.cache/torch/hub."""
    return os.path.join(_get_torch_home(), "hub") if _folder is None else _folder


def set_dir(d: str | os.PathLike[str]) -> None:
    """Let another folder be that of what is downloaded."""
    global _folder
    _folder = os.path.expanduser(d)


@contextmanager
def _config(name: str, folder: Any, source: str) -> Iterator[ModuleType]:
    """The module that says what a folder offers; meanwhile the folder's own can be imported."""
    if source != "local":
        raise ValueError(REMOTE.format(name=name, source=source))
    path = Path(folder) / CONFIG
    if not path.exists():
        raise FileNotFoundError(f"hub.{name}(): there is no {CONFIG} in {Path(folder).resolve()}")
    sys.path.insert(0, str(folder))
    try:
        spec = importlib.util.spec_from_file_location(CONFIG, path)
        assert spec is not None
        assert spec.loader is not None
        found = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(found)
        needed = getattr(found, "dependencies", ())
        missing = [each for each in needed if not importlib.util.find_spec(each)]
        if missing:
            raise RuntimeError(f"Missing dependencies: {', '.join(missing)}")
        yield found
    finally:
        sys.path.remove(str(folder))


def _entry(config: ModuleType, model: str) -> Any:
    found = getattr(config, model, None)
    if not callable(found):
        raise RuntimeError(f"Cannot find callable {model} in hubconf")
    return found


def list(
    github: Any,
    force_reload: bool = False,
    skip_validation: bool = False,
    trust_repo: Any = None,
    verbose: bool = True,
    source: str = "local",
) -> builtins.list[str]:
    """The names that a folder offers by its `hubconf.py`; errors as for `load`."""
    with _config("list", github, source) as config:
        found = vars(config).items()
        return [name for name, value in found if callable(value) and not name.startswith("_")]


def help(
    github: Any,
    model: str,
    force_reload: bool = False,
    skip_validation: bool = False,
    trust_repo: Any = None,
    source: str = "local",
) -> str | None:
    """The docstring of what a folder offers by a name; errors as for `load`."""
    with _config("help", github, source) as config:
        return _entry(config, model).__doc__  # type: ignore[no-any-return]


def load(
    repo_or_dir: Any,
    model: str,
    *args: Any,
    source: str = "github",
    trust_repo: Any = None,
    force_reload: bool = False,
    verbose: bool = True,
    skip_validation: bool = False,
    **kwargs: Any,
) -> Any:
    """What the function `model` in the `hubconf.py` of a folder gives for the arguments.

    Raises ValueError for another source than "local", FileNotFoundError where there is no such
    file, RuntimeError where it lacks the function or a module that it depends on. Source: PyTorch's
    `hub.load`.

    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> folder = Path(mkdtemp())
    >>> _ = (folder / "hubconf.py").write_text("def double(x):\\n    return 2 * x\\n")
    >>> rg.hub.list(folder), rg.hub.load(folder, "double", rg.ones(2), source="local")
    (['double'], tensor([2., 2.]))
    """
    with _config("load", repo_or_dir, source) as config:
        return _entry(config, model)(*args, **kwargs)


def download_url_to_file(
    url: str, dst: str, hash_prefix: str | None = None, progress: bool = True
) -> None:
    """Write what is at an address to a file, which is whole or is not there.

    Raises RuntimeError where its SHA-256 does not begin with `hash_prefix`.
    """
    sha = hashlib.sha256()
    with urllib.request.urlopen(url) as source, replacing(Path(dst).expanduser()) as file:
        while chunk := source.read(CHUNK):
            file.write(chunk)
            sha.update(chunk)
        if hash_prefix and not sha.hexdigest().startswith(hash_prefix):
            raise RuntimeError(
                f'invalid hash value (expected "{hash_prefix}", got "{sha.hexdigest()}")'
            )


def load_state_dict_from_url(
    url: str,
    model_dir: str | None = None,
    map_location: Any = None,
    progress: bool = True,
    check_hash: bool = False,
    file_name: str | None = None,
    weights_only: bool = True,
) -> Any:
    """What the file of an address holds, from `model_dir` (`get_dir()`/checkpoints), or downloaded.

    With `check_hash`, the name of the file, as in `net-5f3c7a21.pth`, says how its SHA-256 begins.
    """
    folder = Path(model_dir or os.path.join(get_dir(), "checkpoints"))
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / (file_name or os.path.basename(urlparse(url).path))
    if not path.exists():
        found = HASH_REGEX.search(path.name) if check_hash else None
        download_url_to_file(url, str(path), found[1] if found else None, progress)
    return read(path, map_location=map_location, weights_only=weights_only)
