"""`torch.ops.aten` under the alias: the package's functions as PyTorch's operators, by overload.

NOTE [Operators by name]
1. An operator is the public function of its name: at the top of the package, a method, or of a
   module that its name begins with (`linalg_inv`). `OWN` has what is written with brackets
   elsewhere. NOTE [Sheets] in `torch.sheets` says which functions are none, and which overloads
   there are.
2. Overloads hand on to that function, which takes the arguments of all of them; they check no
   types of their own. Those that PyTorch does not have, and those that write to `out`, are absent.
3. Modes and classes with a `__torch_dispatch__` see them: `library/dispatch.py`.
"""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any

import retrograd

from ...engine.overriding import names
from ...engine.registry import OPS
from ...engine.tensor import Tensor
from ...ops import lazy_loading
from ..names import foreach
from ..names.aten import named
from ..names.missing import reason
from ..names.view_copies import alias, sliced
from ..sheets import said
from .gradients import FUNCTIONS, GRADIENTS, UPSAMPLES, gradient_of, of_result, upsample
from .handlers import dispatch, is_dispatched
from .schemas import Schema, signed

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Operator", "Operators", "Overload", "aten", "function_of", "is_composed", "original"]

MODULES = ("linalg", "fft", "special")
NONE, OVERLOADS, COMPOSED, BASIC = map(said, ("no operator", "overloads", "composed", "basic"))
PLACES = (retrograd.ops, Tensor, retrograd.nn.functional)
NUMBER_FIRST = {"Scalar_Tensor", "Scalar_Self"}


def _index(input: Tensor, indices: Any) -> Tensor:
    """The elements at indices, one of which may be None for a whole dimension."""
    return input[tuple([slice(None) if index is None else index for index in indices])]


# What operators of losses take after input and target; they say the reduction as a number.
NLL = "Tensor? weight=None, int reduction=1, int ignore_index=-100"
LOSSES = {
    **dict.fromkeys(["l1_loss", "mse_loss", "soft_margin_loss"], "int reduction=1"),
    **dict.fromkeys(["nll_loss", "nll_loss2d", "nll_loss_nd"], NLL),
    "binary_cross_entropy": "Tensor? weight=None, int reduction=1",
    "cross_entropy": f"{NLL}, float label_smoothing=0.0",
    "huber_loss": "int reduction=1, float delta=1.0, Tensor? weight=None",
    "multi_margin_loss": "Scalar p=1, Scalar margin=1, Tensor? weight=None, int reduction=1",
    "multilabel_margin_loss": "int reduction=1",
    "smooth_l1_loss": "int reduction=1, float beta=1.0",
}


def _loss(name: str) -> Callable[..., Tensor]:
    """A loss with the arguments of its operator."""
    function = getattr(retrograd.nn.functional, name.removesuffix("2d").removesuffix("_nd"))

    @signed(f"Tensor input, Tensor target, {LOSSES[name]}")
    def compute(reduction: Any, **given: Any) -> Tensor:
        return function(**given, reduction=named(reduction))  # type: ignore[no-any-return]

    return compute


def _nll_forward(
    input: Tensor, target: Tensor, weight: Tensor | None, reduction: int, ignore_index: int
) -> tuple[Tensor, Tensor]:
    """The loss, and the weights that count in its mean together, 0 for no reduction."""
    loss = OWN["nll_loss"](input, target, weight, reduction, ignore_index)
    counted = target != ignore_index
    each = counted if weight is None else weight[target * counted] * counted
    return loss, (each * bool(reduction)).sum().to(input.dtype)


def _batch_norm(input: Tensor, *given: Any) -> tuple[Tensor, Tensor, Tensor]:
    """`native_batch_norm`, or without running statistics."""
    values = given if len(given) == 7 else (*given[:2], None, None, *given[2:])
    return retrograd.native_batch_norm(input, *values)


def _pad(mode: str) -> Callable[..., Tensor]:
    """The function of the operators that pad in one mode."""
    return lambda input, padding: retrograd.nn.functional.pad(input, list(padding), mode)


def _gradient(name: str) -> Callable[..., Any]:
    """The operator of the gradients of the operator, or the function, of a name."""
    found = FUNCTIONS.get(name)
    return gradient_of(name, lambda: found or function_of(name) or function_of(name[1:]))


