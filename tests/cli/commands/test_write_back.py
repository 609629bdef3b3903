"""From a folder to a model and back: ``train``, ``annotate --write``, ``apply``, ``feedback apply`` and ``undo``."""

from __future__ import annotations

import csv
import json
import re
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.build_once import build_once
from tests.support.collections_made import photo_folder, tagged_images, tags_folder
from tests.support.photos import jpeg, packet
from vse_ens.annotator import Annotator
from vse_ens.data.annotations import Annotations
from vse_ens.data.collections import FileChange, open_collection
from vse_ens.data.collections.journal import read_suggested, write_changes
from vse_ens.data.feedback.verdicts import Feedback

Vse = Callable[..., Any]


@pytest.fixture(autouse=True)
def _own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home" / "cache"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "home" / "state"))


@pytest.fixture(scope="module")
def folder_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of the folders of `photo_folder` and `tags_folder`, which have the same images and labels."""

    def train(path: Path) -> None:
        data = Annotations.from_pairs(
            (image, label) for image, labels in tagged_images(120).items() for label in labels
        )
        Annotator(epochs=2, dimensions=8, negatives=4).fit(data).save(path)

    return build_once(tmp_path_factory, "folder-model", train)


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    return photo_folder(tmp_path / "Pictures")


@pytest.fixture
def tags(tmp_path: Path) -> Path:
    return tags_folder(tmp_path / "dataset")


def state(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def labels(folder: Path) -> dict[str, set[str]]:
    return {item.image: set(item.labels) for item in open_collection(folder).items()}


@pytest.mark.parametrize("kind", ["photos", "tags"])
def test_suggestions_are_written_and_undone(
    vse: Vse, folder_model: Path, kind: str, request: pytest.FixtureRequest
) -> None:
    source: Path = request.getfixturevalue(kind)
    before, old = state(source), labels(source)
    answer = vse("annotate", folder_model, "--all", "--write", source, "--min-confidence", 0.1, "--json")
    assert answer.status == 0, answer.err
    report = answer.document
    assert (report["format"], report["images"]) == (
        {"photos": "photos", "tags": "txt-tags"}[kind],
        len(report["files"]),
    )
    new = labels(source)
    added = {image: new[image] - old[image] for image in old}
    assert sum(map(len, added.values())) == report["labels_added"] > 50
    suggested = Annotator.load(folder_model).annotate(list(old), min_confidence=0.1)
    for image, suggestions in zip(old, suggested, strict=True):
        assert added[image] == {one.label for one in suggestions}
    images = {name: content for name, content in before.items() if name.endswith(".jpg")}
    assert images.items() <= state(source).items()
    undone = vse("undo", report["journal"], "--json").document
    assert sorted(undone["files"]) == sorted(report["files"])
    assert state(source) == before


def test_an_undo_names_files_that_a_killed_write_never_reached(vse: Vse, tmp_path: Path) -> None:
    path, journal = tmp_path / "a.txt", tmp_path / "undo.jsonl"
    path.write_text("old\n")
    write_changes([FileChange(path, b"old\n", b"new\n")], journal)
    lines = journal.read_text().splitlines(keepends=True)
    journal.write_text("".join(lines[:2]))  # the process was killed when it had noted the file
    path.write_text("mine\n")
    answer = vse("undo", journal, "--json")
    assert (answer.status, answer.document["files"], answer.document["left"]) == (0, [], [str(path)])
    shown = vse("undo", journal)
    assert "left as they are" in shown.out
    assert path.read_text() == "mine\n"


def test_a_second_write_changes_nothing(vse: Vse, folder_model: Path, photos: Path) -> None:
    arguments = ("annotate", folder_model, "--all", "--write", photos, "--min-confidence", 0.1)
    vse(*arguments)
    report = vse(*arguments, "--json").document
    assert (report["files"], report["journal"], report["labels_added"]) == ([], None, 0)


def test_a_dry_run_shows_the_changes_and_writes_nothing(
    vse: Vse, folder_model: Path, tags: Path, tmp_path: Path
) -> None:
    before = state(tags)
    arguments = ("annotate", folder_model, "--all", "--write", tags, "--min-confidence", 0.1, "--dry-run")
    shown = vse(*arguments, "--diff")
    assert f"+++ {tags / '0' / '0000.txt'}\n" in shown.out
    assert "\n-place|" in shown.out
    assert "would change" in shown.out
    report = vse(*arguments, "--json").document
    assert report["journal"] is None
    assert [one["file"] for one in report["changes"]] == report["files"]
    assert state(tags) == before
    assert not (tmp_path / "home" / "state").exists()


def test_suggestions_can_have_a_hierarchy_of_their_own(vse: Vse, folder_model: Path, photos: Path) -> None:
    old = labels(photos)
    arguments = ("annotate", folder_model, "--all", "--write", photos, "--min-confidence", 0.1)
    assert vse(*arguments, "--prefix", "suggested|", "--json").document["labels_added"] > 50
    # A suggestion that is below the prefix already is not written beside it.
    assert vse(*arguments, "--json").document["labels_added"] == 0
    for image, new in labels(photos).items():
        assert old[image] <= new
        assert all(label.startswith("suggested|") for label in new - old[image])


def test_only_and_per_namespace_limit_what_is_written(vse: Vse, folder_model: Path, tags: Path) -> None:
    old = labels(tags)
    arguments = ("annotate", folder_model, "--all", "--write", tags, "--min-confidence", 0)
    vse(*arguments, "--only", "place|*", "--top", 1, "--journal", tags.parent / "one.jsonl")
    added = {image: new - old[image] for image, new in labels(tags).items()}
    assert all(len(new) == 1 and next(iter(new)).startswith("place|") for new in added.values())
    vse("undo", tags.parent / "one.jsonl")
    vse(*arguments, "--per-namespace", 1, "--top", 10)
    for image, new in labels(tags).items():
        facets = sorted(
            label.partition("|")[0] if "|" in label else label.partition(":")[0] for label in new - old[image]
        )
        assert facets.count("place") == facets.count("person") == 1
        assert len(facets) == 3  # and one label without a namespace


def test_suggestions_per_namespace_are_the_best_of_each(folder_model: Path) -> None:
    model = Annotator.load(folder_model)
    image = model.known_.images.id(0)
    best = model.annotate(image, top=100)
    kept = model.annotate(image, top=100, per_namespace=1)
    places = [one for one in best if one.label.startswith("place|")]
    people = [one for one in best if one.label.startswith("person:")]
    others = [one for one in best if one not in places and one not in people]
    assert kept == sorted([places[0], people[0], others[0]], key=lambda one: -one.score)
    assert model.annotate(image, top=1, per_namespace=1) == best[:1]


def test_images_that_are_gone_are_told_and_the_others_written(vse: Vse, folder_model: Path, photos: Path) -> None:
    shutil.rmtree(photos / "0")
    answer = vse("annotate", folder_model, "--all", "--write", photos, "--min-confidence", 0.1, "--json")
    assert len(answer.document["missing"]) == 30
    assert "note: 30 images not in" in answer.err
    assert answer.document["files"]


def test_another_collection_is_refused(vse: Vse, folder_model: Path, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "x.jpg").write_bytes(jpeg(packet(["sea"])))
    answer = vse("annotate", folder_model, "--all", "--write", tmp_path / "other")
    assert answer.status == 1
    assert "has none of the 120 images" in answer.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--all",), "--all and --out FILE or --write SOURCE must be given together"),
        (("--all", "--write", "x", "--out", "y.csv"), "cannot be combined with --out"),
        (("--all", "--out", "y.csv", "--dry-run"), "--dry-run, --diff and --journal need --write"),
        (("--all", "--write", "missing"), "missing does not exist; name a file or folder"),
    ],
)
def test_options_that_do_not_fit_are_refused(
    vse: Vse, folder_model: Path, arguments: tuple[str, ...], message: str
) -> None:
    answer = vse("annotate", folder_model, *arguments)
    assert answer.status in (1, 2)
    assert message in answer.err


# --- audit decisions and feedback -----------------------------------------------------------------------------------


def audit_file(path: Path, *rows: tuple[str, ...], delimiter: str = ",") -> Path:
    with path.open("w", newline="") as file:
        lines = csv.writer(file, delimiter=delimiter)
        lines.writerow(("kind", "image", "label", "other_label", "confidence", "reason", "decision"))
        lines.writerows(
            (kind, image, label, other, "0.9", "a reason", told) for kind, image, label, other, told in rows
        )
    return path


@pytest.mark.parametrize("delimiter", [",", ";"])
def test_accepted_findings_are_applied_and_undone(vse: Vse, tags: Path, tmp_path: Path, delimiter: str) -> None:
    before, old = state(tags), labels(tags)
    one, two, three = list(old)[:3]
    wrong = min(old[one])
    file = audit_file(
        tmp_path / "audit.csv",
        ("wrong", one, wrong, "", "accept"),
        ("wrong", two, min(old[two]), "", "reject"),
        ("missing", two, "new label", "", "add"),
        ("missing", three, "not wanted", "", ""),
        ("duplicate", "", "sea", "ocean", "merge"),
        delimiter=delimiter,
    )
    report = vse("apply", file, "--to", tags, "--json").document
    new = labels(tags)

    def merged(found: set[str]) -> set[str]:
        return {"ocean" if label == "sea" else label for label in found}

    assert new[one] == merged(old[one] - {wrong})
    assert new[two] == merged(old[two] | {"new label"})
    assert new[three] == merged(old[three])
    assert not any("sea" in found for found in new.values())
    vse("undo", report["journal"])
    assert state(tags) == before


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("image,label\n", "audit.csv has no column 'kind'; name the file that vse audit --out wrote"),
        (
            "kind,image,label,other_label,decision\nwrong,a,b,,maybe\n",
            "audit.csv, line 2 has the decision 'maybe'; use one of accept, delete, remove, reject",
        ),
        ("kind,image,label,other_label,decision\nodd,a,b,,accept\n", "line 2 has the kind 'odd'"),
    ],
)
def test_a_file_that_is_no_audit_is_refused(vse: Vse, tags: Path, tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "audit.csv").write_text(content)
    answer = vse("apply", tmp_path / "audit.csv", "--to", tags)
    assert answer.status == 1
    assert message in answer.err


def test_labels_inside_image_files_are_not_removed_and_told(vse: Vse, photos: Path, tmp_path: Path) -> None:
    before, old = state(photos), labels(photos)
    image = min(old)
    file = audit_file(tmp_path / "audit.csv", ("wrong", image, min(old[image]), "", "yes"))
    answer = vse("apply", file, "--to", photos, "--json")
    assert (answer.status, answer.document["labels_removed"], answer.document["files"]) == (0, 0, [])
    assert "1 label could not be removed, because vse does not change image files" in answer.err
    assert state(photos) == before


def test_feedback_is_written(vse: Vse, tags: Path, tmp_path: Path) -> None:
    old = labels(tags)
    one, two = list(old)[:2]
    file = tmp_path / "model.feedback.sqlite"
    store = Feedback(file)
    store.add(one, "accepted", "accept", by="ann", source="page", confidence=0.5, model="m")
    store.add(two, min(old[two]), "reject", by="ann", source="page", confidence=0.5, model="m")
    store.close()
    report = vse("feedback", "apply", file, "--to", tags, "--json").document
    assert (report["labels_added"], report["labels_removed"]) == (1, 1)
    new = labels(tags)
    assert new[one] == old[one] | {"accepted"}
    assert new[two] == old[two] - {min(old[two])}
    assert vse("feedback", file, "--json").document == vse("feedback", "show", file, "--json").document


# --- a model remembers the pictures ---------------------------------------------------------------------------------


def test_training_on_a_folder_remembers_where_the_pictures_are(vse: Vse, photos: Path, tmp_path: Path) -> None:
    settings = ("--epochs", 1, "--dimensions", 4, "--set", "negatives=2")
    answer = vse("train", photos, "--out", tmp_path / "model", *settings)
    assert answer.status == 0, answer.err
    assert f"note: read {photos} as photos" in answer.err
    pictures = Annotator.load(tmp_path / "model").known_.pictures
    assert pictures is not None
    assert (pictures.root, pictures.format, dict(pictures.locations)) == (str(photos), "photos", {})
    assert Annotator.load(tmp_path / "model", verify=False).known_.pictures == pictures
    image = min(labels(photos))
    assert (Path(pictures.root) / pictures.location(image)).read_bytes() == (photos / image).read_bytes()
    document = json.loads((tmp_path / "model" / "model.json").read_text())
    assert document["settings"]["pictures"] == {"root": str(photos), "format": "photos"}


def test_info_and_split_take_a_folder(vse: Vse, tags: Path, tmp_path: Path) -> None:
    answer = vse("info", tags, "--json").document
    assert (answer["images"], answer["pairs"], answer["notes"]) == (120, 480, [f"read {tags} as txt-tags"])
    assert answer["facets"]["place|"] == {"labels": 3, "pairs": 120}
    assert "place|* 3 labels in 120 pairs" in " ".join(vse("info", tags).out.split())
    assert vse("info", tags, "--ancestors", "--json").document["labels"] == answer["labels"] + 1
    assert vse("split", tags, "--out", tmp_path / "split").status == 0


def test_a_write_of_nothing_says_why_and_what_to_try(vse: Vse, folder_model: Path, photos: Path) -> None:
    before = state(photos)
    answer = vse("annotate", folder_model, "--all", "--write", photos, "--completeness", 0.999)
    assert "confidence  at least 0.3, the default; change it with --min-confidence" in answer.out
    [note] = [line for line in answer.err.splitlines() if "suggestions" in line]
    assert note.startswith("note: of 600 suggestions, none reached that confidence; the best has 0.0")
    assert "has 0.00," not in note
    assert "assuming that 100% of the right labels are recorded (given)" in note
    assert f"vse calibrate {folder_model} --completeness 0.5" in note
    assert state(photos) == before
    command = shlex.split(note.partition(" on: ")[2].partition(";")[0])
    assert command[:7] == ["vse", "annotate", str(folder_model), "--all", "--write", str(photos), "--min-confidence"]
    assert command[-3:] == ["--prefix", "suggested|", "--dry-run"]
    [proposed] = re.findall(r"to look at more, from ([\d.]+) on", note)
    tried = vse(*command[1:], "--completeness", 0.999)
    assert int(re.findall(r"([\d,]+) added", tried.out)[0].replace(",", "")) > 0
    assert float(proposed) < 0.3


def test_default_threshold_is_the_one_of_help_and_output(vse: Vse, folder_model: Path, photos: Path) -> None:
    arguments = ("annotate", folder_model, "--all", "--write", photos, "--completeness", 0.5, "--dry-run", "--json")
    assert "0.3" in vse("annotate", "--help").out
    by_default, given = vse(*arguments), vse(*arguments, "--min-confidence", 0.3)
    assert by_default.document == given.document
    shown = vse(*arguments[:-1])
    added = by_default.document["labels_added"]
    assert f"{added:,} added, 0 removed; about " in shown.out
    assert added > 50


def test_a_preview_lists_labels_with_their_confidence(vse: Vse, folder_model: Path, photos: Path) -> None:
    arguments = ("annotate", folder_model, "--all", "--write", photos, "--min-confidence", 0.1, "--top", 2)
    lines = vse(*arguments, "--prefix", "suggested|", "--dry-run").out.splitlines()
    suggested = Annotator.load(folder_model).annotate(["0/0000.jpg"], min_confidence=0.1, top=2)[0]
    wanted = [f"+ suggested|{one.label} {100 * (one.confidence or 0):.0f} %" for one in suggested]
    assert "  ".join(["0/0000.jpg", *wanted]) in lines
    totals = next(line for line in lines if line.startswith("in all: "))
    added = vse(*arguments, "--dry-run", "--json").document["labels_added"]
    counted = sum(int(count.replace(",", "")) for count in re.findall(r" ([\d,]+)(?:, |$)", totals))
    assert counted == added
    assert not [line for line in lines if line.startswith(("---", "+++"))]


def test_undo_without_a_journal_lists_the_latest(vse: Vse, folder_model: Path, photos: Path, tmp_path: Path) -> None:
    nothing = vse("undo")
    assert nothing.status == 1
    assert "has no journal of a write to undo" in nothing.err
    written = vse("annotate", folder_model, "--all", "--write", photos, "--min-confidence", 0.1, "--json").document
    [line] = vse("undo").out.splitlines()
    assert line.startswith(f"vse undo {written['journal']}  # {photos}")
    assert vse("undo", "--json").document["journals"].keys() == {written["journal"]}
    vse("undo", written["journal"])
    assert vse("undo").status == 1


def test_images_without_a_label_are_counted_with_what_helps(vse: Vse, tmp_path: Path) -> None:
    root = photo_folder(tmp_path / "Pictures")
    for number in range(3):
        (root / f"new{number}.jpg").write_bytes(jpeg())
    note = "images without a label: 3 of 123; only frequent labels are suggested for them"
    assert " ".join(vse("info", root).out.split()).count(note) == 1
    options = ("--epochs", 1, "--dimensions", 8, "--negatives", 4)
    trained = vse("train", root, "--out", tmp_path / "model", *options)
    assert f"note: {note}" in trained.err
    assert "is replaced" not in trained.err
    again = vse("train", root, "--out", tmp_path / "model", *options)
    assert f"note: the model in {tmp_path / 'model'} is replaced when the training ends" in again.err
    assert f"note: {note}" in vse("annotate", tmp_path / "model", "--all", "--write", root, "--dry-run").err
    one = vse("annotate", tmp_path / "model", "new0.jpg").err
    assert "images without a label: 1 of 1" in one


def test_an_image_is_found_by_its_base_name_or_path(vse: Vse, folder_model: Path) -> None:
    [wanted] = vse("annotate", folder_model, "0/0000.jpg", "--json").document
    for name in ("0000.jpg", "./0000.jpg", "Pictures/0/0000.jpg"):
        assert vse("annotate", folder_model, name, "--json").document == [wanted]
    assert vse("annotate", folder_model, "gone.jpg").status != 0


@pytest.mark.parametrize(("prefix", "still"), [("suggested|", "below 'suggested|'"), ("", "as written")])
def test_decisions_taken_in_other_programs_become_feedback(
    vse: Vse, folder_model: Path, photos: Path, tmp_path: Path, prefix: str, still: str
) -> None:
    journal, feedback = tmp_path / "j.jsonl", tmp_path / "f.sqlite"
    arguments = ("annotate", folder_model, "--all", "--write", photos, "--min-confidence", 0.1)
    given = ("--prefix", prefix) if prefix else ()
    answer = vse(*arguments, *given, "--journal", journal, "--json")
    assert answer.status == 0, answer.err
    total = answer.document["labels_added"]
    suggested = read_suggested(journal)
    assert (suggested.prefix, len(suggested.model)) == (prefix, 12)
    image, label = next((image, next(iter(found))) for image, found in suggested.labels.items() if len(found) == 1)
    Path(f"{photos / image}.xmp").write_bytes(packet(["sea"]))
    answer = vse("feedback", "collect", journal, "--to", feedback, "--by", "ann", "--json")
    assert answer.status == 0, answer.err
    assert answer.document["suggestions"] == {"moved": 0, "kept": total - 1, "deleted": 1, "unclear": 0}
    assert (answer.document["accepted"], answer.document["rejected"], answer.document["new"]) == (total - 1, 1, total)
    assert f"still {still} count as accepted; --only-decided leaves them out" in answer.err
    with_verdicts = Feedback(feedback)
    assert with_verdicts.of(image).rejected == {label: with_verdicts.of(image).rejected[label]}
    [event] = [event for event in with_verdicts.events(limit=total) if event.image == image]
    with_verdicts.close()
    assert (event.by, event.source, event.model) == ("ann", "files", suggested.model)
    assert event.confidence == suggested.labels[image][label]
    again = vse("feedback", "collect", journal, "--to", feedback, "--by", "ann", "--only-decided", "--json")
    assert (again.document["new"], again.document["rejected"], again.document["accepted"]) == (0, 1, 0)
