"""Clusters are asked for by name."""

from __future__ import annotations

import sys

import pytest

from vse_ens.errors import ConfigError, MissingPartError
from vse_ens.run.clusters import open_pool


def test_a_cluster_that_is_not_known_is_refused() -> None:
    with pytest.raises(ConfigError, match="cluster must be one of ray; got 'dask'"):
        open_pool("dask")


def test_without_ray_it_is_told_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingPartError, match=r"pip install 'vse-ens\[cluster\]'"):
        open_pool("ray", "127.0.0.1:6379")
