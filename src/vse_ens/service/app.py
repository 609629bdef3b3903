"""The FastAPI application: routes and middleware."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI
from starlette.middleware import Middleware

from vse_ens import __version__
from vse_ens.service.errors import add_error_handlers
from vse_ens.service.label_studio import label_studio_router
from vse_ens.service.middleware import (
    AccessLogMiddleware,
    AccessMiddleware,
    DirectMiddleware,
    LimitsMiddleware,
    SecurityHeadersMiddleware,
)
from vse_ens.service.openapi import DESCRIPTION, TAGS, add_document, document_key
from vse_ens.service.routes import (
    add_page,
    catalog_router,
    export_router,
    feedback_router,
    find_router,
    images_router,
    ops_router,
    pictures_router,
    predict_router,
    ranking_router,
    rules_router,
)
from vse_ens.service.settings import Settings
from vse_ens.service.state import Service

_ROUTERS = (
    predict_router,
    ranking_router,
    catalog_router,
    find_router,
    images_router,
    pictures_router,
    feedback_router,
    rules_router,
    export_router,
    ops_router,
    label_studio_router,
)


def create_app(settings: Settings) -> FastAPI:
    """Create an application that loads its model on startup; the routes share ``app.state.service``."""
    service = Service(settings)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        service.start()
        yield
        service.close()

    app = FastAPI(
        title="vse-ens",
        summary="Labels that images lack.",
        description=DESCRIPTION,
        version=__version__,
        openapi_tags=TAGS,
        openapi_url=None,  # `add_document` serves it
        # Their pages load scripts from external addresses.
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        lifespan=lifespan,
        # Outermost first.
        middleware=[
            Middleware(SecurityHeadersMiddleware, service.pictures),
            Middleware(AccessLogMiddleware, service.metrics),
            Middleware(AccessMiddleware, settings),
            Middleware(LimitsMiddleware, settings.limits),
            Middleware(DirectMiddleware, service.models, service.metrics),
        ],
    )
    app.state.service = service
    add_error_handlers(app)
    for make_router in _ROUTERS:
        app.include_router(make_router(service))
    add_page(app)
    add_document(app)
    if settings.all_keys:
        document_key(app)
    return app
