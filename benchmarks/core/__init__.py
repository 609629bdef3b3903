"""Code that all benchmarks share: interface, results, report, data, models and child processes."""
