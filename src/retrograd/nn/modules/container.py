"""Containers: modules whose content is other modules, or parameters."""

from __future__ import annotations

import operator
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Self, SupportsIndex, overload

from ...engine.tensor import Tensor
from ..parameter import Parameter
from .module import Module

__all__ = ["ModuleDict", "ModuleList", "ParameterDict", "ParameterList", "Sequential"]


def _position(index: Any, size: int) -> int:
    """A list position between 0 and size, from one that may be negative."""
    place = operator.index(index)
    if not -size <= place < size:
        raise IndexError(f"index {place} is out of range")
    return place % size


class _Listed(Module):
    """A container whose children are numbered from 0."""

    _fixed_names = False

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Module]:
        return iter(self._modules.values())

    @overload
    def __getitem__(self, index: SupportsIndex) -> Module: ...
    @overload
    def __getitem__(self, index: slice) -> Self: ...
    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            chosen = list(self._modules.items())[index]
            kind: Any = type(self)
            return kind._of(chosen)
        return self._get_item_by_idx(self._modules.values(), index)

    def _get_item_by_idx(self, iterator: Iterable[Any], idx: Any) -> Any:
        """What has a place, which may be negative, among what there is of every child."""
        return list(iterator)[_position(idx, len(self))]

    def _get_abs_string_index(self, idx: Any) -> str:
        """The name of a place, which may be negative, of a list."""
        return str(_position(idx, len(self)))

    def __setitem__(self, index: Any, module: Module) -> None:
        names = list(self._modules)
        setattr(self, names[_position(index, len(self))], module)

    def __delitem__(self, index: Any) -> None:
        if not isinstance(index, slice):
            _position(index, len(self))
            index = slice(index, index + 1 or None)
        names = list(self._modules)
        removed = set(names[index])
        kept = [(name, module) for name, module in self._modules.items() if name not in removed]
        self._modules.clear()
        numbered = all(name.isdigit() for name, _ in kept)
        for number, (name, module) in enumerate(kept):
            self._modules[str(number) if numbered else name] = module

    def append(self, module: Module) -> Self:
        """Add `module` at the end; returns the container."""
        self.add_module(str(len(self)), module)
        return self

    def extend(self, modules: Iterable[Module]) -> Self:
        """Add each of `modules` at the end; returns the container."""
        if not isinstance(modules, Iterable):
            raise TypeError(f"extend should be called with an iterable, but got {type(modules)}")
        for module in list(modules):
            self.append(module)
        return self

    def insert(self, index: int, module: Module) -> Any:
        """Put `module` before position `index`; a `Sequential` returns itself."""
        if not isinstance(module, Module):
            raise AssertionError(f"module should be of type: {Module}")
        modules = list(self._modules.values())
        if not -len(modules) <= index <= len(modules):
            raise IndexError(f"Index out of range: {index}")
        modules.insert(index, module)
        self._modules.clear()
        self._modules.update((str(number), child) for number, child in enumerate(modules))
        return self

    @overload
    def pop(self, key: int) -> Module: ...
    @overload
    def pop(self, key: slice) -> Self: ...
    def pop(self, key: Any) -> Any:
        """Remove and return the module at the index `key`."""
        module = self[key]
        del self[key]
        return module


class Sequential(_Listed):
    """Modules applied one after the other; the output of each is the input of the next.

    It takes what the first module takes and returns what the last returns, of any shape. The
    arguments are modules, or one ordered dictionary of them by name. Source: PyTorch's
    `nn.Sequential`.

    >>> net = rg.nn.Sequential(rg.nn.Linear(4, 8), rg.nn.ReLU(), rg.nn.Linear(8, 2))
    >>> net(rg.ones(3, 4)).shape, len(net), net[1]
    (retrograd.Size([3, 2]), 3, ReLU())
    """

    def __init__(self, *args: Any) -> None:
        super().__init__()
        named = enumerate(args)
        if len(args) == 1 and isinstance(args[0], OrderedDict):
            named = args[0].items()  # type: ignore[assignment]
        for name, module in named:
            self.add_module(str(name), module)

    @classmethod
    def _of(cls, chosen: list[tuple[str, Any]]) -> Any:
        return cls(OrderedDict(chosen))

    def forward(self, input: Any) -> Tensor:
        """The last module's output: to type checkers a tensor, as it nearly always is."""
        for module in self._modules.values():
            input = module(input)
        return input  # type: ignore[no-any-return]

    def __add__(self, other: Any) -> Any:
        if not isinstance(other, Sequential):
            raise ValueError(
                "add operator supports only objects of Sequential class, but "
                f"{type(other)} is given."
            )
        return Sequential(*self, *other)

    def __iadd__(self, other: Any) -> Any:
        if not isinstance(other, Sequential):
            return self + other
        return self.extend(list(other))

    def __mul__(self, times: Any) -> Any:
        return Sequential(*_repeated(self, times))

    __rmul__ = __mul__

    def __imul__(self, times: Any) -> Any:
        return self.extend(_repeated(self, times)[len(self) :])


