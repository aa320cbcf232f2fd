"""The tensor: an array, the node that made it, and what views and versions need.

Only state lives here. What a tensor can do is attached by `method` from the ops; how its history is
recorded is in `record`, how it is written in place in `inplace`.

NOTE [What the hot path reads]
`_array`, `_node` and `_cell` are slots, always set, read by every op. Everything else has a class
default and lives in the instance dictionary once it differs. By an `_array` that has no memory,
such as a batch, an op knows, before it computes, who is to carry it out (`dispatch.run`).
"""

from __future__ import annotations

import warnings
from operator import attrgetter
from types import FunctionType
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import dtypes, modes
from ..kernels.allocation import StandIn, has_class, has_memory, has_values, is_numpy, table
from ..locks import load, structure
from . import native
from .graph import LEAF, Cell, Leaf, Moved, Node, leaf_node, renewed, target
from .overriding import IGNORED, TENSOR, names, never, public, put
from .placement import CPU, META, Size, Stored, device
from .transforms.interpreted import concrete, home_of, shares_memory
from .views import Link, View, disinherit, inherit, room_of, same_elements, sever

if TYPE_CHECKING:
    from typing import Self, TypeVar

    from .attached import Attached  # what `method` attaches: docs/make_stubs.py writes it
    from .graph import Shown

    F = TypeVar("F")
else:
    Attached = object

__all__ = [
    "Size", "Tensor", "alias", "cell_of", "concrete", "constant_like", "device", "has_history",
    "has_tangent", "is_array", "method", "moved", "new_tensor", "node_of", "tensor_of", "twin",
    "wrap", "wrote",
]  # fmt: skip

_size: Any = tuple.__new__  # `Size`, of sizes that are known to be integers

NO_LEAF = (
    "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad "
    "attribute won't be populated during autograd.backward(). If you indeed want the .grad field "
    "to be populated for a non-leaf Tensor, use .retain_grad() on the non-leaf Tensor. If you "
    "access the non-leaf Tensor by mistake, make sure you access the leaf Tensor instead. "
    "w = w - lr * w.grad makes such a tensor of a leaf: write with no_grad(): w -= lr * w.grad"
)

ANY = object()  # stands for the dtype of a `.grad` that may have each


