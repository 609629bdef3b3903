"""The application: operations, the page, and middleware."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.routing import BaseRoute, Route

from vse_ens.service.bundle import page_routes
from vse_ens.service.errors import HANDLERS
from vse_ens.service.middleware import (
    AccessLogMiddleware,
    AccessMiddleware,
    LimitsMiddleware,
    SecurityHeadersMiddleware,
)
from vse_ens.service.openapi import document_route
from vse_ens.service.routes import TOPICS
from vse_ens.service.settings import Settings
from vse_ens.service.state import Service

# Load balancers ask these with HEAD, which Starlette would allow everywhere.
_PROBES = ("/health", "/ready")


def create_app(settings: Settings) -> Starlette:
    """Create an application that loads its model on startup; the operations share ``app.state.service``."""
    service = Service(settings)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        service.start()
        yield
        service.close()

    operations = [one for topic in TOPICS for one in topic.operations]
    routes: list[BaseRoute] = [Route(one.path, one, methods=[one.method]) for one in operations]
    routes += [*page_routes(), document_route(operations, with_key=bool(settings.keys))]
    for route in routes:
        if isinstance(route, Route) and route.methods and route.path not in _PROBES:
            route.methods.discard("HEAD")
    app = Starlette(
        routes=routes,
        # Outermost first.
        middleware=[
            Middleware(SecurityHeadersMiddleware, service.pictures),
            Middleware(AccessLogMiddleware, service.metrics),
            Middleware(AccessMiddleware, settings),
            Middleware(LimitsMiddleware, settings.limits),
        ],
        exception_handlers=HANDLERS,
        lifespan=lifespan,
    )
    app.router.redirect_slashes = False
    app.state.service = service
    return app
