"""Suggested labels for images, with calibrated confidences and, on request, reasons."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any, NamedTuple, TypedDict

import numpy as np
from numpy.typing import NDArray

from vse_ens.curate.explain import Explanation, Reason, contributions, reasons_text
from vse_ens.data.annotations import Annotations
from vse_ens.data.arrow import rows_to_frame
from vse_ens.data.csr import take_rows
from vse_ens.data.filters import facet, matching
from vse_ens.data.vocabulary import Vocabulary
from vse_ens.display import ResultList, Table, rounded
from vse_ens.errors import ConfigError
from vse_ens.kernels.arrays import Csr
from vse_ens.model.embeddings import Floats
from vse_ens.model.loaded import NO_CONFIDENCES, LoadedModel
from vse_ens.model.topk import TaskRunner, TopKScorer, TopLabels, run_serial

_SHOWN = ("label", "score", "confidence", "hit")
# The columns of a frame.
_TYPES = {"label": "large_string", "score": "float32", "confidence": "float32", "hit": "float32", "rank": "int32"}


@dataclass(frozen=True)
class Suggestion:
    """A suggested label for an image."""

    label: str
    score: float
    confidence: float | None = None
    """The probability that it is right; None if training held no labels out. See `Annotator.calibrate`."""
    because: tuple[Reason, ...] = ()
    """The contributions that add up to the score; filled on request."""
    hit: float | None = None
    """The probability that it is the missing label of an image that lacks exactly one; None as for ``confidence``."""

    def __repr__(self) -> str:
        confidence = "" if self.confidence is None else f", confidence={rounded(self.confidence)}"
        return f"Suggestion({self.label!r}, score={rounded(self.score)}{confidence})"


class Suggestions(ResultList[Suggestion]):
    """The suggestions for one image, best first: a list that is shown as a table."""

    def to_frame(self, backend: str = "arrow") -> Any:
        """Return a frame with the columns label, score, confidence, hit and rank: "arrow", "pandas" or "polars"."""
        return rows_to_frame([(*row, rank) for rank, row in enumerate(self.rows(), 1)], _TYPES, backend)

    def rows(self) -> list[tuple[str, float, float | None, float | None]]:
        """Return the label, score, confidence and hit of each suggestion."""
        return [(one.label, one.score, one.confidence, one.hit) for one in self]

    def _tables(self) -> list[Table]:
        if not any(one.because for one in self):
            return [Table(_SHOWN, self.rows(), bars=("confidence",))]
        rows = [(*row, reasons_text(one.because)) for row, one in zip(self.rows(), self, strict=True)]
        return [Table((*_SHOWN, "because"), rows, bars=("confidence",))]


class SuggestionLists(ResultList[Suggestions]):
    """The suggestions for several images: a list of lists that is shown as one table."""

    def __init__(self, lists: Iterable[Suggestions] = (), images: Sequence[str] | None = None) -> None:
        super().__init__(lists)
        self.images = None if images is None else list(images)
        """The ids of the images; None if they were given by their labels."""

    def __getitem__(self, index: Any) -> Any:
        found = super().__getitem__(index)
        if isinstance(index, slice) and self.images is not None:
            found.images = self.images[index]
        return found

    def to_frame(self, backend: str = "arrow") -> Any:
        """Return one row per suggestion: image (or row, its number), label, score, confidence, hit and rank.

        ``backend`` is "arrow", "pandas" or "polars". `Annotator.annotate` makes the same frame without a list of
        objects if it is given ``frame``.
        """
        rows = [(name, *row, rank) for name, found in self._named() for rank, row in enumerate(found.rows(), 1)]
        first = {"row": "int64"} if self.images is None else {"image": "large_string"}
        return rows_to_frame(rows, first | _TYPES, backend)

    def _named(self) -> Iterable[tuple[str | int, Suggestions]]:
        names: Sequence[str | int] = range(len(self)) if self.images is None else self.images
        return zip(names, self, strict=True)

    def _tables(self) -> list[Table]:
        rows = [(name, *row) for name, found in self._named() for row in found.rows()]
        first = "row" if self.images is None else "image"
        return [Table((first, *_SHOWN), rows, bars=("confidence",))]


class SuggestOptions(TypedDict, total=False):
    """Options of `Annotator.annotate`."""

    top: int
    allow: Sequence[str] | None
    deny: Sequence[str] | None
    only: Sequence[str] | None
    per_namespace: int | None
    min_confidence: float
    explain: bool


def check_options(method: str, options: Mapping[str, Any]) -> None:
    """Raise a TypeError that names the method for an argument that is not one of `SuggestOptions`."""
    for name in options.keys() - SuggestOptions.__annotations__.keys():
        near = difflib.get_close_matches(name, SuggestOptions.__annotations__, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise TypeError(f"Annotator.{method}() got an unexpected keyword argument {name!r}{hint}")


class SuggestionBlock(NamedTuple):
    """The suggestions for several images as arrays, one row per image, best first."""

    images: NDArray[np.int64]
    """The numbers of the images; of images given by their labels, the numbers of the rows."""
    labels: NDArray[np.int32]
    """Label numbers; padded with -1."""
    scores: Floats
    confidences: Floats | None
    """None if the model has no calibration, and so are the next ones."""
    held_out_probabilities: Floats | None
    vocabulary: Vocabulary
    """The ids of the labels."""
    because: Sequence[tuple[Reason, ...]] | None = None
    """The reasons of all suggestions, image after image; None unless they were asked for."""

    def lists(self) -> list[Suggestions]:
        """Return one list of suggestions per image, by id."""
        filled = self.labels >= 0
        ids = iter(self.vocabulary.ids(self.labels[filled]))
        reasons: Iterator[tuple[Reason, ...]] = repeat(()) if self.because is None else iter(self.because)
        confidences, hits = (
            repeat(repeat(None)) if values is None else values.tolist()
            for values in (self.confidences, self.held_out_probabilities)
        )
        return [
            Suggestions(
                Suggestion(next(ids), score, confidence, next(reasons), hit)
                for is_filled, score, confidence, hit in zip(*image, strict=False)
                if is_filled
            )
            for image in zip(filled.tolist(), self.scores.tolist(), confidences, hits, strict=False)
        ]


class Suggester:
    """Suggests labels for any images of a model, with one set of options."""

    def __init__(
        self,
        loaded: LoadedModel,
        *,
        top: int = 5,
        allow: Sequence[str] | None = None,
        deny: Sequence[str] | None = None,
        only: Sequence[str] | None = None,
        per_namespace: int | None = None,
        min_confidence: float = 0.0,
        explain: bool = False,
        run: TaskRunner = run_serial,
    ) -> None:
        if not 0.0 <= min_confidence <= 1.0:
            raise ConfigError(f"min_confidence must lie between 0 and 1, got {min_confidence}")
        if min_confidence and loaded.calibration is None:
            raise ConfigError(f"{NO_CONFIDENCES}, or set min_confidence to 0")
        self._loaded = loaded
        self._min_confidence = min_confidence
        self._explain = explain
        allowed = _allowed(loaded.known, allow, deny, only)
        self._top = top
        self._scorers = [
            TopKScorer(loaded.model, count, allowed=labels, temperature=loaded.temperature, run=run)
            for count, labels in _passes(loaded.known, allowed, top, per_namespace)
        ]

    def suggest(
        self, images: NDArray[np.int64] | None = None, rows: Csr | None = None, features: Any = None
    ) -> Iterator[SuggestionBlock]:
        """Yield suggestions block by block, in order: for ``images`` by number, or for all images of the model.

        With ``rows`` of label numbers, they are for images that have these labels: for new ones, or for ``images``
        whose labels have changed. ``features`` are one row each for ``rows``, zeros for an image without.
        """
        loaded = self._loaded
        own_of: Callable[[NDArray[np.int64]], Floats | None]
        if rows is None:
            known, own_of = Csr(loaded.known.indptr, loaded.known.indices), loaded.own_vectors
            passes = [scorer.of_images(loaded.known, images) for scorer in self._scorers]
        else:
            vectors = loaded.vectors_by_labels(rows, images)
            # Without a context tower, the whole vector is the image's own.
            own = loaded.own_vectors(images) if loaded.model.embeddings.has_context else vectors
            known, own_of = rows, lambda numbers: None if own is None else own[numbers]
            passes = [scorer.of_rows(vectors, rows, images, features) for scorer in self._scorers]

        def own_numbers(chosen: NDArray[np.int64]) -> NDArray[np.int64] | None:
            return chosen if rows is None else None if images is None else images[chosen]

        for blocks in zip(*passes, strict=True):
            best = _best(blocks, self._top)
            given = None if features is None else features[best.images]
            evidence = loaded.model.evidence(take_rows(*known, best.images), own_numbers(best.images), given)
            block = self._with_confidences(best, evidence)
            if self._explain:
                filled = block.labels >= 0
                numbers = block.images[np.nonzero(filled)[0]]
                parts = contributions(
                    loaded.model,
                    take_rows(*known, numbers),
                    block.labels[filled],
                    own_of(numbers),
                    own_numbers(numbers),
                    None if features is None else features[numbers],
                )
                block = block._replace(because=[one.reasons(block.vocabulary) for one in parts])
            yield block

    def lists(
        self, images: NDArray[np.int64] | None = None, rows: Csr | None = None, features: Any = None
    ) -> list[Suggestions]:
        """Return what `suggest` yields by id, one list per image."""
        return [found for block in self.suggest(images, rows, features) for found in block.lists()]

    def _with_confidences(self, best: TopLabels, counts: NDArray[np.int64]) -> SuggestionBlock:
        """Add probabilities, and remove labels below the minimum confidence."""
        calibration, vocabulary = self._loaded.calibration, self._loaded.known.labels
        if calibration is None:
            return SuggestionBlock(best.images, best.labels, best.scores, None, None, vocabulary)
        held_out = calibration.held_out_probabilities(best.scores, best.log_totals[:, None], counts[:, None])
        confidences = calibration.confidences(held_out, counts[:, None], best.labels)
        labels = best.labels
        if self._min_confidence:
            labels = np.where(confidences >= self._min_confidence, labels, np.int32(-1))
        return SuggestionBlock(best.images, labels, best.scores, confidences, held_out, vocabulary)


def explain_label(
    loaded: LoadedModel, label: str, image: str | None = None, labels: Sequence[str] | None = None
) -> Explanation:
    """Explain the score of a label for an image, or for a new image with ``labels``.

    A label that the image has is left out of it first.
    """
    number = loaded.known.labels.number(label)
    if (image is None) == (labels is None):
        raise ConfigError("explain takes an image or labels, exactly one of them")
    images = None if image is None else loaded.known.images.numbers([image])
    rows = loaded.label_rows([labels or []]) if images is None else Csr(*loaded.known.rows(images))
    left_out = bool((rows.indices == number).any())
    suggester = Suggester(loaded, top=1, allow=[label], explain=True)
    if images is not None and not left_out:
        [[found]] = suggester.lists(images)
    else:
        others = rows.indices[rows.indices != number]
        [[found]] = suggester.lists(images, Csr(np.array([0, len(others)]), others))
    return Explanation(label, found.score, found.confidence, found.because, left_out)


def _allowed(
    known: Annotations, allow: Sequence[str] | None, deny: Sequence[str] | None, only: Sequence[str] | None
) -> NDArray[np.bool_] | None:
    if allow is None and not deny and not only:
        return None
    allowed = np.full(len(known.labels), allow is None)
    allowed[known.labels.numbers(list(allow or []))] = True
    if only:
        matches = np.zeros(len(known.labels), np.bool_)
        matches[known.labels.numbers(matching(only, known.labels))] = True
        allowed &= matches
    allowed[known.labels.numbers(list(deny or []))] = False
    return allowed


def _passes(
    known: Annotations, allowed: NDArray[np.bool_] | None, top: int, per_namespace: int | None
) -> list[tuple[int, NDArray[np.bool_] | None]]:
    """Return the number of suggestions and the labels of each pass: one, or one per namespace."""
    if per_namespace is None:
        return [(top, allowed)]
    if per_namespace < 1:
        raise ConfigError(f"per_namespace must be at least 1, got {per_namespace}")
    facets = np.array([facet(label) for label in known.labels])
    masks = [(facets == one) if allowed is None else (facets == one) & allowed for one in np.unique(facets)]
    return [(min(top, per_namespace), mask) for mask in masks if mask.any()] or [(top, allowed)]


def _best(blocks: Sequence[TopLabels], top: int) -> TopLabels:
    """Return the ``top`` best labels of the same images from several passes."""
    if len(blocks) == 1:
        return blocks[0]
    labels = np.concatenate([block.labels for block in blocks], axis=1)
    scores = np.concatenate([block.scores for block in blocks], axis=1)
    order = np.lexsort((labels, -scores), axis=1)[:, :top]  # unfilled places have a score of -inf
    return blocks[0]._replace(labels=np.take_along_axis(labels, order, 1), scores=np.take_along_axis(scores, order, 1))
