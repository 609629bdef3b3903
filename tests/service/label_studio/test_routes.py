from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.support.service_in_process import Client
from vse_ens.data.vocabulary import Vocabulary
from vse_ens.service.keys import Key
from vse_ens.service.label_studio.config import controls
from vse_ens.service.label_studio.tasks import image_of
from vse_ens.service.label_studio.webhook import MAX_EVENTS

IMAGE = "img_0000001"
CREATED_AT = 1_700_000_000


def interface(choices: Sequence[str], tag: str = 'Choices choice="multiple" model_score_threshold="0"') -> str:
    kind = tag.split()[0]
    listed = "".join(f'<Choice value="{one}"/>' for one in choices)
    return f'<View><Image name="photo" value="$image"/><{tag} name="labels" toName="photo">{listed}</{kind}></View>'


@pytest.fixture
def studio(serve: Callable[..., Client]) -> Callable[..., Client]:
    return serve


def predict(client: Client, config: str, *tasks: dict[str, Any]) -> list[dict[str, Any]]:
    """As Label Studio asks: see `make_predictions` of its `ml/api_connector.py`."""
    answer = client.post(
        "/predict",
        json={
            "tasks": [{"id": number, "project": 1, **task} for number, task in enumerate(tasks)],
            "model_version": "",
            "project": f"1.{CREATED_AT}",
            "label_config": config,
            "params": {"login": None, "password": None, "context": None},
        },
    )
    assert answer.status_code == 200, answer.text
    results: list[dict[str, Any]] = answer.json()["results"]
    return results


def task(image: str, **more: Any) -> dict[str, Any]:
    return {"data": {"image": image}, **more}


def suggested(client: Client, top: int = 40) -> list[str]:
    answer = client.post("/api/annotate", json={"images": [IMAGE], "top": top}).json()
    return [one["label"] for one in answer["results"][0]["suggestions"]]


def labels_of(client: Client, image: str = IMAGE) -> list[str]:
    labels: list[str] = client.service.models.loaded.annotator.known_labels(image)  # type: ignore[union-attr]
    return [label for label in labels if "<" not in label]


# --- connecting -----------------------------------------------------------------------------------------------------


def test_a_project_is_connected(studio: Callable[..., Client]) -> None:
    client = studio()
    assert client.get("/health").json() == {"status": "UP", "model_class": "vse-ens"}
    answer = client.post(
        "/setup",
        json={
            "project": f"1.{CREATED_AT}",
            "schema": interface(["sea"]),
            "hostname": "http://localhost:8080",
            "access_token": "secret",
            "extra_params": None,
        },
    )
    fingerprint = client.get("/ready").json()["model"]
    assert (answer.status_code, answer.json()) == (200, {"model_version": f"vse-ens {fingerprint}"})
    assert client.post("/setup", json={"project": "1.2", "schema": ""}).status_code == 200
    assert client.post("/setup", json={"schema": "<View"}).status_code == 422


def test_the_key_may_come_as_a_password(studio: Callable[..., Client]) -> None:
    client = studio(keys=(Key("a-key-nobody-guesses"),))
    body = {"project": "1.2", "schema": "<View/>"}
    basic = base64.b64encode(b"anyone:a-key-nobody-guesses").decode()
    assert client.post("/setup", json=body).status_code == 401
    assert client.post("/setup", json=body, headers={"Authorization": f"Basic {basic}"}).status_code == 200
    bearer = {"Authorization": "Bearer a-key-nobody-guesses"}
    assert client.post("/webhook", json={"action": "PROJECT_UPDATED"}, headers=bearer).status_code == 200


# --- predicting -----------------------------------------------------------------------------------------------------


def test_labels_an_image_has_or_likely_lacks_are_selected(studio: Callable[..., Client]) -> None:
    client = studio()
    had, best = labels_of(client)[:2], suggested(client)
    offered = [*best[3:20], *had, "a label the model has never seen"]
    [prediction] = predict(client, interface(offered), task(IMAGE))
    [result] = prediction["result"]
    assert {name: result[name] for name in ("from_name", "to_name", "type")} == {
        "from_name": "labels",
        "to_name": "photo",
        "type": "choices",
    }
    assert result["value"] == {"choices": [*had, *best[3:8]]}  # in the order of the model, among what is offered
    assert result["meta"]["known"] == had
    assert list(result["meta"]["suggested"]) == best[3:8]
    confidences = list(result["meta"]["suggested"].values())
    assert prediction["score"] == pytest.approx((2 + sum(confidences)) / 7)
    assert prediction["model_version"] == client.post("/setup", json={}).json()["model_version"]


