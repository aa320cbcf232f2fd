"""Pruning: parameters some of whose entries, or slices, are held at zero by a mask.

NOTE [Pruned] A module that is pruned at `name` has a parameter `name_orig`, which is trained, a
buffer `name_mask` of zeros and ones, and a plain attribute `name`, their product, that a forward
pre-hook computes before every call. The hook is the method that chose the mask or, where there were
several one after the other, the `PruningContainer` of them. `remove` makes the product the
parameter again. Source: PyTorch's `nn.utils.prune`; Paganini and Forde, 2020.
"""

from __future__ import annotations

import numbers
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

from ....engine.tensor import Tensor
from ....ops.creation.like import ones_like, zeros_like
from ....ops.creation.memory_format import contiguous_format
from ....ops.random.factories import rand, rand_like
from ....ops.reduction.vector_norm import norm
from ....ops.shape.join import cat
from ....ops.sorting.sort import topk

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = [
    "BasePruningMethod", "CustomFromMask", "Identity", "L1Unstructured", "LnStructured",
    "PruningContainer", "RandomStructured", "RandomUnstructured", "custom_from_mask",
    "global_unstructured", "identity", "is_pruned", "l1_unstructured", "ln_structured",
    "random_structured", "random_unstructured", "remove",
]  # fmt: skip


# -- methods ------------------------------------------------------------------------------------


class BasePruningMethod(ABC):
    """A way to choose a mask; a subclass gives `compute_mask`. It is the hook of NOTE [Pruned].

    `PRUNING_TYPE` says which entries a further method sees of a tensor that is pruned already:
    "unstructured" those that are left, "structured" the slices along `dim` of which some are left,
    "global" all.
    """

    PRUNING_TYPE: ClassVar[str] = "global"
    _tensor_name: str = ""  # of the parameter, once the method is applied

    def __call__(self, module: Any, inputs: Any) -> None:
        """Compute the pruned parameter, before `module` runs."""
        setattr(module, self._tensor_name, self.apply_mask(module))

    @abstractmethod
    def compute_mask(self, t: Any, default_mask: Any) -> Tensor:
        """The mask for `t`, which prunes what `default_mask` does and more."""

    def apply_mask(self, module: Any) -> Tensor:
        """The product of the parameter and its mask."""
        orig = getattr(module, f"{self._tensor_name}_orig")
        return getattr(module, f"{self._tensor_name}_mask").to(orig.dtype) * orig  # type: ignore[no-any-return]

    @classmethod
    def apply(
        cls, module: Any, name: str, *args: Any, importance_scores: Any = None, **kwargs: Any
    ) -> Any:
        """Prune `module` at `name`, on top of what was pruned before; returns the hook."""
        method: Any = cls(*args, **kwargs)
        method._tensor_name = name
        before = _hook_of(module, name)
        orig = getattr(module, name)
        mask = ones_like(orig)
        if before is not None:
            key, hook = before
            mask = getattr(module, f"{name}_mask").detach()
            earlier = tuple(hook) if isinstance(hook, PruningContainer) else (hook,)
            method = PruningContainer(*earlier, method)
        chosen = method.compute_mask(_scores(importance_scores, orig), mask.clone())
        if before is None:
            parameter = module._parameters.pop(name)
            module.register_parameter(f"{name}_orig", parameter)
        else:
            del module._forward_pre_hooks[key]
        module.register_buffer(f"{name}_mask", chosen)
        method(module, None)
        module.register_forward_pre_hook(method)
        return method

    def prune(self, t: Any, default_mask: Any = None, importance_scores: Any = None) -> Tensor:
        """`t` with what the method chooses, by `importance_scores` or else by `t`, set to zero."""
        mask = ones_like(t) if default_mask is None else default_mask
        return t * self.compute_mask(_scores(importance_scores, t), mask).to(t.dtype)  # type: ignore[no-any-return]

    def remove(self, module: Any) -> None:
        """Make the pruned values those of the parameter, under its old name."""
        name = self._tensor_name
        pruned = self.apply_mask(module)
        delattr(module, name)
        parameter = module._parameters.pop(f"{name}_orig")
        parameter.data = pruned.detach()
        del module._buffers[f"{name}_mask"]
        setattr(module, name, parameter)


