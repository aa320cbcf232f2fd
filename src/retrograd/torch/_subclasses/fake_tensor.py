"""Tensors without data that say they are on any device: PyTorch's `FakeTensorMode`.

NOTE [Fake tensors]
1. A FakeTensor holds an array of the meta device and the name of a device. Operators run on those
   arrays (`kernels/meta.py`), so shapes, dtypes and strides are right and nothing is computed.
2. In the mode, whatever operators make is fake: what factories give, what `tensor` is given. For a
   tensor from elsewhere a fake one stands; writing one raises.
3. What asks for a value raises, as does what has a shape by values.
"""

from __future__ import annotations

import functools
import operator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ... import modes, pytree
from ...engine.placement import CPU, META, Size, device
from ...engine.tensor import Tensor, new_tensor, set_requires_grad
from ...kernels import meta
from ...nn.parameter import Parameter
from ..library.dispatch import make_wrapper
from ..types import plain
from ..utils._python_dispatch import TorchDispatchMode, _disable_current_modes
from ..utils.weak import WeakTensorKeyDictionary

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "DataDependentOutputException", "DynamicOutputShapeException", "FakeTensor", "FakeTensorMode",
    "UnsupportedFakeTensorException", "is_fake", "unset_fake_temporarily",
]  # fmt: skip

NOT_FAKE = (
    "{func} would write a tensor of shape {shape} that is no FakeTensor of the mode. Please "
    "convert all Tensors to FakeTensors first: mode.from_tensor(x)"
)
OTHER_MODE = "Mixing fake modes NYI: {func} of FakeTensors of two modes. Convert all by one mode"
DEVICES = (
    "Unhandled FakeTensor Device Propagation for {func}, found two different devices {devices}. "
    "Move one: x.to({one!r})"
)


VALUES = {"_local_scalar_dense", "equal", "allclose", "is_nonzero"}  # operators that give values
LIFTED = "lift_fresh.default"  # what `tensor` is given


class UnsupportedFakeTensorException(RuntimeError):  # noqa: N818 (PyTorch's names)
    """Raised for a tensor that cannot be without data, such as a sparse one."""


class DataDependentOutputException(RuntimeError):  # noqa: N818 (PyTorch's name)
    """Raised where an operator, `func`, gives a value, which a FakeTensor does not have."""

    def __init__(self, func: Any) -> None:
        super().__init__(str(func))
        self.func = func


class DynamicOutputShapeException(DataDependentOutputException):
    """Raised where an operator, `func`, gives a shape that depends on values."""


