"""From what the model finds to what travels."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from vse_ens.service.schemas import Reason, Suggestion

if TYPE_CHECKING:
    from vse_ens.curate.annotating import Suggestion as Suggested
    from vse_ens.curate.explain import Reason as Why


def reasons(because: Iterable[Why]) -> list[Reason]:
    """Why a label."""
    return [Reason(labels=list(one.labels), share=one.share, source=one.source) for one in because]


def suggestions(found: Sequence[Suggested], explained: bool) -> list[Suggestion]:
    """Suggested labels; ``because`` stays unset, and so untold, where nobody asked for it."""
    if not explained:
        return [Suggestion(label=one.label, score=one.score, confidence=one.confidence) for one in found]
    return [
        Suggestion(label=one.label, score=one.score, confidence=one.confidence, because=reasons(one.because))
        for one in found
    ]
