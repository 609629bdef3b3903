"""Methods that a sceptic would name, each tuned within the same budget: `python -m benchmarks rivals`."""
