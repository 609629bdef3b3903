"""Read a model, measure it, change nothing."""
