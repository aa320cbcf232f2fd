"""How the tables of this folder become functions: a lambda, a line about it, and an example.

The lambda says which arguments there are, in which order, and what they are handed on to.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..core.arguments import public

if TYPE_CHECKING:
    from collections.abc import Callable

__all__: list[str] = []


def older(
    name: str,
    function: Callable[..., Any],
    about: str,
    example: str,
    shown: str,
    *,
    out: bool = False,
    methods: str = "",
) -> Callable[..., Any]:
    """`function` as the public function `name`: `about` it, and what the lines of `example` show.

    `out` and `methods` are as for `public`.
    """
    function.__name__ = function.__qualname__ = name
    lines = [f">>> {line}" for line in example.splitlines()] + shown.splitlines()
    function.__doc__ = "\n    ".join([f"{about}\n", ">>> import retrograd as rg", *lines, ""])
    return public(out=out, methods=methods)(function)
