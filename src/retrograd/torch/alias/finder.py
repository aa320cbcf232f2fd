"""The finder that makes `torch` and its submodules names of this package.

NOTE [The alias]
1. `torch` is a module of its own, so that it can have another `__version__`. It asks the package
   for every other name, once.
2. `torch.x` is the very module `retrograd.torch.x` or, where there is none, `retrograd.x`, which
   keeps its name and its spec; `TWINS` lists PyTorch's second names. What is not here is not found,
   so `find_spec` and `except ImportError` tell a program the truth.
3. Tensors, parameters, generators and dtypes are of the module "torch", by which programs choose
   their backend; dtypes, sizes and types of tensors print that name (`version.called`). So are the
   public functions and classes, once their module is asked for by PyTorch's name: `module_names`.
4. What an uncaught error lacks is told by a note: `explain`, which an error loads.
5. `functorch`, which comes with PyTorch, is `alias.functorch`; `torchvision` is `torch.vision` here
   where no torchvision is installed.
"""

from __future__ import annotations

import importlib
import importlib.machinery
import importlib.util
import os
import pkgutil
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

import retrograd

from ... import providers, version
from ... import torch as world
from ...engine.backward.hooks import RemovableHandle
from ...locks import load
from .module_names import LAYERS, assign_module, assign_modules

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["home_of", "install"]

# Second names of modules.
TWINS = {
    "torch._custom_ops": "retrograd.torch.library.context",
    "torch.cpu.amp.autocast_mode": "retrograd.torch.cpu.amp",
    "torch.cpu.amp.grad_scaler": "retrograd.torch.cpu.amp",
    "torch.cuda.amp.autocast_mode": "retrograd.torch.cuda.amp",
    "torch.cuda.amp.grad_scaler": "retrograd.torch.cuda.amp",
    "torch.cuda.graphs": "retrograd.torch.cuda.classes",
    "torch.cuda.memory": "retrograd.torch.cuda",
    "torch.cuda.random": "retrograd.torch.cuda",
    "torch.cuda.streams": "retrograd.torch.cuda.classes",
    "torch.distributed._composable": "retrograd.torch.distributed.fsdp",
    "torch.distributed._composable.fsdp": "retrograd.torch.distributed.fsdp",
    "torch.distributed._tensor": "retrograd.torch.distributed.tensor",
    "torch.distributed._tensor.experimental": "retrograd.torch.distributed.tensor.experimental",
    "torch.distributed.distributed_c10d": "retrograd.torch.distributed",
    "torch.distributed.fsdp.wrap": "retrograd.torch.distributed.fsdp.fully_sharded_data_parallel",
    "torch.distributed.tensor.device_mesh": "retrograd.torch.distributed.device_mesh",
    "torch.distributed.tensor.placement_types": "retrograd.torch.distributed.tensor.placements",
    "torch.nn.modules.linear_cross_entropy_options": "retrograd.nn.modules.loss",
    "torch.ops": "retrograd.torch.library.ops",
    "torch.profiler.profiler": "retrograd.torch.profiler",
    "torch.signal.windows.windows": "retrograd.signal.windows",
    "torch.utils.benchmark.utils": "retrograd.torch.utils.benchmark",
    "torch.utils.benchmark.utils.common": "retrograd.torch.utils.benchmark",
    "torch.utils.benchmark.utils.compare": "retrograd.torch.utils.benchmark",
    "torch.utils.benchmark.utils.timer": "retrograd.torch.utils.benchmark",
}

# Packages beside PyTorch's own, and what they are here.
PACKAGES = {
    "functorch": "retrograd.torch.alias.functorch",
    "torchvision": "retrograd.torch.vision",
}

PACKAGE = os.path.dirname(retrograd.__file__)
VISION = "torchvision"
MIRROR = "retrograd.torch."
# Names of `torch` that are modules of the mirror, or second names.
MODULES = {*world.modules(), *(name.removeprefix("torch.") for name in TWINS)}

LOADED = (
    "retrograd.as_torch: PyTorch itself has been imported before, so torch cannot mean Retrograd. "
    "Import retrograd.as_torch first, or run the program by: retrograd run script.py"
)


