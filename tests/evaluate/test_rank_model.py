"""Images ranked in tasks: the same bytes as in this process, whatever the model and however they are cut."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.evaluate.test_rank import same
from tests.support.saved_models import KINDS, held_out, saved_annotator
from vse_ens.annotator import Annotator
from vse_ens.data.annotations import Annotations
from vse_ens.errors import DataError
from vse_ens.evaluate.rank import rank_held_out
from vse_ens.evaluate.rank_model import FACTORY, RankTask, remote_ranker
from vse_ens.evaluate.rankings import Rankings
from vse_ens.run.pool import LocalPool, Payload, resolve
from vse_ens.run.threads import Workers

SMALL = 33 * 4 * 40  # bytes of 33 rows of scores


class ReadOnly(LocalPool):
    """Gives out tasks as a cluster does: nobody may write to them."""

    def map(self, factory: str, settings: Payload, tasks: Any) -> Any:
        for task in tasks:
            for array in task.values():
                array.flags.writeable = False
        return super().map(factory, settings, tasks)


def by_tasks(model: Annotator, test: Annotations, known: Annotations | None = None, **how: Any) -> Rankings:
    with Workers(how.pop("workers", 2)) as workers:
        place, _ = model._saved
        rank = remote_ranker(ReadOnly(workers), place, how.get("top", 10), known)
        return rank_held_out(rank, model.known_ if known is None else known, test, **how)


@pytest.mark.parametrize("kind", KINDS)
def test_tasks_give_the_rankings_of_this_process(kind: str, tmp_path: Path) -> None:
    model = saved_annotator(kind, tmp_path)
    test = held_out(model.known_)
    for memory in (SMALL, 1_000_000):
        expected = model.rankings(test, memory=memory)
        assert (expected.tied > 0).sum() > 300
        for workers in (1, 3):
            assert same(by_tasks(model, test, memory=memory, workers=workers), expected)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if "context" in kind])
def test_images_known_by_their_labels_go_with_the_tasks(kind: str, tmp_path: Path) -> None:
    model = saved_annotator(kind, tmp_path)
    test = held_out(model.known_)
    # Other images of the same labels: some of them, in another order of numbers.
    shown = Annotations.from_pairs(
        (f"{image[::-1]} new", label)
        for image in list(model.known_.images)[::3]
        for label in model.known_.labels_of(image)
    ).relabeled(model.known_.labels)
    asked = Annotations.from_pairs(
        (f"{image[::-1]} new", label) for image in test.images for label in test.labels_of(image)
    )
    expected = model.rankings(asked, known=shown, memory=SMALL)
    assert 66 < (expected.candidates >= 0).sum() < 100  # three blocks
    assert same(by_tasks(model, asked, shown, memory=SMALL), expected)


def test_a_label_that_is_known_is_named_wherever_it_is_found(tmp_path: Path) -> None:
    model = saved_annotator("id", tmp_path)
    image = model.known_.images.id(250)
    label = model.known_.labels_of(image)[0]
    test = held_out(model.known_).joined(Annotations.from_pairs([(image, label)]))
    with pytest.raises(DataError, match=f"the label '{label}' of image '{image}' is both held out and known"):
        by_tasks(model, test, memory=SMALL)


def test_a_task_has_a_block_of_images_and_returns_their_ranks(tmp_path: Path) -> None:
    model = saved_annotator("context with weights", tmp_path)
    place, _ = model._saved
    assert resolve(FACTORY) is RankTask
    with Workers(1) as workers:
        rank = RankTask({"model": list(place), "top": 3}, workers)
        answer = rank({"images": np.array([5, 2]), "indptr": np.array([0, 1, 1]), "labels": np.array([-1], np.int32)})
    assert {name: array.shape for name, array in answer.items()} == {"above": (1,), "tied": (1,), "top": (2, 3)}
    assert answer["top"][0].tolist() == [
        model.known_.labels.number(one.label) for one in model.annotate(model.known_.images.id(5), top=3)
    ]
