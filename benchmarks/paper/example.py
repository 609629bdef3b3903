"""Figure 2: the paper's worked example, drawn by the kernel that trains.

5 images, 10 labels and 5 factors; the pair (1, 2), rank r = 2 and factor f = 3, all counted from 1. The paper leaves
the vectors open. Here they are numbers with one decimal, drawn once; v_13 is set to +0.9 and to -0.9 for the two cases.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.paper.numbers import PAPER
from benchmarks.paper.training import paper_config
from vse_ens.data.annotations import Annotations
from vse_ens.data.vocabulary import Vocabulary
from vse_ens.kernels.serial import FACTOR, NEGATIVE, RANK
from vse_ens.run.threads import Workers
from vse_ens.streams import Streams
from vse_ens.train.engines import SerialEngine, Training
from vse_ens.train.sampling import rank_probabilities
from vse_ens.train.tables import initial_embeddings, padded

_DRAWS = 2_000
_SIZE = PAPER["figure2"]
_CONFIG = paper_config("vse-ens").override(dimensions=_SIZE["factors"], rank_scale=0.25)


def worked_example() -> dict[str, Any]:
    """Draw negatives for the pair (1, 2) in both cases, and return the first draw with r = 2 and f = 3 of each."""
    stream = Streams(2018).child("figure 2")
    shape = (_SIZE["images"] + _SIZE["labels"], _SIZE["factors"])
    # A draw within a factor needs distinct values: one decimal of a normal distribution, moved apart by a hundredth.
    values = np.round(_normal(stream, shape), 1) + 0.01 * np.arange(shape[0])[:, None]
    images, labels = values[: _SIZE["images"]], values[_SIZE["images"] :]
    factor = _SIZE["factor"] - 1
    order = np.argsort(-labels[:, factor], kind="stable")
    cases = {}
    for case, value in (("positive", 0.9), ("negative", -0.9)):
        images[0, factor] = value
        trace = _trace(images, labels, stream.child(case))
        wanted = (trace[:, RANK] == _SIZE["rank"] - 1) & (trace[:, FACTOR] == factor)
        drawn = int(trace[np.flatnonzero(wanted)[0], NEGATIVE])
        cases[case] = {
            "vector": images[0].tolist(),
            "label": drawn + 1,
            "position": int(np.flatnonzero(order == drawn)[0]) + 1,
            "factor_shares": (np.bincount(trace[:, FACTOR], minlength=labels.shape[1]) / _DRAWS).tolist(),
            "factor_probabilities": _factor_probabilities(images[0], labels).tolist(),
            "rank_shares": (np.bincount(trace[:, RANK], minlength=len(labels)) / _DRAWS).tolist(),
        }
    return {
        "draws": _DRAWS,
        "rank_scale": _CONFIG.rank_scale,
        "labels": labels.tolist(),
        "spread": labels.std(axis=0).tolist(),
        "order": (order + 1).tolist(),
        "rank_probabilities": rank_probabilities(len(labels), "exponential", _CONFIG.rank_scale, 0.0).tolist(),
        "cases": cases,
    }


def _normal(stream: Streams, shape: tuple[int, int]) -> NDArray[np.float64]:
    """Return numbers with a normal distribution, by the method of Box and Muller."""
    first, second = stream.uniforms(2 * shape[0] * shape[1]).reshape(2, *shape)
    return np.asarray(np.sqrt(-2.0 * np.log(1.0 - first)) * np.cos(2.0 * np.pi * second))


def _trace(images: NDArray[Any], labels: NDArray[Any], stream: Streams) -> NDArray[np.int64]:
    """Return the draws of the training kernel for the pair (1, 2), which is the only known pair."""
    image, label = _SIZE["pair"]
    data = Annotations.from_numbers(
        Vocabulary.from_ids([f"{number:02}" for number in range(1, len(images) + 1)], "image"),
        Vocabulary.from_ids([f"{number:02}" for number in range(1, len(labels) + 1)], "label"),
        np.array([image - 1]),
        np.array([label - 1]),
    )
    embeddings = padded(initial_embeddings(_CONFIG, data))
    embeddings.image_vectors[:, : images.shape[1]] = images
    embeddings.label_vectors[:, : labels.shape[1]] = labels
    with Workers(1) as workers:
        return SerialEngine(Training.of(_CONFIG, data, embeddings, workers)).trace(_DRAWS, 0.0, stream)


def _factor_probabilities(vector: NDArray[Any], labels: NDArray[Any]) -> NDArray[np.float64]:
    """Return p(f|i) of eq. 7, with the standard deviation of eq. 8."""
    weights = np.abs(vector) * labels.std(axis=0)
    return np.asarray(weights / weights.sum())
