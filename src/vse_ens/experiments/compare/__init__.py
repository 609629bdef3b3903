"""Comparison of models and baselines on one split of a data set."""
