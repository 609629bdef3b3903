"""An audit as it is asked for, kept as CSV and shown as a page."""

from __future__ import annotations

import csv
import json
from base64 import b64encode
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest

from tests.support.curate_models import KNOWN, MODELS
from tests.support.html_reading import Reader
from vse_ens.annotator import Annotator
from vse_ens.curate.audit.audit import Audit, Finding, audit_labels, audit_rows
from vse_ens.curate.audit.duplicates import Duplicate
from vse_ens.curate.audit.missing import likely_missing
from vse_ens.curate.audit.page import audit_page
from vse_ens.curate.audit.wrong import Auditor, wrong_confidences
from vse_ens.curate.explain import Reason
from vse_ens.data.datasets.scenes import scenes
from vse_ens.errors import ConfigError, DataError
from vse_ens.model.loaded import LoadedModel

NASTY = '<script>alert("1")</script>, ä\n"quoted"'
MADE_UP = Audit(
    [Finding(NASTY, "sea", 0.9, "contradicted by sky (-1.00)", (Reason(("sky",), -1.0),))],
    [Finding("i2", "=1+1", 0.75, "no known label supports it", ())],
    [Duplicate("cars", "car & co", "same", "same word; ..."), Duplicate("mug", "bookcase", "alike", "similarity 0.93")],
)


@pytest.mark.parametrize("name", MODELS)
def test_an_audit_joins_the_three_lists(name: str) -> None:
    model, counts = MODELS[name], list[int]()
    found = audit_labels(LoadedModel(model, KNOWN), top=12, progress=counts.append)
    assert sum(counts) == audit_rows(KNOWN)
    confidences = wrong_confidences(Auditor(LoadedModel(model, KNOWN)))
    best = np.sort(confidences[confidences > np.float32(0.02)])[::-1][:12]
    assert [one.confidence for one in found.wrong] == pytest.approx(best.tolist())
    for one in found.wrong:
        assert one.label in KNOWN.labels_of(one.image)
        assert all(one.label not in reason.labels for reason in one.because)
        assert all(set(reason.labels) <= set(KNOWN.labels_of(one.image)) for reason in one.because)
    missing = likely_missing(LoadedModel(model, KNOWN), 12)
    assert [one.image for one in found.missing] == KNOWN.images.ids(missing.images)
    assert all(one.label not in KNOWN.labels_of(one.image) for one in found.missing)
    assert all(reason.share > 0 for one in found.missing for reason in one.because)


def test_reasons_name_what_speaks_most() -> None:
    found = audit_labels(LoadedModel(MODELS["context with weights"], KNOWN), top=30)
    for one in found.wrong:
        shares = [reason.share for reason in one.because]
        if one.reason.startswith("contradicted by"):
            assert max(shares) < 0
            assert shares == sorted(shares)
    strongest = found.missing[0].because[0]
    assert found.missing[0].reason.startswith(f"supported by {' + '.join(strongest.labels)} ({strongest.share:+.2f})")


@pytest.mark.parametrize(("values", "message"), [({"top": 0}, "top"), ({"wrong_share": 1.0}, "wrong_share")])
def test_bad_arguments_are_errors(values: dict[str, float], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        audit_labels(LoadedModel(MODELS["context"], KNOWN), **values)  # type: ignore[arg-type]


def test_as_a_dictionary() -> None:
    plain = json.loads(json.dumps(MADE_UP.to_dict()))
    assert plain["wrong"][0] == {
        "image": NASTY,
        "label": "sea",
        "confidence": 0.9,
        "reason": "contradicted by sky (-1.00)",
        "because": [{"labels": ["sky"], "share": -1.0}],
    }
    assert plain["duplicates"] == [
        {"label": "cars", "other": "car & co", "kind": "same", "reason": "same word; ..."},
        {"label": "mug", "other": "bookcase", "kind": "alike", "reason": "similarity 0.93"},
    ]
    assert plain["missing"][0]["because"] == []


def test_csv_goes_out_and_comes_back(tmp_path: Path) -> None:
    path = tmp_path / "new" / "audit.csv"
    MADE_UP.write_csv(path)
    with path.open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    assert [tuple(line.values()) for line in lines] == [
        ("wrong", NASTY, "sea", "", "0.9000", "contradicted by sky (-1.00)", ""),
        ("missing", "i2", "=1+1", "", "0.7500", "no known label supports it", ""),
        ("duplicate", "", "cars", "car & co", "", "same word; ...", ""),
        ("alike", "", "mug", "bookcase", "", "similarity 0.93", ""),
    ]
    assert list(lines[0]) == ["kind", "image", "label", "other_label", "confidence", "reason", "decision"]
    assert [one.name for one in path.parent.iterdir()] == ["audit.csv"]


def test_formulas_in_a_csv_are_defused_on_request(tmp_path: Path) -> None:
    MADE_UP.write_csv(tmp_path / "audit.csv", defuse_formulas=True)
    with (tmp_path / "audit.csv").open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    assert [line["label"] for line in lines] == ["sea", "'=1+1", "cars", "mug"]


def test_a_csv_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match=r"audit\.csv could not be written"):
        MADE_UP.write_csv(tmp_path / "file" / "audit.csv")


def test_the_page_shows_ids_as_text() -> None:
    html = audit_page(MADE_UP, facts=[("model", "<i>"), ("date", "today")], labels_of=lambda _: ["sea", NASTY]).html()
    page = Reader(html)
    assert len(page.all("script")) == 1
    assert not [name for _, found in page.elements for name in found if name.startswith("on")]
    assert NASTY.replace("\n", " ") in page.text.replace("\n", " ")
    for words in ("1 labels are probably wrong", "car & co", "=1+1", "90%", "same word; ...", "the same", "used alike"):
        assert words in page.text
    assert "<i>" in page.text
    digest = b64encode(sha256(html.split("<script>")[1].split("</script>")[0].encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in html


def test_the_page_groups_by_label_and_shows_pictures() -> None:
    def finding(image: str, label: str, confidence: float) -> Finding:
        return Finding(image, label, confidence, "no reason", ())

    audit = Audit([], [finding("a", "sea", 0.9), finding("b", "dog", 0.8), finding("c", "dog", 0.7)], [])
    page = Reader(
        audit_page(
            audit,
            labels_of=lambda image: [f"of {image}", "dog"],
            picture_of=lambda image: None if image == "a" else f"data:image/webp;base64,{image}",
        ).html()
    )
    places = [page.text.index(words) for words in ("dog", "of b", "of c", "sea", "of a, dog")]
    assert places == sorted(places)
    assert "of b, dog" not in page.text  # the label in question is not one of the others
    assert [one["src"] for one in page.all("img")] == ["data:image/webp;base64,b", "data:image/webp;base64,c"]


def test_an_empty_audit_has_a_page() -> None:
    text = Reader(audit_page(Audit([], [], [])).html()).text
    assert text.count("None.") == 3
    assert "0 labels are probably wrong" in text


def test_lists_end_where_nothing_is_worth_a_look() -> None:
    data = scenes(150, 60)
    found = Annotator(epochs=3, dimensions=8).fit(data).audit(top=10**6)
    assert 0.05 <= min(one.confidence for one in found.missing) < 0.06
    assert len(found.missing) < len(data.images) * len(data.labels) / 4
    assert all(float(one.reason.split()[1].rstrip(";")) >= 0.5 for one in found.duplicates if one.kind == "alike")
