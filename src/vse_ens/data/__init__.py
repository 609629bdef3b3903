"""Files and frames in, `Annotations` out. Knows nothing of models."""
