"""A group of processes, as one of them sees it: checked exchanges of arrays.

NOTE [Worlds]
1. Before a collective moves data, the ranks compare what they are about to do: the number of the
   call in the group, its name with its source or op, dtype and shape. Where these differ, all ranks
   learn who does what, and raise. A message carries the same ahead of its data.
2. What goes wrong in an exchange breaks the group: all its ranks are told why, and later calls
   raise the same. That is a rank that died, or left the group, before it did its part; one that is
   too late; other calls than expected; and an exception amid an exchange. A message that is on its
   way when its rank leaves has a moment to come; a collective may go on without a rank that left
   after its part, since data may come by way of others.
3. A reduction that MPI does not know, as one of bfloat16, and every one where the program asks for
   deterministic algorithms, is added up in the order of ranks, each rank a part of it.
   Reductions give the same bits on all ranks.
4. Ranks are numbers in the group of all, in every group; a transport's are those in the group. A
   process alone has none.
5. A forked child has no part in its parent's groups.

This module knows arrays, not tensors.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from .... import modes
from ....quiet import quietly
from .connections import DistNetworkError
from .progress import Exchange, Lane, apart, unless_done

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .progress import Steps
    from .watch import Watch

__all__ = ["World"]

HEAD, DATA, DOOR = range(3)  # tags
WIDTH = 1024  # bytes of what ranks say of a call
GRACE = 0.5  # seconds that data may take to come from a rank that has left
NARROW = 2  # bytes of floats that are added up in float32
ABANDONED: list[Any] = []  # requests of broken groups, whose arrays MPI may still write


def collective(steps: Callable[..., Steps]) -> Callable[..., Any]:
    """A call that carries out steps, with the options of `World.do`."""

    @functools.wraps(steps)
    def called(world: World, call: str, *args: Any, **options: Any) -> Any:
        return world.do(call, steps(world, call, *args), **options)

    return called


class World:
    """The ranks of a group, this one among them, and what goes on between them."""

    def __init__(
        self,
        rank: int,
        ranks: Sequence[int],
        transport: Any,  # an `MPITransport`; None for a process alone
        timeout: float,
        name: str = "",
        watch: Watch | None = None,
    ) -> None:
        self.rank, self.ranks, self.timeout = rank, tuple(ranks), timeout
        self.size, self.number = len(self.ranks), self.ranks.index(rank)
        self.peers = [other for other in self.ranks if other != rank]
        self.transport = transport
        self.name, self.watch = name, watch
        self.broken, self.begun, self.made = "", 0, 0
        self._pid, self._lane = os.getpid(), Lane()
        self._lanes = {(peer, sends): Lane() for peer in self.peers for sends in (True, False)}
        if watch is not None:
            watch.enter(self)

    # -- calls -----------------------------------------------------------------------------------

    def do(
        self,
        call: str,
        steps: Steps,
        then: Callable[[Any], Any] | None = None,
        *,
        seconds: float | None = None,
        beside: bool = False,
    ) -> Any:
        """What `then` makes of the result of a collective; its future, if it goes on `beside`."""
        return self._started(self._lane, call, steps, self.peers, then, seconds, beside)

    def send(self, rank: int, call: str, *arrays: Any, beside: bool = False) -> Any:
        """Send arrays to a rank that receives them in `call`."""
        steps = self._sent(rank, call, arrays)
        return self._started(self._lanes[rank, True], call, steps, [rank], None, None, beside)

    def receive(
        self,
        rank: int,
        call: str,
        steps: Steps,
        then: Callable[[Any], Any] | None = None,
        *,
        beside: bool = False,
    ) -> Any:
        """What a rank sends in `call`: steps that are made of `came`."""
        return self._started(self._lanes[rank, False], call, steps, [rank], then, None, beside)

    def _started(
        self,
        lane: Lane,
        call: str,
        steps: Steps,
        needs: Sequence[int],
        then: Callable[[Any], Any] | None,
        seconds: float | None,
        beside: bool,
    ) -> Any:
        self.check()
        counted = lane is self._lane
        exchange = Exchange(self, call, steps, needs, then, seconds, counted=counted)
        return exchange.begin(lane) if beside else exchange.wait(lane)

    def first_to_send(self, call: str) -> int:
        """A rank of which something has come, once there is one; some may have ended."""
        self.check()
        steps = self._first()
        found: int = Exchange(self, call, steps, self.peers, any_of=True).wait(Lane())
        return found

    def settle(self) -> None:
        """Wait for the collectives under way."""
        if self._pid == os.getpid():
            unless_done(self._lane)

    # -- steps of messages -----------------------------------------------------------------------

    def _sent(self, rank: int, call: str, arrays: Sequence[Any]) -> Steps:
        to = self.ranks.index(rank)
        requests = []
        for array in arrays:
            data = np.asarray(array, order="C")
            requests.append(self.transport.send(_said([call, *_kind(data)]), to, HEAD))
            if data.size:
                requests.append(self.transport.send(data, to, DATA))
        yield from requests

    def came(self, rank: int, call: str, like: Any) -> Steps:
        """The array, of the shape and dtype of `like`, that a rank sends."""
        source, head = self.ranks.index(rank), np.empty(WIDTH, np.uint8)
        yield self.transport.receive(head, source, HEAD)
        theirs, *kind = _heard(head)
        if theirs != call:
            self.fail(f"rank {rank} calls {theirs} where rank {self.rank} calls {call}")
        if kind != _kind(like):
            self.fail(f"{call}: {_unlike(rank, kind, self.rank, _kind(like))}")
        found = np.empty(like.shape, like.dtype)
        if found.size:
            yield self.transport.receive(found, source, DATA)
        return found

    def _first(self) -> Steps:
        found: list[int] = []

        def asked() -> bool:
            number = self.transport.probe(HEAD)
            if number is not None:
                found.append(number)
            return bool(found)

        yield asked
        return self.ranks[found[0]]

    # -- steps of collectives --------------------------------------------------------------------

    def agreed(self, call: str, like: Any) -> Steps:
        """All ranks are here, and do the same to arrays of one kind."""
        self.begun += 1
        if self.size == 1:
            return
        mark = _mark(call, *_kind(like)) ^ self.begun
        marks = np.array([mark, ~mark])
        yield self.transport.all_reduce(marks, "maximum")
        if marks[0] != ~marks[1]:  # the largest is not the smallest
            own = _said([self.begun, call, *_kind(like)])
            found = np.empty((self.size, WIDTH), np.uint8)
            yield self.transport.all_gather(own, found)
            self._differ([*map(_heard, found)])

    def _differ(self, calls: list[Any]) -> NoReturn:
        first = max(calls, key=calls.count)  # what most do
        theirs = next(call for call in calls if call != first)
        one, other = self.ranks[calls.index(first)], self.ranks[calls.index(theirs)]
        (number, call, *kind), (their_number, their_call, *their_kind) = first, theirs
        if call != their_call or number != their_number:
            self.fail(
                f"rank {other} calls {their_call} where rank {one} calls {call}: their calls "
                f"{their_number} and {number} of this group"
            )
        self.fail(f"{call}: {_unlike(other, their_kind, one, kind)}")

    @collective
    def barrier(self, call: str) -> Steps:
        """Nothing, once all ranks are here."""
        yield from self.agreed(call, np.empty(0))

    @collective
    def all_reduce(self, call: str, array: Any, name: str, in_place: bool = True) -> Steps:
        """The arrays of all ranks joined by NumPy's name of how; `in_place` where that can be."""
        yield from self.agreed(call, array)
        total = _plain(array) if in_place else array.copy("C")
        if self._in_order(total.dtype, name):
            count = -(-total.size // self.size)
            parts = np.zeros((self.size, count), total.dtype)
            parts.reshape(-1)[: total.size] = total.reshape(-1)
            own = yield from self._added(parts, name)
            yield self.transport.all_gather(own, parts)
            total.reshape(-1)[...] = parts.reshape(-1)[: total.size]
        elif total.size and self.peers:
            yield self.transport.all_reduce(total, name)
            self._mean(total, name)
        return total

    @collective
    def reduce_scatter(self, call: str, given: Any, shape: Any, name: str) -> Steps:
        """This rank's one of the arrays that are given for all, each of a shape, joined."""
        parts = np.reshape(given, (self.size, *shape))
        yield from self.agreed(call, parts)
        if self._in_order(parts.dtype, name):
            return (yield from self._added(parts, name))
        data = np.asarray(parts, order="C")
        total = np.array(data[0])
        if total.size and self.peers:
            yield self.transport.reduce_scatter(data, total, name)
            self._mean(total, name)
        return total

    @collective
    def broadcast(self, call: str, source: int, array: Any) -> Steps:
        """The array of rank `source`; in place where that can be."""
        yield from self.agreed(call, array)
        data = _plain(array)
        if data.size and self.peers:
            yield self.transport.broadcast(data, self.ranks.index(source))
        return data

    @collective
    def all_gather(self, call: str, array: Any, out: Any = None) -> Steps:
        """The arrays of all ranks, stacked."""
        yield from self.agreed(call, array)
        found = np.empty((self.size, *array.shape), array.dtype) if out is None else _plain(out)
        if not self.peers:
            found.reshape(-1)[...] = array.reshape(-1)
        elif array.size:
            yield self.transport.all_gather(np.asarray(array, order="C"), found)
        return found

    @collective
    def fill(self, call: str, array: Any, counts: Sequence[int]) -> Steps:
        """An array of which each rank has so many elements, one behind the other; in place."""
        yield from self.agreed(f"{call} {[*counts]}", array)
        if array.size and self.peers:
            yield self.transport.fill(array, counts)
        return array

    @collective
    def gather(self, call: str, to: int, array: Any) -> Steps:
        """The arrays of all ranks in their order, at rank `to`; elsewhere none."""
        yield from self.agreed(call, array)
        here, nothing = self.rank == to, np.empty(0, array.dtype)
        parts = [array if rank == to else nothing for rank in self.ranks]
        places = [np.empty_like(array, order="C") if here else nothing for _ in self.ranks]
        yield from self._exchanged(parts, places)
        return places if here else []

    @collective
    def scatter(self, call: str, source: int, parts: Sequence[Any], like: Any) -> Steps:
        """This rank's one of the arrays of rank `source`, of the shape and dtype of `like`."""
        yield from self.agreed(call, like)
        nothing, own = np.empty(0, like.dtype), np.empty(like.shape, like.dtype)
        places = [own if rank == source else nothing for rank in self.ranks]
        yield from self._exchanged(parts or [nothing] * self.size, places)
        return own

    @collective
    def all_to_all(self, call: str, parts: Sequence[Any], like: Sequence[Any]) -> Steps:
        """What each rank has for this one, of the shapes and dtypes of `like`."""
        yield from self.agreed(call, np.empty(0))
        heads = np.empty((self.size, WIDTH), np.uint8)
        yield from self._exchanged([_said(_kind(part)) for part in parts], [*heads])
        complaints = [
            f"{call}: {_unlike(rank, kind, self.rank, _kind(place))}"
            for rank, kind, place in zip(self.ranks, map(_heard, heads), like, strict=True)
            if kind != _kind(place)
        ]
        own = _said("".join(complaints[:1]))
        said = np.stack([own] * self.size)
        if self.peers:
            yield self.transport.all_gather(own, said)
        if found := next(filter(None, map(_heard, said)), None):
            self.fail(found)
        places = [np.empty(place.shape, place.dtype) for place in like]
        yield from self._exchanged(parts, places)
        return places

    @collective
    def texts(self, call: str, parts: Sequence[bytes]) -> Steps:
        """The bytes that each rank has for this one."""
        yield from self.agreed(call, np.empty(0))
        lengths = np.empty((self.size, 1), np.int64)
        yield from self._exchanged([np.array([len(part)]) for part in parts], [*lengths])
        places = [np.empty(length, np.uint8) for length in lengths[:, 0]]
        yield from self._exchanged([np.array(memoryview(part)) for part in parts], places)
        return [*map(bytes, places)]

    def _exchanged(self, parts: Sequence[Any], places: Sequence[Any]) -> Steps:
        """Fill the places, all contiguous, with what each rank has for this one."""
        places[self.number][...] = parts[self.number]
        if self.peers:
            yield self.transport.all_to_all([*map(np.ascontiguousarray, parts)], places)

    def _in_order(self, dtype: Any, name: str) -> bool:
        asked: bool = modes.determinism.enabled
        return self.size > 1 and (asked or not self.transport.reduces(dtype, name))

    def _added(self, parts: Any, name: str) -> Steps:
        """This rank's part of a reduction in the order of ranks."""
        found = np.empty_like(parts, order="C")
        yield from self._exchanged(parts, [found[number, ...] for number in range(self.size)])
        return self._joined(found, name)

    @quietly
    def _joined(self, arrays: Any, name: str) -> Any:
        narrow = arrays.dtype.itemsize <= NARROW and arrays.dtype.kind not in "iub"
        total = arrays[0, ...].astype(np.float32 if narrow else arrays.dtype)
        for other in arrays[1:]:
            getattr(np, "add" if name == "mean" else name)(total, other, out=total)
        self._mean(total, name)
        return total.astype(arrays.dtype)

    def _mean(self, total: Any, name: str) -> None:
        if name == "mean":
            np.divide(total, self.size, out=total, casting="same_kind")

    # -- groups of some of the ranks -------------------------------------------------------------

    def within(self, ranks: Sequence[int], timeout: float) -> World:
        """A group of some of the ranks, this one among them; all of them call this."""
        self.check()
        self.made += 1
        name = f"{self.name}/{'_'.join(map(str, ranks))}"
        if len(ranks) == 1:
            return World(self.rank, ranks, None, timeout, name)
        others = [rank for rank in ranks if rank != self.rank]
        call = f"new_group {[*ranks]}"
        made = Exchange(self, call, self._split(ranks), others, None, timeout)
        number, split = made.wait(Lane())
        return World(self.rank, ranks, split, timeout, f"{name}#{number}", self.watch)

    def _split(self, ranks: Sequence[int]) -> Steps:
        """Once all ranks of a group are here, the number of its first one for it, and its own."""
        first, *others = numbers = [self.ranks.index(rank) for rank in ranks]
        number = np.array([self.made])
        if self.rank == ranks[0]:
            for other in others:
                yield self.transport.receive(np.empty_like(number), other, DOOR)
            for other in others:
                yield self.transport.send(number, other, DOOR)
        else:
            yield self.transport.send(number, first, DOOR)
            yield self.transport.receive(number, first, DOOR)
        split = yield from apart(functools.partial(self.transport.split, numbers))
        return int(number[0]), split

    # -- what goes wrong -------------------------------------------------------------------------

    def check(self) -> None:
        """Raise what broke the group, or that this process is not in it."""
        if self._pid != os.getpid():
            self.broken = (
                f"a process that was forked from rank {self.rank} is not in its group. Start "
                "processes with the method 'spawn', and let each call init_process_group"
            )
        if self.broken:
            raise DistNetworkError(self.broken)

    def look(self, exchange: Exchange) -> None:
        """Raise where what an exchange waits for cannot come any more, or is too late."""
        self.check()
        now, call = time.monotonic(), exchange.call
        gone = []
        for rank in exchange.needs:
            ended = self.watch.ended(self.name, rank) if self.watch else None
            when, how, begun = ended or (now, "", 0)
            did = exchange.counted and begun >= self.begun  # its part, before it left
            if now > max(when, exchange.begun) + GRACE and not did:
                gone.append((when, rank, how))
        if exchange.needs and len(gone) >= exchange.missing:
            _, rank, how = min(gone)  # others may have ended because of that one
            who = "all other ranks ended" if exchange.missing > 1 else f"rank {rank} {how}"
            self.fail(
                f"Connection closed by peer: {who} before {call} was complete, after "
                f"{max(self.begun - 1, 0)} collectives of this group"
            )
        if now > exchange.begun + exchange.seconds:
            late = [*exchange.needs]
            if len(late) > 1 and self.watch:
                late = self.watch.behind(self, self.begun)
            self.check()
            ranks = f"rank {late[0]}" if len(late) == 1 else f"ranks {late or exchange.needs}"
            self.fail(f"Timed out after {exchange.seconds} s: {ranks} did not take part in {call}")

    def hurt(self, exchange: Exchange, error: BaseException) -> None:
        """Break the group by an exception amid an exchange."""
        if exchange.request is not None:
            ABANDONED.append(exchange.request)
        if not isinstance(error, DistNetworkError):
            with suppress(DistNetworkError):
                kind = type(error).__name__
                said = f": {error}" if isinstance(error, Exception) else ""
                self.fail(f"{kind} in {exchange.call} on rank {self.rank}{said}")

    def fail(self, why: str) -> NoReturn:
        """Break the group, and raise."""
        if not self.broken:
            self.broken = why
            if self.watch:
                self.watch.say("broken", self.name, why)
        raise DistNetworkError(self.broken)

    def close(self) -> None:
        """Leave the group."""
        if self.watch and self._pid == os.getpid():
            self.watch.say("left", self.name, self.begun)
            if not self.broken:
                self.transport.close()
        self.broken = self.broken or f"rank {self.rank} has left this group"


def _plain(array: Any) -> Any:
    """The array, if MPI can write it as it is, or a copy."""
    return array if array.flags.c_contiguous and array.flags.writeable else array.copy("C")


def _kind(array: Any) -> list[Any]:
    return [array.dtype.name, [*array.shape]]


def _mark(call: str, dtype: str, shape: list[int]) -> int:
    return _digest(f"{call} {dtype} {shape}")


@functools.lru_cache(4096)
def _digest(text: str) -> int:
    digest = hashlib.blake2b(text.encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little", signed=True)


def _said(value: Any) -> Any:
    """What JSON can say, in an array of one width."""
    text = json.dumps(value).encode()
    if len(text) > WIDTH:
        text = json.dumps(f"{text[: WIDTH // 2].decode()}...").encode()
    return np.array(memoryview(text.ljust(WIDTH)))


def _heard(array: Any) -> Any:
    return json.loads(bytes(array))


def _unlike(one: int, kind: Sequence[Any], other: int, other_kind: Sequence[Any]) -> str:
    (dtype, shape), (other_dtype, other_shape) = kind, other_kind
    return (
        f"rank {one} has a tensor of shape {tuple(shape)} and dtype {dtype}, rank {other} one of "
        f"shape {tuple(other_shape)} and dtype {other_dtype}; give all ranks tensors of one shape "
        "and dtype"
    )
