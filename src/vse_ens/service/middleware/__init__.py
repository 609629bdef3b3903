"""ASGI middleware: security headers, access log, access control and limits."""

from vse_ens.service.middleware.access import AccessMiddleware as AccessMiddleware
from vse_ens.service.middleware.headers import SecurityHeadersMiddleware as SecurityHeadersMiddleware
from vse_ens.service.middleware.limits import LimitsMiddleware as LimitsMiddleware
from vse_ens.service.middleware.logging import AccessLogMiddleware as AccessLogMiddleware
