"""Running on a Ray cluster."""
