"""Clusters by name."""

from __future__ import annotations

from vse_ens.errors import ConfigError
from vse_ens.run.ray_pool import RayPool

CLUSTERS = ("ray",)


def open_pool(cluster: str, address: str | None = None, workers: int | None = None) -> RayPool:
    """The workers of a cluster; without an ``address``, of one that is started on this machine for this process."""
    if cluster not in CLUSTERS:
        raise ConfigError(f"cluster must be one of {', '.join(CLUSTERS)}; got {cluster!r}")
    return RayPool(address, workers)
