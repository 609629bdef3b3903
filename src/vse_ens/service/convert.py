"""From what the model finds to what travels."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, overload

from vse_ens.service.schemas import Reason, Suggestion

if TYPE_CHECKING:
    from vse_ens.curate.explain import Reason as Why
    from vse_ens.curate.suggest import Suggestion as Suggested

# Beyond them a single-precision number says nothing.
_DECIMALS = 6


@overload
def rounded(value: float) -> float: ...
@overload
def rounded(value: float | None) -> float | None: ...
def rounded(value: float | None) -> float | None:
    """A number as a person can read it."""
    return None if value is None else round(value, _DECIMALS)


def reasons(because: Iterable[Why]) -> list[Reason]:
    """Why a label."""
    return [Reason(labels=list(one.labels), share=rounded(one.share), source=one.source) for one in because]


def suggestions(found: Sequence[Suggested], explained: bool) -> list[Suggestion]:
    """Suggested labels; ``because`` stays unset, and so untold, where nobody asked for it."""
    told = [(one.label, rounded(one.score), rounded(one.confidence), one.because) for one in found]
    if explained:
        return [
            Suggestion(label=label, score=score, confidence=confidence, because=reasons(because))
            for label, score, confidence, because in told
        ]
    return [Suggestion(label=label, score=score, confidence=confidence) for label, score, confidence, _ in told]
