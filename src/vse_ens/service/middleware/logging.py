"""Access log and request metrics; unexpected errors become a response with status 500."""

from __future__ import annotations

import logging
from time import perf_counter

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from vse_ens.service.errors import INTERNAL_ERROR, ApiError, error_response
from vse_ens.service.telemetry import ServiceMetrics

_log = logging.getLogger(__name__)


class AccessLogMiddleware:
    """Logs one line per request, without IDs, and updates the metrics."""

    def __init__(self, app: ASGIApp, metrics: ServiceMetrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on and record its status and duration."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        status = 0

        async def record_status(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        start = perf_counter()
        with self._metrics.in_flight.track_inprogress():
            try:
                await self._app(scope, receive, record_status)
            except Exception:  # noqa: BLE001  # the outermost handler: the traceback is for the log, not the client
                _log.exception("a request failed")
                if not status:
                    await error_response(ApiError(500, INTERNAL_ERROR))(scope, receive, record_status)
        self._record(scope, status, perf_counter() - start)

    def _record(self, scope: Scope, status: int, seconds: float) -> None:
        # Only paths of routes: arbitrary ones would create endless metrics and could forge log lines.
        is_static = scope["path"].startswith("/static/")
        route = "/static" if is_static else scope["path"] if "endpoint" in scope else "(none)"
        self._metrics.requests.labels(route, str(status or "gone")).inc()
        self._metrics.seconds.labels(route).observe(seconds)
        # One page view loads many files.
        level = logging.DEBUG if is_static else logging.INFO
        _log.log(level, "%s %s %s %.1f ms", scope["method"], route, status or "gone", 1e3 * seconds)
