"""Decisions that people took in their own program are read from the files and the journal."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.photos import jpeg, packet
from vse_ens.data.collections import LabelEdit, open_collection
from vse_ens.data.collections.journal import Suggested, note_suggested, read_suggested, undo
from vse_ens.data.collections.review import Reviewed, collect
from vse_ens.data.collections.write import writable, write_labels
from vse_ens.errors import DataError

Write = Callable[..., Path]


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    folder = tmp_path / "Pictures"
    folder.mkdir()
    for name in ("a", "b", "c"):
        (folder / f"{name}.jpg").write_bytes(jpeg(packet(["sea"])))
    return folder


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write suggestions with a prefix and return the journal."""

    def run(source: Path, suggested: dict[str, dict[str, float | None]], prefix: str = "suggested|") -> Path:
        journal = tmp_path / "journal.jsonl"
        collection = writable(open_collection(source))
        edits = {image: LabelEdit(tuple(labels)) for image, labels in suggested.items()}
        write_labels(collection, edits, journal, prefix=prefix)
        note_suggested(journal, Suggested(collection.path, collection.format, prefix, "abc", suggested))
        return journal

    return run


def verdicts(found: Reviewed) -> dict[tuple[str, str], str]:
    return {(one.image, one.label): one.verdict for one in found.verdicts}


# What three programs write if of suggested|dog, suggested|place|beach and suggested|sun the first is moved below
# animals, the second loses its prefix, and the third is deleted.
PROGRAMS = {
    "darktable": packet(["animals", "beach", "dog", "place", "sea"], ["animals|dog", "place|beach", "sea"]),
    "digiKam": packet(
        ["sea", "dog", "beach"],
        ["sea", "animals|dog", "place|beach"],
        ["sea", "animals/dog", "place/beach"],
        ["sea", "animals/dog", "place/beach"],
    ),
    "flat": packet(["sea", "dog", "place|beach"]),
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_moved_is_accepted_and_deleted_is_rejected(photos: Path, write: Write, program: str) -> None:
    journal = write(photos, {"a.jpg": {"dog": 0.5, "place|beach": 0.25, "sun": None}, "b.jpg": {"dog": 0.125}})
    (photos / "a.jpg.xmp").write_bytes(PROGRAMS[program])
    found = collect(journal)
    assert verdicts(found) == {
        ("a.jpg", "dog"): "accept",
        ("a.jpg", "place|beach"): "accept",
        ("a.jpg", "sun"): "reject",
        ("b.jpg", "dog"): "accept",
    }
    assert [one.confidence for one in found.verdicts] == [0.5, 0.25, None, 0.125]
    assert found.counts == {"moved": 2, "deleted": 1, "kept": 1}
    assert ("b.jpg", "dog") not in verdicts(collect(journal, only_decided=True))


def test_kept_without_a_prefix_is_accepted(tmp_path: Path, write: Write) -> None:
    source = tmp_path / "coco.json"
    images = [{"id": 1, "file_name": "a.jpg"}, {"id": 2, "file_name": "b.jpg"}]
    content: dict[str, Any] = {"images": images, "categories": [{"id": 1, "name": "sea"}, {"id": 2, "name": "sun"}]}
    content["annotations"] = [{"id": 1, "image_id": 1, "category_id": 1}, {"id": 2, "image_id": 2, "category_id": 1}]
    source.write_text(json.dumps(content))
    journal = write(source, {"a.jpg": {"sun": 0.5}, "b.jpg": {"sun": 0.5}}, prefix="")
    after = json.loads(source.read_text())
    after["annotations"] = [one for one in after["annotations"] if (one["image_id"], one["category_id"]) != (2, 2)]
    source.write_text(json.dumps(after))
    assert verdicts(collect(journal)) == {("a.jpg", "sun"): "accept", ("b.jpg", "sun"): "reject"}


def test_what_is_unclear_has_no_verdict(photos: Path, write: Write) -> None:
    journal = write(photos, {name: {"place|beach": 0.5} for name in ("a.jpg", "b.jpg", "c.jpg")})
    (photos / "a.jpg.xmp").write_bytes(packet(["sea", "beach"]))  # was that moved, or there before?
    (photos / "b.jpg.xmp").write_bytes(packet(["sea"])[:-120])
    (photos / "c.jpg").unlink()
    found = collect(journal)
    assert (found.verdicts, found.counts) == ([], {"unclear": 3})
    assert any("b.jpg.xmp" in note for note in found.notes)


def test_suggestions_do_not_disturb_undo(photos: Path, write: Write) -> None:
    journal = write(photos, {"a.jpg": {"dog": 0.5}})
    assert undo(journal).files == [photos / "a.jpg.xmp"]
    with pytest.raises(DataError, match=r"journal\.jsonl was undone; there is nothing to collect"):
        collect(journal)


def test_a_journal_without_suggestions_is_refused(photos: Path, tmp_path: Path) -> None:
    write_labels(writable(open_collection(photos)), {"a.jpg": LabelEdit(("dog",))}, journal := tmp_path / "log")
    with pytest.raises(DataError, match="log has no suggestions; name a journal of vse annotate --write"):
        read_suggested(journal)
    with journal.open("a") as file:
        file.write('{"suggested": {"collection": "?"}}\n')
    with pytest.raises(DataError, match="log has damaged suggestions; restore a copy"):
        read_suggested(journal)