class Torch(ModuleType):
    """The module `torch`: this package under the version of the PyTorch that it follows."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and not hasattr(retrograd, name):
            raise AttributeError(f"module 'torch' has no attribute {name!r}")
        found = self if name in MODULES else getattr(retrograd, name)
        if found is self or getattr(found, "__name__", None) == f"retrograd.{name}":
            found = importlib.import_module(f"torch.{name}")  # with what is elsewhere: rule 2
        if not name.startswith("__"):
            setattr(self, name, found)
            if getattr(found, "__qualname__", None) == name:
                assign_module("torch", found)
        return found

    def __dir__(self) -> list[str]:
        return dir(retrograd)


class Loader(providers.Same):
    """Gives the module of this package that a module of PyTorch is."""

    def create_module(self, spec: Any) -> ModuleType:
        """The module as it is; Python puts the alias's spec into it."""
        if spec.name == "torch":
            made = Torch("torch", retrograd.__doc__)
            made.__path__ = list(retrograd.__path__)
            made.__version__ = load(f"{MIRROR}torch_version").FOLLOWED  # type: ignore[attr-defined]
            made.torch = made  # type: ignore[attr-defined]  # as PyTorch has itself
            return made
        self.name = spec.name
        return super().create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        """Give the module its own spec back, and what PyTorch has below it: nothing is run."""
        if isinstance(module, Torch):
            assign_modules("torch", retrograd)
            assign_module("torch.utils.hooks", RemovableHandle)
            return
        super().exec_module(module)
        inner = f"{self.home}."
        for home, found in list(sys.modules.items()):  # lest their import undoes what hides them
            own = home.removeprefix(inner)
            if home != own and getattr(module, own, found) is not found:
                sys.modules.setdefault(f"{self.name}.{own}", found)
                assign_modules(f"{self.name}.{own}", found)
        elsewhere = [name for name in TWINS if name.startswith(f"{self.name}.")]
        for name in [*(layers() if self.name == "torch.nn" else ()), *sorted(elsewhere)]:
            outer, _, own = name.rpartition(".")
            sys.modules[name] = found = importlib.import_module(home_of(name) or "")
            setattr(importlib.import_module(home_of(outer) or ""), own, found)
            assign_modules(name, found)
        assign_modules(self.name, module)
        for own, found in list(vars(module).items()):
            if getattr(found, "__name__", None) == inner + own and self.name not in TWINS:
                importlib.import_module(f"{self.name}.{own}")


class Finder:
    """Finds `torch`, other `packages` and their submodules in this one: NOTE [The alias]."""

    def __init__(self, *packages: str) -> None:
        self.packages = packages

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """The spec of a module of PyTorch that is here, or None."""
        if name.partition(".")[0] not in self.packages:
            return None
        home = home_of(name)
        return home and importlib.machinery.ModuleSpec(name, Loader(home))  # type: ignore[arg-type]

    def find_distributions(self, context: Any = None) -> Iterable[Any]:
        """What `importlib.metadata` knows of a package called torch: its version."""
        if getattr(context, "name", None) != "torch":
            return []
        return [importlib.import_module(".distribution", __package__).Alias()]


def home_of(name: str) -> str | None:
    """The name here of a module of PyTorch; None for one that is not here.

    >>> from retrograd.torch.alias.finder import home_of
    >>> home_of("torch.nn.functional"), home_of("torch.version"), home_of("torch.nothing")
    ('retrograd.nn.functional', 'retrograd.torch.version', None)
    """
    package, dot, inner = name.partition(".")
    own = PACKAGES.get(package, "retrograd")
    home = TWINS.get(name, f"{own}{dot}{inner}")
    outer = package == "torch" and inner.partition(".")[0] not in world.OWN
    if outer and (mirrored := providers.mirrored(home)):
        return mirrored
    try:
        found = importlib.util.find_spec(home)  # loads what is around it, which may have made it
    except ModuleNotFoundError:
        return None
    return home if found or home in sys.modules else None


def layers() -> list[str]:
    """PyTorch's modules of layers that are mirrored, as which file has a layer differs."""
    folder = load(LAYERS.rstrip(".")).__path__
    return [f"torch.nn.modules.{each.name}" for each in pkgutil.iter_modules(folder)]


def packages() -> list[str]:
    """The packages that this one stands for: torchvision where it is not installed itself."""
    vision = importlib.util.find_spec(VISION)
    return ["torch", *(name for name in PACKAGES if name != VISION or not vision)]


def within_program(error: BaseException, trace: Any) -> Any:
    """A traceback without the frames at its start that are of `retrograd run`.

    A program that is no Python has no frame: the error itself names file and line.
    """
    inner = trace
    while inner and inner.tb_frame.f_code.co_filename.startswith((PACKAGE, "<frozen")):
        inner = inner.tb_next
    return inner if inner or isinstance(error, SyntaxError) else trace


def install() -> None:
    """Let `import torch` mean this package, once and for all.

    Raises RuntimeError where PyTorch itself has been imported.
    """
    there = sys.modules.get("torch")
    if isinstance(there, Torch):
        return
    if there is not None:
        raise RuntimeError(LOADED)
    version.called = "torch"
    for kind in (retrograd.Tensor, retrograd.Size, retrograd.device, retrograd.dtype):
        kind.__module__ = "torch"
    sys.meta_path.insert(0, Finder(*packages()))
    before = sys.excepthook

    def explained(kind: Any, error: BaseException, trace: Any) -> None:
        if note := load(".explain", __package__).explain(error):
            error.add_note(note)
        inner = within_program(error, trace)
        before(kind, error.with_traceback(inner), inner)

    sys.excepthook = explained
