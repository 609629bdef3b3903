"""Use of a trained model: suggestions, search and the HTTP service."""
