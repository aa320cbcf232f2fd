"""Parametrizations: a parameter as a function of others, computed whenever it is read.

NOTE [Parametrized] `register_parametrization(module, "weight", f)` moves `module.weight` to
`module.parametrizations.weight.original` and gives the module a class of its own, derived from its
class, in which `weight` is a property: reading it computes f(original), assigning to it sets the
original to f.right_inverse(value). Several parametrizations are applied one after another. The
first one's `right_inverse` may return several tensors, which are original0, original1, ...
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from ... import modes
from ...engine.tensor import Tensor
from ..modules.container import ModuleDict, ModuleList
from ..modules.module import Module
from ..parameter import Parameter

__all__ = [
    "ParametrizationList", "cached", "is_parametrized", "register_parametrization",
    "remove_parametrizations", "transfer_parametrizations_and_params",
    "type_before_parametrizations",
]  # fmt: skip


class _Cache:
    """The values computed inside `cached()`, by (id of module, name); None outside."""

    values: dict[Any, Any] | None = None


@contextmanager
def cached() -> Iterator[None]:
    """Compute every parametrized tensor once within the block, however often it is read.

    >>> parametrize = rg.nn.utils.parametrize
    >>> layer = rg.nn.utils.parametrizations.weight_norm(rg.nn.Linear(2, 1))
    >>> with parametrize.cached():
    ...     layer.weight is layer.weight
    True
    """
    before = _Cache.values
    if before is None:
        _Cache.values = {}
    try:
        yield
    finally:
        _Cache.values = before


def _without_history(function: Any, *args: Any) -> Any:
    before = modes.change(grad=False)
    try:
        return function(*args)
    finally:
        modes.restore(before)


class ParametrizationList(ModuleList):
    """The parametrizations of one tensor, and its originals; calling it computes the tensor.

    Raises ValueError for no modules, and for one whose result or `right_inverse` is no tensor of
    the same shape and dtype (`unsafe` allows other ones).

    >>> layer = rg.nn.utils.parametrizations.weight_norm(rg.nn.Linear(2, 1))
    >>> [name for name, _ in layer.parametrizations.weight.named_parameters()]
    ['original0', 'original1']
    """

    def __init__(self, modules: Any, original: Any, unsafe: bool = False) -> None:
        modules = list(modules)
        if not modules:
            raise ValueError("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe = unsafe
        made = _without_history(self._started, original)
        self.is_tensor = isinstance(made, Tensor)
        if not self.is_tensor and not isinstance(made, (tuple, list)):
            raise ValueError(
                "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). "
                f"Got {type(made).__name__}"
            )
        self.ntensors = 1 if self.is_tensor else len(made)
        if self.is_tensor:
            if made.dtype is not original.dtype:
                raise ValueError(
                    "When `right_inverse` outputs one tensor, it may not change the dtype.\n"
                    f"original.dtype: {original.dtype}\n"
                    f"right_inverse(original).dtype: {made.dtype}"
                )
            self._hold("original", original, made)
        else:
            for number, part in enumerate(made):
                if not isinstance(part, Tensor):
                    raise ValueError(
                        "'right_inverse' must return a Tensor or a Sequence of tensors (list, "
                        f"tuple...). Got element {number} of the sequence with type "
                        f"{type(part).__name__}."
                    )
                self._hold(f"original{number}", original, part)
        if not unsafe:
            self._check(original)

    def _hold(self, name: str, original: Any, value: Tensor) -> None:
        """Register an original: a parameter if the tensor was one, else a buffer."""
        if not isinstance(original, Parameter):
            self.register_buffer(name, value)
        elif self.is_tensor:  # the same object, which an optimizer may hold
            original.data = value
            self.register_parameter(name, original)
        else:
            self.register_parameter(name, Parameter(value, original.requires_grad))

    def _started(self, value: Any) -> Any:
        """What the originals are at first; a parametrization without an inverse counts as none."""
        for module in reversed(list(self)):
            if hasattr(module, "right_inverse"):
                with suppress(NotImplementedError):
                    value = module.right_inverse(value)
        return value

    def _inverted(self, value: Any) -> Any:
        """What the originals must be for the tensor to be `value`."""
        for module in reversed(list(self)):
            value = module.right_inverse(value)
        return value

    def _check(self, original: Tensor) -> None:
        made = _without_history(self.forward)
        if not isinstance(made, Tensor):
            raise ValueError(f"A parametrization must return a tensor. Got {type(made).__name__}.")
        for what in ("dtype", "shape"):
            before, after = getattr(original, what), getattr(made, what)
            if before != after:
                raise ValueError(
                    f"Registering a parametrization may not change the {what} of the tensor, "
                    f"unless `unsafe` flag is enabled.\nunparametrized {what}: {before}\n"
                    f"parametrized {what}: {after}"
                )

    def originals(self) -> list[Any]:
        """The tensors of which the parametrized one is a function."""
        if self.is_tensor:
            return [self.original]
        return [getattr(self, f"original{number}") for number in range(self.ntensors)]

    def right_inverse(self, value: Tensor) -> None:
        """Set the originals such that the tensor becomes `value`.

        Raises RuntimeError where a parametrization has no `right_inverse`.
        """
        for module in self:
            if not hasattr(module, "right_inverse"):
                raise RuntimeError(
                    f"parametrization {type(module).__name__} does not implement right_inverse."
                )
        made = _without_history(self._inverted, value)
        parts = [made] if self.is_tensor else list(made)
        if len(parts) != self.ntensors:
            raise ValueError(
                "'right_inverse' must return a sequence of tensors of length "
                f"{self.ntensors}. Got a sequence of length {len(parts)}."
            )
        for original, part in zip(self.originals(), parts, strict=True):
            original.data = part

    def forward(self) -> Any:
        """The parametrized tensor, computed from the originals."""
        modules = list(self)
        made = modules[0](*self.originals())
        for module in modules[1:]:
            made = module(made)
        return made


def _with_class(module: Module) -> None:
    """Give `module` a class of its own, to hold properties."""
    kind = type(module)
    home = ParametrizationList.__module__
    own: dict[str, Any] = {"__module__": home, "parametrized_from": kind}
    own["__getstate__"] = _no_state
    if not hasattr(kind, "__deepcopy__"):
        own["__deepcopy__"] = _deepcopy
    module.__class__ = type(f"Parametrized{kind.__name__}", (kind,), own)


def _no_state(self: Any) -> Any:
    raise RuntimeError(
        "Serialization of parametrized modules is only supported through state_dict(): their "
        "classes are made as the program runs. Write save(module.state_dict(), file)"
    )


def _deepcopy(self: Any, memo: dict[int, Any]) -> Any:
    """A copy with a class of its own, so that each loses its parametrizations alone."""
    made = memo[id(self)] = object.__new__(type(self).parametrized_from)
    made.__dict__.update(copy.deepcopy(self.__dict__, memo))
    _with_class(made)
    for name in made.parametrizations:
        setattr(type(made), name, _property(name))
    return made


def _property(name: str) -> property:
    def read(self: Any) -> Any:
        values = _Cache.values
        if values is None:
            return self.parametrizations[name]()
        key = (id(self), name)
        if key not in values:
            values[key] = self.parametrizations[name]()
        return values[key]

    def assign(self: Any, value: Tensor) -> None:
        self.parametrizations[name].right_inverse(value)

    return property(read, assign)


def register_parametrization(
    module: Any, tensor_name: str, parametrization: Any, *, unsafe: bool = False
) -> Any:
    """Make the parameter or buffer `tensor_name` of `module` a function of its original.

    `parametrization` is a module; its `right_inverse`, if there is one, gives the original. A
    second one is applied after the first. It may not change dtype and shape, unless `unsafe`.
    Raises ValueError for a tensor that the module does not have. Source: PyTorch's function of this
    name.

    >>> class Symmetric(rg.nn.Module):
    ...     def forward(self, x):
    ...         return x.triu() + x.triu(1).mT
    >>> layer = rg.nn.Linear(3, 3)
    >>> layer = rg.nn.utils.parametrize.register_parametrization(layer, "weight", Symmetric())
    >>> rg.equal(layer.weight, layer.weight.mT), list(layer.state_dict())
    (True, ['bias', 'parametrizations.weight.original'])
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        listed = module.parametrizations[tensor_name]
        if not unsafe:
            _check_further(module, tensor_name, parametrization)
        listed.append(parametrization)
        listed.unsafe |= unsafe
        return module
    if tensor_name not in module._parameters and tensor_name not in module._buffers:
        raise ValueError(
            f"Module '{module}' does not have a parameter, a buffer, or a parametrized element "
            f"with name '{tensor_name}'"
        )
    original = getattr(module, tensor_name)
    listed = ParametrizationList([parametrization], original, unsafe)
    delattr(module, tensor_name)
    if not is_parametrized(module):
        _with_class(module)
        module.parametrizations = ModuleDict()
    setattr(type(module), tensor_name, _property(tensor_name))
    module.parametrizations[tensor_name] = listed
    return module