def _elu_gradient(
    grad_output: Tensor, alpha: float, scale: float, input_scale: float, is_result: bool, x: Tensor
) -> Tensor:
    """That of `elu`, which may know the result in place of the input."""
    if is_result:
        below = (x / (alpha * scale)).log1p() / input_scale
        x = retrograd.where(x < 0, below, x / scale)
    return ELU(grad_output, x, alpha, scale, input_scale)  # type: ignore[no-any-return]


def _table_gradient(
    grad_output: Tensor, indices: Tensor, num_weights: int, *settings: Any
) -> Tensor:
    """That of `embedding` by the table."""
    shape = (num_weights, grad_output.shape[-1])
    return EMBEDDING(grad_output, shape, indices, *settings[:2])  # type: ignore[no-any-return]


def _activation_(name: str) -> Callable[..., Tensor]:
    """An activation that writes its input."""
    return functools.partial(getattr(retrograd.nn.functional, name), inplace=True)


def _elu(input: Tensor, alpha: float = 1.0, scale: float = 1.0, input_scale: float = 1.0) -> Tensor:
    """All exponential linear units."""
    found: Tensor = OPS["elu"].call(input, alpha=alpha, scale=scale, input_scale=input_scale)
    return found


def _attention(*args: Any, **settings: Any) -> Any:
    """A kernel of accelerators; policies of checkpoints name it."""
    raise NotImplementedError("no such kernel: call nn.functional.scaled_dot_product_attention")


ELU, EMBEDDING, PRELU = [_gradient(name) for name in ("elu", "embedding", "_prelu_kernel")]
ATTENTION = "_scaled_dot_product_{}_attention"
NORMS = ("backward", "ortho", "forward")  # of Fourier transforms, by number
PADS = {"reflection": "reflect", "replication": "replicate"}
WITHOUT_METHODS = ("hardsigmoid", "hardswish", "mish", "relu6", "silu")
OWN: dict[str, Callable[..., Any]] = {
    **dict.fromkeys(map(ATTENTION.format, ("flash", "efficient", "cudnn")), _attention),
    "_adaptive_avg_pool2d": retrograd.nn.functional.adaptive_avg_pool2d,
    "_adaptive_avg_pool3d": retrograd.nn.functional.adaptive_avg_pool3d,
    "_cdist_forward": lambda x1, x2, p, compute_mode: retrograd.cdist(x1, x2, p),
    "_conj": Tensor.conj,
    "_conj_physical": Tensor.conj_physical,
    "_embedding_bag": retrograd.embedding_bag,
    "_fft_c2c": lambda input, dim, normalization, forward: (
        retrograd.fft.fftn(input, dim=dim, norm=NORMS[normalization])
        if forward
        else retrograd.fft.ifftn(input, dim=dim, norm=NORMS[2 - normalization])
    ),
    "_fft_c2r": lambda input, dim, normalization, last_dim_size: retrograd.fft.irfftn(
        input, [*[input.shape[d] for d in dim[:-1]], last_dim_size], dim, NORMS[2 - normalization]
    ),
    "_fft_r2c": lambda input, dim, normalization, onesided: (
        retrograd.fft.rfftn if onesided else retrograd.fft.fftn
    )(input, dim=dim, norm=NORMS[normalization]),
    "_log_softmax_backward_data": of_result("log_softmax", "dim input_dtype"),
    "_native_batch_norm_legit": _batch_norm,
    "_native_batch_norm_legit_no_training": (
        lambda input, weight, bias, running_mean, running_var, momentum, eps: _batch_norm(
            input, weight, bias, running_mean, running_var, False, momentum, eps
        )
    ),
    "_pdist_forward": lambda input, p=2.0: retrograd.nn.functional.pdist(input, p),
    "_prelu_kernel": lambda input, weight: OPS["prelu"].call(input, weight),
    "_softmax_backward_data": of_result("softmax", "dim input_dtype"),
    "_unsafe_index": _index,
    "_unsafe_view": lambda input, size: input.reshape(size),
    "_convolution": lambda *args: retrograd.convolution(*args[:9]),  # without choices of kernels
    "_to_copy": lambda input, **settings: input.to(**settings, copy=True),
    "_pin_memory": Tensor.pin_memory,  # raises: there is no such memory
    "_sparse_addmm": retrograd.sparse.addmm,
    "alias": alias,
    "block_diag": lambda tensors: retrograd.block_diag(*tensors),
    "col2im": retrograd.nn.functional.fold,
    "copy": lambda input, src: input.clone().copy_(src),
    "cross_entropy_loss": _loss("cross_entropy"),
    "elu": _elu,
    "im2col": retrograd.nn.functional.unfold,
    "log_sigmoid": retrograd.nn.functional.logsigmoid,
    "log_sigmoid_forward": lambda input: (
        retrograd.nn.functional.logsigmoid(input),
        (-input.abs()).exp(),
    ),
    "native_dropout_backward": lambda grad_output, mask, scale: grad_output * mask * scale,
    **dict.fromkeys(["nll_loss_forward", "nll_loss2d_forward"], _nll_forward),
    "sigmoid_backward": of_result("sigmoid", ""),
    "tanh_backward": of_result("tanh", ""),
    "elu_": lambda input, *given: input.copy_(_elu(input, *given)),
    "einsum": lambda equation, tensors: retrograd.einsum(equation, *tensors),
    "index": _index,
    "lift_fresh": lambda input: input,
    "lift_fresh_copy": lambda input: input.clone(),
    "slice": sliced,
    "sym_is_contiguous": Tensor.is_contiguous,
    "sym_numel": Tensor.numel,
    "sym_size": lambda input, dim: input.shape[dim],
    "sym_storage_offset": Tensor.storage_offset,
    "sym_stride": Tensor.stride,
    "_local_scalar_dense": Tensor.item,
    "_log_softmax": lambda input, dim, half_to_float: retrograd.log_softmax(input, dim),
    "_softmax": lambda input, dim, half_to_float: retrograd.softmax(input, dim),
    **{name: _loss(name) for name in LOSSES if name != "cross_entropy"},
    **{f"{name}_": _activation_(name) for name in WITHOUT_METHODS},
    **{name: upsample(name) for name in UPSAMPLES},
    **{f"{kind}_pad{n}d": _pad(mode) for kind, mode in PADS.items() for n in (1, 2, 3)},
    **{f"{name}_backward": _gradient(name) for name in GRADIENTS},
    "_prelu_kernel_backward": lambda grad_output, input, weight: PRELU(
        grad_output, input, weight.expand_as(input)
    ),
    "elu_backward": _elu_gradient,
    **dict.fromkeys(["embedding_backward", "embedding_dense_backward"], _table_gradient),
}

