"""HTTP routes, one module per tag of /openapi.json."""
