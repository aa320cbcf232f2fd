"""`Rule`: the one loop over parameters; and the tools of update rules: blocks and numbers.

NOTE [Update rules]
1. An optimizer is its settings, its state, and `rule`, a function of a parameter, the gradient, the
   state, the numbers of the step and the group. The loop does the rest for all of them: closures,
   checks of memory, `maximize`, `weight_decay`, blocks, complex parameters, versions.
2. A rule writes the parameter and the state in place, with operators (`x -= g * lr`) and NumPy's
   functions, whose result goes to `out=spare(t)` and is put into the list `state`. It overwrites
   what it has computed only by `t *= number` and the like, or through `spare`. So the same text
   runs on arrays and, where the group is `differentiable`, on tensors, which record it.
3. It works element by element. Where there is a compiler, large arrays are updated by one loop, a
   kernel recorded from the rule. Else they come to it in blocks: the temporaries of a block stay in
   the cache, where whole arrays would travel to memory and back once per call. Small ones come
   several at once, end to end: what they cost is the calls (`engine.updates.run_each`). Within a
   compiled step all of these are updated by kernels (`compiler.updates.natively`). A complex
   parameter comes to it as real numbers, or, in a group whose setting `complex` is "modulus", as
   it is. A rule that needs the whole, as for the norm of a matrix, says `elementwise = False`, and
   sees to complex numbers and to its weight decay itself.
4. Numbers come to it as 0-d arrays of the parameter's dtype, which NumPy takes twice as fast as
   Python's; to a rule that is not elementwise, as they are.
5. Nothing is written if one of the parameters cannot be. The versions of parameters and of their
   states count the writes, so that a graph that saved an old value raises.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import compress
from typing import Any

import numpy as np

from .. import modes
from ..compiler.updates import Updates, within
from ..dtypes import default_numpy, real_of
from ..engine.namespaces import recorded
from ..engine.tensor import Tensor, is_array, new_tensor, tensor_of
from ..engine.updates import all_plain, are_small, counted, gathered, in_arrays, run_each, wrote_all
from ..engine.writable import about_to_write, check_memory
from ..kernels import allocation
from ..kernels.memory import in_rows
from ..quiet import calm
from .optimizer import Optimizer, ParamsT, _get_value

__all__: list[str] = []

BLOCK = 16384  # elements; a float32 block and its temporaries fit in a core's L2 cache
FEW = 1024  # elements of a parameter that is small: `run_each` takes so many `TOGETHER`
TOGETHER = 16


class Rule(Optimizer):
    """The base of optimizers that update one parameter like the other: NOTE [Update rules].

    A subclass gives `arrays`, the names of the state's arrays, `numbers` and `rule`; and `begin`
    and `advance` if its state is not that many zeros and a count of the steps.

    >>> class Heavy(rg.optim.rules.Rule):
    ...     arrays = ("speed",)
    ...     def numbers(self, group, step):
    ...         return group["lr"], 1 - 1 / step
    ...     @staticmethod
    ...     def rule(x, g, state, numbers, group):
    ...         (lr, keep), (speed,) = numbers, state
    ...         speed *= keep
    ...         speed += g
    ...         x -= speed * lr
    >>> x = rg.tensor([1.0], requires_grad=True)
    >>> (x * x).sum().backward()
    >>> Heavy([x], {"lr": 0.25}).step()
    >>> x.detach()
    tensor([0.5000])
    """

    arrays: tuple[str, ...] = ()
    lists: tuple[tuple[str, str], ...] = ()  # names in the state, and in PyTorch's functions
    elementwise = True
    counted = True  # whether the state counts the steps
    one_dtype = False  # whether the state has to have the dtype of its parameter

    def __init__(self, params: ParamsT, defaults: dict[str, Any]) -> None:
        if defaults.get("fused") and defaults.get("foreach"):
            raise RuntimeError("`fused` and `foreach` cannot be `True` together.")
        if defaults.get("fused") and defaults.get("differentiable"):
            raise RuntimeError("`fused` does not support `differentiable`")
        super().__init__(params, defaults)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """As for every optimizer; files may count steps by numbers, and lack newer settings."""
        super().__setstate__(state)
        for group in self.param_groups:
            group.update({**self.defaults, **group})
            for own in (self.state[p] for p in group["params"] if p in self.state):
                if isinstance(own.get("step"), (int, float)):
                    own["step"] = scalar(own["step"])
                if own.get("momentum_buffer", own) is None:  # PyTorch's before the first step
                    del own["momentum_buffer"]

    # -- what a rule may say -------------------------------------------------------------------

    def state_names(self, group: dict[str, Any]) -> tuple[str, ...]:
        """The names of the state's arrays in this group; with none, there is no state."""
        return self.arrays

    def begin(self, x: Any, group: dict[str, Any]) -> dict[str, Tensor]:
        """The new state of the parameter whose array is `x`."""
        return {"step": scalar(0), **{name: zeros(x) for name in self.state_names(group)}}

    def advance(self, own: dict[str, Any], group: dict[str, Any]) -> Any:
        """Count a step in a parameter's state; what its `numbers` depend on, here the count.

        Of a rule that is not `counted` they depend on whether the step is the parameter's first.
        """
        array = own["step"]._array
        np.add(array, 1, array)
        return array.item()

    def numbers(self, group: dict[str, Any], step: Any) -> tuple[Any, ...]:
        """The numbers of one step, alike where `advance` gave the same: settings, and of `step`."""
        raise NotImplementedError

    def by_entry(self, group: dict[str, Any]) -> bool:
        """Whether a sparse gradient moves its entries alone; if not, it counts as a dense one.

        Raises RuntimeError where the rule takes none, because it would move the others, too.
        """
        raise RuntimeError(
            f"{type(self).__name__} does not support sparse gradients, please consider SparseAdam "
            "instead; or make them dense: p.grad = p.grad.to_dense()"
        )

    @staticmethod
    def rule(x: Any, g: Any, state: list[Any], numbers: Any, group: dict[str, Any]) -> None:
        """Update the parameter `x` and its `state` in place from the gradient `g`."""
        raise NotImplementedError

    def _init_group(
        self, group: dict[str, Any], params: list[Tensor], grads: list[Any], *lists: list[Any]
    ) -> Any:
        """Fill lists for a step that a program writes: as those of the functions, in their order.

        Of what in a group has a gradient: the tensors, their gradients, their state, which is made
        where a step begins with it. Gives whether any is complex.
        """
        found = [(p, g) for p in group["params"] if (g := p._gradient) is not None]
        held = [p for p, _ in found]
        params += held
        grads += [g for _, g in found]
        for p in held if self.counted else ():
            self.state[p] = self.state[p] or self.begin(p._array, group)
        for (name, _), values in zip(self.lists, lists, strict=True):
            if name in self.state_names(group) or any(name in self.state[p] for p in held):
                values += [self.state[p].get(name) for p in held]
        return any(p.is_complex() for p in held)

    # -- the loop ------------------------------------------------------------------------------

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update every parameter that has a gradient; returns what `closure`, if given, returns.

        Raises RuntimeError, before anything is written, for a parameter that cannot be: one that
        was expanded or is read-only.
        """
        loss = None if closure is None else evaluate(closure)
        self._step()
        return loss

    def _step(self) -> None:
        name = f"{type(self).__name__}.step"
        calling = check_writable(self, name)
        for place, group in enumerate(self.param_groups):
            if group.get("differentiable") or place in calling:
                self._record(group)
                continue
            every = gathered(group["params"], self.state, self.state_names(group))
            try:
                calm(self._update, group, every)
            except ValueError:
                self._check_shapes(group, name)
                raise
            finally:  # meanwhile another thread may have dropped gradients
                wrote_all([one[0] for one in every], self.state, name)

    def _update(self, group: dict[str, Any], every: list[Any]) -> None:
        """One loop over what was gathered, with everything constant outside it: it is timed."""
        if isinstance(group["lr"], Tensor):
            group = {**group, "lr": _get_value(group["lr"])}
        names, run, more = self.state_names(group), self.rule, ()
        if group.get("maximize") or group.get("weight_decay"):
            run, more = directed(self, group)
        if self.elementwise:
            check_complete(self, every, names)
        stateful = names or self.counted
        steps = self._advanced(group, every, names) if stateful else [False] * len(every)
        if self.elementwise and are_small(every, FEW) and len({*steps}) == 1:
            every_number = (*more, *self.numbers(group, steps[0]))
            run_all(run, every, as_arrays(every[0][1].dtype, every_number), group)
            return
        small: list[Any] = []
        batches: list[Any] = []  # numbers, and small parameters that take them
        parted = FEW if within.step else BLOCK
        dtype: Any = None
        last: Any = None
        numbers: Any = None
        most: float = math.inf
        few: float = -1
        for one, step in zip(every, steps, strict=False):
            _, x, g, state = one
            if x.dtype is not dtype or step != last:
                dtype, last = x.dtype, step
                check_dtype(self, x, state)
                numbers = (*more, *self.numbers(group, step))
                if self.elementwise:
                    numbers = as_arrays(dtype, numbers)
                    whole = math.inf if group.get("complex") == "modulus" else -1
                    most, few = (whole, -1) if dtype.kind == "c" else (parted, FEW)
                small = []
                batches.append((numbers, small))
            if g.__class__ is not np.ndarray and not allocation.has_memory(g):
                self._update_entries(run, one, numbers, group)
            elif x.size <= few:
                small.append(one)
            elif x.size <= most or not allocation.has_values(x):
                run(x, g, state, numbers, group)
            elif not allocation.is_numpy(x):  # blocks are for caches of the CPU
                for part in pieces((x, g, *state), None):
                    run(part[0], part[1], part[2:], numbers, group)
            else:
                self._update_large(run, (x, g, *state), numbers, group)
        for numbers, some in batches:
            run_all(run, some, numbers, group)

    def _advanced(self, group: dict[str, Any], every: list[Any], names: Any) -> list[Any]:
        """Begin the states that are not there, and count the step in all; what `advance` gives."""
        firsts = [one[3] is None for one in every]
        if True in firsts:
            for place in compress(range(len(every)), firsts):
                p, x, g, _ = every[place]
                own = self.state[p]
                own.update(self.begin(x, group))
                every[place] = p, x, g, [own[n]._array for n in names if n in own]
        if not self.counted:
            return firsts
        if self.advance.__func__ is Rule.advance:  # type: ignore[attr-defined]
            return counted(every, self.state)
        return [self.advance(self.state[one[0]], group) for one in every]

    def _update_entries(self, run: Any, one: Any, numbers: Any, group: dict[str, Any]) -> None:
        """Update one parameter by a gradient that is sparse, or masked."""
        _, x, g, state = one
        if not allocation.has_memory(x):
            raise RuntimeError(
                f"{type(self).__name__} does not support sparse parameters. Let the values be the "
                "parameter, and make the sparse tensor of them: sparse_coo_tensor(indices, values)"
            )
        if allocation.has_class(g) or not self.by_entry(group):
            self._update_large(run, (x, g.dense(), *state), numbers, group)
            return
        g = g.merged()
        places = g.pattern.places(x)
        parts = [x[places], g.values, *[array[places] for array in state]]
        self._update_large(run, parts, numbers, group)
        for array, part in zip((x, *state), (parts[0], *parts[2:]), strict=True):
            array[places] = part

    def _update_large(self, run: Any, arrays: Any, numbers: Any, group: dict[str, Any]) -> None:
        """Update one large parameter: by a kernel, or in blocks."""
        flat = in_line(arrays)
        if flat is None or not updates.run(run, flat, numbers, group):
            for part in pieces(arrays, flat):
                run(part[0], part[1], part[2:], numbers, group)

    def _record(self, group: dict[str, Any]) -> None:
        """The same on tensors. The rule writes into copies, so that what it has saved stays."""
        run, more = directed(self, group)
        with modes.Changed(grad=bool(group.get("differentiable"))):
            for p in group["params"]:
                grad = p._gradient
                if grad is None:
                    continue
                names = self.state_names(group)
                own = self.state[p] if names else {}
                first = not own
                if first and names:
                    own.update(self.begin(p._array, group))
                step = self.advance(own, group) if self.counted else first
                check_dtype(self, p._array, [own[name]._array for name in names])
                numbers = as_tensors(p._array.dtype, (*more, *self.numbers(group, step)))
                made = []
                for part in real_attributes(p):
                    all_of = (p, *map(own.__getitem__, names))
                    x, *state = [getattr(t, part).clone() for t in all_of]
                    run(x, getattr(grad, part), state, numbers, group)
                    made.append((x, *state))
                x, *state = made[0]
                if len(made) > 1:
                    x, *state = (a + b * 1j for a, b in zip(*made, strict=True))
                p.copy_(x)
                own.update(zip(names, state, strict=True))

    def _check_shapes(self, group: dict[str, Any], name: str) -> None:
        """Raise RuntimeError where a gradient or a state has not the shape of its parameter."""
        names = self.state_names(group) if self.elementwise else ()
        for p in group["params"]:
            own = self.state.get(p, {})
            others = {"gradient": p._gradient, **{f"state {n!r}": own.get(n) for n in names}}
            for what, other in others.items():
                if other is not None and other.shape != p.shape:
                    raise RuntimeError(
                        f"{name}(): output with shape {list(p.shape)} doesn't match the broadcast "
                        f"shape {list(other.shape)} of its {what}. The parameter got another shape "
                        "since: optimizer.zero_grad(), and for the state make a new optimizer"
                    )


def check_complete(optimizer: Rule, every: list[Any], names: tuple[str, ...]) -> None:
    """Raise KeyError where the state of parameters lacks one of the names."""
    for p, _, _, state in every:
        if state is not None:
            if len(state) < len(names):
                raise KeyError(
                    f"{type(optimizer).__name__}.step: the state has {[*optimizer.state[p]]}, not "
                    f"all of {[*names]}. A setting was changed after the first step: make a new "
                    "optimizer"
                )
            return


def check_dtype(optimizer: Rule, x: Any, state: Any) -> None:
    """Raise RuntimeError for the state of a parameter that has got another dtype since."""
    if optimizer.one_dtype and state[0].dtype != x.dtype:
        raise RuntimeError(
            f"{type(optimizer).__name__}.step: expected dtype {state[0].dtype} but got dtype "
            f"{x.dtype}. The parameter was cast after a step: optimizer.load_state_dict("
            "optimizer.state_dict()) casts its state, too"
        )


def directed(optimizer: Rule, group: dict[str, Any]) -> tuple[Callable[..., None], tuple[Any, ...]]:
    """The rule after `maximize` and `weight_decay`; and the numbers it takes before the rule's."""
    decays = optimizer.elementwise and "weight_decay" in optimizer.defaults
    decay = group.get("weight_decay", 0) if decays else 0
    decoupled = bool(decay and group.get("decoupled_weight_decay"))
    run = after(optimizer.rule, bool(group.get("maximize")), bool(decay), decoupled)
    return run, (1 - group["lr"] * decay if decoupled else decay,)


