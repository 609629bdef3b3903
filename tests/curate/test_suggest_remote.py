"""Suggestions made in tasks: the files are the same bytes as those of this process."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from tests.evaluate.test_rank import same
from tests.support.local_cluster import stand_in
from tests.support.saved_models import KINDS, held_out, random_annotator, saved_annotator
from vse_ens.annotator import Annotator
from vse_ens.curate import suggest_remote
from vse_ens.curate.suggest_remote import FACTORY, SuggestTask
from vse_ens.data.annotations import Annotations
from vse_ens.errors import ConfigError, ModelError, UnknownIdError
from vse_ens.run.pool import resolve
from vse_ens.run.threads import Workers

ASKED: tuple[dict[str, Any], ...] = (
    {},
    {"top": 100},
    {"top": 3, "deny": ["label-00003", "label-00007"]},
    {"allow": [f"label-{number:05}" for number in range(0, 40, 3)], "min_confidence": 0.02},
)


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """A cluster that is this process; how often it was started."""
    return stand_in(monkeypatch)


def written(model: Annotator, path: Path, **how: Any) -> bytes:
    told: list[int] = []
    result = model.annotate_all(path, progress=told.append, **how)
    assert told[-1] == result.images == len(model.known_.images)
    return path.read_bytes()


@pytest.mark.unhurried
@pytest.mark.parametrize("kind", KINDS)
def test_a_file_is_the_same_bytes(kind: str, here: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vse_ens.model.topk._TASKS_PER_BLOCK", 1)  # blocks of 256 images
    model = saved_annotator(kind, tmp_path, images=1_100)
    for images, suffix, how in zip((256, 512, 8_192, 256), ("parquet", "csv", "parquet", "jsonl"), ASKED, strict=True):
        monkeypatch.setattr(suggest_remote, "_IMAGES", images)
        expected = written(model, tmp_path / f"here.{suffix}", **how)
        assert written(model, tmp_path / f"there.{suffix}", cluster="ray", address="a:1", **how) == expected
    assert here == [("ray", "a:1", 2)] * 4


def test_row_groups_are_those_of_the_blocks_of_one_process(here: list[Any], tmp_path: Path) -> None:
    model = saved_annotator("id", tmp_path, images=20_000, labels=8)
    expected = written(model, tmp_path / "here.parquet", top=2)
    assert written(model, tmp_path / "there.parquet", top=2, cluster="ray") == expected
    groups = pq.read_metadata(tmp_path / "there.parquet")
    assert groups.num_row_groups == 3


def test_with_very_many_labels_a_task_is_many_blocks(
    here: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vse_ens.model.topk._MAX_TASK_BYTES", 1)  # blocks of 512 images
    model = saved_annotator("context", tmp_path, images=9_000, labels=8)
    expected = written(model, tmp_path / "here.parquet", top=2)
    assert written(model, tmp_path / "there.parquet", top=2, cluster="ray") == expected
    assert pq.read_metadata(tmp_path / "there.parquet").num_row_groups == 18


def test_a_model_without_confidences_has_none_on_a_cluster(here: list[Any], tmp_path: Path) -> None:
    model = random_annotator("context")
    model.loaded_ = replace(model.loaded_, calibration=None)
    model.save(tmp_path / "model")
    expected = written(model, tmp_path / "here.csv")
    assert written(model, tmp_path / "there.csv", cluster="ray") == expected


def test_rankings_and_reliability_are_the_same(
    here: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = saved_annotator("id with weights", tmp_path)
    test = held_out(model.known_)
    monkeypatch.setattr(suggest_remote, "_IMAGES", 32)
    assert same(model.rankings(test, cluster="ray", memory=10_000), model.rankings(test, memory=10_000))
    assert model.evaluate(test, cluster="ray") == model.evaluate(test)
    assert model.reliability(test, top=3, cluster="ray") == model.reliability(test, top=3)
    assert len(here) == 3


def test_new_images_are_ranked_by_the_labels_that_are_known(here: list[Any], tmp_path: Path) -> None:
    model = saved_annotator("context with weights", tmp_path)
    known = Annotations.from_pairs([("new", "label-00003"), ("new", "nobody knows it"), ("bare", "nobody knows it")])
    test = Annotations.from_pairs([("new", "label-00001"), ("bare", "label-00001"), ("other", "label-00001")])
    found = model.rankings(test, known=known, cluster="ray")
    assert same(found, model.rankings(test, known=known))
    assert found.candidates.tolist() == [40, 39, -1]


def test_limits_of_a_cluster_are_errors_before_it_is_started(here: list[Any], tmp_path: Path) -> None:
    fresh = random_annotator("id")
    test = held_out(fresh.known_)
    unsaved = "the workers of a cluster load the model from disk, and this one is not saved; call save first"
    for ask in (
        lambda: fresh.annotate_all(tmp_path / "a.csv", cluster="ray"),
        lambda: fresh.evaluate(test, cluster="ray"),
        lambda: fresh.reliability(test, cluster="ray"),
    ):
        with pytest.raises(ConfigError, match=unsaved):
            ask()
    fresh.save(tmp_path / "model")
    with pytest.raises(ConfigError, match="cannot fold in the images of known"):
        fresh.rankings(test, known=fresh.known_, cluster="ray")
    with pytest.raises(ConfigError, match="min_confidence must lie between 0 and 1"):
        fresh.annotate_all(tmp_path / "a.csv", cluster="ray", min_confidence=2)
    with pytest.raises(UnknownIdError, match="unknown label 'sea'"):
        fresh.annotate_all(tmp_path / "a.csv", cluster="ray", allow=["sea"])
    with pytest.raises(ConfigError, match=r"a\.txt must end in"):
        fresh.annotate_all(tmp_path / "a.txt", cluster="ray")
    assert here == []
    assert not (tmp_path / "a.csv").exists()


def test_a_model_that_was_changed_or_replaced_since_is_refused(here: list[Any], tmp_path: Path) -> None:
    data = Annotations.from_pairs((f"i{i}", f"l{(i * k) % 7}") for i in range(20) for k in (1, 2))
    Annotator("opt-auc", epochs=1, dimensions=4).fit(data).save(tmp_path / "model")
    model = Annotator.load(tmp_path / "model")
    model.annotate_all(tmp_path / "a.csv", cluster="ray")
    random_annotator("context").save(tmp_path / "model")
    with pytest.raises(ModelError, match="has changed since the model was loaded"):
        model.annotate_all(tmp_path / "b.csv", cluster="ray")
    assert not (tmp_path / "b.csv").exists()
    model.partial_fit(Annotations.from_pairs([("new", "l1"), ("new", "l2")]))
    with pytest.raises(ConfigError, match="call save first"):
        model.annotate_all(tmp_path / "b.csv", cluster="ray")


def test_a_task_is_some_images_in_any_order(tmp_path: Path) -> None:
    model = saved_annotator("id", tmp_path)
    assert resolve(FACTORY) is SuggestTask
    place, _ = model._saved
    with Workers(1) as workers:
        suggest = SuggestTask({"model": list(place), "options": {"top": 2}}, workers)
    [some], [ranged] = (suggest({"images": np.array(images)})["blocks"] for images in ([7, 5, 6], [5, 6, 7]))
    for name in ("labels", "scores", "confidences"):
        assert np.array_equal(some[name][[1, 2, 0]], ranged[name])
