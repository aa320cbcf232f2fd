"""`Optimizer`: parameter groups, state, saving and loading, hooks. It knows no rule by name."""

from __future__ import annotations

import functools
import inspect
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from types import MappingProxyType
from typing import Any

from ..autograd.grad_mode import set_grad_enabled
from ..dtypes import real_of
from ..engine.backward.hooks import HookTable, RemovableHandle
from ..engine.naming import unexpected
from ..engine.tensor import Tensor, new_tensor
from ..engine.updates import drop_gradients
from ..kernels.allocation import copied
from ..ops.core.engine_ops import held_by
from ..ops.elementwise.complex import view_as_real
from ..quiet import calm

__all__ = [
    "Optimizer", "register_optimizer_step_post_hook", "register_optimizer_step_pre_hook",
    "required",
]  # fmt: skip

DUPLICATES = (
    "optimizer contains a parameter group with duplicate parameters; in future, this will cause an "
    "error"
)

NO_PARAMS_AT_ALL = (
    "optimizer got an empty parameter list: the module has none, or model.parameters() was read "
    "before. Layers in a plain list are not seen: put them into nn.ModuleList"
)
NO_PARAMS = (
    "params argument given to the optimizer should be an iterable of Tensors or dicts, but got {}. "
    "{}"
)

ONE_NUMBER = "Leave it away: to {}, a complex parameter is one number. "


class _Required:
    def __repr__(self) -> str:
        return "<required parameter>"


required = _Required()

ParamsT = Iterable[Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, Tensor]]


