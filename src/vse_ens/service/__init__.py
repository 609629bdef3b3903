"""The HTTP service: a trained model, feedback on its suggestions and a page for people; docs/service.md tells how."""
