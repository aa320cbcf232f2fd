"""What PyTorch's world adds to the package, and how the rest asks for it.

NOTE [Rings]
1. The package has three rings. The engine (`engine`, `kernels`, `compiler`, `ops`, `autograd`,
   `func`, `tape`) needs nothing else; training (`nn`, `optim`, `distributions`, `serialization`,
   `utils`, `interop`, `viz`) stands on it; `torch` holds what only PyTorch's programs ask for. No
   module imports one of an outer ring, and the first two rings work where `torch` is not there.
2. Where an inner ring meets what only the outer one can do, as with a sparse layout, it asks for a
   service by name. `SERVICES` in `torch` says which module that is.
3. A public name or module that an inner ring lacks is looked for in the outer one: `retrograd.cuda`
   is `retrograd.torch.cuda`. `attribute` does so for a package, `Mirror` for `import`.
4. A folder of `torch` that has no `__init__.py` only leads to what is in it: `retrograd.torch.nn`
   stands for nothing itself.
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import os
import sys
from typing import TYPE_CHECKING, Any

from . import version
from .errors import nearest, same_letters
from .locks import load

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType
    from typing import Self

__all__ = [
    "Unknown", "attribute", "families", "listed", "load_families", "mirrored", "names", "public",
    "service",
]  # fmt: skip

WORLD = f"{__package__}.torch"
LACKS = (
    "{name} is of {world}, the part of the package for PyTorch's programs, which is not installed"
)


def world() -> Any:
    """The outer ring; None where it is not installed."""
    found = sys.modules.get(WORLD)
    if found is None and importlib.util.find_spec(WORLD):
        found = load(WORLD)
    return found


def families() -> dict[str, Any]:
    """The families of ops that PyTorch's world adds, by its package: `ops.lazy_loading`."""
    return {WORLD: load(f"{WORLD}.lazy_names")} if world() else {}


def load_families() -> ModuleType:
    """The module that loads all families of ops, as if their names had been asked for."""
    return load(f"{WORLD}.lazy_families" if world() else f"{__package__}.ops.lazy_families")


def service(name: str) -> Any:
    """The module that does for the inner rings what only PyTorch's world can.

    Raises ImportError where that part is not installed.
    """
    outer = world()
    if outer is None:
        raise ImportError(LACKS.format(name=name, world=WORLD))
    return load(f"{WORLD}.{outer.SERVICES[name]}")


def public(name: str) -> Any:
    """A public name of the package, as a user asks for it: for methods that are called as it is."""
    return getattr(sys.modules[__package__], name)


def attribute(package: str, name: str) -> Any:
    """A name or a module that PyTorch's world adds to a package.

    Raises AttributeError where it adds none of that name.
    """
    outer, why = world(), ""
    if outer is not None:
        inner = f"{package}.{name}".partition(".")[2]
        if home := outer.home_of(inner):
            found = load(f"{WORLD}.{home}")
            is_it = home.rpartition(".")[2] == name and not hasattr(found, name)
            return found if is_it else getattr(found, name)
        if mirrored(f"{package}.{name}"):
            return load(f"{package}.{name}")
        why = service("missing names").reason(name, inner.rpartition(".")[0])
    shown = package.replace(__package__, version.called, 1)
    text = f"module {shown!r} has no attribute {name!r}{why}"
    if why:
        raise AttributeError(text)
    raise AttributeError(Unknown(text, package, name), name=name, obj=None)


class Unknown(str):
    """A text that, once it is shown, says which name of the package is near the one asked for.

    So `hasattr` pays nothing for it. Python would look among 750 names at most.
    """

    __slots__ = ("name", "package")

    name: str
    package: str

    def __new__(cls, text: str, package: str, name: str) -> Self:
        """The text of the error for `name`, which `package` lacks."""
        made = super().__new__(cls, text)
        made.package, made.name = package, name
        return made

    def __getnewargs__(self) -> tuple[str, str, str]:  # type: ignore[override]
        return self[:], self.package, self.name

    def __str__(self) -> str:
        near = nearest(self.name, dir(sys.modules[self.package]))
        if self.package == __package__ and self.name[0].isupper():  # a layer, an optimizer?
            for home in ("nn", "optim"):
                names = dir(sys.modules.get(f"{__package__}.{home}"))
                for name in same_letters(self.name, names):
                    near = f"{home}.{name}"
        return f"{self[:]}. Did you mean: {near!r}?" if near else self[:]


def names(package: str) -> list[str]:
    """The names that PyTorch's world adds to a package; of modules, those of the whole one."""
    within = f"{package}.".partition(".")[2]
    outer = world()
    added = [*outer.NAMES, *outer.modules()] if outer else []
    return [name.removeprefix(within) for name in added if name.rpartition(".")[0] == within[:-1]]


def listed(package: str) -> list[str]:
    """What `dir` shows of a package: its names, and those that PyTorch's world adds."""
    found = vars(sys.modules[package])
    return sorted({*found, *found.get("__all__", ()), *names(package)})


def mirrored(name: str) -> str | None:
    """The module of PyTorch's world that is found by the name of one of the package's, if any."""
    package, _, inner = name.partition(".")
    if package != __package__ or not inner or f"{name}.".startswith(f"{WORLD}."):
        return None
    home = f"{WORLD}.{inner}"
    found = spec_of(home)
    return home if found is not None and found.origin is not None else None


def spec_of(name: str) -> Any:
    """The spec of a module, or None, also where what is around it is no package."""
    try:
        return importlib.util.find_spec(name)
    except (ModuleNotFoundError, ValueError):
        return None


def is_left_over(folder: str) -> bool:
    """Whether a folder is one that an older version left, with nothing but compiled files in it."""
    return os.path.isdir(folder) and not os.path.exists(os.path.join(folder, "__init__.py"))


class Same:
    """The loader of a module that stands there by another name: it gives that very module."""

    def __init__(self, home: str) -> None:
        self.home = home

    def create_module(self, spec: Any) -> ModuleType:
        """The module, loaded by its own name."""
        found = importlib.import_module(self.home)
        self.spec = found.__spec__
        return found

    def exec_module(self, module: ModuleType) -> None:
        """Give the module its own spec back: nothing is run."""
        module.__spec__ = self.spec

    def get_code(self, name: str) -> Any:
        """Code that runs the module once more, by its own name, for `python -m`."""
        text = f"import runpy; runpy.run_module({self.home!r}, run_name=__name__, alter_sys=True)"
        return compile(text, f"<{name}>", "exec")


class Mirror:
    """Finds modules of PyTorch's world by the names that users know: NOTE [Rings], 3."""

    def __init__(self, last: bool) -> None:
        self.last = last  # else: asked first, lest what is below a mirrored module is loaded anew

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: Any = None) -> Any:
        """The spec of a module by another name, or None."""
        around, _, own = name.rpartition(".")
        home = None
        if self.last:
            home = mirrored(name)
        elif name.startswith(f"{__package__}."):
            outer = getattr(sys.modules.get(around), "__name__", around)
            home = f"{outer}.{own}" if outer != around else None
            if home is not None and spec_of(home) is None:
                return None
            if home is None and path and is_left_over(os.path.join(path[0], own)):
                home = mirrored(name)
        return home and importlib.machinery.ModuleSpec(name, Same(home))  # type: ignore[arg-type]


sys.meta_path.insert(0, Mirror(False))
sys.meta_path.append(Mirror(True))