UNSAID = ("out", "by", "inplace")  # arguments that no schema of PyTorch's has


class Overload:
    """One overload of an operator; called like PyTorch's.

    >>> from retrograd.library import ops
    >>> ops.aten.select.int(rg.tensor([[1, 2], [3, 4]]), 1, 0), ops.aten.add.Tensor
    (tensor([1, 3]), <OpOverload(op='aten.add', overload='Tensor')>)
    """

    def __init__(self, operator: Operator, name: str) -> None:
        self.overloadpacket = self._overloadpacket = operator
        self._overloadname = name
        self.namespace, self.__name__ = operator.namespace, f"{operator.__name__}.{name}"
        self.__doc__ = operator.function.__doc__

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """The result of the operator, by its handlers where it has some."""
        if is_dispatched(args, kwargs):
            return dispatch(self, args, kwargs)
        return self.overloadpacket(*args, **kwargs)

    @functools.cached_property
    def _schema(self) -> Schema:
        packet, which = self.overloadpacket, self._overloadname
        own = inspect.signature(packet.function).parameters.values()
        names = ["self" if each.name == "input" else each.name for each in own]
        return Schema(
            packet._qualified_op_name,
            "" if which == "default" else which,
            [each.replace(name=n) for n, each in zip(names, own, strict=True) if n not in UNSAID],
            names[:1] if packet.__name__.endswith("_") else (),
        )

    def name(self) -> str:
        """The name with its namespace.

        >>> from retrograd.library import ops
        >>> ops.aten.mm.default.name(), str(ops.aten.mm.default)
        ('aten::mm', 'aten.mm.default')
        """
        own = "" if self._overloadname == "default" else f".{self._overloadname}"
        return f"{self.overloadpacket._qualified_op_name}{own}"

    def __deepcopy__(self, memo: dict[int, Any]) -> Overload:
        """The operator itself: there is one."""
        return self

    def __str__(self) -> str:
        return f"{self.namespace}.{self.__name__}"

    def __repr__(self) -> str:
        operator = self.overloadpacket
        return f"<OpOverload(op='{operator}', overload='{self._overloadname}')>"


