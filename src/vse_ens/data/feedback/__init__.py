"""Verdicts of people on suggestions: stored, counted, turned into pairs."""
