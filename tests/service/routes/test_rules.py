"""Rules over HTTP: added, in force at once, listed, proposed and undone."""

from __future__ import annotations

import csv
import io
import json
import shutil
import time
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.service.conftest import STRANGE_IMAGE, STRANGE_LABEL
from tests.support.collection_samples import CASES
from tests.support.collections_made import tags_folder
from tests.support.service_in_process import Client
from vse_ens.annotator import Annotator
from vse_ens.data.annotations import Annotations
from vse_ens.data.collections.pictures import Pictures
from vse_ens.data.rules.store import read_rules
from vse_ens.service.keys import Key


@pytest.fixture
def service(serve: Callable[..., Client]) -> Client:
    return serve()


def add(client: Client, kind: str, label: str, other: str) -> Any:
    answer = client.post("/api/rules", json={"kind": kind, "label": label, "other": other})
    assert answer.status_code == 200, answer.text
    return answer.json()


def labels_of(client: Client, image: str) -> dict[str, Any]:
    return {one["label"]: one for one in client.get("/api/image", params={"id": image}).json()["labels"]}


def images_with(model: Path, label: str) -> list[str]:
    known = Annotator.load(model).known_
    return [image for image in known.images if label in known.labels_of(image)]


def test_the_vocabulary_counts_merged_labels_once_per_image(service: Client, model: Path) -> None:
    sea, sky = images_with(model, "sea"), images_with(model, "sky")
    add(service, "alias", "sea", "ocean")
    add(service, "alias", "sky", "heaven")
    counted = {one["label"]: one["images"] for one in service.get("/api/vocabulary").json()["labels"]}
    assert (counted["ocean"], counted["heaven"]) == (len(sea), len(sky))
    assert not {"sea", "sky"} & set(counted)
    add(service, "alias", "heaven", "ocean")
    counted = {one["label"]: one["images"] for one in service.get("/api/vocabulary").json()["labels"]}
    assert counted["ocean"] == len({*sea, *sky})


def test_a_suggestion_has_the_name_in_force(service: Client) -> None:
    image = "img_0000007"
    before = [one["label"] for one in service.get("/api/image", params={"id": image}).json()["suggestions"]]
    add(service, "rename", before[0], "another name")
    after = [one["label"] for one in service.get("/api/image", params={"id": image}).json()["suggestions"]]
    assert after[:2] == ["another name", before[1]]


def test_an_alias_shows_the_other_label_at_once(service: Client, model: Path) -> None:
    images = images_with(model, "sea")
    assert add(service, "alias", "sea", "ocean") == {"rule": 1, "changed": len(images)}
    shown = labels_of(service, images[0])
    assert "sea" not in shown
    assert shown["ocean"]["source"] == "data"
    lacking = next(image for image in images_with(model, "sky") if image not in images)
    suggested = service.get("/api/image", params={"id": lacking, "top": 100}).json()["suggestions"]
    assert "sea" not in [one["label"] for one in suggested]
    assert service.post("/api/rules/undo", json={"rule": 1}).json() == {"rule": 1, "changed": len(images)}
    assert "sea" in labels_of(service, images[0])


def test_all_answers_have_the_names_in_force_and_take_them(service: Client, model: Path) -> None:
    client = service

    def post(path: str, **body: Any) -> Any:
        answer = client.post(f"/api/{path}", json=body)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def get(path: str, **query: Any) -> Any:
        answer = client.get(f"/api/{path}", params=query)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def answers(sea: str) -> Any:
        return {
            "grid": get("grid", label=sea, limit=500)["images"],
            "wrong": get("grid", label=sea, kind="wrong")["images"],
            "search": post("search", labels=[sea, "-person"], top=30)["images"],
            "similar": get("similar/labels", label="sand")["similar"],
            "annotate": post("annotate", labels=[["sand", "beach"]], top=10)["results"][0]["suggestions"],
            "explain": post("explain", labels=["sand", sea], label="wave"),
            "of label": get("label/images", label=sea)["images"],
        }

    image = images_with(model, "sea")[0]
    before = answers("sea")
    assert "sea" in [one["label"] for one in before["annotate"]]
    add(client, "rename", "sea", "ocean")
    assert json.loads(json.dumps(before).replace('"sea"', '"ocean"')) == answers("ocean")
    [annotated] = post("annotate", images=[image], allow=["ocean", "wave"])["results"]
    assert "ocean" in annotated["labels"]
    assert "sea" not in annotated["labels"]
    assert client.post("/api/annotate", json={"labels": [["oceans"]]}).status_code == 404
    together = post("together", images=[image, images_with(model, "sky")[0]])
    assert "ocean" in [one["label"] for one in together["labels"]]
    similar = get("similar/images", image=image)["similar"]
    assert not any("sea" in one["labels"] for one in similar)
    completed = [one["label"] for one in get("complete", text="ocea", new=False)["labels"]]
    assert completed[0] == "ocean"
    assert get("complete", text="sea", limit=1)["labels"][0]["label"] == "ocean"


