"""The results in docs/paper-numbers.md."""

from __future__ import annotations

import json
from dataclasses import asdict

from benchmarks.core import paper_numbers
from benchmarks.paper.findings import findings_of


def test_the_document_is_written_from_the_stored_report() -> None:
    text = paper_numbers.DOCUMENT.read_text(encoding="utf-8")
    assert text == paper_numbers.filled(text), "run: python -m benchmarks.core.paper_numbers"


def test_stored_report_is_a_tuned_run_on_real_data_and_says_what_is_missing() -> None:
    report = json.loads(paper_numbers.STORED.read_text(encoding="utf-8"))
    assert report["complete"] == (not report.get("missing"))
    assert report["effort"] == "full"
    assert not report["data_sets"]["iaprtc12"]["generated"]
    tuned = report["runs"]["iaprtc12"]["tuned"]["models"]
    assert all(len(model["runs"]) >= 3 for model in tuned.values())
    assert "/" not in report["data_sets"]["iaprtc12"]["path"], "no path of this machine"


def test_stored_verdicts_are_those_of_the_rules() -> None:
    """No verdict is typed in, and none is of rules that have changed since: run benchmarks.core.paper_numbers."""
    report = json.loads(paper_numbers.STORED.read_text(encoding="utf-8"))
    recomputed = json.loads(json.dumps([asdict(finding) for finding in findings_of(report)]))
    assert report["verdicts"] == recomputed


def test_charts_are_drawn_from_the_stored_report() -> None:
    for path, chart in paper_numbers.charts().items():
        assert path.read_text(encoding="utf-8") == chart, "run: python -m benchmarks.core.paper_numbers"
        assert f"]({path.name})" in paper_numbers.DOCUMENT.read_text(encoding="utf-8")
