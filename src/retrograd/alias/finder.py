"""The finder that makes `torch` and its submodules names of this package.

NOTE [The alias]
1. `torch` is a module of its own, so that it can have another `__version__`. It asks the package
   for every other name, once.
2. `torch.x` is the very module `retrograd.x`, which keeps its name and its spec; `HOMES` lists the
   modules that are elsewhere here. What is not here is not found, so `find_spec` and `except
   ImportError` tell a program the truth.
3. Tensors, parameters, generators and dtypes are of the module "torch", by which programs choose
   their backend; dtypes, sizes and types of tensors print that name (`version.called`). So are the
   public functions and classes, each once its module is asked for by PyTorch's name: `settling`.
4. What an uncaught error lacks is told by a note: `explain`, which an error loads.
5. `functorch`, which comes with PyTorch, is `alias.functorch`; `torchvision` is `retrograd.vision`
   where no torchvision is installed.
"""

from __future__ import annotations

import importlib
import importlib.machinery
import importlib.util
import os
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

import retrograd

from .. import version
from ..engine.backward.hooks import RemovableHandle
from ..locks import load
from .settling import LAYERS, settle, settle_one

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["HOMES", "home_of", "install"]

# PyTorch's modules whose contents are under another name here.
HOMES = {
    "torch._C._functorch": "retrograd._functorch.levels",
    "torch._C._nn": "retrograd.alias.c_nn",
    "torch._VF": "retrograd.ops.compat.variable_functions",
    "torch.__future__": "retrograd.alias.future",
    "torch._custom_ops": "retrograd.library.context",
    "torch._dynamo": "retrograd.alias.dynamo",
    "torch._dynamo._trace_wrapped_higher_order_op": (
        "retrograd.alias.dynamo._trace_wrapped_higher_order_op"
    ),
    "torch._dynamo.config": "retrograd.alias.dynamo.config",
    "torch._dynamo.exc": "retrograd.alias.dynamo.exc",
    "torch._dynamo.utils": "retrograd.alias.dynamo.utils",
    "torch._guards": "retrograd.alias.guards",
    "torch._inductor": "retrograd.alias.inductor",
    "torch._inductor.config": "retrograd.alias.inductor.config",
    "torch._ops": "retrograd.alias.operators",
    "torch._tensor_str": "retrograd.alias.tensor_str",
    "torch._utils": "retrograd.alias.utils",
    "torch._vmap_internals": "retrograd._functorch.vmap",
    "torch.ao": "retrograd.alias.ao",
    "torch.ao.quantization": "retrograd.alias.ao.quantization",
    "torch.compiler": "retrograd.alias.compiler",
    "torch.cpu.amp.autocast_mode": "retrograd.cpu.amp",
    "torch.cpu.amp.grad_scaler": "retrograd.cpu.amp",
    "torch.cuda.amp.autocast_mode": "retrograd.cuda.amp",
    "torch.cuda.amp.grad_scaler": "retrograd.cuda.amp",
    "torch.cuda.graphs": "retrograd.cuda.classes",
    "torch.cuda.memory": "retrograd.cuda",
    "torch.cuda.random": "retrograd.cuda",
    "torch.cuda.streams": "retrograd.cuda.classes",
    "torch.distributed._composable": "retrograd.distributed.fsdp",
    "torch.distributed._composable.fsdp": "retrograd.distributed.fsdp",
    "torch.distributed._composable_state": "retrograd.alias.fsdp_state",
    "torch.distributed._tensor": "retrograd.distributed.tensor",
    "torch.distributed._tensor.experimental": "retrograd.distributed.tensor.experimental",
    "torch.distributed.distributed_c10d": "retrograd.distributed",
    "torch.distributed.fsdp._common_utils": "retrograd.alias.fsdp_state",
    "torch.distributed.tensor.device_mesh": "retrograd.distributed.device_mesh",
    "torch.distributed.tensor.placement_types": "retrograd.distributed.tensor.placements",
    "torch.functional": "retrograd.alias.functional",
    "torch.jit.annotations": "retrograd.alias.annotations",
    "torch.nn.common_types": "retrograd.alias.layers.common_types",
    "torch.nn.modules.activation": "retrograd.alias.layers.activation",
    "torch.nn.modules.batchnorm": "retrograd.alias.layers.batchnorm",
    "torch.nn.modules.channelshuffle": "retrograd.alias.layers.channelshuffle",
    "torch.nn.modules.conv": "retrograd.alias.layers.conv",
    "torch.nn.modules.distance": "retrograd.alias.layers.distance",
    "torch.nn.modules.flatten": "retrograd.alias.layers.flatten",
    "torch.nn.modules.fold": "retrograd.alias.layers.fold",
    "torch.nn.modules.instancenorm": "retrograd.alias.layers.instancenorm",
    "torch.nn.modules.linear": "retrograd.alias.layers.linear",
    "torch.nn.modules.linear_cross_entropy_options": "retrograd.nn.modules.criteria",
    "torch.nn.modules.loss": "retrograd.alias.layers.loss",
    "torch.nn.modules.pixelshuffle": "retrograd.alias.layers.pixelshuffle",
    "torch.nn.modules.upsampling": "retrograd.alias.layers.upsampling",
    "torch.onnx.operators": "retrograd.alias.onnx.operators",
    "torch.onnx.symbolic_helper": "retrograd.alias.onnx.symbolic_helper",
    "torch.onnx.symbolic_opset11": "retrograd.alias.onnx.symbolic_opset11",
    "torch.ops": "retrograd.library.ops",
    "torch.profiler.profiler": "retrograd.profiler",
    "torch.signal.windows.windows": "retrograd.signal.windows",
    "torch.storage": "retrograd.alias.storage",
    "torch.torch_version": "retrograd.alias.torch_version",
    "torch.utils.benchmark.utils": "retrograd.utils.benchmark",
    "torch.utils.benchmark.utils.common": "retrograd.utils.benchmark.measurement",
    "torch.utils.benchmark.utils.compare": "retrograd.utils.benchmark.compare",
    "torch.utils.benchmark.utils.timer": "retrograd.utils.benchmark.timer",
    "torch.version": "retrograd.alias.version",
}