def test_images_that_have_a_label_by_a_rule_do_not_lack_it(service: Client, model: Path) -> None:
    def lacking(label: str, **more: Any) -> set[str]:
        answer = service.get("/api/grid", params={"label": label, "limit": 500, **more}).json()
        assert len(answer["images"]) == answer["total"]
        assert answer["above"] == {
            text: sum(one["confidence"] >= float(text) for one in answer["images"]) for text in answer["above"]
        }
        return {one["image"] for one in answer["images"]}

    before = lacking("sea")
    beach = set(images_with(model, "beach"))
    new = next(iter(before - beach))
    add(service, "implication", "beach", "sea")
    assert lacking("sea") == before - beach
    service.post("/api/feedback", json={"image": new, "label": "beach", "verdict": "accept"})
    assert lacking("sea") == before - beach - {new}
    one = next(iter(beach & before))
    service.post("/api/feedback", json={"image": one, "label": "beach", "verdict": "reject"})
    assert lacking("sea") == before - beach - {new} | {one}
    add(service, "alias", "wave", "sea")
    assert not lacking("sea") & set(images_with(model, "wave"))


def test_a_verdict_under_a_new_name_counts_for_the_label(service: Client, model: Path) -> None:
    image = images_with(model, "kitchen")[0]
    add(service, "rename", "sea", "ocean")
    state = service.post("/api/feedback", json={"image": image, "label": "ocean", "verdict": "accept"}).json()["state"]
    annotator = Annotator.load(model)
    number = annotator.known_.images.numbers([image])
    [expected] = annotator.annotate_numbers(number, [[*annotator.known_labels(image), "sea"]], top=12)
    assert [one["label"] for one in state["suggestions"]] == [one.label for one in expected]
    lacking = service.get("/api/grid", params={"label": "ocean", "limit": 500}).json()["images"]
    assert image not in [one["image"] for one in lacking]


def test_an_implied_label_is_told_from_one_that_a_person_gave(service: Client, model: Path) -> None:
    images = images_with(model, "beach")
    lacking = [image for image in images if image not in images_with(model, "sea")]
    assert add(service, "implication", "beach", "sea") == {"rule": 1, "changed": len(lacking)}
    add(service, "implication", "sea", "water body")
    shown = labels_of(service, lacking[0])
    assert (shown["sea"]["source"], shown["sea"]["implied_by"]) == ("rule", "beach")
    assert (shown["water body"]["source"], shown["beach"]["source"]) == ("rule", "data")
    suggested = service.get("/api/image", params={"id": lacking[0], "top": 100}).json()["suggestions"]
    assert "sea" not in [one["label"] for one in suggested]
    # A person's rejection is an exception to the rule.
    service.post("/api/feedback", json={"image": lacking[0], "label": "sea", "verdict": "reject"})
    assert "sea" not in labels_of(service, lacking[0])
    service.post("/api/feedback", json={"image": lacking[0], "label": "sea", "verdict": "accept"})
    assert labels_of(service, lacking[0])["sea"]["source"] == "feedback"


def test_a_verdict_on_the_new_name_holds_for_the_old_one(service: Client, model: Path) -> None:
    image = images_with(model, "sea")[0]
    add(service, "rename", "sea", "ocean")
    answer = service.post("/api/feedback", json={"image": image, "label": "ocean", "verdict": "reject"})
    assert "ocean" not in [one["label"] for one in answer.json()["state"]["labels"]]
    assert (image, "ocean") not in exported(service)


