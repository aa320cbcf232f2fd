"""Checkpoints that keep the results of some ops: `create_selective_checkpoint_contexts`.

NOTE [Selective checkpoints]
1. In the forward pass a watcher (`transforms.watch`) sees every op call, and asks the policy.
   An op is shown as a function: the public one, where the op has a public function of its name
   (`rg.exp`, `rg.matmul`, `nn.functional.linear`), else its caller, whose `__name__` is the op's
   name. The profiler shows these names; composed functions appear as the ops they consist of.
2. The results to be kept are stored by op and by the number of the call. When the function runs
   again, another watcher hands them out in place of the forward. The op is recorded all the same.
3. Views are neither stored nor shown to the policy: they cost nothing (`SAC_IGNORED_OPS`).
4. A stored result serves once: then its memory is given back.
"""

from __future__ import annotations

import enum
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

from .. import modes, ops
from ..engine.namespaces import recorded
from ..engine.op import Op
from ..engine.registry import OPS
from ..engine.tensor import Tensor, cell_of, new_tensor
from ..nn import functional
from .recompute import CheckpointWatcher

__all__ = [
    "SAC_IGNORED_OPS", "CheckpointPolicy", "SelectiveCheckpointContext",
    "create_selective_checkpoint_contexts",
]  # fmt: skip

UNKNOWN = (
    "Expected op in `op_list` to be the function or the name of an op but got: {op!r} of type "
    "{kind}. The profiler (retrograd.autograd.profiler) shows the names of the ops that run."
)
MISMATCH = (
    "encountered during backward but not found in storage. This can happen if the operations in "
    "the checkpointed region are nondeterministic or depend on global state that changed between "
    "forward and backward."
)
TWICE = (
    "Trying to backward an extra time. You are only allowed to backward once on any region "
    "computed under selective activation checkpoint."
)
MUTATED = (
    "Tensor cached during selective activation checkpoint has been mutated. Write out of place in "
    "the function, or let the policy recompute `{name}`."
)


class CheckpointPolicy(enum.Enum):
    """The answers of a policy: keep the result of an op, or compute it again.

    All memory is the CPU's, so `*_CPU_OFFLOAD` keeps it too. `MUST_*` and `PREFER_*` are the same.

    >>> rg.utils.checkpoint.CheckpointPolicy.MUST_SAVE.value
    0
    """

    MUST_SAVE = 0
    PREFER_SAVE = 1
    MUST_RECOMPUTE = 2
    PREFER_RECOMPUTE = 3
    MUST_CPU_OFFLOAD = 4
    PREFER_CPU_OFFLOAD = 5


RECOMPUTED = (CheckpointPolicy.MUST_RECOMPUTE, CheckpointPolicy.PREFER_RECOMPUTE)


class SelectiveCheckpointContext:
    """What a policy is told beside the call: `op_output`, the result, and `is_recompute` (False).

    The policy is asked in the forward pass only.

    >>> rg.utils.checkpoint.SelectiveCheckpointContext(is_recompute=False).op_output is None
    True
    """

    def __init__(self, *, is_recompute: bool, op_output: Any = None) -> None:
        self.is_recompute = is_recompute
        self.op_output = op_output


def public(op: Op) -> Callable[..., Any]:
    """The function as which users know an op."""
    for place in (ops, functional):
        found = getattr(place, op.name, None)
        if callable(found):
            return found  # type: ignore[no-any-return]
    return op.call  # type: ignore[no-any-return]


SAC_IGNORED_OPS = {public(op) for op in list(OPS.values()) if op.view is True}
SAC_IGNORED_OPS |= {ops.as_strided, ops.split, ops.unbind}  # their families load here


def op_of(item: Any) -> Op:
    """The op that a user means by a name, or by an op's, a public or an `aten` function."""
    item = getattr(item, "overloadpacket", item)  # of `torch.ops.aten.mm.default`: `library.aten`
    op = getattr(item, "op", None)
    if isinstance(op, Op):
        return op
    name = item if isinstance(item, str) else getattr(item, "__name__", "")
    op = getattr(getattr(recorded, name, None), "op", None)  # whose family may load here
    if not isinstance(op, Op):
        raise ValueError(UNKNOWN.format(op=item, kind=type(item)))
    return op


class Entry:
    """The results of one call, with the versions they had."""

    def __init__(self, outputs: Sequence[Tensor]) -> None:
        self.arrays = [t._array for t in outputs]
        self.cells = [(cell, cell.version) for cell in map(cell_of, outputs)]


RECOMPUTE, CONSUMED = object(), object()


