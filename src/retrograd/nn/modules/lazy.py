"""Layers that learn the size of their input from the first input they get.

NOTE [Lazy] A lazy layer has uninitialized parameters until its first call, or until a saved state
is loaded into it. The call gives them their shapes, draws them, and makes the layer one of the
ordinary class. Make the optimizer's list of parameters after that or before: they stay the same
objects.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import dtypes, modes
from ...dtypes import dtype
from ...engine.overriding import NO_SUBCLASSES
from ...engine.placement import DeviceLike
from ...engine.tensor import Tensor, new_tensor
from ..parameter import UninitializedBuffer, UninitializedParameter, UninitializedTensorMixin
from . import conv, normalization
from .linear import Linear

__all__ = [
    "LazyBatchNorm1d", "LazyBatchNorm2d", "LazyBatchNorm3d", "LazyConv1d", "LazyConv2d",
    "LazyConv3d", "LazyConvTranspose1d", "LazyConvTranspose2d", "LazyConvTranspose3d",
    "LazyInstanceNorm1d", "LazyInstanceNorm2d", "LazyInstanceNorm3d", "LazyLinear",
    "LazyModuleMixin",
]  # fmt: skip


class LazyModuleMixin:
    """The part of a lazy layer that comes before its ordinary class: NOTE [Lazy].

    A layer of one's own says in `initialize_parameters` what the first input makes of its
    parameters and, if it is to become another class then, in `cls_to_become` which. Source:
    PyTorch's `LazyModuleMixin`.

    >>> from retrograd.nn.modules.lazy import LazyModuleMixin
    >>> class Scale(LazyModuleMixin, rg.nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.weight = rg.nn.UninitializedParameter()
    ...     def initialize_parameters(self, input):
    ...         self.weight.materialize(input.shape[-1:])
    ...         rg.nn.init.ones_(self.weight)
    ...     def forward(self, input):
    ...         return input * self.weight
    >>> layer = Scale()
    >>> layer.has_uninitialized_params(), layer(rg.ones(2, 3)).shape, layer.weight.shape
    (True, retrograd.Size([2, 3]), retrograd.Size([3]))
    """

    cls_to_become: type[Any] | None = None
    _inferred = False

    def __call__(self, *args: Any, **kwargs: Any) -> Any:  # noqa: D102
        if self._inferred:
            return super().__call__(*args, **kwargs)  # type: ignore[misc]
        self._infer(args, kwargs)
        return self(*args, **kwargs)

    def _infer(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Infer the shapes of the parameters from the first input, once."""
        self.initialize_parameters(*args, **kwargs)
        if self.has_uninitialized_params():
            raise RuntimeError(
                f"module {type(self).__name__} has not been fully initialized: its "
                "initialize_parameters(*args) left a parameter without a shape. Call "
                "parameter.materialize(shape) there"
            )
        if self.cls_to_become is None:
            self._inferred = True
        else:
            self.__class__ = self.cls_to_become

    def initialize_parameters(self, input: Tensor, *args: Any, **kwargs: Any) -> None:
        """Give all parameters the shapes that `input` asks for, and draw them."""
        if self.has_uninitialized_params():
            self._materialize(input)
            self.reset_parameters()

    def _materialize(self, input: Tensor) -> None:
        raise NotImplementedError

    def has_uninitialized_params(self) -> bool:
        """Whether any parameter or buffer has no shape yet."""
        own: Any = self
        held = [*own._parameters.values(), *own._buffers.values()]
        return any(isinstance(value, UninitializedTensorMixin) for value in held)

    def reset_parameters(self) -> None:
        """Draw all that is held anew, once it has shapes; while it is made, it is empty."""
        own: Any = self
        held = [*own._parameters.values(), *own._buffers.values()]
        made = [value for value in held if value is not None]
        if made and not self.has_uninitialized_params() and all(v._array.size for v in made):
            super().reset_parameters()  # type: ignore[misc]

    def _apply(self, fn: Any, recurse: bool = True) -> Any:
        """Convert what is held; a buffer without a shape stays one, in the dtype asked for."""
        own: Any = self
        buffers = own._buffers
        unknown = [n for n, value in buffers.items() if isinstance(value, UninitializedTensorMixin)]
        super()._apply(fn, recurse)  # type: ignore[misc]
        for name in unknown:
            buffers[name] = UninitializedBuffer(False, None, buffers[name].dtype)
        return self

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        own: Any = self
        with modes.Changed(overriding=NO_SUBCLASSES):
            super()._save_to_state_dict(destination, prefix, keep_vars)  # type: ignore[misc]
        for name, value in {**own._parameters, **own._buffers}.items():
            if isinstance(value, UninitializedTensorMixin):
                destination[prefix + name] = value

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *rest: Any) -> None:
        """Take shapes over from the state; what has none there stays uninitialized."""
        own: Any = self
        known = dict(state_dict)
        for name, value in {**own._parameters, **own._buffers}.items():
            given = known.get(prefix + name)
            if not isinstance(value, UninitializedTensorMixin) or given is None:
                continue
            if isinstance(given, UninitializedTensorMixin):
                known[prefix + name] = new_tensor(np.empty(0, value._array.dtype))
            else:
                value.materialize(given.shape)
        super()._load_from_state_dict(known, prefix, *rest)  # type: ignore[misc]