def test_rules_are_listed_with_person_and_exceptions(service: Client, model: Path, tmp_path: Path) -> None:
    headers = {"X-VSE-User": "anna"}
    body = {"kind": "implication", "label": "beach", "other": "sea"}
    service.post("/api/rules", json=body, headers=headers)
    assert service.post("/api/rules", json=body).json()["rule"] == 1  # sent twice
    listed = service.get("/api/rules").json()
    [rule] = listed["rules"]
    lacking = set(images_with(model, "beach")) - set(images_with(model, "sea"))
    assert (rule["id"], rule["kind"], rule["label"], rule["other"], rule["by"]) == (1, *body.values(), "anna")
    assert rule["exceptions"] == len(lacking)
    assert listed["version"] == 1
    assert [one.label for one in read_rules(tmp_path / "feedback.sqlite.rules.jsonl")] == ["beach"]


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        ({"kind": "implication", "label": "sea", "other": "beach"}, 422, "'sea' cannot imply 'beach', because"),
        ({"kind": "rejected", "label": "beach", "other": "sea"}, 422, "'beach' implies 'sea' by a rule in force"),
        ({"kind": "alias", "label": "sea", "other": "sea"}, 422, "needs two labels"),
        ({"kind": "merge", "label": "a", "other": "b"}, 422, "kind"),
        ({"kind": "alias", "label": "a"}, 422, "other"),
        ({"kind": "alias", "label": "a", "other": "b", "more": 1}, 422, "more"),
    ],
)
def test_a_contradiction_is_refused_with_a_sentence(
    service: Client, body: dict[str, str], status: int, message: str
) -> None:
    add(service, "implication", "beach", "sea")
    answer = service.post("/api/rules", json=body)
    assert (answer.status_code, message in answer.json()["error"]) == (status, True)
    assert service.get("/api/rules").json()["version"] == 1


def test_an_unknown_rule_cannot_be_undone(service: Client) -> None:
    assert service.post("/api/rules/undo", json={"rule": 1}).status_code in (404, 503)
    add(service, "alias", "a", "b")
    answer = service.post("/api/rules/undo", json={"rule": 7})
    assert (answer.status_code, answer.json()["error"]) == (404, "unknown rule '7'")


def test_a_service_without_feedback_stores_no_rules(client: Client) -> None:
    for path, body in (("/api/rules", {"kind": "alias", "label": "a", "other": "b"}), ("/api/rules/undo", {"rule": 1})):
        answer = client.post(path, json=body)
        assert answer.status_code == 403
        assert "start it with --feedback" in answer.json()["error"]
    assert client.get("/api/rules").json() == {"rules": [], "version": 0}


def test_the_vocabulary_is_listed_searched_and_paged(client: Client, model: Path) -> None:
    known = Annotator.load(model).known_
    first = client.get("/api/vocabulary", params={"limit": 3}).json()
    assert first["total"] == len(known.labels)
    counts = dict(zip(known.labels, known.images_per_label.tolist(), strict=True))
    ordered = sorted(counts, key=lambda label: (-counts[label], label))
    assert [one["label"] for one in first["labels"]] == ordered[:3]
    assert [one["images"] for one in first["labels"]] == [counts[label] for label in ordered[:3]]
    second = client.get("/api/vocabulary", params={"limit": 2, "offset": 2, "sort": "name"}).json()
    assert [one["label"] for one in second["labels"]] == list(known.labels)[2:4]
    found = client.get("/api/vocabulary", params={"query": "SEA", "limit": 1000}).json()
    assert {one["label"] for one in found["labels"]} == {label for label in known.labels if "sea" in label}
    assert client.get("/api/vocabulary", params={"query": "<script"}).json()["labels"][0]["label"] == STRANGE_LABEL


def test_the_vocabulary_counts_images_under_the_names_in_force(service: Client, model: Path) -> None:
    seas, beaches = set(images_with(model, "sea")), set(images_with(model, "beach"))
    coasts = set(images_with(model, "coast"))
    add(service, "alias", "sea", "beach")
    add(service, "implication", "coast", "beach")
    add(service, "implication", "beach", "place:shore")
    found = {one["label"]: one for one in service.get("/api/vocabulary", params={"limit": 1000}).json()["labels"]}
    assert "sea" not in found
    assert found["beach"]["images"] == len(seas | beaches | coasts)
    assert found["place:shore"] == {
        "label": "place:shore",
        "images": len(seas | beaches | coasts),
        "namespace": "place",
    }
    assert found["coast"]["images"] == len(coasts)


