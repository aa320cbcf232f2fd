"""`DTensor`: tensors that lie over the ranks of a mesh, and how they come and go.

NOTE [Distributed tensors]
1. A DTensor is a tensor around a `Distributed` array, so all ops, derivatives and optimizers take
   it as one tensor of the whole shape: NOTE [Distributed arrays] in `array`. What they make of it
   is a DTensor.
2. One program runs on all ranks: a loss that every rank has is one loss, and not added up. A
   gradient of parts is that part of the gradient; `to_local(grad_placements=...)` says what else
   the gradients of parts are, such as summands.
3. Beside plain tensors of more than one element it raises; within `implicit_replication()` these
   count as whole on all ranks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from .... import modes
from ....autograd.function import Function
from ....engine.overriding import NO_SUBCLASSES
from ....engine.subclasses import with_class
from ....engine.tensor import Tensor, new_tensor
from ....kernels.allocation import has_values
from ....nn.parameter import Parameter
from ....pytree import flatten, map_leaves
from ..device_mesh import DeviceMesh
from ..membership import joined
from .array import Distributed, cut
from .placements import Partial, Placement, Replicate, counted, without_sums

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from ....nn import Module

__all__ = ["DTensor", "distribute_module", "distribute_tensor"]

NO_ARRAY = (
    ".numpy() is not supported for tensor subclasses: this rank has a part of the DTensor. Write "
    "x.full_tensor().numpy(), or x.to_local().numpy()"
)
MIXED = (
    "{name}: got mixed torch.Tensor and DTensor, need to convert all torch.Tensor to DTensor "
    "before calling distributed operators! Write distribute_tensor(x, mesh, placements), or call "
    "it within implicit_replication()"
)


class implicit_replication:  # noqa: N801 (PyTorch's name)
    """Within this context, tensors beside DTensors count as whole on all ranks.

    >>> from retrograd.distributed.tensor.experimental import implicit_replication
    >>> with implicit_replication():
    ...     pass
    """

    depth = 0

    def __enter__(self) -> None:
        implicit_replication.depth += 1

    def __exit__(self, *_: object) -> None:
        implicit_replication.depth -= 1


class DTensor(Tensor):
    """A tensor over the ranks of a mesh: NOTE [Distributed tensors].

    Made by `from_local` and `distribute_tensor`. It has the shape of the whole. Elementwise
    functions compute on parts, all others gather what is in parts.

    >>> from retrograd.distributed.tensor import Shard, distribute_tensor
    >>> mesh = rg.distributed.init_device_mesh("cpu", (1,))
    >>> x = distribute_tensor(rg.ones(2, 3), mesh, [Shard(0)])
    >>> (x * 2).placements, x.sum().full_tensor()
    ((Shard(dim=0),), tensor(6.))
    """

    __slots__ = ()

    @classmethod
    def __torch_function__(
        cls, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        """Run a function; what lies over ranks in its result is a DTensor."""
        kwargs = kwargs or {}
        if not implicit_replication.depth:
            for value in flatten((args, kwargs)):
                if isinstance(value, Tensor) and alone(value._array):
                    raise RuntimeError(MIXED.format(name=getattr(func, "__name__", func)))
        with modes.Changed(overriding=max(modes.state.overriding, NO_SUBCLASSES)):
            return shown(func(*args, **kwargs))

    @staticmethod
    def from_local(
        local_tensor: Tensor,
        device_mesh: DeviceMesh | None = None,
        placements: Sequence[Placement] | None = None,
        *,
        run_check: bool = False,
        shape: Sequence[int] | None = None,
        stride: Sequence[int] | None = None,
    ) -> DTensor:
        """The tensor of which each rank has a part, a copy or a summand, as the placements say.

        shape: of the whole; by default all parts are alike. run_check: whether copies are those of
        the first rank; else ranks are trusted to have equal ones. The gradient of the local tensor
        is what this rank has of the DTensor's. device_mesh: of all ranks by default.
        """
        mesh = mesh_of(device_mesh)
        lying = placed(mesh, placements, local_tensor.ndim)
        whole = list(local_tensor.shape)
        for size, placement in zip(mesh.shape, lying, strict=True):
            if placement.is_shard():
                whole[placement.dim] *= size  # type: ignore[attr-defined]
        made: DTensor = shown(_FromLocal.apply(local_tensor, mesh, lying, shape or whole))
        if run_check:
            copies = [dim for dim, placement in enumerate(lying) if placement.is_replicate()]
            made._array.local = of_one("from_local", local_tensor._array, mesh, copies, 0)
        return made

    @property
    def device_mesh(self) -> DeviceMesh:
        """The ranks it lies on."""
        mesh: DeviceMesh = self._array.mesh
        return mesh

    @property
    def placements(self) -> tuple[Placement, ...]:
        """How it lies along each dimension of the mesh."""
        return tuple(self._array.placements)

    @property
    def _local_tensor(self) -> Tensor:
        return new_tensor(self._array.local)

    def numpy(self, *, force: bool = False) -> NoReturn:
        """Raise RuntimeError: the elements are on several ranks."""
        raise RuntimeError(NO_ARRAY)

    def __array__(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Raise RuntimeError, for NumPy's functions."""
        raise RuntimeError(NO_ARRAY)

    def to_local(self, *, grad_placements: Sequence[Placement] | None = None) -> Tensor:
        """What this rank has of it, on the same memory.

        grad_placements: how the gradients that come back lie over the ranks; by default as this.
        """
        with modes.Changed(overriding=NO_SUBCLASSES):
            lying = counted(grad_placements or self.placements, self.ndim)
            found: Tensor = _ToLocal.apply(self, lying)
            return found

    def redistribute(
        self,
        device_mesh: DeviceMesh | None = None,
        placements: Sequence[Placement] | None = None,
        *,
        async_op: bool = False,
    ) -> DTensor:
        """The same tensor lying otherwise on its mesh, whole on all ranks by default.

        Raises NotImplementedError for another mesh.
        """
        if device_mesh is not None and device_mesh != self.device_mesh:
            raise NotImplementedError(
                "a tensor stays on its mesh: take x.full_tensor(), and distribute that"
            )
        with modes.Changed(overriding=NO_SUBCLASSES):
            lying = placed(self.device_mesh, placements, self.ndim)
            made: DTensor = shown(_Redistribute.apply(self, lying))
            return made

    def full_tensor(self, *, grad_placements: Sequence[Placement] | None = None) -> Tensor:
        """The whole as a plain tensor."""
        return self.redistribute().to_local(grad_placements=grad_placements)

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError(
            "a tensor over several ranks is not saved: save x.full_tensor(), or let each rank save "
            "its x.to_local()"
        )

    def __repr__(self) -> str:
        return (
            f"DTensor(local_tensor={self._local_tensor}, device_mesh={self.device_mesh!r}, "
            f"placements={self.placements!r})"
        )


