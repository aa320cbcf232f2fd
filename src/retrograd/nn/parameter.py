"""Tensors that a module registers when they are assigned to it: parameters and buffers.

Neither adds anything to what a tensor can do; the class is the mark by which `Module` knows them.
This module knows no layer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .. import dtypes
from ..engine.overriding import never, overrides_nothing
from ..engine.tensor import Tensor, cell_of, new_tensor, node_of, set_requires_grad

if TYPE_CHECKING:
    from typing import Self

__all__ = ["Buffer", "Parameter"]


def _same_memory(data: Any, cls: Any) -> Any:
    """A `cls` without history on the memory, and with the version, of the tensor `data`."""
    if data is None:
        data = new_tensor(np.empty(0, dtypes.default_numpy()))
    if not isinstance(data, Tensor):
        raise TypeError(
            f"{cls.__name__} data must be a Tensor, not {type(data).__name__}. Make one first: "
            f"{cls.__name__}(retrograd.tensor(data))"
        )
    made: Any = new_tensor(data._array, cls)
    if not data._inference:
        made._cell = cell_of(data)
    return made


def _as_plain(tensor: Any) -> Tensor:
    """The same values and history as a plain tensor, to be shown as one."""
    plain = new_tensor(tensor._array)
    plain._node = node_of(tensor)
    return plain


class Parameter(Tensor):
    """A tensor that is a module parameter: assigned to a module, it appears in `parameters()`.

    data: any tensor; its memory is shared, its history is not. requires_grad: real floating and
    complex dtypes only, else RuntimeError. Ops on parameters give plain tensors.
    Source: PyTorch's `nn.Parameter`.

    >>> import retrograd as rg
    >>> w = rg.nn.Parameter(rg.tensor([1.0, 2.0]))
    >>> w.requires_grad, w.is_leaf, isinstance(w * 2, rg.nn.Parameter)
    (True, True, False)
    """

    __slots__ = ()
    __torch_function__ = overrides_nothing

    def __new__(cls, data: Any = None, requires_grad: bool = True) -> Self:
        """A parameter on the memory of `data`."""
        made: Self = _same_memory(data, cls)
        set_requires_grad(made, requires_grad)
        return made

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        """A parameter of its own with the same values; the gradient stays behind, as in PyTorch."""
        found = memo.get(id(self))
        if found is None:
            found = type(self)(new_tensor(self._array.copy()), self.requires_grad)
            memo[id(self)] = found
        return found

    def __repr__(self) -> str:
        return f"Parameter containing:\n{_as_plain(self)!r}"


class Buffer(Tensor):
    """A tensor that is module state without being a parameter, such as a running mean.

    Assigned to a module, it appears in `buffers()`, and in the module's `state_dict` if
    `persistent`. The memory of `data` is shared. Source: PyTorch's `nn.Buffer`.

    >>> import retrograd as rg
    >>> module = rg.nn.Module()
    >>> module.steps = rg.nn.Buffer(rg.tensor(0))
    >>> [name for name, _ in module.named_buffers()]
    ['steps']
    """

    __slots__ = ()

    __torch_function__ = overrides_nothing

    persistent: bool = True

    def __new__(cls, data: Any = None, *, persistent: bool = True) -> Self:
        """A buffer on the memory of `data`."""
        made: Self = _same_memory(data, cls)
        made.persistent = persistent
        return made

    def __repr__(self) -> str:
        return repr(_as_plain(self))


never(Parameter, Buffer)