def test_one_of_several_is_ticked_where_one_may_be_chosen(studio: Callable[..., Client]) -> None:
    client = studio()
    had, best = labels_of(client), suggested(client)
    [asked, known] = [
        predict(client, interface(offered, "Choices"), task(IMAGE))[0]["result"][0]["value"]["choices"]
        for offered in (best[2:6], [*best[2:6], had[0]])
    ]
    assert asked == [best[2]]
    assert known == [had[0]]  # it has one of them: nothing is missing


def test_a_taxonomy_is_ticked_by_paths(studio: Callable[..., Client]) -> None:
    client = studio()
    best = suggested(client)
    config = f"""<View><Image name="photo" value="$image"/><Taxonomy name="tree" toName="photo" maxUsages="2"
        model_score_threshold="0">
        <Choice value="places"><Choice value="{best[1]}"/>
        <Choice value="deep"><Choice value="{best[4]}"/></Choice></Choice>
        <Choice value="{best[7]}"/></Taxonomy></View>"""
    [result] = predict(client, config, task(IMAGE))[0]["result"]
    assert result["type"] == "taxonomy"
    assert result["value"] == {"taxonomy": [["places", best[1]], ["places", "deep", best[4]]]}


def test_every_tag_of_an_interface_is_ticked(studio: Callable[..., Client]) -> None:
    client = studio()
    best = suggested(client)
    config = interface(best[:2]).replace("</View>", f'<Choices name="more" toName="photo"><Choice value="{best[3]}"/>')
    [prediction] = predict(client, config + "</Choices></View>", task(IMAGE))
    assert [result["from_name"] for result in prediction["result"]] == ["labels", "more"]


def test_only_sure_suggestions_are_ticked(studio: Callable[..., Client]) -> None:
    client = studio()
    found = client.post("/api/annotate", json={"images": [IMAGE], "top": 5}).json()["results"][0]["suggestions"]
    confidences = {one["label"]: one["confidence"] for one in found}
    for least, said in ((0.0, "0"), (0.3, "0.3"), (1.0, "7"), (0.2, None)):
        tag = f'Choices choice="multiple" model_score_threshold="{said}"' if said else 'Choices choice="multiple"'
        [prediction] = predict(client, interface(list(confidences), tag), task(IMAGE))
        ticked = [label for result in prediction["result"] for label in result["value"]["choices"]]
        assert ticked == [label for label, sure in confidences.items() if sure >= least]


def test_two_choices_need_a_confidence_and_one_does_not(studio: Callable[..., Client]) -> None:
    client = studio()
    unlikely = suggested(client)[-2:]
    for limit, count in ((1, 1), (2, 0)):
        config = interface(unlikely, f'Taxonomy maxUsages="{limit}"')
        [prediction] = predict(client, config, task(IMAGE))
        assert sum(len(one["value"]["taxonomy"]) for one in prediction["result"]) == count


def test_verdicts_change_predictions(studio: Callable[..., Client]) -> None:
    client = studio()
    best, had = suggested(client), labels_of(client)
    for label, verdict in ((best[0], "reject"), (had[0], "reject"), (best[1], "accept")):
        body = {"image": IMAGE, "label": label, "verdict": verdict}
        assert client.post("/api/feedback", json=body).status_code == 200
    [prediction] = predict(client, interface([*best[:30], had[0]]), task(IMAGE))
    ticked = prediction["result"][0]["value"]["choices"]
    assert best[0] not in ticked
    assert had[0] not in ticked
    assert ticked[0] == best[1]
    assert prediction["result"][0]["meta"]["known"] == [best[1]]
    assert len(ticked) == 6


