"""Swapping what two tensors are, while each stays the object that it is; `module_load`."""

from __future__ import annotations

from ...engine.graph import LEAF, Leaf
from ...engine.placement import everything
from ...engine.tensor import Tensor, method, wrote
from ...engine.views import live_views
from .pickling import slots_of

__all__: list[str] = []  # `swap_tensors` is of `utils`

TIED = (
    "Cannot swap {name} because it is a view, has views, or retains its gradient: others refer to "
    "it. Swap a clone: {name}.detach().clone()"
)


def swap_tensors(t1: Tensor, t2: Tensor) -> None:
    """Let two tensors change places: memory, history, class, gradient and attributes.

    Whoever holds `t1` then sees in it what `t2` was, and the other way round. Raises RuntimeError
    for tensors that are views or have views, that retain a gradient without being leaves, or whose
    classes have other slots.

    >>> a, b = rg.ones(2), rg.arange(3)
    >>> rg.utils.swap_tensors(a, b); a, b
    (tensor([0, 1, 2]), tensor([1., 1.]))
    """
    slots = slots_of(type(t1))
    if set(slots) != set(slots_of(type(t2))):
        raise RuntimeError("Cannot swap t1 and t2 if they have different slots")
    for name, each in (("t1", t1), ("t2", t2)):
        retains = each.retains_grad and not each.is_leaf
        if retains or each._view_of is not None or live_views(each):
            raise RuntimeError(TIED.format(name=name))
    for name in ("_array", "_node", "_cell", *slots):
        found = [[getattr(each, name)] if hasattr(each, name) else [] for each in (t1, t2)]
        for each, value in zip((t2, t1), found, strict=True):
            if value:
                setattr(each, name, value[0])
            elif hasattr(each, name):
                delattr(each, name)
    t1.__class__, t2.__class__ = t2.__class__, t1.__class__
    for each, held in [(t1, everything.__get__(t2)), (t2, everything.__get__(t1))]:
        everything.__set__(each, held)
    for each in (t1, t2):
        storage, each._storage = each._storage, None
        if storage is not None:
            storage._keep(each)
        for node in (each._node, each._parked):
            if node is not None and node.op is LEAF:
                node.saved = Leaf(each)
        wrote(each, "swap_tensors", counted=False)  # what saved the object saved other values


@method
def module_load(self: Tensor, other: Tensor, assign: bool = False) -> Tensor:
    """What a module that loads `other` in the place of `self` is to hold, as a new tensor.

    `self` with the values of `other`, or with `assign` `other` itself. Subclasses override it;
    `load_state_dict` asks it under `torch.__future__.set_swap_module_params_on_conversion(True)`.

    >>> rg.zeros(2).module_load(rg.ones(2))
    tensor([1., 1.])
    """
    return other.detach() if assign else self.copy_(other).detach()
