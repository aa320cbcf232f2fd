"""An optimizer of which each rank keeps the state of some parameters, and steps them for all."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any

from ....autograd.grad_mode import no_grad
from ....engine.tensor import device
from ....ops import cat
from ....optim.optimizer import Optimizer
from ... import distributed as dist
from ..algorithms.join import Join, Joinable, JoinHook
from ..buckets import parts_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from ....engine.tensor import Tensor

__all__ = ["ZeroRedundancyOptimizer"]

UNCONSOLIDATED = (
    "Optimizer state has not been consolidated on this rank. Call "
    "`consolidate_state_dict(to={rank})` on all ranks beforehand if you meant to save the global "
    "state"
)


class ZeroHook(JoinHook):
    """What the optimizer does on a rank without inputs."""

    def __init__(self, optimizer: ZeroRedundancyOptimizer) -> None:
        self.optimizer = optimizer

    def main_hook(self) -> None:
        """Step this rank's parameters, too."""
        self.optimizer.step()


class ZeroRedundancyOptimizer(Optimizer, Joinable):
    """An optimizer whose state is cut up among the ranks: ZeRO's first stage.

    Each rank steps a part of the parameters, about as large as the others', by an optimizer of its
    own, and sends them to all, in a message for each dtype. All ranks have all parameters and their
    gradients, the same everywhere, as `DistributedDataParallel` leaves them. optimizer_class: the
    optimizer, and `defaults` its settings; process_group: the ranks, all by default;
    parameters_as_bucket_view: let parameters lie in the memory that travels. Source: S. Rajbhandari
    et al. (2020), PyTorch's class of this name.

    >>> from retrograd.distributed.optim import ZeroRedundancyOptimizer
    >>> x = rg.tensor([1.0], requires_grad=True)
    >>> optimizer = ZeroRedundancyOptimizer([x], rg.optim.SGD, lr=0.25)
    >>> (x * x).sum().backward(); optimizer.step(); x.detach()
    tensor([0.5000])
    """

    def __init__(
        self,
        params: Any,
        optimizer_class: type[Optimizer],
        process_group: Any = None,
        parameters_as_bucket_view: bool = False,
        **defaults: Any,
    ) -> None:
        Joinable.__init__(self)
        self.process_group = process_group
        self._ranks = dist.get_process_group_ranks(process_group)
        self._consolidated: dict[str, Any] | None = None
        self._class, self._made, self._views = optimizer_class, False, parameters_as_bucket_view
        super().__init__(params, defaults)
        self._own()

    def _own(self) -> None:
        """Cut the parameters up, largest first, and make the optimizer of this rank's."""
        loads = dict.fromkeys(self._ranks, 0)
        self._owner: dict[Tensor, int] = {}
        for p in sorted(
            (p for group in self.param_groups for p in group["params"]),
            key=lambda p: -p.numel(),
        ):
            least = min(loads, key=lambda rank: loads[rank])
            self._owner[p] = least
            loads[least] += p.numel()
        self._buckets: list[tuple[list[Tensor], list[int], Tensor | None]] = []
        for dtype in dict.fromkeys(p.dtype for p in self._owner):
            lots = [[p for p, owner in self._owner.items() if (owner, p.dtype) == (rank, dtype)]
                    for rank in self._ranks]  # fmt: skip
            held, counts = [*chain(*lots)], [sum(p.numel() for p in lot) for lot in lots]
            memory = _joined(held) if self._views else None
            if memory is not None:
                for p, part in zip(held, parts_of(memory, held), strict=True):
                    p.data = part
            self._buckets.append((held, counts, memory))
        rank = dist.get_rank()
        parts = [
            {**group, "params": [p for p in group["params"] if self._owner[p] == rank]}
            for group in self.param_groups
        ]
        self.optim = self._class(parts, **self.defaults)
        for group, own in zip(self.param_groups, self.optim.param_groups, strict=True):
            for name, value in own.items():
                group.setdefault(name, value)
        self.state, self._made = self.optim.state, True

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a group of parameters; they and the others are cut up anew, before the first step.

        Raises RuntimeError after a step, for the state is where the parameters were.
        """
        if self._made and self.state:
            raise RuntimeError(
                "parameters are cut up among the ranks, and their state with them: add groups "
                "before the first step, or give all to the constructor"
            )
        super().add_param_group(param_group)
        if self._made:
            self._own()

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update this rank's parameters, and take those of others; returns the closure's value."""
        Join.notify_join_context(self)
        for group, own in zip(self.param_groups, self.optim.param_groups, strict=True):
            own.update((name, value) for name, value in group.items() if name != "params")
        found = self.optim.step(closure) if closure else self.optim.step()
        world, call = dist.membership.joined(self.process_group).world, "parameters of a dtype"
        for held, counts, memory in self._buckets:
            sent = _joined(held) if memory is None else memory
            world.fill(call, sent._array, counts)
            for p, part in zip(held, parts_of(sent, held), strict=True):
                with no_grad():  # which counts the write; where `part` is `p`, nothing else
                    p.copy_(part)
        return found

    def join_hook(self, **kwargs: Any) -> JoinHook:
        """What a rank does that has no more inputs."""
        return ZeroHook(self)

    join_device = device("cpu")

    @property
    def join_process_group(self) -> Any:
        """The group whose ranks join."""
        return self.process_group or dist.group.WORLD

    def consolidate_state_dict(self, to: int = 0) -> None:
        """Gather the state of all ranks at rank `to`, whose `state_dict()` then has all of it.

        All ranks call it. States are pickled.
        """
        own = super().state_dict()
        found: Any = [None] * len(self._ranks) if dist.get_rank() == to else None
        dist.gather_object(own["state"], found, to, self.process_group)
        self._consolidated = None
        if found is not None:
            states = {number: state for part in found for number, state in part.items()}
            self._consolidated = {**own, "state": dict(sorted(states.items()))}

    def state_dict(self) -> dict[str, Any]:
        """The state of all ranks, where `consolidate_state_dict` has put it.

        It is as that of an optimizer without ranks. Raises RuntimeError elsewhere.
        """
        if self._consolidated is None:
            raise RuntimeError(UNCONSOLIDATED.format(rank=dist.get_rank()))
        return self._consolidated

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take the settings, and this rank's part of the state, of all parameters."""
        groups: list[Any] = []
        state: dict[int, Any] = {}
        for given, group in zip(state_dict["param_groups"], self.param_groups, strict=True):
            pairs = zip(given["params"], group["params"], strict=True)
            own = [number for number, p in pairs if self._owner[p] == dist.get_rank()]
            groups.append({**given, "params": own})
            state |= {n: state_dict["state"][n] for n in own if n in state_dict["state"]}
            group.update({**given, "params": group["params"]})
        self.optim.load_state_dict({"state": state, "param_groups": groups})
        self.state = self.optim.state


def _joined(tensors: list[Tensor]) -> Tensor:
    """A copy of tensors, one behind the other."""
    whole: Tensor = cat([tensor.detach().reshape(-1) for tensor in tensors])
    return whole
