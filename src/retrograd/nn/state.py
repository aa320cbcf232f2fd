"""`state_dict` and `load_state_dict`: a module's parameters and persistent buffers by name.

The functions here work on any module; `Module` has them as methods, and its two overridable steps,
`_save_to_state_dict` and `_load_from_state_dict`, are one module's own share without its children.

A state is a plain `OrderedDict`, so any file format takes it; its attribute `_metadata` holds each
module's state version, as in PyTorch.
"""

from __future__ import annotations

import warnings
from collections import OrderedDict, namedtuple
from collections.abc import Mapping
from typing import Any

from .. import modes, version
from ..engine.tensor import Tensor, wrote
from ..engine.writable import check_writable
from ..kernels.allocation import has_memory
from ..ops.core.engine_ops import held_by
from ..ops.tensor.swap import swap_tensors
from ..quiet import copyto
from .parameter import Parameter

__all__ = ["load", "save"]

swaps = False  # whether `load_state_dict` asks `Tensor.module_load`: `torch.__future__`

EXTRA_STATE = "_extra_state"
IGNORES = "strict=False ignores names that only one of the two has."
NO_EXTRA_STATE = (
    "Reached a code path in Module.{name}() that should never be called: {kind} does not override "
    "it. Write {kind}.{name}"
)
NO_COPY = (
    "for {key}: copying from a non-meta parameter in the checkpoint to a meta parameter in the "
    "current model, which is a no-op. (Did you mean to pass `assign=True` to assign items in the "
    "state dictionary to their corresponding key in the module instead of copying them in place?)"
)


class _IncompatibleKeys(namedtuple("_IncompatibleKeys", ["missing_keys", "unexpected_keys"])):
    """What `load_state_dict` returns: the names that one side had and the other had not."""

    __slots__ = ()

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return super().__repr__()

    __str__ = __repr__


def by_position(args: tuple[Any, ...], destination: Any, prefix: str, keep_vars: bool) -> Any:
    """The settings of `state_dict`, of which some are given by position, as older programs do."""
    warnings.warn(
        "Positional args are being deprecated, use kwargs instead: state_dict(prefix=...)",
        FutureWarning,
        stacklevel=3,
    )
    settings = (destination, prefix, keep_vars)
    return (*args, *settings[len(args) :])[:3]


def save(module: Any, destination: Any, prefix: str, keep_vars: bool) -> Any:
    """Enter the state of `module` and its children into `destination`, and return that."""
    if destination is None:
        destination = OrderedDict()
        destination._metadata = OrderedDict()
    own = {"version": module._version}
    if hasattr(destination, "_metadata"):
        destination._metadata[prefix[:-1]] = own
    hooks = module._hooks
    if hooks is not None:
        for hook in list(hooks.state_dict_pre.values()):
            hook(module, prefix, keep_vars)
    module._save_to_state_dict(destination, prefix, keep_vars)
    for name, child in module._modules.items():
        if child is not None:
            child.state_dict(
                destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars
            )
    if hooks is not None:
        for number, hook in list(hooks.state_dict_post.items()):
            changed = hook(module, destination, prefix, own)
            if changed is not None:
                if number not in hooks.replacing:
                    raise RuntimeError("state_dict post-hook must return None")
                destination = changed
    return destination


def save_own(module: Any, destination: Any, prefix: str, keep_vars: bool) -> None:
    """Enter the parameters, persistent buffers and extra state of `module` itself."""
    for name, value in own_state(module).items():
        destination[prefix + name] = value if keep_vars else value.detach()
    if type(module).get_extra_state is not get_extra_state:
        destination[prefix + EXTRA_STATE] = module.get_extra_state()


def get_extra_state(module: Any) -> Any:
    """State beyond tensors, for `state_dict`; a class that has such state overrides this.

    >>> rg.nn.ReLU().get_extra_state()
    Traceback (most recent call last):
    ...
    RuntimeError: Reached a code path in Module.get_extra_state() that should never be called: ...
    """
    raise RuntimeError(NO_EXTRA_STATE.format(name="get_extra_state", kind=type(module).__name__))


