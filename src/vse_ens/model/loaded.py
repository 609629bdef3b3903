"""A trained model in memory, and references by which cluster workers open it from shared storage."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vse_ens.config import Config
from vse_ens.data.annotations import Annotations
from vse_ens.data.features.attach import like_features, named_rows, plain_features
from vse_ens.data.features.table import FeatureTable
from vse_ens.errors import ConfigError, ModelError
from vse_ens.kernels.arrays import Csr
from vse_ens.model.calibration import Calibration
from vse_ens.model.checks import check_arrays, check_settings
from vse_ens.model.embeddings import Floats
from vse_ens.model.feature_scores import FeatureMap, feature_arrays, features_of_arrays
from vse_ens.model.model import Model
from vse_ens.model.neighbors import ImageNeighbors
from vse_ens.model.store import MODEL, StoredModel, load_model, model_card, save_model
from vse_ens.model.topk import TemperatureFn, unit_temperature
from vse_ens.storage.artifact import ARRAYS
from vse_ens.storage.reader import manifest_digest

NO_CONFIDENCES = "this model has no confidences, since it was trained without held-out labels; train it with validate"
"""The message for a model without a calibration."""


class ModelRef(NamedTuple):
    """The path of a model directory and a digest of its contents."""

    path: str
    """Absolute, because workers have other working directories."""
    digest: str
    """The SHA-256 of the manifest, which lists the SHA-256 of every file; empty if there is no manifest."""

    @classmethod
    def of(cls, path: str | Path) -> ModelRef:
        """Return the reference to a directory in its present state."""
        return cls(str(Path(path).resolve()), manifest_digest(Path(path)))


FoldIn = Callable[[Csr], Floats]
"""Returns vectors of images that are known only by their labels."""


@dataclass(frozen=True, eq=False)
class LoadedModel:
    """A model, the pairs it was trained on, and its calibration if it has one."""

    model: Model
    known: Annotations
    calibration: Calibration | None = None
    fold_in: FoldIn | None = None
    """For a model without a context tower; None if only its own images are asked for."""

    @property
    def temperature(self) -> TemperatureFn:
        """The softmax temperatures of images, from the calibration; 1 without one."""
        return unit_temperature if self.calibration is None else self.calibration.temperatures

    def evidence(self, images: NDArray[np.integer]) -> NDArray[np.int64]:
        """Return what is known of images of the model, as `Model.evidence` does."""
        return self.model.evidence(Csr(*self.known.rows(images)), images)

    def label_rows(self, lists: Sequence[Sequence[str]]) -> Csr:
        """Return lists of label ids as rows of label numbers."""
        numbers = [np.unique(self.known.labels.numbers(labels)) for labels in lists]
        indptr = np.concatenate([[0], np.cumsum([len(row) for row in numbers])]).astype(np.int64)
        return Csr(indptr, np.concatenate([*numbers, np.empty(0, np.int64)]).astype(np.int32))

    def feature_rows(self, features: Any) -> tuple[list[str] | None, Any, bool]:
        """Return the ids of images if ``features`` name them, their rows of features, and whether it is one vector."""
        if self.model.features is None:
            raise ConfigError("this model was trained without features; train it with fit(data, features=...)")
        is_array = isinstance(features, list | tuple | np.ndarray) and not isinstance(features, FeatureTable)
        one = is_array and np.ndim(features) == 1
        given: Any = np.asarray(features)[None] if one else features
        named, ids, rows = named_rows(given), None, given
        if named is not None:
            ids, rows, _ = FeatureTable(*named).aligned(self.known.feature_names, "the table")
        rows = plain_features(rows)
        columns = self.known.features.shape[1]
        if rows.ndim != 2 or rows.shape[1] != columns:
            raise ConfigError(f"the model was trained on {columns:,} features per image, got {rows.shape[-1]:,}")
        return None if ids is None else list(ids), like_features(rows, self.known.features), one

    def own_vectors(self, images: NDArray[np.integer] | None) -> Floats | None:
        """Return the image vectors that do not depend on known labels; None if there are none."""
        embeddings = self.model.embeddings
        return None if images is None or not len(embeddings.image_vectors) else embeddings.own_vectors(images)

    def vectors_by_labels(self, rows: Csr, images: NDArray[np.integer] | None = None) -> Floats:
        """Return v_i of images that have the labels of ``rows``; ``images`` are their numbers if the model has them.

        With a context tower, the own vectors of ``images`` are added. Without one, v_i was trained on all labels of the
        image, and fold-in computes another; if the model cannot fold in, it is the trained one.
        """
        embeddings = self.model.embeddings
        if not embeddings.has_context:
            if self.fold_in is not None:
                return self.fold_in(rows)
            if images is None:
                raise ConfigError("a model without a context tower needs fold-in for an image it has not seen")
            return embeddings.own_vectors(images)
        own = self.own_vectors(images)
        vectors = embeddings.context(*rows)
        return vectors if own is None else vectors + own

    def save(
        self,
        path: str | Path,
        config: Config,
        preset: str,
        training: Mapping[str, Any],
        validation: Mapping[str, float] | None,
    ) -> None:
        """Write the model directory, atomically."""
        settings = {"config": config.to_dict(), "preset": preset, "training": training, "validation": validation}
        arrays = self.model.arrays() | (self.calibration.arrays() if self.calibration else {})
        if self.known.features is not None:
            arrays |= feature_arrays(self.known.features)
        card = model_card(config.to_dict(), self.known.summary(), training, validation)
        save_model(path, StoredModel(settings, arrays, self.known, card))

    @classmethod
    def open(cls, ref: ModelRef) -> LoadedModel:
        """Map a model directory into memory without verification, which the process that made ``ref`` has done."""
        if not Path(ref.path).is_dir():
            raise ModelError(
                f"a cluster worker cannot find the model {ref.path}; "
                "save it on storage that all nodes see under the same path"
            )
        stored = load_model(ref.path, verify=False)
        if ModelRef.of(ref.path) != ref:
            raise ModelError(f"{ref.path} has changed since the model was loaded; load it again")
        return cls.of_stored(stored, ref.path)[0]

    @classmethod
    def of_stored(cls, stored: StoredModel, path: str | Path) -> tuple[LoadedModel, Config]:
        """Return the model of a directory and its configuration.

        Raises a ModelError unless all settings and arrays fit together; see `vse_ens.model.checks`.
        """
        try:
            config = check_settings(stored.settings)
        except ModelError as error:
            raise ModelError(f"{Path(path) / MODEL.document} is damaged: {error}; {MODEL.remedy}") from error
        try:
            check_arrays(stored.arrays, config, len(stored.known.images), len(stored.known.labels))
        except ModelError as error:
            raise ModelError(f"{Path(path) / ARRAYS} is damaged: {error}; {MODEL.remedy}") from error
        training, known = stored.settings["training"], stored.known
        features = features_of_arrays(stored.arrays)
        if features is not None:
            known = Annotations.trusted(
                known.images, known.labels, known.indptr, known.indices, known.pictures, features, known.feature_names
            )
        scale = float(training.get("neighbors_scale", 0.0))  # models of version 0.2 have none
        neighbors = ImageNeighbors(known, scale) if scale else None
        model = Model.from_arrays(stored.arrays, float(training["label_weights_scale"]), neighbors)
        model = model.completed(known, config.balance, FeatureMap.from_arrays(stored.arrays))
        calibration = Calibration.from_arrays(stored.arrays)
        return cls(model, known, calibration and calibration.for_pairs(known)), config
