"""Artifact directories: written atomically, verified on reading."""
