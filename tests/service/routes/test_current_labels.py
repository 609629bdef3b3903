"""Every route that shows labels of images shows those of now: after verdicts, under the names in force.

One service has verdicts on an image and rules. Each route of the OpenAPI document is listed here, with the test of what
it shows, or with the reason why it shows no labels of an image.
"""

from __future__ import annotations

import csv
import io
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

import pytest

from tests.support.service_in_process import Client
from vse_ens.annotator import Annotator
from vse_ens.service.settings import Settings

IMAGE = "img_0000001"
CONFIG = """<View><Image name="image" value="$image"/><Choices name="labels" toName="image" choice="multiple"
model_score_threshold="0">{}</Choices></View>"""


@dataclass(frozen=True)
class Story:
    """What was said about `IMAGE`: one of its labels and a suggestion were rejected, another suggestion accepted.

    Rules renamed one of its labels and a third suggestion, and the accepted label implies another.
    """

    client: Client
    known: list[str]
    """The labels of the image now."""
    removed: str
    refused: str
    accepted: str
    renamed: str
    """A label of the image that has the name "renamed label" now."""
    renamed_suggestion: str
    """A suggestion that has the name "renamed suggestion" now."""
    best: str
    """The first suggestion that no one has judged or renamed."""
    other: str
    """An image on which there is no verdict."""

    def check_suggestions(self, suggested: list[str]) -> None:
        assert {"renamed suggestion", self.best} <= set(suggested)
        gone = {self.removed, self.refused, self.accepted, self.renamed, self.renamed_suggestion, *self.known}
        assert not gone & set(suggested)
        assert len(suggested) == len(set(suggested))

    def check_image(self, found: Any) -> None:
        """Check an image with its labels in a list of images."""
        [labels] = [one["labels"] for one in found if one["image"] == IMAGE]
        assert labels == self.known

    def check_state(self, state: Any) -> None:
        assert [one["label"] for one in state["labels"]] == self.known
        assert {one["label"] for one in state["rejected"]} == {self.removed, self.refused}
        self.check_suggestions([one["label"] for one in state["suggestions"]])
        reasons = {label for one in state["suggestions"] for reason in one["because"] for label in reason["labels"]}
        assert self.accepted in reasons
        assert reasons <= set(self.known)

    def get(self, path: str, **params: Any) -> Any:
        answer = self.client.get(path, params=params)
        while answer.status_code == 202:
            time.sleep(0.05)
            answer = self.client.get(path, params=params)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def post(self, path: str, body: Any) -> Any:
        answer = self.client.post(path, json=body)
        assert answer.status_code in (200, 201), answer.text
        return answer.json()


@pytest.fixture(scope="module")
def story(model: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Story]:
    annotator = Annotator.load(model)
    labels = annotator.known_labels(IMAGE)
    refused, accepted = (one.label for one in annotator.annotate(IMAGE, top=2))
    number, now = annotator.known_.images.numbers([IMAGE]), [*labels[1:], accepted]
    [suggested] = annotator.annotate_numbers(number, [now], top=2, deny=[labels[0], refused])
    renamed, best = (one.label for one in suggested)
    settings = Settings(model=model, feedback=tmp_path_factory.mktemp("story") / "model.feedback.sqlite")
    with closing(Client(settings)) as client:
        made = Story(
            client,
            ["renamed label", *labels[2:], accepted, "implied label"],
            *(labels[0], refused, accepted, labels[1], renamed, best, "img_0000002"),
        )
        for label, verdict in ((labels[0], "reject"), (refused, "reject"), (accepted, "accept")):
            made.post("/api/feedback", {"image": IMAGE, "label": label, "verdict": verdict})
        for kind, label, other in (
            ("rename", labels[1], "renamed label"),
            ("rename", renamed, "renamed suggestion"),
            ("implication", accepted, "implied label"),
        ):
            made.post("/api/rules", {"kind": kind, "label": label, "other": other})
        yield made


def annotate(story: Story) -> None:
    alone = story.post("/api/annotate", {"images": [IMAGE], "top": 12, "explain": True})["results"]
    assert (alone[0]["image"], alone[0]["labels"]) == (IMAGE, story.known)
    story.check_suggestions([one["label"] for one in alone[0]["suggestions"]])
    reasons = {label for one in alone[0]["suggestions"] for reason in one["because"] for label in reason["labels"]}
    assert reasons <= set(story.known)
    several = story.post("/api/annotate", {"images": [story.other, IMAGE], "top": 12, "explain": True})["results"]
    assert several[1:] == alone
    given = story.post("/api/annotate", {"labels": [["renamed label", story.accepted]], "top": 100})["results"][0]
    assert given["labels"] == ["renamed label", story.accepted, "implied label"]
    suggested = {one["label"] for one in given["suggestions"]}
    assert "renamed suggestion" in suggested
    assert not {story.renamed, story.renamed_suggestion, *given["labels"]} & suggested
    body = {"images": [story.other], "top": 100, "deny": ["renamed suggestion"]}
    suggested = {one["label"] for one in story.post("/api/annotate", body)["results"][0]["suggestions"]}
    assert not {"renamed suggestion", story.renamed_suggestion} & suggested