def test_an_unknown_image_is_known_by_the_labels_of_its_task(studio: Callable[..., Client]) -> None:
    client = studio()
    [hint] = labels_of(client)[:1]
    offered = [hint, *suggested(client)[:10]]
    annotation = {
        "id": 5,
        "result": [{"from_name": "labels", "to_name": "photo", "type": "choices", "value": {"choices": [hint]}}],
    }
    by_data, by_annotation, skipped, unknown = predict(
        client,
        interface(offered),
        {"data": {"image": "new.jpg", "labels": [hint, 7, None]}},
        task("new.jpg", annotations=[annotation]),
        task("new.jpg", annotations=[annotation | {"was_cancelled": True}]),
        task("new.jpg"),
    )
    assert by_data["result"][0]["value"]["choices"][0] == hint
    assert len(by_data["result"][0]["value"]["choices"]) == 6
    assert by_annotation == by_data
    for empty in (skipped, unknown):
        assert empty == {"result": [], "score": None, "model_version": by_data["model_version"]}


def test_every_label_of_the_model_can_be_selected(studio: Callable[..., Client]) -> None:
    client = studio()
    known = client.service.models.loaded.annotator.known_  # type: ignore[union-attr]
    for label in (known.labels.id(0), known.labels.id(len(known.labels) - 1)):
        image = next(one for one in known.images if one.startswith("img_") and label not in known.labels_of(one))
        config = interface([label.replace("&", "&amp;").replace("<", "&lt;"), "unheard of"])
        [found] = predict(client, config, task(f"{image}.jpg"))
        assert list(found["result"][0]["meta"]["suggested"]) == [label]


def test_tasks_that_are_about_nothing_are_answered_with_nothing(studio: Callable[..., Client]) -> None:
    client = studio()
    tasks: list[dict[str, Any]] = [
        {},
        {"data": None},
        {"data": []},
        {"data": {}},
        {"data": {"image": None}},
        {"data": {"image": ["a", "b"]}},
        {"data": {"image": " "}},
        {"data": {"image": "http://["}},
        {"data": {"image": "/" * 5_000}},
        {"data": {"image": "x", "labels": "sea"}, "annotations": "none"},
        {"data": {"image": "x"}, "annotations": [None, {}, {"result": [None, {"from_name": "labels", "value": 3}]}]},
    ]
    predictions = predict(client, interface(["sea"]), *tasks)
    assert [one["result"] for one in predictions] == [[]] * len(tasks)
    assert predict(client, "<View></View>", task(IMAGE))[0]["result"] == []
    assert predict(client, interface(["unheard of"]), task(IMAGE))[0]["result"] == []
    assert predict(client, interface([]), task(IMAGE))[0]["result"] == []
    assert predict(client, interface(["sea"])) == []


def test_a_model_without_context_and_confidences_predicts_too(studio: Callable[..., Client], other_model: Path) -> None:
    client = studio(model=other_model)
    best = suggested(client)
    client.post("/api/feedback", json={"image": IMAGE, "label": best[0], "verdict": "reject"})
    [prediction] = predict(client, interface(best[:4], 'Choices choice="multiple"'), task(IMAGE))
    assert sorted(prediction["result"][0]["value"]["choices"]) == sorted(best[1:4])
    assert prediction["score"] is None


@pytest.mark.parametrize(
    "value",
    [
        "img_17",
        "img_17.jpg",
        "/data/upload/1/9f8e7d6c-img_17.jpg",
        "/data/local-files/?d=photos/2020/img_17.png",
        "s3://bucket/folder/img_17.jpg",
        "https://example.org/a/b/img_17.jpg?signature=a/b%2Fc#x",
        "https://example.org/img%5F17.jpeg",
        "C:/photos/img_17.jpg",
    ],
)
def test_an_address_leads_to_its_image(value: str) -> None:
    [control] = controls(interface([]))
    images = Vocabulary.from_ids(["img_17", "folder/deep.jpg", "http://x/y?z=1"], "image")
    assert image_of(task(value), control, images) == "img_17"


