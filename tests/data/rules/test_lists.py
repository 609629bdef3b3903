"""Lists of other programs become rules that fit together."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from vse_ens.data.rules.lists import fitting, read_list
from vse_ens.data.rules.rule_set import Rule, RuleSet
from vse_ens.data.rules.store import NewRule
from vse_ens.errors import ConfigError, DataError
from vse_ens.streams import Streams

ROWS = [("long_hair_girl", "long_hair", "active"), ("a", "b", "deleted"), ("same", "same", "active")]
CSV = "id,antecedent_name,consequent_name,created_at,status\n" + "".join(f"1,{a},{b},,{s}\n" for a, b, s in ROWS)
OBJECTS = [{"id": 1, "antecedent_name": a, "consequent_name": b, "status": s} for a, b, s in ROWS]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("tag_aliases-2026-01-01.csv", CSV.encode()),
        ("tag_aliases-2026-01-01.csv.gz", gzip.compress(CSV.encode())),
        ("tag_aliases.json", json.dumps(OBJECTS).encode()),
        ("aliases.jsonl", "\n".join(map(json.dumps, OBJECTS)).encode()),
        ("siblings.txt", b"\xef\xbb\xbflong_hair_girl\r\nlong_hair\r\n\r\nsame\r\nsame\r\n"),
    ],
    ids=["csv", "gz", "json", "jsonl", "txt"],
)
def test_every_form_of_a_list_is_read(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    assert read_list(tmp_path / name) == [NewRule("alias", "long_hair_girl", "long_hair")]
    assert read_list(tmp_path / name, spaces=True) == [NewRule("alias", "long hair girl", "long hair")]
    assert read_list(tmp_path / name, "implication")[0].kind == "implication"


@pytest.mark.parametrize("name", ["tag_implications.csv", "parents.csv"])
def test_the_name_says_what_a_list_holds(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(CSV)
    assert read_list(tmp_path / name)[0].kind == "implication"
    (tmp_path / "tags.csv").write_text(CSV)
    with pytest.raises(ConfigError, match=r"tags\.csv does not say by its name whether .*; give --as"):
        read_list(tmp_path / "tags.csv")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("aliases.csv", b"a,b\nc,d\n"),
        ("aliases.csv", b""),
        ("aliases.csv", b"\xff\xfe"),
        ("aliases.csv", b"antecedent_name,consequent_name\na\n"),
        ("aliases.csv.gz", b"no gzip"),
        ("aliases.csv.gz", gzip.compress(CSV.encode())[:-9]),
        ("aliases.json", b"[1]"),
        ("aliases.json", b'{"antecedent_name": "a"}'),
        ("siblings.txt", b"a\nb\nc\n"),
    ],
    ids=range(9),
)
def test_other_files_are_refused(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    if content:
        with pytest.raises(DataError, match=r"(aliases|siblings).* is not a list of rules"):
            read_list(tmp_path / name)
    else:
        assert read_list(tmp_path / name) == []
    with pytest.raises(DataError, match=r"alias\.csv cannot be read: no such file"):
        read_list(tmp_path / "alias.csv")


def test_contradictions_are_left_out_and_names_are_in_force() -> None:
    def new(kind: str, *pairs: str) -> list[NewRule]:
        return [NewRule(kind, *pair.split(">")) for pair in pairs]  # type: ignore[arg-type]

    there = RuleSet([Rule(1, "implication", "cat", "animal", "", ""), Rule(2, "rejected", "sea", "ocean", "", "")])
    lists = [
        *new("implication", "kitten>cats", "animal>cat", "cat>animal", "kitten>cats"),
        *new("alias", "cats>kitty", "kitty>cat", "cat>kitty", "sea>ocean", "cat>animal"),
    ]
    found = fitting(lists, there)
    assert found == [*new("alias", "cats>kitty", "kitty>cat"), *new("implication", "kitten>cat")]


@pytest.mark.parametrize("seed", range(20))
def test_what_fits_is_what_can_be_added_one_after_another(seed: int) -> None:
    draws = Streams(seed).child("lists").uniforms(3 * 60).reshape(-1, 3)
    labels = [f"t{number}" for number in range(12)]
    new = [
        NewRule("alias" if kind < 0.3 else "implication", labels[int(12 * one)], labels[int(12 * other)])
        for kind, one, other in draws
        if int(12 * one) != int(12 * other)
    ]
    there = RuleSet([Rule(1, "implication", "t0", "t1", "", "")])
    # A slow twin: a set of rules is built anew for each rule.
    kept: list[Rule] = list(there)
    for one in sorted(new, key=lambda rule: rule.kind):
        now = RuleSet(kept)
        names = one.label if one.kind == "alias" else now.name_of(one.label), now.name_of(one.other)
        try:
            RuleSet([*kept, Rule(len(kept) + 1, one.kind, *names, "", "")])
        except ConfigError:
            continue
        kept.append(Rule(len(kept) + 1, one.kind, *names, "", ""))
    assert fitting(new, there) == [NewRule(rule.kind, rule.label, rule.other) for rule in kept[1:]]
