"""ASGI middleware: security headers, access log, access control, limits, and a short way for the most frequent call."""

from vse_ens.service.middleware.access import AccessMiddleware as AccessMiddleware
from vse_ens.service.middleware.direct import DirectMiddleware as DirectMiddleware
from vse_ens.service.middleware.headers import SecurityHeadersMiddleware as SecurityHeadersMiddleware
from vse_ens.service.middleware.limits import LimitsMiddleware as LimitsMiddleware
from vse_ens.service.middleware.logging import AccessLogMiddleware as AccessLogMiddleware