class Optimizer:
    """The base of all optimizers. A subclass passes its `defaults` up and defines `step`.

    params: tensors, (name, tensor) pairs, or dictionaries with "params" and the settings of that
    group. `param_groups` is the list of groups, `state` maps a parameter to its own dictionary.
    Raises TypeError for a single tensor, ValueError for an empty list, a non-leaf, or a parameter
    in two groups. Source: PyTorch's `optim.Optimizer`.

    >>> class Descent(rg.optim.Optimizer):
    ...     def step(self):
    ...         for group in self.param_groups:
    ...             for p in group["params"]:
    ...                 p.data -= group["lr"] * p.grad
    >>> x = rg.tensor([1.0], requires_grad=True)
    >>> (x * x).sum().backward()
    >>> Descent([x], {"lr": 0.25}).step()
    >>> x.detach()
    tensor([0.5000])
    """

    param_groups: list[dict[str, Any]]
    state: defaultdict[Any, Any]
    scalars: tuple[str, ...] = ("step",)  # names of numbers in the state, as 0-d tensors
    _hooks: Mapping[str, HookTable] = MappingProxyType({})  # by what they watch
    _stepped: bool = False  # for learning-rate schedulers; the next one, too
    _replaced: bool = False  # whether the step is none of the class
    _inside: bool = False  # whether a `step` with hooks runs

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "step" in cls.__dict__:
            cls.step = _hooked(cls.step)  # type: ignore[method-assign]
        if "__init__" in cls.__dict__:
            cls.__init__ = _explained(cls.__init__)  # type: ignore[method-assign]

    def __init__(self, params: Any, defaults: dict[str, Any]) -> None:
        if isinstance(params, Tensor):
            raise TypeError(NO_PARAMS.format(type(params).__name__, "Wrap it in a list: [param]"))
        state = isinstance(params, dict) and bool(params)
        if state or not hasattr(params, "__iter__") or hasattr(params, "parameters"):
            how = f"Write {type(self).__name__}(model.parameters())"
            raise TypeError(NO_PARAMS.format(type(params).__name__, how))
        if defaults.get("complex") == "split":  # as PyTorch, which has no such key in its states
            del defaults["complex"]
        self.defaults = defaults
        self.state = defaultdict(dict)
        self.param_groups = []
        groups = list(params)
        if not groups:
            raise ValueError(NO_PARAMS_AT_ALL)
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update every parameter from its gradient; returns what `closure`, if given, returns."""
        raise NotImplementedError

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop every parameter's `.grad`, or fill it with zeros."""
        for group in self.param_groups:
            drop_gradients(group["params"], set_to_none)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a group: a dictionary with "params" and settings; the defaults fill the rest."""
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        group = dict(param_group)
        group["params"], names = self._checked_params(group["params"])
        if names:
            group["param_names"] = names
        if any(("param_names" in other) != bool(names) for other in self.param_groups):
            raise ValueError(
                "all optimizer param groups should be with/without names. cannot add param group "
                f"{'with' if names else 'without'} names to the optimizer"
            )
        for name, value in self.defaults.items():
            if value is required and name not in group:
                raise ValueError(
                    f"parameter group didn't specify a value of required optimization parameter "
                    f"{name}"
                )
            group.setdefault(name, value)
        if len({id(p) for p in group["params"]}) != len(group["params"]):
            warnings.warn(DUPLICATES, stacklevel=3)
        taken = {id(p) for other in self.param_groups for p in other["params"]}
        if any(id(p) in taken for p in group["params"]):
            raise ValueError("some parameters appear in more than one parameter group")
        self.param_groups.append(group)

    def _checked_params(self, params: Any) -> tuple[list[Tensor], list[str]]:
        if isinstance(params, set):
            raise TypeError(
                "optimizer parameters need to be organized in ordered collections, but the "
                "ordering of tensors in sets will change between runs. Please use a list instead."
            )
        items = [params] if isinstance(params, Tensor) else list(params)
        names = [item[0] for item in items if isinstance(item, tuple)]
        if names and len(names) != len(items):
            raise ValueError(
                "all optimizer params should be with/without names. Some param names are missing"
            )
        items = [item[1] if isinstance(item, tuple) else item for item in items]
        for item in items:
            if not isinstance(item, Tensor):
                raise TypeError(
                    "optimizer can only optimize Tensors, but one of the params is "
                    f"{type(item).__name__}"
                )
            if not (item.is_leaf or item.retains_grad or self.defaults.get("differentiable")):
                raise ValueError(
                    "can't optimize a non-leaf Tensor: it was computed from others, so a step "
                    "would not reach them. Give those, or a leaf: x.detach().requires_grad_()"
                )
        return items, names

    # -- state ---------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """The state, with parameters replaced by their numbers, and the groups.

        The tensors in it are those of the optimizer.

        >>> w = rg.ones(1, requires_grad=True)
        >>> rg.optim.SGD([w], lr=0.1).state_dict()["param_groups"][0]["params"]
        [0]
        """
        for hook in self._at("save"):
            hook(self)
        numbers: dict[int, int] = {}
        groups = []
        for group in self.param_groups:
            for p in group["params"]:
                numbers.setdefault(id(p), len(numbers))
            saved = {name: value for name, value in group.items() if name != "params"}
            groups.append({**saved, "params": [numbers[id(p)] for p in group["params"]]})
        state = {
            numbers[id(key)] if isinstance(key, Tensor) else key: value
            for key, value in self.state.items()
        }
        found = {"state": state, "param_groups": groups}
        for hook in self._at("saved"):
            changed = hook(self, found)
            found = found if changed is None else changed
        return found

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over a state that `state_dict` gave; tensors are copied.

        State of a floating dtype takes its parameter's dtype, except "step" and such numbers; then
        `__setstate__` takes it. Raises ValueError if the numbers of groups or parameters differ.
        """
        for hook in self._at("load"):
            changed = hook(self, dict(state_dict))
            state_dict = state_dict if changed is None else changed
        saved = state_dict["param_groups"]
        if len(saved) != len(self.param_groups):
            raise ValueError("loaded state dict has a different number of parameter groups")
        pairs = list(zip(self.param_groups, saved, strict=True))
        if any(len(mine["params"]) != len(theirs["params"]) for mine, theirs in pairs):
            raise ValueError(
                "loaded state dict contains a parameter group that doesn't match the size of "
                "optimizer's group"
            )
        params = {
            number: p
            for mine, theirs in pairs
            for number, p in zip(theirs["params"], mine["params"], strict=True)
        }
        state: defaultdict[Any, Any] = defaultdict(dict)
        for key, value in state_dict["state"].items():
            if key in params:
                state[params[key]] = self._loaded(value, params[key])
            else:
                state[key] = value
        groups = []
        for mine, theirs in pairs:
            group = deepcopy({name: v for name, v in theirs.items() if name != "params"})
            if "param_names" in mine:
                group.setdefault("param_names", mine["param_names"])
            groups.append({**group, "params": mine["params"]})
        for mine, group in zip(self.param_groups, groups, strict=True):  # all, or none
            mine.clear()
            mine.update(group)
        self.__setstate__({"state": state, "param_groups": self.param_groups})
        for hook in self._at("loaded"):
            hook(self)

    def _loaded(self, value: Any, param: Tensor, name: Any = None) -> Any:
        """A loaded state of a parameter: copies, floating tensors but `scalars` in its dtype."""
        if isinstance(value, dict):
            return {key: self._loaded(item, param, key) for key, item in value.items()}
        if type(value) in (list, tuple):
            return type(value)(self._loaded(item, param, name) for item in value)
        if not isinstance(value, Tensor):
            return deepcopy(value)
        array, target = value._array, param._array.dtype
        target = real_of(target) if array.dtype.kind in "fV" else target  # moduli stay real
        if array.dtype.kind in "fcV" and target.kind in "fcV" and name not in self.scalars:
            array = calm(held_by(target, array).astype, target)
        return new_tensor(copied(array))

    def __getstate__(self) -> dict[str, Any]:
        names = ("defaults", "state", "param_groups")
        return {name: getattr(self, name) for name in names}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

    def __repr__(self) -> str:
        text = f"{type(self).__name__} ("
        for number, group in enumerate(self.param_groups):
            text += f"\nParameter Group {number}\n"
            shown = group.keys() - {"params"}
            text += "".join(f"    {key}: {group[key]}\n" for key in sorted(shown))
        return text + ")"

    # -- hooks ---------------------------------------------------------------------------------

    def _register(self, place: str, hook: Callable[..., Any], prepend: bool) -> RemovableHandle:
        tables = self.__dict__.setdefault("_hooks", {})
        table: HookTable = tables.setdefault(place, HookTable())
        return table.add(hook, prepend)

    def _at(self, place: str) -> list[Callable[..., Any]]:
        return list(self._hooks.get(place, {}).values())

    def register_step_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(optimizer, args, kwargs)` before `step`; it may return (args, kwargs).

        The first of `args` is the optimizer.
        """
        return self._register("step", hook, False)

    def register_step_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(optimizer, args, kwargs)` after `step`."""
        return self._register("stepped", hook, False)

    def register_state_dict_pre_hook(
        self, hook: Callable[[Optimizer], None], prepend: bool = False
    ) -> RemovableHandle:
        """Call `hook(optimizer)` before `state_dict`; before all other such hooks if `prepend`."""
        return self._register("save", hook, prepend)

    def register_state_dict_post_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Call `hook(optimizer, state_dict)` after `state_dict`; it may return another one."""
        return self._register("saved", hook, prepend)

    def register_load_state_dict_pre_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Call `hook(optimizer, state_dict)` before loading; it may return another state."""
        return self._register("load", hook, prepend)

    def register_load_state_dict_post_hook(
        self, hook: Callable[[Optimizer], None], prepend: bool = False
    ) -> RemovableHandle:
        """Call `hook(optimizer)` after `load_state_dict`."""
        return self._register("loaded", hook, prepend)

    def _patch_step_function(self) -> None:
        """Nothing: `step` calls its hooks since the class was made. Wrappers of rules ask it."""

    _cuda_graph_capture_health_check = _patch_step_function  # no accelerator captures a step

    @staticmethod
    def _group_tensors_by_device_and_dtype(
        tensorlistlist: Sequence[Sequence[Tensor | None]], with_indices: bool = False
    ) -> dict[tuple[Any, Any], tuple[list[list[Tensor | None]], list[int]]]:
        """Lists in step, cut by device and dtype of the first: `{key: (lists, indices)}`.

        An empty list stays empty. `indices` says where the tensors were, `with_indices`. Raises
        RuntimeError where the first list is empty or has a None, or another length than the others.

        >>> a, b, c = rg.zeros(1), rg.ones(1, dtype=rg.float64), rg.ones(2)
        >>> cut = rg.optim.Optimizer._group_tensors_by_device_and_dtype([[a, b, c], []], True)
        >>> cut[a.device, a.dtype]
        ([[tensor([0.]), tensor([1., 1.])], []], [0, 2])
        """
        first = tensorlistlist[0] if tensorlistlist else []
        if not first or {len(each) for each in tensorlistlist} - {0, len(first)}:
            raise RuntimeError(
                "_group_tensors_by_device_and_dtype: expected lists of tensors of one length, the "
                f"first not empty, but got lengths {[len(each) for each in tensorlistlist]}."
            )
        groups: dict[tuple[Any, Any], list[int]] = {}
        for i, tensor in enumerate(first):
            if tensor is None:
                raise RuntimeError(
                    "Tensors of the first list of nested Tensor lists are supposed to be defined "
                    f"but the {i}-th Tensor is not."
                )
            groups.setdefault((tensor.device, tensor.dtype), []).append(i)
        return {
            key: (
                [[each[i] for i in places] if each else [] for each in tensorlistlist],
                places if with_indices else [],
            )
            for key, places in groups.items()
        }


before_any, after_any = HookTable(), HookTable()


def register_optimizer_step_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(optimizer, args, kwargs)` before `step` of any optimizer, and before its own.

    >>> def show(optimizer, args, kwargs):
    ...     print(type(optimizer).__name__)
    >>> handle = rg.optim.optimizer.register_optimizer_step_pre_hook(show)
    >>> rg.optim.SGD([rg.ones(1, requires_grad=True)], lr=0.1).step()
    SGD
    >>> handle.remove()
    """
    return before_any.add(hook)