class FakeTensor(Tensor):
    """A tensor that has a shape, a dtype and a device, and no data: NOTE [Fake tensors].

    fake_mode: the mode to which it belongs; elem: a tensor of the device "meta"; device: where it
    says to be. Source: PyTorch's class.

    >>> from retrograd._subclasses import FakeTensorMode
    >>> with FakeTensorMode():
    ...     x = rg.ones(1000000, 1000000, device="cuda")
    >>> x.sum(0), x.device
    (FakeTensor(..., device='cuda:0', size=(1000000,)), device(type='cuda', index=0))
    """

    fake_mode: FakeTensorMode
    fake_device: Any
    constant: Tensor | None = None  # the one number that `tensor` was given
    symbolic: tuple[Any, ...] | None = None  # its sizes, of those that `export` writes down

    @staticmethod
    def __new__(cls, fake_mode: FakeTensorMode, elem: Tensor, device: Any) -> Any:
        """A tensor on the array of `elem`."""
        made: Any = make_wrapper(cls, elem.shape, dtype=elem.dtype)
        made._array.like = elem._array
        made.fake_mode, made.fake_device = fake_mode, device
        return made

    @property
    def device(self) -> device:
        """The device that the tensor claims to be on."""
        return self.fake_device  # type: ignore[no-any-return]

    @property
    def shape(self) -> Any:
        """The sizes; where a mode asks for it, sizes that tell who computes with them."""
        plain = self._array.shape
        if not self.fake_mode.dynamic or not modes.state.dispatchers:
            return Size(plain)
        mode = modes.state.dispatchers[-1].mode
        told = hasattr(mode, "size")
        if not told:
            return Size(plain)
        return tuple.__new__(Size, [mode.size(self, d, n) for d, n in enumerate(plain)])

    def size(self, dim: int | None = None) -> Any:
        """The sizes, or that of one dimension."""
        return self.shape if dim is None else self.shape[dim]

    def numel(self) -> Any:
        """The number of elements."""
        return functools.reduce(operator.mul, self.shape, 1)

    def __len__(self) -> int:
        return len(as_meta(self))

    @classmethod
    def __torch_dispatch__(  # type: ignore[override]  # of the class, as in PyTorch
        cls, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        fakes = [each for each in pytree.flatten((args, kwargs)) if isinstance(each, FakeTensor)]
        return fakes[0].fake_mode.run(func, args, kwargs or {})

    def tolist(self) -> Any:
        """DataDependentOutputException: there are no values."""
        return self.item()

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        """A tensor of its own without data."""
        return memo.setdefault(id(self), self.fake_mode.like(self))

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        text = repr(as_meta(self, history=True)).removeprefix("tensor(..., device='meta'")
        place = "" if self.device.type == "cpu" else f", device='{self.device}'"
        return f"FakeTensor(...{place}{text}"


class FakeParameter(FakeTensor, Parameter):
    """A parameter without data."""

    __torch_function__ = FakeTensor.__torch_function__  # type: ignore[attr-defined]

    __deepcopy__ = FakeTensor.__deepcopy__

    def __repr__(self, *, tensor_contents: Any = None) -> str:  # type: ignore[override]
        return f"Parameter({FakeTensor.__repr__(self)})"


FakeTensor._parameter = FakeParameter  # type: ignore[attr-defined]


def as_meta(x: Any, history: bool = False) -> Tensor:
    """A tensor of the device "meta" on the array of a fake one; with its `history` to be shown."""
    made = new_tensor(x._array.like)
    if history:
        made._node = x._node
    return made


class FakeTensorMode(TorchDispatchMode):
    """A context in which operators give FakeTensors: NOTE [Fake tensors].

    Tensors from elsewhere count as fake ones, and cannot be written. `allow_non_fake_inputs` and
    `settings` are taken, and change nothing. Source: PyTorch's class.

    >>> from retrograd._subclasses import FakeTensorMode
    >>> with FakeTensorMode() as mode:
    ...     layer = rg.nn.Linear(1000000, 1000000)
    >>> layer(mode.from_tensor(rg.ones(2, 1000000)))
    FakeTensor(..., size=(2, 1000000), grad_fn=<AddmmBackward0>)
    """

    def __init__(
        self,
        *,
        allow_non_fake_inputs: bool = False,
        shape_env: None = None,
        **settings: Any,
    ) -> None:
        if shape_env is not None:
            raise NotImplementedError(
                "FakeTensorMode(shape_env=...): sizes are numbers here, never symbols. Leave it out"
            )
        super().__init__()
        self.allow_non_fake_inputs, self.dynamic = allow_non_fake_inputs, False
        self.known: Any = WeakTensorKeyDictionary()  # of the fakes of tensors

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        return self.run(func, args, kwargs or {})

    def from_tensor(self, tensor: Tensor, *, static_shapes: bool | None = None) -> FakeTensor:
        """The FakeTensor that stands for a tensor: one for each, a parameter for a parameter.

        >>> from retrograd._subclasses import FakeTensorMode
        >>> FakeTensorMode().from_tensor(rg.ones(3, 4)[1:])
        FakeTensor(..., size=(2, 4))
        """
        if isinstance(tensor, FakeTensor):
            return tensor
        if tensor not in self.known:
            self.known[tensor] = self.like(tensor)
        return self.known[tensor]  # type: ignore[no-any-return]

    def like(self, tensor: Tensor) -> FakeTensor:
        """A new FakeTensor with shape, dtype, strides, device and class of a tensor."""
        array = tensor._array
        array = array.like if isinstance(tensor, FakeTensor) else meta.like(array)
        begin = tensor.storage_offset() * array.itemsize
        array = array.strided(array.shape, array.strides, begin - array.offset)
        kind = FakeParameter if isinstance(tensor, Parameter) else FakeTensor
        made: FakeTensor = FakeTensor.__new__(kind, self, new_tensor(array), tensor.device)
        set_requires_grad(made, tensor.requires_grad)
        return made

    def run(self, func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        """The result of an operator, as FakeTensors: NOTE [Fake tensors], 1."""
        if func.overloadpacket.__name__ in VALUES:
            if isinstance(args[0], FakeTensor) and args[0].constant is not None:
                return args[0].constant.item()
            raise DataDependentOutputException(func)
        given = Given(self, func)
        place = kwargs.get("device")
        writes = func.overloadpacket.__name__.endswith("_")
        args = [
            pytree.map_leaves(functools.partial(given.as_meta, writes=writes and not i), each)
            for i, each in enumerate(args)
        ]
        kwargs = {name: pytree.map_leaves(given.as_meta, value) for name, value in kwargs.items()}
        where = given.device if place is None else indexed(device(place))
        if place is not None or not given.fakes:
            kwargs["device"] = META
        try:
            with _disable_current_modes():
                found = func(*args, **kwargs)
        except NotImplementedError as error:
            if "depends on the values" in str(error):
                raise DynamicOutputShapeException(func) from error
            raise
        return pytree.map_leaves(lambda value: given.as_fake(value, where), found)


class Given:
    """The FakeTensors that one call of an operator is given, by the tensors they are run as."""

    def __init__(self, mode: FakeTensorMode, func: Any) -> None:
        self.mode, self.func = mode, func
        self.fakes: dict[int, tuple[Tensor, FakeTensor]] = {}

    def as_meta(self, value: Any, writes: bool = False) -> Any:
        """A tensor as one of the device "meta"; any other value as it is."""
        if not isinstance(value, Tensor):
            return plain(value)
        if not isinstance(value, FakeTensor):
            if writes and value.ndim:
                raise AssertionError(NOT_FAKE.format(func=self.func, shape=tuple(value.shape)))
            given, value = value, self.mode.from_tensor(value)
            if self.func.__name__ == LIFTED and given.numel() == 1:
                value.constant = given
        if value.fake_mode is not self.mode:
            raise AssertionError(OTHER_MODE.format(func=self.func))
        made = as_meta(value)
        self.fakes[id(made)] = made, value
        return made

    @property
    def device(self) -> Any:
        """The device of results that are made of these arguments."""
        places = {fake.device for _, fake in self.fakes.values() if fake.ndim}
        places = places or {fake.device for _, fake in self.fakes.values()} or {CPU}
        if len(places) > 1:
            names = sorted(map(str, places))
            raise RuntimeError(
                DEVICES.format(func=self.func, devices=", ".join(names), one=names[0])
            )
        return places.pop()

    def as_fake(self, value: Any, where: Any) -> Any:
        """A result as a FakeTensor: one of those given, if it was written."""
        if not isinstance(value, Tensor):
            return value
        if id(value) in self.fakes:
            fake = self.fakes[id(value)][1]
            fake._array.like = value._array
            if self.func.__name__ != LIFTED:  # but written
                fake.constant = None
            return fake
        return FakeTensor(self.mode, value, where)


def indexed(where: device) -> device:
    """A device with its number: "cuda" is the first."""
    return where if where.type in ("cpu", "meta") or where.index is not None else device(where, 0)


@contextmanager
def unset_fake_temporarily() -> Iterator[FakeTensorMode | None]:
    """A context without the mode that makes FakeTensors, which it gives: None if there is none.

    >>> from retrograd._subclasses.fake_tensor import unset_fake_temporarily
    >>> with FakeTensorMode(), unset_fake_temporarily():
    ...     rg.ones(2)
    tensor([1., 1.])
    """
    stack = modes.state.dispatchers
    fake = [each for each in stack if isinstance(each.mode, FakeTensorMode)]
    with modes.Changed(dispatchers=tuple([each for each in stack if each not in fake])):
        yield fake[-1].mode if fake else None


def is_fake(x: object) -> bool:
    """Whether a value is a FakeTensor.

    >>> from retrograd._subclasses.fake_tensor import is_fake
    >>> is_fake(rg.ones(2, device="meta"))
    False
    """
    return isinstance(x, FakeTensor)