def test_ids_may_be_paths_and_addresses(tmp_path: Path) -> None:
    [control] = controls(interface([]))
    images = Vocabulary.from_ids(["folder/deep.jpg", "http://x/y?z=1", "other"], "image")
    assert image_of(task("s3://bucket/folder/deep.jpg"), control, images) == "folder/deep.jpg"
    assert image_of(task("http://x/y?z=1"), control, images) == "http://x/y?z=1"
    # Of a new image, only the prefix of the upload is left out.
    uploads = Vocabulary.from_ids(["01234567-new.jpg", "other.jpg"], "image")
    assert image_of(task("/data/upload/1/9f8e7d6c-01234567-new.jpg"), control, uploads) == "01234567-new.jpg"
    # New images are named as the known ones are: with an extension, or without.
    assert image_of(task("s3://bucket/new.jpg"), control, images) == "new.jpg"
    assert image_of(task("s3://bucket/new.jpg"), control, Vocabulary.from_ids(["img"], "image")) == "new"


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ({}, "tasks"),
        ({"tasks": [], "label_config": "<View"}, "not well-formed XML"),
        ({"tasks": "all", "label_config": "<View/>"}, "tasks"),
        ({"tasks": [1], "label_config": "<View/>"}, "tasks"),
        ({"tasks": [{}] * 1001, "label_config": "<View/>"}, "tasks"),
        ({"tasks": [], "label_config": None}, "label_config"),
    ],
)
def test_a_request_of_another_form_is_refused(studio: Callable[..., Client], body: Any, sentence: str) -> None:
    answer = studio().post("/predict", json=body)
    assert answer.status_code == 422
    assert sentence in answer.json()["error"]


# --- webhooks -------------------------------------------------------------------------------------------------------


def annotated(action: str, chosen: Sequence[Any], *, kind: str = "choices", **more: Any) -> dict[str, Any]:
    """The published payload, with an annotation of ours."""
    return {
        "action": action,
        "annotation": {
            "id": 17,
            "result": [
                {
                    "value": {kind: list(chosen)},
                    "id": "WArqkkifYE",
                    "from_name": "labels",
                    "to_name": "photo",
                    "type": kind,
                    "origin": "manual",
                }
            ],
            "was_cancelled": False,
            "ground_truth": False,
            "created_at": "2021-08-17T13:52:48.536303Z",
            "updated_at": "2021-08-17T13:52:48.536370Z",
            "lead_time": 37.13,
            "prediction": {},
            "result_count": 0,
            "task": 19,
            "completed_by": 1,
            **more,
        },
        "task": {"id": 19, "data": {"image": f"/data/upload/2/0a1b2c3d-{IMAGE}.jpg"}, "meta": {}, "project": 2},
        "project": {"id": 2, "title": "New Project #2", "label_config": interface(["Sea", "sand", "unheard of"])},
    }


def in_force(client: Client, image: str = IMAGE) -> dict[str, int]:
    accepted: dict[str, int] = client.service.require_feedback().of(image).accepted
    return accepted


def test_an_annotation_accepts_what_it_chooses_while_it_does(studio: Callable[..., Client]) -> None:
    client = studio()
    answer = client.post("/webhook", json=annotated("ANNOTATION_CREATED", ["Sea", "unheard of"]))
    assert (answer.status_code, answer.json()) == (201, {"status": "ok", "result": {"accepted": [1, 2], "undone": []}})
    assert list(in_force(client)) == ["sea", "unheard of"]  # the model has it in small letters
    event = client.service.require_feedback().events()[0]
    assert (event.image, event.by, event.source, event.confidence) == (IMAGE, "1", "label-studio", None)
    assert event.model == client.get("/ready").json()["model"]

    again = client.post("/webhook", json=annotated("ANNOTATION_CREATED", ["Sea", "unheard of"])).json()
    assert again["result"] == {"accepted": [1, 2], "undone": []}  # sent twice, kept once

    person = {"id": 3, "email": "ben@example.org"}
    changed = client.post("/webhook", json=annotated("ANNOTATION_UPDATED", ["sand", "Sea"], updated_by=person)).json()
    assert len(changed["result"]["undone"]) == 1
    assert sorted(in_force(client)) == ["sand", "sea"]
    assert client.service.require_feedback().events()[-1].by == "ben@example.org"

    deleted = {"action": "ANNOTATIONS_DELETED", "annotations": [{"id": 17}], "project": {"id": 2}}
    assert client.post("/webhook", json=deleted).status_code == 201
    assert in_force(client) == {}
    assert client.post("/webhook", json=deleted).json()["result"] == {"accepted": [], "undone": []}


