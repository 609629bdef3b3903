"""The HTTP service (`vse serve`): predictions, feedback and a web page; see docs/service.md."""
