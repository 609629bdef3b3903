"""Behavior on damaged input."""
