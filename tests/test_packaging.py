"""The wheel and the sdist: what is in them, how they are called, what they need to run.

They are built here, without a network, in a copy of the checkout. Nothing is compiled: the build
in C is what the other tests run on.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import numpy
import pytest

import retrograd

ROOT = Path(__file__).parents[1]
BUILD = "import sys; from setuptools import build_meta as b; b.build_{kind}(sys.argv[1])"
LISTED = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
pytest.importorskip("setuptools", "77", reason="the build needs setuptools")


def checkout(place):
    """A copy of what is or will be under version control, or of all that an sdist brought."""
    listed = subprocess.run(LISTED, cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        left_out = shutil.ignore_patterns("*.so", "*.egg-info", "build", "__pycache__")
        shutil.copytree(ROOT, place, ignore=left_out, dirs_exist_ok=True)
        return place
    for name in filter(lambda name: (ROOT / name).exists(), listed.stdout.splitlines()):
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, place / name)
    return place


def built(kind, source, out, **environment):
    """The file that a build gives, and what it says aloud."""
    done = subprocess.run(
        [sys.executable, "-c", BUILD.format(kind=kind), out],
        env=os.environ | environment,
        cwd=source,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    (made,) = [path for path in out.iterdir() if path.suffix in (".whl", ".gz")]
    return made, done.stderr


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    return checkout(tmp_path_factory.mktemp("checkout"))


@pytest.fixture(scope="module")
def wheel(source, tmp_path_factory):
    return built("wheel", source, tmp_path_factory.mktemp("pure"), RETROGRAD_NATIVE="0")[0]


@pytest.fixture(scope="module")
def site(wheel, tmp_path_factory):
    return installed(wheel, tmp_path_factory.mktemp("site"))


def installed(wheel, place):
    """A folder with the wheel's contents and NumPy, and nothing else."""
    zipfile.ZipFile(wheel).extractall(place)
    for path in Path(numpy.__file__).parents[1].glob("numpy*"):
        (place / path.name).symlink_to(path)
    return place


def run(site, code):
    """What an interpreter prints that finds the folder's packages alone."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("RETROGRAD_")}
    done = subprocess.run(
        [sys.executable, "-S", "-W", "error", "-c", code],
        env=kept | {"PYTHONPATH": str(site)},
        cwd=site,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_wheel_without_compiled_parts_is_for_every_machine(wheel):
    assert wheel.name == f"retrograd-{retrograd.__version__}-py3-none-any.whl"


def test_the_wheel_holds_the_package_and_nothing_else(wheel, source):
    info = f"retrograd-{retrograd.__version__}.dist-info"
    names = set(zipfile.ZipFile(wheel).namelist())
    package = source / "src" / "retrograd"
    expected = {
        str(path.relative_to(source / "src"))
        for path in package.rglob("*")
        if path.suffix in (".py", ".pyi", ".html") or path.name == "py.typed"
    }
    assert {name for name in names if not name.startswith(info)} == expected
    assert f"{info}/licenses/LICENSE" in names
    assert f"{info}/entry_points.txt" in names


def test_the_sdist_holds_all_that_is_under_version_control(source, tmp_path):
    made, _ = built("sdist", source, tmp_path)
    with tarfile.open(made) as archive:
        inside = {name.partition("/")[2] for name in archive.getnames()}
    there = {str(path.relative_to(source)) for path in source.rglob("*") if path.is_file()}
    made_on_the_way = {name for name in there if "egg-info" in name or name.startswith("build/")}
    missing = there - made_on_the_way - inside
    assert not missing, f"MANIFEST.in leaves out {sorted(missing)}"


def test_workflows_name_actions_by_commit():
    used = [
        line.partition("uses:")[2].split("#")[0].strip()
        for path in (ROOT / ".github" / "workflows").glob("*.yml")
        for line in path.read_text().splitlines()
        if "uses:" in line
    ]
    assert used
    assert [each for each in used if not re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", each)] == []


def test_a_build_that_fails_says_so_and_gives_a_wheel_for_every_machine(tmp_path):
    source = checkout(tmp_path / "checkout")
    out = tmp_path / "out"
    out.mkdir()
    made, said = built("wheel", source, out, CC="false", RETROGRAD_NATIVE="")
    assert "*** Retrograd: retrograd.engine._native could not be built, and is left out" in said
    assert made.name.endswith("py3-none-any.whl")
    code = "from retrograd.torch.alias.command import main; print('status', main(['doctor']))"
    report = run(installed(made, tmp_path / "site"), code)
    assert "loops in C     its build failed\n" in report
    assert "Error: " in report
    assert report.endswith("status 1\n")


def test_a_release_does_not_go_without_its_parts_in_c(tmp_path):
    source = checkout(tmp_path / "checkout")
    with pytest.raises(AssertionError, match=r"error: .*\[?'.*false'"):
        built("wheel", source, tmp_path, CC="false", RETROGRAD_NATIVE="1")


# What a browser's interpreter, Pyodide, has not.
BROWSER = """
import _thread, sys
GONE = {"ctypes", "_ctypes", "multiprocessing", "_multiprocessing", "_posixsubprocess", "fcntl",
        "grp", "pwd", "resource", "syslog", "termios"}

class Gone:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in GONE:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

def start_new_thread(*args, **kwargs):
    raise RuntimeError("can't start new thread")

for name in GONE:
    sys.modules.pop(name, None)
sys.meta_path.insert(0, Gone())
_thread.start_new_thread = _thread.start_joinable_thread = start_new_thread
sys.platform = "emscripten"
"""

SMOKE = """
import retrograd as rg
from retrograd import nn, optim
from retrograd.nn import functional as F

rg.manual_seed(0)
layers = [nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(144, 2)]
net = nn.Sequential(*layers)
optimizer = optim.Adam(net.parameters(), lr=0.01)
x, y = rg.randn(8, 1, 8, 8), rg.randint(0, 2, (8,))
for _ in range(30):
    optimizer.zero_grad()
    loss = F.cross_entropy(net(x), y)
    loss.backward()
    optimizer.step()
assert loss.item() < 0.1, loss
z = rg.fft.fft2(rg.randn(64, 64, dtype=rg.complex64)).requires_grad_()
z.abs().sum().backward()
assert rg.func.vmap(rg.func.grad(lambda t: (t * t).sum()))(rg.ones(3, 2)).sum() == 12
rg.save(net.state_dict(), "net.pt")
net.load_state_dict(rg.load("net.pt"))
print(rg.__config__.show())
"""


def test_the_pure_package_runs_under_the_rules_of_a_browser(site):
    said = run(site, BROWSER + SMOKE)
    assert str(site) in said
    assert "graph in C     not built: this is the pure package" in said


def test_an_installation_needs_nothing_but_numpy(site):
    assert "llvmlite is not installed" in run(site, SMOKE)
