"""Behaviour on damaged input."""