class Operator:
    """All overloads of one operator: NOTE [Operators by name].

    >>> from retrograd.library import ops
    >>> ops.aten.std(rg.tensor([1.0, 3.0])), ops.aten.std.overloads()
    (tensor(1.4142), ['default', 'dim', 'correction'])
    """

    def __init__(
        self,
        name: str,
        function: Callable[..., Any],
        overloads: list[str],
        namespace: str = "aten",
    ) -> None:
        self.__name__, self._qualified_op_name = name, f"{namespace}::{name}"
        self.namespace = namespace
        self.function, self.__doc__ = function, function.__doc__
        self._overloads = overloads
        for overload in overloads:
            setattr(self, overload, Overload(self, overload))

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(
            f"The underlying op of '{self}' has no overload name '{name}': its overloads are "
            f"{', '.join(self._overloads)}"
        )

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """What the function gives; its first argument may be called `self`."""
        if "self" in kwargs:
            args = (kwargs.pop("self"), *args)
        return self.function(*args, **kwargs)

    def overloads(self) -> list[str]:
        """The names of the overloads."""
        return list(self._overloads)

    def __deepcopy__(self, memo: dict[int, Any]) -> Operator:
        """The operator itself: there is one."""
        return self

    def __str__(self) -> str:
        return f"{self.namespace}.{self.__name__}"

    def __repr__(self) -> str:
        return f"<OpOverloadPacket(op='{self}')>"


class Operators:
    """PyTorch's operators by name; AttributeError, with a reason, for those that are not here."""

    def __getattr__(self, name: str) -> Operator:
        function = function_of(name)
        if function is None:
            raise AttributeError(
                f"'_OpNamespace' 'aten' object has no attribute {name!r}{reason(name)}"
            )
        made = Operator(name, function, overloads_of(name))
        setattr(self, name, made)
        return made

    def __dir__(self) -> list[str]:
        found = {*OWN, *foreach.__all__, *lazy_loading.names()}
        for place in PLACES:
            found |= {*dir(place)}
        for module in MODULES:
            found |= {f"{module}_{name}" for name in dir(getattr(retrograd, module))}
        return sorted(filter(function_of, found))


def parted(name: str) -> tuple[str, str]:
    """The module in which an operator's function is, if its name says so, and its name there."""
    module, _, own = name.partition("_")
    return (module, own) if own and module in MODULES else ("", name)


@functools.cache
def function_of(name: str) -> Callable[..., Any] | None:
    """The function of an operator, None if there is none: NOTE [Operators by name], rule 1."""
    if name in OWN or name.startswith("_"):
        return OWN.get(name) or (vars(foreach)[name] if name in foreach.__all__ else None)
    module, own = parted(name)
    for place in [getattr(retrograd, module)] if module else PLACES:
        found = getattr(place, own, None)
        if callable(found) and found in names and name not in NONE:  # no module, such as `cpu`
            return found  # type: ignore[no-any-return]
    return None


def original(name: str) -> str:
    """The name of the operator that one is by another name; else its own."""
    function, (module, own) = function_of(name), parted(name)
    if function is None or name in OWN:
        return name
    if function.__name__ != own:
        return function.__name__
    return own if module and function_of(own) is function else name


def overloads_of(name: str) -> list[str]:
    """The names of an operator's overloads: NOTE [Sheets], rule 3."""
    base, first = name.removesuffix("_"), original(name)
    if name in OVERLOADS:
        return OVERLOADS[name]
    if base != name == first and function_of(base):
        first = base if base in OVERLOADS or original(base) == base else f"{original(base)}_"
    if first == name:
        return ["default"]
    return [each for each in overloads_of(first) if first != base or each not in NUMBER_FIRST]


def is_composed(name: str) -> bool:
    """Whether PyTorch computes an operator by others: NOTE [Sheets], rule 4."""
    base = name.removesuffix("_")
    if name in COMPOSED or name in BASIC:
        return name in COMPOSED
    return is_composed(base) if base != name and function_of(base) else original(name) != name


aten = Operators()
