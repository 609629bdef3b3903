"""Suggested labels for images, with calibrated confidences and, on request, reasons."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from vse_ens.curate.explain import Reason, contributions, reasons_text
from vse_ens.data.annotations import Annotations
from vse_ens.data.csr import take_rows
from vse_ens.data.hierarchy import facet, matching
from vse_ens.display import ResultList, Table, rounded
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
        from vse_ens.data.io.frames import as_backend

        return as_backend(_suggestion_table([self]), backend)

    def _tables(self) -> list[Table]:
        rows = [(one.label, one.score, one.confidence, one.hit) for one in self]
        names = ("label", "score", "confidence", "hit")
        if not any(one.because for one in self):
            return [Table(names, rows, bars=names[2:3])]
        reasons = [reasons_text(one.because) for one in self]
        return [
            Table((*names, "because"), [(*row, why) for row, why in zip(rows, reasons, strict=True)], bars=names[2:3])
        ]


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
        import pyarrow as pa

        from vse_ens.data.arrow import strings_to_arrow
        from vse_ens.data.io.frames import as_backend

        rows = np.repeat(np.arange(len(self)), [len(one) for one in self])
        table = _suggestion_table(self)
        ids = None if self.images is None else strings_to_arrow(self.images)
        first = pa.array(rows) if ids is None else ids.take(pa.array(rows))
        return as_backend(table.add_column(0, "row" if ids is None else "image", first), backend)

    def _tables(self) -> list[Table]:
        names: Sequence[str | int] = range(len(self)) if self.images is None else self.images
        rows = [
            (name, one.label, one.score, one.confidence, one.hit)
            for name, found in zip(names, self, strict=True)
            for one in found
        ]
        first = "row" if self.images is None else "image"
        return [Table((first, "label", "score", "confidence", "hit"), rows, bars=("confidence",))]


def _suggestion_table(lists: Iterable[Sequence[Suggestion]]) -> Any:
    """Return an Arrow table with one row per suggestion, without the images."""
    import pyarrow as pa

    from vse_ens.data.arrow import strings_to_arrow

    ranked = [(one, rank) for found in lists for rank, one in enumerate(found, 1)]
    return pa.table(
        {
            "label": strings_to_arrow([one.label for one, _ in ranked]),
            "score": pa.array([one.score for one, _ in ranked], pa.float32()),
            "confidence": pa.array([one.confidence for one, _ in ranked], pa.float32()),
            "hit": pa.array([one.hit for one, _ in ranked], pa.float32()),
            "rank": pa.array([rank for _, rank in ranked], pa.int32()),
        }
    )


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
            raise ConfigError(
                "this model has no confidences, since it was trained without held-out labels; "
                "train it with validate, or set min_confidence to 0"
            )
        self._loaded = loaded
        self._min_confidence = min_confidence
        self.explains = explain
        allowed = _allowed(loaded.known, allow, deny, only)
        self._top = top
        self._scorers = [
            TopKScorer(loaded.model, count, allowed=labels, temperature=loaded.temperature, run=run)
            for count, labels in _passes(loaded.known, allowed, top, per_namespace)
        ]

    def images(self, images: NDArray[np.int64] | None = None) -> Iterator[TopLabels]:
        """Yield the best labels of images by number, or of all images, block by block in order."""
        known = self._loaded.known
        for blocks in zip(*(scorer.of_images(known, images) for scorer in self._scorers), strict=True):
            block = _best(blocks, self._top)
            yield self._with_confidences(block, known.indptr[block.images + 1] - known.indptr[block.images])

    def rows(self, vectors: Floats, known: Csr) -> Iterator[TopLabels]:
        """Yield the best labels of new images, given by vector and known labels; image numbers are row numbers."""
        counts = np.diff(known.indptr)
        for blocks in zip(*(scorer.of_rows(vectors, known) for scorer in self._scorers), strict=True):
            block = _best(blocks, self._top)
            yield self._with_confidences(block, counts[block.images])

    def _with_confidences(self, block: TopLabels, counts: NDArray[np.int64]) -> TopLabels:
        """Add hits and confidences, and remove labels below the minimum."""
        calibration = self._loaded.calibration
        if calibration is None:
            return block
        hits = calibration.held_out_probabilities(block.scores, block.log_totals[:, None], counts[:, None])
        confidences = calibration.confidences(hits, counts[:, None], block.labels)
        block = block._replace(confidences=confidences, hits=hits)
        if not self._min_confidence:
            return block
        return block._replace(labels=np.where(confidences >= self._min_confidence, block.labels, np.int32(-1)))

    def to_suggestions(
        self, block: TopLabels, known: Csr | None = None, own: Floats | None = None
    ) -> list[Suggestions]:
        """Convert a block to ids; reasons need the ``known`` labels and ``own`` vectors of its images."""
        filled = block.labels >= 0
        labels, vocabulary = block.labels[filled], self._loaded.known.labels
        ids = iter(vocabulary.ids(labels))
        reasons: Iterator[tuple[Reason, ...]] = repeat(())
        if self.explains and known is not None:
            row = np.nonzero(filled)[0]
            parts = contributions(self._loaded.model, take_rows(*known, row), labels, None if own is None else own[row])
            reasons = (one.reasons(vocabulary) for one in parts)
        scores = block.scores.tolist()
        confidences = repeat(repeat(None)) if block.confidences is None else block.confidences.tolist()
        hits = repeat(repeat(None)) if block.hits is None else block.hits.tolist()
        return [
            Suggestions(
                Suggestion(next(ids), score, confidence, next(reasons), hit)
                for is_filled, score, confidence, hit in zip(*image, strict=False)
                if is_filled
            )
            for image in zip(filled.tolist(), scores, confidences, hits, strict=False)
        ]


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