@lru_cache(256)
def after(rule: Any, maximize: bool, decay: bool, decoupled: bool) -> Callable[..., None]:
    """The function that is `directed`; always the same one, which may have kernels."""

    def run(x: Any, g: Any, state: list[Any], numbers: Any, group: dict[str, Any]) -> None:
        shrink, *numbers = numbers
        if maximize:
            g = -g
        if decoupled:
            x *= shrink
        elif decay:
            g = g + (x if is_array(x) else x.clone()) * shrink  # the rule overwrites x
        rule(x, g, state, numbers, group)

    run.after, run.__module__ = rule, rule.__module__  # type: ignore[attr-defined]
    return run


def run_all(run: Any, some: list[Any], numbers: list[Any], group: dict[str, Any]) -> None:
    """Update small parameters, which take the same numbers."""
    if within.step and some and some[0][3]:  # without state a rule is a call or two of NumPy's
        _, x, g, state = some[0]
        run = updates.by_kernel(run, (x, g, *state), numbers, group)
    for start in range(0, len(some), TOGETHER):
        run_each(run, some[start : start + TOGETHER], numbers, group)


def real_attributes(x: Any) -> tuple[str, ...]:
    """The attributes by which real numbers of `x` are reached: its two parts if it is complex."""
    return ("real", "imag") if np.iscomplexobj(x) else ("real",)


