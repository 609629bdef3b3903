"""Every request is counted, timed and written down; nothing that fails inside gets out."""

from __future__ import annotations

import logging
from time import perf_counter

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from vse_ens.service.errors import OURS, ApiError, refusal_response
from vse_ens.service.metrics import Metrics

_log = logging.getLogger(__name__)


class AccessLogMiddleware:
    """A line of log a request, without ids, and the metrics."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on and watch what becomes of it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        status = 0

        async def watch(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        start = perf_counter()
        with self._metrics.in_flight.track_inprogress():
            try:
                await self._app(scope, receive, watch)
            except Exception:  # noqa: BLE001  # the last to catch it: a trace is for the log, not for the client
                _log.exception("a request failed")
                if not status:
                    await refusal_response(ApiError(500, OURS))(scope, receive, watch)
        self._tell(scope, status, perf_counter() - start)

    def _tell(self, scope: Scope, status: int, seconds: float) -> None:
        # The pattern of the path, not the path: what anyone may type would make endless metrics and forged lines.
        page = scope["path"].startswith("/static/")
        route = "/static" if page else getattr(scope.get("route"), "path", "(none)")
        self._metrics.requests.labels(route, str(status or "gone")).inc()
        self._metrics.seconds.labels(route).observe(seconds)
        # A page is made of many files, which nobody wants to read about.
        level = logging.DEBUG if page else logging.INFO
        _log.log(level, "%s %s %s %.1f ms", scope["method"], route, status or "gone", 1e3 * seconds)
