"""Small runs of the trainer, and what is compared between two of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from tests.support.kernel_problems import DIMENSIONS, random_annotations
from vse_ens.config import LOSSES, SAMPLERS, Config
from vse_ens.data.annotations import Annotations
from vse_ens.errors import ConfigError
from vse_ens.model.embeddings import Embeddings
from vse_ens.model.model import Model
from vse_ens.presets import PRESETS
from vse_ens.train.progress import EpochReport
from vse_ens.train.trainer import Trainer


def allowed_pairs() -> list[tuple[str, str]]:
    """Every sampler with every loss it makes sense with."""
    pairs = []
    for sampler in SAMPLERS:
        for loss in LOSSES:
            try:
                Config(sampler=sampler, loss=loss)
            except ConfigError:
                continue
            pairs.append((sampler, loss))
    return pairs


# The length of a round comes from `short_rounds`, where a test asks for several an epoch.
SMALL: dict[str, Any] = {
    "dimensions": DIMENSIONS,
    "epochs": 2,
    "negatives": 4,
    "candidates": 3,
    "batch": 16,
    "slices": 4,
    "refresh": 0.25,
}


def small_config(**settings: Any) -> Config:
    return Config(**{**SMALL, "learning_rate": 0.05, "init_scale": 0.1, **settings})


def whole_preset(**settings: Any) -> Config:
    """All that the default preset does, in small: labels held out, combinations, a memory, and training anew."""
    return small_config(**{**PRESETS["context"].to_dict(), **SMALL, "epochs": 4, "patience": 2, **settings})


def small_data(features: bool = False) -> Annotations:
    data = random_annotations(images=40, labels=20, most=6)
    if features:
        return data.with_features(np.random.default_rng(4).normal(size=(40, 6)).astype(np.float32))
    return data


def finished(config: Config, data: Annotations, workers: int = 1) -> Trainer:
    trainer = Trainer(config, data, workers)
    for _ in trainer.epochs():
        pass
    return trainer


def bytes_of(model: Embeddings | Model) -> dict[str, bytes]:
    return {name: array.tobytes() for name, array in model.arrays().items()}


def counted(history: Iterable[EpochReport]) -> list[dict[str, Any]]:
    """What reports say, but for how long it took."""
    timed = ("seconds", "refresh_share", "draws_per_second")
    return [{name: value for name, value in report.to_dict().items() if name not in timed} for report in history]
