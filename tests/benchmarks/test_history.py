"""The history checker: it finds what it is to find, and finds nothing in feedback."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from benchmarks.service import history
from benchmarks.service.history import Operation, Sizes
from benchmarks.service.history_feedback import Row, check_answers, check_log

from vse_ens.service.verdicts import Feedback

ADD = ["add", "image 1", "sea", "accept", "anna", None]
REJECT = ["add", "image 1", "sea", "reject", "anna", None]


def operation(name: str, what: Any, begun: int, result: Any = None, error: str | None = None) -> Operation:
    ended = begun + 10 if result is not None or error is not None else None
    return Operation(name, what, begun, ended, result, error)


def row(event: int, name: str, verdict: str = "accept", undoes: int | None = None, label: str = "sea") -> Row:
    return Row(event, "image 1", label, verdict, "anna", name, undoes, None)


# A verdict, the opposite one, an undo of that, a repeat of the first, and a batch.
OPERATIONS = [
    operation("1.0", ADD, 100, 1),
    operation("1.1", REJECT, 200, 2),
    operation("2.0", ["undo", 2, "ben"], 300, 3),
    operation("2.1", ADD, 400, 1),
    operation("1.2", ["batch", [REJECT, ["undo", 2, "anna"]]], 500, [4, 3]),
    operation("3.0", ["batch", [ADD, ["add", "image", " ", "accept", "anna", None]]], 600, error="ConfigError: blank"),
    operation("3.1", ADD, 700, error="DataError: f.sqlite could not be written: the disk is full"),
    operation("3.2", ["undo", 4, "anna"], 800),  # killed
]
ROWS = [row(1, "1.0"), row(2, "1.1", "reject"), row(3, "2.0", "undo", 2), row(4, "1.2", "reject")]


def test_a_correct_history_has_no_faults() -> None:
    assert check_log(OPERATIONS, ROWS) == []
    assert check_log(OPERATIONS, [*ROWS, row(5, "3.2", "undo", 4)]) == []  # killed after it was stored


@pytest.mark.parametrize(
    ("operations", "rows", "fault"),
    [
        (OPERATIONS, ROWS[:3], "1.2: event 4 was acknowledged, but is not stored"),
        (OPERATIONS, [*ROWS, row(5, "1.2", label="fog")], "1.2 stored [4, 5], but was told [4, 3]"),
        (OPERATIONS, [*ROWS[:3], row(4, "1.2", "accept")], "event 4 repeats event 1, which is in force"),
        (OPERATIONS, [*ROWS[:2], row(3, "2.0", "undo", 1), ROWS[3]], "2.0: event 3 is stored as"),
        (OPERATIONS, [*ROWS, row(5, "3.2", "undo", 2)], "event 5 undoes event 2, which cannot be undone"),
        (OPERATIONS, [*ROWS, row(5, "3.2", "undo", 4, "fog")], "event 5 undoes event 4 of another pair"),
        (OPERATIONS, [*ROWS, row(5, "9.9", label="fog")], "9.9 is stored but was never asked for"),
        (OPERATIONS, [*ROWS, row(6, "3.2", "undo", 4)], "event 6 is stored at position 5"),
        (OPERATIONS, [*ROWS, row(5, "3.0")], "3.0 was refused, but event 5 is stored"),
        (OPERATIONS, [*ROWS, row(5, "3.1", "undo", 4)], "3.1 is stored as [5], which are not its steps"),
        ([*OPERATIONS, operation("4.0", ADD, 900, 1)], ROWS, "4.0 was told event 1, which was not in force"),
        ([*OPERATIONS, operation("4.0", ADD, 900, error="UnknownIdError: 7")], ROWS, "4.0 was refused: UnknownIdError"),
        (
            [*OPERATIONS, operation("4.0", ADD, 900, error="DataError: f.sqlite is locked by another process")],
            ROWS,
            "4.0 was refused: DataError: f.sqlite is locked",
        ),
        (
            [OPERATIONS[0]._replace(begun=250, ended=260), *OPERATIONS[1:]],
            ROWS,
            "event 2 was acknowledged before an earlier event was asked for",
        ),
    ],
)
def test_a_fault_is_found(operations: list[Operation], rows: list[Row], fault: str) -> None:
    assert any(found.startswith(fault) for found in check_log(operations, rows)), check_log(operations, rows)


def test_half_a_batch_is_found() -> None:
    what = ["batch", [ADD, REJECT, ["add", "image 1", "fog", "accept", "anna", None]]]
    killed = operation("5.0", what, 100)
    whole = [row(1, "5.0"), row(2, "5.0", "reject"), row(3, "5.0", label="fog")]
    assert check_log([killed], []) == check_log([killed], whole) == []
    assert check_log([killed], whole[::-1])
    other = operation("6.0", ["add", "image 1", "dog", "accept", "anna", None], 100, 2)
    torn = [whole[0], row(2, "6.0", label="dog"), whole[1]._replace(event=3), whole[2]._replace(event=4)]
    assert check_log([killed, other], torn) == ["5.0 is stored as [1, 3, 4]"]


def test_a_state_that_differs_from_the_model_is_found(tmp_path: Path) -> None:
    feedback = Feedback(tmp_path / "f.sqlite")
    feedback.add("image 1", "sea", "accept", by="anna", source="api", confidence=None, model="1.0")
    feedback.close()
    assert check_answers(feedback.path, ROWS[:1]) == []
    assert len(check_answers(feedback.path, ROWS[:2])) == 4
    assert len(check_answers(feedback.path, [])) == 2


@pytest.mark.slow
def test_processes_that_are_killed_or_run_out_of_disk_lose_double_and_change_nothing() -> None:
    raw = history.measure(Sizes(seconds=20.0, round_seconds=10.0))
    assert raw["faults"] == []
    counts = raw["counts"]["feedback"]
    assert min(counts["kills"], counts["operations acknowledged"], counts["events stored"]) > 0
    score = history.score(raw)
    assert [check.verdict for check in score.checks] == ["met"]
    assert len(score.tables[0].rows) == len(counts)
    assert history.score({**raw, "faults": ["one"]}).checks[0].verdict == "**over limit**"
