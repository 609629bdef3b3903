"""Baselines: simple methods that implement the same scoring interface as the models."""
