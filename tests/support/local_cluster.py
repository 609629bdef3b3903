"""A cluster that is this process: what runs on one can be tested without starting any."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from vse_ens.run.pool import LocalPool, Pool
from vse_ens.run.threads import Workers


def stand_in(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str | None, int | None]]:
    """Whoever asks for a cluster gets this process; the kind, address and number of workers each time it was one."""
    started: list[tuple[str, str | None, int | None]] = []

    @contextmanager
    def open_pool(
        cluster: str | None, address: str | None, workers: int | None, _allow_mixed_cpus: bool
    ) -> Iterator[Pool | None]:
        if cluster is None:
            yield None
            return
        started.append((cluster, address, workers))
        with Workers(workers) as team:
            yield LocalPool(team)

    monkeypatch.setattr("vse_ens.run.pool.open_pool", open_pool)
    return started