def in_line(arrays: Any) -> list[Any] | None:
    """A parameter, its gradient and its state as flat arrays of real numbers.

    None where they have not one shape, which NumPy broadcasts, or says that it cannot; and where
    one is not in rows.
    """
    x, g, *state = arrays
    flat = [x, in_rows(g), *state]
    plain = all(array.flags.c_contiguous for array in flat)
    if not plain or any(array.shape != x.shape for array in arrays):
        return None
    return [array.reshape(-1).view(real_of(array.dtype)) for array in flat]


def pieces(arrays: Any, flat: list[Any] | None) -> Iterator[list[Any]]:
    """The arrays of an update, part by part or in blocks: NOTE [Update rules], 3."""
    if flat is None:
        for part in real_attributes(arrays[0]):
            yield [getattr(array, part) for array in arrays]
        return
    for start in range(0, flat[0].size, BLOCK):
        yield [array[start : start + BLOCK] for array in flat]


updates = Updates()


def _array(given: Any, dtype: Any) -> Any:
    """A setting's number; TypeError for what is none, which NumPy might take for NaN or a row."""
    if allocation.is_traced(given):
        return given.astype(dtype)
    found = _get_value(given)
    if not isinstance(found, (float, int, np.number)):
        raise TypeError(f"settings of a step must be numbers, but got {type(found).__name__}")
    return np.array(found, dtype)


