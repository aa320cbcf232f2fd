"""Steps are recorded though other tests of the process may have left threads."""

from __future__ import annotations

import pytest

from retrograd.capture import compiled


@pytest.fixture(autouse=True)
def by_itself(monkeypatch):
    monkeypatch.setattr(compiled, "alone", lambda: True)
