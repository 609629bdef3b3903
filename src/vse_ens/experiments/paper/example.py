"""Figure 2: VSE-ens draws step by step, on a model of 5 images, 10 labels and 5 factors set by hand.

A draw takes a rank from the rank law (eq. 5) and a factor from p(f|i) ~ |v_if| sigma_f (eq. 7, sigma from eq. 8). The
labels sorted by that factor are read from the top if v_if > 0, and from the bottom otherwise (eq. 9).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vse_ens.streams import Streams
from vse_ens.train.sampling import rank_probabilities

FACTORS = ("water", "height", "town", "plants", "people")
_LABELS = {
    # the label's value of each factor
    "sea": (0.9, -0.4, -0.3, -0.2, 0.3),
    "sand": (0.7, -0.5, -0.4, -0.3, 0.4),
    "sky": (0.3, 0.5, 0.1, 0.0, -0.1),
    "person": (0.1, -0.1, 0.5, -0.1, 0.9),
    "mountain": (-0.2, 0.9, -0.6, 0.4, 0.0),
    "tree": (-0.1, 0.3, -0.2, 0.9, -0.2),
    "snow": (0.4, 0.8, -0.5, -0.4, 0.1),
    "car": (-0.6, -0.3, 0.9, -0.6, 0.5),
    "house": (-0.5, 0.0, 0.8, 0.2, 0.6),
    "flower": (-0.3, -0.2, 0.0, 0.8, 0.2),
}
_IMAGES = {
    "at the sea": ((0.9, -0.4, -0.2, -0.5, 0.6), ("sea", "sand", "person")),
    "in the hills": ((-0.1, 0.9, -0.6, 0.5, -0.2), ("mountain", "sky", "tree")),
    "in the street": ((-0.5, -0.2, 0.9, -0.1, 0.6), ("car", "house", "person")),
    "in the garden": ((-0.3, -0.3, 0.3, 0.9, 0.1), ("flower", "tree", "house")),
    "at the lake": ((0.7, 0.6, -0.5, 0.6, -0.1), ("sea", "mountain", "tree")),
}
_SHOWN = "at the sea"
_RANK_SCALE = 0.25
_DRAWS = 8


def draw_example(seed: int) -> dict[str, Any]:
    """Draw labels for one of the images and return every step."""
    names = list(_LABELS)
    by_factor = np.array(list(_LABELS.values())).T
    factors, labels = _IMAGES[_SHOWN]
    vector = np.array(factors)
    sigma = by_factor.std(axis=1)
    weights = np.abs(vector) * sigma
    factor_probabilities = weights / weights.sum()
    rank_law = rank_probabilities(len(names), "exponential", _RANK_SCALE)
    order = np.argsort(-by_factor, axis=1, kind="stable")
    rankings = [[names[label] for label in row] for row in order]
    steps = []
    for number in range(_DRAWS):
        rank_uniform, factor_uniform = Streams(seed).child("example", number).uniforms(2)
        rank, factor = _pick(rank_law, rank_uniform), _pick(factor_probabilities, factor_uniform)
        from_top = bool(vector[factor] > 0)
        label = rankings[factor][rank if from_top else -1 - rank]
        steps.append({"rank": rank, "factor": factor, "from_top": from_top, "label": label, "owned": label in labels})
    return {
        "images": {name: {"vector": list(values), "labels": list(known)} for name, (values, known) in _IMAGES.items()},
        "image": _SHOWN,
        "labels": list(labels),
        "factors": list(FACTORS),
        "vector": vector.tolist(),
        "spread": sigma.tolist(),
        "factor_chance": factor_probabilities.tolist(),
        "rank_scale": _RANK_SCALE,
        "rank_chance": rank_law.tolist(),
        "rankings": rankings,
        "values": [row[sorting].tolist() for row, sorting in zip(by_factor, order, strict=True)],
        "exact_ranking": [names[label] for label in np.argsort(-(vector @ by_factor), kind="stable")],
        "steps": steps,
    }


def _pick(probabilities: NDArray[np.float64], uniform: float) -> int:
    return min(int(np.searchsorted(np.cumsum(probabilities), uniform, side="right")), len(probabilities) - 1)
