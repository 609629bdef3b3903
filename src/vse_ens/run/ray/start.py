"""Connecting to a Ray cluster, or starting a private one on this machine."""

from __future__ import annotations

import os
import secrets
import socket
import sys
from contextlib import suppress
from types import ModuleType

from vse_ens.errors import ClusterError, optional_library
from vse_ens.system import available_cores

# Send no usage statistics, and leave the reporting of errors to this package.
_ENVIRONMENT = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_IGNORE_UNHANDLED_ERRORS": "1",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
}
# A private cluster listens on the loopback interface only (Ray names this variable after platforms, but it decides
# whether other machines may join) and requires a token.
_PRIVATE_ENVIRONMENT = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0", "RAY_AUTH_MODE": "token"}
_CONNECT_TIMEOUT = 10.0


def start(address: str | None, workers: int | None) -> tuple[ModuleType, bool]:
    """Return Ray, connected, and whether this call connected it.

    Without an ``address`` a private cluster is started on this machine: loopback only, its own token, no dashboard.
    """
    _set_environment(private=address is None)
    ray = optional_library("ray", "work on a cluster needs Ray", "cluster")
    if ray.is_initialized():
        return ray, False
    if address:
        _check_reachable(address)
    quiet = {"log_to_driver": False, "configure_logging": False}
    try:
        if address:
            ray.init(address, **quiet)
        else:
            # "local": never connect to a cluster that happens to run here.
            ray.init("local", num_cpus=workers or available_cores(), include_dashboard=False, **quiet)
    except Exception as error:  # a dead agent, a slow start and others are plain Exceptions of Ray
        with suppress(Exception):  # processes that were started before the failure
            ray.shutdown()
        raise _connection_error(address, error) from error
    return ray, True


def _check_reachable(address: str) -> None:
    """Fail early: Ray itself would wait for an answer for minutes."""
    host, _, port = address.rpartition(":")
    if not port.isdecimal():
        return  # "auto", or another form that Ray accepts
    try:
        socket.create_connection((host.rpartition("/")[2], int(port)), _CONNECT_TIMEOUT).close()
    except (OSError, OverflowError) as error:
        raise _connection_error(address, error) from error


def _connection_error(address: str | None, error: Exception) -> ClusterError:
    where = f"at {address}" if address else "on this machine"
    reason = str(error).strip().partition("\n")[0].rstrip(".") or type(error).__name__
    return ClusterError(
        f"cannot connect to a Ray cluster {where}: {reason}; see docs/scale.md for how to start one and which token it "
        "needs"
    )


def _set_environment(private: bool) -> None:
    """Set the variables that the user has not set. Ray reads them when it is imported; later they have no effect."""
    variables = dict(_ENVIRONMENT)
    if private and "ray" not in sys.modules:
        variables |= _PRIVATE_ENVIRONMENT | {"RAY_AUTH_TOKEN": secrets.token_hex(32)}
    for name, value in variables.items():
        os.environ.setdefault(name, value)
