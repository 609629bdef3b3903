"""Gradient-boosted trees of LightGBM: one classifier per label, whose inputs are the other labels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from benchmarks.peers.base import Fitted, Settings, Trained, ones_matrix
from benchmarks.rivals.base import RIVALS_EXTRA, Rival
from vse_ens.baselines.ease import Ease
from vse_ens.data.annotations import Annotations

# Labels with a classifier, the most common ones. Each classifier takes about a tenth of a second.
_CLASSIFIERS = 300
# Of EASE, which scores the other labels: a value between those that tuning finds on the larger vocabularies.
_REGULARIZATION = 10.0


class Trees(Rival):
    """LightGBM's probability of a label; beyond the most common labels, the value of EASE's regression."""

    name = "LightGBM"
    module = "lightgbm"
    install = RIVALS_EXTRA
    epochs = 60
    deterministic = True
    grid: ClassVar[Sequence[Settings]] = (
        {"rate": 0.2, "leaves": 7},
        {"rate": 0.1, "leaves": 15},
    )
    remark = (
        f"LightGBM has a classifier for each of the {_CLASSIFIERS} most common labels. Other labels have the value of "
        "EASE, which is a regression to 0 and 1, as a probability is."
    )

    def load(self, data: Annotations) -> Annotations:
        """Return the pairs as they are."""
        return data

    def train(self, data: Annotations, settings: Settings, epochs: Sequence[int], seed: int) -> Iterator[Trained]:
        """Boost all classifiers to the last of ``epochs``; earlier ones use the first trees."""
        matrix = ones_matrix(data).astype(np.float64)
        chosen = np.argsort(-data.images_per_label, kind="stable")[:_CLASSIFIERS]
        boosters = boost(matrix, chosen, settings, epochs[-1], seed)
        rest = None if len(chosen) == len(data.labels) else Ease(regularization=_REGULARIZATION).fit(data)
        size = sum(len(booster.model_to_string()) for booster in boosters)
        size += 0 if rest is None else rest.weights.nbytes

        def scores(images: NDArray[np.int64], trees: int) -> NDArray[np.float32]:
            found = np.zeros((len(images), matrix.shape[1]), np.float32) if rest is None else rest.scores(images)
            rows = matrix[images]
            for label, booster in zip(chosen, boosters, strict=True):
                found[:, label] = booster.predict(rows, num_iteration=trees, num_threads=1)
            return found

        for epoch in epochs:
            yield epoch, Fitted(lambda images, trees=epoch: scores(images, trees), size)  # type: ignore[misc]


def boost(matrix: Any, labels: NDArray[np.int64], settings: Settings, trees: int, seed: int) -> list[Any]:
    """Return one booster per label; a label is not an input of its own classifier."""
    lightgbm: Any = import_module("lightgbm")
    fixed = {"verbosity": -1, "num_threads": 1, "max_bin": 2, "min_data_in_bin": 1, "feature_pre_filter": False}
    inputs = lightgbm.Dataset(matrix, np.zeros(matrix.shape[0]), params=fixed, free_raw_data=False).construct()
    columns = matrix.tocsc()
    boosters = []
    for label in labels:
        target = np.zeros(matrix.shape[0])
        target[columns.indices[columns.indptr[label] : columns.indptr[label + 1]]] = 1.0
        inputs.set_label(target)
        allowed = np.ones(matrix.shape[1])
        allowed[label] = 0.0  # a split on it gains nothing
        more = {
            "objective": "binary",
            "learning_rate": settings["rate"],
            "num_leaves": settings["leaves"],
            "min_data_in_leaf": 10,
            "lambda_l2": 1.0,
            "feature_contri": allowed.tolist(),
            "seed": seed,
        }
        boosters.append(lightgbm.train(fixed | more, inputs, trees))
    return boosters
