"""``vse rules``: propose, accept, list and undo."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from vse_ens.curate.rules.aliases import Alias
from vse_ens.curate.rules.propose import Proposals, write_proposals
from vse_ens.data.annotations import Annotations
from vse_ens.data.rules.store import read_rules

Vse = Callable[..., Any]


@pytest.fixture
def animals(tmp_path: Path) -> Path:
    """Dalmatians are dogs, with three exceptions; a few are called Dogs."""
    places = {"dalmatian": range(100), "dog": range(3, 390), "Dogs": range(390, 400), "sea": range(400, 3_000)}
    path = tmp_path / "pairs.csv"
    with path.open("w", newline="") as file:
        lines = csv.writer(file)
        lines.writerow(("image", "label"))
        lines.writerows((f"i{n:04}", label) for label, numbers in places.items() for n in numbers)
    return path


def test_proposals_have_exactly_the_promised_form(vse: Vse, animals: Path) -> None:
    assert vse("rules", "propose", animals, "--json").document == {
        "implications": [{"label": "dalmatian", "implies": "dog", "support": 100, "confidence": 0.97, "exceptions": 3}],
        "aliases": [{"label": "Dogs", "other": "dog", "evidence": "same word; on 10 and 387 images, 0 in common"}],
    }


def test_limits_of_implications(vse: Vse, animals: Path) -> None:
    assert vse("rules", "propose", animals, "--min-support", 101, "--json").document["implications"] == []
    assert vse("rules", "propose", animals, "--min-confidence", 0.95, "--json").document["implications"] == []
    answer = vse("rules", "propose", animals, "--min-confidence", 2)
    assert answer.status != 0
    assert "--min-confidence must lie between 0 and 1" in answer.err


def test_a_model_proposes_from_the_pairs_it_knows(vse: Vse, model: Path) -> None:
    assert set(vse("rules", "propose", model, "--json").document) == {"implications", "aliases"}


def test_from_proposals_to_rules_and_back(vse: Vse, animals: Path, tmp_path: Path) -> None:
    proposals, rules = tmp_path / "proposals.csv", tmp_path / "rules.jsonl"
    answer = vse("rules", "propose", animals, "--out", proposals)
    assert "dalmatian  dog         100  97.0%           3" in answer.out
    assert answer.out.splitlines()[-1].endswith(f"of {proposals}, then: vse rules apply rules.jsonl {proposals}")
    lines = proposals.read_text().splitlines()
    assert lines[0] == "kind,label,other,support,confidence,exceptions,evidence,decision"
    assert lines[1] == "implication,dalmatian,dog,100,0.9700,3,,"

    answer = vse("rules", "apply", rules, proposals)
    assert answer.status == 2
    assert "has no decision" in answer.err.replace("\n", " ")
    assert not rules.exists()

    proposals.write_text("\n".join([lines[0], f"{lines[1]}accept", f"{lines[2]}reject"]) + "\n")
    assert vse("rules", "apply", rules, proposals, "--by", "anna", "--json").document == {
        "file": str(rules),
        "rules": [2],
        "added": 1,
        "rejected": 1,
        "in_force": 1,
    }
    listed = vse("rules", "list", rules, "--pairs", animals, "--json").document
    [rule] = listed["rules"]
    assert {name: rule[name] for name in ("id", "kind", "label", "other", "by", "images", "exceptions")} == {
        "id": 2,
        "kind": "implication",
        "label": "dalmatian",
        "other": "dog",
        "by": "anna",
        "images": 100,
        "exceptions": 3,
    }
    assert rule["first_exceptions"] == ["i0000", "i0001", "i0002"]
    assert listed["version"] == 1
    assert vse("rules", "undo", rules, "--json").document == {"file": str(rules), "undone": [1, 2], "in_force": 0}
    assert vse("rules", "list", rules).out.startswith("0 rules in force.")


def test_a_rejected_proposal_is_stored_listed_and_not_made_again(vse: Vse, animals: Path, tmp_path: Path) -> None:
    proposals, rules, long = tmp_path / "proposals.csv", tmp_path / "rules.jsonl", tmp_path / ("long" * 20 + ".csv")
    vse("rules", "propose", animals, "--out", proposals)
    proposals.write_text(proposals.read_text().replace('in common",', 'in common",reject'))
    answer = vse("rules", "apply", rules, proposals, "--by", "anna")
    for line in ("added     0 rules", "rejected  1 proposal", "in force  0 rules"):
        assert line in answer.out
    again = vse("rules", "apply", rules, proposals, "--json").document
    assert again == {"file": str(rules), "rules": [], "added": 0, "rejected": 0, "in_force": 0}
    found = vse("rules", "propose", animals, "--rules", rules, "--out", long, "--json").document
    assert ([one["label"] for one in found["implications"]], found["aliases"]) == (["dalmatian"], [])
    assert long.read_text().count("\n") == 2
    listed = vse("rules", "list", rules).out.splitlines()
    assert listed[0].startswith("0 rules in force.")
    assert listed[-3] == "Rejected, not proposed again:"
    assert listed[-1].split()[:5] == ["1", "rejected", "Dogs", "dog", "anna"]
    [entry] = vse("rules", "list", rules, "--json").document["rejected"]
    assert (entry["id"], entry["kind"], entry["label"], entry["other"]) == (1, "rejected", "Dogs", "dog")
    assert "no rule between 'Dogs' and 'dog'" in vse("rules", "undo", rules).out
    assert len(vse("rules", "propose", animals, "--rules", rules, "--json").document["aliases"]) == 1


def test_an_accepted_rule_of_a_file_wins_over_a_rejected_one(vse: Vse, tmp_path: Path) -> None:
    proposals, rules = tmp_path / "proposals.csv", tmp_path / "rules.jsonl"
    lines = ["kind,label,other,decision", "alias,cars,car,accept", "implication,cars,car,reject"]
    proposals.write_text("\n".join([*lines, "implication,car,cars,reject", "implication,cars,wheel,reject"]) + "\n")
    for stored in (1, 0):
        document = vse("rules", "apply", rules, proposals, "--json").document
        assert (document["added"], document["rejected"], document["in_force"]) == (stored, stored, 1)
    assert [one.other for one in read_rules(rules).rejected] == ["wheel"]


def test_a_rule_in_force_is_not_rejected(vse: Vse, tmp_path: Path) -> None:
    proposals, rules = tmp_path / "proposals.csv", tmp_path / "rules.jsonl"
    vse("rules", "apply", rules, "--implies", "a=b")
    proposals.write_text("kind,label,other,decision\nimplication,a,b,reject\n")
    answer = vse("rules", "apply", rules, proposals)
    assert answer.status == 1
    assert "'a' implies 'b' by a rule in force; undo that rule first" in answer.err


def test_all_proposals_without_a_decision(vse: Vse, animals: Path, tmp_path: Path) -> None:
    proposals, rules = tmp_path / "proposals.csv", tmp_path / "rules.jsonl"
    vse("rules", "propose", animals, "--out", proposals)
    proposals.write_text(proposals.read_text().replace('in common",', 'in common",reject'))
    vse("rules", "apply", rules, proposals, "--all")
    assert [rule.kind for rule in read_rules(rules)] == ["implication"]


def test_rules_of_your_own_and_contradictions(vse: Vse, tmp_path: Path) -> None:
    rules = tmp_path / "rules.jsonl"
    answer = vse("rules", "apply", rules, "--alias", "cars=car", "--rename", "fog = mist", "--implies", "a=b", "--json")
    assert answer.document["rules"] == [1, 2, 3]
    assert [(rule.kind, rule.label, rule.other) for rule in read_rules(rules)] == [
        ("alias", "cars", "car"),
        ("rename", "fog", "mist"),
        ("implication", "a", "b"),
    ]
    for wrong, message in (
        (("--implies", "b=a"), "'b' cannot imply 'a', because 'a' implies 'b'"),
        (("--alias", "x=y", "--alias", "car=cars"), "'cars' is replaced by 'car' (rule 1)"),
        (("--alias", "cars"), "'cars' is not A=B"),
        (("--alias", "=car"), "'=car' is not A=B"),
        ((), "there is no rule to add"),
    ):
        answer = vse("rules", "apply", rules, *wrong)
        assert answer.status in (1, 2)
        assert message in answer.err.replace("\n", " ")
    assert len(read_rules(rules)) == 3
    answer = vse("rules", "undo", rules, 7)
    assert answer.status == 1
    assert "unknown rule '7'" in answer.err
    assert vse("rules", "undo", rules, 1, 3, "--json").document["undone"] == [1, 3]


def test_rules_are_applied_on_reading(vse: Vse, animals: Path, tmp_path: Path) -> None:
    rules = tmp_path / "rules.jsonl"
    vse("rules", "apply", rules, "--alias", "Dogs=dog", "--implies", "dog=animal")
    facts = vse("info", animals, "--rules", rules, "--json").document
    assert facts["labels"] == 4
    data = Annotations.read(animals, rules=rules)
    assert data.labels_of("i0395") == ["animal", "dog"]
    # The limit counts images after the labels were merged.
    assert "dog" in Annotations.read(animals, rules=rules, min_images_per_label=397).labels


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("kind,label,other\n", "has no column 'decision'"),
        ("kind,label,other,decision\nodd,a,b,accept\n", "line 2 has the kind 'odd'"),
        ("kind,label,other,decision\nrejected,a,b,accept\n", "line 2 has the kind 'rejected'"),
        (
            "kind,label,other,decision\nalias,a,b,perhaps\n",
            "line 2 has the decision 'perhaps'; use one of accept, reject",
        ),
    ],
)
def test_a_file_that_has_no_proposals(vse: Vse, tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "p.csv").write_text(content)
    answer = vse("rules", "apply", tmp_path / "rules.jsonl", tmp_path / "p.csv")
    assert answer.status == 1
    assert message in answer.err


def test_proposals_defuse_formulas_on_request(vse: Vse, tmp_path: Path) -> None:
    path = tmp_path / "pairs.jsonl"
    rows = [(f"i{n}", label) for label, count in (("=car", 50), ("=Cars", 9)) for n in range(count)]
    path.write_text("".join(json.dumps({"image": image, "label": label}) + "\n" for image, label in rows))
    vse("rules", "propose", path, "--out", tmp_path / "p.csv", "--defuse-formulas")
    assert "alias,'=Cars,'=car," in (tmp_path / "p.csv").read_text()
    write_proposals(Proposals([], [Alias("=Cars", "=car", "spelling")]), tmp_path / "p.csv")
    assert "alias,=Cars,=car," in (tmp_path / "p.csv").read_text()


def test_lists_of_other_programs_are_imported_once(vse: Vse, tmp_path: Path) -> None:
    (tmp_path / "siblings.txt").write_text("kitties\nkitty\n")
    (tmp_path / "tag_implications.csv").write_text("antecedent_name,consequent_name,status\nkitty,cat_like,active\n")
    path = tmp_path / "rules.jsonl"
    lists = (tmp_path / "tag_implications.csv", tmp_path / "siblings.txt")
    answer = vse("rules", "import", path, *lists, "--spaces", "--by", "ann", "--json")
    assert answer.status == 0, answer.err
    assert answer.document == {"file": str(path), "added": 2, "left_out": 0, "in_force": 2}
    rules = read_rules(path)
    assert [(one.kind, one.label, one.other, one.by) for one in rules] == [
        ("alias", "kitties", "kitty", "ann"),
        ("implication", "kitty", "cat like", "ann"),
    ]
    again = vse("rules", "import", path, *lists, "--spaces", "--json")
    assert again.document == {"file": str(path), "added": 0, "left_out": 2, "in_force": 2}
    answer = vse("rules", "import", path, tmp_path / "siblings.txt", "--as", "sibling")
    assert (answer.status, "--as must be one of alias, implication" in answer.err) == (2, True)
