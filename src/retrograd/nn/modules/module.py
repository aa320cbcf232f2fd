"""`Module`: the base of all layers, which registers what is assigned to it.

What a module holds and how it is found is in `tree`, how a call with hooks runs in `hooks`, how
state is saved and loaded in `state`, what casts make of tensors in `casts`. This module knows no
layer.
"""

from __future__ import annotations

from ast import literal_eval
from collections import OrderedDict
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, ParamSpec, Protocol, Self, TypeVar

from ... import dtypes, providers
from ...engine.backward.hooks import RemovableHandle
from ...engine.overriding import is_function
from ...engine.tensor import Tensor, alias
from ...engine.updates import drop_gradients
from ...ops.tensor.conversion import of_type
from .. import casts, state
from ..casts import cast, empty_on, in_memory_format, is_real, on_device, parse_to
from ..display import as_html
from ..global_hooks import (
    _global_parameter_registration_hooks,  # noqa: F401 (PyTorch's name)
    register_module_backward_hook,
    register_module_buffer_registration_hook,
    register_module_forward_hook,
    register_module_forward_pre_hook,
    register_module_full_backward_hook,
    register_module_full_backward_pre_hook,
    register_module_module_registration_hook,
    register_module_parameter_registration_hook,
)
from ..hooks import ModuleHooks, call_hooked, of_all_modules
from ..parameter import Parameter
from ..state import EXTRA_STATE as _EXTRA_STATE_KEY_SUFFIX  # noqa: F401 (PyTorch's name)
from ..state import _IncompatibleKeys
from ..tree import Tree

if TYPE_CHECKING:
    P = ParamSpec("P")
    R_co = TypeVar("R_co", covariant=True)

    class Forward(Protocol[P, R_co]):
        """What a call of a module takes and gives is what its `forward` does."""

        _hooks: ModuleHooks | None

        def forward(self, *args: P.args, **kwargs: P.kwargs) -> R_co:
            """Raise NotImplementedError: a subclass says here what the module computes."""


__all__ = [
    "Module", "register_module_backward_hook", "register_module_buffer_registration_hook",
    "register_module_forward_hook", "register_module_forward_pre_hook",
    "register_module_full_backward_hook", "register_module_full_backward_pre_hook",
    "register_module_module_registration_hook", "register_module_parameter_registration_hook",
]  # fmt: skip


def _hooks_at(place: str, which: str = "") -> Any:
    """A property by PyTorch's name: a table of a module's hooks, or of the numbers of some."""

    def found(module: Module) -> Any:
        hooks = module._own_hooks()
        table = getattr(hooks, place)
        return dict.fromkeys(getattr(hooks, which) & table.keys(), True) if which else table

    return property(found)


