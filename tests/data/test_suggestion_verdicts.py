"""Verdicts on suggestions: which events and decisions count."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from vse_ens.data.feedback.pairs import SuggestionVerdict, read_suggestion_verdicts
from vse_ens.data.feedback.verdicts import Feedback
from vse_ens.errors import DataError


def test_a_feedback_file(tmp_path: Path) -> None:
    said: dict[str, Any] = {"by": "anna", "model": "m"}
    feedback = Feedback(tmp_path / "f.sqlite")
    feedback.add("b", "sea", "reject", source="page", confidence=0.5, **said)
    feedback.add("a", "sea", "accept", source="audit", confidence=0.2, **said)
    feedback.add("a", "typed", "accept", source="page", confidence=None, **said)
    feedback.add("a", "chosen", "accept", source="label-studio", confidence=0.4, **said)
    undone = feedback.add("a", "undone", "accept", source="api", confidence=0.4, **said)
    feedback.undo(undone, by="anna", model="m")
    feedback.close()
    assert read_suggestion_verdicts(tmp_path / "f.sqlite") == [
        SuggestionVerdict("b", "sea", False),
        SuggestionVerdict("a", "sea", True),
    ]


def test_decisions_on_missing_labels(tmp_path: Path) -> None:
    path = tmp_path / "audit.csv"
    path.write_text(
        "kind,image,label,other_label,confidence,reason,decision\n"
        "missing,a,sea,,0.5,,add\nmissing,b,sea,,0.5,,no\nmissing,c,sea,,0.5,,\nwrong,d,sea,,0.5,,accept\n"
    )
    assert read_suggestion_verdicts(path) == [SuggestionVerdict("a", "sea", True), SuggestionVerdict("b", "sea", False)]
    path.write_text("image,label\na,sea\n")
    with pytest.raises(DataError, match="no column 'kind'; name the file that vse calibrate --ask"):
        read_suggestion_verdicts(path)
