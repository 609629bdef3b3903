"""Shared by all benchmarks: protocol, results, report and data."""
