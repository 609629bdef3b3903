"""Batches of verdicts: stored and undone as a whole, durable, and like single verdicts everywhere else."""

from __future__ import annotations

import json
import select
import signal
import socket
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.service_in_subprocess import serving
from vse_ens.data.annotations import Annotations
from vse_ens.data.feedback.pairs import apply_feedback, count_feedback, export_accepted, read_feedback
from vse_ens.data.feedback.store import open_reader
from vse_ens.data.feedback.verdicts import Feedback, NewVerdict, PairVerdict, StoredBatch, UndoneBatch
from vse_ens.errors import ConfigError, UnknownIdError

WHO: dict[str, Any] = {"by": "anna", "source": "page", "model": "abc"}
SINGLE = WHO | {"confidence": 0.5}
THREE = [
    NewVerdict("img1", "sea", "accept", 0.9),
    NewVerdict("img2", "sea", "accept"),
    NewVerdict("img3", "sea", "reject"),
]


@pytest.fixture
def feedback(tmp_path: Path) -> Iterator[Feedback]:
    opened = Feedback(tmp_path / "f.sqlite")
    yield opened
    opened.close()


def in_force(feedback: Feedback) -> set[tuple[str, str, str | None]]:
    return {one[:3] for one in feedback.changes(0)[1]}


def test_a_batch_is_stored_and_undone_as_a_whole(feedback: Feedback) -> None:
    single = feedback.add("img2", "sea", "reject", **SINGLE)
    stored = feedback.add_batch(THREE, **WHO)
    assert stored == StoredBatch(single + 1, 3, 0)
    assert stored.batch is not None
    assert in_force(feedback) == {("img1", "sea", "accept"), ("img2", "sea", "accept"), ("img3", "sea", "reject")}
    assert [event.confidence for event in feedback.events(single)] == [0.9, None, None]
    assert feedback.undo_batch(stored.batch, by="ben", model="abc") == UndoneBatch(3, 0)
    assert in_force(feedback) == {("img2", "sea", "reject")}  # what was before is in force again
    assert feedback.undo_batch(stored.batch, by="ben", model="abc") == UndoneBatch(0, 3)


def test_verdicts_in_force_are_skipped_and_survive_an_undo(feedback: Feedback) -> None:
    feedback.add("img1", "sea", "accept", **SINGLE)
    stored = feedback.add_batch(THREE, **WHO)
    assert (stored.stored, stored.skipped) == (2, 1)
    assert stored.batch is not None
    feedback.undo_batch(stored.batch, by="anna", model="abc")
    assert in_force(feedback) == {("img1", "sea", "accept")}


def test_a_batch_that_is_sent_again_is_the_same_batch(feedback: Feedback) -> None:
    first = feedback.add_batch(THREE, **WHO)
    assert feedback.add_batch(THREE, **WHO) == StoredBatch(first.batch, 0, 3)
    feedback.add_batch([NewVerdict("img4", "fog", "accept")], **WHO)
    both = [*THREE, NewVerdict("img4", "fog", "accept")]
    assert feedback.add_batch(both, **WHO) == StoredBatch(None, 0, 4)
    assert len(feedback.events()) == 4


def test_a_bad_verdict_refuses_the_whole_batch_and_is_named(feedback: Feedback) -> None:
    with pytest.raises(ConfigError, match=r"events\.2: label must not be blank; nothing was stored"):
        feedback.add_batch([*THREE[:2], NewVerdict("img3", " ", "accept")], **WHO)
    assert feedback.events() == []
    with pytest.raises(UnknownIdError, match="unknown batch '1'"):
        feedback.undo_batch(1, by="anna", model="abc")


def test_an_event_of_a_batch_may_be_undone_alone(feedback: Feedback) -> None:
    batch = feedback.add_batch(THREE, **WHO).batch
    assert batch is not None
    feedback.undo(batch + 1, by="anna", model="abc")
    assert feedback.undo_batch(batch, by="anna", model="abc") == UndoneBatch(2, 1)
    assert in_force(feedback) == set()
    with pytest.raises(UnknownIdError):  # a batch is named by its first event, no other
        feedback.undo_batch(batch + 1, by="anna", model="abc")


def test_changes_are_those_since_an_event(feedback: Feedback) -> None:
    feedback.add_batch(THREE, **WHO)
    last, everything = feedback.changes(0)
    assert len(everything) == 3
    assert feedback.changes(last) == (last, [])
    feedback.undo(1, by="anna", model="abc")
    feedback.add("img3", "sea", "accept", **SINGLE)
    now, changed = feedback.changes(last)
    assert now == last + 2
    assert set(changed) == {PairVerdict("img1", "sea", None, 0), PairVerdict("img3", "sea", "accept", now)}


def test_a_batch_counts_like_single_verdicts_everywhere(tmp_path: Path) -> None:
    together, alone = tmp_path / "together.sqlite", tmp_path / "alone.sqlite"
    one, other = Feedback(together), Feedback(alone)
    one.add_batch(THREE, **WHO)
    for image, label, verdict, confidence in THREE:
        other.add(image, label, verdict, **WHO, confidence=confidence)
    one.close()
    other.close()
    data = Annotations.from_pairs([("img3", "sea"), ("img3", "sky"), ("img1", "sky")])
    corrected = [apply_feedback(data, path).to_frame("polars").rows() for path in (together, alone)]
    assert corrected[0] == corrected[1] == [("img1", "sea"), ("img1", "sky"), ("img2", "sea"), ("img3", "sky")]
    assert (
        [pairs.pairs for pairs in read_feedback(together)] == [pairs.pairs for pairs in read_feedback(alone)] == [2, 1]
    )
    assert count_feedback(together) == count_feedback(alone)
    assert export_accepted(together, tmp_path / "a.csv") == export_accepted(alone, tmp_path / "b.csv") == 2