def _check_further(module: Any, name: str, parametrization: Any) -> None:
    """Raise where one more parametrization changes the dtype or shape of a tensor."""
    before = _without_history(getattr, module, name)
    after = _without_history(parametrization, before)
    if not isinstance(after, Tensor):
        raise ValueError(f"A parametrization must return a tensor. Got {type(after).__name__}.")
    _check_inverse(before, after, parametrization, name)
    for what in ("dtype", "shape"):
        if getattr(before, what) != getattr(after, what):
            raise ValueError(
                f"Registering a parametrization may not change the {what} of the tensor, unless "
                f"the `unsafe` flag is enabled.\nmodule.{name}.{what}: {getattr(before, what)}\n"
                f"parametrization(module.{name}).{what}: {getattr(after, what)}"
            )


def _check_inverse(before: Tensor, after: Tensor, parametrization: Any, name: str) -> None:
    """Raise where `right_inverse`, if there is one, gives no tensor like the present one."""
    if not hasattr(parametrization, "right_inverse"):
        return
    try:
        found = _without_history(parametrization.right_inverse, after)
    except NotImplementedError:
        return
    if not isinstance(found, Tensor):
        raise ValueError(
            f"parametrization.right_inverse must return a tensor. Got: {type(found).__name__}"
        )
    for what in ("dtype", "shape"):
        if getattr(before, what) != getattr(found, what):
            raise ValueError(
                f"The tensor returned by parametrization.right_inverse must have the same {what} "
                f"as module.{name}, unless the `unsafe` flag is enabled: "
                f"{getattr(before, what)} and {getattr(found, what)}"
            )


