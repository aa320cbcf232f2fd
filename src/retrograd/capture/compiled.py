"""A function that is recorded at its first call, and replayed where its guards hold."""

from __future__ import annotations

import copy
import itertools
import sys
import warnings
import weakref
from functools import partial
from typing import Any, NamedTuple

from .. import dtypes, modes, providers, pytree
from ..compiler.door import Recent
from ..engine.tensor import Tensor
from ..engine.trace import users_level
from ..engine.views import live_views
from ..kernels.native import loops as in_c
from ..modes import warn_once
from ..quiet import calm
from .asked import Bail, Turned, mentions, unasked
from .explaining import Listing, Rows
from .guards import Guards
from .kinds import changeable
from .loops.storages import bounds
from .past import Past, past_of
from .program import NATIVE, Unclear, program
from .recording import Recording
from .steps import Effect, Truth
from .watch import Watch

__all__ = ["Compiled", "every", "setting"]

MOST = 8  # recordings of one function
SIZES = 64  # in all, if some differ from others in nothing but the sizes of arguments
LATER = 32  # calls with new sizes, before they are recorded beside MOST others
TRIES = 3  # recordings that come to nothing, before a function is left alone
TOO_MANY = (
    "{name} was recorded {count} times, and each call is of another kind; it runs as it is from "
    "now on where none fits. What changed last: {about}. Give compile() a function that reads less"
)
STANCE = "{name} would be recorded anew, which fail_on_recompile forbids. What changed: {about}"
NO_GRAPH = (
    "a backend of your own gets graphs without changes, random numbers and branches on values"
)
NOT_WHOLE = "{name} cannot be captured as a whole, as fullgraph=True asks: {reason}"


class Variant(NamedTuple):
    """One recording of a function: when it may be replayed, and the replay.

    It is `resized` if an older one differs from it in nothing but sizes.
    """

    check: Any
    replay: Any
    guards: Guards
    listing: Listing
    resized: bool


class Setting:
    """What steers all compiled functions.

    `native` says whether programs have native parts; tests turn them off, to compare bits. `stance`
    is one of `torch.compiler.set_stance`.
    """

    native = True
    stance = "default"

    def __init__(self) -> None:
        self.recording: set[int] = set()  # the threads that record


setting = Setting()


every: weakref.WeakSet[Compiled] = weakref.WeakSet()