def _uninitialized(device: DeviceLike, dtype: dtype | None, wanted: bool = True) -> Any:
    return UninitializedParameter(True, device, dtype) if wanted else None


class LazyLinear(LazyModuleMixin, Linear):
    """`Linear` whose `in_features` is the last size of the first input, (*, in_features).

    >>> layer = rg.nn.LazyLinear(2)
    >>> layer(rg.ones(4, 3)).shape, layer
    (retrograd.Size([4, 2]), Linear(in_features=3, out_features=2, bias=True))
    """

    cls_to_become = Linear

    def __init__(
        self,
        out_features: int,
        bias: bool = True,
        device: DeviceLike = None,
        dtype: dtype | None = None,
    ) -> None:
        super().__init__(0, 0, False)
        self.out_features = out_features
        self.weight = _uninitialized(device, dtype)
        self.bias = _uninitialized(device, dtype, bias)

    def initialize_parameters(self, input: Tensor, *args: Any, **kwargs: Any) -> None:
        """Give the parameters the shapes that `input` asks for, and draw them."""
        super().initialize_parameters(input)
        self.in_features = self.weight.shape[-1]

    def _materialize(self, input: Tensor) -> None:
        self.in_features = input.shape[-1]
        own: Any = self
        own.weight.materialize((self.out_features, self.in_features))
        if self.bias is not None:
            self.bias.materialize((self.out_features,))


