"""The audit behind the page's queue: made once a model, told in pages."""

from __future__ import annotations

from vse_ens.annotator import Annotator
from vse_ens.curate.audit import Audit, audit_rows
from vse_ens.service.background import Tell

# Findings of each kind: more than a person works through between two models.
_FINDINGS = 1_000


def audit_of(annotator: Annotator, tell: Tell) -> Audit:
    """The surest findings in all pairs the model knows."""
    rows = max(1, audit_rows(annotator.known_))
    seen = 0

    def count(more: int) -> None:
        nonlocal seen
        seen += more
        tell(seen / rows)

    return annotator.audit(_FINDINGS, progress=count)
