"""What the loader is made of: collation, fetching, workers, and how batches come from them."""

from . import collate, fetch, worker

__all__ = ["collate", "fetch", "worker"]
