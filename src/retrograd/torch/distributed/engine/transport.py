"""What joins processes, as the groups see it: transfers of arrays, none of which waits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .progress import Request

__all__ = ["Transport"]


class Transport(Protocol):
    """Transfers between the processes of one group, by their numbers in it.

    All arrays are contiguous, and stay as they are until the transfer is done. Every process starts
    the same ones in the same order, but for `send`, `receive` and `probe`.
    """

    def reduces(self, dtype: Any, name: str) -> bool:
        """Whether `all_reduce` and `reduce_scatter` know a dtype and NumPy's name of a ufunc."""

    def all_reduce(self, array: Any, name: str) -> Request:
        """Overwrite an array by the reduction of all."""

    def broadcast(self, array: Any, source: int) -> Request:
        """Overwrite an array by that of `source`."""

    def all_gather(self, array: Any, out: Any) -> Request:
        """Fill `out`, as large as they are together, with the arrays of all."""

    def fill(self, array: Any, counts: Sequence[int]) -> Request:
        """Complete an array of which each process has so many elements, one behind the other."""

    def reduce_scatter(self, parts: Any, out: Any, name: str) -> Request:
        """Overwrite `out` by the reduction of what all have for this one: `parts`, (size, ...)."""

    def all_to_all(self, parts: Sequence[Any], places: Sequence[Any]) -> Request:
        """Send each other process its array, and fill the places by what they send."""

    def send(self, array: Any, to: int, tag: int) -> Request:
        """Send an array to one that receives it with the same tag."""

    def receive(self, array: Any, source: int, tag: int) -> Request:
        """Fill an array with what `source` sends."""

    def probe(self, tag: int) -> int | None:
        """One that has sent something with that tag, if there is any."""

    def split(self, numbers: Sequence[int]) -> Transport:
        """Between some of the processes, all of which call this at once."""

    def close(self) -> None:
        """Give back what it takes."""