class DParameter(DTensor, Parameter):  # type: ignore[misc]  # of DTensor, functions ask
    """A parameter over the ranks of a mesh, which `Parameter(dtensor)` is."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"Parameter containing:\n{DTensor.__repr__(self)}"


DTensor._parameter = DParameter  # type: ignore[attr-defined]


class _FromLocal(Function):
    @staticmethod
    def forward(ctx: Any, local: Tensor, mesh: DeviceMesh, lying: Any, shape: Any) -> Any:
        ctx.mesh, ctx.lying = mesh, lying
        return new_tensor(Distributed(local._array, mesh, lying, shape, kept=True))

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return _ToLocal.apply(_spread(g, ctx.mesh, without_sums(ctx.lying)), None), None, None, None


class _ToLocal(Function):
    @staticmethod
    def forward(ctx: Any, tensor: Tensor, lying: Any) -> Any:
        array = tensor._array
        ctx.mesh, ctx.own, ctx.lying, ctx.shape = array.mesh, array.placements, lying, array.shape
        return new_tensor(array.local)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        own = without_sums(ctx.own)
        came = _FromLocal.apply(g, ctx.mesh, ctx.lying or own, ctx.shape)
        return _Redistribute.apply(came, own), None


class _Redistribute(Function):
    @staticmethod
    def forward(ctx: Any, tensor: Tensor, lying: Any) -> Any:
        ctx.mesh, ctx.own = tensor._array.mesh, tensor._array.placements
        found = tensor._array.moved(lying)
        return new_tensor(found.copy() if found is tensor._array else found)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        out = _spread(g, ctx.mesh, without_sums(ctx.own))
        for size, placement in zip(ctx.mesh.shape, ctx.own, strict=True):
            if placement.is_partial() and placement.reduce_op == "avg":
                out = out / size
        return out, None


def _spread(g: Tensor, mesh: DeviceMesh, lying: Any) -> Any:
    """A gradient lying so, whichever way it came."""
    if isinstance(g._array, Distributed):
        return _Redistribute.apply(g, lying)
    return _FromLocal.apply(g, mesh, (Replicate(),) * mesh.ndim, g.shape)


def shown(found: Any) -> Any:
    """A result in which what lies over ranks is a DTensor."""
    return map_leaves(_shown, found)


def _shown(found: Any) -> Any:
    plain = isinstance(found, Tensor) and not isinstance(found, DTensor)
    return with_class(found, DTensor) if plain and isinstance(found._array, Distributed) else found


def lying_as(value: Any, like: Any) -> Any:
    """A tensor, of which every rank has all, that lies over ranks as another does, if that does."""
    if isinstance(value, DTensor) or not isinstance(like, DTensor):
        return value
    return distribute_tensor(value.detach(), like.device_mesh, like.placements, src_data_rank=None)


def whole(value: Any) -> Any:
    """A tensor over ranks as a whole and plain one; other values as they are."""
    return value.full_tensor() if isinstance(value, DTensor) else value


def alone(array: Any) -> bool:
    """Whether an array is of this rank alone, and no number."""
    return array.size > 1 and not isinstance(array, Distributed)


def mesh_of(mesh: DeviceMesh | None) -> DeviceMesh:
    """The mesh, of all ranks by default."""
    return DeviceMesh.from_group(joined(), "cpu") if mesh is None else mesh


def placed(mesh: DeviceMesh, placements: Any, ndim: int) -> tuple[Placement, ...]:
    """Placements of a tensor of `ndim` dimensions, one for each dimension of the mesh.

    It is whole on all ranks by default. Raises ValueError for another number of placements,
    IndexError for a dimension that the tensor has not.
    """
    found = (Replicate(),) * mesh.ndim if placements is None else counted(placements, ndim)
    if len(found) != mesh.ndim:
        raise ValueError(
            f"`placements` must have the same length as `device_mesh.ndim`! Found {len(found)} "
            f"placements for a mesh of {mesh.ndim} dimensions"
        )
    return found


def of_one(call: str, array: Any, mesh: DeviceMesh, dims: Iterable[int], number: int) -> Any:
    """An array as the rank of that number along dimensions of a mesh has it."""
    found = np.asarray(array, order="C")
    for dim in dims:
        world = mesh.get_group(dim).world
        source = world.ranks[number]
        own = found if world.rank == source else np.empty_like(found)
        found = world.broadcast(call, source, own)
    return found


def distribute_tensor(
    tensor: Tensor,
    device_mesh: DeviceMesh | None = None,
    placements: Sequence[Placement] | None = None,
    *,
    src_data_rank: int | None = 0,
) -> DTensor:
    """The tensor of rank `src_data_rank` over the ranks of a mesh, whole on all by default.

    src_data_rank: a number along each dimension of the mesh; None where all ranks have equal
    values, and nothing is sent. A leaf gives a leaf. Raises RuntimeError for what is no leaf,
    ValueError for a DTensor that lies otherwise, and for summands, which only `from_local` makes.

    >>> from retrograd.distributed.tensor import Shard, distribute_tensor
    >>> mesh = rg.distributed.init_device_mesh("cpu", (1,))
    >>> distribute_tensor(rg.ones(2), mesh, [Shard(0)]).to_local()
    tensor([1., 1.])
    """
    mesh = mesh_of(device_mesh)
    lying = placed(mesh, placements, tensor.ndim)
    if any(isinstance(placement, Partial) for placement in lying):
        raise ValueError("distribute_tensor takes Shard and Replicate, got a Partial placement")
    if not tensor.is_leaf:
        raise RuntimeError(
            "`distribute_tensor` should be used to distribute leaf tensors! but found non-leaf "
            "tensor! Its gradients would end here: write DTensor.from_local(x).redistribute(mesh, "
            "placements)"
        )
    if isinstance(tensor, DTensor):
        if (tensor.device_mesh, tensor.placements) != (mesh, lying):
            raise ValueError(
                f"Cannot distribute a DTensor with placements {tensor.placements} to a different "
                f"mesh or placements {lying}. do you want to call `redistribute` instead?"
            )
        return tensor
    array = tensor._array
    if has_values(array):
        dims = range(0 if src_data_rank is None else mesh.ndim)
        array = of_one("distribute_tensor", array, mesh, dims, src_data_rank or 0)
    made: Any = new_tensor(cut(array, mesh, lying), DTensor)
    if isinstance(tensor, Parameter):
        made = Parameter(made, tensor.requires_grad)
    made.requires_grad_(tensor.requires_grad)
    found: DTensor = made
    return found


def distribute_module(
    module: Module,
    device_mesh: DeviceMesh | None = None,
    partition_fn: Callable[[str, Module, DeviceMesh], None] | None = None,
    input_fn: Callable[..., Any] | None = None,
    output_fn: Callable[..., Any] | None = None,
) -> Module:
    """Let a module's parameters and buffers lie over the ranks of a mesh, in place.

    partition_fn: called with the name of each submodule, it and the mesh; it registers parameters
    that `distribute_tensor` has made. Those that it leaves are whole on all ranks. input_fn and
    output_fn: called with the module, its inputs or output and the mesh, around its forward.

    >>> from retrograd.distributed.tensor import distribute_module
    >>> mesh = rg.distributed.init_device_mesh("cpu", (1,))
    >>> distribute_module(rg.nn.Linear(2, 1), mesh).weight.placements
    (Replicate(),)
    """
    mesh = mesh_of(device_mesh)
    for name, part in module.named_modules():
        if partition_fn is not None:
            partition_fn(name, part, mesh)
        for own in (part._parameters, part._buffers):
            for key, value in own.items():
                if value is not None and not isinstance(value, DTensor):
                    own[key] = distribute_tensor(value, mesh)
    if input_fn is not None:
        module.register_forward_pre_hook(lambda _, inputs: input_fn(module, inputs, mesh))
    if output_fn is not None:
        module.register_forward_hook(lambda _, __, output: output_fn(module, output, mesh))
    return module
