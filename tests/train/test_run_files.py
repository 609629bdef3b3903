"""A training removes the files that it wrote, and no other."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.training_runs import small_config, small_data
from vse_ens.data.datasets.scenes import scenes
from vse_ens.data.partition.build import partition
from vse_ens.data.partition.parts import PartFiles
from vse_ens.errors import DataError, ModelError
from vse_ens.model.checkpoint_store import save_state
from vse_ens.storage.atomic import partial_name
from vse_ens.train.run_files import check_run_files, remove_checkpoint, shards_folder
from vse_ens.train.trainer import Trainer


@pytest.fixture
def trained(tmp_path: Path) -> Path:
    """The checkpoint of a finished run of a folder of Parquet files, with all that it leaves."""
    (tmp_path / "parts").mkdir()
    scenes(images=120, labels=60, seed=1).to_frame("polars").write_parquet(tmp_path / "parts" / "1.parquet")
    pairs = partition(PartFiles.find(tmp_path / "parts"), tmp_path / "run.shards" / "pairs", 3)
    trainer = Trainer(small_config(shards=3, validate=True, label_weights=True, metric="auc"), pairs, 1)
    for _ in trainer.epochs():
        pass
    assert trainer.model.label_weights is not None
    save_state(tmp_path / "run", *trainer.state())
    return tmp_path / "run"


def test_all_that_a_training_writes_is_known_and_removed(trained: Path) -> None:
    written = {path.name for path in shards_folder(trained).rglob("*")}
    assert {"pairs", "training", "train", "image_vectors.npy", "by_label.indptr", "shard-00002.npy"} <= written
    check_run_files(trained)
    remove_checkpoint(trained)
    assert [path.name for path in trained.parent.iterdir()] == ["parts"]


def test_files_of_a_killed_training_are_known_and_removed(trained: Path) -> None:
    shards = shards_folder(trained)
    (shards / "pairs").rename(partial_name(shards / "pairs"))
    for name in (
        f"{partial_name(shards / 'pairs').name}/bucket-00003",
        ".pairs.partial/bucket-00004",  # as version 0.3 called it
        ".pairs.lock",
        "training/.train.lock",
        "training/rows-000001/.shard-00000.npy.partial",
    ):
        (shards / name).parent.mkdir(exist_ok=True)
        (shards / name).write_bytes(b"")
    trained.rename(partial_name(trained))
    check_run_files(trained)
    remove_checkpoint(trained)
    assert [path.name for path in trained.parent.iterdir()] == ["parts"]


@pytest.mark.parametrize("name", ["thesis.tex", "pairs/thesis.tex", "training/rows-000001/notes", "pairs/indices/deep"])
def test_a_file_of_somebody_else_is_named_and_kept(tmp_path: Path, name: str) -> None:
    file = tmp_path / "run.shards" / name
    file.parent.mkdir(parents=True)
    file.write_text("mine")
    with pytest.raises(ModelError, match=rf"run\.shards contains '{name}', which is not part of a training"):
        check_run_files(tmp_path / "run")
    remove_checkpoint(tmp_path / "run")
    assert file.read_text() == "mine"


def test_a_link_to_a_folder_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "indices").write_text("mine")
    (tmp_path / "run.shards").mkdir()
    (tmp_path / "run.shards" / "pairs").symlink_to(tmp_path / "mine")
    with pytest.raises(ModelError, match="contains 'pairs', which is not part of a training"):
        check_run_files(tmp_path / "run")
    remove_checkpoint(tmp_path / "run")
    assert (tmp_path / "mine" / "indices").read_text() == "mine"


def test_a_partition_replaces_no_other_folder(tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    small_data().to_frame("polars").write_parquet(tmp_path / "parts" / "1.parquet")
    (tmp_path / "pairs").mkdir()
    (tmp_path / "pairs" / "thesis.tex").write_text("mine")
    with pytest.raises(DataError, match=r"pairs contains 'thesis\.tex', which is not part of a partition"):
        partition(PartFiles.find(tmp_path / "parts"), tmp_path / "pairs", 2)
    assert (tmp_path / "pairs" / "thesis.tex").read_text() == "mine"


def test_a_file_in_place_of_the_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "run.shards").write_text("mine")
    with pytest.raises(ModelError, match=r"run\.shards is a file, where a training keeps a folder"):
        check_run_files(tmp_path / "run")
