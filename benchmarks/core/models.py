"""Models to measure with: trained for a few epochs, or random numbers in the shape of a trained model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vse_ens import __version__
from vse_ens.config import Config
from vse_ens.data.annotations import Annotations
from vse_ens.model.embeddings import Embeddings
from vse_ens.model.model import Model
from vse_ens.model.store import StoredModel, save_model
from vse_ens.model.weights import LabelWeights
from vse_ens.presets import configure
from vse_ens.train.trainer import Trainer

# About the standard deviation of trained vectors. Synthetic pairs have no structure from which training could learn it.
_SCALE = 0.3


def trained_embeddings(data: Annotations, config: Config, epochs: int) -> Embeddings:
    """Return embeddings trained for some epochs."""
    trainer = Trainer(config.override(epochs=epochs), data)
    for _ in trainer.epochs():
        pass
    return trainer.embeddings


def random_embeddings(data: Annotations, dimensions: int) -> Embeddings:
    """Return normally distributed vectors.

    Drawn in single precision, which takes a fraction of the RAM that initializing a training would take.
    """
    numbers = np.random.default_rng(0)

    def normal(rows: int) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
        made = numbers.standard_normal((rows, dimensions), np.float32)
        made *= np.float32(_SCALE)
        return made

    return Embeddings(
        label_vectors=normal(len(data.labels)),
        label_bias=np.zeros(len(data.labels), np.float32),
        image_vectors=normal(len(data.images)),
        feature_map=np.empty((0, dimensions), np.float32),
    )


def random_context_model(data: Annotations, dimensions: int) -> Model:
    """Return a context tower with label pairs and label weights; images have about one label pair per label."""
    labels = len(data.labels)
    numbers = np.random.default_rng(1)
    drawn = np.sort(numbers.choice(data.indices, (4 * labels, 2)), axis=1)
    label_pairs = np.unique(drawn[drawn[:, 0] < drawn[:, 1]], axis=0).astype(np.int32)
    inputs = labels + len(label_pairs)

    def normal(*shape: int) -> Any:
        return numbers.standard_normal(shape, np.float32) * np.float32(0.1)

    embeddings = replace(
        random_embeddings(data, dimensions),
        image_vectors=normal(0, dimensions),
        input_vectors=normal(inputs, dimensions),
        label_pairs=label_pairs,
        label_squares=1.0 + np.abs(normal(labels)),
        input_squares=1.0 + np.abs(normal(inputs)),
    )
    return Model(embeddings, LabelWeights(normal(labels, labels)), 10.0)


def save_random_model(
    path: Path, model: Model, data: Annotations, calibration: Mapping[str, NDArray[Any]] | None = None
) -> Path:
    """Save a model as if it had been trained on ``data``, with the arrays of a calibration if given."""
    preset = "context" if model.embeddings.has_context else "vse-ens"
    settings = {
        "config": configure(preset, dimensions=model.embeddings.dimensions).to_dict(),
        "preset": preset,
        "training": {
            "version": __version__,
            "epochs": 1,
            "best_epoch": 1,
            "complete": True,
            "label_weights_scale": model.label_weights_scale,
            "label_weights_regularization": None,
            "generations": 0,
        },
        "validation": None,
    }
    save_model(path, StoredModel(settings, {**model.arrays(), **(calibration or {})}, data, "made up"))
    return path
