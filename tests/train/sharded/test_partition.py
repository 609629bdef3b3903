"""Training on pairs that are sorted out by shard: the bytes of training in memory, and nothing held on the way."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.training_runs import bytes_of, counted, finished, small_config, whole_preset
from vse_ens.config import Config
from vse_ens.data.annotations import Annotations
from vse_ens.data.datasets.scenes import scenes
from vse_ens.data.partition.build import partition
from vse_ens.data.partition.parts import PartFiles
from vse_ens.data.partition.store import Partition
from vse_ens.errors import ConfigError
from vse_ens.train.checkpoint import Checkpoints
from vse_ens.train.trainer import Trainer

pytestmark = pytest.mark.usefixtures("short_rounds")

CONFIGS = {
    "id": small_config(sampler="vse-ens", loss="hinge", dimensions=5, shards=3, exchanges=2),
    "context": small_config(sampler="uniform", loss="softmax", tower="context", shards=3, exchanges=2),
    "both": small_config(sampler="uniform", loss="hinge", tower="context+id", shards=3, exchanges=2),
    "id, judged": small_config(sampler="vse-ens", loss="hinge", shards=3, exchanges=2, validate=True, refit=True),
    "whole preset": whole_preset(shards=3, exchanges=2, label_pairs=30),
}


@pytest.fixture(scope="module")
def data() -> Annotations:
    return scenes(100, 60)


@pytest.fixture(scope="module")
def pairs(data: Annotations, tmp_path_factory: pytest.TempPathFactory) -> Partition:
    folder = tmp_path_factory.mktemp("parts")
    data.to_frame("polars").write_parquet(folder / "all.parquet")
    return partition(PartFiles.find(folder), folder / "sorted", 3)


def trainer_of(config: Config, pairs: Partition, folder: Path) -> Trainer:
    return Trainer(config, pairs, 1, folder=folder)


@pytest.mark.parametrize("kind", CONFIGS)
def test_the_bytes_are_those_of_training_in_memory(
    kind: str, data: Annotations, pairs: Partition, tmp_path: Path
) -> None:
    trainer = trainer_of(CONFIGS[kind], pairs, tmp_path)
    for _ in trainer.rounds():
        pass
    whole = finished(CONFIGS[kind], data)
    assert bytes_of(trainer.model) == bytes_of(whole.model)
    assert counted(trainer.history) == counted(whole.history)
    assert trainer.known == data
    one, other = (found.calibration.arrays() if found.calibration else {} for found in (trainer, whole))
    assert {name: array.tobytes() for name, array in one.items()} == {
        name: array.tobytes() for name, array in other.items()
    }
    assert (kind in ("id, judged", "whole preset")) == bool(one)


@pytest.mark.unhurried
@pytest.mark.parametrize("kind", CONFIGS)
def test_a_run_stopped_after_any_round_goes_on_to_the_same_bytes(
    kind: str, data: Annotations, pairs: Partition, tmp_path: Path
) -> None:
    config = CONFIGS[kind]
    whole = bytes_of(finished(config, data).model)
    for stop in (1, 2, 3, 6):
        checkpoints = Checkpoints(tmp_path / "run", pairs)
        trainer = trainer_of(config, pairs, tmp_path / "rows")
        for number, _ in enumerate(trainer.rounds(), 1):
            if number == stop:
                break
        else:
            continue
        checkpoints.write(trainer)
        resumed = trainer_of(config, pairs, tmp_path / "rows")
        assert checkpoints.resume(resumed)
        for _ in resumed.rounds():
            checkpoints.write(resumed)
        assert bytes_of(resumed.model) == whole
        assert len(list((tmp_path / "rows").glob("rows-*"))) <= 3


def test_a_checkpoint_keeps_its_files_until_the_next_one(pairs: Partition, tmp_path: Path) -> None:
    config = CONFIGS["id"]
    trainer, checkpoints = trainer_of(config, pairs, tmp_path / "rows"), Checkpoints(tmp_path / "run", pairs)
    rounds = trainer.rounds()
    next(rounds)
    checkpoints.write(trainer)
    next(rounds)
    trainer._backend.save_vectors()  # as it does every few rounds, for shards that are lost
    assert checkpoints.resume(trainer_of(config, pairs, tmp_path / "rows"))


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"shards": 2}, "shards must be 3, the number .* was made for; got 2"),
        ({"shards": 3, "tower": "features"}, "tower features needs the features of all images in one place"),
    ],
)
def test_settings_that_need_more_than_pairs_are_refused(
    settings: dict[str, object], told: str, pairs: Partition, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError, match=told):
        trainer_of(Config(**settings), pairs, tmp_path)  # type: ignore[arg-type]