def register_optimizer_step_post_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(optimizer, args, kwargs)` after `step` of any optimizer, and after its own.

    >>> def show(optimizer, args, kwargs):
    ...     print(type(optimizer).__name__)
    >>> handle = rg.optim.optimizer.register_optimizer_step_post_hook(show)
    >>> rg.optim.SGD([rg.ones(1, requires_grad=True)], lr=0.1).step()
    SGD
    >>> handle.remove()
    """
    return after_any.add(hook)


def _use_grad_for_differentiable(func: Callable[..., Any]) -> Callable[..., Any]:
    """A rule's `step`, recorded only where the optimizer's default "differentiable" says so.

    >>> class Descent(rg.optim.Optimizer):
    ...     @rg.optim.optimizer._use_grad_for_differentiable
    ...     def step(self):
    ...         for p in self.param_groups[0]["params"]:
    ...             p.sub_(0.25 * p.grad)
    >>> x = rg.tensor([1.0], requires_grad=True)
    >>> (x * x).sum().backward()
    >>> Descent([x], {"differentiable": False}).step()
    >>> x
    tensor([0.5000], requires_grad=True)
    """

    @functools.wraps(func)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        with set_grad_enabled(self.defaults["differentiable"]):
            return func(self, *args, **kwargs)

    return call


def _get_value(x: Any) -> Any:
    """The number in a tensor of one element; a number as it is."""
    return x.item() if isinstance(x, Tensor) else x


def _default_to_fused_or_foreach(
    params: Sequence[Tensor], differentiable: bool, use_fused: bool = False
) -> tuple[bool, bool]:
    """Whether a rule that was not told runs fused, or over lists: fused, where that is asked for.

    >>> rg.optim.optimizer._default_to_fused_or_foreach([rg.ones(1)], False, use_fused=True)
    (True, False)
    """
    plain = all(p is None or p.is_floating_point() for p in params)
    return use_fused and not differentiable and plain, False


def _view_as_real(params: list[Tensor], *state_and_grads: list[Tensor]) -> None:
    """Put real views in the place of complex parameters, and of what the other lists have there."""
    for i, param in enumerate(params):
        if param.is_complex():
            for each in (params, *state_and_grads):
                each[i] = view_as_real(each[i])


def _explained(init: Any) -> Any:
    """A subclass's `__init__`, whose error for an argument that is unknown says which it has."""

    @functools.wraps(init)
    def call(self: Any, *args: Any, **kwargs: Any) -> None:
        try:
            init(self, *args, **kwargs)
        except TypeError as error:
            names = list(inspect.signature(init).parameters)[1:]
            unknown = next((key for key in kwargs if key not in names), "")
            if f"{init.__qualname__}() got an unexpected keyword argument {unknown!r}" != str(
                error
            ):
                raise
            why = ONE_NUMBER.format(type(self).__name__) if unknown == "complex" else ""
            raise unexpected(init.__qualname__, unknown, names, why) from None

    return call


def _hooked(step: Any) -> Any:
    """A subclass's `step` with the step hooks around it: once, where one `step` calls another."""

    @functools.wraps(step)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        self._stepped = True
        if self._inside or not (self._hooks or before_any or after_any):
            return step(self, *args, **kwargs)
        self._inside = True
        try:
            return _with_hooks(step, self, args, kwargs)
        finally:
            self._inside = False

    return call


def _with_hooks(step: Any, optimizer: Any, args: Any, kwargs: Any) -> Any:
    """What `step` returns, called between the hooks."""
    args = (optimizer, *args)
    for hook in [*before_any.values(), *optimizer._at("step")]:
        changed = hook(optimizer, args, kwargs)
        if changed is not None:
            if not isinstance(changed, tuple) or len(changed) != 2:
                raise RuntimeError(
                    f"{hook} must return None or a tuple of (new_args, new_kwargs), but got "
                    f"{changed}."
                )
            args, kwargs = changed
    result = step(*args, **kwargs)
    for hook in [*optimizer._at("stepped"), *after_any.values()]:
        hook(optimizer, args, kwargs)
    return result
