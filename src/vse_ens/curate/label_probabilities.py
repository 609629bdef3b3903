"""The probability that an image has a label, given its other labels: for every label, known or not.

The odds of a label are its held-out probability times M(r), as `vse_ens.model.completeness.LabelCountLaw` derives.
This is the probability that the label is recorded in data like the training data; how many labels the data lack
plays no part in it.
"""

from __future__ import annotations

import numpy as np

from vse_ens.data.csr import take_rows
from vse_ens.kernels.arrays import Csr
from vse_ens.model.calibration import FEATURES, KIND_SHIFT, LABELS, Calibration, Curve, Temperature
from vse_ens.model.completeness import LabelCountLaw
from vse_ens.model.embeddings import Floats
from vse_ens.model.loaded import LoadedModel
from vse_ens.model.topk import row_blocks


class LabelProbabilities:
    """Computes probabilities of all labels by a model, for images given by their labels."""

    def __init__(self, loaded: LoadedModel, law: LabelCountLaw) -> None:
        self._model = loaded.model
        # Without a calibration, the softmax share itself is the held-out probability.
        identity = Calibration({LABELS: Curve(Temperature(1.0, 0.0), *np.array([[0.0, 1.0], [0.0, 1.0]], np.float32))})
        self._calibration = loaded.calibration or identity
        self._law = law
        self._vectors_of = loaded.vectors_by_labels

    def probabilities(self, rows: Csr) -> Floats:
        """Return one row per image with the probability of every label, each without knowing that label."""
        found = self._given(rows)
        images = np.repeat(np.arange(len(found)), np.diff(rows.indptr))
        for block in row_blocks(len(rows.indices), found.shape[1]):
            pairs = np.arange(block.start, block.stop)
            one, label = images[block], rows.indices[block]
            with_it = take_rows(*rows, one)
            place = with_it.indptr[:-1] + pairs - rows.indptr[one]
            others = Csr(with_it.indptr - np.arange(len(with_it.indptr)), np.delete(with_it.indices, place))
            found[one, label] = self._given(others)[np.arange(len(pairs)), label]
        return found

    def _given(self, rows: Csr) -> Floats:
        """Return the probabilities of the labels that an image is not known to have; 0 for the others."""
        counts = np.diff(rows.indptr)
        scores = self._model.scores_of(self._vectors_of(rows), rows, None)
        scores[np.repeat(np.arange(len(counts)), counts), rows.indices] = -np.inf
        evidence = self._model.evidence(rows, None)
        totals = self._calibration.log_totals(scores, evidence)
        found = self._calibration.held_out_probabilities(scores, totals[:, None], evidence[:, None])
        odds = found * self._law.odds_factor(counts)[:, None].astype(np.float32)
        return np.where((evidence >> KIND_SHIFT >= FEATURES)[:, None], found, odds / (1.0 + odds)).astype(np.float32)
