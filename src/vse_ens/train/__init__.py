"""Training: `Trainer` runs epochs on a `Backend`, whose engines call the kernels. Never prints."""