Sequential.forward.__annotations__.clear()  # as in PyTorch: graphs that are traced show them


def _repeated(modules: Sequential, times: Any) -> list[Module]:
    if not isinstance(times, int):
        raise TypeError(f"unsupported operand type(s) for *: Sequential and {type(times).__name__}")
    if times <= 0:
        raise ValueError(f"Non-positive multiplication factor {times} for Sequential")
    return list(modules) * times


class ModuleList(_Listed):
    """A list of modules that registers them; it computes nothing itself.

    >>> layers = rg.nn.ModuleList([rg.nn.Linear(2, 2) for _ in range(3)])
    >>> layers
    ModuleList(
      (0-2): 3 x Linear(in_features=2, out_features=2, bias=True)
    )
    >>> len(list(layers.parameters()))
    6
    """

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.extend(modules)

    @classmethod
    def _of(cls, chosen: list[tuple[str, Any]]) -> Any:
        return cls([module for _, module in chosen])

    def insert(self, index: int, module: Module) -> None:
        """Put `module` before position `index`."""
        super().insert(index, module)

    def __iadd__(self, modules: Iterable[Module]) -> Any:
        return self.extend(modules)

    def __add__(self, other: Iterable[Module]) -> Any:
        return ModuleList([*self, *other])

    def __repr__(self) -> str:
        runs: list[tuple[str, int, int]] = []
        for number, text in enumerate(map(repr, self)):
            if runs and runs[-1][0] == text:
                runs[-1] = (text, runs[-1][1], number)
            else:
                runs.append((text, number, number))
        lines = []
        for text, first, last in runs:
            head = f"({first}): " if first == last else f"({first}-{last}): {last - first + 1} x "
            lines.append(f"\n  {head}" + text.replace("\n", "\n  "))
        return f"{self._get_name()}({''.join(lines)}\n)" if lines else f"{self._get_name()}()"


class ModuleDict(Module):
    """A dictionary of modules that registers them; it computes nothing itself.

    >>> heads = rg.nn.ModuleDict({"a": rg.nn.Linear(2, 1), "b": rg.nn.ReLU()})
    >>> list(heads), heads["b"]
    (['a', 'b'], ReLU())
    """

    _fixed_names = False

    def __init__(self, modules: Any = None) -> None:
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key: str) -> Module:
        return self._modules[key]  # type: ignore[no-any-return]

    def __setitem__(self, key: str, module: Module) -> None:
        self.add_module(key, module)

    def __delitem__(self, key: str) -> None:
        del self._modules[key]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __contains__(self, key: str) -> bool:
        return key in self._modules

    def clear(self) -> None:
        """Remove every module."""
        self._modules.clear()

    def pop(self, key: str) -> Any:
        """Remove and return the module under `key`."""
        return self._modules.pop(key)

    def keys(self) -> Any:
        """The names."""
        return self._modules.keys()

    def items(self) -> Any:
        """The (name, module) pairs."""
        return self._modules.items()

    def values(self) -> Any:
        """The modules."""
        return self._modules.values()

    def update(self, modules: Any) -> None:
        """Add or replace modules from a mapping or from (name, module) pairs."""
        if not isinstance(modules, (Mapping, Iterable)):
            raise TypeError(
                "ModuleDict.update should be called with an iterable of key/value pairs, but got "
                f"{type(modules).__name__}"
            )
        pairs = modules.items() if hasattr(modules, "items") else modules
        for key, module in pairs:
            self[key] = module


def _as_parameter(value: Any) -> Any:
    """A plain tensor as a parameter; any other value as it is."""
    if isinstance(value, Tensor) and not isinstance(value, Parameter):
        return Parameter(value)
    return value


def _described(value: Any, name: Any = lambda value: value.dtype) -> str:
    """One line of a parameter container's repr; `name` says what a tensor is one of."""
    if not isinstance(value, Tensor):
        return f"Object of type: {type(value).__name__}"
    kind = "Parameter" if isinstance(value, Parameter) else "Tensor"
    size = "x".join(str(n) for n in value.shape)
    return f"{kind} containing: [{name(value)} of size {size}]"