def search(story: Story) -> None:
    story.check_image(story.post("/api/search", {"labels": story.known[1:3], "tagged": True, "top": 100})["images"])
    for label in (story.refused, story.accepted, story.removed):
        found = story.post("/api/search", {"labels": [label], "top": 100})["images"]
        assert IMAGE not in [one["image"] for one in found]
    found = story.post("/api/search", {"labels": [story.known[1], f"-{story.accepted}"], "tagged": True, "top": 100})
    assert IMAGE not in [one["image"] for one in found["images"]]


def similar_images(story: Story) -> None:
    neighbor = story.get("/api/similar/images", image=IMAGE, top=1)["similar"][0]["image"]
    story.check_image(story.get("/api/similar/images", image=neighbor, top=100)["similar"])


def similar_labels(story: Story) -> None:
    found = {one["label"] for one in story.get("/api/similar/labels", label="renamed label", top=100)["similar"]}
    near = story.get("/api/similar/labels", label="renamed suggestion", top=1)["similar"][0]["label"]
    more = {one["label"] for one in story.get("/api/similar/labels", label=near, top=100)["similar"]}
    assert not {"renamed label", story.renamed, story.renamed_suggestion} & found
    assert {"renamed suggestion", "renamed label"} & more
    assert not {story.renamed, story.renamed_suggestion} & more


def explain(story: Story) -> None:
    answer = story.post("/api/explain", {"image": IMAGE, "label": "renamed suggestion"})
    reasons = {label for reason in answer["because"] for label in reason["labels"]}
    assert {story.accepted, "renamed label"} <= reasons <= set(story.known)
    assert story.post("/api/explain", {"image": IMAGE, "label": story.accepted})["left_out"]
    assert not story.post("/api/explain", {"image": IMAGE, "label": story.removed})["left_out"]


def grid(story: Story) -> None:
    story.check_image(story.get("/api/grid", label=story.best, limit=500)["images"])
    for label in (story.accepted, story.refused, story.removed):
        for kind in ("missing", "wrong"):
            found = story.get("/api/grid", label=label, kind=kind, limit=500)["images"]
            assert IMAGE not in [one["image"] for one in found]
    rule = story.post("/api/rules", {"kind": "implication", "label": story.accepted, "other": story.best})["rule"]
    found = story.get("/api/grid", label=story.best, limit=500)["images"]
    assert IMAGE not in [one["image"] for one in found]  # has it by a rule
    story.post("/api/rules/undo", {"rule": rule})


def queue(story: Story) -> None:
    found = story.get("/api/queue", limit=100, top=12)
    assert IMAGE not in [one["image"] for one in found["images"]]
    assert found["done"] == 1
    first = found["state"]["suggestions"][0]["label"]
    rule = story.post("/api/rules", {"kind": "rename", "label": first, "other": "queued name"})["rule"]
    again = story.get("/api/queue", limit=1, top=12)["state"]
    assert again["suggestions"][0]["label"] == "queued name"
    story.post("/api/rules/undo", {"rule": rule})


def complete(story: Story) -> None:
    def completed(text: str) -> list[str]:
        return [one["label"] for one in story.get("/api/complete", text=text, image=IMAGE, limit=100)["labels"]]

    assert not set(story.known) & set(completed(""))
    assert story.accepted not in completed(story.accepted)
    assert completed(story.removed)[0] == story.removed  # a person may give it again
    assert completed("renamed s") == ["renamed suggestion"]
    assert "renamed suggestion" in completed(story.renamed_suggestion)
    assert story.renamed_suggestion not in completed(story.renamed_suggestion)


def label_images(story: Story) -> None:
    for label in (story.accepted, "implied label", "renamed label", story.known[1]):
        story.check_image(story.get("/api/label/images", label=label, limit=200)["images"])
    for label in (story.removed, story.refused):
        found = story.get("/api/label/images", label=label, limit=200)
        assert IMAGE not in [one["image"] for one in found["images"]]
        assert found["total"] == len(found["images"])
    story.check_image(
        story.get("/api/label/images", label=story.known[1], also=story.accepted, without=story.removed)["images"]
    )


def image(story: Story) -> None:
    story.check_state(story.get("/api/image", id=IMAGE))


def feedback(story: Story) -> None:
    body = {"image": IMAGE, "label": story.refused, "verdict": "reject"}
    story.check_state(story.post("/api/feedback", body)["state"])  # is in force already


def undo(story: Story) -> None:
    event = story.post("/api/feedback", {"image": IMAGE, "label": "zeppelin", "verdict": "accept"})["event"]
    story.check_state(story.post("/api/feedback/undo", {"event": event})["state"])


def together(story: Story) -> None:
    answer = story.post("/api/together", {"images": [IMAGE], "top": 12})
    assert [one["label"] for one in answer["labels"]] == story.known
    story.check_suggestions([one["label"] for one in answer["suggestions"]])


