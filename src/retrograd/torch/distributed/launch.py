"""Starts a program several times: `distributed.run` by its older name.

retrograd run -m torch.distributed.launch --nproc_per_node=2 script.py [args]
"""

from .run import main

__all__ = ["main"]

if __name__ == "__main__":
    main()
