"""The application: its routes, and the layers around them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI
from starlette.middleware import Middleware

from vse_ens import __version__
from vse_ens.service.errors import add_refusals
from vse_ens.service.label_studio.routes import label_studio_router
from vse_ens.service.middleware.access import AccessMiddleware, SecurityHeadersMiddleware
from vse_ens.service.middleware.limits import LimitsMiddleware
from vse_ens.service.middleware.logging import AccessLogMiddleware
from vse_ens.service.openapi import DESCRIPTION, TAGS, document_key
from vse_ens.service.routes.catalog import browsing_router
from vse_ens.service.routes.feedback import judging_router
from vse_ens.service.routes.ops import operating_router
from vse_ens.service.routes.page import add_page
from vse_ens.service.routes.predict import asking_router
from vse_ens.service.settings import Settings
from vse_ens.service.state import Service


def create_app(settings: Settings) -> FastAPI:
    """An application that loads the model when it starts; ``app.state.service`` is what its routes share."""
    service = Service(settings)

    @asynccontextmanager
    async def life(_: FastAPI) -> AsyncIterator[None]:
        service.start()
        yield
        service.close()

    app = FastAPI(
        title="vse-ens",
        summary="Labels that images lack.",
        description=DESCRIPTION,
        version=__version__,
        openapi_tags=TAGS,
        # Their pages come from outside addresses.
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        lifespan=life,
        # From the outside in.
        middleware=[
            Middleware(SecurityHeadersMiddleware, settings),
            Middleware(AccessLogMiddleware, service.metrics),
            Middleware(AccessMiddleware, settings),
            Middleware(LimitsMiddleware, settings.limits),
        ],
    )
    app.state.service = service
    add_refusals(app)
    routers = (asking_router, browsing_router, judging_router, operating_router, label_studio_router)
    for make in routers:
        app.include_router(make(service))
    add_page(app)
    if settings.api_key is not None:
        document_key(app)
    return app