class Compiled:
    """A function that does again what it did before, where all is as it was."""

    def __init__(
        self, function: Any, fullgraph: bool = False, most: int | None = None, backend: Any = None
    ) -> None:
        self.function, self.fullgraph = function, fullgraph
        self.backend = backend  # the user's, which gets the graph of a call, if there is one
        self.most = most  # recordings, if not as many as usual; 0: the function runs as it is
        self.forms: dict[Any, Any] = {}  # of loops
        self.waiting = Recent()  # sizes that are not recorded, and how often they were met
        self.called = False
        self.others: list[Variant] | None = None  # while `explain` calls: those from before
        every.add(self)
        self.variants: list[Variant] = []
        self.reasons: list[str] = []  # why calls were not captured

    def __deepcopy__(self, memo: dict[int, Any]) -> Compiled:
        return Compiled(copy.deepcopy(self.function, memo), self.fullgraph, self.most, self.backend)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """What the function gives."""
        state = modes.state
        if setting.stance != "default" and not self.goes_on(args, kwargs):
            return self.function(*args, **kwargs)
        for variant in self.variants:
            if variant.check(args, kwargs, state):
                try:
                    return variant.replay(args, kwargs)
                except Turned as turned:
                    place = turned.args[0]
                except Bail:
                    break
                return self.turned([variant], place, args, kwargs)
        else:
            if may_record(state) and self.wants_more(args, kwargs):
                return self.record(args, kwargs)
        return self.function(*args, **kwargs)

    def turned(self, tried: list[Variant], place: int, args: Any, kwargs: Any) -> Any:
        """What the function gives where its branch at a place goes another way than in a recording.

        That is another recording, which has gone the same way up to there, or is made now. Those
        that were `tried`, the last of which it is, are not tried again.
        """
        ways = (*tried[-1].listing.ways[:place], not tried[-1].listing.ways[place])
        for other in self.variants:
            if (
                other.listing.ways[: place + 1] == ways
                and all(other is not each for each in tried)
                and other.check(args, kwargs, modes.state)
            ):
                try:
                    found = other.replay(args, kwargs)
                except Turned as turned:
                    place = turned.args[0]
                except Bail:
                    break
                else:
                    self.variants = [other, *[v for v in self.variants if v is not other]]
                    return found
                return self.turned([*tried, other], place, args, kwargs)
        else:
            most = MOST if self.most is None else self.most
            fixed = setting.stance.endswith("on_recompile") or len(self.reasons) >= TRIES
            if not fixed and len(self.variants) < most and may_record(modes.state):
                return self.record(args, kwargs)
        return self.function(*args, **kwargs)

    def goes_on(self, args: Any, kwargs: Any) -> bool:
        """Whether a call is replayed or recorded in the present stance, which may be an error."""
        first, self.called = not self.called, True
        if setting.stance == "force_eager":
            return False
        if setting.stance.endswith("then_compile"):
            return not first
        known = not self.variants or any(v.check(args, kwargs, modes.state) for v in self.variants)
        if setting.stance == "fail_on_recompile" and not known:
            about = self.variants[-1].guards.failing(args, kwargs, modes.state)
            raise RuntimeError(STANCE.format(name=self.name(), about=about))
        return known

    def timed(self, call: Any) -> None:
        """Make a call that is recorded, with times, in place of what would be replayed."""
        self.others, self.variants = self.variants, []
        try:
            call()
        finally:
            self.variants, self.others = [*self.others, *self.variants], None

    def reset(self) -> None:
        """Forget all recordings."""
        self.variants.clear()
        self.reasons.clear()
        self.forms.clear()
        self.waiting.clear()
        self.called = False

    def wants_more(self, args: Any, kwargs: Any) -> bool:
        """Whether one more call is to be recorded; warns when there are too many kinds of calls.

        Sizes are no kinds: beside MOST recordings, those that are met often are recorded, too.
        """
        most, in_all = (MOST, SIZES) if self.most is None else (self.most, self.most)
        if len(self.reasons) >= TRIES or not most:
            return False
        count, resized = len(self.variants), self.resized(args, kwargs)
        if count < in_all:
            if count < most or (not resized and sum(not v.resized for v in self.variants) < most):
                return True
            if resized:
                sizes = [t.shape for t in pytree.flatten((args, kwargs)) if isinstance(t, Tensor)]
                met = self.waiting.get_or_make(tuple(sizes), lambda: [0])
                met[0] += 1
                return bool(met[0] > LATER)
        about = self.variants[-1].guards.failing(args, kwargs, modes.state)
        text = TOO_MANY.format(name=self.name(), count=count, about=about)
        warn_once(text, users_level() + 1)
        return False

    def resized(self, args: Any, kwargs: Any) -> bool:
        """Whether a call differs from a recorded one in nothing but the sizes of arguments."""
        return any(v.check(args, kwargs, modes.state, True) for v in self.variants)

    def record(self, args: Any, kwargs: Any) -> Any:
        """Run the function truly, and keep what it does."""
        resized = self.resized(args, kwargs)
        recording, guards = Recording(), Guards()
        fits = [v for v in self.others or () if v.check(args, kwargs, modes.state)]
        watch = Watch(recording, guards)
        owner = getattr(self.function, "__self__", self.function)
        watch.outer[id(owner)] = owner
        enter(recording, guards, watch, args, kwargs)
        grad = modes.state.grad
        setting.recording.add(recording.thread)
        before = modes.change(watchers=(recording,), before_write=recording.before_write)
        in_c.set_watch(watch.begins, watch.known, warnings.warn)
        try:
            result = watch.told.call(self.function, *args, **kwargs)
            parts = [*map(id, changeable(result))]
            if len({*parts}) < len(parts) or not watch.outer.keys().isdisjoint(parts):
                recording.stop("a list or dictionary from outside is returned, or one twice")
            guards.open = guards.late
            pasts = past_of(recording, result)
        except BaseException as error:
            recording.stop("an exception ends the call")
            if mentions(error.args):
                error.args = unasked(error.args)
            recording.release()
            raise
        finally:
            sys.setprofile(None)
            setting.recording.discard(recording.thread)
            after = modes.state.grad
            modes.restore({**before, "grad": after})
            recording.settle()
            unasked(recording.kept, in_place=True)
        if after is not grad:
            recording.stop("grad mode is another one afterwards")
        called = partial(self.replayed, recording, result, pasts, args, kwargs)
        kept = self.keep(recording, watch, result, called, resized)
        recording.forget()
        if kept:
            self.others = self.others and [v for v in self.others if v not in fits]
            if self.backend:
                return self.variants[-1].replay(args, kwargs)
        del called
        result = unasked(result, in_place=True)
        recording.release()
        return result

    def replayed(
        self, recording: Recording, result: Any, pasts: list[Past], args: Any, kwargs: Any
    ) -> Any:
        """What does a recorded call again, its rows, and the kinds of the nodes of its results."""
        if not self.backend:
            given = recording, result, pasts, setting.native, self.forms
            return calm(program, *given, self.others is not None)
        if recording.lasting or any(isinstance(s, (Truth, Effect)) for s in recording.steps):
            raise Unclear(NO_GRAPH)
        replay, text = providers.service("backends").by_backend(
            self.backend, self.function, args, kwargs, result
        )
        return replay, Listing(Rows([]), Rows([]), text, ()), ()

    def keep(
        self, recording: Recording, watch: Watch, result: Any, replayed: Any, resized: bool
    ) -> bool:
        """Keep the replay of a recording, or note why there is none; whether there is one."""
        guards = watch.guards
        recording.check_roots()
        reason = recording.stopped
        if reason is None and not apart(recording.roots):
            reason = "tensors from outside share memory"
        if reason is None:
            try:
                replay, listing, kinds = replayed()
            except Unclear as error:
                reason = str(error)
        if reason is None:
            guards.open = guards.conditions
            guard_roots(recording, guards)
            check = forward = guards.check(guards.conditions | guards.late)
            if guards.late:
                forward = guards.check(guards.conditions)
            self.variants.append(Variant(check, replay, guards, listing, resized))
            lasts = bool(recording.lasting)
            for kind in kinds:
                kind.again = partial(once_more, self.function, forward, lasts)
                kind.reads = guards.check(guards.late) if guards.late else None
            return True
        self.reasons.append(reason)
        if self.fullgraph:
            raise RuntimeError(NOT_WHOLE.format(name=self.name(), reason=reason))
        return False

    def name(self) -> str:
        """What the function is called."""
        return getattr(self.function, "__qualname__", type(self.function).__name__)


