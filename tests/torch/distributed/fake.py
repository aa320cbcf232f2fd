"""Ranks that are threads of one process: transfers between them, and what they hear."""

from __future__ import annotations

import collections
import random
import threading
import time

import numpy as np

from retrograd.torch.distributed.engine.world import World


class Board:
    """What the ranks of one group have sent; a transfer takes up to `delay` questions longer."""

    def __init__(self, size, delay=0, native=True):
        self.size, self.delay, self.native = size, delay, native
        self.calls = collections.defaultdict(dict)
        self.sent = collections.defaultdict(collections.deque)
        self.parts, self.lock = {}, threading.RLock()


class Fake:
    """A transport over a board."""

    def __init__(self, board, number):
        self.board, self.number, self.count = board, number, 0
        self.random = random.Random(number)

    def _when(self, there, take):
        left = self.random.randint(0, self.board.delay)

        def asked():
            nonlocal left
            left -= 1
            if left >= 0 or not there():
                return False
            take()
            return True

        return asked

    def _together(self, given, take):
        self.count += 1
        place = self.board.calls[self.count]
        place[self.number] = given
        everyone = range(self.board.size)
        return self._when(
            lambda: len(place) == self.board.size, lambda: take([place[n] for n in everyone])
        )

    def reduces(self, dtype, name):
        return self.board.native

    def all_reduce(self, array, name):
        def take(found):
            array[...] = joined(found, name)

        return self._together(array.copy(), take)

    def broadcast(self, array, source):
        def take(found):
            array[...] = found[source]

        return self._together(array.copy(), take)

    def all_gather(self, array, out):
        def take(found):
            out.reshape(self.board.size, -1)[...] = [each.reshape(-1) for each in found]

        return self._together(array.copy(), take)

    def fill(self, array, counts):
        ends = np.cumsum(counts)[:-1]

        def take(found):
            parts = np.split(array, ends)
            for number, each in enumerate(found):
                parts[number][...] = np.split(each, ends)[number]

        return self._together(array.copy(), take)

    def reduce_scatter(self, parts, out, name):
        def take(found):
            out[...] = joined(found, name)[self.number]

        return self._together(parts.copy(), take)

    def all_to_all(self, parts, places):
        def take(found):
            for place, theirs in zip(places, found, strict=True):
                if place.size:
                    place[...] = theirs[self.number]

        return self._together([part.copy() for part in parts], take)

    def send(self, array, to, tag):
        self.board.sent[self.number, to, tag].append(array.copy())
        return lambda: True

    def receive(self, array, source, tag):
        queue = self.board.sent[source, self.number, tag]

        def take():
            array[...] = queue.popleft()

        return self._when(lambda: bool(queue), take)

    def probe(self, tag):
        for source in range(self.board.size):
            if self.board.sent[source, self.number, tag]:
                return source
        return None

    def split(self, numbers):
        with self.board.lock:
            board = self.board.parts.setdefault(tuple(numbers), Board(len(numbers)))
        return Fake(board, numbers.index(self.number))

    def close(self):
        pass


def joined(arrays, name):
    return getattr(np, "add" if name == "mean" else name).reduce(arrays)


class Hub:
    """Stands for the host: who has left, and all worlds."""

    def __init__(self):
        self.worlds, self.gone = {}, {}


class FakeWatch:
    """What a rank says to the hub, and hears of it."""

    def __init__(self, hub, rank):
        self.hub, self.rank, self.worlds = hub, rank, {}
        hub.worlds[rank] = self.worlds

    def enter(self, world):
        self.worlds[world.name] = world

    def say(self, kind, name, why=None):
        if kind == "left":
            self.hub.gone[name, self.rank] = time.monotonic(), "ended", why
        else:
            for rank, worlds in self.hub.worlds.items():
                if rank != self.rank and name in worlds:
                    worlds[name].broken = worlds[name].broken or why

    def ended(self, name, rank):
        return self.hub.gone.get((name, rank))

    def behind(self, world, count):
        begun = {r: worlds[world.name].begun for r, worlds in self.hub.worlds.items()}
        return [rank for rank in world.ranks if begun[rank] < count]


def threads(program, size=3, timeout=60.0, **board):
    """What `program(world)` returns or raises on each of `size` ranks."""
    shared, hub = Board(size, **board), Hub()
    worlds = [
        World(rank, range(size), Fake(shared, rank), timeout, "all", FakeWatch(hub, rank))
        for rank in range(size)
    ]
    found = [None] * size

    def run(rank):
        try:
            found[rank] = program(worlds[rank])
        except BaseException as error:
            found[rank] = error

    jobs = [threading.Thread(target=run, args=(rank,)) for rank in range(size)]
    for job in jobs:
        job.start()
    for job in jobs:
        job.join()
    return found
