"""Where a training on a cluster begins."""

from __future__ import annotations

from pathlib import Path

import pytest

from train.runs import bytes_of, finished, small_config, small_data
from vse_ens.config import Config
from vse_ens.errors import ConfigError
from vse_ens.run.pool import LocalPool
from vse_ens.run.threads import Workers
from vse_ens.train.checkpoint import Checkpoints, remove_checkpoint
from vse_ens.train.cluster import check_shards, from_parts, in_memory

pytestmark = pytest.mark.usefixtures("short_rounds")

CONFIG = small_config(sampler="vse-ens", loss="hinge", shards=3, exchanges=2)


def test_a_model_of_one_shard_is_refused() -> None:
    with pytest.raises(ConfigError, match="shards must be at least 2 on a cluster"):
        check_shards(Config())
    check_shards(CONFIG)


def test_pairs_in_memory_and_in_parts_give_the_same_model(tmp_path: Path) -> None:
    data = small_data()
    (tmp_path / "parts").mkdir()
    data.to_frame().write_parquet(tmp_path / "parts" / "all.parquet")
    checkpoint = tmp_path / "model.checkpoint"
    with Workers(1) as workers:
        trainer, pairs = from_parts(CONFIG, tmp_path / "parts", LocalPool(workers), checkpoint)
        for _ in trainer.rounds():
            Checkpoints(checkpoint, pairs).write(trainer)
        whole = in_memory(CONFIG, trainer.known, LocalPool(workers), 1)
        for _ in whole.rounds():
            pass
    learnt = bytes_of(trainer.model)
    assert learnt == bytes_of(whole.model) == bytes_of(finished(CONFIG, trainer.known).model)
    remove_checkpoint(checkpoint)
    assert [path.name for path in tmp_path.iterdir()] == ["parts"]
    assert bytes_of(trainer.model) == learnt