class PruningContainer(BasePruningMethod):
    """Several methods of one parameter, each seeing what the ones before have left."""

    def __init__(self, *args: Any) -> None:
        self._pruning_methods: tuple[Any, ...] = ()
        for method in args:
            self._tensor_name = self._tensor_name or getattr(method, "_tensor_name", "")
            self.add_pruning_method(method)

    def add_pruning_method(self, method: Any) -> None:
        """Add one more; TypeError for what is none, ValueError for one of another parameter."""
        if not isinstance(method, BasePruningMethod):
            raise TypeError(f"{type(method)} is not a BasePruningMethod subclass")
        if self._tensor_name != method._tensor_name:
            raise ValueError(
                "Can only add pruning methods acting on the parameter named "
                f"'{self._tensor_name}' to PruningContainer {self}. Found "
                f"'{method._tensor_name}'"
            )
        self._pruning_methods += (method,)

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._pruning_methods)

    def __getitem__(self, index: Any) -> Any:
        return self._pruning_methods[index]

    def compute_mask(self, t: Any, default_mask: Any) -> Tensor:
        """The mask of the newest method for what `default_mask` leaves it to see."""
        method = self._pruning_methods[-1]
        mask = default_mask.to(t.dtype)
        if method.PRUNING_TYPE == "unstructured":
            seen: Any = mask == 1
        elif method.PRUNING_TYPE == "structured":
            seen = [slice(None)] * t.ndim
            seen[method.dim] = mask.sum(dim=_others(t, method.dim)) != 0
            seen = tuple(seen)
        elif method.PRUNING_TYPE == "global":
            seen = ...
        else:
            raise ValueError(f"Unrecognized PRUNING_TYPE {method.PRUNING_TYPE}")
        made = mask.clone()
        made[seen] = method.compute_mask(t[seen], default_mask=mask[seen]).to(t.dtype)
        return made  # type: ignore[no-any-return]


