from __future__ import annotations

from vse_ens.evaluate.reliability import Reliability
from vse_ens.evaluate.report import Group, Report
from vse_ens.report.evaluation import evaluation_page


def report() -> Report:
    group = Group(3, 40, 30, {"recall@10": 0.5, "map": 0.25, "mrr": 0.25}, {"map": (0.2, 0.3)})
    return Report(50, 60, 12, 0, 4, {"recall@10": 0.5123}, {"recall@10": (0.5, 0.6)}, {"head": group})


def test_the_page_has_metrics_groups_confidence_and_the_command() -> None:
    trusted = [Reliability(0.2, 0.25, 40), Reliability(0.6, 0.55, 40)]
    html = evaluation_page("<b>", report(), trusted, top=5, command="vse evaluate m t").html()
    for text in ("&lt;b&gt;", "0.5123", "head", "4 of 60 held-out labels", "is 0.0500", "vse evaluate m t", "<svg"):
        assert text in html
    assert "<b>" not in html


def test_without_confidences_there_is_no_such_section() -> None:
    assert "Hits" not in evaluation_page("x", report(), [], top=5).html()
