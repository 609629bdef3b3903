"""Verdicts of people on suggestions: stored, counted, and turned into pairs."""