def as_arrays(dtype: np.dtype[Any], numbers: tuple[Any, ...]) -> list[Any]:
    """Numbers as 0-d arrays: NOTE [Update rules], 4."""
    return in_arrays(numbers, real_of(dtype), _array)


def as_tensors(dtype: np.dtype[Any], numbers: tuple[Any, ...]) -> list[Tensor]:
    """The numbers of a step as tensors; one that is a tensor may have a history."""
    pairs = zip(numbers, as_arrays(dtype, numbers), strict=True)
    return [n.squeeze() if isinstance(n, Tensor) else new_tensor(array) for n, array in pairs]


def spare(t: Any) -> Any:
    """The memory for a result that replaces `t`: that of `t`, but None for what records."""
    return t if is_array(t) else None


def evaluate(closure: Callable[[], Any]) -> Any:
    """What `closure` returns, run with gradients on."""
    with modes.Changed(grad=True):
        return closure()


def check_writable(optimizer: Optimizer, name: str, every: bool = False) -> list[int]:
    """Raise RuntimeError where a parameter with a gradient, or `every` one, cannot be written.

    Who keeps what is overwritten is told. Gives the groups whose arrays carry out ops themselves.
    """
    calling: list[int] = []
    watched = modes.special or modes.inference_seen
    for place, group in enumerate(optimizer.param_groups):
        if all_plain(group["params"]) and not watched:
            continue
        for p in group["params"]:
            if allocation.has_class(p._array):
                calling.append(place)
            if every or p._gradient is not None:
                check_memory(p._array, name)
                for tensor in (p, *optimizer.state.get(p, {}).values()):
                    if watched and isinstance(tensor, Tensor):
                        about_to_write(tensor)
    return calling