class Caching(CheckpointWatcher):
    """The forward's context: asks the policy, and stores what is to be kept."""

    def __init__(self, policy: Callable[..., Any], storage: dict[str, list[Any]]) -> None:
        self.policy, self.storage = policy, storage

    def made(self, op: Op, inputs: Any, params: dict[str, Any], outputs: Any) -> None:
        """Keep the results of a call, or note that it is to be recomputed, as the policy says."""
        if op.view is True:
            return
        is_view = any(t._view_of is not None for t in outputs)
        wanted = not is_view and self.wants(op, inputs, params, outputs)
        self.storage[op.name].append(Entry(outputs) if wanted else RECOMPUTE)

    def wants(self, op: Op, inputs: Any, params: dict[str, Any], outputs: Any) -> bool:
        """Whether the policy wants a result kept; it sees tensors without history."""
        shown = [None if t is None else new_tensor(t._array) for t in inputs]
        results = tuple(new_tensor(t._array) for t in outputs)
        context = SelectiveCheckpointContext(
            is_recompute=False, op_output=results[0] if op.outputs == 1 else results
        )
        before = modes.change(grad=False, saved_hooks=(), watchers=())
        try:
            policy = self.policy(context, public(op), *shown, **params)
        finally:
            modes.restore(before)
        if isinstance(policy, bool):
            return policy
        return policy not in RECOMPUTED


class Cached(CheckpointWatcher):
    """The context of the run again: hands out what was stored."""

    def __init__(self, storage: dict[str, list[Any]], allow_mutation: bool) -> None:
        self.storage, self.allow_mutation = storage, allow_mutation
        self.calls: dict[str, int] = defaultdict(int)

    def __enter__(self) -> Any:
        self.calls.clear()
        return super().__enter__()

    def compute(self, op: Op, arrays: Any, params: dict[str, Any], proceed: Any) -> Any:
        """The stored results of this call, or its forward's."""
        if op.view is True:
            return proceed(arrays, params)
        entries, number = self.storage.get(op.name, ()), self.calls[op.name]
        if number >= len(entries):
            raise RuntimeError(f"{op.name} (call number {number + 1}) {MISMATCH}")
        entry = entries[number]
        if entry is CONSUMED:
            raise RuntimeError(TWICE)
        results = proceed(arrays, params) if entry is RECOMPUTE else self.stored(op, entry)
        self.calls[op.name] += 1
        if entry is not RECOMPUTE:
            entries[number] = CONSUMED  # type: ignore[index]
        return results

    def stored(self, op: Op, entry: Entry) -> Any:
        """The arrays of an entry, as the op's forward returns them."""
        arrays = entry.arrays
        if self.allow_mutation:  # the run again may write them once more: the caller's stay apart
            arrays = [array.copy() for array in arrays]
        elif any(cell.version != version for cell, version in entry.cells):
            raise RuntimeError(MUTATED.format(name=op.name))
        return arrays[0] if op.outputs == 1 else tuple(arrays)


def create_selective_checkpoint_contexts(
    policy_fn_or_list: Any, allow_cache_entry_mutation: bool = False
) -> tuple[Caching, Cached]:
    """The two contexts of a checkpoint that keeps some results instead of recomputing them.

    policy_fn_or_list: either `policy(ctx, op, *args, **kwargs)`, which returns a CheckpointPolicy
    (or True for "keep") for each op call; `op` is a function (`op is retrograd.exp`), see
    NOTE [Selective checkpoints]. Or a list of such functions or of op names: these are kept. A kept
    result that is written afterwards raises RuntimeError in the backward pass, unless
    `allow_cache_entry_mutation`; so does a second backward pass. Raises ValueError for what is no
    op, TypeError for another kind of policy. Source: PyTorch's function of this name.

    >>> from functools import partial
    >>> contexts = partial(rg.utils.checkpoint.create_selective_checkpoint_contexts, [rg.exp])
    >>> x = rg.ones(2, requires_grad=True)
    >>> y = rg.utils.checkpoint.checkpoint(
    ...     lambda x: x.exp().sin(), x, use_reentrant=False, context_fn=contexts
    ... )
    >>> y.sum().backward(); x.grad
    tensor([-2.4784, -2.4784])
    """
    if isinstance(policy_fn_or_list, list):
        kept = {public(op_of(item)) for item in policy_fn_or_list}
        policy: Any = lambda ctx, op, *args, **kwargs: op in kept  # noqa: E731
    elif callable(policy_fn_or_list):
        policy = policy_fn_or_list
    else:
        raise TypeError("policy_fn_or_list must be either a function or a list of ops.")
    storage: dict[str, list[Any]] = defaultdict(list)
    return Caching(policy, storage), Cached(storage, allow_cache_entry_mutation)