class ParameterList(Module):
    """A list of parameters that registers them; plain tensors become parameters.

    >>> scales = rg.nn.ParameterList([rg.ones(2), rg.ones(3)])
    >>> [p.shape for p in scales.parameters()]
    [retrograd.Size([2]), retrograd.Size([3])]
    """

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        self._size = 0
        if values is not None:
            self.extend(values)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return type(self)([self[i] for i in range(*index.indices(len(self)))])
        return getattr(self, str(_position(index, len(self))))

    def __setitem__(self, index: Any, value: Any) -> None:
        setattr(self, str(_position(index, len(self))), _as_parameter(value))

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Any]:
        return iter([self[i] for i in range(len(self))])

    def __iadd__(self, values: Iterable[Any]) -> Any:
        return self.extend(values)

    def append(self, value: Any) -> Any:
        """Add `value` at the end; returns the list."""
        number, self._size = self._size, self._size + 1
        self[number] = value
        return self

    def extend(self, values: Iterable[Any]) -> Any:
        """Add each of `values` at the end; returns the list."""
        if not isinstance(values, Iterable) or isinstance(values, Tensor):
            raise TypeError(
                "ParameterList.extend should be called with an iterable, but got "
                f"{type(values).__name__}"
            )
        for value in list(values):
            self.append(value)
        return self

    def extra_repr(self) -> str:
        """One line per value."""
        return "\n".join(f"  ({i}): {_described(v)}" for i, v in enumerate(self))


class ParameterDict(Module):
    """A dictionary of parameters that registers them; plain tensors become parameters.

    >>> scales = rg.nn.ParameterDict({"left": rg.ones(2)})
    >>> scales["right"] = rg.ones(3)
    >>> list(scales), len(list(scales.parameters()))
    (['left', 'right'], 2)
    """

    _fixed_names = False

    def __init__(self, parameters: Any = None) -> None:
        super().__init__()
        self._keys: dict[str, None] = {}
        if parameters is not None:
            self.update(parameters)

    def __getitem__(self, key: str) -> Any:
        if key not in self._keys:
            raise KeyError(key)
        return getattr(self, key)

    def __setitem__(self, key: str, value: Any) -> None:
        if not isinstance(key, str):
            raise TypeError(
                "Index given to ParameterDict cannot be used as a key as it is not a string "
                f"(type is '{type(key).__name__}')"
            )
        self._keys[key] = None
        setattr(self, key, _as_parameter(value))

    def __delitem__(self, key: str) -> None:
        del self._keys[key]
        delattr(self, key)

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __contains__(self, key: str) -> bool:
        return key in self._keys

    def __reversed__(self) -> Iterator[str]:
        return reversed(self._keys)

    def get(self, key: str, default: Any = None) -> Any:
        """The value under `key`, or `default`."""
        return self[key] if key in self._keys else default

    def setdefault(self, key: str, default: Any = None) -> Any:
        """The value under `key`, which is entered as `default` if there is none."""
        if key not in self._keys:
            self[key] = default
        return self[key]

    def copy(self) -> ParameterDict:
        """Another dictionary of the same parameters."""
        return ParameterDict(self)

    def fromkeys(self, keys: Iterable[str], default: Any = None) -> ParameterDict:
        """A new dictionary with `default` under each of the keys."""
        return ParameterDict((key, default) for key in keys)

    def pop(self, key: str) -> Any:
        """Remove and return the value under `key`."""
        value = self[key]
        del self[key]
        return value

    def popitem(self) -> tuple[str, Any]:
        """Remove the last pair and return it; KeyError if there is none."""
        if not self._keys:
            raise KeyError("popitem(): the dictionary is empty")
        key = next(reversed(self._keys))
        return key, self.pop(key)

    def clear(self) -> None:
        """Remove everything."""
        for key in list(self._keys):
            del self[key]

    def keys(self) -> Any:
        """The names."""
        return self._keys.keys()

    def values(self) -> list[Any]:
        """The values."""
        return [self[key] for key in self._keys]

    def items(self) -> list[tuple[str, Any]]:
        """The (name, value) pairs."""
        return [(key, self[key]) for key in self._keys]

    def update(self, parameters: Any) -> None:
        """Add or replace values from a mapping or from (name, value) pairs.

        Those of a plain mapping come in the order of their names, as in PyTorch.
        """
        pairs = parameters.items() if hasattr(parameters, "items") else parameters
        if isinstance(parameters, Mapping) and not isinstance(parameters, OrderedDict):
            pairs = sorted(pairs, key=operator.itemgetter(0))
        for key, value in pairs:
            self[key] = value

    def __or__(self, other: Any) -> ParameterDict:
        joined = ParameterDict(self)
        joined.update(other)
        return joined

    def __ror__(self, other: ParameterDict) -> ParameterDict:
        return ParameterDict(other) | self

    def __ior__(self, other: Any) -> ParameterDict:
        self.update(other)
        return self

    def extra_repr(self) -> str:
        """One line per value."""
        return "\n".join(f"  ({k}): {_described(v, Tensor.type)}" for k, v in self.items())
