"""Arrays that carry out ops themselves: batches, layouts, those of classes that dispatch.

NumPy's functions cannot run on them: an op that is given one hands itself over (`dispatch`), and a
write gives the tensor another one (`inplace.exchange`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...kernels.allocation import StandIn, has_memory, has_values

__all__ = ["Interpreted", "concrete", "home_of", "shares_memory"]

PLAIN = np.empty(0)


class Interpreted(StandIn):
    """What has a shape and a dtype like an array, and carries out ops itself.

    What is said here is true of one that has no history beneath it and is no view of others.
    """

    __slots__ = ()

    has_memory = False
    layout: Any = "strided"  # the name of its tensor's
    has_values = property(lambda self: has_values(self.value._array))

    shape: tuple[int, ...]
    dtype: Any
    value: Any  # a tensor, on what is behind it

    def interpret(self, op: Any, inputs: tuple[Any, ...], params: dict[str, Any]) -> Any:
        """What an op gives for inputs of which one has this array."""
        raise NotImplementedError

    def refused(self, name: str) -> Exception:
        """The error for asking by `name` for elements, or for what else it cannot do."""
        raise NotImplementedError

    def itself(self, *args: Any) -> Any:
        """The array itself, whatever the arguments."""
        return self

    # -- tensors ---------------------------------------------------------------------------------

    def tensor(self) -> Any:
        """A tensor of its class that has this array; for arrays that have a class."""
        raise NotImplementedError

    def ones(self) -> Any:
        """A tensor of ones, of its class; for arrays that have a class."""
        raise NotImplementedError

    def again(self) -> Any:
        """A new array of the same parts, for a tensor with the same attributes."""
        kind, parts = self.__reduce__()
        return kind(*parts)

    def before_share(self, source: Any) -> None:
        """Called before another tensor gets this array of `source`, too."""

    def check_data(self) -> None:
        """Raise where a tensor that has this array refuses to give its `data`."""

    # -- history ---------------------------------------------------------------------------------

    detached = itself  # this array without any history
    as_cotangent = itself  # this array, which a user's Function gave, for the node of an edge
    with_history = itself  # this array, with the history beneath that which it replaces

    def detach(self, source: Any, made: Any) -> None:
        """Make `made`, a tensor without history that has this array of `source`, its alias."""
        made._array = self.detached()

    def before_turn(self, made: Any) -> None:
        """Called before a tensor gets `made`, a view of all of this array, in place of this."""

    def __reduce__(self) -> Any:
        raise NotImplementedError

    # -- writes ----------------------------------------------------------------------------------

    copy = itself  # which is replaced where it is written

    def is_kept(self, others: Any) -> bool:
        """Whether nodes beneath may keep what a write to this that reads `others` changes."""
        return False

    def shares_memory(self, other: Any) -> bool:
        """Whether this lies in the memory of another one."""
        return False

    def around(self, made: Any) -> Interpreted:
        """An array of this kind around the tensor `made`, to which values like this are written."""
        raise NotImplementedError

    def zeroed(self, dtype: Any) -> Interpreted | None:
        """Zeros like this of a dtype, where they are not made by `around`."""
        return None

    def check_room(self, target: Any) -> None:
        """Raise unless `target` may have this for its array from now on."""
        raise NotImplementedError

    def stored(self, target: Any) -> Interpreted:
        """The array of `target` once this was written to it: this, unless that keeps its own."""
        return self

    def after_store(self, target: Any) -> None:
        """Called once this has become the array of `target` by a write."""

    # -- what Python and NumPy ask of elements ---------------------------------------------------

    def _has_no_elements(self, *args: Any, **kwargs: Any) -> Any:
        raise self.refused("__array__")

    __array__ = __getitem__ = __setitem__ = __iter__ = __len__ = _has_no_elements
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _has_no_elements
    __hash__ = object.__hash__

    def __bool__(self) -> bool:
        return bool(self.item())

    def __int__(self) -> int:
        return int(self.item())

    __index__ = __int__

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and not name.startswith("__array"):
            raise AttributeError(name)
        raise self.refused(name)


def shares_memory(x: Any, y: Any) -> bool:
    """Whether two arrays may show one memory, as those without elements always do."""
    if not has_memory(y):
        return y.shares_memory(x)  # type: ignore[no-any-return]
    return has_memory(x) and (0 in (x.size, y.size) or bool(np.may_share_memory(x, y)))


def concrete(array: Any) -> Any:
    """The NumPy array behind a batch, for checks that every element has to pass."""
    while not has_memory(array):
        array = array.value._array
    return array


def home_of(array: Any) -> Any:
    """An array that lives where new ones are made beside `array`.

    They are plain beside one that has a class, which takes these in.
    """
    while not has_memory(array):
        array = PLAIN if array.has_class else array.value._array
    return array
