from __future__ import annotations

import sys

import pytest

from vse_ens.errors import ConfigError, MissingPartError
from vse_ens.run.pool import open_pool


def test_without_a_cluster_there_is_no_pool() -> None:
    with open_pool(None, None, 2) as pool:
        assert pool is None


@pytest.mark.parametrize(
    ("cluster", "address", "sentence"),
    [(None, "localhost:1", "address needs a cluster"), ("spark", None, "cluster must be 'ray', got 'spark'")],
)
def test_arguments_that_do_not_fit_are_refused(cluster: str | None, address: str | None, sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence), open_pool(cluster, address, None):
        pass


def test_without_ray_it_is_said_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingPartError, match=r"pip install 'vse-ens\[cluster\]'"), open_pool("ray", None, None):
        pass
