"""Reaching a Ray cluster, or starting one on this machine that nobody else can reach."""

from __future__ import annotations

import os
import secrets
import socket
import sys
from types import ModuleType

from vse_ens.errors import ClusterError, MissingPartError
from vse_ens.run.threads import available_cores

# Nothing is reported to Ray's makers; errors are for this package to tell.
_ALWAYS = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_IGNORE_UNHANDLED_ERRORS": "1",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
}
# A cluster of one machine listens on loopback alone (the name is Ray's: it says whether other machines may be part of
# it), and who has no token is turned away.
_ALONE = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0", "RAY_AUTH_MODE": "token"}
_SECONDS_TO_ANSWER = 10.0


def start(address: str | None, workers: int | None) -> tuple[ModuleType, bool]:
    """Ray, connected, and whether it was this call that connected it.

    Without an ``address`` a cluster is started on this machine, for this process: loopback, a token of its own, no
    dashboard.
    """
    _prepare(alone=address is None)
    ray = _ray()
    if ray.is_initialized():
        return ray, False
    if address:
        _knock(address)
    quiet = {"log_to_driver": False, "configure_logging": False}
    try:
        if address:
            ray.init(address, **quiet)
        else:
            # "local": never one that happens to run here.
            ray.init("local", num_cpus=workers or available_cores(), include_dashboard=False, **quiet)
    except (ConnectionError, RuntimeError, ValueError, ray.exceptions.RayError) as error:
        raise _nobody_there(address, error) from error
    return ray, True


def _knock(address: str) -> None:
    """Ray itself would wait for minutes for an answer."""
    host, _, port = address.rpartition(":")
    if not port.isdecimal():
        return  # "auto", or another way that Ray knows
    try:
        socket.create_connection((host.rpartition("/")[2], int(port)), _SECONDS_TO_ANSWER).close()
    except (OSError, OverflowError) as error:
        raise _nobody_there(address, error) from error


def _nobody_there(address: str | None, error: Exception) -> ClusterError:
    place = f"at {address}" if address else "on this machine"
    reason = str(error).strip().partition("\n")[0].rstrip(".") or type(error).__name__
    return ClusterError(
        f"there is no Ray cluster to be had {place}: {reason}; see docs/scale.md for how one is started and which "
        "token it wants"
    )


def _prepare(alone: bool) -> None:
    """Set what a user has not. Ray reads it once, when it is imported: where that has been, its defaults hold."""
    wanted = dict(_ALWAYS)
    if alone and "ray" not in sys.modules:
        wanted |= _ALONE | {"RAY_AUTH_TOKEN": secrets.token_hex(32)}
    for name, value in wanted.items():
        os.environ.setdefault(name, value)


def _ray() -> ModuleType:
    try:
        import ray
    except ImportError as error:
        raise MissingPartError("work on a cluster needs Ray: pip install 'vse-ens[cluster]'") from error
    return ray
