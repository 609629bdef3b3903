"""Nodes with another kind of CPU, on a stand-in for Ray."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.fake_ray import FakeRay, use_fake_ray
from tests.support.toy_actor import FACTORY
from vse_ens.errors import ClusterError
from vse_ens.model.cpu import cpu_kind
from vse_ens.portable import VARIABLE, portable_environment
from vse_ens.run.ray import pool as pool_module
from vse_ens.run.ray.pool import RayPool

SHARDS = [{"start": np.full(1, float(shard))} for shard in range(4)]
SETTINGS = {"keeps_state": False}


@pytest.fixture
def ray(monkeypatch: pytest.MonkeyPatch) -> FakeRay:
    return use_fake_ray(monkeypatch)


@pytest.mark.usefixtures("ray")
def test_nodes_of_another_kind_are_refused_unless_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool_module, "cpu_kind", lambda: "elbrus")
    with pytest.raises(ClusterError) as refused:
        RayPool().open(FACTORY, SETTINGS, SHARDS)
    assert str(refused.value) == (
        f"the node here computes as {cpu_kind()}, and this machine as elbrus, so that the last bits would depend on "
        "which of them does what; use nodes of one kind, --portable, or --allow-mixed-cpus"
    )
    mixed = RayPool(allow_mixed_cpus=True)
    mixed.open(FACTORY, SETTINGS, SHARDS)
    assert mixed.cpus == {cpu_kind()}


def test_workers_compute_portably_where_this_process_does(ray: FakeRay, monkeypatch: pytest.MonkeyPatch) -> None:
    RayPool().open(FACTORY, SETTINGS, SHARDS)
    assert "runtime_env" not in ray.actor_options
    monkeypatch.setenv(VARIABLE, "1")
    RayPool().open(FACTORY, SETTINGS, SHARDS)
    assert ray.actor_options["runtime_env"] == {"env_vars": portable_environment()}
