"""A training that diverges is told as such, as soon as it shows."""

from __future__ import annotations

import numpy as np

from vse_ens.config import Config
from vse_ens.errors import TrainingError
from vse_ens.model.embeddings import Embeddings
from vse_ens.train.state import shared_tables


def check_finite(config: Config, embeddings: Embeddings, epoch: int) -> None:
    """Raise where vectors are no longer finite, in an epoch counted from 0."""
    # An image's vector that is not finite reaches the labels with its next step, so the shared tables tell for all.
    with np.errstate(over="ignore", invalid="ignore"):
        sums = [table.sum() for table in (*shared_tables(embeddings), embeddings.input_vectors)]
    if not np.isfinite(sums).all():
        raise TrainingError(
            f"training diverged in epoch {epoch + 1}: the vectors are no longer finite; "
            f"lower the learning rate ({config.learning_rate:g}) or raise the regularization "
            f"({config.regularization:g})"
        )