def set_extra_state(module: Any, state: Any) -> None:
    """Take state over that `get_extra_state` gave; a class that has such state overrides this."""
    raise RuntimeError(NO_EXTRA_STATE.format(name="set_extra_state", kind=type(module).__name__))


def own_state(module: Any) -> dict[str, Tensor]:
    """The parameters and persistent buffers of `module` itself that are not None."""
    buffers = {
        name: buffer
        for name, buffer in module._buffers.items()
        if name not in module._non_persistent_buffers_set
    }
    return {n: value for n, value in {**module._parameters, **buffers}.items() if value is not None}


class _Report:
    """The keys and errors that `load_state_dict` reports."""

    def __init__(self) -> None:
        self.missing: list[str] = []
        self.unexpected: list[str] = []
        self.errors: list[str] = []

    def raise_if_failed(self, module: Any, given: Any, strict: bool) -> None:
        errors = list(self.errors)
        if strict:
            for keys, kind in ((self.missing, "Missing"), (self.unexpected, "Unexpected")):
                if keys:
                    named = ", ".join(f'"{key}"' for key in keys)
                    errors.append(f"{kind} key(s) in state_dict: {named}. ")
            errors = errors[len(self.errors) :] + errors[: len(self.errors)]
        if errors:
            errors.append(self._advice(given))
            text = "\n\t".join(errors)
            raise RuntimeError(
                f"Error(s) in loading state_dict for {type(module).__name__}:\n\t{text}"
            )

    def _advice(self, given: Any) -> str:
        """What to do about keys, or else about sizes."""
        if not (self.missing or self.unexpected):
            return "Build the module with the sizes of the state, or leave these keys out of it."
        for name, part in given.items():
            if isinstance(part, Mapping) and not part.keys().isdisjoint(self.missing):
                return f"This is a checkpoint: the module's state is in it, at [{name!r}]."
        before = {key.partition(".")[0] for key in self.unexpected}
        if self.missing and set(self.missing) == {key.partition(".")[2] for key in self.unexpected}:
            return (
                f'All keys have "{before.pop()}." before them: take it off, as by '
                "key.partition('.')[2]."
            )
        if self.unexpected and len(self.missing) == len(self.unexpected):
            pairs = zip(self.unexpected, self.missing, strict=True)
            named = ", ".join(f'"{given}" for "{own}"' for given, own in pairs)
            return f"If they are the same, rename them: {named}. {IGNORES}"
        return IGNORES


def load(module: Any, state_dict: Any, strict: bool, assign: bool) -> _IncompatibleKeys:
    """Copy values by name into `module` and its children; with `assign`, take the tensors over."""
    if not isinstance(state_dict, Mapping):
        raise TypeError(
            f"Expected state_dict to be dict-like, got {type(state_dict)}. Give the state of a "
            "module, model.state_dict(), or what load(file) gives"
        )
    metadata = getattr(state_dict, "_metadata", None)
    given: Any = OrderedDict(state_dict)
    if metadata is not None:
        given._metadata = metadata
    report = _Report()
    _load_into(module, given, "", metadata or {}, report, assign=assign)
    report.raise_if_failed(module, given, strict)
    return _IncompatibleKeys(report.missing, report.unexpected)


def _load_into(
    module: Any, given: Any, prefix: str, metadata: Any, report: _Report, *, assign: bool
) -> None:
    own = dict(metadata.get(prefix[:-1], {}))
    if assign:
        own["assign_to_params_buffers"] = True
    lists = (report.missing, report.unexpected, report.errors)
    module._load_from_state_dict(given, prefix, own, True, *lists)
    for name, child in module._modules.items():
        if child is not None:
            below = f"{prefix}{name}."
            part = {key: value for key, value in given.items() if key.startswith(below)}
            _load_into(child, part, below, metadata, report, assign=assign)
    hooks = module._hooks
    if hooks is None:
        return
    keys = _IncompatibleKeys(report.missing, report.unexpected)
    for hook in list(hooks.load_post.values()):
        if hook(module, keys) is not None:
            raise AssertionError(
                "Hooks registered with ``register_load_state_dict_post_hook`` are not expected to "
                "return new values, if incompatible_keys need to be modified, it should be done "
                "inplace."
            )


