"""A stand-in for Ray in this process, with a clock of its own: losses, hangs and long calls take no time at all.

Calls run when they are made, in order. When their results are ready is decided by the durations of the calls before
them on the same actor, and the clock moves only while somebody waits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any, Literal

import pytest

from vse_ens.model.cpu import cpu_kind
from vse_ens.run.ray.actor import RayActor

Fault = Literal["dies", "hangs"] | None


class RayError(Exception):
    pass


class RayTaskError(RayError):
    def __init__(self, cause: Exception) -> None:
        super().__init__(str(cause))
        self.cause = cause


class GetTimeoutError(RayError):
    pass


class Reference:
    """The result of a call, or the error that it gives, once it is ready."""

    def __init__(self, ready: float, value: Any = None, error: Exception | None = None) -> None:
        self.ready = ready
        self.value = value
        self.error = error


class Actor:
    """One actor; ``actor.method.remote(...)`` calls it."""

    def __init__(self, ray: FakeRay, number: int, threads: int) -> None:
        self.ray = ray
        self.number = number
        self.state: Fault = None
        self.busy_until = ray.now
        self.worker = RayActor(threads)
        self.calls: list[str] = []

    def __getattr__(self, method: str) -> Any:
        return Method(self, method)

    def call(self, method: str, arguments: tuple[Any, ...], returns: int) -> Any:
        self.calls.append(method)
        given = [one for one in arguments if isinstance(one, Reference)]
        if self.state is None:
            self.state = self.ray.fault(self.number, method)
        if self.state == "hangs":
            return self._results(Reference(math.inf), returns)
        lost = next((one.error for one in given if one.error), None) or (RayError("dead") if self.state else None)
        start = max([self.ray.now, self.busy_until, *(one.ready for one in given)])
        if lost:
            return self._results(Reference(self.ray.now if self.state else start, error=lost), returns)
        self.busy_until = start + self.ray.durations.get(method, 0.0)
        try:
            values = [one.value if isinstance(one, Reference) else one for one in arguments]
            value = self._location() if method == "location" else getattr(self.worker, method)(*values)
        except Exception as error:  # noqa: BLE001  # the caller gets it, as with Ray
            return self._results(Reference(self.busy_until, error=RayTaskError(error)), returns)
        return self._results(Reference(self.busy_until, value), returns)

    def _location(self) -> dict[str, str]:
        return {"node": f"node {self.number % self.ray.node_count}", "address": "here", "cpu": cpu_kind()}

    @staticmethod
    def _results(whole: Reference, returns: int) -> Any:
        if returns == 1:
            return whole
        values = whole.value if whole.value is not None else [None] * returns
        return [Reference(whole.ready, value, whole.error) for value in values]


class Method:
    def __init__(self, actor: Actor, name: str, returns: int = 1) -> None:
        self._actor, self._name, self._returns = actor, name, returns

    def options(self, num_returns: int) -> Method:
        return Method(self._actor, self._name, num_returns)

    def remote(self, *arguments: Any) -> Any:
        return self._actor.call(self._name, arguments, self._returns)


class FakeRay:
    """The functions of Ray that a pool calls.

    ``fault`` is asked before each call of an actor, by its number and the name of the method, whether the actor dies or
    hangs there. ``durations`` are the seconds that calls take, by method.
    """

    exceptions = SimpleNamespace(RayError=RayError, RayTaskError=RayTaskError, GetTimeoutError=GetTimeoutError)

    def __init__(self, nodes: int = 2) -> None:
        self.now = 0.0
        self.node_count = nodes
        self.fault: Callable[[int, str], Fault] = lambda _number, _method: None
        self.durations: dict[str, float] = {}
        self.actors: list[Actor] = []
        self.actor_options: dict[str, Any] = {}

    def nodes(self) -> list[dict[str, Any]]:
        return [{"Alive": True, "Resources": {"CPU": 1.0}} for _ in range(self.node_count)]

    def remote(self, _actor_class: type) -> FakeRay:
        return self

    def options(self, **how: Any) -> Any:
        self.actor_options = how

        def start(threads: int) -> Actor:
            if len(self.actors) > 100:
                raise AssertionError("workers are replaced without end")
            self.actors.append(Actor(self, len(self.actors), threads))
            return self.actors[-1]

        return SimpleNamespace(remote=start)

    def kill(self, actor: Actor) -> None:
        actor.state = "dies"

    def put(self, value: Any) -> Reference:
        return Reference(-math.inf, value)

    def get(self, wanted: Any, timeout: float = math.inf) -> Any:
        if isinstance(wanted, list):
            end = self.now + timeout
            return [self.get(one, end - self.now) for one in wanted]
        if wanted.ready > self.now + timeout:
            self.now += timeout
            raise GetTimeoutError
        self.now = max(self.now, wanted.ready)
        if wanted.error:
            raise wanted.error
        return wanted.value

    def wait(
        self, references: Sequence[Reference], num_returns: int = 1, timeout: float = math.inf
    ) -> tuple[list[Reference], list[Reference]]:
        nth = sorted(one.ready for one in references)[num_returns - 1]
        self.now = max(self.now, min(nth, self.now + timeout))
        ready = [one for one in references if one.ready <= self.now][:num_returns]
        return ready, [one for one in references if one not in ready]

    def shutdown(self) -> None:
        pass


def use_fake_ray(monkeypatch: pytest.MonkeyPatch, nodes: int = 2) -> FakeRay:
    """Let pools of this process run on a fake Ray."""
    from vse_ens.run.ray import pool, scheduler

    ray = FakeRay(nodes)
    monkeypatch.setitem(__import__("sys").modules, "ray", ray)
    monkeypatch.setattr(pool, "start", lambda address, workers: (ray, True))
    clock = SimpleNamespace(monotonic=lambda: ray.now, perf_counter=lambda: ray.now)
    for module in (pool, scheduler):
        monkeypatch.setattr(module, "time", clock)
    return ray
