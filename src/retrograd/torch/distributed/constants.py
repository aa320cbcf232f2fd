"""Numbers of `torch.distributed`: how long a call waits for other ranks where nothing is said."""

from datetime import timedelta

__all__ = ["default_pg_timeout"]

default_pg_timeout = timedelta(minutes=30)
