"""Starts a program several times on this machine: the older name of `distributed.run`.

retrograd run -m torch.distributed.launch --nproc_per_node=2 script.py [args]

`--use_env` is accepted: the rank is in the environment variable LOCAL_RANK, as PyTorch has it
since 2.0.
"""

from __future__ import annotations

import sys

from . import run

__all__ = ["main"]


def main(args: list[str] | None = None) -> None:
    """As `distributed.run.main`.

    >>> from retrograd.distributed.launch import main
    >>> main(["--nnodes=2", "script.py"])
    Traceback (most recent call last):
    SystemExit: 2
    """
    given = sys.argv[1:] if args is None else args
    run.main([each for each in given if each not in ("--use_env", "--use-env")])


if __name__ == "__main__":
    main()