def audit(story: Story) -> None:
    def findings(kind: str) -> list[tuple[str, str]]:
        return [(one["image"], one["label"]) for one in story.get("/api/audit", kind=kind, limit=200)["findings"]]

    for kind in ("missing", "wrong"):
        assert not [
            label for image, label in findings(kind) if image == IMAGE and label in (story.removed, story.accepted)
        ]
        image, label = findings(kind)[0]
        rule = story.post("/api/rules", {"kind": "rename", "label": label, "other": "audited name"})["rule"]
        assert (image, "audited name") in findings(kind)
        assert (image, label) not in findings(kind)
        event = story.post("/api/feedback", {"image": image, "label": "audited name", "verdict": "accept"})["event"]
        assert (image, "audited name") not in findings(kind)
        story.post("/api/feedback/undo", {"event": event})
        story.post("/api/rules/undo", {"rule": rule})
        assert (image, label) in findings(kind)
    image, label = findings("missing")[0]
    has = story.get("/api/image", id=image)["labels"][0]["label"]
    rule = story.post("/api/rules", {"kind": "implication", "label": has, "other": label})["rule"]
    assert (image, label) not in findings("missing")
    story.post("/api/rules/undo", {"rule": rule})


def labels(story: Story) -> None:
    def listed(prefix: str) -> list[str]:
        return [one["label"] for one in story.get("/api/labels", prefix=prefix)["labels"]]

    assert set(listed("renamed")) == {"renamed label", "renamed suggestion"}
    assert story.renamed not in listed(story.renamed)


def vocabulary(story: Story) -> None:
    names = {one["label"] for one in story.get("/api/vocabulary", limit=1000)["labels"]}
    assert {"renamed label", "renamed suggestion", "implied label"} <= names
    assert not {story.renamed, story.renamed_suggestion} & names


def export(story: Story) -> None:
    rows = csv.reader(io.StringIO(story.client.get("/api/export").text))
    sources = {label: source for image, label, source in rows if image == IMAGE}
    assert sources.keys() == set(story.known)
    assert (sources[story.accepted], sources["implied label"], sources["renamed label"]) == ("feedback", "rule", "data")


def predict(story: Story) -> None:
    def selected(*choices: str) -> Any:
        config = CONFIG.format("".join(f"<Choice value={quoteattr(choice)}/>" for choice in choices))
        body = {"tasks": [{"id": 1, "data": {"image": IMAGE}}], "label_config": config}
        [result] = story.post("/predict", body)["results"][0]["result"]
        return result

    names = selected(*story.known, story.removed, story.refused, "renamed suggestion", story.best)
    assert names["value"]["choices"][: len(story.known)] == names["meta"]["known"] == story.known
    assert names["meta"]["suggested"].keys() == {"renamed suggestion", story.best}
    # An interface of before the rules: its choices stand for the names in force.
    before = selected(story.renamed, story.renamed_suggestion, story.removed, story.refused)
    assert before["value"]["choices"] == [story.renamed, story.renamed_suggestion]
    assert before["meta"]["known"] == ["renamed label"]
    assert before["meta"]["suggested"].keys() == {"renamed suggestion"}
    both = selected("renamed suggestion", story.renamed_suggestion)
    assert both["value"]["choices"] == ["renamed suggestion"]


SHOWING: dict[str, Callable[[Story], None]] = {
    "POST /api/annotate": annotate,
    "POST /api/search": search,
    "GET /api/similar/images": similar_images,
    "GET /api/similar/labels": similar_labels,
    "POST /api/explain": explain,
    "GET /api/grid": grid,
    "GET /api/queue": queue,
    "GET /api/complete": complete,
    "GET /api/label/images": label_images,
    "GET /api/image": image,
    "POST /api/together": together,
    "POST /api/feedback": feedback,
    "POST /api/feedback/undo": undo,
    "GET /api/audit": audit,
    "GET /api/labels": labels,
    "GET /api/vocabulary": vocabulary,
    "GET /api/export": export,
    "POST /predict": predict,
}
OTHERS = {
    "GET /api/images": "lists IDs",
    "GET /api/picture": "shows a picture",
    "GET /api/model": "describes the model",
    "POST /api/completeness": "describes the confidences of the model",
    "GET /api/feedback": "lists events as they were sent",
    "GET /api/feedback/pairs": "lists accepted pairs as they were sent",
    "POST /api/feedback/batch": "counts",
    "GET /api/rules": "lists rules as they were made",
    "POST /api/rules": "counts",
    "POST /api/rules/undo": "counts",
    "GET /api/rules/proposals": "proposes rules for the labels of the data",
    "POST /api/reload": "names the model",
    "POST /setup": "names the model",
    "POST /webhook": "counts",
    "GET /health": "operations",
    "GET /ready": "operations",
    "GET /metrics": "operations",
}


def test_every_route_is_listed(story: Story) -> None:
    paths = story.get("/openapi.json")["paths"]
    routes = {f"{method.upper()} {path}" for path, methods in paths.items() for method in methods}
    assert routes == SHOWING.keys() | OTHERS.keys()


@pytest.mark.unhurried
@pytest.mark.parametrize("route", SHOWING)
def test_a_route_shows_labels_of_now(story: Story, route: str) -> None:
    SHOWING[route](story)
