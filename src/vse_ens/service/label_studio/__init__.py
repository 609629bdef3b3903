"""The machine-learning backend API of Label Studio: predictions for tasks, and annotations as feedback."""