def wait_for(client: Client, path: str, **params: Any) -> Any:
    for _ in range(2_000):
        answer = client.get(path, params=params)
        if answer.status_code != 202:
            return answer.json()
    raise AssertionError("the job does not end")


def test_proposals_come_with_images_and_go_when_they_are_settled(serve: Callable[..., Client], tmp_path: Path) -> None:
    places = {"dalmatian": range(100), "dog": range(3, 390), "Dogs": range(390, 400), "sea": range(400, 1_500)}
    data = Annotations.from_pairs((f"i{n:04}", label) for label, numbers in places.items() for n in numbers)
    Annotator(epochs=1, dimensions=4, validate=False).fit(data).save(tmp_path / "model")
    service = serve(model=tmp_path / "model")
    found = wait_for(service, "/api/rules/proposals")
    assert found == {
        "implications": [
            {
                "label": "dalmatian",
                "implies": "dog",
                "support": 100,
                "confidence": 0.97,
                "exceptions": 3,
                "examples": {
                    "both": ["i0003", "i0004", "i0005", "i0006", "i0007", "i0008"],
                    "exceptions": ["i0000", "i0001", "i0002"],
                },
            }
        ],
        "aliases": [
            {
                "label": "Dogs",
                "other": "dog",
                "evidence": "same word; on 10 and 387 images, 0 in common",
                "examples": {
                    "label": [f"i{n:04}" for n in range(390, 396)],
                    "other": [f"i{n:04}" for n in range(3, 9)],
                },
            }
        ],
        "total_implications": 1,
        "total_aliases": 1,
    }
    add(service, "implication", "dalmatian", "dog")
    add(service, "alias", "Dogs", "dog")
    after = wait_for(service, "/api/rules/proposals")
    assert (after["implications"], after["aliases"], after["total_implications"]) == ([], [], 0)
    service.post("/api/rules/undo", json={"rule": 1})
    assert wait_for(service, "/api/rules/proposals")["total_implications"] == 1
    service.post("/api/rules/undo", json={"rule": 2})

    def proposed() -> tuple[int, int, int]:
        found = wait_for(service, "/api/rules/proposals")
        duplicates = wait_for(service, "/api/audit", kind="duplicates")["findings"]
        pairs = [one for one in duplicates if {one["label"], one["other"]} == {"Dogs", "dog"}]
        return found["total_implications"], found["total_aliases"], len(pairs)

    assert proposed() == (1, 1, 1)
    assert add(service, "rejected", "dog", "Dogs") == {"rule": 3, "changed": 0}
    assert add(service, "rejected", "dog", "Dogs") == {"rule": 3, "changed": 0}  # sent twice
    assert proposed() == (1, 0, 0)
    add(service, "rejected", "dalmatian", "dog")
    assert proposed() == (0, 0, 0)
    listed = service.get("/api/rules").json()["rules"]
    assert [(one["id"], one["kind"], one["exceptions"]) for one in listed] == [(3, "rejected", 0), (4, "rejected", 0)]
    assert service.post("/api/rules/undo", json={"rule": 3}).json() == {"rule": 3, "changed": 0}
    assert proposed() == (0, 1, 1)


def test_a_rejected_rule_changes_no_labels_and_a_later_rule_wins(service: Client, model: Path) -> None:
    before = exported(service)
    add(service, "rejected", "beach", "sea")
    assert exported(service) == before
    lacking = set(images_with(model, "beach")) - set(images_with(model, "sea"))
    assert add(service, "implication", "beach", "sea") == {"rule": 2, "changed": len(lacking)}
    assert [one["kind"] for one in service.get("/api/rules").json()["rules"]] == ["rejected", "implication"]


