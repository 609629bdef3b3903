"""A model with features: suggestions by vectors, and images that have features only, wherever images are listed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.build_once import build_once
from tests.support.service_in_process import Client
from vse_ens.annotator import Annotator
from vse_ens.service.settings import MAX_FEATURES, Settings

KINDS = {"sea": ("sea", "wave", "boat"), "forest": ("forest", "tree", "moss"), "desert": ("desert", "dune", "camel")}
SEA, FOREST = [5.0, 0.5, 0.5, 0.0], [0.5, 5.0, 0.5, 0.0]
UNTAGGED = [f"untagged {number}" for number in range(6)]


@pytest.fixture(scope="session")
def with_features(tmp_path_factory: pytest.TempPathFactory) -> Path:
    def train(path: Path) -> None:
        rng = np.random.default_rng(0)
        pairs = [
            (f"tagged {number:02}", label)
            for number in range(90)
            for label in list(KINDS.values())[number % 3]
            if (number + len(label)) % 4  # some are missing
        ]
        images = [*(f"tagged {number:02}" for number in range(90)), *UNTAGGED]
        features = {one: np.eye(4)[number % 3] * 5 + rng.random(4) for number, one in enumerate(images)}
        Annotator(dimensions=8, epochs=4).fit(pairs, features=features).save(path)

    return build_once(tmp_path_factory, "service/with-features", train)


@pytest.fixture(scope="module")
def served(with_features: Path) -> Iterator[Client]:
    with closing(Client(Settings(model=with_features))) as started:
        yield started


def results(client: Client, **body: Any) -> Any:
    answer = client.post("/api/annotate", json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()["results"]


def labels(result: Any) -> set[str]:
    return {one["label"] for one in result["suggestions"]}


def test_vectors_are_annotated_as_by_the_model(served: Client, with_features: Path) -> None:
    found = results(served, vectors=[SEA, FOREST], top=3, explain=True)
    assert [labels(one) for one in found] == [set(KINDS["sea"]), set(KINDS["forest"])]
    expected = Annotator.load(with_features).annotate(features=np.array([SEA, FOREST], np.float32), top=3)
    for result, suggestions in zip(found, expected, strict=True):
        assert (result["image"], result["labels"]) == (None, [])
        for shown, one in zip(result["suggestions"], suggestions, strict=True):
            assert shown["label"] == one.label
            assert shown["confidence"] == pytest.approx(one.confidence, abs=1e-6)
            assert sum(reason["share"] for reason in shown["because"]) == pytest.approx(one.score, rel=1e-3)
            assert {reason["source"] for reason in shown["because"]} >= {"features"}
    assert results(served, vectors=[FOREST], top=3, explain=True) == found[1:]


def test_labels_count_with_vectors(served: Client) -> None:
    both, alone = results(served, vectors=[SEA, SEA], labels=[["sea"], []], top=2)
    assert labels(both) == {"wave", "boat"}
    assert both["labels"] == ["sea"]
    assert labels(alone) < set(KINDS["sea"])
    [contrary] = results(served, vectors=[SEA], labels=[["forest", "tree"]], top=4)
    assert "moss" in labels(contrary)


BAD: dict[str, tuple[str, str]] = {
    "NaN": ('{"vectors": [[NaN, 0, 0, 0]]}', "the body is not JSON"),
    "too large for a float32": (
        '{"vectors": [[1e39, 0, 0, 0]]}',
        "vectors.0.0: expected a number <= 1000000000000000.0",
    ),
    "an infinite number": ('{"vectors": [[1e999, 0, 0, 0]]}', "out of range"),
    "text": ('{"vectors": [["a", 0, 0, 0]]}', "vectors.0.0: expected a number, got a string"),
    "null": ('{"vectors": [[null, 0, 0, 0]]}', "vectors.0.0: expected a number, got null"),
    "an empty vector": ('{"vectors": [[]]}', "length >= 1"),
    "no vector": ('{"vectors": []}', "length >= 1"),
    "another length": ('{"vectors": [[1, 2]]}', "the model was trained on 4 features per image, got 2"),
    "two lengths": ('{"vectors": [[1, 2, 3, 4], [1]]}', "vectors must have one length, got 4 and 1"),
    "too long": (json.dumps({"vectors": [[0] * (MAX_FEATURES + 1)]}), f"length <= {MAX_FEATURES}"),
    "images as well": ('{"vectors": [[1, 2, 3, 4]], "images": ["a"]}', "give either images or labels, or vectors"),
    "too few labels": (
        '{"vectors": [[1, 2, 3, 4]], "labels": [[], []]}',
        "2 lists of labels and 1 vectors do not",
    ),
    "an unknown label": ('{"vectors": [[1, 2, 3, 4]], "labels": [["seaa"]]}', "unknown label 'seaa'"),
}


@pytest.mark.parametrize("case", BAD)
def test_other_vectors_are_refused(served: Client, case: str) -> None:
    body, message = BAD[case]
    answer = served.post("/api/annotate", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code in (400, 404, 422), answer.text
    assert message in answer.json()["error"]


def test_a_model_without_features_refuses_vectors(client: Client) -> None:
    answer = client.post("/api/annotate", json={"vectors": [SEA]})
    assert (answer.status_code, "trained without features" in answer.json()["error"]) == (422, True)


def test_images_with_features_only_are_images_of_the_model(served: Client) -> None:
    image = served.get("/api/image", params={"id": UNTAGGED[1]}).json()
    assert image["labels"] == []
    assert labels({"suggestions": image["suggestions"][:3]}) == set(KINDS["forest"])
    queue = served.get("/api/queue", params={"limit": 6}).json()
    assert {one["image"] for one in queue["images"]} == set(UNTAGGED)
    assert queue["total"] == 96
    grid = served.get("/api/grid", params={"label": "tree", "limit": 100}).json()
    assert {UNTAGGED[1], UNTAGGED[4]} <= {one["image"] for one in grid["images"][:10]}
    found = served.post("/api/search", json={"labels": ["dune"], "top": 12}).json()["images"]
    assert {UNTAGGED[2], UNTAGGED[5]} <= {one["image"] for one in found}


def test_a_verdict_on_an_untagged_image_counts_with_its_features(
    serve: Callable[..., Client], with_features: Path
) -> None:
    client = serve(model=with_features)
    body = {"image": UNTAGGED[0], "label": "sea", "verdict": "accept"}
    assert client.post("/api/feedback", json=body).status_code == 200
    [again] = results(client, images=[UNTAGGED[0]], top=2)
    assert again["labels"] == ["sea"]
    assert labels(again) == {"wave", "boat"}
