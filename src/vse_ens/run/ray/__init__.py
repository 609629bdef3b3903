"""Pools on a Ray cluster. No other package imports ray."""
