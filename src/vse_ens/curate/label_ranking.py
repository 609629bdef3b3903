"""Images for one label: those that likely lack it, and those that likely have it by mistake; and images by gain.

`ImageScan` scores all labels of all images once, in blocks, and keeps a few numbers per image. With them, a label is
ranked over a million images in a fraction of a second, because only its own column of the score matrix is computed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from vse_ens.curate.audit.wrong import (
    Auditor,
    EvidenceWeights,
    images_of,
    sample_pairs,
    sample_weights,
    without_label,
    wrong_by_evidence,
    wrong_given,
)
from vse_ens.curate.candidates import THRESHOLDS, Candidates, Relabeled, count_above
from vse_ens.curate.verdict_calibration import doubt
from vse_ens.data.csr import rows_with, take_rows
from vse_ens.kernels.arrays import Csr
from vse_ens.kernels.columns import image_label_pairs
from vse_ens.kernels.label_pairs import PairMatches
from vse_ens.model.calibration import Calibration, softmax_shares
from vse_ens.model.embeddings import Floats
from vse_ens.model.image_products import ImageProducts
from vse_ens.model.loaded import LoadedModel
from vse_ens.model.neighbors import NeighborTerms
from vse_ens.model.products import row_products
from vse_ens.model.search import LabelColumns
from vse_ens.model.topk import Task, TaskRunner, TopKScorer, row_blocks, run_serial

Numbers = NDArray[np.int64]

GAIN_TOP = 5
"""The gain of an image counts its best suggestions."""

# Images listed per label; a person decides on the first ones, and others come up.
_MOST = 10_000
# Pairs of a label that are measured exactly, in decreasing order of suspicion by a cheaper measure: this many, and more
# if no more scores are computed than this, in a fraction of a second. On IAPR-TC12, the first 500 of up to 5,500 pairs
# have all images with a confidence above 0.04.
_LEAST_MEASURED = 500
_MAX_WRONG_SCORES = 10_000_000
# Pairs that are compared by that measure; of more, a still cheaper one chooses, to which the label itself contributes.
_MOST_SUPPORTED = 50_000
# Scores computed to fit the regression of wrong labels: a fraction of a second.
_MAX_CONTROL_SCORES = 40_000_000
_WRONG_SHARE = 0.02
# Images of one task of a column.
_TASK = 131_072


class ImageScan:
    """Numbers of all images, computed once in blocks; results so far can be used while it runs.

    ``done`` images have a softmax total, a gain, which is the expected number of right labels among the best
    suggestions, and a doubt: how much verdicts on these suggestions tell about confidences.
    """

    def __init__(self, loaded: LoadedModel, run: TaskRunner = run_serial) -> None:
        self.loaded = loaded
        images = len(loaded.known.images)
        self._run = run
        self.log_totals = np.zeros(images, np.float32)
        self.gains = np.zeros(images, np.float32)
        self.doubts = np.zeros(images, np.float32)
        self.done = 0
        self._lock = Lock()
        self._joined = (0, np.zeros(1, np.int64), np.empty(0, np.int32))
        # Blocks that are not joined yet: the number of label pairs of each image, and the pairs.
        self._pairs: list[tuple[NDArray[np.int64], NDArray[np.int32]]] = []
        self._terms: list[NeighborTerms] = []

    def steps(self) -> Iterator[int]:
        """Scan block by block; yields the number of images done."""
        known, calibration = self.loaded.known, self.loaded.calibration
        scorer = TopKScorer(self.loaded.model, GAIN_TOP, temperature=self.loaded.temperature, run=self._run)
        for block in scorer.of_images(known):
            first, last = int(block.images[0]), int(block.images[-1]) + 1
            counts = self.loaded.evidence(block.images)
            totals = block.log_totals[:, None]
            if calibration is not None:
                probabilities = calibration.held_out_probabilities(block.scores, totals, counts[:, None])
                confidences = calibration.confidences(probabilities, counts[:, None], block.labels)
            else:
                confidences = softmax_shares(block.scores, totals, self.loaded.temperature(counts)[:, None])
            self.gains[first:last] = confidences.sum(axis=1)
            self.doubts[first:last] = doubt(confidences).sum(axis=1)
            self.log_totals[first:last] = block.log_totals
            pairs, terms = self._label_pairs(first, last), self._neighbor_terms(first, last)
            with self._lock:
                self._pairs.append(pairs)
                self._terms += terms
            self.done = last
            yield last

    def recalibrate(self, calibration: Calibration | None) -> None:
        """Use another completeness or correction from now on; the gains of images that are done stay as they are."""
        self.loaded = replace(self.loaded, calibration=calibration)

    def label_pairs(self) -> tuple[int, Csr]:
        """Return how many images are done, and the numbers of their label pairs, one row per image."""
        with self._lock:
            if self._pairs:
                before, indptr, numbers = self._joined
                counts, more = (np.concatenate(column) for column in zip(*self._pairs, strict=True))
                indptr = np.concatenate([indptr, indptr[-1] + np.cumsum(counts)])
                self._joined = (before + len(counts), indptr, np.concatenate([numbers, more]))
                self._pairs.clear()
            done, indptr, numbers = self._joined
            return done, Csr(indptr, numbers)

    def neighbor_terms(self) -> NeighborTerms | None:
        """Return what neighbors add to the scores of the images that are done; None if the model has no neighbors."""
        if self.loaded.model.neighbors is None:
            return None
        with self._lock:
            if len(self._terms) != 1:
                self._terms = [NeighborTerms.joined(self._terms)]
            return self._terms[0]

    def _neighbor_terms(self, first: int, last: int) -> list[NeighborTerms]:
        neighbors, images = self.loaded.model.neighbors, np.arange(first, last)
        return [] if neighbors is None else [neighbors.terms(Csr(*self.loaded.known.rows(images)), images)]

    def _label_pairs(self, first: int, last: int) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Return the number of label pairs of each image of a block, and the pairs."""
        embeddings, known = self.loaded.model.embeddings, self.loaded.known
        counts = np.zeros(last - first, np.int64)
        if not embeddings.has_context or not len(embeddings.label_pairs):
            return counts, np.empty(0, np.int32)
        table = embeddings.label_pair_table
        rows = known.rows(np.arange(first, last))
        longest = int(np.diff(rows.indptr).max(initial=0))
        numbers = np.empty(table.pairs_per_label * len(rows.indices), np.int32)
        written = image_label_pairs(Csr(*rows), table, PairMatches.allocate(longest), counts, numbers)
        return counts, numbers[:written].copy()