def is_parametrized(module: Any, tensor_name: str | None = None) -> bool:
    """Whether `module`, or its tensor `tensor_name`, is parametrized.

    >>> rg.nn.utils.parametrize.is_parametrized(rg.nn.Linear(2, 1))
    False
    """
    found = module.__dict__.get("_modules", {}).get("parametrizations")
    if not isinstance(found, ModuleDict):
        return False
    return len(found) > 0 if tensor_name is None else tensor_name in found


def remove_parametrizations(module: Any, tensor_name: str, leave_parametrized: bool = True) -> Any:
    """Undo `register_parametrization`: keep the present value, or else the original's.

    Raises ValueError where the tensor is not parametrized, or where the original is to be left and
    there are several.

    >>> layer = rg.nn.utils.parametrizations.weight_norm(rg.nn.Linear(2, 1))
    >>> layer = rg.nn.utils.parametrize.remove_parametrizations(layer, "weight")
    >>> sorted(layer.state_dict()), type(layer).__name__
    (['bias', 'weight'], 'Linear')
    """
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    listed = module.parametrizations[tensor_name]
    if not leave_parametrized and not listed.is_tensor:
        raise ValueError(
            "Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is "
            "parametrized in terms of a sequence of tensors."
        )
    original = listed.originals()[0]
    if leave_parametrized:
        value = _without_history(getattr, module, tensor_name)
        if not listed.is_tensor:
            wanted = any(t.requires_grad for t in listed.originals())
            is_parameter = isinstance(original, Parameter)
            original = Parameter(value, wanted) if is_parameter else value
        else:
            original.data = value
    delattr(type(module), tensor_name)
    del module.parametrizations[tensor_name]
    if isinstance(original, Parameter):
        module.register_parameter(tensor_name, original)
    else:
        module.register_buffer(tensor_name, original)
    if not is_parametrized(module):
        del module.parametrizations
        module.__class__ = type(module).parametrized_from
    return module


def type_before_parametrizations(module: Any) -> type[Any]:
    """The class of `module` without its parametrizations.

    >>> layer = rg.nn.utils.parametrizations.weight_norm(rg.nn.Linear(2, 1))
    >>> rg.nn.utils.parametrize.type_before_parametrizations(layer).__name__
    'Linear'
    """
    return type(module).parametrized_from if is_parametrized(module) else type(module)


def transfer_parametrizations_and_params(
    from_module: Any, to_module: Any, tensor_name: str | None = None
) -> Any:
    """Give `to_module` copies of the parametrizations of `from_module`, and their originals.

    >>> layer = rg.nn.utils.parametrizations.weight_norm(rg.nn.Linear(2, 1))
    >>> transfer = rg.nn.utils.parametrize.transfer_parametrizations_and_params
    >>> rg.equal(transfer(layer, rg.nn.Linear(2, 1)).weight, layer.weight)
    True
    """
    if not is_parametrized(from_module):
        return to_module
    names = [tensor_name] if tensor_name is not None else list(from_module.parametrizations.keys())
    for name in names:
        if not hasattr(to_module, name):
            setattr(to_module, name, Parameter(_without_history(getattr, from_module, name)))
        for parametrization in from_module.parametrizations[name]:
            register_parametrization(to_module, name, copy.deepcopy(parametrization), unsafe=True)
        given = from_module.parametrizations[name].originals()
        for target, value in zip(to_module.parametrizations[name].originals(), given, strict=True):
            target.data = value.detach().clone()
    return to_module
