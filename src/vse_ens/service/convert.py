"""Conversion of the model's results to response schemas."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import overload

from vse_ens.curate import explain, suggest
from vse_ens.service.schemas import Reason, Suggestion

# The precision of a float32.
_DECIMALS = 6


@overload
def rounded(value: float) -> float: ...
@overload
def rounded(value: float | None) -> float | None: ...
def rounded(value: float | None) -> float | None:
    """Round a score or a confidence; None stays None."""
    return None if value is None else round(value, _DECIMALS)


def to_reasons(reasons: Iterable[explain.Reason]) -> list[Reason]:
    """Convert the contributions to a score."""
    return [Reason(labels=list(one.labels), share=rounded(one.share), source=one.source) for one in reasons]


def to_suggestion(suggestion: suggest.Suggestion, explained: bool) -> Suggestion:
    """Convert a suggestion; without ``explained``, ``because`` stays unset and is left out of the response."""
    label, score = suggestion.label, rounded(suggestion.score)
    confidence, hit = rounded(suggestion.confidence), rounded(suggestion.hit)
    if explained:
        because = to_reasons(suggestion.because)
        return Suggestion(label=label, score=score, confidence=confidence, hit=hit, because=because)
    return Suggestion(label=label, score=score, confidence=confidence, hit=hit)


def to_suggestions(suggestions: Sequence[suggest.Suggestion], explained: bool) -> list[Suggestion]:
    """Convert suggestions."""
    return [to_suggestion(one, explained) for one in suggestions]