class _LazyConv(LazyModuleMixin):
    """A convolution whose `in_channels` is the number of channels of the first input."""

    def _leave_open(
        self, out_channels: int, bias: bool, device: DeviceLike, dtype: dtype | None
    ) -> None:
        own: Any = self
        own.out_channels = out_channels
        own.weight = _uninitialized(device, dtype)
        own.bias = _uninitialized(device, dtype, bias)

    def initialize_parameters(self, input: Tensor, *args: Any, **kwargs: Any) -> None:
        """Give the parameters the shapes that `input` asks for, and draw them."""
        own: Any = self
        super().initialize_parameters(input)
        rows, columns = own.weight.shape[:2]
        own.in_channels = rows if own.transposed else columns * own.groups

    def _materialize(self, input: Tensor) -> None:
        own: Any = self
        if input._array.ndim not in (own.n + 1, own.n + 2):
            raise RuntimeError(
                f"Expected {own.n + 1}D (unbatched) or {own.n + 2}D (batched) input to "
                f"{type(self).__name__}, but got input of size: {input.shape}"
            )
        found = input.shape[-own.n - 1]
        if found % own.groups:
            raise ValueError("in_channels must be divisible by groups")
        channels = (own.out_channels, found // own.groups)
        if own.transposed:
            channels = (found, own.out_channels // own.groups)
        own.weight.materialize((*channels, *own.kernel_size))
        if own.bias is not None:
            own.bias.materialize((own.out_channels,))


class _LazyConvolution(_LazyConv):
    """A lazy convolution that is not transposed."""

    def __init__(
        self,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: DeviceLike = None,
        dtype: dtype | None = None,
    ) -> None:
        super().__init__(  # type: ignore[call-arg]
            0, 0, kernel_size, stride, padding, dilation, groups, False, padding_mode
        )
        self._leave_open(out_channels, bias, device, dtype)


class _LazyTransposed(_LazyConv):
    """The base of lazy transposed convolutions."""

    def __init__(
        self,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Any = 1,
        padding_mode: str = "zeros",
        device: DeviceLike = None,
        dtype: dtype | None = None,
    ) -> None:
        super().__init__(  # type: ignore[call-arg]
            0, 0, kernel_size, stride, padding, output_padding, groups, False, dilation,
            padding_mode,
        )  # fmt: skip
        self._leave_open(out_channels, bias, device, dtype)


class LazyConv1d(_LazyConvolution, conv.Conv1d):
    """`Conv1d` whose `in_channels` is that of the first input, (N, C, L) or (C, L).

    Raises RuntimeError for another number of dimensions, ValueError unless `groups` divides C.

    >>> layer = rg.nn.LazyConv1d(4, 1)
    >>> layer(rg.ones(1, 2, 5)).shape[1], layer.in_channels, type(layer).__name__
    (4, 2, 'Conv1d')
    """

    cls_to_become = conv.Conv1d


class LazyConv2d(_LazyConvolution, conv.Conv2d):
    """`Conv2d` whose `in_channels` is that of the first input, (N, C, H, W) or (C, H, W).

    Errors are as for `LazyConv1d`.

    >>> layer = rg.nn.LazyConv2d(4, 1)
    >>> layer(rg.ones(1, 2, 5, 5)).shape[1], layer.in_channels, type(layer).__name__
    (4, 2, 'Conv2d')
    """

    cls_to_become = conv.Conv2d


class LazyConv3d(_LazyConvolution, conv.Conv3d):
    """`Conv3d` whose `in_channels` is that of the first input, (N, C, D, H, W) or (C, D, H, W).

    Errors are as for `LazyConv1d`.

    >>> layer = rg.nn.LazyConv3d(4, 1)
    >>> layer(rg.ones(1, 2, 5, 5, 5)).shape[1], layer.in_channels, type(layer).__name__
    (4, 2, 'Conv3d')
    """

    cls_to_become = conv.Conv3d


class LazyConvTranspose1d(_LazyTransposed, conv.ConvTranspose1d):
    """`ConvTranspose1d` whose `in_channels` is that of the first input, (N, C, L) or (C, L).

    Errors are as for `LazyConv1d`.

    >>> layer = rg.nn.LazyConvTranspose1d(4, 1)
    >>> layer(rg.ones(1, 2, 5)).shape[1], layer.in_channels, type(layer).__name__
    (4, 2, 'ConvTranspose1d')
    """

    cls_to_become = conv.ConvTranspose1d


class LazyConvTranspose2d(_LazyTransposed, conv.ConvTranspose2d):
    """`ConvTranspose2d` whose `in_channels` is that of the first input, (N, C, H, W) or (C, H, W).

    Errors are as for `LazyConv1d`.

    >>> layer = rg.nn.LazyConvTranspose2d(4, 1)
    >>> layer(rg.ones(1, 2, 5, 5)).shape[1], layer.in_channels, type(layer).__name__
    (4, 2, 'ConvTranspose2d')
    """

    cls_to_become = conv.ConvTranspose2d


class LazyConvTranspose3d(_LazyTransposed, conv.ConvTranspose3d):
    """`ConvTranspose3d` whose `in_channels` is that of the first input, (N, C, D, H, W).

    N is optional. Errors are as for `LazyConv1d`.

    >>> layer = rg.nn.LazyConvTranspose3d(4, 1)
    >>> layer(rg.ones(1, 2, 5, 5, 5)).shape[1], layer.in_channels, type(layer).__name__
    (4, 2, 'ConvTranspose3d')
    """

    cls_to_become = conv.ConvTranspose3d


class _LazyNorm(LazyModuleMixin):
    """A normalization whose `num_features` is the number of channels of the first input."""

    def __init__(
        self,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: DeviceLike = None,
        dtype: dtype | None = None,
        *,
        bias: bool = True,
    ) -> None:
        own: Any = self
        super().__init__(0, eps, momentum, False, False)  # type: ignore[call-arg]
        own.affine, own.track_running_stats = affine, track_running_stats
        own.weight = _uninitialized(device, dtype, affine)
        own.bias = _uninitialized(device, dtype, affine and bias)
        if track_running_stats:
            own.running_mean = UninitializedBuffer(False, device, dtype)
            real = dtypes.of_numpy(dtypes.real_of(own.running_mean._array.dtype))
            own.running_var = UninitializedBuffer(False, device, real)
            own.num_batches_tracked = new_tensor(np.zeros((), np.int64))

    def initialize_parameters(self, input: Tensor, *args: Any, **kwargs: Any) -> None:
        """Give parameters and statistics the number of channels of `input`."""
        own: Any = self
        super().initialize_parameters(input)
        known = own.weight if own.running_mean is None else own.running_mean
        own.num_features = input.shape[1] if known is None else known.shape[0]

    def _materialize(self, input: Tensor) -> None:
        own: Any = self
        own._check_input_dim(input)
        size = input.shape[1]
        for value in (own.weight, own.bias, own.running_mean, own.running_var):
            if isinstance(value, UninitializedTensorMixin):
                value.materialize((size,))


class LazyBatchNorm1d(_LazyNorm, normalization._BatchNorm):
    """`BatchNorm1d` whose `num_features` is C of the first input, (N, C) or (N, C, L).

    >>> layer = rg.nn.LazyBatchNorm1d()
    >>> layer(rg.ones(2, 3, 4)).shape, layer.num_features
    (retrograd.Size([2, 3, 4]), 3)
    """

    cls_to_become = normalization.BatchNorm1d
    dims = cls_to_become.dims


class LazyBatchNorm2d(_LazyNorm, normalization._BatchNorm):
    """`BatchNorm2d` whose `num_features` is C of the first input, (N, C, H, W).

    >>> layer = rg.nn.LazyBatchNorm2d()
    >>> layer(rg.ones(2, 3, 4, 4)).shape, layer.num_features
    (retrograd.Size([2, 3, 4, 4]), 3)
    """

    cls_to_become = normalization.BatchNorm2d
    dims = cls_to_become.dims


class LazyBatchNorm3d(_LazyNorm, normalization._BatchNorm):
    """`BatchNorm3d` whose `num_features` is C of the first input, (N, C, D, H, W).

    >>> layer = rg.nn.LazyBatchNorm3d()
    >>> layer(rg.ones(2, 3, 4, 4, 4)).shape, layer.num_features
    (retrograd.Size([2, 3, 4, 4, 4]), 3)
    """

    cls_to_become = normalization.BatchNorm3d
    dims = cls_to_become.dims


class LazyInstanceNorm1d(_LazyNorm, normalization._InstanceNorm):
    """`InstanceNorm1d` whose `num_features` is C of the first input, (N, C, L).

    Raises RuntimeError for a parameter that is left without a shape.

    >>> layer = rg.nn.LazyInstanceNorm1d()
    >>> layer(rg.ones(2, 3, 4)).shape, layer.num_features
    (retrograd.Size([2, 3, 4]), 3)
    """

    cls_to_become = normalization.InstanceNorm1d
    dims = cls_to_become.dims


class LazyInstanceNorm2d(_LazyNorm, normalization._InstanceNorm):
    """`InstanceNorm2d` whose `num_features` is C of the first input, (N, C, H, W).

    Raises RuntimeError for a parameter that is left without a shape.

    >>> layer = rg.nn.LazyInstanceNorm2d()
    >>> layer(rg.ones(2, 3, 4, 4)).shape, layer.num_features
    (retrograd.Size([2, 3, 4, 4]), 3)
    """

    cls_to_become = normalization.InstanceNorm2d
    dims = cls_to_become.dims


class LazyInstanceNorm3d(_LazyNorm, normalization._InstanceNorm):
    """`InstanceNorm3d` whose `num_features` is C of the first input, (N, C, D, H, W).

    Raises RuntimeError for a parameter that is left without a shape.

    >>> layer = rg.nn.LazyInstanceNorm3d()
    >>> layer(rg.ones(2, 3, 4, 4, 4)).shape, layer.num_features
    (retrograd.Size([2, 3, 4, 4, 4]), 3)
    """

    cls_to_become = normalization.InstanceNorm3d
    dims = cls_to_become.dims