def test_a_skipped_task_accepts_nothing(studio: Callable[..., Client]) -> None:
    client = studio()
    client.post("/webhook", json=annotated("ANNOTATION_CREATED", ["Sea"]))
    client.post("/webhook", json=annotated("ANNOTATION_UPDATED", ["Sea"], was_cancelled=True))
    assert in_force(client) == {}


def test_annotations_of_two_people_stand_side_by_side(studio: Callable[..., Client]) -> None:
    client = studio()
    for number, person in ((17, 1), (18, 1), (19, 2)):
        body = annotated("ANNOTATION_CREATED", ["Sea"], completed_by=person)
        body["annotation"]["id"] = number
        client.post("/webhook", json=body)
    for number in (19, 17):
        deleted = {"action": "ANNOTATION_DELETED", "annotation": {"id": number}, "project": {"id": 2}}
        client.post("/webhook", json=deleted)
        assert list(in_force(client)) == ["sea"]


def test_the_event_keeps_the_prediction_that_the_person_saw(studio: Callable[..., Client]) -> None:
    client = studio()
    best = suggested(client)
    config = interface(best[:3])
    [prediction] = predict(client, config, task(IMAGE))
    body = annotated("ANNOTATION_CREATED", best[:2], prediction={**prediction, "model_version": "vse-ens older"})
    body["project"]["label_config"] = config
    client.post("/webhook", json=body)
    first = client.service.require_feedback().events()[0]
    assert first.confidence == prediction["result"][0]["meta"]["suggested"][first.label]
    assert first.model == "older"


def test_a_taxonomy_is_accepted_by_its_labels(studio: Callable[..., Client]) -> None:
    client = studio()
    body = annotated("ANNOTATION_CREATED", [["water", "Sea"], ["new", "path"]], kind="taxonomy")
    body["project"]["label_config"] = (
        '<View><Image name="photo" value="$image"/><Taxonomy name="labels" toName="photo"><Choice value="water">'
        '<Choice value="Sea"/></Choice></Taxonomy></View>'
    )
    client.post("/webhook", json=body)
    assert sorted(in_force(client)) == ["path", "sea"]


def test_many_annotations_come_at_once(studio: Callable[..., Client]) -> None:
    client = studio()
    one = annotated("ANNOTATIONS_CREATED", ["Sea"])
    other = {**one["annotation"], "id": 18, "task": 20}
    body = one | {
        "annotation": [one["annotation"], other],
        "task": [one["task"], {"id": 20, "data": {"image": "img_0000002.jpg"}}],
    }
    assert client.post("/webhook", json=body).json()["result"]["accepted"] == [1, 2]
    assert list(in_force(client, "img_0000002")) == ["sea"]


def test_a_webhook_is_kept_whole_in_one_transaction_or_refused(studio: Callable[..., Client]) -> None:
    client = studio()
    feedback = client.service.require_feedback()
    begun: list[str] = []
    feedback._writer.set_trace_callback(lambda statement: begun.append(statement.split()[0]))
    labels = [f"label {number}" for number in range(MAX_EVENTS + 1)]
    answer = client.post("/webhook", json=annotated("ANNOTATION_CREATED", labels[:-1]))
    assert len(answer.json()["result"]["accepted"]) == MAX_EVENTS
    assert (begun.count("BEGIN"), begun.count("COMMIT")) == (1, 1)
    refused = [
        annotated("ANNOTATION_CREATED", labels),
        annotated("ANNOTATION_UPDATED", ["one more", *labels[:-1]]),
        annotated("ANNOTATION_UPDATED", ["another"]),  # undoes the others: one more than a webhook may change
        {"action": "ANNOTATIONS_DELETED", "annotations": [{"id": 17}] * (MAX_EVENTS + 1), "project": {"id": 2}},
    ]
    for body in refused:
        answer = client.post("/webhook", json=body)
        assert answer.status_code == 422
        assert "changes more than 10,000 labels, so nothing was stored" in answer.json()["error"]
        assert len(in_force(client)) == MAX_EVENTS
    deleted = {"action": "ANNOTATION_DELETED", "annotation": {"id": 17}, "project": {"id": 2}}
    assert len(client.post("/webhook", json=deleted).json()["result"]["undone"]) == MAX_EVENTS
    assert in_force(client) == {}


