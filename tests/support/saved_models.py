"""Random models of every kind, as annotators that can be saved and asked, with labels held out."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.support.random_models import random_case
from vse_ens import __version__
from vse_ens.annotator import Annotator
from vse_ens.data.annotations import Annotations, Split
from vse_ens.model.calibration import LABELS, Calibration, Curve, Temperature

KINDS = (
    "id",
    "id with weights",
    "id with sparse weights",
    "context",
    "context with weights",
    "context with sparse weights",
    "context with weights and neighbors",
    "id and context",
)


def random_annotator(kind: str, images: int = 300, labels: int = 40) -> Annotator:
    """A model of random numbers, as if it had been trained with labels held out."""
    case = random_case(kind, images, labels)
    preset, tower = ("context", "context+id" if "id" in kind else "context") if "context" in kind else ("opt-auc", "id")
    dimensions = case.model.embeddings.dimensions
    model = Annotator(preset, workers=2, tower=tower, dimensions=dimensions)
    model.config_, model.preset_ = model.config(), model.preset
    knots = np.array([0.0, 0.1, 1.0], np.float32)
    calibration = Calibration({LABELS: Curve(Temperature(1.5, 0.25), knots, knots**2)}).for_pairs(case.known)
    model._adopt(case.model.completed(case.known, 0.0), case.known, calibration)
    model.training_ = {
        "version": __version__,
        "epochs": 1,
        "best_epoch": 1,
        "complete": True,
        "generations": 0,
        "label_weights_scale": case.model.label_weights_scale,
        "neighbors_scale": case.model.neighbors.scale if case.model.neighbors else 0.0,
        "label_weights_regularization": 1.0 if case.model.label_weights else None,
    }
    model.validation_ = None
    return model


def saved_annotator(kind: str, folder: Path, images: int = 300, labels: int = 40) -> Annotator:
    """The same, saved as ``model`` and loaded again."""
    random_annotator(kind, images, labels).save(folder / "model")
    model = Annotator.load(folder / "model")
    model.workers = 2
    return model


def held_out(known: Annotations) -> Annotations:
    """Labels that images lack: none or up to three of each; also of an image and a label that nobody knows."""
    numbers = np.random.default_rng(3)
    pairs = [("image-00003-b", "label-00001"), ("image-00004", "label-x"), ("image-00009", "label-00002-b")]
    for image in range(len(known.images)):
        lacking = np.setdiff1d(np.arange(len(known.labels)), known.label_numbers(image))
        chosen = numbers.permutation(lacking)[: numbers.integers(0, 4)]
        pairs += [(known.images.id(image), label) for label in known.labels.ids(chosen)]
    return Annotations.from_pairs(pairs)


def one_held_out(known: Annotations) -> Split:
    """One label of every image that has two, held out of the others."""
    return known.leave_one_out(seed=1)