def exported(client: Client, kind: str = "csv") -> dict[tuple[str, str], str]:
    answer = client.get("/api/export", params={"format": kind})
    assert answer.status_code == 200, answer.text
    assert f'filename="clean.{kind}"' in answer.headers["content-disposition"]
    rows = (
        csv.DictReader(io.StringIO(answer.text, newline=""))
        if kind == "csv"
        else map(json.loads, answer.text.split("\n")[:-1])
    )
    return {(row["image"], row["label"]): row["source"] for row in rows}


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_the_export_has_the_whole_cleaned_data_set(service: Client, model: Path, kind: str) -> None:
    known = Annotator.load(model).known_
    pairs = {(image, label) for image in known.images for label in known.labels_of(image)}
    assert exported(service, kind) == dict.fromkeys(pairs, "data")
    add(service, "alias", "sea", "ocean")
    add(service, "implication", "ocean", "water")
    service.post("/api/feedback", json={"image": "new", "label": "sky", "verdict": "accept"})
    service.post("/api/feedback", json={"image": STRANGE_IMAGE, "label": STRANGE_LABEL, "verdict": "reject"})
    named = {(image, "ocean" if label == "sea" else label) for image, label in pairs} - {(STRANGE_IMAGE, STRANGE_LABEL)}
    expected = dict.fromkeys(((image, "water") for image, label in named if label == "ocean"), "rule")
    expected |= dict.fromkeys(named, "data") | {("new", "sky"): "feedback"}
    assert exported(service, kind) == expected


def test_a_model_of_pairs_has_no_source(service: Client) -> None:
    answer = service.get("/api/export", params={"format": "source"})
    assert (answer.status_code, answer.json()["error"]) == (
        422,
        "the model was not trained from a collection; use format=csv",
    )


def test_a_collection_is_exported_in_its_own_format(serve: Callable[..., Client], tmp_path: Path) -> None:
    folder = tags_folder(tmp_path / "dataset")
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    Annotator(epochs=1, dimensions=4, validate=False).fit(Annotations.read(folder)).save(tmp_path / "model")
    service = serve(model=tmp_path / "model")
    add(service, "alias", "sea", "ocean")
    answer = service.get("/api/export", params={"format": "source"})
    assert answer.headers["content-type"] == "application/zip"
    with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
        files = {name: archive.read(name).decode() for name in archive.namelist()}
    changed = {str(path.relative_to(folder)) for path, content in before.items() if b"sea" in content}
    assert set(files) == changed
    assert all("ocean" in text and "sea" not in text.replace("seaside", "") for text in files.values())
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


def test_findings_of_the_audit_have_the_names_in_force(service: Client) -> None:
    wrong = wait_for(service, "/api/audit", kind="wrong")["findings"][0]
    missing = wait_for(service, "/api/audit", kind="missing")
    first = missing["findings"][0]
    add(service, "rename", wrong["label"], "a new name")
    renamed = service.get("/api/audit", params={"kind": "wrong"}).json()
    assert (renamed["findings"][0]["image"], renamed["findings"][0]["label"]) == (wrong["image"], "a new name")
    service.post("/api/feedback", json={"image": wrong["image"], "label": "a new name", "verdict": "reject"})
    assert service.get("/api/audit", params={"kind": "wrong"}).json()["total"] == renamed["total"] - 1
    has = next(iter(labels_of(service, first["image"])))
    add(service, "implication", has, first["label"])
    after = service.get("/api/audit", params={"kind": "missing"}).json()
    assert (first["image"], first["label"]) not in [(one["image"], one["label"]) for one in after["findings"]]


def trained_from(source: Path, path: Path, kind: str) -> Path:
    data = Annotations.read(source, format=kind)
    Annotator(epochs=1, dimensions=4, validate=False).fit(data).save(path)
    return path


WRITTEN = ("coco", "voc", "cvat", "label-studio", "label-studio-min", "imagefolder", "imagefolder-csv")


@pytest.mark.parametrize("case", WRITTEN)
def test_every_format_that_is_written_is_exported(serve: Callable[..., Client], tmp_path: Path, case: str) -> None:
    kind, make, _ = CASES[case]
    (tmp_path / "source").mkdir()
    source = make(tmp_path / "source")
    service = serve(model=trained_from(source, tmp_path / "model", kind))
    before = Annotations.read(source, format=kind)
    label = before.labels.id(int(before.indices[0]))
    card = service.get("/api/model").json()
    assert (card["source_format"], card["source_problem"]) == (kind, None)
    refused = service.get("/api/export", params={"format": "source"})
    assert (refused.status_code, refused.json()["error"]) == (422, "no file of the collection changes")
    add(service, "rename", label, "entirely new")
    answer = service.get("/api/export", params={"format": "source"})
    assert answer.status_code == 200, answer.text
    folder = source if source.is_dir() else source.parent
    with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
        assert archive.namelist()
        assert all((folder / name).is_file() for name in archive.namelist())
        archive.extractall(folder)
    renamed = {(image, "entirely new" if one == label else one) for image, one in pairs_of(before)}
    assert pairs_of(Annotations.read(source, format=kind)) == renamed


