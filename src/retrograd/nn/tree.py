"""What a module holds: parameters, buffers and child modules, by name.

They live in three tables, `_parameters`, `_buffers` and `_modules`, which `__setattr__` fills and
every traversal, conversion and saved state reads. This module knows nothing of calling a module.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from .. import version
from ..engine.backward.hooks import HookTable
from ..engine.tensor import Tensor
from .parameter import Buffer, Parameter

__all__ = ["Tree"]


class Entry:
    """Finds a registered name four times as soon as the miss that `__getattr__` waits for.

    A class gets one for each name that its instances register, unless it has that name itself.
    `table` is where the first instance has it: others may have it elsewhere. A class with a
    `__getattr__` of its own, by itself or by a base, hears of every name, as in PyTorch.
    """

    __slots__ = ("name", "table")

    def __init__(self, name: str, table: str) -> None:
        self.name, self.table = name, table

    def __get__(self, tree: Tree | None, cls: type) -> Any:
        try:
            if cls.__getattr__ is plain:  # type: ignore[attr-defined]
                return tree.__dict__[self.table][self.name]
        except (AttributeError, KeyError):
            pass
        # of an instance, `__getattr__` is asked next
        raise AttributeError(f"type object '{cls.__name__}' has no attribute '{self.name}'")


NOT_BEGUN = (
    "cannot assign {kind} before Module.__init__() call. Begin __init__ with super().__init__()"
)
TABLES = ("_parameters", "_modules", "_buffers")
ON_ENTRY = {table: HookTable() for table in TABLES}  # hooks of all modules' registrations


def own_parameters(tree: Tree) -> Iterable[tuple[str, Any]]:
    """The parameters that a module itself has, by name."""
    return tree._parameters.items()


def own_buffers(tree: Tree) -> Iterable[tuple[str, Any]]:
    """The buffers that a module itself has, by name."""
    return tree._buffers.items()


class Tree:
    """The part of `Module` that registers what is assigned to it, and finds it again."""

    _fixed_names = True  # whether a class's instances register the same names
    dump_patches = False  # PyTorch's of older files, which nothing reads
    call_super_init = False  # whether `__init__` goes on to the next base, with what it was given

    training: bool
    _parameters: dict[str, Parameter | None]
    _buffers: dict[str, Tensor | None]
    _modules: dict[str, Any]
    _non_persistent_buffers_set: set[str]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if (args or kwargs) and not self.call_super_init:
            given = (
                f"got an unexpected keyword argument '{next(iter(kwargs))}'"
                if kwargs
                else f"takes 1 positional argument but {len(args) + 1} were given"
            )
            raise TypeError(f"{type(self).__name__}.__init__() {given}")
        self.__dict__.update(
            training=True,
            _parameters={},
            _buffers={},
            _non_persistent_buffers_set=set(),
            _modules={},
        )
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    # -- registration --------------------------------------------------------------------------

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Enter `param` (None for an absent one) under `name`.

        Raises KeyError for a name that is empty, dotted or taken, TypeError for anything that is
        no `Parameter`, ValueError for a tensor with history.
        """
        self._check_name(name, "parameter", "_parameters")
        if param is not None and not isinstance(param, Parameter):
            raise TypeError(
                f"cannot assign '{_typename(param)}' object to parameter '{name}' "
                f"({version.called}.nn.Parameter or None required)"
            )
        if param is not None and not param.is_leaf:
            raise ValueError(
                f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must be "
                f"created explicitly. To express '{name}' as a function of another Tensor, compute "
                "the value in the forward() method."
            )
        self._expect(name, "_parameters")
        self._enter("_parameters", name, param)

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Enter `tensor` under `name` as state that is no parameter, saved if `persistent`.

        Raises KeyError for a name that is empty, dotted or taken, TypeError for no tensor.
        """
        self._check_name(name, "buffer", "_buffers")
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(
                f"cannot assign '{_typename(tensor)}' object to buffer '{name}' "
                f"(torch Tensor or None required)"
            )
        self._expect(name, "_buffers")
        self._enter("_buffers", name, tensor)
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def add_module(self, name: str, module: Any) -> None:
        """Enter a child module under `name`; errors as for `register_parameter`."""
        if module is not None and not isinstance(module, Tree):
            raise TypeError(f"{_typename(module)} is not a Module subclass{_instead(module)}")
        self._check_name(name, "module", "_modules")
        self._expect(name, "_modules")
        self._enter("_modules", name, module)

    def _enter(self, table: str, name: str, value: Any) -> None:
        """Enter `value`, or what the hooks of all registrations make of it."""
        for hook in ON_ENTRY[table].values() if value is not None else ():
            changed = hook(self, name, value)
            value = value if changed is None else changed
        self.__dict__[table][name] = value

    def register_module(self, name: str, module: Any) -> None:
        """The same as `add_module`."""
        self.add_module(name, module)

    def _check_name(self, name: str, kind: str, table: str) -> None:
        if table not in self.__dict__:
            raise AttributeError(NOT_BEGUN.format(kind=kind))
        if not isinstance(name, str):
            raise TypeError(f"{kind} name should be a string. Got {_typename(name)}")
        if "." in name:
            raise KeyError(f'{kind} name can\'t contain ".", got: {name}')
        if not name:
            raise KeyError(f'{kind} name can\'t be empty string ""')
        if hasattr(self, name) and name not in self.__dict__[table]:
            raise KeyError(f"attribute '{name}' already exists")

    @classmethod
    def _expect(cls, name: str, table: str) -> None:
        """Make a registered name quick to find."""
        known = not name.isidentifier() or any(name in vars(base) for base in cls.__mro__)
        if cls._fixed_names and not known:
            setattr(cls, name, Entry(name, table))

    def __getattr__(self, name: str) -> Any:
        own = self.__dict__
        for table in TABLES:
            if name in own.get(table, ()):
                return own[table][name]
        found = getattr(type(self), name, None)
        if isinstance(found, property):
            return found.__get__(self)  # for the error in it, which Python has dropped
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __setattr__(self, name: str, value: Any) -> None:
        own = self.__dict__
        if isinstance(value, Parameter):
            self._require_init(name, "parameters")
            self._forget(name, "_buffers", "_modules")
            self.register_parameter(name, value)
        elif name in own.get("_parameters", ()):
            if value is not None:
                raise TypeError(
                    f"cannot assign '{_typename(value)}' as parameter '{name}' "
                    f"({version.called}.nn.Parameter or None expected)"
                )
            self.register_parameter(name, None)
        elif isinstance(value, Tree):
            self._require_init(name, "module")
            self._forget(name, "_buffers")
            self._expect(name, "_modules")
            self._enter("_modules", name, value)
        elif name in own.get("_modules", ()):
            if value is not None:
                raise TypeError(
                    f"cannot assign '{_typename(value)}' as child module '{name}' "
                    f"({version.called}.nn.Module or None expected)"
                )
            own["_modules"][name] = None
        elif isinstance(value, Buffer):
            self._require_init(name, "buffer")
            self._forget(name)
            self.register_buffer(name, value, value.persistent)
        elif name in own.get("_buffers", ()):
            if value is not None and not isinstance(value, Tensor):
                raise TypeError(
                    f"cannot assign '{_typename(value)}' as buffer '{name}' "
                    f"({version.called}.nn.Buffer, {version.called}.Tensor or None expected)"
                )
            self.register_buffer(name, value, name not in self._non_persistent_buffers_set)
        else:
            object.__setattr__(self, name, value)

    def _require_init(self, name: str, kind: str) -> None:
        if "_parameters" not in self.__dict__:
            raise AttributeError(NOT_BEGUN.format(kind=kind))

    def _forget(self, name: str, *tables: str) -> None:
        """Take `name` out of the plain attributes and of other tables."""
        self.__dict__.pop(name, None)
        for table in tables:
            self.__dict__[table].pop(name, None)
        if "_buffers" in tables:
            self._non_persistent_buffers_set.discard(name)

    def __delattr__(self, name: str) -> None:
        for table in (self._parameters, self._modules, self._buffers):
            if name in table:
                del table[name]
                self._non_persistent_buffers_set.discard(name)
                return
        object.__delattr__(self, name)

    def __dir__(self) -> list[str]:
        own = [*self.__dict__, *self._parameters, *self._modules, *self._buffers]
        names = {*dir(type(self)), *own}
        return sorted(name for name in names if not name[:1].isdigit())

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

    # -- traversal -----------------------------------------------------------------------------

    def named_modules(
        self, memo: set[Any] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Any]]:
        """This module and all below it, depth first, with their dotted names."""
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, child in self._modules.items():
            if child is not None:
                below = f"{prefix}.{name}" if prefix else name
                yield from child.named_modules(memo, below, remove_duplicate)

    def modules(self, remove_duplicate: bool = True) -> Iterator[Any]:
        """This module and all below it, each once, or as often as it is there."""
        for _, module in self.named_modules(remove_duplicate=remove_duplicate):
            yield module

    def named_children(self) -> Iterator[tuple[str, Any]]:
        """The direct children, each once, with their names."""
        seen = set()
        for name, child in self._modules.items():
            if child is not None and child not in seen:
                seen.add(child)
                yield name, child

    def children(self) -> Iterator[Any]:
        """The direct children, each once."""
        for _, child in self.named_children():
            yield child

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """The parameters with their dotted names; without `recurse`, this module's own."""
        return self._named_members(own_parameters, prefix, recurse, remove_duplicate)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """The parameters, each once; what an optimizer takes."""
        for _, param in self.named_parameters(recurse=recurse):
            yield param

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """The buffers with their dotted names; without `recurse`, this module's own."""
        return self._named_members(own_buffers, prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """The buffers, each once."""
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    def _named_members(
        self,
        get_members_fn: Callable[[Any], Iterable[tuple[str, Any]]],
        prefix: str = "",
        recurse: bool = True,
        remove_duplicate: bool = True,
    ) -> Iterator[tuple[str, Any]]:
        """What a function gives of this module and those below it: pairs of a name and a member."""
        seen: set[int] = set()
        modules: Any = [(prefix, self)]
        if recurse:
            modules = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate)
        for path, module in modules:
            for name, member in get_members_fn(module):
                if member is None or id(member) in seen:
                    continue
                if remove_duplicate:
                    seen.add(id(member))
                yield (f"{path}.{name}" if path else name), member

    def get_submodule(self, target: str) -> Any:
        """The module with the dotted name `target`; AttributeError if there is none."""
        module: Any = self
        for name in target.split(".") if target else ():
            if not hasattr(module, name):
                raise AttributeError(f"{type(module).__name__} has no attribute `{name}`")
            module = getattr(module, name)
            if not isinstance(module, Tree):
                raise AttributeError(f"`{name}` is not an nn.Module")
        return module

    def set_submodule(self, target: str, module: Any, strict: bool = False) -> None:
        """Replace the module with the dotted name `target`, or add it unless `strict`."""
        if not target:
            raise ValueError("Cannot set the submodule without a target name!")
        if not isinstance(module, Tree):
            raise ValueError(f"`module` is not an nn.Module, found {type(module)}")
        path, _, name = target.rpartition(".")
        parent = self.get_submodule(path)
        if hasattr(parent, name):
            if not isinstance(getattr(parent, name), Tree):
                raise AttributeError(f"`{name}` is not an nn.Module")
        elif strict:
            raise AttributeError(f"{type(parent).__name__} has no attribute `{name}`")
        setattr(parent, name, module)

    def get_parameter(self, target: str) -> Parameter:
        """The parameter with the dotted name `target`; AttributeError if there is none."""
        param = self._get_member(target)
        if not isinstance(param, Parameter):
            raise AttributeError(f"`{target.rpartition('.')[2]}` is not an nn.Parameter")
        return param

    def get_buffer(self, target: str) -> Tensor:
        """The buffer with the dotted name `target`; AttributeError if there is none."""
        path, _, name = target.rpartition(".")
        buffer: Tensor = self._get_member(target)
        if name not in self.get_submodule(path)._buffers:
            raise AttributeError(f"`{name}` is not a buffer")
        return buffer

    def _get_member(self, target: str) -> Any:
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        if not hasattr(module, name):
            raise AttributeError(f"{type(module).__name__} has no attribute `{name}`")
        return getattr(module, name)


for _method in vars(Tree).values():
    if callable(_method):  # what users see is called by the class that they know
        _method.__qualname__ = _method.__qualname__.replace("Tree.", "Module.")


def _instead(value: Any) -> str:
    """What to write for a value that is given in place of a module."""
    if isinstance(value, (list, tuple)):
        return ". Give its elements one by one: nn.Sequential(*layers)"
    if isinstance(value, type) and issubclass(value, Tree):
        return f". {value.__name__} is a class: make a layer, {value.__name__}(...)"
    return ""


def _typename(value: Any) -> str:
    if isinstance(value, Tensor):
        return value.type()
    named = value if hasattr(value, "__qualname__") else type(value)
    module = getattr(named, "__module__", None) or "builtins"
    return f"{'' if module == 'builtins' else f'{module}.'}{named.__qualname__}"


plain = Tree.__getattr__
