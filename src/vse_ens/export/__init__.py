"""Vectors and suggestions out to files that other programs read. Scores nothing."""
