"""Data sets: the built-in one, and loaders of published ones."""
