from __future__ import annotations

import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vse_ens.data.feedback.store import Event
from vse_ens.data.feedback.verdicts import Feedback, ImageVerdicts
from vse_ens.errors import ConfigError, DataError, UnknownIdError

WHO: dict[str, Any] = {"by": "anna", "source": "page", "confidence": 0.5, "model": "abc"}


@pytest.fixture
def feedback(tmp_path: Path) -> Iterator[Feedback]:
    opened = Feedback(tmp_path / "f.sqlite")
    yield opened
    opened.close()


def test_a_verdict_is_in_force_until_it_is_undone(feedback: Feedback) -> None:
    accepted = feedback.add("img", "sea", "accept", **WHO)
    rejected = feedback.add("img", "fog", "reject", **WHO)
    assert feedback.of("img") == ImageVerdicts({"sea": accepted}, {"fog": rejected})
    assert feedback.of("other") == ImageVerdicts({}, {})
    feedback.undo(accepted, by="ben", model="abc")
    assert feedback.of("img") == ImageVerdicts({}, {"fog": rejected})
    assert feedback.changes(0) == (3, [("img", "fog", "reject", rejected)])
    assert feedback.changes(2) == (3, [("img", "sea", None, 0)])


def test_last_verdict_counts_and_an_undo_restores_the_previous(feedback: Feedback) -> None:
    first = feedback.add("img", "sea", "accept", **WHO)
    second = feedback.add("img", "sea", "reject", **WHO)
    assert feedback.of("img") == ImageVerdicts({}, {"sea": second})
    feedback.undo(second, by="anna", model="abc")
    assert feedback.of("img") == ImageVerdicts({"sea": first}, {})


def test_a_request_sent_twice_is_one_event(feedback: Feedback) -> None:
    first = feedback.add("img", "sea", "accept", **WHO)
    assert feedback.add("img", "sea", "accept", **WHO) == first
    second = feedback.add("img", "sea", "accept", **WHO | {"by": "ben"})  # someone else agrees: that is news
    assert second > first
    undone = feedback.undo(second, by="ben", model="abc")
    assert feedback.undo(second, by="ben", model="abc") == undone
    assert feedback.of("img").accepted == {"sea": first}
    assert [event.event for event in feedback.events()] == [first, second, undone]


def test_every_event_has_person_time_and_confidence(feedback: Feedback) -> None:
    before = datetime.now(UTC)
    event = feedback.add("img", "sea", "accept", **WHO, reference="task 7")
    undo = feedback.undo(event, by="ben", model="def")
    kept, undone = feedback.events()
    assert kept == Event(event, "img", "sea", "accept", "anna", kept.at, "page", 0.5, "abc", None, "task 7")
    assert undone == Event(undo, "img", "sea", "undo", "ben", undone.at, "page", 0.5, "def", event, "task 7")
    assert kept.at.endswith("Z")
    assert abs((datetime.fromisoformat(kept.at) - before).total_seconds()) < 60


def test_events_come_in_pages(feedback: Feedback) -> None:
    events = [feedback.add("img", f"label {number}", "accept", **WHO) for number in range(5)]
    assert [event.event for event in feedback.events(after=events[1], limit=2)] == events[2:4]
    assert feedback.events(after=10**30, limit=10**30) == []


def test_pairs_are_the_accepted_ones_in_force(feedback: Feedback) -> None:
    feedback.add("b", "sea", "accept", **WHO)
    feedback.add("a", "sand", "accept", **WHO)
    feedback.undo(feedback.add("a", "fog", "accept", **WHO), by="anna", model="abc")
    feedback.add("a", "snow", "reject", **WHO)
    assert [(event.image, event.label, event.by) for event in feedback.pairs()] == [
        ("a", "sand", "anna"),
        ("b", "sea", "anna"),
    ]


def test_events_of_other_programs_are_found_by_reference(feedback: Feedback) -> None:
    kept = feedback.add("img", "sea", "accept", **WHO, reference="annotation 1")
    feedback.undo(feedback.add("img", "fog", "accept", **WHO, reference="annotation 1"), by="anna", model="abc")
    feedback.add("img", "sand", "accept", **WHO, reference="annotation 2")
    with feedback.batch() as batch:
        assert [event.event for event in batch.events_of_reference("annotation 1")] == [kept]


