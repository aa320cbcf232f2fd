"""What programs store on a tensor, apart from what the engine keeps there.

Both lie in the instance's dictionary, where the hot path reads the engine's part (NOTE [What the
hot path reads] in `tensor`). A program that copies `x.__dict__` to another tensor means its own
part: the other's gradient, history and views are not those of `x`.
"""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Attributes"]


class Attributes(MutableMapping[str, Any], dict[str, Any]):  # type: ignore[misc,metaclass]
    """A tensor's dictionary without the names in `hidden`; a dict to those who ask for its type.

    >>> x = rg.ones(2, requires_grad=True)
    >>> x.sum().backward()
    >>> x.note = 3
    >>> vars(x)
    {'note': 3}
    """

    def __init__(self, held: dict[str, Any], hidden: frozenset[str]) -> None:
        self.held, self.hidden = held, hidden

    def __getitem__(self, name: str) -> Any:
        if name in self.hidden:
            raise KeyError(name)
        return self.held[name]

    def __setitem__(self, name: str, value: Any) -> None:
        if name in self.hidden:
            raise AttributeError(
                f"{name} is what the engine keeps on a tensor. Choose another name"
            )
        self.held[name] = value

    def __delitem__(self, name: str) -> None:
        if name in self.hidden:
            raise KeyError(name)
        del self.held[name]

    def __iter__(self) -> Iterator[str]:
        return iter([name for name in self.held if name not in self.hidden])

    def __len__(self) -> int:
        return len(list(iter(self)))

    def __repr__(self) -> str:
        return repr(self.copy())

    def __reversed__(self) -> Iterator[str]:
        return reversed(list(self))

    def copy(self) -> dict[str, Any]:
        """An ordinary dictionary of the same names."""
        return {name: self.held[name] for name in self}

    def __or__(self, other: Any) -> Any:
        return self.copy() | other

    def __ror__(self, other: Any) -> Any:
        return other | self.copy()

    def __ior__(self, other: Any) -> Any:
        for name, value in dict(other).items():
            self[name] = value
        return self

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:  # what copies and pickles hold
        return dict, (self.copy(),)
