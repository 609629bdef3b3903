"""Other libraries, timed until they are as accurate as each other: `python -m benchmarks peers`."""