def test_ids_may_hold_anything_that_is_text(feedback: Feedback) -> None:
    ids = ["<script>alert(1)</script>", "a'b\"c;--", "海\n🌊", "nul\0nul", "../../etc/passwd"]
    for one in ids:
        feedback.add(one, one, "accept", **WHO)
    assert {(event.image, event.label) for event in feedback.pairs()} == {(one, one) for one in ids}
    assert all(list(feedback.of(one).accepted) == [one] for one in ids)


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"image": " "}, "image must not be blank"),
        ({"label": ""}, "label must not be blank"),
        ({"by": ""}, "by must not be blank"),
        ({"by": "anna\n2026-01-01 forged"}, r"by 'anna\\n2026-01-01 forged' must be one line without control"),
        ({"by": "anna\x1b[2J"}, "must be one line without control characters"),
        ({"by": "anna\u2028"}, "must be one line without control characters"),
        ({"image": "\ud800"}, "not valid Unicode"),
        ({"verdict": "undo"}, "verdict must be one of accept, reject, got 'undo'"),
        ({"confidence": float("nan")}, "confidence must be between 0 and 1, got nan"),
        ({"confidence": 1.5}, "confidence must be between 0 and 1"),
    ],
)
def test_bad_verdicts_are_refused(feedback: Feedback, wrong: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        feedback.add(**{"image": "img", "label": "sea", "verdict": "accept", **WHO, **wrong})
    assert feedback.events() == []


def test_only_a_verdict_can_be_undone(feedback: Feedback) -> None:
    undo = feedback.undo(feedback.add("img", "sea", "accept", **WHO), by="anna", model="abc")
    with pytest.raises(ConfigError, match=f"event {undo} is itself an undo; accept or reject 'sea' again instead"):
        feedback.undo(undo, by="anna", model="abc")
    for unknown in (99, 0, -1, 10**30):
        with pytest.raises(UnknownIdError, match="unknown event"):
            feedback.undo(unknown, by="anna", model="abc")


def test_a_batch_is_stored_whole_or_not_at_all(feedback: Feedback) -> None:
    first = feedback.add("img", "sea", "accept", **WHO)

    def fail() -> None:
        with feedback.batch() as batch:
            batch.undo(first, by="anna", model="abc")
            batch.add("img", "sand", "accept", **WHO)
            batch.add("img", " ", "accept", **WHO)

    with pytest.raises(ConfigError, match="label must not be blank"):
        fail()
    assert feedback.of("img").accepted == {"sea": first}
    with feedback.batch() as batch:
        undo, sand = batch.undo(first, by="anna", model="abc"), batch.add("img", "sand", "accept", **WHO)
    assert (feedback.of("img").accepted, [event.event for event in feedback.events()]) == (
        {"sand": sand},
        [first, undo, sand],
    )


def test_a_name_may_be_of_any_language(feedback: Feedback) -> None:
    for name in ("Zoë O'Neil", "安娜", "نرگس‌زاده", "anna@example.org"):
        assert feedback.add("img", name, "accept", **WHO | {"by": name})


def test_all_events_are_there_when_opened_again(tmp_path: Path) -> None:
    path = tmp_path / "f.sqlite"
    first = Feedback(path)
    event = first.add("img", "sea", "accept", **WHO)
    first.close()
    again = Feedback(path)
    assert again.of("img").accepted == {"sea": event}
    again.close()
    assert [file.name for file in tmp_path.iterdir()] == ["f.sqlite"]  # nothing is left beside it


# --- against a slow twin ------------------------------------------------------------------------------------------

IDS = st.sampled_from(["a", "b"])
STEPS = st.lists(
    st.one_of(
        st.tuples(IDS, IDS, st.sampled_from(["accept", "reject"]), st.sampled_from(["anna", "ben"])),
        st.integers(1, 12),
    ),
    max_size=12,
)


class Twin:
    """A list of events, of which everything is derived by going through it."""

    def __init__(self) -> None:
        self.events: list[tuple[int, str, str, str, str, int | None]] = []

    def in_force(self) -> dict[tuple[str, str], tuple[int, str, str]]:
        undone = {undoes for *_, undoes in self.events}
        return {
            (image, label): (event, verdict, by)
            for event, image, label, verdict, by, undoes in self.events
            if undoes is None and event not in undone
        }

    def add(self, image: str, label: str, verdict: str, by: str) -> int:
        event, *same = self.in_force().get((image, label), (0,))
        return event if same == [verdict, by] else self._append(image, label, verdict, by, None)

    def undo(self, event: int, by: str) -> int | None:
        for number, *_, undoes in self.events:
            if undoes == event:
                return number
        if event > len(self.events) or self.events[event - 1][5] is not None:
            return None
        _, image, label, *_ = self.events[event - 1]
        return self._append(image, label, "undo", by, event)

    def _append(self, *what: Any) -> int:
        self.events.append((len(self.events) + 1, *what))
        return len(self.events)


@given(steps=STEPS)
def test_feedback_agrees_with_replayed_events(steps: list[Any], tmp_path_factory: pytest.TempPathFactory) -> None:
    twin, feedback = Twin(), Feedback(tmp_path_factory.mktemp("twin") / "f.sqlite")
    try:
        for step in steps:
            if isinstance(step, int):
                expected = twin.undo(step, "anna")
                if expected is None:
                    with pytest.raises((ConfigError, UnknownIdError)):
                        feedback.undo(step, by="anna", model="abc")
                else:
                    assert feedback.undo(step, by="anna", model="abc") == expected
            else:
                image, label, verdict, by = step
                assert feedback.add(image, label, verdict, **WHO | {"by": by}) == twin.add(image, label, verdict, by)
            in_force = twin.in_force()
            for image in "ab":
                of_image = {label: said for (one, label), said in in_force.items() if one == image}
                assert feedback.of(image) == ImageVerdicts(
                    *({k: v[0] for k, v in of_image.items() if v[1] == verdict} for verdict in ("accept", "reject"))
                )
            _, pairs = feedback.changes(0)
            assert {one[:2]: (one.event, one.verdict) for one in pairs} == {
                pair: said[:2] for pair, said in in_force.items()
            }
            assert [(event.image, event.label, event.event) for event in feedback.pairs()] == sorted(
                (*pair, said[0]) for pair, said in in_force.items() if said[1] == "accept"
            )
        assert [(e.event, e.image, e.label, e.verdict, e.by, e.undoes) for e in feedback.events()] == twin.events
    finally:
        feedback.close()


# --- threads, processes, kills ------------------------------------------------------------------------------------


def test_many_threads_write_and_read_at_once(feedback: Feedback) -> None:
    def work(thread: int) -> list[int]:
        made = []
        for number in range(30):
            made.append(feedback.add(f"img {thread}", f"label {number}", "accept", **WHO))
            assert len(feedback.of(f"img {thread}").accepted) == number + 1
            assert feedback.events(limit=3)
        return made

    with ThreadPoolExecutor(8) as pool:
        events = [event for made in pool.map(work, range(8)) for event in made]
    assert sorted(events) == list(range(1, 241))
    assert len(list(feedback.pairs())) == 240


WRITER = """
import itertools, os, sys
from vse_ens.data.feedback.verdicts import Feedback

path, name, most = sys.argv[1], sys.argv[2], int(sys.argv[3])
feedback = Feedback(path)
for number in itertools.count() if most < 0 else range(most):
    event = feedback.add(f"{name} {number}", "sea", "accept", by=name, source="api", confidence=None, model="abc")
    os.write(1, f"{event} {name} {number}\\n".encode())
"""


def writer(path: Path, name: str, most: int = -1) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path), name, str(most)], stdout=subprocess.PIPE, text=True, encoding="utf-8"
    )


