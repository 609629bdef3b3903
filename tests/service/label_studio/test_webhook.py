"""Webhooks without a service: what they say, and what is stored."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from vse_ens.data.annotations import Annotations
from vse_ens.data.current_labels import CurrentLabels
from vse_ens.data.feedback.verdicts import Feedback
from vse_ens.data.rules.store import NewRule, RulesFile
from vse_ens.errors import ConfigError
from vse_ens.service.label_studio import webhook
from vse_ens.service.label_studio.webhook import parse_webhook, store_annotations
from vse_ens.service.settings import MAX_ID_LENGTH

KNOWN = CurrentLabels(Annotations.from_pairs([("a.jpg", "fog"), ("b.jpg", "sea"), ("b.jpg", "sand")]))
CONFIG = (
    '<View><Image name="i" value="$image"/><Choices name="c" toName="i" choice="multiple">'
    '<Choice value="fog"/><Choice value="sand"/><Choice value="sea"/></Choices></View>'
)


def annotation(number: int = 1, labels: tuple[str, ...] = ("sea",), **more: Any) -> dict[str, Any]:
    result = {"from_name": "c", "to_name": "i", "type": "choices", "value": {"choices": list(labels)}}
    return {"id": number, "result": [result], **more}


def payload(*annotations: dict[str, Any], image: str = "a.jpg") -> dict[str, Any]:
    return {
        "project": {"id": 7, "label_config": CONFIG},
        "annotations": list(annotations),
        "task": {"id": 1, "data": {"image": image}},
    }


def parsed(*annotations: dict[str, Any], image: str = "a.jpg") -> list[webhook.Annotation]:
    return parse_webhook(KNOWN, "ANNOTATION_CREATED", payload(*annotations, image=image))


@pytest.fixture
def feedback(tmp_path: Path) -> Iterator[Feedback]:
    opened = Feedback(tmp_path / "f.sqlite")
    yield opened
    opened.close()


def test_a_webhook_may_have_exactly_the_limit_of_annotations(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webhook, "MAX_EVENTS", 2)
    deleted = [{"id": number} for number in range(3)]
    assert len(parse_webhook(KNOWN, "ANNOTATIONS_DELETED", payload(*deleted[:2]))) == 2
    with pytest.raises(ConfigError, match="more than 2 labels, so nothing was stored"):
        parse_webhook(KNOWN, "ANNOTATIONS_DELETED", payload(*deleted))


def test_the_labels_of_all_annotations_count_against_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webhook, "MAX_EVENTS", 4)
    two = ("sea", "sand")
    assert [set(one.labels) for one in parsed(annotation(1, two), annotation(2, two))] == [{"sea", "sand"}] * 2
    with pytest.raises(ConfigError, match="more than 4 labels, so nothing was stored"):
        parsed(annotation(1, two), annotation(2, two), annotation(3))


def test_only_numbers_from_0_to_1_are_confidences() -> None:
    given: dict[str, Any] = {"sea": 1, "sand": 0.0, "fog": "0.5"}
    one = annotation(labels=("sea", "sand", "fog"), prediction={"result": [{"meta": {"suggested": given}}]})
    assert parsed(one)[0].labels == {"sea": 1.0, "sand": 0.0, "fog": None}
    given |= {"sea": None, "sand": 1.1, "fog": -0.1}
    assert parsed(one)[0].labels == {"sea": None, "sand": None, "fog": None}


@pytest.mark.parametrize("shown", ["sea", "ocean"])
def test_a_confidence_is_kept_under_another_name(tmp_path: Path, shown: str) -> None:
    """The prediction was made before the rule or after it; the choice has the old name."""
    rules = RulesFile(tmp_path / "rules.jsonl")
    rules.add([NewRule("rename", "sea", "ocean")], by="anna")
    current = CurrentLabels(KNOWN.known, rules=rules)
    one = annotation(labels=("sea", "sand"), prediction={"result": [{"meta": {"suggested": {shown: 0.5}}}]})
    [found] = parse_webhook(current, "ANNOTATION_CREATED", payload(one))
    assert found.labels == {"sea": 0.5, "sand": None}


@pytest.mark.parametrize(
    ("who", "by"),
    [
        ({"completed_by": {"id": 7, "email": "anna@example.org"}}, "anna@example.org"),
        ({"completed_by": {"id": 7, "email": ""}}, "7"),
        ({"completed_by": {"id": 7}}, "7"),
        ({"completed_by": 8, "updated_by": 9}, "9"),
        ({"completed_by": 8, "updated_by": " "}, "8"),
        ({}, "label-studio"),
    ],
)
def test_the_person_is_known_by_address_or_number(who: dict[str, Any], by: str) -> None:
    assert parsed(annotation(**who))[0].by == by


def test_an_annotation_takes_its_labels_to_another_image(feedback: Feedback) -> None:
    store_annotations(feedback, "m", parsed(annotation()))
    stored = store_annotations(feedback, "m", parsed(annotation(), image="b.jpg"))
    assert (len(stored["accepted"]), len(stored["undone"])) == (1, 1)
    assert [(event.image, event.label) for event in feedback.pairs()] == [("b.jpg", "sea")]


def test_only_paths_of_text_are_choices() -> None:
    given: list[Any] = [[1, "sea"], ["sea", 1], [], None, " ", ["sand"], "fog"]
    assert parsed(annotation(labels=tuple(given)))[0].labels.keys() == {"sand", "fog"}


def test_a_chosen_label_has_the_length_of_an_id() -> None:
    longest = "x" * MAX_ID_LENGTH
    assert parsed(annotation(labels=(longest,)))[0].labels.keys() == {longest}
    with pytest.raises(ConfigError, match="annotation 1 chooses a label longer than 1,000 characters"):
        parsed(annotation(labels=(f"{longest}x",)))
