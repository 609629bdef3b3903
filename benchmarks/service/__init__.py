"""A trained model in use: suggestions, search and the HTTP service."""