def test_two_processes_may_hold_one_file(tmp_path: Path) -> None:
    path = tmp_path / "f.sqlite"
    children = [writer(path, name, 100) for name in ("one", "two")]  # both make the file
    lines = [child.communicate(timeout=600)[0].splitlines() for child in children]
    assert [child.returncode for child in children] == [0, 0]
    feedback = Feedback(path)
    assert [(f"{event.event} {event.image}") for event in feedback.events(limit=1000)] == sorted(
        lines[0] + lines[1], key=lambda line: int(line.split()[0])
    )
    assert len(lines[0]) == len(lines[1]) == 100
    feedback.close()


@pytest.mark.unhurried
def test_a_kill_loses_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    path = tmp_path / "f.sqlite"
    acknowledged: set[str] = set()
    counts = np.random.default_rng(7).integers(1, 40, 12).tolist()
    for round_number, count in enumerate(counts):
        with writer(path, f"run{round_number}") as child:
            assert child.stdout is not None
            told = "".join(child.stdout.readline() for _ in range(count))
            child.kill()  # while it writes the next
            told += child.stdout.read()
        acknowledged |= set(told.split("\n")[:-1])  # the last line may be cut short
        feedback = Feedback(path)
        kept = {f"{event.event} {event.image}" for event in feedback.events(limit=100_000)}
        feedback.close()
        assert acknowledged <= kept
        assert len(kept - acknowledged) <= round_number + 1  # at most the one in flight, of each run
    assert len(acknowledged) >= sum(counts)


