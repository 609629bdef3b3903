"""Audit: labels that are likely wrong, missing or duplicates."""
