"""ASGI middleware: security headers, access log, access control and limits."""
