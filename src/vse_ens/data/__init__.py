"""Pairs of images and labels: reading, splitting, filtering, and the built-in data set."""
