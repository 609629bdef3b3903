"""Accuracy on held-out labels, and how settings were chosen."""
