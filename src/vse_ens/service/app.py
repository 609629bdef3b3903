"""The application: operations, the page, and middleware."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.middleware import Middleware

from vse_ens.service.errors import HANDLERS
from vse_ens.service.label_studio import label_studio_operations
from vse_ens.service.middleware import (
    AccessLogMiddleware,
    AccessMiddleware,
    LimitsMiddleware,
    SecurityHeadersMiddleware,
)
from vse_ens.service.openapi import document_route
from vse_ens.service.routes import TOPICS
from vse_ens.service.routes.page import page_routes
from vse_ens.service.settings import Settings
from vse_ens.service.state import Service


def create_app(settings: Settings) -> Starlette:
    """Create an application that loads its model on startup; the operations share ``app.state.service``."""
    service = Service(settings)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        service.start()
        yield
        service.close()

    operations = [one for topic in TOPICS for one in topic.operations(service)]
    operations += label_studio_operations(service)
    app = Starlette(
        routes=[
            *(one.route for one in operations),
            *page_routes(),
            document_route(operations, with_key=bool(settings.all_keys)),
        ],
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
