from __future__ import annotations

import pytest

from retrograd.torch import distributed as dist


@pytest.fixture
def alone():
    """A group of this process alone."""
    dist.init_process_group(rank=0, world_size=1)
    yield
    dist.destroy_process_group()