def zeros(x: Any) -> Tensor:
    """New state of the shape, dtype and layout of the array `x`."""
    if allocation.has_class(x):
        return recorded.zeros_like(tensor_of(x))
    by_rows = allocation.is_numpy(x) and x.flags.c_contiguous
    return new_tensor(allocation.zeros(x, x.shape) if by_rows else np.zeros_like(x))


def conj(g: Any, group: dict[str, Any]) -> Any:
    """The factor that makes g a square: g, or its conjugate where a complex number is one.

    `v += g * take * conj(g, group)`: a share of a square may be finite where the square is not.
    """
    return g.conj() if group.get("complex") == "modulus" else g


def filled_like(x: Any, value: float, group: dict[str, Any]) -> Tensor:
    """A tensor like `x` of one value; of a complex `x` in both parts, if its parts are apart."""
    whole = x.dtype.kind != "c" or group.get("complex") == "modulus"
    every = value if whole else value * (1 + 1j)
    if isinstance(value, Tensor) or allocation.has_class(x):
        return zeros(x) + every
    return new_tensor(np.full_like(x, every))


def scalar(value: Any) -> Tensor:
    """A number in a state, such as the count of the steps; a copy of one in a tensor."""
    if isinstance(value, Tensor):
        return value.squeeze().clone()
    return new_tensor(np.full((), value, default_numpy()))


def settings(arguments: dict[str, Any], first: str = "") -> dict[str, Any]:
    """The defaults of the groups: the arguments of an `__init__`, its `locals()` when it begins.

    Those named in `first` come first, where PyTorch's groups have another order than its arguments.
    """
    found = {n: value for n, value in arguments.items() if n not in ("self", "params", "__class__")}
    return {**{name: found[name] for name in first.split()}, **found}


def check_single(lr: Any) -> None:
    """Raise ValueError for a learning rate that is a tensor of several elements, or of none."""
    if isinstance(lr, Tensor) and lr._array.size != 1:
        raise ValueError("Tensor lr must be 1-element")


def check_settings(**values: Any) -> None:
    """Raise ValueError for a negative setting, as PyTorch words it; TypeError for a text."""
    names = {"lr": "learning rate", "eps": "epsilon value"}
    check_single(values.get("lr"))
    for name, value in values.items():
        if isinstance(value, str):
            raise TypeError(f"{name} must be a number, not {value!r}")
        if not value >= 0.0:
            raise ValueError(f"Invalid {names.get(name, name + ' value')}: {value}")


def check_complex(complex: str, differentiable: bool) -> None:
    """Raise ValueError for another `complex` than "split" and "modulus", and "modulus" recorded."""
    if complex not in ("split", "modulus"):
        raise ValueError(f"complex must be 'split' or 'modulus', got {complex!r}")
    if differentiable and complex == "modulus":
        raise ValueError("complex='modulus' records no steps: pass differentiable=False")


def check_betas(betas: Any) -> None:
    """Raise ValueError for one of two rates of averages that is not in [0, 1)."""
    for index in (0, 1):
        if not 0.0 <= betas[index] < 1.0:
            raise ValueError(f"Invalid beta parameter at index {index}: {betas[index]}")