def test_a_reader_does_not_wait_for_a_writer(tmp_path: Path) -> None:
    path = tmp_path / "f.sqlite"
    feedback = Feedback(path)
    event = feedback.add("img", "sea", "accept", **WHO)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    waiting = threading.Thread(target=feedback.add, args=("img", "sand", "accept"), kwargs=WHO)
    waiting.start()
    assert feedback.of("img").accepted == {"sea": event}
    other.execute("COMMIT")
    other.close()
    waiting.join(timeout=300)
    assert list(feedback.of("img").accepted) == ["sand", "sea"]
    feedback.close()


@pytest.mark.parametrize("what", ["file", "log", "all", "replaced", "moved"])
def test_nothing_is_acknowledged_after_the_file_was_deleted(tmp_path: Path, what: str) -> None:
    path, elsewhere = tmp_path / "f.sqlite", tmp_path / "g.sqlite"
    feedback = Feedback(path)
    event = feedback.add("img", "sea", "accept", **WHO)
    log = Path(f"{path}-wal")
    if what == "moved":
        path.rename(elsewhere)
    elif what == "replaced":
        elsewhere.write_bytes(path.read_bytes())
        elsewhere.replace(path)
    else:
        for file in {"file": [path], "log": [log], "all": [path, log, Path(f"{path}-shm")]}[what]:
            file.unlink()
    for call in (
        lambda: feedback.add("img", "sand", "accept", **WHO),
        lambda: feedback.undo(event, by="anna", model="abc"),
    ):
        with pytest.raises(DataError, match=r"f\.sqlite was deleted, moved or replaced while it was open"):
            call()
    assert feedback.of("img").accepted == {"sea": event}  # what was acknowledged is still answered
    if what == "moved":
        elsewhere.rename(path)
        assert feedback.add("img", "sand", "accept", **WHO) > event
    feedback.close()


def test_nothing_is_acknowledged_if_the_file_is_deleted(tmp_path: Path) -> None:
    feedback = Feedback(tmp_path / "f.sqlite")

    def delete() -> None:
        with feedback.batch() as batch:
            batch.add("img", "sea", "accept", **WHO)
            feedback.path.unlink()

    with pytest.raises(DataError, match="was deleted"):
        delete()
    feedback.close()


def test_a_link_to_the_file_is_followed(tmp_path: Path) -> None:
    (tmp_path / "link.sqlite").symlink_to(tmp_path / "f.sqlite")
    feedback = Feedback(tmp_path / "link.sqlite")
    assert feedback.add("img", "sea", "accept", **WHO) == 1
    feedback.close()
    assert (tmp_path / "f.sqlite").stat().st_mode & 0o777 == 0o600


def test_a_full_disk_is_told_and_the_file_lives_on(feedback: Feedback) -> None:
    feedback.add("img", "sea", "accept", **WHO)
    pages = feedback._writer.execute("PRAGMA page_count").fetchone()[0]
    feedback._writer.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(DataError, match=r"f\.sqlite could not be written: the disk is full; free some space"):
        feedback.add("img", "long" * 10_000, "accept", **WHO)
    feedback._writer.execute("PRAGMA max_page_count = 1000000")
    feedback.add("img", "sand", "accept", **WHO)
    assert list(feedback.of("img").accepted) == ["sand", "sea"]


@pytest.mark.parametrize("confidence", [0.0, 1.0, 0, 1])
def test_a_confidence_may_be_certain(feedback: Feedback, confidence: float) -> None:
    event = feedback.add("img", "sea", "accept", **WHO | {"confidence": confidence})
    assert feedback.events(event - 1)[0].confidence == confidence


def test_changes_of_another_process_are_seen_at_once(feedback: Feedback) -> None:
    code = f"from vse_ens.data.feedback.verdicts import Feedback; Feedback({str(feedback.path)!r}).add"
    code += "('img', 'sea', 'accept', by='ben', source='api', confidence=None, model='abc')"
    subprocess.run([sys.executable, "-c", code], check=True)
    assert feedback.changes(0)[0] == 1
    feedback.add("img", "fog", "accept", **WHO)
    assert feedback.changes(1)[0] == 2


def test_changes_are_pairs_with_new_events_and_their_verdicts(feedback: Feedback) -> None:
    first = feedback.add("img", "sea", "accept", **WHO)
    assert feedback.changes(0) == (first, [("img", "sea", "accept", first)])
    assert feedback.changes(first) == (first, [])
    second = feedback.add("img", "fog", "reject", **WHO)
    assert feedback.changes(first) == (second, [("img", "fog", "reject", second)])
    third = feedback.undo(second, by="anna", model="abc")
    assert feedback.changes(second) == (third, [("img", "fog", None, 0)])
    assert feedback.changes(0) == (third, [("img", "sea", "accept", first)])
