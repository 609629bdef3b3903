"""The history checker: it finds what it is to find, and finds nothing in feedback, rules and write-back."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from benchmarks.service import history
from benchmarks.service.history import Operation, Sizes
from benchmarks.service.history_feedback import Row, check_answers, check_log
from benchmarks.service.history_rules import Event, check_consistent, in_force
from benchmarks.service.history_rules import check_log as check_rules_log
from benchmarks.service.history_write_back import check_log as check_writes

from vse_ens.data.feedback.verdicts import Feedback

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
        (OPERATIONS, [*ROWS, row(5, "1.2", label="fog")], "1.2 stored [4, 5], but was answered [4, 3]"),
        (OPERATIONS, [*ROWS[:3], row(4, "1.2", "accept")], "event 4 repeats event 1, which is in force"),
        (OPERATIONS, [*ROWS[:2], row(3, "2.0", "undo", 1), ROWS[3]], "2.0: event 3 is stored as"),
        (OPERATIONS, [*ROWS, row(5, "3.2", "undo", 2)], "event 5 undoes event 2, which cannot be undone"),
        (OPERATIONS, [*ROWS, row(5, "3.2", "undo", 4, "fog")], "event 5 undoes event 4 of another pair"),
        (OPERATIONS, [*ROWS, row(5, "9.9", label="fog")], "9.9 is stored but was never asked for"),
        (OPERATIONS, [*ROWS, row(6, "3.2", "undo", 4)], "event 6 is stored at position 5"),
        (OPERATIONS, [*ROWS, row(5, "3.0")], "3.0 was refused, but event 5 is stored"),
        (OPERATIONS, [*ROWS, row(5, "3.1", "undo", 4)], "3.1 is stored as [5], which are not its steps"),
        ([*OPERATIONS, operation("4.0", ADD, 900, 1)], ROWS, "4.0 was answered event 1, which was not in force"),
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


def rules_event(name: str, *rules: tuple[int, str, str, str], undo: tuple[int, ...] = ()) -> Event:
    return Event(name, list(rules), list(undo))


# An alias, the same again, an undo of it, a rule that contradicts, and one that was killed.
RULES = [
    operation("1.0", ["add", [["alias", "a", "b"]]], 100, [1]),
    operation("2.0", ["add", [["rename", "a", "b"], ["implication", "b", "c"]]], 200, [1, 2]),
    operation("1.1", ["undo", [1]], 300, [1]),
    operation("3.0", ["add", [["implication", "c", "b"]]], 400, error="ConfigError: 'c' cannot imply 'b'"),
    operation("3.1", ["add", [["alias", "x", "y"]]], 500),
    operation("3.2", ["undo", [2]], 600, error="DataError: r could not be written: no space left on device"),
]
LINES = [
    rules_event("1.0", (1, "alias", "a", "b")),
    rules_event("2.0", (2, "implication", "b", "c")),
    rules_event("1.1", undo=(1,)),
]


def test_a_correct_history_of_rules_has_no_faults() -> None:
    assert check_rules_log(RULES, LINES) == []
    assert check_rules_log(RULES, [*LINES, rules_event("3.1", (3, "alias", "x", "y"))]) == []
    faults: list[str] = []
    assert in_force(LINES, faults) == {2: ("implication", "b", "c")}
    assert faults == []


@pytest.mark.parametrize(
    ("operations", "events", "fault"),
    [
        (RULES, LINES[:1], "2.0: rule 2 was acknowledged, but is not stored"),
        (RULES, LINES[:2], "1.1 was answered [1], but [] is stored"),
        (RULES, [*LINES, LINES[1]], "2.0 is stored 2 times"),
        (RULES, [*LINES, rules_event("9.9", (3, "alias", "x", "y"))], "9.9 is stored but was never asked for"),
        (RULES, [*LINES, rules_event("3.0", (3, "implication", "c", "b"))], "3.0 was refused, but is stored"),
        (RULES, [*LINES, rules_event("3.1", (3, "alias", "x", "z"))], "3.1 is stored as"),
        (
            [*RULES, operation("4.0", ["add", [["alias", "a", "b"]]], 900, [1])],
            LINES,
            "4.0 was answered rule 1, which was undone",
        ),
        ([*RULES, operation("4.0", ["undo", [7]], 900, error="UnknownIdError: 7")], LINES, "4.0 was refused: Unknown"),
        ([RULES[0]._replace(begun=250, ended=260), *RULES[1:]], LINES, "2.0 was acknowledged before an earlier event"),
    ],
)
def test_a_fault_of_rules_is_found(operations: list[Operation], events: list[Event], fault: str) -> None:
    found = check_rules_log(operations, events)
    assert any(one.startswith(fault) for one in found), found


@pytest.mark.parametrize(
    ("rules", "fault"),
    [
        ([("alias", "a", "b"), ("rename", "a", "c")], "two names"),
        ([("alias", "a", "b"), ("alias", "b", "a")], "names form a cycle"),
        ([("implication", "a", "b"), ("implication", "b", "c"), ("alias", "c", "a")], "implies itself"),
    ],
)
def test_rules_that_contradict_are_found(rules: list[tuple[str, str, str]], fault: str) -> None:
    assert fault in check_consistent(rules)[0]
    assert check_consistent(rules[:1]) == []


WRITES = [
    operation("1.0", ["write", ["tags 0.txt", "new 0.txt"]], 100, ["new 0.txt", "tags 0.txt"]),
    operation("2.0", ["write", ["tags 0.txt"]], 200, ["tags 0.txt"]),
    operation("2.1", ["undo", "2.0"], 300, ["tags 0.txt"]),
    operation("3.0", ["write", ["tags 1.txt"]], 400),
]
WRITTEN = {"tags 0.txt": b"start\n1.0\n", "new 0.txt": b"1.0\n", "tags 1.txt": b"start\n"}


def test_a_correct_history_of_writes_has_no_faults() -> None:
    assert check_writes(WRITES, WRITTEN) == []
    assert check_writes(WRITES, {**WRITTEN, "tags 1.txt": b"start\n3.0\n"}) == []


@pytest.mark.parametrize(
    ("changed", "fault"),
    [
        ({"tags 0.txt": b"start\n"}, "1.0 was answered ['new 0.txt', 'tags 0.txt'], but is in ['new 0.txt']"),
        ({"tags 0.txt": b"start\n1.0\n1.0\n"}, "tags 0.txt has '1.0' 2 times"),
        ({"tags 0.txt": b"start\n1.0\n2.0\n"}, "2.0 was undone, but is in"),
        ({"tags 1.txt": b"start\n1.0\n"}, "tags 1.txt has '1.0', which was not written to it"),
        ({"tags 1.txt": b"sta"}, "tags 1.txt is damaged"),
    ],
)
def test_a_fault_of_writes_is_found(changed: dict[str, bytes], fault: str) -> None:
    found = check_writes(WRITES, {**WRITTEN, **changed})
    assert any(one.startswith(fault) for one in found), found


@pytest.fixture(scope="module")
def histories() -> dict[str, Any]:
    """Eight seconds of every subject, side by side; the processes of a round have files of their own."""

    def run(subject: str) -> Any:
        return history.measure(Sizes(seconds=8.0, round_seconds=4.0, subjects=(subject,)))

    with ThreadPoolExecutor(len(history.SUBJECTS)) as threads:
        return dict(zip(history.SUBJECTS, threads.map(run, history.SUBJECTS), strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("subject", history.SUBJECTS)
def test_killed_processes_and_full_disks_change_no_history(histories: dict[str, Any], subject: str) -> None:
    raw = histories[subject]
    assert raw["faults"] == []
    counts = raw["counts"][subject]
    assert min(counts["kills"], counts["operations acknowledged"]) > 0
    score = history.score(raw)
    assert [check.verdict for check in score.checks] == ["met"]
    assert len(score.tables[0].rows) == len(counts)
    assert history.score({**raw, "faults": ["one"]}).checks[0].verdict == "**over limit**"
