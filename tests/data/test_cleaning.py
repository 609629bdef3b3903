"""A cleaned data set: data plus accepted minus rejected, merges and implications applied."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import polars as pl
import pytest

from vse_ens.data.annotations import Annotations
from vse_ens.data.cleaning import SOURCES, Cleaned, clean, with_merges
from vse_ens.data.datasets.scenes import scenes
from vse_ens.data.decisions import AuditDecisions, Merge
from vse_ens.data.feedback.verdicts import Feedback
from vse_ens.data.rules.rule_set import Rule, RuleSet
from vse_ens.errors import ConfigError
from vse_ens.streams import Streams

HEAD = "kind,image,label,other_label,confidence,reason,decision\n"


def rules(*given: tuple[str, str, str]) -> RuleSet:
    return RuleSet(Rule(n, kind, label, other, "anna", "now") for n, (kind, label, other) in enumerate(given, 1))  # type: ignore[arg-type]


def feedback(path: Path, *verdicts: tuple[str, str, str]) -> Path:
    file = Feedback(path)
    for image, label, verdict in verdicts:
        file.add(image, label, verdict, by="anna", source="page", confidence=None, model="m")  # type: ignore[arg-type]
    file.close()
    return path


def rows(cleaned: Cleaned) -> set[tuple[str, str, str]]:
    data = cleaned.data
    images, labels = data.images.ids(data.image_numbers()), data.labels.ids(data.indices)
    return set(zip(images, labels, [SOURCES[number] for number in cleaned.source], strict=True))


DATA = Annotations.from_pairs(
    [("a", "cars"), ("a", "sea"), ("b", "car"), ("b", "dalmatian"), ("c", "dalmatian"), ("c", "sky"), ("d", "fog")]
)


@pytest.fixture
def everything(tmp_path: Path) -> Cleaned:
    verdicts = feedback(
        tmp_path / "f.sqlite",
        ("a", "sand", "accept"),
        ("d", "fog", "reject"),
        ("c", "dog", "reject"),
        ("e", "cars", "accept"),
    )
    audit = tmp_path / "audit.csv"
    audit.write_text(f"{HEAD}wrong,c,sky,,0.9,r,accept\nmissing,b,road,,0.9,r,accept\nduplicate,,cars,car,,r,accept\n")
    return clean(DATA, audit=audit, feedback=verdicts, rules=rules(("implication", "dalmatian", "dog")))


def test_every_pair_says_where_it_comes_from(everything: Cleaned) -> None:
    assert rows(everything) == {
        ("a", "car", "data"),
        ("a", "sea", "data"),
        ("a", "sand", "feedback"),
        ("b", "car", "data"),
        ("b", "dalmatian", "data"),
        ("b", "dog", "rule"),
        ("b", "road", "audit"),
        ("c", "dalmatian", "data"),
        ("e", "car", "feedback"),
    }


def test_the_report_counts_and_shows_the_first_changes(everything: Cleaned) -> None:
    assert everything.to_dict() == {
        "before": {"images": 4, "labels": 6, "pairs": 7},
        "after": {"images": 4, "labels": 6, "pairs": 9},
        "added": {
            "audit": {"count": 1, "first": [["b", "road"]]},
            "feedback": {"count": 2, "first": [["a", "sand"], ["e", "car"]]},
            "rule": {"count": 1, "first": [["b", "dog"]]},
        },
        "removed": {
            "audit": {"count": 1, "first": [["c", "sky"]]},
            "feedback": {"count": 1, "first": [["d", "fog"]]},
        },
        "renamed": {"count": 1, "first": [["cars", "car", 1]]},
    }


def test_a_verdict_on_the_new_name_counts_for_the_old_one(tmp_path: Path) -> None:
    verdicts = feedback(tmp_path / "f.sqlite", ("a", "car", "reject"), ("b", "cars", "reject"))
    cleaned = clean(DATA, feedback=verdicts, rules=rules(("alias", "cars", "car")))
    assert not [row for row in rows(cleaned) if row[1] in ("car", "cars")]


def test_a_label_removed_by_the_audit_is_not_implied_again(tmp_path: Path) -> None:
    audit = tmp_path / "audit.csv"
    audit.write_text(f"{HEAD}wrong,b,dalmatian,,0.9,r,no\nwrong,c,dog,,0.9,r,accept\n")
    cleaned = clean(DATA, audit=audit, rules=rules(("implication", "dalmatian", "dog")))
    assert {row[0] for row in rows(cleaned) if row[1] == "dog"} == {"b"}
    # Feedback is later than the audit.
    verdicts = feedback(tmp_path / "f.sqlite", ("c", "dog", "accept"))
    cleaned = clean(DATA, audit=audit, feedback=verdicts, rules=rules(("implication", "dalmatian", "dog")))
    assert {row[::2] for row in rows(cleaned) if row[1] == "dog"} == {("b", "rule"), ("c", "feedback")}


def test_a_merge_that_contradicts_a_rule_names_its_line(tmp_path: Path) -> None:
    audit = tmp_path / "audit.csv"
    audit.write_text(f"{HEAD}duplicate,,sea,ocean,,r,merge\nduplicate,,car,cars,,r,merge\n")
    with pytest.raises(ConfigError, match=r"audit\.csv, line 3: 'cars' is replaced by 'car' \(rule 1\)"):
        clean(DATA, audit=audit, rules=rules(("alias", "cars", "car")))
    same = clean(DATA, audit=audit, rules=rules(("rename", "sea", "ocean")))
    assert {one.label for one in same.renamed} == {"sea", "car"}


def test_merges_are_added_behind_the_rules_in_force() -> None:
    given = rules(("alias", "cars", "car"), ("implication", "fog", "sky"), ("rename", "sea", "ocean"))
    merges = [Merge("sea", "ocean", 2), Merge("dalmatian", "dog", 3), Merge("sky", "heaven", 4)]
    joined = list(with_merges(given, AuditDecisions(merge=merges), None))
    assert [(one.id, one.label, one.other) for one in joined[3:]] == [(4, "dalmatian", "dog"), (5, "sky", "heaven")]
    assert joined[:3] == list(given)


def test_nothing_to_apply_changes_nothing() -> None:
    cleaned = clean(DATA)
    assert cleaned.data == DATA
    assert set(cleaned.source) == {0}


@pytest.mark.parametrize("seed", range(3))
def test_equals_a_slow_twin(tmp_path: Path, seed: int) -> None:
    data = scenes(120, 60, seed=seed)
    known = [(image, label) for image in data.images for label in data.labels_of(image)]
    drawn = (Streams(seed).child("verdicts").uniforms(400).reshape(200, 2) * (140, 60)).astype(int).tolist()
    names = [*data.images, *(f"new {n}" for n in range(20))], list(data.labels)
    verdicts = [
        (names[0][i], names[1][a % len(names[1])], "accept" if n % 2 else "reject") for n, (i, a) in enumerate(drawn)
    ]
    given = rules(
        ("alias", "sea", "ocean"),
        ("implication", "beach", "ocean"),
        ("implication", "sand", "beach"),
        ("rename", "sky", "air"),
    )
    latest = {(image, label): verdict for image, label, verdict in verdicts}
    accepted, rejected = (
        {(i, given.name_of(label)) for (i, label), told in latest.items() if told == wanted}
        for wanted in ("accept", "reject")
    )
    expected = ({(i, given.name_of(label)) for i, label in known} - rejected) | accepted
    implied = {(i, other) for i, label in expected for other in given.closure().get(label, ())}
    cleaned = clean(data, feedback=feedback(tmp_path / "f.sqlite", *verdicts), rules=given)
    assert {row[:2] for row in rows(cleaned)} == expected | (implied - (rejected - accepted))


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
def test_files_that_every_command_reads(tmp_path: Path, everything: Cleaned, suffix: str) -> None:
    path = tmp_path / f"clean{suffix}"
    everything.write(path)
    assert Annotations.read(path) == everything.data
    if suffix == ".csv":
        with path.open(newline="", encoding="utf-8") as file:
            found = {tuple(row.values()) for row in csv.DictReader(file)}
    elif suffix == ".jsonl":
        found = {tuple(json.loads(line).values()) for line in path.read_text(encoding="utf-8").splitlines()}
    else:
        found = set(pl.read_parquet(path).iter_rows())
    assert found == rows(everything)


def test_another_suffix_is_refused(tmp_path: Path, everything: Cleaned) -> None:
    with pytest.raises(ConfigError, match=r"must end in one of \.csv, \.jsonl, \.parquet"):
        everything.write(tmp_path / "clean.xlsx")
    assert list(tmp_path.glob("clean*")) == []


@pytest.mark.parametrize("seed", range(5))
def test_consolidating_keeps_only_labels_that_say_something(tmp_path: Path, seed: int) -> None:
    data = scenes(60, 60)
    labels = list(data.labels)
    chosen = [labels[int(len(labels) * draw)] for draw in Streams(seed).child("consolidate").uniforms(12)]
    given, done = [("alias", labels[0], "new name")], set()
    for one, other in zip(chosen[::2], chosen[1::2], strict=True):
        if labels[0] not in (one, other) and one < other and (one, other) not in done:
            done.add((one, other))
            given.append(("implication", one, other))
    found = rules(*given)
    cleaned = clean(data, rules=found, consolidate=True)
    implied = found.closure()
    wanted = set()
    for image in data.images:
        has = {found.name_of(label) for label in data.labels_of(image)}
        wanted |= {(image, label) for label in has if not any(label in implied.get(one, ()) for one in has)}
    assert {pair[:2] for pair in rows(cleaned)} == wanted
    assert {pair[2] for pair in rows(cleaned)} == {"data"}
    assert cleaned.removed["rule"].count == len(rows(clean(data, rules=rules(given[0])))) - len(wanted)
    assert set(cleaned.data.labels) == {label for _, label in wanted}


def test_consolidating_knows_merges_and_drops_empty_labels(tmp_path: Path) -> None:
    data = Annotations.from_pairs([("a", "dalmatian"), ("a", "dog"), ("b", "doggy"), ("b", "dalmatian")])
    (tmp_path / "audit.csv").write_text(f"{HEAD}duplicate,,doggy,dog,,r,merge\n")
    found = rules(("implication", "dalmatian", "doggy"))
    cleaned = clean(data, audit=tmp_path / "audit.csv", rules=found, consolidate=True)
    assert cleaned.data == Annotations.from_pairs([("a", "dalmatian"), ("b", "dalmatian")])
