"""Ranks in an array of several dimensions, with a group along each: `DeviceMesh`.

NOTE [Meshes]
1. Every rank stands at one place of a mesh, or at none. A line along a dimension is a group; the
   whole of a mesh with one dimension and all ranks is the group of all.
2. All ranks make a mesh together, since they make its groups. What is sliced from it by names of
   dimensions has the groups it has.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from ...engine.tensor import Tensor, new_tensor
from .groups import init_process_group, new_group
from .membership import get_rank, is_initialized, joined

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["DeviceMesh", "init_device_mesh"]


class DeviceMesh:
    """Ranks in an array, and the groups along its dimensions.

    device_type: "cpu"; mesh: integers, the ranks, in any number of dimensions; mesh_dim_names: a
    name for each dimension, for slices. Without a group of all, one is entered by the variables of
    the environment. Raises RuntimeError for names that are not one for each dimension; other errors
    are those of `new_group`.

    >>> mesh = rg.distributed.DeviceMesh("cpu", [[0]], mesh_dim_names=("dp", "tp"))
    >>> mesh.shape, mesh["tp"].mesh, mesh.get_coordinate()
    ((1, 1), tensor([0], dtype=retrograd.int32), (0, 0))
    """

    def __init__(
        self,
        device_type: str,
        mesh: Any,
        *,
        mesh_dim_names: Sequence[str] | None = None,
        groups: Sequence[Any] | None = None,
    ) -> None:
        if not is_initialized():
            init_process_group()
        array = mesh._array if isinstance(mesh, Tensor) else mesh
        ranks = np.array(array, np.int32)
        names = mesh_dim_names
        if names is not None and not len({*names}) == len(names) == ranks.ndim:
            raise RuntimeError(
                "Each mesh_dim_name must be unique, and mesh_shape and mesh_dim_names should have "
                f"same length: got {tuple(names)} for {ranks.shape}"
            )
        self.device_type, self._ranks = device_type, ranks
        self.mesh_dim_names = None if names is None else tuple(names)
        self._groups = [*map(self._lines, range(ranks.ndim))] if groups is None else [*groups]

    def _lines(self, dim: int) -> Any:
        """This rank's group along a dimension; None where it is in none."""
        lines = np.moveaxis(self._ranks, dim, -1).reshape(-1, self._ranks.shape[dim]).tolist()
        if lines == [[*joined().world.ranks]]:
            return joined()
        made = [(line, new_group(line, sort_ranks=False)) for line in lines]
        return next((group for line, group in made if get_rank() in line), None)

    @property
    def mesh(self) -> Tensor:
        """The ranks."""
        return new_tensor(self._ranks)

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return self._ranks.ndim

    @property
    def shape(self) -> tuple[int, ...]:
        """How many ranks there are along each dimension."""
        return self._ranks.shape

    def size(self, mesh_dim: int | None = None) -> int:
        """How many ranks there are, or how many along a dimension."""
        return self._ranks.size if mesh_dim is None else self._ranks.shape[mesh_dim]

    def get_rank(self) -> int:
        """The rank of this process in the group of all."""
        return get_rank()

    def get_coordinate(self) -> tuple[int, ...] | None:
        """Where this rank stands; None where it is not in the mesh."""
        found = np.argwhere(self._ranks == get_rank())
        return tuple(found[0].tolist()) if len(found) else None

    def get_local_rank(self, mesh_dim: int | str | None = None) -> int:
        """The number of this rank along a dimension, which a mesh of one need not say.

        Raises RuntimeError where it is not in the mesh, or the dimension is not said.
        """
        place = self.get_coordinate()
        if place is None:
            raise RuntimeError(f"rank {get_rank()} is not in the mesh {self!r}")
        return place[self._dim(mesh_dim)]

    def get_group(self, mesh_dim: int | str | None = None) -> Any:
        """This rank's group along a dimension, which a mesh of one need not say."""
        return self._groups[self._dim(mesh_dim)]

    def get_all_groups(self) -> list[Any]:
        """This rank's groups along all dimensions."""
        return [*self._groups]

    @staticmethod
    def from_group(
        group: Any,
        device_type: str,
        mesh: Any = None,
        *,
        mesh_dim_names: Sequence[str] | None = None,
    ) -> DeviceMesh:
        """The mesh of a group; or of a list of them, one for each dimension, and of the ranks."""
        groups = list(group) if isinstance(group, (list, tuple)) else [group]
        ranks = joined(groups[0]).world.ranks if mesh is None else mesh
        return DeviceMesh(device_type, ranks, mesh_dim_names=mesh_dim_names, groups=groups)

    def _dim(self, named: int | str | None) -> int:
        """The number of a dimension."""
        if isinstance(named, str):
            if named not in (self.mesh_dim_names or ()):
                raise KeyError(f"Invalid mesh_dim_name {named}: there are {self.mesh_dim_names}")
            return (self.mesh_dim_names or ()).index(named)
        if named is None and self.ndim > 1:
            raise RuntimeError(
                f"Found the DeviceMesh have {self.ndim} dimensions. Optional kwarg `mesh_dim` "
                "needs to be specified when device_mesh.ndim > 1: pass mesh_dim=0"
            )
        return named or 0

    def __getitem__(self, names: str | tuple[str, ...]) -> DeviceMesh:
        """The mesh of this rank along the dimensions of these names, in the order of the mesh.

        Raises KeyError for other names.
        """
        dims = [*map(self._dim, (names,) if isinstance(names, str) else names)]
        if dims != sorted({*dims}):
            raise KeyError(f"Invalid mesh_dim_names {names}: take them in the mesh's order, once")
        place = self.get_coordinate() or (0,) * self.ndim
        part = self._ranks[tuple(slice(None) if d in dims else place[d] for d in range(self.ndim))]
        own = self.mesh_dim_names or ()
        return DeviceMesh(
            self.device_type,
            part,
            mesh_dim_names=[own[dim] for dim in dims],
            groups=[self._groups[dim] for dim in dims],
        )

    def _flatten(self, mesh_dim_name: str | None = None) -> DeviceMesh:
        """The mesh of the same ranks in one dimension: all ranks of the group of all call this."""
        name = mesh_dim_name or "_".join(self.mesh_dim_names or ())
        return DeviceMesh(
            self.device_type, self._ranks.reshape(-1), mesh_dim_names=(name,) if name else None
        )

    def __repr__(self) -> str:
        sizes = str(self.shape)
        if self.mesh_dim_names:
            named = zip(self.mesh_dim_names, self.shape, strict=True)
            sizes = f"({', '.join(f'{name}={n}' for name, n in named)})"
        steps = zip(self.shape, self._ranks.strides, strict=True)
        strides = tuple(() if n == 1 else step // self._ranks.itemsize for n, step in steps)
        return f"DeviceMesh({sizes}, '{self.device_type}', stride={strides})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DeviceMesh) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> Any:
        return self.device_type, self.mesh_dim_names, self.shape, self._ranks.tobytes()


def init_device_mesh(
    device_type: str,
    mesh_shape: tuple[int, ...],
    *,
    mesh_dim_names: tuple[str, ...] | None = None,
) -> DeviceMesh:
    """A mesh of the first ranks in their order, of the shape that is given.

    device_type: "cpu". Without a group of all, one is entered by the variables of the environment.
    Raises RuntimeError for a shape of more ranks than there are, and for names that are not one for
    each dimension.

    >>> rg.distributed.init_device_mesh("cpu", (1, 1), mesh_dim_names=("dp", "tp"))
    DeviceMesh((dp=1, tp=1), 'cpu', stride=((), ()))
    """
    if not is_initialized():
        init_process_group()
    size = joined().size()
    if prod(mesh_shape) > size:
        raise RuntimeError(
            f"Mesh should not be bigger than default world size {size}, but found "
            f"{prod(mesh_shape)} ranks in {tuple(mesh_shape)}"
        )
    ranks = np.arange(prod(mesh_shape)).reshape(mesh_shape)
    return DeviceMesh(device_type, ranks, mesh_dim_names=mesh_dim_names)
