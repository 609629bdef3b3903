"""Audit of known pairs: labels that are likely wrong, missing or duplicate."""
