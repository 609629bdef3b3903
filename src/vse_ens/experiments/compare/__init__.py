"""Comparison of models on one data set."""