class Tensor(Stored, Attached):
    """An n-dimensional array. If it requires grad, the operations on it are recorded.

    Made by factories such as `retrograd.tensor` and `retrograd.zeros`; the class itself, as in
    PyTorch, takes data (`Tensor([1, 2])`) or sizes (`Tensor(2, 3)`) and gives the default dtype.

    >>> x = rg.tensor([1.0, 2.0], requires_grad=True)
    >>> (x * x).sum().backward()
    >>> x.grad
    tensor([2., 4.])
    """

    __slots__ = ("_array", "_cell", "_node")

    _array: Any
    _node: Node | None
    _cell: Cell | None

    _view_of: View | None = None
    _views: list[Any] | None = None
    _outdated: dict[int, Any] | None = None  # by id: weak references to stale views
    _inference: bool = False
    _tangents: dict[Any, Tensor] | None = None  # by level: `engine.transforms.forward`
    _turns: tuple[Any, ...] = ()  # the steps of `t_` and its like, and those that lead back
    _alias_of: Link | None = None  # of a detached batch, or what a transform gave: whose it is
    _aliases: list[Any] | None = None  # of a batch: weak references to those
    _gradient: Tensor | None = None
    _grad_dtype: Any = None  # of `.grad`, where it is not the tensor's own: `gradient_dtype`
    _room: Any = None  # its memory, in bytes, once `resize_` has shown less of it
    _parked: Node | None = None  # a leaf's node, with its hooks, while requires_grad is off
    _lent: Node | None = None  # the leaf that it is while tapes watch it: `tape`
    _storage: Any = None  # the object that its memory is for those who ask: `ops.tensor.storage`

    _kept = frozenset(__annotations__)  # all of these, which are not the program's

    def __new__(cls, *data: Any, device: Any = None) -> Self:
        """A tensor of the default dtype from data, or uninitialised from sizes."""
        if cls is not Tensor and _below(cls) is not _below(Tensor):
            return Tensor(*data, device=device).as_subclass(cls)  # type: ignore[return-value]
        if len(data) == 1 and isinstance(data[0], Tensor):  # the same memory, and dtype
            if device is not None:
                raise RuntimeError(
                    "Legacy tensor constructor of the form Tensor(tensor, device=device) is not "
                    "supported. Use tensor(...) or as_tensor(...) instead."
                )
            return data[0].as_subclass(cls)  # type: ignore[return-value]
        made = load("retrograd.ops.creation.new").constructed
        return new_tensor(made(data, dtypes.default_numpy(), "Tensor", device), cls)  # type: ignore[return-value]

    # -- what the array says -------------------------------------------------------------------

    @property
    def shape(self) -> Size:
        """The size of each dimension."""
        return _size(Size, self._array.shape)  # type: ignore[no-any-return]

    @property
    def dtype(self) -> dtypes.dtype:
        """The element type."""
        return dtypes.of_numpy(self._array.dtype)

    @property
    def device(self) -> device:
        """Where the memory lies: "meta" for a tensor without data."""
        return CPU if has_values(self._array) else META

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return self._array.ndim  # type: ignore[no-any-return]

    # -- what the graph says -------------------------------------------------------------------

    @property
    def requires_grad(self) -> bool:
        """Whether a gradient is wanted for this tensor or for one it was computed from."""
        return self._node is not None

    @requires_grad.setter
    def requires_grad(self, value: Any) -> None:
        if value is True and not self.is_leaf:
            raise RuntimeError(
                "you can only change requires_grad flags of leaf variables. This one was computed "
                "from tensors that require grad, so it does, too"
            )
        if not isinstance(value, (bool, np.bool_)):
            raise RuntimeError(f"requires_grad must be a bool, not {type(value).__name__}")
        set_requires_grad(self, bool(value), "only")

    @requires_grad.deleter
    def requires_grad(self) -> None:
        raise RuntimeError("cannot delete requires_grad; to turn it off: x.requires_grad_(False)")

    @property
    def is_leaf(self) -> bool:
        """Whether no recorded op made this tensor."""
        return self._node is None or self._node.op is LEAF

    @property
    def grad_fn(self) -> Shown | None:
        """The node of the op that made this tensor, or None for a leaf."""
        node = node_of(self)
        return None if node is None or node.op is LEAF else target(node)[0]

    @property
    def output_nr(self) -> int:
        """Which output of `grad_fn` this tensor is."""
        node = node_of(self)
        return 0 if node is None else target(node)[1]

    @property
    def grad(self) -> Tensor | None:
        """The accumulated gradient; None before any backward pass.

        For a real loss L and a complex z = x + iy, the gradient is ∂L/∂x + i ∂L/∂y = 2 ∂L/∂z*, the
        direction of steepest ascent.
        Warns for a tensor that no backward pass will fill: neither a leaf nor `retain_grad()`.
        """
        found, node = self._gradient, self._node
        if found is None and node is not None and node.op is not LEAF:
            hooks = node.hooks
            if hooks is None or not any(ref() is self for ref in hooks.retained):
                warnings.warn(NO_LEAF, UserWarning, stacklevel=2)
        return found

    @grad.setter
    def grad(self, value: Tensor | None) -> None:
        if value is not None:
            if not isinstance(value, Tensor):
                raise TypeError(
                    "assigned grad expected to be a Tensor or None but got grad of type "
                    f"{type(value).__name__}"
                )
            check_grad(self, value)
        self._gradient = value

    @grad.deleter
    def grad(self) -> None:
        self._gradient = None

    _grad = grad  # PyTorch's other name

    @property
    def _version(self) -> int:
        if self._inference:
            raise RuntimeError("Inference tensors do not track version counter.")
        cell = known_cell(self)
        return 0 if cell is None else cell.version

    @property
    def _base(self) -> Tensor | None:
        """What a view is one of; inference tensors, whose writes nobody follows, say nothing."""
        return None if self._view_of is None or self._inference else self._view_of.base

    def _is_view(self) -> bool:
        return self._base is not None

    def is_inference(self) -> bool:
        """Whether the tensor was made in inference mode."""
        return self._inference

    @property
    def data(self) -> Tensor:
        """The same memory without history and with a version of its own; use `detach` instead."""
        if not has_memory(self._array):
            self._array.check_data()
        return shared(self)

    @data.setter
    def data(self, value: Tensor) -> None:
        if not isinstance(value, Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {type(value).__name__}")
        if self._node is not None and not dtypes.is_differentiable(value._array.dtype):
            raise RuntimeError(
                "data set to a tensor that requires gradients must be floating point or complex "
                f"dtype, but got {value.dtype}"
            )
        if same_elements(value._array, self._array):
            return
        before = self._array
        sever(self, value._array)
        self._array, self._room = array_of(value), room_of(value)
        follow(self)
        moved(self, before, "the assignment to .data")
        if has_class(self._array) and isinstance(self, type(value)):
            self._array.after_store(self)

    @data.deleter
    def data(self) -> None:
        raise RuntimeError("cannot delete the data of a tensor")

    __hash__ = object.__hash__  # by identity, though `==` compares elementwise


never(Tensor, Size, device, dtypes.dtype)

_new = object.__new__
_below = attrgetter("__torch_dispatch__")


def new_tensor(array: Any, cls: type[Tensor] = Tensor) -> Tensor:
    """A tensor without history around `array`, which is not copied."""
    tensor: Tensor = _new(cls)
    tensor._array = array
    tensor._node = None
    tensor._cell = None
    if modes.special and modes.state.inference:
        tensor._inference = True
    return tensor


def tensor_of(array: Any) -> Tensor:
    """The tensor without history that shows an array to users."""
    return array.tensor() if has_class(array) else new_tensor(array)


def array_of(source: Tensor) -> Any:
    """The array of a tensor, to be given to another one, too."""
    array = source._array
    if not has_memory(array):
        array.before_share(source)
    return array


def constant_like(array: Any, like: Tensor) -> Tensor:
    """A tensor without history of a NumPy array, on the device and of the kind of `like`.

    Any other array stays where it is.
    """
    return new_tensor(table(home_of(like._array), array) if is_numpy(array) else array)


def is_array(value: Any) -> bool:
    """Whether `value` is an array that a tensor may hold: the one place that decides.

    NumPy's arrays, others that speak its protocols (NOTE [The seam] in `kernels.allocation`), and
    what stands for one; no scalars.
    """
    kind = value.__class__
    if kind is np.ndarray or issubclass(kind, StandIn):
        return True
    return hasattr(kind, "__array_function__") and not issubclass(kind, Tensor)


def as_array(value: Any) -> Any:
    """`value` itself if it is an array, else as one: a NumPy scalar; a masked array, a matrix.

    NumPy's classes of arrays have rules of their own, so a tensor holds what is in them.
    """
    kind = value.__class__
    if kind is np.ndarray:
        return value
    own = issubclass(kind, (np.generic, np.ndarray)) and kind.__module__.startswith("numpy")
    return np.asarray(value) if own or not is_array(value) else value


def wrap(value: Any) -> Tensor:
    """A tensor without history around an array or a NumPy scalar."""
    return new_tensor(as_array(value))


def shared(source: Tensor) -> Tensor:
    """Another tensor on the same memory, an inference tensor if `source` is one."""
    array = source._array
    tensor = new_tensor(array) if array.__class__ is np.ndarray else tensor_of(array_of(source))
    if tensor._inference is not source._inference:
        tensor._inference = source._inference
    return tensor


def alias(source: Tensor, node: Node | None) -> Tensor:
    """Another tensor on the same memory and version, with `node` for its history."""
    tensor = shared(source)
    tensor._node = node
    if not source._inference:
        tensor._cell = cell_of(source)
    return tensor


def twin(source: Tensor, node: Node | None) -> Tensor:
    """An alias that has the tangents of `source`, too."""
    tensor = alias(source, node)
    if source._tangents is not None:
        tensor._tangents = source._tangents
    return tensor


def known_cell(tensor: Tensor) -> Cell | None:
    """The tensor's version cell, if there is one: its own, or the one its node told to others."""
    cell, node = tensor._cell, tensor._node
    return node._cell if cell is None and node is not None else cell


def cell_of(tensor: Tensor) -> Cell:
    """The tensor's version cell, made now if it has none: NOTE [One clock] in `graph`, rule 3."""
    cell = tensor._cell
    if cell is None:
        made, node = Cell(), tensor._node
        with structure:  # two threads may make the first views of one tensor
            cell = tensor._cell
            if cell is None and node is not None:
                cell = node._cell = node._cell or made  # its node may have told it to others
            cell = tensor._cell = cell or made
    return cell


def has_tangent(tensor: Tensor) -> bool:
    """Whether a forward derivative in progress has a tangent for the tensor."""
    tangents = tensor._tangents
    return bool(tangents and modes.special and not tangents.keys().isdisjoint(modes.state.levels))


def has_history(tensor: Tensor) -> bool:
    """Whether a derivative depends on the tensor: its graph goes on, or it has a tangent."""
    return tensor.requires_grad or has_tangent(tensor)


def node_of(tensor: Tensor) -> Any:
    """The node of a tensor, or None, as the end of an edge: NOTE [Stale views] in `views`."""
    node = tensor._node
    return node.op.now(tensor) if node is not None and node.op.stale else node


@native.in_c
def wrote(tensor: Tensor, by: str, counted: bool = True) -> None:
    """Count a write to the memory of `tensor` by the op or method called `by`.

    Whoever writes to memory that a tensor shows calls this, and nobody else touches versions: a
    node may have saved the tensor, whether or not anybody looks at its version now. One that is not
    `counted` leaves the version as it is, as in PyTorch, but saved values are refused all the same.
    Inference tensors have no version.
    """
    if not tensor._inference:
        cell = tensor._cell
        if cell is None:
            cell = cell_of(tensor)
        if counted:
            cell.bump(by)
        else:
            cell.note(by)


def moved(tensor: Tensor, before: Any, by: str) -> None:
    """Note that `tensor` shows another array than `before`: what saved it is refused.

    The version stays. The tensor's views and aliases keep the old memory, and the cell of that; so
    does the tensor where it shows that memory in another way, for it still writes it.
    """
    if not tensor._inference:
        if not shares_memory(before, tensor._array):
            tensor._cell = Moved(cell_of(tensor))
        wrote(tensor, by, counted=False)


def set_requires_grad(tensor: Tensor, value: bool, only: str = "Only") -> None:
    """Make a leaf require grad, or no longer; `only` begins the error for integers."""
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"argument 'requires_grad' must be bool, not {type(value).__name__}")
    if tensor._node is not None and tensor._node.op is not LEAF:  # asks no class of a user's
        if not value:
            raise RuntimeError(
                "you can only change requires_grad flags of leaf variables. If you want to use a "
                "computed variable in a subgraph that doesn't require differentiation use "
                "var_no_grad = var.detach()."
            )
        return
    if not value:
        if tensor._node is not None:
            tensor._parked = tensor._node
        tensor._node = None
        disinherit(tensor)
    elif tensor._node is not None:
        tensor._node.inherited = False
        keep_lent(tensor)
    elif tensor._parked is not None and dtypes.is_differentiable(tensor._array.dtype):
        tensor._node, tensor._parked = tensor._parked, None
        follow(tensor)  # it may have got another array
        keep_lent(tensor)
        inherit(tensor)
    else:
        if not dtypes.is_differentiable(tensor._array.dtype):
            raise RuntimeError(
                f"{only} Tensors of floating point and complex dtype can require gradients, but "
                f"this one is {tensor.dtype}. Convert it first: x.float().requires_grad_()"
            )
        if tensor._inference and not modes.state.inference:
            raise RuntimeError(
                "Setting requires_grad=True on inference tensor outside InferenceMode is not "
                "allowed. Make a normal tensor first: x.clone().requires_grad_()"
            )
        made = leaf_node(tensor, tensor._array.shape, gradient_dtype(tensor))
        with structure:  # of two nodes, one would add to `.grad` in vain
            tensor._node = tensor._node or made
        inherit(tensor)


