"""Benchmarks for every claim about speed, RAM and accuracy. Run them with ``python -m benchmarks``."""
