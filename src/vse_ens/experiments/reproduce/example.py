"""Figure 2: one VSE-ens draw step by step, on a model of 5 images, 10 labels and 5 factors."""

from __future__ import annotations

from typing import Any

import numpy as np

from vse_ens.config import Config
from vse_ens.data.annotations import Annotations
from vse_ens.streams import Streams
from vse_ens.train.distributions import rank_probabilities
from vse_ens.train.trainer import Trainer

_PICTURES = {
    "at the sea": ("sea", "sand", "sky", "person"),
    "in the hills": ("mountain", "sky", "tree", "snow"),
    "in the street": ("car", "house", "person", "sky"),
    "in the garden": ("tree", "flower", "house"),
    "at the lake": ("sea", "mountain", "tree", "sky"),
}
_SHOWN = "at the sea"
_RANK_SCALE = 0.25
_DRAWS = 8
_CONFIG = Config(
    sampler="vse-ens", dimensions=5, epochs=200, learning_rate=0.05, init_scale=0.1, label_bias=False, rank_scale=0.5
)


def draw(seed: int) -> dict[str, Any]:
    """Train the little model, then draw labels for one of its images, keeping every step."""
    data = Annotations.from_pairs((image, label) for image, labels in _PICTURES.items() for label in labels)
    trainer = Trainer(_CONFIG.override(seed=seed), data, workers=1)
    for _ in trainer.epochs():
        pass
    model = trainer.embeddings
    image = data.images.number(_SHOWN)
    vector = model.image_vectors[image].astype(np.float64)
    factors = model.label_vectors.astype(np.float64).T  # a row a factor
    spread = factors.std(axis=1)
    weights = np.abs(vector) * spread
    factor_chance = weights / weights.sum()
    rank_chance = rank_probabilities(len(data.labels), "exponential", _RANK_SCALE)
    rankings = np.argsort(-factors, axis=1, kind="stable")
    owned = set(data.label_numbers(image).tolist())
    steps = []
    for number in range(_DRAWS):
        by_rank, by_factor = Streams(seed).child("example", number).uniforms(2)
        rank, factor = _pick(rank_chance, by_rank), _pick(factor_chance, by_factor)
        from_top = bool(vector[factor] > 0)
        label = int(rankings[factor, rank if from_top else -1 - rank])
        steps.append(
            {
                "rank": rank,
                "factor": factor,
                "from_top": from_top,
                "label": data.labels.id(label),
                "owned": label in owned,
            }
        )
    scores = factors.T @ vector
    return {
        "image": _SHOWN,
        "labels": data.labels_of(_SHOWN),
        "vector": vector.tolist(),
        "spread": spread.tolist(),
        "factor_chance": factor_chance.tolist(),
        "rank_scale": _RANK_SCALE,
        "rank_chance": rank_chance.tolist(),
        "rankings": [data.labels.ids(row) for row in rankings],
        "values": [row[order].tolist() for row, order in zip(factors, rankings, strict=True)],
        "exact_ranking": data.labels.ids(np.argsort(-scores, kind="stable")),
        "steps": steps,
    }


def _pick(chances: np.ndarray[Any, np.dtype[np.float64]], uniform: float) -> int:
    return min(int(np.searchsorted(np.cumsum(chances), uniform, side="right")), len(chances) - 1)
