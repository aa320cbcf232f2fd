"""`__torch_dispatch__`: how calls of functions and ops reach modes and classes as operators.

NOTE [What is seen]
1. Handlers (`handlers`) see calls of operators (`translation`): that of a public function where
   nothing of it is recorded, else those of the records that it runs.
2. Their result stands for that of the function or record. A record is recorded as ever, by
   its own formulas, with that result: so gradients and tangents are those of the record, whatever
   a mode or class has computed in its place.
3. A tensor of a class that has a `__torch_dispatch__` has a `Wrapped` for its array, which carries
   ops out by asking that. Where it stands in a tensor of another class, as what a node saved does,
   the attributes that the tensor had are given to one of its own class again.
4. Backward passes in a mode, or from such a tensor, run formulas on tensors, so they are seen, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ... import dtypes, modes, pytree
from ...autograd.transformed import has_batch
from ...engine.dispatch import NUMBERS as ASSIGNED
from ...engine.dispatch import as_tensor, is_plain
from ...engine.naming import CHOICES
from ...engine.overriding import CONVERTERS, PASSED, names
from ...engine.placement import device as make_device
from ...engine.record import finish
from ...engine.registry import OPS
from ...engine.saved import on_tensors_from
from ...engine.subclasses import stands_below
from ...engine.tensor import (
    Tensor,
    array_of,
    new_tensor,
    set_requires_grad,
    tensor_of,
)
from ...engine.transforms.interpreted import Interpreted
from ...kernels import meta
from ...kernels.allocation import has_memory
from ...ops.core import return_types
from ...ops.creation.from_data import tensor
from ...ops.tensor import pickling
from ..names.view_copies import VIEWS
from ..types import plain
from . import translation
from .aten import aten
from .composites import COMPOSITES, spread
from .handlers import dispatch, has_history
from .overloads import chosen
from .translation import UNRECORDED, arranged, operator_of, overload, signature, viewed

if TYPE_CHECKING:
    from ...engine.op import Op

__all__ = ["Dispatcher", "Wrapped", "call", "make_wrapper", "rewrap"]

NO_DATA = (
    "{name}: a {cls} made by _make_wrapper_subclass has no data of its own. Compute with what it "
    "holds, in its __torch_dispatch__"
)
NO_TENSOR = (
    "Unable to cast {found!r} to {wanted}: a __torch_dispatch__ gave it for {name}. Return what "
    "the operator gives, `return func(*args, **(kwargs or {{}}))`"
)


def called(function: Any, args: Any, kwargs: Any, composite: bool = False) -> Any:
    """The result of a public function by its handlers; PASSED where they are to see its parts.

    `composite`: handlers see composite operators, not their parts, and what is recorded, too.
    """
    state = modes.state
    composite = composite and not (state.batches or state.levels or state.nested)  # see parts
    if composite and (found := as_composite(function, args, kwargs)) is not PASSED:
        return found
    op = getattr(function, "op", None)
    if op is not None and not (composite and operator_of(function, True)):
        found = [t._array for t in args if isinstance(t, Tensor)]
        ours = [isinstance(array, Wrapped) for array in found if not has_memory(array)]
        if not ours or not all(ours):  # a batch is asked before
            return PASSED
        return run(op, args, kwargs) if is_plain(op, args, kwargs) else PASSED
    if modes.state.batches and has_batch((args, kwargs)):
        return PASSED  # what it consists of asks the batch
    if function in KEYED:
        return keyed(function, *args)
    if getattr(function, "__name__", "") in CONVERTERS:
        return lifted(function, args, kwargs)
    if getattr(function, "__name__", "") == "new_tensor":
        return beside(*args, **kwargs)
    operator = operator_of(function, composite)
    if operator is None or kwargs.get("out") is not None:
        return PASSED
    if function in NUMBERS and (args[0].numel() != 1 or args[0].is_complex()):
        return PASSED  # which raises, or looks at the parts
    if not composite:
        name = operator.__name__
        recorded = name in VIEWS or has_history(pytree.flatten((args, kwargs)))
        if name not in UNRECORDED and recorded:  # views, too: records tie them to their base
            return PASSED
    first = args[0] if args else None
    args, kwargs = pytree.map_leaves(shell, tuple(args)), pytree.map_leaves(shell, dict(kwargs))
    try:
        placed, named = arranged(function, args, kwargs)
    except TypeError:  # the function itself will say what is wrong
        return PASSED
    name = operator.__name__ + "_" * named.pop("inplace", False)
    called = getattr(aten, name)
    func = getattr(called, chosen(called, placed, named))
    requires_grad = named.pop("requires_grad", False)
    found = dispatch(func, spread(name, placed) if composite else placed, named)
    if requires_grad:
        return found.requires_grad_()
    if name[-1] == "_" and (found is None or isinstance(found, Tensor)):  # it has been written
        return first
    if name == "_local_scalar_dense" or function.__annotations__.get("return") in PLAIN:
        if not isinstance(found, (bool, int, float, complex)):
            raise RuntimeError(NO_TENSOR.format(found=found, wanted="a number", name=name))
        return NUMBERS[function](found) if function in NUMBERS else found
    check(name, found, function.__annotations__.get("return") == "Tensor")
    if isinstance(found, list):
        return tuple(found)
    several = type(found) is tuple and getattr(return_types, name, None)
    return several(*found) if several else found


def as_composite(function: Any, args: Any, kwargs: Any) -> Any:
    """The result of a function whose operator takes others: NOTE [Composite operators]."""
    name, public = getattr(function, "__name__", ""), names.get(function)
    if name not in COMPOSITES or public is None or public.startswith("retrograd.Tensor."):
        return PASSED  # not a function, but a record of its name, or a method
    try:
        bound = signature(function).bind(*args, **kwargs)
    except TypeError:  # the function itself will say what is wrong
        return PASSED
    bound.apply_defaults()
    given = {k: v for k, v in bound.arguments.items() if k not in ("_stacklevel", "out")}
    found = COMPOSITES[name](**given)
    if found is None:
        return PASSED
    made = dispatch(overload(found[0]), list(found[1:]), {})
    return made[0] if isinstance(made, (tuple, list)) else made


def lifted(function: Any, args: Any, kwargs: Any) -> Any:
    """A tensor made of data that are no tensor, by the operator `lift_fresh`."""
    if isinstance(args[0] if args else None, Tensor):
        return PASSED
    requires_grad, place = kwargs.pop("requires_grad", False), kwargs.pop("device", None)
    with modes.Changed(dispatchers=()):
        made = function(*args, **kwargs)
    made = dispatch(overload("lift_fresh.default"), [made], {})
    if place is not None and make_device(place) != made.device:
        made = made.to(place)
    return made.requires_grad_() if requires_grad else made


def beside(x: Tensor, data: Any, **settings: Any) -> Any:
    """`x.new_tensor(data)` by the operator `lift_fresh`."""
    if isinstance(data, Tensor):
        return PASSED
    for name in ("dtype", "device"):
        if settings.get(name) is None:
            settings[name] = getattr(x, name)
    return lifted(tensor, (data,), settings)


def check(name: str, found: Any, single: bool) -> None:
    """Raise unless what was given for an operator is a tensor or, if not `single`, some of them."""
    parts = found if isinstance(found, (tuple, list)) and not single else (found,)
    for part in parts:
        if not isinstance(part, Tensor):
            raise RuntimeError(NO_TENSOR.format(found=part, wanted="Tensor", name=name))


PLAIN = {"bool", "int", "float"}
NUMBERS: dict[Any, Any] = {
    getattr(Tensor, f"__{kind.__name__}__"): kind for kind in (bool, float, int)
}
KEYED = {
    Tensor.__getitem__: "index.Tensor",
    Tensor.__setitem__: "index_put_.default",
}


def keyed(function: Any, x: Any, key: Any, *value: Any) -> Any:
    """The result of an index by tensors, beside which there are only full slices."""
    given = key if isinstance(key, tuple) else (key,)
    parts = [new_tensor(each) if isinstance(each, np.ndarray) else each for each in given]
    tensors = [each for each in parts if isinstance(each, Tensor)]
    full = [each for each in parts if isinstance(each, slice) and each == slice(None)]
    if not tensors or len(tensors) + len(full) < len(parts) or has_history((x, *tensors, *value)):
        return PASSED
    if not all(can_be_put(each, x) for each in value):
        return PASSED
    places = [each if isinstance(each, Tensor) else None for each in parts]
    values = [v if isinstance(v, Tensor) else as_tensor(v, x._array.dtype) for v in value]
    return dispatch(overload(KEYED[function]), [x, places, *values], {})


def can_be_put(value: Any, x: Tensor) -> bool:
    """Whether a value that is assigned is one that `index_put_` takes as it is."""
    if isinstance(value, Tensor):
        return bool(value.dtype is x.dtype)
    return isinstance(value, ASSIGNED)


def run(op: Op, inputs: tuple[Any, ...], params: dict[str, Any]) -> Any:
    """The result of an op by its handlers, recorded as that of the op."""
    if op.name in CHOICES and any(isinstance(t, Tensor) and t.is_complex() for t in inputs):
        return CHOICES[op.name](op.call, inputs, params)  # by records of its own
    given = tuple([shell(t) for t in inputs])
    with modes.Changed(below=True, levels=()):
        found = translation.shown(
            op, lambda func, *args, **kwargs: dispatch(func, args, kwargs), given, params
        )
    check(op.name, found, op.outputs == 1)
    made = [own(each, given) for each in ((found,) if op.outputs == 1 else found)]
    given = tuple(map(plain, given))
    if op.is_binary:
        given = (given[0], as_tensor(given[1], given[0]._array.dtype))
    outputs = finish(op, given, made[0] if op.outputs == 1 else tuple(made), params)
    if any(isinstance(t, Tensor) and isinstance(t._array, Wrapped) for t in (*given, *made)):
        history = made[0]._node
        if history is not None:
            on_tensors_from(history)
    return outputs


def own(result: Tensor, given: Any) -> Any:
    """A result as a tensor that may get a history: itself, if nobody else knows it."""
    if isinstance(result._array, Wrapped):
        result._array.remember(result)
    known = result._node is not None or result._view_of is not None
    if known or any(result is each for each in given):
        return shell(new_tensor(result._array))
    return result


def shell(value: Any) -> Any:
    """A tensor as one of the class that its array belongs to: NOTE [What is seen], 3."""
    if not isinstance(value, Tensor) or not isinstance(value._array, Wrapped):
        return value
    array = array_of(value)
    if isinstance(value, array.cls):
        return value
    made = new_tensor(array, array.cls)
    array.restore(made)
    made._node, made._cell = value._node, value._cell
    return made


class Dispatcher:
    """A mode that is entered; `composite`: see `called`."""

    def __init__(self, mode: Any, composite: bool = False) -> None:
        self.mode, self.composite = mode, composite

    run = staticmethod(run)

    def called(self, function: Any, args: Any, kwargs: Any) -> Any:
        """The result of a public function by the mode."""
        return called(function, args, kwargs, self.composite)


class Wrapped(Interpreted):
    """The array of a tensor of class `cls`: NOTE [What is seen], 3.

    `like` has its shape, dtype and strides and no data; `data` is the array that it would be
    without that class, None if the class holds its values in attributes.
    """

    __slots__ = ("__weakref__", "attributes", "cls", "data", "device", "like", "maker")

    has_class = True
    has_values = property(lambda self: self.device != "meta")

    def __init__(self, cls: type[Tensor], like: Any, data: Any = None, device: str = "cpu") -> None:
        self.cls, self.like, self.data, self.device = cls, like, data, device
        self.attributes: dict[str, Any] = {}
        self.maker: Tensor | None = None  # the tensor made with it, until its slots are kept

    shape = property(lambda self: self.like.shape)
    dtype = property(lambda self: self.like.dtype)
    ndim = property(lambda self: self.like.ndim)
    size = property(lambda self: self.like.size)
    strides = property(lambda self: self.like.strides)
    itemsize = property(lambda self: self.like.itemsize)
    nbytes = property(lambda self: self.like.nbytes)
    flags = property(lambda self: self.like.flags)
    offset = property(lambda self: self.like.offset)

    value = property(lambda self: new_tensor(self.like))  # for checks, which find no values

    called = staticmethod(called)

    def interpret(self, op: Op, inputs: tuple[Any, ...], params: dict[str, Any]) -> Any:
        """The result of an op by the class."""
        return run(op, inputs, params)

    # -- attributes ----------------------------------------------------------------------------

    def remember(self, tensor: Tensor) -> None:
        """Keep the attributes that a tensor of the class has."""
        self.maker = None
        self.attributes = pickling.attributes(tensor)

    def restore(self, tensor: Tensor) -> None:
        """Give a tensor of the class the attributes that were kept."""
        if self.maker is not None:
            self.remember(self.maker)
        pickling.restore(tensor, self.attributes)

    # -- what the engine asks of what stands for an array ----------------------------------------

    def before_share(self, source: Tensor) -> None:
        """Keep the attributes of a tensor of the class, which another one may be given."""
        if isinstance(source, self.cls):
            self.remember(source)

    def again(self) -> Wrapped:
        """A new array like this one, for another tensor with the same attributes."""
        made: Wrapped = super().again()
        made.attributes, made.maker = self.attributes, self.maker
        return made

    def __reduce__(self) -> Any:
        return Wrapped, (self.cls, self.like, self.data, self.device)

    def shares_memory(self, other: Any) -> bool:
        """Whether this can be a view of another one in another shape, as `translation` tells it."""
        return isinstance(other, Wrapped) and viewed(other.tensor(), self.shape)

    def check_room(self, target: Tensor) -> None:
        """Raise unless `target` may have this for its array: it is of the same class."""
        if not isinstance(target, self.cls):
            raise RuntimeError(
                f"a {self.cls.__name__} cannot be written into a {type(target).__name__}. Write "
                "out of place"
            )

    def after_store(self, target: Tensor) -> None:
        """Give the tensor that was written the attributes of what was written."""
        self.restore(target)

    def around(self, made: Tensor) -> Interpreted:
        """Raise: a plain tensor cannot be written into one of the class."""
        raise RuntimeError(
            f"a plain tensor cannot be written into a {self.cls.__name__} that has a history. "
            "Write out of place"
        )

    def ones(self) -> Tensor:
        """Ones, as the class makes them."""
        found: Tensor = dispatch(overload("ones_like.default"), [self.tensor()], {})
        return found

    def tensor(self) -> Tensor:
        """A tensor of the class."""
        made: Tensor = shell(new_tensor(self))
        return made

    # -- sums of cotangents --------------------------------------------------------------------

    def __add__(self, other: Any) -> Any:
        with modes.Changed(grad=False):
            return OPS["add"].call(tensor_of(self), tensor_of(other))._array

    __radd__ = __add__

    def __array_ufunc__(self, ufunc: Any, *args: Any, **options: Any) -> Any:
        """Raise: forwards of NumPy's leave it to `interpret`, and sums in place to `+`."""
        raise ValueError(NO_DATA.format(name=ufunc.__name__, cls=self.cls.__name__))

    def astype(self, dtype: Any, *args: Any, **options: Any) -> Any:
        """This array in another dtype."""
        return self if dtype == self.dtype else OPS["cast"].call(self.tensor(), dtype=dtype)._array

    # -- values --------------------------------------------------------------------------------

    def item(self) -> Any:
        """The number that the class gives."""
        return dispatch(overload("_local_scalar_dense.default"), [self.tensor()], {})

    def refused(self, name: str) -> Exception:
        """The error for what asks for the data of an array."""
        return NotImplementedError(NO_DATA.format(name=name, cls=self.cls.__name__))


