"""Suggested labels for images, with calibrated confidences and, on request, reasons."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypedDict

import numpy as np
from numpy.typing import NDArray

from vse_ens.curate.explain import Reason, contributions
from vse_ens.data.annotations import Annotations
from vse_ens.data.csr import take_rows
from vse_ens.errors import ConfigError
from vse_ens.kernels.arrays import Csr
from vse_ens.model.embeddings import Floats
from vse_ens.model.loaded import LoadedModel
from vse_ens.model.topk import TaskRunner, TopKScorer, TopLabels, run_serial


@dataclass(frozen=True)
class Suggestion:
    """A suggested label for an image."""

    label: str
    score: float
    confidence: float | None = None
    """The probability that it is right, calibrated on held-out labels; None if training held none out."""
    because: tuple[Reason, ...] = ()
    """The contributions that add up to the score; filled on request."""


class SuggestOptions(TypedDict, total=False):
    """Options of `Annotator.annotate`."""

    top: int
    allow: Sequence[str] | None
    deny: Sequence[str] | None
    min_confidence: float
    explain: bool


class Suggester:
    """Suggests labels for any images of a model, with one set of options."""

    def __init__(
        self,
        loaded: LoadedModel,
        *,
        top: int = 5,
        allow: Sequence[str] | None = None,
        deny: Sequence[str] | None = None,
        min_confidence: float = 0.0,
        explain: bool = False,
        run: TaskRunner = run_serial,
    ) -> None:
        if not 0.0 <= min_confidence <= 1.0:
            raise ConfigError(f"min_confidence must lie between 0 and 1, got {min_confidence}")
        if min_confidence and loaded.calibration is None:
            raise ConfigError(
                "this model has no confidences, since it was trained without held-out labels; "
                "train it with validate, or omit min_confidence"
            )
        self._loaded = loaded
        self._min_confidence = min_confidence
        self._explain = explain
        self._scorer = TopKScorer(
            loaded.model,
            top,
            allowed=_allowed(loaded.known, allow, deny),
            temperature=loaded.temperature,
            run=run,
        )

    def images(self, images: NDArray[np.int64] | None = None) -> Iterator[TopLabels]:
        """Yield the best labels of images by number, or of all images, block by block in order."""
        known = self._loaded.known
        for block in self._scorer.of_images(known, images):
            yield self._with_confidences(block, known.indptr[block.images + 1] - known.indptr[block.images])

    def rows(self, vectors: Floats, known: Csr) -> Iterator[TopLabels]:
        """Yield the best labels of new images, given by vector and known labels; image numbers are row numbers."""
        counts = np.diff(known.indptr)
        for block in self._scorer.of_rows(vectors, known):
            yield self._with_confidences(block, counts[block.images])

    def _with_confidences(self, block: TopLabels, counts: NDArray[np.int64]) -> TopLabels:
        """Add confidences, and remove labels below the minimum."""
        calibration = self._loaded.calibration
        if calibration is None:
            return block
        confidences = calibration.confidences(block.scores, block.log_totals[:, None], counts[:, None])
        if not self._min_confidence:
            return block._replace(confidences=confidences)
        labels = np.where(confidences >= self._min_confidence, block.labels, np.int32(-1))
        return block._replace(labels=labels, confidences=confidences)

    def to_suggestions(self, block: TopLabels, known: Csr, own: Floats | None) -> list[list[Suggestion]]:
        """Convert a block to ids; ``known`` and ``own`` are the known labels and own vectors of its images."""
        row, column = np.nonzero(block.labels >= 0)
        labels, scores = block.labels[row, column], block.scores[row, column].tolist()
        confidences = [None] * len(row) if block.confidences is None else block.confidences[row, column].tolist()
        reasons: Sequence[tuple[Reason, ...]] = [()] * len(row)
        vocabulary = self._loaded.known.labels
        if self._explain:
            parts = contributions(self._loaded.model, take_rows(*known, row), labels, None if own is None else own[row])
            reasons = [one.reasons(vocabulary) for one in parts]
        suggestions: list[list[Suggestion]] = [[] for _ in block.images]
        for image, *fields in zip(row.tolist(), vocabulary.ids(labels), scores, confidences, reasons, strict=True):
            suggestions[image].append(Suggestion(*fields))
        return suggestions


def _allowed(known: Annotations, allow: Sequence[str] | None, deny: Sequence[str] | None) -> NDArray[np.bool_] | None:
    if allow is None and not deny:
        return None
    allowed = np.full(len(known.labels), allow is None)
    allowed[known.labels.numbers(list(allow or []))] = True
    allowed[known.labels.numbers(list(deny or []))] = False
    return allowed