class Identity(BasePruningMethod):
    """Prunes nothing: a mask of ones."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Any, default_mask: Any) -> Tensor:
        """`default_mask`."""
        return default_mask  # type: ignore[no-any-return]


class CustomFromMask(BasePruningMethod):
    """Prunes where `mask` is zero."""

    def __init__(self, mask: Any) -> None:
        self.mask = mask

    def compute_mask(self, t: Any, default_mask: Any) -> Tensor:
        """The entries that both masks leave."""
        return default_mask * self.mask.to(default_mask.dtype)  # type: ignore[no-any-return]


class _Amount(BasePruningMethod):
    """A method that prunes a number of units, or a share of them."""

    def __init__(self, amount: Any) -> None:
        _validate_pruning_amount_init(amount)
        self.amount = amount

    def _count(self, size: int) -> int:
        _validate_pruning_amount(count := _compute_nparams_toprune(self.amount, size), size)
        return count


class _Unstructured(_Amount):
    PRUNING_TYPE = "unstructured"

    def _rank(self, t: Any) -> Any:
        """How much each entry deserves to stay."""
        raise NotImplementedError

    def compute_mask(self, t: Any, default_mask: Any) -> Tensor:
        """`default_mask`, without the entries that rank lowest."""
        mask = default_mask.clone(memory_format=contiguous_format)
        count = self._count(t.numel())
        if count:
            mask.view(-1)[topk(self._rank(t).reshape(-1), count, largest=False)[1]] = 0
        return mask  # type: ignore[no-any-return]


class RandomUnstructured(_Unstructured):
    """Prunes entries at random: `amount` of them, or that share."""

    def _rank(self, t: Any) -> Any:
        return -rand_like(t, dtype=None if t.is_floating_point() else t.float().dtype)


class L1Unstructured(_Unstructured):
    """Prunes the entries of smallest absolute value: `amount` of them, or that share."""

    def _rank(self, t: Any) -> Any:
        return t.detach().abs()


class _Structured(_Amount):
    PRUNING_TYPE = "structured"

    def __init__(self, amount: Any, dim: int = -1) -> None:
        super().__init__(amount)
        self.dim = dim

    def _rank(self, t: Any) -> Any:
        """How much each slice along `dim` deserves to stay."""
        raise NotImplementedError

    def compute_mask(self, t: Any, default_mask: Any) -> Tensor:
        """`default_mask`, without the slices that rank lowest."""
        if t.ndim <= 1:
            raise ValueError(
                "Structured pruning can only be applied to a multidimensional tensor (with "
                f"dimension larger than 1). Found tensor of shape {tuple(t.shape)}. Use an "
                "unstructured method"
            )
        if not -t.ndim <= self.dim < t.ndim:
            raise IndexError(f"Invalid index {self.dim} for tensor of shape {tuple(t.shape)}")
        count = self._count(t.shape[self.dim])
        if not count:
            return default_mask  # type: ignore[no-any-return]
        kept: Any = [slice(None)] * t.ndim
        kept[self.dim] = topk(self._rank(t), t.shape[self.dim] - count)[1]
        mask = zeros_like(default_mask)
        mask[tuple(kept)] = 1
        pruned: Tensor = mask * default_mask
        return pruned


class RandomStructured(_Structured):
    """Prunes slices along `dim` at random: `amount` of them, or that share."""

    def _rank(self, t: Any) -> Any:
        return rand(t.shape[self.dim])


class LnStructured(_Structured):
    """Prunes the slices along `dim` of smallest `n`-norm: `amount` of them, or that share."""

    def __init__(self, amount: Any, n: Any, dim: int = -1) -> None:
        super().__init__(amount, dim)
        self.n = n

    def _rank(self, t: Any) -> Any:
        return norm(t.detach(), self.n, dim=_others(t, self.dim))


# -- functions ----------------------------------------------------------------------------------


def identity(module: Any, name: str) -> Any:
    """Give `module` the parameters of one that is pruned at `name`, with a mask of ones.

    >>> layer = rg.nn.utils.prune.identity(rg.nn.Linear(2, 1), "weight")
    >>> layer.weight_mask
    tensor([[1., 1.]])
    """
    Identity.apply(module, name)
    return module


def random_unstructured(module: Any, name: str, amount: Any) -> Any:
    """Hold entries of the parameter `name` at zero, chosen at random; returns `module`.

    amount: how many (an integer), or which share (a float in [0, 1]). Raises TypeError and
    ValueError for another amount.

    >>> layer = rg.nn.utils.prune.random_unstructured(rg.nn.Linear(4, 1), "weight", amount=0.5)
    >>> layer.weight_mask.sum()
    tensor(2.)
    """
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(module: Any, name: str, amount: Any, importance_scores: Any = None) -> Any:
    """Hold the entries of smallest absolute value at zero; returns `module`.

    amount: as for `random_unstructured`. importance_scores: a tensor of the parameter's shape;
    its absolute values decide instead.

    >>> layer = rg.nn.Linear(3, 1, bias=False)
    >>> layer.weight.data = rg.tensor([[1.0, -3.0, 2.0]])
    >>> rg.nn.utils.prune.l1_unstructured(layer, "weight", amount=1).weight.detach()
    tensor([[ 0., -3.,  2.]])
    """
    L1Unstructured.apply(module, name, amount, importance_scores=importance_scores)
    return module


def random_structured(module: Any, name: str, amount: Any, dim: int) -> Any:
    """Hold slices along `dim` of the parameter `name` at zero, chosen at random.

    amount: how many slices, or which share. Returns `module`. Raises ValueError for a vector,
    IndexError for a dimension that there is not.

    >>> layer = rg.nn.utils.prune.random_structured(rg.nn.Linear(2, 3), "weight", amount=2, dim=0)
    >>> layer.weight_mask.sum()
    tensor(2.)
    """
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(
    module: Any, name: str, amount: Any, n: Any, dim: int, importance_scores: Any = None
) -> Any:
    """Hold the slices along `dim` of smallest `n`-norm at zero; returns `module`.

    n: a number, `inf`, or "fro". Everything else is as for `random_structured`.

    >>> layer = rg.nn.Linear(2, 2, bias=False)
    >>> layer.weight.data = rg.tensor([[1.0, 2.0], [3.0, 0.0]])
    >>> rg.nn.utils.prune.ln_structured(layer, "weight", amount=1, n=2, dim=0).weight_mask
    tensor([[0., 0.],
            [1., 1.]])
    """
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def global_unstructured(
    parameters: Iterable[tuple[Any, str]],
    pruning_method: type[BasePruningMethod],
    importance_scores: Any = None,
    **kwargs: Any,
) -> None:
    """Prune several parameters, given as (module, name), as if they were one.

    importance_scores: a dict from (module, name) to what decides in its place. `kwargs` go to
    `pruning_method`; TypeError unless that is unstructured.

    >>> prune = rg.nn.utils.prune
    >>> a, b = (rg.nn.Linear(2, 1, bias=False) for _ in range(2))
    >>> a.weight.data, b.weight.data = rg.tensor([[1.0, 2.0]]), rg.tensor([[3.0, 4.0]])
    >>> prune.global_unstructured([(a, "weight"), (b, "weight")], prune.L1Unstructured, amount=2)
    >>> a.weight_mask, b.weight_mask
    (tensor([[0., 0.]]), tensor([[1., 1.]]))
    """
    places = list(parameters)
    given = {} if importance_scores is None else importance_scores
    if not isinstance(given, dict):
        raise TypeError("global_unstructured(): importance_scores should be of type dict")
    method = pruning_method(**kwargs)
    method._tensor_name = "joined"
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError(
            'Only "unstructured" PRUNING_TYPE supported for the `pruning_method`. Found method '
            f"{pruning_method} of type {method.PRUNING_TYPE}"
        )
    held = [getattr(module, name) for module, name in places]
    scores = [given.get(place, t).reshape(-1) for place, t in zip(places, held, strict=True)]
    masks = [
        getattr(module, f"{name}_mask", ones_like(t)).reshape(-1)
        for (module, name), t in zip(places, held, strict=True)
    ]
    mask = PruningContainer(method).compute_mask(cat(scores), cat(masks))
    parts = mask.split([t.numel() for t in held])
    for (module, name), t, part in zip(places, held, parts, strict=True):
        custom_from_mask(module, name, part.reshape(t.shape))


def custom_from_mask(module: Any, name: str, mask: Any) -> Any:
    """Hold the entries of the parameter `name` at zero where `mask` is; returns `module`.

    >>> mask = rg.tensor([[0, 1]])
    >>> rg.nn.utils.prune.custom_from_mask(rg.nn.Linear(2, 1), "weight", mask).weight_mask
    tensor([[0., 1.]])
    """
    CustomFromMask.apply(module, name, mask)
    return module


def remove(module: Any, name: str) -> Any:
    """Make the pruned values of `name` those of its parameter; returns `module`.

    What was pruned is zero and is trained again. Raises ValueError where nothing is pruned.

    >>> layer = rg.nn.utils.prune.identity(rg.nn.Linear(2, 1), "weight")
    >>> [name for name, _ in rg.nn.utils.prune.remove(layer, "weight").named_parameters()]
    ['bias', 'weight']
    """
    found = _hook_of(module, name)
    if found is None:
        raise ValueError(
            f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed"
        )
    key, hook = found
    hook.remove(module)
    del module._forward_pre_hooks[key]
    return module


def is_pruned(module: Any) -> bool:
    """Whether the module, or one in it, is pruned.

    >>> layer = rg.nn.Linear(2, 1)
    >>> rg.nn.utils.prune.is_pruned(rg.nn.Sequential(layer))
    False
    """
    return any(
        isinstance(hook, BasePruningMethod)
        for each in module.modules()
        for _, hook in _pre_hooks(each)
    )


def _hook_of(module: Any, name: str) -> Any:
    """The key and the hook by which `module` is pruned at `name`, or None."""
    for key, hook in _pre_hooks(module):
        if isinstance(hook, BasePruningMethod) and hook._tensor_name == name:
            return key, hook
    return None


def _pre_hooks(module: Any) -> list[Any]:
    """The forward pre-hooks with their keys; a module without hooks gets no tables for them."""
    return [] if "_hooks" not in vars(module) else list(module._forward_pre_hooks.items())


def _scores(given: Any, t: Any) -> Any:
    """What decides about `t`: `given`, checked, or itself."""
    if given is not None and tuple(given.shape) != tuple(t.shape):
        raise AssertionError(
            f"importance_scores should have the same shape as the parameter, {tuple(t.shape)}, "
            f"but has {tuple(given.shape)}"
        )
    return t if given is None else given


def _others(t: Any, dim: int) -> list[int]:
    return [place for place in range(t.ndim) if place != dim % t.ndim]


def _validate_pruning_amount_init(amount: Any) -> None:
    """Raise unless `amount` is a count (an integer) or a share (a float in [0, 1])."""
    if not isinstance(amount, numbers.Real):
        raise TypeError(f"Invalid type for amount: {amount}. Must be int or float.")
    if float(amount) < 0 or (not isinstance(amount, numbers.Integral) and float(amount) > 1):
        raise ValueError(
            f"amount={amount} should either be a float in the range [0, 1] or a non-negative "
            "integer"
        )


def _validate_pruning_amount(amount: Any, tensor_size: int) -> None:
    """Raise for a count of more units than there are."""
    if isinstance(amount, numbers.Integral) and int(amount) > tensor_size:
        raise ValueError(
            f"amount={amount} should be smaller than the number of parameters to prune="
            f"{tensor_size}"
        )


def _compute_nparams_toprune(amount: Any, tensor_size: int) -> int:
    """How many units of `tensor_size` that are; a share is rounded."""
    return int(amount) if isinstance(amount, numbers.Integral) else round(amount * tensor_size)