@pytest.mark.parametrize("case", ["yolo-names", "lightroom", "digikam"])
def test_a_format_that_is_only_read_is_named(serve: Callable[..., Client], tmp_path: Path, case: str) -> None:
    kind, make, _ = CASES[case]
    (tmp_path / "source").mkdir()
    source = make(tmp_path / "source")
    service = serve(model=trained_from(source, tmp_path / "model", kind))
    problem = f"{source} is {kind}, which is only read"
    card = service.get("/api/model").json()
    assert (card["source_format"], card["source_problem"]) == (None, problem)
    answer = service.get("/api/export", params={"format": "source"})
    assert (answer.status_code, answer.json()["error"]) == (422, f"{problem}; use format=csv")


def test_a_collection_that_is_gone_is_named(serve: Callable[..., Client], tmp_path: Path) -> None:
    (tmp_path / "source").mkdir()
    source = CASES["coco"][1](tmp_path / "source")
    model = trained_from(source, tmp_path / "model", "coco")
    shutil.rmtree(tmp_path / "source")
    service = serve(model=model)
    assert service.get("/api/model").json()["source_problem"] == f"the collection {source} is not on this machine"


def named(path: Path, root: str, kind: str) -> Path:
    """Save a model that says that its pictures are elsewhere."""
    data = Annotations.from_pairs([(f"{number}.jpg", f"label {number % 3}") for number in range(12)])
    data = replace(data, pictures=Pictures(root, kind, {}, ""))
    Annotator(epochs=1, dimensions=4, validate=False).fit(data).save(path)
    return path


def test_a_model_that_names_an_unknown_format_is_served(serve: Callable[..., Client], tmp_path: Path) -> None:
    service = serve(model=named(tmp_path / "model", str(tmp_path), "no such format"))
    answer = service.get("/api/model")
    assert answer.status_code == 200
    assert "format must be one of" in answer.json()["source_problem"]
    answer = service.get("/api/export", params={"format": "source"})
    assert answer.status_code == 422
    assert answer.json()["error"].endswith("'no such format'; use format=csv")


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs the file system of Linux")
@pytest.mark.parametrize("kind", ["photos", "txt-tags", "imagefolder"])
def test_a_model_that_names_the_files_of_the_system_is_answered_at_once(
    serve: Callable[..., Client], tmp_path: Path, kind: str
) -> None:
    service = serve(model=named(tmp_path / "model", "/proc", kind))
    started = time.monotonic()
    assert service.get("/api/model").status_code == 200
    assert service.get("/api/export", params={"format": "source"}).status_code in (422, 503)
    assert time.monotonic() - started < 2


@pytest.mark.parametrize(
    ("images", "allowed"), [(None, False), ("else", False), ("source", True), ("source/instances.json", True)]
)
def test_other_machines_get_only_a_collection_that_was_named(
    serve: Callable[..., Client], tmp_path: Path, images: str | None, allowed: bool
) -> None:
    for name in ("source", "else"):
        (tmp_path / name).mkdir()
    source = CASES["coco"][1](tmp_path / "source")
    given = None if images is None else str(tmp_path / images)
    model = trained_from(source, tmp_path / "model", "coco")
    service = serve(model=model, host="0.0.0.0", keys=(Key("x" * 16),), images=given)
    service.http.headers["Authorization"] = f"Bearer {'x' * 16}"
    label = Annotator.load(model).known_.labels.id(0)
    add(service, "rename", label, "entirely new")
    reason = "other machines can reach this service, and --images does not name the collection"
    card = service.get("/api/model").json()
    assert (card["source_format"], card["source_problem"]) == (("coco", None) if allowed else (None, reason))
    answer = service.get("/api/export", params={"format": "source"})
    assert answer.status_code == (200 if allowed else 422)
    if not allowed:
        assert answer.json()["error"] == f"{reason}; use format=csv"


def pairs_of(data: Annotations) -> set[tuple[str, str]]:
    return {(image, label) for image in data.images for label in data.labels_of(image)}