class LabelRanker:
    """Ranks images for one label after another, over the images that a scan has done."""

    def __init__(self, scan: ImageScan, *, step_size: float = 0.0, run: TaskRunner = run_serial) -> None:
        self.scan = scan
        self._run = run
        self._auditor = Auditor(scan.loaded, step_size)

    def prepare(self) -> None:
        """Do once what the first calls would wait for: compile, and fit what `wrong` needs."""
        known = self.scan.loaded.known
        if len(known.labels) and len(known.images):
            self.missing(0)
            self.wrong(0)
            first = np.zeros(1, np.int64)
            self.missing_again(0, self.relabel(first, known.rows(first)))
        _ = self._wrong_weights

    def missing(self, label: int) -> Candidates:
        """Return the images that are not known to have a label, those that most likely have it first."""
        loaded = self.scan.loaded
        known = loaded.known
        images, pairs = self.scan.label_pairs()
        shares = self._shares(label, images, pairs)
        counts = loaded.evidence(np.arange(images))
        has = images_of(known, np.flatnonzero(known.indices[: known.indptr[images]] == label))
        total = images - len(has)
        keys = self._keys(label, shares, counts)
        keys[has] = -1.0
        order = _largest(keys, min(_MOST, total))
        found = self._by_keys(order, keys[order], total)
        calibration, confidences = loaded.calibration, found.confidences
        if calibration is None or confidences is None or len(order) == total or confidences[-1] < THRESHOLDS[0]:
            return found
        return found._replace(above=count_above(calibration.confidences_of(keys[keys >= 0])))

    def _keys(self, label: int, shares: Floats, counts: NDArray[np.integer]) -> Floats:
        """Return what images are sorted by, from the softmax shares of a label: confidences grow with it."""
        calibration = self.scan.loaded.calibration
        if calibration is None:
            return shares
        probabilities = calibration.probabilities_of_shares(shares, counts)
        return calibration.expected_counts(probabilities, counts, np.array([label]))

    def _by_keys(self, images: Numbers, keys: Floats, total: int) -> Candidates:
        calibration = self.scan.loaded.calibration
        if calibration is None:
            return Candidates(images, keys, None, {}, total)
        confidences = calibration.confidences_of(keys)
        return Candidates(images, keys, confidences, count_above(confidences), total)

    def wrong(self, label: int) -> Candidates:
        """Return the images that have a label, those that likely should not first; images with no other label are out.

        Confidences are as in an audit. Of a label on very many images, the least supported ones are measured.
        """
        known = self.scan.loaded.known
        done = self.scan.done
        pairs = np.flatnonzero(known.indices[: known.indptr[done]] == label)
        pairs = pairs[known.labels_per_image[images_of(known, pairs)] > 1]
        if len(pairs) > _MOST_SUPPORTED:
            shares = self._shares(label, *self.scan.label_pairs())
            pairs = pairs[_largest(-shares[images_of(known, pairs)], _MOST_SUPPORTED)]
        most = max(_LEAST_MEASURED, _MAX_WRONG_SCORES // len(known.labels))
        if len(pairs) > most:
            pairs = pairs[_largest(-self._support(label, pairs), most)]
        blocks = row_blocks(len(pairs), len(known.labels))
        confidences = [wrong_given(self._auditor, pairs[block], self._wrong_weights, _WRONG_SHARE) for block in blocks]
        return _likely_wrong(images_of(known, pairs), np.concatenate([*confidences, np.empty(0, np.float32)]))

    def relabel(self, images: Numbers, rows: Csr) -> Relabeled:
        """Score all labels of images that have other labels now than in the data, given one row of labels each."""
        loaded = self.scan.loaded
        vectors = loaded.vectors_by_labels(rows, images)
        scorer = TopKScorer(loaded.model, 1, temperature=loaded.temperature)
        totals = [block.log_totals for block in scorer.of_rows(vectors, rows, images)]
        return Relabeled(images, rows, vectors, np.concatenate([*totals, np.empty(0, np.float32)]))

    def missing_again(self, label: int, relabeled: Relabeled) -> Candidates:
        """Do as `missing` for relabeled images; those that have the label in the data are not candidates."""
        model = self.scan.loaded.model
        images, rows, vectors, totals = relabeled
        scores = row_products(model.embeddings.label_vectors[label][None], vectors)[0]
        scores += model.embeddings.label_bias[label]
        counts = np.diff(rows.indptr)
        if model.neighbors is not None:
            where, values = model.neighbors.terms(rows, images).column(label, len(images))
            scores[where] += values
        if model.label_weights is not None and model.label_weights_scale:
            weights = model.label_weights.weights_for(label) * np.float32(model.label_weights_scale)
            row = np.repeat(np.arange(len(images)), counts)
            scores += np.bincount(row, weights[rows.indices], len(images)).astype(np.float32)
        model.add_features(rows, images, scores[:, None], labels=np.array([label]))
        counts = model.evidence(rows, images)
        shares = softmax_shares(scores, totals, self.scan.loaded.temperature(counts))
        chosen = np.flatnonzero(~self._has(images, label) & (images < self.scan.done))
        return self._by_keys(images[chosen], self._keys(label, shares, counts)[chosen], len(chosen))

    def wrong_again(self, label: int, relabeled: Relabeled) -> Candidates:
        """Do as `wrong` for relabeled images; those that do not have the label in the data are not candidates."""
        images, rows = relabeled.images, relabeled.rows
        chosen = np.flatnonzero(self._has(images, label) & (images < self.scan.done))
        indptr, indices = take_rows(*rows, chosen)
        kept = indices != label
        others = Csr(np.concatenate([[0], np.cumsum(kept)])[indptr], indices[kept])
        testable = np.flatnonzero(np.diff(others.indptr))
        chosen, others = chosen[testable], take_rows(*others, testable)
        confidences = [np.empty(0, np.float32)]
        for block in row_blocks(len(chosen), len(self.scan.loaded.known.labels)):
            part = images[chosen[block]]
            labels = np.full(len(part), label, np.int64)
            rest = take_rows(*others, np.arange(block.start, block.stop))
            evidence = self._auditor.evidence_of(part, labels, rest, labels)
            confidences.append(wrong_by_evidence(evidence, self._wrong_weights, _WRONG_SHARE))
        return _likely_wrong(images[chosen], np.concatenate(confidences))

    def _has(self, images: Numbers, label: int) -> NDArray[np.bool_]:
        has = np.zeros(len(images), np.bool_)
        has[rows_with(*self.scan.loaded.known.rows(images), label)] = True
        return has

    @cached_property
    def _wrong_weights(self) -> EvidenceWeights:
        most = max(200, _MAX_CONTROL_SCORES // max(1, len(self.scan.loaded.known.labels)))
        return sample_weights(self._auditor, sample_pairs(self.scan.loaded.known, most))

    def _shares(self, label: int, images: int, pairs: Csr) -> Floats:
        """Return the softmax share of a label in each of the first ``images`` images."""
        model, known = self.scan.loaded.model, self.scan.loaded.known
        embeddings = model.embeddings
        weights = np.empty(0, np.float32)
        if model.label_weights is not None and model.label_weights_scale:
            weights = model.label_weights.weights_for(label) * np.float32(model.label_weights_scale)
        # The scan has checked that all vectors are finite.
        products = ImageProducts(embeddings, known, pairs, embeddings.label_vectors[label], weights)
        shares = np.empty(images, np.float32)
        terms = self.scan.neighbor_terms()
        where, values = terms.column(label, images) if terms else (np.empty(0, np.int64), np.empty(0, np.float32))

        def work(first: int) -> Task:
            def task(_worker: int) -> None:
                last = min(first + _TASK, images)
                scores = np.full(last - first, embeddings.label_bias[label], np.float32)
                products.add(first, scores)
                part = slice(*np.searchsorted(where, (first, last)))
                scores[where[part] - first] += values[part]
                numbers = np.arange(first, last)
                rows = Csr(*known.rows(numbers))
                model.add_features(rows, numbers, scores[:, None], labels=np.array([label]))
                shares[first:last] = softmax_shares(
                    scores, self.scan.log_totals[first:last], self._temperatures[first:last]
                )

            return task

        self._run([work(first) for first in range(0, images, _TASK)])
        return shares

    @cached_property
    def _temperatures(self) -> Floats:
        return self.scan.loaded.temperature(self.scan.loaded.evidence(np.arange(len(self.scan.loaded.known.images))))

    def _support(self, label: int, pairs: Numbers) -> Floats:
        """Return log shares of a label in images that have it, by their other labels; totals are not computed again."""
        known = self.scan.loaded.known
        images = images_of(known, pairs)
        columns = LabelColumns(self.scan.loaded.model, np.array([label], np.int64))
        scores = columns.scores_of_rows(without_label(known, pairs), images)[:, 0]
        return np.asarray(scores / self._temperatures[images] - self.scan.log_totals[images], np.float32)


def _likely_wrong(images: Numbers, confidences: Floats) -> Candidates:
    likely = np.flatnonzero(confidences > _WRONG_SHARE)
    order = likely[np.lexsort((images[likely], -confidences[likely]))]
    found = confidences[order]
    return Candidates(images[order], found, found, count_above(found), len(order))


def _largest(values: Floats, count: int) -> Numbers:
    """Return the positions of the largest values in descending order, ties in the order of positions."""
    if not count:
        return np.empty(0, np.int64)
    chosen = np.arange(len(values))
    if count < len(values):
        lowest = np.partition(values, len(values) - count)[len(values) - count]
        chosen = np.flatnonzero(values >= lowest)
    return chosen[np.argsort(-values[chosen], kind="stable")][:count]