def follow(tensor: Tensor) -> None:
    """Fit the node of a tensor that has got another array: its shape, and a leaf's dtype."""
    array, node = tensor._array, tensor._node
    if node is None or node.op is not LEAF:
        cell_of(tensor)  # that which its node so far looks at
        load(f"{__package__}.inplace").lead_on(tensor)
    elif node.shape != array.shape or node.dtype != gradient_dtype(tensor):
        tensor._node = renewed(node, array.shape, gradient_dtype(tensor))
        if tensor._lent is node:
            tensor._lent = tensor._node


def keep_lent(tensor: Tensor) -> None:
    """Let the leaf that tapes lend to a tensor be its own, for it is to require grad afterwards."""
    with structure:
        if tensor._node is not None and tensor._node is tensor._lent:
            tensor._node.saved, tensor._lent = Leaf(tensor), None


def check_grad(tensor: Tensor, grad: Tensor) -> None:
    """Raise unless `grad` may be assigned to `tensor.grad`."""
    if grad is tensor:
        raise RuntimeError("can't assign Variable as its own grad")
    wanted = tensor._grad_dtype or tensor.dtype
    if grad.dtype != wanted is not ANY:
        raise RuntimeError(
            f"attempting to assign a gradient with dtype '{dtypes.cpp_name(grad.dtype)}' to a "
            f"tensor with grad_dtype '{dtypes.legacy_name(wanted)}'. The gradient must match the "
            "tensor's grad_dtype, which is its dtype unless you set it: grad.to(x.grad_dtype)"
        )
    for kind, its, mine, same in (
        ("with device type", grad.device.type, tensor.device.type, "on the same device"),
        ("of size", list(grad.shape), list(tensor.shape), "the same size"),
    ):
        if its != mine:
            raise RuntimeError(
                f"attempting to assign a gradient {kind} '{its}' to a tensor {kind} '{mine}'. "
                f"Please ensure that the gradient and the tensor are {same}"
            )


def gradient_dtype(tensor: Tensor) -> Any:
    """The NumPy dtype in which cotangents of a leaf are added to its `.grad`."""
    own = tensor._grad_dtype
    return tensor._array.dtype if own in (None, ANY) else own.numpy


def method(function: F, *under: str) -> F:
    """Attach `function`, whose first argument is the tensor, to `Tensor` under names or its own.

    The only way in which tensors get methods outside this module. Calls may be taken over: NOTE
    [Who is asked] in `overriding`. They are told of `__len__`, not `_len`.
    """
    named: Any = function
    private = isinstance(function, FunctionType) and named.__name__[0] == "_"
    if len(under) == 1 and private and named.__name__[:2] != "__":
        named.__name__ = named.__qualname__ = under[0]
    for name in under or (named.__name__,):
        seen = function if name in IGNORED else public(function)
        if callable(seen):
            names.setdefault(seen, TENSOR + name)
        put(Tensor, name, seen)
    return function
