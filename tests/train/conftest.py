from __future__ import annotations

import pytest

from vse_ens.train import schedule
from vse_ens.train.engines import serial


@pytest.fixture
def short_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Several rounds an epoch even of the smallest data."""
    monkeypatch.setattr(schedule, "MIN_ROUND_DRAWS", 20)
    monkeypatch.setattr(schedule, "_CONTEXT_ROUND", 1)
    monkeypatch.setattr(serial, "ROUND_DRAWS", 20)
