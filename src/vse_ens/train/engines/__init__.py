"""Training engines: one round of SGD."""
