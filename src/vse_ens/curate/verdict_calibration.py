"""Confidences against the truth: verdicts correct them, and held-out labels show how reliable they are.

People say which suggestions are right, and a regression fits confidences to that.

Let n be the number that a confidence 1 - e^-n comes from (`vse_ens.model.completeness`). The regression has the
complementary log-log link, log n' = shift + slope log n, so that the shift corrects the completeness and the slope the
model. A normal prior keeps both near 0 and 1 where verdicts are few. Verdicts may be on any suggestions, also on chosen
ones, because confidences are fitted as a function of n.

Which suggestions to judge is a question of sampling. The mean of a binary outcome is estimated best if a suggestion of
probability p is drawn in proportion to its standard deviation sqrt(p (1 - p)) (Neyman's allocation).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vse_ens.curate.suggest import Suggester, SuggestionBlock
from vse_ens.curate.suggest_remote import RemoteSuggester
from vse_ens.data.annotations import Annotations
from vse_ens.data.csr import take_rows
from vse_ens.data.feedback.pairs import read_suggestion_verdicts
from vse_ens.errors import ConfigError
from vse_ens.evaluate.reliability import Reliability, reliability
from vse_ens.kernels.arrays import Csr
from vse_ens.model.blas import one_thread
from vse_ens.model.completeness import Completeness, Correction
from vse_ens.model.embeddings import Floats
from vse_ens.model.loaded import NO_CONFIDENCES, LoadedModel
from vse_ens.model.topk import TaskRunner, row_blocks, run_serial
from vse_ens.streams import Streams

Doubles = NDArray[np.float64]
Numbers = NDArray[np.int64]
Verdicts = str | Path | Iterable[tuple[str, str, bool]]
"""A file that people have written verdicts to, or tuples of image, label and whether it was accepted."""

MIN_VERDICTS = 50
"""Fewer verdicts change nothing."""
WANTED_VERDICTS = 200
"""The number of verdicts asked for; more make confidences a little better."""
MAX_VERDICTS = 5_000
"""Of more verdicts, the last ones are used."""

# Standard deviations of the priors. An estimated completeness is rarely wrong by more than a factor of two in n.
_SHIFT_PRIOR, _SLOPE_PRIOR = 0.7, 0.3
_NEWTON_STEPS = 50
# Images whose suggestions may be chosen for verdicts.
_MAX_JUDGED = 50_000
# Limits of log n, and of the correction, as the model file has them.
_LOG_COUNTS = (-30.0, 3.0)
_SHIFTS, _SLOPES = (-20.0, 20.0), (0.05, 10.0)


class Judged(NamedTuple):
    """Suggestions that a person accepted or rejected, by number."""

    images: Numbers
    labels: Numbers
    accepted: NDArray[np.bool_]

    @classmethod
    def of(cls, verdicts: Verdicts, loaded: LoadedModel) -> Judged:
        """Return the last verdicts on images and labels that a model knows.

        A rejected label that the image is known to have was not a suggestion, and is left out.
        """
        given = read_suggestion_verdicts(verdicts) if isinstance(verdicts, str | Path) else verdicts
        found = list(given)[-MAX_VERDICTS:]
        known = loaded.known
        images = known.images.numbers([image for image, _, _ in found], missing="minus-one")
        labels = known.labels.numbers([label for _, label, _ in found], missing="minus-one")
        accepted = np.array([verdict for _, _, verdict in found], np.bool_)
        usable = (images >= 0) & (labels >= 0)
        images, labels, accepted = images[usable], labels[usable], accepted[usable]
        rows = known.rows(images)
        row = np.repeat(np.arange(len(images)), np.diff(rows.indptr))
        has = np.zeros(len(images), np.bool_)
        has[row[rows.indices == labels[row]]] = True
        suggested = accepted | ~has
        return cls(images[suggested], labels[suggested], accepted[suggested])


def with_verdicts(loaded: LoadedModel, verdicts: Verdicts) -> LoadedModel:
    """Return a model with its confidences corrected by verdicts.

    Without a calibration, or with fewer than `MIN_VERDICTS` verdicts, it is returned as it is.
    """
    calibration = loaded.calibration
    if calibration is None or calibration.completeness is None:
        return loaded
    judged = Judged.of(verdicts, loaded)
    if len(judged.images) < MIN_VERDICTS:
        return loaded
    correction = fit_correction(judged_counts(loaded, judged), judged.accepted)
    corrected = calibration.completeness.corrected(correction)
    return replace(loaded, calibration=calibration.with_completeness(corrected))


def calibrated(
    loaded: LoadedModel, completeness: float | Mapping[str, float] | None, verdicts: Verdicts
) -> LoadedModel:
    """Return a model with another completeness, estimated from its pairs if it is None, and corrected by verdicts."""
    if loaded.calibration is None:
        raise ConfigError(NO_CONFIDENCES)
    if completeness is None:
        shares = Completeness.estimated(loaded.known)
    else:
        shares = Completeness.given(completeness, loaded.known)
    return with_verdicts(replace(loaded, calibration=loaded.calibration.with_completeness(shares)), verdicts)


def judged_counts(loaded: LoadedModel, judged: Judged) -> Doubles:
    """Return n of each judged suggestion, as before the verdicts: without the labels that people have accepted."""
    calibration = loaded.calibration
    if calibration is None:
        raise ValueError("judged_counts needs a calibration")
    accepted = set(zip(judged.images[judged.accepted].tolist(), judged.labels[judged.accepted].tolist(), strict=True))
    given = loaded.known.rows(judged.images)
    image = np.repeat(judged.images, np.diff(given.indptr))
    pairs = zip(image.tolist(), given.indices.tolist(), strict=True)
    kept = np.array([pair not in accepted for pair in pairs], np.bool_)
    others = Csr(np.concatenate([[0], np.cumsum(kept)])[given.indptr], given.indices[kept])
    counts = np.empty(len(judged.images), np.float64)
    for block in row_blocks(len(judged.images), len(loaded.known.labels)):
        rows = take_rows(*others, np.arange(block.start, block.stop))
        images = judged.images[block]
        scores = loaded.model.scores_of(loaded.vectors_by_labels(rows, images), rows, images)
        sizes = np.diff(rows.indptr)
        scores[np.repeat(np.arange(len(sizes)), sizes), rows.indices] = -np.inf
        evidence, labels = loaded.model.evidence(rows, images), judged.labels[block]
        totals = calibration.log_totals(scores, evidence)
        probabilities = calibration.held_out_probabilities(scores[np.arange(len(sizes)), labels], totals, evidence)
        counts[block] = calibration.expected_counts(probabilities, evidence, labels)
    return counts


@one_thread()
def fit_correction(counts: Doubles, accepted: NDArray[np.bool_]) -> Correction:
    """Return the correction that fits verdicts on suggestions with the given n best, by Fisher scoring."""
    lowest, highest = _LOG_COUNTS
    logs = np.log(np.maximum(counts, np.exp(lowest)))
    inputs = np.column_stack([np.ones(len(logs)), logs])
    center, precision = np.array([0.0, 1.0]), np.array([_SHIFT_PRIOR, _SLOPE_PRIOR]) ** -2.0
    found = center.copy()
    for _ in range(_NEWTON_STEPS):
        numbers = np.exp(np.clip(inputs @ found, lowest, highest))
        right = np.clip(-np.expm1(-numbers), 1e-12, 1 - 1e-12)
        slopes = numbers * np.exp(-numbers)  # of the probability, by the logarithm of n
        scale = slopes / (right * (1 - right))
        gradient = inputs.T @ (scale * (accepted - right)) - precision * (found - center)
        information = (inputs * (scale * slopes)[:, None]).T @ inputs + np.diag(precision)
        step = np.linalg.solve(information, gradient)
        found += step
        if np.abs(step).max() < 1e-9:
            break
    return Correction(float(np.clip(found[0], *_SHIFTS)), float(np.clip(found[1], *_SLOPES)), len(logs))


def doubt(confidences: Floats) -> Floats:
    """Return sqrt(p (1 - p)): how much a verdict on a suggestion tells."""
    return np.asarray(np.sqrt(confidences * (1 - confidences)), np.float32)


def spread_sample(values: Floats, weights: Floats, count: int, seed: int = 0) -> Numbers:
    """Return the positions of ``count`` values, in proportion to weights and spread evenly over the values.

    They are in random order, so that the first ones are spread over the values as well.
    """
    order = np.argsort(values, kind="stable")
    sums = np.cumsum(weights[order], dtype=np.float64)
    if not len(sums) or not sums[-1] > 0:
        return np.empty(0, np.int64)
    streams = Streams(seed).child("verdicts")
    places = (np.arange(count) + streams.child("start").uniforms(1)[0]) / count * sums[-1]
    chosen = np.unique(order[np.minimum(np.searchsorted(sums, places, side="right"), len(order) - 1)])
    return chosen[np.argsort(streams.child("order").words(len(chosen)), kind="stable")]


class ToJudge(NamedTuple):
    """Suggestions to judge, by number, in the order in which to ask."""

    images: Numbers
    labels: Numbers
    confidences: Floats

    def take(self, chosen: Numbers) -> ToJudge:
        """Return some of them."""
        return ToJudge(self.images[chosen], self.labels[chosen], self.confidences[chosen])


def choose_to_judge(blocks: Iterable[SuggestionBlock], count: int, judged: Judged, seed: int = 0) -> ToJudge:
    """Choose the ``count`` suggestions whose verdicts tell most, without those that have one."""
    found = [ToJudge(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.float32))]
    for block in blocks:
        if block.confidences is None:
            continue
        filled = block.labels >= 0
        images = np.repeat(block.images, filled.sum(axis=1))
        found.append(ToJudge(images, block.labels[filled].astype(np.int64), block.confidences[filled]))
    every = ToJudge(*map(np.concatenate, zip(*found, strict=True)))
    done = set(zip(judged.images.tolist(), judged.labels.tolist(), strict=True))
    new = [pair not in done for pair in zip(every.images.tolist(), every.labels.tolist(), strict=True)]
    left = every.take(np.flatnonzero(new))
    return left.take(spread_sample(left.confidences, doubt(left.confidences), count, seed))


def suggestions_to_judge(
    loaded: LoadedModel, count: int, verdicts: Verdicts, seed: int = 0, run: TaskRunner = run_serial
) -> list[tuple[str, str, float]]:
    """Return image, label and confidence of the suggestions that `choose_to_judge` chooses from a sample of images."""
    words = Streams(seed).child("judged").words(len(loaded.known.images))
    images = np.sort(np.argsort(words)[:_MAX_JUDGED])
    blocks = Suggester(loaded, top=5, run=run).suggest(images)
    chosen = choose_to_judge(blocks, count, Judged.of(verdicts, loaded), seed)
    ids = loaded.known.images.ids(chosen.images), loaded.known.labels.ids(chosen.labels)
    return list(zip(*ids, chosen.confidences.tolist(), strict=True))


def reliability_of(suggester: Suggester | RemoteSuggester, known: Annotations, test: Annotations) -> list[Reliability]:
    """Bin the suggestions for the images of ``test`` by held-out probability.

    A suggestion is right if it is a held-out label. Images and labels of ``test`` that ``known`` lacks are left out.
    """
    held_out = test.relabeled(known.labels)
    numbers = known.images.translate(held_out.images)
    rows = np.flatnonzero((numbers >= 0) & (held_out.labels_per_image > 0))
    order = rows[np.argsort(numbers[rows])]
    chances, outcomes = [np.empty(0, np.float32)], [np.empty(0, np.bool_)]
    done = 0
    for block in suggester.suggest(numbers[order]):
        if block.held_out_probabilities is None:
            raise ConfigError(NO_CONFIDENCES)
        filled = block.labels >= 0
        right = _is_held_out(held_out, order[done : done + len(block.images)], block.labels)
        chances.append(block.held_out_probabilities[filled])
        outcomes.append(right[filled])
        done += len(block.images)
    if done == 0:
        raise ConfigError("none of the held-out pairs has an image and a label that the model knows")
    return reliability(np.concatenate(chances), np.concatenate(outcomes))


def _is_held_out(test: Annotations, images: NDArray[np.int64], labels: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Return which labels of each row are held-out labels of its image."""
    indptr, indices = test.rows(images)
    held_out = np.repeat(np.arange(len(images)), np.diff(indptr)) * len(test.labels) + indices
    return np.isin(np.arange(len(images))[:, None] * len(test.labels) + labels, held_out) & (labels >= 0)
