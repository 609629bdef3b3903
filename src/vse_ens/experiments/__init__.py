"""Whole experiments: models on one split, and what came of it."""
