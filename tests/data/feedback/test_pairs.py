from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vse_ens.data.annotations import Annotations
from vse_ens.data.feedback.pairs import apply_feedback, read_feedback
from vse_ens.data.feedback.verdicts import Feedback
from vse_ens.data.vocabulary import Vocabulary

Pairs = list[tuple[str, str]]


def judged(path: Path, accepted: Pairs = (), rejected: Pairs = ()) -> Path:  # type: ignore[assignment]
    feedback = Feedback(path)
    for verdict, pairs in (("accept", accepted), ("reject", rejected)):
        for image, label in pairs:
            feedback.add(image, label, verdict, by="anna", source="page", confidence=None, model="m")  # type: ignore[arg-type]
    feedback.close()
    return path


def listed(data: Annotations) -> set[tuple[str, str]]:
    return set(data.to_frame("polars").iter_rows())


def test_verdicts_in_force_are_read(tmp_path: Path) -> None:
    path = judged(tmp_path / "f.sqlite", [("a", "sea"), ("b", "海")], [("a", "fog")])
    feedback = Feedback(path)
    feedback.undo(1, by="anna", model="m")
    found = read_feedback(path)  # while the service holds it
    feedback.close()
    assert listed(found.accepted) == {("b", "海")}
    assert listed(found.rejected) == {("a", "fog")}


def test_accepted_pairs_come_and_rejected_ones_go(tmp_path: Path) -> None:
    pairs = Annotations.from_pairs([("a", "sea"), ("a", "fog"), ("b", "fog"), ("b", "sand"), ("c", "ice")])
    path = judged(
        tmp_path / "f.sqlite",
        accepted=[("a", "sea"), ("a", "sand"), ("new", "surf")],
        rejected=[("a", "fog"), ("b", "fog"), ("c", "ice"), ("c", "sea"), ("nobody", "nothing")],
    )
    made = apply_feedback(pairs, path)
    assert made == Annotations.from_pairs([("a", "sea"), ("a", "sand"), ("b", "sand"), ("new", "surf")])
    assert made.notes == (f"{path}: 2 of 3 accepted pairs added, 3 of 5 rejected pairs removed",)


def test_nothing_judged_changes_nothing(tmp_path: Path) -> None:
    empty = Vocabulary.from_ids(["a", "lonely"], "image")
    labels = Vocabulary.from_ids(["sea"], "label")
    pairs = Annotations.from_numbers(empty, labels, np.array([0]), np.array([0]), notes=("as read",))
    made = apply_feedback(pairs, judged(tmp_path / "f.sqlite"))
    assert made == pairs
    assert made.notes[0] == "as read"
    assert made.notes[1].endswith("0 of 0 accepted pairs added, 0 of 0 rejected pairs removed")
    made = apply_feedback(pairs, judged(tmp_path / "f.sqlite", rejected=[("a", "sea")]))
    assert list(made.images) == ["lonely"]  # it was there without labels before
    assert not len(made.labels)


PAIRS = st.sets(st.tuples(st.sampled_from("abcd"), st.sampled_from("wxyz")))


@given(known=PAIRS.filter(bool), accepted=PAIRS, rejected=PAIRS)
def test_feedback_agrees_with_sets(
    known: set[tuple[str, str]],
    accepted: set[tuple[str, str]],
    rejected: set[tuple[str, str]],
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    path = judged(tmp_path_factory.mktemp("sets") / "f.sqlite", sorted(accepted), sorted(rejected))
    made = apply_feedback(Annotations.from_pairs(known), path)
    expected = (known - rejected) | (accepted - rejected)  # the reject came later
    assert made == Annotations.from_pairs(expected)
