"""Evaluation and suggestions for all images on a real Ray cluster: the bytes of one process."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from tests.evaluate.test_rank import same
from tests.support.saved_models import held_out, random_annotator, saved_annotator
from vse_ens.curate import suggest_remote
from vse_ens.errors import ModelError

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.usefixtures("cluster"),
    pytest.mark.skipif(
        importlib.util.find_spec("ray") is None, reason="no Ray to test with: pip install 'vse-ens[cluster]'"
    ),
    # Ray leaves sockets and files for the garbage collector to close.
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning", "ignore::FutureWarning"),
]


def test_a_file_of_all_suggestions_is_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = saved_annotator("id with sparse weights", tmp_path, images=2_000)
    model.annotate_all(tmp_path / "here.csv", min_confidence=0.01)
    # Workers, which know nothing of this, have longer blocks: a file of rows does not show it.
    monkeypatch.setattr(suggest_remote, "_IMAGES", 300)
    model.annotate_all(tmp_path / "there.csv", min_confidence=0.01, cluster="ray")
    assert (tmp_path / "there.csv").read_bytes() == (tmp_path / "here.csv").read_bytes()


@pytest.mark.parametrize("by_labels", [False, True])
def test_rankings_are_the_same_bytes(by_labels: bool, tmp_path: Path) -> None:
    model = saved_annotator("context with weights", tmp_path, images=2_000)
    test, known = held_out(model.known_), model.known_ if by_labels else None
    expected = model.rankings(test, known=known, memory=30_000)
    assert same(model.rankings(test, known=known, memory=30_000, cluster="ray"), expected)


def test_a_model_that_workers_cannot_open_is_a_sentence(tmp_path: Path) -> None:
    model = random_annotator("id")
    model.save(tmp_path / "model")
    (tmp_path / "model").rename(tmp_path / "elsewhere")
    with pytest.raises(ModelError, match="a cluster worker cannot find the model"):
        model.annotate_all(tmp_path / "a.csv", cluster="ray")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["elsewhere"]