def test_tasks_of_a_webhook_are_found_by_their_number(studio: Callable[..., Client]) -> None:
    client = studio()
    body = annotated("ANNOTATION_CREATED", ["Sea"])
    others = [{"id": [], "data": {"image": "x"}}, {"data": {"image": "y"}}, {"id": "19", "data": {"image": "z"}}]
    assert client.post("/webhook", json=body | {"task": [*others, body["task"]]}).status_code == 201
    assert list(in_force(client)) == ["sea"]
    assert client.post("/webhook", json=body | {"task": others}).status_code == 422


PUBLISHED = {
    "action": "ANNOTATION_CREATED",
    "annotation": {
        "id": 17,
        "result": [
            {
                "value": {"start": 0, "end": 26, "text": "Opossums are op", "labels": ["Answer"]},
                "id": "WArqkkifYE",
                "from_name": "answer",
                "to_name": "text",
                "type": "labels",
            }
        ],
        "was_cancelled": False,
        "ground_truth": False,
        "created_at": "2021-08-17T13:52:48.536303Z",
        "updated_at": "2021-08-17T13:52:48.536370Z",
        "lead_time": 37.13,
        "prediction": {},
        "result_count": 0,
        "task": 19,
        "completed_by": 1,
    },
    "project": {
        "id": 2,
        "title": "New Project #2",
        "label_config": '<View> <Text name="text" value="$ner" granularity="word"/> '
        '<Labels name="answer" toName="text"> <Label value="Answer" maxUsage="1" background="red"/> </Labels>\n</View>'
        '<!-- {"data": {"text": "x"}} -->',
    },
}


def test_the_published_example_which_chooses_no_label_is_taken(studio: Callable[..., Client]) -> None:
    client = studio()
    answer = client.post("/webhook", json=PUBLISHED)
    assert (answer.status_code, answer.json()["result"]) == (201, {"accepted": [], "undone": []})


@pytest.mark.parametrize("action", ["PROJECT_UPDATED", "TASKS_CREATED", "START_TRAINING", "LABEL_LINK_CREATED"])
def test_events_not_about_annotations_are_ignored(studio: Callable[..., Client], action: str) -> None:
    answer = studio().post("/webhook", json={"action": action, "project": {"id": 2}})
    assert (answer.status_code, answer.json()["status"]) == (200, "Unknown event")


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"action": None}, "action"),
        ({"annotation": None}, "has no annotation with an id; enable the payload in Label Studio"),
        ({"annotation": {"id": "seventeen"}}, "has no annotation with an id"),
        ({"annotation": [None]}, "has no annotation with an id"),
        ({"project": None}, "has no project.label_config"),
        ({"project": {"id": 2, "label_config": "<View"}}, "not well-formed XML"),
        ({"task": None}, "has no task.data.image, so the image of annotation 17 is unknown"),
        ({"task": {"id": 19, "data": {"picture": "x"}}}, "has no task.data.image"),
        (
            {"annotation": annotated("", ["sea", "long" * 1000])["annotation"]},
            "annotation 17 chooses a label longer than 1,000 characters",
        ),
    ],
)
def test_a_webhook_of_another_form_is_refused(studio: Callable[..., Client], change: Any, sentence: str) -> None:
    client = studio()
    answer = client.post("/webhook", json=annotated("ANNOTATION_CREATED", ["Sea"]) | change)
    assert answer.status_code == 422
    assert sentence in answer.json()["error"]
    assert client.service.require_feedback().events() == []


def test_a_service_without_feedback_says_so(studio: Callable[..., Client]) -> None:
    client = studio(feedback=None)
    assert client.post("/webhook", json=annotated("ANNOTATION_CREATED", ["Sea"])).status_code == 403
    assert len(predict(client, interface(suggested(client)[:3]), task(IMAGE))[0]["result"]) == 1
