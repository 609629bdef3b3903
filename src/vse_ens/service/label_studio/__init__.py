"""The machine-learning backend for Label Studio."""
