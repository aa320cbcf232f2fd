"""What a process hears of the others of its group: NOTE [Meeting] in `connections`.

NOTE [Watching]
1. A thread reads this rank's line to the host. Another rank's goodbye to a group (`left`), its end
   (`died`) and why it broke a group (`broken`) are kept; exchanges that wait look them up.
2. Where a rank is too late, the one that waited asks all how many collectives of the group they
   have begun. Who has begun fewer, or does not answer, is the one to blame.
"""

from __future__ import annotations

import threading
import time
import weakref
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from .connections import read, write

if TYPE_CHECKING:
    import socket

__all__ = ["Watch"]

ANSWER = 5.0  # seconds that a rank may take to say where it is


class Watch:
    """The line of this rank, and what has come over it."""

    def __init__(self, line: socket.socket) -> None:
        self.line, self.worlds = line, weakref.WeakValueDictionary[str, Any]()
        self._ended: dict[tuple[str, int], tuple[float, str, int]] = {}  # "": all groups
        self._broken: dict[str, str] = {}
        self._answers: dict[int, int] = {}
        self._asking, self._lock = threading.Lock(), threading.Lock()
        self._answered = threading.Condition()
        threading.Thread(target=self._hear, daemon=True).start()

    def enter(self, world: Any) -> None:
        """Tell a group what is heard of it from now on, and why others have broken it already."""
        self.worlds[world.name] = world
        world.broken = self._broken.get(world.name, "")

    def say(self, *said: Any) -> None:
        """Tell all others, as far as they can be reached."""
        with self._lock, suppress(OSError):
            write(self.line, said)

    def ended(self, name: str, rank: int) -> tuple[float, str, int] | None:
        """When and how a rank left a group, if it did, and after how many of its collectives."""
        return self._ended.get((name, rank)) or self._ended.get(("", rank))

    def behind(self, world: Any, count: int) -> list[int]:
        """The ranks of a group that have begun fewer than `count` of its collectives."""
        with self._asking, self._answered:
            self._answers = {world.rank: count}
            self.say("where", world.name)
            self._answered.wait_for(lambda: {*world.ranks} <= {*self._answers}, ANSWER)
            return [rank for rank in world.ranks if self._answers.get(rank, -1) < count]

    def close(self, *said: Any) -> None:
        """End the line, with a last word."""
        self.say(*said)
        self.line.close()

    def _hear(self) -> None:
        with suppress(OSError, ValueError):  # the line is closed
            while True:
                self._note(*read(self.line))
        for world in [*self.worlds.values()]:
            world.broken = world.broken or "Connection closed by peer: the host at rank 0 ended"

    def _note(self, rank: int, kind: str, *said: Any) -> None:
        world = self.worlds.get(said[0])
        if kind == "died":
            self._ended["", rank] = time.monotonic(), said[0], -1
        elif kind == "left":
            self._ended[said[0], rank] = time.monotonic(), "ended", said[1]
        elif kind == "where":
            self.say("there", said[0], -1 if world is None else world.begun)
        elif kind == "there":
            with self._answered:
                self._answers[rank] = said[1]
                self._answered.notify_all()
        else:
            self._broken[said[0]] = said[1]
            if world is not None:
                world.broken = world.broken or said[1]
