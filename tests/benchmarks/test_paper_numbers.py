"""The results in docs/paper-numbers.md."""

from __future__ import annotations

import json

from benchmarks.core import paper_numbers


def test_the_document_is_written_from_the_stored_report() -> None:
    text = paper_numbers.DOCUMENT.read_text(encoding="utf-8")
    assert text == paper_numbers.filled(text), "run: python -m benchmarks.core.paper_numbers"


def test_stored_report_is_a_complete_tuned_run_on_real_data() -> None:
    report = json.loads(paper_numbers.STORED.read_text(encoding="utf-8"))
    assert report["complete"]
    assert report["effort"] == "full"
    assert not report["data_sets"]["iaprtc12"]["generated"]
    tuned = report["runs"]["iaprtc12"]["tuned"]["models"]
    assert all(len(model["runs"]) >= 3 for model in tuned.values())
    assert "/" not in report["data_sets"]["iaprtc12"]["path"], "no path of this machine"
