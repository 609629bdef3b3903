"""The best labels of images, each with a confidence and, where asked for, its reasons."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypedDict

import numpy as np
from numpy.typing import NDArray

from vse_ens.curate.explain import Reason, shares
from vse_ens.data.annotations import Annotations
from vse_ens.data.csr import take_rows
from vse_ens.errors import ConfigError
from vse_ens.kernels.arrays import Csr
from vse_ens.model.calibration import Calibration
from vse_ens.model.embeddings import Floats
from vse_ens.model.model import Model
from vse_ens.model.topk import Run, Suggestions, Temperature, TopKScorer, in_turn, no_temperature


@dataclass(frozen=True)
class Suggestion:
    """A label for an image, and how strongly."""

    label: str
    score: float
    confidence: float | None = None
    """The probability that it is right, as learnt on held-out labels; None where training held none out."""
    because: tuple[Reason, ...] = ()
    """What adds up to the score, where it was asked for."""


class SuggestOptions(TypedDict, total=False):
    """What `Annotator.annotate` may be asked for."""

    top: int
    allow: Sequence[str] | None
    deny: Sequence[str] | None
    min_confidence: float
    explain: bool


class Trained(NamedTuple):
    """What was learnt, and from what."""

    model: Model
    known: Annotations
    calibration: Calibration | None

    @property
    def temperature(self) -> Temperature:
        """By what scores are divided before they are shares of their image."""
        return no_temperature if self.calibration is None else self.calibration.temperature.of


class Best(NamedTuple):
    """The best labels of some images, a row an image."""

    images: NDArray[np.int64]
    labels: NDArray[np.int32]
    """By number, best first; -1 where there is no more."""
    scores: Floats
    confidences: Floats | None


class Suggester:
    """Answers one kind of question, for any images: how many labels, which ones, how sure."""

    def __init__(
        self,
        trained: Trained,
        *,
        top: int = 5,
        allow: Sequence[str] | None = None,
        deny: Sequence[str] | None = None,
        min_confidence: float = 0.0,
        explain: bool = False,
        run: Run = in_turn,
    ) -> None:
        if not 0.0 <= min_confidence <= 1.0:
            raise ConfigError(f"min_confidence must lie between 0 and 1, got {min_confidence}")
        if min_confidence and trained.calibration is None:
            raise ConfigError(
                "this model has no confidence to ask for, since it was trained without held-out labels; "
                "train it with validate, or leave min_confidence out"
            )
        self._trained = trained
        self._min_confidence = min_confidence
        self._explain = explain
        self._suggester = TopKScorer(
            trained.model,
            top,
            allowed=_allowed(trained.known, allow, deny),
            temperature=trained.temperature,
            run=run,
        )

    def images(self, images: NDArray[np.int64] | None = None) -> Iterator[Best]:
        """Of images by number, or of all; block by block."""
        known = self._trained.known
        for found in self._suggester.of_images(known, images):
            yield self._best(found, known.indptr[found.images + 1] - known.indptr[found.images])

    def rows(self, vectors: Floats, known: Csr) -> Iterator[Best]:
        """Of images that the model has never seen."""
        counts = np.diff(known.indptr)
        for found in self._suggester.of_rows(vectors, known):
            yield self._best(found, counts[found.images])

    def _best(self, found: Suggestions, counts: NDArray[np.int64]) -> Best:
        calibration = self._trained.calibration
        if calibration is None:
            return Best(found.images, found.labels, found.scores, None)
        sure = calibration.confidences(found.scores, found.log_totals[:, None], counts[:, None])
        labels = np.where(sure >= self._min_confidence, found.labels, np.int32(-1)) if self._min_confidence else None
        return Best(found.images, found.labels if labels is None else labels, found.scores, sure)

    def to_suggestions(self, best: Best, known: Csr, own: Floats | None) -> list[list[Suggestion]]:
        """The same by id; ``known`` and ``own`` are the labels and the vectors that these images have themselves."""
        row, place = np.nonzero(best.labels >= 0)
        labels, scores = best.labels[row, place], best.scores[row, place].tolist()
        sure = [None] * len(row) if best.confidences is None else best.confidences[row, place].tolist()
        because: Sequence[tuple[Reason, ...]] = [()] * len(row)
        vocabulary = self._trained.known.labels
        if self._explain:
            parts = shares(self._trained.model, take_rows(*known, row), labels, None if own is None else own[row])
            because = [one.reasons(vocabulary) for one in parts]
        found: list[list[Suggestion]] = [[] for _ in best.images]
        for image, *told in zip(row.tolist(), vocabulary.ids(labels), scores, sure, because, strict=True):
            found[image].append(Suggestion(*told))
        return found


def _allowed(known: Annotations, allow: Sequence[str] | None, deny: Sequence[str] | None) -> NDArray[np.bool_] | None:
    if allow is None and not deny:
        return None
    allowed = np.full(len(known.labels), allow is None)
    allowed[known.labels.numbers(list(allow or []))] = True
    allowed[known.labels.numbers(list(deny or []))] = False
    return allowed