def make_wrapper(
    cls: type[Tensor],
    size: Any,
    *,
    strides: Any = None,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    **settings: Any,
) -> Tensor:
    """See `Tensor._make_wrapper_subclass`.

    >>> class Doubled(rg.Tensor):
    ...     def __new__(cls, held):
    ...         made = rg.Tensor._make_wrapper_subclass(cls, held.shape, dtype=held.dtype)
    ...         made.held = held
    ...         return made
    ...
    ...     @classmethod
    ...     def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
    ...         plain = [a.held * 2 if isinstance(a, cls) else a for a in args]
    ...         return func(*plain, **(kwargs or {}))
    >>> Doubled(rg.ones(2)) + 1
    tensor([3., 3.])
    """
    if not stands_below(cls):
        raise TypeError(
            f"{cls.__name__} must define __torch_dispatch__ to be made by _make_wrapper_subclass"
        )
    kind = dtypes.default_numpy() if dtype is None else dtypes.to_numpy(dtype)
    steps = None if strides is None else tuple([n * kind.itemsize for n in strides])
    array = Wrapped(cls, meta.empty(tuple(size), kind, steps), None, str(device or "cpu"))
    made = new_tensor(array, cls)
    array.attributes = made.__dict__  # as they will be; the tensor itself would close a cycle
    array.maker = made if pickling.slots_of(cls) else None
    set_requires_grad(made, requires_grad)
    return made


def rewrap(tensor: Tensor) -> None:
    """Give a tensor that has become one of its class the array and attributes of such a one."""
    array = tensor._array
    if isinstance(array, Wrapped):
        array.restore(tensor)
    else:
        tensor._array = Wrapped(type(tensor), meta.like(array), array)


def call(func: Any, args: Any, kwargs: Any) -> Any:
    """An operator on the data of its arguments, of which no class is asked."""

    def plain(value: Any) -> Any:
        if not isinstance(value, Tensor) or not isinstance(value._array, Wrapped):
            return value
        if value._array.data is None:
            raise NotImplementedError(NO_DATA.format(name=str(func), cls=type(value).__name__))
        return new_tensor(value._array.data)

    return func(*pytree.map_leaves(plain, tuple(args)), **pytree.map_leaves(plain, dict(kwargs)))
