"""The HTTP service (`vse serve`): predictions, feedback and a web page; see docs/service.md.

`vse_ens.service.app.create_app` and `vse_ens.service.server.run` need the extra ``vse-ens[service]``.
"""