class Module(Tree):
    """A layer, or a tree of layers: parameters, buffers, child modules, and a `forward`.

    Subclass it, call `super().__init__()` first, assign parameters and modules to attributes, and
    write `forward`. A subclass with state beyond tensors defines `get_extra_state` and
    `set_extra_state`. Source: PyTorch's `nn.Module`.

    >>> class Line(rg.nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.slope = rg.nn.Parameter(rg.tensor(2.0))
    ...     def forward(self, x):
    ...         return self.slope * x
    >>> line = Line()
    >>> line(rg.tensor([1.0, 2.0]))
    tensor([2., 4.], grad_fn=<MulBackward0>)
    >>> [name for name, _ in line.named_parameters()]
    ['slope']
    """

    _version: int = 1
    __constants__: ClassVar[list[str]] = []  # subclasses of programs add to it
    _shown_settings = ""  # words: "name" for the value alone, "name=", "name=!r", "name=usual"
    _hooks: ModuleHooks | None = None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Let functions in the body of a class, as `act = rg.tanh`, be no methods.

        A class that replaces `_call_impl` is called by that.
        """
        super().__init_subclass__(**kwargs)
        if "_call_impl" in vars(cls) and "__call__" not in vars(cls):
            cls.__call__ = cls._call_impl  # type: ignore[method-assign]
        for name, value in tuple(vars(cls).items()):
            if is_function(value):
                setattr(cls, name, staticmethod(value))

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What calling the module computes; every subclass has its own."""
        raise NotImplementedError(
            f'Module [{type(self).__name__}] is missing the required "forward" function. Define '
            f"it in class {type(self).__name__}, indented like __init__: def forward(self, x): ..."
        )

    def __call__(self: Forward[P, R_co], *args: P.args, **kwargs: P.kwargs) -> R_co:
        """The output of `forward`, with the hooks that are registered."""
        if self._hooks is None:
            return self.forward(*args, **kwargs)
        return call_hooked(self, args, kwargs)  # type: ignore[no-any-return]

    _call_impl = _wrapped_call_impl = __call__  # names by which programs call and replace it

    # -- modes and conversion ------------------------------------------------------------------

    def train(self, mode: bool = True) -> Self:
        """Set `training`, which dropout and batch normalization read, here and below."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for child in self.children():
            child.train(mode)
        return self

    def eval(self) -> Self:
        """The same as `train(False)`; it does not turn gradients off."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Freeze or unfreeze every parameter."""
        for param in self.parameters():
            param.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop every parameter's `.grad`, or fill it with zeros."""
        drop_gradients(self.parameters(), set_to_none)

    def apply(self, fn: Callable[[Module], Any]) -> Self:
        """Call `fn` on every module below and then on this one; returns this one."""
        for child in self.children():
            child.apply(fn)
        fn(self)
        return self

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        """Replace parameters, their gradients and buffers by what `fn` makes of them.

        Parameters and gradients stay the same objects, so an optimizer that holds them goes on
        working, unless `casts.overwrites`.
        """
        if recurse:
            for child in self.children():
                child._apply(fn)
        for name, param in self._parameters.items():
            if param is None:
                continue
            grad = param.grad
            if casts.overwrites:
                new = Parameter(fn(param.detach()), param.requires_grad)
                new.grad = None if grad is None else fn(grad)
                self._parameters[name] = new
                continue
            made = fn(alias(param, None))  # may raise, and so may the next
            of_grad = None if grad is None else fn(alias(grad, None))
            param.grad = None
            param.data = made
            if grad is not None and of_grad is not None:
                grad.data = of_grad
                param._gradient = grad  # of any dtype where `grad_dtype` says which
        for name, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[name] = fn(buffer)
        return self

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Convert floating and complex parameters and buffers; returns this module.

        Called as `to(dtype)`, `to(device, dtype)` or `to(tensor)`. Integer buffers keep theirs.
        With `memory_format`, what has that many dimensions is laid out so in memory. TypeError for
        an integer dtype. Real to complex keeps the values, complex to real drops the imaginary
        parts.

        >>> rg.nn.Linear(2, 1).to(rg.complex64).weight.dtype
        retrograd.complex64
        """
        place, target, _, format = parse_to(*args, **kwargs)
        if target is not None and target.category < 2:
            raise TypeError(
                "nn.Module.to only accepts floating point or complex dtypes, but got desired "
                f"dtype={target}"
            )
        if place is not None:
            self._apply(lambda t: on_device(t, place))
        if target is not None:
            self._apply(lambda t: cast(t, target) if t.dtype.category >= 2 else t)
        if format is not None:
            self._apply(lambda t: in_memory_format(t, format))
        return self

    def type(self, dst_type: Any) -> Self:
        """Convert every parameter and buffer, integer ones too, to a dtype, or as `Tensor.type`."""
        target = dtypes.of_numpy(of_type(dst_type))
        return self._apply(lambda t: cast(t, target))

    def float(self) -> Self:
        """Convert real floating parameters and buffers to float32."""
        return self._apply(lambda t: cast(t, dtypes.float32) if is_real(t) else t)

    def double(self) -> Self:
        """Convert real floating parameters and buffers to float64."""
        return self._apply(lambda t: cast(t, dtypes.float64) if is_real(t) else t)

    def half(self) -> Self:
        """Convert real floating parameters and buffers to float16."""
        return self._apply(lambda t: cast(t, dtypes.float16) if is_real(t) else t)

    def cfloat(self) -> Self:
        """Convert floating and complex parameters and buffers to complex64."""
        return self.to(dtypes.complex64)

    def cdouble(self) -> Self:
        """Convert floating and complex parameters and buffers to complex128."""
        return self.to(dtypes.complex128)

    def cpu(self) -> Self:
        """This module: its tensors live on the cpu."""
        return Module.to(self, "cpu")  # a subclass may have a `to` that asks for this

    def cuda(self, device: Any = None) -> Self:
        """Raise AssertionError: there is no such device."""
        return self._apply(lambda t: t.cuda(device))

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Let calls run `forward` as `retrograd.compile` records and replays it.

        It takes the arguments of that. Copies, and what is loaded from a file, are not compiled.
        """

        def forward(module: Module, /, *given: Any, **options: Any) -> Any:
            return module.forward(*given, **options)  # as it is at the time of a call

        forward.__qualname__ = f"{type(self).__qualname__}.forward"
        made = providers.public("compile")(forward, *args, **kwargs)
        self._own_hooks().compiled = None if made is forward else made

    def bfloat16(self) -> Self:
        """Convert real floating parameters and buffers to bfloat16; needs ml_dtypes."""
        target = dtypes.by_name("bfloat16")
        return self._apply(lambda t: cast(t, target) if is_real(t) else t)

    def to_empty(self, *, device: Any, recurse: bool = True) -> Self:
        """Give parameters and buffers new memory on a device, whose values are undetermined.

        >>> net = rg.nn.Linear(2, 1, device="meta").to_empty(device="cpu")
        >>> net.weight.device, net.weight.shape
        (device(type='cpu'), retrograd.Size([1, 2]))
        """
        return self._apply(lambda t: empty_on(t, device), recurse)

    def share_memory(self) -> Self:
        """Move parameters and buffers to memory that processes share: `Tensor.share_memory_`.

        Raises RuntimeError while one of them has no shape.
        """
        for held in (*self.parameters(), *self.buffers()):
            held.share_memory_()
        return self

    # -- state ---------------------------------------------------------------------------------

    def state_dict(
        self, *args: Any, destination: Any = None, prefix: str = "", keep_vars: bool = False
    ) -> OrderedDict[str, Tensor]:
        """Parameters and persistent buffers by dotted name, detached unless `keep_vars`.

        The tensors share memory with the module's. Arguments by position, in this order, warn.

        >>> list(rg.nn.Sequential(rg.nn.Linear(2, 1), rg.nn.ReLU()).state_dict())
        ['0.weight', '0.bias']
        """
        if args:
            destination, prefix, keep_vars = state.by_position(args, destination, prefix, keep_vars)
        return state.save(self, destination, prefix, keep_vars)  # type: ignore[no-any-return]

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> _IncompatibleKeys:
        """Copy values by name; with `assign`, take over the tensors themselves.

        Returns the missing and unexpected names. Raises RuntimeError listing every problem: names
        that do not match, if `strict`, and shapes that do not.
        """
        return state.load(self, state_dict, strict, assign)

    get_extra_state, set_extra_state = state.get_extra_state, state.set_extra_state

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        state.save_own(self, destination, prefix, keep_vars)

    def _load_from_state_dict(
        self,
        state_dict: Any,
        prefix: str,
        local_metadata: Any,
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        lists = missing_keys, unexpected_keys, error_msgs
        state.load_own(self, state_dict, prefix, local_metadata, strict, *lists)

    # -- hooks ---------------------------------------------------------------------------------

    def register_forward_pre_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Call `hook(module, args)` before `forward`; what it returns replaces the arguments.

        With `with_kwargs`: `hook(module, args, kwargs)`, returning None or (args, kwargs).
        """
        handle = self._own_hooks().forward_pre.add(hook, prepend)
        if with_kwargs:
            self._own_hooks().with_kwargs.add(handle.id)
        return handle

    def register_forward_hook(
        self,
        hook: Callable[..., Any],
        *,
        prepend: bool = False,
        with_kwargs: bool = False,
        always_call: bool = False,
    ) -> RemovableHandle:
        """Call `hook(module, args, output)` after `forward`; what it returns replaces the output.

        With `with_kwargs`: `hook(module, args, kwargs, output)`. With `always_call` it also runs
        when `forward` raised, with output None.
        """
        return self._own_hooks().add_forward(hook, prepend, with_kwargs, always_call)

    def register_full_backward_pre_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Call `hook(module, grad_output)` when the output's gradients are known.

        What it returns replaces them.
        """
        return self._own_hooks().backward_pre.add(hook, prepend)

    def register_full_backward_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Call `hook(module, grad_input, grad_output)` when the input's gradients are known.

        Both are tuples, with None for what is no tensor or requires no grad; what the hook returns
        replaces `grad_input`. Only positional arguments count as input. The module may then not
        write its input or output in place.

        >>> layer = rg.nn.Linear(2, 1)
        >>> handle = layer.register_full_backward_hook(lambda m, gi, go: print(go))
        >>> layer(rg.ones(1, 2, requires_grad=True)).sum().backward()
        (tensor([[1.]]),)
        """
        return self._own_hooks().add_backward(hook, True, prepend)

    def register_backward_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(module, grad_input, grad_output)` at the last operation of `forward`.

        It sees what that operation gets and gives in the backward pass, and what it returns
        replaces the latter. For a module of several operations this is not the gradient of its
        input: `register_full_backward_hook` has that. The two do not go together (RuntimeError).
        """
        return self._own_hooks().add_backward(hook, False)

    def register_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(module, prefix, keep_vars)` before `state_dict` collects."""
        return self._own_hooks().state_dict_pre.add(hook)

    def register_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(module, state_dict, prefix, local_metadata)` after `state_dict` collected."""
        return self._own_hooks().state_dict_post.add(hook)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call a hook before this module loads.

        It gets (module, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys,
        error_msgs).
        """
        return self._own_hooks().load_pre.add(hook)

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(module, incompatible_keys)` after this module and its children loaded."""
        return self._own_hooks().load_post.add(hook)

    def _register_state_dict_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """A state_dict post-hook that may return another state to be used instead."""
        hooks = self._own_hooks()
        handle = hooks.state_dict_post.add(hook)
        hooks.replacing.add(handle.id)
        return handle

    def _register_load_state_dict_pre_hook(
        self, hook: Callable[..., Any], with_module: bool = False
    ) -> RemovableHandle:
        """A load pre-hook that is not given the module, unless `with_module`."""
        given = hook if with_module else partial(_without_module, hook)
        return self._own_hooks().load_pre.add(given)

    def _own_hooks(self) -> ModuleHooks:
        if self._hooks is None or self._hooks is of_all_modules:
            self._hooks = ModuleHooks()
        return self._hooks

    _forward_hooks, _forward_pre_hooks = _hooks_at("forward"), _hooks_at("forward_pre")
    _backward_hooks, _backward_pre_hooks = _hooks_at("backward"), _hooks_at("backward_pre")
    _state_dict_hooks = _hooks_at("state_dict_post")
    _state_dict_pre_hooks = _hooks_at("state_dict_pre")
    _load_state_dict_pre_hooks = _hooks_at("load_pre")
    _load_state_dict_post_hooks = _hooks_at("load_post")
    _is_full_backward_hook = _hooks_at("full")
    _forward_hooks_with_kwargs = _hooks_at("forward", "with_kwargs")
    _forward_pre_hooks_with_kwargs = _hooks_at("forward_pre", "with_kwargs")
    _forward_hooks_always_called = _hooks_at("forward", "always")

    # -- text ----------------------------------------------------------------------------------

    def _get_name(self) -> str:
        return type(self).__name__

    def extra_repr(self) -> str:
        """The settings shown in the repr; layers say theirs.

        Those here do in `_shown_settings`: what has its usual value is left out.
        """
        shown = []
        for name, mark, usual in (word.partition("=") for word in self._shown_settings.split()):
            value = getattr(self, name)
            if name == "bias" and not isinstance(value, bool):
                value = value is not None
            if usual == "!r":
                value = repr(value)
            elif usual and value == literal_eval(usual):
                continue
            shown.append(f"{name if mark else ''}{mark}{value}")
        return ", ".join(shown)

    def __repr__(self) -> str:
        extra = self.extra_repr()
        own = extra.split("\n") if extra else []
        children = [
            f"({name}): " + _addindent(repr(child), 2) for name, child in self._modules.items()
        ]
        if len(own) == 1 and not children:
            return f"{self._get_name()}({own[0]})"
        inside = "".join(f"\n  {line}" for line in own + children)
        return f"{self._get_name()}({inside}\n)" if inside else f"{self._get_name()}()"

    _repr_html_ = as_html  # what a notebook shows


def _addindent(s_: str, numSpaces: int) -> str:
    """A text whose lines after the first are moved to the right: for a `__repr__` of one's own."""
    return s_.replace("\n", "\n" + " " * numSpaces)


of_all_modules.holder = Module


def _without_module(hook: Callable[..., Any], module: Module, *args: Any) -> Any:
    return hook(*args)
