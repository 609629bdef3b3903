"""Which cluster the work is done on, if any."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from vse_ens.errors import ConfigError
from vse_ens.run.pool import Pool


@contextmanager
def pool_for(cluster: str | None, address: str | None, workers: int | None) -> Iterator[Pool | None]:
    """The workers of a cluster, until the block ends; None where the work is to be done in this process.

    ``cluster`` is its kind, ``"ray"``; ``address`` that of a running one, else one is started on this machine.
    """
    if cluster is None:
        if address is not None:
            raise ConfigError("address is that of a cluster: say --cluster ray too (cluster='ray' in Python)")
        yield None
        return
    if cluster != "ray":
        raise ConfigError(f"cluster must be 'ray', got {cluster!r}")
    from vse_ens.run.ray_pool import RayPool

    with RayPool(address, workers) as pool:
        yield pool