# Packages beside PyTorch's own, and what they are here.
PACKAGES = {"functorch": "retrograd.alias.functorch", "torchvision": "retrograd.vision"}

PACKAGE = os.path.dirname(retrograd.__file__)
VISION = "torchvision"

LOADED = (
    "retrograd.as_torch: PyTorch itself has been imported before, so torch cannot mean Retrograd. "
    "Import retrograd.as_torch first, or run the program by: retrograd run script.py"
)


class Torch(ModuleType):
    """The module `torch`: this package under the version of the PyTorch that it follows."""

    def __getattr__(self, name: str) -> Any:
        home = HOMES.get(f"torch.{name}")
        found = importlib.import_module(home) if home else getattr(retrograd, name)
        if isinstance(found, ModuleType) and found.__name__ == f"retrograd.{name}":
            found = importlib.import_module(f"torch.{name}")  # with what is elsewhere: rule 2
        if not name.startswith("__"):
            setattr(self, name, found)
            if getattr(found, "__qualname__", None) == name:
                settle_one("torch", found)
        return found

    def __dir__(self) -> list[str]:
        return dir(retrograd)


class Loader:
    """Gives the module of this package that a module of PyTorch is."""

    def __init__(self, home: str) -> None:
        self.home = home

    def create_module(self, spec: Any) -> ModuleType:
        """The module as it is; Python puts the alias's spec into it."""
        if spec.name == "torch":
            made = Torch("torch", retrograd.__doc__)
            made.__path__ = list(retrograd.__path__)
            made.__version__ = load(".torch_version", __package__).FOLLOWED  # type: ignore[attr-defined]
            made.torch = made  # type: ignore[attr-defined]  # as PyTorch has itself
            return made
        found = importlib.import_module(self.home)
        self.name, self.spec = spec.name, found.__spec__
        return found

    def exec_module(self, module: ModuleType) -> None:
        """Give the module its own spec back, and what PyTorch has below it: nothing is run."""
        if isinstance(module, Torch):
            settle("torch", retrograd)
            settle_one("torch.utils.hooks", RemovableHandle)
            return
        module.__spec__ = self.spec
        inner = f"{self.home}."
        for home, found in list(sys.modules.items()):  # lest their import undoes what hides them
            own = home.removeprefix(inner)
            if home != own and getattr(module, own, found) is not found:
                sys.modules.setdefault(f"{self.name}.{own}", found)
                settle(f"{self.name}.{own}", found)
        elsewhere = [name for name in HOMES if name.startswith(f"{self.name}.")]
        for name in sorted(elsewhere, key=lambda name: LAYERS not in HOMES[name]):
            outer, _, own = name.rpartition(".")
            sys.modules[name] = found = importlib.import_module(HOMES[name])
            setattr(importlib.import_module(home_of(outer) or ""), own, found)
            settle(name, found)
        settle(self.name, module)
        for own, found in list(vars(module).items()):
            if getattr(found, "__name__", None) == inner + own and self.name not in HOMES:
                importlib.import_module(f"{self.name}.{own}")

    def get_code(self, name: str) -> Any:
        """The code of the module, for `retrograd run -m`, which runs it once more as a program."""
        found: Any = importlib.util.find_spec(self.home)
        return found.loader.get_code(self.home)


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

    >>> from retrograd.alias.finder import home_of
    >>> home_of("torch.nn.functional"), home_of("torch.version"), home_of("torch.nothing")
    ('retrograd.nn.functional', 'retrograd.alias.version', None)
    """
    package, dot, inner = name.partition(".")
    own = PACKAGES.get(package, "retrograd")
    home = HOMES.get(name, f"{own}{dot}{inner}")
    try:
        found = importlib.util.find_spec(home)  # loads what is around it, which may have made it
    except ModuleNotFoundError:
        return None
    return home if found or home in sys.modules else None


def packages() -> list[str]:
    """The packages that this one stands for: torchvision where it is not installed itself."""
    vision = importlib.util.find_spec(VISION)
    return ["torch", *(name for name in PACKAGES if name != VISION or not vision)]


def within_program(trace: Any) -> Any:
    """A traceback without the frames at its start that are of `retrograd run`."""
    inner = trace
    while inner and inner.tb_frame.f_code.co_filename.startswith((PACKAGE, "<frozen")):
        inner = inner.tb_next
    return inner or trace


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
        inner = within_program(trace)
        before(kind, error.with_traceback(inner), inner)

    sys.excepthook = explained