def once_more(function: Any, check: Any, lasts: bool, args: Any, kwargs: Any) -> tuple[str, Any]:
    """Why a function cannot run again, or ""; and what it gives."""
    if lasts:
        return "it draws numbers, or changes something", None
    if not check(args, kwargs, modes.state):
        return "what it reads is another one now", None
    return "", function(*args, **kwargs)


def may_record(state: Any) -> bool:
    """Whether a call may be recorded: no other mode, and no profiler."""
    return (
        NATIVE
        and state.kind <= modes.UNRECORDED
        and state.before_write is None
        and not state.function_modes
        and not state.nested
        and sys.getprofile() is None
    )


def enter(recording: Recording, guards: Guards, watch: Watch, args: Any, kwargs: Any) -> None:
    """Let the arguments of a call be known, and what state it is in."""
    state = modes.state
    guards.add(f"modes.kind == {state.kind}", "grad mode")
    guards.add(
        "modes.before_write is None and not modes.nested and not modes.function_modes", "modes"
    )
    guards.names["default"] = dtypes
    guards.add(
        f"default.default_numpy() is {guards.name(dtypes.default_numpy())}", "the default dtype"
    )
    guards.add(f"len(args) == {len(args)} and list(kwargs) == {list(kwargs)!r}", "the arguments")

    def argument(read: str, tensor: Tensor) -> None:
        known = recording.numbers.get(id(tensor))
        if known is not None:
            guards.add(f"{read} is {recording.origins[known][1]}", read)
            return
        recording.root(tensor, ("argument", read))
        guards.add(f"{read}.__class__ is {guards.name(type(tensor))}", f"the class of {read}")

    guards.argument = argument
    for i, value in enumerate(args):
        watch.seen(f"args[{i}]", value, f"args[{i}]")
    for key, value in kwargs.items():
        watch.seen(f"kwargs[{key!r}]", value, f"kwargs[{key!r}]")
    guards.argument = None


def guard_roots(recording: Recording, guards: Guards) -> None:
    """Let the tensors that were there be as they were, and apart as they were."""
    reads = [
        where if kind == "argument" else guards.name(where) for kind, where in recording.origins
    ]
    for read, root, facts in zip(reads, recording.roots, recording.facts, strict=True):
        guards.tensor(read, root, facts, id(root) in recording.gradients)
    if any(kind == "argument" for kind, _ in recording.origins) and len(reads) > 1:
        ids = ", ".join([f"id({read})" for read in reads])
        guards.add(f"len({{{ids}}}) == {len(reads)}", "which tensors are one")
    if recording.overwritten or recording.written:
        guards.names |= {"apart": apart, "live_views": live_views}
        guards.add(f"apart([{', '.join(reads)}])", "memory that tensors share")
        for number in recording.written:
            guards.add(
                f"{reads[number]}._view_of is None and not live_views({reads[number]})",
                "views of what is written",
            )


def apart(tensors: Any) -> bool:
    """Whether no two tensors share memory."""
    ranges = sorted(bounds(t._array) for t in tensors)
    return all(a[1] <= b[0] for a, b in itertools.pairwise(ranges))
