"""Experiments: models compared on one split, and settings tuned."""
