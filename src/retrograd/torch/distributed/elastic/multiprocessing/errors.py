"""Errors of processes that a launcher started, in files that it names."""

from __future__ import annotations

import functools
import json
import os
import time
import traceback
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["record"]

P = ParamSpec("P")
R = TypeVar("R")


def record(function: Callable[P, R]) -> Callable[P, R]:
    """The function, whose exceptions are also written to the file TORCHELASTIC_ERROR_FILE.

    Where the environment does not name one, nothing is written. What is written is JSON: the error,
    its traceback and the time in seconds.

    >>> from retrograd.distributed.elastic.multiprocessing.errors import record
    >>> record(len)([1, 2])
    2
    """

    @functools.wraps(function)
    def recorded(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except Exception as error:
            if path := os.environ.get("TORCHELASTIC_ERROR_FILE"):
                said: dict[str, Any] = {
                    "message": f"{type(error).__name__}: {error}",
                    "extraInfo": {
                        "py_callstack": traceback.format_exc(),
                        "timestamp": str(int(time.time())),
                    },
                }
                with open(path, "w") as file:
                    json.dump({"message": said}, file)
            raise

    return recorded
