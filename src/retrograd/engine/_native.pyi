"""The types of the module in `src/native`: NOTE [Native] there."""

from collections.abc import Callable
from typing import Any

from .graph import Node
from .op import Op
from .tensor import Tensor

MOST: int  # inputs, or saved values, of an op that gets a `Caller`

class Caller:
    """An op's caller; whatever is not plain goes to `python`, which it also shows as wrapped."""

    __wrapped__: Callable[..., Any]
    def __init__(
        self,
        *,
        python: Callable[..., Any],
        op: Op,
        forward: Callable[..., Any],
        inputs: int,
        places: tuple[int, ...],
        sources: tuple[int, ...],
        keeps: tuple[int, ...],
        facts: tuple[Any, ...],
        fits: int,
        several: bool,
        joined: bool,
        view: int,
        variadic: bool,
        takes_scalar: bool,
        loops: Any,
        run: Callable[..., Any],
    ) -> None: ...
    def __call__(self, *inputs: Any, **params: Any) -> Any: ...

def setup(**parts: Any) -> None: ...
def public(function: Callable[..., Any], /) -> Callable[..., Any]: ...
def watch(on: bool, /) -> None: ...
def is_set_up() -> bool: ...
def twin(function: Callable[..., Any], /) -> Callable[..., Any]: ...
def write(
    target: Tensor,
    name: str,
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    uniform: bool = False,
) -> Tensor: ...
def stored(target: Tensor, name: str, result: Tensor, /) -> Tensor: ...
def replaced(
    target: Tensor, name: str, held: list[Tensor], result: Tensor, before: int, /
) -> Tensor: ...
def outdate(base: Tensor, recorded: bool, /) -> None: ...
def wrote(tensor: Tensor, by: str, counted: bool = True, /) -> None: ...
def enlist(base: Tensor, view: Tensor, /) -> None: ...
def advance(
    grads: dict[Node, Any],
    borrowed: set[Node],
    heap: list[tuple[int, Node]],
    leaves: list[Node],
    free: bool,
    /,
) -> Node | None: ...
def add_to_leaf(node: Node, g: Any, borrowed: bool, /) -> None: ...
def start(node: Node, g: Any, retain_graph: bool | None, call: Any, /) -> Any: ...
