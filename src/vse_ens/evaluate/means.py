"""The metrics of scores in one call, without intervals: what training looks at after every epoch."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from vse_ens.data.annotations import Annotations
from vse_ens.evaluate.evaluator import evaluate
from vse_ens.evaluate.metrics import per_image
from vse_ens.evaluate.scorer import FunctionScorer


def mean_metrics(
    scores: Callable[[NDArray[np.int64]], NDArray[np.float32]],
    known: Annotations,
    held_out: Annotations,
    workers: int | None = None,
) -> dict[str, float]:
    """Means over images of every metric in `vse_ens.evaluate.metrics`, by name."""
    rankings = evaluate(FunctionScorer(known.images, known.labels, scores), known, held_out, workers=workers)
    return {name: float(values.mean()) for name, values in per_image(rankings).items()}
