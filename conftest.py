"""What every doctest knows without importing it: `rg` and `np`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import retrograd as rg

# The import of the first changes what torch means; the others are MkDocs's.
collect_ignore = ["src/retrograd/as_torch.py", "docs/mathematics.py", "docs/pages.py"]


@pytest.fixture(autouse=True)
def known_names(doctest_namespace: dict[str, Any]) -> None:
    """Give doctests the names under which users import Retrograd and NumPy."""
    doctest_namespace |= {"rg": rg, "np": np}