def test_a_file_from_before_batches_is_read_and_written(tmp_path: Path) -> None:
    path = tmp_path / "old.sqlite"
    feedback = Feedback(path)
    feedback.add("img0", "sky", "accept", **SINGLE)
    feedback.close()
    old = sqlite3.connect(path)
    old.executescript("DROP TABLE batches")
    old.close()
    open_reader(path).close()
    assert count_feedback(path).events == 1
    feedback = Feedback(path)
    batch = feedback.add_batch(THREE, **WHO).batch
    assert batch == 2
    feedback.undo_batch(batch, by="anna", model="abc")
    assert in_force(feedback) == {("img0", "sky", "accept")}
    feedback.close()
    Feedback(path).close()  # the table is there already
    # The program before reads it: the mark and the version are those it knows.
    new = sqlite3.connect(path)
    assert [new.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version")] == [
        0x76736566,
        1,
    ]
    with pytest.raises(sqlite3.Error, match="never deleted"):
        new.execute("DELETE FROM batches")
    new.close()


@pytest.mark.unhurried
def test_a_kill_right_after_the_answer_loses_and_doubles_nothing(model: Path, tmp_path: Path) -> None:
    path = tmp_path / "feedback.sqlite"
    expected: list[tuple[str, str, str]] = []
    undo_next: int | None = None
    for turn in range(4):
        with serving(model, "--feedback", str(path)) as process:
            events = [{"image": f"img_{turn}_{n}", "label": "sea", "verdict": "accept"} for n in range(1_000)]
            answer = process.http.post("/api/feedback/batch", json={"events": events})
            assert answer.json()["stored"] == 1_000, answer.text
            expected += [("accept", event["image"], "sea") for event in events]
            if undo_next is not None:
                assert process.http.post("/api/feedback/undo", json={"batch": undo_next}).json()["undone"] == 1_000
                expected += [("undo", f"img_{turn - 1}_{n}", "sea") for n in range(1_000)]
            process.process.send_signal(signal.SIGKILL)
            process.process.wait(timeout=300)
        undo_next = answer.json()["batch"]
        kept = Feedback(path)
        assert [(one.verdict, one.image, one.label) for one in kept.events(limit=100_000)] == expected
        # The client that did not get the answer sends it again.
        assert kept.add_batch(
            [NewVerdict(event["image"], "sea", "accept") for event in events], by="anonymous", source="api", model="x"
        ) == StoredBatch(undo_next, 0, 1_000)
        kept.close()


def stored_bytes(path: Path) -> int:
    """The size of the database and of its journal."""
    return sum(file.stat().st_size for file in path.parent.glob(f"{path.name}*"))


@pytest.mark.unhurried
def test_a_kill_during_a_batch_keeps_all_of_it_or_nothing(model: Path, tmp_path: Path) -> None:
    path = tmp_path / "feedback.sqlite"
    sizes = []
    for turn in range(3):
        with serving(model, "--feedback", str(path)) as process:
            events = [{"image": f"img_{turn}_{n}", "label": "sea", "verdict": "accept"} for n in range(2_000)]
            body = json.dumps({"events": events}).encode()
            head = f"POST /api/feedback/batch HTTP/1.1\r\nHost: 127.0.0.1:{process.port}\r\n"
            head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
            with socket.create_connection(("127.0.0.1", process.port)) as connection:
                before = stored_bytes(path)
                connection.sendall(head.encode() + body)
                # The kill comes when the batch is being written; after the answer at the latest.
                while stored_bytes(path) == before and not select.select([connection], [], [], 0)[0]:
                    pass
                process.process.send_signal(signal.SIGKILL)
                process.process.wait(timeout=300)
        kept = Feedback(path)
        sizes.append(len(kept.events(limit=100_000)))
        kept.close()
    assert all(size % 2_000 == 0 for size in sizes)


def test_batches_have_the_number_of_their_first_event(feedback: Feedback) -> None:
    first = feedback.add_batch([NewVerdict("a", "sea", "accept")], **WHO)
    feedback.add("b", "sea", "accept", **SINGLE)
    second = feedback.add_batch([NewVerdict("c", "sea", "accept"), NewVerdict("d", "sea", "accept")], **WHO)
    feedback.add("e", "sea", "accept", **SINGLE)
    assert (first, second) == (StoredBatch(1, 1, 0), StoredBatch(3, 2, 0))
    assert feedback.undo_batch(1, by="anna", model="abc") == UndoneBatch(1, 0)
    assert {image for image, _, _ in in_force(feedback)} == {"b", "c", "d", "e"}
    assert feedback.undo_batch(3, by="anna", model="abc") == UndoneBatch(2, 0)
    assert {image for image, _, _ in in_force(feedback)} == {"b", "e"}
    for unknown in (-1, 0, 2, 4, 2**70):
        with pytest.raises(UnknownIdError, match="batch"):
            feedback.undo_batch(unknown, by="anna", model="abc")
