"""Accuracy on held-out labels, and the choice of settings."""