def load_own(
    module: Any,
    given: Any,
    prefix: str,
    metadata: Mapping[str, Any],
    strict: bool,
    missing: list[str],
    unexpected: list[str],
    errors: list[str],
) -> None:
    """Load the parameters, persistent buffers and extra state of `module` itself."""
    if module._hooks is not None:
        for hook in list(module._hooks.load_pre.values()):
            hook(module, given, prefix, metadata, strict, missing, unexpected, errors)
    assign = metadata.get("assign_to_params_buffers", False)
    state = own_state(module)
    for name in state:
        key = prefix + name
        if key in given:
            error = load_one(module, name, given[key], key, assign)
            if error:
                errors.append(error)
        elif strict:
            missing.append(key)
    extra = prefix + EXTRA_STATE
    if type(module).set_extra_state is not set_extra_state:
        if extra in given:
            module.set_extra_state(given[extra])
        elif strict:
            missing.append(extra)
    elif strict and extra in given:
        unexpected.append(extra)
    if strict:
        for key in given:
            if key.startswith(prefix) and key != extra:
                first, dot, _ = key[len(prefix) :].partition(".")
                if first not in (module._modules if dot else state):
                    unexpected.append(key)


def load_one(module: Any, name: str, found: Any, key: str, assign: bool) -> str:
    """Load one value; return what is wrong with it, or nothing."""
    value = getattr(module, name)
    if not isinstance(found, Tensor):
        return version.named(
            f'While copying the parameter named "{key}", expected retrograd.Tensor or Tensor-like '
            f"object from checkpoint but received {type(found)}"
        )
    array = found._array
    if value._array.ndim == 0 and array.shape == (1,):
        array = array[0:1].reshape(())
    if array.shape != value._array.shape:
        return (
            f"size mismatch for {key}: copying a param with shape {found.shape} from checkpoint, "
            f"the shape in current model is {value.shape}."
        )
    if swaps:
        return swapped(value, found, key, assign)
    if assign:
        if isinstance(value, Parameter):
            if isinstance(found, Parameter):
                found.requires_grad = value.requires_grad
            else:
                found = Parameter(found, requires_grad=value.requires_grad)
        setattr(module, name, found)
        return ""
    if value.is_meta and not found.is_meta:
        warnings.warn(NO_COPY.format(key=key), UserWarning, stacklevel=2)
        return ""
    try:
        _copied_into(value, found, array)
    except Exception as e:
        return (
            f'While copying the parameter named "{key}", whose dimensions in the model are '
            f"{value.shape} and whose dimensions in the checkpoint are {found.shape}, an exception "
            f"occurred: {e}"
        )
    return ""


def _copied_into(value: Tensor, found: Tensor, array: Any) -> None:
    if not has_memory(value._array):
        with modes.Changed(grad=False):
            value.copy_(found)
        return
    check_writable(value, "load_state_dict")
    copyto(value._array, held_by(value._array.dtype, array), casting="unsafe")
    wrote(value, "load_state_dict")


def swapped(value: Tensor, found: Tensor, key: str, assign: bool) -> str:
    """Let a tensor of a module become what its class makes of the value that is loaded."""
    with modes.Changed(grad=False):
        made: Tensor = value.module_load(found, assign=assign)
    if made is value or made is found:
        return (
            f"module_load returned one of self or other for {key}: return a new tensor, such as "
            "other.detach()"
        )
    if isinstance(value, Parameter) and not isinstance(made, Parameter):
        made = Parameter(made, requires_grad=value.requires_grad)
    swap_tensors(value, made)
    return ""
